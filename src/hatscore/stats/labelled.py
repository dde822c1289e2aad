"""The HAT score when a judge has graded all replies, and people have labelled some of them.

The labels tell how often the judge is right (`labels`), and the score is corrected by that. Let
y be the judge's verdict on a reply and z the truth, both 0 or 1, a = P(y = 1 | z = 1) the judge's
sensitivity and 1 - f, f = P(y = 1 | z = 0), its specificity. Then ``x = (y - f) / (a - f)`` has
expectation z (W. J. Rogan and B. Gladen, American Journal of Epidemiology 107, 1978).

*Products.* The slope is ``sum(S T) / sum(S**2)`` over items, a ratio of means of products of two
replies. The product of two x is the product of their z only if the judge errs independently on
both, and it does not: what it misreads in an item it misreads in every reply to that item. So a
human label stands on one side of each product. With w the number of replies that a labelled reply
stands for, ``x + w (z - x)`` summed over an item has no error of the judge in it, and ::

    sum(S T)  is estimated by  sum(x_s x_t) + (sum(w (z - x_s) x_t) + sum(x_s w (z - x_t))) / 2
    sum(S**2)               by  sum(x x') + sum(w (z - x) x')

over the pairs of different replies x, x' to an item: half of each comes from either side, and the
errors d of the judge on an item, which ``x_s x_t`` holds as ``d_s d_t``, cancel at second order.
Errors that do depend on how hard an item is are halved. Replies with one text have one truth, so
that a pair of them counts once and not squared (``z * z = z``).

*Doubt.* The influence of the labels' items on a and f joins the influence that these items have on
the sums. Replies that are labelled and scored, labels of a source language that stand behind all
targets, and several labels on one item are thereby taken together as they are. The interval is
Fieller's over all clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hatscore.errors import InputError
from hatscore.stats.clusters import Clusters
from hatscore.stats.estimate import Estimate
from hatscore.stats.judged import ratio_of_sums
from hatscore.stats.labels import label_rates, pooled_replies
from hatscore.stats.weighting import Planned, check_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hatscore.stats.labels import JudgeRates, LabelRates, Replies

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.float64] | NDArray[np.complex128]
    Ints = NDArray[np.intp]

__all__ = ["LabelledScores", "labelled_scores"]

_PAIR = 2
_STEP = 1e-30
_NOTHING = "the judge's verdicts say nothing of the labels"
_WEAK = "the labels hardly tell the judge from one that does not read: label more replies"
_NEVER = "no source item is solved twice by the corrected count: no denominator"


@dataclass(frozen=True, slots=True)
class LabelledScores:
    """Corrected scores and what corrected them.

    Parameters
    ----------
    scores
        By language as a target; None where no item has it as a target. Influences share their
        clusters, so means and differences over languages are joint.
    rates
        By language.
    """

    scores: tuple[Estimate | None, ...]
    rates: tuple[JudgeRates, ...]


class _Side(NamedTuple):
    """Sums per item of one side of the slope; labelled replies one by one."""

    n: Floats
    yes: Floats
    judged: Floats
    square_yes: Floats  # of the number of replies with one text
    square_no: Floats
    item: Ints
    said: Floats
    truth: Floats
    weight: Floats
    alike: Floats


def labelled_scores(
    replies: Sequence[Replies],
    source: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    pooled: bool = False,
    confidence: float = 0.95,
) -> LabelledScores:
    """Return the HAT score of every language, corrected for the errors of the judge.

    Parameters
    ----------
    replies
        One `Replies` per language, source languages too, over the same items.
    source
        Index of each item's source language, shape (items,).
    groups
        Cluster label per item, shape (items,); default every item is its own cluster.
    weights
        Cells that a target cell stands for where a sampling plan left cells out on purpose
        (weight 0), shape (items, languages); see `weighting`. None: every cell for itself.
    pooled
        Take one sensitivity and one specificity for all languages: right only if the judge errs
        alike in all of them.
    confidence
        Level of the intervals, in (0, 1).

    Returns
    -------
    LabelledScores
        A score is NaN with a reason where the labels do not tell the judge from one that does
        not read, and where the source is never solved. Items with fewer than two source replies
        or without target replies are left out.

    Raises
    ------
    InputError
        Shapes that do not fit, or a language (with `pooled`: all together) without a labelled
        reply of some verdict, or with labels of one class alone.
    """
    home = np.asarray(source, dtype=np.intp)
    _check(replies, home)
    clusters = Clusters.of(groups, len(home))
    if pooled:
        rates = [label_rates(pooled_replies(replies), clusters, confidence)]
    else:
        rates = [label_rates(each, clusters, confidence) for each in replies]
    # which set of rates is that of each item's source, and that of each target
    of_item = np.zeros_like(home) if pooled else home
    of_target = [0] * len(replies) if pooled else range(len(replies))
    sides = [_side(each) for each in replies]
    origin = _origin(sides, home)
    standing = check_weights(weights, np.stack([side.n for side in sides], axis=1))
    scores: list[Estimate | None] = []
    for target, side in enumerate(sides):
        foreign = home != target
        if not (foreign & (side.n > 0)).any():
            scores.append(None)
            continue
        terms = _Terms.of(origin, side, foreign, None if standing is None else standing[:, target])
        scores.append(
            _score(terms, rates, of_item, of_target[target], clusters=clusters, level=confidence)
        )
    public = tuple(each.public for each in rates)
    return LabelledScores(tuple(scores), public * len(replies) if pooled else public)


def _check(replies: Sequence[Replies], home: Ints) -> None:
    for j, each in enumerate(replies):
        size = len(each.item)
        if each.n.shape != home.shape or any(
            len(x) != size for x in (each.text, each.yes, each.label)
        ):
            raise InputError(
                f"language {j}: expected n of shape {home.shape} and as many texts, verdicts and "
                f"labels as replies; got {each.n.shape}, {size}, {len(each.text)}, "
                f"{len(each.yes)} and {len(each.label)}"
            )
    if len(home) and not (home.min() >= 0 and home.max() < len(replies)):
        raise InputError(f"source must hold indices of the {len(replies)} languages")


def _side(replies: Replies) -> _Side:
    size = len(replies.n)
    pairs = np.stack([replies.item, replies.text], axis=1)
    _, first, code, count = np.unique(
        pairs, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    alike = count[code.reshape(-1)].astype(np.float64)
    yes = replies.yes.astype(np.float64)
    known = ~np.isnan(replies.label)
    weight = np.zeros(len(yes))
    parts = [(replies.yes == said, known & (replies.yes == said)) for said in (True, False)]
    # without labels of both verdicts a language has its model alone
    if all(some.any() or not whole.any() for whole, some in parts):
        for whole, some in parts:
            weight[some] = whole.sum() / max(int(some.sum()), 1)

    def total(x: Floats) -> Floats:
        return np.bincount(replies.item, weights=x, minlength=size).astype(np.float64)

    at = replies.item[first]
    square = (count * count).astype(np.float64)
    said = yes[first]
    return _Side(
        n=np.asarray(replies.n, dtype=np.float64),
        yes=total(yes),
        judged=total(np.ones(len(yes))),
        square_yes=np.bincount(at, weights=square * said, minlength=size).astype(np.float64),
        square_no=np.bincount(at, weights=square * (1 - said), minlength=size).astype(np.float64),
        item=replies.item[known],
        said=yes[known],
        truth=replies.label[known],
        weight=weight[known],
        alike=alike[known],
    )


def _origin(sides: Sequence[_Side], home: Ints) -> _Side:
    """Return the side of the sources: of every item the sums in its own source language."""
    rows = np.arange(len(home))
    sums = [np.stack(column)[home, rows] for column in zip(*(s[:5] for s in sides), strict=True)]
    own = [home[side.item] == j for j, side in enumerate(sides)]
    single = [
        np.concatenate([column[mask] for column, mask in zip(columns, own, strict=True)])
        for columns in zip(*(s[5:] for s in sides), strict=True)
    ]
    return _Side(*sums, *single)


def _linear(side: _Side, a: Numbers, f: Numbers) -> tuple[Numbers, Numbers]:
    """Return per item the sums of x over its judged replies and of w (z - x) over labelled ones."""
    total = (side.yes - f * side.judged) / (a - f)
    at = side.item
    mended = np.zeros(len(side.n), dtype=np.result_type(total))
    x = (side.said - f[at]) / (a - f)[at]
    np.add.at(mended, at, side.weight * (side.truth - x))
    return total, mended


def _square(side: _Side, total: Numbers, a: Numbers, f: Numbers) -> Numbers:
    """Return per item the mended sum of z z' over pairs of different replies."""
    room = a - f
    squares = side.square_yes * (1 - f) ** 2 + side.square_no * f**2
    # of two replies with one text the product is the truth itself
    alike = (side.square_yes - side.yes) * (1 - f)
    alike = alike - (side.square_no - (side.judged - side.yes)) * f
    found: Numbers = total**2 - squares / room**2 + alike / room
    at = side.item
    x = (side.said - f[at]) / room[at]
    others = total[at] - side.alike * x + (side.alike - 1)
    np.add.at(found, at, side.weight * (side.truth - x) * others)
    return found


