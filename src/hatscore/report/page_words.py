"""What the page says in sentences; never a number without its interval."""

from __future__ import annotations

import math
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hatscore._version import __version__
from hatscore.report.text import headline, label, language_name, number, printable, with_interval
from hatscore.scoring import MACRO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from hatscore.outcomes import Outcomes
    from hatscore.scoring import Measurement
    from hatscore.stats.estimate import Estimate

__all__ = [
    "count",
    "data",
    "disagreement",
    "enumerate_names",
    "methods",
    "overview",
    "summary",
    "title",
    "versions",
]

_FEW = 3
_LIBRARIES = ("numpy", "scipy", "polars", "altair", "vl-convert-python")


def title(found: Sequence[Measurement]) -> str:
    """Name what was measured, by name where it is little, else by number."""
    models = list(dict.fromkeys(m.model for m in found))
    benchmarks = list(dict.fromkeys(m.benchmark for m in found))
    return (
        f"Cross-lingual transfer of {enumerate_names(models, 'model')} "
        f"on {enumerate_names(benchmarks, 'benchmark')}"
    )


def enumerate_names(names: Sequence[str], noun: str, few: int = _FEW) -> str:
    """Write ``a, b and c``, or ``12 models`` where there are more than `few`."""
    if len(names) > few:
        return count(len(names), noun)
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + list(names[-1:]))


