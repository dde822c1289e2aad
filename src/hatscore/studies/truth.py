"""What is true of a simulated study, in the units that analyses report.

What an interval is about decides what is true. Over *items* these models and languages have true
scores of their own, and a line through them has the slope through those. Over *models* and over
*languages* a line has the slope that it has through what such models or languages are on average:
with several effects at once, a line over one of them sees the others too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtrc, ndtr

from hatscore.scoring import MACRO
from hatscore.stats import Estimate
from hatscore.studies.covariates import script_of
from hatscore.studies.script import lines_over
from hatscore.studies.simulated import SCATTER, source_law
from hatscore.studies.size import PARTS, decompose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hatscore.studies.material import Material
    from hatscore.studies.simulated import SimulatedStudy

    Floats = NDArray[np.float64]

__all__ = ["Truth", "gap_variances", "movements", "parts_of_gain", "shift_between"]

_LEVEL = 0.95


class Truth:
    """True scores of the models of a study, by name.

    Parameters
    ----------
    study
        What was drawn.
    material
        What was gathered from it: facts of the models.
    """

    def __init__(self, study: SimulatedStudy, material: Material) -> None:
        self.study = study
        self.material = material
        self.facts = material.facts
        self.place = {m: i for i, m in enumerate(study.names)}
        self.benchmarks = tuple(study.hat)
        self.tags = sorted(study.layout.languages)
        order = [study.layout.languages.index(x) for x in self.tags]
        self.hat = {b: m[:, order] for b, m in study.hat.items()}

    def macro(self, benchmark: str, language: str = MACRO) -> Floats:
        """Return HAT of every model; ``all`` is the mean over benchmarks."""
        if benchmark == "all":
            return np.asarray(np.mean([self.macro(b) for b in self.benchmarks], axis=0))
        table = self.hat[benchmark]
        return table.mean(1) if language == MACRO else table[:, self.tags.index(language)]

    def scores(self, benchmark: str, score: str) -> Floats:
        """Return ``HAT`` or ``target accuracy`` of every model, mean over languages."""
        hat = self.macro(benchmark)
        return hat if score == "HAT" else hat * self.study.source

    def expected(self, benchmark: str, score: str) -> Floats:
        """Return the same of models of the same size, date and setting, on average."""
        study = self.study
        # what languages add is the same for all models
        hat = self.macro(benchmark) - study.level + study.expected_level
        return hat if score == "HAT" else hat * study.expected_source

    def of(self, model: str, benchmark: str, score: str = "HAT") -> float:
        """Return one model's score."""
        return float(self.scores(benchmark, score)[self.place[model]])

    def at(self, models: Sequence[str]) -> list[int]:
        """Return the places of models in the arrays."""
        return [self.place[m] for m in models]

    def trait_gaps(self, benchmark: str, of: Callable[[str], str]) -> Floats:
        """Return other minus same trait of every model, over its (source, target) cells."""
        tags = self.study.layout.languages
        slopes = self.study.slopes[benchmark]
        sources = list(tags) if slopes.shape[1] > 1 else ["en"]
        cells = [(i, j) for i, a in enumerate(sources) for j, b in enumerate(tags) if a != b]
        other = np.array([of(sources[i]) != of(tags[j]) for i, j in cells])
        values = np.stack([slopes[:, i, j] for i, j in cells], axis=1)
        return np.asarray(values[:, other].mean(1) - values[:, ~other].mean(1))

    def language_lines(self, benchmark: str) -> dict[tuple[str, str], tuple[float, float]]:
        """Return slopes over traits of languages by (effect, trait): of these, and of others."""
        of_these = dict(zip(self.tags, self.hat[benchmark].mean(0).tolist(), strict=True))
        of_others = {
            x: self.study.effects.script * (script_of(x) != script_of("en")) for x in of_these
        }
        these, others = (
            lines_over({x: exact(v) for x, v in values.items()}, "en", confidence=_LEVEL)
            for values in (of_these, of_others)
        )
        return {
            (effect, line.name): (line.value, other.value)
            for (effect, line), (_, other) in zip(these, others, strict=True)
        }

    def language_sd(self, benchmark: str) -> Floats:
        """Return the spread of gaps between languages of every model."""
        e, study = self.study.effects, self.study
        tags = study.layout.languages
        sources = list(tags) if study.slopes[benchmark].shape[1] > 1 else ["en"]
        other = [
            float(np.mean([script_of(a) != script_of(b) for a in sources if a != b])) for b in tags
        ]
        fixed = e.script**2 * float(np.var(other, ddof=1))
        return study.source * math.sqrt(e.language_sd**2 + fixed)

    def gap_sds(self, benchmark: str, model: str) -> tuple[float, float]:
        """Return the standard errors of one language's gap from replies and from items."""
        study, i = self.study, self.place[model]
        slopes = study.slopes[benchmark][i]
        n, layout = len(slopes), study.layout
        found = []
        for j in range(len(layout.languages)):
            use = [a for a in range(n) if n == 1 or a != j]
            items = layout.n_items * len(use) / n
            parts = gap_variances(study.ability[i : i + 1], slopes[use, j], layout.n_replies)
            found.append([v / items for v in parts])
        replies, of_items = np.sqrt(np.mean(found, axis=0)).tolist()
        return replies, of_items


