"""Ratios of sums over clustered items, many columns at once: what every score here is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hatscore.errors import InputError
from hatscore.stats.bootstrap import bootstrap_ratio
from hatscore.stats.estimate import Estimate
from hatscore.stats.intervals import fieller, score_region, t_half_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hatscore.stats.clusters import Clusters

    Floats = NDArray[np.float64]

__all__ = ["BinomialFloor", "RatioTable", "ratio_estimates", "ratio_table"]

# Below this ratio of clusters that carry the spread to clusters that carry the weight, failures
# are rare events. Simulated: ordinary data have 0.2 to 0.7, nearly saturated ones 0.01 to 0.1.
_RARE = 0.15
_NOTHING = 1e-60


@dataclass(frozen=True, slots=True)
class BinomialFloor:
    """What the binomial law says about the noise of a column (see `intervals`), per item.

    All arrays have shape (items, columns) and hold zeros where an item is absent.

    Attributes
    ----------
    weight
        Factor of the target rate in the numerator.
    slope
        Expected target rate is ``intercept + m * slope``.
    intercept
        Part of the expected target rate that does not depend on m (chance), as a rate.
    scale
        What a change of the target rate by one changes the numerator by is ``weight / scale``.
    target
        Observed target rates.
    trials
        Replies behind each observed rate.
    """

    weight: Floats
    slope: Floats
    intercept: Floats
    scale: Floats
    target: Floats
    trials: Floats

    def coefficients(self, value: Floats, clusters: Clusters) -> tuple[Floats, Floats, Floats]:
        """Return ``c0, c1, c2`` of the least variance ``c0 + c1 m - c2 m**2`` per column."""
        w = self.weight / self.scale
        p0, p1 = self.intercept, self.slope
        residual = w * (self.target - p0 - value * p1)
        between = (residual**2).sum(0)
        within = (w * w * self.target * (1 - self.target)).sum(0)
        clustered = (clusters.sum(residual) ** 2).sum(0)
        power = (w * w).sum(0)
        together = (clusters.sum(np.abs(w)) ** 2).sum(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = together / power
            share = np.where(
                between + within > 1e-12 * power, clustered / (between + within), worst
            )
        # items that are alike given s still scatter like n draws each; those of one cluster may
        # be the same draws
        alike = np.divide(w * w, self.trials, out=np.zeros_like(w), where=self.trials > 0).sum(0)
        worst = np.nan_to_num(worst)
        least = worst * np.divide(alike, power, out=np.zeros_like(power), where=power > 0)
        share = np.minimum(np.maximum(np.nan_to_num(share), least), worst)
        w2 = w * w
        return (
            share * (w2 * p0 * (1 - p0)).sum(0),
            share * (w2 * p1 * (1 - 2 * p0)).sum(0),
            share * (w2 * p1 * p1).sum(0),
        )


class RatioTable(NamedTuple):
    """Ratios of many columns, as arrays.

    Attributes
    ----------
    value, low, high, se, n_effective
        Shape (columns,); `value` is NaN where the denominator is zero.
    n_items
        Items that entered, shape (columns,).
    influence
        Shape (clusters, columns).
    hole_low, hole_high
        The only rejected values of an unbounded region, NaN elsewhere; shape (columns,).
    """

    value: Floats
    low: Floats
    high: Floats
    se: Floats
    n_effective: Floats
    n_items: NDArray[np.int64]
    influence: Floats
    hole_low: Floats
    hole_high: Floats


def ratio_table(
    numerator: Floats,
    denominator: Floats,
    present: NDArray[np.bool_],
    *,
    clusters: Clusters,
    floor: BinomialFloor | None,
    interval: str,
    confidence: float,
    rng: np.random.Generator | None = None,
) -> RatioTable:
    """Return ``sum(numerator) / sum(denominator)`` per column with interval and influence.

    Parameters
    ----------
    numerator, denominator, present
        Shape (items, columns); absent cells hold zeros and False.
    clusters
        Which items belong together.
    floor
        Binomial lower bound of the variance, None where there is none.
    interval
        ``fieller`` (joined with the score region where failures are rare events), ``wilson``
        (the score region alone, needs `floor`), ``delta`` or ``bootstrap``.
    confidence
        Level, in (0, 1).
    rng
        Generator for the bootstrap.

    Raises
    ------
    InputError
        Unknown interval.
    """
    if interval not in ("fieller", "delta", "bootstrap") and (interval != "wilson" or not floor):
        raise InputError(f"interval must be fieller, delta or bootstrap; got {interval!r}")
    a, u = clusters.sum(numerator), clusters.sum(denominator)
    total_a, total_u = a.sum(0), u.sum(0)
    n_items = present.sum(0)
    known = (total_u > 0) & (n_items > 0)
    safe_u = np.where(known, total_u, 1.0)
    centre = np.where(known, total_a / safe_u, 0.0)
    influence = np.where(known, (a - centre * u) / safe_u, 0.0)
    se = np.sqrt((influence**2).sum(0))
    uu = (u * u).sum(0)
    n_effective = np.where(known, total_u**2 / np.where(uu > 0, uu, 1.0), 0.0)
    hole = np.full((2, len(centre)), np.nan)
    if interval == "fieller":
        low, high, *hole_ends = fieller(a, u, confidence)
        hole[:] = hole_ends
        needs_floor = _spread_share(influence, n_effective) < _RARE
    elif interval == "wilson":
        low, high = np.full_like(centre, np.nan), np.full_like(centre, np.nan)
        needs_floor = known
    elif interval == "delta":
        half = np.array(
            [t_half_width(confidence, n, e) for n, e in zip(n_effective, se, strict=True)]
        )
        low, high = centre - half, centre + half
        needs_floor = se == 0
    else:
        low, high = bootstrap_ratio(a, u, confidence=confidence, rng=rng)
        needs_floor = se == 0
    if floor is not None and needs_floor.any():
        by_law = score_region(total_a, total_u, floor.coefficients(centre, clusters), confidence)
        low = np.where(needs_floor, np.fmin(low, by_law.low), low)
        high = np.where(needs_floor, np.fmax(high, by_law.high), high)
    return RatioTable(
        value=np.where(known, centre, np.nan),
        # rounding may leave the estimate a hair outside of a nearly empty region
        low=np.where(known, np.minimum(low, centre), np.nan),
        high=np.where(known, np.maximum(high, centre), np.nan),
        se=np.where(known, se, np.nan),
        n_effective=n_effective,
        n_items=n_items,
        influence=influence,
        hole_low=hole[0],
        hole_high=hole[1],
    )


def ratio_estimates(
    table: RatioTable,
    *,
    clusters: Clusters,
    estimator: str,
    interval: str,
    confidence: float,
    why_missing: str,
    reliability: Floats | None = None,
) -> list[Estimate]:
    """Return the columns of a table as Estimates; `why_missing` explains a zero denominator."""
    rel = np.full(len(table.value), np.nan) if reliability is None else reliability
    return [
        Estimate(
            value=float(table.value[j]),
            low=float(table.low[j]),
            high=float(table.high[j]),
            se=float(table.se[j]),
            estimator=estimator,
            interval=interval,
            confidence=confidence,
            n_items=int(table.n_items[j]),
            n_effective=float(table.n_effective[j]),
            reliability=float(rel[j]),
            reason=_note(table, j),
            influence=np.ascontiguousarray(table.influence[:, j]),
            clusters=clusters.labels,
        )
        if not math.isnan(table.value[j])
        else Estimate.missing(
            "no items" if table.n_items[j] == 0 else why_missing,
            estimator=estimator,
            interval=interval,
            confidence=confidence,
            n_items=int(table.n_items[j]),
        )
        for j in range(len(table.value))
    ]


def _spread_share(influence: Floats, n_effective: Floats) -> Floats:
    """Return the effective number of clusters in the variance over that in the weight."""
    square = influence**2
    fourth = (square * square).sum(0)
    carriers = np.divide(
        square.sum(0) ** 2, fourth, out=np.zeros_like(fourth), where=fourth > _NOTHING
    )
    share: Floats = carriers / np.maximum(n_effective, 1.0)
    return share


def _note(table: RatioTable, j: int) -> str:
    if not (math.isinf(table.low[j]) or math.isinf(table.high[j])):
        return ""
    if math.isnan(table.hole_low[j]):
        return "unbounded: too few solved source items to bound the score"
    return (
        "unbounded: too few solved source items; only values between "
        f"{table.hole_low[j]:.3f} and {table.hole_high[j]:.3f} are rejected"
    )
