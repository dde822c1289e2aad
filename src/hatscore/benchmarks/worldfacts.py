"""Capitals and cities of the world, in the words of Unicode CLDR: short questions, exact golds.

Three kinds of question. ``capital`` gives a country and asks for its capital. ``country`` gives a
city and asks for its country. ``currency`` gives a country and asks for its currency; only
countries with a currency of their own are asked. The country is the cluster of an item: what a
model knows of one country is not independent.

Currencies are off by default. CLDR calls the currency of Japan "Japanese Yen" and has no shorter
name, so "yen" is graded wrong, and how often people shorten differs between languages.

An item exists in a language only if CLDR names both its ends there (see
:mod:`hatscore.benchmarks.worldfacts_data`). It exists nowhere if in any language of the benchmark
the question gives the answer away: Tunis lies in Tunisia.
"""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from hatscore.benchmarks.base import Benchmark, Item, Mode, Prompt, PromptLanguage
from hatscore.benchmarks.worldfacts_data import (
    city_names,
    country_names,
    currency_names,
    currency_of,
    load_facts,
    load_prompts,
    names_version,
)
from hatscore.errors import InputError, UnknownNameError
from hatscore.grading.answer import Gold
from hatscore.languages import check_language

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["BENCHMARK", "KINDS", "WorldFacts"]

Names = tuple[str, ...]

