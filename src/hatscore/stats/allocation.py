"""Target replies in proportion to the source rate: how many, and the width they cost.

The slope weighs the target rate of an item by its source rate s, so the noise of n_t target
replies enters the variance as ``s**2 T (1 - T) / n_t``. For a given number of replies the sum is
smallest with n_t in proportion to ``s sqrt(T (1 - T))``; s alone is known without a look at the
target. A *level* c asks for ``n_t = c s``, rounded, of every solved item.

Only the target noise depends on the level. What remains, differences between items and source
noise, is estimated as the variance seen minus the target noise in it. The choice is unbiased for
a language whose own replies it does not look at: given the true rates, its replies are
independent of those in other languages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError, InsufficientData
from hatscore.stats.counts import check_counts, falling_moment, rate
from hatscore.stats.intervals import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Spread", "level_for_ratio", "level_for_width", "spread_of", "target_repeats", "widened"]

_PAIR = 2
_STEP = 0.125
_UNKNOWN_SHARE = 0.75  # T (1 - T) over its largest value: the share at heterogeneity 3


def target_repeats(k: ArrayLike, n: ArrayLike, level: float, *, most: int) -> NDArray[np.int64]:
    """Return how many target replies each item gets, shape (items,).

    Parameters
    ----------
    k, n
        Correct source replies and source replies, shape (items,), n at least 1.
    level
        Replies for an item that the source always solves, positive.
    most
        Upper bound for one item.

    Returns
    -------
    numpy.ndarray
        ``level * k / n``, rounded half up, between 1 and `most`; 0 where k is 0.

    Examples
    --------
    >>> target_repeats([0, 1, 6, 10], 10, 4.0, most=10).tolist()
    [0, 1, 2, 4]
    """
    successes = np.asarray(k, dtype=np.float64)
    wanted = np.floor(level * successes / np.asarray(n) + 0.5)
    return np.where(successes > 0, np.clip(wanted, 1, most), 0).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of one target's slope, split into what target replies shrink and the rest.

    Attributes
    ----------
    k, n
        Source counts per item, shape (items,).
    fixed
        Sum of squared residuals without the target noise, at least 0.
    noise
        Noise of one target reply in the numerator, ``s**2 T (1 - T)``, shape (items,).
    denominator
        Sum of the unbiased squares.
    """

    k: Floats
    n: Floats
    fixed: float
    noise: Floats
    denominator: float

    def square(self, repeats: ArrayLike) -> float:
        """Return the expected sum of squared residuals with `repeats` target replies per item."""
        replies = np.broadcast_to(np.asarray(repeats, dtype=np.float64), self.noise.shape)
        return self.fixed + float((self.noise / np.maximum(replies, 1)).sum())

    def width(self, repeats: ArrayLike, *, confidence: float = 0.95) -> float:
        """Return the expected full width of the interval with `repeats` replies per item."""
        return 2 * normal_quantile(confidence) * math.sqrt(self.square(repeats)) / self.denominator


def spread_of(
    k_source: ArrayLike, n_source: ArrayLike, k_target: ArrayLike, n_target: ArrayLike
) -> Spread:
    """Return how the variance of one target's slope divides.

    Where an item has one target reply, its ``T (1 - T)`` is taken to be the share of
    ``p (1 - p)``, with p the rate that the slope expects, that items with more replies show.

    Parameters
    ----------
    k_source, n_source, k_target, n_target
        Correct replies and replies per item, shape (items,). Items without target replies must
        be those that the source never solved.

    Raises
    ------
    InsufficientData
        The source is never solved in two replies of an item.
    """
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=True)
    kt, nt = check_counts(k_target, n_target, name="target", ndim=1, whole=False)
    s, t, u = rate(ks, ns), rate(kt, nt), falling_moment(ks, ns, _PAIR)
    use = (ks > 0) & (nt > 0) & (ns >= _PAIR)
    s, t, u = (np.where(use, x, 0.0) for x in (s, t, u))
    if not u.sum() > 0:
        raise InsufficientData("no source item was solved in two of its replies")
    slope = float((s * t).sum() / u.sum())
    expected = np.clip(slope * s, 0.0, 1.0)
    largest = expected * (1 - expected)
    repeated = use & (nt >= _PAIR)
    within = np.divide(t * (1 - t) * nt, nt - 1, out=np.zeros_like(t), where=repeated)
    bound = float(largest[repeated].sum())
    share = min(float(within[repeated].sum()) / bound, 1.0) if bound > 0 else _UNKNOWN_SHARE
    noise = s * s * np.where(repeated, within, share * largest)
    seen = float((noise / np.maximum(nt, 1)).sum())
    square = float(((s * t - slope * u) ** 2).sum())
    return Spread(ks, ns, max(square - seen, 0.0), noise, float(u.sum()))


def widened(spreads: Sequence[Spread], level: float, *, paper: int) -> float:
    """Return the width at `level` over that of `paper` replies to every item, at least 1 or so.

    Parameters
    ----------
    spreads
        Of one or more targets, pooled.
    level, paper
        The two plans.
    """
    planned = sum(x.square(target_repeats(x.k, x.n, level, most=paper)) for x in spreads)
    full = sum(x.square(paper) for x in spreads)
    return math.sqrt(planned / full) if full > 0 else 1.0


def level_for_ratio(spreads: Sequence[Spread], ratio: float, *, least: float, paper: int) -> float:
    """Return the lowest level whose width is at most `ratio` times that of the full plan.

    Parameters
    ----------
    spreads
        Of other targets, pooled.
    ratio
        Wanted width over that of `paper` replies to every item, above 1.
    least
        Lowest level to return.
    paper
        Replies per item of the full plan; the highest level is twice that.

    Raises
    ------
    InputError
        A ratio of 1 or less, which only the full plan has.
    """
    if not ratio > 1:
        raise InputError(f"the width of a cheaper plan is above that of the full one; got {ratio}")
    return _lowest(least, paper, lambda c: widened(spreads, c, paper=paper) <= ratio)


def level_for_width(
    spread: Spread, width: float, *, least: float, paper: int, confidence: float = 0.95
) -> float:
    """Return the lowest level whose interval is expected to be at most `width` wide.

    Parameters
    ----------
    spread
        Of the target.
    width
        Wanted full width, positive.
    least, paper
        As for `level_for_ratio`; the highest level where no level is enough.
    confidence
        Level of the interval.
    """
    if not width > 0:
        raise InputError(f"a width is positive; got {width}")

    def enough(level: float) -> bool:
        repeats = target_repeats(spread.k, spread.n, level, most=paper)
        return spread.width(repeats, confidence=confidence) <= width

    return _lowest(least, paper, enough)


def _lowest(least: float, paper: int, enough: Callable[[float], bool]) -> float:
    level = least
    while level < _PAIR * paper and not enough(level):
        level += _STEP
    return min(level, max(least, float(_PAIR * paper)))
