"""Where a log of inspect_ai says which item and language a sample belongs to."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

from hatscore.errors import InputError, ReaderError, UnknownNameError
from hatscore.readers.task_names import split_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.readers.inspect_files import Log

__all__ = ["COLUMNS", "ROW", "Place", "Places", "parse_map", "task_languages"]

COLUMNS = ("item", "language", "source_language", "benchmark", "model", "group", "chance", "gold")
ROW = "row"
_LANGUAGE_KEYS = ("language", "lang")
_ITEM_KEYS = ("item", "item_id", "question_id")
_SOURCE_KEYS = ("source_language", "source_lang")
_REMOVED = "Key removed from summary"
_WORDS = ("task", "id", ROW, "none")
_DOTTED = ("metadata", "task_args", "sample")
_HELP = (
    "expected metadata.KEY, task_args.KEY, sample.FIELD, task or id, optionally followed by "
    "~REGEX with a group"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a column comes from.

    Attributes
    ----------
    kind
        ``metadata``, ``task_args``, ``sample``, ``task``, ``id``, ``row`` or ``none``.
    key
        Key within the first three.
    pattern
        What is taken of the text: its named group, or its only one.
    """

    kind: str
    key: str = ""
    pattern: re.Pattern[str] | None = None
    group: str | int = 0

    def __str__(self) -> str:
        return f"{self.kind}.{self.key}" if self.key else self.kind

    def of(self, log: Log, sample: Mapping[str, Any], where: str) -> str | None:
        """Return the text at this place.

        Raises
        ------
        ReaderError
            Nothing there, or nothing that could be a name.
        """
        value: Any
        if self.kind == "task":
            value = log.task
        elif self.kind == "id":
            value = sample["id"]
        elif self.kind in ("none", ROW):
            return None
        else:
            value = self._inner(log, sample, where)
        text = _text(value)
        if text is None:
            raise ReaderError(
                f"{where}: {self} is {str(value)[:60]!r}; expected a text or a whole number"
            )
        if self.pattern is None:
            return text
        match = self.pattern.search(text)
        if match is None or not match[self.group]:
            raise ReaderError(f"{where}: {self} is {text!r}, which {self.pattern.pattern} misses")
        return match[self.group]

    def _inner(self, log: Log, sample: Mapping[str, Any], where: str) -> Any:
        parents = {"metadata": sample.get("metadata"), "task_args": log.args, "sample": sample}
        value: Any = parents[self.kind]
        keys = [self.key] if _has(value, self.key) else self.key.split(".")
        for key in keys:
            if not _has(value, key):
                known = ", ".join(map(str, value)) if isinstance(value, dict) else ""
                raise ReaderError(f"{where}: no {self}; there is {known or 'nothing'}")
            value = value[key]
        if isinstance(value, str) and value.startswith(_REMOVED):
            raise ReaderError(
                f"{where}: {self} is longer than 1024 characters, which summaries of .eval logs do "
                "not hold; convert the log with `inspect log convert --to json`"
            )
        return value


@dataclass(frozen=True, slots=True)
class Places:
    """Places of the columns of one log; a column that is not there has none."""

    of: dict[str, Place] = field(default_factory=dict)

    @classmethod
    def find(
        cls, log: Log, sample: Mapping[str, Any], given: Mapping[str, Place], *, by_task: bool
    ) -> Places:
        """Find where a log keeps item, language and source language, by its first sample.

        Parameters
        ----------
        log, sample
            The log and a sample of it.
        given
            What the user said; it wins.
        by_task
            The task's name holds the language.

        Raises
        ------
        ReaderError
            No language anywhere.
        """
        metadata = sample.get("metadata")
        found = dict(given)
        for column, keys in (("language", _LANGUAGE_KEYS), ("source_language", _SOURCE_KEYS)):
            said = _first("metadata", metadata, keys) or _first("task_args", log.args, keys)
            if column not in found and said is not None:
                found[column] = said
        if _has(metadata, "benchmark_version"):  # a task of ours
            for column in ("group", "chance"):
                if _has(metadata, column):
                    found.setdefault(column, Place("metadata", column))
        if "item" not in found:
            found["item"] = _first("metadata", metadata, _ITEM_KEYS) or Place("id")
        if "language" not in found and not by_task:
            known = ", ".join(metadata) if isinstance(metadata, dict) else ""
            raise ReaderError(
                f"{log.name}: nothing says the language. Looked for the sample metadata and task "
                "arguments language and lang, and for names of tasks that differ by a language "
                f"alone. Sample metadata has {known or 'nothing'}, task arguments "
                f"{', '.join(log.args) or 'nothing'}, the task is {log.task!r}. "
                "Say where it is, for example map={'language': 'metadata.KEY'}"
            )
        return cls(found)


