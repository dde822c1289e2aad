"""What thinking changes: HAT between settings of one model, and how much longer targets are.

Differences are paired on items. Lengths are ratios of mean tokens per reply, target over source,
over the items that both have.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hatscore.models.registry import AMBIGUOUS
from hatscore.stats.clusters import Clusters
from hatscore.stats.ratio import ratio_estimates, ratio_table
from hatscore.studies.effects import fair, gap_between, over_units, scoped, student_p
from hatscore.studies.result import (
    Analysis,
    Figure,
    Finding,
    between,
    cannot_tell,
    counted,
    effect_figure,
    effect_row,
    judged,
    read_together,
)

if TYPE_CHECKING:
    from hatscore.stats import Estimate
    from hatscore.studies.material import Material

__all__ = ["thinking", "token_ratio"]

QUESTION = "What does thinking change in HAT, and are replies longer in the targets?"
_TOKENS = (("output_tokens", "output tokens"), ("reasoning_tokens", "reasoning tokens"))
_SCORES = (("HAT", "HAT"), ("target_accuracy", "target accuracy"))
ALL = "mean over languages"


def thinking(material: Material) -> Analysis:
    """Return paired differences between settings of one model, and token ratios."""
    rows = _settings(material)
    lengths = _lengths(material)
    notes = []
    if not rows and not lengths:
        return cannot_tell(
            "thinking",
            QUESTION,
            "no two models are settings of one (variant_of in the registry), and the outcomes hold "
            "no token counts",
        )
    discovery = read_together(
        [(r, "p", _kind(r)) for r in (*rows, *lengths)], confidence=material.confidence
    )
    findings: list[Finding] = []
    if rows:
        findings += _say(rows, material.confidence)
        notes.append("differences: other setting minus the model's own, paired on items")
    else:
        findings.append(
            Finding("cannot tell", "No two models are settings of one; HAT is not compared.")
        )
    if lengths:
        findings += _say_lengths(lengths, material.confidence)
        notes.append("ratios of tokens: no effect is 1, target replies as long as source replies")
    else:
        findings.append(Finding("cannot tell", "The outcomes hold no token counts."))
    if discovery:
        notes.append(discovery)
    table = pl.DataFrame([*rows, *lengths], infer_schema_length=None)
    figure = _figure(table)
    return Analysis("thinking", QUESTION, table, tuple(findings), figure, tuple(notes))


def token_ratio(material: Material, model: str, benchmark: str, column: str) -> dict[str, Estimate]:
    """Return mean tokens of target replies over those of source replies, by language.

    Parameters
    ----------
    material
        Holds the outcomes.
    model, benchmark
        Of whom, on what.
    column
        ``output_tokens`` or ``reasoning_tokens``.

    Returns
    -------
    dict
        By language; empty where no item has the count on both sides. The ratio is
        ``sum(target) / sum(source)`` over such items, each as often as its cell stands for others
        that a sampling plan left out, Fieller's interval clustered by group.
    """
    part = material.outcomes.frame.filter(
        (pl.col("model") == model) & (pl.col("benchmark") == benchmark)
    ).filter(pl.col(column).is_not_null())
    is_source = pl.col("language") == pl.col("source_language")
    source = part.filter(is_source).select("item", "group", source=column)
    found = {}
    for language in material.languages(benchmark):
        target = part.filter(~is_source & (pl.col("language") == language))
        both = target.select("item", "weight", target=column).join(
            source, on="item", maintain_order="left"
        )
        if not both.height or not both["source"].sum():
            continue
        clusters = Clusters.of(both["group"].to_numpy(), both.height)
        one = np.ones((both.height, 1), dtype=bool)
        ratios = ratio_table(
            (both["weight"] * both["target"]).to_numpy()[:, None],
            (both["weight"] * both["source"]).to_numpy()[:, None],
            one,
            clusters=clusters,
            floor=None,
            interval="fieller",
            confidence=material.confidence,
        )
        (estimate,) = ratio_estimates(
            ratios,
            clusters=clusters,
            estimator="ratio",
            interval="fieller",
            confidence=material.confidence,
            why_missing="the source has no tokens",
        )
        found[language] = scoped(estimate, benchmark)
    return found


def _settings(material: Material) -> list[dict[str, Any]]:
    # a run under an id that several settings share may be any of them
    by_name = {
        f.name: m
        for m in material.one_each(
            [m for m, f in material.facts.items() if f.thinking != AMBIGUOUS]
        )
        if not (f := material.facts[m]).variant_of
    }
    rows = []
    for other in material.one_each(list(material.facts)):
        f = material.facts[other]
        base = by_name.get(f.variant_of)
        if base is None:
            continue
        for scope in material.scopes:
            if base not in material.members(scope) or other not in material.members(scope):
                continue
            for name, label in _SCORES:
                gap = gap_between(
                    material.score(other, scope, name),
                    material.score(base, scope, name),
                    confidence=material.confidence,
                )
                rows.append(
                    {
                        "benchmark": scope,
                        "model": base,
                        "other": other,
                        "settings": f"{f.thinking} - {material.facts[base].thinking}",
                        "score": label,
                        **effect_row(gap, student_p(gap)),
                    }
                )
    return rows


def _kind(row: dict[str, Any]) -> str:
    """Name the claims that a row is read with."""
    over = f"{row['score']}, over items"
    if row.get("language") == ALL:
        return f"{over}, {ALL}"
    return f"{over}, mean over benchmarks" if row["benchmark"] == "all" else over


def _lengths(material: Material) -> list[dict[str, Any]]:
    rows = []
    frame = material.outcomes.frame
    with_tokens = [(c, label) for c, label in _TOKENS if frame[c].null_count() < frame.height]
    for benchmark in material.benchmarks:
        for model in material.on(benchmark):
            for column, label in with_tokens:
                ratios = token_ratio(material, model, benchmark, column)
                if not ratios:
                    continue
                over = over_units(
                    [fair(e) for e in ratios.values()], confidence=material.confidence
                )
                tested = {**{x: fair(e) for x, e in ratios.items()}, ALL: over}
                rows += [
                    {
                        "benchmark": benchmark,
                        "model": model,
                        "language": language,
                        "score": f"{label}, target / source",
                        **effect_row(e, student_p(tested[language], null=1.0)),
                    }
                    for language, e in [*ratios.items(), (ALL, over)]
                ]
    return rows


def _say(rows: list[dict[str, Any]], confidence: float) -> list[Finding]:
    found = []
    for row in rows:
        if row["score"] != "HAT":
            continue
        shown = between(row["value"], row["low"], row["high"], sign=True)
        verdict, words = judged(row, confidence)
        text = (
            f"{row['benchmark']}: {row['other']} minus {row['model']} "
            f"(thinking {row['settings']}): HAT {shown}{words}"
        )
        if verdict == "not shown":
            text += "; whether the setting matters is open"
        if verdict == "cannot tell":
            text += f"; {row['reason']}"
        found.append(Finding(verdict, f"{text}."))
    return found


def _say_lengths(rows: list[dict[str, Any]], confidence: float) -> list[Finding]:
    found = []
    means = [r for r in rows if r["language"] == ALL and not math.isnan(r["value"])]
    for benchmark in dict.fromkeys(r["benchmark"] for r in means):
        for score in dict.fromkeys(r["score"] for r in means):
            part = [r for r in means if (r["benchmark"], r["score"]) == (benchmark, score)]
            if not part:
                continue
            values = [r["value"] for r in part]
            known = [r for r in part if r["q"] < 1 - confidence]
            longer = sum(r["low"] > 1 for r in known)
            shorter = sum(r["high"] < 1 for r in known)
            found.append(
                Finding(
                    "described",
                    f"{benchmark}: {score}, is {min(values):.2f} to {max(values):.2f} over "
                    f"{counted(len(part), 'model')}; above 1 for {longer}, below for {shorter}, "
                    f"each beyond its interval and with q < {1 - confidence:.3g}.",
                )
            )
    return found


def _figure(table: pl.DataFrame) -> Figure | None:
    if "other" in table.columns:
        shown = table.filter(pl.col("other").is_not_null() & (pl.col("score") == "HAT"))
        y_label = "HAT, other setting minus the own one"
        return effect_figure(shown, panel="benchmark", label="other", y_label=y_label)
    shown = table.filter(pl.col("language") == ALL)
    panel = pl.format("{}: {}", "benchmark", "score")
    return effect_figure(
        shown, panel=panel, label="model", y_label="tokens, target / source", reference=1.0
    )
