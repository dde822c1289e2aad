# ruff: noqa: RUF002 - other scripts look alike on purpose
"""Options: the label that a reply chooses, whatever script, bracket or sentence carries it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from hatscore.grading.cues import DECORATION, Cue, phrases, present, words_pattern
from hatscore.grading.labels import (
    NO_LABEL,
    Label,
    adjacent_label,
    find_labels,
    followed_by,
    is_rejected,
    is_strong,
    joined_by_another,
    line_label,
)
from hatscore.grading.mentions import distinct, mentions, name_key
from hatscore.grading.reply import Read, boxes, line_after, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["announced_choice", "bare_choice", "choice_test", "extract_choice", "read_choice"]

_COMMAND = re.compile(r"\\{1,2}[a-zA-Z]{2,14}")
_SENTENCE_END = re.compile(r"[.!?](?=\s+[^\s])|[。！？।؟۔\n]")  # noqa: RUF001 - other scripts
_SPAN = 400
_NEARBY = 60
_MOST_LINES = 200


def extract_choice(
    text: str, labels: Sequence[str], options: Sequence[str] | None = None
) -> str | None:
    r"""Return the label of the option that a reply chooses, or None.

    The label after the last answer cue of any language that has one; without a cue, in this
    order: the last ``\boxed{}``, a line that holds or begins with a label, the option called
    correct or named as one ("option C"), the only label in brackets, the only capital that is
    no word. Last, the one option whose text occurs.

    Letters of the same shape (Cyrillic and Greek capitals) and native letter series (Arabic,
    Bengali, Thai, Devanagari and others) are mapped to Latin ones. Small letters count in
    brackets or alone. A rejected option ("not A") is no answer, nor are several at once, nor a
    label that the item does not have.

    Parameters
    ----------
    text
        The reply as the model gave it, thinking included.
    labels
        Labels of the item's options, and of no others, in order.
    options
        Texts of the options, as many as labels, for the last resort.

    Returns
    -------
    str or None
        One of `labels`. Never raises on any text.

    Examples
    --------
    >>> extract_choice("Ответ - (С)", "ABCD")
    'C'
    >>> extract_choice("Definitely not A; it is (F).", "ABCDEF")
    'F'
    >>> extract_choice("It must be Paris.", "AB", ["London", "Paris"])
    'B'
    """
    known = tuple(labels)
    read = prepare(text, choice_test(known))
    return read_choice(read, known, tuple(options) if options else None)


def choice_test(labels: tuple[str, ...]) -> Callable[[Read, Cue | None], bool]:
    """Return what tells :func:`prepare` whether a question for an option is answered."""

    def is_choice(read: Read, cue: Cue | None) -> bool:
        if cue is None:
            return bare_choice(read.text, labels) is not None
        return bool(_after_cue(read, cue, labels, None))

    return is_choice


def read_choice(read: Read, labels: tuple[str, ...], options: tuple[str, ...] | None) -> str | None:
    """Return the label that a prepared reply chooses, or None."""
    found = announced_choice(read, labels, options)
    if found is None:
        found = _by_line(read, labels) or _called_right(read, labels) or _only(read, labels)
    if found is None:
        found = _by_text(read.text, labels, options)
    return found or None


def announced_choice(
    read: Read, labels: tuple[str, ...], options: tuple[str, ...] | None
) -> str | None:
    """Return the label after the last cue that has one, or in the last box.

    None if nothing is announced; :data:`NO_LABEL` if what is announced is no option of the
    item, or several.
    """
    for cue in reversed(read.cues):
        if (found := _after_cue(read, cue, labels, options)) is not None:
            return found
    for content in boxes(read.text):
        plain = _COMMAND.sub("", content)
        if found := bare_choice(plain, labels) or _by_text(plain, labels, options):
            return found
    return None


def bare_choice(line: str, labels: tuple[str, ...]) -> str | None:
    """Return the label that a line holds alone or begins with ("B", "(b)", "B. Paris")."""
    found = line_label(line, labels)
    return found[0] if found else None


def _after_cue(
    read: Read, cue: Cue, labels: tuple[str, ...], options: tuple[str, ...] | None
) -> str | None:
    begin, end = line_after(read.text, cue)
    if begin > cue.end:
        line = read.text[begin:end]
        return bare_choice(line, labels) or _by_text(line, labels, options)
    label = adjacent_label(read, begin, end, labels)
    if label is not None:
        alone = not read.text[label.end : end].strip(" \t.,!*_`~\"'”’»)]}>$|。।")  # noqa: RUF001 - other scripts
        if label.label == NO_LABEL:
            if alone or label.enclosed:
                return NO_LABEL
        elif (alone or is_strong(read.text, label, adjacent=True)) and not is_rejected(read, label):
            return _unless_several(read, label, labels)
    if cue.kind == "bare":
        return _bracketed(read, begin, min(end, begin + _NEARBY), labels)
    return _within(read, begin, end, labels, options, one_sentence=cue.kind == "copula")


def _within(
    read: Read,
    begin: int,
    end: int,
    labels: tuple[str, ...],
    options: tuple[str, ...] | None,
    *,
    one_sentence: bool,
) -> str | None:
    """Read the line after a cue: an option's text at its start, a label, an option's text."""
    if options and (found := _option_at(read.text[begin:end], labels, options)):
        return found
    if one_sentence and (sentence := _SENTENCE_END.search(read.text, begin, end)):
        end = sentence.start() + 1
    for label in find_labels(read.text, labels, begin, min(end, begin + _SPAN)):
        if is_strong(read.text, label) and not is_rejected(read, label):
            return _unless_several(read, label, labels)
    return _by_text(read.text[begin:end], labels, options)


def _bracketed(read: Read, begin: int, end: int, labels: tuple[str, ...]) -> str | None:
    """Read "A válasz a kérdésre (B)": a few words, no link, and a label in brackets."""
    if sentence := _SENTENCE_END.search(read.text, begin, end):
        end = sentence.start()
    for label in find_labels(read.text, labels, begin, end):
        if label.enclosed and not is_rejected(read, label):
            return _unless_several(read, label, labels)
    return None


def _unless_several(read: Read, label: Label, labels: tuple[str, ...]) -> str:
    return NO_LABEL if joined_by_another(read, label, labels) else label.label


def _by_line(read: Read, labels: tuple[str, ...]) -> str | None:
    """Return the label that the last or first line holds alone, or that one line begins with."""
    lines = [line for line in read.text.split("\n") if line.strip()][:_MOST_LINES]
    begun = [found for line in lines if (found := line_label(line, labels))]
    for line in (lines[-1:], lines[:1]):
        found = line_label(line[0], labels) if line else None
        if found and found[1]:
            return found[0]
    return _one(label for label, _ in begun)


def _called_right(read: Read, labels: tuple[str, ...]) -> str | None:
    """Return the last label called correct, or else the only one called an option."""
    right = present(read.low, (*phrases("right"), *phrases("answer")))
    option = present(read.low, phrases("option"))
    if not right and not option:
        return None
    is_right = _compiled(rf"[^\n.;,!?。；！？।]{{0,25}}?{words_pattern(right)}")  # noqa: RUF001 - other scripts
    is_option = _compiled(rf"{words_pattern(option)}{DECORATION}$")
    called: str | None = None
    named: list[str] = []
    for label in find_labels(read.text, labels):
        if is_rejected(read, label):
            continue
        if (is_strong(read.text, label) or followed_by(read, label, "is")) and is_right.match(
            read.low, label.end, label.end + _NEARBY
        ):
            called = label.label
        if is_option.search(read.low, max(0, label.start - _NEARBY), label.start):
            named.append(label.label)
    return called or _one(named)


def _only(read: Read, labels: tuple[str, ...]) -> str | None:
    """Return the only label in brackets, or else the only capital that is no word."""
    found = [label for label in find_labels(read.text, labels) if not is_rejected(read, label)]
    # "(i)" numbers a list.
    enclosed = (label.label for label in found if label.enclosed and read.text[label.start] != "i")
    return _one(enclosed) or _one(label.label for label in found if is_strong(read.text, label))


def _one(labels: Iterable[str]) -> str | None:
    different = set(labels)
    return different.pop() if len(different) == 1 else None


def _by_text(text: str, labels: tuple[str, ...], options: tuple[str, ...] | None) -> str | None:
    """Return the label of the only option whose text occurs in `text`, or None."""
    if not options:
        return None
    keys = _option_keys(labels, options)
    whole = keys.get(name_key(text[:_SPAN])) if len(text) <= _SPAN else None
    if whole is not None:
        return whole
    # A text of one character occurs by accident.
    return _one(distinct(mentions(text, {key: keys[key] for key in keys if len(key) > 1})))


def _option_at(line: str, labels: tuple[str, ...], options: tuple[str, ...]) -> str | None:
    """Return the label of the longest option that `line` begins with, or None."""
    keys = _option_keys(labels, options)
    line_key = name_key(line[:_SPAN])
    begun = [key for key in keys if len(key) > 1 and f"{line_key} ".startswith(f"{key} ")]
    return keys[max(begun, key=len)] if begun else None


@lru_cache(maxsize=256)
def _option_keys(labels: tuple[str, ...], options: tuple[str, ...]) -> dict[str, str]:
    # Of options with one text the first stands for all: nothing tells them apart.
    keys: dict[str, str] = {}
    for label, option in zip(labels, options, strict=False):
        if key := name_key(option):
            keys.setdefault(key, label)
    return keys


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
