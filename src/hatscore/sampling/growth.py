"""What a run may become: more languages, items and repeats, with every reply that it holds.

Replies are kept under item, language and repeat, so a wider request is the same run as long as it
asks for all that the narrower one did. Under a plan the source's replies have decided which target
prompts are sent, and that stays decided: new languages are begun by those decisions, new items are
decided when their source replies are there, and more repeats would come too late.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Bindable
from hatscore.benchmarks.chosen import load_chosen
from hatscore.errors import HatscoreError
from hatscore.sampling.config import differences
from hatscore.sampling.plan_state import PlanState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from hatscore.sampling.config import BenchmarkPlan, RunConfig
    from hatscore.sampling.plan_state import BenchmarkState
    from hatscore.sampling.task import Cell

__all__ = ["grow"]

_SHOWN = 3


def grow(
    directory: Path,
    stored: RunConfig,
    asked: RunConfig,
    cells: Collection[Cell],
    *,
    write: bool = True,
) -> RunConfig | str:
    """Return what the run in `directory` is when it has grown to `asked`, or why it cannot.

    Where a plan has decided something, ``plan.json`` is made ready for what is new; write the
    configuration after that, so that a start that is killed between the two loses nothing.

    Parameters
    ----------
    directory
        A run directory, open for sampling where something is written.
    stored, asked
        What it is, and what is asked for.
    cells
        Items and languages that it holds.
    write
        False changes nothing.

    Returns
    -------
    RunConfig or str
        With address, version and time of `stored`; "" where `asked` differs in more than what
        can grow.

    Raises
    ------
    RunError
        ``plan.json`` cannot be read or written.
    """
    after = {plan.name: plan for plan in asked.benchmarks}
    pairs = [(plan, after.get(plan.name, plan)) for plan in stored.benchmarks]
    widest = replace(stored, benchmarks=tuple(_widened(*pair) for pair in pairs))
    if differences(widest, asked):
        return ""
    state = PlanState.read(directory)
    changed = False
    for before, wanted in pairs:
        if not _same(before, wanted):
            try:
                changed |= _grown(before, wanted, state, cells)
            except _Refusal as refusal:
                return f"{before.name}: {refusal}"
    if changed and write:
        state.write()
    return replace(stored, benchmarks=asked.benchmarks)


class _Refusal(Exception):  # noqa: N818 - says why, and never leaves this module
    """Why a run cannot grow, in words."""


def _widened(plan: BenchmarkPlan, asked: BenchmarkPlan) -> BenchmarkPlan:
    """Return `plan` with those fields of `asked` that may grow."""
    return replace(plan, languages=asked.languages, items=asked.items, repeats=asked.repeats)


def _same(plan: BenchmarkPlan, asked: BenchmarkPlan) -> bool:
    return replace(plan, languages=()) == replace(asked, languages=()) and set(
        plan.languages
    ) == set(asked.languages)


def _grown(
    plan: BenchmarkPlan, asked: BenchmarkPlan, state: PlanState, cells: Collection[Cell]
) -> bool:
    """Check one benchmark, make its plan ready, and say whether that changed anything."""
    held = {cell.item for cell in cells if cell.benchmark == plan.name}
    targets = _loses_nothing(plan, asked, held)
    decided = state.benchmarks.get(plan.name)
    if decided is None or not decided.decisions:
        return False
    if not state.continues:
        raise _Refusal("an older hatscore decided its plan by other rules")
    return _replan(decided, plan, asked, targets, held)


def _loses_nothing(
    plan: BenchmarkPlan, asked: BenchmarkPlan, held: AbstractSet[str]
) -> Mapping[str, tuple[str, ...]]:
    """Return the target languages of every item that is asked for.

    Raises
    ------
    _Refusal
        Something that the run holds is not asked for.
    """
    lost = sorted(set(plan.languages) - set(asked.languages))
    if lost:
        raise _Refusal(f"it holds {', '.join(lost)} too: ask for all its languages")
    if asked.repeats < plan.repeats:
        raise _Refusal(f"it holds {plan.repeats} repeats: ask for as many or more")
    found = _chosen(asked)
    gone = sorted(held - found.keys())
    if gone:
        what = ", ".join(gone[:_SHOWN]) + (", ..." if len(gone) > _SHOWN else "")
        raise _Refusal(
            f"{len(gone)} of its items ({what}) are not among the {len(found)} that are asked "
            "for: ask for as many or more items, or leave out languages in which they do not exist"
        )
    return found


def _chosen(plan: BenchmarkPlan) -> dict[str, tuple[str, ...]]:
    """Return the items that `plan` chooses, with the target languages of each."""
    try:
        benchmark = get_benchmark(plan.name)
        if isinstance(benchmark, Bindable):
            benchmark = benchmark.bind(plan.options)
        if benchmark.version != plan.version:
            raise _Refusal(f"its version is {plan.version}, not {benchmark.version}")
        _, items = load_chosen(
            benchmark,
            languages=[x for x in plan.languages if x != plan.source_language],
            source_language=plan.source_language,
            items=plan.items,
            seed=plan.seed,
            options=plan.options,
        )
    except HatscoreError as error:
        raise _Refusal(f"nobody knows which items are asked for: {error}") from error
    found: dict[str, list[str]] = {}
    for item in items:
        languages = found.setdefault(item.id, [])
        if item.language != item.source_language:
            languages.append(item.language)
    return {item: tuple(sorted(languages)) for item, languages in found.items()}


def _replan(
    state: BenchmarkState,
    plan: BenchmarkPlan,
    asked: BenchmarkPlan,
    targets: Mapping[str, tuple[str, ...]],
    held: AbstractSet[str],
) -> bool:
    """Make what a plan has decided ready for more, and say whether anything changed.

    Raises
    ------
    _Refusal
        The plan cannot go on with it.
    """
    if asked.repeats != plan.repeats:
        raise _Refusal(
            f"by {plan.repeats} replies to the source the plan {plan.plan} has decided which "
            "prompts are sent; more would come too late"
        )
    more_languages = set(asked.languages) != set(plan.languages)
    more_items = bool(targets.keys() - held)
    if more_languages and more_items:
        raise _Refusal(
            f"under the plan {plan.plan} it grows by languages or by items, one after the other: "
            "ask for the languages first, then for the items"
        )
    if more_languages:
        return _more_languages(state, plan, targets, held)
    return more_items and _more_items(state, plan)


def _more_languages(
    state: BenchmarkState,
    plan: BenchmarkPlan,
    targets: Mapping[str, tuple[str, ...]],
    held: AbstractSet[str],
) -> bool:
    wanted = {item: targets[item] for item in state.decisions}
    if wanted == {item: tuple(sorted(languages)) for item, languages in state.targets.items()}:
        return False  # a start was killed before it wrote the configuration
    # an item that is decided while new languages begin would change who stands for whom
    if state.stage != "done" or not state.decisions.keys() >= held:
        raise _Refusal(
            f"its plan {plan.plan} is at the stage {state.stage!r}: let it end first, with the "
            "command that began it"
        )
    state.targets |= wanted
    state.widened.clear()
    # from here the stages go as they went: nothing that is asked already is taken back
    state.stage = "source"
    return True


def _more_items(state: BenchmarkState, plan: BenchmarkPlan) -> bool:
    """Let the new items, which will be decided late, take part in finding the levels."""
    if state.stage == "source":
        raise _Refusal(
            f"its plan {plan.plan} is at the stage 'source': let it end first, with the command "
            "that began it"
        )
    before, state.stage = state.stage, "first"
    state.widened.clear()
    return before != "first"
