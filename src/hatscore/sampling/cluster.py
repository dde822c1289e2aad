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
import os
import signal
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError, MissingExtraError, ModelError
from hatscore.sampling.cluster_shard import Merged, Shelf, merge, run_key
from hatscore.sampling.cluster_worker import Order, Result, Worker
from hatscore.sampling.observed import write_observed
from hatscore.sampling.tally import Progress, Summary
from hatscore.sampling.warn import warn_after

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hatscore.sampling.client import Client
    from hatscore.sampling.run import Run
    from hatscore.sampling.task import Task

__all__ = ["Cluster", "Job", "sample_on_ray"]

MOST_DEATHS = 3  # of workers, over one slice
LARGEST_SLICE = 64  # tasks: what a lost worker loses is bounded
_SLICES_PER_WORKER = 8
_STOP_S = 25.0  # the engine waits for what is under way for 20 seconds
_OWN_OBJECTS = 200 * 1024 * 1024  # bytes for shards on the way, where we start Ray


@dataclass(frozen=True, slots=True)
class Cluster:
    """The workers to use.

    Parameters
    ----------
    address
        Of a running cluster: ``auto``, ``HOST:PORT``, ``ray://HOST:PORT``. None takes
        ``RAY_ADDRESS``, and without that starts Ray on this machine for as long as it is used.
    workers
        Number of workers; None takes as many as the cluster has room for.
    cpus_per_worker, gpus_per_worker
        What each worker reserves.
    slice_tasks
        Most tasks in a slice; None takes an eighth of what a worker gets, at most 64.
    shelf_url
        An fsspec URL where workers put each shard as soon as it is done. The next start finds
        what the last one did not merge.

    Raises
    ------
    InputError
        A number out of its range.
    """

    address: str | None = None
    workers: int | None = None
    cpus_per_worker: float = 1.0
    gpus_per_worker: float = 0.0
    slice_tasks: int | None = None
    shelf_url: str | None = None

    def __post_init__(self) -> None:
        for name in ("workers", "slice_tasks"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} {value}: expected at least 1")
        if self.cpus_per_worker < 0 or self.gpus_per_worker < 0:
            raise InputError("processors and accelerators per worker: expected at least 0")


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
    """

    run: Run
    tasks: Sequence[Task]
    make_client: Callable[[], Client]
    concurrency: int = 8


@dataclass(slots=True)
class _Slice:
    job: int
    name: str
    tasks: Sequence[Task]
    deaths: int = 0


@dataclass(slots=True)
class _State:
    """Counters of one job."""

    total: int
    already: int
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
        Ray does not start, a model does not answer as it must, or a slice has ended three
        workers.
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
        self.cluster = cluster
        self.progress = progress
        self.start = time.monotonic()
        self.keys = [f"{index}-{run_key(job.run.config)}" for index, job in enumerate(jobs)]
        self.folders = [f"shards/{run_key(job.run.config)}" for job in jobs]
        self.shelf = None if cluster.shelf_url is None else Shelf(cluster.shelf_url)
        for job, folder in zip(jobs, self.folders, strict=True):
            job.run.store.put_items(job.tasks)
            self._take_from_shelf(job, folder)
        self.states = [_state(job) for job in jobs]

    def run(self) -> None:
        self._report()
        missing = sum(state.total - state.already for state in self.states)
        if not missing:
            return
        with _ray(self.cluster) as ray:
            room = _room(ray, self.cluster)
            most = min(room, max(job.concurrency for job in self.jobs))
            slices = self._slices(most)
            pool = _Pool(ray, self.cluster, self, min(most, len(slices)))
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
        found = []
        for job, state in zip(self.jobs, self.states, strict=True):
            merged = state.merged
            models = job.run.store.models()
            warnings = [*state.warnings, *warn_after(job.run.store, job.run.config.params)]
            if len(models) > 1:
                warnings.append(
                    f"the server answered under several model names: {', '.join(models)}; "
                    "these replies may come from different models"
                )
            summary = Summary(
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
            )
            found.append(summary)
        return found

    def order(self, piece: _Slice, concurrency: int) -> Order:
        job = self.jobs[piece.job]
        held = job.run.store.good_repeats()
        return Order(
            job=self.keys[piece.job],
            name=piece.name,
            make_client=job.make_client,
            tasks=piece.tasks,
            held={task.cell: held.get(task.cell, set()) for task in piece.tasks},
            params=job.run.config.params,
            concurrency=concurrency,
            shelf_url=self.cluster.shelf_url,
        )

    def take(self, piece: _Slice, result: Result) -> None:
        """Merge a shard and keep what its worker has said."""
        job, state = self.jobs[piece.job], self.states[piece.job]
        state.merged += merge(job.run.store, result.content)
        state.requests += result.requests
        state.warnings |= dict.fromkeys((*result.notes, *result.warnings))
        if self.shelf is not None:
            self.shelf.remove(piece.name)
        if result.observed is not None:
            write_observed(job.run.directory, result.observed)
        self._report()
        if result.failure is not None:
            raise result.failure.error()

    def rescue(self, piece: _Slice) -> bool:
        """Merge what a lost worker has put on the shelf; tell whether nothing is left to ask."""
        job, state = self.jobs[piece.job], self.states[piece.job]
        content = None if self.shelf is None else self.shelf.get(piece.name)
        if content is None or self.shelf is None:
            return False
        state.merged += merge(job.run.store, content)
        self.shelf.remove(piece.name)
        self._report()
        held = job.run.store.good_repeats()
        return all(_is_whole(task, held) for task in piece.tasks)

    def _slices(self, workers: int) -> deque[_Slice]:
        """Cut what is missing into slices; neighbours stay together."""
        slices: deque[_Slice] = deque()
        for index, job in enumerate(self.jobs):
            held = job.run.store.good_repeats()
            missing = [task for task in job.tasks if not _is_whole(task, held)]
            most = self.cluster.slice_tasks or max(
                1, min(LARGEST_SLICE, len(missing) // (workers * _SLICES_PER_WORKER))
            )
            for _, group in groupby(missing, key=lambda task: (task.benchmark, task.item.language)):
                tasks = list(group)
                for first in range(0, len(tasks), most):
                    name = f"{self.folders[index]}/{len(slices):06}.sqlite"
                    slices.append(_Slice(index, name, tasks[first : first + most]))
        return slices

    def _take_from_shelf(self, job: Job, folder: str) -> None:
        """Merge what an earlier driver did not come to merge."""
        for name in [] if self.shelf is None else self.shelf.names(folder):
            content = None if self.shelf is None else self.shelf.get(name)
            if content is not None and self.shelf is not None:
                merge(job.run.store, content)
                self.shelf.remove(name)

    def _report(self) -> None:
        if self.progress is None:
            return
        total = sum(state.total for state in self.states)
        already = sum(state.already for state in self.states)
        merged = sum((state.merged for state in self.states), Merged())
        elapsed = time.monotonic() - self.start
        rate = merged.new / elapsed if elapsed > 0 else 0.0
        done = already + merged.new
        self.progress(
            Progress(
                done,
                total,
                merged.new,
                merged.errors,
                elapsed,
                rate,
                (total - done) / rate if rate > 0 else None,
            )
        )


class _Pool:
    """The workers, and which slice each has."""

    def __init__(self, ray: Any, cluster: Cluster, driver: _Driver, size: int) -> None:
        self.ray = ray
        self.cluster = cluster
        self.driver = driver
        self.size = size
        self.actors: list[Any] = [None] * size
        self.last_job: list[int | None] = [None] * size
        self.busy: dict[Any, tuple[int, _Slice]] = {}
        self.gone = (
            ray.exceptions.RayActorError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
        )

    def work(self, slices: deque[_Slice]) -> None:
        """Have all `slices` sampled."""
        while slices or self.busy:
            for index in range(self.size):
                if not any(at == index for at, _ in self.busy.values()):
                    self._give(index, slices)
            # With a time limit, so that Ctrl-C is heard.
            done, _ = self.ray.wait(list(self.busy), num_returns=1, timeout=1.0)
            for reference in done:
                index, piece = self.busy.pop(reference)
                try:
                    result = self.ray.get(reference)
                except self.gone as error:
                    self._replace(index)
                    self._again(piece, slices, error)
                else:
                    self.driver.take(piece, result)

    def stop(self) -> None:
        """Ask all workers to stop, and take what they have."""
        for index, _ in self.busy.values():
            self.actors[index].stop.remote()
        end = time.monotonic() + _STOP_S
        while self.busy and time.monotonic() < end:
            done, _ = self.ray.wait(list(self.busy), num_returns=1, timeout=1.0)
            for reference in done:
                _, piece = self.busy.pop(reference)
                with contextlib.suppress(Exception):  # the others' shards are worth as much
                    self.driver.take(piece, self.ray.get(reference))

    def end(self) -> None:
        """Release the models, then the workers."""
        actors = [actor for actor in self.actors if actor is not None]
        with contextlib.suppress(Exception):
            closing = [actor.close.remote() for actor in actors]
            self.ray.wait(closing, num_returns=len(closing), timeout=10.0)
        for actor in actors:
            with contextlib.suppress(Exception):
                self.ray.kill(actor)

    def _give(self, index: int, slices: deque[_Slice]) -> None:
        """Give a free worker a slice, if there is one whose concurrency reaches so far."""
        shares = [
            job.concurrency // self.size + (index < job.concurrency % self.size)
            for job in self.driver.jobs
        ]
        piece = self._next(index, [piece for piece in slices if shares[piece.job]])
        if piece is None:
            return
        slices.remove(piece)
        if self.actors[index] is None:
            remote = self.ray.remote(Worker).options(
                num_cpus=self.cluster.cpus_per_worker,
                num_gpus=self.cluster.gpus_per_worker,
                max_restarts=0,
            )
            self.actors[index] = remote.remote()
        order = self.driver.order(piece, shares[piece.job])
        self.busy[self.actors[index].sample.remote(order)] = (index, piece)
        self.last_job[index] = piece.job

    def _next(self, index: int, slices: Sequence[_Slice]) -> _Slice | None:
        """Return a slice of the model that the worker has, else of the one with fewest workers."""
        jobs = dict.fromkeys(piece.job for piece in slices)
        if not jobs:
            return None
        wanted = self.last_job[index]
        if wanted not in jobs:
            under_way = [piece.job for _, piece in self.busy.values()]
            wanted = min(jobs, key=under_way.count)
        return next(piece for piece in slices if piece.job == wanted)

    def _replace(self, index: int) -> None:
        with contextlib.suppress(Exception):
            self.ray.kill(self.actors[index])
        self.actors[index] = None  # a new one is made with its next slice
        self.last_job[index] = None

    def _again(self, piece: _Slice, slices: deque[_Slice], error: Exception) -> None:
        if self.driver.rescue(piece):
            return
        piece.deaths += 1
        if piece.deaths >= MOST_DEATHS:
            first = piece.tasks[0].cell
            raise ModelError(
                f"{piece.deaths} workers have ended while sampling {first.benchmark} in "
                f"{first.language}, item {first.item} and those after it; what others had sampled "
                f"is stored. The last said: {' '.join(str(error).split())[:400]}"
            )
        slices.appendleft(piece)


def _state(job: Job) -> _State:
    held = job.run.store.good_repeats()
    total = sum(task.repeats for task in job.tasks)
    already = sum(
        sum(repeat < task.repeats for repeat in held.get(task.cell, ())) for task in job.tasks
    )
    return _State(total, already)


def _is_whole(task: Task, held: Any) -> bool:
    return all(repeat in held.get(task.cell, ()) for repeat in range(task.repeats))


@contextlib.contextmanager
def _ray(cluster: Cluster) -> Iterator[Any]:
    """Connect to Ray or start it; what is started here ends here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray  # noqa: PLC0415 - takes a second

    if ray.is_initialized():
        yield ray
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if cluster.address is not None:
        options["address"] = cluster.address
    elif not os.environ.get("RAY_ADDRESS"):
        needed = (cluster.workers or 1) * cluster.cpus_per_worker
        options["num_cpus"] = max(os.cpu_count() or 1, int(-(-needed // 1)))
        options["include_dashboard"] = False
        options["object_store_memory"] = _OWN_OBJECTS
    try:
        ray.init(**options)
    except Exception as error:
        # Ray raises what its parts do: RuntimeError, ConnectionError, TimeoutError, ...
        where = cluster.address or "on this machine"
        raise ModelError(f"Ray cannot be used {where}: {' '.join(str(error).split())}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _room(ray: Any, cluster: Cluster) -> int:
    """Return how many workers the cluster takes, and refuse more than that."""
    have = ray.cluster_resources()
    rooms = [
        int(have.get(what, 0) // each)
        for what, each in (("CPU", cluster.cpus_per_worker), ("GPU", cluster.gpus_per_worker))
        if each > 0
    ]
    room = min(rooms, default=1)
    wanted = cluster.workers or room
    if room < 1 or (rooms and wanted > room):
        raise InputError(
            f"the cluster has {have.get('CPU', 0):g} processors and {have.get('GPU', 0):g} "
            f"accelerators, so room for {room} workers of {cluster.cpus_per_worker:g} and "
            f"{cluster.gpus_per_worker:g}; ask for fewer or smaller ones"
        )
    return wanted


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
