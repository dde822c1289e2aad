"""Every score of every language, with intervals, from one canonical table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from hatscore.errors import InputError
from hatscore.stats import (
    CLASSICAL,
    Estimate,
    classical_scores,
    hat_macro,
    hat_scores,
    mean,
    mean_of_shares,
    profile,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.outcomes import Aligned, Outcomes

__all__ = ["MACRO", "MEASURE_COLUMNS", "Measurement", "measure", "measurements", "tabulate"]

MACRO = "macro"
MEASURE_COLUMNS = (
    "model",
    "benchmark",
    "language",
    "n_items",
    *CLASSICAL,
    "hat",
    "hat_low",
    "hat_high",
    "hat_se",
    "hat_plugin",
    "hat_plugin_low",
    "hat_plugin_high",
    "reliability",
    "hat_chance_adjusted",
    "hat_profile",
    "curvature_p",
    "reason",
)
_SHARES = frozenset({"source_accuracy", "target_accuracy", "overall"})
_WITHOUT_CHANCE = "the benchmark has no guess rate"


@dataclass(frozen=True, slots=True)
class Measurement:
    """All scores of one target language, or of their macro average.

    Attributes
    ----------
    model, benchmark, language
        Whose scores these are; `language` is ``macro`` for the mean over languages.
    scores
        Estimates by name: those of `stats.CLASSICAL`, ``hat``, ``hat_plugin``,
        ``hat_chance_adjusted``, ``hat_profile`` and ``floor``: E[T | S = 0], above guessing.
    curvature_p
        p of the test that the profile is a line; NaN for macro.
    """

    model: str
    benchmark: str
    language: str
    scores: Mapping[str, Estimate]
    curvature_p: float

    @property
    def reason(self) -> str:
        """Why `hat` is missing or its interval unusual, and what the plug-in says then."""
        return self.scores["hat"].reason


def measure(
    outcomes: Outcomes,
    *,
    confidence: float = 0.95,
    interval: Literal["fieller", "delta", "bootstrap"] = "fieller",
) -> pl.DataFrame:
    """Return one row per (model, benchmark, language) and a macro row per (model, benchmark).

    Parameters
    ----------
    outcomes
        The canonical table.
    confidence
        Level of the intervals, in (0, 1).
    interval
        Interval of the HAT columns, as for `hat_score`.

    Returns
    -------
    polars.DataFrame
        Columns `MEASURE_COLUMNS`. Rates lie in [0, 1]; a score that the data cannot give is NaN,
        and ``reason`` says why. With one source reply per item ``hat`` is NaN and ``hat_plugin``
        holds the slope. ``macro`` is the unweighted mean over languages.

    Raises
    ------
    InputError
        A level outside (0, 1), an unknown interval.
    """
    return tabulate(measurements(outcomes, confidence=confidence, interval=interval))


def tabulate(found: Sequence[Measurement]) -> pl.DataFrame:
    """Return the table of `measure` for measurements already made."""
    text = {"model", "benchmark", "language", "reason"}
    schema = {
        c: pl.String if c in text else pl.Int64 if c == "n_items" else pl.Float64
        for c in MEASURE_COLUMNS
    }
    return pl.DataFrame([_row(m) for m in found], schema=schema, orient="row")


def measurements(
    outcomes: Outcomes,
    *,
    confidence: float = 0.95,
    interval: Literal["fieller", "delta", "bootstrap"] = "fieller",
) -> list[Measurement]:
    """Return what `measure` tabulates as Estimates, with their influences."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    found = []
    for block in outcomes.aligned():
        found += _measure_block(block, confidence, interval)
    return found


def _measure_block(
    block: Aligned, confidence: float, interval: Literal["fieller", "delta", "bootstrap"]
) -> list[Measurement]:
    counts = (block.k_source, block.n_source, block.k_target, block.n_target)
    if not block.languages:
        return []
    # partial credit has no unbiased square: the corrected slope is then missing, and says so
    whole = all(bool((x == x.round()).all()) for x in counts)
    weights = block.weights
    columns: dict[str, list[Estimate]] = dict(
        classical_scores(*counts, groups=block.groups, weights=weights, confidence=confidence)
    )
    columns["hat_plugin"] = hat_scores(
        *counts,
        estimator="plugin",
        interval=interval,
        groups=block.groups,
        weights=weights,
        confidence=confidence,
    )
    macro = {
        name: (mean_of_shares if name in _SHARES else mean)(column, confidence=confidence)
        for name, column in columns.items()
    }
    macro["hat_plugin"] = hat_macro(
        *counts, estimator="plugin", groups=block.groups, weights=weights, confidence=confidence
    )
    for name, chance in (("hat", 0.0), ("hat_chance_adjusted", block.chance)):
        if not whole:
            lost = _missing("partial credit: only the plug-in exists", confidence)
            columns[name], macro[name] = [lost] * len(block.languages), lost
        elif name != "hat" and not block.chance.any():
            lost = _missing(_WITHOUT_CHANCE, confidence)
            columns[name], macro[name] = [lost] * len(block.languages), lost
        else:
            columns[name] = [
                _corrected_only(e)
                for e in hat_scores(
                    *counts,
                    interval=interval,
                    groups=block.groups,
                    chance=chance,
                    weights=weights,
                    confidence=confidence,
                )
            ]
            macro[name] = _corrected_only(
                hat_macro(
                    *counts,
                    groups=block.groups,
                    chance=chance,
                    weights=weights,
                    confidence=confidence,
                )
            )
    profiles = profile(*counts, groups=block.groups, weights=weights, confidence=confidence)
    columns["hat_profile"] = [p.integral for p in profiles]
    macro["hat_profile"] = mean(columns["hat_profile"], confidence=confidence)
    # a guess rate lifts the floor of everything: what counts is what is above it
    above = (
        profile(
            *counts,
            groups=block.groups,
            chance=block.chance,
            weights=weights,
            confidence=confidence,
        )
        if block.chance.any()
        else profiles
    )
    columns["floor"] = [p.floor for p in above]
    macro["floor"] = mean(columns["floor"], confidence=confidence)
    found = [
        Measurement(
            block.model,
            block.benchmark,
            language,
            {name: column[j] for name, column in columns.items()},
            profiles[j].curvature_p,
        )
        for j, language in enumerate(block.languages)
    ]
    return [*found, Measurement(block.model, block.benchmark, MACRO, macro, math.nan)]


def _corrected_only(estimate: Estimate) -> Estimate:
    """Keep a plug-in out of the corrected column: two estimators in one column mislead."""
    if estimate.estimator != "plugin":
        return estimate
    return _missing(estimate.reason, estimate.confidence, n_items=estimate.n_items)


def _missing(reason: str, confidence: float, *, n_items: int = 0) -> Estimate:
    return Estimate.missing(
        reason, estimator="corrected", interval="fieller", confidence=confidence, n_items=n_items
    )


def _row(m: Measurement) -> list[object]:
    hat, plugin = m.scores["hat"], m.scores["hat_plugin"]
    return [
        m.model,
        m.benchmark,
        m.language,
        m.scores["target_accuracy"].n_items,
        *(m.scores[name].value for name in CLASSICAL),
        hat.value,
        hat.low,
        hat.high,
        hat.se,
        plugin.value,
        plugin.low,
        plugin.high,
        hat.reliability,
        m.scores["hat_chance_adjusted"].value,
        m.scores["hat_profile"].value,
        m.curvature_p,
        m.reason,
    ]
