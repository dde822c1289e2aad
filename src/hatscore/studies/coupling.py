"""Whether target accuracy, and HAT, is a function of source accuracy across models.

Both uncertainties are given. *Items*: the R2 of these models, had we other items; noise of items
scatters both scores, so its part is taken out with their influences (see `coupled`). *Models*:
Fisher's interval of the observed correlation, had we others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import stdtrit

from hatscore.scoring import MACRO
from hatscore.stats import Estimate, combine
from hatscore.stats.regression import coupling as fisher
from hatscore.studies.effects import fair, freedom
from hatscore.studies.result import Analysis, Figure, Finding, between, cannot_tell, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hatscore.studies.material import Material

    Floats = NDArray[np.float64]

__all__ = ["Coupled", "coupled", "coupling"]

QUESTION = "How much of target accuracy, and of HAT, does source accuracy explain across models?"
_FEWEST = 4
_PAIRS = (("target_accuracy", "target accuracy"), ("HAT", "HAT"))


@dataclass(frozen=True, slots=True)
class Coupled:
    """How much of y the source explains across models.

    Attributes
    ----------
    observed
        Plain centred R2.
    items
        R2 without the noise of items, with its interval over items, for these models; within
        [0, 1].
    low, high
        Fisher's interval of `observed` over models.
    n_models
        Models that entered.
    """

    observed: float
    items: Estimate
    low: float
    high: float
    n_models: int


def coupled(x: Sequence[Estimate], y: Sequence[Estimate], *, confidence: float) -> Coupled:
    """Return the R2 of y on x, one estimate per model each, with both uncertainties.

    With centred scores and the covariance V of their item noise, from influences over shared
    items, the moments of the true scores are unbiased (errors in variables; W. A. Fuller,
    Measurement Error Models, 1987)::

        Sxx = x'x - tr Vxx,   Syy = y'y - tr Vyy,   Sxy = x'y - tr Vxy
        R2  = (Sxy**2 - Var(Sxy)) / (Sxx Syy),   cut to [0, 1]

    Sxy squared would be too large by the variance of Sxy. All moments are quadratic forms, and so
    is ``D = sqrt(Sxx Syy)`` around their ratio. The interval is Fieller's for ``r = Sxy / D``: all
    r in [-1, 1] with ``(Sxy - r D)**2 <= t**2 sum_g (a_g - r d_g)**2``, a and d being the
    influences of Sxy and D, summed over items g, and t Student's quantile. It is squared, reaches
    0 where the sign is open, and is all of [0, 1] where D is within its noise of 0.
    """
    keep = [
        i
        for i, (a, b) in enumerate(zip(x, y, strict=True))
        if math.isfinite(a.value) and math.isfinite(b.value)
    ]
    xs, ys = [fair(x[i]) for i in keep], [fair(y[i]) for i in keep]
    a, b = np.array([e.value for e in xs]), np.array([e.value for e in ys])
    plain = fisher(a, b, confidence=confidence)
    n = len(keep)
    if plain.reason or n < _FEWEST:
        items = _lost(plain.reason or f"{n} models are too few", confidence)
    else:
        items = _squared(xs, ys, confidence)
    return Coupled(plain.r_squared, items, plain.low, plain.high, n)


def _lost(reason: str, confidence: float) -> Estimate:
    return Estimate.missing(reason, estimator="r_squared", interval="delta", confidence=confidence)


def _influences(estimates: Sequence[Estimate]) -> Floats:
    """Return influences over joint clusters, shape (estimates, clusters)."""
    first = estimates[0].clusters
    if all(e.clusters is first or np.array_equal(e.clusters, first) for e in estimates):
        return np.array([e.influence for e in estimates])
    where: dict[object, int] = {}
    for e in estimates:
        for label in e.clusters:
            where.setdefault(label, len(where))
    table = np.zeros((len(estimates), len(where)))
    for i, e in enumerate(estimates):
        np.add.at(table[i], [where[label] for label in e.clusters], e.influence)
    return table


def _squared(xs: Sequence[Estimate], ys: Sequence[Estimate], confidence: float) -> Estimate:
    noise = _influences([*xs, *ys])
    fx, fy = (part - part.mean(0) for part in np.split(noise, 2))
    x, y = (np.array([e.value for e in es]) for es in (xs, ys))
    x, y = x - x.mean(), y - y.mean()
    sxx = float(x @ x - (fx * fx).sum())
    syy = float(y @ y - (fy * fy).sum())
    sxy = float(x @ y - (fx * fy).sum())
    if sxx <= 0 or syy <= 0:
        return _lost("the models differ by no more than the noise of items", confidence)
    if not min(e.n_effective for e in (*xs, *ys)) > 1:
        return _lost("too few effective items", confidence)
    d, ratio = math.sqrt(sxx * syy), math.sqrt(syy / sxx)
    of_xy, of_d = x @ fy + y @ fx, ratio * (x @ fx) + (y @ fy) / ratio
    # z'Qz from noisy z has 4 z'QVQz, too large by 2 tr(QVQV) for the variance
    vx, vy, vxy = fx @ fx.T, fy @ fy.T, fx @ fy.T
    twice = float((vx * vy).sum() + (vxy * vxy.T).sum())
    value = max(0.0, min(1.0, (sxy**2 - max(0.0, float(of_xy @ of_xy) - twice)) / d**2))
    r = max(-1.0, min(1.0, sxy / d))
    slope = (of_xy - r * of_d) / d
    t2 = float(stdtrit(freedom(slope), 0.5 + confidence / 2)) ** 2
    low, high = _fieller(
        d * d - t2 * float(of_d @ of_d),
        sxy * d - t2 * float(of_xy @ of_d),
        sxy * sxy - t2 * float(of_xy @ of_xy),
    )
    by_x, by_y = (y / d - r * x / sxx).tolist(), (x / d - r * y / syy).tolist()
    linear = combine([*xs, *ys], [*by_x, *by_y], estimator="r_squared", confidence=confidence)
    return replace(
        linear,
        value=value,
        se=2 * abs(r) * linear.se,
        low=min(low, value),
        high=max(high, value),
        interval="fieller",
        influence=2 * r * linear.influence,
    )


def _fieller(square: float, half: float, const: float) -> tuple[float, float]:
    """Return the least and largest r**2 with ``square r**2 - 2 half r + const <= 0``, |r| <= 1."""
    disc = half * half - square * const
    root = math.sqrt(max(disc, 0.0))
    ends = sorted(e / square for e in (half - root, half + root)) if square else [-1.0, 1.0]
    if square <= 0:
        # everything, or everything but what lies between the ends
        zero_is_in = disc <= 0 or const <= 0 or square == 0
        return (0.0 if zero_is_in else min(1.0, min(abs(e) for e in ends) ** 2)), 1.0
    if ends[0] > 1 or ends[1] < -1:
        # noise beyond what a correlation can be: as wide, at the edge
        nearest = max(0.0, 1.0 - (ends[1] - ends[0]))
        return nearest * nearest, 1.0
    low, high = max(ends[0], -1.0), min(ends[1], 1.0)
    squares = sorted((low * low, high * high))
    return (0.0 if low <= 0 <= high else squares[0]), squares[1]


def coupling(material: Material) -> Analysis:
    """Return the R2 per benchmark and language, and of the macro means."""
    rows, points = [], []
    for benchmark in material.benchmarks:
        models = material.on(benchmark)
        for language in (*material.languages(benchmark), MACRO):
            for name, label in _PAIRS:
                x = [material.of(m, benchmark, language, "source_accuracy") for m in models]
                y = [material.of(m, benchmark, language, name) for m in models]
                c = coupled(x, y, confidence=material.confidence)
                rows.append(
                    {
                        "benchmark": benchmark,
                        "language": language,
                        "score": label,
                        "r_squared": c.items.value,
                        "low": c.items.low,
                        "high": c.items.high,
                        "observed": c.observed,
                        "models_low": c.low,
                        "models_high": c.high,
                        "n": c.n_models,
                        "reason": c.items.reason,
                    }
                )
                if language == MACRO:
                    points += [
                        {
                            "panel": f"{benchmark}: {label}",
                            "series": "",
                            "x": a.value,
                            "label": m,
                            "y": b.value,
                            "low": b.low,
                            "high": b.high,
                        }
                        for m, a, b in zip(models, x, y, strict=True)
                    ]
    table = pl.DataFrame(rows)
    if len(material.models) < _FEWEST:
        return cannot_tell(
            "coupling",
            QUESTION,
            f"{counted(len(material.models), 'model')}: too few to see how accuracies move "
            f"together; at least {_FEWEST} are needed",
        )
    figure = Figure(pl.DataFrame(points), x_label="source accuracy", y_label="score in the targets")
    notes = (
        (
            "R2 is centred. low and high: these models, other items (its noise is taken out of "
            "r_squared, not of observed); models_low and models_high: other models."
        ),
        "Many R2 stand side by side here: they are descriptions with intervals, not tests.",
    )
    return Analysis("coupling", QUESTION, table, tuple(_say(table)), figure, notes)


def _say(table: pl.DataFrame) -> list[Finding]:
    found = []
    macro = table.filter(pl.col("language") == MACRO)
    for row in macro.iter_rows(named=True):
        if math.isnan(row["observed"]):
            found.append(
                Finding("cannot tell", f"{row['benchmark']}, {row['score']}: {row['reason']}.")
            )
            continue
        over = between(row["observed"], row["models_low"], row["models_high"])
        text = (
            f"{row['benchmark']}: over {row['n']} models source accuracy explains R2 = {over} of "
            f"the macro {row['score']} (interval over models)"
        )
        if not math.isnan(row["r_squared"]):
            text += (
                "; without the noise of items "
                f"{between(row['r_squared'], row['low'], row['high'])} (these models, other items)"
            )
        found.append(Finding("described", f"{text}."))
    return found
