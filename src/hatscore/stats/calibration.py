"""How far the estimators are off, and how often their intervals hold the truth.

Data sets with a known slope are drawn many times and scored by the very functions that score
real ones. The truth of ``corrected`` is the slope; the same number is what ``plugin`` is
compared with, which shows its bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError
from hatscore.stats.clusters import Clusters
from hatscore.stats.counts import check_chance
from hatscore.stats.hat import slope_parts, slope_table
from hatscore.stats.simulate import SourceRates, simulate

if TYPE_CHECKING:
    from hatscore.stats.hat import Estimator, Interval

__all__ = ["Calibration", "Condition", "calibrate"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One way the world could be, and a design to look at it.

    Attributes
    ----------
    source
        As for `simulate`.
    slope, concentration, chance
        Truth, as for `simulate`. With a chance the chance-adjusted estimator is judged.
    n_items, n_source, n_target
        The design.
    """

    source: SourceRates
    slope: float = 0.8
    concentration: float | None = None
    n_items: int = 250
    n_source: int = 10
    n_target: int = 10
    chance: float = 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """What repeated draws of one condition showed.

    Attributes
    ----------
    n_effective
        Median effective number of items.
    bias, bias_se
        Mean estimate minus truth over draws that have an estimate, and its Monte-Carlo error.
    median_bias
        Median estimate minus truth: robust where single draws run away.
    coverage, coverage_se
        Share of intervals that hold the truth, and its Monte-Carlo error.
    unbounded, missing
        Shares of draws with an unbounded interval and without an estimate.
    """

    n_effective: float
    bias: float
    bias_se: float
    median_bias: float
    coverage: float
    coverage_se: float
    unbounded: float
    missing: float


def calibrate(
    condition: Condition,
    *,
    repetitions: int = 2000,
    estimator: Estimator = "corrected",
    interval: Interval = "fieller",
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> Calibration:
    """Draw `condition` many times and look at bias and coverage.

    Parameters
    ----------
    condition
        Truth and design.
    repetitions
        Data sets to draw, at least 2.
    estimator, interval, confidence
        As for `hat_score`.
    rng
        Generator.

    Raises
    ------
    InputError
        Fewer than 2 repetitions, or a condition that `simulate` refuses.
    """
    if repetitions < 2:  # noqa: PLR2004 - a spread needs two
        raise InputError(f"calibrate needs at least 2 repetitions, got {repetitions}")
    c = condition
    data = simulate(
        c.n_items * repetitions,
        slopes=c.slope,
        source=c.source,
        n_source=c.n_source,
        n_target=c.n_target,
        concentration=c.concentration,
        chance=c.chance,
        rng=rng,
    )
    shape = (c.n_items, repetitions)
    parts = slope_parts(
        data.k_source.reshape(shape).astype(np.float64),
        data.n_source.reshape(shape).astype(np.float64),
        data.k_target.reshape(shape).astype(np.float64),
        data.n_target.reshape(shape).astype(np.float64),
        chance=check_chance(c.chance, c.n_items),
        estimator=estimator,
    )
    table = slope_table(
        parts,
        clusters=Clusters.of(None, c.n_items),
        interval=interval,
        confidence=confidence,
        rng=rng,
    )
    known = ~np.isnan(table.value)
    if not known.any():
        nan = math.nan
        return Calibration(0.0, nan, nan, nan, nan, nan, nan, 1.0)
    error = table.value[known] - c.slope
    # an unbounded region of the form "everything but a hole" does not hold what is in the hole
    outside = (table.hole_low < c.slope) & (c.slope < table.hole_high)
    holds = ((table.low <= c.slope) & (c.slope <= table.high) & ~outside)[known]
    coverage = float(holds.mean())
    return Calibration(
        n_effective=float(np.median(table.n_effective[known])),
        bias=float(error.mean()),
        bias_se=float(error.std(ddof=1) / math.sqrt(len(error))) if len(error) > 1 else math.nan,
        median_bias=float(np.median(error)),
        coverage=coverage,
        coverage_se=math.sqrt(max(coverage * (1 - coverage), 1e-9) / len(holds)),
        unbounded=float(np.isinf(table.low[known]).mean()),
        missing=float(1 - known.mean()),
    )
