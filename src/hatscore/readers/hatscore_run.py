"""A run directory of `hatscore run`: grades the stored replies, every time anew."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import polars as pl

from hatscore.benchmarks.by_item import ITEM_SOURCE
from hatscore.errors import InputError, UnknownNameError
from hatscore.grading import grade
from hatscore.grading.answer import NameMode
from hatscore.judging import Judged, ReplyKey, read_verdicts
from hatscore.outcomes import SCHEMA, STATUS_COLUMNS, Outcomes
from hatscore.sampling.observed import read_observed
from hatscore.sampling.plan_state import PlanState
from hatscore.sampling.run import CONFIG_NAME, Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatscore.sampling.config import BenchmarkPlan, RunConfig
    from hatscore.sampling.plan_state import BenchmarkState
    from hatscore.sampling.store import StoredItem
    from hatscore.sampling.task import Cell

__all__ = [
    "COUNTABLE",
    "FORMAT",
    "OPTIONS",
    "benchmark_label",
    "check_count",
    "read",
    "sniff",
    "wanted",
    "weight_of",
]

FORMAT = "hatscore"
OPTIONS = ("names", "count", "judges")
COUNTABLE = ("unparsed", "empty", "truncated", "refused")
_ALWAYS = frozenset({"correct", "wrong"})
_SHOWN = 5
_TOLD_OTHERWISE = ("num_choices",)  # by the number of replies
_TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens")


class _Totals:
    """Running totals of one item in one language."""

    __slots__ = ("item", "statuses", "tokens")

    def __init__(self, item: StoredItem) -> None:
        self.item = item
        self.statuses: Counter[str] = Counter()
        self.tokens: dict[str, list[int]] = defaultdict(list)


def sniff(path: Path) -> bool:
    """Say whether `path` is a run directory."""
    return (path / CONFIG_NAME).is_file()


def read(
    path: Path,
    *,
    names: NameMode = "lenient",
    count: str = ",".join(COUNTABLE),
    judges: str = "",
) -> Outcomes:
    """Grade the stored replies of a run.

    Parameters
    ----------
    path
        The run's directory.
    names
        ``lenient`` accepts names in the target language, the source language and English;
        ``strict`` those of the target language alone.
    count
        Comma-separated statuses that count in n as not correct, beside correct and wrong; the
        default counts unparsed, empty, truncated and refused. ``answered`` counts none of them.
    judges
        Comma-separated judges whose stored verdicts count; empty takes all that have given any.

    Raises
    ------
    RunError
        No run, or a damaged one.
    InputError
        Unknown value of an option.
    """
    if names not in get_args(NameMode):
        raise UnknownNameError("way to match names", str(names), get_args(NameMode))
    counted = _ALWAYS | check_count(count)
    panel = [part.strip() for part in judges.split(",") if part.strip()] or None
    judged: Judged | None = None
    cells: dict[tuple[str, str, str], _Totals] = {}
    with Run.open(path) as run:
        config = run.config
        stored = run.store.counts()
        observed = read_observed(path)
        plans = PlanState.read(path)
        for item, response in run.store.rows():
            key = (item.benchmark, item.item, item.language)
            cell = cells.get(key)
            if cell is None:
                cell = cells[key] = _Totals(item)
            if item.gold.kind == "judge":
                judged = judged or read_verdicts(path, panel)
                # a reply that came since then is still to be judged
                status = judged.statuses.get(ReplyKey(*key, response.repeat), "judge_unparsed")
            else:
                status = grade(response.reply, item.gold, names=names).status
            cell.statuses[status] += 1
            for name in _TOKENS:
                tokens = getattr(response, name)
                if tokens is not None:
                    cell.tokens[name].append(tokens)
    labels = {plan.name: benchmark_label(plan) for plan in config.benchmarks}
    rows = [
        _row(
            cell,
            model=config.model,
            benchmark=labels[key[0]],
            counted=counted,
            weight=weight_of(plans, cell.item),
        )
        for key, cell in cells.items()
    ]
    for name in plans.benchmarks:
        rows += _omitted(plans.benchmarks[name], cells, config.model, name, labels[name])
    has_names = any(cell.item.gold.kind == "name" for cell in cells.values())
    frame = pl.DataFrame(rows, schema={**SCHEMA, "gold": pl.String}, orient="row")
    notes = _notes(config, stored, plans, names=names, count=count, has_names=has_names)
    notes += _not_sent(config.model, observed)
    return Outcomes.from_frame(frame, notes=[*notes, *(judged.notes if judged else ())])


def check_count(count: str) -> frozenset[str]:
    """Return the statuses that `count` names; see `read`.

    Raises
    ------
    UnknownNameError
        A name that is no status of this kind.
    """
    if count == "answered":
        return frozenset()
    chosen = [part.strip() for part in count.split(",") if part.strip()]
    for name in chosen:
        if name not in COUNTABLE:
            raise UnknownNameError("status to count", name, [*COUNTABLE, "answered"])
    if not chosen:
        raise InputError(f"--count is empty; give some of {', '.join(COUNTABLE)}, or answered")
    return frozenset(chosen)


def benchmark_label(plan: BenchmarkPlan) -> str:
    """Return the benchmark's name with its options: other options are other questions.

    Of a file of the user's only the name is shown, where it lies is nobody's business.
    """
    if not plan.options:
        return plan.name
    shown = {
        name: Path(value).name if name == "data" else value for name, value in plan.options.items()
    }
    options = ",".join(f"{name}={value}" for name, value in sorted(shown.items()))
    return f"{plan.name}({options})"


def _row(
    cell: _Totals,
    *,
    model: str,
    benchmark: str,
    counted: frozenset[str] | set[str],
    weight: float,
) -> dict[str, Any]:
    item, statuses = cell.item, cell.statuses
    neutral = item.gold.kind in ("number", "choice")
    return {
        "model": model,
        "benchmark": benchmark,
        "item": item.item,
        "language": item.language,
        "source_language": item.source_language,
        "n": sum(n for status, n in statuses.items() if status in counted),
        "k": float(statuses["correct"]),
        "group": item.group,
        "chance": item.chance,
        "weight": weight,
        **{name: statuses[name] for name in STATUS_COLUMNS},
        **{
            name: sum(cell.tokens[name]) / len(cell.tokens[name]) if cell.tokens[name] else None
            for name in _TOKENS
        },
        "gold": item.gold.value if neutral else None,
    }


def weight_of(plans: PlanState, item: StoredItem) -> float:
    """Return how many cells the replies to an item in a language stand for."""
    state = plans.benchmarks.get(item.benchmark)
    if state is None or item.language == item.source_language:
        return 1.0
    # a cell that has replies though it was left out speaks for itself
    return state.weight(item.item, item.language) or 1.0


def _omitted(
    state: BenchmarkState,
    cells: Mapping[tuple[str, str, str], _Totals],
    model: str,
    name: str,
    label: str,
) -> Iterator[dict[str, Any]]:
    """Yield a row of weight 0 for every cell that the plan left out in a language it sampled."""
    sources = {
        cell.item.item: cell.item
        for key, cell in cells.items()
        if key[0] == name and cell.item.language == cell.item.source_language
    }
    for language in sorted({key[2] for key in cells if key[0] == name}):
        for item in state.omitted(language):
            source = sources.get(item)
            if source is not None and (name, item, language) not in cells:
                yield {
                    "model": model,
                    "benchmark": label,
                    "item": item,
                    "language": language,
                    "source_language": source.source_language,
                    "n": 0,
                    "k": 0.0,
                    "group": source.group,
                    "chance": source.chance,
                    "weight": 0.0,
                }


def _notes(
    config: RunConfig,
    stored: Mapping[Cell, int],
    plans: PlanState,
    *,
    names: str,
    count: str,
    has_names: bool,
) -> list[str]:
    notes = []
    short = 0
    for plan in config.benchmarks:
        state = plans.benchmarks.get(plan.name)
        here = {cell: n for cell, n in stored.items() if cell.benchmark == plan.name}
        short += sum(n < wanted(plan, state, cell) for cell, n in here.items())
        if plan.plan.kind != "paper":
            notes.append(_plan_note(config.model, plan, state, here))
        asked = {language for language in plan.languages if language != ITEM_SOURCE}
        silent = sorted(asked - {cell.language for cell, n in here.items() if n})
        if silent:
            notes.append(
                f"{config.model} on {benchmark_label(plan)}: the run is incomplete, no reply has "
                f"come in {', '.join(silent)}; means over languages are of the others alone"
            )
    if short:
        notes.append(
            f"{config.model}: the run is incomplete, {short} of {len(stored)} cells have fewer "
            "replies than asked; the same `hatscore run` command goes on where it stopped"
        )
    if has_names:
        notes.append(
            "names: accepted in the target language, the source language and English"
            if names == "lenient"
            else "names: accepted in the target language alone"
        )
    if check_count(count) != frozenset(COUNTABLE):
        notes.append(f"counted in n beside correct and wrong: {count}")
    return notes


def _not_sent(model: str, observed: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which of the sampling parameters did not reach the model."""
    dropped: dict[str, Any] = {}
    refused: dict[str, Any] = {}
    for entry in observed:
        dropped |= entry.get("dropped") or {}
        refused |= entry.get("refused") or {}
    said = [
        f"{model}: sampled without {name}, which the provider refuses ({words})"
        for name, words in refused.items()
    ]
    return said + [
        f"{model}: {name}={value!r} was asked for and did not reach the model; the provider's own "
        "default applies"
        for name, value in dropped.items()
        if name not in refused and name not in _TOLD_OTHERWISE
    ]


