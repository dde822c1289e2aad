"""From what is asked for to what can be sampled: names resolved, items loaded, a client made.

Nothing is asked of a model here, so whatever is wrong with a request is said before it costs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Bindable
from hatscore.benchmarks.chosen import load_chosen
from hatscore.cli.known import as_known, spec_of
from hatscore.errors import HatscoreError, InputError, UnknownNameError
from hatscore.planning import choose_plan
from hatscore.sampling import BenchmarkPlan, RunConfig, make_client, make_tasks, warn_before
from hatscore.sampling.pace import Paced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hatscore.benchmarks.base import Benchmark, Item, Mode
    from hatscore.cli.request import Request
    from hatscore.sampling import SamplingPlan, Task
    from hatscore.sampling.start import NamedClient

    Say = Callable[[str], None]

__all__ = ["Loaded", "Loader", "Prepared", "load_tasks", "maker", "prepare", "runs_in_workers"]

LOCAL_CONCURRENCY = 1  # one request of n replies fills the slots of a local server
SERVER_CONCURRENCY = 16
PACED_CONCURRENCY = 64  # at most: the engine finds what the server can do
ENGINES = ("hf", "sglang", "vllm")  # providers that start a model where no server is named
BATCH_CONCURRENCY = 10_000  # in a batch all are under way at once

_on_stderr: Say = partial(click.echo, err=True)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request with everything that is needed to sample it.

    Attributes
    ----------
    request
        As asked, with what the registry knows of its model.
    client
        Made, but neither started nor asked.
    config
        What the run is.
    tasks
        All cells of the full plan, source rows first.
    """

    request: Request
    client: NamedClient
    config: RunConfig
    tasks: list[Task]

    @property
    def concurrency(self) -> int:
        """Most requests under way at once."""
        if self.request.concurrency is not None:
            return self.request.concurrency
        if self.request.batch:
            return BATCH_CONCURRENCY
        if isinstance(self.client, Paced):
            return PACED_CONCURRENCY
        return LOCAL_CONCURRENCY if self.client.kind == "local" else SERVER_CONCURRENCY


@dataclass(frozen=True, slots=True)
class Loaded:
    """The items of one benchmark.

    Attributes
    ----------
    benchmark
        As it is with its options.
    options
        Those of the request that it knows.
    languages
        All, the source first.
    items
        In all languages.
    """

    benchmark: Benchmark
    options: Mapping[str, str]
    languages: tuple[str, ...]
    items: list[Item]

    @property
    def is_judged(self) -> bool:
        """Whether a judge grades any of the answers."""
        return any(item.gold.kind == "judge" for item in self.items)


class Loader:
    """Loads items and makes prompts once, however many models are asked the same.

    What cannot be loaded is not tried again either: a hub that does not answer costs its
    patience once.
    """

    def __init__(self) -> None:
        self._loaded: dict[object, Loaded | HatscoreError] = {}
        self._tasks: dict[object, list[Task]] = {}

    def load(self, request: Request) -> list[Loaded]:
        """Return the items of every benchmark of `request`.

        Raises
        ------
        InputError
            A benchmark, an option or a language is not known, or its data cannot be had.
        """
        benchmarks = [get_benchmark(name) for name in request.benchmarks]
        _check_options(benchmarks, request.options)
        found = []
        for benchmark in benchmarks:
            key = _key(benchmark, request)
            if key not in self._loaded:
                try:
                    self._loaded[key] = _load(benchmark, request)
                except HatscoreError as error:
                    self._loaded[key] = error
            loaded = self._loaded[key]
            if isinstance(loaded, HatscoreError):
                raise loaded
            found.append(loaded)
        return found

    def tasks(self, request: Request, loaded: Loaded, mode: Mode) -> list[Task]:
        """Return all cells of the full plan of one benchmark, source rows first."""
        key = (_key(loaded.benchmark, request), request.prompt_language, request.repeats, mode)
        if key not in self._tasks:
            # one language after the other: servers keep what equal prompts begin with
            ordered = sorted(
                loaded.items, key=lambda i: (i.language != i.source_language, i.language)
            )
            self._tasks[key] = make_tasks(
                loaded.benchmark,
                ordered,
                mode=mode,
                prompt_language=request.prompt_language,
                repeats=request.repeats,
            )
        return self._tasks[key]


