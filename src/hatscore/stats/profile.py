"""The transfer profile E[T | S = s]: its curvature and its integral.

HAT is defined as ``2 * integral of E[T | S = s] ds`` over s in [0, 1]. The slope equals it only
where the profile is a line through the origin. Here the profile is ``b1 s + b2 s**2``, so
``HAT = b1 + 2/3 b2``. The true S is seen through binomial noise; the normal equations

``E[S T] = b1 E[S**2] + b2 E[S**3]``,  ``E[S**2 T] = b1 E[S**3] + b2 E[S**4]``

hold for the true rates, and every moment has an unbiased estimate from counts (see
`counts.falling_moment`), so the noise does not bend the curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

from hatscore.stats.clusters import Clusters
from hatscore.stats.counts import check_counts, falling_moment, rate
from hatscore.stats.estimate import Estimate
from hatscore.stats.intervals import t_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Profile", "profile"]

_DEGREE_MOMENTS = 4
_SINGULAR = 1e-10


@dataclass(frozen=True, slots=True)
class Profile:
    """The quadratic profile of one target.

    Attributes
    ----------
    slope, curvature
        b1 and b2 as Estimates.
    integral
        ``b1 + 2/3 b2``: HAT by its definition.
    curvature_p
        Two-sided p of ``b2 = 0``; NaN where there is no estimate. Small values say that the line
        does not hold and the integral is the number to report.
    """

    slope: Estimate
    curvature: Estimate
    integral: Estimate
    curvature_p: float


def profile(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
) -> list[Profile]:
    """Return the noise-corrected quadratic profile of every target.

    Parameters
    ----------
    k_source, n_source
        Correct replies and replies per item, shape (items,); n may be one number. Items with
        fewer than 4 source replies have no unbiased fourth moment and are left out.
    k_target, n_target
        Shape (items, targets) or (items,); ``n_target`` 0 marks a missing cell.
    groups
        Cluster label per item, shape (items,); default every item is its own cluster.
    confidence
        Level of the intervals, in (0, 1).

    Returns
    -------
    list of Profile
        One per target; values are NaN with a reason where source rates vary too little to tell a
        curve from a line.

    Raises
    ------
    InputError
        Shapes that do not fit, counts outside 0..n.
    """
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=False)
    target = np.asarray(k_target, dtype=np.float64)
    trials = np.asarray(n_target, dtype=np.float64)
    if target.ndim == 1:
        target = target[:, None]
        trials = trials[:, None] if trials.ndim == 1 else trials
    kt, nt = check_counts(target, trials, name="target", ndim=2, whole=False)
    clusters = Clusters.of(groups, len(ks))
    moments = [falling_moment(ks, ns, p)[:, None] for p in range(1, _DEGREE_MOMENTS + 1)]
    t = rate(kt, nt)
    present = (nt > 0) & (ns >= _DEGREE_MOMENTS)[:, None]
    terms = [
        clusters.sum(np.where(present, x, 0.0))
        for x in (
            moments[1] + 0 * t,
            moments[2] + 0 * t,
            moments[3] + 0 * t,
            moments[0] * t,
            moments[1] * t,
        )
    ]
    return [
        _solve(
            [x[:, j] for x in terms],
            clusters=clusters,
            n_items=int(present[:, j].sum()),
            confidence=confidence,
        )
        for j in range(kt.shape[1])
    ]


def _solve(terms: list[Floats], *, clusters: Clusters, n_items: int, confidence: float) -> Profile:
    m2, m3, m4, v1, v2 = terms
    matrix = np.array([[m2.sum(), m3.sum()], [m3.sum(), m4.sum()]])
    scale = matrix[0, 0] * matrix[1, 1]
    det = matrix[0, 0] * matrix[1, 1] - matrix[0, 1] ** 2
    if n_items == 0 or scale <= 0 or det <= _SINGULAR * scale:
        reason = (
            "no items with at least 4 source replies"
            if n_items == 0
            else "source rates vary too little to tell a curve from a line"
        )
        lost = Estimate.missing(
            reason,
            estimator="profile",
            interval="delta",
            confidence=confidence,
            n_items=n_items,
        )
        return Profile(lost, lost, lost, math.nan)
    inverse = np.array([[matrix[1, 1], -matrix[0, 1]], [-matrix[0, 1], matrix[0, 0]]]) / det
    coefficients = inverse @ np.array([v1.sum(), v2.sum()])
    b1, b2 = coefficients
    residuals = np.stack([v1 - b1 * m2 - b2 * m3, v2 - b1 * m3 - b2 * m4])
    influence = inverse @ residuals
    n_effective = float(m2.sum() ** 2 / (m2**2).sum())

    def estimate(weights: tuple[float, float]) -> Estimate:
        row = np.asarray(weights)
        value = float(row @ coefficients)
        part = row @ influence
        se = math.sqrt(float(part @ part))
        half = t_quantile(confidence, n_effective) * se
        return Estimate(
            value=value,
            low=value - half,
            high=value + half,
            se=se,
            estimator="profile",
            interval="delta",
            confidence=confidence,
            n_items=n_items,
            n_effective=n_effective,
            influence=part,
            clusters=clusters.labels,
        )

    curvature = estimate((0.0, 1.0))
    return Profile(
        estimate((1.0, 0.0)),
        curvature,
        estimate((1.0, 2 / 3)),
        _two_sided_p(curvature, n_effective),
    )


def _two_sided_p(estimate: Estimate, n_effective: float) -> float:
    if estimate.se == 0 or n_effective <= 1:
        return math.nan
    se = estimate.se * math.sqrt(n_effective / (n_effective - 1))
    return float(2 * stdtr(n_effective - 1, -abs(estimate.value) / se))
