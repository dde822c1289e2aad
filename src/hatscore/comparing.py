"""Two models beside each other: paired differences and gates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatscore.errors import InputError, UnknownNameError
from hatscore.scoring import MACRO
from hatscore.sharing import share_items
from hatscore.stats import CLASSICAL, Estimate, difference
from hatscore.stats.estimate import p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.outcomes import Outcomes
    from hatscore.scoring import Measurement
    from hatscore.sharing import SharedItems, Sharing

__all__ = ["COMPARED", "Difference", "Unpaired", "compare", "sharing_notes", "unpaired"]

COMPARED = ("hat", "hat_plugin", *CLASSICAL)
_NONE_SHARED = "the two models share no item here, so nothing is paired"
_NO_COUNTS = (
    "the two models have different items, and these scores came without the counts that would "
    "tell what they are over the items that both have: save them again with `hatscore score --save`"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One score of one language, first model minus second.

    Attributes
    ----------
    benchmark, language, score
        What is compared.
    first, second
        Both scores; where the models have different items, over those that they share. Their
        own, if they share none.
    difference
        First minus second, paired: over the items that both answered. Missing if there are none.
    p
        Two-sided p of no difference.
    n_shared
        Clusters of items that both models share.
    items
        Items that enter, of either model and shared; None where the scores came without counts.
    """

    benchmark: str
    language: str
    score: str
    first: Estimate
    second: Estimate
    difference: Estimate
    p: float
    n_shared: int
    items: SharedItems | None = None


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
    outcomes: Outcomes | None = None,
) -> list[Difference]:
    """Return the paired differences of two models, by benchmark, language and score.

    Where the models have different items, both are scored again over those that they share: an
    item is as hard for both, and a difference of scores over different items is one of the items.

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
    outcomes
        The table behind `found`, to score shared items; without it the difference of models with
        different items is missing, with a reason.

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
    keys: dict[str, list[str]] = {}
    for m in found:
        if m.model == first and (second, m.benchmark, m.language) in rows:
            keys.setdefault(m.benchmark, []).append(m.language)
    if not keys:
        raise InputError(f"{first} and {second} have no benchmark and language in common")
    torn = {lack.benchmark for lack in unpaired(found, first, second)}
    between = []
    for benchmark, languages in keys.items():
        targets = [language for language in languages if language != MACRO]
        sharing = {
            squared: None
            if outcomes is None
            else share_items(
                outcomes,
                benchmark,
                (first, second),
                targets,
                squared=squared,
                confidence=confidence,
            )
            for squared in sorted({name == "hat" for name in scores})
        }
        between += [
            _difference(
                rows[first, benchmark, language],
                rows[second, benchmark, language],
                name,
                confidence,
                sharing[name == "hat"],
            )
            for language in languages
            if language != MACRO or benchmark not in torn
            for name in scores
        ]
    return between


def sharing_notes(rows: Sequence[Difference], first: str, second: str) -> list[str]:
    """Say where the models have different items, and how many of them they share.

    Parameters
    ----------
    rows
        From `compare`.
    first, second
        Names of the models.
    """
    uneven: dict[tuple[str, SharedItems], dict[str, None]] = {}
    spread: dict[str, set[str]] = {}
    for row in rows:
        if row.items is None or row.language == MACRO:
            continue
        spread.setdefault(row.benchmark, set()).add(row.language)
        if not row.items.first == row.items.second == row.items.both:
            uneven.setdefault((row.benchmark, row.items), {})[row.language] = None
    notes = []
    for (benchmark, items), languages in uneven.items():
        where = "" if set(languages) == spread[benchmark] else f" in {', '.join(languages)}"
        shared = (
            f"they share {items.both}, and both are scored over these"
            if items.both
            else "they share none, so there is no difference"
        )
        notes.append(
            f"{benchmark}: {first} has {items.first} items{where}, {second} {items.second}; "
            f"{shared}"
        )
    return notes


def _difference(
    a: Measurement, b: Measurement, name: str, confidence: float, sharing: Sharing | None
) -> Difference:
    one, two = a.scores[name], b.scores[name]
    items = None if sharing is None else sharing.items[a.language]
    missing = ""
    if sharing is None:
        missing = "" if _alike(one, two) else _NO_COUNTS
    elif sharing.scores is not None:
        both = [sharing.scores.get((m.model, m.language)) for m in (a, b)]
        if both[0] is None or both[1] is None:
            missing = _NONE_SHARED if a.language != MACRO else _none_shared_in(sharing)
        else:
            one, two = both[0].scores[name], both[1].scores[name]
    between = difference(one, two, confidence=confidence)
    if missing:
        between = Estimate.missing(
            missing, estimator="difference", interval="delta", confidence=confidence
        )
    shared = set(map(str, one.clusters)) & set(map(str, two.clusters))
    return Difference(
        benchmark=a.benchmark,
        language=a.language,
        score=name,
        first=one,
        second=two,
        difference=between,
        p=p_value(between),
        n_shared=len(shared) if items is None else items.clusters,
        items=items,
    )


def _alike(one: Estimate, two: Estimate) -> bool:
    """Whether two scores seem to be over the same items, as far as they themselves can tell."""
    if math.isnan(one.value) or math.isnan(two.value):
        return True  # there is no difference anyway, and why is known better
    same = set(map(str, one.clusters)) == set(map(str, two.clusters))
    return same and one.n_items == two.n_items


def _none_shared_in(sharing: Sharing) -> str:
    lost = [tag for tag, items in sharing.items.items() if tag != MACRO and not items.both]
    return f"the two models share no item in {', '.join(lost)}"
