"""The table of one model on one benchmark, before it is drawn in a terminal or on a page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore.outcomes import STATUS_COLUMNS
from hatscore.report.health import status_shares
from hatscore.report.text import (
    MISSING,
    headline,
    interval,
    label,
    number,
    p_value,
    percent,
    with_interval,
)
from hatscore.scoring import MACRO
from hatscore.stats.estimate import p_value as significance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hatscore.outcomes import Outcomes
    from hatscore.scoring import Measurement
    from hatscore.stats.estimate import Estimate

__all__ = ["CURVED_P", "Block", "Cell", "Column", "Row", "blocks_of", "by_block", "profile_notes"]

CURVED_P = 0.01
"""Below this p the profile counts as curved, and its integral is named beside the slope."""
STATUS_SHOWN = 0.005
"""A status gets a column when its share exceeds this in some language of the block."""

_TITLES = {
    "language": ("language", "Target language"),
    "source_accuracy": ("source acc.", "Accuracy in the source language"),
    "target_accuracy": ("target acc.", "Accuracy in the target language"),
    "gap": ("gap", "Source accuracy minus target accuracy"),
    "transfer_score": ("transf. score", "P(target right given source right)"),
    "hat": ("HAT", "Hardness Adjusted Transfer, corrected slope"),
    "hat_plugin": ("plug-in HAT", "Least-squares slope as published, not corrected for noise"),
    "reliability": ("relia- bility", "Share of the squared source rates that is signal"),
    "hat_chance_adjusted": ("HAT adj.", "HAT with blind guessing taken out of both rates"),
    "n_items": ("n", "Items"),
    "judge_unparsed": ("judge unp.", "Share of replies whose verdict could not be read"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: key, short header (words may stand below each other), full title."""

    key: str
    header: str
    title: str


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell says: text, interval in brackets or "", numbers of its footnotes."""

    text: str
    interval: str = ""
    marks: tuple[int, ...] = ()

    @property
    def mark(self) -> str:
        """The footnote numbers, ``(1, 2)``, or nothing."""
        return f"({', '.join(map(str, self.marks))})" if self.marks else ""


@dataclass(frozen=True, slots=True)
class Row:
    """One language; `cells` by column key, `score` the HAT as a number, NaN if there is none."""

    language: str
    label: str
    cells: dict[str, Cell]
    score: float

    @property
    def macro(self) -> bool:
        """Whether this is the mean over languages."""
        return self.language == MACRO


@dataclass(frozen=True, slots=True)
class Block:
    """One model on one benchmark; `main` is the key of the column that holds the HAT to read."""

    model: str
    benchmark: str
    main: str
    confidence: float
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    footnotes: tuple[str, ...]


def by_block(measurements: Iterable[Measurement]) -> dict[tuple[str, str], list[Measurement]]:
    """Group measurements by (model, benchmark), in order of first appearance."""
    found: dict[tuple[str, str], list[Measurement]] = {}
    for m in measurements:
        found.setdefault((m.model, m.benchmark), []).append(m)
    return found


def blocks_of(measurements: Sequence[Measurement], outcomes: Outcomes) -> list[Block]:
    """Lay out one block per (model, benchmark).

    The chance-adjusted score appears where the benchmark has a guess rate, a status column where
    a language of the block has more than `STATUS_SHOWN` of it. Where no language has a corrected
    slope but some have a plug-in, the plug-in is the block's main column.
    """
    shares = {
        (row["model"], row["benchmark"], row["language"]): row
        for row in status_shares(outcomes).iter_rows(named=True)
    }
    guessed = set(
        outcomes.frame.filter(pl.col("chance") > 0).select("model", "benchmark").unique().rows()
    )
    return [
        _block(model, benchmark, part, shares, guessed=(model, benchmark) in guessed)
        for (model, benchmark), part in by_block(measurements).items()
    ]


def profile_notes(measurements: Iterable[Measurement]) -> list[str]:
    """Say where the profile is no line through the origin (p below `CURVED_P`), and what then.

    A curved profile has its integral for HAT. One with a floor is right where the source never
    is: such a target guesses, or knows what the source does not.
    """
    notes = []
    for m in measurements:
        where = f"{m.model} on {m.benchmark}"
        integral, floor = m.scores["hat_profile"], m.scores["floor"]
        if m.curvature_p < CURVED_P and not math.isnan(integral.value):
            notes.append(
                f"{where}: profile is curved in {m.language} ({p_value(m.curvature_p)}): "
                f"the integral {with_interval(integral)} is the HAT there"
            )
        above = significance(floor) / 2 if floor.value > 0 else math.nan
        if m.language != MACRO and above < CURVED_P:
            notes.append(
                f"{where}: {m.language} is right in {with_interval(floor)} of replies where the "
                f"source never is ({p_value(above)}): it guesses, or knows what the source does not"
            )
    return notes


def _block(
    model: str,
    benchmark: str,
    part: list[Measurement],
    shares: dict[tuple[str, str, str], dict[str, Any]],
    *,
    guessed: bool,
) -> Block:
    names = {headline(m)[0] for m in part if m.language != MACRO}
    main = "hat_plugin" if names == {"hat_plugin"} else "hat"
    languages = [shares.get((model, benchmark, m.language), {}) for m in part]
    statuses = [
        c for c in STATUS_COLUMNS if any((row.get(c) or 0) > STATUS_SHOWN for row in languages)
    ]
    other = "hat" if main == "hat_plugin" else "hat_plugin"
    keys = ["source_accuracy", "target_accuracy", "gap", "transfer_score", other, "reliability"]
    keys += ["hat_chance_adjusted"] * guessed
    footnotes: dict[str, int] = {}
    rows = []
    for m, share in zip(part, languages, strict=True):
        cells = {"language": Cell(label(m.language))}
        for key in (main, *keys):
            estimate = m.scores["hat" if key == "reliability" else key]
            cells[key] = _cell(key, estimate, footnotes, main=key == main)
        cells["n_items"] = Cell(str(m.scores["target_accuracy"].n_items))
        for c in statuses:
            cells[c] = Cell("" if m.language == MACRO else percent(share.get(c)))
        rows.append(Row(m.language, label(m.language), cells, m.scores[main].value))
    return Block(
        model=model,
        benchmark=benchmark,
        main=main,
        confidence=part[0].scores["target_accuracy"].confidence,
        columns=tuple(_columns(["language", main, "n_items", *keys, *statuses])),
        rows=tuple(rows),
        footnotes=tuple(footnotes),
    )


def _columns(keys: list[str]) -> Iterator[Column]:
    for key in keys:
        header, title = _TITLES.get(key, (key, f"Share of replies that are {key}"))
        yield Column(key, header, title)


def _cell(key: str, estimate: Estimate, footnotes: dict[str, int], *, main: bool) -> Cell:
    """Write an estimate; a footnote says why it is missing or its interval unusual."""
    if key == "reliability":
        return Cell(number(estimate.reliability))
    marks: tuple[int, ...] = ()
    missing = math.isnan(estimate.value)
    if estimate.reason and (main or missing or not estimate.bounded):
        marks = (footnotes.setdefault(estimate.reason, len(footnotes) + 1),)
    return Cell(MISSING if missing else number(estimate.value), interval(estimate), marks)
