"""``hatscore compare``: paired differences, and gates for pipelines."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hatscore.cli.complete import complete_paths
from hatscore.cli.options import (
    check_every_column,
    every_column_option,
    grading_options,
    interval_options,
    printed_option,
    reader_options,
    split_list,
)
from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatscore.archive import Archive
    from hatscore.comparing import Difference
    from hatscore.outcomes import Outcomes
    from hatscore.scoring import Measurement

__all__ = ["command"]

EXIT_GATE = 1


def _finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Refuse what nothing can be below, or everything: such a gate passes or fails unseen."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(
            f"{value} is no limit; expected a finite number such as 0.1", ctx=ctx, param=param
        )
    return value


@click.command("compare")
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH... A B", shell_complete=complete_paths
)
@click.option("--scores", multiple=True, help="Scores to compare; default hat.")
@printed_option
@every_column_option
@click.option(
    "--fail-below",
    type=float,
    callback=_finite,
    metavar="X",
    help="Exit code 1 unless the macro HAT difference A - B is at least X.",
)
@click.option(
    "--noninferior",
    type=click.FloatRange(min=0),
    callback=_finite,
    metavar="MARGIN",
    help="Exit code 1 unless the interval of A - B lies above -MARGIN, and no score behind it is "
    "unbounded.",
)
@grading_options
@interval_options
@reader_options
def command(paths: tuple[str, ...], style: str, *, every_column: bool, **given: Any) -> int:
    """Compare model A with model B, paired over the items that both answered.

    PATH are runs, Parquet files of outcomes, scores saved by `hatscore score --save`, or logs and
    tables of others. A and B are the names of two models in them. Gates look at the macro average
    of every benchmark, and fail where only one of the models has it.
    """
    from hatscore.cli.comparable import check_comparable
    from hatscore.comparing import COMPARED, compare, sharing_notes, unpaired
    from hatscore.report.health import alarms

    *where, first, second = paths
    if not where:
        raise InputError("give at least one path, then the names of two models: PATH... A B")
    check_every_column(style, every_column=every_column)
    confidence, fail_below, noninferior = (
        given[name] for name in ("confidence", "fail_below", "noninferior")
    )
    models = (first, second)
    data = _measure(where, given, models=models, confidence=confidence)
    remarks = check_comparable(
        where,
        models=models,
        names=given["names"],
        count=given["count"],
        outcomes=data.read,
        given=given,
    )
    found = data.found
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
        outcomes=data.outcomes,
    )
    lacking = [f"{lack.benchmark}: {lack.reason}" for lack in unpaired(found, first, second)]
    # a gate that cannot look is not a gate that passes
    failures = [*_failures(rows, fail_below, noninferior), *lacking] if gated else []
    said = [] if data.outcomes is None else [*alarms(data.outcomes), *data.outcomes.notes]
    notes = [
        *([] if gated else lacking),
        *sharing_notes(rows, first, second),
        *remarks,
        *said,
        *data.notes,
    ]
    shown = [row for row in rows if row.score in wanted]
    click.echo(
        _written(
            shown,
            models,
            confidence,
            style,
            every_column=every_column,
            failures=failures,
            notes=notes,
        ),
        nl=False,
    )
    for note in notes:
        click.echo(f"Note: {note}", err=True)
    for failure in failures:
        click.echo(f"Gate failed: {failure}", err=True)
    return EXIT_GATE if failures else 0


@dataclass(frozen=True, slots=True)
class _Data:
    """What the paths hold: all scores, and of the two models what is known beside them.

    Parameters
    ----------
    found
        The scores.
    outcomes
        The counts behind those of the two models with the notes on them; None if nothing has any.
    read
        What was read and graded just now; None if all scores were saved.
    notes
        What is not known of saved scores.
    """

    found: list[Measurement]
    outcomes: Outcomes | None
    read: Outcomes | None
    notes: list[str]


def _measure(
    paths: list[str], given: Mapping[str, Any], *, models: tuple[str, str], confidence: float
) -> _Data:
    """Return the scores in the paths, and the counts behind them as far as they are known."""
    from hatscore.archive import is_archive, read_archive
    from hatscore.cli.reading import read_graded
    from hatscore.scoring import measurements

    saved = [(path, read_archive(path)) for path in paths if is_archive(path)]
    found = [m for _, archive in saved for m in _at_level(archive, confidence)]
    counts = [archive.outcomes for _, archive in saved if archive.outcomes is not None]
    others = [path for path in paths if not is_archive(path)]
    read = None
    if others:
        read = read_graded(others, names=given["names"], count=given["count"], given=given)
        counts.append(read)
        found += measurements(read, confidence=confidence)
    seen: set[tuple[str, str, str]] = set()
    for m in found:
        key = (m.model, m.benchmark, m.language)
        if m.model in models and key in seen:
            raise InputError(
                f"{m.model} has scores of {m.benchmark} in more than one of {', '.join(paths)}; "
                "give each model once"
            )
        seen.add(key)
    _check_scored(found, counts, models)
    notes = [
        f"{Path(path).name}: saved without the notes on its data and how its replies ended; "
        "save it again with `hatscore score --save`"
        for path, archive in saved
        if not archive.told and any(m.model in models for m in archive.found)
    ]
    return _Data(found, _joined(counts, models) if counts else None, read, notes)


def _at_level(archive: Archive, confidence: float) -> list[Measurement]:
    """Return saved scores with intervals of the level asked for, where there are counts."""
    from hatscore.scoring import measurements

    saved = {e.confidence for m in archive.found for e in m.scores.values()}
    if archive.outcomes is None or all(math.isclose(level, confidence) for level in saved):
        return archive.found
    return measurements(archive.outcomes, confidence=confidence)


def _check_scored(
    found: list[Measurement], counts: list[Outcomes], models: tuple[str, str]
) -> None:
    """Refuse a model that has replies and no score, and say why it has none."""
    import polars as pl

    frames = [frame for each in counts for frame in (each.frame, each.excluded)]
    if not frames:
        return
    rows = pl.concat(frames)
    for model in set(models) - {m.model for m in found}:
        mine = rows.filter(pl.col("model") == model)
        if not mine.height:
            continue  # an unknown name, which is said elsewhere
        waiting = int(mine["judge_unparsed"].sum())
        raise InputError(
            f"{model} has no scores: none of its {waiting} replies has a verdict yet; "
            "`hatscore judge RUN --judge MODEL` asks for them"
            if waiting and not mine["n"].sum()
            else f"{model} has no scores: no item has replies in its source language and in "
            "another one"
        )


def _joined(counts: list[Outcomes], models: tuple[str, str]) -> Outcomes:
    """Return the counts and notes of two models as one; others may lie beside them."""
    import polars as pl

    from hatscore.outcomes import Outcomes

    frame = pl.concat([each.frame for each in counts])
    excluded = pl.concat([each.excluded for each in counts])
    others = {*frame["model"], *excluded["model"]} - set(models)
    starts = tuple(f"{model}{follows}" for model in others for follows in (": ", " on "))
    notes = [note for each in counts for note in each.notes if not note.startswith(starts)]
    mine = pl.col("model").is_in(models)
    return Outcomes(frame.filter(mine), excluded.filter(mine), tuple(dict.fromkeys(notes)))


def _written(
    rows: list[Difference],
    models: tuple[str, str],
    confidence: float,
    style: str,
    *,
    every_column: bool,
    failures: list[str],
    notes: list[str],
) -> str:
    from hatscore.report import to_csv, to_latex, to_markdown
    from hatscore.report.differences import (
        differences_document,
        differences_for_paper,
        differences_for_people,
        differences_frame,
        render_differences,
    )

    if style == "table":
        return render_differences(rows, *models, confidence=confidence) + "\n"
    if style == "json":
        document = differences_document(
            rows, *models, confidence=confidence, failures=failures, notes=notes
        )
        return json.dumps(document, indent=2, allow_nan=False) + "\n"
    if style == "csv":
        return to_csv(differences_frame(rows, *models, confidence=confidence))
    if style == "latex" and not every_column:
        tables = differences_for_paper(rows, *models, confidence=confidence)
        return "\n".join(to_latex(one, remarks=said, stacked=True) for one, said in tables)
    people = differences_for_people(rows, *models, confidence=confidence)
    return (to_markdown if style == "md" else to_latex)(people)


def _failures(
    rows: list[Difference], fail_below: float | None, noninferior: float | None
) -> list[str]:
    from hatscore.report.differences import rests_on_unbounded
    from hatscore.scoring import MACRO

    failed = []
    for row in (row for row in rows if row.score == "hat" and row.language == MACRO):
        d = row.difference
        ends = "" if math.isnan(d.low) else f" [{d.low:.3f}, {d.high:.3f}]"
        shown = f"{row.benchmark}: macro HAT difference {d.value:.3f}{ends}"
        if math.isnan(d.value):
            failed.append(f"{row.benchmark}: no macro HAT difference: {d.reason}")
            continue
        if fail_below is not None and d.value < fail_below:
            failed.append(f"{shown} is below {fail_below:g}")
        if noninferior is None:
            continue
        if not d.low > -noninferior:
            failed.append(f"{shown} may be below -{noninferior:g}")
        elif rests_on_unbounded(d):
            failed.append(
                f"{shown} is not shown to be above -{noninferior:g}: its interval is a normal "
                f"approximation, and a score behind it is {d.reason}"
            )
    return failed
