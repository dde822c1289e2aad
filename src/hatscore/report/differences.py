"""Two models side by side: each score with its interval, and their paired difference."""

from __future__ import annotations

import math
import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from hatscore._version import __version__
from hatscore.report.columns import columns_text, columns_width, footnote
from hatscore.report.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.comparing import Difference
    from hatscore.stats.estimate import Estimate

__all__ = [
    "SCHEMA_NUMBER",
    "Interval",
    "differences_document",
    "differences_for_paper",
    "differences_for_people",
    "differences_frame",
    "interval_at",
    "render_differences",
    "rests_on_unbounded",
]

SCHEMA_NUMBER = 1
"""Raised whenever a key of the JSON document changes its name or meaning."""

_DEFAULT_WIDTH = 80
_SMALLEST_P = 0.001
_UNBOUNDED = "unbounded:"
_BETWEEN = "A - B"
_LEANS = "a normal approximation, though a score behind it is "


@dataclass(frozen=True, slots=True)
class Interval:
    """Ends of an interval, and what kind of interval that is.

    Parameters
    ----------
    low, high
        Infinite where the data leave the interval open, NaN where there is none.
    status
        ``bounded``; ``unbounded`` when an end is infinite; ``missing`` without an interval.
    reason
        Why the score or its interval is missing or unusual; empty otherwise.
    """

    low: float
    high: float
    status: Literal["bounded", "unbounded", "missing"]
    reason: str


def interval_at(estimate: Estimate, confidence: float) -> Interval:
    """Return the interval of an estimate, if it is one of the level that is asked for.

    Scores that were saved carry the interval of their own level, and another cannot be made from
    them; rather than an interval of the wrong level there is none then, with a reason.

    Parameters
    ----------
    estimate
        Any.
    confidence
        The level that is asked for, in (0, 1).
    """
    low, high, reason = estimate.low, estimate.high, estimate.reason
    if math.isnan(estimate.value) or math.isnan(low) or math.isnan(high):
        return Interval(math.nan, math.nan, "missing", reason)
    if not math.isclose(estimate.confidence, confidence):
        saved, asked = f"{estimate.confidence:g}", f"{confidence:g}"
        lost = (
            f"saved with its interval of level {saved}, not {asked}: save it again with "
            f"`hatscore score --confidence {asked} --save`"
        )
        return Interval(math.nan, math.nan, "missing", f"{reason}; {lost}" if reason else lost)
    if math.isinf(low) or math.isinf(high):
        return Interval(low, high, "unbounded", reason)
    # means and differences of scores have their parts' reasons, and an interval of their own
    return Interval(low, high, "bounded", reason.replace(_UNBOUNDED, _LEANS + _UNBOUNDED))


def rests_on_unbounded(estimate: Estimate) -> bool:
    """Say whether a mean or difference has a score behind it whose own interval is unbounded.

    Its interval is a normal approximation then, and holds the truth less often than it says.
    """
    return _UNBOUNDED in estimate.reason


def differences_frame(
    rows: Sequence[Difference], first: str, second: str, *, confidence: float
) -> pl.DataFrame:
    """Return the differences as a frame, a row per benchmark, language and score.

    Parameters
    ----------
    rows
        From `hatscore.comparing.compare`.
    first, second
        Names of the models.
    confidence
        Level of the intervals, in (0, 1).

    Returns
    -------
    polars.DataFrame
        ``first_model``, ``second_model``, then the columns of a row of the JSON document, infinite
        ends as they are.
    """
    cells = [_cells(row, confidence) for row in rows]
    models = {"first_model": first, "second_model": second}
    schema = {name: pl.String() for name in models} | {
        name: pl.Int64() if name in _WHOLE else pl.String() if name in _TEXTS else pl.Float64()
        for name in _COLUMNS
    }
    return pl.DataFrame([models | cell for cell in cells], schema=schema, orient="row")


def differences_for_people(
    rows: Sequence[Difference], first: str, second: str, *, confidence: float
) -> pl.DataFrame:
    """Return `differences_frame` as `to_markdown` and `to_latex` lay it out for people.

    Every interval stands with its number there, so the ends of that of the difference are named
    after it, and p is a text that never reads 0. Of the counts only that of shared clusters is
    left.
    """
    frame = differences_frame(rows, first, second, confidence=confidence)
    p = pl.Series("p", [_p(row.p) for row in rows], dtype=pl.String)
    named = frame.drop("se", *_ITEMS).with_columns(p)
    return named.rename({"low": "difference_low", "high": "difference_high"})


