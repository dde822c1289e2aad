"""Intervals for ratios of sums over clusters, vectorised over columns.

A score here is a ratio ``m = A / U`` with ``A = sum_g a_g`` and ``U = sum_g u_g`` over clusters g.

*Fieller's region* holds every m that the data do not reject:
``(A - m U)**2 <= q**2 * sum_g (a_g - m u_g)**2``, a quadratic in m (E. C. Fieller, "Some problems
in interval estimation", JRSS B 16, 1954). The sums are not centred, which makes the normal
quantile q slightly conservative with few clusters, as it should be.

*The score floor.* Where nearly every reply is right (or wrong), failures are rare events, and the
cluster sums see none or too few of them: for source Beta(200, 1), slope 1 and strongly
heterogeneous targets Fieller's 95 % region covers 81 %. The binomial law gives a lower bound of
the variance that does not depend on having seen a failure. If a target reply is right with
probability ``p = m s``, then ``Var(t | s) = p (1 - p) * r``, with r between 1/n (items alike given
s) and 1 (items always right or always wrong). r is estimated from the spread between and within
items; without any spread it is 1. The region with this variance, again a quadratic in m, is
Wilson's interval when all s are 1. Where the spread rests on few clusters (see `ratio`) the
interval is the union of both regions, elsewhere it is Fieller's alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from hatscore.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Region",
    "fieller",
    "normal_quantile",
    "score_region",
    "t_half_width",
    "t_quantile",
    "wilson",
]

_FEWEST = 1.0 + 1e-9


class Region(NamedTuple):
    """Ends of an interval per column, and the kinds of those that are unbounded.

    Attributes
    ----------
    low, high
        Shape (columns,). ``-inf`` and ``inf`` together mean the whole line, or, where `hole` is
        finite, everything outside the open interval `hole`.
    hole_low, hole_high
        Shape (columns,): the excluded interval of an unbounded region, NaN elsewhere.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    hole_low: NDArray[np.float64]
    hole_high: NDArray[np.float64]


def normal_quantile(confidence: float) -> float:
    """Return the two-sided standard normal quantile, 1.96 for 0.95.

    Raises
    ------
    InputError
        `confidence` is not strictly between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    return float(ndtri(0.5 + confidence / 2))


def t_quantile(confidence: float, n_effective: float) -> float:
    """Return the two-sided t quantile with ``n - 1`` degrees of freedom times ``sqrt(n/(n-1))``.

    The factor turns a standard error from uncentred sums of squares into that of a sample
    variance. With one effective cluster or fewer there is no spread to judge by: infinity.
    """
    normal_quantile(confidence)  # checks the level
    if not n_effective > _FEWEST:
        return math.inf
    n = n_effective
    return float(stdtrit(n - 1, 0.5 + confidence / 2)) * math.sqrt(n / (n - 1))


def t_half_width(confidence: float, n_effective: float, se: float) -> float:
    """Return half the width of Student's interval; infinite without a second cluster."""
    quantile = t_quantile(confidence, n_effective)
    return math.inf if math.isinf(quantile) else quantile * se


def fieller(a: NDArray[np.float64], u: NDArray[np.float64], confidence: float) -> Region:
    """Return Fieller's region for ``sum(a) / sum(u)``, one per column.

    Parameters
    ----------
    a, u
        Cluster sums, shape (clusters, columns). A cluster absent from a column holds zeros.
    confidence
        Level, in (0, 1).

    Returns
    -------
    Region
        NaN ends where ``sum(u)`` is 0.
    """
    q2 = normal_quantile(confidence) ** 2
    total_a, total_u = a.sum(0), u.sum(0)
    aa, au, uu = (a * a).sum(0), (a * u).sum(0), (u * u).sum(0)
    # square m**2 - 2 half m + const <= 0
    return _quadratic_region(
        total_u**2 - q2 * uu, total_a * total_u - q2 * au, total_a**2 - q2 * aa, total_u
    )


def score_region(
    a: NDArray[np.float64],
    u: NDArray[np.float64],
    variance: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    confidence: float,
) -> Region:
    """Return the region ``(A - m U)**2 <= q**2 * (c0 + c1 m - c2 m**2)``, one per column.

    Parameters
    ----------
    a, u
        Totals A and U, shape (columns,).
    variance
        Coefficients ``c0, c1, c2`` of the variance under slope m, shape (columns,), c2 >= 0.
    confidence
        Level, in (0, 1).
    """
    c0, c1, c2 = variance
    q2 = normal_quantile(confidence) ** 2
    # a slope beyond the parameter space has no binomial variance: look at its edge
    with np.errstate(divide="ignore", invalid="ignore"):
        edge = (c1 + np.sqrt(np.maximum(c1**2 + 4 * c0 * c2, 0))) / (2 * c2)
    edge = np.where(c2 > 0, edge, np.inf)
    finite = np.isfinite(edge)
    a = np.clip(a, 0.0, np.where(finite, np.where(finite, edge, 0.0) * u, np.inf))
    return _quadratic_region(u**2 + q2 * c2, a * u + q2 * c1 / 2, a**2 - q2 * c0, u)


def wilson(
    successes: NDArray[np.float64] | float, trials: NDArray[np.float64] | float, confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Wilson's score interval for a proportion.

    ``(p + q²/2n ± q sqrt(p(1-p)/n + q²/4n²)) / (1 + q²/n)`` (E. B. Wilson, JASA 22, 1927).

    Parameters
    ----------
    successes, trials
        Arrays of one shape; not necessarily whole: with clustered replies `trials` is the
        effective number. Zero trials give NaN.
    confidence
        Level, in (0, 1).
    """
    q = normal_quantile(confidence)
    n = np.asarray(trials, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(successes, dtype=float) / n
        centre = (p + q * q / (2 * n)) / (1 + q * q / n)
        half = q * np.sqrt(np.maximum(p * (1 - p), 0) / n + (q / (2 * n)) ** 2) / (1 + q * q / n)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def _quadratic_region(
    square: NDArray[np.float64],
    half: NDArray[np.float64],
    const: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> Region:
    """Solve ``square m**2 - 2 half m + const <= 0`` column by column."""
    disc = half**2 - square * const
    root = np.sqrt(np.maximum(disc, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # the stable pair of roots: no difference of nearly equal numbers
        big = half + np.where(half >= 0, root, -root)
        one, two = big / square, const / big
    one = np.where(big == 0, 0.0, one)
    two = np.where(big == 0, 0.0, two)
    left, right = np.minimum(one, two), np.maximum(one, two)
    valid = scale != 0
    bounded = valid & (square > 0) & (disc >= -1e-12 * np.maximum(half**2, 1e-300))
    empty = valid & (square > 0) & ~bounded
    hole = valid & (square < 0) & (disc > 0)
    line = valid & (square == 0) & (half != 0)
    nan = np.full_like(half, np.nan)
    low = np.where(bounded, left, np.where(valid & ~empty, -np.inf, nan))
    high = np.where(bounded, right, np.where(valid & ~empty, np.inf, nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        end = const / (2 * half)
    # half m >= const / 2: a half line
    low = np.where(line & (half > 0), end, low)
    high = np.where(line & (half < 0), end, high)
    return Region(low, high, np.where(hole, left, nan), np.where(hole, right, nan))
