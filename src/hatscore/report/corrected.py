"""HAT as judged beside HAT corrected by labels of people, with what is known of the judge."""

from __future__ import annotations

import math
import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore.report.columns import columns_text, footnote
from hatscore.report.differences import Interval, interval_at
from hatscore.report.text import printable
from hatscore.scoring import MACRO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.judging.corrected import Corrected
    from hatscore.scoring import Measurement
    from hatscore.stats.estimate import Estimate

__all__ = [
    "CorrectedRow",
    "corrected_document",
    "corrected_for_paper",
    "corrected_frame",
    "corrected_rows",
    "render_corrected",
]

_DEFAULT_WIDTH = 80
_WHOLE = ("n_labelled_right", "n_labelled_wrong")
_NONE = Interval(math.nan, math.nan, "missing", "")


@dataclass(frozen=True, slots=True)
class CorrectedRow:
    """One language of one benchmark.

    Parameters
    ----------
    model, benchmark, language
        As in the measurement; ``all`` for the rates of all languages together.
    judged, corrected
        HAT by the verdicts as they are, and corrected; None for a language that is no target.
    sensitivity, specificity
        Of the judge in this language; None for macro, and where one pair is taken for all.
    right, wrong
        Labelled replies of either class; None where there are no rates.
    """

    model: str
    benchmark: str
    language: str
    judged: Estimate | None
    corrected: Estimate | None
    sensitivity: Estimate | None
    specificity: Estimate | None
    right: int | None
    wrong: int | None


def corrected_rows(
    found: Sequence[Corrected], measured: Sequence[Measurement], labels: Mapping[str, str]
) -> list[CorrectedRow]:
    """Put corrected scores beside those that are not.

    Parameters
    ----------
    found
        From `hatscore.judging.corrected.corrected_scores`.
    measured
        Measurements of the same run.
    labels
        Name of each benchmark in the measurements, by its name in the run.

    Returns
    -------
    list of CorrectedRow
        Targets, then languages that are sources alone, then macro.
    """
    rows = []
    for each in found:
        name = labels[each.benchmark]
        plain = {m.language: m for m in measured if m.benchmark == name}
        model = next(iter(plain.values())).model if plain else ""
        targets = list(each.scores)
        for language in [*targets, *(x for x in each.rates if x not in each.scores), MACRO]:
            rates = each.rates.get(language)
            rows.append(
                CorrectedRow(
                    model=model,
                    benchmark=name,
                    language=language,
                    judged=plain[language].scores["hat"] if language in plain else None,
                    corrected=each.macro if language == MACRO else each.scores.get(language),
                    sensitivity=rates.sensitivity if rates else None,
                    specificity=rates.specificity if rates else None,
                    right=rates.right if rates else None,
                    wrong=rates.wrong if rates else None,
                )
            )
    return rows


def render_corrected(
    found: Sequence[Corrected], rows: Sequence[CorrectedRow], *, width: int | None = None
) -> str:
    """Return both scores of every language as text for a terminal, intervals below the numbers.

    Parameters
    ----------
    found, rows
        From `corrected_rows`.
    width
        Columns of the terminal; default that of the terminal, 80 when piped.
    """
    fold = width is not None or sys.stdout.isatty() or "COLUMNS" in os.environ
    if width is None:
        width = shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns
    marks: dict[str, int] = {}
    lines = []
    for each, name in zip(found, _benchmarks(rows), strict=True):
        by = printable(", ".join(each.judges))
        level = f"{100 * each.macro.confidence:.10g}%"
        lines += [
            f"HAT on {printable(name)}, corrected for the errors of {by}",
            f"{level} intervals in brackets; rates of the judge are of labelled replies",
        ]
        table = [["language", " as judged", " corrected", " sensitivity", " specificity"]]
        for row in rows:
            if row.benchmark == name:
                table += _lines(row, each.macro.confidence, marks)
        lines += columns_text(table)
        for note in each.notes:
            lines += footnote("*", note, width if fold else None)
    for text, number in marks.items():
        lines += footnote(f"({number})", text, width if fold else None)
    return "\n".join(lines)


def _lines(row: CorrectedRow, confidence: float, marks: dict[str, int]) -> list[list[str]]:
    """Return the numbers and, below them, the intervals, if there are any."""
    cells = [
        _cell(estimate, confidence, of, marks)
        for estimate, of in (
            (row.judged, ""),
            (row.corrected, ""),
            (row.sensitivity, f" of {row.right}"),
            (row.specificity, f" of {row.wrong}"),
        )
    ]
    lines = [[printable(row.language), *(value for value, _ in cells)]]
    if any(ends for _, ends in cells):
        lines.append(["", *(ends for _, ends in cells)])
    return lines


