"""The page: everything that was measured, in one file that needs no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from hatscore._version import __version__
from hatscore.errors import InputError, InsufficientData
from hatscore.report import page_charts, page_tables, page_words
from hatscore.report.blocks import CURVED_P, by_block, profile_notes
from hatscore.report.drawing import replace_file
from hatscore.report.health import SHORT_PERCENT, UNPARSED_PERCENT, alarms, status_shares
from hatscore.report.items import tidy, write_items
from hatscore.report.looks import looks_of
from hatscore.report.page_embed import as_data, policy, scripts, style
from hatscore.report.page_studies import study_parts
from hatscore.report.page_type import typesetter
from hatscore.report.rows import packed, score_rows, sources_of
from hatscore.report.rows_profile import profile_rows
from hatscore.report.rows_rank import rank_rows
from hatscore.scoring import measurements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.outcomes import Outcomes
    from hatscore.report.items import Records
    from hatscore.scoring import Measurement
    from hatscore.studies.result import Analysis

__all__ = ["write_report"]

_PAPER = "https://arxiv.org/abs/2606.21954"
_BIBTEX = """\
@misc{bajpai2026hat,
  title         = {Hardness Adjusted Transfer},
  author        = {Bajpai and Briakou and Cherry and Jyothi and Piratla},
  year          = {2026},
  eprint        = {2606.21954},
  archivePrefix = {arXiv}
}

