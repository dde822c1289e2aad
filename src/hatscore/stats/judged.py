"""The HAT score when a judge of known error rates has graded the replies.

A judge calls a right reply right with probability a, its sensitivity, and a wrong reply wrong with
probability b, its specificity. With f = 1 - b the rate that it reports is ``r = a p + f (1 - p)``
of the true rate p, so ``p = (r - f) / (a - f)`` (W. J. Rogan and B. Gladen, "Estimating prevalence
from the results of a screening test", American Journal of Epidemiology 107, 1978). Guessing is the
special case a = 1, f = g of :func:`hatscore.stats.hat.hat_score`.

*The square.* The slope needs an unbiased estimate of p**2, which the square of the corrected rate
is not. With u = k (k-1) / (n (n-1)), whose expectation is r**2 when the judge errs independently
on each reply, ``(u - 2 f s + f**2) / (a - f)**2`` has expectation p**2.

*Errors that repeat.* A judge errs alike on replies that are alike: on equal texts it says the
same. Let c be the correlation of its verdicts on two replies to one item that are both right, or
both wrong. Then ``E[u] = r**2 + c (a (1-a) p**2 + f (1-f) (1-p)**2)``, which is again a
quadratic in p, and its p**2 is estimated without bias by ``(u - c1 s' - c0) / c2`` with
``c2 = (a-f)**2 + c (a (1-a) + f (1-f))``, ``c1 = 2 f (a-f) - 2 c f (1-f)``,
``c0 = f**2 + c f (1-f)`` and s' the corrected rate.

*Uncertain error rates.* The rates come from replies that people have labelled. By the delta
method, their variance enters Fieller's quadratic ``(A - m U)**2 <= q**2 Var(A - m U)`` through
the derivatives of A and U. They enter the influences too, as two opposite clusters per error
rate, so that means and differences of scores that rest on one judge share its uncertainty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hatscore.errors import InputError
from hatscore.stats.clusters import Clusters
from hatscore.stats.counts import check_counts, falling_moment, rate
from hatscore.stats.estimate import Estimate
from hatscore.stats.intervals import fieller, normal_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["ErrorRates", "judged_hat_score", "ratio_of_sums", "true_rate"]

_PAIR = 2
_WEAK = 3.0  # standard errors between a judge and one that tells nothing
_NEVER = "no source item was solved twice by the judge's corrected count: no denominator"


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """How often a judge is right, and on how many labelled replies that rests.

    Parameters
    ----------
    sensitivity
        Probability that a right reply is called right, in (0, 1].
    specificity
        Probability that a wrong reply is called wrong, in (0, 1].
    n_right, n_wrong
        Labelled replies that are right and wrong; infinite when the rates are known exactly.
    judge
        Whose rates these are. Scores with equal names share the uncertainty of the rates; give
        different ones to rates from different labelled replies, of two languages for example.

    Raises
    ------
    InputError
        A rate outside of its range, no labelled replies, or a judge that does no better than
        one that does not read: ``sensitivity + specificity <= 1``.
    """

    sensitivity: float
    specificity: float
    n_right: float = math.inf
    n_wrong: float = math.inf
    judge: str = "judge"

    def __post_init__(self) -> None:
        for name in ("sensitivity", "specificity"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in (0, 1], got {getattr(self, name)!r}")
        for name in ("n_right", "n_wrong"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be positive, got {getattr(self, name)!r}")
        if self.sensitivity + self.specificity <= 1:
            raise InputError(
                f"sensitivity {self.sensitivity} and specificity {self.specificity} add up to 1 "
                "or less: this judge tells nothing, and no correction can"
            )

    def deviations(self, confidence: float) -> tuple[float, float]:
        """Return the standard errors of the sensitivity and of the specificity.

        The variance is taken where Wilson's interval at level `confidence` has its centre: a
        judge seen to be right 50 times out of 50 is not known to be always right.
        """
        q2 = normal_quantile(confidence) ** 2
        found = []
        for p, n in ((self.sensitivity, self.n_right), (self.specificity, self.n_wrong)):
            if math.isinf(n):
                found.append(0.0)
                continue
            centre = (p * n + q2 / 2) / (n + q2)
            found.append(math.sqrt(centre * (1 - centre) / (n + q2)))
        return found[0], found[1]


class _Corrected(NamedTuple):
    """A corrected quantity per item and its derivatives by a and by f."""

    value: Floats
    by_a: Floats
    by_f: Floats


def true_rate(judged_rate: ArrayLike, rates: ErrorRates) -> Floats:
    """Return the rate of right replies behind a judged one (Rogan and Gladen 1978).

    Parameters
    ----------
    judged_rate
        Share of replies that the judge calls right, any shape.
    rates
        The judge's.

    Returns
    -------
    ndarray
        Unbiased, and therefore outside of [0, 1] at times.

    Examples
    --------
    >>> float(true_rate(0.7, ErrorRates(sensitivity=0.9, specificity=0.9)).round(6))
    0.75
    """
    false_yes = 1 - rates.specificity
    found: Floats = (np.asarray(judged_rate, dtype=np.float64) - false_yes) / (
        rates.sensitivity - false_yes
    )
    return found


def judged_hat_score(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    source: ErrorRates,
    target: ErrorRates | None = None,
    correlation: float = 0.0,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the HAT score of one target language, corrected for the errors of the judge.

    ``m = sum(s' t') / sum(u')`` with the corrected rates and the corrected unbiased square; see
    the module. With error rates of one and no doubt it is the corrected :func:`hat_score`.

    Parameters
    ----------
    k_source, k_target
        Replies that the judge called right per item, shape (items,), in the same order.
    n_source, n_target
        Judged replies per item, shape (items,) or one number. An item with fewer than two
        source replies or without target replies is left out.
    source
        Error rates in the source language.
    target
        Error rates in the target language; None takes the same rates from the same labels.
    correlation
        Of the judge's verdicts on two replies to one source item that are both right or both
        wrong, in [0, 1]: 0 when it errs independently on each, 1 when all right replies to an
        item share one verdict, and so do all wrong ones.
    groups
        Cluster label per item, shape (items,); default every item is its own cluster.
    confidence
        Level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        ``estimator`` is ``judged``. The interval is Fieller's with the uncertainty of the error
        rates. The last clusters are those of the error rates, two for each that is uncertain.

    Raises
    ------
    InputError
        As :func:`hat_score`; a correlation outside of [0, 1]; two different rates of one judge.

    Examples
    --------
    >>> perfect = ErrorRates(1.0, 1.0)
    >>> round(judged_hat_score([10, 5, 0], 10, [8, 3, 1], 10, source=perfect).value, 6)
    0.777273
    """
    if not 0 <= correlation <= 1:
        raise InputError(f"correlation must lie in [0, 1], got {correlation!r}")
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=True)
    kt, nt = check_counts(k_target, n_target, name="target", ndim=1, whole=True)
    if len(ks) != len(kt):
        raise InputError(f"source and target must list the same items: got {len(ks)} and {len(kt)}")
    if target is not None and target != source and target.judge == source.judge:
        raise InputError(
            f"two different error rates of the judge {source.judge!r}: give the rates of the "
            "target language another name"
        )
    other = source if target is None else target
    present = (ns >= _PAIR) & (nt > 0)
    s = _first_power(rate(ks, ns), source)
    t = _first_power(rate(kt, nt), other)
    u = _second_power(falling_moment(ks, ns, _PAIR), s, source, correlation)
    clusters = Clusters.of(groups, len(ks))
    a = clusters.sum(np.where(present, s.value * t.value, 0.0)[:, None])
    d = clusters.sum(np.where(present, u.value, 0.0)[:, None])

    def total(x: Floats) -> float:
        return float(x[present].sum())

    # How A and U move with each error rate, times its standard error.
    labels: list[object] = []
    moves: list[tuple[float, float]] = []
    a_s, f_s = source.deviations(confidence)
    a_t, f_t = other.deviations(confidence)
    steps = {
        (source.judge, "sensitivity"): [
            (a_s * total(s.by_a * t.value), a_s * total(u.by_a)),
        ],
        (source.judge, "specificity"): [
            (f_s * total(s.by_f * t.value), f_s * total(u.by_f)),
        ],
    }
    steps.setdefault((other.judge, "sensitivity"), []).append((a_t * total(s.value * t.by_a), 0.0))
    steps.setdefault((other.judge, "specificity"), []).append((f_t * total(s.value * t.by_f), 0.0))
    for label, parts in steps.items():
        by_a, by_u = sum(x for x, _ in parts), sum(y for _, y in parts)
        if by_a or by_u:
            # the sum of the two is nothing and the sum of their squares is the variance
            for sign in (1, -1):
                labels.append((*label, sign))
                moves.append((sign * by_a / math.sqrt(2), sign * by_u / math.sqrt(2)))
    return ratio_of_sums(
        np.vstack([a, np.array([[x] for x, _ in moves]).reshape(-1, 1)]),
        np.vstack([d, np.array([[y] for _, y in moves]).reshape(-1, 1)]),
        labels=_joined(clusters.labels, labels),
        weights=d[:, 0],
        estimator="judged",
        n_items=int(present.sum()),
        reliability=float(np.divide(total(u.value), total(s.value**2)))
        if total(s.value**2)
        else math.nan,
        confidence=confidence,
        note=_weakness(source, other, confidence),
        why_missing=_NEVER,
    )


