"""``hatscore figure``: one chart as files for a paper."""

from __future__ import annotations

from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hatscore.cli.complete import complete_figures, complete_paths
from hatscore.cli.options import grading_options, interval_options, reader_options, split_list
from hatscore.errors import InputError, InsufficientData, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hatscore.models import Registry
    from hatscore.outcomes import Outcomes
    from hatscore.report.looks import Looks

__all__ = ["FIGURES", "STUDIES", "command"]

FIGURES = {
    "hat-dots": "HAT per language with intervals, beside target accuracy",
    "heat-map": "HAT of models by languages as a coloured table",
    "metrics": "HAT beside target accuracy, gap and transfer score, in the order of HAT",
    "profiles": "success in the target against success in the source, item by item",
    "ranking": "mean HAT of models with the ranks that the data leave them",
    "status": "how replies ended, per language",
}
STUDIES = {
    "coupling": "study: how much a score follows source accuracy",
    "validation": "study: what each metric does where items get easier",
    "size": "study: HAT over the number of parameters",
    "time": "study: HAT over the release date",
    "family": "study: differences between families of one size",
    "thinking": "study: thinking settings of one model",
    "script": "study: targets in another script than the source",
    "variance": "study: what the spread of the gap is made of",
}
_MANY_DOTS, _MANY_METRICS, _FEW = 8, 6, 3
_FIELDS = ("benchmark", "language", "model")


def _list(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    for name, what in {**FIGURES, **STUDIES}.items():
        click.echo(f"{name:<12}{what}")
    ctx.exit()


@click.command("figure")
@click.argument("name", metavar="NAME", shell_complete=complete_figures)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    help="A file such as dots.pdf, or a directory; default: here.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="LIST",
    help="Some of png, svg, pdf; default: as the file says, else png.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="FIELD=NAME,...",
    help="Draw these alone: model=A,B, benchmark=NAME or language=sw,de; repeatable.",
)
@click.option("--native-names", is_flag=True, help="Label languages by their own names.")
@click.option(
    "--fonts",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Fonts for native names beyond Latin, Greek, Cyrillic and Hebrew letters.",
)
@click.option("--dark", is_flag=True, help="For a dark ground.")
@click.option("--dpi", type=click.IntRange(min=1), default=150, show_default=True, help="Of a PNG.")
@click.option(
    "--models", "model_files", multiple=True, metavar="FILE",
    help="TOML file of models of your own, on top of those known.",
)  # fmt: skip
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list,
    help="Say which figures there are.",
)  # fmt: skip
@grading_options
@interval_options
@reader_options
def command(name: str, paths: tuple[str, ...], **given: Any) -> None:
    """Draw one figure of runs, logs or tables; `hatscore figure --list` names them.

    One file per benchmark, of profiles and status per model too. Letters are inside PDF and SVG.
    With more than eight models hat-dots puts them on one line per language, coloured by family.
    """
    from hatscore.cli.reading import read_graded
    from hatscore.models import load_models
    from hatscore.report.drawing import save_chart, use_fonts

    figure = name.replace("_", "-")
    if figure not in FIGURES and figure not in STUDIES:
        raise UnknownNameError("figure", name, {**FIGURES, **STUDIES})
    stem, formats = _target(given["output"], split_list(given["formats"]))
    letters = frozenset[int]() if given["fonts"] is None else use_fonts(given["fonts"])
    every = read_graded(paths, names=given["names"], count=given["count"], given=given)
    outcomes = _chosen(every, given["only"])
    registry = load_models(given["model_files"])
    material = _Material(
        outcomes,
        registry,
        given["confidence"],
        tuple(every.frame["model"].unique()),
        native=given["native_names"],
        letters=letters,
    )
    charts = list(_charts(figure, material))
    if stem is not None and len(charts) > 1:
        first = ", ".join(part for part, _ in charts[:_FEW])
        raise InputError(
            f"{given['output']} is one file, but there are {len(charts)} figures "
            f"({first}{', ...' * (len(charts) > _FEW)}): give a directory, or choose with --only"
        )
    for part, chart in charts:
        place = stem or given["output"] / part
        for path in save_chart(chart, place, formats, dark=given["dark"], dpi=given["dpi"]):
            click.echo(str(path))


@dataclass(frozen=True, slots=True)
class _Material:
    """What figures are drawn from; `letters` are those of the user's own fonts.

    `models` are all that were given: whichever are drawn, each looks the same.
    """

    outcomes: Outcomes
    registry: Registry
    confidence: float
    models: tuple[str, ...]
    native: bool
    letters: frozenset[int]


def _target(output: Path, formats: list[str]) -> tuple[Path | None, list[str]]:
    """Return the stem of a single file, None for a directory, and the formats."""
    from hatscore.report.drawing import FORMATS

    for wanted in formats:
        if wanted not in FORMATS:
            raise UnknownNameError("format", wanted, FORMATS)
    kind = output.suffix.removeprefix(".").lower()
    if output.is_dir() or kind not in FORMATS:
        if not output.is_dir() and guess_type(output.name)[0]:  # x.jpg is meant to be a file
            raise UnknownNameError("format", kind, FORMATS)
        if output.is_file():
            raise InputError(f"{output} is a file: give a directory, or a name ending in .png, "
                             ".svg or .pdf")  # fmt: skip
        return None, formats or ["png"]
    return output.with_suffix(""), list(dict.fromkeys([kind, *formats]))