def differences_for_paper(
    rows: Sequence[Difference], first: str, second: str, *, confidence: float
) -> list[tuple[pl.DataFrame, list[str]]]:
    """Return what a column of a paper holds: a table for every benchmark and score.

    Parameters
    ----------
    rows, first, second, confidence
        As for `differences_frame`.

    Returns
    -------
    list of tuple
        Frames with ``language``; ``A``, ``B`` and ``A - B``, each followed by the ends of its
        interval, named ``_low`` and ``_high``; ``items``. With each what is left to say in
        comments above it: what it is of, and why scores or intervals are missing or unusual.
    """
    level = f"{100 * confidence:.10g}% intervals in brackets"
    blocks: dict[tuple[str, str], list[dict[str, Any]]] = {}
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        record: dict[str, Any] = {"language": row.language}
        said = reasons.setdefault((row.benchmark, row.score), {})
        for name, value, interval, reason in _parts(row, confidence):
            record |= {name: value, f"{name}_low": interval.low, f"{name}_high": interval.high}
            if reason:
                said.setdefault(reason, []).append(f"{name} in {row.language}")
        record["items"] = _n_items(row)
        blocks.setdefault((row.benchmark, row.score), []).append(record)
    return [
        (
            pl.DataFrame(records),
            [
                f"benchmark {benchmark}, score {score}",
                f"A = {first}, B = {second}; A - B is paired over shared items; {level}",
                *(f"{', '.join(w)}: {why}" for why, w in reasons[benchmark, score].items()),
            ],
        )
        for (benchmark, score), records in blocks.items()
    ]