def ratio_of_sums(
    a: Floats,
    u: Floats,
    *,
    labels: NDArray[np.object_],
    weights: Floats,
    estimator: str,
    n_items: int,
    confidence: float,
    note: str,
    why_missing: str,
    reliability: float = math.nan,
) -> Estimate:
    """Return ``sum(a) / sum(u)`` with Fieller's interval over clusters of items and of doubt.

    Parameters
    ----------
    a, u
        Sums per cluster, shape (clusters, 1); those of error rates add up to nothing.
    labels
        One per cluster, shape (clusters,).
    weights
        What the clusters of items weigh, for their effective number.
    estimator, n_items, confidence, reliability
        As in `Estimate`.
    note
        What is to be known of the value, if anything.
    why_missing
        Why a denominator that is not positive is so.
    """
    top, bottom = float(a.sum()), float(u.sum())
    if n_items == 0 or bottom <= 0:
        return Estimate.missing(
            "no items" if n_items == 0 else why_missing,
            estimator=estimator,
            interval="fieller",
            confidence=confidence,
            n_items=n_items,
        )
    value = top / bottom
    region = fieller(a, u, confidence)
    influence = (a[:, 0] - value * u[:, 0]) / bottom
    low, high = float(region.low[0]), float(region.high[0])
    open_ended = math.isinf(low) or math.isinf(high)
    reasons = [note, "unbounded: too few solved source items or labels to bound the score"]
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        se=float(np.sqrt((influence**2).sum())),
        estimator=estimator,
        interval="fieller",
        confidence=confidence,
        n_items=n_items,
        n_effective=float(weights.sum() ** 2 / (weights**2).sum()),
        reliability=reliability,
        reason="; ".join(reason for reason in reasons[: 1 + open_ended] if reason),
        influence=influence,
        clusters=labels,
    )