def wanted(plan: BenchmarkPlan, state: BenchmarkState | None, cell: Cell) -> int:
    """Return how many replies a cell is to have."""
    if state is None or cell.item not in state.decisions:
        return plan.repeats
    if cell.language not in state.targets[cell.item]:
        return plan.repeats  # the source
    return state.repeats(cell.item, cell.language) or 0


def _plan_note(
    model: str, plan: BenchmarkPlan, state: BenchmarkState | None, stored: Mapping[Cell, int]
) -> str:
    """Say what the plan saved and what it cost."""
    label = f"{model} on {benchmark_label(plan)}: plan {plan.plan}"
    if state is None or state.stage != "done":
        stage = "source" if state is None else state.stage
        return (
            f"{label} is at its stage {stage!r}: the run is incomplete; the same `hatscore run` "
            "command goes on where it stopped"
        )
    full = plan.repeats * sum(1 + len(state.targets[item]) for item in state.decisions)
    sent = sum(stored.values())
    kept = [d.weight for d in state.decisions.values() if d.k == 0 and d.weight > 0]
    unsolved = sum(d.k == 0 for d in state.decisions.values())
    said = f"{label}: {sent:,} replies instead of {full:,} ({sent / full:.0%})"
    if state.widened:
        ratios = sorted(state.widened.values())
        said += (
            f"; intervals about {sum(ratios) / len(ratios):.2f} times as wide "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )
    if unsolved > len(kept):
        said += (
            f"; target prompts of {unsolved - len(kept)} of {unsolved} items that the source never "
            f"solved were left out on purpose: they add nothing to HAT, and {len(kept)} random "
            "ones stand for them in accuracy, gap and chance-adjusted scores"
        )
    seldom = sum(state.decisions[item].k > 0 for x in state.replies for item in state.omitted(x))
    if seldom:
        cells = sum(map(len, state.targets.values()))
        said += (
            f"; so were {seldom:,} of {cells:,} cells of items that it seldom solved, for which "
            "random others stand"
        )
    if plan.plan.width is not None:
        wide = {x: w for x, w in state.widths.items() if w > plan.plan.width}
        if wide:
            shown = ", ".join(f"{x} {w:.3f}" for x, w in sorted(wide.items())[:_SHOWN])
            said += (
                f"; not reached with {plan.repeats} replies per item in {len(wide)} languages "
                f"({shown}): more items are needed, or more repeats in a new directory"
            )
    return said
