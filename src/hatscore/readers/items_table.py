"""Items of tables: the texts that their columns hold, and how replies of them were read."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from hatscore.grading import Reply
from hatscore.grading.explain import explain
from hatscore.readers import table
from hatscore.readers.items import ItemRecord, ItemReply
from hatscore.readers.items_run import shown_gold
from hatscore.readers.table_grade import Grader, reply_text
from hatscore.readers.table_values import BadCellError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.grading import Gold
    from hatscore.readers.items import Keep

__all__ = ["FIELDS", "collect", "graded_gold", "graded_reply"]

_Row = tuple["Mapping[str, Any]", dict[str, Any]]
FIELDS = ("question", "gold", "options", "reply", "finish", "error")
"""Whose cells are texts for people."""


def collect(
    paths: Sequence[Path],
    options: Mapping[str, Any],
    *,
    keep: Keep,
    notes: list[str],
) -> Iterator[ItemRecord]:
    """Yield the items of tables read as one; see `items_run` for the parameters."""
    rows: list[_Row] = []

    def listen(row: Mapping[str, Any], cell: Callable[[str], Any], _: Mapping[str, Any]) -> None:
        # where items are joined by row their names are not known yet
        if row["item"] is None or keep(row["benchmark"], row["item"]):
            rows.append((row, {name: cell(name) for name in FIELDS}))

    table.read_many(paths, **options, listen=listen)
    names = ", ".join(path.name for path in paths)
    if any(row["item"] is None for row, _ in rows):
        notes.append(f"{names}: items that are joined by their rows are not shown")
        return
    if not any(cells["reply"] is not None for _, cells in rows):
        notes.append(f"{names}: no column of replies is named, so only scores are shown")
    grader = Grader(options["grade"]) if options.get("grade") else None
    groups: dict[tuple[str, ...], list[_Row]] = defaultdict(list)
    for row, cells in rows:
        key = (row["model"], row["benchmark"], row["item"], row["language"])
        groups[key].append((row, cells))
    for (model, benchmark, item, language), group in groups.items():
        first, cells = group[0]
        gold = _gold(grader, cells, first)
        yield ItemRecord(
            model=model,
            benchmark=benchmark,
            item=item,
            language=language,
            source_language=first["source_language"],
            question=_plain(cells["question"]),
            **gold,
            replies=tuple(
                _reply(grader, row, mine, i) for i, (row, mine) in enumerate(group)
                if mine["reply"] is not None or mine["error"] is not None
            ),
        )  # fmt: skip


def _gold(
    grader: Grader | None, cells: Mapping[str, Any], row: Mapping[str, Any]
) -> dict[str, Any]:
    return {"gold": _plain(cells["gold"])} if grader is None else graded_gold(grader, cells, row)


def graded_gold(grader: Grader, cells: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an `ItemRecord` says of the gold that a row is graded by."""
    return shown_gold(_gold_of(grader, cells, row), "strict")


def _reply(
    grader: Grader | None, row: Mapping[str, Any], cells: Mapping[str, Any], number: int
) -> ItemReply:
    if grader is not None:
        return graded_reply(grader, row, cells, number)
    error = _error(row, cells)
    score = row["k"] / row["n"] if row["n"] else None
    status = "error" if error else "" if score not in (0, 1) else _ENDS[score == 1]
    return ItemReply(
        _text(cells, error), status, row["n"] > 0, (row.get("repeat") or str(number),),
        why="as the table says", finish=_plain(cells["finish"]) or None, error=error,
        credit=score if status == "" else None,
    )  # fmt: skip


def graded_reply(
    grader: Grader, row: Mapping[str, Any], cells: Mapping[str, Any], number: int
) -> ItemReply:
    """Return the reply of a row that was graded here, with the rule that read it.

    Parameters
    ----------
    grader
        What graded it.
    row, cells
        The checked row, and its cells by `FIELDS`.
    number
        Which of the item's rows it is.
    """
    error = _error(row, cells)
    finish, text = _plain(cells["finish"]) or None, _text(cells, error)
    found = explain(Reply(text, finish, error), _gold_of(grader, cells, row), names="strict")
    graded = found.graded
    return ItemReply(
        text,
        graded.status if graded else "",
        row["n"] > 0,
        (row.get("repeat") or str(number),),
        answer=graded.answer if graded else None,
        why=found.why,
        place=found.place,
        finish=finish,
        error=error,
    )


_ENDS = {True: "correct", False: "wrong"}


def _gold_of(grader: Grader, cells: Mapping[str, Any], row: Mapping[str, Any]) -> Gold:
    return grader.gold(
        cells["gold"], cells["options"], language=row["language"], source=row["source_language"]
    )


def _error(row: Mapping[str, Any], cells: Mapping[str, Any]) -> str | None:
    return _plain(cells["error"]) or None if row.get("error") else None


def _text(cells: Mapping[str, Any], error: str | None) -> str:
    try:
        return reply_text(cells["reply"]) if error is None else ""
    except BadCellError:
        return str(cells["reply"])


def _plain(cell: Any) -> str:
    if isinstance(cell, list | tuple):
        return ", ".join(map(str, cell))
    return "" if cell is None else str(cell)
