"""Two models beside each other: paired differences and gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatscore.errors import InputError, UnknownNameError
from hatscore.scoring import MACRO
from hatscore.stats import CLASSICAL, difference
from hatscore.stats.estimate import p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.scoring import Measurement
    from hatscore.stats import Estimate

__all__ = ["COMPARED", "Difference", "Unpaired", "compare", "unpaired"]

COMPARED = ("hat", "hat_plugin", *CLASSICAL)


@dataclass(frozen=True, slots=True)
class Difference:
    """One score of one language, first model minus second.

    Attributes
    ----------
    benchmark, language, score
        What is compared.
    first, second
        Both scores.
    difference
        First minus second, paired over the items that both answered.
    p
        Two-sided p of no difference.
    n_shared
        Clusters of items that both models share.
    """

    benchmark: str
    language: str
    score: str
    first: Estimate
    second: Estimate
    difference: Estimate
    p: float
    n_shared: int


@dataclass(frozen=True, slots=True)
class Unpaired:
    """What of a benchmark two models cannot be compared in.

    Attributes
    ----------
    benchmark
        Its name.
    reason
        In words: who lacks what.
    """

    benchmark: str
    reason: str


def unpaired(found: Sequence[Measurement], first: str, second: str) -> list[Unpaired]:
    """Return the benchmarks that lack a macro row of `compare`: no gate can look at them.

    Parameters
    ----------
    found, first, second
        As for `compare`.

    Returns
    -------
    list of Unpaired
        Benchmarks that one of the models lacks, and those where it lacks languages, in order of
        first appearance.
    """
    lacking = []
    for benchmark in dict.fromkeys(m.benchmark for m in found if m.model in (first, second)):
        mine, other = (_languages(found, model, benchmark) for model in (first, second))
        if not mine or not other:
            lacking.append(
                Unpaired(benchmark, f"only {first if mine else second} has scores of it")
            )
        elif set(mine) != set(other):
            alone = [
                f"{model} alone has {', '.join(x for x in have if x not in lack)}"
                for model, have, lack in ((first, mine, other), (second, other, mine))
                if set(have) - set(lack)
            ]
            lacking.append(
                Unpaired(
                    benchmark,
                    f"no macro average over the same languages: {'; '.join(alone)}",
                )
            )
    return lacking


def _languages(found: Sequence[Measurement], model: str, benchmark: str) -> list[str]:
    return [m.language for m in found if (m.model, m.benchmark) == (model, benchmark)]


def compare(
    found: Sequence[Measurement],
    first: str,
    second: str,
    *,
    scores: Sequence[str] = COMPARED,
    confidence: float = 0.95,
) -> list[Difference]:
    """Return the paired differences of two models, by benchmark, language and score.

    Parameters
    ----------
    found
        Measurements of both models (see `scoring.measurements`).
    first, second
        Names of the models.
    scores
        Which scores, names of `Measurement.scores`.
    confidence
        Level of the intervals, in (0, 1).

    Returns
    -------
    list of Difference
        Languages that both have, macro last. The macro row is the mean over exactly these
        languages only if both models have the same ones; otherwise it is left out.

    Raises
    ------
    UnknownNameError
        No such model or score; names the ones that are there.
    InputError
        The two models have no benchmark and language in common.
    """
    models = {m.model for m in found}
    for name in (first, second):
        if name not in models:
            raise UnknownNameError("model", name, models)
    if first == second:
        raise InputError(f"{first!r} is compared with itself; name two models")
    for name in scores:
        if name not in COMPARED:
            raise UnknownNameError("score", name, COMPARED)
    rows = {(m.model, m.benchmark, m.language): m for m in found}
    keys = [
        (m.benchmark, m.language)
        for m in found
        if m.model == first and (second, m.benchmark, m.language) in rows
    ]
    if not keys:
        raise InputError(f"{first} and {second} have no benchmark and language in common")
    torn = {lack.benchmark for lack in unpaired(found, first, second)}
    keys = [(b, language) for b, language in keys if language != MACRO or b not in torn]
    return [
        _difference(
            rows[first, benchmark, language],
            rows[second, benchmark, language],
            name,
            confidence,
        )
        for benchmark, language in keys
        for name in scores
    ]


def _difference(a: Measurement, b: Measurement, name: str, confidence: float) -> Difference:
    one, two = a.scores[name], b.scores[name]
    between = difference(one, two, confidence=confidence)
    shared = set(map(str, one.clusters)) & set(map(str, two.clusters))
    return Difference(
        benchmark=a.benchmark,
        language=a.language,
        score=name,
        first=one,
        second=two,
        difference=between,
        p=p_value(between),
        n_shared=len(shared),
    )
