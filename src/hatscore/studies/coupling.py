"""Whether target accuracy, and HAT, is a function of source accuracy across models.

Both uncertainties are given. *Items*: the R2 of these models, had we other items; noise of items
makes an observed R2 too small, so its part is taken out of both variances and the covariance with
the influences of the accuracies. *Models*: Fisher's interval of the correlation, had we others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hatscore.scoring import MACRO
from hatscore.stats import Estimate
from hatscore.stats.regression import coupling as fisher
from hatscore.studies.effects import function_of
from hatscore.studies.result import Analysis, Figure, Finding, between, cannot_tell, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hatscore.studies.material import Material

    Floats = NDArray[np.float64]

__all__ = ["Coupled", "coupled", "coupling"]

QUESTION = "How much of target accuracy, and of HAT, does source accuracy explain across models?"
_FEWEST = 4
_ONE = 1 - 1e-12
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

    The interval over items is made for Fisher's z of the correlation, so that it stays inside
    [0, 1] and reaches 0 where the sign is open.
    """
    keep = [
        i
        for i, (a, b) in enumerate(zip(x, y, strict=True))
        if math.isfinite(a.value) and math.isfinite(b.value)
    ]
    xs, ys = [x[i] for i in keep], [y[i] for i in keep]
    a, b = np.array([e.value for e in xs]), np.array([e.value for e in ys])
    plain = fisher(a, b, confidence=confidence)
    n = len(keep)
    if plain.reason or n < _FEWEST:
        lost = Estimate.missing(
            plain.reason or f"{n} models are too few",
            estimator="r_squared",
            interval="delta",
            confidence=confidence,
        )
        return Coupled(plain.r_squared, lost, plain.low, plain.high, n)
    fx, fy = _influences([*xs, *ys])
    fx, fy = fx - fx.mean(0), fy - fy.mean(0)
    da, db = a - a.mean(), b - b.mean()
    sxx = float(da @ da) - float((fx * fx).sum())
    syy = float(db @ db) - float((fy * fy).sum())
    sxy = float(da @ db) - float((fx * fy).sum())
    items = _squared(xs, ys, (da, db), (sxx, syy, sxy), confidence)
    return Coupled(plain.r_squared, items, plain.low, plain.high, n)


def _influences(estimates: Sequence[Estimate]) -> tuple[Floats, Floats]:
    """Return influences over joint clusters, shape (models, clusters), of both halves."""
    where: dict[object, int] = {}
    for e in estimates:
        for label in e.clusters:
            where.setdefault(label, len(where))
    table = np.zeros((len(estimates), len(where)))
    for i, e in enumerate(estimates):
        np.add.at(table[i], [where[label] for label in e.clusters], e.influence)
    half = len(estimates) // 2
    return table[:half], table[half:]


def _squared(
    xs: Sequence[Estimate],
    ys: Sequence[Estimate],
    centred: tuple[Floats, Floats],
    moments: tuple[float, float, float],
    confidence: float,
) -> Estimate:
    sxx, syy, sxy = moments
    if sxx <= 0 or syy <= 0:
        return Estimate.missing(
            "the models differ by no more than the noise of items",
            estimator="r_squared",
            interval="delta",
            confidence=confidence,
        )
    scale = math.sqrt(sxx * syy)
    r = max(-_ONE, min(_ONE, sxy / scale))
    da, db = centred
    # derivatives of r by the accuracies; those of the noise terms are of higher order
    by_x = db / scale - r * da / sxx
    by_y = da / scale - r * db / syy
    found = function_of([*xs, *ys], r, [*by_x, *by_y], name="r_squared", confidence=confidence)
    if not math.isfinite(found.value):
        return found
    half = (found.high - found.low) / 2 / (1 - r * r)
    ends = sorted(math.tanh(math.atanh(r) + side * half) for side in (-1, 1))
    crosses = ends[0] <= 0 <= ends[1]
    squares = sorted(e * e for e in ends)
    return replace(
        found,
        value=r * r,
        se=2 * abs(r) * found.se,
        low=0.0 if crosses else squares[0],
        high=squares[1],
        influence=2 * r * found.influence,
    )


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
