"""Which column holds what: the declarative part of reading a foreign table.

``columns`` names a column for a field, ``map`` changes the values of a field. Both are given as
mappings or as the text of the command line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = [
    "DROP",
    "FIELDS",
    "ROW_NUMBER",
    "ValueMap",
    "expand_languages",
    "get",
    "parse_columns",
    "parse_maps",
]

FIELDS = {
    "model": "name of the model",
    "benchmark": "name of the benchmark",
    "item": "id of the item; @row for its row; a+b for two columns together",
    "language": "language of the row",
    "source": "language of the item's source row",
    "repeat": "number or name of the reply among those to one item",
    "score": "0 or 1, true or false, C, I, P or N, k/n, or a number between 0 and 1",
    "k": "right replies",
    "n": "replies",
    "reply": "the reply's text, to be graded",
    "gold": "the right answer",
    "options": "list of the options' texts, for grade choice",
    "finish": "finish reason of the reply",
    "error": "transport error, a filled cell means that there is no reply; beside k and n a count",
    "empty": "replies without text, beside k and n",
    "truncated": "replies that were cut, beside k and n",
    "refused": "replies that the server refused, beside k and n",
    "unparsed": "replies without an answer, beside k and n",
    "judge_unparsed": "replies that no judge could judge, beside k and n",
    "group": "cluster of items",
    "chance": "probability of a correct blind guess",
    "question": "text of the question, or its hash",
    "input_tokens": "tokens",
    "output_tokens": "tokens",
    "reasoning_tokens": "tokens",
}
MAPPED = ("model", "benchmark", "item", "language", "source", "repeat", "group")
ROW_NUMBER = "@row"
DROP = ""

_ELSE = "*"
_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,3}", re.ASCII)
_INDEX = re.compile(r"-?\d{1,6}", re.ASCII)
_ABSENT: Any = None


def parse_columns(given: str | Mapping[str, str] | Sequence[str] | None) -> dict[str, str]:
    r"""Return field to column from ``"item=q_id,language=lang"`` or a mapping.

    In texts, a comma that belongs to a column's name is written ``\,``.

    Raises
    ------
    InputError
        A part that is no ``field=column``, or a field given twice.
    UnknownNameError
        No such field.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        pairs = [(str(name), str(column)) for name, column in given.items()]
    else:
        texts = _texts(given, "columns")
        parts = [part for text in texts for part in re.split(r"(?<!\\),", text) if part.strip()]
        pairs = [_pair(part.replace("\\,", ","), "columns") for part in parts]
    found: dict[str, str] = {}
    for name, column in pairs:
        field = "source" if name == "source_language" else name
        if field not in FIELDS:
            raise UnknownNameError("field in columns", name, FIELDS)
        if field in found:
            raise InputError(f"columns name {field} twice: {found[field]} and {column}")
        if not column:
            raise InputError(f"columns: {field}= lacks the name of a column")
        found[field] = column
    return found


@dataclass(frozen=True, slots=True)
class ValueMap:
    """How the values of one field are changed.

    Attributes
    ----------
    field
        Whose values.
    pattern
        Regular expression whose first group is the value, or None.
    on_path
        The pattern is applied to the file's path and not to the cell.
    values
        Value to value; ``""`` drops the row, ``*`` stands for all that are not listed.
    """

    field: str
    pattern: re.Pattern[str] | None = None
    on_path: bool = False
    values: Mapping[str, str] | None = None

    def apply(self, value: str | None, path: Path) -> str | None:
        """Return the new value, `DROP` for a row to be left out, None for a missing one.

        Raises
        ------
        InputError
            The pattern does not match.
        """
        if self.pattern is not None:
            text = path.as_posix() if self.on_path else value
            if text is None:
                return None
            match = self.pattern.search(text)
            if match is None or not match[1]:
                what = "the path" if self.on_path else "the value"
                raise InputError(
                    f"map {self.field}: {self.pattern.pattern!r} finds nothing in {what} {text!r}"
                )
            return match[1]
        if value is None or self.values is None:
            return value
        return self.values.get(value, self.values.get(_ELSE, value))


