"""How replies lie in an SQLite file: tables, the questions asked of them, the way from format 1.

Format 2 keeps what the replies of one request share once, in ``requests``, and a reply under one
whole number made of its item and its repeat: ``id = item << 20 | repeat``. That number is the
primary key, so a key holds one reply at most, and neighbours lie beside each other. The view
``responses`` shows every reply with its whole key, as the table of that name did in format 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatscore.sampling.budget import BYTES_PER_TOKEN

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "APPLICATION_ID",
    "DROP_ERRORS",
    "DROP_ITEM",
    "MOST_REPEATS",
    "QUERIES",
    "REPEAT_BITS",
    "Queries",
    "create",
    "upgrade",
]

APPLICATION_ID = 0x48415453  # "HATS": tells our file from any other SQLite file
REPEAT_BITS = 20
MOST_REPEATS = 1 << REPEAT_BITS
_LAST = MOST_REPEATS - 1

_TABLES = (
    """
    CREATE TABLE items (
      id INTEGER PRIMARY KEY,
      benchmark TEXT NOT NULL, item TEXT NOT NULL, language TEXT NOT NULL,
      source_language TEXT NOT NULL, question TEXT NOT NULL, prompt TEXT NOT NULL,
      gold TEXT NOT NULL, grp TEXT NOT NULL, chance REAL NOT NULL,
      UNIQUE (benchmark, item, language)
    )
    """,
    """
    CREATE TABLE requests (
      id INTEGER PRIMARY KEY,
      input_tokens INTEGER, latency_s REAL, model TEXT, seed INTEGER, created_at TEXT NOT NULL
    )
    """,
    # Short columns first: what counts replies need not walk through their texts.
    """
    CREATE TABLE replies (
      id INTEGER PRIMARY KEY, request INTEGER NOT NULL REFERENCES requests,
      error TEXT, finish_reason TEXT, output_tokens INTEGER, reasoning_tokens INTEGER,
      text TEXT NOT NULL, reasoning TEXT
    )
    """,
    f"""
    CREATE VIEW responses AS
      SELECT i.benchmark, i.item, i.language, r.id & {_LAST} AS repeat,
        r.text, r.reasoning, r.finish_reason,
        q.input_tokens, r.output_tokens, r.reasoning_tokens,
        q.latency_s, q.model, q.seed, r.error, q.created_at
      FROM replies r JOIN requests q ON q.id = r.request
      JOIN items i ON i.id = r.id >> {REPEAT_BITS}
    """,  # noqa: S608 - constants
)
_STAMPS = (f"PRAGMA application_id = {APPLICATION_ID}", "PRAGMA user_version = 2")
_SHARED = "CREATE TABLE shared (hash TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID"

# Replies of one request had nothing in common in format 1 but what the request had told.
_UPGRADE = (
    "ALTER TABLE items RENAME TO items_1",
    "ALTER TABLE responses RENAME TO responses_1",
    *_TABLES,
    """
    INSERT INTO items
      SELECT rowid, benchmark, item, language, source_language, question, prompt, gold, grp, chance
      FROM items_1
    """,
    f"""
    INSERT INTO replies
      SELECT i.rowid << {REPEAT_BITS} | r.repeat,
        min(r.rowid) OVER (
          PARTITION BY i.rowid, coalesce(r.latency_s, -1 - r.repeat),
            r.model, r.seed, r.input_tokens),
        r.error, r.finish_reason, r.output_tokens, r.reasoning_tokens, r.text, r.reasoning
      FROM responses_1 r JOIN items_1 i USING (benchmark, item, language)
    """,  # noqa: S608 - constants
    """
    INSERT INTO requests
      SELECT rowid, input_tokens, latency_s, model, seed, created_at FROM responses_1
      WHERE rowid IN (SELECT request FROM replies)
    """,
    "DROP TABLE responses_1",
    "DROP TABLE items_1",
    *_STAMPS,
)


@dataclass(frozen=True, slots=True)
class Queries:
    """What is asked of a file of one format.

    Parameters
    ----------
    good_repeats
        Key of an item and its repeats with a good reply, joined by commas.
    usage
        Good replies, input tokens, output tokens, and replies whose tokens are estimated.
    counts
        Key of every item and the number of its good replies.
    models
        Names with a good reply.
    items
        The columns of an item, ordered by key.
    rows
        The columns of an item and those of a reply, ordered by key; ``?1`` is a benchmark, or
        NULL for all.
    """

    good_repeats: str
    usage: str
    counts: str
    models: str
    items: str
    rows: str


_ITEM = (
    "i.benchmark, i.item, i.language, i.source_language, i.question, i.prompt, i.gold, "
    "i.grp, i.chance"
)
_ITEMS = f"SELECT {_ITEM} FROM items i ORDER BY 1, 2, 3"  # noqa: S608 - constants
_OF_ITEM = f"r.id BETWEEN i.id << {REPEAT_BITS} AND (i.id << {REPEAT_BITS}) + {_LAST}"
_PROMPT_SIZE = f"(length(CAST(i.prompt AS BLOB)) + 1) / {BYTES_PER_TOKEN}"
_TEXT_SIZE = (
    f"(length(CAST(r.text || coalesce(r.reasoning, '') AS BLOB)) + 1) / {BYTES_PER_TOKEN} + 1"
)

QUERIES = {
    1: Queries(
        good_repeats="""
            SELECT benchmark, item, language, group_concat(repeat) FROM responses
            WHERE error IS NULL GROUP BY benchmark, item, language
        """,
        usage=f"""
            SELECT sum(replies), sum(input), sum(output), sum(unknown) FROM (
              SELECT count(*) AS replies,
                coalesce(max(r.input_tokens), max({_PROMPT_SIZE})) AS input,
                sum(coalesce(r.output_tokens, {_TEXT_SIZE})) AS output,
                sum(r.output_tokens IS NULL) AS unknown
              FROM responses r JOIN items i USING (benchmark, item, language)
              WHERE r.error IS NULL
              GROUP BY r.benchmark, r.item, r.language, coalesce(r.latency_s, -1 - r.repeat)
            )
        """,  # noqa: S608 - constants
        counts="""
            SELECT i.benchmark, i.item, i.language, count(r.repeat) FROM items i
            LEFT JOIN responses r ON r.benchmark = i.benchmark AND r.item = i.item
              AND r.language = i.language AND r.error IS NULL
            GROUP BY i.benchmark, i.item, i.language
        """,
        models="SELECT DISTINCT model FROM responses WHERE error IS NULL AND model IS NOT NULL",
        items=_ITEMS,
        rows=f"""
            SELECT {_ITEM}, r.repeat, r.text, r.reasoning, r.finish_reason, r.input_tokens,
              r.output_tokens, r.reasoning_tokens, r.latency_s, r.model, r.seed, r.error,
              r.created_at
            FROM responses r JOIN items i USING (benchmark, item, language)
            WHERE ?1 IS NULL OR r.benchmark = ?1
            ORDER BY r.benchmark, r.item, r.language, r.repeat
        """,  # noqa: S608 - constants
    ),
    # CROSS JOIN: items outside, so that the replies come in order and none waits to be sorted.
    2: Queries(
        good_repeats=f"""
            SELECT i.benchmark, i.item, i.language, group_concat(r.id & {_LAST})
            FROM items i CROSS JOIN replies r ON {_OF_ITEM}
            WHERE r.error IS NULL GROUP BY i.id
        """,  # noqa: S608 - constants
        usage=f"""
            SELECT count(*),
              (SELECT sum(coalesce(q.input_tokens,
                  (SELECT {_PROMPT_SIZE} FROM items i WHERE i.id = d.item)))
                FROM (SELECT DISTINCT request, id >> {REPEAT_BITS} AS item FROM replies
                  WHERE error IS NULL) d JOIN requests q ON q.id = d.request),
              sum(coalesce(r.output_tokens, {_TEXT_SIZE})),
              sum(r.output_tokens IS NULL)
            FROM replies r WHERE r.error IS NULL
        """,  # noqa: S608 - constants
        counts=f"""
            SELECT i.benchmark, i.item, i.language,
              (SELECT count(*) FROM replies r WHERE {_OF_ITEM} AND r.error IS NULL)
            FROM items i ORDER BY 1, 2, 3
        """,  # noqa: S608 - constants
        models="""
            SELECT DISTINCT q.model FROM replies r JOIN requests q ON q.id = r.request
            WHERE r.error IS NULL AND q.model IS NOT NULL
        """,
        items=_ITEMS,
        rows=f"""
            SELECT {_ITEM}, r.id & {_LAST}, r.text, r.reasoning, r.finish_reason, q.input_tokens,
              r.output_tokens, r.reasoning_tokens, q.latency_s, q.model, q.seed, r.error,
              q.created_at
            FROM items i CROSS JOIN replies r ON {_OF_ITEM} JOIN requests q ON q.id = r.request
            WHERE ?1 IS NULL OR i.benchmark = ?1
            ORDER BY i.benchmark, i.item, i.language, r.id
        """,  # noqa: S608 - constants
    ),
}

_THIS = "i.benchmark = ? AND i.item = ? AND i.language = ?"
# By benchmark, item, language and the number of the first repeat.
DROP_ERRORS = f"""
    DELETE FROM replies WHERE error IS NOT NULL AND id IN (
      SELECT r.id FROM items i CROSS JOIN replies r ON {_OF_ITEM}
      WHERE {_THIS} AND r.id & {_LAST} >= ?)
"""  # noqa: S608 - constants
# By benchmark, item and language; one that has a reply or an error stays.
DROP_ITEM = f"""
    DELETE FROM items AS i WHERE {_THIS}
    AND NOT EXISTS (SELECT 1 FROM replies r WHERE {_OF_ITEM})
"""  # noqa: S608 - constants


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of the newest format in an empty file."""
    _all_or_nothing(connection, (_SHARED, *_TABLES, *_STAMPS))


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring a file of format 1 to format 2, or leave it as it is.

    Nothing is lost but the microseconds between replies that one request has brought: they get
    the time of the first.
    """
    connection.execute("PRAGMA foreign_keys = OFF")
    _all_or_nothing(connection, _UPGRADE)
    connection.execute("PRAGMA foreign_keys = ON")


def _all_or_nothing(connection: sqlite3.Connection, statements: tuple[str, ...]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in statements:
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
