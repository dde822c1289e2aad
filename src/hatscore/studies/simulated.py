"""A study whose truth is known: configurations with given sizes, dates, slopes and effects.

Item j of a benchmark has a difficulty z_j that all models share. Model i solves it in the source
with probability ``S_ij = expit(ability_i - z_j - own_ij)`` and in target l with probability
``T_ijl = m_il S_ij + k m_il S_ij (1 - m_il S_ij) e_ijl``, where e lies in (-1, 1) with mean 0 and
half of it is shared between models. So E[T | S] = m_il S exactly, and HAT is m_il.

``m_il = base + closed + size log10(P_i / 10) + active log10(A_i / 10) + time (year_i - 2025.5)
+ thinking_i + script_l + u_i + v_l`` with total and active parameters P and A, normal u (models;
settings of one model share it) and v (languages).
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import expit

from hatscore.errors import InputError
from hatscore.outcomes import Aligned, Outcomes
from hatscore.studies.covariates import script_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hatscore.models import Model, Registry

    Floats = NDArray[np.float64]

__all__ = [
    "NOTHING",
    "PAPER",
    "SCATTER",
    "Effects",
    "Layout",
    "SimulatedStudy",
    "simulate_study",
    "source_law",
]

_BASE = 0.72
_KNOT = 2025.5
_DIFFICULTY, _OWN, _SPREAD = 1.5, 0.5, 0.8
SCATTER = _SPREAD**2 / 6
"""Variance of the target's scatter around its line, in units of ``(m S (1 - m S))**2``."""
_LANGUAGES = ("bn", "de", "es", "fr", "ja", "ru", "sw", "te", "th", "zh")
_THINKS = ("dynamic", "on", "high", "medium")


@dataclass(frozen=True, slots=True)
class Effects:
    """What is true of the models.

    Attributes
    ----------
    size, time
        Change of HAT per tenfold total parameters and per year.
    closed
        Change of HAT of models whose size is not published.
    thinking
        Change of HAT of settings that think over those that do not.
    script
        Change of HAT of targets in another script than the source.
    model_sd, language_sd
        Spread of models and languages around this.
    active
        Change of HAT per tenfold active parameters, beside that per tenfold total ones.
    ability_size, ability_time, ability_closed, ability_thinking
        The same for the source, in logits.
    ability_sd
        Spread of abilities, in logits.
    tokens
        Ratio of target to source tokens.
    """

    size: float = 0.04
    time: float = 0.03
    closed: float = 0.06
    thinking: float = 0.03
    script: float = -0.05
    model_sd: float = 0.02
    language_sd: float = 0.02
    ability_size: float = 1.1
    ability_time: float = 0.4
    ability_closed: float = 1.5
    ability_thinking: float = 0.5
    ability_sd: float = 0.3
    tokens: float = 1.12
    active: float = 0.0


PAPER = Effects()
"""Effects of the size that the paper speaks of."""

NOTHING = Effects(
    size=0.0, time=0.0, closed=0.0, thinking=0.0, script=0.0, tokens=1.0,
)  # fmt: skip
"""Sources differ as in `PAPER`, transfer depends on nothing: every test should be silent."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What is asked.

    Attributes
    ----------
    benchmarks
        Names of benchmarks with English as the source.
    by_item
        Name of a benchmark whose items have their sources in turn among the languages; empty for
        none.
    languages
        Targets.
    n_items, n_replies
        Items per benchmark, replies per item and language.
    """

    benchmarks: tuple[str, ...] = ("reasoning", "knowledge")
    by_item: str = "closed-book"
    languages: tuple[str, ...] = _LANGUAGES
    n_items: int = 250
    n_replies: int = 10


