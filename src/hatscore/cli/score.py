"""``hatscore score``: the table on stdout."""

from __future__ import annotations

from typing import Any

import click

from hatscore.cli.complete import complete_paths
from hatscore.cli.options import grading_options, interval_options, reader_options

__all__ = ["command"]

FORMATS = ("table", "json", "csv", "md", "latex")


@click.command("score")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@click.option(
    "--format",
    "style",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to print; json is one document and nothing else.",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    help="Also write the scores with their influence (.json or .parquet) for `compare`.",
)
@grading_options
@interval_options
@reader_options
def command(paths: tuple[str, ...], style: str, save: str | None, **given: Any) -> None:
    """Print the scores of runs: a row per language and the macro average.

    PATH is a directory written by `hatscore run`, a Parquet file of outcomes, or logs and tables
    of others: one file, several, or a directory.
    """
    from hatscore.cli.reading import read_graded
    from hatscore.report import render_table, to_csv, to_json, to_latex, to_markdown
    from hatscore.scoring import measurements, tabulate

    outcomes = read_graded(paths, names=given["names"], count=given["count"], given=given)
    found = measurements(outcomes, confidence=given["confidence"])
    if save is not None:
        from hatscore.archive import write_scores

        write_scores(found, save)
    if style == "table":
        click.echo(render_table(found, outcomes), nl=False)
        return
    if style == "json":
        click.echo(to_json(found, outcomes))
        return
    writers = {"csv": to_csv, "md": to_markdown, "latex": to_latex}
    click.echo(writers[style](tabulate(found)), nl=False)
    for note in outcomes.notes:
        click.echo(f"Note: {note}", err=True)
