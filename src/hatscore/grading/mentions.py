# ruff: noqa: RUF001 - other scripts look alike on purpose
"""Which of some known names a text mentions, as whole names, the longest first.

``Niger`` is not in ``Nigeria``, ``Guinea`` not in ``Guinea-Bissau``, ``インド`` not in
``インドネシア``; but ``パリ`` is in ``パリです`` and ``파리`` in ``파리입니다``, because these
scripts write their small words against the name.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hatscore.grading.cues import phrases, spaced, words_pattern
from hatscore.grading.text import fold, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Mention", "mentions", "name_key"]

# Word characters by exclusion: vowel signs are no letters to `re`, and they are of the word.
_PUNCTUATION = (
    r"\s\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf×÷\u2000-\u206f\u2190-\u2bff"
    "\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u30a0\u30fb\u055a-\u055f\u0589\u05be\u05c0\u05c3"
    "\u05c6\u05f3\u05f4\u060c\u060d\u061b\u061e\u061f\u066a-\u066d\u06d4\u0964\u0965\u104a-\u104f"
    "\u1360-\u1368\u17d4-\u17da\u0e2f\u0e4f\u0e5a\u0e5b\u0f04-\u0f14\ufe30-\ufe4f\ufffd"
)
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|[^{_PUNCTUATION}\d]+|[+/^=<>%°×÷±√≤≥]")
_GLUE = re.compile(r"[.'’‘ʼ`´\u05f3\u05f4\"”・·\u30a0.]{1,2}")
_HYPHEN = re.compile("[-\u2010\u2011\u05be]")
_CLAUSE = re.compile(r"[.,;:!?()\[\]\n…、。，；：！？।॥؟،؛۔—–]")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_MARK_AFTER = re.compile(
    "[\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u102b-\u103e\u17b4-\u17d3\u3099\u309a]"
)
_NUKTA = "\u093c"
_WIDE = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ŋ": "ng"}
_WIDE_TABLE = str.maketrans(_WIDE)
# Particles, copulas and titles of place that Korean writes against a name.
_PARTICLES = re.compile(
    "(?:시|주|도)?(?:이?(?:라고|라는|란|라)|으?로|에서|에게|에)?"
    "(?:은|는|이|가|을|를|의|와|과|도|만|이나|나|이고|고|이며|며|이지만|지만)?"
    "(?:입니다|이다|다|이에요|예요|이었습니다|였습니다|이었다|였다|이라고|라고|인|일|임|이죠|죠|요|합니다|한다|하며)?"
    "(?:요)?"
)


class Mention(NamedTuple):
    """A name in a text.

    Attributes
    ----------
    start, end
        Position in the key of the text.
    value
        What the mapping of names holds for it.
    rejected
        Whether its clause denies it ("not Paris").
    """

    start: int
    end: int
    value: str
    rejected: bool


class _Keyed(NamedTuple):
    """A key with what its spaces do not tell."""

    key: str
    closed: frozenset[int]  # spaces that join (a hyphen)
    open: frozenset[int]  # positions without a space where a name may end (an apostrophe)
    breaks: tuple[int, ...]  # spaces where a clause ends


@lru_cache(maxsize=65536)
def name_key(name: str) -> str:
    """Return the form in which names are compared.

    Case, accents (where the script can do without), punctuation and the difference of a
    hyphen and a space are gone; vowel signs of Indic and South-East Asian scripts stay.
    """
    return _keyed(name).key


def _keyed(text: str) -> _Keyed:
    folded = fold(normalise(text)).translate(_WIDE_TABLE).casefold().replace(_NUKTA, "")
    parts: list[str] = []
    closed, opened, breaks = [], [], []
    length = previous = 0
    for match in _TOKEN.finditer(folded):
        token = match[0]
        between = folded[previous : match.start()]
        if parts:
            if _GLUE.fullmatch(between):
                opened.append(length)
            elif not between and token[0].isdigit() == parts[-1][-1].isdigit():
                pass
            else:
                if _HYPHEN.fullmatch(between):
                    closed.append(length)
                elif _CLAUSE.search(between):
                    breaks.append(length)
                parts.append(" ")
                length += 1
        # A minus sign belongs to its number.
        if token[0].isdigit() and between.endswith(("-", "−")) and (len(between) > 1 or not parts):
            token = f"-{token}"
        parts.append(token)
        length += len(token)
        previous = match.end()
    return _Keyed("".join(parts), frozenset(closed), frozenset(opened), tuple(breaks))


def mentions(text: str, names: Mapping[str, str]) -> list[Mention]:
    """Return where `text` mentions names, from left to right, without overlaps.

    Parameters
    ----------
    text
        Any text.
    names
        What each name stands for, by :func:`name_key`.

    Returns
    -------
    list of Mention
        At every place the longest name. Several names may stand for one value.
    """
    keyed = _keyed(text)
    key = keyed.key
    found: list[tuple[int, int, str]] = []
    for name, value in names.items():
        if not name or name not in key:
            continue
        begin = key.find(name)
        while begin >= 0:
            end = begin + len(name)
            if _starts(keyed, begin) and _ends(keyed, end):
                found.append((begin, end, value))
            begin = key.find(name, end)
    found.sort(key=lambda place: (place[0], -place[1]))
    result: list[Mention] = []
    reached = 0
    for begin, end, value in found:
        if begin >= reached:
            result.append(Mention(begin, end, value, _rejected(keyed, begin, end)))
            reached = end
    return result


def distinct(found: Iterable[Mention]) -> set[str]:
    """Return the values that are mentioned and not rejected."""
    return {mention.value for mention in found if not mention.rejected}


def _starts(keyed: _Keyed, begin: int) -> bool:
    key = keyed.key
    if begin == 0 or begin in keyed.open:
        return True
    before, first = key[begin - 1], key[begin]
    if before == " ":
        return begin - 1 not in keyed.closed
    return _touches(before, first)


def _ends(keyed: _Keyed, end: int) -> bool:
    key = keyed.key
    if end == len(key) or end in keyed.open:
        return True
    last, after = key[end - 1], key[end]
    if after == " ":
        return end not in keyed.closed
    if _MARK_AFTER.match(after):
        return False
    if _HANGUL.match(last) and _HANGUL.match(after):
        word_end = key.find(" ", end)
        rest = key[end : word_end if word_end >= 0 else len(key)]
        return _PARTICLES.fullmatch(rest) is not None
    return _touches(last, after)


def _touches(one: str, other: str) -> bool:
    """Return whether a name may end between two characters that no space divides."""
    if one.isdigit() and other.isdigit():
        return False
    if _KATAKANA.match(one) and _KATAKANA.match(other):
        return False
    if _HANGUL.match(one) or _HANGUL.match(other):
        return bool(_HANGUL.match(one)) != bool(_HANGUL.match(other))
    return not (spaced(one) and spaced(other))


def _rejected(keyed: _Keyed, begin: int, end: int) -> bool:
    before, after = _denials()
    left = max((place for place in keyed.breaks if place < begin), default=0)
    left = max(left, begin - 40)
    turns = _turns().finditer(keyed.key, left, begin)
    left = max((turn.end() for turn in turns), default=left)
    if before.search(keyed.key[left:begin]):
        return True
    right = min((place for place in keyed.breaks if place >= end), default=len(keyed.key))
    return after.match(keyed.key, end, min(right, end + 40)) is not None


@cache
def _turns() -> re.Pattern[str]:
    """Return what ends the reach of a denial: "not London but Paris"."""
    return re.compile(words_pattern(_by_length({name_key(word) for word in phrases("but")})))


def _by_length(words: set[str]) -> tuple[str, ...]:
    return tuple(sorted(words, key=lambda word: (-len(word), word)))


@cache
def _denials() -> tuple[re.Pattern[str], re.Pattern[str]]:
    # Short words deny in one language and say "in the" or "and" in another.
    no = {
        name_key(phrase)
        for phrase in phrases("no")
        if len(phrase) > 2 or (not phrase.isascii() and len(phrase) > 1)  # noqa: PLR2004
    }
    after = {
        name_key(phrase)
        for phrase in phrases("no_after")
        if " " in phrase or not phrase.isascii() or len(phrase) > 4  # noqa: PLR2004
    }
    return (
        re.compile(rf"{words_pattern(_by_length(no))} ?(?:[^ \d]{{1,20}} ){{0,2}}$"),
        re.compile(rf" ?{words_pattern(_by_length(after))}"),
    )
