"""What every metric does when the items get easier and transfer stays.

*By hardness*: the items of a run are split into those whose source is solved more than half of
the time and the others, and every metric is taken in both. Splitting by the same replies that are
scored would bias the scores (items that look easy were also lucky: regression to the mean), so the
source replies are dealt at random into two halves, one to split by, one to score with.

*By dial*: benchmarks of one name with an option that is a number, such as a difficulty, are
compared at its ends.

HAT should stay; accuracy, gap, the transfer score and the plug-in have no reason to.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hatscore.errors import InputError
from hatscore.stats import Estimate, classical_scores, difference, hat_scores, mean
from hatscore.stats.clusters import Clusters
from hatscore.stats.hat import slope_parts
from hatscore.stats.weighting import check_weights
from hatscore.studies.effects import fair, over_units, scoped, student, student_p
from hatscore.studies.result import (
    Analysis,
    Figure,
    Finding,
    between,
    cannot_tell,
    effect_figure,
    effect_row,
    judged,
    read_together,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hatscore.outcomes import Aligned
    from hatscore.studies.material import Material

    Floats = NDArray[np.float64]
    Moves = dict[tuple[str, str, str], tuple[Mapping[str, Estimate], Mapping[str, Estimate]]]

__all__ = ["METRICS", "moved_between", "strata", "validation"]

QUESTION = "Which metrics move when the source distribution shifts and transfer does not?"
METRICS = (
    "hat",
    "hat_plugin",
    "source_accuracy",
    "target_accuracy",
    "gap",
    "ratio",
    "transfer_score",
    "overall",
)
ALL = "mean over models"
# of every benchmark the mean over models, or the only model that it has
_SUMMARY = (pl.col("model") == ALL) | (pl.col("model").n_unique().over("benchmark", "along") == 1)
_HALF = 0.5
_FEWEST_REPLIES = 4
_FEWEST_EFFECTIVE = 5.0
_DIAL = re.compile(r"(?P<head>.*[(,])(?P<name>\w+)=(?P<value>-?\d+(?:\.\d+)?)(?P<tail>[,)].*)")


def validation(material: Material, *, seed: int = 0) -> Analysis:
    """Return how far every metric moves from hard to easy items, and along a dial.

    Parameters
    ----------
    material
        Scores and outcomes; at least 4 source replies per item for the split by hardness.
    seed
        Of the random halves.
    """
    moves: Moves = {}
    failed: dict[str, list[str]] = {}
    for i, block in enumerate(material.outcomes.aligned()):
        rng = np.random.default_rng([seed, i])
        try:
            halves = strata(block, confidence=material.confidence, rng=rng)
        except InputError as error:
            failed.setdefault(str(error), []).append(f"{block.model} on {block.benchmark}")
            continue
        moves[block.benchmark, "hard to easy", block.model] = halves
    moves |= _dials(material)
    rows = _rows(moves, material.confidence)
    notes = [
        f"{which[0]}{f' and {len(which) - 1} more' if len(which) > 1 else ''}: {why}"
        for why, which in failed.items()
    ]
    if not rows:
        why = notes[0] if notes else "there are no targets"
        return cannot_tell("validation", QUESTION, why, notes)
    discovery = read_together([(r, "p", _kind(r)) for r in rows], confidence=material.confidence)
    table = pl.DataFrame(rows, infer_schema_length=None)
    notes.append(
        "movement: second minus first. The source rates of the split by hardness come from half of "
        "the source replies, the split from the other half."
    )
    if discovery:
        notes.append(discovery)
    findings = tuple(_say(table, material.confidence))
    return Analysis("validation", QUESTION, table, findings, _figure(table), tuple(notes))


def strata(
    block: Aligned, *, confidence: float, rng: np.random.Generator
) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
    """Return every metric on the hard and on the easy items, macro over languages.

    Parameters
    ----------
    block
        One model on one benchmark.
    confidence
        Level of the intervals.
    rng
        Deals the source replies of every item into two halves.

    Raises
    ------
    InputError
        Fewer than 4 source replies per item, partial credit, or no item on one side.
    """
    use = block.n_source >= _FEWEST_REPLIES
    if not use.any():
        raise InputError("a split by hardness needs at least 4 source replies per item")
    ks, ns = block.k_source, block.n_source
    if (ks != ks.round()).any():
        raise InputError("replies with partial credit cannot be dealt into halves")
    n_split = (ns // 2).astype(np.int64)
    k_split = rng.hypergeometric(
        ks.astype(np.int64), (ns - ks).astype(np.int64), np.where(use, n_split, 0)
    )
    easy = use & (k_split > _HALF * n_split)
    hard = use & ~easy
    if not easy.any() or not hard.any():
        which = "easy" if hard.any() else "hard"
        raise InputError(
            f"no item is {which}: the source is solved more than half of the time in "
            f"{int(easy.sum())} of {int(use.sum())} items"
        )
    k_rest, n_rest = ks - k_split, ns - n_split
    return tuple(  # type: ignore[return-value]
        _metrics(block, mask, k_rest, n_rest, confidence) for mask in (hard, easy)
    )


def _metrics(
    block: Aligned,
    mask: NDArray[np.bool_],
    k_source: NDArray[np.float64],
    n_source: NDArray[np.float64],
    confidence: float,
) -> dict[str, Estimate]:
    counts = (k_source[mask], n_source[mask], block.k_target[mask], block.n_target[mask])
    groups, weights = block.groups[mask], block.weights[mask]
    shared: dict[str, Any] = {"groups": groups, "weights": weights, "confidence": confidence}
    columns = dict(classical_scores(*counts, **shared))
    columns["hat"] = hat_scores(*counts, **shared)
    columns["hat_plugin"] = hat_scores(*counts, estimator="plugin", **shared)
    shares = _shares(counts, groups, weights)
    found = {}
    for name in METRICS:
        one = mean(columns[name], confidence=confidence)
        if name in shares and math.isfinite(one.value):
            one = _unbiased(one, columns[name], shares[name])
        found[name] = scoped(fair(one), block.benchmark)
    return found


def _shares(
    counts: tuple[Floats, Floats, Floats, Floats],
    groups: NDArray[Any],
    weights: Floats,
) -> dict[str, Floats]:
    """Return each cluster's share of the denominator, shape (clusters, languages), by metric."""
    ks, ns, kt, nt = counts
    n_target = np.broadcast_to(nt, kt.shape).astype(np.float64)
    clusters = Clusters.of(groups, len(ks))
    terms = {
        name: slope_parts(
            ks[:, None],
            ns[:, None],
            kt,
            n_target,
            chance=np.zeros(len(ks)),
            estimator=name,
            weights=check_weights(weights, n_target),
        )
        for name in ("corrected", "plugin")
    }
    rates = np.sqrt(terms["plugin"].square)
    found = {}
    for metric, denominator in (
        ("hat", terms["corrected"].denominator),
        ("hat_plugin", terms["plugin"].denominator),
        ("ratio", rates),
        ("transfer_score", rates),
    ):
        sums = clusters.sum(denominator)
        total = sums.sum(0)
        found[metric] = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    return found


