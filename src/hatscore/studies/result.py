"""What an analysis gives: a table, findings in plain language, and the numbers of a figure.

**The rule of verdicts**, the same in every analysis. Claims of a *kind* are read together: those
of one analysis, of one score, with the same unit of uncertainty (items, models or languages).
Means of such claims (over benchmarks, models or languages), and lines fitted jointly, say the same
again: they are a kind of their own. Claims with the same value and p, such as those over total and
over active parameters of dense models, count once. A claim is *shown* where its interval excludes
no effect and its false-discovery rate q within its kind is below 1 - confidence; alone in its kind
it has q = p. A sentence tells p and q where they differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from hatscore.stats.regression import trend
from hatscore.studies.effects import benjamini_hochberg, over_items, student

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    "for_these",
    "judged",
    "line_row",
    "read_together",
    "trend_figure",
    "trend_row",
    "with_p_and_q",
]

_LEAST = 0.001
_KINDS = 4
Verdict = Literal["shown", "not shown", "described", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence with its verdict.

    Attributes
    ----------
    verdict
        ``shown`` and ``not shown`` by the rule of verdicts above, ``described`` where a number is
        reported without a claim, ``cannot tell`` where the data give no answer.
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
    least
        What y cannot fall below, such as 0 for a standard deviation: its axis starts there.
    """

    points: pl.DataFrame
    x_label: str
    y_label: str
    log_x: bool = False
    lines: dict[str, tuple[float, float]] = field(default_factory=dict)
    reference: float | None = None
    least: float | None = None


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
    if math.isnan(value):
        return "no value"
    # what rounds to zero has no sign
    form = "+z.3f" if sign else "z.3f"
    first, *ends = (f"{x:{form}}".replace("+0.000", "0.000") for x in (value, low, high))
    return first if math.isnan(low) else f"{first} [{', '.join(ends)}]"


def counted(n: int, what: str) -> str:
    """Write ``1 model`` or ``3 models``."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def for_these(row: Mapping[str, Any]) -> str:
    """Write `` ([-0.01, +0.02] for these models and other items)``, or nothing without it."""
    low, high = (_number(row[end]) for end in ("items_low", "items_high"))
    if math.isnan(low) or math.isnan(high):
        return ""
    return f" ([{low:+.3f}, {high:+.3f}] for these models and other items)"


def judged(row: Mapping[str, Any], confidence: float, *, p: str = "p") -> tuple[Verdict, str]:
    """Return the verdict on a row by the rule of verdicts, and what to say of p and q.

    Parameters
    ----------
    row
        With low, high, `p` and its q, set by `read_together`.
    confidence
        Level of the intervals.
    p
        Name of the column of p: ``p_languages`` has no interval, and is judged by q alone.

    Returns
    -------
    tuple
        The verdict, and words to follow the numbers: empty where p and q are alike.
    """
    raw, q = _number(row.get(p)), _number(row.get(_q(p)))
    low, high = (_number(row[end]) for end in ("low", "high"))
    words = with_p_and_q(raw, q)
    if p != "p":
        if math.isnan(q):
            return "cannot tell", words
        alone: Verdict = "shown" if raw < 1 - confidence else "not shown"
    elif math.isnan(low) or math.isnan(high):
        return "cannot tell", words
    else:
        alone = "shown" if low > 0 or high < 0 else "not shown"
    # without a p, as where no item scatters, the interval stands alone
    if alone == "shown" and q >= 1 - confidence:
        return "not shown", f"; not when the claims of its kind are read together{words}"
    return alone, words


def with_p_and_q(p: float, q: float) -> str:
    """Write `` (p = 0.018, q = 0.061)``, or nothing where they are alike or missing."""
    shown = [f"< {_LEAST}" if x < _LEAST else f"= {x:.3f}" for x in (p, q)]
    if math.isnan(p) or math.isnan(q) or shown[0] == shown[1]:
        return ""
    return f" (p {shown[0]}, q {shown[1]})"


def read_together(claims: Sequence[tuple[dict[str, Any], str, str]], *, confidence: float) -> str:
    """Set q beside the p of every claim, and return a note that counts what holds.

    Parameters
    ----------
    claims
        (row, name of its p, kind). ``p`` gets ``q`` and ``kind`` in its row, ``p_languages`` gets
        ``q_languages``. Within a kind, rows of the same value and p are one claim.
    confidence
        Level of the intervals; q is held against 1 - confidence.

    Returns
    -------
    str
        Empty where no kind has two claims.
    """
    kinds: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for row, name, kind in claims:
        kinds.setdefault(kind, []).append((row, name))
        if name == "p":
            row["kind"] = kind
    level = 1 - confidence
    said = []
    for kind, members in kinds.items():
        one = {(_number(row[name]), _number(row["value"])): math.nan for row, name in members}
        q = dict(zip(one, benjamini_hochberg([p for p, _ in one]), strict=True))
        for row, name in members:
            # what is not a number is not equal to itself
            key = (_number(row[name]), _number(row["value"]))
            row[_q(name)] = q.get(key, math.nan)
        known = [(p, x) for (p, _), x in q.items() if not math.isnan(x)]
        if len(known) > 1:
            raw, held = (sum(pair[i] < level for pair in known) for i in (0, 1))
            said.append(f"{kind}: {len(known)} claims, p < {level:.3g} in {raw}, q in {held}")
    if not said:
        return ""
    more = f"; {len(said) - _KINDS} more kinds in the table" if len(said) > _KINDS else ""
    return (
        f"Claims of a kind are read together; shown needs a false-discovery rate q < {level:.3g} "
        f"(Benjamini and Hochberg). {'; '.join(said[:_KINDS])}{more}."
    )


def _q(p: str) -> str:
    return f"q{p.removeprefix('p')}"


def _number(x: Any) -> float:
    return math.nan if x is None else float(x)


def effect_row(estimate: Estimate, p: float) -> dict[str, Any]:
    """Return the columns of an effect over items; it has no interval where nothing scatters."""
    # an interval without width would claim to know
    flat = estimate.low == estimate.high
    return {
        "value": estimate.value,
        "low": math.nan if flat else estimate.low,
        "high": math.nan if flat else estimate.high,
        "se": estimate.se,
        "p": p,
        "reason": estimate.reason or ("no item scatters" if flat else ""),
    }


def line_row(line: Line, confidence: float) -> dict[str, Any]:
    """Return the columns of a coefficient: over units first, then over items alone."""
    items = student(line.items, confidence=confidence)
    return {
        "value": line.value,
        "low": line.low,
        "high": line.high,
        "p": line.p,
        "items_low": items.low,
        "items_high": items.high,
        "n": line.n_units,
        "reason": line.reason or line.items.reason,
    }


def trend_row(line: Trend, scores: Sequence[Estimate], confidence: float) -> dict[str, Any]:
    """Return the columns of a trend over models: over other models first, then over items.

    Parameters
    ----------
    line
        Through `scores`.
    scores
        One per model, as given to `trend`.
    confidence
        Level of the intervals.
    """
    items = over_items(scores, line.leverage.tolist(), confidence=confidence)
    return {
        "value": line.slope,
        "low": line.low,
        "high": line.high,
        "p": line.p,
        "items_low": items.low,
        "items_high": items.high,
        "n": line.n_models,
        "reason": line.reason,
    }


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
