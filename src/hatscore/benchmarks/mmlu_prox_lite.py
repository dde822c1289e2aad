"""``mmlu_prox_lite``: 588 expert questions with up to ten options, in 29 languages.

MMLU-ProX-Lite (Xuan et al. 2025, arXiv 2503.10497) translates questions of MMLU-Pro. Answer and
number of options are the same in every language; 485 questions have ten options and the rest have
four to nine, so that the chance of a blind guess is that of the item.

**Options that translation made identical.** In nine rows some language has an option with the very
text of the right one (in row 445 thirteen languages do). Nobody can choose between them there. Such
a letter counts as right *in every language*, and the chance of a blind guess rises with it, so
that source and target are asked the same and what is lost is only that nine easy mistakes are
forgiven on both sides. To forgive them only where they occur would make the target easier than the
source; to drop the rows would be as fair, but would change the number of items and leave no score
that can be set beside a published one. The table is
:data:`hatscore.benchmarks.mmlu_prox_lite_data.ALSO_RIGHT`; it holds whatever languages a run has.

**Examples for base models** are three questions of the validation split, with the letter alone:
the files of every layout have the letter, and only some have worked solutions. They are rows 13,
32 and 54, because of the first three one has a broken formula in 21 languages, one is padded with
options ``N/A``, and all are of one subject.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from hatscore.benchmarks.base import Finding, Item, Prompt
from hatscore.benchmarks.mmlu_prox_lite_data import (
    ALSO_RIGHT,
    CONTROL_ROWS,
    DATA,
    ITEMS,
    LETTERS,
    OPTION_COUNTS,
    ProxFile,
    Question,
    identical_to_gold,
    read,
    unequal,
)
from hatscore.benchmarks.official import DATA_OPTION, check_options, check_request, draw
from hatscore.benchmarks.official_checks import listed, same_text, text_faults
from hatscore.errors import AlignmentError, InputError, ReaderError
from hatscore.grading.answer import Gold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatscore.benchmarks.base import Mode, PromptLanguage

__all__ = ["BENCHMARK", "SHOT_ROWS", "MmluProxLite"]

# Changes with every text of prompts/mmlu_prox_lite.toml and with every rule about items.
_VERSION: Final = "1"
_CHAT_TOKENS: Final = 2048
# A letter, with the decoration that a base model may put around it.
_COMPLETION_TOKENS: Final = 8
_FAULTS_SHOWN: Final = 3

SHOT_ROWS: Final = (13, 32, 54)
"""Rows of the validation split that are the examples of few-shot prompts."""


@dataclass(frozen=True, slots=True)
class _Texts:
    """The prompt texts of one language; the keys are explained at the top of the prompt file."""

    gap: str
    question: str
    answer: str
    instruction: str
    letter: str


@cache
def _prompts() -> dict[str, _Texts]:
    path = resources.files("hatscore.benchmarks").joinpath("prompts", "mmlu_prox_lite.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {language: _Texts(**tables[language]) for language in sorted(tables)}


class MmluProxLite:
    """The benchmark; see :class:`hatscore.benchmarks.base.Benchmark` for its attributes."""

    def __init__(self) -> None:
        self.name = "mmlu_prox_lite"
        self.version = f"{_VERSION}+{DATA.hub.revision[:12]}"
        self.title = "Expert questions with up to ten options, MMLU-ProX-Lite"
        self.n_items = 588
        self.licence = "MIT"
        self.source = f"{DATA.home}; prompts made here"
        self.languages = tuple(_prompts())
        self.source_languages = ("en",)
        self.language_neutral_gold = True
        self.options: Mapping[str, str] = {"data": DATA_OPTION}

    def load(
        self,
        *,
        languages: Sequence[str],
        source_language: str = "en",
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
            ``en``: the questions were translated from English.
        items
            How many, None for all 588. The first k of more are the k of fewer.
        seed
            Of the order.
        options
            ``data``: a directory in the layout of the hub, or with ``{language}.test.jsonl`` and
            ``{language}.validation.jsonl``. Without it the pinned revision of the hub.

        Returns
        -------
        list of Item
            ``len(languages)`` rows per item. The id is the row of the test split, ``"0"`` to
            ``"587"``, whatever the layout. The group is the category where the files have one,
            else the id. The chance is that of a blind guess among the item's options.

        Raises
        ------
        UnknownNameError
            No such option or language.
        InputError
            Wrong languages or number of items, or data that cannot be found.
        ReaderError
            A file that is not what it should be.
        AlignmentError
            Answers, numbers of options or ids of two languages differ.
        """
        options = options or {}
        check_options(self.name, options, self.options)
        check_request(self.name, languages, source_language, self.languages)
        if source_language not in self.source_languages:
            raise InputError(
                f"the source language of {self.name} is en, got {source_language!r}: the "
                f"questions were written in English and translated"
            )
        path = options.get("data")
        files: dict[str, ProxFile] = {}
        for language in languages:
            file = files[language] = read(path, language, "test")
            if file.faults:
                raise ReaderError(_joined(file.faults))
        if differences := list(unequal(files)):
            raise AlignmentError(
                f"{self.name}: the languages do not belong together: {_joined(differences)}"
            )
        shots = {language: _shots(path, language) for language in languages}
        also = _also_right(files)
        source = files[source_language].questions
        return [
            _item(
                row,
                files[language].questions[row],
                Gold("choice", source[row].answer, language, source_language),
                also=also.get(row, ""),
                group=source[row].category,
                fields=shots[language],
            )
            for row in map(int, draw(self.name, [str(n) for n in range(len(source))], items, seed))
            for language in languages
        ]

    def prompt(self, item: Item, *, mode: Mode, prompt_language: PromptLanguage) -> Prompt:
        """Return what is sent for `item`: question and options are in the item's language.

        ``chat``: no examples; the instruction asks for the way first and for a last line of a
        given form. ``completion``: three questions with the letter of the answer alone, then the
        question up to the label of the answer.

        Parameters
        ----------
        item
            From :meth:`load`.
        mode
            ``chat`` or ``completion``.
        prompt_language
            ``native``, or ``english`` for an English instruction and English labels.

        Raises
        ------
        InputError
            ``completion``, and the validation split that has the examples could not be read.
        """
        texts = _prompts()[item.language if prompt_language == "native" else "en"]
        block = _block(item.question, item.gold.options)
        if mode == "chat":
            form = f"{texts.answer}{texts.gap}<{texts.letter}>"
            return Prompt(
                "chat", f"{texts.instruction}\n{form}\n\n{block}", max_tokens=_CHAT_TOKENS
            )
        if reason := item.fields.get("no_shots"):
            raise InputError(
                f"{self.name}: the examples of few-shot prompts are rows of the validation split, "
                f"which cannot be used: {reason}. Add it beside the test split, or choose chat mode"
            )
        shots = "".join(
            f"{texts.question}{texts.gap}{item.fields[f'shot_{row}']}\n"
            f"{texts.answer}{texts.gap}{item.fields[f'shot_{row}_answer']}\n\n"
            for row in SHOT_ROWS
        )
        text = f"{shots}{texts.question}{texts.gap}{block}\n{texts.answer}"
        return Prompt("completion", text, ("\n",), _COMPLETION_TOKENS)

    def check(self, *, options: Mapping[str, str]) -> list[Finding]:
        """Look over the files of all languages; see :class:`hatscore.benchmarks.base.Checkable`.

        Counts, options, answers, agreement of all languages, characters, options that are equal,
        and whether the letters of ``ALSO_RIGHT`` are those that the files of all languages show.
        A file that cannot be read is a finding; a directory that does not exist is an InputError.
        """
        check_options(self.name, options, self.options)
        findings: list[Finding] = []
        sound: dict[str, ProxFile] = {}
        for language in self.languages:
            for split in ITEMS:
                try:
                    file = read(options.get("data"), language, split)
                except ReaderError as error:
                    findings.append(Finding("fault", f"{language}: {error}", language))
                    continue
                findings += [
                    Finding("fault", f"{language}: {text}", language, "" if row < 0 else str(row))
                    for row, text in file.faults
                ]
                findings += _characters(file)
                if split == "test" and not file.faults:
                    sound[language] = file
        findings += _agreement(sound)
        findings += _equal_options(sound)
        findings += _table(sound, complete=len(sound) == len(self.languages))
        return findings


