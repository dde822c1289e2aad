"""Whether transfer depends on script, family, speakers or resources of the target.

Script and family are compared with those of the *item's* source, so benchmarks whose source
differs by item are handled by (source, target) pairs. Differences have two uncertainties: over
*items*, for these languages, and over *languages*, from the scatter of languages that share the
trait. Few languages make the second one wide whatever the number of items.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hatscore.stats import Estimate, hat_score, mean
from hatscore.stats.hat import slope_parts
from hatscore.stats.weighting import check_weights
from hatscore.studies.covariates import articles, family_of, script_of, speakers
from hatscore.studies.effects import fair, fit, gap_between, over_units, scoped, student_p
from hatscore.studies.result import (
    Analysis,
    Figure,
    Finding,
    between,
    cannot_tell,
    effect_figure,
    effect_row,
    judged,
    line_row,
    read_together,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hatscore.outcomes import Aligned
    from hatscore.studies.effects import Line
    from hatscore.studies.material import Material

__all__ = ["dealt_anew", "lines_over", "pair_scores", "script", "trait_difference"]

QUESTION = "Do targets in another script, of another family or with fewer resources transfer worse?"
ALL = "mean over models"
_TRAITS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("script", script_of),
    ("family", family_of),
)
_SIZES: tuple[tuple[str, Callable[[str], float]], ...] = (
    ("log10 speakers", speakers),
    ("log10 articles", articles),
)
_PERMUTATIONS = 2000
_MOST_DEALINGS = 5000
_FEWEST = 4


def script(material: Material) -> Analysis:
    """Return differences by script and family, and trends over speakers and resources."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for benchmark in material.benchmarks:
        blocks = [b for b in material.outcomes.aligned() if b.benchmark == benchmark]
        several = len({s for b in blocks for s in b.source_languages}) > 1
        pairs = _mean_pairs(material, blocks) if several else {}
        for trait, of in _TRAITS:
            rows += _trait_rows(material, blocks, trait, of, pairs)
        if not several:
            rows += _language_rows(material, benchmark, str(blocks[0].source_languages[0]))
        unknown = [x for x in material.languages(benchmark) if not (script_of(x) and family_of(x))]
        if unknown:
            notes.append(f"{benchmark}: script or family not known: {', '.join(unknown)}")
    if not rows:
        return cannot_tell(
            "script",
            QUESTION,
            "all targets are alike in script and family, or too few to compare",
            notes,
        )
    discovery = read_together(_claims(rows), confidence=material.confidence)
    table = pl.DataFrame(rows, infer_schema_length=None)
    notes.append(
        "differences: other than the source minus the same as the source. low and high of lines "
        "over languages are over other languages; items_low and items_high these languages, other "
        "items."
    )
    notes.append(
        "Script, family and resources go together: a difference by one may be one by another. "
        "`jointly` has all that these languages can tell apart."
    )
    if discovery:
        notes.append(discovery)
    findings = tuple(_say(rows, material.confidence))
    return Analysis("script", QUESTION, table, findings, _figure(table), tuple(notes))


def _claims(rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], str, str]]:
    """Return every p with the kind of claims that it is read with."""
    claims = []
    for row in rows:
        if row["effect"] == "other - same":
            over = "HAT, over items"
            claims.append((row, "p", f"{over}, {ALL}" if row["model"] == ALL else over))
            if "p_languages" in row:
                claims.append((row, "p_languages", "HAT, over languages"))
        else:
            joint = ", jointly" if row["effect"] == "jointly" else ""
            claims.append((row, "p", f"HAT, over languages{joint}"))
    return claims


