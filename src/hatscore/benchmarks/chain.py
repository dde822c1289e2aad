"""``chain``: facts and arithmetic in chains of one to five steps, made and not translated.

Where a city lies, the telephone code of a country and the days of a month are known to a model in
some languages better than in others, and a chain needs all its links in one language at once. The
names come from Unicode CLDR, the numerals and the arithmetic from :mod:`wordmath
<hatscore.benchmarks.wordmath>`, so that the answer, a number, is the same everywhere. Which chains
there are: :mod:`hatscore.benchmarks.chain_tasks`.

Names stand behind a colon in brackets, in the form in which a dictionary lists them, because no
table inflects them in thirty languages.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from importlib import metadata
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from babel import Locale

from hatscore.benchmarks.base import Item, Prompt
from hatscore.benchmarks.chain_tasks import (
    STEPS,
    all_chains,
    examples,
    load_chain_facts,
    sample,
)
from hatscore.benchmarks.wordmath import numeral, wording
from hatscore.benchmarks.worldfacts_data import city_names, country_names, names_version
from hatscore.errors import InputError, UnknownNameError
from hatscore.grading.answer import Gold
from hatscore.languages import check_language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.benchmarks.base import Mode, PromptLanguage
    from hatscore.benchmarks.chain_tasks import Chain, Operand

__all__ = ["BENCHMARK", "ChainBenchmark"]

_DEFAULT_ITEMS: Final = 200
_DEFAULT_STEPS: Final = "3"
# Five short lines and the answer, at one token a byte for the longest names.
_COMPLETION_TOKENS: Final = 512
# Five steps explained, in scripts that take several tokens per character.
_CHAT_TOKENS: Final = 1024


@cache
def _texts() -> dict[str, dict[str, str]]:
    text = files(__package__).joinpath("prompts", "chain.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, str]] = tomllib.loads(text)
    return {language: tables[language] for language in sorted(tables)}


@cache
def _country(code: str, language: str) -> str:
    return _first(country_names(code, language), code, language)


@cache
def _city(zone: str, language: str) -> str:
    return _first(city_names(zone, language), zone, language)


def _first(names: Sequence[str], key: str, language: str) -> str:
    own = load_chain_facts().names.get(language, {}).get(key)
    if own:
        return own
    if not names:
        raise InputError(
            f"the installed Babel ({names_version()}) has no name for {key!r} in {language!r}: "
            f"pip install -U babel"
        )
    # A joiner at the end of a name shapes nothing, but would stand before the bracket.
    return names[0].strip("\u200c\u200d")


@cache
def _month(number: str, language: str) -> str:
    own = load_chain_facts().month_names.get(language)
    if own:
        return own[number]
    name = str(Locale.parse(language).months["stand-alone"]["wide"][int(number)])
    return unicodedata.normalize("NFC", name)


def _name(operand: Operand, language: str) -> str:
    read = {"country": _country, "city": _city, "month": _month}[operand.kind]
    return read(operand.name, language)


def _phrase(operand: Operand, language: str) -> str:
    if operand.kind == "number":
        return numeral(language, int(operand.name))
    return _texts()[language][operand.kind].format(name=_name(operand, language))


def _question(chain: Chain, language: str) -> str:
    words = wording(language)
    templates = {"+": words.add, "-": words.subtract, "*": words.multiply}
    lines = [words.start.format(n=_phrase(chain.start, language))]
    lines += [
        templates[operation].format(n=_phrase(operand, language))
        for operation, operand in chain.operations
    ]
    return "\n".join([*lines, words.result])


def _lookups(operand: Operand, language: str) -> list[str]:
    if operand.kind == "number":
        return []
    colon = _colon(language)
    name = _name(operand, language)
    if operand.kind != "city":
        return [f"{name}{colon} {operand.value}"]
    country = _country(operand.subject, language)
    return [f"{name}{colon} {country}", f"{country}{colon} {operand.value}"]


def _worked(chain: Chain, language: str) -> str:
    """Return the steps as lines, one a step: facts, then the operation they are for."""
    lines = _lookups(chain.start, language)
    signs = {"+": "+", "-": "-", "*": "×"}  # noqa: RUF001 - the sign of multiplication
    pairs = zip(chain.operations, pairwise(chain.results), strict=True)
    for (operation, operand), (before, after) in pairs:
        lines += _lookups(operand, language)
        lines.append(f"{before} {signs[operation]} {operand.value} = {after}")
    return "\n".join(lines)


@cache
def _colon(language: str) -> str:
    """Return the colon as the language sets it: French puts a blank before it."""
    found = re.search(r"\s*[:：]$", wording(language).answer)  # noqa: RUF001 - of Japanese
    return found.group() if found else ":"


class ChainBenchmark:
    """The benchmark; see :class:`hatscore.benchmarks.base.Benchmark` for its attributes."""

    def __init__(self) -> None:
        self.name = "chain"
        numerals = f"num2words {metadata.version('num2words')}"
        self.version = f"{load_chain_facts().version} ({names_version()}, {numerals})"
        self.title = "Chains of facts and arithmetic in words"
        self.licence = "facts and prompts Apache-2.0, names Unicode License v3"
        self.source = (
            "made here; names from Unicode CLDR (https://cldr.unicode.org) through Babel, numerals "
            "spelt out at run time by num2words (LGPL-2.1, "
            "https://github.com/savoirfairelinux/num2words), codes as in ITU-T E.164"
        )
        self.languages = tuple(_texts())
        self.source_languages = ("en", *(tag for tag in self.languages if tag != "en"))
        self.language_neutral_gold = True
        self.options: Mapping[str, str] = {
            "steps": (
                "1 to 5, default 3: how many lookups and operations a chain has. 1: the telephone "
                "code of a country; 2: plus or minus a number; 3: of the country of a city; 4 and "
                "5: with days of months, codes of further countries and products"
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
            How many chains, at least 1; None means 200, or all where there are fewer.
        seed
            Of the sample. Fewer items with the same seed are the beginning of more.
        options
            ``steps``: ``"1"`` to ``"5"``.

        Returns
        -------
        list of Item
            ``len(languages)`` rows per chain. The id is the chain as an expression,
            ``"(code(country(Tokyo))+17)*3"``; the group is the country it starts from, the gold
            the result in ASCII digits.

        Raises
        ------
        UnknownNameError
            An option or a language that the benchmark does not have.
        InputError
            No such number of steps, fewer than one item or more than exist, or a source language
            that is not among `languages`.
        """
        steps = self._steps(options)
        for language in (*languages, source_language):
            check_language(language, self.languages)
        if source_language not in languages:
            raise InputError(
                f"the source language {source_language!r} is not among the languages to load "
                f"({', '.join(languages)}): add it"
            )
        available = sum(len(chains) for chains in all_chains(steps))
        count = min(_DEFAULT_ITEMS, available) if items is None else items
        if not 1 <= count <= available:
            raise InputError(
                f"chain has {available} items of {steps} steps, but {count} were asked for: ask "
                f"for 1 to {available}, or choose another number of steps"
            )
        return [
            Item(
                id=chain.key,
                language=language,
                source_language=source_language,
                question=_question(chain, language),
                gold=Gold("number", str(chain.results[-1]), language, source_language),
                group=chain.start.subject,
                fields={"steps": str(steps)},
            )
            for chain in sample(steps, count, seed)
            for language in dict.fromkeys(languages)
        ]

    def prompt(self, item: Item, *, mode: Mode, prompt_language: PromptLanguage) -> Prompt:
        """Return what is sent for `item`: the chain is always in the item's language.

        Parameters
        ----------
        item
            From :meth:`load`.
        mode
            ``completion``: three chains with their steps worked out, one a line, and the answer;
            then the chain, and an empty line ends the reply. ``chat``: an instruction to work
            step by step with the form of the last line, then the chain.
        prompt_language
            Of the instruction and the label: the item's, or English.
        """
        tag = item.language if prompt_language == "native" else "en"
        words = wording(tag)
        if mode == "chat":
            form = f"{words.answer} <{words.number}>"
            text = f"{_texts()[tag]['instruction']}\n{form}\n\n{item.question}"
            return Prompt("chat", text, max_tokens=_CHAT_TOKENS)
        shots = [
            f"{_question(chain, item.language)}\n{_worked(chain, item.language)}\n"
            f"{words.answer} {chain.results[-1]}\n\n"
            for chain in examples(int(item.fields["steps"]))
        ]
        text = f"{''.join(shots)}{item.question}\n"
        return Prompt("completion", text, stop=("\n\n",), max_tokens=_COMPLETION_TOKENS)

    def _steps(self, options: Mapping[str, str]) -> int:
        for name in options:
            if name not in self.options:
                raise UnknownNameError("option of chain", name, self.options)
        given = options.get("steps", _DEFAULT_STEPS)
        known = {str(steps): steps for steps in STEPS}
        if given not in known:
            raise InputError(f"chain has no {given!r} steps: choose one of {', '.join(known)}")
        return known[given]


BENCHMARK: Final = ChainBenchmark()
