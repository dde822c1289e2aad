"""The way in for the command line: a client from its name, and sampling without ``await``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from hatscore.errors import InputError, UnknownNameError
from hatscore.sampling.client import Client
from hatscore.sampling.clients.providers import PROVIDERS
from hatscore.sampling.engine import sample
from hatscore.sampling.observed import write_observed
from hatscore.sampling.servers import keep_server, known_of, read_servers, recall
from hatscore.sampling.warn import warn_after

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from pathlib import Path

    from hatscore.benchmarks.base import Mode
    from hatscore.sampling.budget import Budget
    from hatscore.sampling.engine import Progress, Summary
    from hatscore.sampling.run import Run
    from hatscore.sampling.task import Task

__all__ = [
    "URL_VARIABLES",
    "NamedClient",
    "Observing",
    "keep_observed",
    "make_client",
    "run_sampling",
    "run_stages",
    "run_to_end",
    "run_until_stopped",
]

_T = TypeVar("_T")

URL_VARIABLES = ("HATSCORE_BASE_URL", "OPENAI_BASE_URL")
_FORMS = (
    "local",
    "local/PATH.gguf",
    "openai-api/NAME",
    *(f"{provider}/NAME" for provider in PROVIDERS),
)


class NamedClient(Client, Protocol):
    """A client with what is written into the run's configuration."""

    kind: str
    mode: Mode

    @property
    def base_url(self) -> str | None:
        """Address of the server, None for a local model."""
        ...


@runtime_checkable
class Observing(Protocol):
    """A client that finds out what its provider makes of a request."""

    @property
    def observed(self) -> Mapping[str, Any] | None:
        """What was found out, None when nothing was yet."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know of it, as sentences."""
        ...


def make_client(
    spec: str,
    *,
    base_url: str | None = None,
    mode: Mode | None = None,
    timeout_s: float = 600.0,
    tries: int = 8,
    threads: int | None = None,
    batch: bool | int = False,
) -> NamedClient:
    """Return the client that `spec` names; nothing is started or asked yet.

    Parameters
    ----------
    spec
        ``local`` (the demo model), ``local/PATH.gguf``, ``openai-api/NAME`` for the model
        NAME at any OpenAI-compatible server, or ``PROVIDER/NAME`` for a model of one of the
        providers that inspect_ai knows: ``openai/NAME``, ``anthropic/NAME``, ``google/NAME``...
    base_url
        Address of the server. None takes ``HATSCORE_BASE_URL`` or ``OPENAI_BASE_URL`` for
        ``openai-api``, and the provider's own address for a provider.
    mode
        None takes ``completion`` for local models and ``chat`` for servers and providers.
    timeout_s
        Longest time for one request, in seconds.
    tries
        Requests in all for one that fails, at least 1.
    threads
        Processor threads of a local model; None takes ``HATSCORE_LOCAL_THREADS`` or all.
    batch
        Use the provider's batch interface; a number is the size of a batch.

    Raises
    ------
    UnknownNameError
        `spec` has none of these forms.
    InputError
        No address for a server, an address for a local model, no GGUF file, chat with a base
        model, or batches or completion mode where there are none.
    MissingExtraError
        A local model without the extra ``local``, or a provider without ``providers``.
    """
    kind, _, rest = spec.partition("/")
    if tries < 1:
        raise InputError(f"tries {tries}: expected at least 1")
    if kind in PROVIDERS and rest:
        if mode == "completion":
            raise InputError(f"model {spec!r} takes chat prompts only; leave the mode out")
        return _provider(spec, base_url, timeout_s, tries, batch=batch)
    if batch:
        raise InputError(f"model {spec!r} has no batches; providers like openai/NAME have")
    if kind == "local" and not spec.endswith("/"):
        if base_url is not None:
            raise InputError(
                f"model {spec!r} runs on this machine and takes no server address; "
                "for a server use openai-api/NAME"
            )
        return _local(rest or None, mode or "completion", timeout_s, tries, threads)
    if kind == "openai-api" and rest:
        base_url = base_url or next(
            (os.environ[name] for name in URL_VARIABLES if os.environ.get(name)), None
        )
        if base_url is None:
            raise InputError(
                f"model {spec!r} needs the address of its server: --base-url "
                f"http://HOST:PORT, or the environment variable {URL_VARIABLES[0]}"
            )
        return _server(rest, base_url, mode or "chat", timeout_s, tries)
    raise UnknownNameError("model", spec, _FORMS)


