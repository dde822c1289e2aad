"""The alignment guard: what every foreign log must pass before its rows are counted.

A log says of a reply which item and language it belongs to. Where that is wrong, scores come out
plausible and mean nothing: rows of one language shifted by one, an id that numbers shards and not
questions, a language whose file lists another subset. The guard refuses such tables and names the
languages and the first rows that differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore.errors import AlignmentError, InputError, UnknownNameError
from hatscore.outcomes import KEY, SCHEMA, STATUS_COLUMNS, Outcomes
from hatscore.readers.guard_golds import check_golds, check_questions, sequence_notes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["EXTRA", "ROW_SCHEMA", "align"]

EXTRA = ("gold", "question", "repeat", "where", "asked")
ROW_SCHEMA: dict[str, pl.DataType] = {
    **SCHEMA,
    **dict.fromkeys(EXTRA, pl.String()),
    "asked": pl.Int64(),
}

_PART = ("model", "benchmark")
_SHOWN = 5


def align(
    rows: pl.DataFrame | Sequence[Mapping[str, Any]],
    *,
    by_row: bool = False,
    allow_missing: bool = False,
    allow_golds: bool = False,
    pool: bool = False,
    notes: Sequence[str] = (),
) -> Outcomes:
    """Check rows of a foreign log, sum replies to items, and return them as Outcomes.

    Parameters
    ----------
    rows
        One row per reply (n 1, k 0 to 1) or per item (n, k counts), columns of `ROW_SCHEMA`:
        those of `Outcomes.from_frame`, of which model, benchmark, item, language,
        source_language, n and k are needed, and beside them

        gold
            The right answer in canonical form, null wherever it depends on the language.
        question
            The question's text or its hash, null if unknown. One item in one language has one
            question, whichever the model and the repeat.
        repeat
            Which of the replies to the item this is. Without it an item has one row a language.
        where
            Place for messages, ``file:line``.
        asked
            How many replies to the item in that language a sampling plan asked for; null where
            none says so, and then as many as to any item in the language. A cell that a plan
            left out on purpose is a row with n, ``weight`` and this 0.
    by_row
        The log has no item ids: rows of a (model, benchmark, language, repeat) are numbered in
        their order and joined by number. ``gold`` is then needed in every row, and its sequence
        must be that of the source language. A column ``item`` is not read.
    allow_missing
        Accept languages that lack items, items without a source row, and items with fewer
        replies than others; every score is then over the items that are there, and notes say
        so. Not where `by_row` joins sequences of different length: the lost row is unknown.
    allow_golds
        Accept golds that differ between languages; a note says of how many items.
    pool
        Take rows of one key for further replies to the item.
    notes
        What the reader wants said beside every score.

    Raises
    ------
    AlignmentError
        Item sets, golds or questions that do not belong together. Names the languages and the
        first rows.
    InputError
        Repeated keys, unknown columns, values of the wrong kind.
    """
    frame = _frame(rows)
    said = list(notes)
    if not frame.height:
        raise InputError("no rows with a result: nothing can be scored")
    for name in ("model", "benchmark", "language", "source_language"):
        _check_filled(frame, name)
    if by_row:
        frame = _numbered(frame)
        check_golds(frame, by_row=True)
        _check_lengths(frame)
        said += ["items are joined by row order, the sequence of golds agrees"]
        said += sequence_notes(frame)
    else:
        _check_filled(frame, "item")
        _check_keys(frame, pool=pool)
        said += check_golds(frame, by_row=False, allow=allow_golds)
    check_questions(frame)
    if pool and frame.select(KEY).is_duplicated().any():
        said.append("rows of one item and language are pooled as replies to it (pool)")
    said += _check_counts(frame, allow=allow_missing)
    said += _check_items(frame, allow=allow_missing)
    said += _check_source_rows(frame, allow=allow_missing)
    if frame.filter(pl.col("language") != pl.col("source_language")).is_empty():
        languages = frame["source_language"].unique(maintain_order=True).to_list()
        said.append(f"all rows are in the source language {_names(languages)}: nothing to compare")
    said += _left_out(frame)
    plain = frame.drop(EXTRA)
    return Outcomes.from_frame(plain, duplicates="sum", notes=list(dict.fromkeys(said)))


def _frame(rows: pl.DataFrame | Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    if not isinstance(rows, pl.DataFrame):
        try:
            rows = pl.DataFrame(list(rows), schema=ROW_SCHEMA)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as err:
            raise InputError(f"rows of a log hold values of the wrong kind: {err}") from err
    unknown = [name for name in rows.columns if name not in ROW_SCHEMA]
    if unknown:
        raise UnknownNameError("column", unknown[0], ROW_SCHEMA)
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in ROW_SCHEMA.items()
        if name not in rows.columns
    ]
    try:
        frame = rows.with_columns(missing).select(
            pl.col(name).cast(dtype) for name, dtype in ROW_SCHEMA.items()
        )
    except pl.exceptions.PolarsError as err:
        raise InputError(f"rows of a log hold values of the wrong kind: {err}") from err
    counts = [pl.col(name).fill_null(0) for name in STATUS_COLUMNS]
    place = pl.format("row {}", pl.int_range(1, pl.len() + 1))
    return frame.with_columns(*counts, pl.col("where").fill_null(place))


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    order = ["model", "benchmark", "language", "repeat"]
    return frame.with_columns(
        pl.int_range(1, pl.len() + 1).over(order).cast(pl.String).alias("item")
    )


def _check_filled(frame: pl.DataFrame, name: str) -> None:
    empty = frame.filter(pl.col(name).is_null() | (pl.col(name) == ""))
    if empty.height:
        raise InputError(
            f"{empty.height} rows have no {name}, first {empty['where'][0]}; "
            "every row needs one, correct or drop them"
        )


def _check_keys(frame: pl.DataFrame, *, pool: bool) -> None:
    if pool:
        return
    key = [*KEY, "repeat"]
    repeated = frame.filter(frame.select(key).is_duplicated())
    if not repeated.height:
        return
    first = repeated.filter(
        pl.all_horizontal(pl.col(name).eq_missing(pl.lit(repeated[name][0])) for name in key)
    )
    known = frame["repeat"].null_count() < frame.height
    row = first.row(0, named=True)
    places = ", ".join(first["where"].head(3))
    raise AlignmentError(
        f"{repeated.height} rows share their item with another row, first item {row['item']!r} in "
        f"{row['language']} of {row['model']} on {row['benchmark']}"
        f"{', repeat ' + row['repeat'] if row['repeat'] else ''} ({places}). "
        "If they are further replies to it, "
        + ("" if known else "say which column numbers them (repeat=COLUMN), or ")
        + "pool them (pool, --pool). If the ids do not name items, join by row order "
        "(item=@row) with a column of golds"
    )


def _check_lengths(frame: pl.DataFrame) -> None:
    """Refuse sequences of different lengths: which row was lost cannot be known."""
    parts = ["model", "benchmark", "source_language", "language", "repeat"]
    lengths = frame.group_by(parts, maintain_order=True).agg(pl.len().alias("rows"))
    for _, part in lengths.group_by(parts[:3], maintain_order=True):
        if part["rows"].n_unique() > 1:
            usual = part["rows"].mode().max()
            other = part.filter(pl.col("rows") != usual)
            shown = ", ".join(
                f"{r['language']}{' ' + r['repeat'] if r['repeat'] else ''} {r['rows']}"
                for r in other.head(_SHOWN).iter_rows(named=True)
            )
            raise AlignmentError(
                f"{part['model'][0]} on {part['benchmark'][0]}: items are joined by row order, but "
                f"the languages have different numbers of rows: {shown}, the others {usual!s}. "
                "Which row is lost cannot be known; complete the file or leave the language out"
            )


def _check_counts(frame: pl.DataFrame, *, allow: bool) -> list[str]:
    """Compare how many rows the items of a language have with how many they are to have."""
    per_item = frame.group_by(KEY, maintain_order=True).agg(
        pl.len().alias("rows"), pl.col("where").first(), pl.col("asked").max()
    )
    found = []
    group = [*_PART, "language"]
    usual = pl.col("rows").max().over(group)
    most = per_item.with_columns(pl.coalesce("asked", usual).alias("most"))
    short = most.filter(pl.col("rows") < pl.col("most"))
    for _, part in short.group_by(group, maintain_order=True):
        row = part.row(0, named=True)
        found.append(
            f"{row['model']} on {row['benchmark']}: in {row['language']} {part.height} items have "
            f"fewer replies than others, first item {row['item']!r} with "
            f"{row['rows']} of {row['most']} ({row['where']})"
        )
    return _accept(found, allow=allow)


def _check_items(frame: pl.DataFrame, *, allow: bool) -> list[str]:
    """Compare the items of every language with those of the source language."""
    group = [*_PART, "source_language"]
    keys = frame.select(*group, "item", "language", "where").unique(
        [*group, "item", "language"], maintain_order=True, keep="first"
    )
    found = []
    for (model, benchmark, source), part in keys.group_by(group, maintain_order=True):
        by_language = {
            str(language): dict(zip(rows["item"], rows["where"], strict=True))
            for (language,), rows in part.group_by(["language"], maintain_order=True)
        }
        here = by_language.pop(str(source), None)
        if here is None:
            continue
        for language, items in by_language.items():
            missing = [item for item in here if item not in items]
            extra = [item for item in items if item not in here]
            if missing:
                found.append(
                    f"{model} on {benchmark}: {language} lacks {len(missing)} of {len(here)} "
                    f"items of {source}: {_names(missing)} (first {here[missing[0]]})"
                )
            if extra:
                found.append(
                    f"{model} on {benchmark}: {language} has {len(extra)} items that {source} "
                    f"lacks: {_names(extra)} (first {items[extra[0]]})"
                )
    return _accept(found, allow=allow)


def _check_source_rows(frame: pl.DataFrame, *, allow: bool) -> list[str]:
    has = (pl.col("language") == pl.col("source_language")).any()
    group = [*_PART, "source_language"]
    lost = frame.filter(~has.over(group)).group_by(group, maintain_order=True)
    found = []
    for (model, benchmark, source), part in lost:
        languages = part["language"].unique(maintain_order=True).to_list()
        found.append(
            f"{model} on {benchmark}: no rows in the source language {source}, there are "
            f"{_names(languages)} (first {part['where'][0]})"
        )
    if found and frame.filter(has.over(group)).height == 0:
        raise AlignmentError(f"{'; '.join(found[:_SHOWN])}. Say which language is the source")
    return _accept(found, allow=allow)


def _left_out(frame: pl.DataFrame) -> list[str]:
    """Say what a sampling plan left out on purpose."""
    cells = frame.filter(pl.col("language") != pl.col("source_language")).unique(KEY)
    left = pl.col("weight") == 0
    counted = cells.group_by(_PART, maintain_order=True).agg(left.sum(), pl.len().alias("all"))
    return [
        f"{model} on {benchmark}: a sampling plan left out {n:,} of {total:,} cells of target "
        "languages on purpose; others stand for them, with a weight, in accuracy, gap and "
        "chance-adjusted scores"
        for model, benchmark, n, total in counted.sort(_PART).iter_rows()
        if n
    ]


def _accept(found: list[str], *, allow: bool) -> list[str]:
    if found and not allow:
        shown = "; ".join(found[:_SHOWN])
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise AlignmentError(
            f"{shown}{more}. Complete the files, or accept this with allow_missing "
            "(--allow-missing): every score is then over the items that are there"
        )
    return [f"{said} (allow_missing)" for said in found]


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(map(str, names[:_SHOWN]))
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
