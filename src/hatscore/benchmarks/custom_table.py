"""A table of the user's own questions: read from CSV, JSON lines or Parquet, and checked.

Required columns: ``item``, ``language``, ``question``, ``answer``. Optional: ``source_language``,
``options`` and ``aliases`` (a JSON list, or texts separated by ``|``), ``group``, ``prompt``.
Further columns are ignored, unless one looks like a misspelt column of these.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from hatscore.errors import InputError, ReaderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["COLUMNS", "REQUIRED", "Fault", "Row", "read_rows"]

REQUIRED: Final = ("item", "language", "question", "answer")
COLUMNS: Final = (*REQUIRED, "source_language", "options", "aliases", "group", "prompt")
_LISTS: Final = ("options", "aliases")
_DELIMITERS: Final = ",;\t"
_FIELD_LIMIT: Final = 2**24


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, where (``line 7``, "" for the whole file), and in which language."""

    where: str
    text: str
    language: str = ""

    def __str__(self) -> str:
        """Return both parts in one line."""
        return f"{self.where}: {self.text}" if self.where else self.text


@dataclass(frozen=True, slots=True)
class Row:
    """One question in one language; a text that the file does not give is ""."""

    where: str
    item: str
    language: str
    question: str
    answer: str
    source_language: str = ""
    options: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    group: str = ""
    prompt: str = ""


def read_rows(path: Path) -> tuple[list[Row], frozenset[str], list[Fault]]:
    """Read a table; its ending says what it is.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv`` or ``.txt`` (separated by commas, semicolons or tabs, whichever the
        header has), ``.jsonl`` or ``.ndjson``, or ``.parquet``. Texts are UTF-8, with or
        without a byte order mark.

    Returns
    -------
    rows
        Every row that could be read, with a text in each required cell.
    columns
        The columns of :data:`COLUMNS` that the file has.
    faults
        What could not be read, and empty cells.

    Raises
    ------
    InputError
        No such file, or another ending.
    ReaderError
        The file is not of its kind, or a required column is missing.
    """
    readers = {
        ".csv": _delimited,
        ".tsv": _delimited,
        ".txt": _delimited,
        ".jsonl": _json_lines,
        ".ndjson": _json_lines,
        ".parquet": _parquet,
    }
    if path.suffix.lower() not in readers:
        raise InputError(f"{path}: expected a file ending in {', '.join(readers)}")
    if not path.is_file():
        what = "is a directory" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {what}; expected a table of questions")
    faults: list[Fault] = []
    rows: list[Row] = []
    columns: set[str] = set()
    for where, cells in readers[path.suffix.lower()](path, faults):
        columns |= cells.keys()
        row = _row(where, cells, faults)
        if row is not None:
            rows.append(row)
    missing = [name for name in REQUIRED if name not in columns]
    if columns and missing:
        raise ReaderError(_missing(path, missing, columns))
    if not columns and not faults:
        raise ReaderError(f"{path} has no rows; expected one per question and language")
    faults[:0] = _misspelt(columns)
    return rows, frozenset(columns & set(COLUMNS)), faults


def _missing(path: Path, missing: list[str], columns: set[str]) -> str:
    return (
        f"{path}: no column {', '.join(missing)}; it has {', '.join(sorted(columns))}. Required "
        f"are {', '.join(REQUIRED)}"
    )


def _misspelt(columns: set[str]) -> list[Fault]:
    faults = []
    for name in sorted(columns - set(COLUMNS)):
        near = get_close_matches(name, [c for c in COLUMNS if c not in columns], n=1, cutoff=0.8)
        if near:
            faults.append(Fault("", f"column {name!r}: did you mean {near[0]!r}?"))
    return faults