def _unbiased(estimate: Estimate, columns: list[Estimate], shares: Floats) -> Estimate:
    """Return a mean of ratios without the bias of few items.

    A ratio of sums is biased by one over the number of its items, and hard items are worth few.
    The jackknife takes that out (M. H. Quenouille, Biometrika 43, 1956): leaving out cluster g,
    with share h of the denominator and influence psi, moves a ratio by ``-psi / (1 - h)``, so the
    bias is ``-sum(psi / (1 - h)) = -sum(psi h / (1 - h))``. A ratio that hangs on one cluster for
    more than half is left alone.
    """
    if shares.max() > _HALF:
        return estimate
    bias = [
        -float((e.influence * h / (1 - h)).sum()) for e, h in zip(columns, shares.T, strict=True)
    ]
    by = float(np.mean(bias))
    return replace(
        estimate, value=estimate.value - by, low=estimate.low - by, high=estimate.high - by
    )


def _rows(moves: Moves, confidence: float) -> list[dict[str, Any]]:
    """Return movements per model, and their mean where there are several models."""
    rows = []
    for benchmark, along in dict.fromkeys((b, a) for b, a, _ in moves):
        models = {m: v for (b, a, m), v in moves.items() if (b, a) == (benchmark, along)}
        head = {"benchmark": benchmark, "along": along}
        for name in METRICS:
            moved = {m: moved_between(name, *pair, confidence) for m, pair in models.items()}
            known = {m: e for m, e in moved.items() if math.isfinite(e.value)}
            ends = {m: (pair[0][name].value, pair[1][name].value) for m, pair in models.items()}
            if len(models) > 1 and known:
                over = over_units(list(known.values()), confidence=confidence)
                moved, ends = {ALL: over, **moved}, {ALL: (math.nan, math.nan), **ends}
            rows += [
                {
                    **head,
                    "model": m,
                    "metric": name,
                    "first": ends[m][0],
                    "second": ends[m][1],
                    **effect_row(e, student_p(e)),
                    "n_models": len(known) if m == ALL else 1,
                }
                for m, e in moved.items()
            ]
    return rows