def _first_power(s: Floats, rates: ErrorRates) -> _Corrected:
    room = rates.sensitivity + rates.specificity - 1
    value = true_rate(s, rates)
    return _Corrected(value, -value / room, (value - 1) / room)


def _second_power(u: Floats, s: _Corrected, rates: ErrorRates, c: float) -> _Corrected:
    """Correct the unbiased square; c0, c1, c2 as in the module."""
    a, f = rates.sensitivity, 1 - rates.specificity
    c2 = (a - f) ** 2 + c * (a * (1 - a) + f * (1 - f))
    c1 = 2 * f * (a - f) - 2 * c * f * (1 - f)
    c0 = f * f + c * f * (1 - f)
    value = (u - c1 * s.value - c0) / c2
    c2_a, c2_f = 2 * (a - f) + c * (1 - 2 * a), -2 * (a - f) + c * (1 - 2 * f)
    c1_a, c1_f = 2 * f, 2 * a - 4 * f - 2 * c * (1 - 2 * f)
    c0_f = 2 * f + c * (1 - 2 * f)
    return _Corrected(
        value,
        (-c1_a * s.value - c1 * s.by_a - value * c2_a) / c2,
        (-c1_f * s.value - c1 * s.by_f - c0_f - value * c2_f) / c2,
    )


def _joined(items: NDArray[np.object_], more: list[object]) -> NDArray[np.object_]:
    labels = np.empty(len(items) + len(more), dtype=object)
    labels[: len(items)] = items
    for i, label in enumerate(more, len(items)):
        labels[i] = label
    return labels


def _weakness(source: ErrorRates, target: ErrorRates, confidence: float) -> str:
    for rates in (source, target):
        room = rates.sensitivity + rates.specificity - 1
        if room < _WEAK * math.hypot(*rates.deviations(confidence)):
            return (
                f"{rates.judge} is hardly told apart from a judge that does not read: label more "
                "replies, or take another judge"
            )
    return ""
