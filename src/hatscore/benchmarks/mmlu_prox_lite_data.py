"""The files of MMLU-ProX-Lite in either of two layouts, and what is known to be wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from hatscore.benchmarks.official import Hub, OfficialData, read_hub_layout, read_jsonl
from hatscore.benchmarks.official_checks import same_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "ALSO_RIGHT",
    "CONTROL_ROWS",
    "DATA",
    "ITEMS",
    "LETTERS",
    "OPTION_COUNTS",
    "ProxFile",
    "Question",
    "Split",
    "identical_to_gold",
    "read",
    "unequal",
]

Split = Literal["test", "validation"]

LETTERS: Final = "ABCDEFGHIJ"
ITEMS: Final[Mapping[Split, int]] = {"test": 588, "validation": 70}
_LEAST_OPTIONS: Final = 2

OPTION_COUNTS: Final = {10: 485, 9: 44, 8: 19, 7: 5, 6: 7, 5: 1, 4: 27}
"""Number of options -> how many of the 588 test questions have it, in every language."""

ALSO_RIGHT: Final[Mapping[int, str]] = {
    49: "H",
    86: "D",
    93: "EJ",
    107: "A",
    298: "J",
    367: "F",
    445: "B",
    447: "C",
    517: "B",
}
"""Test row -> letters that some language makes equal to the right option.

What :func:`identical_to_gold` returns for all 29 languages of the pinned revision. It is written
down because a run reads only its own languages and has to accept the same letters.
"""

CONTROL_ROWS: Final[Mapping[Split, frozenset[int]]] = {
    "test": frozenset({50, 60, 466, 543}),
    "validation": frozenset({0}),
}
"""Split -> rows in which the files of some languages hold control characters.

A formula lost the backslash of a command with its first letter, or a quotation mark its bytes.
"""

DATA: Final = OfficialData(
    benchmark="mmlu_prox_lite",
    hub=Hub("li-lab/MMLU-ProX-Lite", "e82aafb9460529687d3c7e51b401d8dd1dd309dd"),
    home="the Hugging Face hub, li-lab/MMLU-ProX-Lite",
    inside=("MMLU-ProX-Lite",),
)


@dataclass(frozen=True, slots=True)
class Question:
    """One row.

    Parameters
    ----------
    text
        The question without its options.
    options
        Their texts in order, 4 to 10 in the official files.
    answer
        The letter of the right one.
    index
        Its position, None where the file has none.
    id, category
        As in the official files; "" where they are missing.
    """

    text: str
    options: tuple[str, ...]
    answer: str
    index: int | None = None
    id: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class ProxFile:
    """One split in one language.

    Parameters
    ----------
    language, split
        Which.
    place
        Name of the file, for messages.
    questions
        Row ``n`` of the messages is ``questions[n]``: rows count from 0, as in the literature.
    faults
        Row and text of everything that makes the file unusable; row -1 is the file itself.
    """

    language: str
    split: Split
    place: str
    questions: list[Question]
    faults: list[tuple[int, str]] = field(default_factory=list)


def read(path: str | None, language: str, split: Split) -> ProxFile:
    """Return the rows of one split in one language, with the faults of the file.

    Parameters
    ----------
    path
        The user's directory: ``{language}.{split}.jsonl`` with ``question``, ``options``,
        ``answer`` and ``answer_index``, or the layout of the hub with ``option_0`` to
        ``option_9``. None for the hub.
    language
        One of the 29.
    split
        ``test`` or ``validation``.

    Raises
    ------
    InputError
        No such directory or file, or a hub that cannot be reached.
    ReaderError
        A file that is not JSON lines or not in the layout of the hub.
    """
    directory = DATA.directory(path, marks=("*.test.jsonl", "README.md", "en/*"))
    if next(directory.glob("*.test.jsonl"), None):
        source = directory / f"{language}.{split}.jsonl"
        place, rows = source.name, read_jsonl(source)
    else:
        place = f"the configuration {language}, split {split}"
        rows = read_hub_layout(directory, language, split)
    questions = [_question(row) for row in rows]
    file = ProxFile(language, split, place, questions)
    file.faults.extend(_faults(file, rows))
    return file


def _question(row: Mapping[str, Any]) -> Question:
    options = row.get("options")
    if options is None:
        options = [row.get(f"option_{number}") for number in range(len(LETTERS))]
        while options and options[-1] is None:
            options.pop()
    index = row.get("answer_index")
    return Question(
        text=_text(row.get("question")),
        options=tuple(map(_text, options)) if isinstance(options, list) else (),
        answer=_text(row.get("answer")).strip(),
        index=index if isinstance(index, int) else None,
        id=_text(row.get("question_id")),
        category=_text(row.get("category")),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _faults(file: ProxFile, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    expected = ITEMS[file.split]
    if len(rows) != expected:
        yield -1, f"{file.place} has {len(rows)} rows, expected {expected}"
    for number, (question, row) in enumerate(zip(file.questions, rows, strict=True)):
        text = _row_fault(question)
        if row.get("row", number) != number:
            text = f"the field `row` says {row['row']!r}: the file is not in its order"
        if text:
            yield number, f"{file.place}, row {number}: {text}"


def _row_fault(question: Question) -> str:
    """Return what is wrong with a row, "" for nothing."""
    count = len(question.options)
    if not question.text.strip():
        return "the question is missing or empty"
    if not _LEAST_OPTIONS <= count <= len(LETTERS):
        return f"{count} options, expected {_LEAST_OPTIONS} to {len(LETTERS)}"
    if empty := [LETTERS[n] for n, option in enumerate(question.options) if not option.strip()]:
        return f"option {', '.join(empty)} is empty, but a later one is not"
    if len(question.answer) != 1 or question.answer not in LETTERS[:count]:
        return (
            f"the answer {question.answer!r} is no letter of its {count} options "
            f"(A to {LETTERS[count - 1]})"
        )
    if question.index is not None and LETTERS.find(question.answer) != question.index:
        return f"the answer is {question.answer}, but answer_index is {question.index}"
    return ""


def unequal(files: Mapping[str, ProxFile]) -> Iterator[tuple[int, str]]:
    """Yield row and text where languages disagree on the answer, the options or the id.

    Parameters
    ----------
    files
        Language to the same split; all without faults.
    """
    for row, questions in enumerate(zip(*(f.questions for f in files.values()), strict=True)):
        for what, values in (
            ("answers", [question.answer for question in questions]),
            ("numbers of options", [str(len(question.options)) for question in questions]),
            ("ids", [question.id for question in questions]),
        ):
            if len(set(values) - {""}) > 1:
                came = ", ".join(f"{t} {v}" for t, v in zip(files, values, strict=True) if v)
                yield row, f"row {row}: the {what} differ: {came}"


def identical_to_gold(files: Mapping[str, ProxFile]) -> dict[int, dict[str, str]]:
    """Return where an option has the text of the right one, as translations made it.

    Parameters
    ----------
    files
        Language to its test split.

    Returns
    -------
    dict
        Row -> language -> the letters of such options, in order.
    """
    found: dict[int, dict[str, str]] = {}
    for language, file in files.items():
        for row, question in enumerate(file.questions):
            right = LETTERS.index(question.answer)
            texts = [same_text(option) for option in question.options]
            letters = "".join(
                LETTERS[n] for n, text in enumerate(texts) if text == texts[right] and n != right
            )
            if letters:
                found.setdefault(row, {})[language] = letters
    return dict(sorted(found.items()))
