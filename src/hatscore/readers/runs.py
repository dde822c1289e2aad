"""Several runs of one task in a folder: separate measurements, unless the user says otherwise."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Protocol, TypeVar

from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Run", "choose_runs"]


class Run(Protocol):
    """What is known of a run."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def task(self) -> str:
        """The task's name."""
        ...

    @property
    def stamp(self) -> str:
        """Time of the run, as its files write it."""
        ...


R = TypeVar("R", bound=Run)


def choose_runs(files: Sequence[R], *, run: str | None, pool: bool) -> tuple[list[R], list[str]]:
    """Return the files to read, one run of every model and task unless pooled, and notes.

    Parameters
    ----------
    files
        All files.
    run
        Timestamp of the run to take where a task has several, or ``latest``.
    pool
        Take all runs, as further replies to the same items.

    Raises
    ------
    InputError
        Several runs of one task and neither `run` nor `pool`, or no run of that name.
    """
    by_task: dict[tuple[str, str], list[R]] = defaultdict(list)
    for one in files:
        by_task[one.model, one.task].append(one)
    stamps = sorted({one.stamp for one in files})
    if run not in (None, "latest", *stamps):
        raise InputError(f"run={run!r}: there are only {', '.join(stamps)}, or latest")
    kept, notes = [], []
    for (model, task), runs in by_task.items():
        runs.sort(key=lambda one: one.stamp)
        times = ", ".join(one.stamp for one in runs)
        if len(runs) == 1 or pool:
            kept += runs
            if pool and len(runs) > 1:
                notes.append(f"{model} on {task}: runs {times} are pooled as replies (pool)")
            continue
        chosen = [one for one in runs if one.stamp == run] or runs[-1:] * (run == "latest")
        if not chosen:
            raise InputError(
                f"{model} on {task} has {len(runs)} runs: {times}. Runs are separate "
                "measurements: choose with run=TIMESTAMP or run=latest, or take them for further "
                "replies to the same items with pool"
            )
        kept += chosen
        notes.append(f"{model} on {task}: run {chosen[0].stamp} of {times}")
    return kept, notes
