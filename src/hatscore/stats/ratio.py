"""Ratios of sums over clustered items, many columns at once: what every score here is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError
from hatscore.stats.bootstrap import bootstrap_ratio
from hatscore.stats.estimate import Estimate
from hatscore.stats.intervals import Region, fieller, score_region, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["BinomialFloor", "Clusters", "ratio_estimates"]

# Below this ratio of clusters that carry the spread to clusters that carry the weight, failures
# are rare events. Simulated: ordinary data have 0.2 to 0.7, nearly saturated ones 0.01 to 0.1.
_RARE = 0.15
_NOTHING = 1e-60


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which items belong together.

    Attributes
    ----------
    labels
        One label per cluster, shape (clusters,), in order of first appearance.
    order, starts
        Items sorted by cluster and where each cluster begins; None when every item stands alone.
    """

    labels: NDArray[np.object_]
    order: NDArray[np.intp] | None = None
    starts: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, groups: ArrayLike | None, n_items: int) -> Clusters:
        """Return the clusters that `groups`, one label per item, describes; None: every item.

        Raises
        ------
        InputError
            Another number of labels than of items.
        """
        if groups is None:
            labels = np.empty(n_items, dtype=object)
            labels[:] = range(n_items)
            return cls(labels)
        given = np.asarray(groups)
        if given.shape != (n_items,):
            raise InputError(
                f"groups needs one label per item, shape ({n_items},); got shape {given.shape}"
            )
        unique, first, codes = np.unique(given, return_index=True, return_inverse=True)
        rank = np.empty(len(unique), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(unique))
        codes = rank[codes]
        labels = np.empty(len(unique), dtype=object)
        labels[:] = given[np.sort(first)].tolist()
        if len(unique) == n_items:
            return cls(labels)
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(unique)))
        return cls(labels, order, starts)

    def sum(self, x: Floats) -> Floats:
        """Add items to clusters: shape (items, columns) to (clusters, columns)."""
        if self.order is None or self.starts is None:
            return x
        return np.add.reduceat(x[self.order], self.starts, axis=0)


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
    """

    weight: Floats
    slope: Floats
    intercept: Floats
    scale: Floats
    target: Floats

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
        share = np.minimum(np.nan_to_num(share), np.nan_to_num(worst))
        w2 = w * w
        return (
            share * (w2 * p0 * (1 - p0)).sum(0),
            share * (w2 * p1 * (1 - 2 * p0)).sum(0),
            share * (w2 * p1 * p1).sum(0),
        )


def ratio_estimates(
    numerator: Floats,
    denominator: Floats,
    present: NDArray[np.bool_],
    *,
    clusters: Clusters,
    floor: BinomialFloor | None,
    estimator: str,
    interval: str,
    confidence: float,
    why_missing: str,
    rng: np.random.Generator | None = None,
    reliability: Sequence[float] | Floats | None = None,
) -> list[Estimate]:
    """Return ``sum(numerator) / sum(denominator)`` per column with interval and influence.

    Parameters
    ----------
    numerator, denominator, present
        Shape (items, columns); absent cells hold zeros and False.
    clusters
        Which items belong together.
    floor
        Binomial lower bound of the variance, None where there is none.
    estimator, confidence, reliability
        Passed into the result; `reliability` one per column.
    interval
        ``fieller`` (joined with the score region where failures are rare events), ``wilson``
        (the score region alone, needs `floor`), ``delta`` or ``bootstrap``.
    why_missing
        Reason to give where the denominator is zero.
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
    value = np.where(known, total_a / safe_u, np.nan)
    influence = np.where(known, (a - np.where(known, value, 0.0) * u) / safe_u, 0.0)
    se = np.sqrt((influence**2).sum(0))
    uu = (u * u).sum(0)
    n_effective = np.where(known, total_u**2 / np.where(uu > 0, uu, 1.0), 0.0)
    centre = np.where(known, value, 0.0)
    if interval == "fieller":
        region = fieller(a, u, confidence)
        low, high, notes = region.low, region.high, _notes(region)
        if floor is not None:
            by_law = score_region(
                total_a, total_u, floor.coefficients(centre, clusters), confidence
            )
            rare = _spread_share(influence, n_effective) < _RARE
            low = np.where(rare, np.fmin(low, by_law.low), low)
            high = np.where(rare, np.fmax(high, by_law.high), high)
    elif interval == "wilson" and floor is not None:
        region = score_region(total_a, total_u, floor.coefficients(centre, clusters), confidence)
        low, high, notes = region.low, region.high, [""] * len(value)
    elif interval == "delta":
        half = np.array([t_quantile(confidence, n) for n in n_effective]) * se
        low, high, notes = value - half, value + half, [""] * len(value)
    else:
        low, high = bootstrap_ratio(a, u, confidence=confidence, rng=rng)
        notes = [""] * len(value)
    rel = np.full(len(value), np.nan) if reliability is None else np.asarray(reliability)
    return [
        Estimate(
            value=float(value[j]),
            # rounding may leave the estimate a hair outside of a nearly empty region
            low=float(min(low[j], value[j])),
            high=float(max(high[j], value[j])),
            se=float(se[j]),
            estimator=estimator,
            interval=interval,
            confidence=confidence,
            n_items=int(n_items[j]),
            n_effective=float(n_effective[j]),
            reliability=float(rel[j]),
            reason=notes[j],
            influence=np.ascontiguousarray(influence[:, j]),
            clusters=clusters.labels,
        )
        if known[j]
        else Estimate.missing(
            "no items" if n_items[j] == 0 else why_missing,
            estimator=estimator,
            interval=interval,
            confidence=confidence,
            n_items=int(n_items[j]),
        )
        for j in range(len(value))
    ]


def _spread_share(influence: Floats, n_effective: Floats) -> Floats:
    """Return the effective number of clusters in the variance over that in the weight."""
    square = influence**2
    fourth = (square * square).sum(0)
    carriers = np.divide(
        square.sum(0) ** 2, fourth, out=np.zeros_like(fourth), where=fourth > _NOTHING
    )
    return carriers / np.maximum(n_effective, 1.0)


def _notes(region: Region) -> list[str]:
    notes = []
    for low, high, left, right in zip(*region, strict=True):
        if not (math.isinf(low) or math.isinf(high)):
            notes.append("")
        elif not math.isnan(left):
            notes.append(
                f"unbounded: too few solved source items; "
                f"only values between {left:.3f} and {right:.3f} are rejected"
            )
        else:
            notes.append("unbounded: too few solved source items to bound the score")
    return notes
