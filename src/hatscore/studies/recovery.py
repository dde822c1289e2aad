"""What the analyses of a simulated study report, beside what is true.

Every effect stands beside the truth that its interval is about (see `truth`), once per interval:
a line over models has one over other models and one over other items.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.stats import spearmanr

from hatscore.scoring import MACRO
from hatscore.stats.regression import trend
from hatscore.studies.covariates import family_of, script_of
from hatscore.studies.script import ALL
from hatscore.studies.size import line_of, sized
from hatscore.studies.time import dated, years_of
from hatscore.studies.truth import Truth, movements, parts_of_gain, shift_between

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hatscore.studies.material import Material
    from hatscore.studies.result import Analysis
    from hatscore.studies.simulated import SimulatedStudy

    Floats = NDArray[np.float64]

__all__ = ["COLUMNS", "metrics_against_truth", "recovery"]

COLUMNS = ("effect", "of", "over", "truth", "value", "low", "high", "p", "covered")
_ATTRIBUTES = {"total": "parameters_total", "active": "parameters_active"}
_SCORES = {"HAT": "HAT", "target accuracy": "target_accuracy"}
_OWN = ("low", "high")
_ALIKE = 1e-12
_ITEMS = ("items_low", "items_high")


def recovery(
    study: SimulatedStudy, material: Material, analyses: Sequence[Analysis]
) -> pl.DataFrame:
    """Return every effect whose truth the simulation knows, with it.

    Parameters
    ----------
    study
        From `simulate_study`.
    material
        Gathered from its outcomes.
    analyses
        Some or all of `analyses.analyse`.

    Returns
    -------
    polars.DataFrame
        Columns `COLUMNS`: what was estimated, of which benchmark (and models), over what the
        interval is, the truth, the estimate, its interval and p of no effect (NaN for none), and
        whether the interval holds the truth; null where there is no interval.
    """
    tables = {a.name: a.table for a in analyses if a.table.height}
    truth = Truth(study, material)
    rows: list[dict[str, Any]] = []
    for name, collect in (
        ("coupling", _coupling),
        ("validation", _validation),
        ("size", _size),
        ("time", _time),
        ("family", _family),
        ("thinking", _thinking),
        ("script", _script),
        ("variance", _variance),
    ):
        if name in tables:
            rows += collect(tables[name], truth)
    schema = dict.fromkeys(("effect", "of", "over"), pl.String())
    numbers = dict.fromkeys(("truth", "value", "low", "high", "p"), pl.Float64())
    frame = pl.DataFrame(rows, schema={**schema, **numbers}, orient="row").with_columns(
        pl.col(*numbers).fill_null(math.nan)
    )
    known = frame.filter(pl.col("value").is_not_nan() & pl.col("truth").is_not_nan())
    return known.with_columns(
        covered=pl.when(pl.col("low").is_not_nan()).then(
            (pl.col("low") <= pl.col("truth")) & (pl.col("truth") <= pl.col("high"))
        )
    )


def _row(
    effect: str,
    of: str,
    over: str,
    truth: float,
    row: dict[str, Any],
    *,
    ends: tuple[str, str] = _OWN,
) -> dict[str, Any]:
    return {
        "effect": effect,
        "of": of,
        "over": over,
        "truth": float(truth),
        "value": row["value"],
        "low": row.get(ends[0]),
        "high": row.get(ends[1]),
        "p": row.get("p") if ends == _OWN else None,
    }


def _line_rows(
    effect: str, over: str, truths: tuple[float, float], row: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return a line over units twice: over others of them, and over items for these."""
    of_others, of_these = truths
    return [
        _row(effect, row["benchmark"], over, of_others, row),
        _row(effect, row["benchmark"], "items", of_these, row, ends=_ITEMS),
    ]


def _slopes(
    leverage: Floats, at: Sequence[int], truth: Truth, row: dict[str, Any]
) -> tuple[float, float]:
    """Return the slope of what models are on average, and of these, with the line's own weights."""
    of = (row["benchmark"], row["score"])
    return float(leverage @ truth.expected(*of)[at]), float(leverage @ truth.scores(*of)[at])


