"""The canonical table itself, as Parquet, alone or with texts beside the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hatscore.outcomes import KEY, Outcomes

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT", "OPTIONS", "TEXT_COLUMNS", "read", "sniff"]

FORMAT = "parquet"
OPTIONS: tuple[str, ...] = ()
TEXT_COLUMNS = (
    "question",
    "prompt",
    "context",
    "reference",
    "options",
    "reply",
    "status",
    "answer",
    "why",
)
"""Columns of texts for people: no score knows them, `items_parquet` shows them."""
_MAGIC = b"PAR1"
_COLUMNS = frozenset({*KEY, "source_language", "n", "k"})


def sniff(path: Path) -> bool:
    """Say whether `path` is a Parquet file of outcomes, by its columns.

    A damaged file is left to the reader of tables, which says what is wrong with it.
    """
    if not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return False
    try:
        return set(pl.read_parquet_schema(path)) >= _COLUMNS
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return False


def read(path: Path) -> Outcomes:
    """Return the outcomes that `Outcomes.write_parquet` wrote, without columns of texts."""
    return Outcomes.read_parquet(path, without=TEXT_COLUMNS)