@dataclass(frozen=True, slots=True)
class _Draws:
    """Replies to one benchmark.

    Attributes
    ----------
    benchmark
        Its name.
    sources
        Source language per item, shape (items,).
    asked
        Whether an item is asked in a language, shape (items, languages).
    k_source, k_target
        Correct replies, shapes (models, items) and (models, items, languages).
    tokens_source, tokens_target
        Mean output tokens, in the same shapes.
    thinks
        Whether a model thinks, shape (models,).
    """

    benchmark: str
    sources: NDArray[np.object_]
    asked: NDArray[np.bool_]
    k_source: NDArray[np.int64]
    k_target: NDArray[np.int64]
    tokens_source: Floats
    tokens_target: Floats
    thinks: NDArray[np.bool_]


@dataclass(frozen=True)
class SimulatedStudy:
    """Outcomes and the truth behind them.

    Attributes
    ----------
    names
        Models, in the order of the arrays.
    hat
        True HAT by benchmark, shape (models, languages).
    slopes
        The same by source, shape (models, sources, languages); one source, or all languages.
    ability
        Of the models in the source, in logits, shape (models,).
    source
        True source accuracy over all possible items, shape (models,).
    level
        True HAT without the parts of languages, shape (models,).
    expected_level, expected_source
        What level and source are on average over models of the same size, date and setting,
        shape (models,).
    target
        True target accuracy by benchmark, shape (models, languages).
    effects, layout
        What was asked for.
    """

    names: tuple[str, ...]
    hat: Mapping[str, Floats]
    slopes: Mapping[str, Floats]
    ability: Floats
    source: Floats
    level: Floats
    expected_level: Floats
    expected_source: Floats
    target: Mapping[str, Floats]
    effects: Effects
    layout: Layout
    _draws: tuple[_Draws, ...] = field(repr=False)

    @cached_property
    def outcomes(self) -> Outcomes:
        """As a reader would give them, token counts and all."""
        return Outcomes.from_frame(
            pl.concat([_table(draws, self.names, self.layout) for draws in self._draws])
        )

    def blocks(self) -> tuple[Aligned, ...]:
        """Return the counts of `outcomes` as `Outcomes.aligned` would, without the table."""
        return tuple(
            _block(draws, name, i, self.layout)
            for draws in self._draws
            for i, name in enumerate(self.names)
        )


def simulate_study(
    registry: Registry,
    *,
    effects: Effects = PAPER,
    layout: Layout | None = None,
    rng: np.random.Generator,
) -> SimulatedStudy:
    """Draw a study of the paper's configurations.

    Parameters
    ----------
    registry
        Its entries with a ``paper_name`` are the configurations, with their sizes, dates and
        settings.
    effects, layout
        Truth and design.
    rng
        Generator.

    Raises
    ------
    InputError
        No configurations, or a design without items, replies or targets.
    """
    plan = layout or Layout()
    entries = [m for m in registry.models.values() if m.paper_name]
    if not entries or plan.n_items < 1 or plan.n_replies < 1 or not plan.languages:
        raise InputError("a simulated study needs configurations, items, replies and targets")
    ability_of, level_of = _of_facts(entries, effects)
    own, skill = _own(entries, rng)
    ability = ability_of + effects.ability_sd * skill
    level = level_of + effects.model_sd * own
    source = _expected(ability)
    draws, hat, by_source = [], {}, {}
    by_benchmark = [(b, "en") for b in plan.benchmarks] + [(plan.by_item, "")] * bool(plan.by_item)
    for benchmark, source_language in by_benchmark:
        slopes = _slopes(level, source_language, plan, effects, rng)
        sources = (
            np.full(plan.n_items, "en", dtype=object)
            if source_language
            else np.array(plan.languages, dtype=object)[
                np.arange(plan.n_items) % len(plan.languages)
            ]
        )
        draws.append(
            _draw(
                benchmark,
                entries,
                ability=ability,
                slopes=slopes,
                sources=sources,
                plan=plan,
                e=effects,
                rng=rng,
            )
        )
        by_source[benchmark], hat[benchmark] = slopes, _mean_slopes(slopes, plan)
    return SimulatedStudy(
        names=tuple(m.name for m in entries),
        hat=hat,
        slopes=by_source,
        ability=ability,
        source=source,
        level=level,
        expected_level=level_of,
        expected_source=_expected(ability_of, effects.ability_sd),
        target={b: m * source[:, None] for b, m in hat.items()},
        effects=effects,
        layout=plan,
        _draws=tuple(draws),
    )