def parse_maps(
    given: Mapping[str, Any] | Sequence[str] | str | None,
) -> dict[str, ValueMap]:
    r"""Return the map of every field that has one.

    Parameters
    ----------
    given
        Texts ``field=SPEC`` or a mapping of field to SPEC. A SPEC is ``path:REGEX`` (the first
        group in the file's path), ``re:REGEX`` (the first group in the cell), or
        ``from:to,from:to``; an empty ``to`` drops rows and ``*`` stands for all other values.
        In a mapping, SPEC may be a mapping of value to value.

    Raises
    ------
    InputError
        A SPEC that cannot be read.
    UnknownNameError
        A field that cannot be mapped.

    Examples
    --------
    >>> maps = parse_maps(["language=English:en,German:de,*:", r"repeat=path:run(\d+)"])
    >>> maps["language"].values
    {'English': 'en', 'German': 'de', '*': ''}
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        pairs = [_pair(text, "map") for text in _texts(given, "map")]
    found: dict[str, ValueMap] = {}
    for name, spec in pairs:
        field = "source" if name == "source_language" else str(name)
        if field not in MAPPED:
            raise UnknownNameError("field in map", field, MAPPED)
        if field in found:
            raise InputError(f"map: {field} is mapped twice; put both into one")
        found[field] = _value_map(field, spec)
    return found


def get(row: Mapping[str, Any], column: str) -> Any:
    """Return a cell; ``a.b.0`` looks into nested values if no column has that name.

    What is not there is None.
    """
    if column in row:
        return row[column]
    value: Any = row
    for part in column.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and _INDEX.fullmatch(part):
            index = int(part)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            return _ABSENT
    return value


def expand_languages(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str], known: Iterable[str] = ()
) -> dict[str, dict[str, str]]:
    """Return the columns of every language of a wide table, in order of appearance.

    Parameters
    ----------
    rows
        All rows.
    columns
        Field to column, ``*`` standing for the language: ``score_*``, ``*.answer``.
    known
        Values besides BCP 47 tags that may stand for ``*``, such as ``English``.

    Raises
    ------
    InputError
        No language found, or a field that one of the languages lacks.
    """
    starred = {field: column for field, column in columns.items() if "*" in column}
    fixed = {column.partition(".")[0] for column in columns.values() if "*" not in column}
    fixed |= {part for column in columns.values() for part in (column, *column.split("+"))}
    named = set(known)
    heads = dict.fromkeys(key for row in rows for key in row if key not in fixed)
    found: dict[str, dict[str, str]] = {}
    for field, column in starred.items():
        if column.count("*") > 1:
            raise InputError(f"columns: {field}={column} has more than one *")
        head, dot, tail = column.partition(".")
        if "*" not in head:
            raise InputError(f"columns: {field}={column}: the * must stand before the first dot")
        before, after = head.split("*")
        pattern = re.compile(f"{re.escape(before)}(.+){re.escape(after)}", re.DOTALL)
        for key in heads:
            match = pattern.fullmatch(key)
            if match is None:
                continue
            if match[1] not in named and not _TAG.fullmatch(match[1]):
                raise InputError(
                    f"column {key!r} fits {field}={column}, but {match[1]!r} is no language tag; "
                    f"map it: language={match[1]}:TAG, or language={match[1]}: to leave it out"
                )
            found.setdefault(match[1], {})[field] = f"{key}{dot}{tail}"
    if not found:
        raise InputError(
            f"no column fits {' or '.join(starred.values())} with a language tag for the *; "
            f"there are {', '.join(map(repr, list(heads)[:12]))}"
        )
    for language, own in found.items():
        lacking = [field for field in starred if field not in own]
        if lacking:
            raise InputError(
                f"the columns of {language} lack {lacking[0]} ({starred[lacking[0]]}); if "
                f"{language!r} is no language, write the columns so that they do not fit it"
            )
    return found


def _texts(given: Any, option: str) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list | tuple) or not all(isinstance(one, str) for one in texts):
        raise InputError(f"{option}: expected a mapping or texts field=..., got {given!r}")
    return list(texts)


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"{option}: expected field=..., got {text!r}")
    return name.strip(), value.strip()


def _value_map(field: str, spec: Any) -> ValueMap:
    if isinstance(spec, Mapping):
        return ValueMap(field, values={str(k): str(v) for k, v in spec.items()})
    text = str(spec)
    for start in ("path:", "re:"):
        if text.startswith(start):
            return ValueMap(field, _pattern(field, text[len(start) :]), on_path=start == "path:")
    values = {}
    for part in re.split(r"(?<!\\),", text):
        old, colon, new = part.replace("\\,", ",").rpartition(":")
        if not colon or not old.strip():
            raise InputError(
                f"map {field}: expected path:REGEX, re:REGEX or from:to,from:to, got {part!r}"
            )
        values[old.strip()] = new.strip()
    return ValueMap(field, values=values)


def _pattern(field: str, text: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(text)
    except re.error as err:
        raise InputError(f"map {field}: {text!r} is no regular expression: {err}") from err
    if not pattern.groups:
        raise InputError(
            f"map {field}: {text!r} needs a group in parentheses, whose content is the value"
        )
    return pattern
