"""The verdicts of one run, in an SQLite file beside the replies."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from hatscore.errors import RunError
from hatscore.grading import parse_verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

__all__ = ["VERDICTS_NAME", "ReplyKey", "Verdict", "VerdictStore"]

VERDICTS_NAME = "verdicts.sqlite"
_VERSION = 1
_APPLICATION_ID = 0x48415456  # "HATV"
_BATCH_SECONDS = 0.5
_BUSY_MS = 10_000

_FAILURES = (
    "CREATE TABLE IF NOT EXISTS failures "
    "(judge TEXT NOT NULL, subject TEXT NOT NULL, PRIMARY KEY (judge, subject)) WITHOUT ROWID"
)
_SCHEMA = (
    """
    CREATE TABLE verdicts (
      benchmark TEXT NOT NULL, item TEXT NOT NULL, language TEXT NOT NULL,
      repeat INTEGER NOT NULL, judge TEXT NOT NULL,
      subject TEXT NOT NULL, attempts INTEGER NOT NULL, text TEXT NOT NULL, first_text TEXT,
      reasoning TEXT, finish_reason TEXT, model TEXT, prompt_version TEXT NOT NULL,
      created_at TEXT NOT NULL,
      PRIMARY KEY (benchmark, item, language, repeat, judge)
    )
    """,
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_VERSION}",
)
_COLUMNS = (
    "subject, attempts, text, first_text, reasoning, finish_reason, model, prompt_version, "
    "created_at"
)
_PUT = f"""
    INSERT OR REPLACE INTO verdicts (benchmark, item, language, repeat, judge, {_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608 - constants


class ReplyKey(NamedTuple):
    """Key of one reply of a run."""

    benchmark: str
    item: str
    language: str
    repeat: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge said about one reply, raw.

    Parameters
    ----------
    subject
        Hash of what was judged (:func:`hatscore.judging.prompt.subject_key`).
    attempts
        How often the judge was asked, 1 or 2.
    text
        The judge's last reply, as it came.
    first_text
        Its first reply when `text` is that of the second try.
    reasoning, finish_reason, model
        As the judge's server gave them.
    prompt_version
        Version of the judge's prompt.
    created_at
        ISO 8601, UTC.
    """

    subject: str
    attempts: int
    text: str
    first_text: str | None
    reasoning: str | None
    finish_reason: str | None
    model: str | None
    prompt_version: str
    created_at: str

    @property
    def value(self) -> bool | None:
        """Whether the judge said yes; None when it said neither yes nor no."""
        return parse_verdict(self.text)


class VerdictStore:
    """The verdicts of one run, by reply and judge.

    Writes wait up to half a second and are then committed together. Use it from one thread.

    Parameters
    ----------
    path
        The SQLite file; it is created unless `read_only`.
    read_only
        Only read; the file must exist.

    Raises
    ------
    RunError
        The file is missing (`read_only`), damaged, no file of ours or cannot be written.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        if read_only and not self.path.is_file():
            raise RunError(f"{self.path}: no such file; expected the verdicts of a run")
        self._oldest: float | None = None
        with self._guard("open"):
            self._connection = sqlite3.connect(
                self.path.absolute().as_uri() + ("?mode=ro" if read_only else ""),
                uri=True,
                isolation_level=None,
            )
            try:
                self._connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
                self._check_schema(read_only=read_only)
            except BaseException:
                self._connection.close()
                raise

    def _check_schema(self, *, read_only: bool) -> None:
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not (application or version or tables or read_only):
            self._connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                self._connection.execute(statement)
            self._connection.execute("COMMIT")
        elif (application, version) != (_APPLICATION_ID, _VERSION):
            raise RunError(
                f"{self.path}: not the verdicts of a run in format {_VERSION}; "
                "move it away and judge again"
            )
        if not read_only:
            self._connection.execute(_FAILURES)  # files of earlier versions have none

    def put(self, judge: str, keys: Iterable[ReplyKey], verdict: Verdict) -> None:
        """Store `verdict` of `judge` for each of `keys`, in place of what was there."""
        values = (
            verdict.subject,
            verdict.attempts,
            verdict.text,
            verdict.first_text,
            verdict.reasoning,
            verdict.finish_reason,
            verdict.model,
            verdict.prompt_version,
            verdict.created_at,
        )
        self._begin()
        heard = (judge, verdict.subject)
        with self._guard("write"):
            self._connection.executemany(_PUT, ((*key, judge, *values) for key in keys))
            self._connection.execute("DELETE FROM failures WHERE judge = ? AND subject = ?", heard)
        self.flush_if_due()

    def put_failure(self, judge: str, subject: str) -> None:
        """Note that `judge` gave no answer on a subject."""
        self._begin()
        put = "INSERT OR REPLACE INTO failures VALUES (?, ?)"
        with self._guard("write"):
            self._connection.execute(put, (judge, subject))
        self.flush_if_due()

    def failures(self, judge: str) -> frozenset[str]:
        """Return the subjects on which `judge` gave no answer when it was asked last."""
        query = "SELECT subject FROM failures WHERE judge = ?"
        with self._guard("read"):
            return frozenset(name for (name,) in self._connection.execute(query, (judge,)))

    def forget(self, judge: str) -> None:
        """Remove every verdict of `judge`."""
        self.flush()
        with self._guard("write"):
            for table in ("verdicts", "failures"):
                self._connection.execute(f"DELETE FROM {table} WHERE judge = ?", (judge,))  # noqa: S608

    def _begin(self) -> None:
        if self._oldest is None:
            with self._guard("write"):
                self._connection.execute("BEGIN IMMEDIATE")
            self._oldest = time.monotonic()

    def flush_if_due(self) -> None:
        """Commit when the oldest waiting verdict has waited for half a second."""
        if self._oldest is not None and time.monotonic() - self._oldest >= _BATCH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Commit what waits."""
        if self._oldest is not None:
            with self._guard("write"):
                self._connection.execute("COMMIT")
            self._oldest = None

    def judges(self) -> tuple[str, ...]:
        """Return the judges that have given a verdict, sorted."""
        with self._guard("read"):
            rows = self._connection.execute("SELECT DISTINCT judge FROM verdicts").fetchall()
        return tuple(sorted(name for (name,) in rows))

    def models(self, judge: str) -> tuple[str, ...]:
        """Return the model names that the server of `judge` gave, sorted."""
        query = "SELECT DISTINCT model FROM verdicts WHERE judge = ? AND model IS NOT NULL"
        with self._guard("read"):
            rows = self._connection.execute(query, (judge,)).fetchall()
        return tuple(sorted(name for (name,) in rows))

    def verdicts(self, judge: str) -> Iterator[tuple[ReplyKey, Verdict]]:
        """Yield the verdicts of `judge`, ordered by reply."""
        query = (
            f"SELECT benchmark, item, language, repeat, {_COLUMNS} FROM verdicts "  # noqa: S608
            "WHERE judge = ? ORDER BY 1, 2, 3, 4"
        )
        with self._guard("read"):
            for row in self._connection.execute(query, (judge,)):
                yield ReplyKey(*row[:4]), Verdict(*row[4:])

    def close(self) -> None:
        """Commit and close."""
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
            raise RunError(
                f"{self.path}: cannot {action}: {error}; check the file, its directory and the "
                "space on the disk: what was committed is kept"
            ) from error
