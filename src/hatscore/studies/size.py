"""Whether transfer grows with size, and how much of a gain in target accuracy is transfer.

One point per model: further thinking settings of a model are left out, they are not other models.
The gain in target accuracy splits exactly. With ``T = m S + c`` per model (accuracies T and S,
HAT m, c what the line does not explain) and a linear operator L, here the slope over log10 of
parameters,

``L(T) = m0 L(S) + S0 L(m) + L((m - m0)(S - S0)) + L(c)``

with means m0 and S0 over models: better source, better transfer, both together, the rest.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hatscore.stats.estimate import p_value
from hatscore.stats.regression import trend
from hatscore.studies.effects import function_of
from hatscore.studies.result import (
    Analysis,
    Figure,
    Finding,
    between,
    cannot_tell,
    counted,
    effect_row,
    for_these,
    judged,
    read_together,
    trend_figure,
    trend_row,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.stats import Estimate
    from hatscore.stats.regression import Trend
    from hatscore.studies.material import Material

__all__ = ["PARTS", "decompose", "line_of", "size", "sized"]

QUESTION = "Does HAT grow with the number of parameters, and what makes target accuracy grow?"
PARTS = ("target", "source", "transfer", "both", "rest")
_FEWEST = 3
_NEEDED = ("source_accuracy", "target_accuracy", "HAT")
_COUNTS = (("total", "parameters_total"), ("active", "parameters_active"))
_SCORES = (("HAT", "HAT"), ("target_accuracy", "target accuracy"))


def size(material: Material) -> Analysis:
    """Return trends over log10 parameters, pooled and within families, and the decomposition."""
    notes = _left_out(material)
    rows: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for scope in material.scopes:
        for kind, attribute in _COUNTS:
            models = sized(material, scope, attribute)
            x = [math.log10(getattr(material.facts[m], attribute)) for m in models]
            if len(models) < _FEWEST or np.ptp(x) == 0:
                continue
            for name, label in _SCORES:
                scores = [material.score(m, scope, name) for m in models]
                head = {"benchmark": scope, "parameters": kind, "score": label}
                families = [material.facts[m].family for m in models]
                for lines, absorb in (("pooled", None), ("within families", families)):
                    line = line_of(x, scores, absorb, confidence=material.confidence)
                    if line is not None:
                        found = trend_row(line, scores, material.confidence)
                        rows.append({**head, "lines": lines, **found})
            if kind == "total":
                parts += _parts(material, scope, models, x)
    if not rows:
        return cannot_tell("size", QUESTION, _why_not(material), notes)
    discovery = read_together(
        [(r, "p", _kind(r)) for r in (*rows, *parts)], confidence=material.confidence
    )
    table = pl.DataFrame([*rows, *parts], infer_schema_length=None)
    unknown = Finding("cannot tell", f"{_why_not(material)}.")
    findings = [*(_say(table, material.confidence) or [unknown]), *_say_parts(table)]
    notes += [
        (
            "value: change per tenfold parameters. low, high and p: over other models; items_low "
            "and items_high: these models, other items."
        ),
        (
            "The parts of the gain are of these models; their intervals are over items. They add "
            "up to the slope of target accuracy with all models alike; the line over models "
            "weights them by their noise, so its slope is a little different."
        ),
    ]
    if discovery:
        notes.append(discovery)
    return Analysis("size", QUESTION, table, tuple(findings), _figure(material), tuple(notes))


def decompose(
    operator: Sequence[float],
    source: Sequence[Estimate],
    target: Sequence[Estimate],
    hat: Sequence[Estimate],
    *,
    confidence: float,
) -> dict[str, Estimate]:
    """Return the parts of ``L(target)``, which add up to it exactly.

    Parameters
    ----------
    operator
        Weight of each model in L, adding up to 0: ``(-1, 1)`` for a difference.
    source, target, hat
        Source accuracy, target accuracy and HAT per model.
    confidence
        Level of the intervals, which are over items.

    Returns
    -------
    dict
        Keys `PARTS`; ``target`` is the sum of the others.
    """
    w = np.asarray(operator, dtype=np.float64)
    s, t, m = (np.array([e.value for e in es]) for es in (source, target, hat))
    n = len(w)
    s0, m0 = float(s.mean()), float(m.mean())
    ls, lt, lm = float(w @ s), float(w @ t), float(w @ m)
    both = float(w @ ((m - m0) * (s - s0)))
    values = {
        "target": lt,
        "source": m0 * ls,
        "transfer": s0 * lm,
        "both": both,
        "rest": lt - m0 * ls - s0 * lm - both,
    }
    zero = np.zeros(n)
    # derivatives by source, target and HAT; the means move with every model
    by_s = {
        "source": m0 * w,
        "transfer": zero + lm / n,
        "both": w * (m - m0) - float(w @ (m - m0)) / n,
    }
    by_m = {
        "source": zero + ls / n,
        "transfer": s0 * w,
        "both": w * (s - s0) - float(w @ (s - s0)) / n,
    }
    by_s["rest"], by_m["rest"] = -w * m, -w * s
    found = {}
    for part in PARTS:
        gradient = [
            *by_s.get(part, zero),
            *(w if part in ("target", "rest") else zero),
            *by_m.get(part, zero),
        ]
        found[part] = function_of(
            [*source, *target, *hat], values[part], gradient, name=part, confidence=confidence
        )
    return found


def line_of(
    x: Sequence[float],
    scores: Sequence[Estimate],
    families: Sequence[str] | None,
    *,
    confidence: float,
) -> Trend | None:
    """Return the line of scores over x, within families where these are given.

    Parameters
    ----------
    x, scores
        One per model.
    families
        One per model. A family of one size shows no slope and gets no weight; None where fewer
        than three models are in others.
    confidence
        Level of the intervals.
    """
    if families is None:
        return trend(x, scores, confidence=confidence, n_permutations=0)
    sizes: dict[str, set[float]] = {}
    for f, v in zip(families, x, strict=True):
        sizes.setdefault(f, set()).add(v)
    keep = [i for i, f in enumerate(families) if f and len(sizes[f]) > 1]
    if len(keep) < _FEWEST:
        return None
    line = trend(
        [x[i] for i in keep],
        [scores[i] for i in keep],
        absorb=[families[i] for i in keep],
        confidence=confidence,
        n_permutations=0,
    )
    leverage = np.zeros(len(scores))
    leverage[keep] = line.leverage
    return replace(line, leverage=leverage)


def sized(material: Material, scope: str, attribute: str = "parameters_total") -> list[str]:
    """Return the models that are points over a number of parameters."""
    return [m for m in material.points(scope) if getattr(material.facts[m], attribute) is not None]


def _kind(row: dict[str, Any]) -> str:
    """Name the claims that a row is read with."""
    over = f"{row['score']}, over models" if "lines" in row else "parts of the gain, over items"
    return f"{over}, mean over benchmarks" if row["benchmark"] == "all" else over


def _parts(
    material: Material, scope: str, models: list[str], x: list[float]
) -> list[dict[str, Any]]:
    centred = np.array(x) - np.mean(x)
    columns = [[material.score(m, scope, name) for m in models] for name in _NEEDED]
    found = decompose(
        (centred / (centred @ centred)).tolist(), *columns, confidence=material.confidence
    )
    return [
        {"benchmark": scope, "parameters": "total", "score": f"part: {part}", "n": len(models)}
        | {k: v for k, v in effect_row(e, p_value(e)).items() if k != "se"}
        for part, e in found.items()
    ]


def _left_out(material: Material) -> list[str]:
    notes = []
    unknown = [m for m in material.models if m not in material.facts]
    sizeless = [
        m
        for m in material.models
        if (f := material.facts.get(m)) and not f.variant_of and f.parameters_total is None
    ]
    variants = [m for m in material.models if (f := material.facts.get(m)) and f.variant_of]
    if unknown:
        notes.append(
            f"not in the registry, so without a size: {', '.join(unknown)} "
            "(add them with --models my.toml)"
        )
    if sizeless:
        notes.append(f"size not published: {', '.join(sizeless)}")
    if variants:
        notes.append(f"further settings of a model, not models: {', '.join(variants)}")
    return notes


def _why_not(material: Material) -> str:
    by_scope = [sized(material, scope) for scope in material.scopes]
    models = max(by_scope, key=len)
    known = material.one_each(list(dict.fromkeys(m for of in by_scope for m in of)))
    sizes = {material.facts[m].parameters_total for m in models}
    if len(models) >= _FEWEST:
        return f"all {len(models)} models have {sizes.pop():g} billion parameters: no trend to see"
    if len(known) >= _FEWEST:
        return (
            f"no benchmark has more than {len(models)} of {len(known)} models of known size: "
            f"a trend needs at least {_FEWEST}"
        )
    return (
        f"{len(models)} of {counted(len(material.models), 'model')} have a known size and a HAT"
        f"{material.besides()}; a trend needs at least {_FEWEST} of different sizes"
    )


def _say(table: pl.DataFrame, confidence: float) -> list[Finding]:
    found = []
    for row in table.filter(
        (pl.col("parameters") == "total") & (pl.col("score") == "HAT")
    ).iter_rows(named=True):
        shown = between(row["value"], row["low"], row["high"], sign=True)
        text = f"{row['benchmark']}, {row['lines']}: HAT changes by {shown} per tenfold parameters"
        text += f" over {row['n']} models{for_these(row)}"
        verdict, words = judged(row, confidence)
        text += words
        if verdict == "not shown":
            text += "; whether it grows with size is open"
        if verdict == "cannot tell":
            text += f"; {row['reason']}"
        found.append(Finding(verdict, f"{text}."))
    return found


def _say_parts(table: pl.DataFrame) -> list[Finding]:
    found = []
    parts = table.filter(pl.col("score").str.starts_with("part: "))
    for (scope,), part in parts.group_by(["benchmark"], maintain_order=True):
        rows = {r["score"][len("part: ") :]: r for r in part.iter_rows(named=True)}
        said = ", ".join(
            f"{between(rows[k]['value'], rows[k]['low'], rows[k]['high'], sign=True)} {words}"
            for k, words in (
                ("source", "from a better source"),
                ("transfer", "from better transfer"),
                ("both", "from both together"),
                ("rest", "that the line does not explain"),
            )
        )
        total = between(
            rows["target"]["value"], rows["target"]["low"], rows["target"]["high"], sign=True
        )
        found.append(
            Finding(
                "described",
                f"{scope}: target accuracy gains {total} per tenfold parameters, all models "
                f"weighing the same: {said}.",
            )
        )
    return found


def _figure(material: Material) -> Figure:
    def sizes(scope: str) -> dict[str, float]:
        models = sized(material, scope, "parameters_total")
        return {m: material.facts[m].parameters_total or math.nan for m in models}

    return trend_figure(material, sizes, x_label="billions of parameters", log_x=True)
