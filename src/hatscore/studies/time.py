"""Whether transfer improves over time, and how far it is from perfect.

One point per model: further thinking settings of a model are left out. The trend over years has
both uncertainties. Before and after a cut-off stand medians; their shift is Hodges and Lehmann's
median of all differences, with the exact interval of the rank-sum test (E. L. Lehmann,
Nonparametrics, 1975), which asks for nothing but models that are alike within each side.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hatscore.errors import InputError
from hatscore.stats.regression import trend
from hatscore.studies.result import (
    Analysis,
    Figure,
    Finding,
    between,
    cannot_tell,
    counted,
    for_these,
    judged,
    read_together,
    trend_figure,
    trend_row,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.stats import Estimate
    from hatscore.studies.material import Material

__all__ = ["dated", "even_cutoff", "shift", "time", "years_of"]

QUESTION = "Does HAT rise with the release date, and how far is it from 1?"
_FEWEST = 3
_DIGIT = 0.0005
_YEAR = 365.25
_EPOCH = dt.date(2025, 1, 1)
_SCORES = (("HAT", "HAT"), ("target_accuracy", "target accuracy"))


def time(material: Material, *, cutoff: dt.date | None = None) -> Analysis:
    """Return the trend over release dates, the shift at a cut-off, and the distance to 1.

    Parameters
    ----------
    material
        Scores and facts.
    cutoff
        First day that counts as after; default the date that parts the models most evenly.
    """
    known = [m for m in material.models if (f := material.facts.get(m)) and f.released is not None]
    notes = []
    if lost := [m for m in material.models if m not in known]:
        notes.append(f"no release date known: {', '.join(lost)} (add it with --models my.toml)")
    if settings := [m for m in known if material.facts[m].variant_of]:
        notes.append(f"further settings of a model, not models: {', '.join(settings)}")
    dates = {scope: dated(material, scope) for scope in material.scopes}
    # the first name of a model may be another one on another benchmark
    every = {m: day for of in dates.values() for m, day in of.items()}
    each = material.one_each(list(every))
    days = [every[m] for m in each]
    if len(each) < _FEWEST or len(set(days)) == 1:
        why = (
            f"{len(each)} of {counted(len(material.models), 'model')} have a known release date "
            f"and a HAT{material.besides()}; a trend needs at least {_FEWEST}"
            if len(each) < _FEWEST
            else f"all {len(each)} models were released on {days[0]}"
        )
        return cannot_tell("time", QUESTION, why, notes)
    day = cutoff or even_cutoff(days)
    rows: list[dict[str, Any]] = []
    for scope in material.scopes:
        x = [years_of(d) for d in dates[scope].values()]
        for name, label in _SCORES:
            scores = [material.score(m, scope, name) for m in dates[scope]]
            rows.append({"benchmark": scope, "score": label, **_trend(x, scores, material)})
            rows.append(
                {"benchmark": scope, "score": label}
                | _before_after(
                    scores, [d < day for d in dates[scope].values()], material.confidence
                )
            )
    discovery = read_together([(r, "p", _kind(r)) for r in rows], confidence=material.confidence)
    table = pl.DataFrame(rows, infer_schema_length=None)
    notes.append(
        "trend: change per year; low, high and p over other models, items_low and items_high for "
        "these models and other items. shift: the median of all differences between a model since "
        f"{day} and one before, which is not the difference of the two medians."
    )
    if discovery:
        notes.append(discovery)
    findings = [*_say(table, day, material.confidence), *_saturation(material, dates)]
    figure = _figure(material, dates)
    return Analysis("time", QUESTION, table, tuple(findings), figure, tuple(notes))


def shift(
    before: Sequence[float], after: Sequence[float], *, confidence: float
) -> tuple[float, float, float, float]:
    """Return the shift from before to after with its exact interval and p.

    Parameters
    ----------
    before, after
        Scores of models, any number of each.
    confidence
        Level; the exact interval reaches at least this, and is infinite where the numbers are too
        few for it.

    Returns
    -------
    tuple of float
        Hodges and Lehmann's estimate, low, high, two-sided p of no shift; NaN without models on
        one side.

    Examples
    --------
    >>> shift([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], confidence=0.95)
    (4.0, 1.0, 7.0, 0.02857142857142857)
    """
    m, n = len(before), len(after)
    if not m or not n:
        return (math.nan,) * 4
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    gaps = np.sort(np.subtract.outer(np.asarray(after), np.asarray(before)).ravel())
    law = _rank_sum_law(m, n)
    below = np.cumsum(law)
    # the largest c with P(U < c) at most half of what may be missed
    c = int(np.searchsorted(below, (1 - confidence) / 2, side="right"))
    low, high = (float(gaps[c - 1]), float(gaps[-c])) if c else (-math.inf, math.inf)
    u = float((gaps > 0).sum() + 0.5 * (gaps == 0).sum())
    extreme = math.floor(min(u, m * n - u))
    p = min(1.0, 2 * float(below[extreme]))
    return float(np.median(gaps)), low, high, p


def _rank_sum_law(m: int, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return P(U = 0), P(U = 1), ... of the number of pairs in order, without a shift."""
    # the generating function is the Gaussian binomial: times (1 - q^(n+i)) over (1 - q^i)
    ways = np.zeros(m * n + 1)
    ways[0] = 1.0
    for i in range(1, m + 1):
        up = n + i
        ways[up:] -= ways[:-up].copy() if up <= m * n else 0
        for j in range(i, m * n + 1):
            ways[j] += ways[j - i]
    return np.asarray(ways / ways.sum())


