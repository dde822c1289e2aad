"""A table of the user's own questions as a benchmark; see :mod:`.custom_table` for its columns.

What the answers are is seen from the content: options make a multiple choice, answers that are
all numbers are compared as numbers, and everything else is a name with its aliases. The source
language is that of the row's ``source_language``; without this column it is one language for all
items, English where the table has it.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast, get_args

from hatscore.benchmarks.base import Finding, Item, Prompt
from hatscore.benchmarks.by_item import (
    ITEM_SOURCE,
    check_targets,
    fingerprint,
    languages_of,
    of_source,
)
from hatscore.benchmarks.custom_items import Kind, arrange
from hatscore.benchmarks.custom_table import REQUIRED, read_rows
from hatscore.benchmarks.official import check_options, draw
from hatscore.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.benchmarks.base import Mode, PromptLanguage
    from hatscore.benchmarks.custom_items import Questions
    from hatscore.benchmarks.custom_table import Fault

__all__ = ["BENCHMARK", "Custom"]

# Changes with every word of a prompt, and with what becomes of a table.
_VERSION: Final = "1"
# A chat model may think aloud before the line with the answer; a completion ends with its line.
_CHAT_TOKENS: Final = 1024
_COMPLETION_TOKENS: Final = 128
_SHOWN: Final = 30
_MISSING: Final = ("refuse", "drop")


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of one language; the keys are explained at the top of the prompt file."""

    gap: str
    question: str
    answer: str
    form: str
    letter: str
    number: str
    brief: str


