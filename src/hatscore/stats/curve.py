"""The transfer profile without a shape: monotone, corrected for the noise in the source rate.

What is seen of an item is k of n source replies, not its true rate S. First the distribution of S
is estimated by maximum likelihood over all mixing distributions on a grid (N. Laird, JASA 73,
1978; expectation-maximisation). It says how likely each true rate is behind each observed count:
P(S = s | k). The mean target rate of the items with count k then is
``sum_s P(s | k) f(s)`` with f the profile, and f is the nondecreasing function in [0, 1] that
fits these means best in least squares, weighted by the number of items: an isotonic regression
seen through the noise. A slight ridge on the second differences of f decides where the data do
not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls
from scipy.special import gammaln, xlog1py, xlogy

from hatscore.errors import InputError
from hatscore.stats.counts import check_counts, rate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Curve", "mixing_distribution", "transfer_curve"]

GRID = 41
_ROUNDS = 400
_SMOOTH = 0.2


@dataclass(frozen=True, slots=True)
class Curve:
    """A profile on a grid of source rates.

    Attributes
    ----------
    source_rate
        The grid, shape (grid,), from 0 to 1.
    density
        Estimated share of items at each rate, shape (grid,), adds up to 1.
    target_rate
        The profile f on the grid, shape (grid,), nondecreasing in [0, 1].
    low, high
        Pointwise bootstrap interval of f, shape (grid,); NaN without a bootstrap.
    integral, integral_low, integral_high
        ``2 * integral of f``: HAT by its definition without a shape, and its bootstrap interval.
    confidence
        Level of the intervals.
    """

    source_rate: Floats
    density: Floats
    target_rate: Floats
    low: Floats
    high: Floats
    integral: float
    integral_low: float
    integral_high: float
    confidence: float


def transfer_curve(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    n_resamples: int = 200,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Curve:
    """Return the shape-free profile of one target.

    Parameters
    ----------
    k_source, n_source, k_target, n_target
        Correct replies and replies per item, shape (items,); n may be one number. Items without
        replies on a side are left out.
    n_resamples
        Bootstrap resamples of the items; 0 gives no intervals.
    confidence
        Level of the intervals, in (0, 1).
    rng
        Generator for the bootstrap; default seed 0.

    Raises
    ------
    InputError
        Shapes that do not fit, counts outside 0..n, no items at all, negative `n_resamples`.
    """
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=True)
    kt, nt = check_counts(k_target, n_target, name="target", ndim=1, whole=False)
    keep = (ns > 0) & (nt > 0)
    if len(ks) != len(kt) or not keep.any():
        raise InputError(
            f"a curve needs source and target replies to the same items; got {len(ks)} and "
            f"{len(kt)} items, {int(keep.sum()) if len(ks) == len(kt) else 0} with both"
        )
    if n_resamples < 0:
        raise InputError(f"n_resamples must not be negative, got {n_resamples}")
    ks, ns, t = ks[keep], ns[keep], rate(kt, nt)[keep]
    grid = np.linspace(0, 1, GRID)
    kinds, code = np.unique(np.stack([ks, ns]), axis=1, return_inverse=True)
    code = code.ravel()
    likelihood = _likelihood(kinds[0], kinds[1], grid)

    def fit(weights: Floats) -> tuple[Floats, Floats]:
        items = np.bincount(code, weights, len(likelihood)).astype(np.float64)
        totals = np.bincount(code, weights * t, len(likelihood)).astype(np.float64)
        density = _em(likelihood, items)
        return density, _monotone(likelihood, density, items, totals)

    density, values = fit(np.ones(len(t)))
    generator = np.random.default_rng(0) if rng is None else rng
    tail = (1 - confidence) / 2
    low = high = np.full(GRID, np.nan)
    ends = (math.nan, math.nan)
    if n_resamples:
        draws = np.stack(
            [
                fit(generator.multinomial(len(t), np.full(len(t), 1 / len(t))).astype(float))[1]
                for _ in range(n_resamples)
            ]
        )
        low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
        integrals = [_twice_integral(grid, draw) for draw in draws]
        ends = (float(np.quantile(integrals, tail)), float(np.quantile(integrals, 1 - tail)))
    return Curve(
        source_rate=grid,
        density=density,
        target_rate=values,
        low=low,
        high=high,
        integral=_twice_integral(grid, values),
        integral_low=ends[0],
        integral_high=ends[1],
        confidence=confidence,
    )


def mixing_distribution(k: ArrayLike, n: ArrayLike, *, grid: int = GRID) -> tuple[Floats, Floats]:
    """Return the maximum-likelihood distribution of true rates behind counts, on a grid.

    Parameters
    ----------
    k, n
        Successes and trials per item, shape (items,); n may be one number.
    grid
        Number of equally spaced rates from 0 to 1, at least 2.

    Returns
    -------
    rates, shares
        Shape (grid,) each; shares add up to 1.
    """
    successes, trials = check_counts(k, n, name="source", ndim=1, whole=True)
    if grid < 2 or not len(successes):  # noqa: PLR2004 - 0 and 1 at least
        raise InputError(
            f"a mixing distribution needs items and a grid of at least 2; "
            f"got {len(successes)} items and a grid of {grid}"
        )
    rates = np.linspace(0, 1, grid)
    kinds, items = np.unique(np.stack([successes, trials]), axis=1, return_counts=True)
    return rates, _em(_likelihood(kinds[0], kinds[1], rates), items.astype(np.float64))


def _likelihood(k: Floats, n: Floats, grid: Floats) -> Floats:
    """Binomial probabilities, shape (kinds of counts, grid)."""
    choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    p = grid[None, :]
    result: Floats = np.exp(choose[:, None] + xlogy(k[:, None], p) + xlog1py((n - k)[:, None], -p))
    return result


def _em(likelihood: Floats, items: Floats) -> Floats:
    density = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    share = items / items.sum()
    for _ in range(_ROUNDS):
        seen = likelihood @ density
        ratio = np.divide(share, seen, out=np.zeros_like(share), where=seen > 0)
        update = density * (likelihood.T @ ratio)
        if np.abs(update - density).max() < 1e-9:  # noqa: PLR2004 - far below any share of items
            break
        density = update
    total: Floats = density / density.sum()
    return total


def _monotone(likelihood: Floats, density: Floats, items: Floats, totals: Floats) -> Floats:
    """Fit the nondecreasing f in [0, 1] whose mean behind each count is the observed mean."""
    joint = likelihood * density
    seen = joint.sum(1)
    use = (items > 0) & (seen > 0)
    posterior = joint[use] / seen[use, None]
    weight = np.sqrt(items[use] / items.sum())
    # f = cumulative sum of steps >= 0; the last unknown is what is left below 1
    size = likelihood.shape[1]
    steps = np.tril(np.ones((size, size)))
    data = (posterior @ steps) * weight[:, None]
    wanted = totals[use] / items[use] * weight
    bend = _SMOOTH * np.diff(steps, 2, axis=0)
    bound = np.ones((1, size + 1)) * 1e3
    matrix = np.vstack(
        [
            np.hstack([data, np.zeros((len(data), 1))]),
            np.hstack([bend, np.zeros((len(bend), 1))]),
            bound,
        ]
    )
    target = np.concatenate([wanted, np.zeros(len(bend)), [1e3]])
    solution, _ = nnls(matrix, target, maxiter=50 * (size + 1))
    values: Floats = np.clip(steps @ solution[:-1], 0.0, 1.0)
    return values


def _twice_integral(grid: Floats, values: Floats) -> float:
    return float(2 * np.trapezoid(values, grid))
