"""``hatscore study``: the questions of the paper, over runs, a study file or simulated models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hatscore.cli import EXIT_INCOMPLETE, EXIT_USAGE
from hatscore.cli.complete import complete_paths
from hatscore.cli.models import registry_option
from hatscore.cli.options import (
    figures_option,
    grading_options,
    interval_options,
    reader_options,
    split_list,
)
from hatscore.errors import InputError, InsufficientData

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from hatscore.cli.study_check import Checked
    from hatscore.cli.study_sampling import Limits
    from hatscore.models import Registry
    from hatscore.studies.material import Material
    from hatscore.studies.result import Analysis

__all__ = ["command"]


@click.command("study")
@click.argument("paths", nargs=-1, metavar="[PATH... | STUDY.toml]", shell_complete=complete_paths)
@click.option(
    "--simulate",
    type=click.Choice(["paper"]),
    help="Draw the paper's configurations with a known truth instead of reading runs.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--ask", multiple=True, help="Analyses, comma-separated; default all.")
@click.option(
    "--cutoff", type=click.DateTime(["%Y-%m-%d"]), help="Parts before and after; default even."
)
@click.option("--dry-run", is_flag=True, help="Of a study file: say what is missing, and stop.")
@click.option(
    "--output-tokens",
    type=click.FloatRange(min=0),
    help="With --dry-run: of one reply, reasoning included; default as in the replies there are.",
)
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True),
    help="Of a study file: stop at so many USD of the whole study, at the prices of the file or "
    "the registry; judges are not counted.",
)
@click.option(
    "--max-total-tokens",
    type=click.IntRange(min=1),
    help="Of a study file: stop at so many input and output tokens of the whole study.",
)
@click.option(
    "--max-replies",
    type=click.IntRange(min=1),
    help="Of a study file: stop at so many replies of the whole study.",
)
@click.option(
    "--format", "style", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the page index.html, findings.md, tables and figures.",
)
@figures_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@registry_option
@grading_options
@reader_options
@interval_options
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Ask what drives transfer across models, with uncertainty.

    PATH are runs, folders of runs, logs or tables of at least a few models. STUDY.toml names
    models, benchmarks and languages: all of it is checked, what is missing is sampled, then it is
    analysed. Sizes, dates and settings come from `hatscore models` and from files given with
    --models.
    """
    from hatscore.models import load_models
    from hatscore.studies.analyses import ANALYSES

    asked = split_list(given["ask"])
    _check_words(paths, given, asked)
    registry = load_models(given["model_files"])
    if given["simulate"]:
        material, truth = _simulated(registry, given)
        analyses = _analyse(material, asked or list(ANALYSES), given["cutoff"])
        _show(analyses, material, [], given, registry, study=truth)
        return 0
    places: list[str | Path] = list(paths)
    complete = True
    if _is_study_file(paths):
        checked = _checked(paths[0], given)
        if given["dry_run"]:
            return _foretell(checked, registry, given)
        complete = _sample(checked, registry, given)
        places = [c.cell.directory for c in checked if c.present().usage.replies]
        if not places:
            click.echo("Nothing is sampled yet, so there is nothing to analyse.", err=True)
            return EXIT_INCOMPLETE
    try:
        notes, material = _read(places, registry, given)
    except (InputError, InsufficientData) as error:
        if complete:
            raise
        # too little came for an answer; the study itself is fine and can go on
        click.echo(f"Error: {error}", err=True)
        return EXIT_INCOMPLETE
    analyses = _analyse(material, asked or list(ANALYSES), given["cutoff"])
    _show(analyses, material, notes, given, registry, places=places)
    return 0 if complete else EXIT_INCOMPLETE


def _is_study_file(paths: tuple[str, ...]) -> bool:
    return len(paths) == 1 and paths[0].endswith(".toml")


