"""The Hardness Adjusted Transfer score: the slope of target on source success rates.

Formula and source: arXiv 2606.21954 defines the score as ``2 * integral of E[T | S = s] ds`` and
estimates it by the least-squares slope through the origin, here called *plug-in*. With n replies
per item the observed source rate is the true one plus binomial noise, and the plug-in is too
small by the factor ``E[S**2] / (E[S**2] + E[S (1 - S)] / n)``. The *corrected* slope replaces the
square of the observed rate by its unbiased estimate ``k (k - 1) / (n (n - 1))``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from hatscore.errors import InputError
from hatscore.stats.clusters import Clusters
from hatscore.stats.counts import check_chance, check_counts, falling_moment, rate
from hatscore.stats.estimate import mean
from hatscore.stats.ratio import BinomialFloor, ratio_estimates, ratio_table
from hatscore.stats.weighting import Planned, check_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hatscore.stats.estimate import Estimate
    from hatscore.stats.ratio import RatioTable

    Floats = NDArray[np.float64]

__all__ = ["SlopeParts", "hat_macro", "hat_score", "hat_scores", "slope_parts", "slope_table"]

Estimator = Literal["corrected", "plugin"]
Interval = Literal["fieller", "delta", "bootstrap"]

_PAIR = 2
_BLOCK = 200_000
_ONE_REPLY = (
    "one source reply per item: only the plug-in exists, "
    "and it equals the conditional transfer score"
)
_NEVER_TWICE = "no source item was solved in two of its replies, so the slope has no denominator"
_NEVER = "no source item was ever solved, so the slope has no denominator"


class SlopeParts(NamedTuple):
    """Terms of the slope, shape (items, columns), zeros where an item is absent."""

    numerator: Floats
    denominator: Floats
    square: Floats
    present: NDArray[np.bool_]
    floor: BinomialFloor | None

    def reliability(self) -> Floats:
        """Return the share of the squared source rates that is signal, shape (columns,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share: Floats = self.denominator.sum(0) / self.square.sum(0)
        return share

    def averaged(self) -> SlopeParts:
        """Return the one column whose slope is the mean over columns that share a denominator."""
        return SlopeParts(
            numerator=self.numerator.mean(1, keepdims=True),
            denominator=self.denominator.mean(1, keepdims=True),
            square=self.square.mean(1, keepdims=True),
            present=np.all(self.present, axis=1, keepdims=True),
            floor=None,
        )


def hat_score(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    estimator: Estimator = "corrected",
    interval: Interval = "fieller",
    groups: ArrayLike | None = None,
    chance: ArrayLike = 0.0,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Return the HAT score of one target language against its source.

    ``corrected``: ``m = sum(s t) / sum(k_s (k_s - 1) / (n_s (n_s - 1)))``, unbiased for the slope
    of E[T | S] through the origin. ``plugin``: ``m = sum(s t) / sum(s**2)``, the published one.

    Parameters
    ----------
    k_source, k_target
        Correct replies per item, shape (items,), in the same order of items.
    n_source, n_target
        Replies per item, shape (items,) or one number. An item with no replies on one side is
        left out; the corrected estimator also leaves out items with one source reply.
    estimator
        ``corrected`` or ``plugin``. Fractional successes (partial credit) need ``plugin``.
    interval
        ``fieller`` (default), ``delta`` or ``bootstrap``, clustered by `groups`.
    groups
        Cluster label per item, shape (items,); default every item is its own cluster.
    chance
        Probability that a blind guess is right, one number or shape (items,), in [0, 1). Rates
        become ``(rate - chance) / (1 - chance)``, and the square its unbiased counterpart.
    confidence
        Level of the interval, in (0, 1).
    rng
        Generator for the bootstrap; default seed 0, so that equal data give equal intervals.

    Returns
    -------
    Estimate
        With ``value`` NaN and a ``reason`` when the source is never solved. With one source
        reply per item the plug-in is returned, named so in ``estimator`` and ``reason``.
        ``low`` and ``high`` are infinite when the data do not bound the score.

    Raises
    ------
    InputError
        Shapes that do not fit, counts outside 0..n, unknown names of methods.

    Examples
    --------
    >>> round(hat_score([10, 5, 0], 10, [8, 3, 1], 10).value, 6)
    0.777273
    >>> hat_score([10, 5, 0], 10, [8, 3, 1], 10, estimator="plugin").value
    0.76
    """
    kt = np.asarray(k_target, dtype=object if _ragged(k_target) else None)
    return hat_scores(
        k_source,
        n_source,
        kt[:, None] if kt.ndim == 1 else kt,
        np.asarray(n_target)[:, None] if np.ndim(n_target) == 1 else n_target,
        estimator=estimator,
        interval=interval,
        groups=groups,
        chance=chance,
        confidence=confidence,
        rng=rng,
    )[0]


def hat_scores(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    estimator: Estimator = "corrected",
    interval: Interval = "fieller",
    groups: ArrayLike | None = None,
    chance: ArrayLike = 0.0,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> list[Estimate]:
    """Return the HAT scores of many targets against one source, one Estimate per target.

    Parameters
    ----------
    k_source, n_source
        As for `hat_score`, shape (items,).
    k_target, n_target
        Shape (items, targets); ``n_target`` 0 marks a missing cell.
    weights
        Cells that a cell stands for where a sampling plan left cells out on purpose (weight 0),
        shape (items, targets); see `weighting`. None: every cell stands for itself.
    estimator, interval, groups, chance, confidence, rng
        As for `hat_score`. The influences of all results share one array of cluster labels, so
        means and differences over targets are paired.

    Returns
    -------
    list of Estimate
        One per target, in order.

    Raises
    ------
    InputError
        As for `hat_score`.
    """
    if estimator not in ("corrected", "plugin"):
        raise InputError(f"estimator must be corrected or plugin; got {estimator!r}")
    whole = estimator == "corrected"
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=whole)
    kt, nt = check_counts(k_target, n_target, name="target", ndim=2, whole=whole)
    if len(ks) != len(kt):
        raise InputError(f"source and target must list the same items: got {len(ks)} and {len(kt)}")
    note = ""
    used: Estimator = estimator
    if whole and len(ns) and ns.max() == 1:
        used, note = "plugin", _ONE_REPLY
    guess = check_chance(chance, len(ks))
    standing = check_weights(weights, nt)
    clusters = Clusters.of(groups, len(ks))
    why_missing = _NEVER if used == "plugin" or not (ks > 0).any() else _NEVER_TWICE
    # resamples are shared by all targets; otherwise a few columns at a time stay in the cache
    width = kt.shape[1] if interval == "bootstrap" else max(1, _BLOCK // max(len(ks), 1))
    results: list[Estimate] = []
    for start in range(0, kt.shape[1], max(width, 1)):
        columns = slice(start, start + width)
        parts = slope_parts(
            ks[:, None],
            ns[:, None],
            kt[:, columns],
            nt[:, columns],
            chance=guess,
            estimator=used,
            weights=None if standing is None else standing[:, columns],
        )
        results += ratio_estimates(
            slope_table(
                parts, clusters=clusters, interval=interval, confidence=confidence, rng=rng
            ),
            clusters=clusters,
            estimator=used,
            interval=interval,
            confidence=confidence,
            why_missing=why_missing,
            reliability=parts.reliability() if used == "corrected" else None,
        )
    return [_with_note(e, note) for e in results] if note else results


def hat_macro(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    estimator: Estimator = "corrected",
    groups: ArrayLike | None = None,
    chance: ArrayLike = 0.0,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the unweighted mean of the HAT scores of many targets.

    Where no cell is missing, all targets share one denominator and the mean is itself the slope
    of the mean target rate, with Fieller's interval. Otherwise the influences are added and the
    interval is ``value +- t * se`` (see `estimate.mean`).

    Parameters
    ----------
    k_source, n_source, k_target, n_target, estimator, groups, chance, weights, confidence
        As for `hat_scores`.

    Raises
    ------
    InputError
        As for `hat_scores`.
    """
    single = hat_scores(
        k_source,
        n_source,
        k_target,
        n_target,
        estimator=estimator,
        groups=groups,
        chance=chance,
        weights=weights,
        confidence=confidence,
    )
    joint = mean(single, confidence=confidence)
    if not np.isfinite(joint.value) or joint.se == 0:
        return replace(joint, estimator=estimator)
    kt = np.asarray(k_target, dtype=np.float64)
    trials = np.broadcast_to(np.asarray(n_target, dtype=np.float64), kt.shape)
    standing = check_weights(weights, trials)
    here = trials > 0
    if standing is not None:
        here = Planned.of(standing, here, np.asarray(k_source, dtype=np.float64)[:, None]).counted
    if not here.all():
        return replace(joint, estimator=single[0].estimator)
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=False)
    guess = check_chance(chance, len(kt))
    used: Estimator = "plugin" if single[0].estimator == "plugin" else "corrected"
    if standing is None:
        parts = slope_parts(
            ks[:, None],
            ns[:, None],
            (kt / trials).mean(1, keepdims=True),
            np.ones((len(kt), 1)),
            chance=guess,
            estimator=used,
        )
    else:
        parts = slope_parts(
            ks[:, None], ns[:, None], kt, trials, chance=guess, estimator=used, weights=standing
        ).averaged()
    clusters = Clusters.of(groups, len(kt))
    (ratio,) = ratio_estimates(
        # a mean over targets is no binomial rate: it has no binomial floor
        slope_table(
            parts._replace(floor=None),
            clusters=clusters,
            interval="fieller",
            confidence=confidence,
        ),
        clusters=clusters,
        estimator=single[0].estimator,
        interval="fieller",
        confidence=confidence,
        why_missing=_NEVER,
        reliability=np.array([single[0].reliability]),
    )
    note = next((e.reason for e in single if "one source reply" in e.reason), "")
    return _with_note(ratio, _ONE_REPLY) if note else ratio


def slope_parts(
    ks: Floats,
    ns: Floats,
    kt: Floats,
    nt: Floats,
    *,
    chance: Floats,
    estimator: Estimator,
    weights: Floats | None = None,
) -> SlopeParts:
    """Return the terms of the slope for checked counts.

    Parameters
    ----------
    ks, ns
        Shape (items, columns), or (items, 1) for one source behind all targets.
    kt, nt
        Shape (items, columns).
    chance
        Shape (items,).
    estimator
        ``corrected`` or ``plugin``.
    weights
        Checked weights, shape (items, columns), or None; see `weighting`.
    """
    room = (1 - chance)[:, None]
    guess = chance[:, None]
    s = rate(ks, ns)
    t = rate(kt, nt)
    enough = ns >= (_PAIR if estimator == "corrected" else 1)
    planned = None if weights is None else Planned.of(weights, (nt > 0) & enough, ks)
    present = (nt > 0) & enough if planned is None else planned.counted & enough
    source = (s - guess) / room
    target = (t - guess) / room
    square = source**2
    if estimator == "corrected":
        u = falling_moment(ks, ns, _PAIR)
        denominator = (u - 2 * guess * s + guess**2) / room**2
    else:
        denominator = square
    zero = np.zeros_like(t)
    source = np.where(present, source, zero)
    numerator = np.where(present, source * target, zero)
    power = source
    if planned is not None:
        numerator = planned.fill(np.where(planned.seen, numerator, zero))
        # only replies that were seen have binomial noise, each as often as it counts
        power = np.where(planned.seen, planned.weights * source, zero)
    return SlopeParts(
        numerator=numerator,
        denominator=np.where(present, denominator, zero),
        square=np.where(present, square, zero),
        present=present,
        floor=BinomialFloor(
            weight=power,
            slope=np.where(present, room * source, zero),
            intercept=np.where(present, guess + zero, zero),
            scale=room + zero,
            target=np.where(present, t, zero),
            trials=np.where(present, nt, zero),
        ),
    )


def slope_table(
    parts: SlopeParts,
    *,
    clusters: Clusters,
    interval: str,
    confidence: float,
    rng: np.random.Generator | None = None,
) -> RatioTable:
    """Return the slopes of all columns as arrays (see `ratio.ratio_table`)."""
    return ratio_table(
        parts.numerator,
        parts.denominator,
        parts.present,
        clusters=clusters,
        floor=parts.floor,
        interval=interval,
        confidence=confidence,
        rng=rng,
    )


def _with_note(estimate: Estimate, note: str) -> Estimate:
    reason = f"{estimate.reason}; {note}" if estimate.reason else note
    return replace(estimate, reason=reason)


def _ragged(values: ArrayLike) -> bool:
    """Whether NumPy would refuse to make an array; the check of counts then says it better."""
    try:
        np.asarray(values)
    except ValueError:
        return True
    return False