def trait_difference(
    block: Aligned, of: Callable[[str], str], *, estimator: str, confidence: float
) -> tuple[Estimate, Estimate] | None:
    """Return HAT over cells whose target has another trait than the item's source, and the same.

    Parameters
    ----------
    block
        One model on one benchmark.
    of
        The trait of a language; empty where it is not known: such cells are left out.
    estimator, confidence
        As for `hat_score`.

    Returns
    -------
    tuple of Estimate or None
        None where all cells are of one kind. Cells of all targets are pooled and clustered by
        the items' groups, so their difference is paired.
    """
    source = [of(str(s)) for s in block.source_languages]
    target = [of(x) for x in block.languages]
    known = np.array([[bool(s and t) for t in target] for s in source], dtype=bool)
    same = np.array([[s == t for t in target] for s in source], dtype=bool)
    present = (block.n_target > 0) & (block.n_source > 0)[:, None] & known
    found = []
    for mask in (present & ~same, present & same):
        i, j = np.nonzero(mask)
        if not len(i):
            return None
        found.append(_score(block, i, j, estimator, confidence))
    return found[0], found[1]


def pair_scores(block: Aligned, *, estimator: str) -> dict[tuple[str, str], float]:
    """Return HAT per (source language, target language), where it exists.

    Parameters
    ----------
    block
        One model on one benchmark.
    estimator
        ``hat`` or ``hat_plugin``.
    """
    n_target = np.asarray(block.n_target, dtype=np.float64)
    parts = slope_parts(
        block.k_source[:, None],
        block.n_source[:, None],
        block.k_target,
        n_target,
        chance=np.zeros(len(block.items)),
        estimator="plugin" if estimator == "hat_plugin" else "corrected",
        weights=check_weights(block.weights, n_target),
    )
    sources, codes = np.unique(block.source_languages.astype(str), return_inverse=True)
    of = (codes == np.arange(len(sources))[:, None]).astype(np.float64)
    above, below = of @ parts.numerator, of @ parts.denominator
    return {
        (str(source), target): float(above[i, j] / below[i, j])
        for i, source in enumerate(sources)
        for j, target in enumerate(block.languages)
        if below[i, j] > 0
    }


def _score(
    block: Aligned, i: NDArray[np.intp], j: NDArray[np.intp], estimator: str, confidence: float
) -> Estimate:
    e = hat_score(
        block.k_source[i],
        block.n_source[i],
        block.k_target[i, j],
        block.n_target[i, j],
        estimator="plugin" if estimator == "hat_plugin" else "corrected",
        groups=block.groups[i],
        confidence=confidence,
    )
    return scoped(e, block.benchmark)


def _trait_rows(
    material: Material,
    blocks: list[Aligned],
    trait: str,
    of: Callable[[str], str],
    pairs: dict[tuple[str, str], float],
) -> list[dict[str, Any]]:
    gaps: dict[str, Estimate] = {}
    for block in blocks:
        both = trait_difference(block, of, estimator=material.hat, confidence=material.confidence)
        if both is not None:
            gaps[block.model] = gap_between(*both, confidence=material.confidence)
    known = {m: g for m, g in gaps.items() if math.isfinite(g.value)}
    if not known:
        return []
    head = {"benchmark": blocks[0].benchmark, "trait": trait, "effect": "other - same"}
    over = over_units(list(known.values()), confidence=material.confidence)
    shown = [(ALL, over), *known.items()] if len(known) > 1 else list(known.items())
    rows: list[dict[str, Any]] = []
    for model, gap in shown:
        row = {**head, "model": model, **effect_row(gap, student_p(gap))}
        row["items_low"], row["items_high"] = gap.low, gap.high
        rows.append(row)
    if pairs:
        rows[0]["p_languages"] = dealt_anew(pairs, of)
    return rows


def _language_rows(material: Material, benchmark: str, source: str) -> list[dict[str, Any]]:
    """Fit lines over languages to the mean of HAT over models, for a single source language."""
    models = material.on(benchmark)
    scores: dict[str, Estimate] = {}
    for x in material.languages(benchmark):
        of_models = [fair(material.of(m, benchmark, x, "HAT")) for m in models]
        e = mean([s for s in of_models if math.isfinite(s.value)] or of_models)
        if math.isfinite(e.value):
            scores[x] = e
    return [
        {
            "benchmark": benchmark,
            "trait": line.name,
            "effect": effect,
            "model": ALL,
            **line_row(line, material.confidence),
        }
        for effect, line in lines_over(scores, source, confidence=material.confidence)
    ]


