# ruff: noqa: RUF001 - other scripts look alike on purpose
"""Labels of options in a text: which letters are labels, and which are words or quantities.

A single letter is the easiest answer to misread: ``A`` is an article, ``I`` a pronoun, ``C`` a
temperature, ``f(B)`` a function. What stands around a letter tells.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hatscore.grading.cues import DECORATION, phrases, words_pattern
from hatscore.grading.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatscore.grading.reply import Read

__all__ = [
    "NO_LABEL",
    "Label",
    "adjacent_label",
    "find_labels",
    "followed_by",
    "is_rejected",
    "is_strong",
    "joined_by_another",
    "line_label",
]

# What is read where a letter stands as a label but the item has no such option.
NO_LABEL = ""

# Letters that have the shape of a Latin capital, and of a small letter.
_SHAPES = dict(zip("АВСЕНІЈΑΒΕΗΙ", "ABCEHIJABEHI", strict=True))
_SMALL_SHAPES = dict(zip("асеіј", "aceij", strict=True))
# Series that number options in their languages, by order.
_SERIES = (
    "أبجدهوزحطي",
    "ابجدهوزحطی",
    "কখগঘঙচছজঝঞ",
    "กขคงจฉชซฌญ",
    "कखगघङचछजझञ",
    "కఖగఘఙచఛజఝఞ",
    "אבגדהוזחטי",
    "가나다라마바사아자차",
    "アイウエオカキクケコ",
    "甲乙丙丁戊己庚辛壬癸",
)
_BY_ORDER = {
    letter: label for series in _SERIES for letter, label in zip(series, "ABCDEFGHIJ", strict=True)
}
# Words of one letter in some language: they count only where nothing reads on.
_WORDS = frozenset("AEIOUY")

_OPEN = "(\\[{<\"'“‘«‹「『【〈《〔*_`$|"
_CLOSE = ")\\]}>\"'”’»›」』】〉》〕*_`$|"
_LATIN = "a-zA-Z\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff"
# An elided article may touch a label ("l'A"), other words and hyphens may not ("X-ray", "D'or");
# a Turkish copula may follow one ("C'dir").
_NOT_IN_WORD_BEFORE = rf"(?<![{_LATIN}0-9])(?<!\w[.\-])(?<![^\WlL]['’])"
_NOT_IN_WORD_AFTER = (
    rf"(?![{_LATIN}0-9+#°′²³₀-₉^\u0300-\u036f]|['’](?![dt][iıuü]r)[^\W_]|-[^\W_]|_\w|[ ]?=)"
)
# Vowel signs are no letters to `re`, but they are of the word.
_SIGNS = "\u0900-\u0963\u0966-\u0dff\u0e30-\u0e3a\u0e45-\u0e4e"
_NOT_IN_NATIVE_WORD = rf"(?![^\W_]|[{_SIGNS}])"
_CLOSING = r"[ \t*_`~\"'”’»)\]}>$|]*"
_END = re.compile(rf"{_CLOSING}(?:$|[\n.,;:!?)\]。，、；：！？।؟۔،…|/–—-])")
_NEXT_WORD = re.compile(rf"{_CLOSING}([^\s\d.,;:!?()\[\]。、]+)")
_SECOND = re.compile(r"[ (\[*\"'“]{1,4}[A-Z](?![^\W_]|['’])")
_QUANTITY = re.compile(r"\d[ ]?[°kKmMµnGc]?$")
_CALL = {"(": re.compile(r"[A-Za-z0-9]$"), "[": re.compile(r"\w$"), "{": re.compile(r"[_^]$")}
_CLAUSE = re.compile(r"[\n.,;:!?。，、；：！？।؟۔،…(]")
_STRIPPED = "([{*_`\"'“«「『【$ \t"
_REACH = 40


class Label(NamedTuple):
    """A letter that stands as a label.

    Attributes
    ----------
    label
        The item's label, or :data:`NO_LABEL` for one that the item does not have.
    start, end
        Position of the letter; `end` is behind the bracket that encloses it, if one does.
    enclosed
        Whether brackets, quotes or emphasis enclose it.
    """

    label: str
    start: int
    end: int
    enclosed: bool


def find_labels(
    text: str, labels: tuple[str, ...], begin: int = 0, end: int | None = None
) -> Iterator[Label]:
    """Yield what can be read as a label of the item between two positions, in order."""
    pattern = _patterns(labels).anywhere
    for match in pattern.finditer(text, begin, len(text) if end is None else end):
        found = _read(match, labels)
        if found.label == NO_LABEL:
            continue
        before = text[max(0, match.start() - 4) : match.start()]
        if found.enclosed:
            # f(B) is a function, x_{B} an index.
            call = _CALL.get(match["open"])
            if call is not None and call.search(before):
                continue
        elif text[found.start].islower() or _QUANTITY.search(before):
            continue
        yield found


def adjacent_label(read: Read, begin: int, end: int, labels: tuple[str, ...]) -> Label | None:
    """Return the label that stands at `begin`, past decoration and a word for "option"."""
    lead = _option_lead().match(read.low, begin, end)
    place = lead.end() if lead else begin
    pattern = _patterns(labels).here
    # The last bracket or quote before it belongs to the label.
    match = pattern.match(read.text, place - 1, end) if place > begin else None
    match = match or pattern.match(read.text, place, end)
    return _read(match, labels) if match else None


def line_label(line: str, labels: tuple[str, ...]) -> tuple[str, bool] | None:
    """Return the label that a line begins with, and whether it holds nothing else.

    "B", "(b)" and "**B.**" hold a label alone; "B. Paris", "(B) Paris" and "B) Paris" begin
    with one.
    """
    match = _patterns(labels).line.match(line)
    if match is None:
        return None
    label = _canonical(match[1], labels)
    return (label, match["rest"] is None) if label else None


def is_strong(text: str, label: Label, *, adjacent: bool = False) -> bool:
    """Return whether a letter is a label by where it stands, and no word.

    Parameters
    ----------
    text
        The text that holds it.
    label
        The letter.
    adjacent
        Whether an announcement leads to it ("the answer is A because").
    """
    letter = text[label.start]
    if label.enclosed or letter.islower():
        return label.enclosed
    after = text[label.end : label.end + _REACH]
    if letter in _BY_ORDER:
        # Free-standing letters of these scripts are words as well.
        return adjacent
    if letter not in _WORDS and label.label not in _WORDS:
        return True
    word = _NEXT_WORD.match(after)
    if word is None or _END.match(after):
        return True
    following = fold(word[1])
    return (
        not re.match(f"[{_LATIN}]", following)
        or (following in _first_words("or") and _SECOND.match(after, word.end()) is not None)
        or (adjacent and following in _first_words("why"))
    )


def joined_by_another(read: Read, label: Label, labels: tuple[str, ...]) -> bool:
    """Return whether a second label is joined to this one ("A or B", "A, C")."""
    after = _joint().match(read.low, label.end, label.end + _REACH)
    if after is None:
        return False
    other = adjacent_label(read, after.end(), after.end() + _REACH, labels)
    return other is not None and other.label != label.label and is_strong(read.text, other)


def is_rejected(read: Read, label: Label) -> bool:
    """Return whether the clause around the label denies it ("not A", "A is wrong")."""
    before, after = _denials()
    clause = read.low[max(0, label.start - _REACH) : label.start].rstrip(_STRIPPED)
    clause = _CLAUSE.split(clause)[-1] + " "
    for turn in _turns().finditer(clause):
        if turn.end() < len(clause):
            clause = clause[turn.end() :].rjust(len(clause))
    if before.search(clause):
        return True
    return after.match(read.low, label.end, label.end + _REACH) is not None


def followed_by(read: Read, label: Label, role: str) -> bool:
    """Return whether the word after the label begins a phrase of `role`."""
    word = _NEXT_WORD.match(read.low, label.end, label.end + _REACH)
    return word is not None and word[1] in _first_words(role)


class _Patterns(NamedTuple):
    anywhere: re.Pattern[str]
    here: re.Pattern[str]
    line: re.Pattern[str]


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> _Patterns:
    # Letters that the item does not have are matched too: "(K)" must not be read over.
    latin = {*"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", *_SHAPES, *_SMALL_SHAPES}
    other = {*_BY_ORDER, *(label for label in labels if len(label) == 1 and label not in latin)}
    longer = sorted((label for label in labels if len(label) > 1), key=len, reverse=True)
    single = f"[{''.join(sorted(latin))}]"
    shaped = "|".join([*map(re.escape, longer), single])
    native = f"[{re.escape(''.join(sorted(other)))}]"
    inside = rf"(?P<open>[{_OPEN}])[ ]?(?P<inside>{shaped}|{native})[ ]?[.):]?(?P<close>[{_CLOSE}])"
    return _Patterns(
        anywhere=re.compile(
            rf"{inside}|{_NOT_IN_WORD_BEFORE}(?P<naked>{shaped}){_NOT_IN_WORD_AFTER}"
            rf"|(?<![^\W_])(?<![{_SIGNS}])(?P<native>{native}){_NOT_IN_NATIVE_WORD}"
        ),
        here=re.compile(
            rf"(?<!\w[.])(?<![^\WlL]['’])(?:{inside}|(?P<naked>{shaped}){_NOT_IN_WORD_AFTER}"
            rf"|(?P<native>{native}){_NOT_IN_NATIVE_WORD})"
        ),
        line=re.compile(
            rf"[\s{_OPEN}\\\-]{{0,12}}({shaped}|{native}){_NOT_IN_WORD_AFTER}(?:[{_CLOSE}\s.,!:。।]*$"
            rf"|(?P<rest>[*_]*(?:[.)\]】、][{_CLOSE}:]*|[ ]?[-–—](?=\s))\s*[^\n]*))"
        ),
    )


def _read(match: re.Match[str], labels: tuple[str, ...]) -> Label:
    group = next(name for name in ("inside", "naked", "native") if match[name] is not None)
    start, end = match.span(group)
    # A small letter needs a bracket or emphasis: quotes enclose words as well.
    enclosed = group == "inside" and (not match[group].islower() or match["open"] in "([{【*")
    label = _canonical(match[group], labels) or NO_LABEL
    return Label(label, start, match.end() if enclosed else end, enclosed)


def _canonical(letter: str, labels: tuple[str, ...]) -> str | None:
    """Return the item's label that `letter` stands for, or None."""
    shaped = _SHAPES.get(letter) or _BY_ORDER.get(letter) or _SMALL_SHAPES.get(letter)
    for form in (letter, shaped, letter.upper(), shaped.upper() if shaped else None):
        if form in labels:
            return form
    return None


@cache
def _first_words(role: str) -> frozenset[str]:
    return frozenset(phrase.split()[0] for phrase in phrases(role))


@cache
def _option_lead() -> re.Pattern[str]:
    return re.compile(rf"{DECORATION}(?:{words_pattern(phrases('option'))}[ \t:]*{DECORATION})?")


@cache
def _joint() -> re.Pattern[str]:
    joining = words_pattern(phrases("or"))
    return re.compile(rf"{_CLOSING}(?:[,،、]?{_CLOSING}{joining}|[,/&+،、])")


@cache
def _turns() -> re.Pattern[str]:
    # "Not A but B": the reach of a denial ends.
    return re.compile(words_pattern(phrases("but")))


@cache
def _denials() -> tuple[re.Pattern[str], re.Pattern[str]]:
    few_words = r"(?:[^\s\d.,;:!?()。、]{1,20}[ \t]+){0,2}"
    before = rf"{words_pattern(phrases('no'))}[ \t]*{few_words}{DECORATION}$"
    after = rf"{DECORATION}{words_pattern(phrases('no_after'))}"
    return re.compile(before), re.compile(after)
