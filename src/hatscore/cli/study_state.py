"""What of a cell of a study is there, and what is missing by what its plan has decided so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatscore.readers.hatscore_run import sniff
from hatscore.sampling.budget import Usage
from hatscore.sampling.plan_state import PlanState
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatscore.sampling import SamplingPlan, Task
    from hatscore.sampling.plan_state import BenchmarkState
    from hatscore.sampling.task import Cell

__all__ = ["Present", "present"]


@dataclass(frozen=True, slots=True)
class Present:
    """How far a run is.

    Attributes
    ----------
    usage
        Replies that are there, and their tokens.
    wanted
        Replies that the run is to have.
    missing
        Those of them that are not there.
    is_bound
        Whether the two are the most that they can become, as the plan is not done deciding.
    """

    usage: Usage
    wanted: int
    missing: int
    is_bound: bool


def present(directory: Path, tasks: Sequence[Task], plan: SamplingPlan) -> Present:
    """Return how far the run in `directory` is, which need not have begun.

    Parameters
    ----------
    directory
        Where it lies.
    tasks
        All cells of the full plan of its one benchmark.
    plan
        How replies are spread over them.

    Raises
    ------
    RunError
        There is a run, and it is damaged.
    """
    usage, there, state = Usage(), _NONE, None
    if sniff(directory):
        with Run.open(directory) as run:
            usage, there = run.store.usage(), run.store.counts()
        if tasks:
            state = PlanState.read(directory).benchmarks.get(tasks[0].benchmark)
    wanted = missing = 0
    is_bound = False
    for task in tasks:
        most, open_ = _wanted(task, plan, state)
        wanted += most
        missing += max(0, most - there.get(task.cell, 0))
        is_bound |= open_
    return Present(usage, wanted, missing, is_bound)


def _wanted(task: Task, plan: SamplingPlan, state: BenchmarkState | None) -> tuple[int, bool]:
    """Return how many replies a task is to have, and whether that may turn out to be less."""
    item = task.item
    if plan.kind == "paper" or item.language == item.source_language:
        return task.repeats, False
    decided = None if state is None else state.repeats(item.id, item.language)
    if state is None or decided is None:
        return task.repeats, True
    if state.stage == "done" or state.decisions[item.id].k == 0:
        return decided, False  # items that the source never solved get no further replies
    return task.repeats, True


_NONE: Mapping[Cell, int] = {}
