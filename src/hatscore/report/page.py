"""The page: everything that was measured, in one file that needs no other."""

from __future__ import annotations

import base64
import math
import os
import platform
import re
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from hatscore._version import __version__
from hatscore.errors import InputError, InsufficientData
from hatscore.outcomes import STATUS_COLUMNS, TOKEN_COLUMNS
from hatscore.report.blocks import blocks_of, by_block, profile_notes
from hatscore.report.figures import hat_dots, profile_plot, save
from hatscore.report.health import SHORT_PERCENT, UNPARSED_PERCENT, alarms, status_shares
from hatscore.report.text import MISSING, headline, label, language_name, percent, with_interval
from hatscore.scoring import MACRO, measurements

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from matplotlib.figure import Figure

    from hatscore.outcomes import Outcomes
    from hatscore.scoring import Measurement
    from hatscore.stats.estimate import Estimate

__all__ = ["write_report"]

_FEW = 3
_PAPER = "https://arxiv.org/abs/2606.21954"


@dataclass(frozen=True, slots=True)
class _Picture:
    """A figure on the page: its file beside the page, the bytes inside it, words for both."""

    file: str
    uri: str
    alt: str
    caption: str
    width: int


def write_report(
    outcomes: Outcomes,
    directory: str | Path,
    *,
    confidence: float = 0.95,
    context: Mapping[str, Mapping[str, str]] | None = None,
) -> Path:
    """Write ``index.html`` and the figures as PNG files.

    The page stands alone: styles and figures are inside it, nothing is loaded, no script runs.
    Every file is written beside its place and then moved there, the page last, so that a reader
    finds the old report or the new one.

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
    dots, profiles = _draw(outcomes, found, directory)
    page = _environment().get_template("page.html.j2").render(
        title=_title(found),
        blocks=blocks_of(found, outcomes),
        summaries=[_summary(part) for part in by_block(found).values()],
        dots=dots,
        profiles=profiles,
        statuses=_statuses(outcomes),
        short_percent=SHORT_PERCENT,
        unparsed_percent=UNPARSED_PERCENT,
        alarms=alarms(outcomes),
        notes=[*outcomes.notes, *profile_notes(found)],
        confidence=f"{100 * confidence:g} %",
        methods=_methods(found),
        data=_data(outcomes),
        versions=_versions(),
        context=context or {},
        paper=_PAPER,
        version=__version__,
    )  # fmt: skip
    return _write(directory / "index.html", page)


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("hatscore.report"),
        # names of models and languages come from outside: nothing of them is markup
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _write(path: Path, text: str) -> Path:
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)
    return path


def _draw(
    outcomes: Outcomes, found: list[Measurement], directory: Path
) -> tuple[list[_Picture], list[_Picture]]:
    taken: set[str] = set()

    def picture(figure: Figure, name: str, alt: str, caption: str) -> _Picture:
        (path,) = save(figure, directory / _file_name(name, taken))
        inside = base64.b64encode(path.read_bytes()).decode()
        width = round(figure.get_figwidth() * 96)
        return _Picture(path.name, f"data:image/png;base64,{inside}", alt, caption, width)

    dots = []
    for benchmark in dict.fromkeys(m.benchmark for m in found):
        part = [m for m in found if m.benchmark == benchmark]
        models = len({m.model for m in part})
        languages = len({m.language for m in part} - {MACRO})
        dots.append(
            picture(
                hat_dots(part),
                f"hat-{benchmark}",
                f"Dot plot of HAT with intervals on {benchmark}: {_count(models, 'model')}, "
                f"{_count(languages, 'language')}. The numbers are in the tables above.",
                f"{benchmark}: HAT with its interval per language, best on top. The small hollow "
                "markers are target accuracy: where the two orders differ, accuracy speaks of "
                "hard items rather than of lost transfer. Arrows mark intervals that go on.",
            )
        )
    grouped = by_block(found)
    profiles = [
        picture(
            profile_plot(block, grouped[block.model, block.benchmark]),
            f"profile-{block.model}-{block.benchmark}",
            f"Success rates of {block.model} on {block.benchmark} in each target language "
            "against those in the source language, item by item, with the fitted line.",
            f"{block.model} on {block.benchmark}: each dot is the items with one pair of "
            "success rates, its area their number; the line is the fitted slope, the "
            "dashed diagonal perfect transfer.",
        )
        for block in outcomes.aligned()
        if (block.model, block.benchmark) in grouped
    ]
    return dots, profiles


def _file_name(name: str, taken: set[str]) -> str:
    """Make a name that every file system takes, and no two alike."""
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80]
    candidate, i = base, 1
    # some file systems hold A and a for the same
    while candidate.lower() in taken:
        i += 1
        candidate = f"{base}-{i}"
    taken.add(candidate.lower())
    return candidate


def _title(found: list[Measurement]) -> str:
    models = list(dict.fromkeys(m.model for m in found))
    benchmarks = list(dict.fromkeys(m.benchmark for m in found))
    return (
        f"Cross-lingual transfer of {_enumerate(models, 'model')} "
        f"on {_enumerate(benchmarks, 'benchmark')}"
    )


def _enumerate(names: list[str], noun: str) -> str:
    if len(names) > _FEW:
        return _count(len(names), noun)
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _summary(part: list[Measurement]) -> dict[str, Any]:
    """Say in words what a block's table says; never a number without interval and n."""
    single = [(m, headline(m)[1]) for m in part if m.language != MACRO]
    known = sorted(
        ((m, e) for m, e in single if not math.isnan(e.value)), key=lambda x: -x[1].value
    )
    sentences = []
    if not known:
        reasons = "; ".join(dict.fromkeys(e.reason for _, e in single if e.reason))
        sentences.append(f"No language has a HAT score: {reasons or 'the data cannot tell'}.")
    elif len(known) == 1:
        sentences.append(f"HAT is {_in_words(*known[0])}.")
    else:
        (best, top), (worst, bottom) = known[0], known[-1]
        sentences.append(
            f"Most of what the model can do survives in {_in_words(best, top)}, least in "
            f"{_in_words(worst, bottom)}."
        )
        if bottom.high >= top.low:
            sentences.append("Their intervals overlap, so even this order is not certain.")
        macro = next((headline(m)[1] for m in part if m.language == MACRO), None)
        if macro is not None and not math.isnan(macro.value):
            sentences.append(
                f"The mean over {_count(len(single), 'language')} is {with_interval(macro)} "
                f"({_count(macro.n_items, 'item')})."
            )
    unbounded = [m for m, e in known if not e.bounded]
    if unbounded:
        names = ", ".join(language_name(m.language) for m in unbounded)
        sentences.append(f"The data do not bound the score in {names}.")
    lost = [m for m, e in single if math.isnan(e.value)]
    if lost and known:
        names = ", ".join(language_name(m.language) for m in lost)
        sentences.append(f"There is no score for {names}; the table says why.")
    return {
        "model": part[0].model,
        "benchmark": part[0].benchmark,
        "plugin": any(headline(m)[0] == "hat_plugin" for m in part),
        "text": " ".join(sentences),
    }


