"""What the analyses of a simulated study report, beside what is true.

Every reported effect has the truth that its interval is about. Intervals over *items* are about
these models and languages: their own true scores. Intervals over *models* or *languages* are about
the effects that drew them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import bdtrc
from scipy.stats import spearmanr

from hatscore.scoring import MACRO
from hatscore.stats import Estimate
from hatscore.studies.covariates import script_of
from hatscore.studies.script import ALL
from hatscore.studies.simulated import source_law
from hatscore.studies.size import PARTS, decompose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hatscore.studies.material import Material
    from hatscore.studies.result import Analysis
    from hatscore.studies.simulated import SimulatedStudy

    Floats = NDArray[np.float64]

__all__ = ["COLUMNS", "metrics_against_truth", "recovery"]

COLUMNS = ("effect", "of", "over", "truth", "value", "low", "high", "p", "covered")
_LEVEL = 0.95


def recovery(
    study: SimulatedStudy, material: Material, analyses: Sequence[Analysis]
) -> pl.DataFrame:
    """Return every effect with its truth.

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
        whether the interval holds the truth.
    """
    tables = {a.name: a.table for a in analyses if a.table.height}
    truth = _Truth(study, material)
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
    frame = pl.DataFrame(rows, schema={**schema, **numbers}, orient="row")
    known = frame.filter(pl.col("value").is_not_nan() & pl.col("truth").is_not_nan())
    return known.with_columns(
        covered=(pl.col("low") <= pl.col("truth")) & (pl.col("truth") <= pl.col("high"))
    )


class _Truth:
    """True scores of these models, by name."""

    def __init__(self, study: SimulatedStudy, material: Material) -> None:
        self.study = study
        self.facts = material.facts
        self.place = {m: i for i, m in enumerate(study.names)}
        self.benchmarks = tuple(study.hat)
        self.tags = sorted(study.layout.languages)
        order = [study.layout.languages.index(x) for x in self.tags]
        self.hat = {b: m[:, order] for b, m in study.hat.items()}

    def macro(self, benchmark: str, language: str = MACRO) -> Floats:
        """HAT of every model."""
        if benchmark == "all":
            return np.asarray(np.mean([self.macro(b) for b in self.benchmarks], axis=0))
        table = self.hat[benchmark]
        return table.mean(1) if language == MACRO else table[:, self.tags.index(language)]

    def of(self, model: str, benchmark: str) -> float:
        return float(self.macro(benchmark)[self.place[model]])


def _row(
    effect: str, of: str, over: str, truth: float, row: dict[str, Any], *, prefix: str = ""
) -> dict[str, Any]:
    return {
        "effect": effect,
        "of": of,
        "over": over,
        "truth": truth,
        "value": row["value"],
        "low": row[f"{prefix}low"],
        "high": row[f"{prefix}high"],
        "p": math.nan if prefix else row.get("p", math.nan),
    }


def _coupling(table: pl.DataFrame, truth: _Truth) -> list[dict[str, Any]]:
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


def _validation(table: pl.DataFrame, truth: _Truth) -> list[dict[str, Any]]:
    n = truth.study.layout.n_replies
    movement = _movements(truth.study.ability, n // 2, n - n // 2)
    rows = []
    for row in table.filter(pl.col("along") == "hard to easy").iter_rows(named=True):
        if row["model"] == ALL:
            if row["metric"] == "hat":
                name = "validation: movement of hat, mean over models"
                rows.append(_row(name, row["benchmark"], "items", 0.0, row))
            continue
        i = truth.place[row["model"]]
        scale = float(truth.macro(row["benchmark"])[i])
        by_metric = {
            "hat": 0.0,
            "hat_plugin": scale * movement["plugin"][i],
            "source_accuracy": movement["source"][i],
            "target_accuracy": scale * movement["source"][i],
            "gap": (1 - scale) * movement["source"][i],
            "ratio": 0.0,
            "transfer_score": scale * movement["transfer"][i],
            "overall": scale * movement["overall"][i],
        }
        rows.append(
            _row(
                f"validation: movement of {row['metric']}",
                row["benchmark"],
                "items",
                float(by_metric[row["metric"]]),
                row,
            )
        )
    return rows


def _movements(ability: Floats, n_split: int, n_rest: int) -> dict[str, Floats]:
    """Return easy minus hard of what the metrics are made of, per model, exactly."""
    s, w = source_law(ability)
    easy = bdtrc(n_split // 2, n_split, s)
    found: dict[str, list[Floats]] = {"source": [], "transfer": [], "overall": [], "plugin": []}
    for part in (1 - easy, easy):
        weight = part * w
        total = weight.sum(1)
        first, second = (weight * s).sum(1) / total, (weight * s * s).sum(1) / total
        found["source"].append(first)
        found["transfer"].append(second / first)
        found["overall"].append(second)
        found["plugin"].append(second / (second + (first - second) / n_rest))
    return {name: b - a for name, (a, b) in found.items()}


def _size(table: pl.DataFrame, truth: _Truth) -> list[dict[str, Any]]:
    rows = []
    effect = truth.study.effects.size
    lines = table.filter((pl.col("parameters") == "total") & (pl.col("score") == "HAT"))
    for row in lines.iter_rows(named=True):
        name = f"size: HAT per tenfold, {row['lines']}"
        rows.append(_row(name, row["benchmark"], "models", effect, row))
    parts = table.filter(pl.col("score").str.starts_with("part: "))
    for (scope,), part in parts.group_by(["benchmark"], maintain_order=True):
        expected = _expected_parts(str(scope), truth)
        for row in part.iter_rows(named=True):
            name = row["score"].removeprefix("part: ")
            rows.append(
                _row(f"size: part of the gain, {name}", str(scope), "items", expected[name], row)
            )
    return rows


def _expected_parts(scope: str, truth: _Truth) -> dict[str, float]:
    models = [
        m for m, f in truth.facts.items() if not f.variant_of and f.parameters_total is not None
    ]
    at = [truth.place[m] for m in models]
    x = np.log10([truth.facts[m].parameters_total or 1.0 for m in models])
    centred = x - x.mean()
    source, hat = truth.study.source[at], truth.macro(scope)[at]
    found = decompose(
        (centred / (centred @ centred)).tolist(),
        *([_exact(v) for v in values] for values in (source, source * hat, hat)),
        confidence=_LEVEL,
    )
    return {part: found[part].value for part in PARTS}


def _exact(value: float) -> Estimate:
    """Return a truth as an estimate without uncertainty."""
    v = float(value)
    label = np.empty(1, dtype=object)
    label[:] = ["truth"]
    return Estimate(
        v, v, v, 0.0, "truth", "none", _LEVEL, 1, math.inf, influence=np.zeros(1), clusters=label
    )


def _time(table: pl.DataFrame, truth: _Truth) -> list[dict[str, Any]]:
    effect = truth.study.effects.time
    rows = []
    for row in table.filter(pl.col("score") == "HAT").iter_rows(named=True):
        if row["effect"] == "trend":
            rows.append(_row("time: HAT per year", row["benchmark"], "models", effect, row))
        elif effect == 0:
            rows.append(_row("time: shift at the cut-off", row["benchmark"], "models", 0.0, row))
    return rows


def _family(table: pl.DataFrame, truth: _Truth) -> list[dict[str, Any]]:
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


def _thinking(table: pl.DataFrame, truth: _Truth) -> list[dict[str, Any]]:
    rows = []
    for row in table.iter_rows(named=True):
        if row.get("other") is not None and row["score"] == "HAT":
            gap = truth.of(row["other"], row["benchmark"]) - truth.of(
                row["model"], row["benchmark"]
            )
            of = f"{row['benchmark']}: {row['other']} - {row['model']}"
            rows.append(_row("thinking: paired difference in HAT", of, "items", gap, row))
        elif row["score"].startswith("output tokens"):
            which = "mean" if row["language"].startswith("mean") else "one language"
            found = _row(
                f"thinking: tokens, target / source, {which}",
                f"{row['benchmark']}: {row['model']}",
                "items",
                truth.study.effects.tokens,
                row,
            )
            rows.append(found)
    return rows


def _script(table: pl.DataFrame, truth: _Truth) -> list[dict[str, Any]]:
    rows = []
    effect = truth.study.effects.script
    of_models = {b: _script_gaps(b, truth) for b in truth.benchmarks}
    for row in table.filter(pl.col("trait").is_in(["script", "other script"])).iter_rows(
        named=True
    ):
        b = row["benchmark"]
        if row["effect"] == "other - same":
            gaps = of_models[b]
            mine = gaps.mean() if row["model"] == ALL else gaps[truth.place[row["model"]]]
            which = "mean over models" if row["model"] == ALL else "one model"
            name = f"script: other minus same, {which}"
            rows.append(_row(name, b, "items", float(mine), row))
            if row.get("p_languages") is not None and row["model"] == ALL:
                dealt = {"value": row["value"], "low": math.nan, "high": math.nan}
                found = _row("script: dealt anew", b, "languages", effect, dealt)
                rows.append(found | {"p": row["p_languages"]})
        elif row["effect"] == "over languages":
            name = "script: other minus same, line over languages"
            rows.append(_row(name, b, "languages", effect, row))
    return rows


def _script_gaps(benchmark: str, truth: _Truth) -> Floats:
    """Return other minus same script of every model, over its (source, target) cells."""
    study = truth.study
    tags = study.layout.languages
    slopes = study.slopes[benchmark]
    sources = list(tags) if slopes.shape[1] > 1 else ["en"]
    cells = [(i, j) for i, a in enumerate(sources) for j, b in enumerate(tags) if a != b]
    other = np.array([script_of(sources[i]) != script_of(tags[j]) for i, j in cells])
    values = np.stack([slopes[:, i, j] for i, j in cells], axis=1)
    return np.asarray(values[:, other].mean(1) - values[:, ~other].mean(1))


def _variance(table: pl.DataFrame, truth: _Truth) -> list[dict[str, Any]]:
    """Compare the spread of languages where it is the only difference between them."""
    if truth.study.effects.script or truth.study.effects.language_sd == 0:
        return []
    rows = []
    for row in table.iter_rows(named=True):
        i = truth.place[row["model"]]
        if truth.study.slopes[row["benchmark"]].shape[1] > 1:
            continue
        sd = float(truth.study.source[i]) * truth.study.effects.language_sd
        found = {
            "value": row["sd_languages"],
            "low": row["languages_low"],
            "high": row["languages_high"],
        }
        of = f"{row['benchmark']}: {row['model']}"
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
    truth = _Truth(study, material)
    names = [m for m in material.complete if m in truth.place]
    true = truth.macro("all")[[truth.place[m] for m in names]]
    rows = []
    for metric in ("hat", "hat_plugin", "target_accuracy", "gap", "ratio", "transfer_score"):
        values = [material.pooled(m, metric).value for m in names]
        rows.append({"metric": metric, "rank_correlation": float(spearmanr(true, values)[0])})
    return pl.DataFrame(rows)
