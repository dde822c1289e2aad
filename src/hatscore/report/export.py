"""The scores as files: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

import io
import json
import math
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore._version import __version__
from hatscore.report.blocks import profile_notes
from hatscore.report.health import alarms, status_shares
from hatscore.report.text import MISSING, headline, number, printable
from hatscore.scoring import MACRO, MEASURE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatscore.outcomes import Outcomes
    from hatscore.scoring import Measurement

__all__ = ["SCHEMA_NUMBER", "to_csv", "to_json", "to_latex", "to_markdown"]

SCHEMA_NUMBER = 1
"""Raised whenever a key of the JSON document changes its name or meaning."""

_OWN = ("model", "benchmark", "language", "curvature_p", "reason")
_PARTS = ("low", "high", "se")
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
_MINUS = re.compile(r"(?<![\w.)}-])-([\d.]+|\$\\infty\$)")
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    MISSING: "--",
    "\N{INFINITY}": r"$\infty$",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def to_json(measurements: Sequence[Measurement], outcomes: Outcomes) -> str:
    r"""Return everything that was measured as one JSON document.

    Parameters
    ----------
    measurements
        From `hatscore.scoring.measurements`.
    outcomes
        The table they were made from.

    Returns
    -------
    str
        An object with the keys ``hatscore`` (version), ``schema`` (`SCHEMA_NUMBER`), ``method``
        (``estimator``, ``interval``, ``macro_interval``, ``confidence``), ``results`` (rows with
        the columns of `measure`), ``status_shares`` (rows of `status_shares`), ``notes`` and
        ``alarms`` (sentences). NaN is null. Infinity is null too, and the row then has
        ``"unbounded": true``: there a null end beside a value is the open one. Floats are written
        so that they read back bit by bit; characters outside ASCII are escaped, so that the
        document survives every terminal.
    """
    shares = status_shares(outcomes).iter_rows(named=True)
    document = {
        "hatscore": __version__,
        "schema": SCHEMA_NUMBER,
        "method": _method(measurements),
        "results": [_json_row(m) for m in measurements],
        "status_shares": [{k: _plain(v) for k, v in row.items()} for row in shares],
        "notes": [*outcomes.notes, *profile_notes(measurements)],
        "alarms": alarms(outcomes),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def to_csv(frame: pl.DataFrame) -> str:
    """Return a frame as CSV, floats in full; NaN and null are empty fields, infinity is ``inf``.

    Parameters
    ----------
    frame
        Any frame without nested columns, such as `measure` or `status_shares` return.

    Returns
    -------
    str
        With a byte order mark in front if a name has letters beyond ASCII: without one,
        spreadsheets take UTF-8 for their own code page and show other letters.
    """
    buffer = io.StringIO()
    frame.fill_nan(None).write_csv(buffer)
    text = buffer.getvalue()
    return text if text.isascii() else f"\ufeff{text}"


def to_markdown(frame: pl.DataFrame) -> str:
    """Return a frame as a Markdown pipe table for people.

    Parameters
    ----------
    frame
        As `measure` returns it. Columns ``x``, ``x_low`` and ``x_high`` become one, written
        ``0.842 [0.801, 0.885]``, and ``x_se`` goes; columns without a single value are left out;
        numbers have three decimals. Everything special in Markdown is escaped.
    """
    header, rows, numeric = _for_people(frame, _markdown)
    rule = ["---:" if n else "---" for n in numeric]
    lines = [header, rule, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def to_latex(
    frame: pl.DataFrame,
    *,
    every_column: bool = False,
    remarks: Sequence[str] = (),
    stacked: bool = False,
) -> str:
    r"""Return a frame as a LaTeX ``tabular`` with booktabs rules (``\usepackage{booktabs}``).

    Parameters
    ----------
    frame
        Treated as in `to_markdown`; the macro row of `measure` is set off by a rule, and
        everything special in LaTeX is escaped.
    every_column
        By default the scores of `measure` are cut to what a column of a paper holds: language,
        HAT with its interval (the plug-in beside it, where a row has no other), source and target
        accuracy, items; model and benchmark where there are several. What is the same in all rows,
        and why scores are missing or unbounded, stands in comments. Other frames are never cut.
    remarks
        What else is to stand in comments above, a sentence each.
    stacked
        Whether intervals stand below their numbers: more of them fit side by side. Columns without
        a value are kept then.
    """
    said = list(remarks)
    if not every_column and set(MEASURE_COLUMNS) <= set(frame.columns):
        frame, more = _for_paper(frame)
        said += more
    header, rows, numeric = _for_people(frame, _latex, stacked=stacked)
    macro = (
        (frame["language"] == MACRO).to_list()
        if "language" in frame.columns
        else [False] * frame.height
    )
    columns = "".join("r" if n else "l" for n in numeric)
    if stacked:
        columns = f"@{{}}{columns}@{{}}"  # every point of the width is needed
    lines = [f"% {' '.join(printable(remark).split())}" for remark in said]
    lines += [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(header) + r" \\"]
    lines.append(r"\midrule")
    for i, row in enumerate(rows):
        if macro[i] or (stacked and i):
            lines.append(r"\addlinespace")
        # a bracket or star after \\ would be read as its argument, across the end of the line
        numbers, *below = zip(*(cell.split("\n") for cell in row), strict=True)
        lines.append("{}" * row[0].startswith(("[", "*")) + " & ".join(numbers) + r" \\")
        lines += [" & ".join(ends) + r" \\" for ends in below if any(ends)]
        if macro[i] and i + 1 < len(rows):
            lines.append(r"\midrule")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def cell_of(measurement: Measurement, column: str) -> Any:
    """Return what `measure` writes in a column for a measurement."""
    if column in _OWN:
        return getattr(measurement, column)
    if column == "n_items":
        return measurement.scores["target_accuracy"].n_items
    if column == "reliability":
        return measurement.scores["hat"].reliability
    base, _, part = column.rpartition("_")
    if part in _PARTS:
        return getattr(measurement.scores[base], part)
    return measurement.scores[column].value


def _method(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Name the method of the scores of single languages, and of their mean."""
    method: dict[str, Any] = dict.fromkeys(
        ("estimator", "interval", "macro_interval", "confidence")
    )
    for m in measurements:
        _, estimate = headline(m)
        method["confidence"] = estimate.confidence
        if math.isnan(estimate.value):
            continue
        if m.language == MACRO:
            method["macro_interval"] = method["macro_interval"] or estimate.interval
        else:
            method["estimator"] = method["estimator"] or estimate.estimator
            method["interval"] = method["interval"] or estimate.interval
    return method