def _of_facts(entries: Sequence[Model], e: Effects) -> tuple[Floats, Floats]:
    """Return ability in logits and HAT that follow from facts of the models, shape (models,)."""
    size = np.array([math.log10((m.parameters_total or 10.0) / 10) for m in entries])
    active = np.array(
        [math.log10((m.parameters_active or m.parameters_total or 10.0) / 10) for m in entries]
    )
    closed = np.array([float(m.parameters_total is None) for m in entries])
    years = np.array([_years(m.released) for m in entries])
    thinks = np.array([float(m.thinking in _THINKS) for m in entries])
    ability = (
        0.4
        + e.ability_size * size
        + e.ability_time * years
        + e.ability_closed * closed
        + e.ability_thinking * thinks
    )
    level = (
        _BASE
        + e.size * size
        + e.active * active
        + e.time * years
        + e.closed * closed
        + e.thinking * thinks
    )
    return ability, level


def _own(entries: Sequence[Model], rng: np.random.Generator) -> Floats:
    """Return what models have of their own in HAT and ability, shape (2, models)."""
    place = {m.name: i for i, m in enumerate(entries)}
    base = [place.get(m.variant_of, i) for i, m in enumerate(entries)]
    return rng.standard_normal((2, len(entries)))[:, base]


def _slopes(
    level: Floats, source: str, plan: Layout, e: Effects, rng: np.random.Generator
) -> Floats:
    """Return HAT by source and target, shape (models, sources, languages); one source or all."""
    sources = [source] if source else list(plan.languages)
    other = np.array(
        [[float(script_of(a) != script_of(b)) for b in plan.languages] for a in sources]
    )
    v = e.language_sd * rng.standard_normal(len(plan.languages))
    found = level[:, None, None] + e.script * other[None] + v[None, None, :]
    return np.clip(found, 0.02, 0.99)


def _mean_slopes(slopes: Floats, plan: Layout) -> Floats:
    """Return HAT of each target over its items' sources, which are equally frequent."""
    if slopes.shape[1] == 1:
        return slopes[:, 0]
    n = len(plan.languages)
    own = np.eye(n, dtype=bool)
    return np.asarray(np.where(own[None], 0.0, slopes).sum(1) / (n - 1))


def _draw(
    benchmark: str,
    entries: Sequence[Model],
    *,
    ability: Floats,
    slopes: Floats,
    sources: NDArray[np.object_],
    plan: Layout,
    e: Effects,
    rng: np.random.Generator,
) -> _Draws:
    models, items, languages = len(entries), plan.n_items, len(plan.languages)
    difficulty = _DIFFICULTY * rng.standard_normal(items)
    own = _OWN * rng.standard_normal((models, items))
    s = expit(ability[:, None] - difficulty - own)
    which = np.zeros(items, dtype=np.intp)
    if slopes.shape[1] > 1:
        which = np.arange(items) % languages
    mean = slopes[:, which] * s[:, :, None]
    shared = rng.uniform(-1, 1, (items, languages))
    scatter = (shared + rng.uniform(-1, 1, (models, items, languages))) / 2
    t = mean + _SPREAD * mean * (1 - mean) * scatter
    n = plan.n_replies
    k_source, k_target = rng.binomial(n, s), rng.binomial(n, t)
    lengths = 200 * np.exp(0.4 * rng.standard_normal(items))
    thinks = np.array([m.thinking in _THINKS for m in entries])
    out_source = lengths * np.where(thinks, 4.0, 1.0)[:, None]
    noise = np.exp(0.3 * rng.standard_normal((models, items, languages)) - 0.045)
    out_target = e.tokens * out_source[:, :, None] * noise
    keep = np.array([[a != b for b in plan.languages] for a in sources])
    return _Draws(benchmark, sources, keep, k_source, k_target, out_source, out_target, thinks)


