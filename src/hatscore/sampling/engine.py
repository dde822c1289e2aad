"""Ask for what the store lacks, write it as it comes, and say how far it is.

A request is under way until its replies are committed: what a kill can lose is what was under
way. All replies that come in a few turns of the event loop share a commit, so that a fast server is
not slowed by it and a slow one never waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from hatscore.errors import InputError, ModelError, RefusedRequestError
from hatscore.sampling.budget import Budget, Meter, Usage
from hatscore.sampling.client import Completion, LetGoError, Waiting
from hatscore.sampling.pace import FIRST, Pace, Paced
from hatscore.sampling.tally import Progress, Summary, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping

    from hatscore.sampling.client import Client, SamplingParams
    from hatscore.sampling.task import Cell, Task

    _Job = Callable[[], Coroutine[None, None, None]]

__all__ = ["STOPPED", "Names", "Progress", "Sink", "Summary", "request_seed", "sample"]

_MOST_TURNS = 4
MOST_FAILED = 20  # requests in a row, each after all its tries
GRACE_S = 20.0
TICK_S = 1.0
STOPPED = "stopped from outside"


class Sink(Protocol):
    """Where replies go: what :func:`sample` needs of a store, as :class:`Store` has it."""

    def put_items(self, tasks: Iterable[Task], /) -> None:
        """Take note of what will be asked."""
        ...

    def good_repeats(self) -> Mapping[Cell, Collection[int]]:
        """Return which repeats of each cell need not be asked for again."""
        ...

    def failed_cells(self) -> Collection[Cell]:
        """Return the cells that hold an error in place of a reply."""
        ...

    def put_all(
        self,
        cell: Cell,
        repeats: Sequence[int],
        completions: Sequence[Completion],
        /,
        *,
        seed: int | None,
    ) -> None:
        """Keep the replies of one request, or the errors in their place."""
        ...

    def flush(self) -> None:
        """Commit everything."""
        ...

    def models(self) -> tuple[str, ...]:
        """Return the model names that the server gave, sorted."""
        ...


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


async def sample(
    store: Sink,
    tasks: Iterable[Task],
    client: Client,
    *,
    params: SamplingParams,
    concurrency: int = 8,
    progress: Callable[[Progress], None] | None = None,
    budget: Budget | None = None,
    used: Usage | None = None,
    stop: asyncio.Event | None = None,
    mixed_models: bool = False,
) -> Summary:
    """Sample every reply of `tasks` that `store` does not hold.

    Replies are committed as they come. When this is cancelled, or fails, what had arrived is
    committed and the next start goes on from there. The client is checked first, unless nothing
    is missing; it is not closed.

    Parameters
    ----------
    store
        A :class:`Store` open for writing, or another sink.
    tasks
        Asked for in this order, but what has failed in an earlier start comes last. The prompts
        of one language often share their examples: servers keep the computed prefix of the last
        few prompts, so neighbours should share it. A sequence is gone through a few times and
        never copied: it may make its tasks when asked.
    client
        The model.
    params
        Sampling parameters; each request gets its own seed from ``params.seed``.
    concurrency
        Most requests under way at once, at least 1. With a :class:`Paced` client the number
        follows the server below that, see :class:`Pace`.
    progress
        Called at the start and after every answer.
    budget
        Limits of the run, and prices; None sets none.
    used
        What earlier starts of the run have used: it counts against the limits.
    stop
        When it is set, nothing more is asked for, what is under way is waited for, at most 20
        seconds (what waits between two tries ends at once), and the summary says so.
    mixed_models
        Go on when the server answers under another model name than before.

    Raises
    ------
    InputError
        `concurrency` below 1, a task without repeats, or two tasks for one item and language.
    ModelError
        The model does not answer as it must, the last 20 requests have all failed (those that
        had failed in an earlier start do not count), or the server answers under another
        model name than before in this run; such a reply is not stored.
    RunError
        The store cannot be written.
    """
    tasks = tasks if isinstance(tasks, Sequence) else list(tasks)
    start = _Start(
        store,
        _Plan(tasks, store.good_repeats(), store.failed_cells()),
        client,
        params=params,
        # A client that never says that it is too much gets what was asked for.
        pace=Pace(concurrency, first=FIRST if isinstance(client, Paced) else concurrency),
        meter=Meter(budget or Budget(), used or Usage()),
        names=Names(client.name, store.models(), mixed=mixed_models),
        progress=progress,
        stop=stop,
    )
    try:
        await start.run()
    except BaseException:
        # The error that ended the sampling is the one to show; a full disk shows up again.
        with contextlib.suppress(Exception):
            store.flush()
        raise
    store.flush()
    return start.tally.summary(store.models(), stopped=start.stopped)


class _Start:
    """One start of the sampling."""

    def __init__(
        self,
        store: Sink,
        plan: _Plan,
        client: Client,
        *,
        params: SamplingParams,
        pace: Pace,
        meter: Meter,
        names: Names,
        progress: Callable[[Progress], None] | None,
        stop: asyncio.Event | None,
    ) -> None:
        self.store = store
        self.plan = plan
        self.client = client
        self.params = params
        self.pace = pace
        self.meter = meter
        self.names = names
        self.progress = progress
        self.stop = stop
        plan.note(store)
        self.tally = Tally(plan.total, plan.total - plan.missing, meter)
        self.commits = _Commits(store)
        self.waiting = plan.waiting()
        self.failed_in_a_row = 0
        self.reported = 0.0

    async def run(self) -> None:
        self.report()
        if not self.plan.missing:
            return
        if not await self._is_ready():
            return
        self.tally.begin = time.monotonic()
        paced = self.client if isinstance(self.client, Paced) else None
        if paced is not None:
            paced.on_pushback = self.pace.push_back
        try:
            workers = min(self.pace.most, self.plan.cells)
            await _together([self.work] * workers, [self.commits.run, self.tick], self.heed)
        finally:
            if paced is not None:
                paced.on_pushback = None

    async def _is_ready(self) -> bool:
        """Wait for the client, which may load a model; not when asked to stop."""
        if self.stop is None:
            await self.client.check()
            return True
        check = asyncio.ensure_future(self.client.check())
        stopped = asyncio.ensure_future(self.stop.wait())
        try:
            await asyncio.wait((check, stopped), return_when=asyncio.FIRST_COMPLETED)
            if check.done():
                check.result()
            return not stopped.done()
        finally:
            for job in (check, stopped):
                job.cancel()
            await asyncio.gather(check, stopped, return_exceptions=True)

    @property
    def stopped(self) -> str | None:
        """Why it ended early, None when it did not."""
        if self.stop is not None and self.stop.is_set() and not self.tally.complete:
            return STOPPED
        return self.meter.reached

    async def work(self) -> None:
        task: Task | None = None
        left: list[int] = []
        while True:
            # what to ask is taken with the turn, so that it is asked in order
            began = await self.pace.begin()
            if began is None:
                return
            if not left:
                task, left = next(self.waiting, (None, []))
            if task is None:
                self.pace.leave()
                return
            asked = await self.meter.begin(len(left))
            if not asked:
                self.pace.close()
                return
            try:
                completions = await self.ask(task, left, asked)
            except LetGoError:
                return
            self.pace.end(began, good=completions[0].error is None)
            left = left[len(completions) :]

    async def ask(self, task: Task, repeats: list[int], asked: int) -> list[Completion]:
        """Ask for `asked` of `repeats`, and store what comes."""
        cell = task.cell
        prompt = task.prompt
        seed = request_seed(self.params.seed, cell, repeats[0])
        completions: list[Completion] = []
        try:
            came = await self.client.complete(prompt, n=asked, params=self.params, seed=seed)
            completions = came[:asked]
        except RefusedRequestError as error:
            # the next start asks others first: were it about this prompt alone, it would bar them
            lost = [Completion("", error=str(error))] * asked
            self.store.put_all(cell, repeats[:asked], lost, seed=seed)
            raise
        finally:
            self.meter.end(asked, completions, prompt)
        if not completions:
            raise ModelError(f"the client of {self.client.name!r} returned no reply")
        self.names.check(completions)
        self.store.put_all(cell, repeats[: len(completions)], completions, seed=seed)
        self.tally.count(cell.language, asked, completions)
        self.report()
        self.check_failures(cell, failed=completions[-1].error is not None)
        await self.commits.done()
        return completions

    def check_failures(self, cell: Cell, *, failed: bool) -> None:
        """End it where nothing but failures comes, of requests that have not failed before."""
        if not failed:
            self.failed_in_a_row = 0
        elif cell not in self.plan.failed:
            self.failed_in_a_row += 1
        if self.failed_in_a_row >= MOST_FAILED:
            raise ModelError(
                f"the last {MOST_FAILED} requests have all failed: {self.tally.last_error}; what "
                "had arrived is stored, start again to go on"
            )

    def report(self) -> None:
        self.reported = time.monotonic()
        if self.progress is not None:
            self.progress(self.tally.progress(self.pace.under_way, self.pace.limit, self.trouble()))

    def trouble(self) -> str | None:
        """Return why nothing comes at present, None where no reason is known."""
        if self.pace.paused_s:
            return f"the server has asked for a pause, {self.pace.paused_s:.0f} s are left"
        return self.client.trouble if isinstance(self.client, Waiting) else None

    async def tick(self) -> None:
        """Report also where nothing comes."""
        while True:
            await asyncio.sleep(TICK_S)
            if time.monotonic() - self.reported >= TICK_S:
                self.report()

    async def heed(self, jobs: Sequence[asyncio.Task[None]]) -> None:
        """Stop in good order when asked to."""
        if self.stop is not None:
            await self.stop.wait()
            self.pace.close()
            self.meter.close()
            if isinstance(self.client, Waiting):
                self.client.let_go()
            await asyncio.sleep(GRACE_S)
            for job in jobs:
                job.cancel()


async def _together(
    workers: Sequence[_Job],
    helpers: Sequence[_Job],
    heed: Callable[[Sequence[asyncio.Task[None]]], Coroutine[None, None, None]],
) -> None:
    """Run `workers` to their end; the first error cancels the others and is raised alone."""
    try:
        async with asyncio.TaskGroup() as group:
            jobs = [group.create_task(worker()) for worker in workers]
            helping = [group.create_task(helper()) for helper in helpers]
            helping.append(group.create_task(heed(jobs)))
            await asyncio.wait(jobs)
            for helper in helping:
                helper.cancel()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


class _Plan:
    """What is wanted and what is missing of it; holds the keys, not the prompts."""

    def __init__(
        self,
        tasks: Sequence[Task],
        held: Mapping[Cell, Collection[int]],
        failed: Collection[Cell],
    ) -> None:
        self.failed = failed
        self._tasks = tasks
        self._held = held
        self.total = self.missing = self.cells = 0

    def note(self, store: Sink) -> None:
        """Check and count everything, and let the store take note of it."""
        noted = self._checked()
        store.put_items(noted)
        deque(noted, maxlen=0)  # a sink may have no use for them

    def _checked(self) -> Iterator[Task]:
        """Yield every task after a look at it, and count."""
        seen: set[Cell] = set()
        for task in self._tasks:
            cell = task.cell
            if task.repeats < 1:
                raise InputError(f"repeats {task.repeats}: expected at least 1")
            if cell in seen:
                raise InputError(f"two tasks for {'/'.join(cell)}; expected one")
            seen.add(cell)
            missing = len(self._missing(task))
            self.total += task.repeats
            self.missing += missing
            self.cells += missing > 0
            yield task

    def waiting(self) -> Iterator[tuple[Task, list[int]]]:
        """Yield every task that lacks replies, with the numbers of those.

        What has failed before comes last: it may fail again, and others wait for their first try.
        """
        for again in (False, True) if self.failed else (False,):
            for task in self._tasks:
                repeats = self._missing(task) if (task.cell in self.failed) == again else []
                if repeats:
                    yield task, repeats

    def _missing(self, task: Task) -> list[int]:
        held = self._held.get(task.cell)
        if not held:
            return list(range(task.repeats))
        return [repeat for repeat in range(task.repeats) if repeat not in held]


class _Commits:
    """One commit for all replies of a few turns of the event loop."""

    def __init__(self, store: Sink) -> None:
        self._store = store
        self._due = asyncio.Event()
        self._next: asyncio.Future[None] | None = None
        self._waiting = 0

    def done(self) -> asyncio.Future[None]:
        """Return what is done when everything that was put so far is committed."""
        self._waiting += 1
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            self._due.set()
        return self._next

    async def run(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            # As long as every turn of the event loop brings more, they may share the commit.
            for _ in range(_MOST_TURNS):
                waiting = self._waiting
                await asyncio.sleep(0)
                if self._waiting == waiting:
                    break
            self._waiting = 0
            done, self._next = self._next, None
            self._store.flush()
            if done is not None and not done.done():
                done.set_result(None)


class Names:
    """The model names that came back; a new one ends the run, unless they may be mixed.

    Parameters
    ----------
    asked
        The name that was asked for; for the message.
    before
        The names that the run holds.
    mixed
        Whether a further name may come.
    """

    def __init__(self, asked: str, before: Iterable[str], *, mixed: bool) -> None:
        self._asked = asked
        self._known = set(before)
        self._mixed = mixed

    def check(self, completions: Iterable[Completion]) -> None:
        """Raise ModelError where a reply comes under another name than those before."""
        for completion in completions:
            name = completion.model
            if name is not None and name not in self._known and completion.error is None:
                self.add(name)

    def add(self, name: str) -> None:
        """Take note of `name`, and raise ModelError where it is another than before."""
        if self._known and name not in self._known and not self._mixed:
            known = " and ".join(map(repr, sorted(self._known)))
            raise ModelError(
                f"asked for {self._asked!r}, the server answers as {name!r} now and as {known} "
                "before in this run: replies of two models would be mixed; sample the new "
                "model into a new run, or allow it with --mixed-models"
            )
        self._known.add(name)
