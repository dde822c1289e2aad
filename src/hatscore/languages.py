"""Names and scripts of languages, from Unicode CLDR through Babel.

Languages are BCP 47 tags as benchmarks write them: ``zh``, ``sw``, ``sr``, ``zh-Hant``. Babel is
imported at the first question, not with this module.
"""

from __future__ import annotations

import unicodedata
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_language", "name", "native_name", "script", "script_name", "written_in"]

# Beginnings of Unicode character names, by ISO 15924 code: the standard library knows the name
# of a character but not its script, and letters are named after their script.
_LETTERS: dict[str, tuple[str, ...]] = {
    "Arab": ("ARABIC",),
    "Armn": ("ARMENIAN",),
    "Beng": ("BENGALI",),
    "Cyrl": ("CYRILLIC",),
    "Deva": ("DEVANAGARI",),
    "Ethi": ("ETHIOPIC",),
    "Geor": ("GEORGIAN",),
    "Grek": ("GREEK",),
    "Gujr": ("GUJARATI",),
    "Guru": ("GURMUKHI",),
    "Hans": ("CJK",),
    "Hant": ("CJK",),
    "Hebr": ("HEBREW",),
    "Jpan": ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC"),
    "Khmr": ("KHMER",),
    "Knda": ("KANNADA",),
    "Kore": ("HANGUL", "CJK"),
    "Laoo": ("LAO",),
    "Latn": ("LATIN", "FEMININE ORDINAL", "MASCULINE ORDINAL"),
    "Mlym": ("MALAYALAM",),
    "Mymr": ("MYANMAR",),
    "Orya": ("ORIYA",),
    "Sinh": ("SINHALA",),
    "Taml": ("TAMIL",),
    "Telu": ("TELUGU",),
    "Thai": ("THAI",),
}


def name(tag: str) -> str:
    """Return the English name of a language.

    Parameters
    ----------
    tag
        BCP 47 tag.

    Returns
    -------
    str
        ``"Swahili"`` for ``sw``, ``"Chinese (Traditional)"`` for ``zh-Hant``.

    Raises
    ------
    InputError
        CLDR has no such language; the message names the tag of a language so called.

    Examples
    --------
    >>> name("sw")
    'Swahili'
    """
    return _display(tag, "en") or _english_names()[_parts(tag)[0]]


def native_name(tag: str) -> str:
    """Return the name of a language in the language itself.

    Parameters
    ----------
    tag
        BCP 47 tag.

    Returns
    -------
    str
        ``"Kiswahili"`` for ``sw``. Languages that CLDR only names, without describing them,
        have no native name: for them the English one.

    Raises
    ------
    InputError
        CLDR has no such language.

    Examples
    --------
    >>> native_name("de")
    'Deutsch'
    """
    return _display(tag, None) or name(tag)


def script(tag: str) -> str:
    """Return the script a language is written in, as an ISO 15924 code.

    The script the tag names, else the likely one by CLDR's likely subtags.

    Parameters
    ----------
    tag
        BCP 47 tag.

    Returns
    -------
    str
        ``"Cyrl"`` for ``sr``, ``"Hant"`` for ``zh-TW``, ``"Zzzz"`` (unknown script) where CLDR
        has no likely one.

    Raises
    ------
    InputError
        CLDR has no such language.

    Examples
    --------
    >>> script("sr"), script("sr-Latn"), script("zh-TW")
    ('Cyrl', 'Latn', 'Hant')
    """
    language, territory, named = _parts(tag)
    if named:
        return named
    likely = import_module("babel.core").get_global("likely_subtags")
    for key in (f"{language}_{territory}", language):
        if key in likely:
            return str(likely[key].split("_")[1])
    return "Zzzz"


def script_name(code: str) -> str:
    """Return the English name of a script.

    Parameters
    ----------
    code
        ISO 15924 code, as `script` returns it.

    Returns
    -------
    str
        ``"Devanagari"`` for ``Deva``; the code itself where CLDR has no name.

    Examples
    --------
    >>> script_name("Latn"), script_name("Hans")
    ('Latin', 'Han (Simplified)')
    """
    names = import_module("babel").Locale("en").scripts
    found = str(names.get(code, code))
    # CLDR calls the two forms of Han by the form alone, which says nothing in a list of scripts
    return f"{names['Hani']} ({found})" if code in {"Hans", "Hant"} else found


