"""The tables of the page: laid out once for those who read the source, and for the script.

A long table is written up to `STATIC_ROWS`; the script draws the rest from the same columns.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from hatscore.outcomes import STATUS_COLUMNS, TOKEN_COLUMNS
from hatscore.report.page_type import signed
from hatscore.report.rows import PLUGIN, family_row, label_of, mixed, ordered_labels, rounded
from hatscore.report.text import DAGGER, MISSING, number, percent, printable
from hatscore.scoring import MACRO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from hatscore.scoring import Measurement

__all__ = [
    "ENDLESS",
    "STATIC_ROWS",
    "Cell",
    "Column",
    "Line",
    "Table",
    "described",
    "heat",
    "ranking_table",
    "score_columns",
    "scores_table",
    "status_columns",
    "status_records",
    "status_table",
    "with_table_values",
]

STATIC_ROWS = 120
"""Rows of a long table that stand in the source."""
ENDLESS = 1e9
"""Where a record holds what is infinite, with its sign."""

_DIGITS = 5
_LONG = 28
_ABOUT_DAGGERS = (
    f" {DAGGER}: plug-in, not corrected for noise and lower for it; sorted behind the corrected "
    "scores, and ranked with none of them."
)
_SCORES = {
    "hat": ("HAT", "Hardness Adjusted Transfer: the corrected slope, else the plug-in"),
    "target_accuracy": ("target accuracy", "Accuracy in the target language"),
    "source_accuracy": ("source accuracy", "Accuracy in the source language, same items"),
    "gap": ("gap", "Source accuracy minus target accuracy"),
    "transfer_score": ("transfer score", "P(target right given source right)"),
    "hat_plugin": ("plug-in HAT", "Least-squares slope as published, not corrected for noise"),
    "hat_chance_adjusted": ("HAT adj.", "HAT with blind guessing taken out of both rates"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: field, header, explanation, kind.

    `kind` is a class of the style sheet: ``text``, ``words``, ``score`` (with its interval),
    ``main``, ``number``, ``count``, ``share`` or ``mean``.
    """

    key: str
    header: str
    title: str = ""
    kind: str = "score"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell says; `order` is what it is sorted by, None where the text serves.

    What stands `apart` is sorted behind the others: a plug-in score is no corrected one.
    """

    text: str
    kind: str
    order: float | None = None
    interval: str = ""
    head: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A row; `data` becomes its data attributes."""

    cells: tuple[Cell, ...]
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table as the template draws it."""

    label: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Line, ...]
    left_out: int = 0


def with_table_values(
    rows: Iterable[dict[str, Any]], found: Iterable[Measurement]
) -> list[dict[str, Any]]:
    """Return records of `score_rows` with every score that a table shows, and its interval.

    Five decimals, so that the three that are shown are those of every other output.
    """
    full = []
    for row, m in zip(rows, found, strict=True):
        more = dict(row)
        for name in _SCORES:
            e = m.scores["hat_plugin" if name == "hat" and row["estimator"] == "plugin" else name]
            more[name] = rounded(e.value, _DIGITS)
            more[f"{name}_low"] = _end(e.low, e.value, name)
            more[f"{name}_high"] = _end(e.high, e.value, name)
        full.append(more)
    return full


def _end(end: float, value: float, name: str) -> float | None:
    """Return an end of an interval; beyond `ENDLESS` where it is infinite, None without one.

    That of HAT is None then too, as charts have it, and ``low_open`` and ``high_open`` say why.
    """
    if math.isnan(value) or math.isnan(end):
        return None
    if math.isinf(end):
        return None if name == "hat" else math.copysign(ENDLESS, end)
    return rounded(end, _DIGITS)


def score_columns(rows: Sequence[Mapping[str, Any]], level: str) -> tuple[Column, ...]:
    """Return the columns of the table of scores; what says nothing in these rows is left out.

    HAT stands second, so that a narrow screen shows it. Where no row has a corrected slope it is
    called plug-in HAT, and the column of that name is left out.
    """
    kinds = {r["estimator"] for r in rows} - {""}
    alone, both = kinds == {PLUGIN}, mixed(rows)
    title = _SCORES["hat_plugin" if alone else "hat"][1]
    columns = [
        Column("label", "language", "Target language", "text"),
        Column("hat", f"{'plug-in ' * alone}HAT [{level}]",
               f"{title}; {DAGGER} marks plug-ins" if both else title, "main"),
        *_naming(rows),
    ]  # fmt: skip
    if len({r["script_name"] for r in rows}) > 1:
        columns.append(Column("script_name", "script", "Script of the language", "text"))
    columns += [
        Column(key, header, title)
        for key, (header, title) in _SCORES.items()
        if key != "hat"
        and not (alone and key == "hat_plugin")
        and (key != "hat_chance_adjusted" or any(r[key] is not None for r in rows))
    ]
    columns += [
        Column("reliability", "reliability", "Share of the squared source rates that is signal",
               "number"),
        Column("n_items", "items", "Items behind the score", "count"),
    ]  # fmt: skip
    if any(r["reason"] for r in rows):
        columns.append(Column("reason", "note", "Why a score is missing or unusual", "words"))
    return tuple(columns)


def scores_table(
    rows: Sequence[Mapping[str, Any]], columns: tuple[Column, ...], confidence: str
) -> Table:
    """Lay out scores by model, benchmark and language; macro rows are not among them."""
    single = [r for r in rows if not r["macro"]]
    both = mixed(single)
    return Table(
        "Scores by language",
        f"Scores with {confidence} intervals, by target language.{_ABOUT_DAGGERS if both else ''}",
        columns,
        tuple(_line(r, columns, both=both) for r in single[:STATIC_ROWS]),
        max(0, len(single) - STATIC_ROWS),
    )


def ranking_table(
    ranks: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], confidence: str
) -> Table:
    """Lay out the means over languages of one benchmark, best model first.

    Parameters
    ----------
    ranks
        Records of `rows_rank.rank_rows`, of one benchmark.
    rows
        All records with their table values (see `with_table_values`).
    confidence
        The level in words.
    """
    by_model = {
        r["model"]: r for r in rows if r["macro"] and r["benchmark"] == ranks[0]["benchmark"]
    }
    full = [
        dict(by_model[r["model"]]) | {"rank": _places(r), "n_languages": r["n_languages"]}
        for r in ranks
    ]
    columns = [Column("model", "model", "", "text")]
    if len(full) > 1:
        columns.append(Column("rank", "rank", "Best to last place that the data leave", "mean"))
    columns += [
        c for c in score_columns(full, confidence) if c.key not in ("label", "model", "benchmark")
    ]
    sizes = {r["n_languages"] for r in full}
    if len(sizes) > 1:
        at = next(i for i, c in enumerate(columns) if c.key == "n_items")
        columns.insert(at, Column("n_languages", "languages", "Languages behind the mean", "count"))
    if len({r["family"] for r in full}) > 1:
        at = next(i for i, c in enumerate(columns) if c.key == "reliability")
        columns.insert(at, Column("family", "family", "Family of the model", "text"))
    lines = []
    both = mixed(full)
    for i, (row, rank) in enumerate(zip(full, ranks, strict=True)):
        line = _line(row, tuple(columns), both=both)
        order = float("inf") if rank["rank"] is None else rank["rank"] + i / 1000
        cells = tuple(
            Cell(c.text, c.kind, order if math.isfinite(order) else None)
            if column.key == "rank"
            else c
            for c, column in zip(line.cells, columns, strict=True)
        )
        lines.append(Line(cells, {k: v for k, v in line.data.items() if k != "script"}))
    benchmark = ranks[0]["benchmark"]
    return Table(
        f"Mean over languages on {benchmark}",
        f"{benchmark}: mean over {_languages(sizes)}, with {confidence} intervals."
        + _ABOUT_DAGGERS * both,
        tuple(columns),
        tuple(lines),
    )


def _languages(sizes: set[int]) -> str:
    if len(sizes) > 1:
        return "the languages of each model"
    (n,) = sizes
    return f"{n} language{'' if n == 1 else 's'}"


def _places(row: Mapping[str, Any]) -> str:
    if row["rank"] is None:
        return MISSING
    best, last = row["rank"], row["worst_rank"]
    return str(best) if best == last else f"{best}\N{EN DASH}{last}"


def heat(
    rows: Sequence[Mapping[str, Any]], models: Sequence[str], benchmark: str
) -> dict[str, Any]:
    """Lay out HAT by model and language; ``step`` is the class of a colour, h0 to h10."""
    part = [r for r in rows if r["benchmark"] == benchmark]
    both = mixed(part)
    alone = {r["estimator"] for r in part} - {""} == {PLUGIN}
    at = {(r["model"], r["language"]): r for r in part}
    codes = {r["label"]: r["language"] for r in part}
    languages = [(codes[label], label) for label in ordered_labels(part) if codes[label] != MACRO]
    return {
        "languages": languages,
        "name": "plug-in HAT, not corrected for noise" if alone else "HAT",
        "note": _ABOUT_DAGGERS.strip() if both else "",
        "rows": [
            {
                "model": model,
                "cells": [_heat_cell(at.get((model, code)), both=both) for code, _ in languages],
                "mean": _heat_cell(at.get((model, MACRO)), both=both),
            }
            for model in models
            if (model, MACRO) in at
        ],
    }


def _heat_cell(row: Mapping[str, Any] | None, *, both: bool) -> dict[str, str]:
    if row is None or row["hat"] is None:
        return {"text": MISSING, "step": "none"}
    text = f"{row['hat']:.2f}"
    text = "0" if float(text) == 0 else text.replace("0.", ".", 1) if abs(row["hat"]) < 1 else text
    text = signed(text) + DAGGER * (both and row["estimator"] == PLUGIN)
    return {"text": text, "step": f"h{min(10, max(0, round(10 * row['hat'])))}"}


def status_records(
    shares: pl.DataFrame, facts: Mapping[str, Mapping[str, Any]], scripts: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return how replies ended, a record per (model, benchmark, language), as the script needs it.

    Parameters
    ----------
    shares
        From `health.status_shares`.
    facts
        What is known of models: their ``family``.
    scripts
        Script by language.
    """
    return [
        {
            "label": label_of(row["language"]),
            "native_label": label_of(row["language"], native=True),
            **family_row(row["model"], facts),
            "benchmark": printable(row["benchmark"]),
            "language": printable(row["language"]),
            "script": scripts.get(row["language"]),
            "role": row["role"],
            "n_items": row["n_items"],
            "replies": row["replies"],
            **{c: rounded(row[c]) for c in STATUS_COLUMNS},
            **{c: rounded(row[c], 1) for c in TOKEN_COLUMNS},
        }
        for row in shares.iter_rows(named=True)
    ]


