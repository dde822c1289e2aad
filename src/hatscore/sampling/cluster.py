"""Many machines: the tasks of runs spread over Ray workers (extra ``cluster``).

The tasks of a run are cut into slices of one benchmark and one language. A worker samples a slice
into a shard of its own, and the driver, the only writer of the run, merges the shards by their
keys. A worker that is gone is replaced and its slice is given to another: what the lost one had
sampled of that slice is asked for again, and no key holds two replies. A run that was sampled
here can be resumed without a cluster, and the other way round.

The requests under way are shared: with W workers each may have one Wth of the run's concurrency.
"""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError, MissingExtraError, ModelError
from hatscore.sampling.budget import Budget
from hatscore.sampling.cluster_budget import Ledger
from hatscore.sampling.cluster_pool import Cluster, Pool, Slice, connected, room_for
from hatscore.sampling.cluster_shard import Aside, Merged, Shelf, merge, models_in, run_key
from hatscore.sampling.cluster_worker import Order, Result
from hatscore.sampling.engine import Names
from hatscore.sampling.observed import write_observed
from hatscore.sampling.servers import keep_server, read_servers
from hatscore.sampling.tally import Progress, Summary, estimated, several_names
from hatscore.sampling.warn import warn_after

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hatscore.sampling.client import Client
    from hatscore.sampling.run import Run
    from hatscore.sampling.task import Cell, Task

__all__ = ["Cluster", "Job", "sample_on_ray"]