def count(n: int, noun: str) -> str:
    """Write ``1 item`` or ``3 items``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def overview(found: Sequence[Measurement], ranks: Sequence[Mapping[str, Any]]) -> str:
    """Say of one benchmark which models lead and which languages lose most, over all models.

    Parameters
    ----------
    found
        Measurements of this benchmark.
    ranks
        Its records of `rows_rank.rank_rows`, best first.
    """
    scores = _macros(found)
    ranked = [row["model"] for row in ranks if row["rank"] is not None]
    leaders = [row["model"] for row in ranks if row["rank"] == 1]
    if not ranked:
        return "No model has a score that could be ranked."
    first, last = ranked[0], ranked[-1]
    sentences = [f"{first} has the highest mean HAT: {with_interval(headline(scores[first])[1])}."]
    if len(leaders) == len(ranked):
        sentences.append("No model is shown to be better than any other.")
    elif len(leaders) > 1:
        others = enumerate_names([x for x in leaders if x != first], "other model")
        sentences.append(f"It shares rank 1 with {others}: no model is shown to be better.")
    sentences.append(f"{last} has the lowest: {with_interval(headline(scores[last])[1])}.")
    by_language = _by_language(found)
    if len(by_language) > 1:
        best, worst = max(by_language, key=_second), min(by_language, key=_second)
        sentences.append(
            f"Over all models most survives in {language_name(best[0])}, with a mean of "
            f"{number(best[1])}, and least in {language_name(worst[0])}, with {number(worst[1])}."
        )
    return " ".join(sentences)


def disagreement(found: Sequence[Measurement], ranks: Sequence[Mapping[str, Any]]) -> str:
    """Say which model changes its place most between HAT and target accuracy.

    Empty with fewer than three models; parameters as for `overview`.
    """
    scores = _macros(found)
    ranked = [row["model"] for row in ranks if row["rank"] is not None]
    if len(ranked) < _FEW:
        return ""
    by_accuracy = sorted(ranked, key=lambda x: -scores[x].scores["target_accuracy"].value)
    moved = max(ranked, key=lambda x: abs(ranked.index(x) - by_accuracy.index(x)))
    here, there = ranked.index(moved) + 1, by_accuracy.index(moved) + 1
    if here == there:
        return "Target accuracy puts the models in the same order as HAT."
    return (
        f"The two orders differ most for {moved}: number {here} of {len(ranked)} by HAT, "
        f"{with_interval(headline(scores[moved])[1])}, and number {there} by target accuracy, "
        f"{with_interval(scores[moved].scores['target_accuracy'])}."
    )


def summary(part: Sequence[Measurement]) -> dict[str, Any]:
    """Say in words what the scores of one model on one benchmark say."""
    single = [(m, headline(m)[1]) for m in part if m.language != MACRO]
    known = sorted(
        ((m, e) for m, e in single if not math.isnan(e.value)), key=lambda x: -x[1].value
    )
    sentences = []
    if not known:
        reasons = "; ".join(dict.fromkeys(e.reason for _, e in single if e.reason))
        sentences.append(f"No language has a HAT score: {reasons or 'the data cannot tell'}.")
    elif len(known) == 1:
        sentences.append(f"HAT is {_in_words(*known[0])}.")
    else:
        (best, top), (worst, bottom) = known[0], known[-1]
        sentences.append(
            f"Most of what the model can do survives in {_in_words(best, top)}, least in "
            f"{_in_words(worst, bottom)}."
        )
        if bottom.high >= top.low:
            sentences.append("Their intervals overlap, so even this order is not certain.")
        macro = next((headline(m)[1] for m in part if m.language == MACRO), None)
        if macro is not None and not math.isnan(macro.value):
            sentences.append(
                f"The mean over {count(len(single), 'language')} is {with_interval(macro)} "
                f"({count(macro.n_items, 'item')})."
            )
    unbounded = [m for m, e in known if not e.bounded]
    if unbounded:
        names = ", ".join(language_name(m.language) for m in unbounded)
        sentences.append(f"The data do not bound the score in {names}.")
    lost = [m for m, e in single if math.isnan(e.value)]
    if lost and known:
        names = ", ".join(language_name(m.language) for m in lost)
        sentences.append(f"There is no score for {names}; the table says why.")
    return {
        "model": part[0].model,
        "benchmark": part[0].benchmark,
        "plugin": any(headline(m)[0] == "hat_plugin" for m in part),
        "text": " ".join(sentences),
    }


def methods(found: Sequence[Measurement]) -> list[tuple[str, str]]:
    """Name the estimators and intervals that were really used."""
    used: dict[tuple[str, str, str], None] = {}
    for m in found:
        _, e = headline(m)
        if not math.isnan(e.value):
            where = "macro average" if m.language == MACRO else "languages"
            used.setdefault((where, e.estimator, e.interval))
    return [(where, f"{estimator} slope, {kind} interval") for where, estimator, kind in used]


def data(outcomes: Outcomes) -> list[tuple[str, str]]:
    """Describe the plan as the table shows it, per benchmark."""
    described = []
    for (benchmark,), part in outcomes.frame.group_by(["benchmark"], maintain_order=True):
        source = part["language"] == part["source_language"]
        tags = part["source_language"].unique().sort().to_list()
        sources = (
            ", ".join(map(label, tags))
            if len(tags) <= _FEW
            else f"one of {len(tags)} languages, by item"
        )
        text = (
            f"{count(part['item'].n_unique(), 'item')} in "
            f"{count(part['group'].n_unique(), 'cluster')}; "
            f"source {sources}, {_replies(part.filter(source))}; "
            f"targets, {_replies(part.filter(~source))}"
        )
        described.append((str(benchmark), text))
    return described


def versions() -> str:
    """Name the program and the libraries that numbers and charts come from."""
    parts = [f"{name} {version(name)}" for name in _LIBRARIES]
    return ", ".join([f"hatscore {__version__}", f"Python {platform.python_version()}", *parts])


def _macros(found: Sequence[Measurement]) -> dict[str, Measurement]:
    return {printable(m.model): m for m in found if m.language == MACRO}


def _second(pair: tuple[str, float]) -> float:
    return pair[1]


def _by_language(part: Sequence[Measurement]) -> list[tuple[str, float]]:
    """Return the mean HAT of every language that all models of the benchmark have."""
    values: dict[str, list[float]] = {}
    for m in part:
        value = headline(m)[1].value
        if m.language != MACRO and not math.isnan(value):
            values.setdefault(m.language, []).append(value)
    models = len({m.model for m in part})
    return [(x, math.fsum(v) / len(v)) for x, v in values.items() if len(v) == models]


def _in_words(m: Measurement, estimate: Estimate) -> str:
    return (
        f"{language_name(m.language)}: {with_interval(estimate)} "
        f"({count(estimate.n_items, 'item')})"
    )


def _replies(part: pl.DataFrame) -> str:
    counts = sorted(set(part["n"].to_list()))
    if not counts:
        return "no replies"
    low, high = counts[0], counts[-1]
    return f"{low if low == high else f'{low} to {high}'} counted replies per item"
