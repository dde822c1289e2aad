"""Effects over estimates: functions of them, lines through them, and many of them read at once.

Everything here is linear, or made linear, in estimates, so the uncertainty *of items* is that of
summed influences: paired and clustered. A line over models or languages has a second
uncertainty, that of *units*: other models or languages would scatter around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr, stdtrit

from hatscore.errors import InputError
from hatscore.stats import Estimate, combine, mean
from hatscore.stats.intervals import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

__all__ = ["Line", "benjamini_hochberg", "fit", "function_of", "over_units", "scoped"]


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
    """
    labels = np.empty(len(estimate.clusters), dtype=object)
    labels[:] = [f"{scope}\x1f{label}" for label in estimate.clusters]
    return replace(estimate, clusters=labels)


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


def over_units(estimates: Sequence[Estimate], *, confidence: float) -> Estimate:
    """Return the mean over models or languages, with the mean of their effective items.

    `stats.mean` takes the smallest effective number of its parts, which is right for two or three
    of them; a mean over many does not hang on its weakest.
    """
    over = mean(estimates, confidence=confidence)
    if math.isnan(over.value) or over.se == 0:
        return over
    n = float(np.mean([e.n_effective for e in estimates]))
    half = t_quantile(confidence, n) * over.se
    return replace(
        over,
        low=over.value - half,
        high=over.value + half,
        n_effective=n,
        estimator="mean",
    )


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
        p = float(2 * stdtr(freedom, -abs(items.value) / se)) if se > 0 else math.nan
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