@software{hatscore,
  title   = {hatscore: cross-lingual transfer with its uncertainty},
  author  = {{The hatscore developers}},
  year    = {2026},
  version = {%s}
}"""
_SECTIONS = (
    ("summary", "Summary"),
    ("ranking", "Ranking"),
    ("map", "Models by languages"),
    ("languages", "Languages"),
    ("scores", "Scores"),
    ("metrics", "Other measures"),
    ("profiles", "Profiles"),
    ("studies", "What drives transfer"),
    ("replies", "Replies"),
    ("method", "Method"),
    ("cite", "How to cite"),
)


def write_report(
    outcomes: Outcomes,
    directory: str | Path,
    *,
    confidence: float = 0.95,
    context: Mapping[str, Mapping[str, str]] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    studies: Sequence[Analysis] = (),
    formats: Sequence[str] = ("png",),
    items: Records | None = None,
    remarks: Sequence[str] = (),
) -> Path:
    """Write ``index.html`` and beside it the charts as files.

    The page stands alone: data, styles, scripts and the charting library are inside it, and its
    content security policy forbids to load anything (but `items`, where they are many). Every
    file is written beside its place and then moved there, the page last, so that a reader finds
    the old report or the new one.

    Parameters
    ----------
    outcomes
        The canonical table.
    directory
        Where to; made if missing. Files of an earlier report of the same name are replaced.
    confidence
        Level of the intervals, in (0, 1).
    context
        What the table cannot know (plan, prompts, model settings, licences of the data): section
        title to a mapping of label to text, shown as lists in the method section.
    facts
        What is known of models, by name: ``family``, ``released``, ``params``.
    studies
        Analyses to show, in their order.
    formats
        Of the files beside the page, some of `drawing.FORMATS`; empty for none.
    items
        The items behind the scores (`hatscore.readers.items.Items`), to be opened from a score;
        few stand in the page, many in a folder ``items`` beside it.
    remarks
        What has to be known before anything else is read; it stands above the summary.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        A level outside (0, 1), or `directory` is a file.
    InsufficientData
        No model has replies in a target language.
    """
    directory = Path(directory)
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file; a report needs a directory to be written into")
    found = measurements(outcomes, confidence=confidence)
    if not found:
        raise InsufficientData(
            "no model has replies in a target language, so there is nothing to report; "
            "the table needs rows whose language is not their source language"
        )
    known = facts or {}
    rows = page_tables.with_table_values(
        score_rows(found, facts=known, sources=sources_of(outcomes)), found
    )
    ranks = rank_rows(found, facts=known)
    looks = looks_of(rows)
    profiles = profile_rows(outcomes.aligned(), found)
    shares = page_tables.status_records(
        status_shares(outcomes), known, {r["language"]: r["script"] for r in rows}
    )
    level = f"{100 * confidence:g}\u00a0%"
    columns = page_tables.score_columns([r for r in rows if not r["macro"]], level)
    status_columns = page_tables.status_columns(shares)
    parts = study_parts(studies)
    specs = page_charts.specs() | parts.specs
    payload = {
        "scores": packed(rows),
        "ranks": packed(ranks),
        "profiles": packed(profiles),
        "statuses": packed(shares),
        "statuses_named": page_charts.lost_statuses(shares),
        "order": {
            b: [r["model"] for r in ranks if r["benchmark"] == b]
            for b in dict.fromkeys(r["benchmark"] for r in ranks)
        },
        "columns": {
            "scores": page_tables.described(columns),
            "statuses": page_tables.described(status_columns),
        },
        "looks": page_charts.described_looks(looks),
        "themes": page_charts.themes(),
        "specs": specs,
        "studies": parts.tables,
    }
    code, css = scripts(), style()
    directory.mkdir(parents=True, exist_ok=True)
    held = None if items is None else write_items(items, outcomes, directory)
    # without a single text there is no place but this one to say what lacks them
    lacking = () if items is None or held is not None else items.notes
    many = len({r["model"] for r in rows}) > 1
    scores = page_tables.scores_table(rows, columns, level)
    statuses = page_tables.status_table(shares, status_columns)
    notices = alarms(outcomes)
    environment = _environment()
    environment.filters["typeset"] = typesetter(
        [*dict.fromkeys(r[name] for name in ("model", "benchmark") for r in rows)]
    )
    page = environment.get_template("page.html.j2").render(
        title=page_words.title(found),
        policy=policy([css], code, chunks=held is not None and held.build != ""),
        style=css,
        scripts=code,
        payload=as_data(payload),
        items=held,
        sections=_sections(many=many, studies=bool(studies)),
        filters=page_charts.filters(rows),
        benchmarks=_benchmarks(found, rows, ranks, level),
        models=list(dict.fromkeys(r["model"] for r in rows)),
        many=many,
        families=len(looks.families) > 1,
        most=page_charts.MOST,
        summaries=[page_words.summary(part) for part in by_block(found).values()],
        scores=scores,
        statuses=statuses,
        cut=bool(scores.left_out or statuses.left_out or parts.tables),
        studies=parts.shown,
        short_percent=SHORT_PERCENT,
        unparsed_percent=UNPARSED_PERCENT,
        curved_p=CURVED_P,
        remarks=remarks,
        alarms=notices,
        notes=[*outcomes.notes, *profile_notes(found), *lacking],
        confidence=level,
        methods=page_words.methods(found),
        data=page_words.data(outcomes),
        versions=page_words.versions(),
        context=context or {},
        paper=_PAPER,
        bibtex=_BIBTEX % __version__,
        version=__version__,
    )  # fmt: skip
    page_charts.draw(rows, ranks, profiles, directory, formats, looks=looks)
    written = directory / "index.html"
    replace_file(written, re.sub(r"\n{2,}(?=<)", "\n", page).encode())
    tidy(directory, held)
    return written


def _sections(*, many: bool, studies: bool) -> list[tuple[str, str]]:
    """Return the sections that the page has: one model is not ranked, and has no map."""
    left_out = {"map": not many, "studies": not studies}
    names = {} if many else {"ranking": "Mean over languages"}
    return [(id_, names.get(id_, name)) for id_, name in _SECTIONS if not left_out.get(id_)]


def _benchmarks(
    found: list[Measurement],
    rows: list[dict[str, Any]],
    ranks: list[dict[str, Any]],
    level: str,
) -> list[dict[str, Any]]:
    parts = []
    for name in dict.fromkeys(r["benchmark"] for r in ranks):
        ranked = [r for r in ranks if r["benchmark"] == name]
        # records hold printable names: the measurement of a name is found by its place
        part = [m for m, r in zip(found, rows, strict=True) if r["benchmark"] == name]
        parts.append(
            {
                "name": name,
                "overview": page_words.overview(part, ranked) if len(ranked) > 1 else "",
                "disagreement": page_words.disagreement(part, ranked),
                "ranking": page_tables.ranking_table(ranked, rows, level),
                "heat": page_tables.heat(rows, [r["model"] for r in ranked], name),
            }
        )
    return parts


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("hatscore.report"),
        # names of models and languages come from outside: nothing of them is markup
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
