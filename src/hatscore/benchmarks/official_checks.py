"""What can be wrong with a text that somebody else typed, translated or converted.

Pure functions on strings: each returns short descriptions, () for a text that is in order. Joiners
that a script needs (Bengali, Marathi, Telugu, Urdu and their neighbours) are in order.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["folded", "listed", "same_text", "text_faults"]

_ROWS_SHOWN: Final = 12

# UTF-8 that was read as Latin-1 or Windows-1252: a lead byte as a letter, then what continuation
# bytes turn into. No language of these benchmarks writes such pairs.
_MOJIBAKE: Final = re.compile(
    "[\u00c2\u00c3][\u0080-\u00bf\u20ac\u201a-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u02c6\u02dc]"
    "|\u00e2\u20ac|[\u00e0\u00e3][\u00a4-\u00a7\u00ae\u00b0\u00b1\u0192\u201a][^\\s\\w]"
)
_JOINERS: Final = "\u200c\u200d"
_INVISIBLE: Final = {
    "\u200b": "a zero-width space",
    "\u2060": "a word joiner",
    "\ufeff": "a byte order mark",
    "\u00ad": "a soft hyphen",
    "\ufffd": "a replacement character",
}
# Scripts that write with joiners: Arabic, and the Indic scripts from Devanagari to Sinhala.
_JOINING: Final = re.compile("[\u0600-\u06ff\u0750-\u077f\u0900-\u0dff]")


def text_faults(text: str) -> tuple[str, ...]:
    """Return what is wrong with the characters of `text`.

    Parameters
    ----------
    text
        One field of one row.

    Returns
    -------
    tuple of str
        ``"a replacement character (U+FFFD)"``, ``"a control character (U+000C)"``,
        ``"mojibake"`` ...; each once, in that order of kinds.
    """
    found = [f"{name} (U+{ord(char):04X})" for char, name in _INVISIBLE.items() if char in text]
    found += [
        f"a control character (U+{ord(char):04X})"
        for char in sorted(set(text))
        if unicodedata.category(char) == "Cc" and char not in "\n\t"
    ]
    found += [
        f"a joiner (U+{ord(char):04X}) in a script without joiners"
        for char in _JOINERS
        if char in text and not _JOINING.search(text)
    ]
    if _MOJIBAKE.search(text):
        found.append("mojibake, UTF-8 read as another encoding")
    return tuple(found)


def folded(text: str) -> str:
    """Return `text` without what a conversion may change: form, case and blanks."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def same_text(text: str) -> str:
    """Return `text` in the form in which two options are compared: NFC, single blanks.

    Case, punctuation and superscripts tell options apart and are kept.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def listed(rows: Iterable[str]) -> str:
    """Return row names for a message, the first twelve and how many more."""
    names = list(rows)
    shown = ", ".join(names[:_ROWS_SHOWN])
    more = len(names) - _ROWS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
