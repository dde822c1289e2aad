"""``mgsm_v2`` and ``mgsm``: 250 school problems in eleven languages, in two editions.

MGSM translates 250 problems of GSM8K into ten languages (Shi et al. 2022, arXiv 2210.03057).
MGSM-Rev2 (Peter et al. 2025, arXiv 2511.05162) replaces 22 problems in English and up to 52 in
another language; no answer changed. As the English text moved too, a score of one edition says
nothing about the other, and half of each says nothing at all: the two are two benchmarks here, and
a file is refused when the rows that tell the editions apart are those of the other one
(:mod:`hatscore.benchmarks.mgsm_data`).

The gold is a number, the same in every language. Four golds of the official files carry a
thousands comma (rows 147, 202, 231 and 250); they are numbers here.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from hatscore.benchmarks.base import Finding, Item, Prompt
from hatscore.benchmarks.mgsm_data import EDITIONS, ITEMS, Fault
from hatscore.benchmarks.official import DATA_OPTION, check_options, check_request, draw
from hatscore.benchmarks.official_checks import folded, listed, text_faults
from hatscore.errors import AlignmentError, InputError, ReaderError
from hatscore.grading.answer import Gold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatscore.benchmarks.base import Mode, PromptLanguage
    from hatscore.benchmarks.mgsm_data import Edition, MgsmFile

__all__ = ["MGSM", "MGSM_V2", "Mgsm"]

# Changes with every text of prompts/mgsm.toml and with every rule about items.
_VERSION: Final = "1"
_SOURCE: Final = "en"
# Step by step in a script that takes several tokens per letter, with room for a second thought.
_CHAT_TOKENS: Final = 2048
# The longest worked solution of a problem of this kind, on one line.
_COMPLETION_TOKENS: Final = 320
_FAULTS_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class _Texts:
    """The prompt texts of one language; the keys are explained at the top of the prompt file."""

    gap: str
    question: str
    reasoning: str
    answer: str
    instruction: str
    number: str
    examples: Sequence[Mapping[str, str]]


@cache
def _prompts() -> tuple[tuple[str, ...], dict[str, _Texts]]:
    path = resources.files("hatscore.benchmarks").joinpath("prompts", "mgsm.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    answers = tuple(tables.pop("shots")["answers"])
    return answers, {language: _Texts(**tables[language]) for language in sorted(tables)}


class Mgsm:
    """One edition as a benchmark; see :class:`hatscore.benchmarks.base.Benchmark`.

    Parameters
    ----------
    edition
        Which one.
    """

    def __init__(self, edition: Edition) -> None:
        self.edition = edition
        self.name = edition.name
        self.version = f"{_VERSION}+{edition.data.hub.revision[:12]}"
        self.title = edition.title
        self.n_items = 250
        self.licence = edition.licence
        self.source = f"{edition.data.home}; prompts made here"
        self.languages = tuple(_prompts()[1])
        self.source_languages = (_SOURCE,)
        self.language_neutral_gold = True
        self.options: Mapping[str, str] = {"data": DATA_OPTION}

    def load(
        self,
        *,
        languages: Sequence[str],
        source_language: str = _SOURCE,
        items: int | None = None,
        seed: int = 0,
        options: Mapping[str, str] | None = None,
    ) -> list[Item]:
        """Return the items in all `languages`, item by item.

        Parameters
        ----------
        languages
            Tags out of :attr:`languages`, the source among them.
        source_language
            ``en``: the problems were translated from English.
        items
            How many, None for all 250. The first k of more are the k of fewer.
        seed
            Of the order.
        options
            ``data``: a directory with ``mgsm_{language}.tsv`` (no header, problem, tab, answer)
            or in the layout of the hub. Without it the pinned revision of the hub.

        Returns
        -------
        list of Item
            ``len(languages)`` rows per item. The id is the number of the row, ``"1"`` to
            ``"250"``, the group is the id, the gold a number without thousands commas.

        Raises
        ------
        UnknownNameError
            No such option or language.
        InputError
            Wrong languages or number of items, or data that cannot be found.
        ReaderError
            A file that is not what it should be: rows, columns, golds, or the other edition.
        AlignmentError
            The golds of two languages differ.
        """
        options = options or {}
        check_options(self.name, options, self.options)
        check_request(self.name, languages, source_language, self.languages)
        if source_language not in self.source_languages:
            raise InputError(
                f"the source language of {self.name} is {_SOURCE}, got {source_language!r}: the "
                f"problems were written in English and translated"
            )
        questions: dict[str, list[str]] = {}
        golds: dict[str, list[str]] = {}
        for language in languages:
            file = self.edition.read(options.get("data"), language)
            if faults := list(file.faults()):
                raise ReaderError(_joined(faults))
            questions[language] = file.questions
            golds[language] = file.golds
        if unequal := list(_unequal(golds)):
            raise AlignmentError(
                f"{self.name}: the answers differ between languages: {_joined(unequal)}. The "
                f"files do not belong together"
            )
        return [
            Item(
                id=row,
                language=language,
                source_language=source_language,
                question=questions[language][int(row) - 1],
                gold=Gold("number", golds[language][int(row) - 1], language, source_language),
                group=row,
            )
            for row in draw(self.name, [str(n + 1) for n in range(ITEMS)], items, seed)
            for language in languages
        ]

    def prompt(self, item: Item, *, mode: Mode, prompt_language: PromptLanguage) -> Prompt:
        """Return what is sent for `item`: the problem is always in the item's language.

        ``chat``: no examples; the instruction asks for the way first and for a last line of a
        given form. ``completion``: three worked examples that are no items, then the problem, up
        to the label of the reasoning; the answer comes after it, on a line of its own.

        Parameters
        ----------
        item
            From :meth:`load`.
        mode
            ``chat`` or ``completion``.
        prompt_language
            ``native``, or ``english`` for an English instruction, English labels and English
            reasoning in the examples, whose problems stay in the item's language.
        """
        answers, by_language = _prompts()
        own = by_language[item.language]
        texts = own if prompt_language == "native" else by_language["en"]
        gap = texts.gap
        if mode == "chat":
            form = f"{texts.answer}{gap}<{texts.number}>"
            text = f"{texts.instruction}\n{form}\n\n{item.question}"
            return Prompt("chat", text, max_tokens=_CHAT_TOKENS)
        shots = "".join(
            f"{texts.question}{gap}{problem['question']}\n"
            f"{texts.reasoning}{gap}{worked['reasoning']}\n"
            f"{texts.answer}{gap}{answer}\n\n"
            for problem, worked, answer in zip(own.examples, texts.examples, answers, strict=True)
        )
        text = f"{shots}{texts.question}{gap}{item.question}\n{texts.reasoning}"
        return Prompt("completion", text, (f"\n{texts.question}",), _COMPLETION_TOKENS)

    def check(self, *, options: Mapping[str, str]) -> list[Finding]:
        """Look over the files of all languages; see :class:`hatscore.benchmarks.base.Checkable`.

        Counts, columns, answers, edition, equal answers in all languages, characters, problems
        that come twice. A file that cannot be read is a finding; a directory that does not exist
        is an InputError.
        """
        check_options(self.name, options, self.options)
        path = options.get("data")
        findings: list[Finding] = []
        golds: dict[str, list[str]] = {}
        for language in self.languages:
            try:
                file = self.edition.read(path, language)
            except ReaderError as error:
                findings.append(Finding("fault", f"{language}: {error}", language))
                continue
            faults = list(file.faults())
            findings += [
                Finding("fault", f"{language}: {fault.text}", language, fault.row)
                for fault in faults
            ]
            findings += _look(file)
            if not faults:
                golds[language] = file.golds
                findings += _approve(file)
        unequal = list(_unequal(golds))
        findings += [Finding("fault", fault.text, row=fault.row) for fault in unequal]
        if len(golds) > 1 and not unequal:
            text = f"all {ITEMS} answers are the same numbers in {len(golds)} languages"
            findings.append(Finding("info", f"{text}: {', '.join(golds)}"))
        return findings


def _look(file: MgsmFile) -> Iterator[Finding]:
    """Yield what is wrong with single texts, usable or not."""
    language = file.language
    questions = {str(number): row[0] for number, row in enumerate(file.rows, 1)}
    for row in file.unknown_rows():
        text = (
            f"{language}: row {row} has the text of neither edition, though the editions differ "
            f"there: it is not the official one"
        )
        yield Finding("fault", text, language, row)
    for row, question in questions.items():
        for fault in text_faults(question):
            yield Finding("fault", f"{language}: row {row} contains {fault}", language, row)
    counts = Counter(folded(question) for question in questions.values())
    for repeated in (text for text, count in counts.items() if count > 1):
        rows = [row for row, question in questions.items() if folded(question) == repeated]
        text = f"{language}: rows {listed(rows)} ask the same"
        yield Finding("fault", text, language, rows[0])


def _approve(file: MgsmFile) -> Iterator[Finding]:
    """Yield what a usable file was found to be."""
    language = file.language
    marked = len(file.edition.rows.get(language, {})) - len(file.unknown_rows())
    text = (
        f"{language}: {file.place} has {len(file.rows)} problems; {marked} rows that differ "
        f"between {file.edition.name} and {file.edition.other} are those of {file.edition.name}"
    )
    yield Finding("info", text, language)
    if commas := [str(number) for number, row in enumerate(file.rows, 1) if "," in row[1]]:
        text = f"{language}: the answers to rows {listed(commas)} are read without thousands commas"
        yield Finding("info", text, language)
    other_form = [q for q in file.questions if q != unicodedata.normalize("NFC", q)]
    if other_form:
        text = (
            f"{language}: {len(other_form)} problems are not in Unicode form NFC; sent as they are"
        )
        yield Finding("info", text, language)


def _joined(faults: Sequence[Fault]) -> str:
    """Return the first faults in one line, and how many more `benchmarks check` would list."""
    more = len(faults) - _FAULTS_SHOWN
    tail = f" (and {more} more; `hatscore benchmarks check` lists all)" if more > 0 else ""
    return "; ".join(fault.text for fault in faults[:_FAULTS_SHOWN]) + tail


def _unequal(golds: Mapping[str, Sequence[str]]) -> Iterator[Fault]:
    """Yield the rows whose answers differ between languages."""
    for number, values in enumerate(zip(*golds.values(), strict=True), 1):
        if len(set(values)) > 1:
            came = ", ".join(f"{tag} {value}" for tag, value in zip(golds, values, strict=True))
            yield Fault(f"row {number}: {came}", str(number))


MGSM: Final = Mgsm(EDITIONS["mgsm"])
MGSM_V2: Final = Mgsm(EDITIONS["mgsm_v2"])