def _provider(
    spec: str, base_url: str | None, timeout_s: float, tries: int, *, batch: bool | int
) -> NamedClient:
    from hatscore.sampling.clients.inspect import InspectClient  # noqa: PLC0415 - with the others
    from hatscore.sampling.clients.retry import Retry  # noqa: PLC0415 - with the above

    retry = Retry(tries=tries)
    return InspectClient(spec, base_url=base_url, batch=batch, retry=retry, timeout_s=timeout_s)


def _local(
    path: str | None, mode: Mode, timeout_s: float, tries: int, threads: int | None
) -> NamedClient:
    from hatscore.sampling.clients.local import LocalClient, LocalServer  # noqa: PLC0415 - aiohttp
    from hatscore.sampling.clients.retry import Retry  # noqa: PLC0415 - with the above

    server = LocalServer(path, threads=threads)
    return LocalClient(server, mode=mode, retry=Retry(tries=tries), timeout_s=timeout_s)


def _server(name: str, base_url: str, mode: Mode, timeout_s: float, tries: int) -> NamedClient:
    from hatscore.sampling.clients.openai_http import OpenAIClient  # noqa: PLC0415 - aiohttp
    from hatscore.sampling.clients.retry import Retry  # noqa: PLC0415 - with the above

    return OpenAIClient(name, base_url, mode=mode, retry=Retry(tries=tries), timeout_s=timeout_s)


def run_sampling(
    run: Run,
    tasks: Iterable[Task],
    client: Client,
    *,
    concurrency: int = 8,
    progress: Callable[[Progress], None] | None = None,
    budget: Budget | None = None,
    mixed_models: bool = False,
    on_stop: Callable[[], None] | None = None,
) -> Summary:
    """Sample what `run` lacks of `tasks`, and close `client`.

    Ctrl-C and SIGTERM stop it in good order: nothing more is asked for, what is under way is
    waited for (a second Ctrl-C drops it, 20 seconds do as well) and committed, a local model is
    ended, then KeyboardInterrupt is raised. The same call goes on later.

    Parameters
    ----------
    run
        From :meth:`Run.create_or_resume`; it stays open.
    tasks, client, concurrency, progress, budget, mixed_models
        As of :func:`hatscore.sampling.engine.sample`; what earlier starts have used is read from
        the store.
    on_stop
        Called when the first Ctrl-C or SIGTERM has come.

    Returns
    -------
    Summary
        With the warnings about repeats that are all equal, and what a provider did not take.

    Raises
    ------
    KeyboardInterrupt
        It was stopped.
    InputError
        Called inside a running event loop: there, ``await sample(...)``.
    ModelError, RunError
        As of :func:`hatscore.sampling.engine.sample`.
    """
    [summary] = run_stages(
        run,
        tasks,
        client,
        concurrency=concurrency,
        progress=progress,
        budget=budget,
        mixed_models=mixed_models,
        on_stop=on_stop,
    )
    return summary


