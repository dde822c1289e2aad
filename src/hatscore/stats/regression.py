"""Across models: how tightly two measures are coupled, and how a score moves with size or date.

A trend over models has two uncertainties that must not be mixed. *Items*: the same models on
other items; it comes from the influences of the scores, jointly, because models share items.
*Models*: other models of the same kind; it comes from the scatter of the scores around the
line, and with few models it is large whatever the number of items.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr, stdtrit

from hatscore.errors import InputError
from hatscore.stats.estimate import Estimate, combine
from hatscore.stats.intervals import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Coupling", "Trend", "coupling", "trend"]

_FEWEST = 3
_ROUNDING = 1e-12
_EXACT = 7  # up to 5040 orders are tried one by one


@dataclass(frozen=True, slots=True)
class Coupling:
    """How much of one measure the other explains across models.

    Attributes
    ----------
    r_squared
        Centred R2: squared Pearson correlation, in [0, 1]; NaN with a reason where undefined.
    low, high
        Interval from Fisher's z of the correlation; NaN with fewer than 4 models.
    correlation
        Pearson's r.
    n_models
        Points that entered.
    confidence
        Level of the interval.
    reason
        Why a number is missing; empty otherwise.
    """

    r_squared: float
    low: float
    high: float
    correlation: float
    n_models: int
    confidence: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Trend:
    """A weighted line of scores over a covariate of models.

    Attributes
    ----------
    slope, intercept
        Of ``score = intercept + slope * x``.
    se_items
        Standard error of the slope for other items and the same models.
    se_models
        Standard error of the slope for other models (Knapp and Hartung, Statistics in Medicine
        22, 2003); it holds the independent part of the item noise too.
    low, high
        Interval of the slope over models, Student's t with as many degrees of freedom as models
        less coefficients; NaN with a reason where the scores lie on the line.
    p
        Two-sided p of ``slope == 0`` over models; NaN as the interval is.
    p_permutation
        Share of reorderings of x with a slope at least as steep; all of them for few models.
    heterogeneity
        Variance between models beyond item noise that the weights assume (tau squared).
    n_models
        Points that entered.
    confidence
        Level of the intervals.
    reason
        Why numbers are missing; empty otherwise.
    leverage
        Weight of each score in the slope, shape (scores,), 0 for those left out; NaN without a
        slope. The slope is their sum of weighted scores.
    """

    slope: float
    intercept: float
    se_items: float
    se_models: float
    low: float
    high: float
    p: float
    p_permutation: float
    heterogeneity: float
    n_models: int
    confidence: float
    reason: str = ""
    leverage: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)


def coupling(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Coupling:
    """Return the centred R2 of `y` on `x` across models, with an interval.

    Parameters
    ----------
    x, y
        One number per model, shape (models,); models with a NaN in either are left out.
    confidence
        Level of the interval, in (0, 1).

    Raises
    ------
    InputError
        Different shapes.
    """
    q = normal_quantile(confidence)
    a, b = _pair(x, y)
    n = len(a)
    nan = math.nan
    if n < _FEWEST:
        return Coupling(nan, nan, nan, nan, n, confidence, f"{n} models are too few for an R2")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return Coupling(nan, nan, nan, nan, n, confidence, "all models have the same value")
    r = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    if n == _FEWEST:
        return Coupling(
            r * r, nan, nan, r, n, confidence, "three models give no interval for an R2"
        )
    half = q / math.sqrt(n - 3)
    z = math.atanh(max(min(r, 1 - 1e-15), -1 + 1e-15))
    ends = sorted((math.tanh(z - half), math.tanh(z + half)))
    crosses = ends[0] <= 0 <= ends[1]
    squares = sorted(e * e for e in ends)
    return Coupling(r * r, 0.0 if crosses else squares[0], squares[1], r, n, confidence)


def trend(
    x: ArrayLike,
    scores: Sequence[Estimate],
    *,
    absorb: Sequence[str] | None = None,
    confidence: float = 0.95,
    n_permutations: int = 5000,
    rng: np.random.Generator | None = None,
) -> Trend:
    """Return the weighted trend of scores over a covariate, with both uncertainties.

    Weights are ``1 / (se**2 + tau**2)``, with the variance between models, tau squared, by the
    method of moments (R. DerSimonian and N. Laird, Controlled Clinical Trials 7, 1986, extended
    to a regression). Unlike that of equal weights, the interval holds where noisy scores sit at
    one end of x, as those of small models do.

    Parameters
    ----------
    x
        One number per model, shape (models,): log10 of parameters, years.
    scores
        One Estimate per model; those without a value are left out with their x.
    absorb
        One label per model; every label gets an intercept of its own, so that the slope is that
        *within* families. `intercept` is then their mean over models, and `p_permutation` reorders
        within labels.
    confidence
        Level of the intervals, in (0, 1).
    n_permutations
        Reorderings drawn where there are too many to try all; 0 for none, and no such p.
    rng
        Generator for the reorderings; default seed 0.

    Raises
    ------
    InputError
        Another number of x than of scores.
    """
    normal_quantile(confidence)
    xs = np.asarray(x, dtype=np.float64)
    labels = np.zeros(len(scores)) if absorb is None else np.asarray(absorb)
    if xs.shape != (len(scores),) or labels.shape != xs.shape:
        raise InputError(
            f"trend needs one x per score, and one label where labels are given; got shapes "
            f"{xs.shape} and {labels.shape} for {len(scores)} scores"
        )
    keep = [
        i for i, s in enumerate(scores) if math.isfinite(s.value) and math.isfinite(float(xs[i]))
    ]
    used = [scores[i] for i in keep]
    xs, codes = xs[keep], np.unique(labels[keep], return_inverse=True)[1]
    n = len(used)
    own = (codes[:, None] == np.arange(codes.max(initial=-1) + 1)).astype(np.float64)
    inner = xs - own @ ((own.T @ xs) / own.sum(0))
    freedom = n - own.shape[1] - 1
    if freedom < 1 or not np.ptp(inner) > 1e-12 * np.ptp(xs):
        reason = (
            f"{n} models with a value are too few for a trend"
            if freedom < 1
            else "all models have the same x"
        )
        return _no_trend(n, len(scores), confidence, reason)
    y = np.array([s.value for s in used])
    se2 = np.array([s.se for s in used]) ** 2
    design = np.column_stack([own, xs])
    tau2 = _between(design, y, se2)
    weight = _weights(se2, tau2)
    coefficients = _solve(design, weight, y)
    slope = float(coefficients[-1])
    residual = y - design @ coefficients
    inverse = np.linalg.inv(design.T @ (weight[:, None] * design))
    scatter = float((weight * residual**2).sum() / freedom)
    se_models = math.sqrt(scatter * inverse[-1, -1])
    leverage = (inverse @ (design * weight[:, None]).T)[-1]
    items = combine(used, leverage.tolist(), estimator="trend", confidence=confidence)
    of_all = np.zeros(len(scores))
    of_all[keep] = leverage
    reason = ""
    if np.abs(residual).max() <= _ROUNDING * max(1.0, float(np.abs(y).max())):
        # an interval without width would claim to know
        se_models, reason = math.nan, "the scores lie on one line: no scatter of models to see"
    half = float(stdtrit(freedom, 0.5 + confidence / 2)) * se_models
    return Trend(
        slope=slope,
        intercept=float((own @ coefficients[:-1]).mean()),
        se_items=items.se,
        se_models=se_models,
        low=slope - half,
        high=slope + half,
        p=float(2 * stdtr(freedom, -abs(slope) / se_models)),
        p_permutation=_permutation_p(inner, y, codes, n_permutations, rng),
        heterogeneity=tau2,
        n_models=n,
        confidence=confidence,
        reason=reason,
        leverage=of_all,
    )


def _no_trend(n_models: int, n_scores: int, confidence: float, reason: str) -> Trend:
    nan = math.nan
    return Trend(
        slope=nan,
        intercept=nan,
        se_items=nan,
        se_models=nan,
        low=nan,
        high=nan,
        p=nan,
        p_permutation=nan,
        heterogeneity=nan,
        n_models=n_models,
        confidence=confidence,
        reason=reason,
        leverage=np.full(n_scores, nan),
    )


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(f"x and y need one number per model; got shapes {a.shape} and {b.shape}")
    keep = np.isfinite(a) & np.isfinite(b)
    return a[keep], b[keep]


def _weights(se2: Floats, tau2: float) -> Floats:
    variance = se2 + tau2
    if not (variance > 0).all():
        # a score without spread would take all the weight: count all models alike
        return np.ones_like(variance)
    weights: Floats = 1 / variance
    return weights


def _solve(design: Floats, weight: Floats, y: Floats) -> Floats:
    gram = design.T @ (weight[:, None] * design)
    return np.asarray(np.linalg.solve(gram, design.T @ (weight * y)), dtype=np.float64)


def _between(design: Floats, y: Floats, se2: Floats) -> float:
    """Return tau squared by the method of moments, at least 0."""
    weight = _weights(se2, 0.0)
    spread = float((weight * (y - design @ _solve(design, weight, y)) ** 2).sum())
    inverse = np.linalg.inv(design.T @ (weight[:, None] * design))
    hat = np.trace(inverse @ (design.T @ ((weight**2)[:, None] * design)))
    # what the item noise alone would give
    noise = float(
        (weight * se2).sum()
        - np.trace(inverse @ (design.T @ ((weight**2 * se2)[:, None] * design)))
    )
    return max(0.0, (spread - noise) / float(weight.sum() - hat))


def _permutation_p(
    centred: Floats,
    y: Floats,
    codes: NDArray[np.intp],
    n_permutations: int,
    rng: np.random.Generator | None,
) -> float:
    """Return the share of reorderings of x, within labels, that are as steep as x is."""
    observed = abs(float(centred @ y))
    slack = 1e-12 * max(observed, 1.0)
    if len(y) <= _EXACT:
        orders = np.array(list(itertools.permutations(range(len(y)))))
        orders = orders[(codes[orders] == codes).all(1)]
        return float((np.abs(centred[orders] @ y) >= observed - slack).mean())
    if not n_permutations:
        return math.nan
    generator = np.random.default_rng(0) if rng is None else rng
    shuffled = np.tile(centred, (n_permutations, 1))
    for code in range(codes.max() + 1):
        at = codes == code
        shuffled[:, at] = generator.permuted(shuffled[:, at], axis=1)
    steeper = int((np.abs(shuffled @ y) >= observed - slack).sum())
    # the observed order is one of the possible ones
    return (steeper + 1) / (n_permutations + 1)