def _cell(
    estimate: Estimate | None, confidence: float, of: str, marks: dict[str, int]
) -> tuple[str, str]:
    if estimate is None:
        return "", ""
    interval = interval_at(estimate, confidence)
    value = " -" if math.isnan(estimate.value) else f"{estimate.value:.3f}"
    mark = f" ({marks.setdefault(interval.reason, len(marks) + 1)})" if interval.reason else ""
    ends = "" if interval.status == "missing" else f"[{interval.low:.3f}, {interval.high:.3f}]"
    return f"{value.rjust(6)}{of}{mark}", ends


def corrected_frame(rows: Sequence[CorrectedRow]) -> pl.DataFrame:
    """Return the rows as a frame: both scores and the judge's rates, each with its interval."""
    records = [_record(row) for row in rows]
    schema = {
        key: pl.Int64() if key in _WHOLE else pl.String() if isinstance(x, str) else pl.Float64()
        for key, x in records[0].items()
    }
    return pl.DataFrame(records, schema=schema)


def corrected_for_paper(
    found: Sequence[Corrected], rows: Sequence[CorrectedRow]
) -> list[tuple[pl.DataFrame, list[str]]]:
    """Return what a column of a paper holds: a table for every benchmark.

    Parameters
    ----------
    found, rows
        From `corrected_rows`.

    Returns
    -------
    list of tuple
        Frames with ``language``, both scores and the judge's rates, each with the ends of its
        interval. With each what is left to say in comments above it: what it is of, how many
        labels there are, and why scores or intervals are missing or unusual.
    """
    scores = ("hat", "hat_corrected", "sensitivity", "specificity")
    ends = [f"{name}{end}" for name in scores for end in ("", "_low", "_high")]
    names = {x: x.replace("hat_corrected", "corrected") for x in ends}
    tables = []
    for each, name in zip(found, _benchmarks(rows), strict=True):
        mine = [row for row in rows if row.benchmark == name]
        counts = [f"{r.language} {r.right} and {r.wrong}" for r in mine if r.right is not None]
        reasons: dict[str, list[str]] = {}
        for row in mine:
            for what, estimate in (("judged", row.judged), ("corrected", row.corrected)):
                if estimate is None:
                    continue
                reason = interval_at(estimate, estimate.confidence).reason
                if reason:
                    reasons.setdefault(reason, []).append(f"{what} in {row.language}")
        level = f"{100 * each.macro.confidence:.10g}%"
        remarks = [
            f"model {mine[0].model}, benchmark {name}",
            f"corrected for the errors of {', '.join(each.judges)}; {level} intervals in brackets",
            f"labels of right and wrong replies: {', '.join(counts)}",
            *(f"{', '.join(where)}: {reason}" for reason, where in reasons.items()),
            *each.notes,
        ]
        tables.append((corrected_frame(mine).select("language", *ends).rename(names), remarks))
    return tables


def corrected_document(
    found: Sequence[Corrected], rows: Sequence[CorrectedRow]
) -> list[dict[str, Any]]:
    """Return what `hatscore schema score` calls ``corrected``: an object per benchmark."""
    return [
        {
            "benchmark": name,
            "judges": list(each.judges),
            "pooled": each.pooled,
            "confidence": each.macro.confidence,
            "results": [_entry(_record(row)) for row in rows if row.benchmark == name],
            "notes": list(each.notes),
        }
        for each, name in zip(found, _benchmarks(rows), strict=True)
    ]


def _benchmarks(rows: Sequence[CorrectedRow]) -> list[str]:
    return list(dict.fromkeys(row.benchmark for row in rows))


def _record(row: CorrectedRow) -> dict[str, Any]:
    """Return the cells of one row by name; NaN where there is nothing."""
    cells: dict[str, Any] = {
        "model": row.model,
        "benchmark": row.benchmark,
        "language": row.language,
    }
    for name, estimate in (
        ("hat", row.judged),
        ("hat_corrected", row.corrected),
        ("sensitivity", row.sensitivity),
        ("specificity", row.specificity),
    ):
        if estimate is None:
            value, se, interval = math.nan, math.nan, _NONE
        else:
            value, se = estimate.value, estimate.se
            interval = interval_at(estimate, estimate.confidence)
        cells[name] = value
        cells |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
        if name.startswith("hat"):
            cells |= {f"{name}_se": se, f"{name}_status": interval.status}
            cells[f"{name}_reason"] = interval.reason
    return cells | {"n_labelled_right": row.right, "n_labelled_wrong": row.wrong}


def _entry(cells: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(x, float) and not math.isfinite(x) else x
        for key, x in cells.items()
    }