@cache
def _texts() -> dict[str, _Texts]:
    path = resources.files("hatscore.benchmarks").joinpath("prompts", "custom.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {tag: _Texts(**table) for tag, table in tables.items()}


class Custom:
    """The benchmark; it has languages only when it is bound to a table.

    Parameters
    ----------
    version
        Of prompts and table.
    languages, source_languages
        Those of the table.
    language_neutral_gold
        Whether the answers are numbers or letters.
    """

    name: str = "custom"
    title: str = "A table of your own: CSV, TSV, JSON lines or Parquet"
    licence: str = "yours"
    source: str = "your file"
    options: Mapping[str, str] = {
        "data": f"the table, required: columns {', '.join(REQUIRED)}, and if you like "
        "source_language, options, aliases, group, prompt",
        "kind": "name, number or choice; default: seen from the content",
        "missing": "drop leaves out items that lack one of the languages; default refuse",
    }

    def __init__(
        self,
        version: str = _VERSION,
        languages: tuple[str, ...] = (),
        source_languages: tuple[str, ...] = (ITEM_SOURCE,),
        *,
        language_neutral_gold: bool = False,
    ) -> None:
        self.version: str = version
        self.languages: tuple[str, ...] = languages
        self.source_languages: tuple[str, ...] = source_languages
        self.language_neutral_gold: bool = language_neutral_gold

    def bind(self, options: Mapping[str, str]) -> Custom:
        """Return the benchmark with the languages and the content of the table.

        Raises
        ------
        InputError
            No table, or a wrong option.
        ReaderError
            Faults in the table: every one is named by line, up to thirty.
        """
        path = _path(options)
        table = _table(options)
        return Custom(
            f"{_VERSION}+data.{fingerprint(path)}",
            table.languages,
            _source_languages(table),
            language_neutral_gold=table.kind != "name",
        )

    def load(
        self,
        *,
        languages: Sequence[str],
        source_language: str,
        items: int | None = None,
        seed: int = 0,
        options: Mapping[str, str],
    ) -> list[Item]:
        """Return the items of the table in all `languages`.

        Parameters
        ----------
        languages
            Languages of the table, the source among them.
        source_language
            A language. With a column ``source_language`` also ``item``: every item in its own
            source and in `languages`; a language then keeps the items of that source alone.
        items
            How many items; None for all. The first k of more are the k of fewer.
        seed
            Any integer.
        options
            ``data``, ``kind`` and ``missing``; see :attr:`options`.

        Returns
        -------
        list of Item
            Item by item, the source row first.

        Raises
        ------
        UnknownNameError
            A language, option or value that does not exist.
        InputError
            No table, an item without a row in one of the languages, more items than there are.
        ReaderError
            Faults in the table.
        """
        table = _table(options)
        targets = check_targets(languages, source_language, table.languages)
        sources = table.sources
        if not sources:
            if source_language == ITEM_SOURCE:
                raise InputError(
                    f"{options['data']} has no column source_language, so the source is one "
                    f"language for all items: one of {', '.join(table.languages)}"
                )
            sources = dict.fromkeys(table.rows, source_language)
        found = of_source(sources, targets, source_language)
        found = _complete(found, sources, targets, table, options)
        return [
            self._item(table, name, language, sources[name])
            for name in draw("custom", found, items, seed)
            for language in languages_of(sources[name], targets)
        ]

    def _item(self, table: Questions, name: str, language: str, source: str) -> Item:
        row = table.rows[name][language]
        gold = table.gold(name, language, source)
        return Item(
            id=name,
            language=language,
            source_language=source,
            question=row.question,
            gold=gold,
            group=table.group(name),
            chance=1 / len(gold.options) if gold.options else 0.0,
            fields={"prompt": row.prompt} if row.prompt else {},
        )

    def prompt(self, item: Item, *, mode: Mode, prompt_language: PromptLanguage) -> Prompt:
        """Return what is sent for `item`.

        A row's own prompt is sent as it is. Otherwise ``chat`` is the question, its options, and
        a line that says how to answer; ``completion`` the labelled question, its options and the
        label of the answer, without examples: a table that wants some has a column ``prompt``.
        A language without texts of its own gets those of its base language, else English ones.

        Parameters
        ----------
        item
            From :meth:`load`.
        mode
            ``completion`` ends with the first line; after a row's own prompt only where the
            answer is no number, which is often reached in several lines.
        prompt_language
            Of labels and instruction.
        """
        kind = item.gold.kind
        limit = _CHAT_TOKENS if mode == "chat" else _COMPLETION_TOKENS
        own = item.fields.get("prompt")
        if own is not None:
            if mode == "completion" and kind == "number":
                return Prompt(mode, own, max_tokens=_CHAT_TOKENS)
            return Prompt(mode, own, ("\n",) if mode == "completion" else (), limit)
        texts = _texts_of(item.language if prompt_language == "native" else "en")
        options = "".join(
            f"\n{label}. {option}"
            for label, option in zip(item.gold.labels, item.gold.options, strict=True)
        )
        if mode == "completion":
            text = f"{texts.question}{texts.gap}{item.question}{options}\n{texts.answer}"
            return Prompt("completion", text, ("\n",), limit)
        if kind == "name":
            how = texts.brief
        else:
            shown = texts.letter if kind == "choice" else texts.number
            how = f"{texts.form}\n{texts.answer}{texts.gap}<{shown}>"
        return Prompt("chat", f"{item.question}{options}\n\n{how}", max_tokens=limit)

    def check(self, *, options: Mapping[str, str]) -> list[Finding]:
        """Return what is to be said about the table, every fault included.

        Raises
        ------
        InputError
            No table, or a wrong option.
        """
        table, faults = _read(options)
        counts = Counter(tag for rows in table.rows.values() for tag in rows)
        findings = [
            Finding(
                "info",
                f"{len(table.rows)} items, answers of kind {table.kind}; languages: "
                + ", ".join(f"{tag} {n}" for tag, n in sorted(counts.items())),
            )
        ]
        for tag, n in sorted(counts.items()):
            if n < len(table.rows):
                findings.append(Finding("info", f"{tag} lacks {len(table.rows) - n} items", tag))
            if _texts_of(tag) is _texts()["en"] and not tag.startswith("en"):
                findings.append(
                    Finding("info", f"{tag} has no labels here: those of English are used", tag)
                )
        return findings + [
            Finding("fault", str(fault), fault.language, fault.where) for fault in faults
        ]


def _path(options: Mapping[str, str]) -> Path:
    check_options("custom", options, Custom.options)
    if not options.get("data"):
        raise InputError(
            f"custom needs your table: --set data=PATH, with the columns {', '.join(REQUIRED)}"
        )
    return Path(options["data"]).expanduser()


def _read(options: Mapping[str, str]) -> tuple[Questions, list[Fault]]:
    path = _path(options)
    kind = options.get("kind")
    if kind is not None and kind not in get_args(Kind):
        raise UnknownNameError("kind of answer", kind, get_args(Kind))
    rows, columns, faults = read_rows(path)
    table = arrange(rows, kind=cast("Kind | None", kind), has_sources="source_language" in columns)
    return table, _in_order([*faults, *table.faults])


def _table(options: Mapping[str, str]) -> Questions:
    table, faults = _read(options)
    if faults:
        more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise InputError(
            f"{options['data']}: {len(faults)} fault{'s' * (len(faults) > 1)}:\n  "
            + "\n  ".join(str(fault) for fault in faults[:_SHOWN])
            + more
        )
    return table


def _in_order(faults: Sequence[Fault]) -> list[Fault]:
    """Sort faults by line, those of the whole file first."""
    return sorted(faults, key=lambda f: int(f.where.rpartition(" ")[2]) if f.where else 0)


def _source_languages(table: Questions) -> tuple[str, ...]:
    if table.sources:
        return (ITEM_SOURCE, *sorted(set(table.sources.values())))
    return tuple(sorted(table.languages, key=lambda tag: (tag != "en", tag)))


def _complete(
    found: list[str],
    sources: Mapping[str, str],
    targets: Sequence[str],
    table: Questions,
    options: Mapping[str, str],
) -> list[str]:
    """Return the items that exist in their source and in every target."""
    given = options.get("missing", "refuse")
    if given not in _MISSING:
        raise UnknownNameError("way with missing rows", given, _MISSING)
    lacking = {
        name: absent
        for name in found
        if (
            absent := [t for t in languages_of(sources[name], targets) if t not in table.rows[name]]
        )
    }
    whole = [name for name in found if name not in lacking]
    if lacking and given == "refuse":
        shown = [f"{name} lacks {', '.join(absent)}" for name, absent in lacking.items()]
        raise InputError(
            f"{len(lacking)} of {len(found)} items have no row in one of the languages: "
            f"{'; '.join(shown[:_SHOWN])}{'; ...' if len(shown) > _SHOWN else ''}. Add the rows, "
            "name fewer languages with -l, or leave these items out with --set missing=drop"
        )
    if not whole:
        raise InputError(
            f"no item has a row in each of {', '.join(targets)} and in its source language: name "
            "fewer languages with -l"
        )
    return whole


def _texts_of(tag: str) -> _Texts:
    texts = _texts()
    return texts.get(tag) or texts.get(tag.partition("-")[0]) or texts["en"]


BENCHMARK: Final = Custom()
