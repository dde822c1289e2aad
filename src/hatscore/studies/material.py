"""What every analysis works on: scores that may be compared, and what is known of the models."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from hatscore.errors import InputError
from hatscore.outcomes import Outcomes
from hatscore.scoring import MACRO, measurements
from hatscore.stats import Estimate, mean
from hatscore.studies.effects import scoped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.models import Model, Registry
    from hatscore.scoring import Measurement

__all__ = ["Material", "gather"]

_SHOWN = 6
_FEWEST_REPLIES = 2


@dataclass(frozen=True)
class Material:
    """Scored outcomes of several models on the same languages.

    Attributes
    ----------
    outcomes
        The table behind it.
    scores
        By (model, benchmark, language); clusters of items are labelled with their benchmark.
    facts
        Registry entry per model; absent where there is none.
    confidence
        Level of all intervals.
    notes
        What was left out to compare like with like, in words.
    """

    outcomes: Outcomes
    scores: Mapping[tuple[str, str, str], Mapping[str, Estimate]]
    facts: Mapping[str, Model]
    confidence: float
    notes: tuple[str, ...] = ()
    _pooled: dict[tuple[str, str], Estimate] = field(default_factory=dict, repr=False)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Names, in order of first appearance."""
        return tuple(dict.fromkeys(m for m, _, _ in self.scores))

    @cached_property
    def benchmarks(self) -> tuple[str, ...]:
        """Names, in order of first appearance."""
        return tuple(dict.fromkeys(b for _, b, _ in self.scores))

    @cached_property
    def hat(self) -> str:
        """``hat``, or ``hat_plugin`` where the replies of some model allow no other slope.

        That is where it has one source reply per item, or partial credit. A model whose source is
        never solved has neither, and does not take the corrected slope from the others.
        """
        lost = {
            m
            for m in self.models
            if not self._any(m, "hat") and self._any(m, "hat_plugin") and self._uncorrectable(m)
        }
        return "hat_plugin" if lost else "hat"

    def _any(self, model: str, name: str) -> bool:
        return any(math.isfinite(self.scores[k][name].value) for k in self.scores if k[0] == model)

    def _uncorrectable(self, model: str) -> bool:
        blocks = [b for b in self.outcomes.aligned() if b.model == model]
        return all(
            b.n_source.max(initial=0) < _FEWEST_REPLIES
            or bool((b.k_source != b.k_source.round()).any())
            for b in blocks
        )

    def languages(self, benchmark: str) -> tuple[str, ...]:
        """Return the target languages that all models share on a benchmark, sorted."""
        return tuple(sorted({x for _, b, x in self.scores if b == benchmark and x != MACRO}))

    def on(self, benchmark: str) -> tuple[str, ...]:
        """Return the models that have the benchmark."""
        return tuple(m for m in self.models if (m, benchmark, MACRO) in self.scores)

    def of(self, model: str, benchmark: str, language: str, name: str) -> Estimate:
        """Return a score; `name` ``HAT`` stands for `hat`."""
        return self.scores[model, benchmark, language][self.hat if name == "HAT" else name]

    def macro(self, model: str, benchmark: str, name: str) -> Estimate:
        """Return the mean over languages."""
        return self.of(model, benchmark, MACRO, name)

    def pooled(self, model: str, name: str) -> Estimate:
        """Return the mean of the macro scores over benchmarks."""
        key = (model, name)
        if key not in self._pooled:
            parts = [
                self.macro(model, b, name)
                for b in self.benchmarks
                if (model, b, MACRO) in self.scores
            ]
            self._pooled[key] = mean(parts, confidence=self.confidence)
        return self._pooled[key]

    @cached_property
    def complete(self) -> tuple[str, ...]:
        """Models that have every benchmark: only their pooled means compare."""
        return tuple(m for m in self.models if all(m in self.on(b) for b in self.benchmarks))

    @cached_property
    def scopes(self) -> tuple[str, ...]:
        """Benchmarks, and ``all`` for their mean where there are several."""
        return (*self.benchmarks, *(["all"] if len(self.benchmarks) > 1 else []))

    def score(self, model: str, scope: str, name: str) -> Estimate:
        """Return the macro score on one benchmark, or the mean over them with ``all``."""
        return self.pooled(model, name) if scope == "all" else self.macro(model, scope, name)

    def members(self, scope: str) -> tuple[str, ...]:
        """Return the models that have the scope."""
        return self.complete if scope == "all" else self.on(scope)

    def with_hat(self, scope: str) -> tuple[str, ...]:
        """Return the models that have a HAT in the scope."""
        return tuple(
            m for m in self.members(scope) if math.isfinite(self.score(m, scope, "HAT").value)
        )

    def one_each(self, models: Sequence[str]) -> list[str]:
        """Return the models without further names of one: the first of each registry entry.

        Two names of a run, such as ``gemma-3-4b-it`` and ``google/gemma-3-4b-it``, are not two
        models. Models without an entry stay.
        """
        seen: dict[str, str] = {}
        for m in models:
            seen.setdefault(self.facts[m].name if m in self.facts else f"\x1f{m}", m)
        return list(seen.values())

    def besides(self) -> str:
        """Write how many models can be no points of a line, being others in other words."""
        variants = [m for m in self.models if (f := self.facts.get(m)) and f.variant_of]
        again = len(self.models) - len(self.one_each(self.models))
        words = [
            *([f"{len(variants)} more are further settings of a model"] if variants else []),
            *([f"{again} more are further names of one"] if again else []),
        ]
        return f" ({', '.join(words)})" if words else ""

    def points(self, scope: str) -> list[str]:
        """Return the models that are points of a line: known, with a HAT, and each once.

        Further settings of a model are not further models.
        """
        known = [m for m in self.with_hat(scope) if m in self.facts]
        return self.one_each([m for m in known if not self.facts[m].variant_of])


