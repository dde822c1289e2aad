"""Sample a run in the stages of its plan: the source, a few target replies, the others, and again.

Every stage asks for all cells that are decided so far, so a run that was stopped anywhere goes on
with the same command: what is stored is not asked again, what is decided stays decided.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hatscore.errors import InsufficientData
from hatscore.planning.counted import SOURCE, Counted
from hatscore.sampling.plan import decide, draw, fold_of
from hatscore.sampling.plan_state import BenchmarkState, PlanState
from hatscore.stats import hat_scores
from hatscore.stats.allocation import learn
from hatscore.stats.levels import (
    first_replies,
    further_replies,
    level_for_ratio,
    level_for_width,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from numpy.typing import NDArray

    from hatscore.sampling import BenchmarkPlan, Run, Summary, Task
    from hatscore.stats.allocation import Learned

    Floats = NDArray[np.float64]

__all__ = ["HIGHEST", "RATIO", "Stage", "rounds", "sample_planned", "staged", "together"]

RATIO = 1.2535
"""Mean expected width of intervals under ``efficient`` over that of the full plan.

The widths that come out are 0.3 to 0.7 % below those expected: at most 1.25 times as wide.
"""
HIGHEST = 20.0
"""Level, in replies of the full plan, at which every solved item has them all."""
_STEP = 1.25  # an interval that is still too wide calls for a level so much higher at least
_PAIR = 2
_WIDEST = 1e9  # an unbounded interval, as JSON can say it


class Stage(NamedTuple):
    """What is to be sampled now.

    Attributes
    ----------
    name
        In words; "" where a run has one stage only.
    tasks
        All that is decided so far, what is there already included.
    """

    name: str
    tasks: list[Task]


def rounds(
    run: Run,
    tasks: Sequence[Task],
    *,
    judge: Callable[[], object] | None = None,
    panel: Sequence[str] = (),
) -> Generator[Stage, Summary, None]:
    """Yield what is to be sampled, stage by stage; send the summary of each back.

    Every stage holds all that is decided so far. One that was stopped, by a budget say, is the
    last; the same call goes on later.

    Parameters
    ----------
    run
        Open for sampling; its configuration names the plan of every benchmark.
    tasks
        All cells of the full plan, source rows first.
    judge
        Has the stored replies judged that were not yet; called after every stage where a planned
        benchmark is graded by judges.
    panel
        The judges that it asks, whose verdicts decide; empty for all that have given any.

    Raises
    ------
    InputError
        A plan goes by what a judge says, and there is none.
    RunError, ModelError
        What was decided cannot be read or written; or as of `judge`.

    Examples
    --------
    >>> going = rounds(run, tasks)                              # doctest: +SKIP
    >>> stage = next(going)                                     # doctest: +SKIP
    >>> while True:                                             # doctest: +SKIP
    ...     summary = run_sampling(run, stage.tasks, client)
    ...     stage = going.send(summary)  # StopIteration at the end
    """
    plans = [b for b in run.config.benchmarks if b.plan.kind != "paper"]
    if not plans:
        yield Stage("", list(tasks))
        return
    stages = _Stages(run, tasks, judge, panel)
    summary = yield Stage(stages.first_name(plans), stages.wanted())
    for name, step in (
        ("targets of late items", stages.decide),
        ("first target replies", stages.begin),
        ("further target replies", stages.set_levels),
    ):
        if summary.stopped is None and max([step(plan) for plan in plans]):
            summary = yield Stage(name, stages.wanted())
    while summary.stopped is None and max([stages.raise_levels(plan) for plan in plans]):
        summary = yield Stage("narrower intervals", stages.wanted())
    if summary.complete:
        for plan in plans:
            stages.conclude(plan)


def staged(
    run: Run,
    tasks: Sequence[Task],
    *,
    judge: Callable[[], object] | None = None,
    panel: Sequence[str] = (),
) -> tuple[Stage, Callable[[Summary], Stage | None] | None]:
    """Return the first stage, and what to call after every stage for the next.

    The second is None where the plan has one stage only; called, it returns None at the end.
    Parameters and errors are those of :func:`rounds`.
    """
    going = rounds(run, tasks, judge=judge, panel=panel)
    first = next(going)

    def then(summary: Summary) -> Stage | None:
        try:
            return going.send(summary)
        except StopIteration:
            return None

    return first, then if any(b.plan.kind != "paper" for b in run.config.benchmarks) else None


def sample_planned(
    run: Run,
    tasks: Sequence[Task],
    sample: Callable[[Stage], Summary],
    *,
    judge: Callable[[], object] | None = None,
    panel: Sequence[str] = (),
) -> Summary:
    """Sample what `run` lacks of `tasks`, stage by stage.

    Parameters
    ----------
    run, tasks, judge, panel
        As of :func:`rounds`.
    sample
        Samples a stage and returns when everything was asked for.

    Returns
    -------
    Summary
        Of all stages together.

    Raises
    ------
    InputError, RunError, ModelError
        As of :func:`rounds` and `sample`; the same call goes on later.
    """
    stage, then = staged(run, tasks, judge=judge, panel=panel)
    summaries = [sample(stage)]
    while then is not None and (more := then(summaries[-1])) is not None:
        summaries.append(sample(more))
    return together(summaries)


class _Table(NamedTuple):
    """Counts of one benchmark: of the source by item, of the targets by item and language."""

    items: list[str]
    languages: list[str]
    counts: tuple[Floats, Floats, Floats, Floats]
    weights: Floats


class _Stages:
    """What is known of a run between its stages."""

    def __init__(
        self,
        run: Run,
        tasks: Sequence[Task],
        judge: Callable[[], object] | None,
        panel: Sequence[str],
    ) -> None:
        self._run = run
        self._tasks = tasks
        self._state = PlanState.read(run.directory)
        self._state.require_continuing()
        self._planned = {b.name for b in run.config.benchmarks if b.plan.kind != "paper"}
        judged = {t.benchmark for t in tasks if t.item.gold.kind == "judge"} & self._planned
        done = {name for name, state in self._state.benchmarks.items() if state.stage == "done"}
        self._counted = Counted(run, judged, judged - done, judge, panel)
        self._targets: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for task in tasks:
            if not _is_source(task):
                self._targets[task.benchmark][task.item.id].append(task.item.language)

    def first_name(self, plans: Sequence[BenchmarkPlan]) -> str:
        """Return what the first stage of this start is about, in words."""
        states = [self._state.benchmarks.get(plan.name) for plan in plans]
        begun = any(state is not None and state.stage != "source" for state in states)
        return "what was decided before" if begun else "source"

    def wanted(self) -> list[Task]:
        """Return every cell that is decided, and the sources."""
        self._counted.forget()
        found = []
        for task in self._tasks:
            if task.benchmark not in self._planned or _is_source(task):
                found.append(task)
                continue
            state = self._state.benchmarks.get(task.benchmark)
            repeats = state.repeats(task.item.id, task.item.language) if state else None
            if repeats:
                found.append(replace(task, repeats=repeats))
        return found

    def decide(self, plan: BenchmarkPlan) -> bool:
        """Decide about every item that has source replies and is not decided yet.

        Returns whether the targets can go on at once, because the others have begun.
        """
        state = self._state.benchmarks.setdefault(plan.name, BenchmarkState(plan.repeats))
        targets = self._targets[plan.name]
        unheard = self._counted.unheard(plan.name)
        counts = {
            item: (k, n)
            for item, (k, n) in self._counted.counts(plan.name, SOURCE).items()
            if item not in state.decisions
            and n >= _PAIR
            and item in targets
            # half of an item's verdicts would decide about it for good
            and item not in unheard
        }
        if not counts:
            return False
        state.decisions |= decide(counts, keep=plan.plan.keep, seed=plan.seed, benchmark=plan.name)
        state.targets |= {item: tuple(targets[item]) for item in counts}
        late = state.stage != "source"
        if late:
            # the others are drawn already, so those that come late all take part
            for language in _languages(state):
                self._first(plan, state, language, list(counts), thin=False)
            # they take part in finding how many more replies are due
            state.stage = "first"
            state.widened.clear()
        self._state.write()
        return late

    def begin(self, plan: BenchmarkPlan) -> bool:
        """Ask for the first replies in every language."""
        state = self._state.benchmarks[plan.name]
        languages = _languages(state)
        if state.stage != "source" or not languages:
            return False
        for language in languages:
            self._first(plan, state, language, list(state.decisions), thin=True)
        state.stage = "first"
        self._state.write()
        return True

    def _first(
        self,
        plan: BenchmarkPlan,
        state: BenchmarkState,
        language: str,
        items: Sequence[str],
        *,
        thin: bool,
    ) -> None:
        items = [item for item in items if language in state.targets[item]]
        if not items:
            return
        k, n = np.array([state.decisions[item][:2] for item in items]).T
        replies, share = first_replies(k, n, most=plan.repeats)
        if not thin:
            share = np.ones_like(share)
        self._settle(plan, language, items, (replies, share))

    def _settle(
        self,
        plan: BenchmarkPlan,
        language: str,
        items: Sequence[str],
        wanted: tuple[NDArray[np.int64], Floats],
    ) -> None:
        """Note how many replies `items` get; what is asked already is not taken back."""
        state = self._state.benchmarks[plan.name]
        replies, share = wanted
        cells = state.replies.setdefault(language, {})
        standing = state.standing.setdefault(language, {})
        kinds: dict[str, tuple[int, int]] = {}
        parts: dict[str, float] = {}
        for item, part in zip(items, share, strict=True):
            k = state.decisions[item].k
            # once all of its kind are sent an item stands for itself
            if k and (item not in cells or cells[item] == 0 or item in standing):
                kinds[item] = (k, fold_of(item, seed=plan.seed, benchmark=plan.name))
                before = 1 / standing[item] if item in standing else 0.0
                parts[item] = max(float(part), before, plan.plan.keep)
        drawn = draw(kinds, parts, seed=plan.seed, benchmark=plan.name, language=language)
        for item, n in zip(items, replies, strict=True):
            decision = state.decisions[item]
            if decision.k == 0:
                cells[item] = int(decision.weight > 0)
            elif item in kinds and item not in drawn:
                cells[item] = 0
            else:
                cells[item] = max(int(n), cells.get(item, 0))
                standing.pop(item, None)
                if drawn.get(item, 1.0) > 1:
                    standing[item] = drawn[item]

    def set_levels(self, plan: BenchmarkPlan) -> bool:
        """Give every language what the first replies to the other items call for."""
        state = self._state.benchmarks[plan.name]
        if state.stage != "first":
            return False
        width = plan.plan.width

        def level(learned: Learned) -> float:
            if width is None:
                return level_for_ratio(learned, RATIO, paper=plan.repeats)
            return level_for_width(learned, width, paper=plan.repeats)

        new = sorted(state.replies.keys() - state.levels.keys())
        if state.levels:
            # languages and items that came later get what the others have: those have their
            # replies already, and found anew the level would be what is left for them to gain
            highest = max(state.levels.values())
            languages = sorted(state.replies)
            levels = np.array([state.levels.get(x, highest) for x in languages])
            self._further(plan, levels, new or None)
        else:
            self._further(plan, level)
        state.stage = "done" if width is None else "targets"
        self._state.write()
        return True

    def _further(
        self,
        plan: BenchmarkPlan,
        level: Callable[[Learned], float] | NDArray[np.float64],
        chosen: Sequence[str] | None = None,
    ) -> None:
        """Settle further replies in the `chosen` languages, by default in all."""
        state = self._state.benchmarks[plan.name]
        table = self._table(plan.name)
        folds = [fold_of(item, seed=plan.seed, benchmark=plan.name) for item in table.items]
        found = further_replies(
            *table.counts, weights=table.weights, folds=folds, level=level, most=plan.repeats
        )
        full = found.levels >= HIGHEST * plan.repeats
        replies = np.where(full, plan.repeats, found.replies)
        share = np.where(full, 1.0, found.share)
        for j, language in enumerate(table.languages):
            if chosen is not None and language not in chosen:
                continue
            here = [i for i, item in enumerate(table.items) if language in state.targets[item]]
            items = [table.items[i] for i in here]
            self._settle(plan, language, items, (replies[here, j], share[here, j]))
            state.levels[language] = float(found.levels[:, j].max(initial=0.0))

    def raise_levels(self, plan: BenchmarkPlan) -> bool:
        """Raise the level of every language whose interval is too wide; say whether any was."""
        state = self._state.benchmarks[plan.name]
        if state.stage != "targets" or plan.plan.width is None:
            return False
        table = self._table(plan.name)
        estimates = hat_scores(*table.counts, weights=table.weights)
        highest = HIGHEST * plan.repeats
        raised: list[str] = []
        before: dict[str, dict[str, int]] = {}
        for j, (language, e) in enumerate(zip(table.languages, estimates, strict=True)):
            width = e.high - e.low
            state.widths[language] = width if math.isfinite(width) else _WIDEST
            level = state.levels[language]
            if state.widths[language] <= plan.plan.width or _is_full(state, language):
                continue
            before[language] = dict(state.replies[language])
            try:
                learned = learn(*table.counts, weights=table.weights).columns([j])
            except InsufficientData:
                continue
            least = min(_STEP * level, highest)
            state.levels[language] = level_for_width(
                learned, plan.plan.width, paper=plan.repeats, least=least
            )
            raised.append(language)
        if raised:
            self._further(plan, np.array([state.levels[x] for x in table.languages]), raised)
        # at the highest level what has not moved never will
        going = [x for x in raised if state.levels[x] < highest or state.replies[x] != before[x]]
        if not going:
            state.stage = "done"
        self._state.write()
        return bool(going)

    def conclude(self, plan: BenchmarkPlan) -> None:
        """Note what the plan has cost in width."""
        state = self._state.benchmarks[plan.name]
        if state.stage != "done" or set(state.widened) == set(state.replies):
            return
        if self._counted.any_waits(plan.name):
            return
        table = self._table(plan.name)
        try:
            learned = learn(*table.counts, weights=table.weights)
        except InsufficientData:
            return
        ratios = learned.width(*learned.so_far()) / learned.width(plan.repeats)
        for language, ratio in zip(table.languages, ratios, strict=True):
            if math.isfinite(ratio):
                state.widened[language] = float(ratio)
        self._state.write()

    def _table(self, benchmark: str) -> _Table:
        """Return counts and weights of the decided items, by item and language."""
        state = self._state.benchmarks[benchmark]
        source = self._counted.counts(benchmark, SOURCE)
        items = [item for item in state.decisions if source.get(item, (0, 0))[1] >= _PAIR]
        languages = sorted(state.replies)
        k = np.zeros((len(items), len(languages)))
        n, weights = np.zeros_like(k), np.ones_like(k)
        for j, language in enumerate(languages):
            counts = self._counted.counts(benchmark, language)
            for i, item in enumerate(items):
                if language in state.targets[item]:
                    k[i, j], n[i, j] = counts.get(item, (0, 0))
                    weights[i, j] = state.weight(item, language)
        # a cell that has replies though it was left out speaks for itself
        weights[(weights == 0) & (n > 0)] = 1
        counted = np.array([source[item] for item in items], dtype=np.float64).reshape(-1, 2)
        return _Table(items, languages, (counted[:, 0], counted[:, 1], k, n), weights)


def together(summaries: Sequence[Summary]) -> Summary:
    """Return the summary of all stages."""
    last = summaries[-1]
    new = sum(s.new for s in summaries)

    def total(name: str) -> int | None:
        known = [getattr(s, name) for s in summaries if getattr(s, name) is not None]
        return sum(known) if known else None

    return replace(
        last,
        already=last.already + last.new - new,
        new=new,
        # a failure of an early stage was asked for again in the later ones
        errors=last.errors,
        requests=sum(s.requests for s in summaries),
        warnings=tuple(dict.fromkeys(said for s in summaries for said in s.warnings)),
        wall_s=sum(s.wall_s for s in summaries),
        input_tokens=total("input_tokens"),
        output_tokens=total("output_tokens"),
        reasoning_tokens=total("reasoning_tokens"),
    )


def _is_full(state: BenchmarkState, language: str) -> bool:
    """Whether every item that the source solved has all its replies in a language."""
    return all(
        n >= state.most or state.decisions[item].k == 0
        for item, n in state.replies[language].items()
    )


def _languages(state: BenchmarkState) -> list[str]:
    return sorted({language for targets in state.targets.values() for language in targets})


def _is_source(task: Task) -> bool:
    return task.item.language == task.item.source_language