def lines_over(
    scores: Mapping[str, Estimate], source: str, *, confidence: float
) -> list[tuple[str, Line]]:
    """Return the lines of HAT over traits of languages, one by one and jointly.

    Parameters
    ----------
    scores
        By language, all with a value.
    source
        The source language, whose script and family the others share or do not.
    confidence
        Level of the intervals.

    Returns
    -------
    list of tuple
        ``over languages`` or ``jointly``, and the line. A trait that is the same in all
        languages, or known of fewer than 4, has none.
    """
    columns: dict[str, dict[str, float]] = {}
    for trait, of in _TRAITS:
        mine = of(source)
        columns[f"other {trait}"] = {
            x: math.nan if not (of(x) and mine) else float(of(x) != mine) for x in scores
        }
    for name, size in _SIZES:
        columns[name] = {x: math.log10(size(x)) for x in scores}
    found = []
    usable = {}
    for name, values in columns.items():
        at = [x for x in scores if math.isfinite(values[x])]
        if len(at) < _FEWEST or np.ptp([values[x] for x in at]) == 0:
            continue
        usable[name] = values
        (line,) = fit(
            {name: [values[x] for x in at]}, [scores[x] for x in at], confidence=confidence
        )
        found.append(("over languages", line))
    at = [x for x in scores if all(math.isfinite(v[x]) for v in usable.values())]
    if len(usable) > 1 and len(at) >= len(usable) + _FEWEST:
        lines = fit(
            {name: [v[x] for x in at] for name, v in usable.items()},
            [scores[x] for x in at],
            confidence=confidence,
        )
        found += [("jointly", line) for line in lines if math.isfinite(line.value)]
    return found


def _mean_pairs(material: Material, blocks: list[Aligned]) -> dict[tuple[str, str], float]:
    """Return HAT per (source, target), averaged over the models that have it."""
    sums: dict[tuple[str, str], list[float]] = {}
    for block in blocks:
        for pair, value in pair_scores(block, estimator=material.hat).items():
            sums.setdefault(pair, []).append(value)
    return {pair: float(np.mean(values)) for pair, values in sums.items()}


def dealt_anew(pairs: dict[tuple[str, str], float], of: Callable[[str], str]) -> float:
    """Return p over languages: traits dealt anew to languages, pairs kept.

    All dealings where they are few enough to count, drawn ones elsewhere. With 10 languages of
    which 4 share a trait there are 210, so p has steps of 0.005 and no noise of its own.
    """
    known = {pair: v for pair, v in pairs.items() if of(pair[0]) and of(pair[1])}
    if not known:
        return math.nan
    names = sorted({x for pair in known for x in pair})
    where = {x: i for i, x in enumerate(names)}
    s = np.array([where[a] for a, _ in known])
    t = np.array([where[b] for _, b in known])
    values = np.array(list(known.values()))
    codes = np.unique([of(x) for x in names], return_inverse=True)[1]

    def gaps(dealt: NDArray[np.intp]) -> NDArray[np.float64]:
        same = dealt[:, s] == dealt[:, t]
        n = same.sum(1)
        both = (n > 0) & (n < len(values))
        inside = (same @ values) / np.maximum(n, 1)
        outside = (~same @ values) / np.maximum(len(values) - n, 1)
        return np.where(both, np.abs(outside - inside), 0.0)

    seen = gaps(codes[None])[0] - 1e-12
    sizes = sorted(np.unique(codes, return_counts=True)[1].tolist(), reverse=True)
    if _n_dealings(sizes) <= _MOST_DEALINGS:
        return float((gaps(_dealings(sizes)) >= seen).mean())
    rng = np.random.default_rng(0)
    dealt = rng.permuted(np.tile(codes, (_PERMUTATIONS, 1)), axis=1)
    return float(((gaps(dealt) >= seen).sum() + 1) / (_PERMUTATIONS + 1))