def _block(draws: _Draws, model: str, i: int, plan: Layout) -> Aligned:
    order = np.argsort(np.array(plan.languages))
    n = float(plan.n_replies)
    asked = draws.asked[:, order].astype(np.float64)
    items = np.array([str(j) for j in range(plan.n_items)], dtype=object)
    return Aligned(
        model=model,
        benchmark=draws.benchmark,
        items=items,
        groups=items,
        chance=np.zeros(plan.n_items),
        source_languages=draws.sources,
        k_source=draws.k_source[i].astype(np.float64),
        n_source=np.full(plan.n_items, n),
        languages=tuple(plan.languages[x] for x in order),
        k_target=draws.k_target[i][:, order] * asked,
        n_target=n * asked,
        weights=np.ones_like(asked),
    )


def _table(draws: _Draws, models: Sequence[str], plan: Layout) -> pl.DataFrame:
    names = np.array(models, dtype=object)
    tags = np.array(plan.languages, dtype=object)
    i, j, x = np.nonzero(np.broadcast_to(draws.asked, draws.k_target.shape))
    si, sj = (a.ravel() for a in np.indices(draws.k_source.shape))

    def rows(
        i: NDArray[np.intp], j: NDArray[np.intp], language: NDArray[np.object_],
        k: NDArray[np.int64], output: Floats,
    ) -> pl.DataFrame:  # fmt: skip
        reasoning = np.where(draws.thinks[i], 0.7 * output, np.nan)
        return pl.DataFrame(
            {
                "model": pl.Series(names[i].tolist(), dtype=pl.String),
                "item": pl.Series(j).cast(pl.String),
                "language": pl.Series(language.tolist(), dtype=pl.String),
                "source_language": pl.Series(draws.sources[j].tolist(), dtype=pl.String),
                "k": k,
                "output_tokens": output,
                "reasoning_tokens": reasoning,
            }
        )

    source, target = draws.k_source.ravel(), draws.k_target[i, j, x]
    return pl.concat(
        [
            rows(si, sj, draws.sources[sj], source, draws.tokens_source.ravel()),
            rows(i, j, tags[x], target, draws.tokens_target[i, j, x]),
        ]
    ).with_columns(
        benchmark=pl.lit(draws.benchmark),
        n=pl.lit(plan.n_replies),
        reasoning_tokens=pl.col("reasoning_tokens").fill_nan(None),
    )


def _expected(ability: Floats, ability_sd: float = 0.0) -> Floats:
    """Return E[S] over all items, and over models of this spread."""
    rates, weights = source_law(ability, ability_sd)
    return np.asarray(rates @ weights)


def source_law(ability: Floats, ability_sd: float = 0.0) -> tuple[Floats, Floats]:
    """Return nodes and weights of the law of source rates over all items.

    Gauss and Hermite's rule for the normal difficulty.

    Parameters
    ----------
    ability
        In logits, shape (models,).
    ability_sd
        Spread of models around it, taken together with that of items.

    Returns
    -------
    tuple of arrays
        Source rates, shape (models, nodes), and weights that add up to 1, shape (nodes,).
    """
    x, w = np.polynomial.hermite_e.hermegauss(60)
    spread = math.hypot(_DIFFICULTY, _OWN, ability_sd)
    return expit(ability[:, None] + spread * x), w / w.sum()


def _years(day: dt.date | None) -> float:
    if day is None:
        return 0.0
    return 2025 + (day - dt.date(2025, 1, 1)).days / 365.25 - _KNOT
