"""Which plan a benchmark is sampled by, where the user leaves it open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatscore.errors import InputError
from hatscore.sampling.config import RunConfig
from hatscore.sampling.plan import KEEP, SamplingPlan
from hatscore.sampling.run import CONFIG_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hatscore.benchmarks.base import Item

__all__ = ["DEFAULT_PLAN", "choose_plan", "stored_config", "stored_plans"]

DEFAULT_PLAN = SamplingPlan("efficient", KEEP)

_FEWEST_REPEATS = 4  # with fewer source replies there is nothing to save
_FEWEST_ITEMS = 30  # with fewer items nothing can be learned from a part of them


def choose_plan(
    asked: SamplingPlan | None,
    items: Sequence[Item],
    *,
    benchmark: str,
    repeats: int,
    default: SamplingPlan = DEFAULT_PLAN,
    stored: SamplingPlan | None = None,
    judged: bool = False,
) -> tuple[SamplingPlan, str]:
    """Return the plan of one benchmark, and why it is not the one wished for, or "".

    Parameters
    ----------
    asked
        The user's plan; None takes `stored`, else `default` where it is possible, and the
        paper's elsewhere.
    items
        What is to be sampled.
    benchmark, repeats
        For the messages; replies per item of the full plan.
    default
        The plan wished for by default.
    stored
        The plan of the run that is to go on, if there is one.
    judged
        Whether judges are at hand between the stages.

    Raises
    ------
    InputError
        A plan that the benchmark or the number of repeats does not allow was asked for.
    """
    if asked is None and stored is not None:
        return stored, ""
    plan = asked or default
    if plan.kind == "paper":
        return plan, ""
    if not judged and plan != stored and any(item.gold.kind == "judge" for item in items):
        why = (
            f"{benchmark}: a judge grades its answers, and without --judge nobody knows which "
            "items the source solves"
        )
        instead = "name the judge with --judge, or use --plan paper"
    elif repeats < _FEWEST_REPEATS:
        why = f"{benchmark}: with fewer than {_FEWEST_REPEATS} repeats there is nothing to plan"
        instead = "use --plan paper"
    elif asked is None and len({item.id for item in items}) < _FEWEST_ITEMS:
        why = f"{benchmark}: fewer than {_FEWEST_ITEMS} items teach too little to plan by"
        instead = "use --plan paper"
    else:
        return plan, ""
    if asked is not None:
        raise InputError(f"{why}; {instead}")
    return SamplingPlan(), f"{why}; sampled by the full plan"


def stored_config(directory: Path) -> RunConfig | None:
    """Return what the run in `directory` is; None where there is no run that can be read."""
    try:
        return RunConfig.from_json((directory / CONFIG_NAME).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, InputError):
        return None  # what is wrong with a run is said when it is opened


def stored_plans(directory: Path) -> dict[str, SamplingPlan]:
    """Return the plan of every benchmark of the run in `directory`; none where there is no run."""
    config = stored_config(directory)
    return {} if config is None else {b.name: b.plan for b in config.benchmarks}