def _n_dealings(sizes: Sequence[int]) -> int:
    """Return in how many ways languages part into groups of these sizes."""
    ways = math.factorial(sum(sizes))
    for size, times in Counter(sizes).items():
        ways //= math.factorial(size) ** times * math.factorial(times)
    return ways


def _dealings(sizes: Sequence[int]) -> NDArray[np.intp]:
    """Return all ways to part languages into groups of these sizes, shape (ways, languages)."""
    found: list[list[int]] = []
    code = [-1] * sum(sizes)

    def deal(group: int, free: list[int]) -> None:
        if group == len(sizes):
            found.append(code.copy())
            return
        # groups of one size are the same whatever their order: let them begin in order, and the
        # last ones with what is left
        after = code.index(group - 1) if group and sizes[group] == sizes[group - 1] else -1
        last = sizes[group] == sizes[-1]
        for chosen in combinations(free, sizes[group]):
            if last and chosen[0] != free[0]:
                break
            if chosen[0] < after:
                continue
            for i in chosen:
                code[i] = group
            deal(group + 1, [i for i in free if i not in chosen])
            for i in chosen:
                code[i] = -1

    deal(0, list(range(len(code))))
    return np.array(found)


def _say(rows: list[dict[str, Any]], confidence: float) -> list[Finding]:
    found = []
    for row in rows:
        if row["effect"] != "other - same" or (row["model"] != ALL and _has_all(rows, row)):
            continue
        b, trait = row["benchmark"], row["trait"]
        shown = between(row["value"], row["low"], row["high"], sign=True)
        text = (
            f"{b}: targets of another {trait} than their source minus those of the same: "
            f"HAT {shown} for these languages and other items"
        )
        over = [
            r
            for r in rows
            if (r["benchmark"], r["trait"], r["effect"]) == (b, f"other {trait}", "over languages")
        ]
        if over and not math.isnan(over[0]["low"]):
            verdict, words = judged(over[0], confidence)
            text += f", [{over[0]['low']:+.3f}, {over[0]['high']:+.3f}] over other languages{words}"
        elif "p_languages" in row:
            verdict, words = judged(row, confidence, p="p_languages")
            text += f"; over languages told by dealing every {trait} to them anew"
            text += words or f" (p = {row['p_languages']:.3f})"
        else:
            verdict, words = judged(row, confidence)
            text += words
            if verdict == "shown":
                verdict = "described"
                text += "; too few languages to say it of others"
        if verdict == "not shown":
            text += "; whether it is the trait or these languages is open"
        found.append(Finding(verdict, f"{text}."))
    for row in rows:
        if row["effect"] == "over languages" and row["trait"].startswith("log10"):
            shown = between(row["value"], row["low"], row["high"], sign=True)
            verdict, words = judged(row, confidence)
            found.append(
                Finding(
                    verdict,
                    f"{row['benchmark']}: HAT changes by {shown} per tenfold "
                    f"{row['trait'].removeprefix('log10 ')} over {row['n']} languages{words}.",
                )
            )
    return found


def _has_all(rows: list[dict[str, Any]], row: dict[str, Any]) -> bool:
    key = (row["benchmark"], row["trait"], row["effect"])
    return any(r["model"] == ALL and (r["benchmark"], r["trait"], r["effect"]) == key for r in rows)


def _figure(table: pl.DataFrame) -> Figure:
    shown = table.filter((pl.col("effect") == "other - same") & (pl.col("trait") == "script"))
    y_label = "HAT, other script minus same"
    return effect_figure(shown, panel="benchmark", label="model", y_label=y_label)