def _in_words(m: Measurement, estimate: Estimate) -> str:
    return (
        f"{language_name(m.language)}: {with_interval(estimate)} "
        f"({_count(estimate.n_items, 'item')})"
    )


def _statuses(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return one table of status shares per block, without token columns nobody knows."""
    tables = []
    for (model, benchmark), part in status_shares(outcomes).group_by(
        ["model", "benchmark"], maintain_order=True
    ):
        tokens = [c for c in TOKEN_COLUMNS if part[c].is_not_null().any()]
        tables.append(
            {
                "model": model,
                "benchmark": benchmark,
                "columns": [c.replace("_", " ") for c in (*STATUS_COLUMNS, *tokens)],
                "rows": [_status_row(row, tokens) for row in part.iter_rows(named=True)],
            }
        )
    return tables


def _status_row(row: dict[str, Any], tokens: list[str]) -> dict[str, Any]:
    return {
        "label": label(row["language"]),
        "role": row["role"],
        "counts": [row["n_items"], row["n"]],
        "cells": [percent(row[c]) for c in STATUS_COLUMNS]
        + [MISSING if row[c] is None else f"{row[c]:.1f}" for c in tokens],
        "zero": [row[c] == 0 for c in STATUS_COLUMNS] + [False] * len(tokens),
    }


def _methods(found: list[Measurement]) -> list[str]:
    """Name the estimators and intervals that were really used."""
    used: dict[tuple[str, str, str], None] = {}
    for m in found:
        _, e = headline(m)
        if not math.isnan(e.value):
            where = "macro average" if m.language == MACRO else "languages"
            used.setdefault((where, e.estimator, e.interval))
    return [f"{where}: {estimator} slope, {kind} interval" for where, estimator, kind in used]


def _data(outcomes: Outcomes) -> list[tuple[str, str]]:
    """Describe the plan as the table shows it, per benchmark."""
    described = []
    for (benchmark,), part in outcomes.frame.group_by(["benchmark"], maintain_order=True):
        source = part["language"] == part["source_language"]
        sources = ", ".join(label(x) for x in part["source_language"].unique().sort())
        text = (
            f"{_count(part['item'].n_unique(), 'item')} in "
            f"{_count(part['group'].n_unique(), 'cluster')}; "
            f"source {sources}, {_replies(part.filter(source))}; "
            f"targets, {_replies(part.filter(~source))}"
        )
        described.append((str(benchmark), text))
    return described


def _replies(part: pl.DataFrame) -> str:
    counts = sorted(set(part["n"].to_list()))
    if not counts:
        return "no replies"
    low, high = counts[0], counts[-1]
    return f"{low if low == high else f'{low} to {high}'} counted replies per item"


def _versions() -> str:
    parts = [f"{name} {version(name)}" for name in ("numpy", "scipy", "polars", "matplotlib")]
    return ", ".join([f"hatscore {__version__}", f"Python {platform.python_version()}", *parts])
