"""Whether judges agree, and how often one of them is right.

Judges give yes, no, or nothing that can be read (None). Percentages flatter: two judges that say
yes to nine of ten replies agree on 82 % by chance alone. The coefficients here are 1 for perfect
agreement and 0 for that of chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeVar

from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Agreement",
    "JudgeAccuracy",
    "Proportion",
    "agreement",
    "cohen_kappa",
    "judge_accuracy",
    "krippendorff_alpha",
]

_PAIR = 2
Vote = bool | None
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share with Wilson's interval (E. B. Wilson, JASA 22, 1927).

    Parameters
    ----------
    value, low, high
        In [0, 1]; NaN when `n` is 0.
    k, n
        How many of how many.
    """

    value: float
    low: float
    high: float
    k: int
    n: int

    @classmethod
    def of(cls, k: int, n: int, *, confidence: float = 0.95) -> Proportion:
        """Return the share of `k` in `n`.

        Raises
        ------
        InputError
            `k` outside of 0 to `n`, or a confidence outside of (0, 1).

        Examples
        --------
        >>> share = Proportion.of(8, 10)
        >>> round(share.low, 3), round(share.high, 3)
        (0.49, 0.943)
        """
        if not 0 <= k <= n:
            raise InputError(f"expected a number out of {n}, got {k}")
        if not 0 < confidence < 1:
            raise InputError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
        if n == 0:
            return cls(math.nan, math.nan, math.nan, 0, 0)
        # Not `stats.wilson`: grading is imported where NumPy and SciPy are not wanted.
        q = NormalDist().inv_cdf(0.5 + confidence / 2)
        p = k / n
        centre = (p + q * q / (2 * n)) / (1 + q * q / n)
        half = q * math.sqrt(p * (1 - p) / n + (q / (2 * n)) ** 2) / (1 + q * q / n)
        return cls(p, max(centre - half, 0.0), min(centre + half, 1.0), k, n)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far the judges of a panel agree.

    Parameters
    ----------
    judges
        Names, in order.
    replies
        Replies on which at least two of them gave a readable verdict.
    percent
        Share of the pairs of verdicts on one reply that are equal. Pairs of one reply are not
        independent, so with more than two judges its interval is too narrow.
    coefficient
        Agreement beyond chance, at most 1; NaN when all verdicts are the same, where chance
        alone would agree.
    method
        ``cohen`` for two judges, ``krippendorff`` for more.
    unreadable
        Verdicts of None, by judge.
    """

    judges: tuple[str, ...]
    replies: int
    percent: Proportion
    coefficient: float
    method: Literal["cohen", "krippendorff"]
    unreadable: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class JudgeAccuracy:
    """How often one judge is right, against labels that people gave.

    Parameters
    ----------
    judge
        Its name.
    sensitivity
        Share of the right replies that it calls right.
    specificity
        Share of the wrong replies that it calls wrong.
    unreadable
        Labelled replies on which its verdict is None; they are left out of both.
    unknown
        Labels of replies that it has not seen.
    """

    judge: str
    sensitivity: Proportion
    specificity: Proportion
    unreadable: int
    unknown: int


def agreement(votes: Mapping[str, Mapping[_Key, Vote]], *, confidence: float = 0.95) -> Agreement:
    """Return how far judges agree on the replies they have in common.

    Parameters
    ----------
    votes
        By judge, its verdict on each reply; at least two judges.
    confidence
        Level of the interval, in (0, 1).

    Raises
    ------
    InputError
        Fewer than two judges.

    Examples
    --------
    >>> found = agreement({"a": {1: True, 2: False, 3: True}, "b": {1: True, 2: False, 3: False}})
    >>> found.percent.value, round(found.coefficient, 3)
    (0.6666666666666666, 0.4)
    """
    judges = tuple(votes)
    if len(judges) < _PAIR:
        raise InputError(f"agreement needs two judges or more, got {len(judges)}")
    keys = list(dict.fromkeys(key for said in votes.values() for key in said))
    table = [[votes[judge].get(key) for judge in judges] for key in keys]
    equal = pairs = replies = 0
    for row in table:
        said = [vote for vote in row if vote is not None]
        replies += len(said) >= _PAIR
        for one, two in combinations(said, _PAIR):
            pairs += 1
            equal += one == two
    two_judges = len(judges) == _PAIR
    if two_judges:
        coefficient = cohen_kappa([row[0] for row in table], [row[1] for row in table])
    else:
        coefficient = krippendorff_alpha(table)
    return Agreement(
        judges=judges,
        replies=replies,
        percent=Proportion.of(equal, pairs, confidence=confidence),
        coefficient=coefficient,
        method="cohen" if two_judges else "krippendorff",
        unreadable={
            judge: sum(vote is None for vote in said.values()) for judge, said in votes.items()
        },
    )


def cohen_kappa(first: Sequence[Vote], second: Sequence[Vote]) -> float:
    """Return Cohen's kappa of two judges.

    ``(p - e) / (1 - e)`` with p the share of equal verdicts and e the share expected of judges
    that say yes as often as these, without looking (J. Cohen, Educational and Psychological
    Measurement 20, 1960). Replies on which one verdict is None are left out.

    Parameters
    ----------
    first, second
        Verdicts on the same replies, in the same order.

    Returns
    -------
    float
        -1 to 1; NaN without replies, and when both judges always say the same one word.

    Raises
    ------
    InputError
        Another number of verdicts from one judge than from the other.

    Examples
    --------
    >>> cohen_kappa([True, True, False, False], [True, False, False, False])
    0.5
    """
    if len(first) != len(second):
        raise InputError(
            f"two judges need verdicts on the same replies; got {len(first)} and {len(second)}"
        )
    both = [
        (one, two)
        for one, two in zip(first, second, strict=True)
        if one is not None and two is not None
    ]
    n = len(both)
    if n == 0:
        return math.nan
    # In whole numbers, so that perfect agreement is 1 and not nearly 1.
    equal = sum(one == two for one, two in both)
    yes, also = sum(one for one, _ in both), sum(two for _, two in both)
    expected = yes * also + (n - yes) * (n - also)
    return (n * equal - expected) / (n * n - expected) if n * n != expected else math.nan


def krippendorff_alpha(table: Sequence[Sequence[Vote]]) -> float:
    """Return Krippendorff's alpha for nominal data, with missing verdicts.

    ``1 - D_o / D_e``: of the pairs of verdicts on one reply, the share that differ, each reply
    weighing as its number of verdicts, over the share expected when all verdicts are shuffled
    (K. Krippendorff, "Content Analysis", chapter on reliability). A reply with fewer than two
    verdicts tells nothing and is left out.

    Parameters
    ----------
    table
        One row per reply with one verdict per judge, None where there is none.

    Returns
    -------
    float
        At most 1; NaN without pairs, and when all verdicts are the same.

    Examples
    --------
    >>> krippendorff_alpha([[True, True, None], [False, False, False], [True, None, True]])
    1.0
    """
    differing = 0.0
    yes = total = 0
    for row in table:
        said = [vote for vote in row if vote is not None]
        if len(said) < _PAIR:
            continue
        agreeing = sum(said)
        yes += agreeing
        total += len(said)
        differing += 2 * agreeing * (len(said) - agreeing) / (len(said) - 1)
    expected = 2 * yes * (total - yes)
    return 1 - (total - 1) * differing / expected if expected else math.nan


def judge_accuracy(
    judge: str,
    verdicts: Mapping[_Key, Vote],
    labels: Mapping[_Key, bool],
    *,
    confidence: float = 0.95,
) -> JudgeAccuracy:
    """Return how often a judge agrees with labels of people, for right and wrong replies apart.

    Parameters
    ----------
    judge
        Its name.
    verdicts
        What it said, by reply.
    labels
        Whether the reply is right, by reply; some of the replies are enough.
    confidence
        Level of Wilson's intervals, in (0, 1).

    Examples
    --------
    >>> found = judge_accuracy("j", {1: True, 2: True, 3: False}, {1: True, 2: False, 3: False})
    >>> found.sensitivity.value, found.specificity.value
    (1.0, 0.5)
    """
    counts = {True: [0, 0], False: [0, 0]}
    unreadable = unknown = 0
    for key, label in labels.items():
        if key not in verdicts:
            unknown += 1
            continue
        said = verdicts[key]
        if said is None:
            unreadable += 1
            continue
        counts[label][0] += said == label
        counts[label][1] += 1
    right, wrong = (Proportion.of(k, n, confidence=confidence) for k, n in counts.values())
    return JudgeAccuracy(judge, right, wrong, unreadable, unknown)
