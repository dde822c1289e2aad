"""Files of tables into records: CSV of any separator, JSON, JSON lines, Parquet.

What a file is shows in its content. A file that cannot be read to its last byte is refused with
the line, since half a table is another table.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from hatscore.errors import ReaderError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Records", "is_table", "load", "table_files"]

_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json", ".parquet")
_SEPARATORS = (",", ";", "\t", "|")
_HEAD = 1 << 16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Records:
    """The rows of one file.

    Attributes
    ----------
    path
        The file.
    lines
        Line of every record, from 1; of Parquet and JSON arrays the number of the record.
    rows
        The records: column or key to value, nested as in the file.
    unit
        What `lines` counts: ``line``, ``record``.
    notes
        What is suspicious about the file, in words.
    """

    path: Path
    lines: list[int]
    rows: list[dict[str, Any]]
    unit: str = "line"
    notes: list[str] = field(default_factory=list)


def table_files(path: Path) -> list[Path]:
    """Return the files of tables at `path`: itself, or all below it, by their suffix, in order."""
    if path.is_file():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in _SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and file.is_file()
    )


def is_table(path: Path) -> bool:
    """Say whether a file begins like a table: Parquet, JSON objects, or a separated header."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"PAR1"):
        return True
    encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    text = head.decode(encoding, errors="replace").lstrip("\ufeff")
    if "\x00" in text or not text.strip():
        return False
    if text.lstrip()[0] in "{[":
        return True
    first, _, rest = text.partition("\n")
    return any(mark in first for mark in _SEPARATORS) and bool(rest.strip())


def load(path: Path) -> Records:
    """Read a file to its end.

    Raises
    ------
    ReaderError
        Not a table, or a broken one; names the file and the line.
    """
    try:
        raw = path.read_bytes()
    except OSError as err:
        raise ReaderError(f"{path}: cannot be read: {err.strerror or err}") from err
    if raw.startswith(b"PAR1"):
        return _parquet(path)
    text = _decoded(path, raw)
    start = text.lstrip()[:1]
    if not start:
        raise ReaderError(f"{path}: the file is empty")
    if start == "[":
        return _array(path, text)
    return _json_lines(path, text) if start == "{" else _separated(path, text)


def _decoded(path: Path, raw: bytes) -> str:
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as err:
        line = raw.count(b"\n", 0, err.start) + 1
        raise ReaderError(
            f"{path}, line {line}: byte 0x{raw[err.start]:02x} is not {encoding.upper()}; save "
            "the file as UTF-8 (in Excel: CSV UTF-8), or it is cut"
        ) from err
    text = text.removeprefix("\ufeff")
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise ReaderError(f"{path}, line {line}: holds NUL characters; save the file as UTF-8")
    return text


def _parquet(path: Path) -> Records:
    try:
        rows = pl.read_parquet(path).to_dicts()
    except (OSError, MemoryError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as err:
        reason = str(err).splitlines()[0] if str(err) else type(err).__name__
        raise ReaderError(f"{path}: no readable Parquet file: {reason}") from err
    return Records(path, list(range(1, len(rows) + 1)), rows, "record")


def _array(path: Path, text: str) -> Records:
    found = _parsed(path, text, first=1)
    rows = []
    for number, record in enumerate(found, 1):
        if not isinstance(record, dict):
            raise ReaderError(f"{path}, record {number}: expected an object, got {_kind(record)}")
        rows.append(record)
    return Records(path, list(range(1, len(rows) + 1)), rows, "record")


def _json_lines(path: Path, text: str) -> Records:
    lines: list[int] = []
    rows: list[dict[str, Any]] = []
    # only \n ends a line: U+2028 and its like may stand inside a text
    parts = text.split("\n")
    for number, line in enumerate(parts, 1):
        if not line.strip():
            continue
        record = _parsed(path, line, first=number)
        if not isinstance(record, dict):
            raise ReaderError(f"{path}, line {number}: expected an object, got {_kind(record)}")
        lines.append(number)
        rows.append(record)
    return Records(path, lines, rows)


def _parsed(path: Path, text: str, *, first: int) -> Any:
    try:
        found = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as err:
        line = first + err.lineno - 1
        raise ReaderError(
            f"{path}, line {line}: no JSON: {err.msg} at character {err.colno}; the file is cut "
            "or not written as JSON lines"
        ) from err
    except (_RepeatedKeyError, RecursionError, ValueError) as err:
        what = "nested too deeply" if isinstance(err, RecursionError) else str(err)
        raise ReaderError(f"{path}, line {first}: {what}") from err
    return found


class _RepeatedKeyError(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RepeatedKeyError(f"the key {twice!r} stands twice in one object")
    return found


def _separated(path: Path, text: str) -> Records:
    notes = []
    skipped = 0
    if text.lower().startswith("sep="):
        # a first line that tells Excel the separator
        first, _, text = text.partition("\n")
        skipped, separator = 1, first[4:].rstrip("\r") or ","
    else:
        separator = _separator(path, text)
    with _long_cells():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            header = [name.strip() for name in next(reader)]
            while header and not header[-1]:
                header.pop()
            _check_header(path, header)
            lines: list[int] = []
            rows: list[dict[str, Any]] = []
            begin = reader.line_num
            for cells in reader:
                line, begin = begin + 1 + skipped, reader.line_num
                if not any(cells):
                    continue
                extra = cells[len(header) :]
                if len(cells) < len(header) or any(extra):
                    raise ReaderError(
                        f"{path}, line {line}: {len(cells)} cells where the header has "
                        f"{len(header)}; the file is cut, or a text with {separator!r} is not "
                        "in quotes"
                    )
                lines.append(line)
                rows.append(dict(zip(header, cells, strict=False)))
        except csv.Error as err:
            _refuse_csv(path, reader.line_num + skipped, err)
    if rows and not text.endswith(("\n", "\r")):
        notes.append(
            f"{path.name}: the last line has no line end; if the file is cut, its last cell "
            f"{list(rows[-1].values())[-1][-40:]!r} is too"
        )
    return Records(path, lines, rows, "line", notes)


def _separator(path: Path, text: str) -> str:
    first = text.partition("\n")[0]
    widths = {}
    with _long_cells():
        for mark in _SEPARATORS:
            try:
                widths[mark] = len(next(csv.reader([first], delimiter=mark)))
            except (csv.Error, StopIteration):
                widths[mark] = 1
    best = max(_SEPARATORS, key=lambda mark: widths[mark])
    if widths[best] == 1:
        raise ReaderError(
            f"{path}: no table: the first line {first[:60]!r} is neither JSON nor a header "
            "separated by comma, semicolon, tab or bar"
        )
    return best


def _check_header(path: Path, header: list[str]) -> None:
    for name in header:
        if name and header.count(name) > 1:
            raise ReaderError(f"{path}, line 1: the column {name!r} stands twice in the header")


def _refuse_csv(path: Path, line: int, err: csv.Error) -> NoReturn:
    raise ReaderError(
        f"{path}, line {line}: no CSV: {err}; a quote is open or the file is cut"
    ) from err


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let cells be as long as replies are; the module's limit holds for the whole process."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _kind(value: object) -> str:
    return {list: "an array", str: "a text", type(None): "null"}.get(type(value), "a number")