def _row(where: str, cells: Mapping[str, Any], faults: list[Fault]) -> Row | None:
    """Return a row, or None and faults."""
    texts: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    before = len(faults)
    language = _text(cells.get("language")) or ""
    for name in COLUMNS:
        value = cells.get(name)
        if name in _LISTS:
            found = _list(value)
            if found is None or any(not part for part in found):
                faults.append(
                    Fault(
                        where,
                        f"{name} {value!r}: expected texts separated by |, or a JSON list of "
                        "texts, none of them empty",
                        language,
                    )
                )
            else:
                lists[name] = found
            continue
        text = _text(value)
        if text is None:
            faults.append(
                Fault(where, f"{name}: expected a text, got a {type(value).__name__}", language)
            )
        elif not text.strip() and name in REQUIRED:
            faults.append(Fault(where, f"{name} is empty", language))
        else:
            # a prompt is sent as it is, with the blanks it ends on
            texts[name] = text if name == "prompt" else text.strip()
    return Row(where, **texts, **lists) if len(faults) == before else None  # type: ignore[arg-type]


def _text(value: Any) -> str | None:
    """Return a text, a number as text, "" for nothing; None for what is neither."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def _list(value: Any) -> tuple[str, ...] | None:
    """Return the texts of a cell; None when it is no list of texts."""
    if isinstance(value, str):
        if not value.strip():
            return ()
        if not value.lstrip().startswith("["):
            return tuple(part.strip() for part in value.split("|"))
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            return None
    if value is None:
        return ()
    if not isinstance(value, list):
        return None
    texts = [_text(part) for part in value]
    return None if None in texts else tuple(str(text).strip() for text in texts)


def _decoded(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReaderError(
            f"{path}: byte {error.start} is not UTF-8: save it as UTF-8 (in spreadsheets: "
            "CSV UTF-8)"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _name(column: Any) -> str:
    return str(column or "").strip().casefold().replace(" ", "_")


def _delimited(path: Path, faults: list[Fault]) -> Iterator[tuple[str, dict[str, Any]]]:
    text = _decoded(path)
    if "\0" in text:
        raise ReaderError(f"{path}: holds zero bytes: no text file, or UTF-16; save it as UTF-8")
    first = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(_DELIMITERS, key=lambda d: _known(first.split(d)))
    before = csv.field_size_limit(_FIELD_LIMIT)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header: list[str] = []
        begin = 1
        for cells in reader:
            line, begin = begin, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [_name(cell) for cell in cells]
                _check_header(path, header)
            elif len(cells) != len(header):
                faults.append(
                    Fault(f"line {line}", f"{len(cells)} cells, the header has {len(header)}")
                )
            else:
                yield f"line {line}", {n: c for n, c in zip(header, cells, strict=True) if n}
    except csv.Error as error:
        raise ReaderError(
            f"{path}: line {reader.line_num}: {error}; a cell that holds quotes, line breaks or "
            f"{delimiter!r} stands in double quotes, with its own quotes doubled"
        ) from error
    finally:
        csv.field_size_limit(before)


def _known(cells: list[str]) -> int:
    return sum(_name(cell.strip().strip('"')) in COLUMNS for cell in cells)


def _check_header(path: Path, header: list[str]) -> None:
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise ReaderError(f"{path}: the header names {', '.join(twice)} more than once")
    missing = [name for name in REQUIRED if name not in header]
    if missing:
        raise ReaderError(_missing(path, missing, {name for name in header if name}))


def _json_lines(path: Path, faults: list[Fault]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(_decoded(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            faults.append(Fault(where, f"no JSON: {error.msg} at character {error.colno}"))
            continue
        if not isinstance(data, dict):
            faults.append(
                Fault(where, f"a {type(data).__name__}, expected an object {{...}} in one line")
            )
            continue
        yield where, {_name(name): value for name, value in data.items()}


def _parquet(path: Path, _faults: list[Fault]) -> Iterator[tuple[str, dict[str, Any]]]:
    import polars as pl  # noqa: PLC0415 - heavy, and other tables do without

    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ReaderError(f"{path}: no readable Parquet file: {error}") from error
    names = [_name(name) for name in frame.columns]
    _check_header(path, names)
    for number, values in enumerate(frame.iter_rows(), 1):
        yield f"row {number}", dict(zip(names, values, strict=True))
