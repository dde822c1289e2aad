"""The workers of a Ray cluster: started, given slices, replaced when they are gone."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hatscore.errors import InputError, ModelError
from hatscore.sampling.cluster_worker import Order, Result, Worker

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterator, Sequence

    from hatscore.sampling.task import Task

__all__ = ["Cluster", "Desk", "Pool", "Slice", "connected", "room_for"]

MOST_DEATHS = 3  # of workers, over one slice
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


@dataclass(slots=True)
class Slice:
    """Tasks of one run, benchmark and language.

    Parameters
    ----------
    job
        Number of the run.
    name
        Unique in the run.
    tasks
        What is asked for.
    deaths
        Workers that have ended while sampling it.
    """

    job: int
    name: str
    tasks: Sequence[Task]
    deaths: int = 0


class Desk(Protocol):
    """Who knows what a slice is and where its replies go."""

    @property
    def concurrencies(self) -> Sequence[int]:
        """Return how many requests of each run may be under way at once, over all workers."""
        ...

    def has_room(self, job: int) -> bool:
        """Tell whether the limits of a run let anything be asked for now."""
        ...

    def order(self, piece: Slice, concurrency: int) -> Order:
        """Return what a worker is told."""
        ...

    def take(self, piece: Slice, result: Result) -> bool:
        """Keep what a worker has brought, and raise what ended it early.

        Tells whether the rest of the slice is to be asked for when there is room again.
        """
        ...

    def rescue(self, piece: Slice) -> bool:
        """Keep what a lost worker has left elsewhere; tell whether nothing is left to ask."""
        ...

    def more(self, job: int) -> Sequence[Slice]:
        """Return what is to be asked of a run of which nothing is left to ask."""
        ...


class Pool:
    """The workers, and which slice each has.

    Parameters
    ----------
    ray
        The connected module.
    cluster
        What each worker reserves.
    desk
        Where slices come from and go to.
    size
        Number of workers, at least 1; each is started with its first slice.
    """

    def __init__(self, ray: Any, cluster: Cluster, desk: Desk, size: int) -> None:
        self.ray = ray
        self.cluster = cluster
        self.desk = desk
        self.size = size
        self.actors: list[Any] = [None] * size
        self.last_job: list[int | None] = [None] * size
        self.busy: dict[Any, tuple[int, Slice]] = {}
        self.gone = (
            ray.exceptions.RayActorError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
        )

    def work(self, slices: deque[Slice]) -> None:
        """Have all `slices` sampled, or what the limits let be sampled of them."""
        while slices or self.busy:
            for index in range(self.size):
                if not any(at == index for at, _ in self.busy.values()):
                    self._give(index, slices)
            if not self.busy:
                return  # nothing comes back that could make room
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
                    if self.desk.take(piece, result):
                        slices.appendleft(piece)
                under_way = [*slices, *(other for _, other in self.busy.values())]
                if all(other.job != piece.job for other in under_way):
                    slices.extend(self.desk.more(piece.job))

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
                    self.desk.take(piece, self.ray.get(reference))

    def end(self) -> None:
        """Release the models, then the workers."""
        actors = [actor for actor in self.actors if actor is not None]
        with contextlib.suppress(Exception):
            closing = [actor.close.remote() for actor in actors]
            self.ray.wait(closing, num_returns=len(closing), timeout=10.0)
        for actor in actors:
            with contextlib.suppress(Exception):
                self.ray.kill(actor)

    def _give(self, index: int, slices: deque[Slice]) -> None:
        """Give a free worker a slice, if there is one whose concurrency reaches so far."""
        shares = [
            concurrency // self.size + (index < concurrency % self.size)
            for concurrency in self.desk.concurrencies
        ]
        jobs = {job for job in {piece.job for piece in slices} if shares[job]}
        jobs = {job for job in jobs if self.desk.has_room(job)}
        piece = self._next(index, [piece for piece in slices if piece.job in jobs])
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
        order = self.desk.order(piece, shares[piece.job])
        self.busy[self.actors[index].sample.remote(order)] = (index, piece)
        self.last_job[index] = piece.job

    def _next(self, index: int, slices: Sequence[Slice]) -> Slice | None:
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

    def _again(self, piece: Slice, slices: deque[Slice], error: Exception) -> None:
        if self.desk.rescue(piece):
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


@contextlib.contextmanager
def connected(cluster: Cluster) -> Iterator[Any]:
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


def room_for(ray: Any, cluster: Cluster) -> int:
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