def _item(
    row: int,
    question: Question,
    gold: Gold,
    *,
    also: str,
    group: str,
    fields: Mapping[str, str],
) -> Item:
    labels = tuple(LETTERS[: len(question.options)])
    accepted = tuple(letter for letter in also if letter in labels and letter != gold.value)
    return Item(
        id=str(row),
        language=gold.language,
        source_language=gold.source_language,
        question=question.text,
        gold=replace(gold, options=question.options, labels=labels, also=accepted),
        group=group or str(row),
        chance=(1 + len(accepted)) / len(labels),
        fields=fields,
    )


def _also_right(files: Mapping[str, ProxFile]) -> dict[int, str]:
    """Return row -> letters: the table, and what the loaded files show beyond it.

    Beyond it there is nothing in the pinned revision. Another one may have more such options; it
    is better to forgive them in the languages of this run than to mark a right answer wrong.
    """
    letters = {row: set(known) for row, known in ALSO_RIGHT.items()}
    for row, by_language in identical_to_gold(files).items():
        letters.setdefault(row, set()).update(*by_language.values())
    return {row: "".join(sorted(found)) for row, found in letters.items()}


def _shots(path: str | None, language: str) -> dict[str, str]:
    """Return the examples of a language as fields of its items, or why there are none."""
    try:
        file = read(path, language, "validation")
    except ReaderError as error:
        return {"no_shots": str(error)}
    if file.faults:
        return {"no_shots": _joined(file.faults)}
    fields = {}
    for row in SHOT_ROWS:
        question = file.questions[row]
        fields[f"shot_{row}"] = _block(question.text, question.options)
        fields[f"shot_{row}_answer"] = question.answer
    return fields


