"""``hatscore compare``: paired differences, and gates for pipelines."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from hatscore._version import __version__
from hatscore.cli.complete import complete_paths
from hatscore.cli.options import grading_options, interval_options, reader_options, split_list
from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatscore.comparing import Difference
    from hatscore.scoring import Measurement

__all__ = ["command"]

EXIT_GATE = 1
SCHEMA_NUMBER = 1
"""Raised whenever a key of the JSON document changes its name or meaning."""


@click.command("compare")
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH... A B", shell_complete=complete_paths
)
@click.option("--scores", multiple=True, help="Scores to compare; default hat.")
@click.option(
    "--format", "style", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@click.option(
    "--fail-below",
    type=float,
    metavar="X",
    help="Exit code 1 unless the macro HAT difference A - B is at least X.",
)
@click.option(
    "--noninferior",
    type=click.FloatRange(min=0),
    metavar="MARGIN",
    help="Exit code 1 unless the interval of A - B lies above -MARGIN.",
)
@grading_options
@interval_options
@reader_options
def command(paths: tuple[str, ...], style: str, **given: Any) -> int:
    """Compare model A with model B, paired over the items that both answered.

    PATH are runs, Parquet files of outcomes, scores saved by `hatscore score --save`, or logs and
    tables of others. A and B are the names of two models in them. Gates look at the macro average
    of every benchmark.
    """
    from hatscore.comparing import COMPARED, compare

    *where, first, second = paths
    if not where:
        raise InputError("give at least one path, then the names of two models: PATH... A B")
    confidence, fail_below, noninferior = (
        given[name] for name in ("confidence", "fail_below", "noninferior")
    )
    found = _measure(where, given, confidence=confidence)
    wanted = split_list(given["scores"]) or ["hat"]
    if wanted == ["all"]:
        wanted = list(COMPARED)
    gated = fail_below is not None or noninferior is not None
    rows = compare(
        found,
        first,
        second,
        scores=[*wanted, *(["hat"] if gated and "hat" not in wanted else [])],
        confidence=confidence,
    )
    failures = _failures(rows, fail_below, noninferior) if gated else []
    shown = [row for row in rows if row.score in wanted]
    if style == "json":
        document = _document(shown, (first, second), confidence, failures)
        click.echo(json.dumps(document, indent=2, allow_nan=False))
    else:
        click.echo(_table(shown, first, second, confidence))
    for failure in failures:
        click.echo(f"Gate failed: {failure}", err=True)
    return EXIT_GATE if failures else 0


def _measure(paths: list[str], given: Mapping[str, Any], *, confidence: float) -> list[Measurement]:
    from hatscore.archive import is_archive, read_scores
    from hatscore.cli.reading import read_graded
    from hatscore.scoring import measurements

    found = [m for path in paths if is_archive(path) for m in read_scores(path)]
    others = [path for path in paths if not is_archive(path)]
    if others:
        outcomes = read_graded(others, names=given["names"], count=given["count"], given=given)
        found += measurements(outcomes, confidence=confidence)
    return found


def _failures(
    rows: list[Difference], fail_below: float | None, noninferior: float | None
) -> list[str]:
    from hatscore.scoring import MACRO

    gates = [row for row in rows if row.score == "hat" and row.language == MACRO]
    if not gates:
        return ["the models have no macro average over the same languages to judge by"]
    failed = []
    for row in gates:
        d = row.difference
        shown = f"{row.benchmark}: macro HAT difference {_number(d.value)} {_ends(d.low, d.high)}"
        if math.isnan(d.value):
            failed.append(f"{row.benchmark}: no macro HAT difference: {d.reason}")
            continue
        if fail_below is not None and d.value < fail_below:
            failed.append(f"{shown} is below {fail_below:g}")
        if noninferior is not None and not d.low > -noninferior:
            failed.append(f"{shown} may be below -{noninferior:g}")
    return failed


def _table(rows: list[Difference], first: str, second: str, confidence: float) -> str:
    lines = [
        f"A = {first}, B = {second}",
        f"A - B is paired over shared items, with {confidence:.0%} intervals",
    ]
    head = (
        f"{'language':<10}{'score':<16}{'A':>6}{'B':>7}{'A - B':>8}  "
        f"{'interval':<17}{'p':>7}{'items':>6}"
    )
    benchmark = None
    for row in rows:
        if row.benchmark != benchmark:
            benchmark = row.benchmark
            lines += ["", benchmark, head]
        d = row.difference
        lines.append(
            f"{row.language:<10}{row.score:<16}{_number(row.first.value):>6}"
            f"{_number(row.second.value):>7}{_number(d.value, sign=True):>8}  "
            f"{_ends(d.low, d.high):<17}{_p(row.p):>7}{row.n_shared:>6}"
        )
    reasons = sorted({row.difference.reason for row in rows if row.difference.reason})
    return "\n".join([*lines, *(f"* {reason}" for reason in reasons)])


def _document(
    rows: list[Difference], models: tuple[str, str], confidence: float, failures: list[str]
) -> dict[str, object]:
    """Return what `hatscore schema compare` describes."""
    return {
        "hatscore": __version__,
        "schema": SCHEMA_NUMBER,
        "first": models[0],
        "second": models[1],
        "confidence": confidence,
        "gate_failures": failures,
        "differences": [_entry(row) for row in rows],
    }


def _entry(row: Difference) -> dict[str, object]:
    d = row.difference
    numbers = {
        "first": row.first.value,
        "second": row.second.value,
        "difference": d.value,
        "low": d.low,
        "high": d.high,
        "se": d.se,
        "p": row.p,
    }
    entry: dict[str, object] = {
        "benchmark": row.benchmark,
        "language": row.language,
        "score": row.score,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "n_shared": row.n_shared,
        "reason": d.reason,
    }
    if any(map(math.isinf, numbers.values())):
        # beside a value, a null end is then the open one
        entry["unbounded"] = True
    return entry


def _number(value: float, *, sign: bool = False) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:+.3f}" if sign else f"{value:.3f}"


def _ends(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"[{low:.3f}, {high:.3f}]"


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"  # noqa: PLR2004 - three decimals
