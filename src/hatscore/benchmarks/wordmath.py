"""``wordmath``: small arithmetic tasks written in words of the language.

The tasks are made, not translated: the same numbers and operations in every language, so that
the gold, a number in digits, is the same everywhere and nothing can be lost in translation.
Numerals come from num2words; the words around them are in ``prompts/wordmath.toml``. A language
is in that file only if every numeral from 1 to 99 was read and found right, after the spelling
rules the file states. Hindi, Chinese and Swahili are missing because num2words does not speak
them. Ranges and structure of the tasks: :mod:`hatscore.benchmarks.wordmath_tasks`.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
import warnings
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata, resources
from typing import TYPE_CHECKING, Final

from hatscore.benchmarks.base import Item, Prompt
from hatscore.benchmarks.wordmath_tasks import DIFFICULTIES, all_tasks, draw, examples
from hatscore.errors import InputError, UnknownNameError
from hatscore.grading.answer import Gold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.benchmarks.base import Mode, PromptLanguage
    from hatscore.benchmarks.wordmath_tasks import Task

__all__ = ["BENCHMARK", "WordMath", "Wording", "numeral", "wording"]

# Changes with every text, range or order of tasks; the wording of numerals is num2words' part.
_DATA_VERSION: Final = "1"
_DEFAULT_ITEMS: Final = 200
_DEFAULT_DIFFICULTY: Final = "2"
# A number of at most four digits, in any script and with a few words around it.
_COMPLETION_TOKENS: Final = 16
# Three steps spelt out, in scripts that take several tokens per character.
_CHAT_TOKENS: Final = 512


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts of one language; the keys are explained at the top of the prompt file."""

    numerals: str
    sum: str
    difference: str
    product: str
    start: str
    add: str
    subtract: str
    multiply: str
    result: str
    answer: str
    instruction: str
    number: str
    rewrite: tuple[str, str] | None = None
    spelling: Mapping[str, str] = field(default_factory=dict)


