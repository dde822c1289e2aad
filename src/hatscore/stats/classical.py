"""The measures that came before, each with its interval, for many targets against one source.

With ``s = k_s / n_s`` and ``t = k_t / n_t`` per item, over the items that both sides have:

================  =====================================  =================================
name              formula                                meaning
================  =====================================  =================================
source_accuracy   ``mean(s)``                            how often the source is right
target_accuracy   ``mean(t)``                            how often the target is right
gap               ``mean(s) - mean(t)``                  the XLT gap
ratio             ``mean(t) / mean(s)``                  target over source
transfer_score    ``sum(s t) / sum(s)``                  P(target right | source right)
overall           ``mean(s t)``                          P(both right), ECLeKTic's overall
================  =====================================  =================================

"Transfer score" means two things in the literature; here it is the conditional probability.
Source rows are never targets. Items weigh alike however many replies they have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hatscore.stats.clusters import Clusters
from hatscore.stats.counts import check_counts, rate
from hatscore.stats.estimate import Estimate, difference
from hatscore.stats.ratio import BinomialFloor, ratio_estimates, ratio_table
from hatscore.stats.weighting import Planned, check_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["CLASSICAL", "classical_scores"]

_UNSEEN = (
    "the plan left out items that the source never solved, and none of those that stand for them "
    "has target replies yet"
)

CLASSICAL = ("source_accuracy", "target_accuracy", "gap", "ratio", "transfer_score", "overall")


def classical_scores(
    k_source: ArrayLike,
    n_source: ArrayLike,
    k_target: ArrayLike,
    n_target: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
) -> dict[str, list[Estimate]]:
    """Return every measure of the table above, one Estimate per target.

    Parameters
    ----------
    k_source, n_source
        Correct replies and replies per item, shape (items,); n may be one number.
    k_target, n_target
        Shape (items, targets); ``n_target`` 0 marks a missing cell.
    groups
        Cluster label per item, shape (items,); default every item is its own cluster.
    weights
        Cells that a cell stands for where a sampling plan left cells out on purpose (weight 0),
        shape (items, targets); see `weighting`. None: every cell stands for itself.
    confidence
        Level of the intervals, in (0, 1).

    Returns
    -------
    dict
        Keys `CLASSICAL`. Proportions of single replies have Wilson's interval, for as many
        trials as the clusters are worth. Rates of repeated replies have Fieller's, joined with
        the score region where failures are rare (see `intervals`), inside [0, 1]; the ratio has
        Fieller's, the gap Student's from paired influences. All have a width when every reply
        is right or wrong.

    Raises
    ------
    InputError
        Shapes that do not fit, counts outside 0..n.
    """
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=False)
    kt, nt = check_counts(k_target, n_target, name="target", ndim=2, whole=False)
    clusters = Clusters.of(groups, len(ks))
    present = (nt > 0) & (ns > 0)[:, None]
    standing = check_weights(weights, nt)
    planned = None if standing is None else Planned.of(standing, present, ks[:, None])
    # binomial noise is in what was seen, each reply as often as it counts
    noisy = present.astype(np.float64) if planned is None else present * planned.weights
    if planned is not None:
        present = planned.counted & (ns > 0)[:, None]
    one = present.astype(np.float64)
    s = rate(ks, ns)[:, None] * one
    seen = rate(kt, nt) * (one if planned is None else planned.seen)
    t, both = seen, s * seen
    if planned is not None:
        t, both = planned.fill(seen), planned.fill(both)
    lost = np.zeros(kt.shape[1], dtype=bool) if planned is None else planned.lost
    zero = np.zeros_like(t)

    def score(
        name: str, numerator: Floats, denominator: Floats, floor: BinomialFloor | None
    ) -> list[Estimate]:
        # weighted replies are no trials of one kind, so Wilson's interval is not theirs
        single = (
            floor is not None and planned is None and bool(np.isin(floor.target, (0.0, 1.0)).all())
        )
        interval = "wilson" if single else "fieller"
        table = ratio_table(
            numerator,
            denominator,
            present,
            clusters=clusters,
            floor=floor,
            interval=interval,
            confidence=confidence,
        )
        return ratio_estimates(
            table,
            clusters=clusters,
            estimator=name,
            interval=interval,
            confidence=confidence,
            why_missing="the source was never right, so there is nothing to condition on",
        )

    def proportion(weight: Floats, rates: Floats, trials: Floats = nt) -> BinomialFloor:
        return BinomialFloor(
            weight=weight,
            slope=one,
            intercept=zero,
            scale=zero + 1,
            target=rates,
            trials=np.where(present, trials, zero),
        )

    def of_target(estimates: list[Estimate]) -> list[Estimate]:
        return [
            Estimate.missing(
                _UNSEEN, estimator=e.estimator, interval=e.interval, confidence=confidence
            )
            if gone
            else e
            for e, gone in zip(estimates, lost, strict=True)
        ]

    source = [
        _inside_unit(e)
        for e in score("source_accuracy", s, one, proportion(one, s, ns[:, None] + zero))
    ]
    target = of_target(
        [_inside_unit(e) for e in score("target_accuracy", t, one, proportion(noisy, seen))]
    )
    return {
        "source_accuracy": source,
        "target_accuracy": target,
        "gap": [_gap(a, b) for a, b in zip(source, target, strict=True)],
        "ratio": [
            _open_ratio(e, a, b)
            for e, a, b in zip(of_target(score("ratio", t, s, None)), source, target, strict=True)
        ],
        "transfer_score": [
            _inside_unit(e) for e in score("transfer_score", both, s, proportion(s * noisy, seen))
        ],
        "overall": [
            _inside_unit(e) for e in score("overall", both, one, proportion(noisy, s * seen))
        ],
    }


def _inside_unit(estimate: Estimate) -> Estimate:
    """Clip: a proportion cannot leave [0, 1], whatever its quadratic says."""
    if not np.isfinite(estimate.value):
        return estimate
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def _gap(source: Estimate, target: Estimate) -> Estimate:
    """Source minus target, paired; never of zero width.

    Where no item differs, the paired spread is zero. The interval is then built from the ends of
    the two proportions' own intervals, as R. G. Newcombe does (Statistics in Medicine 17, 1998,
    method 10), which stays open at the boundary.
    """
    plain = difference(source, target)
    if not np.isfinite(plain.value) or plain.se > 0:
        return replace(plain, estimator="gap")
    low = plain.value - np.hypot(source.value - source.low, target.high - target.value)
    high = plain.value + np.hypot(source.high - source.value, target.value - target.low)
    return replace(plain, low=float(low), high=float(high), estimator="gap", interval="wilson")


def _open_ratio(ratio: Estimate, source: Estimate, target: Estimate) -> Estimate:
    """Give a ratio without spread the ends that its two proportions' intervals allow."""
    if not np.isfinite(ratio.value) or ratio.se > 0:
        return ratio
    high = target.high / source.low if source.low > 0 else np.inf
    return replace(ratio, low=target.low / source.high, high=float(high), interval="wilson")
