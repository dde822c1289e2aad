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
    trend_figure,
    trend_row,
    verdict_of,
    with_q,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.stats import Estimate
    from hatscore.studies.material import Material

__all__ = ["even_cutoff", "shift", "time", "years_of"]

QUESTION = "Does HAT rise with the release date, and how far is it from 1?"
_FEWEST = 3
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
    dated = [m for m in material.models if (f := material.facts.get(m)) and f.released is not None]
    notes = []
    if lost := [m for m in material.models if m not in dated]:
        notes.append(f"no release date known: {', '.join(lost)} (add it with --models my.toml)")
    dated = [m for m in dated if not material.facts[m].variant_of]
    dates = {m: _date(material, m) for m in dated}
    if len(dated) < _FEWEST or len(set(dates.values())) == 1:
        why = (
            f"{len(dated)} of {counted(len(material.models), 'model')} have a known release date; "
            f"a trend needs at least {_FEWEST}"
            if len(dated) < _FEWEST
            else f"all {len(dated)} models were released on {dates[dated[0]]}"
        )
        return cannot_tell("time", QUESTION, why, notes)
    day = cutoff or even_cutoff(list(dates.values()))
    rows: list[dict[str, Any]] = []
    for scope in material.scopes:
        models = [m for m in dated if m in material.members(scope)]
        x = [years_of(dates[m]) for m in models]
        for name, label in _SCORES:
            scores = [material.score(m, scope, name) for m in models]
            rows.append({"benchmark": scope, "score": label, **_trend(x, scores, material)})
            rows.append(
                {"benchmark": scope, "score": label}
                | _before_after(scores, [dates[m] < day for m in models], material.confidence)
            )
    table, discovery = with_q(pl.DataFrame(rows, infer_schema_length=None))
    notes.append(
        "trend: change per year; low, high and p over other models, items_low and items_high for "
        f"these models and other items. shift: median difference of models since {day} and before."
    )
    if discovery:
        notes.append(discovery)
    findings = [*_say(table, day), *_saturation(material, dated)]
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
    return {"effect": "trend", **trend_row(t, material.confidence)}


def _before_after(
    scores: list[Estimate], is_before: list[bool], confidence: float
) -> dict[str, Any]:
    before = [s.value for s, b in zip(scores, is_before, strict=True) if b]
    after = [s.value for s, b in zip(scores, is_before, strict=True) if not b]
    before, after = ([v for v in values if math.isfinite(v)] for values in (before, after))
    value, low, high, p = shift(before, after, confidence=confidence)
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
        "reason": "" if before and after else "no models on one side of the cut-off",
    }


def _say(table: pl.DataFrame, day: dt.date) -> list[Finding]:
    found = []
    for row in table.filter(pl.col("score") == "HAT").iter_rows(named=True):
        scope, shown = row["benchmark"], between(row["value"], row["low"], row["high"], sign=True)
        if math.isnan(row["value"]):
            found.append(Finding("cannot tell", f"{scope}, {row['effect']}: {row['reason']}."))
            continue
        verdict = verdict_of(row["low"], row["high"])
        if row["effect"] == "trend":
            text = (
                f"{scope}: HAT changes by {shown} per year over {row['n']} models "
                f"([{row['items_low']:+.3f}, {row['items_high']:+.3f}] for these models and other "
                "items)"
            )
        else:
            text = (
                f"{scope}: the median HAT is {row['median_before']:.3f} over {row['n_before']} "
                f"models before {day} and {row['median_after']:.3f} over {row['n_after']} since; "
                f"shift {shown}"
            )
        if math.isinf(row["low"]):
            verdict, text = "cannot tell", f"{text}: too few models for an interval"
        elif verdict == "not shown":
            text += "; the direction is open"
        found.append(Finding(verdict, f"{text}."))
    return found


def _saturation(material: Material, models: list[str]) -> list[Finding]:
    found = []
    for scope in material.scopes:
        scores = {
            m: material.score(m, scope, "HAT") for m in models if m in material.members(scope)
        }
        known = {m: s for m, s in scores.items() if math.isfinite(s.value) and s.bounded}
        if not known:
            continue
        best = max(known, key=lambda m: known[m].value)
        s = known[best]
        widths = (1 - s.value) / (s.high - s.low)
        reach = [m for m, e in known.items() if e.low <= 1 <= e.high]
        text = (
            f"{scope}: the best HAT, of {best}, is {between(s.value, s.low, s.high)}, "
            f"{1 - s.value:.3f} below 1 or {widths:.1f} times the width of its interval; "
        )
        text += (
            f"{len(reach)} of {len(known)} models cannot be told from perfect transfer"
            if reach
            else f"none of {len(known)} models reaches 1 within its interval"
        )
        found.append(Finding("described", f"{text}."))
    return found


def _figure(material: Material, dates: dict[str, dt.date]) -> Figure:
    def years(scope: str) -> dict[str, float]:
        return {m: years_of(day) for m, day in dates.items() if m in material.members(scope)}

    return trend_figure(material, years, x_label="release date (year)")


def _date(material: Material, model: str) -> dt.date:
    released = material.facts[model].released
    if released is None:
        raise InputError(f"{model} has no release date")
    return released


def years_of(day: dt.date) -> float:
    """Return a date in years: 2025.5 is in the middle of 2025."""
    return _EPOCH.year + (day - _EPOCH).days / _YEAR


def even_cutoff(days: list[dt.date]) -> dt.date:
    """Return the date that leaves the two sides as equal as they can be."""
    options = sorted(set(days))[1:]
    return min(options, key=lambda d: abs(sum(x < d for x in days) - len(days) / 2))
