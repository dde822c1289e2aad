"""How many target replies each item gets, and the interval width that this costs.

The slope weighs the target rate of an item by its source rate s, so the noise of n target
replies enters the variance as ``s**2 E[T (1 - T)] / n``. For a given number of replies the sum
is smallest with n in proportion to ``s sqrt(E[T (1 - T)])``. What is expected of T is learned
without a look at the item's own replies in the language in question:

* from the *other items* in that language: its slope m, so that ``p = m E[S | k]``;
* from the *same item in other languages*: one that is missed where p says it should be solved is
  hard to transfer, and p moves to q, on the scale of odds.

A *level* c asks for ``n = c s sqrt(4 q (1 - q))``. Between whole numbers n rises to n + 1 where
that lowers the variance by more per reply than it would elsewhere: at ``sqrt(n (n + 1))``. Where
less than one reply is due the cell is sent with a probability and weighs one over it (Neyman
allocation; see `weighting` for what the weights do).

Given the true rates, replies to one item in one language are independent of all others. As n
depends on those others alone, the rate of every cell stays unbiased, and so does the slope.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hatscore.errors import InsufficientData
from hatscore.stats.counts import check_counts, falling_moment, rate
from hatscore.stats.intervals import normal_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "EDGE",
    "Learned",
    "expected_source",
    "learn",
    "shares",
    "target_repeats",
]


_PAIR = 2
_UNKNOWN_SHARE = 0.75  # T (1 - T) over p (1 - p): the share at heterogeneity 3
_STRENGTHS = (0.2, 50.0)  # a + b of the Beta distribution of source rates
EDGE = 0.02  # no rate is expected nearer to 0 and 1
_PRIOR_REPLIES = 6.0  # as many replies in other languages move an item halfway
_PRIOR_SOLVED = 2.0  # squared source rates that the mean slope of all languages stands for
_BENT = 1.2  # E[T (1 - T) | q] falls faster than q (1 - q): rates cluster at 0 and 1
_MARGIN = 1.2  # a cell that may be left out has the noise of T itself on top


def expected_source(k: ArrayLike, n: ArrayLike) -> Floats:
    """Return E[S | k] of every item under a Beta distribution fitted to all, shape (items,).

    Parameters
    ----------
    k, n
        Correct source replies and source replies, shape (items,). Its mean and variance are the
        unbiased ones over items with two replies or more.

    Examples
    --------
    >>> expected_source([1, 5, 6, 9], 10).round(2).tolist()
    [0.2, 0.51, 0.58, 0.81]
    """
    ks, ns = check_counts(k, n, name="source", ndim=1, whole=False)
    use = ns >= _PAIR
    if not use.any():
        return rate(ks, ns)
    mean = float(rate(ks, ns)[use].mean())
    variance = float(falling_moment(ks, ns, _PAIR)[use].mean()) - mean**2
    spread = mean * (1 - mean)
    strength = spread / variance - 1 if variance > 0 else _STRENGTHS[1]
    strength = min(max(strength, _STRENGTHS[0]), _STRENGTHS[1])
    return np.asarray((ks + strength * mean) / (ns + strength), dtype=np.float64)


def target_repeats(
    source: ArrayLike, expected: ArrayLike, level: ArrayLike, *, most: int
) -> Integers:
    """Return how many target replies items get.

    Parameters
    ----------
    source
        Observed source rates s.
    expected
        Expected target rates q, of a shape that broadcasts with `source`.
    level
        Replies for an item that the source always solves and the target half the time, positive.
    most
        Upper bound for one item.

    Returns
    -------
    numpy.ndarray
        0 where s is 0, else between 1 and `most`.

    Examples
    --------
    >>> target_repeats([0.0, 0.1, 0.6, 1.0, 1.0], [0.0, 0.1, 0.5, 0.5, 0.9], 4.0, most=10).tolist()
    [0, 1, 2, 4, 2]
    """
    s, q = np.broadcast_arrays(np.asarray(source, np.float64), np.asarray(expected, np.float64))
    wanted = np.asarray(level, np.float64) * s * np.sqrt(4 * q * (1 - q))
    whole = np.floor(np.sqrt(wanted**2 + 0.25) + 0.5)
    return np.where(s > 0, np.clip(whole, 1, most), 0).astype(np.int64)


def shares(source: ArrayLike, expected: ArrayLike, level: ArrayLike) -> Floats:
    """Return the share of items of one source rate that is sent at all, in (0, 1].

    Parameters
    ----------
    source, expected, level
        As for `target_repeats`; here `expected` must depend on the source's counts alone, so
        that items of one count have one share.

    Examples
    --------
    >>> shares([0.1, 0.5], [0.1, 0.4], 2.0).round(2).tolist()
    [0.14, 1.0]
    """
    s, p = np.asarray(source, np.float64), np.asarray(expected, np.float64)
    wanted = _MARGIN * np.asarray(level, np.float64) * s * np.sqrt(4 * p * (1 - p))
    return np.asarray(np.where(s > 0, np.clip(wanted, 1e-3, 1.0), 1.0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of the targets' replies; arrays over items have shape (items, columns).

    Attributes
    ----------
    source
        Observed source rates s, shape (items,).
    usual
        Target rates that the source's counts and the mean slope let expect, shape (items,).
    expected
        Target rates q: as the language's slope and the item's replies in other languages say.
    noise
        Noise of one target reply in the numerator, ``s**2 E[T (1 - T)]``.
    between
        What items of one source rate differ by, ``s**2 Var(T)``: a cell left out adds it.
    asked
        Target replies so far.
    counts
        Cells that each cell stands for, 0 where there are no replies or the item is none of
        those that taught.
    fixed
        Squared residuals without the target noise, shape (columns,).
    denominator
        Unbiased squares, shape (columns,).
    part
        Share of the squares of all items that the items that taught have.
    """

    source: Floats
    usual: Floats
    expected: Floats
    noise: Floats
    between: Floats
    asked: Floats
    counts: Floats
    fixed: Floats
    denominator: Floats
    part: float

    def columns(self, chosen: Any) -> Learned:
        """Return what is known of some columns."""
        names = ("expected", "noise", "between", "asked", "counts")
        taken = {name: getattr(self, name)[:, chosen] for name in names}
        return replace(
            self, fixed=self.fixed[chosen], denominator=self.denominator[chosen], **taken
        )

    def square(self, replies: ArrayLike, sent: ArrayLike = 1.0) -> Floats:
        """Return the expected sum of squared residuals, shape (columns,).

        Parameters
        ----------
        replies
            Target replies of a cell that is sent.
        sent
            Share of its kind that is sent; both broadcast to (items, columns).
        """
        n = np.maximum(np.broadcast_to(np.asarray(replies, np.float64), self.noise.shape), 1)
        share = np.broadcast_to(np.asarray(sent, np.float64), self.noise.shape)
        added = self.noise / (n * share) + self.between * (1 / share - 1)
        return np.asarray(self.fixed + (self.counts * added).sum(0), dtype=np.float64)

    def width(self, replies: ArrayLike, sent: ArrayLike = 1.0, confidence: float = 0.95) -> Floats:
        """Return the expected full width of each interval over all items, shape (columns,)."""
        root = np.sqrt(self.square(replies, sent) * self.part)
        return np.asarray(2 * normal_quantile(confidence) * root / self.denominator)

    def plan(
        self, level: ArrayLike, *, most: int, further: bool, thin: bool = True
    ) -> tuple[Floats, Floats]:
        """Return replies of every cell at a level and the share of its kind that is sent.

        Parameters
        ----------
        level, most
            As for `target_repeats`; one level, or one for each column.
        further
            Whether what is asked already stays: nothing is taken back.
        thin
            Whether cells that less than one reply is due to may be left out.
        """
        n = target_repeats(self.source[:, None], self.expected, level, most=most).astype(np.float64)
        sent = shares(self.source[:, None], self.usual[:, None], level) if thin else 1.0
        share = np.broadcast_to(sent, n.shape)
        if further:
            before = np.divide(1, self.counts, out=np.zeros_like(n), where=self.counts > 0)
            n, share = np.maximum(n, self.asked), np.maximum(share, before)
        return n, share

    def so_far(self) -> tuple[Floats, Floats]:
        """Return the replies of every cell and the share of its kind that has any."""
        sent = np.divide(1, self.counts, out=np.ones_like(self.counts), where=self.counts > 0)
        return self.asked, sent

    def widths(self, level: float, *, paper: int, further: bool) -> Floats:
        """Return the expected width of each column at a level, shape (columns,)."""
        return self.width(*self.plan(level, most=paper, further=further))


