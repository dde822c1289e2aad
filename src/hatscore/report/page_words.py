"""What the page says in sentences; never a number without its interval."""

from __future__ import annotations

import math
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hatscore._version import __version__
from hatscore.report.text import (
    headline,
    interval,
    label,
    language_name,
    number,
    printable,
    with_interval,
)
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
_SEVERAL = 2
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
    if not ranked:
        return "No model has a score that could be ranked."
    leaders = [row["model"] for row in ranks if row["rank"] == 1]
    sentences = _leading(ranked, leaders, {x: headline(scores[x]) for x in ranked})
    apart = [row["model"] for row in ranks if row["rank"] is None and row["hat"] is not None]
    if apart:
        # a mean of corrected and plug-in scores would say nothing of either
        have, are = ("has", "is") if len(apart) == 1 else ("have", "are")
        sentences.append(
            f"{enumerate_names(apart, 'model')} {have} plug-in scores alone, lower by the noise of "
            f"few replies, and {are} not ranked with {'it' if len(ranked) == 1 else 'them'}."
        )
    if len(ranked) > 1:
        models = f"these {len(ranked)}" if apart else "all"
        by_language = _by_language([m for m in found if printable(m.model) in ranked])
        sentences += _across(by_language, models)
    return " ".join(sentences)


def _leading(
    ranked: Sequence[str], leaders: Sequence[str], scores: Mapping[str, tuple[str, Estimate]]
) -> list[str]:
    first, last = ranked[0], ranked[-1]
    (kind, top), (_, bottom) = scores[first], scores[last]
    score = "plug-in HAT" if kind == "hat_plugin" else "HAT"
    if len(ranked) == 1:
        return [f"{first} has a mean {score} of {with_interval(top)}."]
    alike = number(top.value) == number(bottom.value)
    sentences = [
        f"All models have a mean {score} of {number(top.value)}, {first} {interval(top)} and "
        f"{last} {interval(bottom)} among them."
        if alike
        else f"{first} has the highest mean {score}: {with_interval(top)}."
    ]
    if len(leaders) == len(ranked):
        sentences.append("No model is shown to be better than any other.")
    elif len(leaders) > 1:
        others = enumerate_names([x for x in leaders if x != first], "other model")
        sentences.append(f"It shares rank 1 with {others}: no model is shown to be better.")
    if not alike:
        sentences.append(f"{last} has the lowest: {with_interval(bottom)}.")
    return sentences


def _across(by_language: Sequence[tuple[str, float]], models: str) -> list[str]:
    """Say which languages the models do best and worst in."""
    if len(by_language) < _SEVERAL:
        return []
    best, worst = max(by_language, key=_second), min(by_language, key=_second)
    if number(best[1]) == number(worst[1]):
        return [f"Over {models} models the mean HAT of every language is {number(best[1])}."]
    highest = f"highest in {language_name(best[0])}, with a mean of {number(best[1])}"
    lowest = f"lowest in {language_name(worst[0])}, with {number(worst[1])}"
    return [f"Over {models} models HAT is {highest}, and {lowest}."]


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
    kinds = {headline(m)[0] for m, e in single if not math.isnan(e.value)}
    both = len(kinds) > 1
    score = "plug-in HAT" if kinds == {"hat_plugin"} else "HAT"
    known = sorted(
        (
            (m, e)
            for m, e in single
            if not math.isnan(e.value) and not (both and headline(m)[0] == "hat_plugin")
        ),
        key=lambda x: -x[1].value,
    )
    sentences = []
    if not known:
        reasons = "; ".join(dict.fromkeys(e.reason for _, e in single if e.reason))
        sentences.append(f"No language has a HAT score: {reasons or 'the data cannot tell'}.")
    elif len(known) == 1:
        sentences.append(f"{_capital(score)} is {_in_words(*known[0])}.")
    else:
        sentences += _extremes(known, score)
        name, macro = next((headline(m) for m in part if m.language == MACRO), ("", None))
        if macro is not None and not math.isnan(macro.value) and name in kinds and not both:
            sentences.append(
                f"The mean over {count(len(single), 'language')} is {with_interval(macro)} "
                f"({count(macro.n_items, 'item')})."
            )
    if both:
        named = [m for m, _ in single if headline(m)[0] == "hat_plugin"]
        names = enumerate_names([language_name(m.language) for m in named], "language")
        sentences.append(f"Of {names} there are plug-in scores alone, which are lower by noise.")
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
        "plugin": kinds == {"hat_plugin"},
        "text": " ".join(sentences),
    }


def _extremes(known: Sequence[tuple[Measurement, Estimate]], score: str) -> list[str]:
    """Say where the score is highest and lowest, and whether it differs at all."""
    (best, top), (worst, bottom) = known[0], known[-1]
    name = _capital(score)
    if number(top.value) == number(bottom.value):
        widest = max(known, key=lambda x: x[1].high - x[1].low)
        where = f"each of {count(len(known), 'language')}"
        said = f"{name} is {number(top.value)} in {where}; the widest interval is of "
        nothing = "Nothing is shown to survive in any of them."
        return [f"{said}{_in_words(*widest)}.", *[nothing] * (top.value <= 0)]
    said = f"{name} is highest in {_in_words(best, top)} and lowest in {_in_words(worst, bottom)}."
    if bottom.high >= top.low:
        return [said, "Their intervals overlap, so even this order is not certain."]
    return [said]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


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
