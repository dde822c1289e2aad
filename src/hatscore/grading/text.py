# ruff: noqa: RUF001 - other scripts look alike on purpose
"""Unicode: one normal form for every reply, and the fold under which words are compared.

The normal form must not change what a number is worth. Compatibility folding (NFKC) turns
full-width letters and digits into plain ones, as it should, but also ``5²`` into ``52``; such
characters are set aside while the rest is folded.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["fold", "normalise"]

# Characters that only shape or direct the text around them. U+20E3 draws a key cap.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20e3\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff]+"
)
_NEWLINE = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

# Characters whose compatibility form holds a digit though they are no decimal digit
# (superscripts, fractions, circled and dotted numbers, squared units, days and hours), and
# spacing accents, which would fall apart into a space and a mark.
_SET_ASIDE = re.compile(
    "([\u00a8\u00aa\u00af\u00b2-\u00b4\u00b8-\u00ba\u00bc-\u00be\u02d8-\u02dd\u037a\u0384\u0385"
    "\u1fbd-\u1fc1\u1fcd-\u1fcf\u1fdd-\u1fdf\u1fed-\u1fef\u1ffd\u1ffe\u2017\u203e\u2070-\u209f"
    "\u2150-\u218b\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3250-\u325f\u32b1-\u32bf\u32c0-\u32cb"
    "\u3358-\u33ff\uffe3\U0001f100-\U0001f10c\U0001f19b-\U0001f1ad\U000107f0-\U000107ff]+)"
)
# A full-width comma or dot between full-width digits separates digits; after a plain digit it
# is punctuation, unless a group of three follows.
_WIDE_POINT = re.compile("(?<=[0-9])([\uff0c\uff0e])(?![0-9]{3}(?![0-9]))")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")

# Marks that stay alone in composed text and carry no letter of their own: accents, Hebrew
# points, Arabic vowel signs and the Arabic elongation stroke. Vowel signs of Indic, Thai and
# similar scripts are letters of their words and are not here.
_STRAY = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]+"
)
# A sieve before all of these.
_UNUSUAL = re.compile(
    r"[\r\x0b\x0c\x1c-\x1e\x85\xad\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061c"
    r"\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u20e3"
    "\ufe00-\ufe0f\ufeff\uff0c\uff0e\U000e0000-\U000e0fff]|[^\\D0-9]"
)
# Sorting a long run of marks into canonical order takes quadratic time.
_MARKS = re.compile(r"[^\w\s\x00-\x7f]{33,}")


def _letters_without_accent() -> dict[int, str]:
    table: dict[int, str] = {}
    for first, last in ((0xC0, 0x250), (0x370, 0x530), (0x1E00, 0x2000)):
        for code in range(first, last):
            apart = unicodedata.normalize("NFD", chr(code))
            if apart[1:] and all("\u0300" <= mark <= "\u036f" for mark in apart[1:]):
                table[code] = apart[0].lower()
    for plain, variants in {
        "o": "øØ",
        "l": "łŁ",
        "d": "đĐ",
        "i": "ıİ",
        "ا": "أإآٱ",
        "ی": "يىئ",
        "ک": "ك",
        "ه": "ہةۃە",
        "و": "ؤ",
        "'": "’‘ʼ´`",
    }.items():
        table.update({ord(variant): plain for variant in variants})
    return table


_PLAIN = _letters_without_accent()


def normalise(text: str) -> str:
    r"""Return `text` in the form in which replies are read.

    Composed, with compatibility letters and digits made plain (full-width, mathematical),
    every decimal digit of any script in ASCII, line ends as ``\n``, and without characters
    that cannot be seen and without free-standing accents. Superscripts, fractions and other
    numbers that are no decimal digits stay as they are.
    """
    if text.isascii():
        return text if text.isprintable() else _NEWLINE.sub("\n", text)
    if _UNUSUAL.search(text):
        text = _INVISIBLE.sub("", _NEWLINE.sub("\n", text))
        text = _WIDE_POINT.sub(lambda point: ", " if point[1] == "\uff0c" else ". ", text)
    if not unicodedata.is_normalized("NFKC", text):
        text = _MARKS.sub(_few_marks, text)
        # Every second piece is a run of characters that keep their own form.
        pieces = _SET_ASIDE.split(text)
        pieces[::2] = [unicodedata.normalize("NFKC", piece) for piece in pieces[::2]]
        text = "".join(pieces)
    if _UNUSUAL.search(text):
        text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
        text = _STRAY.sub("", text)
    return text


def fold(text: str) -> str:
    """Return normalised `text` in lower case and without accents, character by character.

    The result has the length of `text`, so that a position in one is a position in the other.
    Accents go in Latin, Greek and Cyrillic; Arabic letters that spelling habits interchange
    become one.
    """
    if text.isascii():
        return text.lower()
    return text.translate(_PLAIN).lower()


def _few_marks(run: re.Match[str]) -> str:
    return "".join(char for char in run[0] if not unicodedata.combining(char))