KINDS = ("capital", "country", "currency")
DEFAULT_KINDS = "capital+country"


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind of question is named and read: both ends are codes until a language comes."""

    asked: str
    asked_names: Callable[[str, str], Names]
    answer_names: Callable[[str, str], Names]


_READ: Mapping[str, _Kind] = {
    "capital": _Kind("country", country_names, city_names),
    "country": _Kind("city", city_names, country_names),
    "currency": _Kind("country", country_names, currency_names),
}


@dataclass(frozen=True, slots=True)
class _Fact:
    """One item before it is in a language."""

    kind: str
    country: str
    asked: str
    answer: str

    @property
    def id(self) -> str:
        return f"{self.kind}:{self.asked.split('/')[-1]}"

    def question(self, language: str) -> Names:
        return _READ[self.kind].asked_names(self.asked, language)

    def names(self, language: str) -> Names:
        return _READ[self.kind].answer_names(self.answer, language)

    def exists(self, language: str) -> bool:
        return bool(self.question(language) and self.names(language))


class WorldFacts:
    """The benchmark ``worldfacts``; see the module for what it asks."""

    name: str = "worldfacts"
    title: str = "Capitals, countries of cities and currencies, in the names of Unicode CLDR"
    licence: str = "facts and prompts Apache-2.0, names Unicode License v3"
    source: str = (
        "facts compiled for hatscore; names from Unicode CLDR (https://cldr.unicode.org) "
        "through Babel"
    )
    language_neutral_gold: bool = False
    options: Mapping[str, str] = {
        "kind": f"what is asked: {', '.join(KINDS)}, several joined by +, or all "
        f"(default {DEFAULT_KINDS})",
    }

    def __init__(self) -> None:
        facts = load_facts()
        self.version: str = f"{facts.version} ({names_version()})"
        self.languages: tuple[str, ...] = tuple(sorted(load_prompts()))
        self.source_languages: tuple[str, ...] = (
            "en",
            *(tag for tag in self.languages if tag != "en"),
        )

    def load(
        self,
        *,
        languages: Sequence[str],
        source_language: str = "en",
        items: int | None = None,
        seed: int = 0,
        options: Mapping[str, str] | None = None,
    ) -> list[Item]:
        """Return the items that exist in all `languages`, item by item.

        The order is that of a hash of seed and item, and does not depend on the languages: two
        runs with other languages share most of their items, and a longer table of facts keeps
        the order of the old ones.

        Parameters
        ----------
        languages
            Tags, `source_language` among them. Each item comes in this order of languages.
        source_language
            Language of the source rows.
        items
            How many items, None for all that exist. The first k of more are the k of fewer.
        seed
            Any integer.
        options
            ``kind``, see :attr:`options`.

        Returns
        -------
        list of Item
            ``len(languages)`` rows per item.

        Raises
        ------
        UnknownNameError
            No such language, option or kind; the message names the nearest ones.
        InputError
            `source_language` is not among `languages`, a language comes twice, or more items are
            wanted than exist.
        """
        for tag in (*languages, source_language):
            check_language(tag, self.languages)
        if source_language not in languages or len(set(languages)) != len(languages):
            raise InputError(
                f"languages must name each language once and {source_language!r}, the source, "
                f"among them; got {', '.join(languages) or 'none'}"
            )
        kinds = _kinds(options or {})
        found = [
            fact
            for fact in self._facts
            if fact.kind in kinds and all(fact.exists(tag) for tag in languages)
        ]
        if items is not None and not 0 < items <= len(found):
            raise InputError(
                f"worldfacts has {len(found)} items of kind {'+'.join(kinds)} in "
                f"{', '.join(languages)}; {items} were asked for: choose 1 to {len(found)}"
            )
        found.sort(key=lambda fact: _rank(seed, fact.id))
        return [_item(fact, tag, source_language) for fact in found[:items] for tag in languages]

    def prompt(self, item: Item, *, mode: Mode, prompt_language: PromptLanguage) -> Prompt:
        """Return what is sent for `item`.

        ``completion``: three examples and the question, each as two labelled lines, ending with
        the label of the answer and no blank. ``chat``: the labelled name, and below it a
        question that asks for the name alone. Labels and question are in the item's language
        with ``native``, English with ``english``; names always in the item's language.

        Parameters
        ----------
        item
            An item of :meth:`load`.
        mode
            ``chat`` or ``completion``.
        prompt_language
            ``native`` or ``english``.

        Returns
        -------
        Prompt
            Its bound leaves room for the longest name at one token a byte.
        """
        kind = item.fields["kind"]
        texts = load_prompts()["en" if prompt_language == "english" else item.language]
        gap = texts["gap"]
        above, below = texts[_READ[kind].asked], texts[kind]
        last = f"{above}{gap}{item.question}\n"
        if mode == "chat":
            return Prompt("chat", f"{last}{texts[f'ask_{kind}']}", max_tokens=_MAX_TOKENS[kind])
        shots = "".join(
            f"{above}{gap}{fact.question(item.language)[0]}\n"
            f"{below}{gap}{fact.names(item.language)[0]}\n\n"
            for fact in _shots(kind)
        )
        return Prompt("completion", f"{shots}{last}{below}", ("\n",), _MAX_TOKENS[kind])

    @cached_property
    def _facts(self) -> tuple[_Fact, ...]:
        """Every fact that may be asked: no example, and no question that holds its answer."""
        shots = load_facts().shots
        return tuple(
            fact
            for fact in _all_facts()
            if fact.country not in shots and not _gives_itself_away(fact, self.languages)
        )


# Enough for the longest name in a vocabulary that spends a token on every byte of UTF-8, as small
# vocabularies do in Telugu or Amharic. The line break ends most replies long before.
_MAX_TOKENS: Mapping[str, int] = {"capital": 64, "country": 64, "currency": 160}


def _kinds(options: Mapping[str, str]) -> tuple[str, ...]:
    """Kinds of question that the options ask for."""
    for option in options:
        if option not in WorldFacts.options:
            raise UnknownNameError("option of worldfacts", option, WorldFacts.options)
    chosen = options.get("kind", DEFAULT_KINDS)
    if chosen == "all":
        return KINDS
    parts = [part.strip() for part in chosen.split("+")]
    for part in parts:
        if part not in KINDS:
            raise UnknownNameError("kind of question", part, (*KINDS, "all"))
    return tuple(kind for kind in KINDS if kind in parts)


@cache
def _all_facts() -> tuple[_Fact, ...]:
    facts = load_facts()
    answers = {code for code in facts.countries if code not in facts.not_as_answer}
    return (
        *(_Fact("capital", code, code, zone) for code, zone in facts.capitals.items()),
        *(
            _Fact("country", code, zone, code)
            for zone, code in facts.cities.items()
            if code in answers
        ),
        *(
            _Fact("currency", code, code, currency)
            for code in facts.countries
            if (currency := currency_of(code))
        ),
    )


@cache
def _shots(kind: str) -> tuple[_Fact, ...]:
    """Return the examples of a kind, in the order of the table."""
    facts = load_facts()
    capitals = set(facts.capitals.values())
    by_country = {
        fact.country: fact
        for fact in _all_facts()
        if fact.kind == kind and (kind != "country" or fact.asked in capitals)
    }
    return tuple(by_country[code] for code in facts.shots)


def _gives_itself_away(fact: _Fact, tags: Sequence[str]) -> bool:
    """Whether some name of the answer can be read off the question, in any language.

    The answer within the question always counts. The question within the answer counts between
    cities and countries (Guatemala, Guatemala City) but not for currencies: "Kenyan Shilling"
    is asked for its shilling.
    """
    answers = {_folded(name) for tag in tags for name in fact.names(tag)}
    questions = {_folded(name) for tag in tags for name in fact.question(tag)}
    return any(
        _holds(question, answer) or (fact.kind != "currency" and _holds(answer, question))
        for question in questions
        for answer in answers
    )


def _holds(text: str, part: str) -> bool:
    """Whether `part` stands in `text`; of Latin letters three at least, chance would do it."""
    return part in text and (len(part) > 2 or not part.isascii() or part == text)  # noqa: PLR2004


def _folded(name: str) -> str:
    """Without case, accents, blanks and hyphens: Mexico is within México, too."""
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    return "".join(
        char
        for char in decomposed
        if not "\u0300" <= char <= "\u036f" and char not in " -'’"  # noqa: RUF001
    )


def _rank(seed: int, item: str) -> bytes:
    return hashlib.sha256(f"{seed}:{item}".encode()).digest()


def _item(fact: _Fact, language: str, source_language: str) -> Item:
    tags = dict.fromkeys((language, source_language, "en"))
    names = {tag: fact.names(tag) for tag in tags}
    return Item(
        id=fact.id,
        language=language,
        source_language=source_language,
        question=fact.question(language)[0],
        gold=Gold(
            kind="name",
            value=names[language][0],
            language=language,
            source_language=source_language,
            names=names,
            others=_others(fact.kind, tuple(tags)),
        ),
        group=fact.country,
        fields={"kind": fact.kind},
    )


@cache
def _others(kind: str, tags: tuple[str, ...]) -> dict[str, Names]:
    """Every name of the kind, the item's own among them: one mapping for all items.

    Wider than the answers that are asked for: a city that is no capital is an answer, too.
    """
    facts = load_facts()
    answers: Sequence[str]
    if kind == "capital":
        answers = tuple(facts.cities)
    elif kind == "country":
        answers = facts.countries
    else:
        answers = tuple(dict.fromkeys(fact.answer for fact in _all_facts() if fact.kind == kind))
    read = _READ[kind].answer_names
    return {
        tag: tuple(dict.fromkeys(name for answer in answers for name in read(answer, tag)))
        for tag in tags
    }


BENCHMARK: Benchmark = WorldFacts()