def exact(value: float) -> Estimate:
    """Return a truth as an estimate without uncertainty."""
    v = float(value)
    label = np.empty(1, dtype=object)
    label[:] = ["truth"]
    return Estimate(
        v, v, v, 0.0, "truth", "none", _LEVEL, 1, math.inf, influence=np.zeros(1), clusters=label
    )


def movements(ability: Floats, n_split: int, n_rest: int) -> dict[str, Floats]:
    """Return easy minus hard of what the metrics are made of, per model, exactly.

    Parameters
    ----------
    ability
        In logits, shape (models,).
    n_split, n_rest
        Source replies to split by and to score with.
    """
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


def parts_of_gain(truth: Truth, scope: str, models: Sequence[str]) -> dict[str, float]:
    """Return the true parts of the gain in target accuracy per tenfold parameters."""
    x = np.log10([truth.facts[m].parameters_total or 1.0 for m in models])
    centred = x - x.mean()
    columns = (truth.study.source, truth.scores(scope, "target accuracy"), truth.macro(scope))
    found = decompose(
        (centred / (centred @ centred)).tolist(),
        *([exact(v) for v in values[truth.at(models)]] for values in columns),
        confidence=_LEVEL,
    )
    return {part: found[part].value for part in PARTS}


def shift_between(before: ArrayLike, after: ArrayLike, sd: float) -> float:
    """Return the median difference between two models, one of each side, of spread `sd`.

    Parameters
    ----------
    before, after
        What models of each side are on average.
    sd
        Standard deviation of normal models around that.
    """
    gaps = np.subtract.outer(np.asarray(after), np.asarray(before)).ravel()
    if sd == 0 or np.ptp(gaps) == 0:
        return float(np.median(gaps))
    ends = float(gaps.min()), float(gaps.max())
    return float(
        brentq(lambda x: float(ndtr((x - gaps) / (math.sqrt(2) * sd)).mean()) - 0.5, *ends)
    )


def gap_variances(ability: Floats, slopes: Floats, n_replies: int) -> tuple[float, float]:
    """Return the variance per item of a gap from replies and from items.

    Parameters
    ----------
    ability
        Of one model, in logits, shape (1,).
    slopes
        Its HAT by equally frequent sources of the items, shape (sources,).
    n_replies
        Per item and language.

    Returns
    -------
    tuple of float
        ``E[S(1 - S) + T(1 - T)] / n`` and ``Var(S - T)`` over items.
    """
    rates, w = source_law(ability)
    s, m = rates[0], slopes[:, None]
    scatter = SCATTER * (m * s * (1 - m * s)) ** 2
    replies = s * (1 - s) + m * s - (m * s) ** 2 - scatter
    gap = (1 - m) * s
    second = float(((gap**2 + scatter) @ w).mean())
    first = float((gap @ w).mean())
    return float((replies @ w).mean()) / n_replies, second - first**2