def _kind(row: dict[str, Any]) -> str:
    """Name the claims that a row is read with."""
    over = f"movement of {row['metric']}, over items"
    return f"{over}, {ALL}" if row["model"] == ALL else over


def moved_between(
    name: str, first: Mapping[str, Estimate], second: Mapping[str, Estimate], confidence: float
) -> Estimate:
    """Return how far metric `name` moves from `first` to `second`, two results of `strata`.

    Missing where HAT rests on fewer than 5 effective items on one side.
    """
    few = min(first[name].n_effective, second[name].n_effective)
    if name == "hat" and 0 < few < _FEWEST_EFFECTIVE:
        return Estimate.missing(
            f"only {few:.1f} effective items on one side",
            estimator="difference",
            interval="delta",
            confidence=confidence,
        )
    moved = difference(second[name], first[name], confidence=confidence)
    return student(moved, confidence=confidence)


def _dials(material: Material) -> Moves:
    dials: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    for benchmark in material.benchmarks:
        match = _DIAL.fullmatch(benchmark)
        if match:
            key = (match["head"], match["name"], match["tail"])
            dials.setdefault(key, []).append((float(match["value"]), benchmark))
    found: Moves = {}
    for (head, name, _), steps in dials.items():
        steps.sort()
        (low, first), (high, last) = steps[0], steps[-1]
        if low == high:
            continue
        for model in material.models:
            if model not in material.on(first) or model not in material.on(last):
                continue
            found[head.partition("(")[0], f"{name} {high:g} to {low:g}", model] = (
                {m: fair(material.macro(model, last, m)) for m in METRICS},
                {m: fair(material.macro(model, first, m)) for m in METRICS},
            )
    return found


def _say(table: pl.DataFrame, confidence: float) -> list[Finding]:
    found = []
    for (benchmark, along), part in table.group_by(["benchmark", "along"], maintain_order=True):
        rows = {r["metric"]: r for r in part.filter(_SUMMARY).to_dicts()}
        hat = rows.get("hat")
        if hat is None or math.isnan(hat["value"]):
            reasons = part.filter(pl.col("metric") == "hat")["reason"]
            found.append(Finding("cannot tell", f"{benchmark}, {along}: {reasons[0]}."))
            continue
        model = hat["model"]
        who = f"{model} ({hat['n_models']})" if model == ALL else model
        others = ", ".join(
            f"{words} by {between(r['value'], r['low'], r['high'], sign=True)}"
            for name, words in (
                ("hat_plugin", "the plug-in"),
                ("target_accuracy", "target accuracy"),
                ("gap", "the gap"),
                ("transfer_score", "the transfer score"),
            )
            if not math.isnan((r := rows[name])["value"])
        )
        verdict, words = judged(hat, confidence)
        moved = between(hat["value"], hat["low"], hat["high"], sign=True)
        if verdict == "not shown" and (hat["low"] <= 0 <= hat["high"]):
            moved += ", within its noise"
        text = f"{benchmark}, {along}, {who}: HAT moves by {moved}{words}; {others}."
        found.append(Finding(verdict, text))
    return found


def _figure(table: pl.DataFrame) -> Figure:
    shown = table.filter(_SUMMARY)
    panel = pl.format("{} ({})", "benchmark", "along")
    return effect_figure(shown, panel=panel, label="metric", y_label="movement")
