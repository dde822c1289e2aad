"""Ask for what the store lacks, write it as it comes, and say how far it is."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from hatscore.errors import InputError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping

    from hatscore.sampling.client import Client, Completion, SamplingParams
    from hatscore.sampling.task import Cell, Task

    _Job = Callable[[], Coroutine[None, None, None]]

__all__ = ["Progress", "Sink", "Summary", "request_seed", "sample"]

FLUSH_S = 0.25
MOST_FAILED = 20  # requests in a row, each after all its tries


class Sink(Protocol):
    """Where replies go: what :func:`sample` needs of a store, as :class:`Store` has it."""

    def put_items(self, tasks: Iterable[Task], /) -> None:
        """Take note of what will be asked."""
        ...

    def good_repeats(self) -> Mapping[Cell, Collection[int]]:
        """Return which repeats of each cell need not be asked for again."""
        ...

    def put(self, cell: Cell, repeat: int, completion: Completion, /, *, seed: int | None) -> None:
        """Keep one reply, or the error in its place."""
        ...

    def flush_if_due(self) -> None:
        """Commit when what waits has waited long enough; called several times a second."""
        ...

    def flush(self) -> None:
        """Commit everything."""
        ...

    def models(self) -> tuple[str, ...]:
        """Return the model names that the server gave, sorted."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the sampling is.

    Parameters
    ----------
    done, total
        Good replies stored and wanted, those of earlier starts included.
    new, errors
        Good replies and errors of this start.
    elapsed_s
        Seconds since this start.
    rate
        New good replies per second since the model was ready; 0.0 before the first.
    eta_s
        Seconds to go at that rate; None before the first reply.
    """

    done: int
    total: int
    new: int
    errors: int
    elapsed_s: float
    rate: float
    eta_s: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What one start of the sampling has brought.

    Parameters
    ----------
    total, already, new, errors
        Replies wanted, stored before, new and good, failed for good. The run is complete when
        ``already + new == total``.
    requests
        Answers of the client.
    wall_s
        Seconds.
    input_tokens, output_tokens, reasoning_tokens
        Sums over the new replies for which the server told them; None when for none. The prompt
        of a request that brings n replies counts n times, though most servers bill it once.
    models
        Model names that the server has given with any good reply of the store.
    warnings
        What a reader of the results should know.
    last_error
        The last failure, None when there was none.
    """

    total: int
    already: int
    new: int
    errors: int
    requests: int
    wall_s: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    models: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    last_error: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every reply that was asked for is stored."""
        return self.already + self.new >= self.total


def request_seed(run_seed: int | None, cell: Cell, first_repeat: int) -> int | None:
    """Return the seed of the request whose first reply is `first_repeat`.

    Hashed, so that the seeds of two requests are far apart: llama.cpp draws reply j of a
    request with seed + j, and neighbouring seeds would repeat each other's draws.

    Parameters
    ----------
    run_seed
        Seed of the run; None sends no seed.
    cell
        Item and language.
    first_repeat
        Number of the first reply that the request is for; unique among the good replies.

    Returns
    -------
    int or None
        0 to 2**31 - 1, which every server takes.
    """
    if run_seed is None:
        return None
    key = "\0".join((str(run_seed), *cell, str(first_repeat)))
    return int.from_bytes(sha256(key.encode("utf-8", "replace")).digest()[:4]) >> 1


class _State:
    """Counters of one start."""

    def __init__(self, total: int, already: int) -> None:
        self.total = total
        self.already = already
        self.new = self.errors = self.requests = self.failed_in_a_row = 0
        self.last_error: str | None = None
        self.start = self.begin = time.monotonic()  # begin: when the model was ready
        self._tokens: dict[str, int] = {}

    def count(self, completions: list[Completion]) -> None:
        self.requests += 1
        good = [c for c in completions if c.error is None]
        self.new += len(good)
        self.errors += len(completions) - len(good)
        self.failed_in_a_row = 0 if good else self.failed_in_a_row + 1
        for completion in completions:
            self.last_error = completion.error or self.last_error
        for completion in good:
            for name in ("input_tokens", "output_tokens", "reasoning_tokens"):
                value = getattr(completion, name)
                if value is not None:
                    self._tokens[name] = self._tokens.get(name, 0) + value

    def progress(self) -> Progress:
        elapsed = time.monotonic() - self.start
        busy = time.monotonic() - self.begin
        rate = self.new / busy if busy > 0 else 0.0
        done = self.already + self.new
        eta = (self.total - done) / rate if rate > 0 else None
        return Progress(done, self.total, self.new, self.errors, elapsed, rate, eta)

    def summary(self, models: tuple[str, ...]) -> Summary:
        warnings = []
        if len(models) > 1:
            warnings.append(
                f"the server answered under several model names: {', '.join(models)}; "
                "these replies may come from different models"
            )
        return Summary(
            total=self.total,
            already=self.already,
            new=self.new,
            errors=self.errors,
            requests=self.requests,
            wall_s=time.monotonic() - self.start,
            input_tokens=self._tokens.get("input_tokens"),
            output_tokens=self._tokens.get("output_tokens"),
            reasoning_tokens=self._tokens.get("reasoning_tokens"),
            models=models,
            warnings=tuple(warnings),
            last_error=self.last_error,
        )


async def sample(
    store: Sink,
    tasks: Iterable[Task],
    client: Client,
    *,
    params: SamplingParams,
    concurrency: int = 8,
    progress: Callable[[Progress], None] | None = None,
) -> Summary:
    """Sample every reply of `tasks` that `store` does not hold.

    Replies are stored as they come. When this is cancelled, or fails, what had arrived is
    committed and the next start goes on from there. The client is checked first, unless nothing
    is missing; it is not closed.

    Parameters
    ----------
    store
        A :class:`Store` open for writing, or another sink.
    tasks
        Asked for in this order. The prompts of one language often share their examples: servers
        keep the computed prefix of the last few prompts, so neighbours should share it.
    client
        The model.
    params
        Sampling parameters; each request gets its own seed from ``params.seed``.
    concurrency
        Most requests under way at once, at least 1.
    progress
        Called at the start and after every answer.

    Raises
    ------
    InputError
        `concurrency` below 1, a task without repeats, or two tasks for one item and language.
    ModelError
        The model does not answer as it must, or the last 20 requests have all failed.
    RunError
        The store cannot be written.
    """
    tasks = list(tasks)
    _check(tasks, concurrency)
    store.put_items(tasks)
    held = store.good_repeats()
    missing = [
        (task, [r for r in range(task.repeats) if r not in held.get(task.cell, ())])
        for task in tasks
    ]
    total = sum(task.repeats for task in tasks)
    state = _State(total, total - sum(len(repeats) for _, repeats in missing))
    report = progress or (lambda _: None)
    report(state.progress())
    waiting = deque((task, repeats) for task, repeats in missing if repeats)

    async def work() -> None:
        while waiting:
            task, repeats = waiting.popleft()
            while repeats:
                seed = request_seed(params.seed, task.cell, repeats[0])
                completions = await client.complete(
                    task.prompt, n=len(repeats), params=params, seed=seed
                )
                if not completions:
                    raise ModelError(f"the client of {client.name!r} returned no reply")
                for repeat, completion in zip(repeats, completions, strict=False):
                    store.put(task.cell, repeat, completion, seed=seed)
                repeats = repeats[len(completions) :]
                state.count(completions)
                report(state.progress())
                _check_failures(state)

    async def flush() -> None:
        while True:
            await asyncio.sleep(FLUSH_S)
            store.flush_if_due()

    try:
        if waiting:
            await client.check()
            state.begin = time.monotonic()
            workers = min(concurrency, len(waiting))
            await _together(flush, [work] * workers)
    except BaseException:
        # The error that ended the sampling is the one to show; a full disk shows up again.
        with contextlib.suppress(Exception):
            store.flush()
        raise
    store.flush()
    return state.summary(store.models())


async def _together(background: _Job, workers: list[_Job]) -> None:
    """Run `workers` to their end; the first error cancels the others and is raised alone."""
    try:
        async with asyncio.TaskGroup() as group:
            helper = group.create_task(background())
            jobs = [group.create_task(worker()) for worker in workers]
            await asyncio.wait(jobs)
            helper.cancel()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _check(tasks: list[Task], concurrency: int) -> None:
    if concurrency < 1:
        raise InputError(f"concurrency {concurrency}: expected at least 1")
    seen: set[Cell] = set()
    for task in tasks:
        if task.repeats < 1:
            raise InputError(f"repeats {task.repeats}: expected at least 1")
        if task.cell in seen:
            raise InputError(f"two tasks for {'/'.join(task.cell)}; expected one")
        seen.add(task.cell)


def _check_failures(state: _State) -> None:
    if state.failed_in_a_row >= MOST_FAILED:
        raise ModelError(
            f"the last {MOST_FAILED} requests have all failed: {state.last_error}; what had "
            "arrived is stored, start again to go on"
        )
