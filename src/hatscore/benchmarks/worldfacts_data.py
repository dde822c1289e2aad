"""What worldfacts knows: its table of facts, and the names CLDR gives to their parts.

Facts (``worldfacts_data.toml``) are codes: a country and the time zone of a city. Names are
CLDR's, through Babel. Two rules keep a name of one language from standing in for another's:

- a name that is not in the script of the language does not exist in it: Babel lets locales
  inherit, and an English name would otherwise pass for a Thai one;
- a city that CLDR leaves out of a Latin-script language is named by the last part of its zone's
  identifier, as CLDR prescribes (Unicode Technical Standard 35, part 4, fallback formats): German
  has no entry for Berlin because ``Europe/Berlin`` says it already. In any other script a missing
  city stays missing.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from babel import localedata
from babel.core import get_global
from babel.numbers import get_territory_currencies

from hatscore import languages

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping

__all__ = [
    "Facts",
    "city_names",
    "country_names",
    "currency_names",
    "currency_of",
    "load_facts",
    "load_prompts",
    "names_version",
]

Names = tuple[str, ...]

_NOTE = re.compile(r"\s*[(\[（][^()（）\[\]]*[)\]）]")  # noqa: RUF001 - brackets of Chinese too


@dataclass(frozen=True, slots=True)
class Facts:
    """The table of facts.

    Parameters
    ----------
    version
        Changes with every change of the table or of the prompts.
    as_of
        Day on which currencies are looked up.
    shots
        Countries shown as examples.
    capitals
        Country code -> time zone of its capital.
    cities
        Time zone -> code of the country it lies in, the capitals among them.
    countries
        Codes of all countries.
    not_as_answer
        Countries that are no answer, because one name of theirs is not enough.
    """

    version: str
    as_of: dt.date
    shots: tuple[str, ...]
    capitals: Mapping[str, str]
    cities: Mapping[str, str]
    countries: tuple[str, ...]
    not_as_answer: frozenset[str]


@cache
def _table() -> dict[str, Any]:
    text = files(__package__).joinpath("worldfacts_data.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def load_facts() -> Facts:
    """Return the table of facts.

    Returns
    -------
    Facts
        The same object at every call.
    """
    table = _table()
    capitals: dict[str, str] = table["capitals"]
    return Facts(
        version=table["version"],
        as_of=table["as_of"],
        shots=tuple(table["shots"]),
        capitals=capitals,
        cities={zone: country for country, zone in capitals.items()} | table["cities"],
        countries=tuple(table["countries"]["codes"]),
        not_as_answer=frozenset(table["not_as_answer"]["countries"]),
    )


@cache
def load_prompts() -> dict[str, dict[str, str]]:
    """Return the prompt texts.

    Returns
    -------
    dict
        Language -> name of a text -> the text.
    """
    text = files(__package__).joinpath("prompts", "worldfacts.toml").read_text(encoding="utf-8")
    prompts: dict[str, dict[str, str]] = tomllib.loads(text)
    return prompts


@cache
def names_version() -> str:
    """Return the version of the names.

    Returns
    -------
    str
        ``"CLDR 49"``; ``"CLDR of Babel 2.16.0"`` where Babel does not tell what it carries.
    """
    try:
        return f"CLDR {get_global('cldr')['version']}"
    except KeyError:
        return f"CLDR of Babel {version('babel')}"


@cache
def city_names(zone: str, language: str) -> Names:
    """Return the names of a city.

    Parameters
    ----------
    zone
        Identifier of the time zone whose exemplar city it is.
    language
        BCP 47 tag of a language of the benchmark.

    Returns
    -------
    tuple of str
        The main name first; empty where CLDR has no name in this language.
    """
    older = _table()["older_zones"].get(zone, zone)
    found = [
        _plain_city(entry["city"], language)
        for data in _locales(language)
        for key in (zone, older)
        if (entry := data["time_zones"].get(key)) and entry.get("city")
    ]
    if not found and languages.script(language) == "Latn":
        found = [zone.rsplit("/", maxsplit=1)[-1].replace("_", " ")]
    return _own(found, zone, language)


@cache
def country_names(code: str, language: str) -> Names:
    """Return the names of a country.

    Parameters
    ----------
    code
        ISO 3166 code.
    language
        BCP 47 tag of a language of the benchmark.

    Returns
    -------
    tuple of str
        The main name first; empty where CLDR has no name in this language.
    """
    found = [data["territories"].get(code, "") for data in _locales(language)]
    return _own(found, code, language)


@cache
def currency_names(code: str, language: str) -> Names:
    """Return the names of a currency.

    Parameters
    ----------
    code
        ISO 4217 code.
    language
        BCP 47 tag of a language of the benchmark.

    Returns
    -------
    tuple of str
        The main name first, then its forms after numbers ("Kenyan shillings"); empty where CLDR
        has no name in this language. A bare unit ("shilling") is a name only where CLDR has it.
    """
    found = [data["currency_names"].get(code, "") for data in _locales(language)]
    for data in _locales(language):
        found += data["currency_names_plural"].get(code, {}).values()
    return _own(found, code, language)


@cache
def currency_of(country: str) -> str | None:
    """Return the currency that one country alone has, and that alone is legal tender there.

    Parameters
    ----------
    country
        ISO 3166 code.

    Returns
    -------
    str or None
        ISO 4217 code; None where several currencies are legal tender or several countries share
        it, for a currency of twenty countries would be a good blind guess.
    """
    own = _tender(country)
    if len(own) != 1:
        return None
    shared = any(own[0] in _tender(other) for other in load_facts().countries if other != country)
    return None if shared else own[0]


@cache
def _tender(country: str) -> tuple[str, ...]:
    day = load_facts().as_of
    return tuple(get_territory_currencies(country, day, day))


@cache
def _locales(language: str) -> tuple[Mapping[str, Any], ...]:
    """CLDR's data of a language, then of its variants in other countries and scripts."""
    variants: Iterable[str] = _table()["variants"].get(language, ())
    known = (locale for locale in variants if localedata.exists(locale))
    return tuple(localedata.load(locale) for locale in (language, *known))


def _plain_city(name: str, language: str) -> str:
    """Drop what CLDR adds to a city's name: a note that tells homonyms apart, a word for city."""
    plain = _NOTE.sub("", name)
    word = _table()["city_word"].get(language)
    return plain.removeprefix(f"{word} ") if word else plain


def _own(found: Iterable[str], key: str, language: str) -> Names:
    """Names that are of this language, ours behind CLDR's, without repetition.

    Without a name of CLDR there is none at all: ours are further spellings, not first ones.
    """
    # German marks where Reykjavik may be hyphenated; that is no part of the name.
    clean = [unicodedata.normalize("NFC", name.replace("\xad", "")).strip() for name in found]
    real = [name for name in clean if name and languages.written_in(name, language)]
    if not real:
        return ()
    also: list[str] = _table()["also"].get(language, {}).get(key, [])
    return tuple(dict.fromkeys(real + also))
