"""How often a judge is right, from labels that people gave to some of the replies that it judged.

Let y be the verdict on a reply and z the truth. ``P(z = 1 | y)`` is the share of right ones among
the labelled replies with verdict y, and the share of either verdict is known from all replies:
Bayes' rule makes the sensitivity ``a = P(y = 1 | z = 1)`` and ``f = P(y = 1 | z = 0)``, one less
the specificity, of them. So it does not matter whether labels were drawn at random from all
replies, or so many of them at random from either verdict.

The doubt about a and f is their influence per cluster of items, as for every score: labels on one
item belong together. Where labels show less spread than the centre of Wilson's interval does (20
of 20 right), two opposite clusters make up for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc

from hatscore.errors import InputError
from hatscore.stats.estimate import Estimate
from hatscore.stats.intervals import normal_quantile, wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hatscore.stats.clusters import Clusters

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

__all__ = ["JudgeRates", "LabelRates", "Replies", "label_rates", "pooled_replies", "rates_differ"]

_PAIR = 2
_LEAST = 1e-9
_WEAK = 3.0  # standard errors between a judge and one that tells nothing


@dataclass(frozen=True, slots=True)
class Replies:
    """What a judge, and for some of them people, said of the replies in one language.

    Parameters
    ----------
    n
        Replies that count per item, shape (items,); those that no judge sees, such as empty
        ones, are among them and wrong. 0 where the item was not asked.
    item
        Index of the item of each judged reply, shape (replies,).
    text
        Code of its text, shape (replies,): equal for replies of one item with one text.
    yes
        Whether the judge calls it right, shape (replies,).
    label
        1 where people call it right, 0 wrong, NaN without a label, shape (replies,).
    """

    n: Floats
    item: Ints
    text: Ints
    yes: NDArray[np.bool_]
    label: Floats


@dataclass(frozen=True, slots=True)
class JudgeRates:
    """How often the judge is right in one language, as its labels tell.

    Parameters
    ----------
    sensitivity, specificity
        Shares of the right and of the wrong replies on which it is right, in [0, 1]. Intervals
        are Wilson's for the effective number of labels.
    right, wrong
        Labelled replies that people call right and wrong.
    yes_right, no_wrong
        Those of them on which the judge agrees. Where labels were not drawn evenly from both
        verdicts their shares are not the rates.
    """

    sensitivity: Estimate
    specificity: Estimate
    right: int
    wrong: int
    yes_right: int
    no_wrong: int


class LabelRates(NamedTuple):
    """Error rates a and f with their doubt.

    Attributes
    ----------
    a, f
        Probability that a right, and that a wrong reply is called right.
    influence
        Of every cluster on them, shape (clusters, 2).
    spare
        Moves of (a, f) by what the labels within either verdict do not show, shape (2, 2).
    public
        What is told of them.
    """

    a: float
    f: float
    influence: Floats
    spare: Floats
    public: JudgeRates

    @property
    def weak(self) -> bool:
        """Whether the judge is hardly told from one that does not read."""
        moves = np.concatenate([self.influence, self.spare])
        doubt = math.sqrt(float(((moves[:, 0] - moves[:, 1]) ** 2).sum()))
        return self.a - self.f < _WEAK * doubt


def pooled_replies(replies: Sequence[Replies]) -> Replies:
    """Return the replies of all languages as those of one."""
    return Replies(
        n=np.sum([each.n for each in replies], axis=0),
        item=np.concatenate([each.item for each in replies]),
        text=np.concatenate([each.text for each in replies]),
        yes=np.concatenate([each.yes for each in replies]),
        label=np.concatenate([each.label for each in replies]),
    )


def label_rates(replies: Replies, clusters: Clusters, confidence: float) -> LabelRates:
    """Return a and f from the labels within each verdict.

    Parameters
    ----------
    replies
        Of one language, or of all (`pooled_replies`).
    clusters
        Which items belong together.
    confidence
        Level of the intervals, in (0, 1).

    Raises
    ------
    InputError
        No labelled reply of some verdict, or labels of one class alone.
    """
    # q1 and q0 are the shares of right ones among those called right and wrong
    yes, label = replies.yes, replies.label
    known = ~np.isnan(label)
    share = float(yes.mean()) if len(yes) else math.nan
    q: list[float] = []
    influence: list[Floats] = []
    spare: list[float] = []
    for said in (True, False):
        of = known & (yes == said)
        if not of.any():
            word = "right" if said else "wrong"
            raise InputError(f"no labelled reply is one that the judge calls {word}")
        q.append(float(label[of].mean()))
        moved = np.zeros(len(replies.n))
        np.add.at(moved, replies.item[of], (label[of] - q[-1]) / of.sum())
        influence.append(clusters.sum(moved[:, None])[:, 0])
        least = _wilson_variance(q[-1], int(of.sum()), confidence)
        spare.append(math.sqrt(max(0.0, least - float((influence[-1] ** 2).sum()))))
    verdicts = np.zeros(len(replies.n))
    np.add.at(verdicts, replies.item, (yes - share) / len(yes))
    influence.append(clusters.sum(verdicts[:, None])[:, 0])
    q1, q0 = q
    right = share * q1 + (1 - share) * q0
    wrong = 1 - right
    if (label[known] == label[known][0]).all():
        raise InputError(f"all labelled replies are {'right' if label[known][0] else 'wrong'}")
    both = share * (1 - share)
    # derivatives of a and of f by q1, q0 and the share of yes
    by = np.array(
        [
            [both * q0 / right**2, -both * (1 - q0) / wrong**2],
            [-both * q1 / right**2, both * (1 - q1) / wrong**2],
            [q1 * q0 / right**2, (1 - q1) * (1 - q0) / wrong**2],
        ]
    )
    a, f = share * q1 / right, share * (1 - q1) / wrong
    moves = np.stack(influence, axis=1) @ by
    lacking = np.array(spare)[:, None] * by[:2]
    variance = (moves**2).sum(0) + (lacking**2).sum(0)
    counts = [
        (
            int((known & (label == truth)).sum()),
            int((known & (label == truth) & (yes == truth)).sum()),
        )
        for truth in (1, 0)
    ]
    public = JudgeRates(
        _rate(a, float(variance[0]), counts[0][0], confidence),
        _rate(1 - f, float(variance[1]), counts[1][0], confidence),
        right=counts[0][0],
        wrong=counts[1][0],
        yes_right=counts[0][1],
        no_wrong=counts[1][1],
    )
    return LabelRates(a, f, moves, lacking, public)


def rates_differ(rates: Sequence[JudgeRates]) -> float:
    """Return the p of one sensitivity and one specificity in all languages, in [0, 1].

    Cochran's ``Q = sum((r - mean)**2 / se**2)`` of each, around the mean weighted by ``1 / se**2``,
    against chi squared; the smaller p is doubled. 1 with fewer than two languages.
    """
    if len(rates) < _PAIR:
        return 1.0
    found = []
    for name in ("sensitivity", "specificity"):
        value, se = (
            np.array([getattr(getattr(r, name), x) for r in rates]) for x in ("value", "se")
        )
        weight = 1 / np.maximum(se, _LEAST) ** 2
        middle = (weight * value).sum() / weight.sum()
        found.append(float(chdtrc(len(rates) - 1, (weight * (value - middle) ** 2).sum())))
    return min(1.0, 2 * min(found))


def _wilson_variance(share: float, n: int, confidence: float) -> float:
    """Return the variance of a share at the centre of Wilson's interval: never 0."""
    q2 = normal_quantile(confidence) ** 2
    centre = (share * n + q2 / 2) / (n + q2)
    return centre * (1 - centre) / (n + q2)


def _rate(value: float, variance: float, n: int, confidence: float) -> Estimate:
    inner = 0 < value < 1 and variance > 0
    effective = min(value * (1 - value) / variance, n) if inner else float(n)
    low, high = wilson(value * effective, effective, confidence)
    return Estimate(
        value=value,
        low=min(float(low), value),
        high=max(float(high), value),
        se=math.sqrt(variance),
        estimator="labelled",
        interval="wilson",
        confidence=confidence,
        n_items=n,
        n_effective=effective,
    )