def gather(outcomes: Outcomes, registry: Registry, *, confidence: float = 0.95) -> Material:
    """Score outcomes and put beside them what the registry knows.

    Where models have different languages on a benchmark only the common ones are kept, and a
    note names the others.

    Parameters
    ----------
    outcomes
        The canonical table of all models.
    registry
        From `hatscore.models.load_models`.
    confidence
        Level of all intervals, in (0, 1).

    Raises
    ------
    InputError
        Nothing to score, or models without a language in common on a benchmark.
    """
    kept, notes = _common_languages(outcomes)
    found = measurements(kept, confidence=confidence)
    if not found:
        raise InputError("a study needs outcomes of at least one target language; there are none")
    names = dict.fromkeys(m.model for m in found)
    facts = {name: entry for name in names if (entry := registry.find(name)) is not None}
    material = Material(
        outcomes=kept,
        scores=_scores(found),
        facts=facts,
        confidence=confidence,
        notes=tuple(notes),
    )
    if material.hat == "hat_plugin":
        notes.append(
            "not all models have a corrected slope (one source reply per item, or "
            "partial credit): HAT is the plug-in here, for all of them"
        )
    return replace(material, notes=(*notes, *_without_hat(material), *_further_names(material)))


def _without_hat(material: Material) -> list[str]:
    """Name the models without a HAT, with the reason."""
    lost: dict[tuple[str, str], list[str]] = {}
    for b in material.benchmarks:
        for m in material.on(b):
            if m not in material.with_hat(b):
                columns = [material.of(m, b, x, "HAT") for x in material.languages(b)]
                why = next(e.reason for e in columns if math.isnan(e.value))
                lost.setdefault((b, why), []).append(m)
    return [
        f"{b}: left out of all that is about HAT, for want of it: {_few(models)} ({why})"
        for (b, why), models in lost.items()
    ]


def _further_names(material: Material) -> list[str]:
    """Name the names that are one model."""
    names: dict[str, list[str]] = {}
    for m, entry in material.facts.items():
        names.setdefault(entry.name, []).append(m)
    return [
        f"{', '.join(several)} are one model in the registry: size, time, family and thinking "
        "take the first that has what they ask for"
        for several in names.values()
        if len(several) > 1
    ]


def _scores(found: Sequence[Measurement]) -> dict[tuple[str, str, str], dict[str, Estimate]]:
    return {
        (m.model, m.benchmark, m.language): {
            name: scoped(e, m.benchmark) for name, e in m.scores.items()
        }
        for m in found
    }


def _common_languages(outcomes: Outcomes) -> tuple[Outcomes, list[str]]:
    targets = outcomes.frame.filter(
        (pl.col("language") != pl.col("source_language")) & (pl.col("n") > 0)
    )
    have = targets.group_by(["benchmark", "model"], maintain_order=True).agg(
        pl.col("language").unique().sort()
    )
    notes, drop = [], []
    for (benchmark,), part in have.group_by(["benchmark"], maintain_order=True):
        sets = {m: set(x) for m, x in zip(part["model"], part["language"], strict=True)}
        common, every = set.intersection(*sets.values()), set.union(*sets.values())
        if not common:
            raise InputError(
                f"the models have no language of {benchmark} in common: "
                + "; ".join(f"{m} has {_few(x)}" for m, x in sets.items())
            )
        if common != every:
            extra = sorted(every - common)
            drop += [(str(benchmark), language) for language in extra]
            notes.append(
                f"{benchmark}: only the {len(common)} languages that all models have are compared; "
                f"left out: {_few(extra)}"
            )
    if not drop:
        return outcomes, notes
    lost = pl.DataFrame(drop, schema=["benchmark", "language"], orient="row")
    is_target = pl.col("language") != pl.col("source_language")
    frame = pl.concat(
        [
            outcomes.frame.filter(~is_target),
            outcomes.frame.filter(is_target).join(
                lost, on=["benchmark", "language"], how="anti", maintain_order="left"
            ),
        ]
    )
    return Outcomes(frame, outcomes.excluded, outcomes.notes), notes


def _few(names: Sequence[str] | set[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