def status_columns(rows: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Return the columns of the table of statuses, without token columns nobody knows."""
    columns = [Column("label", "language", "", "text"), *_naming(rows)]
    columns += [
        Column("role", "role", "Source or target language", "text"),
        Column("n_items", "items", "", "count"),
        Column("replies", "replies", "Counted replies, errors and unreadable verdicts", "count"),
    ]
    columns += [Column(c, c.replace("_", " "), "", "share") for c in STATUS_COLUMNS]
    columns += [
        Column(c, c.replace("_", " "), "Mean per reply", "mean")
        for c in TOKEN_COLUMNS
        if any(r[c] is not None for r in rows)
    ]
    return tuple(columns)


def status_table(rows: Sequence[Mapping[str, Any]], columns: tuple[Column, ...]) -> Table:
    """Lay out how replies ended."""
    return Table(
        "Table of how replies ended",
        "Share of all replies, and mean tokens per reply, by language.",
        columns,
        tuple(_line(r, columns) for r in rows[:STATIC_ROWS]),
        max(0, len(rows) - STATIC_ROWS),
    )


def _naming(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns that tell models and benchmarks apart, where there are several."""
    return [
        Column(key, key, "", "text")
        for key in ("model", "benchmark")
        if len({r[key] for r in rows}) > 1
    ]


def _line(row: Mapping[str, Any], columns: tuple[Column, ...], *, both: bool = False) -> Line:
    cells = tuple(_cell(row, c, head=i == 0, both=both) for i, c in enumerate(columns))
    names = ("model", "benchmark", "language", "family", "script")
    return Line(cells, {n: str(row[n]) for n in names if row.get(n) is not None})


def _cell(row: Mapping[str, Any], column: Column, *, head: bool, both: bool) -> Cell:
    value, kind = row[column.key], column.kind
    if kind in ("text", "words"):
        text = value or ""
        return Cell(text, "text long" if kind == "text" and len(text) > _LONG else kind, head=head)
    if value is None:
        return Cell(MISSING, kind)
    if kind == "share":
        return Cell(percent(value), "share" if value else "share zero", value)
    if kind == "count":
        return Cell(f"{value:,}", kind, value)
    if kind == "mean":
        return Cell(value if isinstance(value, str) else f"{value:,.1f}", kind,
                    None if isinstance(value, str) else value)  # fmt: skip
    apart = both and column.key == "hat" and row["estimator"] == PLUGIN
    text = signed(number(value)) + DAGGER * apart
    return Cell(text, kind, value, _interval(row, column.key), apart=apart)


def _interval(row: Mapping[str, Any], key: str) -> str:
    """Write the interval of a record, as `text.interval` writes that of an estimate."""
    ends = []
    for side, sign in (("low", -1), ("high", 1)):
        end = row.get(f"{key}_{side}")
        if end is None and not (key == "hat" and row[f"{side}_open"]):
            return ""
        ends.append(signed(number(sign * math.inf if end is None or abs(end) >= ENDLESS else end)))
    return f"[{ends[0]}, {ends[1]}]"


def described(columns: Iterable[Column]) -> list[dict[str, Any]]:
    """Return columns as the script takes them."""
    return [asdict(c) for c in columns]