def _check_words(paths: tuple[str, ...], given: dict[str, Any], asked: list[str]) -> None:
    if given["simulate"] and paths:
        raise InputError("--simulate draws its own models: give it no paths")
    if not given["simulate"] and not paths:
        raise InputError("give runs, logs, a study file, or --simulate paper")
    is_file = _is_study_file(paths)
    if given["dry_run"] and not is_file:
        raise InputError("--dry-run is for a study file: hatscore study STUDY.toml --dry-run")
    for name in ("max_cost", "max_total_tokens", "max_replies"):
        if given[name] is not None and not is_file:
            raise InputError(
                f"--{name.replace('_', '-')} is for a study file: without one nothing is sampled"
            )
    if given["output_tokens"] is not None and not given["dry_run"]:
        raise InputError("--output-tokens is for the cost that --dry-run tells")
    if given["cutoff"] is not None and asked and "time" not in asked:
        raise InputError(
            "--cutoff is for the analysis time, which is not asked for: add it to --ask "
            f"{','.join(asked)}, or leave --cutoff out"
        )
    if not is_file and any(p.endswith(".toml") for p in paths):
        raise InputError("a study file stands alone; runs and files are not mixed")


def _simulated(registry: Registry, given: dict[str, Any]) -> tuple[Material, Any]:
    import numpy as np

    from hatscore.studies.material import gather
    from hatscore.studies.simulated import simulate_study

    study = simulate_study(registry, rng=np.random.default_rng(given["seed"]))
    return gather(study.outcomes, registry, confidence=given["confidence"]), study


def _checked(path: str, given: dict[str, Any]) -> list[Checked]:
    from hatscore.cli.study_check import check_cells
    from hatscore.cli.study_file import read_study_file

    return check_cells(read_study_file(Path(path), model_files=given["model_files"]))


def _limits(given: dict[str, Any]) -> Limits:
    from hatscore.cli.study_sampling import Limits

    return Limits(given["max_replies"], given["max_total_tokens"], given["max_cost"])


def _foretell(checked: list[Checked], registry: Registry, given: dict[str, Any]) -> int:
    """Say what is missing; the exit code tells whether the study could be sampled."""
    from hatscore.cli.study_outlook import describe
    from hatscore.cli.study_sampling import check_prices

    click.echo(describe(checked, registry, output_tokens=given["output_tokens"]))
    check_prices(checked, registry, _limits(given))
    return EXIT_USAGE if any(c.problem for c in checked) else 0


def _sample(checked: list[Checked], registry: Registry, given: dict[str, Any]) -> bool:
    from hatscore.cli.study_check import require_sampling
    from hatscore.cli.study_sampling import check_prices, sample_study

    limits = _limits(given)
    require_sampling(checked)
    check_prices(checked, registry, limits)
    return sample_study(checked, registry, limits, quiet=given["quiet"])


def _read(
    places: list[str | Path], registry: Registry, given: dict[str, Any]
) -> tuple[list[str], Material]:
    from hatscore.cli.comparable import check_comparable
    from hatscore.cli.reading import read_graded
    from hatscore.studies.material import gather

    notes = check_comparable(places)
    outcomes = read_graded(places, names=given["names"], count=given["count"], given=given)
    return notes, gather(outcomes, registry, confidence=given["confidence"])


def _analyse(material: Material, asked: list[str], cutoff: dt.datetime | None) -> list[Analysis]:
    from hatscore.studies.analyses import analyse
    from hatscore.studies.time import time

    found = analyse(material, asked)
    if cutoff is None:
        return found
    return [time(material, cutoff=cutoff.date()) if a.name == "time" else a for a in found]


def _show(
    analyses: list[Analysis],
    material: Material,
    notes: list[str],
    given: dict[str, Any],
    registry: Registry,
    *,
    places: Sequence[str | Path] = (),
    study: Any = None,
) -> None:
    from hatscore.cli import study_show
    from hatscore.cli.pages import write_study_page

    truth = study_show.truth_of(study, material, analyses) if study is not None else None
    said = study_show.said_of(material, notes)
    if given["style"] == "json":
        click.echo(study_show.document(analyses, material, said, truth))
    else:
        click.echo(study_show.words(analyses, material, said, truth))
    if given["output"] is not None:
        where, formats = given["output"], given["figures"]
        study_show.write(where, analyses, material, said, truth, formats=formats)
        page = write_study_page(
            places, material, analyses, where, registry=registry, given=given, formats=formats
        )
        click.echo(f"{page}: the page; findings.md, tables and figures are beside it", err=True)
