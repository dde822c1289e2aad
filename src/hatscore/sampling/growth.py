"""What a run may become: more, with every reply that it holds, or less of what has none.

Replies are kept under item, language and repeat, so a wider request is the same run as long as it
asks for all that the narrower one did. Under a plan the source's replies have decided which target
prompts are sent, and that stays decided: new languages are begun by those decisions, new items are
decided when their source replies are there, and more repeats would come too late. What has brought
no reply may be given up again; then the plan is where it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Bindable
from hatscore.benchmarks.chosen import load_chosen
from hatscore.errors import HatscoreError
from hatscore.sampling.cluster_shard import Aside
from hatscore.sampling.config import differences
from hatscore.sampling.plan_state import PlanState
from hatscore.sampling.task import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from hatscore.sampling.config import BenchmarkPlan, RunConfig
    from hatscore.sampling.plan_state import BenchmarkState
    from hatscore.sampling.store import Store

__all__ = ["grow", "settle"]

_SHOWN = 3


def grow(
    directory: Path,
    stored: RunConfig,
    asked: RunConfig,
    store: Store,
    *,
    write: Callable[[RunConfig], None] | None = None,
) -> RunConfig | str:
    """Return what the run in `directory` is when it has become `asked`, or why it cannot.

    A start that is killed while this writes loses nothing: what is given up leaves the store,
    the configuration and ``plan.json``, in this order, and :func:`settle` ends what was begun;
    what is new is in ``plan.json`` before it is in the configuration.

    Parameters
    ----------
    directory
        A run directory, open for sampling where something is written.
    stored, asked
        What it is, and what is asked for.
    store
        Its replies.
    write
        Writes a configuration; None changes nothing.

    Returns
    -------
    RunConfig or str
        With address, version and time of `stored`; "" where `asked` differs in more than what
        can change.

    Raises
    ------
    RunError
        The store or ``plan.json`` cannot be read or written; or as of `write`.
    """
    after = {plan.name: plan for plan in asked.benchmarks}
    pairs = [(plan, after.get(plan.name, plan)) for plan in stored.benchmarks]
    widest = replace(stored, benchmarks=tuple(_widened(*pair) for pair in pairs))
    if differences(widest, asked):
        return ""
    changes = [_Change(plan, wanted, store) for plan, wanted in pairs if not _same(plan, wanted)]
    state = PlanState.read(directory)
    decided = False
    for change in changes:
        try:
            change.require(state.benchmarks.get(change.plan.name), directory)
            decided |= change.replan(state)
        except _Refusal as refusal:
            return f"{change.plan.name}: {refusal}"
    grown = replace(stored, benchmarks=asked.benchmarks)
    if write is None:
        return grown
    for change in changes:
        change.give_up(store)
    kept = tuple(_without_lost(*pair) for pair in pairs)
    if kept != stored.benchmarks:
        write(replace(stored, benchmarks=kept))
    if decided:
        state.write()
    write(grown)
    return grown


def settle(directory: Path, config: RunConfig, store: Store) -> None:
    """Take languages out of a run's plan that the run does not have.

    They are there where a start was killed on its way to more languages, or back from them.

    Parameters
    ----------
    directory
        A run directory, open for sampling.
    config
        What the run is.
    store
        Its replies.

    Raises
    ------
    RunError
        ``plan.json`` cannot be read or written.
    """
    if all(plan.plan.kind == "paper" for plan in config.benchmarks):
        return
    state = PlanState.read(directory)
    changed = False
    for plan in config.benchmarks:
        decided = state.benchmarks.get(plan.name)
        if state.continues and decided and _languages(decided) - set(plan.languages):
            changed |= _drop_languages(decided, plan, _counts(store, plan.name))
    if changed:
        state.write()


class _Refusal(Exception):  # noqa: N818 - says why, and never leaves this module
    """Why a run cannot grow, in words."""


def _widened(plan: BenchmarkPlan, asked: BenchmarkPlan) -> BenchmarkPlan:
    """Return `plan` with those fields of `asked` that may change."""
    return replace(plan, languages=asked.languages, items=asked.items, repeats=asked.repeats)


def _without_lost(plan: BenchmarkPlan, asked: BenchmarkPlan) -> BenchmarkPlan:
    """Return `plan` without the languages that are given up."""
    return replace(plan, languages=tuple(x for x in plan.languages if x in asked.languages))


def _same(plan: BenchmarkPlan, asked: BenchmarkPlan) -> bool:
    return replace(plan, languages=()) == replace(asked, languages=()) and set(
        plan.languages
    ) == set(asked.languages)


def _counts(store: Store, benchmark: str) -> dict[Cell, int]:
    """Return the number of good replies of every stored item of a benchmark."""
    return {cell: n for cell, n in store.counts().items() if cell.benchmark == benchmark}


class _Change:
    """What one benchmark of a run becomes."""

    def __init__(self, plan: BenchmarkPlan, asked: BenchmarkPlan, store: Store) -> None:
        self.plan = plan
        self._asked = asked
        self._lost = set(plan.languages) - set(asked.languages)
        self._counts = _counts(store, plan.name)
        good = (
            max(repeats)
            for cell, repeats in store.good_repeats().items()
            if cell.benchmark == plan.name
        )
        self._most = 1 + max(good, default=-1)
        self._targets: Mapping[str, tuple[str, ...]] = {}
        self._surplus: list[Cell] = []

    def require(self, state: BenchmarkState | None, directory: Path) -> None:
        """Check that nothing is lost that the run holds.

        Raises
        ------
        _Refusal
            Something is.
        """
        plan, asked = self.plan, self._asked
        decided = () if state is None else state.decisions
        lost = sorted(self._lost & {cell.language for cell, n in self._counts.items() if n})
        if lost:
            raise _Refusal(f"it holds {', '.join(lost)} too: ask for all its languages")
        if asked.repeats < (plan.repeats if decided else min(plan.repeats, self._most)):
            raise _Refusal(f"it holds {plan.repeats} repeats: ask for as many or more")
        found = self._targets = _chosen(asked)
        held = {cell.item for cell, n in self._counts.items() if n}.union(decided)
        gone = sorted(held - found.keys())
        if gone:
            what = ", ".join(gone[:_SHOWN]) + (", ..." if len(gone) > _SHOWN else "")
            raise _Refusal(
                f"{len(gone)} of its items ({what}) are not among the {len(found)} that are asked "
                "for: ask for as many or more items, or leave out languages in which they do not "
                "exist"
            )
        self._surplus = [
            cell for cell in self._counts if cell.language in self._lost or cell.item not in found
        ]
        if (self._surplus or self._lost or asked.repeats < plan.repeats) and Aside(
            directory
        ).paths():
            raise _Refusal(
                "replies that were set aside may be of what is not asked for any more: take them "
                "in with --mixed-models first"
            )

    def replan(self, plans: PlanState) -> bool:
        """Make the plan ready, and say whether that changed anything.

        Raises
        ------
        _Refusal
            The plan cannot go on with it.
        """
        plan, asked = self.plan, self._asked
        state = plans.benchmarks.get(plan.name)
        if state is None or not state.decisions:
            return False
        if not plans.continues:
            raise _Refusal("an older hatscore decided its plan by other rules")
        if asked.repeats != plan.repeats:
            raise _Refusal(
                f"by {plan.repeats} replies to the source the plan {plan.plan} has decided which "
                "prompts are sent; more would come too late"
            )
        counts = {cell: n for cell, n in self._counts.items() if cell not in set(self._surplus)}
        changed = _drop_languages(state, asked, counts)
        more_languages = bool(set(asked.languages) - set(plan.languages))
        more_items = bool(self._targets.keys() - {cell.item for cell in counts})
        if more_languages and more_items:
            raise _Refusal(
                f"under the plan {plan.plan} it grows by languages or by items, one after the "
                "other: ask for the languages first, then for the items"
            )
        if more_languages:
            return _more_languages(state, plan, self._targets, counts) or changed
        if more_items:
            return _more_items(state, plan) or changed
        return (asked.items != plan.items and _fewer_items(state, plan, counts)) or changed

    def give_up(self, store: Store) -> None:
        """Remove what is not asked for any more, of which there is no reply, from the store."""
        store.give_up(self._surplus)
        if self._asked.repeats < self.plan.repeats:
            store.give_up(self._counts.keys() - set(self._surplus), first=self._asked.repeats)


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


def _languages(state: BenchmarkState) -> set[str]:
    return {language for targets in state.targets.values() for language in targets}


def _drop_languages(state: BenchmarkState, plan: BenchmarkPlan, counts: Mapping[Cell, int]) -> bool:
    """Take out of a plan the languages that `plan` does not have; say whether there were any."""
    replied = {cell.language for cell, n in counts.items() if n}
    gone = _languages(state) - set(plan.languages) - replied
    if not gone:
        return False
    state.targets = {
        item: tuple(x for x in targets if x not in gone) for item, targets in state.targets.items()
    }
    for part in (state.replies, state.standing, state.levels, state.widened, state.widths):
        for language in gone:
            part.pop(language, None)
    # languages join a plan that is done, so the others have levels; they have none where it is
    # these that it has waited for since it began
    if state.stage in ("source", "first") and _all_decided(state, counts):
        state.stage = "done"
        if _lacks(state, plan, counts):
            state.widened.clear()  # the stages have asked for more in the meantime
    return True


def _all_decided(state: BenchmarkState, counts: Mapping[Cell, int]) -> bool:
    """Whether every item is decided, and every language has its level."""
    languages = _languages(state)
    return (
        bool(languages)
        and state.levels.keys() >= languages
        and state.decisions.keys() >= {cell.item for cell in counts}
    )


def _lacks(state: BenchmarkState, plan: BenchmarkPlan, counts: Mapping[Cell, int]) -> bool:
    """Whether a target reply that is decided is not there."""
    return any(
        counts.get(Cell(plan.name, item, language), 0) < n
        for language, cells in state.replies.items()
        for item, n in cells.items()
    )


def _more_languages(
    state: BenchmarkState,
    plan: BenchmarkPlan,
    targets: Mapping[str, tuple[str, ...]],
    counts: Mapping[Cell, int],
) -> bool:
    wanted = {item: targets[item] for item in state.decisions}
    if wanted == {item: tuple(sorted(languages)) for item, languages in state.targets.items()}:
        return False  # a start was killed before it wrote the configuration
    # an item that is decided while new languages begin would change who stands for whom
    if state.stage != "done" or not state.decisions.keys() >= {cell.item for cell in counts}:
        raise _Refusal(
            f"its plan {plan.plan} is at the stage {state.stage!r}: let it end first, with the "
            "command that began it"
        )
    # what was noted of the others stays, in case the new ones are given up
    state.targets |= wanted
    # from here the stages go as they went: nothing that is asked already is taken back
    state.stage = "source"
    return True


def _more_items(state: BenchmarkState, plan: BenchmarkPlan) -> bool:
    """Let the new items, which will be decided late, take part in finding the levels."""
    joining = sorted(_languages(state) - state.levels.keys()) if state.levels else []
    if state.stage == "source" or joining:
        which = f", and {', '.join(joining)} joins it" if joining else ""
        raise _Refusal(
            f"its plan {plan.plan} is at the stage {state.stage!r}{which}: let it end first, with "
            "the command that began it"
        )
    before, state.stage = state.stage, "first"
    state.widened.clear()
    return before != "first"


def _fewer_items(state: BenchmarkState, plan: BenchmarkPlan, counts: Mapping[Cell, int]) -> bool:
    """Let the stages end where they had ended before there were more items."""
    back = (
        state.stage == "first" and _all_decided(state, counts) and not _lacks(state, plan, counts)
    )
    if back:
        # the widths show whether that was the end
        state.stage = "done" if plan.plan.width is None else "targets"
    return back
