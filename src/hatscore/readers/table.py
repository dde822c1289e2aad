"""Tables: CSV, JSON, JSON lines and Parquet, one reply or one item in a row, long or wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hatscore.errors import AlignmentError, InputError, UnknownNameError
from hatscore.readers.guard import align
from hatscore.readers.hatscore_run import COUNTABLE
from hatscore.readers.table_columns import FIELDS, ROW_NUMBER, parse_columns, parse_maps
from hatscore.readers.table_files import is_table, load, table_files
from hatscore.readers.table_rows import Plan, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatscore.outcomes import Outcomes
    from hatscore.readers.table_columns import ValueMap
    from hatscore.readers.table_files import Records
    from hatscore.readers.table_rows import Completion, Listener

__all__ = ["FORMAT", "OPTIONS", "read", "read_many", "sniff"]

FORMAT = "table"
OPTIONS = (
    "source",
    "columns",
    "map",
    "grade",
    "model",
    "benchmark",
    "allow_missing",
    "allow_golds",
    "pool",
    "count",
)
_BY_NAME = {field: (field,) for field in FIELDS} | {"source": ("source", "source_language")}
# Taken by their names even where `columns` names others: no table means something else by them.
_ALWAYS = ("model", "benchmark", "item", "language", "source")
_SHOWN = 12


def sniff(path: Path) -> bool:
    """Say whether `path` is a table, or a directory of tables."""
    return any(is_table(file) for file in table_files(path))


def read(path: Path, **options: Any) -> Outcomes:
    """Read one file, or all tables below a directory as one; see `read_many`."""
    return read_many([path], **options)


def read_many(
    paths: Sequence[Path],
    *,
    defaults: Mapping[str, Sequence[str]] | None = None,
    source: str | None = None,
    columns: str | Mapping[str, str] | Sequence[str] | None = None,
    map: Mapping[str, Any] | Sequence[str] | None = None,  # noqa: A002 - the public name
    grade: str | None = None,
    model: str | None = None,
    benchmark: str | None = None,
    allow_missing: bool = False,
    allow_golds: bool = False,
    pool: bool = False,
    count: str = ",".join(COUNTABLE),
    listen: Listener | None = None,
    complete: Completion | None = None,
) -> Outcomes:
    r"""Read files of tables as one table.

    Parameters
    ----------
    paths
        Files, and directories whose tables are all read.
    defaults
        For readers built on this one: the columns that hold a field where `columns` does not
        say it, if the table has them. By default those that have the fields' names: all of
        them, or those of model, benchmark, item and languages if `columns` is given.
    source
        Language of the items' source rows, where no column says it.
    columns
        ``"item=q_id,language=lang,score=correct"`` or a mapping of fields to columns. A column
        is a name, a way into nested values (``message.0.content``), or holds a ``*`` in place
        of the language where every language has a column of its own. Without it columns are
        found by the names of the fields. ``item=@row`` joins by row order within (model,
        benchmark, language, repeat) and needs ``gold``.
    map
        ``["language=path:([a-z]+)/[^/]+$"]``: values from the file's path, from part of a cell
        (``re:REGEX``), or by a list (``English:en,German:de``); a value mapped to nothing drops
        its rows.
    grade
        ``number``, ``choice`` or ``name``: grade the column ``reply`` by the column ``gold``
        with the project's own extractors.
    model, benchmark
        Names, where no column says them.
    allow_missing, allow_golds, pool
        What the alignment guard shall accept, see `hatscore.readers.guard.align`;
        `allow_missing` also leaves out rows without a result.
    count
        As for run directories; it matters where replies are graded.
    listen
        Is told of every row that is kept; see `table_rows.Rows`.
    complete
        For readers built on this one: what a record says beyond its fields; see there.

    Raises
    ------
    ReaderError
        A file that is no table or broken, a cell that is not what its column says; names file,
        line and column.
    InputError, AlignmentError
        Columns or options that do not fit the table, and all that the guard refuses.
    """
    files = dict.fromkeys(file for path in paths for file in table_files(path))
    if not files:
        raise InputError(f"{paths[0]}: no files of tables in this directory")
    records = [load(file) for file in files]
    if not any(part.rows for part in records):
        raise InputError(f"{records[0].path}: the table has a header but no rows")
    maps = parse_maps(map)
    given = parse_columns(columns)
    if defaults is None:
        defaults = {field: _BY_NAME[field] for field in (_ALWAYS if given else FIELDS)}
    fields = _fields(given, records, maps=maps, defaults=defaults)
    plan = Plan(
        fields=fields,
        maps=maps,
        source=_constant("source", source, fields, maps),
        model=_constant("model", model, fields, maps),
        benchmark=_constant("benchmark", benchmark, fields, maps),
        grade=grade,
        count=count,
    )
    rows = Rows(
        plan, roots=[path for path in paths if path.is_dir()], listen=listen, complete=complete
    )
    for part in records:
        rows.add(part)
    found = rows.finish()
    if rows.missing and not allow_missing:
        raise AlignmentError(
            f"{rows.missing[0]}; {len(rows.missing)} rows have no result. A missing result is "
            "not a wrong one: complete the table, or leave these rows out with allow_missing "
            "(--allow-missing)"
        )
    return align(
        found,
        by_row=fields.get("item") == ROW_NUMBER,
        allow_missing=allow_missing,
        allow_golds=allow_golds,
        pool=pool,
        notes=[note for part in records for note in part.notes] + rows.notes(),
    )


def _fields(
    given: dict[str, str],
    records: list[Records],
    *,
    maps: Mapping[str, ValueMap],
    defaults: Mapping[str, Sequence[str]],
) -> dict[str, str]:
    """Complete the columns by the defaults that the table has, and check all."""
    heads = list(dict.fromkeys(key for part in records for row in part.rows for key in row))
    fields = dict(given)
    for field, names in defaults.items():
        own = next((name for name in names if name.partition(".")[0] in heads), None)
        on_path = field in maps and maps[field].on_path
        if own is not None and field not in fields and not on_path:
            fields[field] = own
    for column in fields.values():
        first = column.partition(".")[0]
        parts = column.split("+")
        known = column in heads or first in heads or all(part in heads for part in parts)
        if not known and column != ROW_NUMBER and "*" not in column:
            raise UnknownNameError("column", column, heads[: _SHOWN * 4])
    first_file = records[0].path
    if "item" not in fields:
        raise InputError(
            f"{first_file}: which column names the items? columns item=COLUMN, or item=@row with "
            "gold=COLUMN; "
            f"there are {', '.join(heads[:_SHOWN])}"
        )
    starred = any("*" in column for column in fields.values())
    if "language" in fields and starred:
        raise InputError("columns: with a * for the language there is no column of languages")
    mapped = "language" in maps and maps["language"].on_path
    if "language" not in fields and not starred and not mapped:
        raise InputError(
            f"{first_file}: which column names the language? columns language=COLUMN, a * in the "
            "columns of a wide table (score=*_score), or map language=path:REGEX; "
            f"there are {', '.join(heads[:_SHOWN])}"
        )
    return fields


def _constant(
    name: str, value: str | None, fields: Mapping[str, str], maps: Mapping[str, ValueMap]
) -> str | None:
    """Return the value given for all rows, unless the table says it."""
    if name in fields or (name in maps and maps[name].on_path):
        if value is not None:
            where = f"column {fields[name]!r}" if name in fields else "map"
            raise InputError(f"{name} is given as {value!r}, but the {where} says it too")
        return None
    if value is None and name == "source":
        raise InputError(
            "which language is the source? source=TAG such as en, or a column: columns "
            "source=COLUMN"
        )
    return value
