"""``hatscore report``: the page and the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hatscore.cli.complete import complete_paths
from hatscore.cli.options import grading_options, interval_options, reader_options

__all__ = ["command"]


@click.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("report"),
    show_default=True,
    help="Directory for index.html and the PNG files.",
)
@grading_options
@interval_options
@reader_options
def command(
    paths: tuple[str, ...],
    output: Path,
    names: str,
    count: str,
    confidence: float,
    **given: Any,
) -> None:
    """Write one self-contained page with tables, intervals and transfer profiles.

    PATH is a directory written by `hatscore run`, a Parquet file of outcomes, or logs and tables
    of others.
    """
    from hatscore.cli.context import run_context
    from hatscore.cli.reading import read_graded
    from hatscore.report import write_report

    outcomes = read_graded(paths, names=names, count=count, given=given)
    page = write_report(outcomes, output, confidence=confidence, context=run_context(paths))
    click.echo(str(page))