def _chosen(outcomes: Outcomes, only: Sequence[str]) -> Outcomes:
    """Return the outcomes of what ``--only`` names; source rows stay whatever their language."""
    import polars as pl

    from hatscore.languages import check_language
    from hatscore.outcomes import Outcomes as Table

    frame, excluded = outcomes.frame, outcomes.excluded
    for text in only:
        field, equals, names = text.partition("=")
        if not equals or field not in _FIELDS:
            raise InputError(
                f"--only: expected model=NAME, benchmark=NAME or language=TAG, got {text!r}"
            )
        is_source = pl.col("language") == pl.col("source_language")
        known = (frame.filter(~is_source) if field == "language" else frame)[field].unique()
        wanted = split_list((names,))
        for each in wanted:
            if field == "language":
                check_language(each, known.to_list())
            elif each not in known:
                raise UnknownNameError(field, each, known.to_list())
        kept = pl.col(field).is_in(wanted)
        kept = kept | is_source if field == "language" else kept
        frame, excluded = frame.filter(kept), excluded.filter(kept)
    return Table(frame, excluded, outcomes.notes)


def _charts(figure: str, material: _Material) -> Iterator[tuple[str, Any]]:
    """Give the charts with the names of their files."""
    from hatscore.report.drawing import file_name

    taken: set[str] = set()
    draw: Callable[[str, _Material], Iterator[tuple[str, Any]]]
    draw = _study if figure in STUDIES else _scores
    for part, chart in draw(figure, material):
        yield file_name(f"{figure}-{part}" if part else figure, taken), chart


def _study(figure: str, material: _Material) -> Iterator[tuple[str, Any]]:
    from hatscore.report.charts import study_chart
    from hatscore.studies.analyses import analyse
    from hatscore.studies.material import gather

    gathered = gather(material.outcomes, material.registry, confidence=material.confidence)
    (found,) = analyse(gathered, [figure])
    if found.figure is None or not found.figure.points.height:
        raise InsufficientData(
            f"{figure} has nothing to draw: {' '.join(f.text for f in found.findings)}"
        )
    yield "", study_chart(found.figure, description=found.question)


def _scores(figure: str, material: _Material) -> Iterator[tuple[str, Any]]:
    from hatscore.cli.facts import facts_of
    from hatscore.report import charts
    from hatscore.report.looks import looks_of
    from hatscore.report.rows import family_row, score_rows, sources_of
    from hatscore.report.rows_profile import profile_rows
    from hatscore.report.rows_rank import rank_rows, status_rows
    from hatscore.scoring import measurements

    outcomes, native = material.outcomes, material.native
    if figure == "status":
        for part, rows in _parts(status_rows(outcomes), material, "benchmark", "model"):
            yield part, charts.status_bars(rows, native=native)
        return
    found = measurements(outcomes, confidence=material.confidence)
    if not found:
        raise InsufficientData("no model has replies in a target language, so there is no figure")
    if figure == "profiles":
        every = profile_rows(outcomes.aligned(), found)
        for part, rows in _parts(every, material, "benchmark", "model"):
            yield part, charts.profiles(rows, native=native)
        return
    facts = facts_of(material.models, material.registry)
    scores = score_rows(found, facts=facts, sources=sources_of(outcomes))
    looks = looks_of(family_row(name, facts) for name in material.models)
    if figure == "ranking":
        for part, rows in _parts(rank_rows(found, facts=facts), material, "benchmark"):
            yield part, charts.ranking(rows, looks=looks)
        return
    for part, rows in _parts(scores, material, "benchmark"):
        yield part, _of_languages(figure, rows, looks=looks, native=native)


def _of_languages(figure: str, rows: list[dict[str, Any]], *, looks: Looks, native: bool) -> Any:
    from hatscore.report import charts

    models = len({r["model"] for r in rows})
    if figure == "heat-map":
        return charts.heat_map(rows, native=native)
    if figure == "metrics":
        by_model = models > _MANY_METRICS
        by: Any = "model" if by_model else "language"
        return charts.metrics_beside(rows, by=by, looks=looks, native=native)
    many = models > _MANY_DOTS
    by = "family" if many else "model"
    return charts.hat_dots(rows, by=by, compact=many, looks=looks, native=native)


def _parts(
    rows: list[dict[str, Any]], material: _Material, *fields: str
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give the records of every chart, with the words that tell its file from the others."""
    from hatscore.report.drawing import drawable

    rows = drawable(rows, material.letters)
    for key in dict.fromkeys(tuple(r[f] for f in fields) for r in rows):
        yield "-".join(key), [r for r in rows if tuple(r[f] for f in fields) == key]