def written_in(text: str, tag: str) -> bool:
    """Tell whether `text` is written in the script of a language.

    Digits, marks and punctuation belong to every script; a text without a letter to none.

    Parameters
    ----------
    text
        Any text.
    tag
        BCP 47 tag.

    Returns
    -------
    bool
        Whether there are letters, and all of them are of the script.

    Raises
    ------
    InputError
        CLDR has no such language, or this module does not know the letters of its script.

    Examples
    --------
    >>> written_in("Paris", "th"), written_in("ปารีส", "th")
    (False, True)
    """
    code = script(tag)
    if code not in _LETTERS:
        raise InputError(
            f"the letters of the script {code} of {tag!r} are not known here; "
            f"known scripts: {', '.join(sorted(_LETTERS))}"
        )
    letters = [
        unicodedata.name(char, "")
        for char in text
        # Modifier letters (the apostrophe of Ukrainian) are shared between scripts.
        if unicodedata.category(char) in {"Lu", "Ll", "Lt", "Lo"}
    ]
    return bool(letters) and all(letter.startswith(_LETTERS[code]) for letter in letters)


def check_language(tag: str, known: Iterable[str], *, of: str = "") -> str:
    """Return `tag` if it is one of `known`, else say which of them was probably meant.

    Parameters
    ----------
    tag
        What the user wrote.
    known
        The tags that are accepted here.
    of
        Whose languages these are, where the user may have named several: a benchmark.

    Returns
    -------
    str
        `tag`, unchanged.

    Raises
    ------
    UnknownNameError
        `tag` is not among `known`. The message names the nearest tags, also when the user wrote
        the English or native name of a language, or another spelling of its tag.

    Examples
    --------
    >>> check_language("sw", ["en", "sw"])
    'sw'
    """
    tags = sorted(known)
    if tag in tags:
        return tag
    kind = f"language of {of}" if of else "language"
    error = UnknownNameError(kind, tag, tags)
    meant = _meant(tag, tags)
    if meant:
        hint = " or ".join(f"{other} ({name(other)})" for other in meant)
        error.args = (f"unknown {kind} {tag!r}: did you mean {hint}? Known: {', '.join(tags)}",)
    raise error


def _meant(tag: str, tags: list[str]) -> list[str]:
    """Tags of `tags` that `tag` may stand for: by name, then by spelling."""
    written = tag.strip().casefold().replace("_", "-")
    names: dict[str, str] = {}
    for other in tags:
        names.setdefault(other.casefold(), other)
        try:
            names.setdefault(name(other).casefold(), other)
            names.setdefault(native_name(other).casefold(), other)
        except InputError:
            continue  # a benchmark may have a private tag; it is still found by its spelling
    if written in names:
        return [names[written]]
    same_language = [
        other for other in tags if other.casefold().split("-")[0] == written.split("-")[0]
    ]
    near = [names[key] for key in get_close_matches(written, names, n=3, cutoff=0.6)]
    return list(dict.fromkeys(same_language + near))[:3]


@cache
def _english_names() -> dict[str, str]:
    return dict(import_module("babel").Locale("en").languages)


def _parts(tag: str) -> tuple[str, str | None, str | None]:
    """Language, territory and script of a tag; refuses what CLDR does not know."""
    core = import_module("babel.core")
    try:
        language, territory, named, *_ = core.parse_locale(tag.replace("_", "-"), sep="-")
    except ValueError:
        language, territory, named = "", None, None
    if language not in _english_names():
        raise InputError(f"no language has the tag {tag!r}: {_advice(tag)}")
    return language, territory, named


def _advice(tag: str) -> str:
    """Say what to write instead of a tag that does not exist."""
    by_name = {english.casefold(): code for code, english in _english_names().items()}
    near = get_close_matches(tag.casefold(), by_name, n=1, cutoff=0.7)
    if near:
        return f"{near[0].title()} has the tag {by_name[near[0]]}"
    return "expected a BCP 47 tag such as sw or zh-Hant"


def _display(tag: str, reader: str | None) -> str | None:
    """Name of the language for a reader of `reader`, of the language itself with None."""
    core = import_module("babel.core")
    language, territory, named = _parts(tag)
    if reader == "en" and not territory and not named:
        return _english_names()[language]
    try:
        locale: Any = core.Locale(language, territory, script=named)
    except core.UnknownLocaleError:
        return None
    shown: str | None = locale.get_display_name(reader)
    return shown
