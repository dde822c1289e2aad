"""Replies that wait for their commit, a request at a time.

At thousands of replies a second what is done for each of them counts. So the replies of a request
are kept as columns, go into SQLite by one statement, and columns without a value are left out of
it: Python takes longer to bind a None than a text.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

from hatscore.errors import RunError
from hatscore.sampling.client import Completion
from hatscore.sampling.codec import clean, clean_all
from hatscore.sampling.store_format import MOST_REPEATS, REPEAT_BITS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from hatscore.sampling.task import Cell

__all__ = ["STATEMENTS", "Waiting", "now"]

STATEMENTS = 256  # kept ready: one for each number of replies and choice of columns
_MOST_ROWS = 100  # in one statement: SQLite before 3.32 takes 999 values
_MOST_CELLS = 4096

_FIND_ITEM = "SELECT id FROM items WHERE benchmark = ? AND item = ? AND language = ?"
_LAST_REQUEST = "SELECT coalesce(max(id), 0) FROM requests"
_PUT_REQUEST = """
    INSERT INTO requests (id, input_tokens, model, latency_s, seed, created_at)
    VALUES (?, ?, ?, ?, ?, ?)
"""
_FIELDS = Completion._fields[1:]  # behind the text
_TOLD = ("input_tokens", "model", "latency_s")  # as `requests` has them
_COLUMNS = ("request", *(name for name in Completion._fields if name not in _TOLD))
# A request that came later has the higher number.
_RULE = (
    " ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
    + " WHERE replies.error IS NOT NULL"
    " AND (excluded.error IS NULL OR excluded.request >= replies.request)"
)


def now() -> str:
    """Return the time as ISO 8601 in UTC with microseconds, which sorts as text."""
    micros = time.time_ns() // 1000
    return f"{_second(micros // 1_000_000)}.{micros % 1_000_000:06}+00:00"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    """Return a whole second as text; every request needs one and most share it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@lru_cache(maxsize=STATEMENTS)
def _put_replies(rows: int, shared: tuple[str, ...], own: tuple[str, ...]) -> str:
    """Return the statement for `rows` replies.

    Its first value is the request, then come the shared ones, then id and own ones of each reply.
    """
    first = "".join(f", ?{i + 2}" for i in range(len(shared)))
    width = 1 + len(own)
    begin = 2 + len(shared)
    values = (
        f"(?1{first}, {', '.join(f'?{i + j}' for j in range(width))})"
        for i in range(begin, begin + rows * width, width)
    )
    names = ", ".join(("request", *shared, "id", *own))
    return f"INSERT INTO replies ({names}) VALUES {', '.join(values)}{_RULE}"  # noqa: S608 - names


class _Request(NamedTuple):
    """What one request has brought, as columns."""

    cell: Cell
    repeats: Sequence[int]
    told: tuple[object, ...]  # the columns of `requests` behind its id
    shared: tuple[str, ...]  # columns of `replies` that are the same for all of them
    values: tuple[object, ...]
    own: tuple[str, ...]  # those that are not
    columns: Sequence[Sequence[object]]


class Waiting:
    """Replies that wait for their commit.

    Attributes
    ----------
    rows
        How many there are.
    oldest
        ``time.monotonic()`` of the first of them.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.oldest = 0.0
        self._requests: list[_Request] = []
        self._ids: dict[Cell, int] = {}

    def add(
        self,
        cell: Cell,
        repeats: Sequence[int],
        completions: Sequence[Completion],
        seed: int | None,
    ) -> None:
        """Take what a request has brought; see :meth:`hatscore.sampling.store.Store.put_all`."""
        count = len(completions)
        if not count:
            return
        texts, *columns = zip(*completions, strict=True)
        told: list[object] = []
        shared: list[str] = []
        values: list[object] = []
        own = ["text"]
        kept: list[Sequence[object]] = [clean_all(texts)]
        for name, column in zip(_FIELDS, columns, strict=True):
            first = column[0]
            is_shared = count == 1 or column.count(first) == count
            if name in _TOLD:
                if not is_shared:
                    self._add_apart(cell, repeats, completions, seed)
                    return
                told.append(clean(first) if isinstance(first, str) else first)
            elif not is_shared:
                own.append(name)
                kept.append([clean(v) if isinstance(v, str) else v for v in column])
            elif first is not None:
                shared.append(name)
                values.append(clean(first) if isinstance(first, str) else first)
        if min(repeats) < 0 or max(repeats) >= MOST_REPEATS:
            raise RunError(
                f"repeats {min(repeats)} to {max(repeats)} of {'/'.join(cell)}: "
                f"expected numbers from 0 to {MOST_REPEATS - 1}"
            )
        if not self._requests:
            self.oldest = time.monotonic()
        self._requests.append(
            _Request(
                cell,
                repeats,
                (*told, seed, now()),
                tuple(shared),
                tuple(values),
                tuple(own),
                kept,
            )
        )
        self.rows += count

    def _add_apart(
        self,
        cell: Cell,
        repeats: Sequence[int],
        completions: Sequence[Completion],
        seed: int | None,
    ) -> None:
        """Take replies that do not share what a request tells: as of several requests."""
        pairs = zip(repeats, completions, strict=True)
        for _, group in groupby(
            pairs, key=lambda pair: (pair[1].input_tokens, pair[1].model, pair[1].latency_s)
        ):
            numbers, replies = zip(*group, strict=True)
            self.add(cell, numbers, replies, seed)

    def write(self, connection: sqlite3.Connection) -> None:
        """Write everything within the transaction of the caller.

        After it :meth:`clear` is called, or :meth:`undo`.

        Raises
        ------
        RunError
            A reply to an item that is not stored.
        """
        if not self._requests:
            return
        cursor = connection.cursor()
        ((last,),) = cursor.execute(_LAST_REQUEST)
        numbered = list(enumerate(self._requests, last + 1))
        cursor.executemany(_PUT_REQUEST, [(i, *request.told) for i, request in numbered])
        for number, request in numbered:
            base = self._item(cursor, request.cell) << REPEAT_BITS
            ids = [base | repeat for repeat in request.repeats]
            rows = list(zip(ids, *request.columns, strict=True))
            for i in range(0, len(rows), _MOST_ROWS):
                part = rows[i : i + _MOST_ROWS]
                sql = _put_replies(len(part), request.shared, request.own)
                cursor.execute(sql, (number, *request.values, *chain.from_iterable(part)))

    def clear(self) -> None:
        """Forget what is committed."""
        self._requests.clear()
        self.rows = 0

    def undo(self) -> None:
        """Say that what :meth:`write` wrote was taken back; the replies go on waiting."""
        self._ids.clear()

    def _item(self, cursor: sqlite3.Cursor, cell: Cell) -> int:
        """Return the number of the item; those of the last few requests are kept."""
        known = self._ids.get(cell)
        if known is not None:
            return known
        row = cursor.execute(_FIND_ITEM, cell).fetchone()
        if row is None:
            raise RunError(
                f"a reply to {'/'.join(cell)}, which is no item of this run; expected put_items() "
                "before put()"
            )
        if len(self._ids) >= _MOST_CELLS:
            self._ids.clear()
        number = self._ids[cell] = int(row[0])
        return number
