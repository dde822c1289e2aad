"""Whether models of one size differ by family, paired on the items that both answered."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore.studies.effects import gap_between, student_p
from hatscore.studies.result import (
    Analysis,
    Figure,
    Finding,
    between,
    cannot_tell,
    counted,
    effect_figure,
    effect_row,
    judged,
    read_together,
)
from hatscore.studies.size import sized as sized_in

if TYPE_CHECKING:
    from hatscore.studies.material import Material

__all__ = ["COMPARABLE", "family"]

QUESTION = "Do families differ in HAT at comparable size?"
COMPARABLE = 1.5
"""Largest ratio of total parameters at which two models count as of one size."""


def family(material: Material, *, ratio: float = COMPARABLE) -> Analysis:
    """Return paired differences of models of different families within `ratio` of size."""
    of_scope = {
        scope: [m for m in sized_in(material, scope) if material.facts[m].family]
        for scope in material.scopes
    }
    sized = list(dict.fromkeys(m for models in of_scope.values() for m in models))
    families = {material.facts[m].family for m in sized}
    notes = []
    if lost := [m for m in material.models if m not in sized]:
        notes.append(
            f"without size, family or HAT, or further settings or names of a model: "
            f"{', '.join(lost)}"
        )
    pairs = [
        (a, b)
        for a, b in combinations(sized, 2)
        if material.facts[a].family != material.facts[b].family and _ratio(material, a, b) <= ratio
    ]
    if not pairs:
        return cannot_tell(
            "family",
            QUESTION,
            f"no two of {counted(len(sized), 'model')} of known size are of different families and "
            f"within a factor of {ratio:g} in parameters ({len(families)} known)",
            notes,
        )
    rows: list[dict[str, Any]] = []
    for scope in material.scopes:
        members = of_scope[scope]
        for a, b in pairs:
            if a not in members or b not in members:
                continue
            gap = gap_between(
                material.score(a, scope, "HAT"),
                material.score(b, scope, "HAT"),
                confidence=material.confidence,
            )
            rows.append(
                {
                    "benchmark": scope,
                    "first": a,
                    "second": b,
                    "families": f"{material.facts[a].family} - {material.facts[b].family}",
                    "size_ratio": _ratio(material, a, b),
                    **effect_row(gap, student_p(gap)),
                }
            )
    if not rows:
        return cannot_tell(
            "family", QUESTION, "models of comparable size share no benchmark", notes
        )
    kinds = dict.fromkeys(material.benchmarks, "HAT, over items")
    kinds["all"] = "HAT, over items, mean over benchmarks"
    discovery = read_together(
        [(r, "p", kinds[r["benchmark"]]) for r in rows], confidence=material.confidence
    )
    table = pl.DataFrame(rows, infer_schema_length=None)
    notes.append(
        "Differences are of these two models, over other items: what two models show is not "
        "what two families are."
    )
    if discovery:
        notes.append(discovery)
    findings = tuple(_say(table, material.confidence))
    return Analysis("family", QUESTION, table, findings, _figure(table), tuple(notes))


def _ratio(material: Material, a: str, b: str) -> float:
    sizes = [material.facts[m].parameters_total or math.nan for m in (a, b)]
    return max(sizes) / min(sizes)


def _say(table: pl.DataFrame, confidence: float) -> list[Finding]:
    found = []
    last = table["benchmark"][-1]
    for row in table.filter(pl.col("benchmark") == last).iter_rows(named=True):
        shown = between(row["value"], row["low"], row["high"], sign=True)
        verdict, words = judged(row, confidence)
        text = f"{last}: {row['first']} minus {row['second']}: HAT {shown}{words}"
        if verdict == "not shown":
            text += "; which of them transfers better is open"
        found.append(Finding(verdict, f"{text}."))
    return found


def _figure(table: pl.DataFrame) -> Figure:
    pair = pl.format("{} - {}", "first", "second")
    return effect_figure(table, panel="benchmark", label=pair, y_label="difference in HAT")
