"""Effects over estimates: functions of them, lines through them, and many of them read at once.

Everything here is linear, or made linear, in estimates, so the uncertainty *of items* is that of
summed influences: paired and clustered. A line over models or languages has a second
uncertainty, that of *units*: other models or languages would scatter around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr, stdtrit

from hatscore.errors import InputError
from hatscore.stats import Estimate, combine, difference, mean
from hatscore.stats.intervals import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Line",
    "benjamini_hochberg",
    "fair",
    "fit",
    "freedom",
    "function_of",
    "gap_between",
    "over_items",
    "over_units",
    "scoped",
    "student",
    "student_p",
]

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Line:
    """One coefficient of a least-squares fit over models or languages.

    Attributes
    ----------
    name
        Of the covariate.
    items
        The coefficient with its uncertainty for other items and the same units.
    se, low, high, p
        Its uncertainty for other units: from the scatter around the fit, Student's t.
    n_units
        Models or languages that entered.
    reason
        Why there is no uncertainty over units; empty otherwise.
    """

    name: str
    items: Estimate
    se: float
    low: float
    high: float
    p: float
    n_units: int
    reason: str = ""

    @property
    def value(self) -> float:
        """The coefficient."""
        return self.items.value


def scoped(estimate: Estimate, scope: str) -> Estimate:
    """Return the estimate with its cluster labels made unique to a benchmark.

    Item ``17`` of one benchmark is not item ``17`` of another, and must not be paired with it.
    Equal labels share one array, so that estimates over the same items are added without a look
    at every label.
    """
    return replace(estimate, clusters=_labels(tuple(map(str, estimate.clusters)), scope))


@lru_cache(maxsize=256)
def _labels(clusters: tuple[str, ...], scope: str) -> NDArray[np.object_]:
    labels = np.empty(len(clusters), dtype=object)
    labels[:] = [f"{scope}\x1f{label}" for label in clusters]
    labels.flags.writeable = False
    return labels


def function_of(
    estimates: Sequence[Estimate],
    value: float,
    gradient: Sequence[float],
    *,
    name: str,
    confidence: float,
) -> Estimate:
    """Return ``value``, a smooth function of estimates, with the delta method's uncertainty.

    Parameters
    ----------
    estimates
        What it is a function of.
    value
        The function at the estimates.
    gradient
        Its partial derivatives there, one per estimate.
    name, confidence
        Of the result.
    """
    linear = combine(estimates, gradient, estimator=name, confidence=confidence)
    if math.isnan(linear.value) or math.isnan(value):
        return linear
    return replace(
        linear,
        value=value,
        low=value - (linear.value - linear.low),
        high=value + (linear.high - linear.value),
    )


def fair(estimate: Estimate) -> Estimate:
    """Return the estimate with its influences made as large as they are on average.

    Every cluster pulls the estimate towards itself, so its residual, and with it the influence, is
    too small: ``E[sum(psi**2)] = V (1 - 1/n)`` where the variance of a cluster goes with its
    weight, n being the effective number of clusters (R. M. Bell and D. F. McCaffrey, Survey
    Methodology 28, 2002, for a ratio). The influences are multiplied by ``sqrt(n / (n - 1))``,
    before estimates are combined: each part by its own factor, not all by that of the weakest.
    """
    n = estimate.n_effective
    if not n > 1 or math.isinf(n):
        return estimate
    factor = math.sqrt(n / (n - 1))
    return replace(
        estimate, se=factor * estimate.se, influence=factor * np.asarray(estimate.influence)
    )


def freedom(influence: ArrayLike) -> float:
    """Return the degrees of freedom of ``sum(influence**2)`` as a variance, at least 1.

    Satterthwaite's ``2 V**2 / Var(V)`` with ``Var(V)`` from the fourth powers of the influences
    themselves: ``df = 3 (sum psi**2)**2 / sum psi**4 - 2``, numerator and denominator being
    unbiased for independent normal psi of any variances (after S. R. Lipsitz, J. G. Ibrahim and
    M. Parzen, The Statistician 48, 1999), and never more than clusters with any influence, less
    one. Kish's number of clusters counts the weights alone and says less than there is: the
    residuals of items that weigh little scatter too.

    Examples
    --------
    >>> freedom([0.1, -0.1] * 25)
    49.0
    >>> freedom([1.0, 0.0, 0.0])
    1.0
    """
    squares = np.asarray(influence, dtype=np.float64) ** 2
    fourth = float(squares @ squares)
    if fourth == 0:
        return 1.0
    most = float(np.count_nonzero(squares) - 1)
    return max(1.0, min(most, 3 * float(squares.sum()) ** 2 / fourth - 2))


def student(estimate: Estimate, *, confidence: float) -> Estimate:
    """Return the estimate with Student's interval for the `freedom` of its influences.

    The influences are taken as they are: see `fair`. An estimate without a value or without
    spread stays as it is.
    """
    normal_quantile(confidence)  # checks the level
    if math.isnan(estimate.value) or estimate.se == 0 or not estimate.n_effective > 1:
        return estimate
    t = float(stdtrit(freedom(estimate.influence), 0.5 + confidence / 2))
    half = t * estimate.se
    return replace(estimate, low=estimate.value - half, high=estimate.value + half)


def student_p(estimate: Estimate, *, null: float = 0.0) -> float:
    """Return the two-sided p of ``estimate == null`` that fits the interval of `student`."""
    if math.isnan(estimate.value) or estimate.se == 0 or not estimate.n_effective > 1:
        return math.nan
    t = -abs(estimate.value - null) / estimate.se
    return float(2 * stdtr(freedom(estimate.influence), t))


def gap_between(first: Estimate, second: Estimate, *, confidence: float) -> Estimate:
    """Return ``first - second``, paired on clusters, with the interval of `student`."""
    paired = difference(fair(first), fair(second), confidence=confidence)
    return student(paired, confidence=confidence)


def over_units(estimates: Sequence[Estimate], *, confidence: float) -> Estimate:
    """Return the mean over models or languages, with the interval of `student`.

    Parameters
    ----------
    estimates
        With influences that are `fair`.
    confidence
        Level of the interval.
    """
    over = mean(estimates, confidence=confidence)
    if math.isnan(over.value) or over.se == 0:
        return over
    n = float(np.mean([e.n_effective for e in estimates]))
    return student(replace(over, n_effective=n, estimator="mean"), confidence=confidence)


def over_items(
    estimates: Sequence[Estimate], weights: Sequence[float], *, confidence: float
) -> Estimate:
    """Return ``sum(weights * estimates)`` of `fair` estimates, with the interval of `student`.

    Parameters
    ----------
    estimates
        Scores of models, say; those of weight 0 need no value.
    weights
        One per estimate, such as the leverage of a line. Without any weight, or with one that is
        NaN, the result is missing.
    confidence
        Level of the interval.
    """
    used = [(fair(e), w) for e, w in zip(estimates, weights, strict=True) if w]
    if not used or any(math.isnan(w) for _, w in used):
        return Estimate.missing(
            "no line", estimator="combination", interval="delta", confidence=confidence
        )
    parts, by = zip(*used, strict=True)
    return student(combine(parts, by, confidence=confidence), confidence=confidence)


def fit(
    covariates: dict[str, ArrayLike],
    scores: Sequence[Estimate],
    *,
    absorb: Sequence[str] | None = None,
    confidence: float,
) -> list[Line]:
    """Return the least-squares coefficients of scores on covariates, with an intercept.

    Parameters
    ----------
    covariates
        One number per unit each, shape (units,), by name.
    scores
        One Estimate per unit, all with a value.
    absorb
        One label per unit; each label gets an intercept of its own (lines *within* families).
    confidence
        Level of the intervals, in (0, 1).

    Returns
    -------
    list of Line
        In the order of `covariates`. Without a degree of freedom left the uncertainty over units
        is NaN with a reason. Covariates that the others determine give a missing coefficient.

    Raises
    ------
    InputError
        Another number of values than of scores.
    """
    n = len(scores)
    columns = [np.asarray(x, dtype=np.float64) for x in covariates.values()]
    if any(c.shape != (n,) for c in columns) or (absorb is not None and len(absorb) != n):
        raise InputError(f"a fit over {n} scores needs {n} values of every covariate")
    labels = list(absorb) if absorb is not None else [""] * n
    own = [[float(label == one) for label in labels] for one in dict.fromkeys(labels)]
    design = np.column_stack([*own, *columns])
    k = design.shape[1]
    if n < k or np.linalg.matrix_rank(design) < k:
        why = (
            f"{n} are too few for {k} coefficients"
            if n < k
            else "the covariates do not vary independently of each other"
        )
        return [_none(name, why, n, confidence) for name in covariates]
    operator = np.linalg.pinv(design)
    y = np.array([s.value for s in scores])
    residual = y - design @ (operator @ y)
    freedom = n - k
    inverse = np.linalg.inv(design.T @ design)
    lines = []
    for j, name in enumerate(covariates, start=len(own)):
        items = combine(scores, operator[j].tolist(), estimator=name, confidence=confidence)
        if freedom < 1:
            reason = f"{n} points determine {k} coefficients: nothing is left to see scatter"
            lines.append(Line(name, items, math.nan, math.nan, math.nan, math.nan, n, reason))
            continue
        se = math.sqrt(float(residual @ residual) / freedom * inverse[j, j])
        half = float(stdtrit(freedom, 0.5 + confidence / 2)) * se
        if np.abs(residual).max() <= _ROUNDING * max(1.0, float(np.abs(y).max())):
            reason = "the scores lie on the fit: no scatter to see"
            lines.append(Line(name, items, math.nan, math.nan, math.nan, math.nan, n, reason))
            continue
        p = float(2 * stdtr(freedom, -abs(items.value) / se))
        lines.append(Line(name, items, se, items.value - half, items.value + half, p, n))
    return lines


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Return the false-discovery rate at which each claim would just be made.

    ``q_(i) = min over j >= i of p_(j) n / j`` (Y. Benjamini and Y. Hochberg, Journal of the Royal
    Statistical Society B 57, 1995). Claims with q below 0.05 hold together with an expected 5 %
    of false ones among them, for independent or positively dependent tests.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, float("nan")])
    [0.03, 0.04, 0.04, nan]
    """
    known = sorted((x, i) for i, x in enumerate(p) if not math.isnan(x))
    found = [math.nan] * len(p)
    least = 1.0
    for rank in range(len(known), 0, -1):
        x, i = known[rank - 1]
        least = min(least, x * len(known) / rank)
        found[i] = least
    return found


def _none(name: str, reason: str, n: int, confidence: float) -> Line:
    nan = math.nan
    lost = Estimate.missing(reason, estimator=name, interval="delta", confidence=confidence)
    return Line(name, lost, nan, nan, nan, nan, n, reason)