def run_stages(
    run: Run,
    tasks: Iterable[Task],
    client: Client,
    *,
    then: Callable[[Summary], Iterable[Task] | None] | None = None,
    concurrency: int = 8,
    progress: Callable[[Progress], None] | None = None,
    budget: Budget | None = None,
    mixed_models: bool = False,
    on_stop: Callable[[], None] | None = None,
) -> list[Summary]:
    """Sample one stage after the other with one client, which keeps its model loaded.

    Parameters
    ----------
    run, client, concurrency, progress, budget, mixed_models, on_stop
        As of :func:`run_sampling`.
    tasks
        Of the first stage.
    then
        Called with the summary of each stage; returns the tasks of the next, None at the end.
        None where there is one stage only.

    Returns
    -------
    list of Summary
        One a stage.

    Raises
    ------
    KeyboardInterrupt, InputError, ModelError, RunError
        As of :func:`run_sampling`, and what `then` raises.
    """
    summaries: list[Summary] = []

    async def main(stop: asyncio.Event) -> None:
        recall(client, read_servers(run.directory))
        wanted: Iterable[Task] | None = tasks
        try:
            while wanted is not None:
                summary = await sample(
                    run.store,
                    wanted,
                    client,
                    params=run.config.params,
                    concurrency=concurrency,
                    progress=progress,
                    budget=budget,
                    used=run.store.usage(),
                    stop=stop,
                    mixed_models=mixed_models,
                )
                notes = client.notes if isinstance(client, Observing) else ()
                found = warn_after(run.store, run.config.params)
                said = (*summary.warnings, *notes, *found)
                summaries.append(replace(summary, warnings=said))
                wanted = None if then is None or stop.is_set() else then(summaries[-1])
        finally:
            await client.close()
            keep_server(run.directory, known_of(client))
            keep_observed(run.directory, client)

    instead = "await hatscore.sampling.sample(run.store, ...)"
    run_until_stopped(main, instead=instead, on_stop=on_stop)
    return summaries


def keep_observed(directory: Path, client: Client) -> None:
    """Write what `client` has found out about its provider beside the replies."""
    if isinstance(client, Observing) and client.observed is not None:
        write_observed(directory, client.observed)


def run_until_stopped(
    main: Callable[[asyncio.Event], Coroutine[Any, Any, _T]],
    *,
    instead: str,
    on_stop: Callable[[], None] | None = None,
) -> _T:
    """Run `main`, which ends in good order when the event that it is given is set.

    The first Ctrl-C or SIGTERM sets it, a second one cancels `main`; see :func:`run_to_end`.

    Raises
    ------
    KeyboardInterrupt
        It was stopped, also where `main` came to its end by then: the caller has more to do.
    InputError
        Called inside a running event loop.
    """
    stop = asyncio.Event()

    def first_stop() -> bool:
        if stop.is_set():
            return False
        stop.set()
        if on_stop is not None:
            on_stop()
        return True

    found = run_to_end(lambda: main(stop), instead=instead, first_stop=first_stop)
    if stop.is_set():
        raise KeyboardInterrupt
    return found


def run_to_end(
    main: Callable[[], Coroutine[Any, Any, _T]],
    *,
    instead: str,
    first_stop: Callable[[], bool] | None = None,
) -> _T:
    """Run `main` in an event loop of its own; Ctrl-C and SIGTERM cancel it in good order.

    Parameters
    ----------
    main
        Cleans up when it is cancelled.
    instead
        What to write where a loop runs already; for the message.
    first_stop
        Called before `main` is cancelled, which it is not if this returns true.

    Raises
    ------
    KeyboardInterrupt
        It was stopped.
    InputError
        Called inside a running event loop.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise InputError(f"called inside a running event loop; use `{instead}` there")

    async def guarded() -> _T:
        _cancel_on_signals(first_stop)
        return await main()

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)


def _cancel_on_signals(first_stop: Callable[[], bool] | None) -> None:
    """Stop in good order on SIGTERM as on Ctrl-C, where signals can be handled."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if task is not None and (first_stop is None or not first_stop()):
            task.cancel()

    # Not in the main thread, or Windows: then SIGTERM ends the process, and what was under way
    # is lost, and Ctrl-C cancels at once.
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGTERM, stop)
        if first_stop is not None:
            loop.add_signal_handler(signal.SIGINT, stop)
