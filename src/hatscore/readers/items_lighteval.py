"""Items of details of lighteval: query, prompt, choices and the replies, of either layout."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore.errors import ReaderError
from hatscore.readers import lighteval
from hatscore.readers.items_scored import Scored, conversation, merged, shown_options
from hatscore.readers.lighteval_files import as_literal, as_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.readers.items import ItemRecord, ItemReply, Keep
    from hatscore.readers.lighteval_files import Details

__all__ = ["collect"]

_ROWS = 1000
# beside these a row holds the tokens and what they were worth, many times the texts
_DOC = ("query", "full_prompt", "choices", "gold_index")
_RESPONSE = ("input", "text", "reasonings")
_BEFORE = ("example", "full_prompt", "choices", "gold_index", "gold", "predictions")
_LISTS = ("choices", "gold_index", "gold", "predictions")
_NUMBERS = re.compile(r"\s*[\[(]+\s*(?:-?[\d.]|np\.|tensor)")


def collect(
    paths: Sequence[Path],
    options: Mapping[str, Any],
    *,
    keep: Keep,
    notes: list[str],
) -> Iterator[ItemRecord]:
    """Yield the items of details files, file after file; see `items_run` for the parameters.

    A thousand rows are in memory at a time, of pooled runs all items that are wanted.
    """
    said: dict[Path, dict[int, Scored]] = {}

    def listen(details: Details, row: Mapping[str, Any], number: int, metric: str) -> None:
        if keep(row["benchmark"], row["item"]):
            said.setdefault(details.path, {})[number] = Scored.of(row, metric)

    lighteval.read_many(paths, **options, listen=listen)
    found = _items(said, notes)
    yield from merged(found) if options.get("pool") else found


def _items(said: Mapping[Path, Mapping[int, Scored]], notes: list[str]) -> Iterator[ItemRecord]:
    silent = 0
    broken: list[str] = []
    for path, mine in said.items():
        for number, row in _rows(path, notes):
            scored = mine.get(number)
            if scored is None:
                continue
            before = len(broken)
            record = _record(scored, row, f"{path.name}, row {number + 1}", broken)
            silent += not record.replies and len(broken) == before
            yield record
    if silent:
        notes.append(
            "Items without a reply in lighteval's details, as where options are compared by "
            f"likelihood: {silent}"
        )
    if broken:
        notes.append(
            f"Items whose replies in lighteval's details cannot be read: {len(broken)}, first "
            f"{broken[0]}"
        )


def _rows(path: Path, notes: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each row, from 0, and its columns of texts."""
    file = pl.scan_parquet(path, glob=False)
    schema = pl.read_parquet_schema(path)
    wanted = file.select(_wanted(schema))
    begin = 0
    while True:
        try:
            part = wanted.slice(begin, _ROWS).collect()
        except (OSError, pl.exceptions.PolarsError) as err:
            # the columns of the scores were read: they stand without these texts
            notes.append(f"{path.name}: texts cannot be read: {str(err).partition(chr(10))[0]}")
            return
        for row in part.iter_rows(named=True):
            yield begin, row
            begin += 1
        if part.height < _ROWS:
            return


def _wanted(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    if "doc" not in schema:
        return [pl.col(name) for name in _BEFORE if name in schema]
    return [
        _part(name, schema[name], names)
        for name, names in (("doc", _DOC), ("model_response", _RESPONSE))
        if name in schema
    ]


def _part(column: str, dtype: pl.DataType, names: Sequence[str]) -> pl.Expr:
    """Return some fields of a column of records, or the column where it was written as text."""
    if not isinstance(dtype, pl.Struct):
        return pl.col(column)
    held = [one.name for one in dtype.fields if one.name in names]
    if not held:
        return pl.col(column)
    return pl.struct(pl.col(column).struct.field(name) for name in held).alias(column)


def _record(scored: Scored, row: Mapping[str, Any], where: str, broken: list[str]) -> ItemRecord:
    if "doc" not in row:
        return _before(scored, row, where, broken)
    doc = as_record(row["doc"], where)
    response: Mapping[str, Any] = {}
    if row.get("model_response") is not None:
        try:
            response = as_record(row["model_response"], where)
        except ReaderError as err:
            broken.append(str(err))
    sent = response.get("input") or doc.get("full_prompt")
    return scored.record(
        question=_text(doc.get("query")),
        prompt=sent if isinstance(sent, str) else conversation(sent),
        **_answers(_list(doc.get("choices")), doc.get("gold_index")),
        replies=tuple(_replies(scored, response.get("text"), response.get("reasonings"))),
    )


def _before(scored: Scored, row: Mapping[str, Any], where: str, broken: list[str]) -> ItemRecord:
    """Return the item of a row as lighteval wrote it before 0.10."""
    cells = {name: as_literal(row.get(name), where) for name in _LISTS}
    answers = _answers(_list(cells["choices"]), cells["gold_index"])
    if not answers["gold"]:
        texts = cells["gold"] if isinstance(cells["gold"], list) else [cells["gold"]]
        found = [str(one) for one in texts if isinstance(one, str | int | float) and one != ""]
        answers |= shown_options(found, range(len(found)))
    said = row.get("predictions")
    if cells["predictions"] is None and isinstance(said, str) and not _NUMBERS.match(said):
        broken.append(f"{where}: predictions are written as text that is no Python literal")
    return scored.record(
        question=_text(row.get("example")),
        prompt=_text(row.get("full_prompt")),
        **answers,
        replies=tuple(_replies(scored, cells["predictions"], None)),
    )


def _answers(choices: list[str], index: Any) -> dict[str, Any]:
    """Return gold and options of a list of choices, of which those at `index` are right."""
    listed = index if isinstance(index, list) else [index]
    right = [int(one) for one in listed if isinstance(one, int | float) and one == int(one)]
    if len(choices) == 1 and not right:
        right = [0]
    return {"gold": "", **shown_options(choices, right)}


def _replies(scored: Scored, texts: Any, reasonings: Any) -> Iterator[ItemReply]:
    listed = [texts] if isinstance(texts, str) else texts
    # of choices that are compared by likelihood, numbers stand here
    found = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    thoughts = reasonings if isinstance(reasonings, list) else []
    for number, text in enumerate(found):
        thought = thoughts[number] if number < len(thoughts) else None
        yield scored.reply(
            text, number, of=len(found), why=f"lighteval gave {scored.metric} {scored.k:g}",
            reasoning=thought if isinstance(thought, str) and thought else None,
        )  # fmt: skip


def _list(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