def _trend(x: list[float], scores: list[Estimate], material: Material) -> dict[str, Any]:
    t = trend(x, scores, confidence=material.confidence, n_permutations=0)
    return {"effect": "trend", **trend_row(t, scores, material.confidence)}


def _kind(row: dict[str, Any]) -> str:
    """Name the claims that a row is read with."""
    over = f"{row['score']}, over models"
    return f"{over}, mean over benchmarks" if row["benchmark"] == "all" else over


def _before_after(
    scores: list[Estimate], is_before: list[bool], confidence: float
) -> dict[str, Any]:
    before = [s.value for s, b in zip(scores, is_before, strict=True) if b]
    after = [s.value for s, b in zip(scores, is_before, strict=True) if not b]
    before, after = ([v for v in values if math.isfinite(v)] for values in (before, after))
    value, low, high, p = shift(before, after, confidence=confidence)
    reason = "" if before and after else "no models on one side of the cut-off"
    if low == high:
        # an interval without width would claim to know
        low = high = p = math.nan
        reason = "all models have the same score: no scatter to see"
    return {
        "effect": "shift",
        "value": value,
        "low": low,
        "high": high,
        "p": p,
        "n": len(before) + len(after),
        "median_before": float(np.median(before)) if before else math.nan,
        "median_after": float(np.median(after)) if after else math.nan,
        "n_before": len(before),
        "n_after": len(after),
        "reason": reason,
    }


def _say(table: pl.DataFrame, day: dt.date, confidence: float) -> list[Finding]:
    found = []
    for row in table.filter(pl.col("score") == "HAT").iter_rows(named=True):
        scope, shown = row["benchmark"], between(row["value"], row["low"], row["high"], sign=True)
        if math.isnan(row["value"]):
            found.append(Finding("cannot tell", f"{scope}, {row['effect']}: {row['reason']}."))
            continue
        verdict, words = judged(row, confidence)
        if row["effect"] == "trend":
            text = f"{scope}: HAT changes by {shown} per year over {row['n']} models"
            text += for_these(row)
        else:
            text = (
                f"{scope}: the median HAT is {row['median_before']:.3f} over "
                f"{counted(row['n_before'], 'model')} before {day} and "
                f"{row['median_after']:.3f} over {row['n_after']} since; shift {shown}"
            )
        if math.isinf(row["low"]):
            verdict, text = "cannot tell", f"{text}: too few models for an interval"
        elif verdict == "cannot tell":
            text += f"; {row['reason']}"
        text += words
        if verdict == "not shown":
            text += "; the direction is open"
        found.append(Finding(verdict, f"{text}."))
    return found


def _saturation(material: Material, dates: Mapping[str, Mapping[str, dt.date]]) -> list[Finding]:
    found = []
    for scope, of in dates.items():
        scores = {m: material.score(m, scope, "HAT") for m in of}
        known = {m: s for m, s in scores.items() if s.bounded}
        if not known:
            continue
        best = max(known, key=lambda m: known[m].value)
        s = known[best]
        far = abs(1 - s.value)
        # a HAT of 1 to three decimals has no side
        side = "below" if s.value < 1 else "above"
        text = f"{scope}: the best HAT, of {best}, is {between(s.value, s.low, s.high)}"
        if far >= _DIGIT:
            widths = f"{far / (s.high - s.low):.1f} times the width of its interval"
            text += f", {far:.3f} {side} 1 or {widths}"
        n = {
            "below": sum(e.high < 1 for e in known.values()),
            "from": sum(e.low <= 1 <= e.high for e in known.values()),
            "above": sum(e.low > 1 for e in known.values()),
        }
        words = [
            *([f"{n['below']} lie below 1"] if n["below"] else []),
            *([f"{n['from']} cannot be told from 1"] if n["from"] else []),
            *([f"{n['above']} lie above 1"] if n["above"] else []),
        ]
        text += f"; of {counted(len(known), 'model')} {', '.join(words)}, by their intervals"
        found.append(Finding("described", f"{text}."))
    return found


def _figure(material: Material, dates: Mapping[str, Mapping[str, dt.date]]) -> Figure:
    def years(scope: str) -> dict[str, float]:
        return {m: years_of(day) for m, day in dates[scope].items()}

    return trend_figure(material, years, x_label="release date (year)")


def dated(material: Material, scope: str) -> dict[str, dt.date]:
    """Return the models that are points over time, with their release dates."""
    days = {m: material.facts[m].released for m in material.points(scope)}
    return {m: day for m, day in days.items() if day is not None}


def years_of(day: dt.date) -> float:
    """Return a date in years: 2025.5 is in the middle of 2025."""
    return _EPOCH.year + (day - _EPOCH).days / _YEAR


def even_cutoff(days: list[dt.date]) -> dt.date:
    """Return the date that leaves the two sides as equal as they can be."""
    options = sorted(set(days))[1:]
    return min(options, key=lambda d: abs(sum(x < d for x in days) - len(days) / 2))