def _coupling(table: pl.DataFrame, truth: Truth) -> list[dict[str, Any]]:
    rows = []
    for row in table.iter_rows(named=True):
        y = truth.macro(row["benchmark"], row["language"])
        if row["score"] == "target accuracy":
            y = y * truth.study.source
        r = float(np.corrcoef(truth.study.source, y)[0, 1]) ** 2
        which = "macro" if row["language"] == MACRO else "one language"
        rows.append(
            _row(
                f"coupling R2 of {row['score']}, {which}",
                row["benchmark"],
                "items",
                r,
                {"value": row["r_squared"], "low": row["low"], "high": row["high"]},
            )
        )
    return rows


def _validation(table: pl.DataFrame, truth: Truth) -> list[dict[str, Any]]:
    n = truth.study.layout.n_replies
    movement = movements(truth.study.ability, n // 2, n - n // 2)
    still = np.zeros(len(truth.study.names))
    rows = []
    hard_to_easy = table.filter(pl.col("along") == "hard to easy")
    for (benchmark, metric), part in hard_to_easy.group_by(
        ["benchmark", "metric"], maintain_order=True
    ):
        scale = truth.macro(str(benchmark))
        moved = {
            "hat": still,
            "hat_plugin": scale * movement["plugin"],
            "source_accuracy": movement["source"],
            "target_accuracy": scale * movement["source"],
            "gap": (1 - scale) * movement["source"],
            "ratio": still,
            "transfer_score": scale * movement["transfer"],
            "overall": scale * movement["overall"],
        }[str(metric)]
        name = f"validation: movement of {metric}"
        models = part.filter((pl.col("model") != ALL) & pl.col("value").is_finite())["model"]
        for row in part.iter_rows(named=True):
            if row["model"] == ALL:
                mean = float(moved[truth.at(models.to_list())].mean())
                rows.append(_row(f"{name}, mean", str(benchmark), "items", mean, row))
            else:
                mine = float(moved[truth.place[row["model"]]])
                rows.append(_row(name, str(benchmark), "items", mine, row))
    return rows


def _size(table: pl.DataFrame, truth: Truth) -> list[dict[str, Any]]:
    rows = []
    for row in table.filter(pl.col("lines").is_not_null()).iter_rows(named=True):
        scope, kind = row["benchmark"], row["parameters"]
        models = sized(truth.material, scope, _ATTRIBUTES[kind])
        x = [math.log10(getattr(truth.facts[m], _ATTRIBUTES[kind])) for m in models]
        within = [truth.facts[m].family for m in models] if row["lines"] != "pooled" else None
        scores = [truth.material.score(m, scope, _SCORES[row["score"]]) for m in models]
        line = line_of(x, scores, within, confidence=truth.material.confidence)
        if line is None:
            continue
        name = f"size: {row['score']} per tenfold{' active' if kind == 'active' else ''}"
        slopes = _slopes(line.leverage, truth.at(models), truth, row)
        rows += _line_rows(f"{name}, {row['lines']}", "models", slopes, row)
    parts = table.filter(pl.col("score").str.starts_with("part: "))
    for (scope,), part in parts.group_by(["benchmark"], maintain_order=True):
        expected = parts_of_gain(truth, str(scope), sized(truth.material, str(scope)))
        for row in part.iter_rows(named=True):
            name = row["score"].removeprefix("part: ")
            rows.append(
                _row(f"size: part of the gain, {name}", str(scope), "items", expected[name], row)
            )
    return rows


def _time(table: pl.DataFrame, truth: Truth) -> list[dict[str, Any]]:
    rows = []
    for row in table.iter_rows(named=True):
        scope, score = row["benchmark"], row["score"]
        models = dated(truth.material, scope)
        if row["effect"] == "trend":
            scores = [truth.material.score(m, scope, _SCORES[score]) for m in models]
            x = [years_of(day) for day in models.values()]
            line = trend(x, scores, n_permutations=0)
            slopes = _slopes(line.leverage, truth.at(list(models)), truth, row)
            rows += _line_rows(f"time: {score} per year", "models", slopes, row)
            continue
        expected = truth.expected(scope, score)[truth.at(list(models))]
        if score != "HAT" and np.ptp(expected) > _ALIKE:
            continue  # target accuracy is not normal around it, so its median is not known
        # the models before the cut-off are the first, by date
        order = np.argsort([day.toordinal() for day in models.values()], kind="stable")
        before, after = np.split(expected[order], [row["n_before"]])
        moved = shift_between(before, after, truth.study.effects.model_sd)
        rows.append(_row(f"time: shift of {score} at the cut-off", scope, "models", moved, row))
    return rows


def _family(table: pl.DataFrame, truth: Truth) -> list[dict[str, Any]]:
    return [
        _row(
            "family: paired difference in HAT",
            f"{row['benchmark']}: {row['first']} - {row['second']}",
            "items",
            truth.of(row["first"], row["benchmark"]) - truth.of(row["second"], row["benchmark"]),
            row,
        )
        for row in table.iter_rows(named=True)
    ]


def _thinking(table: pl.DataFrame, truth: Truth) -> list[dict[str, Any]]:
    rows = []
    for row in table.iter_rows(named=True):
        b, score = row["benchmark"], row["score"]
        if row.get("other") is not None:
            gap = truth.of(row["other"], b, score) - truth.of(row["model"], b, score)
            of = f"{b}: {row['other']} - {row['model']}"
            rows.append(_row(f"thinking: paired difference in {score}", of, "items", gap, row))
        else:
            which = "mean" if row["language"].startswith("mean") else "one language"
            name = f"thinking: {score.partition(',')[0]}, {which}"
            tokens = truth.study.effects.tokens
            rows.append(_row(name, f"{b}: {row['model']}", "items", tokens, row))
    return rows


def _script(table: pl.DataFrame, truth: Truth) -> list[dict[str, Any]]:
    rows = []
    traits: dict[str, Callable[[str], str]] = {"script": script_of, "family": family_of}
    gaps = {(b, t): truth.trait_gaps(b, of) for b in truth.benchmarks for t, of in traits.items()}
    lines = {b: truth.language_lines(b) for b in truth.benchmarks}
    for row in table.iter_rows(named=True):
        b, trait = row["benchmark"], row["trait"]
        if row["effect"] == "other - same":
            of_models = gaps[b, trait]
            every = row["model"] == ALL
            mine = of_models.mean() if every else of_models[truth.place[row["model"]]]
            name = f"script: other {trait} - same, {'mean of models' if every else 'one model'}"
            rows.append(_row(name, b, "items", mine, row))
            if every and row.get("p_languages") is not None:
                dealt = {"value": row["value"], "p": row["p_languages"]}
                name = f"script: dealt anew, {trait}"
                rows.append(_row(name, b, "languages", mine, dealt))
        else:
            of_these, of_others = lines[b][row["effect"], trait]
            how = "jointly" if row["effect"] == "jointly" else "line"
            what = f"{trait} - same" if trait.startswith("other") else trait
            rows += _line_rows(f"script: {what}, {how}", "languages", (of_others, of_these), row)
    return rows


def _variance(table: pl.DataFrame, truth: Truth) -> list[dict[str, Any]]:
    rows = []
    for row in table.iter_rows(named=True):
        b, m = row["benchmark"], row["model"]
        of, i = f"{b}: {m}", truth.place[m]
        gap = truth.study.source[i] * (1 - truth.macro(b)[i])
        found = {"value": row["gap"], "low": row["gap_low"], "high": row["gap_high"]}
        rows.append(_row("variance: gap, mean over languages", of, "items", gap, found))
        for name, sd in zip(("replies", "items"), truth.gap_sds(b, m), strict=True):
            rows.append(
                _row(f"variance: sd from {name}", of, "items", sd, {"value": row[f"sd_{name}"]})
            )
        if truth.study.effects.language_sd == 0:
            continue  # an interval of a spread holds 0 or does not: there is no 95 % of it
        found = {
            "value": row["sd_languages"],
            "low": row["languages_low"],
            "high": row["languages_high"],
        }
        sd = truth.language_sd(b)[i]
        rows.append(_row("variance: sd of languages", of, "languages", sd, found))
    return rows


def metrics_against_truth(study: SimulatedStudy, material: Material) -> pl.DataFrame:
    """Return how each metric orders the models by their true HAT.

    Returns
    -------
    polars.DataFrame
        Columns metric and rank_correlation: Spearman's, over models, of the mean over benchmarks
        with the true HAT.
    """
    truth = Truth(study, material)
    names = [m for m in material.complete if m in truth.place]
    true = truth.macro("all")[[truth.place[m] for m in names]]
    rows = []
    for metric in ("hat", "hat_plugin", "target_accuracy", "gap", "ratio", "transfer_score"):
        values = [material.pooled(m, metric).value for m in names]
        rows.append({"metric": metric, "rank_correlation": float(spearmanr(true, values)[0])})
    return pl.DataFrame(rows)
