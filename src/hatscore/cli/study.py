"""``hatscore study``: the questions of the paper, over runs, a study file or simulated models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hatscore.cli import EXIT_INCOMPLETE
from hatscore.cli.complete import complete_paths
from hatscore.cli.models import registry_option
from hatscore.cli.options import grading_options, interval_options, reader_options, split_list
from hatscore.errors import InputError

if TYPE_CHECKING:
    import datetime as dt

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
    "--format", "style", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for findings.md, tables and figures.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@registry_option
@grading_options
@reader_options
@interval_options
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Ask what drives transfer across models, with uncertainty.

    PATH are runs, logs or tables of at least a few models. STUDY.toml names models, benchmarks
    and languages: what is missing is sampled first. Sizes, dates and settings come from
    `hatscore models` and from files given with --models.
    """
    from hatscore.models import load_models
    from hatscore.studies.analyses import ANALYSES
    from hatscore.studies.material import gather

    _check_words(paths, given)
    asked = split_list(given["ask"])
    registry = load_models(given["model_files"])
    truth = None
    complete, notes = True, []
    if given["simulate"]:
        material, truth = _simulated(registry, given)
    else:
        places: list[str | Path] = list(paths)
        if len(paths) == 1 and paths[0].endswith(".toml"):
            from hatscore.cli.study_file import describe, read_study_file

            study = read_study_file(Path(paths[0]))
            if given["dry_run"]:
                click.echo(describe(study, registry, output_tokens=given["output_tokens"]))
                return 0
            complete, places = _sample(study, quiet=given["quiet"])
        from hatscore.cli.comparable import check_comparable
        from hatscore.cli.reading import read_graded

        notes = check_comparable(places)
        outcomes = read_graded(places, names=given["names"], count=given["count"], given=given)
        material = gather(outcomes, registry, confidence=given["confidence"])
    analyses = _analyse(material, asked or list(ANALYSES), given["cutoff"])
    _show(analyses, material, notes, given, truth)
    return 0 if complete else EXIT_INCOMPLETE


def _check_words(paths: tuple[str, ...], given: dict[str, Any]) -> None:
    if given["simulate"] and paths:
        raise InputError("--simulate draws its own models: give it no paths")
    if not given["simulate"] and not paths:
        raise InputError("give runs, logs, a study file, or --simulate paper")
    is_file = len(paths) == 1 and paths[0].endswith(".toml")
    if given["dry_run"] and not is_file:
        raise InputError("--dry-run is for a study file: hatscore study STUDY.toml --dry-run")
    if given["output_tokens"] is not None and not given["dry_run"]:
        raise InputError("--output-tokens is for the cost that --dry-run tells")
    if not is_file and any(p.endswith(".toml") for p in paths):
        raise InputError("a study file stands alone; runs and files are not mixed")


def _simulated(registry: Registry, given: dict[str, Any]) -> tuple[Material, Any]:
    import numpy as np

    from hatscore.studies.material import gather
    from hatscore.studies.simulated import simulate_study

    study = simulate_study(registry, rng=np.random.default_rng(given["seed"]))
    return gather(study.outcomes, registry, confidence=given["confidence"]), study


def _sample(study: Any, *, quiet: bool) -> tuple[bool, list[str | Path]]:
    from hatscore.cli.running import sample_into

    complete = True
    for cell in study.cells:
        complete &= sample_into(cell.request, cell.directory, quiet=quiet).complete
    return complete, [cell.directory for cell in study.cells]


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
    study: Any,
) -> None:
    from hatscore.cli import study_show

    truth = study_show.truth_of(study, material, analyses) if study is not None else None
    said = [*notes, *material.notes]
    if given["style"] == "json":
        click.echo(study_show.document(analyses, material, said, truth))
    else:
        click.echo(study_show.words(analyses, material, said, truth))
    if given["output"] is not None:
        written = study_show.write(given["output"], analyses, material, said, truth)
        click.echo(f"{given['output']}: {len(written)} files, begin with findings.md", err=True)