def _json_row(measurement: Measurement) -> dict[str, Any]:
    cells = {column: cell_of(measurement, column) for column in MEASURE_COLUMNS}
    row = {column: _plain(value) for column, value in cells.items()}
    if any(isinstance(v, float) and math.isinf(v) for v in cells.values()):
        row["unbounded"] = True
    return row


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def _for_paper(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return the columns that a paper has room for, and what is left to say in words."""
    parts = ("model", "benchmark")
    several = [name for name in parts if frame[name].n_unique() > 1]
    fixed = [f"{name} {frame[name][0]}" for name in parts if name not in several and frame.height]
    remarks = [", ".join(fixed)] if fixed else []
    reasons = frame.filter(pl.col("reason") != "")
    for key, rows in reasons.group_by([*several, "reason"], maintain_order=True):
        *named, reason = map(str, key)
        remarks.append(f"{' '.join([*named, ', '.join(rows['language'])])}: {reason}")
    hat, plugin = frame["hat"].fill_nan(None), frame["hat_plugin"].fill_nan(None)
    slopes = [] if hat.is_null().all() else ["hat"]
    if (hat.is_null() & plugin.is_not_null()).any():
        slopes.append("hat_plugin")
    ends = [f"{name}{end}" for name in slopes for end in ("", "_low", "_high")]
    shown = [*several, "language", *ends, "source_accuracy", "target_accuracy", "n_items"]
    short = {"source_accuracy": "source", "target_accuracy": "target", "n_items": "n"}
    short |= {name: name.replace("hat_plugin", "plug-in_hat") for name in ends}
    return frame.select(shown).rename(short), remarks


def _for_people(
    frame: pl.DataFrame, escape: Callable[[str], str], *, stacked: bool = False
) -> tuple[list[str], list[list[str]], list[bool]]:
    """Return header, rows and whether each column holds numbers; intervals merged.

    Stacked, every cell has two lines: what there is, and its interval or nothing.
    """
    merged = [c for c in frame.columns if {f"{c}_low", f"{c}_high"} <= set(frame.columns)]
    absorbed = {f"{c}_{part}" for c in merged for part in _PARTS}
    columns = [c for c in frame.columns if c not in absorbed and (stacked or _has_values(frame[c]))]
    header, texts, numeric = [], [], []
    for c in columns:
        header.append(escape(re.sub(r"\bhat\b", "HAT", c.replace("_", " "))))
        numeric.append(frame[c].dtype.is_numeric())
        cells = [_written(v) for v in frame[c]]
        ends = [""] * len(cells)
        if c in merged:
            ends = [
                "" if low == high == MISSING else f"[{low}, {high}]"
                for low, high in zip(
                    map(_written, frame[f"{c}_low"]), map(_written, frame[f"{c}_high"]), strict=True
                )
            ]
        pairs = zip(cells, ends, strict=True)
        texts.append(
            [f"{escape(cell)}\n{escape(end)}" for cell, end in pairs]
            if stacked
            else [escape(f"{cell} {end}" if end else cell) for cell, end in pairs]
        )
    return header, [list(row) for row in zip(*texts, strict=True)], numeric


def _has_values(series: pl.Series) -> bool:
    if series.dtype.is_float():
        return bool(series.fill_nan(None).is_not_null().any())
    return any(v is not None and v != "" for v in series)


def _written(value: Any) -> str:
    if value is None:
        return MISSING
    return number(value) if isinstance(value, float) else str(value)


def _markdown(text: str) -> str:
    # the brackets of an interval cannot start a link: no parenthesis or definition follows them
    if re.fullmatch(r"[-\d.∞]+ \[[^\[\]]*\]", text):
        return text
    return _MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def _latex(text: str) -> str:
    escaped = "".join(_LATEX_SPECIAL.get(c, c) for c in " ".join(printable(text).split()))
    # a hyphen in front of a number is a minus
    return _MINUS.sub(lambda m: f"$-{m[1].strip('$')}$", escaped)
