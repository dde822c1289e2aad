"""``hatscore score``: the table on stdout."""

from __future__ import annotations

import json
from functools import partial
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
)
from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from hatscore.judging.corrected import Corrected
    from hatscore.report.corrected import CorrectedRow
    from hatscore.scoring import Measurement

__all__ = ["command"]


@click.command("score")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@printed_option
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    help="Also write the scores with their influence and counts (.json or .parquet) for `compare`.",
)
@click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    help="Also print HAT corrected for the errors of the judge, by labels that people gave to some "
    "replies: the CSV of `hatscore judge RUN --draw-labels`.",
)
@click.option(
    "--pooled",
    is_flag=True,
    help="With --labels: take one sensitivity and one specificity of the judge for all languages.",
)
@every_column_option
@grading_options
@interval_options
@reader_options
def command(
    paths: tuple[str, ...],
    style: str,
    *,
    every_column: bool,
    save: str | None,
    labels: str | None,
    pooled: bool,
    **given: Any,
) -> None:
    """Print the scores of runs: a row per language and the macro average.

    PATH is a directory written by `hatscore run`, a Parquet file of outcomes, or logs and tables
    of others: one file, several, or a directory.

    With --labels PATH is one judged run. The corrected scores stand below the table, under
    `corrected` in the JSON, and alone in the other formats.
    """
    from hatscore.cli.reading import read_graded
    from hatscore.report import render_table, to_csv, to_json, to_latex, to_markdown
    from hatscore.scoring import measurements, tabulate

    _check(paths, style, every_column=every_column, labels=labels, pooled=pooled)
    outcomes = read_graded(paths, names=given["names"], count=given["count"], given=given)
    found = measurements(outcomes, confidence=given["confidence"])
    if save is not None:
        from hatscore.archive import write_scores
        from hatscore.cli.comparable import what_was_asked

        asked = what_was_asked(
            paths, names=given["names"], count=given["count"], outcomes=outcomes, given=given
        )
        write_scores(found, save, asked=asked, outcomes=outcomes)
    mended = (
        None if labels is None else _corrected(paths, labels, found, pooled=pooled, given=given)
    )
    if style == "table":
        click.echo(render_table(found, outcomes), nl=False)
        if mended is not None:
            from hatscore.report.corrected import render_corrected

            click.echo("\n" + render_corrected(*mended))
        return
    if style == "json":
        text = to_json(found, outcomes)
        if mended is not None:
            from hatscore.report.corrected import corrected_document

            document = json.loads(text) | {"corrected": corrected_document(*mended)}
            text = json.dumps(document, indent=2, allow_nan=False) + "\n"
        click.echo(text)
        return
    to_tex = partial(to_latex, every_column=every_column)
    writers: dict[str, Callable[[pl.DataFrame], str]]
    writers = {"csv": to_csv, "md": to_markdown, "latex": to_tex}
    if mended is None:
        frame = tabulate(found)
    else:
        from hatscore.report.corrected import corrected_for_paper, corrected_frame

        if style == "latex" and not every_column:
            tables = corrected_for_paper(*mended)
            writers["latex"] = lambda _frame: "\n".join(
                to_latex(one, remarks=said, stacked=True) for one, said in tables
            )
        frame = corrected_frame(mended[1])
    click.echo(writers[style](frame), nl=False)
    remarks = [] if mended is None else [note for each in mended[0] for note in each.notes]
    for note in (*outcomes.notes, *remarks):
        click.echo(f"Note: {note}", err=True)


def _check(
    paths: tuple[str, ...], style: str, *, every_column: bool, labels: str | None, pooled: bool
) -> None:
    from hatscore.readers.hatscore_run import sniff

    check_every_column(style, every_column=every_column)
    if pooled and labels is None:
        raise InputError("--pooled says how --labels FILE are used: give both, or none")
    if labels is not None and (len(paths) != 1 or not sniff(Path(paths[0]))):
        raise InputError(
            "--labels are of the replies of one run, a directory written by `hatscore run`; got "
            f"{', '.join(paths)}: score each run with its own labels"
        )


def _corrected(
    paths: Sequence[str],
    labels: str,
    found: Sequence[Measurement],
    *,
    pooled: bool,
    given: Mapping[str, Any],
) -> tuple[list[Corrected], list[CorrectedRow]]:
    """Return what the labels make of a judged run, and it beside the scores as they are."""
    from hatscore.judging.corrected import corrected_scores
    from hatscore.readers.hatscore_run import benchmark_label, check_count
    from hatscore.report.corrected import corrected_rows
    from hatscore.sampling.run import Run

    mended = corrected_scores(
        paths[0],
        labels,
        counted=check_count(given["count"]),
        pooled=pooled,
        confidence=given["confidence"],
    )
    with Run.open(paths[0]) as run:
        names = {plan.name: benchmark_label(plan) for plan in run.config.benchmarks}
    return mended, corrected_rows(mended, found, names)