def prepare(
    request: Request,
    stored: Mapping[str, SamplingPlan] | None = None,
    *,
    loader: Loader | None = None,
    say: Say = _on_stderr,
) -> Prepared:
    """Return what `request` means.

    Parameters
    ----------
    request
        What the user asked for.
    stored
        Plans of the run that goes on, by benchmark.
    loader
        Keeps what several requests share.
    say
        Takes warnings and notes; default on stderr.

    Raises
    ------
    InputError
        The request cannot work.
    """
    request = as_known(request, say=say)
    loader = loader or Loader()
    loaded = loader.load(request)
    plans = [_plan(part, request, stored or {}, say) for part in loaded]
    if request.judges:
        _check_judges(request, loaded)
    client = maker(request)()
    config = RunConfig(
        model=request.model,
        client=client.kind,
        served_model=client.name,
        mode=client.mode,
        prompt_language=request.prompt_language,
        params=request.params,
        benchmarks=tuple(plans),
        base_url=client.base_url,
    )
    for warning in warn_before(request.params, request.repeats):
        say(f"Warning: {warning}")
    parts = [loader.tasks(request, part, client.mode) for part in loaded]
    tasks = parts[0] if len(parts) == 1 else [task for part in parts for task in part]
    return Prepared(request, client, config, tasks)


def load_tasks(
    request: Request, mode: Mode, *, loader: Loader | None = None, say: Say = _on_stderr
) -> list[tuple[BenchmarkPlan, list[Task]]]:
    """Return everything that the full plan of `request` asks, by benchmark; asks nothing.

    Raises
    ------
    InputError
        As of :func:`prepare`.
    """
    loader = loader or Loader()
    return [
        (_plan(part, request, {}, say), loader.tasks(request, part, mode))
        for part in loader.load(request)
    ]


def maker(request: Request, *, threads: int | None = None) -> Callable[[], NamedClient]:
    """Return what makes the client of `request`, here or on another machine."""
    return partial(
        make_client,
        spec_of(request),
        base_url=request.base_url,
        mode=request.mode,
        timeout_s=request.timeout_s,
        tries=request.tries,
        threads=threads,
        batch=request.batch,
    )


def runs_in_workers(request: Request) -> bool:
    """Whether each worker loads the model, where others share a server."""
    kind = spec_of(request).partition("/")[0]
    served = request.base_url or os.environ.get(f"{kind.upper()}_BASE_URL")
    return kind == "local" or (kind in ENGINES and not served)


def _check_judges(request: Request, loaded: Sequence[Loaded]) -> None:
    """Refuse, before anything is paid for, judges that cannot be asked or have nothing to do."""
    from hatscore.judging import make_judges

    if not any(part.is_judged for part in loaded):
        names = ", ".join(request.benchmarks)
        raise InputError(f"--judge: no item of {names} is graded by a judge; leave it out")
    make_judges(request.judges, base_url=request.judge_url)


def _check_options(benchmarks: Sequence[Benchmark], options: Mapping[str, str]) -> None:
    known = {name for benchmark in benchmarks for name in benchmark.options}
    for name in options:
        if name not in known:
            names = ", ".join(b.name for b in benchmarks)
            raise UnknownNameError(f"option of {names}", name, known or {"(it has none)"})


def _options(benchmark: Benchmark, request: Request) -> dict[str, str]:
    return {k: v for k, v in request.options.items() if k in benchmark.options}


def _key(benchmark: Benchmark, request: Request) -> tuple[object, ...]:
    """Return what decides the items of a benchmark."""
    languages = None if request.languages is None else tuple(request.languages)
    options = tuple(sorted(_options(benchmark, request).items()))
    return (benchmark.name, options, languages, request.source_language, request.items,
            request.seed)  # fmt: skip


def _load(benchmark: Benchmark, request: Request) -> Loaded:
    options = _options(benchmark, request)
    if isinstance(benchmark, Bindable):
        benchmark = benchmark.bind(options)
    everything, items = load_chosen(
        benchmark,
        languages=request.languages,
        source_language=request.source_language,
        items=request.items,
        seed=request.seed,
        options=options,
    )
    return Loaded(benchmark, options, everything, items)


def _plan(
    loaded: Loaded, request: Request, stored: Mapping[str, SamplingPlan], say: Say
) -> BenchmarkPlan:
    benchmark = loaded.benchmark
    spread, note = choose_plan(
        request.plan,
        loaded.items,
        benchmark=benchmark.name,
        repeats=request.repeats,
        stored=stored.get(benchmark.name),
        judged=bool(request.judges),
    )
    if note:
        say(f"Note: {note}")
    return BenchmarkPlan(
        name=benchmark.name,
        version=benchmark.version,
        languages=loaded.languages,
        source_language=loaded.languages[0],
        repeats=request.repeats,
        items=request.items,
        seed=request.seed,
        options=loaded.options,
        plan=spread,
    )