def _read_texts() -> dict[str, Wording]:
    path = resources.files("hatscore.benchmarks").joinpath("prompts", "wordmath.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {language: Wording(**tables[language]) for language in sorted(tables)}


_TEXTS: Final = _read_texts()


def wording(language: str) -> Wording:
    """Return the texts of a language of the benchmark."""
    return _TEXTS[language]


def numeral(language: str, number: int) -> str:
    """Return a number from 1 to 99 in words, in the form in which the language counts."""
    return _numeral(language, number)


@cache
def _numeral(language: str, number: int) -> str:
    texts = _TEXTS[language]
    if str(number) in texts.spelling:
        return unicodedata.normalize("NFC", texts.spelling[str(number)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from num2words import num2words  # noqa: PLC0415 - half a second that listing can spare

        words = str(num2words(number, lang=texts.numerals))
    # Some converters leave blanks at the end, or decomposed vowel signs.
    words = unicodedata.normalize("NFC", words.strip())
    return re.sub(*texts.rewrite, words) if texts.rewrite else words


def _question(language: str, task: Task) -> str:
    texts = _TEXTS[language]
    if len(task.steps) == 1:
        operation, number = task.steps[0]
        template = {"+": texts.sum, "-": texts.difference, "*": texts.product}[operation]
        return template.format(a=_numeral(language, task.start), b=_numeral(language, number))
    templates = {"+": texts.add, "-": texts.subtract, "*": texts.multiply}
    lines = [texts.start.format(n=_numeral(language, task.start))]
    lines += [templates[op].format(n=_numeral(language, number)) for op, number in task.steps]
    return "\n".join([*lines, texts.result])


class WordMath:
    """The benchmark; see :class:`hatscore.benchmarks.base.Benchmark` for its attributes."""

    def __init__(self) -> None:
        self.name = "wordmath"
        self.version = f"{_DATA_VERSION}+num2words.{metadata.version('num2words')}"
        self.title = "Small arithmetic tasks written in words"
        self.licence = "Apache-2.0"
        self.source = (
            "made here; numerals spelt out at run time by num2words (LGPL-2.1, "
            "https://github.com/savoirfairelinux/num2words)"
        )
        self.languages = tuple(_TEXTS)
        self.source_languages = ("en", *(tag for tag in _TEXTS if tag != "en"))
        self.language_neutral_gold = True
        self.options: Mapping[str, str] = {
            "difficulty": (
                "1 to 5, default 2. 1: a sum up to 10; 2: a sum or difference up to 100; "
                "3: a two-digit number times 2 to 9; 4: a sum or difference, then times 2 to "
                "9; 5: as 4 with larger results, then plus or minus a two-digit number"
            )
        }

    def load(
        self,
        *,
        languages: Sequence[str],
        source_language: str,
        items: int | None,
        seed: int,
        options: Mapping[str, str],
    ) -> list[Item]:
        """Return the items in all `languages`, item by item.

        Parameters
        ----------
        languages
            BCP 47 tags out of :attr:`languages`, the source among them.
        source_language
            Any of `languages`.
        items
            How many tasks, at least 1; None means 200, or all where there are fewer.
        seed
            Of the sample. Fewer items with the same seed are the beginning of more.
        options
            ``difficulty``: ``"1"`` to ``"5"``.

        Returns
        -------
        list of Item
            ``len(languages)`` rows per task. The id is the task as an expression,
            ``"(45-12)*7"``: equal tasks of different seeds share it. The group is the id, the
            gold the result in ASCII digits.

        Raises
        ------
        UnknownNameError
            An option or a language that the benchmark does not have.
        InputError
            No such difficulty, fewer than one item or more than exist, or a source language
            that is not among `languages`.
        """
        difficulty = self._difficulty(options)
        for language in (*languages, source_language):
            if language not in _TEXTS:
                raise UnknownNameError("language of wordmath", language, _TEXTS)
        if source_language not in languages:
            raise InputError(
                f"the source language {source_language!r} is not among the languages to load "
                f"({', '.join(languages)}): add it"
            )
        tasks = all_tasks(difficulty)
        count = min(_DEFAULT_ITEMS, len(tasks)) if items is None else items
        if not 1 <= count <= len(tasks):
            raise InputError(
                f"wordmath has {len(tasks)} items of difficulty {difficulty}, but {count} were "
                f"asked for: ask for 1 to {len(tasks)}, or choose another difficulty"
            )
        return [
            Item(
                id=task.key,
                language=language,
                source_language=source_language,
                question=_question(language, task),
                gold=Gold("number", str(task.value), language, source_language),
                group=task.key,
                fields={"difficulty": str(difficulty)},
            )
            for task in draw(tasks, count, seed)
            for language in dict.fromkeys(languages)
        ]

    def prompt(self, item: Item, *, mode: Mode, prompt_language: PromptLanguage) -> Prompt:
        """Return what is sent for `item`: the task is always in the item's language.

        Parameters
        ----------
        item
            From :meth:`load`.
        mode
            ``completion``: three solved examples, then the task, up to the answer's label.
            ``chat``: an instruction with the form of the last line, then the task.
        prompt_language
            Of the instruction and the label: the item's, or English.
        """
        texts = _TEXTS[item.language if prompt_language == "native" else "en"]
        if mode == "chat":
            form = f"{texts.answer} <{texts.number}>"
            text = f"{texts.instruction}\n{form}\n\n{item.question}"
            return Prompt("chat", text, max_tokens=_CHAT_TOKENS)
        shots = [
            f"{_question(item.language, task)}\n{texts.answer} {task.value}\n\n"
            for task in examples(int(item.fields["difficulty"]))
        ]
        text = f"{''.join(shots)}{item.question}\n{texts.answer}"
        return Prompt("completion", text, stop=("\n",), max_tokens=_COMPLETION_TOKENS)

    def _difficulty(self, options: Mapping[str, str]) -> int:
        for name in options:
            if name not in self.options:
                raise UnknownNameError("option of wordmath", name, self.options)
        given = options.get("difficulty", _DEFAULT_DIFFICULTY)
        known = {str(difficulty): difficulty for difficulty in DIFFICULTIES}
        if given not in known:
            raise InputError(
                f"difficulty {given!r} does not exist: choose one of {', '.join(known)}"
            )
        return known[given]


BENCHMARK: Final = WordMath()
