# ruff: noqa: RUF001 - other scripts look alike on purpose
"""Names: whether a reply to a closed-book question gives a known answer.

Which names count is part of a result: a model that answers a Korean question with the English
name knows the fact. ``lenient`` accepts the names of the item's language, of the source
language and of English, ``strict`` those of the item's language alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hatscore.errors import InputError
from hatscore.grading.mentions import Mention, mentions, name_key
from hatscore.grading.reply import Read, line_after, prepare, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hatscore.grading.answer import Gold, NameMode

__all__ = ["NameAnswer", "accepted_names", "match_name", "read_name"]

_LIST_ITEM = re.compile(r"\s*(?:[-*•·‣–]|\d{1,2}[.)])\s+\S")
_SENTENCE_END = re.compile(r"(?<=[^\W\d_]{3})[.!?](?=\s)|[。！？।؟۔]")
_LINE_SPAN = 2000
_MOST_LINES = 40
_SAID_SPAN = 80
_SHORT_LINE = 5
_SHORT_SENTENCE = 3
_ACCEPTED = "\0accepted:"


class NameAnswer(NamedTuple):
    """What a reply answers.

    Attributes
    ----------
    accepted
        The accepted name it gives, as the gold writes it; None when it gives none.
    said
        What it says instead: another known name, or the line read as its answer.
    end
        Position in the prepared text behind the line that was read.
    announced
        Whether an answer cue leads to it.
    """

    accepted: str | None
    said: str | None
    end: int
    announced: bool


def match_name(text: str, gold: Gold, *, names: NameMode = "lenient") -> str | None:
    """Return the accepted name that a reply gives as its answer, or None.

    The answer is what follows the last answer cue with a known name; without one, the first
    line that is an answer (a greeting or an announcement is none). A name counts as a whole
    only, in any case, with or without accents and punctuation; of names inside one another
    the longest counts. A name that the reply rejects ("not Paris") does not count, and a reply
    that names one of ``gold.others`` as well is no answer.

    Parameters
    ----------
    text
        The reply as the model gave it, thinking included.
    gold
        Accepted names by language, and names of the same kind that are wrong.
    names
        ``"lenient"`` accepts names of the item's language, the source language and English,
        and the canonical value; ``"strict"`` those of the item's language alone.

    Returns
    -------
    str or None
        The accepted name as the gold writes it.

    Raises
    ------
    InputError
        When `names` is unknown, or strict and the gold has no name in its language.

    Examples
    --------
    >>> from hatscore.grading import Gold
    >>> gold = Gold("name", "Niger", language="fr", others={"fr": ("Nigéria",)})
    >>> match_name("Il s'agit du Niger.", gold), match_name("Le Nigeria", gold)
    ('Niger', None)
    """
    return read_name(prepare(text, spoken), gold, names=names).accepted


def read_name(read: Read, gold: Gold, *, names: NameMode = "lenient") -> NameAnswer:
    """Return what a prepared reply answers to a question for a name."""
    known = _known(gold, names)
    unknown: _Segment | None = None
    for segment in _segments(read):
        said = read.text[segment.begin : segment.end]
        if found := mentions(_answering(said), known):
            return _decide(found, said, segment)
        unknown = unknown or segment
        if segment.certain:
            break
    if unknown is None:
        return NameAnswer(None, None, len(read.text), announced=False)
    return _decide([], read.text[unknown.begin : unknown.end], unknown)


def _decide(found: list[Mention], said: str, segment: _Segment) -> NameAnswer:
    stated = [mention.value for mention in found if not mention.rejected]
    accepted = [value for value in stated if value.startswith(_ACCEPTED)]
    others = [value for value in stated if not value.startswith(_ACCEPTED)]
    if accepted and not others:
        name = accepted[0].removeprefix(_ACCEPTED)
        return NameAnswer(name, None, segment.end, segment.announced)
    wrong = others[0] if others else said.strip()[:_SAID_SPAN]
    return NameAnswer(None, wrong, segment.end, segment.announced)


class _Segment(NamedTuple):
    """A part of a reply that may be its answer; `certain` ends the search."""

    begin: int
    end: int
    certain: bool
    announced: bool


def _segments(read: Read) -> Iterator[_Segment]:
    """Yield the parts of a reply that may be its answer, the likeliest first."""
    text = read.text
    for cue in reversed(read.cues):
        begin, end = line_after(text, cue)
        if cue.kind != "bare" and _says(text[begin:end]):
            yield _Segment(begin, min(end, begin + _LINE_SPAN), certain=False, announced=True)
    lines = [line for line in re.finditer(r"[^\n]+", text) if _says(line[0])][:_MOST_LINES]
    index = 0
    while index < len(lines):
        first = last = lines[index]
        index += 1
        # A list is one answer of several names.
        while index < len(lines) and _is_item(last[0]) and _is_item(lines[index][0]):
            last = lines[index]
            index += 1
        bare = first[0].strip(" \t*_#`\"'”»")
        is_answer = len(bare.split()) <= _SHORT_LINE and not bare.endswith((":", "!", "…"))
        end = min(last.end(), first.start() + _LINE_SPAN)
        yield _Segment(first.start(), end, certain=is_answer, announced=False)


def _is_item(line: str) -> bool:
    return _LIST_ITEM.match(line) is not None


def _says(text: str) -> bool:
    return any(char.isalnum() for char in text)


def _answering(segment: str) -> str:
    """Leave out what a line explains after the sentence that answers."""
    end = _SENTENCE_END.search(segment)
    if end is None:
        return segment
    rest = segment[end.end() :]
    following = _SENTENCE_END.split(rest, maxsplit=1)[0]
    if "\n" in segment or len(following.split()) <= _SHORT_SENTENCE:
        return segment
    head = segment[: end.end()]
    return head if _says(head) else segment


def _known(gold: Gold, mode: NameMode) -> Mapping[str, str]:
    if mode not in ("lenient", "strict"):
        raise InputError(f"names must be 'lenient' or 'strict', got {mode!r}")
    accepted = accepted_names(gold, mode)
    tags = (gold.language, gold.source_language, "en")
    others = tuple(_names_of(gold.others, tag) for tag in dict.fromkeys(tags))
    return _lookup(accepted, others)


def accepted_names(gold: Gold, mode: NameMode) -> tuple[str, ...]:
    """Return the names that count as right for a gold; see :func:`match_name` for the modes.

    Raises
    ------
    InputError
        `mode` is strict and the gold has no name in its language.
    """
    if not gold.names:
        return (gold.value,)
    own = _names_of(gold.names, gold.language)
    if mode == "strict":
        if not own:
            raise InputError(
                f"strict grading needs names in {gold.language!r}, the gold {gold.value!r} has "
                f"names in: {', '.join(sorted(gold.names))}. Use names='lenient' or add them"
            )
        return own
    lenient = (*own, *_names_of(gold.names, gold.source_language), *_names_of(gold.names, "en"))
    return (*lenient, gold.value)


def _names_of(names: Mapping[str, tuple[str, ...]], tag: str) -> tuple[str, ...]:
    if tag in names:
        return names[tag]
    # zh-Hans finds zh, and zh finds zh-Hans.
    base = tag.partition("-")[0]
    return tuple(
        name for other, group in names.items() if other.partition("-")[0] == base for name in group
    )


@lru_cache(maxsize=4096)
def _lookup(accepted: tuple[str, ...], others: tuple[tuple[str, ...], ...]) -> Mapping[str, str]:
    known: dict[str, str] = {}
    for name in accepted:
        if key := name_key(name):
            known.setdefault(key, _ACCEPTED + name)
    for group in others:
        for name in group:
            if key := name_key(name):
                known.setdefault(key, name)
    return known
