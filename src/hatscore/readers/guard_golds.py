"""Whether golds and questions show that rows joined into one item are one item."""

from __future__ import annotations

import math

import polars as pl

from hatscore.errors import AlignmentError

__all__ = ["check_golds", "check_questions", "sequence_notes"]

_SHOWN = 3
_BITS = 20  # a sequence that could agree by chance once in a million


def check_golds(frame: pl.DataFrame, *, by_row: bool, allow: bool = False) -> list[str]:
    """Compare the golds of every item with that of its source row.

    Parameters
    ----------
    frame
        Columns model, benchmark, item, language, source_language, gold (null where it depends
        on the language), where.
    by_row
        Items are positions, so every row needs a gold.
    allow
        Return what differs as a note instead of refusing it; never done for positions.

    Raises
    ------
    AlignmentError
        Golds differ or are missing. Names the languages that differ with their first rows, and
        those that agree.
    """
    known = frame.filter(pl.col("gold").is_not_null())
    if by_row and known.height < frame.height:
        where = frame.filter(pl.col("gold").is_null())["where"][0]
        raise AlignmentError(
            "joining items by row order needs a gold in every row (gold=COLUMN), "
            f"else a shifted language goes unseen; first row without one: {where}"
        )
    if not known.height:
        return []
    at = ["benchmark", "source_language", "item"]
    is_source = pl.col("language") == pl.col("source_language")
    gold = pl.col("gold").filter(is_source).first().fill_null(pl.col("gold").first())
    marked = known.with_columns(gold.over(at).alias("expected"))
    torn = marked.filter(pl.col("gold") != pl.col("expected"))
    said = []
    for (benchmark, source), part in torn.group_by(at[:2], maintain_order=True):
        everything = marked.filter(
            (pl.col("benchmark") == benchmark) & (pl.col("source_language") == source)
        )
        bad = part["language"].unique(maintain_order=True).to_list()
        good = [
            language
            for language in everything["language"].unique(maintain_order=True)
            if language not in bad and language != source
        ]
        shown = "; ".join(_differences(everything, part, language) for language in bad)
        said.append(
            f"{benchmark}: golds differ from those of {source} in {', '.join(bad)}: {shown}. "
            + (f"The golds of {', '.join(good)} agree. " if good else "")
        )
    if said and (by_row or not allow):
        raise AlignmentError(
            f"{''.join(said)}These rows are not the same items: leave the languages out, or join "
            "them by an item id"
            + ("" if by_row else ", or accept the golds with allow_golds (--allow-golds)")
        )
    return [f"{one.strip()} (allow_golds)" for one in said]


def check_questions(frame: pl.DataFrame) -> None:
    """Refuse an item that asks one thing of one model and another of the next.

    Raises
    ------
    AlignmentError
        One item in one language has two questions.
    """
    at = ["benchmark", "item", "language"]
    known = frame.filter(pl.col("question").is_not_null())
    first = known.with_columns(
        pl.col("question").first().over(at).alias("expected"),
        pl.col("where").first().over(at).alias("there"),
    )
    torn = first.filter(pl.col("question") != pl.col("expected"))
    if torn.height:
        row = torn.row(0, named=True)
        items = torn.select(at).n_unique()
        languages = ", ".join(torn["language"].unique(maintain_order=True))
        raise AlignmentError(
            f"{row['benchmark']}: {items} items have two questions in one language ({languages}), "
            f"first item {row['item']!r} in {row['language']}: {row['there']} and {row['where']} "
            "ask different things. The item ids do not name questions, or the files are of two "
            "versions of the benchmark; score them apart"
        )


def sequence_notes(frame: pl.DataFrame) -> list[str]:
    """Say where the sequence of golds could agree by chance, so that it proves little.

    The chance that a random order has the same sequence is one in the multinomial coefficient
    of the golds' counts.

    Raises
    ------
    AlignmentError
        All golds are the same: the sequence proves nothing.
    """
    notes = []
    first = frame.unique(["benchmark", "item"], keep="first", maintain_order=True)
    for (benchmark,), part in first.group_by(["benchmark"], maintain_order=True):
        counts = part["gold"].value_counts()["count"].to_list()
        if len(counts) == 1 and part.height > 1:
            raise AlignmentError(
                f"{benchmark}: all {part.height} golds are {part['gold'][0]!r}, so their sequence "
                "cannot show that rows belong together; join by an item id (item=COLUMN)"
            )
        ways = math.lgamma(part.height + 1) - sum(math.lgamma(c + 1) for c in counts)
        if ways < _BITS * math.log(2):
            notes.append(
                f"{benchmark}: {part.height} golds of {len(counts)} values prove little about the "
                "order of rows; prefer an item id"
            )
    return notes


def _differences(everything: pl.DataFrame, torn: pl.DataFrame, language: str) -> str:
    mine = torn.filter(pl.col("language") == language)
    items = everything.filter(pl.col("language") == language)["item"].n_unique()
    once = mine.unique("item", keep="first", maintain_order=True)
    shown = ", ".join(
        f"item {r['item']} is {r['gold']} and not {r['expected']} ({r['where']})"
        for r in once.head(_SHOWN).iter_rows(named=True)
    )
    return f"{language} in {once.height} of {items} items, {shown}"
