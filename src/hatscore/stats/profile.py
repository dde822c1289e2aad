"""The transfer profile E[T | S = s]: its curvature, its floor and its integral.

HAT is defined as ``2 * integral of E[T | S = s] ds`` over s in [0, 1]. The slope equals it only
where the profile is a line through the origin. Here the profile is ``b1 s + b2 s**2``, so
``HAT = b1 + 2/3 b2``. The true S is seen through binomial noise; the normal equations

``E[S T] = b1 E[S**2] + b2 E[S**3]``,  ``E[S**2 T] = b1 E[S**3] + b2 E[S**4]``

hold for the true rates, and every moment has an unbiased estimate from counts (see
`counts.falling_moment`), so the noise does not bend the curve. The floor, E[T | S = 0], is the
constant of the same regression with one more term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

from hatscore.stats.clusters import Clusters
from hatscore.stats.counts import check_chance, check_counts, falling_moment, rate
from hatscore.stats.estimate import Estimate, p_value
from hatscore.stats.intervals import t_half_width, wilson
from hatscore.stats.weighting import Planned, check_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Profile", "profile"]

_HIGHEST = 4
_SINGULAR = 1e-9
_LINE = (1, 2)
_WITH_FLOOR = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Profile:
    """The quadratic profile of one target.

    Attributes
    ----------
    slope, curvature
        b1 and b2 as Estimates.
    integral
        ``b1 + 2/3 b2``: HAT by its definition.
    floor
        E[T | S = 0] of the regression with a constant. Clearly above zero, the target knows
        what the source does not, or guesses. Under a sampling plan few items stand for those
        that the source never solved, and where the target solves none of them their spread says
        nothing; the upper end is then at least Wilson's for their target rate, which the floor
        is below as long as targets do not fall where sources rise.
    curvature_p
        Two-sided p of ``b2 = 0``; NaN where there is no estimate. Small values say that the line
        does not hold and the integral is the number to report.
    floor_p
        One-sided p of ``floor <= 0``.
    """

    slope: Estimate
    curvature: Estimate
    integral: Estimate
    floor: Estimate
    curvature_p: float
    floor_p: float


def profile(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    chance: ArrayLike = 0.0,
    weights: ArrayLike | None = None,
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
    chance
        Guess rate, one number or shape (items,); rates become ``(rate - g) / (1 - g)``.
    weights
        Cells that a cell stands for, as for `hat_scores`. Without chance only the floor needs
        them: all other terms of an item that the source never solved are zero.
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
    guess = check_chance(chance, len(ks))
    clusters = Clusters.of(groups, len(ks))
    powers = _powers(ks, ns, guess)
    t = (rate(kt, nt) - guess[:, None]) / (1 - guess)[:, None]
    seen = (nt > 0) & (ns >= _HIGHEST)[:, None]
    standing = check_weights(weights, nt)
    planned = None if standing is None else Planned.of(standing, seen, ks[:, None])
    present = seen if planned is None else planned.counted & (ns >= _HIGHEST)[:, None]
    products = [np.where(seen, x[:, None] * t, 0.0) for x in powers[:3]]
    if planned is not None:
        products = [planned.fill(x) for x in products]
    # under a plan few items say what the target does where the source does nothing
    n_floor = np.full(kt.shape[1], np.inf)
    upper = np.full(kt.shape[1], -np.inf)
    if planned is not None:
        thinned = (planned.stratum & (ks == 0)[:, None]).any(0)
        n_floor = np.where(thinned, planned.standing(0), np.inf)
        standing_for = planned.stratum & seen & (ks == 0)[:, None]
        upper = _upper_rates(rate(kt, nt), guess, standing_for, confidence)
    # shape (clusters, columns) for S**p and S**p T
    alone = [clusters.sum(np.where(present, x[:, None], 0.0)) for x in powers]
    joint = [clusters.sum(x) for x in products]
    return [
        _solve(
            [x[:, j] for x in alone],
            [x[:, j] for x in joint],
            clusters=clusters,
            n_items=int(present[:, j].sum()),
            confidence=confidence,
            at_floor=n_floor[j],
            upper=upper[j],
        )
        for j in range(kt.shape[1])
    ]


def _powers(ks: Floats, ns: Floats, guess: Floats) -> list[Floats]:
    """Return unbiased estimates of ``((S - g) / (1 - g))**p`` for p = 0..4, shape (items,)."""
    moments = [np.ones_like(ks), *(falling_moment(ks, ns, p) for p in range(1, _HIGHEST + 1))]
    return [
        sum(
            (math.comb(p, j) * (-guess) ** (p - j) * moments[j] for j in range(p + 1)),
            start=np.zeros_like(ks),
        )
        / (1 - guess) ** p
        for p in range(_HIGHEST + 1)
    ]


def _solve(
    alone: list[Floats],
    joint: list[Floats],
    *,
    clusters: Clusters,
    n_items: int,
    confidence: float,
    at_floor: float,
    upper: float,
) -> Profile:
    line = _fit(alone, joint, _LINE)
    if n_items == 0 or line is None:
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
        return Profile(lost, lost, lost, lost, math.nan, math.nan)
    square = alone[2]
    n_effective = float(square.sum() ** 2 / (square**2).sum())

    def estimate(fit: tuple[Floats, Floats], weights: tuple[float, ...], n: float) -> Estimate:
        coefficients, influence = fit
        row = np.asarray(weights)
        value = float(row @ coefficients)
        part = row @ influence
        se = math.sqrt(float(part @ part))
        half = t_half_width(confidence, n, se)
        return Estimate(
            value=value,
            low=value - half,
            high=value + half,
            se=se,
            estimator="profile",
            interval="delta",
            confidence=confidence,
            n_items=n_items,
            n_effective=n,
            influence=part,
            clusters=clusters.labels,
        )

    curvature = estimate(line, (0.0, 1.0), n_effective)
    raised = _fit(alone, joint, _WITH_FLOOR) if at_floor else None
    if raised is None:
        floor = Estimate.missing(
            "source rates vary too little to tell a floor from a slope"
            if at_floor
            else "no target replies to items that the source never solved",
            estimator="profile",
            interval="delta",
            confidence=confidence,
            n_items=n_items,
        )
        floor_p = math.nan
    else:
        floor = estimate(raised, (1.0, 0.0, 0.0), min(at_floor, float(np.count_nonzero(alone[0]))))
        floor_p = _one_sided_p(floor)
        floor = replace(floor, high=max(floor.high, upper))
    return Profile(
        slope=estimate(line, (1.0, 0.0), n_effective),
        curvature=curvature,
        integral=estimate(line, (1.0, 2 / 3), n_effective),
        floor=floor,
        curvature_p=p_value(curvature),
        floor_p=floor_p,
    )


def _upper_rates(
    rates: Floats, guess: Floats, chosen: NDArray[np.bool_], confidence: float
) -> Floats:
    """Return Wilson's upper limit of the mean rate of the `chosen` cells, shape (columns,)."""
    found = np.full(rates.shape[1], -np.inf)
    for j in np.flatnonzero(chosen.any(0)):
        here = chosen[:, j]
        high = wilson(float(rates[here, j].sum()), float(here.sum()), confidence)[1]
        chance = float(guess[here].mean())
        found[j] = (high - chance) / (1 - chance)
    return found


def _fit(
    alone: list[Floats], joint: list[Floats], powers: tuple[int, ...]
) -> tuple[Floats, Floats] | None:
    """Return coefficients of the powers and their influences, None where they cannot be told."""
    matrix = np.array([[alone[p + q].sum() for q in powers] for p in powers])
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if not (np.diag(matrix) > 0).all():
        return None
    if abs(np.linalg.det(matrix / np.outer(scale, scale))) <= _SINGULAR:
        return None
    inverse = np.linalg.inv(matrix)
    coefficients = inverse @ np.array([joint[p].sum() for p in powers])
    residuals = np.stack(
        [
            joint[p] - sum(b * alone[p + q] for b, q in zip(coefficients, powers, strict=True))
            for p in powers
        ]
    )
    return coefficients, inverse @ residuals


def _one_sided_p(estimate: Estimate) -> float:
    two_sided = p_value(estimate)
    if math.isnan(two_sided):
        return math.nan
    n = estimate.n_effective
    se = estimate.se * math.sqrt(n / (n - 1))
    return float(stdtr(n - 1, -estimate.value / se))
