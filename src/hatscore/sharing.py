"""The items that two models share, and the scores of both over these alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from hatscore.outcomes import Outcomes
from hatscore.scoring import MACRO, measurements

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hatscore.scoring import Measurement

__all__ = ["SharedItems", "Sharing", "share_items"]

_ROW = ["item", "language", "source_language"]
_SOURCE = pl.col("language") == pl.col("source_language")
_PAIR = 2


@dataclass(frozen=True, slots=True)
class SharedItems:
    """How many items of one language two models have.

    Attributes
    ----------
    first, second
        Items of either model that enter the score.
    both
        Items of both.
    clusters
        Clusters of the items of both.
    """

    first: int
    second: int
    both: int
    clusters: int


@dataclass(frozen=True, slots=True)
class Sharing:
    """What two models share of one benchmark.

    Attributes
    ----------
    items
        By target language, and over all of them under ``macro``.
    scores
        By model and language, over the shared items; without the languages that have none, and
        then without ``macro``. None where both models have the same items anyway.
    """

    items: Mapping[str, SharedItems]
    scores: Mapping[tuple[str, str], Measurement] | None


def share_items(
    outcomes: Outcomes,
    benchmark: str,
    models: tuple[str, str],
    languages: Collection[str],
    *,
    squared: bool,
    confidence: float,
) -> Sharing | None:
    """Return what two models share of a benchmark, and their scores over that.

    An item is shared in a language if both models have replies to it there and in its source
    language. So is one whose replies there a sampling plan left out on purpose: other items stand
    for it.

    Parameters
    ----------
    outcomes
        The table behind the scores.
    benchmark, models
        Which.
    languages
        Target languages that both have.
    squared
        Whether the score needs two source replies to an item, as the corrected slope does; asked
        only of models that have two replies to any.
    confidence
        Level of the intervals, in (0, 1).

    Returns
    -------
    Sharing or None
        None where `outcomes` lacks one of the models.
    """
    here = outcomes.frame.filter(
        pl.col("benchmark") == benchmark,
        pl.col("model").is_in(models),
        pl.col("language").is_in(list(languages)) | _SOURCE,
        (pl.col("n") > 0) | (pl.col("weight") == 0),
    )
    parts = [here.filter(pl.col("model") == model) for model in models]
    if any(not part.height for part in parts):
        return None
    if squared:
        enough = [part.filter(_SOURCE, pl.col("n") >= _PAIR)["item"] for part in parts]
        if all(len(items) for items in enough):
            parts = [
                part.filter(pl.col("item").is_in(items.implode()))
                for part, items in zip(parts, enough, strict=True)
            ]
    first, second = parts
    both = first.join(second, on=_ROW, how="inner", maintain_order="left")
    items = {
        language: SharedItems(
            first=_count(first, language, "item"),
            second=_count(second, language, "item"),
            both=_count(both, language, "item"),
            clusters=_count(
                both.filter(pl.col("group") == pl.col("group_right")), language, "group"
            ),
        )
        for language in (*languages, MACRO)
    }
    if both.height == first.height == second.height:
        return Sharing(items, None)
    if not both.height:
        return Sharing(items, {})
    rows = pl.concat([part.join(both, on=_ROW, how="semi") for part in parts])
    found = measurements(Outcomes(rows, rows.clear(), ()), confidence=confidence)
    scores = {(m.model, m.language): m for m in found}
    if any((model, language) not in scores for model in models for language in languages):
        # a mean over fewer languages is another score
        for model in models:
            scores.pop((model, MACRO), None)
    return Sharing(items, scores)


def _count(rows: pl.DataFrame, language: str, what: str) -> int:
    """Count different values in the rows of one target language, or of all."""
    one = ~_SOURCE if language == MACRO else ~_SOURCE & (pl.col("language") == language)
    return rows.filter(one)[what].n_unique()
