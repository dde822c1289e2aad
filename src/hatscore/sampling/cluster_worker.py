"""What runs on each worker: one model at a time, one slice of its tasks at a time."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.errors import HatscoreError, InputError, ModelError, RunError
from hatscore.sampling.cluster_shard import Shard, Shelf
from hatscore.sampling.engine import STOPPED, sample
from hatscore.sampling.servers import known_of, recall
from hatscore.sampling.start import Observing
from hatscore.sampling.tally import OF_THE_RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from hatscore.sampling.client import Client, SamplingParams
    from hatscore.sampling.cluster_budget import Grant
    from hatscore.sampling.servers import Known
    from hatscore.sampling.tally import Summary
    from hatscore.sampling.task import Cell, Task

__all__ = ["Failure", "Order", "Result", "Worker"]

_KINDS: dict[str, type[HatscoreError]] = {
    kind.__name__: kind for kind in (InputError, ModelError, RunError)
}


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that ends the sampling, as it travels between processes."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: HatscoreError) -> Failure:
        """Return `error` under the name of the nearest kind that the driver raises."""
        names = (kind.__name__ for kind in type(error).__mro__)
        return cls(next((name for name in names if name in _KINDS), "ModelError"), str(error))

    def error(self) -> HatscoreError:
        """Return the error to raise."""
        return _KINDS[self.kind](self.message)


@dataclass(frozen=True, slots=True)
class Order:
    """One slice to be sampled.

    Parameters
    ----------
    job
        Name of the run; while it stays the same the client is kept.
    name
        Name of the slice, unique in its run.
    make_client
        Makes the client of the run on the worker.
    tasks
        What is asked for.
    held
        Repeats that the run holds, by cell.
    failed
        Cells of the slice that have failed before.
    params
        Sampling parameters.
    concurrency
        Requests under way at once on this worker.
    shelf_url
        Where the shard is put as soon as it is done; None returns it only.
    known
        What the run knows of servers.
    models
        Model names that the run holds.
    mixed_models
        Go on when the server answers under another name.
    grant
        What may be used; None sets no limit.
    """

    job: str
    name: str
    make_client: Callable[[], Client]
    tasks: Sequence[Task]
    held: Mapping[Cell, Collection[int]]
    params: SamplingParams
    concurrency: int
    shelf_url: str | None = None
    known: Sequence[Known] = ()
    models: Sequence[str] = ()
    mixed_models: bool = False
    grant: Grant | None = None
    failed: frozenset[Cell] = frozenset()


@dataclass(frozen=True, slots=True)
class Result:
    """What has come of an order.

    Parameters
    ----------
    content
        The shard, with everything that has arrived.
    requests
        Answers of the client; 0 where it was stopped.
    observed, notes
        As of :class:`hatscore.sampling.start.Observing`.
    known
        What was found out about the server, None when nothing was.
    warnings
        Of the engine.
    failure
        What ended it early, None when nothing did.
    reached
        Whether the grant is used up and something is missing.
    """

    content: bytes
    requests: int = 0
    observed: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    known: Known | None = None
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None
    reached: bool = False


class Worker:
    """Samples one order after the other, and keeps the client between orders of one run."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._job: str | None = None
        self._stop: asyncio.Event | None = None

    async def sample(self, order: Order) -> Result:
        """Sample the slice of `order` into a shard of its own and return that."""
        self._stop = self._stop or asyncio.Event()
        with tempfile.TemporaryDirectory(prefix="hatscore-") as directory:
            shard = Shard(Path(directory) / "shard.sqlite", order.held, order.models, order.failed)
            summary, failure = None, None
            try:
                client = await self._client_of(order)
                summary = await sample(
                    shard,
                    order.tasks,
                    client,
                    params=order.params,
                    concurrency=order.concurrency,
                    stop=self._stop,
                    mixed_models=order.mixed_models,
                    budget=None if order.grant is None else order.grant.budget,
                    used=None if order.grant is None else order.grant.used,
                )
            except HatscoreError as error:
                failure = Failure.of(error)
            finally:
                content = shard.close()
        if order.shelf_url is not None:
            Shelf(order.shelf_url).put(order.name, content)
        client_now = self._client
        observing = client_now if isinstance(client_now, Observing) else None
        return Result(
            content,
            requests=0 if summary is None else summary.requests,
            observed=None if observing is None else observing.observed,
            notes=() if observing is None else observing.notes,
            known=None if client_now is None else known_of(client_now),
            warnings=() if summary is None else _of_the_slice(summary),
            failure=failure,
            reached=summary is not None and summary.stopped not in {None, STOPPED},
        )

    async def stop(self) -> None:
        """Let the slice that is being sampled end soon, with what has arrived."""
        self._stop = self._stop or asyncio.Event()
        self._stop.set()

    async def close(self) -> None:
        """Release the client."""
        client, self._client, self._job = self._client, None, None
        if client is not None:
            await client.close()

    async def _client_of(self, order: Order) -> Client:
        if self._client is None or self._job != order.job:
            await self.close()
            self._client, self._job = order.make_client(), order.job
            recall(self._client, order.known)
        return self._client


def _of_the_slice(summary: Summary) -> tuple[str, ...]:
    """Return the warnings but those about the whole run, which the driver gives."""
    return tuple(said for said in summary.warnings if not said.startswith(OF_THE_RUN))
