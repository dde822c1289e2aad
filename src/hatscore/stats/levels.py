"""The two stages of target replies, and the level that is high enough for a wanted width.

The first stage knows the source alone. The second divides the items into parts and plans each by
what the others have shown; see `allocation` for the rule and why it leaves every rate unbiased.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hatscore.errors import InputError, InsufficientData
from hatscore.stats.allocation import EDGE, expected_source, learn, shares, target_repeats
from hatscore.stats.counts import check_counts, rate
from hatscore.stats.intervals import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from hatscore.stats.allocation import Learned

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "FIRST_LEVEL",
    "Further",
    "first_replies",
    "further_replies",
    "level_for_ratio",
    "level_for_width",
]

FIRST_LEVEL = 2.0
"""Level of the first replies: nearly every target needs it, and two for high s tell the noise."""
_FIRST_SLOPE = 0.65
_NO_TEACHER = 4.0  # level where nothing can be learned: enough at heterogeneity 3
_LOWEST = 0.5
_HIGHEST = 20.0  # times the replies of the full plan
_HALVINGS = 12


class Further(NamedTuple):
    """How many replies cells are to have, shape (items, columns), and how they were found.

    Attributes
    ----------
    replies
        For cells that are sent; at least as many as there are.
    share
        Share of a cell's kind that is to be sent.
    levels
        Shape (items, columns).
    """

    replies: Integers
    share: Floats
    levels: Floats


def first_replies(
    k_source: ArrayLike, n_source: ArrayLike, *, most: int, level: float = FIRST_LEVEL
) -> tuple[Integers, Floats]:
    """Return the replies that items get before anything is known of the targets, and their share.

    Parameters
    ----------
    k_source, n_source
        Correct replies and replies per item, shape (items,).
    most
        Replies per item of the full plan.
    level
        As for `target_repeats`; the default is one that nearly every target needs.
    """
    source = rate(*check_counts(k_source, n_source, name="source", ndim=1, whole=True))
    expected = np.clip(_FIRST_SLOPE * expected_source(k_source, n_source), EDGE, 1 - EDGE)
    replies = target_repeats(source, expected, level, most=most)
    return replies, shares(source, expected, level)


def further_replies(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    weights: ArrayLike,
    folds: ArrayLike,
    level: Callable[[Learned], float] | ArrayLike,
    most: int,
) -> Further:
    """Return the replies that items get once some are known, none by its own in that column.

    Parameters
    ----------
    k_source, n_source, k_target, n_target, weights
        As for `learn`.
    folds
        Part that an item belongs to, shape (items,); it is decided by what the others show.
    level
        One level for each column, or what finds it from what the others show.
    most
        Replies per item of the full plan.
    """
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=True)
    asked = np.asarray(n_target, dtype=np.int64)
    parts = np.asarray(folds)
    found = Further(asked.copy(), np.ones(asked.shape), np.zeros(asked.shape))
    for fold in np.unique(parts):
        mine = parts == fold
        try:
            learned = learn(ks, ns, k_target, n_target, weights=weights, teachers=~mine)
        except InsufficientData:
            chosen = _NO_TEACHER if callable(level) else np.asarray(level)
            usual = np.clip(_FIRST_SLOPE * expected_source(ks, ns), EDGE, 1 - EDGE)[:, None]
            s = rate(ks, ns)[:, None]
            n = np.maximum(target_repeats(s, usual, chosen, most=most), asked)
            share = np.broadcast_to(shares(s, usual, chosen), n.shape)
        else:
            chosen = level(learned) if callable(level) else np.asarray(level)
            n, share = learned.plan(chosen, most=most, further=True)
        found.replies[mine], found.share[mine] = n[mine], share[mine]
        found.levels[mine] = chosen
    return found


def level_for_ratio(learned: Learned, ratio: float, *, paper: int, further: bool = True) -> float:
    """Return the lowest level whose mean width is at most `ratio` times that of the full plan.

    Parameters
    ----------
    learned
        Of one or more columns; their widths are averaged.
    ratio
        Wanted mean width over that of `paper` replies to every item, above 1.
    paper
        Replies per item of the full plan.
    further
        Whether what is asked already stays.

    Raises
    ------
    InputError
        A ratio of 1 or less, which only the full plan has.
    """
    if not ratio > 1:
        raise InputError(f"the width of a cheaper plan is above that of the full one; got {ratio}")
    full = float(np.nansum(learned.width(paper)))
    return _lowest(
        _LOWEST,
        paper,
        lambda c: float(np.nansum(learned.widths(c, paper=paper, further=further))) <= ratio * full,
    )


def level_for_width(
    learned: Learned,
    width: float,
    *,
    paper: int,
    least: float = _LOWEST,
    further: bool = True,
    confidence: float = 0.95,
) -> float:
    """Return the lowest level whose mean width is expected to be at most `width`.

    Parameters
    ----------
    learned
        Of one or more columns; their widths are averaged.
    width
        Wanted full width, positive.
    paper, further
        As for `level_for_ratio`; the highest level where no level is enough.
    least
        Lowest level to return.
    confidence
        Level of the interval.
    """
    if not width > 0:
        raise InputError(f"a width is positive; got {width}")
    times = normal_quantile(confidence) / normal_quantile(0.95)
    return _lowest(
        least,
        paper,
        lambda c: (
            times * float(np.nanmean(learned.widths(c, paper=paper, further=further))) <= width
        ),
    )


def _lowest(least: float, paper: int, enough: Callable[[float], bool]) -> float:
    """Return the lowest level that is enough, to one part in a thousand."""
    highest = max(_HIGHEST * paper, least)
    if enough(least):
        return least
    if not enough(highest):
        return highest
    low, high = math.log(least), math.log(highest)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return math.exp(high)