def parse_map(given: Any) -> dict[str, Place]:
    r"""Return the places that the option ``map`` names.

    Parameters
    ----------
    given
        Canonical column to place, or a regular expression on the task's name whose named groups
        are columns.

    Raises
    ------
    InputError
        Unknown columns or places, an expression that cannot be used.

    Examples
    --------
    >>> {column: str(place) for column, place in parse_map({"item": "metadata.qid"}).items()}
    {'item': 'metadata.qid'}
    >>> sorted(parse_map(r"(?P<benchmark>\w+)-(?P<language>\w\w)$"))
    ['benchmark', 'language']
    """
    if given is None:
        return {}
    if isinstance(given, str):
        pattern = _compiled(given, given)
        if not pattern.groupindex:
            raise InputError(f"map={given!r} names no column: write (?P<language>...)")
        given = dict.fromkeys(pattern.groupindex, f"task~{given}")
    try:
        pairs = dict(given).items()
    except (TypeError, ValueError) as err:
        raise InputError(f"map must map columns to places, got {given!r}; {_HELP}") from err
    found = {}
    for column, text in pairs:
        if column not in COLUMNS:
            raise UnknownNameError("column of map", str(column), COLUMNS)
        found[column] = _place(str(column), str(text))
    return found


def task_languages(logs: Sequence[Log]) -> dict[str, tuple[str, str]]:
    """Return benchmark and language by task name, of names that differ by a language alone."""
    names = split_names(log.task for log in logs)
    seen: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in names.values():
        seen[one.benchmark, one.subtask].add(one.language)
    return {
        name: ("_".join(filter(None, (one.benchmark, one.subtask))), one.language)
        for name, one in names.items()
        if len(seen[one.benchmark, one.subtask]) > 1
    }


def _first(kind: str, parent: Any, keys: Sequence[str]) -> Place | None:
    for key in keys:
        if _has(parent, key) and _text(parent[key]) is not None:
            return Place(kind, key)
    return None


def _place(column: str, text: str) -> Place:
    where, tilde, expression = text.partition("~")
    kind, _, key = where.strip().partition(".")
    good = (kind in _WORDS and not key) or (kind in _DOTTED and key)
    if not good or (kind == ROW and column != "item") or (kind == "none" and column != "gold"):
        raise InputError(f"map: {column} cannot come from {text!r}; {_HELP}")
    if not tilde:
        return Place(kind, key)
    pattern = _compiled(expression, text)
    if column not in pattern.groupindex and pattern.groups != 1:
        raise InputError(f"map: {text!r} has no group named {column}; write (?P<{column}>...)")
    return Place(kind, key, pattern, column if column in pattern.groupindex else 1)


def _compiled(expression: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except (re.error, RecursionError, OverflowError) as err:
        raise InputError(f"map: {text!r} is no regular expression: {err}") from err


def _has(parent: Any, key: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(parent, dict) and key in parent


def _text(value: Any) -> str | None:
    """Text of a name; whole numbers are names too, lists and truth values are not."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return str(value).strip() or None