def learn(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    teachers: ArrayLike | None = None,
) -> Learned:
    """Return what replies so far say of the others.

    Parameters
    ----------
    k_source, n_source
        Correct replies and replies per item, shape (items,).
    k_target, n_target
        Shape (items, columns); n is 0 where there is no reply.
    weights
        Cells that each cell stands for, shape (items, columns); default 1.
    teachers
        Mask of the items that teach slopes and spreads, shape (items,); default all. For all
        items `Learned.expected` adds replies to the same item in other columns.

    Raises
    ------
    InsufficientData
        The source solves none of the teaching items in two of its replies.
    """
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=True)
    kt, nt = check_counts(k_target, n_target, name="target", ndim=2, whole=True)
    usable = ((ns >= _PAIR) & (ks > 0))[:, None] & (nt > 0)
    w = np.where(usable, 1.0 if weights is None else np.asarray(weights, np.float64), 0.0)
    everything = w
    if teachers is not None:
        w = w * np.asarray(teachers, dtype=bool)[:, None]
    s, u, t = rate(ks, ns), falling_moment(ks, ns, _PAIR), rate(kt, nt)
    total, square = (w * (s[:, None] * t)).sum(0), (w * u[:, None]).sum(0)
    if not (square > 0).any():
        raise InsufficientData("no source item was solved in two of its replies")
    common = float(total.sum() / square.sum())
    slopes = (total + _PRIOR_SOLVED * common) / (square + _PRIOR_SOLVED)
    known = expected_source(ks, ns)
    usual = np.clip(common * known, EDGE, 1 - EDGE)
    p = np.clip(slopes * known[:, None], EDGE, 1 - EDGE)
    q = _moved(p, np.where(usable, kt, 0.0), np.where(usable, nt, 0.0))

    # unbiased T (1 - T) where there are two replies, as a share of p (1 - p)
    repeated = usable & (nt >= _PAIR)
    within = np.divide(t * (1 - t) * nt, nt - 1, out=np.zeros_like(t), where=repeated)
    largest = s[:, None] ** 2 * p * (1 - p)
    bound = float((w * largest)[repeated].sum())
    seen = float((w * s[:, None] ** 2 * within)[repeated].sum())
    share = min(seen / bound, 1.0) if bound > 0 else _UNKNOWN_SHARE
    shape = s[:, None] ** 2 * (q * (1 - q)) ** _BENT
    sums = (w * shape).sum(0)
    scale = np.divide(share * (w * largest).sum(0), sums, out=np.zeros_like(sums), where=sums > 0)
    noise = scale * shape
    slope = np.divide(total, square, out=np.full_like(total, common), where=square > 0)
    residual = (w * (s[:, None] * t - slope * u[:, None]) ** 2).sum(0)
    residual -= (w * noise / np.maximum(nt, 1)).sum(0)
    # what is negative by chance in one column is taken from the others, or all would look too large
    fixed = np.maximum(residual, 0.0)
    if fixed.sum() > 0:
        fixed *= max(residual.sum(), 0.0) / fixed.sum()
    part = float(square.sum() / max((everything * u[:, None]).sum(), square.sum()))
    return Learned(
        source=np.where((ns >= _PAIR) & (ks > 0), s, 0.0),
        usual=usual,
        expected=q,
        noise=noise,
        between=(1 - share) * largest,
        asked=nt,
        counts=w,
        fixed=fixed,
        denominator=np.where(square > 0, square, np.nan),
        part=part,
    )


def _moved(p: Floats, k: Floats, n: Floats) -> Floats:
    """Return expected rates after a look at replies to the same items in the other columns."""
    right = k.sum(1, keepdims=True) - k
    asked = n.sum(1, keepdims=True) - n
    due = (n * p).sum(1, keepdims=True) - n * p
    mean = np.divide(due, asked, out=np.full_like(p, 0.5), where=asked > 0)
    prior = _PRIOR_REPLIES
    odds = (right + prior * mean) / (due + prior * mean)
    odds *= (asked - due + prior * (1 - mean)) / (asked - right + prior * (1 - mean))
    moved = p / (1 - p) * odds
    return np.asarray(moved / (1 + moved), dtype=np.float64)
