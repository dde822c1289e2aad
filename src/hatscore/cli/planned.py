"""Sample a run in the stages of its plan: the source, a few languages, the others, and again.

Every stage asks for all cells that are decided so far, so a run that was stopped anywhere goes on
with the same command: what is stored is not asked again, what is decided stays decided.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError, InsufficientData
from hatscore.grading import grade
from hatscore.sampling.config import RunConfig
from hatscore.sampling.plan import Level, SamplingPlan, decide, pilots_of
from hatscore.sampling.plan_state import BenchmarkState, PlanState
from hatscore.sampling.run import CONFIG_NAME
from hatscore.stats import hat_score
from hatscore.stats.allocation import Spread, level_for_ratio, level_for_width, spread_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hatscore.benchmarks.base import Item
    from hatscore.sampling import BenchmarkPlan, Run, Summary, Task

    Sampler = Callable[[Sequence[Task]], Summary]
    Counts = dict[str, tuple[int, int]]
    Floats = NDArray[np.float64]

__all__ = ["DEFAULT_PLAN", "RATIO", "choose_plan", "sample_planned", "stored_plans"]

DEFAULT_PLAN = SamplingPlan()
"""The full plan: `efficient` stays a choice until its savings are those it aims at."""

RATIO = 1.25
"""Width of an interval under ``efficient`` over that of the full plan, at most, as expected."""
ALONE = 4.0  # level where there is no other target to learn from: enough at heterogeneity 3
_PILOT = Level(2.0, 2)  # two replies tell how much an item's replies vary
_FEWEST_REPEATS = 4  # with fewer source replies there is nothing to save
_PAIR = 2
_SOURCE = ""  # no language has this name
_WIDEST = 1e9  # an unbounded interval, as JSON can say it
_COUNTED = frozenset({"correct", "wrong", "unparsed", "empty", "truncated", "refused"})


def choose_plan(
    asked: SamplingPlan | None,
    items: Sequence[Item],
    *,
    benchmark: str,
    repeats: int,
    default: SamplingPlan,
) -> tuple[SamplingPlan, str]:
    """Return the plan of one benchmark, and why it is not the one wished for, or "".

    Parameters
    ----------
    asked
        The user's plan; None takes `default` where it is possible, and the paper's elsewhere.
    items
        What is to be sampled.
    benchmark, repeats
        For the messages; replies per item of the full plan.
    default
        The plan wished for by default.

    Raises
    ------
    InputError
        A plan that the benchmark or the number of repeats does not allow was asked for.
    """
    plan = asked or default
    if plan.kind == "paper":
        return plan, ""
    if any(item.gold.kind == "judge" for item in items):
        why = (
            f"{benchmark}: its answers are judged after the sampling, so nobody knows yet which "
            "items the source solves"
        )
    elif repeats < _FEWEST_REPEATS:
        why = f"{benchmark}: with fewer than {_FEWEST_REPEATS} repeats there is nothing to plan"
    else:
        return plan, ""
    if asked is not None:
        raise InputError(f"{why}; use --plan paper")
    return SamplingPlan(), f"{why}; sampled by the full plan"


def stored_plans(directory: Path) -> dict[str, SamplingPlan]:
    """Return the plan of every benchmark of the run in `directory`; none where there is no run."""
    try:
        config = RunConfig.from_json((directory / CONFIG_NAME).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, InputError):
        return {}  # what is wrong with a run is said when it is opened
    return {benchmark.name: benchmark.plan for benchmark in config.benchmarks}


def sample_planned(run: Run, tasks: Sequence[Task], sample: Sampler) -> Summary:
    """Sample what `run` lacks of `tasks`, stage by stage.

    Parameters
    ----------
    run
        Open for sampling; its configuration names the plan of every benchmark.
    tasks
        All cells of the full plan, source rows first.
    sample
        Samples the tasks that it is given and returns when all were asked for.

    Returns
    -------
    Summary
        Of all stages together.

    Raises
    ------
    RunError, ModelError
        As of `sample`; the same call goes on later.
    """
    plans = [b for b in run.config.benchmarks if b.plan.kind != "paper"]
    if not plans:
        return sample(tasks)
    stages = _Stages(run, tasks, sample)
    stages.go()
    for step in (stages.decide, stages.begin, stages.set_levels):
        if not stages.stopped and max([step(plan) for plan in plans]):
            stages.go()
    while not stages.stopped and max([stages.raise_levels(plan) for plan in plans]):
        stages.go()
    if stages.summary().complete:
        for plan in plans:
            stages.conclude(plan)
    return stages.summary()


class _Stages:
    """What is known of a run between its stages."""

    def __init__(self, run: Run, tasks: Sequence[Task], sample: Sampler) -> None:
        self._run = run
        self._tasks = tasks
        self._sample = sample
        self._state = PlanState.read(run.directory)
        self._summaries: list[Summary] = []
        self._graded: dict[str, dict[str, Counts]] = {}
        self._planned = {b.name for b in run.config.benchmarks if b.plan.kind != "paper"}
        self._targets: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for task in tasks:
            if not _is_source(task):
                self._targets[task.benchmark][task.item.id].append(task.item.language)

    @property
    def stopped(self) -> bool:
        """Whether the last stage ended before everything was asked for."""
        return self._summaries[-1].stopped is not None

    def go(self) -> None:
        """Sample every cell that is decided, and the sources."""
        self._graded.clear()
        self._summaries.append(self._sample(self._wanted()))

    def _wanted(self) -> list[Task]:
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

        Returns whether the targets can go on at once, because their levels are known.
        """
        state = self._state.benchmarks.setdefault(plan.name, BenchmarkState(plan.repeats))
        targets = self._targets[plan.name]
        counts = {
            item: (k, n)
            for item, (k, n) in self._counts(plan.name, _SOURCE).items()
            if item not in state.decisions and n >= _PAIR and item in targets
        }
        if not counts:
            return False
        state.decisions |= decide(counts, keep=plan.plan.keep, seed=plan.seed, benchmark=plan.name)
        state.targets |= {item: tuple(targets[item]) for item in counts}
        self._state.write()
        return state.stage != "source"

    def begin(self, plan: BenchmarkPlan) -> bool:
        """Let a few languages begin; a single one has nobody to learn from."""
        state = self._state.benchmarks[plan.name]
        languages = _languages(state)
        if state.stage != "source" or not languages:
            return False
        if len(languages) > 1 or plan.plan.width is not None:
            for language in pilots_of(languages, seed=plan.seed, benchmark=plan.name):
                state.levels[language] = _PILOT
        state.stage = "pilot"
        self._state.write()
        return bool(state.levels)

    def set_levels(self, plan: BenchmarkPlan) -> bool:
        """Give every language the level that the other languages of the pilot call for."""
        state = self._state.benchmarks[plan.name]
        if state.stage != "pilot":
            return False
        spreads = {language: self._spread(plan.name, language) for language in state.levels}
        for language in _languages(state):
            others = [x for name, x in spreads.items() if name != language and x is not None]
            least = state.levels[language].least if language in state.levels else 1
            state.levels[language] = Level(_level(plan, others), least)
        state.stage = "done" if plan.plan.width is None else "targets"
        self._state.write()
        return True

    def raise_levels(self, plan: BenchmarkPlan) -> bool:
        """Raise the level of every language whose interval is too wide; say whether any was."""
        state = self._state.benchmarks[plan.name]
        if state.stage != "targets" or plan.plan.width is None:
            return False
        raised = False
        highest = 2.0 * plan.repeats
        for language, level in state.levels.items():
            state.widths[language] = self._width(plan.name, language)
            spread = self._spread(plan.name, language)
            narrow = state.widths[language] <= plan.plan.width
            if narrow or spread is None or level.per_solved >= highest:
                continue
            # at least one reply more for an item that the source always solves
            least = min(level.per_solved + 1, highest)
            wanted = level_for_width(spread, plan.plan.width, least=least, paper=plan.repeats)
            state.levels[language] = Level(wanted, level.least)
            raised = True
        if not raised:
            state.stage = "done"
        self._state.write()
        return raised

    def conclude(self, plan: BenchmarkPlan) -> None:
        """Note what the plan has cost in width."""
        state = self._state.benchmarks[plan.name]
        if state.stage != "done" or set(state.widened) == set(state.levels):
            return
        for language in state.levels:
            spread = self._spread(plan.name, language)
            if spread is not None:
                repeats = self._arrays(plan.name, language)[3]
                full = spread.square(plan.repeats)
                state.widened[language] = math.sqrt(spread.square(repeats) / full) if full else 1.0
        self._state.write()

    def _width(self, benchmark: str, language: str) -> float:
        found = hat_score(*self._arrays(benchmark, language))
        width = found.high - found.low
        return width if math.isfinite(width) else _WIDEST

    def _spread(self, benchmark: str, language: str) -> Spread | None:
        try:
            return spread_of(*self._arrays(benchmark, language))
        except InsufficientData:
            return None

    def _arrays(self, benchmark: str, language: str) -> tuple[Floats, Floats, Floats, Floats]:
        """Return counts of the source and of `language` over the items that have this language."""
        state = self._state.benchmarks[benchmark]
        source, target = self._counts(benchmark, _SOURCE), self._counts(benchmark, language)
        items = [
            item
            for item in state.decisions
            if language in state.targets[item] and source.get(item, (0, 0))[1] >= _PAIR
        ]
        table = np.array(
            [(*source[item], *target.get(item, (0, 0))) for item in items], dtype=np.float64
        ).reshape(-1, 4)
        return table[:, 0], table[:, 1], table[:, 2], table[:, 3]

    def _counts(self, benchmark: str, language: str) -> Counts:
        """Return correct and counted replies by item, of one target language or of the source."""
        if benchmark not in self._graded:
            counts: dict[str, dict[str, list[int]]] = defaultdict(
                lambda: defaultdict(lambda: [0, 0])
            )
            for item, response in self._run.store.rows(benchmark):
                key = _SOURCE if item.language == item.source_language else item.language
                status = grade(response.reply, item.gold).status
                cell = counts[key][item.item]
                cell[0] += status == "correct"
                cell[1] += status in _COUNTED
            self._graded[benchmark] = {
                key: {item: (k, n) for item, (k, n) in cells.items()}
                for key, cells in counts.items()
            }
        return self._graded[benchmark].get(language, {})

    def summary(self) -> Summary:
        """Return the summary of all stages."""
        last = self._summaries[-1]
        new = sum(s.new for s in self._summaries)

        def total(name: str) -> int | None:
            known = [getattr(s, name) for s in self._summaries if getattr(s, name) is not None]
            return sum(known) if known else None

        return replace(
            last,
            already=last.already + last.new - new,
            new=new,
            # a failure of an early stage was asked for again in the later ones
            errors=last.errors,
            requests=sum(s.requests for s in self._summaries),
            wall_s=sum(s.wall_s for s in self._summaries),
            input_tokens=total("input_tokens"),
            output_tokens=total("output_tokens"),
            reasoning_tokens=total("reasoning_tokens"),
        )


def _level(plan: BenchmarkPlan, others: Sequence[Spread]) -> float:
    """Return the level that other languages call for."""
    width = plan.plan.width
    if width is None:
        return level_for_ratio(others, RATIO, least=1.0, paper=plan.repeats) if others else ALONE
    # the lowest: what is not narrow enough then goes on
    levels = (level_for_width(x, width, least=1.0, paper=plan.repeats) for x in others)
    return min(levels, default=_PILOT.per_solved)


def _languages(state: BenchmarkState) -> list[str]:
    return sorted({language for targets in state.targets.values() for language in targets})


def _is_source(task: Task) -> bool:
    return task.item.language == task.item.source_language
