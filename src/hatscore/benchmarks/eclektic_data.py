"""The files of ECLeKTic: the official one, an object per question, and a table of the same rows.

*Official* (``eclektic_main.jsonl``): one JSON object per question with ``q_id``,
``original_lang``, and for each language ``{lang}_c``, ``{lang}_q`` and ``{lang}_a``: context,
question and answer. The fields ``content``, ``question`` and ``answer`` repeat those of the source
language.

*Table* (CSV): one row per question and language with the columns ``q_id``, ``original_lang``,
``language``, ``content``, ``question`` and ``answer``.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hatscore.errors import InputError, ReaderError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["HOME", "LANGUAGES", "Fault", "Question", "read_questions"]

LANGUAGES: Final = ("de", "en", "es", "fr", "he", "hi", "id", "it", "ja", "ko", "pt", "zh")
HOME: Final = (
    "the official file is eclektic_main.jsonl of the Kaggle data set googleai/eclektic (others "
    "keep a copy on the Hugging Face hub, ura-hcmut/ECLeKTic)"
)
_COLUMNS = ("q_id", "original_lang", "language", "content", "question", "answer")
_TEXTS = ("context", "question", "answer")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one row: where, in words, and in which language ("" for all)."""

    where: str
    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question in every language; each mapping has all of :data:`LANGUAGES` when faultless."""

    id: str
    source_language: str
    where: str
    contexts: dict[str, str] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Cell:
    """One question in one language, from either layout."""

    where: str
    id: str
    source_language: str
    language: str
    context: str
    question: str
    answer: str


def read_questions(path: Path) -> tuple[list[Question], list[Fault]]:
    """Read a file in either layout; a JSON object at its beginning tells the official one.

    Parameters
    ----------
    path
        The user's file.

    Returns
    -------
    questions
        In the order of the file, faulty ones included.
    faults
        Everything that is wrong, in the order of the file.

    Raises
    ------
    InputError
        No such file; the message says where the official one is published.
    ReaderError
        The file is not UTF-8, or neither of the layouts.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing; {HOME}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a directory; expected the file, and {HOME}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ReaderError(
            f"{path}: byte {error.start} is not UTF-8: get the file again, unconverted"
        ) from error
    faults: list[Fault] = []
    is_official = text.lstrip().startswith("{")
    cells = _official(text, faults) if is_official else _table(path, text, faults)
    questions = _joined(cells, faults)
    if not questions and not faults:
        raise ReaderError(f"{path} holds no question; {HOME}")
    return questions, faults


def _official(text: str, faults: list[Fault]) -> Iterator[_Cell]:
    seen: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            faults.append(Fault(where, f"no JSON: {error.msg}"))
            continue
        if not isinstance(data, dict):
            faults.append(Fault(where, f"a {type(data).__name__}, expected an object {{...}}"))
            continue
        name, source = _text(data.get("q_id")), _text(data.get("original_lang"))
        if not name:
            faults.append(Fault(where, "no q_id"))
            continue
        if name in seen:
            faults.append(Fault(where, f"q_id {name} is on {seen[name]} too"))
            continue
        seen[name] = where
        own = (data.get("content"), data.get("question"), data.get("answer"))
        repeated = tuple(data.get(f"{source}_{part}") for part in "cqa")
        if source in LANGUAGES and any(
            a is not None and _text(a) != _text(b) for a, b in zip(own, repeated, strict=True)
        ):
            faults.append(
                Fault(where, f"q_id {name}: the text of the source language is not its {source}_*")
            )
        for tag in LANGUAGES:
            parts = (_text(data.get(f"{tag}_{part}")) for part in "cqa")
            yield _Cell(where, name, source, tag, *parts)


def _table(path: Path, text: str, faults: list[Fault]) -> Iterator[_Cell]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise ReaderError(
                f"{path}: no column {', '.join(missing)}; expected the official JSON lines, or a "
                f"table with {', '.join(_COLUMNS)}. {HOME[0].upper()}{HOME[1:]}"
            )
        begin = reader.line_num + 1
        seen: dict[tuple[str, str], str] = {}
        for row in reader:
            where, begin = f"line {begin}", reader.line_num + 1
            name, source, tag, context, question, answer = (_text(row[c]) for c in _COLUMNS)
            if not name or tag not in LANGUAGES:
                came = "no q_id" if not name else f"language {tag!r}"
                faults.append(Fault(where, f"{came}; expected one of {', '.join(LANGUAGES)}"))
                continue
            if (name, tag) in seen:
                faults.append(Fault(where, f"q_id {name} in {tag} is on {seen[name, tag]} too"))
                continue
            seen[name, tag] = where
            yield _Cell(where, name, source, tag, context, question, answer)
    except csv.Error as error:
        raise ReaderError(f"{path}: line {reader.line_num}: no CSV: {error}") from error


def _joined(cells: Iterator[_Cell], faults: list[Fault]) -> list[Question]:
    found: dict[str, Question] = {}
    rows: dict[str, set[str]] = {}
    for cell in cells:
        rows.setdefault(cell.id, set()).add(cell.language)
        question = found.get(cell.id)
        if question is None:
            question = found[cell.id] = Question(cell.id, cell.source_language, cell.where)
            if cell.source_language not in LANGUAGES:
                faults.append(
                    Fault(
                        cell.where,
                        f"q_id {cell.id}: original_lang {cell.source_language!r}; expected one of "
                        f"{', '.join(LANGUAGES)}",
                    )
                )
        elif cell.source_language != question.source_language:
            faults.append(
                Fault(
                    cell.where,
                    f"q_id {cell.id}: original_lang {cell.source_language!r}, but "
                    f"{question.source_language!r} on {question.where}",
                    cell.language,
                )
            )
        for name in _TEXTS:
            text = getattr(cell, name)
            if text:
                getattr(question, f"{name}s")[cell.language] = text
            else:
                faults.append(
                    Fault(
                        cell.where, f"q_id {cell.id}: no {name} in {cell.language}", cell.language
                    )
                )
    for question in found.values():
        faults.extend(
            Fault(question.where, f"q_id {question.id}: no row in {tag}", tag)
            for tag in LANGUAGES
            if tag not in rows[question.id]
        )
    return list(found.values())


def _text(value: Any) -> str:
    """Return a text or a whole number as text, and "" for anything else."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