def differences_document(
    rows: Sequence[Difference],
    first: str,
    second: str,
    *,
    confidence: float,
    failures: Sequence[str],
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what `hatscore schema compare` describes.

    Parameters
    ----------
    rows, first, second, confidence
        As for `differences_frame`.
    failures
        Why gates failed, a sentence each.
    notes
        What else is to be known of the comparison, a sentence each.
    """
    return {
        "hatscore": __version__,
        "schema": SCHEMA_NUMBER,
        "first": first,
        "second": second,
        "confidence": confidence,
        "gate_failures": list(failures),
        "notes": list(notes),
        "differences": [_entry(_cells(row, confidence)) for row in rows],
    }


def render_differences(
    rows: Sequence[Difference],
    first: str,
    second: str,
    *,
    confidence: float,
    width: int | None = None,
) -> str:
    """Return the differences as text for a terminal.

    A table per benchmark and score with a row per language: the score of either model, and the
    first minus the second, each with its interval in brackets. On a terminal too narrow for that
    the intervals stand below the scores. A missing score is a dash, an open end ``inf``, and a
    footnote gives the reason.

    Parameters
    ----------
    rows, first, second, confidence
        As for `differences_frame`.
    width
        Columns of the terminal; default that of the terminal, 80 when piped.
    """
    fold = width is not None or sys.stdout.isatty() or "COLUMNS" in os.environ
    if width is None:
        width = shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns
    notes: dict[str, int] = {}
    blocks: dict[tuple[str, str], list[_Line]] = {}
    for row in rows:
        line = _line(row, confidence, notes)
        blocks.setdefault((row.benchmark, row.score), []).append(line)
    lines = [
        f"A = {printable(first)}, B = {printable(second)}",
        f"A - B is paired over shared items; {100 * confidence:.10g}% intervals in brackets",
    ]
    # all tables alike: a page of some in one layout and some in the other is hard to read
    stacked = any(columns_width(_side_by_side(block)) > width for block in blocks.values())
    for (benchmark, score), block in blocks.items():
        table = _stacked(block) if stacked else _side_by_side(block)
        lines += ["", f"{printable(benchmark)}: {score}", *columns_text(table, right=2)]
    if notes:
        lines.append("")
    for text, number in notes.items():
        lines += footnote(f"({number})", text, width if fold else None)
    return "\n".join(lines)


_COLUMNS = (
    "benchmark",
    "language",
    "score",
    "first",
    "first_low",
    "first_high",
    "first_status",
    "first_reason",
    "second",
    "second_low",
    "second_high",
    "second_status",
    "second_reason",
    "difference",
    "low",
    "high",
    "status",
    "se",
    "p",
    "n_shared",
    "first_items",
    "second_items",
    "shared_items",
    "reason",
)
_ITEMS = ("first_items", "second_items", "shared_items")
_WHOLE = ("n_shared", *_ITEMS)
_TEXTS = {
    name
    for name in _COLUMNS
    if name.endswith(("status", "reason")) or name in ("benchmark", "language", "score")
}


def _cells(row: Difference, confidence: float) -> dict[str, Any]:
    """Return the cells of one row by the names of `_COLUMNS`."""
    one, two = interval_at(row.first, confidence), interval_at(row.second, confidence)
    between = interval_at(row.difference, confidence)
    items = row.items
    counts = (None,) * 3 if items is None else (items.first, items.second, items.both)
    values = (
        *(row.benchmark, row.language, row.score),
        *(row.first.value, one.low, one.high, one.status, one.reason),
        *(row.second.value, two.low, two.high, two.status, two.reason),
        *(row.difference.value, between.low, between.high, between.status),
        *(row.difference.se, row.p, row.n_shared, *counts, between.reason),
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _entry(cells: dict[str, Any]) -> dict[str, Any]:
    entry = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in cells.items()
    }
    if any(isinstance(value, float) and math.isinf(value) for value in cells.values()):
        # beside a value, a null end is then the open one
        entry["unbounded"] = True
    return entry


@dataclass(frozen=True, slots=True)
class _Line:
    """What is written of one row: of A, B and A - B the number, interval, and footnote's mark."""

    language: str
    scores: tuple[tuple[str, str, str], ...]
    p: str
    items: str


def _line(row: Difference, confidence: float, notes: dict[str, int]) -> _Line:
    scores = []
    for name, value, interval, reason in _parts(row, confidence):
        mark = f"({notes.setdefault(reason, len(notes) + 1)})" if reason else ""
        ends = f"[{interval.low:.3f}, {interval.high:.3f}]" * (interval.status != "missing")
        shown = _number(value, sign=name == _BETWEEN)
        # without a sign of its own a number starts where those with a sign have their first digit
        scores.append((shown.rjust(6), ends, mark))
    return _Line(printable(row.language), tuple(scores), _p(row.p), str(_n_items(row)))


def _parts(row: Difference, confidence: float) -> list[tuple[str, float, Interval, str]]:
    """Return name, number, interval and what is to be said of A, B and A - B."""
    one, two = interval_at(row.first, confidence), interval_at(row.second, confidence)
    between = interval_at(row.difference, confidence)
    # what is said of A or B need not be said again, but where their interval says more than this
    again = between.status == "bounded" and _LEANS not in between.reason
    return [
        ("A", row.first.value, one, one.reason),
        ("B", row.second.value, two, two.reason),
        (_BETWEEN, row.difference.value, between, "" if again else between.reason),
    ]


def _n_items(row: Difference) -> int:
    return row.n_shared if row.items is None else row.items.both


def _side_by_side(block: Sequence[_Line]) -> list[list[str]]:
    head = ["language", " A", " B", " A - B", "p", "items"]
    body = [
        [
            line.language,
            *(" ".join(part for part in score if part) for score in line.scores),
            line.p,
            line.items,
        ]
        for line in block
    ]
    return [head, *body]


def _stacked(block: Sequence[_Line]) -> list[list[str]]:
    table = [["language", " A", " B", " A - B", "p", "items"]]
    for line in block:
        marked = (f"{value} {mark}".rstrip() for value, _, mark in line.scores)
        table.append([line.language, *marked, line.p, line.items])
        if any(ends for _, ends, _ in line.scores):
            table.append(["", *(ends for _, ends, _ in line.scores), "", ""])
    return table


def _number(value: float, *, sign: bool = False) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:+.3f}" if sign else f"{value:.3f}"


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if value >= _SMALLEST_P else f"<{_SMALLEST_P}"
