"""ECLeKTic (arXiv 2502.21228): facts that one language's Wikipedia has and the others lack.

Every question was written from an article in its own source language and translated into the
eleven others, so the source differs from item to item. The model is asked without any help; what
it says is judged against the text of the article in the language of the question
(:mod:`hatscore.judging`). The answers of the file, transliterated per language, are matched as
names with ``grading=names``: cheap and reproducible, but too strict where a name has several
spellings.

The licence of the data is not established: it is neither part of this package nor fetched by it.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatscore.benchmarks.base import Finding, Item, Prompt
from hatscore.benchmarks.by_item import (
    ITEM_SOURCE,
    check_targets,
    fingerprint,
    languages_of,
    of_source,
)
from hatscore.benchmarks.eclektic_data import HOME, LANGUAGES, read_questions
from hatscore.benchmarks.official import check_options, draw
from hatscore.errors import InputError, ReaderError, UnknownNameError
from hatscore.grading.answer import Gold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.benchmarks.base import Mode, PromptLanguage
    from hatscore.benchmarks.eclektic_data import Question
    from hatscore.grading.answer import AnswerKind

__all__ = ["BENCHMARK", "Eclektic"]

# Changes with every word of a prompt, and with what becomes of the data.
_VERSION: Final = "1"
_KINDS: Final[Mapping[str, AnswerKind]] = {"judge": "judge", "names": "name"}
# A free answer, in scripts that take several tokens per character, is some sentences long. A
# completion ends with its line.
_CHAT_TOKENS: Final = 1024
_COMPLETION_TOKENS: Final = 128
_OFFICIAL_QUESTIONS: Final = 384
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class _Texts:
    """Labels and examples of one language; see the prompt file."""

    question: str
    answer: str
    gap: str
    shots: tuple[tuple[str, str], ...]


@cache
def _texts() -> dict[str, _Texts]:
    path = resources.files("hatscore.benchmarks").joinpath("prompts", "eclektic.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        tag: _Texts(t["question"], t["answer"], t["gap"], tuple((q, a) for q, a in t["shots"]))
        for tag, t in tables.items()
    }


class Eclektic:
    """The benchmark; see :class:`hatscore.benchmarks.base.Benchmark` for its attributes.

    Parameters
    ----------
    version
        Of prompts and data; :meth:`bind` gives that of a file.
    """

    name: str = "eclektic"
    title: str = "Facts known to one language's Wikipedia, asked in twelve languages"
    n_items: int = 384
    licence: str = "of the data not established; prompts Apache-2.0"
    source: str = f"arXiv 2502.21228 (Google); {HOME}"
    languages: tuple[str, ...] = LANGUAGES
    source_languages: tuple[str, ...] = (ITEM_SOURCE, *LANGUAGES)
    language_neutral_gold: bool = False
    options: Mapping[str, str] = {
        "data": "the file eclektic_main.jsonl, or a CSV of one row per question and language; "
        "required, it is not fetched",
        "grading": "judge: a model reads each answer beside the article (default); "
        "names: the answers of the file as accepted names",
    }

    def __init__(self, version: str = _VERSION) -> None:
        self.version: str = version

    def bind(self, options: Mapping[str, str]) -> Eclektic:
        """Return the benchmark with the content of the file in its version.

        Raises
        ------
        InputError
            No file, or a wrong option.
        """
        return Eclektic(f"{_VERSION}+data.{fingerprint(_path(options))}")

    def load(
        self,
        *,
        languages: Sequence[str],
        source_language: str = ITEM_SOURCE,
        items: int | None = None,
        seed: int = 0,
        options: Mapping[str, str],
    ) -> list[Item]:
        """Return questions in their own source language and in all `languages`.

        Parameters
        ----------
        languages
            Target languages. The source row of an item always comes along; ``item``, or a
            source language, may stand among them.
        source_language
            ``item``: questions of every source. A language: only questions written in it.
        items
            How many questions; None for all. The first k of more are the k of fewer.
        seed
            Any integer.
        options
            ``data``: path of the file. ``grading``: ``judge`` or ``names``.

        Returns
        -------
        list of Item
            Item by item, the source row first. The id is the file's ``q_id``. A question whose
            source is the only target language has nothing to transfer to and is left out.

        Raises
        ------
        UnknownNameError
            A language, option or way of grading that does not exist.
        InputError
            No data, more questions than there are, or languages that do not fit.
        ReaderError
            Faults in the file; the first twenty are named by line.
        """
        kind = _kind(options)
        targets = check_targets(languages, source_language, LANGUAGES)
        path = _path(options)
        questions, faults = read_questions(path)
        if faults:
            lines = [f"{fault.where}: {fault.text}" for fault in faults[:_SHOWN]]
            more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
            raise ReaderError(
                f"{path} has {len(faults)} faults; {HOME}:\n  " + "\n  ".join(lines) + more
            )
        by_id = {question.id: question for question in questions}
        sources = {question.id: question.source_language for question in questions}
        found = of_source(sources, targets, source_language)
        if not found:
            raise InputError(
                f"{path} has no question of the source {source_language!r} for the languages "
                f"{', '.join(targets)}; its sources are {', '.join(sorted(set(sources.values())))}"
            )
        return [
            _item(by_id[name], language, kind)
            for name in draw("eclektic", found, items, seed)
            for language in languages_of(sources[name], targets)
        ]

    def prompt(self, item: Item, *, mode: Mode, prompt_language: PromptLanguage) -> Prompt:
        """Return what is sent for `item`.

        Parameters
        ----------
        item
            From :meth:`load`.
        mode
            ``chat``: the bare question, as the authors of the benchmark ask. ``completion``:
            three facts as labelled examples, then the question, up to the answer's label.
        prompt_language
            Of the labels of ``completion``; the examples are in the item's language.
        """
        if mode == "chat":
            return Prompt("chat", item.question, max_tokens=_CHAT_TOKENS)
        texts = _texts()[item.language]
        labels = texts if prompt_language == "native" else _texts()["en"]
        above, below = labels.question + labels.gap, labels.answer
        shots = "".join(
            f"{above}{question}\n{below}{labels.gap}{answer}\n\n"
            for question, answer in texts.shots
        )
        text = f"{shots}{above}{item.question}\n{below}"
        return Prompt("completion", text, stop=("\n",), max_tokens=_COMPLETION_TOKENS)

    def check(self, *, options: Mapping[str, str]) -> list[Finding]:
        """Return what is to be said about the user's file.

        Raises
        ------
        InputError
            No such file, or a wrong option.
        """
        _kind(options)
        questions, faults = read_questions(_path(options))
        counts = Counter(question.source_language for question in questions)
        shown = ", ".join(f"{tag} {n}" for tag, n in sorted(counts.items()))
        findings = [Finding("info", f"{len(questions)} questions, by source language: {shown}")]
        if len(questions) != _OFFICIAL_QUESTIONS:
            findings.append(
                Finding(
                    "info",
                    f"the published set has {_OFFICIAL_QUESTIONS} questions, this file "
                    f"{len(questions)}: scores are not those of the whole set",
                )
            )
        findings += [
            Finding("fault", f"{fault.where}: {fault.text}", fault.language, fault.where)
            for fault in faults
        ]
        return findings + _bracketed(questions)


def _bracketed(questions: Sequence[Question]) -> list[Finding]:
    """Say where translated questions carry a Latin name in brackets: some do and some do not."""
    findings = []
    for tag in ("he", "hi", "ja", "ko", "zh"):
        rows = [q for q in questions if q.source_language != tag and tag in q.questions]
        named = sum(_has_bracketed_latin(q.questions[tag]) for q in rows)
        if named:
            findings.append(
                Finding(
                    "info",
                    f"{tag}: {named} of {len(rows)} translated questions give a name in Latin "
                    "letters in brackets, which helps there and not elsewhere",
                    tag,
                )
            )
    return findings


def _has_bracketed_latin(text: str) -> bool:
    inside = text.replace("（", "(").replace("）", ")").partition("(")[2].partition(")")[0]  # noqa: RUF001 - full-width brackets
    return any(char.isascii() and char.isalpha() for char in inside)


def _kind(options: Mapping[str, str]) -> AnswerKind:
    check_options("eclektic", options, Eclektic.options)
    given = options.get("grading", "judge")
    if given not in _KINDS:
        raise UnknownNameError("way of grading eclektic", given, _KINDS)
    return _KINDS[given]


def _path(options: Mapping[str, str]) -> Path:
    given = options.get("data")
    if not given:
        raise InputError(
            f"eclektic needs your own copy of its data: --set data=PATH; {HOME}. Its licence is "
            "not established, so it is neither included nor fetched"
        )
    return Path(given).expanduser()


def _item(question: Question, language: str, kind: AnswerKind) -> Item:
    return Item(
        id=question.id,
        language=language,
        source_language=question.source_language,
        question=question.questions[language],
        gold=Gold(
            kind=kind,
            value=question.answers[language],
            language=language,
            source_language=question.source_language,
            names={tag: (answer,) for tag, answer in question.answers.items()},
            context=question.contexts[language] if kind == "judge" else "",
        ),
        group=question.id,
    )


BENCHMARK: Final = Eclektic()