def _block(question: str, options: Sequence[str]) -> str:
    lines = [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)]
    return "\n".join([question, *lines])


def _characters(file: ProxFile) -> Iterator[Finding]:
    """Yield what is wrong with single texts; what is known of published copies is no fault."""
    language = file.language
    other_form = 0
    for row, question in enumerate(file.questions):
        texts = (question.text, *question.options)
        other_form += any(text != unicodedata.normalize("NFC", text) for text in texts)
        known = row in CONTROL_ROWS[file.split]
        for fault in sorted({fault for text in texts for fault in text_faults(text)}):
            official = "; known of published copies" if known else ""
            text = f"{language}: {file.split} row {row} contains {fault}{official}"
            yield Finding("info" if known else "fault", text, language, str(row))
    if other_form:
        text = (
            f"{language}: {other_form} {file.split} questions are not in Unicode form NFC; they "
            f"are sent as they are"
        )
        yield Finding("info", text, language)


def _agreement(files: Mapping[str, ProxFile]) -> Iterator[Finding]:
    """Yield whether all languages have the same answers and numbers of options."""
    if not files:
        return
    differences = list(unequal(files))
    yield from (Finding("fault", text, row=str(row)) for row, text in differences)
    if not differences and len(files) > 1:
        text = f"answers and numbers of options are the same in {len(files)} languages"
        yield Finding("info", f"{text}: {', '.join(files)}")
    for language, file in files.items():
        counts = Counter(len(question.options) for question in file.questions)
        if counts != OPTION_COUNTS:
            came, expected = _counted(counts), _counted(OPTION_COUNTS)
            text = f"{language}: questions by number of options are {came}, expected {expected}"
            yield Finding("fault", text, language)
    if all(not question.category for file in files.values() for question in file.questions):
        yield Finding("info", "the files have no categories: every question is its own group")


def _equal_options(files: Mapping[str, ProxFile]) -> Iterator[Finding]:
    """Yield, by language, the rows with equal options among the wrong ones."""
    for language, file in files.items():
        rows = []
        for row, question in enumerate(file.questions):
            right = same_text(question.options[LETTERS.index(question.answer)])
            wrong = [text for text in map(same_text, question.options) if text != right]
            if len(set(wrong)) < len(wrong):
                rows.append(str(row))
        if rows:
            text = f"{language}: wrong options are equal in rows {listed(rows)}; no answer changes"
            yield Finding("info", text, language)


def _table(files: Mapping[str, ProxFile], *, complete: bool) -> Iterator[Finding]:
    """Yield the options equal to the right one, and whether the table of them is right."""
    found = identical_to_gold(files)
    for row, by_language in found.items():
        where = ", ".join(f"{letters} in {tag}" for tag, letters in by_language.items())
        letters = "".join(sorted(set().union(*by_language.values())))
        if set(letters) <= set(ALSO_RIGHT.get(row, "")):
            text = (
                f"row {row}: an option has the text of the right one ({where}); "
                f"accepted in every language: {' and '.join(letters)}"
            )
            yield Finding("info", text, row=str(row))
        else:
            text = (
                f"row {row}: an option has the text of the right one ({where}), which the table "
                f"of the pinned revision does not have: only runs with these languages accept it"
            )
            yield Finding("fault", text, row=str(row))
    if complete:
        for row, known in ALSO_RIGHT.items():
            letters = "".join(sorted(set().union(*found.get(row, {}).values())))
            if missing := "".join(sorted(set(known) - set(letters))):
                text = (
                    f"row {row}: {' and '.join(missing)} is accepted, but no language has the text "
                    f"of the right option there: not the pinned revision"
                )
                yield Finding("fault", text, row=str(row))


def _counted(counts: Mapping[int, int]) -> str:
    return ", ".join(f"{number}: {counts[number]}" for number in sorted(counts, reverse=True))


def _joined(faults: Sequence[tuple[int, str]]) -> str:
    """Return the first faults in one line, and how many more `benchmarks check` would list."""
    more = len(faults) - _FAULTS_SHOWN
    tail = f" (and {more} more; `hatscore benchmarks check` lists all)" if more > 0 else ""
    return "; ".join(text for _, text in faults[:_FAULTS_SHOWN]) + tail


BENCHMARK: Final = MmluProxLite()
