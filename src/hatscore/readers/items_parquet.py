"""Items of the canonical table: the texts that stand in columns beside the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore.grading import STATUSES
from hatscore.outcomes import KEY
from hatscore.readers.items import ItemRecord, ItemReply
from hatscore.readers.items_scored import shown_options, status_of
from hatscore.readers.outcomes_parquet import TEXT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.readers.items import Keep

__all__ = ["collect"]

_ROWS = 1000
_COUNTS = ("source_language", "n", "k")
_SHOWN = ("gold", *TEXT_COLUMNS)
_NOT_COUNTED = frozenset({"error", "judge_unparsed"})


def collect(
    paths: Sequence[Path],
    options: Mapping[str, Any],  # noqa: ARG001 - the format has none
    *,
    keep: Keep,
    notes: list[str],
) -> Iterator[ItemRecord]:
    """Yield the items of canonical tables, a thousand rows at a time; see `items_run`."""
    for path in paths:
        names = [name for name in _SHOWN if name in pl.read_parquet_schema(path)]
        if not names:
            notes.append(
                f"{path.name}: this table holds counts and no texts; the run or log that it was "
                f"made of has them, or columns {', '.join(_SHOWN)} beside the counts"
            )
            continue
        if "reply" not in names:
            notes.append(f"{path.name}: the table has no column reply, so replies are missing")
        wanted = pl.scan_parquet(path, glob=False).select(*KEY, *_COUNTS, *names)
        begin, height = 0, _ROWS
        while height == _ROWS:
            part = wanted.slice(begin, _ROWS).collect()
            begin, height = begin + _ROWS, part.height
            for row in part.iter_rows(named=True):
                item = _item(row["item"])
                if keep(str(row["benchmark"]), item):
                    yield _record(row, item)


def _record(row: Mapping[str, Any], item: str) -> ItemRecord:
    golds = _texts(row.get("gold")) or _texts(row.get("reference"))
    choices = _texts(row.get("options"))
    answers = {"gold": golds[0] if golds else "", "also": tuple(golds[1:])}
    return ItemRecord(
        model=str(row["model"]),
        benchmark=str(row["benchmark"]),
        item=item,
        language=str(row["language"]),
        source_language=str(row["source_language"]),
        question=_text(row.get("question")),
        prompt=_text(row.get("prompt")),
        context=_text(row.get("context")),
        **(shown_options(choices, ()) | answers if choices else answers),
        replies=tuple(_replies(row)),
    )


def _replies(row: Mapping[str, Any]) -> Iterator[ItemReply]:
    texts = _texts(row.get("reply"))
    statuses, answers, whys = (_each(row.get(name)) for name in ("status", "answer", "why"))
    n, k = row["n"], row["k"]
    # of several replies with some right ones the counts alone do not tell which
    same = status_of(k / n) if n and len(texts) == n else ""
    for number, text in enumerate(texts):
        named = statuses[number] if number < len(statuses) else None
        status = named if named in STATUSES else same
        yield ItemReply(
            text,
            status,
            counts=n > 0 and status not in _NOT_COUNTED,
            repeats=(str(number),),
            answer=answers[number] if number < len(answers) else None,
            why=(whys[number] if number < len(whys) else None) or "as the table says",
        )


def _item(value: Any) -> str:
    """Return an item's id as the canonical table has it: `12.0` of a column of numbers is `12`."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _each(value: Any) -> list[str | None]:
    """Return what is said of each reply; places are kept."""
    listed = value if isinstance(value, list) else [value]
    return [None if one is None else str(one) for one in listed]


def _texts(value: Any) -> list[str]:
    return [one for one in _each(value) if one is not None]


def _text(value: Any) -> str:
    return "" if value is None else str(value)
