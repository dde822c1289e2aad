"""The fields of a study file: in which table each may stand, and of which kind it is.

TOML has types, so a field of the wrong one is a slip of the pen, and nothing is guessed from it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from hatscore.benchmarks.base import Mode, PromptLanguage
from hatscore.errors import InputError, UnknownNameError
from hatscore.sampling.plan import parse_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["FIELDS", "Field", "Table", "read_table"]

Table = Literal["[study]", "[[benchmark]]", "[[model]]"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    Attributes
    ----------
    tables
        First letters of the tables that it may stand in: ``s``, ``b``, ``m``.
    expected
        What it takes, in words.
    fits
        Whether a value of TOML is that.
    """

    tables: str
    expected: str
    fits: Callable[[Any], bool]


def read_table(plain: object, table: Table, path: Path) -> dict[str, Any]:
    """Return the fields of a table, each of its kind.

    Raises
    ------
    UnknownNameError
        A field that the table has not; names the nearest.
    InputError
        A value of the wrong kind; says file, table, field, what came and what is expected.
    """
    if not isinstance(plain, dict):
        raise InputError(f"{path}: {table} is {_came(plain)}; expected a table of fields")
    name = plain.get("name")
    where = f"{table} {name}" if isinstance(name, str) else table
    known = {field: kind for field, kind in FIELDS.items() if table.strip("[")[0] in kind.tables}
    for field, value in plain.items():
        if field not in known:
            raise UnknownNameError(f"{path}: field of {table}", field, known)
        if not known[field].fits(value):
            raise InputError(
                f"{path}: {where}: field {field}: got {_came(value)}, expected "
                f"{known[field].expected}"
            )
    return dict(plain)


def _came(value: Any) -> str:
    """Return a value as TOML writes it, with its kind where that may be what is wrong."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {json.dumps(value, ensure_ascii=False)}"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return f"the list {json.dumps(value, ensure_ascii=False, default=str)}"
    return str(value)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(map(_text, value))
        and len(set(value)) == len(value)
    )


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return _whole(value) and value >= 1


def _number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def _at_least_0(value: Any) -> bool:
    return _number(value) and value >= 0


def _above_0(value: Any) -> bool:
    return _number(value) and value > 0


def _share(value: Any) -> bool:
    return _number(value) and 0 < value <= 1


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _plan(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parse_plan(value)
    except InputError:
        return False
    return True


def _options(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _text(v) or _number(v) or _flag(v) for v in value.values()
    )


def _extra(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):  # a day or an infinity has no place in a request
        return False
    return isinstance(value, dict)


_COUNT = "a whole number of at least 1"
_NAMES = "a list of different names"
_TEXT = "a text"
_URL = 'the address of a server, as in "http://HOST:PORT/v1"'
_USD = "USD per million tokens, 0 or more"

FIELDS: Mapping[str, Field] = {
    "name": Field("bm", "a name", _text),
    "models": Field("s", _NAMES, _texts),
    "directory": Field("s", "a directory, relative to this file", _text),
    "plan": Field("sb", '"paper", "efficient" or "width=X" with X in (0, 1]', _plan),
    "keep": Field("sb", "a share above 0 and at most 1", _share),
    "languages": Field("sb", "a list of different language tags", _texts),
    "source_language": Field("sb", "a language tag", _text),
    "items": Field("sb", _COUNT, _count),
    "repeats": Field("sb", _COUNT, _count),
    "seed": Field("sb", "a whole number", _whole),
    "options": Field("b", 'a table of texts or numbers, as in { data = "PATH" }', _options),
    "judge": Field("sb", f"a name or {_NAMES}", lambda v: _text(v) or _texts(v)),
    "judge_url": Field("sb", _URL, _text),
    "prompt_language": Field("s", " or ".join(map(repr, get_args(PromptLanguage))),
                             lambda v: v in get_args(PromptLanguage)),
    "mode": Field("sm", " or ".join(map(repr, get_args(Mode))), lambda v: v in get_args(Mode)),
    "base_url": Field("sm", _URL, _text),
    "concurrency": Field("sm", _COUNT, _count),
    "timeout_s": Field("sm", "seconds above 0", _above_0),
    "tries": Field("sm", _COUNT, _count),
    "batch": Field("sm", "true or false", _flag),
    "temperature": Field("sm", "a number of at least 0", _at_least_0),
    "top_p": Field("sm", "a number above 0 and at most 1", _share),
    "max_tokens": Field("sm", _COUNT, _count),
    "extra": Field("m", "a table of further fields of the request, as JSON can say them", _extra),
    "price_in": Field("m", _USD, _at_least_0),
    "price_out": Field("m", _USD, _at_least_0),
}  # fmt: skip
"""By name."""
