"""Files of format 1 are read as they are and brought up when they are written to."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.errors import RunError
from hatscore.sampling import Cell, Completion, Store, StoredResponse
from hatscore.sampling.budget import Usage

if TYPE_CHECKING:
    from pathlib import Path

# As the first version wrote it.
FORMAT_1 = """
    CREATE TABLE shared (hash TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE items (
      benchmark TEXT NOT NULL, item TEXT NOT NULL, language TEXT NOT NULL,
      source_language TEXT NOT NULL, question TEXT NOT NULL, prompt TEXT NOT NULL,
      gold TEXT NOT NULL, grp TEXT NOT NULL, chance REAL NOT NULL,
      PRIMARY KEY (benchmark, item, language)
    );
    CREATE TABLE responses (
      benchmark TEXT NOT NULL, item TEXT NOT NULL, language TEXT NOT NULL,
      repeat INTEGER NOT NULL,
      text TEXT NOT NULL, reasoning TEXT, finish_reason TEXT,
      input_tokens INTEGER, output_tokens INTEGER, reasoning_tokens INTEGER,
      latency_s REAL, model TEXT, seed INTEGER, error TEXT, created_at TEXT NOT NULL,
      PRIMARY KEY (benchmark, item, language, repeat),
      FOREIGN KEY (benchmark, item, language) REFERENCES items
    );
    PRAGMA application_id = 0x48415453;
    PRAGMA user_version = 1;
"""
PROMPT = {"mode": "chat", "text": "Què?", "stop": [], "max_tokens": 8}
GOLD: dict[str, Any] = {
    "kind": "name", "value": "Rome", "language": "en", "source_language": "en", "options": [],
    "labels": [], "also": [], "names": {"en": ["Rome", "Roma"]}, "others": "shared:feed",
    "context": "",
}  # fmt: skip
# The time is left out: replies of one request get that of the first.
NAMES = [field.name for field in fields(StoredResponse) if field.name != "created_at"]
LATER, EARLY = "2026-05-09T07:35:26.000002+00:00", "2026-05-09T07:35:25.000001+00:00"


def old_file(path: Path) -> Path:
    """Two items: one with a request of two replies, a reply and an error, and one with a reply."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(FORMAT_1)
        db.execute("INSERT INTO shared VALUES ('feed', ?)", (json.dumps({"en": ["Paris"]}),))
        for item in ("2", "1"):  # not in the order of their keys
            row = (
                "b",
                item,
                "en",
                "en",
                f"Q{item}",
                json.dumps(PROMPT),
                json.dumps(GOLD),
                "g",
                0.5,
            )
            db.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        for reply in (
            ("2", 0, "x", None, None, None, None, None, None, None, None, None, EARLY),
            ("1", 3, "gone", None, None, None, None, None, None, None, 5, "HTTP 500", EARLY),
            ("1", 0, "a", None, "stop", 12, 3, None, 0.5, "m", 5, None, EARLY),
            ("1", 2, "b\0", "hm", "length", 12, 4, 1, 0.5, "m", 5, None, LATER),
            ("1", 1, "c", None, "stop", 12, None, None, 0.25, "m", 6, None, LATER),
        ):
            db.execute(
                "INSERT INTO responses VALUES ('b', ?, 'en', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                reply,
            )
        db.commit()
    return path


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def everything(store: Store) -> list[Any]:
    rows = [(item.cell, item.gold, item.prompt, item.group, item.chance) for item in store.items()]
    replies = [(item.cell, *(getattr(r, name) for name in NAMES)) for item, r in store.rows()]
    return [rows, replies, store.counts(), store.good_repeats(), store.models(), store.usage()]


FIRST, SECOND = Cell("b", "1", "en"), Cell("b", "2", "en")


def test_an_old_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = old_file(tmp_path / "r.sqlite")
    with Store(path, read_only=True) as store:
        _, replies, counts, good, models, usage = everything(store)
        assert [(row[0].item, *row[1:3]) for row in replies] == [
            ("1", 0, "a"), ("1", 1, "c"), ("1", 2, "b\0"), ("1", 3, "gone"), ("2", 0, "x"),
        ]  # fmt: skip
        assert counts == {FIRST: 3, SECOND: 1}
        assert good == {FIRST: {0, 1, 2}, SECOND: {0}}
        assert models == ("m",)
        # 12 twice, once for two replies; the prompt of 57 bytes for one that told nothing.
        prompt = (len(json.dumps(PROMPT)) + 1) // 2
        assert usage == Usage(4, 12 + 12 + prompt, 3 + 4 + 2 * (1 + 1), 2)
    assert version(path) == 1


def test_writing_brings_an_old_file_up_and_loses_nothing(tmp_path: Path) -> None:
    path = old_file(tmp_path / "r.sqlite")
    with Store(path, read_only=True) as store:
        before = everything(store)
    with Store(path) as store:
        assert everything(store) == before
    assert version(path) == 2
    with Store(path, read_only=True) as store:
        assert everything(store) == before
        assert {r.created_at for _, r in store.rows()} == {EARLY, LATER}
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        tables = {name for (name,) in db.execute("SELECT tbl_name FROM sqlite_master")}
    assert tables == {"shared", "items", "requests", "replies", "responses"}


def test_a_run_that_was_begun_in_the_old_format_goes_on(tmp_path: Path) -> None:
    path = old_file(tmp_path / "r.sqlite")
    with Store(path) as store:
        store.put(FIRST, 0, Completion("too late"), seed=None)
        store.put(FIRST, 3, Completion("", error="HTTP 502"), seed=None)
        store.put_all(SECOND, [0, 1], [Completion("too late"), Completion("y")], seed=None)
    with Store(path) as store:
        held = {(item.item, r.repeat): (r.text, r.error) for item, r in store.rows()}
    assert held == {
        ("1", 0): ("a", None), ("1", 1): ("c", None), ("1", 2): ("b\0", None),
        ("1", 3): ("", "HTTP 502"), ("2", 0): ("x", None), ("2", 1): ("y", None),
    }  # fmt: skip


def test_what_cannot_be_brought_up_stays_as_it_was(tmp_path: Path) -> None:
    path = old_file(tmp_path / "r.sqlite")
    with Store(path, read_only=True) as store:
        before = everything(store)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE requests (mine)")
    with pytest.raises(RunError, match="requests already exists") as caught:
        Store(path)
    assert str(path) in str(caught.value)
    assert version(path) == 1
    with Store(path, read_only=True) as store:
        assert everything(store) == before


def test_the_view_shows_every_reply_with_its_key(tmp_path: Path) -> None:
    path = old_file(tmp_path / "r.sqlite")
    query = "SELECT * FROM responses ORDER BY benchmark, item, language, repeat"
    with closing(sqlite3.connect(path)) as db:
        cursor = db.execute(query)
        before, names = cursor.fetchall(), cursor.description
    Store(path).close()
    with closing(sqlite3.connect(path)) as db:
        cursor = db.execute(query)
        after = cursor.fetchall()
        assert cursor.description == names
        assert [row[:-1] for row in after] == [row[:-1] for row in before]
        (key,) = db.execute("SELECT id FROM replies WHERE text = 'c'").fetchone()
        with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
            db.execute("INSERT INTO replies (id, request, text) VALUES (?, 1, 'twice')", (key,))
