"""Cells of foreign tables: numbers, truth values and names as spreadsheets and tools write them.

A cell that says nothing (empty, ``N/A``, NaN, null) is None, never 0.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BadCellError", "plain_integers", "to_count", "to_number", "to_score", "to_text"]

_MISSING = frozenset(
    {"", "n/a", "na", "#n/a", "#na", "#nv", "nan", "-nan", "null", "none", "nil", "-", "--", "<na>"}
)
# What inspect writes for a sample, and what spreadsheets of several languages write for a truth.
_WORDS = {
    **dict.fromkeys(("c", "true", "correct", "wahr", "vrai", "vero", "verdadero", "verdadeiro"), 1),
    **dict.fromkeys(("i", "n", "false", "incorrect", "falsch", "faux", "falso"), 0),
    "p": 0.5,
    # in a column that goes from 0 to 1 this is no thousand
    "1,000": 1,
}
_NUMBER = re.compile(
    r"[+-]?(?:\d{1,300}(?:[.,]\d{0,300})?|[.,]\d{1,300})(?:[eE][+-]?\d{1,4})?", re.ASCII
)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
_FRACTION = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", re.ASCII)
_ROUNDED = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+", re.ASCII)
_WHOLE = re.compile(r"(-?\d+)(?:\.0+)?", re.ASCII)
_EXACT = 2**53  # floats count in ones up to here
_MOST = 10**9  # replies to one item
_SHOWN = 40


class BadCellError(ValueError):
    """A cell that cannot be what its column says; the message goes behind file, row and column."""


def to_number(value: object) -> float | None:
    """Return a finite number, or None where the cell says nothing.

    A comma is a decimal comma. ``1,234`` is refused: it may be a decimal or a thousand.

    Raises
    ------
    BadCellError
        Anything else.
    """
    if _is_missing(value):
        return None
    if isinstance(value, bool):
        raise BadCellError(f"{_show(value)} is no number")
    if isinstance(value, int | float):
        number = float(value) if abs(value) < _MAX_FLOAT else math.inf
    elif isinstance(value, str) and _NUMBER.fullmatch(text := value.strip()):
        if "," in text and _THOUSANDS.fullmatch(text):
            raise BadCellError(
                f"{_show(value)} may be a decimal or a thousand; write it without a separator"
            )
        number = float(text.replace(",", "."))
    else:
        raise BadCellError(f"{_show(value)} is no number")
    if not math.isfinite(number):
        raise BadCellError(f"{_show(value)} is no finite number")
    return number


def to_count(value: object) -> int | None:
    """Return a count of replies, or None; ``12.0`` is 12, ``1.000`` is refused.

    Raises
    ------
    BadCellError
        No whole number from 0 to a thousand million.
    """
    number = to_number(value)
    if number is None:
        return None
    if isinstance(value, str) and _THOUSANDS.fullmatch(value.strip()):
        raise BadCellError(
            f"{_show(value)} may be a decimal or a thousand; write it without a separator"
        )
    if number != int(number) or not 0 <= number <= _MOST:
        raise BadCellError(f"{_show(value)} is no count of replies")
    return int(number)


def to_score(value: object) -> tuple[float, int] | None:
    """Return right replies and replies: (k, n) of ``k/n``, else (score, 1); None if missing.

    Truth values, C and I, and P for half right are scores, and so are numbers from 0 to 1.

    Raises
    ------
    BadCellError
        No score, or one outside 0 to 1.
    """
    if isinstance(value, bool):
        return float(value), 1
    if isinstance(value, str):
        word = _WORDS.get(value.strip().lower())
        if word is not None:
            return float(word), 1
        if pair := _FRACTION.fullmatch(value):
            return _pair(value, int(pair[1]), int(pair[2]))
    try:
        number = to_number(value)
    except BadCellError as err:
        raise BadCellError(
            f"{err}; a score is 0 or 1, true or false, C, I, P or N, k/n, or a number between"
        ) from None
    if number is None:
        return None
    if not 0 <= number <= 1:
        raise BadCellError(
            f"{_show(value)} is no score, scores go from 0 to 1; if it counts replies, "
            "name its column k and that of all replies n"
        )
    return number, 1


def to_text(value: object, *, name: str = "text") -> str | None:
    """Return a name: text as it stands without outer blanks, whole numbers without ``.0``.

    Raises
    ------
    BadCellError
        Lists and the like, broken characters, numbers that have lost digits.
    """
    if _is_missing(value) and not isinstance(value, str):
        return None
    if isinstance(value, bool | list | tuple | dict) or value is None:
        raise BadCellError(f"{_show(value)} is no {name}")
    if isinstance(value, float):
        if not math.isfinite(value) or abs(value) >= _EXACT:
            raise BadCellError(f"{_show(value)} is a number that has lost digits")
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, int):
        if abs(value) >= _MAX_FLOAT:
            raise BadCellError(f"{_show(value)} is no {name}")
        return str(value)
    text = str(value).strip()
    if _ROUNDED.fullmatch(text):
        raise BadCellError(
            f"{_show(value)} is a number that a spreadsheet has rounded; export it as text"
        )
    if "\x00" in text or not _encodable(text):
        raise BadCellError(f"{_show(value)} holds broken characters")
    return None if text.lower() in _MISSING - {"na", "-", "none", "nil", "null", "--"} else text


def plain_integers(values: Iterable[str | None]) -> bool:
    """Say whether a column holds whole numbers alone, some of them as ``12.0``.

    Such a column has been through a table of floats; ``12.0`` is then the item ``12``. A column
    with other texts (``1.0`` and ``1.5`` are versions) is left as it is.
    """
    dotted = False
    for value in values:
        if value is None:
            continue
        match = _WHOLE.fullmatch(value)
        if match is None:
            return False
        dotted = dotted or match[1] != value
    return dotted


_MAX_FLOAT = 10**300


def _is_missing(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return isinstance(value, str) and value.strip().lower() in _MISSING


def _pair(value: str, k: int, n: int) -> tuple[float, int] | None:
    if k > n:
        raise BadCellError(f"{_show(value)} has more right replies than replies")
    return (float(k), n) if n else None


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _show(value: Any) -> str:
    if isinstance(value, dict | list | tuple):
        return "a nested value"
    if isinstance(value, int) and abs(value) >= _MAX_FLOAT:
        return "a number of more than 300 digits"
    text = ascii(value) if isinstance(value, str) and not _encodable(value) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