@dataclass(frozen=True, slots=True)
class _Terms:
    """Numerator and denominator of one target, item by item, as functions of the error rates."""

    origin: _Side
    side: _Side
    seen: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    plan: Planned | None

    @classmethod
    def of(
        cls, origin: _Side, side: _Side, foreign: NDArray[np.bool_], weights: Floats | None
    ) -> _Terms:
        enough = foreign & (origin.n >= _PAIR)
        seen = enough & (side.n > 0)
        if weights is None:
            return cls(origin, side, seen, seen, None)
        weights = np.where(foreign, weights, 1.0)
        plan = Planned.of(weights[:, None], seen[:, None], origin.yes[:, None])
        return cls(origin, side, seen, plan.counted[:, 0] & enough, plan)

    def filled(self, x: Floats) -> Floats:
        """Let cells that were seen stand for those left out on purpose."""
        return x if self.plan is None else self.plan.fill(x[:, None])[:, 0]

    def __call__(
        self, a_s: Numbers, f_s: Numbers, a_t: Numbers, f_t: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return the products of source and target where seen, and the squares where counted."""
        n = self.origin.n
        one, one_mended = _linear(self.origin, a_s, f_s)
        two, two_mended = _linear(self.side, a_t, f_t)
        top = one * two + (one_mended * two + one * two_mended) / 2
        bottom = _square(self.origin, one, a_s, f_s)
        return (
            np.where(self.seen, top / np.where(self.seen, n * self.side.n, 1.0), 0),
            np.where(self.counted, bottom / np.where(self.counted, n * (n - 1), 1.0), 0),
        )


def _score(
    terms: _Terms,
    rates: Sequence[LabelRates],
    home: Ints,
    target: int,
    *,
    clusters: Clusters,
    level: float,
) -> Estimate:
    """Return the score of one target; `home` and `target` say which rates are whose."""
    n_items = int(terms.counted.sum())
    used = [rates[j] for j in sorted({*home[terms.counted].tolist(), target})]
    useless = any(each.a <= each.f for each in used)
    if useless or not n_items:
        return Estimate.missing(
            _NOTHING if useless else "no items",
            estimator="labelled",
            interval="fieller",
            confidence=level,
            n_items=n_items,
        )
    a, f = (np.array([getattr(each, name) for each in rates]) for name in ("a", "f"))
    # a judge that tells nothing in other languages is none of this score's
    a_s, f_s = np.where(terms.counted, a[home], 1.0), np.where(terms.counted, f[home], 0.0)
    at = (a_s, f_s, np.full(len(home), a[target]), np.full(len(home), f[target]))
    top, bottom = (np.real(x) for x in terms(*at))
    own = [clusters.sum(x[:, None])[:, 0] for x in (terms.filled(top), bottom)]
    columns = []
    for base, slopes in zip(own, _slopes(terms, at, len(rates), home, target), strict=True):
        ours = base + sum(r.influence @ slopes[j] for j, r in enumerate(rates))
        spare = np.concatenate([r.spare @ slopes[j] for j, r in enumerate(rates)])
        # the sum of the two is nothing and the sum of their squares is the variance
        columns.append(np.concatenate([ours, spare / math.sqrt(2), -spare / math.sqrt(2)]))
    labels = np.empty(len(columns[0]), dtype=object)
    labels[: len(own[0])] = clusters.labels
    names = [("labels", j, said) for j in range(len(rates)) for said in ("yes", "no")]
    for i, name in enumerate([(*n, sign) for sign in (1, -1) for n in names], len(own[0])):
        labels[i] = name
    return ratio_of_sums(
        columns[0][:, None],
        columns[1][:, None],
        labels=labels,
        weights=own[1],
        estimator="labelled",
        n_items=n_items,
        confidence=level,
        note=_WEAK if any(each.weak for each in used) else "",
        why_missing=_NEVER,
    )


def _slopes(
    terms: _Terms, at: tuple[Floats, Floats, Floats, Floats], sets: int, home: Ints, target: int
) -> tuple[Floats, Floats]:
    """Return how A and how U move with a and f of every set of rates, shape (sets, 2) each."""
    # steps along the imaginary axis give derivatives to the last digit (Squire and Trapp 1998)
    moved = []
    for j in range(len(at)):
        there = [y + np.complex128(1j * _STEP * (i == j)) for i, y in enumerate(at)]
        moved.append([x.imag / _STEP for x in terms(*there)])
    identity: Callable[[Floats], Floats] = np.asarray
    found = (np.zeros((sets, 2)), np.zeros((sets, 2)))
    for slopes, which, fill in zip(found, (0, 1), (terms.filled, identity), strict=True):
        for j in range(2):
            for each in range(sets):
                ours = np.where(home == each, moved[j][which], 0.0)
                slopes[each, j] = fill(ours).sum()
            slopes[target, j] += fill(moved[2 + j][which]).sum()
    return found
