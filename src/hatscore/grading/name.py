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
from hatscore.grading.reply import Read, prepare, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hatscore.grading.answer import Gold, NameMode

__all__ = ["NameAnswer", "match_name", "read_name"]

_LIST_ITEM = re.compile(r"\s*(?:[-*•·‣–]|\d{1,2}[.)])\s+\S")
_SENTENCE_END = re.compile(r"(?<=[^\W\d_]{3})[.!?](?=\s)|[。！？।؟۔]")
_LINE_SPAN = 2000
_MOST_LINES = 40
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
    """

    accepted: str | None
    said: str | None
    end: int


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
    said = None
    end = len(read.text)
    for begin, stop, certain in _segments(read):
        segment = read.text[begin:stop]
        found = mentions(_answering(segment), known)
        if said is None and any(char.isalnum() for char in segment):
            said, end = segment.strip()[:80], stop
        if found:
            return _decide(found, said or segment.strip()[:80], stop)
        if certain:
            break
    return NameAnswer(None, said, end)


def _decide(found: list[Mention], said: str, end: int) -> NameAnswer:
    stated = [mention.value for mention in found if not mention.rejected]
    accepted = [value for value in stated if value.startswith(_ACCEPTED)]
    others = [value for value in stated if not value.startswith(_ACCEPTED)]
    if others:
        return NameAnswer(None, others[0], end)
    if accepted:
        return NameAnswer(accepted[0].removeprefix(_ACCEPTED), None, end)
    return NameAnswer(None, said, end)


def _segments(read: Read) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts that may be the answer, the likeliest first; True ends the search."""
    text = read.text
    for cue in reversed(read.cues):
        if cue.kind == "bare":
            continue
        line = re.compile(r"[^\n]*").match(text, cue.end)
        if line and not any(char.isalnum() for char in line[0]) and cue.near:
            line = re.compile(r"\s*[^\n]*").match(text, line.end())
        if line and any(char.isalnum() for char in line[0]):
            yield line.start(), min(line.end(), line.start() + _LINE_SPAN), False
    lines = [m for m in re.finditer(r"[^\n]+", text) if any(map(str.isalnum, m[0]))][:_MOST_LINES]
    index = 0
    while index < len(lines):
        first = last = lines[index]
        # A list is one answer of several names.
        while (
            index + 1 < len(lines)
            and _LIST_ITEM.match(first[0])
            and _LIST_ITEM.match(lines[index + 1][0])
        ):
            index += 1
            last = lines[index]
        index += 1
        line = first[0].strip(" \t*_#`\"'”»")
        short = len(line.split()) <= _SHORT_LINE
        announces = line.endswith((":", "!", "…"))
        yield first.start(), min(last.end(), first.start() + _LINE_SPAN), short and not announces


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
    return head if any(map(str.isalnum, head)) else segment


def _known(gold: Gold, mode: NameMode) -> Mapping[str, str]:
    if mode not in ("lenient", "strict"):
        raise InputError(f"names must be 'lenient' or 'strict', got {mode!r}")
    accepted = _accepted(gold, mode)
    tags = (gold.language, gold.source_language, "en")
    others = tuple(_names_of(gold.others, tag) for tag in dict.fromkeys(tags))
    return _lookup(accepted, others)


def _accepted(gold: Gold, mode: NameMode) -> tuple[str, ...]:
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
