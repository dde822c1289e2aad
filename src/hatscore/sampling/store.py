"""Every raw reply of one run in one SQLite file, with what is needed to grade it again.

Rules of a key ``(benchmark, item, language, repeat)``: a good reply stays for ever; a transport
error is replaced by a good reply, or by an error that is not older.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hatscore.errors import RunError
from hatscore.grading.answer import Reply
from hatscore.sampling.budget import Usage
from hatscore.sampling.codec import (
    GoldReader,
    GoldWriter,
    clean,
    prompt_from_json,
    prompt_to_json,
)
from hatscore.sampling.store_format import (
    APPLICATION_ID,
    DROP_ERRORS,
    DROP_ITEM,
    QUERIES,
    create,
    upgrade,
)
from hatscore.sampling.store_waiting import STATEMENTS, Waiting, now
from hatscore.sampling.task import Cell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from types import TracebackType

    from hatscore.benchmarks.base import Prompt
    from hatscore.grading.answer import Gold
    from hatscore.sampling.client import Completion
    from hatscore.sampling.task import Task

__all__ = ["SCHEMA_VERSION", "Store", "StoredItem", "StoredResponse", "now"]

SCHEMA_VERSION = max(QUERIES)
_BATCH_ROWS = 200
_BATCH_ITEMS = 1000
_BATCH_SECONDS = 0.5
_BUSY_MS = 10_000

_PUT_ITEM = """
    INSERT INTO items
      (benchmark, item, language, source_language, question, prompt, gold, grp, chance)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_PUT_SHARED = "INSERT INTO shared VALUES (?, ?) ON CONFLICT DO NOTHING"
