"""A study in words, as JSON, and as a directory of tables and figures."""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore._version import __version__
from hatscore.report.health import alarms
from hatscore.studies.recovery import metrics_against_truth, recovery
from hatscore.studies.result import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hatscore.studies.material import Material
    from hatscore.studies.result import Analysis
    from hatscore.studies.simulated import SimulatedStudy

__all__ = ["Said", "TruthTables", "document", "said_of", "truth_of", "words", "write"]

SCHEMA_NUMBER = 1
"""Raised whenever a key of the JSON document changes its name or meaning."""
_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Said:
    """What a reader of the findings should know of the data.

    Attributes
    ----------
    notes
        What was left out, and which settings differ between runs.
    alarms
        Where the way replies ended can move a score.
    """

    notes: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TruthTables:
    """What a simulated study shows of its own recovery.

    Attributes
    ----------
    effects
        Every reported effect with its truth.
    summary
        The same by kind of effect.
    metrics
        How well each metric orders the models by their true HAT.
    """

    effects: pl.DataFrame
    summary: pl.DataFrame
    metrics: pl.DataFrame


def said_of(material: Material, notes: Sequence[str] = ()) -> Said:
    """Return `notes`, those of the data and of the material, and the alarms of `hatscore score`."""
    every = (*notes, *material.outcomes.notes, *material.notes)
    return Said(tuple(dict.fromkeys(every)), tuple(alarms(material.outcomes)))


def truth_of(study: SimulatedStudy, material: Material, analyses: list[Analysis]) -> TruthTables:
    """Return what was found beside what is true."""
    effects = recovery(study, material, analyses)
    summary = effects.group_by(["effect", "over"], maintain_order=True).agg(
        pl.len().alias("effects"),
        (pl.col("value") - pl.col("truth")).mean().alias("mean_error"),
        pl.col("covered").filter(pl.col("low").is_not_nan()).sum().alias("covered"),
        pl.col("low").is_not_nan().sum().alias("with_interval"),
    )
    return TruthTables(effects, summary, metrics_against_truth(study, material))


def words(
    analyses: list[Analysis], material: Material, said: Said, truth: TruthTables | None
) -> str:
    """Return the findings as text of 80 columns."""
    lines = [_head(material), *(_wrap(f"! {n}") for n in said.alarms)]
    lines += [_wrap(f"Note: {n}") for n in said.notes]
    for a in analyses:
        lines += ["", f"{a.name}: {a.question}"]
        lines += [_wrap(f"- {f.verdict}: {f.text}", "  ") for f in a.findings]
        lines += [_wrap(f"  note: {n}", "    ") for n in a.notes]
    if truth is not None:
        lines += ["", "truth: what the study was drawn from, and what was found", ""]
        lines += [
            f"{'effect':<51}{'over':<10}{'covered':>10}{'error':>9}",
            *(
                f"{row['effect'][:50]:<51}{row['over']:<10}{_share(row):>10}"
                f"{row['mean_error']:>+9.4f}"
                for row in truth.summary.iter_rows(named=True)
            ),
            "",
            f"{'metric':<20}{'rank correlation with true HAT':>32}",
            *(
                f"{row['metric']:<20}{row['rank_correlation']:>+32.3f}"
                for row in truth.metrics.iter_rows(named=True)
            ),
        ]
    return "\n".join(lines)


def document(
    analyses: list[Analysis], material: Material, said: Said, truth: TruthTables | None
) -> str:
    """Return everything as one JSON document; what is not a number is null."""
    found: dict[str, Any] = {
        "hatscore": __version__,
        "schema": SCHEMA_NUMBER,
        "confidence": material.confidence,
        "models": list(material.models),
        "benchmarks": {b: list(material.languages(b)) for b in material.benchmarks},
        "notes": list(said.notes),
        "alarms": list(said.alarms),
        "analyses": [
            {
                "name": a.name,
                "question": a.question,
                "findings": [{"verdict": f.verdict, "text": f.text} for f in a.findings],
                "notes": list(a.notes),
                "table": _rows(a.table),
            }
            for a in analyses
        ],
    }
    if truth is not None:
        found["truth"] = {
            "effects": _rows(truth.effects),
            "summary": _rows(truth.summary),
            "metrics": _rows(truth.metrics),
        }
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)


def write(
    directory: Path,
    analyses: list[Analysis],
    material: Material,
    said: Said,
    truth: TruthTables | None,
    *,
    formats: Sequence[str] = ("png",),
) -> list[Path]:
    """Write findings.md, study.json, and a table and a figure per analysis; return the files.

    `formats` are those of the figures, some of `drawing.FORMATS`; empty for none.
    """
    from hatscore.report.charts import study_chart
    from hatscore.report.drawing import save_chart

    directory.mkdir(parents=True, exist_ok=True)
    written = []
    lines = ["# Study", "", _head(material), ""]
    lines += [f"- **{n}**" for n in said.alarms]
    lines += [f"- {n}" for n in said.notes]
    for a in analyses:
        lines += ["", f"## {a.name.capitalize()}", "", f"*{a.question}*", ""]
        lines += [f"- **{f.verdict}**: {f.text}" for f in a.findings]
        if a.notes:
            lines += ["", *(f"> {n}\n>" for n in a.notes)]
        if a.table.height:
            path = directory / f"{a.name}.csv"
            a.table.write_csv(path)
            written.append(path)
            lines += ["", f"Table: [{path.name}]({path.name})"]
        if a.figure is not None and a.figure.points.height and formats:
            chart = study_chart(a.figure, description=a.question)
            images = save_chart(chart, directory / a.name, formats)
            written += images
            lines += ["", _shown(images, a.question)]
    if truth is not None:
        for name in ("effects", "summary", "metrics"):
            path = directory / f"truth_{name}.csv"
            getattr(truth, name).write_csv(path)
            written.append(path)
    for name, text in (
        ("findings.md", "\n".join(lines) + "\n"),
        ("study.json", document(analyses, material, said, truth) + "\n"),
    ):
        path = directory / name
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _shown(images: Sequence[Path], question: str) -> str:
    """Show the first image that Markdown can show, else link to what there is."""
    image = next((x for x in images if x.suffix in (".png", ".svg")), None)
    if image is None:
        return f"Figure: [{images[0].name}]({images[0].name})"
    return f"![{question}]({image.name})"


def _head(material: Material) -> str:
    known = sum(m in material.facts for m in material.models)
    return (
        f"{counted(len(material.models), 'model')} ({known} in the registry), "
        f"{counted(len(material.benchmarks), 'benchmark')}, "
        f"{100 * material.confidence:.6g}% intervals"
    )


def _share(row: dict[str, Any]) -> str:
    if not row["with_interval"]:
        return "-"
    return f"{row['covered']}/{row['with_interval']}"


def _wrap(text: str, indent: str = "  ") -> str:
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Return rows as JSON can hold them: an infinite number is null, and its row says so."""
    rows = []
    for row in table.iter_rows(named=True):
        numbers = {k: v for k, v in row.items() if isinstance(v, float)}
        rows.append({k: v if math.isfinite(numbers.get(k, 0)) else None for k, v in row.items()})
        if any(map(math.isinf, numbers.values())):
            rows[-1]["unbounded"] = True
    return rows
