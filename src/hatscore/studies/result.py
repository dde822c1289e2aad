"""What an analysis gives: a table, findings in plain language, and the numbers of a figure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from hatscore.stats.intervals import normal_quantile
from hatscore.stats.regression import trend
from hatscore.studies.effects import benjamini_hochberg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatscore.stats import Estimate
    from hatscore.stats.regression import Trend
    from hatscore.studies.effects import Line
    from hatscore.studies.material import Material

__all__ = [
    "Analysis",
    "Figure",
    "Finding",
    "between",
    "cannot_tell",
    "counted",
    "effect_figure",
    "effect_row",
    "line_row",
    "trend_figure",
    "trend_row",
    "verdict_of",
    "with_q",
]

Verdict = Literal["shown", "not shown", "described", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence with its verdict.

    Attributes
    ----------
    verdict
        ``shown`` where the interval excludes no effect, ``not shown`` where it does not,
        ``described`` where a number is reported without a claim, ``cannot tell`` where the data
        give no answer.
    text
        The sentence, uncertainty included.
    """

    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """Numbers of a figure.

    Attributes
    ----------
    points
        Columns panel, series, x (a number) or label (a text, one line each), y, low, high.
    x_label, y_label
        Axes.
    log_x
        Whether x is drawn on a logarithmic axis.
    lines
        Per panel: slope and intercept over x (over log10 x with `log_x`).
    reference
        A value of y to mark, such as 0 for differences.
    """

    points: pl.DataFrame
    x_label: str
    y_label: str
    log_x: bool = False
    lines: dict[str, tuple[float, float]] = field(default_factory=dict)
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """The answer to one question.

    Attributes
    ----------
    name
        Short name: ``size``.
    question
        The question, in words.
    table
        Every number behind the findings.
    findings
        Sentences, the most important first.
    figure
        Numbers of its figure, None where there is nothing to draw.
    notes
        What was left out and how to read the table.
    """

    name: str
    question: str
    table: pl.DataFrame
    findings: tuple[Finding, ...]
    figure: Figure | None = None
    notes: tuple[str, ...] = ()


def cannot_tell(name: str, question: str, reason: str, notes: Sequence[str] = ()) -> Analysis:
    """Return the analysis that says why there is none."""
    return Analysis(
        name, question, pl.DataFrame(), (Finding("cannot tell", reason),), None, tuple(notes)
    )


def between(value: float, low: float, high: float, *, sign: bool = False) -> str:
    """Write ``0.842 [0.801, 0.885]``."""
    form = "+.3f" if sign else ".3f"
    if math.isnan(value):
        return "no value"
    if math.isnan(low):
        return f"{value:{form}}"
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def counted(n: int, what: str) -> str:
    """Write ``1 model`` or ``3 models``."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def verdict_of(low: float, high: float) -> Verdict:
    """Tell what an interval says of no effect."""
    if math.isnan(low) or math.isnan(high):
        return "cannot tell"
    return "shown" if low > 0 or high < 0 else "not shown"


def effect_row(estimate: Estimate, p: float) -> dict[str, Any]:
    """Return the columns of an effect over items."""
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "se": estimate.se,
        "p": p,
        "reason": estimate.reason,
    }


def line_row(line: Line) -> dict[str, Any]:
    """Return the columns of a coefficient: over units first, then over items alone."""
    return {
        "value": line.value,
        "low": line.low,
        "high": line.high,
        "p": line.p,
        "items_low": line.items.low,
        "items_high": line.items.high,
        "n": line.n_units,
        "reason": line.reason or line.items.reason,
    }


def trend_row(line: Trend, confidence: float) -> dict[str, Any]:
    """Return the columns of a trend over models: over other models first, then over items."""
    half = normal_quantile(confidence) * line.se_items
    return {
        "value": line.slope,
        "low": line.low,
        "high": line.high,
        "p": line.p,
        "items_low": line.slope - half,
        "items_high": line.slope + half,
        "n": line.n_models,
        "reason": line.reason,
    }


def with_q(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Add the column q beside p, and say how many claims hold at a false-discovery rate of 5 %.

    The sentence is empty where fewer than two claims are read at once.
    """
    p = [math.nan if x is None else float(x) for x in table["p"]]
    q = benjamini_hochberg(p)
    known = [x for x in q if not math.isnan(x)]
    done = table.with_columns(pl.Series("q", q, dtype=pl.Float64))
    if len(known) < 2:  # noqa: PLR2004 - one claim is not many
        return done, ""
    raw = sum(x < 0.05 for x in p if not math.isnan(x))  # noqa: PLR2004 - the usual level
    held = sum(x < 0.05 for x in known)  # noqa: PLR2004 - the usual level
    return done, (
        f"{len(known)} claims are read at once: {raw} have p < 0.05, {held} hold at a "
        "false-discovery rate of 5 % (Benjamini and Hochberg, column q)."
    )


def effect_figure(
    rows: pl.DataFrame,
    *,
    panel: str | pl.Expr,
    label: str | pl.Expr,
    y_label: str,
    reference: float = 0.0,
) -> Figure:
    """Return the effects of a table with their intervals, a line each.

    Parameters
    ----------
    rows
        With columns value, low and high.
    panel, label
        Columns, or what is made of them.
    y_label, reference
        As for `Figure`.
    """
    points = rows.select(
        panel=panel, series=pl.lit(""), label=label, y="value", low="low", high="high"
    )
    return Figure(points, x_label="", y_label=y_label, reference=reference)


def trend_figure(
    material: Material,
    covariate: Callable[[str], dict[str, float]],
    *,
    x_label: str,
    log_x: bool = False,
) -> Figure:
    """Return HAT over a covariate of models, a panel per scope, with its trend.

    Parameters
    ----------
    material
        The scores and facts.
    covariate
        Number of each model to draw in a scope; with `log_x` the trend is over its log10.
    x_label, log_x
        As for `Figure`.
    """
    points: list[dict[str, Any]] = []
    lines: dict[str, tuple[float, float]] = {}
    for scope in material.scopes:
        at = covariate(scope)
        scores = [material.score(m, scope, "HAT") for m in at]
        over = [math.log10(x) for x in at.values()] if log_x else list(at.values())
        line = trend(over, scores, confidence=material.confidence)
        lines[scope] = (line.slope, line.intercept)
        points += [
            {
                "panel": scope,
                "series": material.facts[m].family,
                "x": x,
                "label": m,
                "y": score.value,
                "low": score.low,
                "high": score.high,
            }
            for (m, x), score in zip(at.items(), scores, strict=True)
        ]
    return Figure(
        pl.DataFrame(points, infer_schema_length=None),
        x_label=x_label,
        y_label="HAT (macro)",
        log_x=log_x,
        lines=lines,
    )
