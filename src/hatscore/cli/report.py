"""``hatscore report``: the page and the figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hatscore.cli.complete import complete_paths
from hatscore.cli.models import registry_option
from hatscore.cli.options import (
    figures_option,
    grading_options,
    interval_options,
    items_option,
    reader_options,
)

if TYPE_CHECKING:
    from hatscore.models import Registry
    from hatscore.outcomes import Outcomes
    from hatscore.studies.result import Analysis

__all__ = ["command"]


@click.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("report"),
    show_default=True,
    help="Directory for index.html and the files of its charts.",
)
@figures_option
@click.option(
    "--study", is_flag=True, help="Add what drives transfer across models, as `hatscore study`."
)
@items_option
@registry_option
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
    """Write one page that needs no other: summary, ranking, charts, tables, method.

    PATH is a directory written by `hatscore run`, a Parquet file of outcomes, or logs and tables
    of others. The page filters and sorts in any browser, from disk, without a network. A score
    opens its items and replies; many of them lie in a folder beside the page, so hand both on.
    """
    from hatscore.cli.comparable import check_comparable
    from hatscore.cli.pages import write_page
    from hatscore.cli.reading import read_graded
    from hatscore.models import load_models

    # one page ranks its models, with a study or without
    for note in check_comparable(paths):
        click.echo(f"Note: {note}", err=True)
    study, files, items, figures = (
        given.pop(name) for name in ("study", "model_files", "items", "figures")
    )
    registry = load_models(files)
    outcomes = read_graded(paths, names=names, count=count, given=given)
    page = write_page(
        paths,
        outcomes,
        output,
        names=names,
        count=count,
        registry=registry,
        given=given,
        wanted=items,
        confidence=confidence,
        studies=_studies(outcomes, registry, confidence) if study else (),
        formats=figures,
    )
    click.echo(str(page))


def _studies(outcomes: Outcomes, registry: Registry, confidence: float) -> list[Analysis]:
    from hatscore.studies.analyses import analyse
    from hatscore.studies.material import gather

    material = gather(outcomes, registry, confidence=confidence)
    for note in material.notes:
        click.echo(f"Note: {note}", err=True)
    return analyse(material)