LARGEST_SLICE = 64  # tasks: what a lost worker loses is bounded
_SLICES_PER_WORKER = 8


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be sampled.

    Parameters
    ----------
    run
        From :meth:`Run.create_or_resume`; it stays open.
    tasks
        As of :func:`hatscore.sampling.engine.sample`.
    make_client
        Makes the client, on each worker; it must be picklable.
    concurrency
        Most requests under way at once, over all workers, at least 1.
    mixed_models
        Go on when the server answers under another model name than before, and take in what
        was set aside because of that.
    budget
        Limits of the run, all starts and workers together, and prices.
    then
        Called when all that `tasks` asks for has been asked, with how far the run is; returns
        the tasks of the next stage, those of this one included, or None at the end. Not called
        after a stage that was stopped by a limit.
    """

    run: Run
    tasks: Sequence[Task]
    make_client: Callable[[], Client]
    concurrency: int = 8
    mixed_models: bool = False
    budget: Budget = field(default_factory=Budget)
    then: Callable[[Summary], Sequence[Task] | None] | None = None


@dataclass(slots=True)
class _State:
    """Counters of one job, and what it asks for in this stage."""

    tasks: Sequence[Task]
    total: int
    already: int
    ledger: Ledger
    failed: frozenset[Cell]
    over: bool = False
    merged: Merged = field(default_factory=Merged)
    requests: int = 0
    warnings: dict[str, None] = field(default_factory=dict)  # each once, in order


def sample_on_ray(
    jobs: Sequence[Job],
    cluster: Cluster | None = None,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> list[Summary]:
    """Sample what the runs of `jobs` lack on the workers of `cluster`.

    Ctrl-C and SIGTERM stop it in good order: what has arrived is merged, then KeyboardInterrupt
    is raised. The same call goes on later.

    Parameters
    ----------
    jobs
        At least one; several models are sampled side by side.
    cluster
        None starts Ray on this machine.
    progress
        Called at the start and after every slice, with all jobs together.

    Returns
    -------
    list of Summary
        One per job, in their order.

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    InputError
        A concurrency below 1, or the cluster has no room for so many workers.
    ModelError
        Ray does not start, a model does not answer as it must, a slice has ended three workers,
        or the server has answered under two model names; what would have mixed them is set
        aside in the run directory.
    RunError
        A run or the shelf cannot be written.
    KeyboardInterrupt
        It was stopped.
    """
    cluster = cluster or Cluster()
    if importlib.util.find_spec("ray") is None:
        raise MissingExtraError("cluster", "sampling on many machines")
    for job in jobs:
        if job.concurrency < 1:
            raise InputError(f"concurrency {job.concurrency}: expected at least 1")
    driver = _Driver(jobs, cluster, progress)
    with _sigterm_interrupts():
        driver.run()
    return driver.summaries()


class _Driver:
    """Gives out slices and merges what comes back."""

    def __init__(
        self,
        jobs: Sequence[Job],
        cluster: Cluster,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.jobs = jobs
        self.concurrencies = [job.concurrency for job in jobs]
        self.cluster = cluster
        self.progress = progress
        self.start = time.monotonic()
        self.keys = [f"{index}-{run_key(job.run.config)}" for index, job in enumerate(jobs)]
        self.folders = [f"shards/{run_key(job.run.config)}" for job in jobs]
        self.shelf = None if cluster.shelf_url is None else Shelf(cluster.shelf_url)
        for job, folder in zip(jobs, self.folders, strict=True):
            job.run.store.put_items(job.tasks)
            _take_from_aside(job)
            self._take_from_shelf(job, folder)
        self.states = [_state(job) for job in jobs]
        self.workers = 1
        self._cut = 0

    def run(self) -> None:
        self._report()
        asking = [self._missing(index) for index in range(len(self.jobs))]
        if not any(asking):
            return
        with connected(self.cluster) as ray:
            room = room_for(ray, self.cluster)
            self.workers = min(room, max(self.concurrencies))
            slices: deque[Slice] = deque()
            for index, tasks in enumerate(asking):
                slices += self._slices(index, tasks)
            # a later stage may have more to ask for than the first one
            staged = any(not state.over for state in self.states)
            size = self.workers if staged else min(self.workers, len(slices))
            pool = Pool(ray, self.cluster, self, size)
            try:
                pool.work(slices)
            except BaseException:
                # The error that ended it is the one to show; what arrived is merged all the same.
                with contextlib.suppress(Exception):
                    pool.stop()
                raise
            finally:
                pool.end()

    def summaries(self) -> list[Summary]:
        return [self._summary(index) for index in range(len(self.jobs))]

    def _summary(self, index: int) -> Summary:
        job, state = self.jobs[index], self.states[index]
        merged = state.merged
        models = job.run.store.models()
        said = warn_after(job.run.store, job.run.config.params)
        used = job.run.store.usage()
        cost = job.budget.cost(used.input_tokens, used.output_tokens)
        warnings = [*state.warnings, *said, *several_names(models), *estimated(used, cost)]
        return Summary(
            total=state.total,
            already=state.already,
            new=merged.new,
            errors=merged.errors,
            requests=state.requests,
            wall_s=time.monotonic() - self.start,
            input_tokens=merged.input_tokens,
            output_tokens=merged.output_tokens,
            reasoning_tokens=merged.reasoning_tokens,
            models=models,
            warnings=tuple(dict.fromkeys(warnings)),
            last_error=merged.last_error,
            cost=cost,
            stopped=state.ledger.reached,
        )

    def has_room(self, job: int) -> bool:
        ledger = self.states[job].ledger
        return not ledger.is_limited or ledger.has_room()

    def order(self, piece: Slice, concurrency: int) -> Order:
        job = self.jobs[piece.job]
        held = job.run.store.good_repeats()
        lacks = [count for task in piece.tasks if (count := _lacks(task, held))]
        return Order(
            job=self.keys[piece.job],
            name=piece.name,
            make_client=job.make_client,
            tasks=piece.tasks,
            held={task.cell: held.get(task.cell, set()) for task in piece.tasks},
            params=job.run.config.params,
            concurrency=concurrency,
            shelf_url=self.cluster.shelf_url,
            known=read_servers(job.run.directory),
            models=job.run.store.models(),
            mixed_models=job.mixed_models,
            grant=self.states[piece.job].ledger.grant(piece.name, sum(lacks), lacks[0]),
            failed=self.states[piece.job].failed & {task.cell for task in piece.tasks},
        )

    def take(self, piece: Slice, result: Result) -> bool:
        """Merge a shard and keep what its worker has said."""
        job, state = self.jobs[piece.job], self.states[piece.job]
        merged, mixed = _merge(job, result.content)
        state.merged += merged
        self._settle(piece, reached=result.reached)
        state.requests += result.requests
        state.warnings |= dict.fromkeys((*result.notes, *result.warnings))
        if self.shelf is not None:
            self.shelf.remove(piece.name)
        keep_server(job.run.directory, result.known)
        if result.observed is not None:
            write_observed(job.run.directory, result.observed)
        self._report()
        if mixed is not None:
            raise mixed
        if result.failure is not None:
            raise result.failure.error()
        return result.reached

    def rescue(self, piece: Slice) -> bool:
        """Merge what a lost worker has put on the shelf; tell whether nothing is left to ask."""
        job, state = self.jobs[piece.job], self.states[piece.job]
        content = None if self.shelf is None else self.shelf.get(piece.name)
        if content is None or self.shelf is None:
            self._settle(piece)
            return False
        merged, mixed = _merge(job, content)
        state.merged += merged
        self._settle(piece)
        self.shelf.remove(piece.name)
        self._report()
        if mixed is not None:
            raise mixed
        held = job.run.store.good_repeats()
        return all(_is_whole(task, held) for task in piece.tasks)

    def more(self, job: int) -> Sequence[Slice]:
        """Return the slices of the run's next stage: this one is over."""
        return self._slices(job, self._missing(job, over=True))

    def _missing(self, index: int, *, over: bool = False) -> list[Task]:
        """Return what the run lacks in this stage, else in the next that lacks anything.

        Nothing where its limits let nothing be asked for.
        """
        job, state = self.jobs[index], self.states[index]
        while True:
            held = job.run.store.good_repeats()
            missing = [] if over else [task for task in state.tasks if not _is_whole(task, held)]
            if missing:
                missing.sort(key=lambda task: task.cell in state.failed)  # those come last
                return missing if self.has_room(index) else []
            tasks = None if job.then is None or state.over else job.then(self._summary(index))
            if tasks is None:
                state.over = True
                return []
            over = False
            state.tasks = tasks
            job.run.store.put_items(tasks)
            state.total, has = _so_far(tasks, job.run.store.good_repeats())
            state.already = has - state.merged.new
            state.failed = job.run.store.failed_cells()
            # what failed before is asked for again now
            state.merged = replace(state.merged, errors=0, last_error=None)
            self._report()

    def _settle(self, piece: Slice, *, reached: bool = False) -> None:
        """Count what the run has used, and take back what was promised for a slice."""
        used = self.jobs[piece.job].run.store.usage()
        self.states[piece.job].ledger.settle(piece.name, used, stopped=reached)

    def _slices(self, index: int, missing: Sequence[Task]) -> list[Slice]:
        """Cut what is missing into slices; neighbours stay together."""
        slices: list[Slice] = []
        most = self.cluster.slice_tasks or max(
            1, min(LARGEST_SLICE, len(missing) // (self.workers * _SLICES_PER_WORKER))
        )
        for _, group in groupby(missing, key=lambda task: (task.benchmark, task.item.language)):
            tasks = list(group)
            for first in range(0, len(tasks), most):
                name = f"{self.folders[index]}/{self._cut:06}.sqlite"
                slices.append(Slice(index, name, tasks[first : first + most]))
                self._cut += 1
        return slices

    def _take_from_shelf(self, job: Job, folder: str) -> None:
        """Merge what an earlier driver did not come to merge."""
        if self.shelf is None:
            return
        problem: ModelError | None = None
        for name in self.shelf.names(folder):
            content = self.shelf.get(name)
            if content is not None:
                _, mixed = _merge(job, content)
                self.shelf.remove(name)
                problem = problem or mixed
        if problem is not None:
            raise problem

    def _report(self) -> None:
        if self.progress is None:
            return
        total = sum(state.total for state in self.states)
        already = sum(state.already for state in self.states)
        merged = sum((state.merged for state in self.states), Merged())
        elapsed = time.monotonic() - self.start
        rate = merged.new / elapsed if elapsed > 0 else 0.0
        done = already + merged.new
        used = [state.ledger.used for state in self.states]
        costs = [
            job.budget.cost(had.input_tokens, had.output_tokens)
            for job, had in zip(self.jobs, used, strict=True)
        ]
        known = [cost for cost in costs if cost is not None]
        self.progress(
            Progress(
                done,
                total,
                merged.new,
                merged.errors,
                elapsed,
                rate,
                (total - done) / rate if rate > 0 else None,
                sum(had.input_tokens for had in used),
                sum(had.output_tokens for had in used),
                sum(known) if len(known) == len(costs) else None,
            )
        )


def _merge(job: Job, content: bytes) -> tuple[Merged, ModelError | None]:
    """Merge a shard; one that would mix models is set aside, and the error to raise comes back."""
    store = job.run.store
    names = Names(job.run.config.served_model, store.models(), mixed=job.mixed_models)
    try:
        for name in models_in(content):
            names.add(name)
    except ModelError as error:
        path = Aside(job.run.directory).put(content)
        kept = f"the replies of this slice are kept in {path}, and --mixed-models takes them in"
        return Merged(), ModelError(f"{error}; {kept}")
    return merge(store, content), None


def _take_from_aside(job: Job) -> None:
    """Merge what was set aside, where models may be mixed now."""
    if job.mixed_models:
        aside = Aside(job.run.directory)
        for path in aside.paths():
            merge(job.run.store, path.read_bytes())
            aside.remove(path)


def _state(job: Job) -> _State:
    total, already = _so_far(job.tasks, job.run.store.good_repeats())
    ledger = Ledger(job.budget, job.run.store.usage())
    failed = job.run.store.failed_cells()
    return _State(job.tasks, total, already, ledger, failed, over=job.then is None)


def _so_far(tasks: Sequence[Task], held: Any) -> tuple[int, int]:
    """Return how many replies are asked for, and how many of them are there."""
    has = (sum(repeat < task.repeats for repeat in held.get(task.cell, ())) for task in tasks)
    return sum(task.repeats for task in tasks), sum(has)


def _lacks(task: Task, held: Any) -> int:
    has = held.get(task.cell, ())
    return sum(repeat not in has for repeat in range(task.repeats))


def _is_whole(task: Task, held: Any) -> bool:
    return not _lacks(task, held)


@contextlib.contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Stop in good order on SIGTERM, as on Ctrl-C, where signals can be handled."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
