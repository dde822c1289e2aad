"""The analyses of a study on the page: findings in words, a table, and a chart of their numbers.

A table may have thousands of rows: its first `STUDY_ROWS` stand in the source, and the script draws
the others from columns, which take a fifth of the room.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore.report.charts_study import study_chart
from hatscore.report.page_tables import ENDLESS, Cell, Column, Line, Table, described
from hatscore.report.page_type import signed
from hatscore.report.rows import packed, rounded
from hatscore.report.text import MISSING, number, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.studies.result import Analysis

__all__ = ["STUDY_ROWS", "StudyParts", "study_parts"]

STUDY_ROWS = 30
"""Rows of a table that stand in the source."""

_DIGITS = 5
_LONG = 28


@dataclass(frozen=True, slots=True)
class StudyParts:
    """What the template shows, and what the script takes.

    Attributes
    ----------
    shown
        Per analysis ``name``, ``question``, ``findings``, ``notes``, ``table`` (a `Table`) and
        ``chart``, whether there is one.
    specs
        Specifications of the charts by name.
    tables
        Tables longer than `STUDY_ROWS`, by the id of their element: ``columns``, ``rows`` packed.
    """

    shown: list[dict[str, Any]] = field(default_factory=list)
    specs: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)


def study_parts(studies: Sequence[Analysis]) -> StudyParts:
    """Lay out analyses for the page; charts of analyses hold their few records themselves."""
    parts = StudyParts()
    for a in studies:
        chart = a.figure is not None and a.figure.points.height > 0
        if a.figure is not None and chart:
            spec = study_chart(a.figure, description=a.question).to_dict(validate=False)
            parts.specs[f"study {a.name}"] = {
                k: v for k, v in spec.items() if k not in ("config", "$schema")
            }
        columns = _columns(a.table)
        records = [_record(row, columns) for row in a.table.iter_rows(named=True)]
        if len(records) > STUDY_ROWS:
            rows = packed(records)
            parts.tables[f"study-{a.name}"] = {"columns": described(columns), "rows": rows}
        parts.shown.append(
            {
                "name": a.name,
                "question": a.question,
                "findings": a.findings,
                "notes": a.notes,
                "table": _table(records, columns, f"Every number of the analysis {a.name}"),
                "chart": chart,
            }
        )
    return parts


def _columns(frame: pl.DataFrame) -> tuple[Column, ...]:
    """Return the columns of any frame that say something: names first, reasons last."""
    made = []
    for name, dtype in frame.schema.items():
        held = frame[name].fill_nan(None) if dtype.is_float() else frame[name]
        if held.is_null().all() or (dtype == pl.String and (held.fill_null("") == "").all()):
            continue
        kind = "count" if dtype.is_integer() else "number" if dtype.is_numeric() else "text"
        kind = "words" if name == "reason" else kind
        made.append(Column(name, name.replace("_", " "), "", kind))
    # stable: within names and within numbers the order of the analysis stays
    return tuple(sorted(made, key=lambda c: {"text": 0, "words": 2}.get(c.kind, 1)))


def _record(row: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """Return a row as JSON holds it; what is infinite lies beyond `ENDLESS`."""
    return {c.key: _value(row[c.key], c) for c in columns}


def _value(value: Any, column: Column) -> Any:
    if value is None or column.kind == "count":
        return value
    if column.kind == "number":
        end = float(value)
        return math.copysign(ENDLESS, end) if math.isinf(end) else rounded(end, _DIGITS)
    return printable(str(value))


def _table(records: Sequence[Mapping[str, Any]], columns: tuple[Column, ...], label: str) -> Table:
    lines = tuple(
        Line(tuple(_cell(row[c.key], c, head=i == 0) for i, c in enumerate(columns)))
        for row in records[:STUDY_ROWS]
    )
    return Table(label, label, columns, lines, max(0, len(records) - STUDY_ROWS))


def _cell(value: Any, column: Column, *, head: bool) -> Cell:
    """Lay out a cell as the script does."""
    kind = column.kind
    if kind == "words":
        return Cell(value or "", kind, head=head)
    if value is None:
        return Cell(MISSING, kind, head=head)
    if kind == "text":
        return Cell(value, "text long" if len(value) > _LONG else kind, head=head)
    if kind == "count":
        return Cell(f"{value:,}", kind, value, head=head)
    shown = math.copysign(math.inf, value) if abs(value) >= ENDLESS else value
    return Cell(signed(number(shown)), kind, value, head=head)