_ITEM_WIDTH = 9


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One item in one language as it was when it was sampled."""

    benchmark: str
    item: str
    language: str
    source_language: str
    question: str
    prompt: Prompt
    gold: Gold
    group: str
    chance: float

    @property
    def cell(self) -> Cell:
        """The key of this item in this language."""
        return Cell(self.benchmark, self.item, self.language)


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """One stored reply, or the error that stands in its place."""

    repeat: int
    text: str
    reasoning: str | None
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    latency_s: float | None
    model: str | None
    seed: int | None
    error: str | None
    created_at: str

    @property
    def reply(self) -> Reply:
        """What grading reads."""
        return Reply(self.text, self.finish_reason, self.error)


class Store:
    """The replies of one run.

    Writes are collected and committed together: after 200 rows, after half a second (when
    :meth:`put` or :meth:`flush_if_due` is called), before every read, and on :meth:`close`.
    Use it from one thread. Who may write is decided by the lock of the run, not here.

    Parameters
    ----------
    path
        The SQLite file; it is created unless `read_only`.
    read_only
        Read an existing file; works in a directory that cannot be written.

    Raises
    ------
    RunError
        The file is missing (`read_only`), damaged, of another version, no file of ours, or
        cannot be written; the message names the path.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self._items: list[tuple[object, ...]] = []
        self._waiting = Waiting()
        self._golds = GoldWriter()
        self._connection = self._connect()

    # -- opening and closing -------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        if self.read_only and not self.path.is_file():
            raise RunError(f"{self.path}: no such file; expected the replies of a run")
        connection: sqlite3.Connection | None = None
        with self._guard("open"):
            try:
                connection = self._open_file()
                self._queries = QUERIES[self._checked(connection)]
            except BaseException:
                if connection is not None:
                    connection.close()
                raise
        return connection

    def _open_file(self) -> sqlite3.Connection:
        uri = self.path.absolute().as_uri()
        if not self.read_only:
            connection = sqlite3.connect(
                uri, uri=True, isolation_level=None, cached_statements=STATEMENTS
            )
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            # Safe against a kill at any moment; a power cut may take the last few replies, and
            # never damages what is there.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")  # pages: a sync each 16 MB
            connection.execute("PRAGMA foreign_keys = ON")
            return connection
        connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, isolation_level=None)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            # Reading a WAL file needs its index beside it, which a read-only directory does not
            # take. Without a WAL nobody is writing, so the file may be read as it stands.
            connection.close()
            wal = self.path.with_name(self.path.name + "-wal")
            if wal.exists() and wal.stat().st_size > 0:
                raise
            connection = sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None)
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        return connection

    def _checked(self, connection: sqlite3.Connection) -> int:
        """Return the format of the file; a new file gets its tables, an old one is brought up."""
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables and not version and not application and not self.read_only:
            create(connection)
            return SCHEMA_VERSION
        if application != APPLICATION_ID:
            raise RunError(f"{self.path}: an SQLite file, but not the replies of a hatscore run")
        if version not in QUERIES:
            raise RunError(
                f"{self.path}: written in format {version}, this hatscore reads formats "
                f"{min(QUERIES)} to {SCHEMA_VERSION}; use a newer hatscore"
            )
        if version < SCHEMA_VERSION and not self.read_only:
            upgrade(connection)
            return SCHEMA_VERSION
        return version

    def close(self) -> None:
        """Commit what is waiting and close the file."""
        try:
            self.flush()
        finally:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _guard(self, action: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            text = str(error)
            if "malformed" in text or "not a database" in text:
                advice = "the file is damaged: restore it from a copy, or sample into a new run"
            elif "readonly" in text or "unable to open" in text:
                advice = "check that the directory exists and can be written"
            elif "full" in text:
                advice = "free space and start again: the run resumes from what is stored"
            elif "locked" in text:
                advice = "another process is writing to it"
            else:
                advice = "check the file and its directory"
            raise RunError(f"{self.path}: cannot {action}: {text}; {advice}") from error

    # -- writing -------------------------------------------------------------------------

    def put_items(self, tasks: Iterable[Task]) -> None:
        """Store the items of `tasks`; those already stored stay as they are."""
        for task in tasks:
            item = task.item
            if len(self._items) >= _BATCH_ITEMS:
                self.flush()
            self._items.append(
                (
                    *task.cell,
                    item.source_language,
                    clean(item.question),
                    prompt_to_json(task.prompt),
                    self._golds.to_json(item.gold),
                    item.group or item.id,
                    item.chance,
                )
            )
        self.flush()

    def put(self, cell: Cell, repeat: int, completion: Completion, *, seed: int | None) -> None:
        """Store one reply that came alone; see :meth:`put_all`."""
        self.put_all(cell, (repeat,), (completion,), seed=seed)

    def put_all(
        self,
        cell: Cell,
        repeats: Sequence[int],
        completions: Sequence[Completion],
        *,
        seed: int | None,
    ) -> None:
        """Store the replies of one request under their keys; see the module for what replaces what.

        Parameters
        ----------
        cell
            Benchmark, item and language; the item was stored by :meth:`put_items`.
        repeats
            Numbers of the replies, from 0 to 1,048,575.
        completions
            As many replies or errors.
        seed
            Seed of the request that brought them.

        Raises
        ------
        RunError
            A number out of its range; on committing, an item that is not stored or a file that
            cannot be written.
        """
        waiting = self._waiting
        waiting.add(cell, repeats, completions, seed)
        if waiting.rows >= _BATCH_ROWS:
            self.flush()
        else:
            self.flush_if_due()

    def flush_if_due(self) -> None:
        """Commit when the oldest waiting row has waited for half a second."""
        if self._waiting.rows and time.monotonic() - self._waiting.oldest >= _BATCH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Commit everything that waits, in one transaction; on an error it goes on waiting."""
        if not self._items and not self._waiting.rows:
            return
        with self._guard("write"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                if self._items:
                    self._connection.executemany(_PUT_SHARED, self._golds.pending.items())
                    self._connection.executemany(_PUT_ITEM, self._items)
                self._waiting.write(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                self._waiting.undo()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        self._golds.taken()
        self._items.clear()
        self._waiting.clear()

    def give_up(self, cells: Iterable[Cell], *, first: int = 0) -> None:
        """Remove the errors of `cells`, and the items that then hold nothing.

        Parameters
        ----------
        cells
            Benchmark, item and language; one that is not stored is passed over.
        first
            Remove errors of repeats from this number on; above 0 the items stay.

        Raises
        ------
        RunError
            The file cannot be written.
        """
        self.flush()
        self._waiting.undo()  # numbers of items may change
        with self._guard("write"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                for cell in cells:
                    self._connection.execute(DROP_ERRORS, (*cell, first))
                    if not first:
                        self._connection.execute(DROP_ITEM, cell)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    # -- reading -------------------------------------------------------------------------

    def good_repeats(self) -> dict[Cell, Collection[int]]:
        """Return which repeats of each cell hold a good reply.

        Equal sets are one object, so that a finished run of many cells takes little memory.
        """
        sets: dict[str, frozenset[int]] = {}
        found: dict[Cell, Collection[int]] = {}
        for benchmark, item, language, repeats in self._query(self._queries.good_repeats):
            held = sets.get(repeats)
            if held is None:
                held = sets[repeats] = frozenset(map(int, repeats.split(",")))
            found[Cell(sys.intern(benchmark), item, sys.intern(language))] = held
        return found

    def failed_cells(self) -> frozenset[Cell]:
        """Return the cells that hold an error in place of a reply."""
        query = "SELECT DISTINCT benchmark, item, language FROM responses WHERE error IS NOT NULL"
        return frozenset(Cell(*key) for key in self._query(query))

    def usage(self) -> Usage:
        """Return what the good replies have used.

        The prompt of a request is counted once. Tokens that the server did not tell are reckoned
        as :class:`Usage` says.
        """
        for row in self._query(self._queries.usage):
            return Usage(*(value or 0 for value in row))
        return Usage()

    def counts(self) -> dict[Cell, int]:
        """Return the number of good replies of every stored item, 0 where there is none."""
        return {Cell(*key): count for *key, count in self._query(self._queries.counts)}

    def models(self) -> tuple[str, ...]:
        """Return every model name that the server gave with a good reply, sorted."""
        return tuple(sorted(name for (name,) in self._query(self._queries.models)))

    def items(self) -> Iterator[StoredItem]:
        """Yield every stored item, ordered by benchmark, item and language."""
        reader = GoldReader(self._shared)
        for row in self._query(self._queries.items):
            yield self._item(row, reader)

    def rows(self, benchmark: str | None = None) -> Iterator[tuple[StoredItem, StoredResponse]]:
        """Yield every reply and error with its item, ordered by key, one at a time.

        The replies of one cell follow each other and share one item object; large mappings of
        the golds are shared by all items.

        Parameters
        ----------
        benchmark
            Only this one; None yields all.
        """
        reader = GoldReader(self._shared)
        item: StoredItem | None = None
        for row in self._query(self._queries.rows, (benchmark,)):
            if item is None or item.cell != row[:3]:
                item = self._item(row[:_ITEM_WIDTH], reader)
            yield item, StoredResponse(*row[_ITEM_WIDTH:])

    def _query(self, query: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        self.flush()
        with self._guard("read"):
            yield from self._connection.execute(query, values)

    def _shared(self, key: str) -> str:
        for (content,) in self._query("SELECT content FROM shared WHERE hash = ?", (key,)):
            return str(content)
        raise RunError(f"{self.path}: damaged: shared content {key[:12]} is missing")

    def _item(self, row: tuple[Any, ...], reader: GoldReader) -> StoredItem:
        try:
            prompt, gold = prompt_from_json(row[5]), reader.from_json(row[6])
            values = (*row[:5], prompt, gold, *row[7:])
            return StoredItem(*values)
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, RunError):
                raise
            cell = "/".join(row[:3])
            raise RunError(f"{self.path}: damaged: item {cell} cannot be read: {error}") from error
