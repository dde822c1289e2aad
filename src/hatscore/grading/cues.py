# ruff: noqa: RUF001 - other scripts look alike on purpose
"""Cues: the words that announce an answer or a new question, of all languages at once.

A reply is never read by the language that its item claims. A model that is asked in Swahili
and answers in English must be read as well as one that answers in Swahili, so every cue of
``cues.json`` is tried on every reply.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple

from hatscore.grading.text import fold, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "DECORATION",
    "Cue",
    "answer_cues",
    "phrases",
    "question_cues",
    "spaced",
    "words_pattern",
]

# What may stand around a label, a link or a value: blanks, emphasis, quotes, brackets, LaTeX.
DECORATION = r"[ \t*_`~\"'´“”„‟‘’‚«»‹›「」『』【】〈〉《》〔〕()\[\]{}<>$\\|#✅☑✔➡👉]*"

# Scripts that put no space between words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff"
_UNSPACED_START = re.compile(f"[{_UNSPACED}\U00020000-\U0003ffff]")
# No letter, and no vowel sign or joiner of an Indic script, stands here.
_NOT_BEFORE = r"(?<![^\W\d_])(?<![\u0900-\u0963\u0966-\u0dff])"
# The visarga (\u0903, \u0983) is written for a colon after a word.
_NOT_AFTER = r"(?![^\W\d_]|[\u0900-\u0902\u0904-\u0963\u0966-\u0982\u0984-\u0dff])"

_WORD = r"[^\s\d:.,;!?=(){}\[\]<>。、，|*_\"“”«»]{1,24}+"
_BRACKET = r"(?:\([^()\n\d]{4,40}\))?"
_SEPARATOR = r"(?:[:∶︰ঃः]|={1,3}>?|-{1,2}>|[→⇒]|[–—―]+|-{1,2}(?=\s))"
_LINK_SPAN = 120
_MOST_CUES = 100
_LINE_OR_DIGIT = re.compile(r"[\n\d]")

Kind = Literal["separator", "copula", "tag", "bare"]


class Cue(NamedTuple):
    """Where an answer is announced.

    Attributes
    ----------
    start, end
        Position of the announcing word, and where the value may begin.
    kind
        ``separator`` (a colon, an equals sign or a dash), ``copula`` ("is"), ``tag``
        (``<answer>``) or ``bare`` (nothing: the value must follow at once).
    near
        False where other words stand between label and separator ("Answer in dollars:"): the
        value is then expected on the same line.
    """

    start: int
    end: int
    kind: Kind
    near: bool


@cache
def phrases(role: str) -> tuple[str, ...]:
    """Return every phrase of `role` in ``cues.json``, folded, longest first."""
    text = files("hatscore.grading").joinpath("cues.json").read_text(encoding="utf-8")
    found = {
        fold(normalise(phrase))
        for roles in json.loads(text).values()
        for phrase in roles.get(role, ())
    }
    return tuple(sorted(found, key=lambda phrase: (-len(phrase), phrase)))


def spaced(char: str) -> bool:
    """Return whether `char` belongs to a script that separates words by spaces."""
    return _UNSPACED_START.match(char) is None


@lru_cache(maxsize=4096)
def words_pattern(words: tuple[str, ...]) -> str:
    """Return a pattern that matches any of `words` as a whole, longest first.

    Words of scripts without spaces may touch other letters; Korean words may be followed by
    their particles.
    """
    whole, open_end, anywhere = [], [], []
    for word in words:
        if not spaced(word[0]):
            anywhere.append(word)
        elif "\uac00" <= word[-1] <= "\ud7a3":
            open_end.append(word)
        else:
            whole.append(word)
    parts = []
    if whole:
        parts.append(f"{_NOT_BEFORE}{_tree(whole)}{_NOT_AFTER}")
    parts += (_tree(group) for group in (open_end, anywhere) if group)
    pattern = "|".join(parts).replace(r"\ ", r"[ \t]+")
    return f"(?:{pattern})" if parts else "(?!)"


def present(low: str, words: Iterable[str]) -> tuple[str, ...]:
    """Return the `words` that occur in `low` at all: a cheap sieve before any pattern."""
    chars = set(low)
    return tuple(word for word in words if word[0] in chars and word[-1] in chars and word in low)


@cache
def _nouns() -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return a pattern of the plain Latin words for "answer", and the other words."""
    words = phrases("answer")
    latin = [word for word in words if word.isascii()]
    pattern = re.compile(rf"(?<![a-z]){_tree(latin)}(?![^\W\d_])")
    return pattern, tuple(word for word in words if not word.isascii())


@lru_cache(maxsize=4096)
def _finder(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(words_pattern(words))


@cache
def _finder_of(role: str) -> re.Pattern[str]:
    return _finder(phrases(role))


def _tree(words: Iterable[str]) -> str:
    """Return a pattern of `words` that shares beginnings: much faster than a list of them."""
    by_first: dict[str, list[str]] = {}
    for word in words:
        by_first.setdefault(word[:1], []).append(word[1:])
    ends = by_first.pop("", None) is not None
    branches = [re.escape(first) + _tree(rest) for first, rest in sorted(by_first.items())]
    if not branches:
        return ""
    return f"(?:{'|'.join(branches)}){'?' if ends else ''}"


@cache
def _links() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    copulas = phrases("is")
    by_space = words_pattern(tuple(word for word in copulas if spaced(word[0])))
    attached = words_pattern(tuple(word for word in copulas if not spaced(word[0])))
    opening = f"{DECORATION}{_BRACKET}{DECORATION}"
    separator = re.compile(f"{opening}{_SEPARATOR}")
    copula = re.compile(
        f"{opening}(?:(?P<words>(?:{_WORD}[ \t,]+){{0,6}}?){DECORATION}(?P<copula>{by_space})"
        rf"|(?P<gap>[^\s\d:。、，]{{0,20}}?){attached})(?:{DECORATION}{_SEPARATOR})?"
    )
    distant = re.compile(
        f"[ \t]*{_WORD}(?:[ \t]+{_WORD}){{0,5}}[ \t]*{_BRACKET}{DECORATION}{_SEPARATOR}"
    )
    return separator, copula, distant


def answer_cues(text: str, low: str) -> list[Cue]:
    """Return every answer cue of a normalised reply, in order of position.

    Parameters
    ----------
    text, low
        The normalised reply and its fold, of one length.

    Notes
    -----
    Whether a cue counts depends on what follows: the caller looks for a value from its end.
    A label that belongs to "step by step" ("Answer: Let's think step by step") is left out:
    it announces the reasoning.
    """
    latin, others = _nouns()
    spans = [match.span() for match in latin.finditer(low)]
    if not low.isascii() and (words := present(low, others)):
        spans += (match.span() for match in _finder(words).finditer(low))
    if len(spans) > _MOST_CUES:
        # A text full of such words announces nothing: the ends are enough.
        spans = sorted(spans)[: _MOST_CUES // 4] + sorted(spans)[-_MOST_CUES:]
    cues = [
        cue
        for start, end in spans
        if (cue := _link(text, low, start, end)) and not _announces_steps(low, cue)
    ]
    return sorted((*cues, *_dialogue(low)))


def _dialogue(low: str) -> list[Cue]:
    """Return the lines that begin with "A:", in a reply where others begin with "Q:"."""
    if "q:" not in low or not re.search(r"^[ *]*q:", low, re.MULTILINE):
        return []
    return [
        Cue(match.start(), match.end(), "separator", near=True)
        for match in re.finditer(r"^[ *]*a:", low, re.MULTILINE)
    ]


def _link(text: str, low: str, start: int, end: int) -> Cue | None:
    before = text[start - 1 : start]
    if before == "/":  # a closing tag
        return None
    if before == "<" and text[end : end + 1] == ">":
        return Cue(start, end + 1, "tag", near=True)
    if closed := _finder_of("answer_is").match(low, start):
        return Cue(start, closed.end(), "copula", near=True)
    linked = _linked(text, low, end)
    return Cue(start, *linked) if linked else Cue(start, end, "bare", near=True)


def _linked(text: str, low: str, end: int) -> tuple[int, Kind, bool] | None:
    """Return where a link behind an announcing word ends, its kind, and whether it is near."""
    stop = end + _LINK_SPAN
    separator, copula, distant = _links()
    if linked := separator.match(low, end, stop):
        return linked.end(), "separator", True
    linked = copula.match(low, end, stop)
    if linked and not _is_label(text, linked):
        return linked.end(), "copula", True
    linked = distant.match(low, end, stop)
    return (linked.end(), "separator", False) if linked else None


def _is_label(text: str, link: re.Match[str]) -> bool:
    """Tell the option E from the copula "é", and an option before the copula from a word.

    Hindi and its neighbours say "answer C is": there the copula ends the answer.
    """
    begin, end = link.span("copula")
    between = text[slice(*link.span("words" if begin >= 0 else "gap"))]
    if any(len(word) == 1 and not word.islower() for word in between.split()):
        return True
    word = text[begin:end]
    return word in {"E", "\u0415"} or word.lower() == "la"


def _announces_steps(low: str, cue: Cue) -> bool:
    steps = _finder_of("steps")
    line = low.rfind("\n", max(0, cue.start - 40), cue.start)
    after = _LINE_OR_DIGIT.search(low, cue.start, cue.end + 60)
    begin = line if line >= 0 else max(0, cue.start - 40)
    return steps.search(low, begin, after.start() if after else cue.end + 60) is not None


@cache
def _question_pattern() -> re.Pattern[str]:
    nouns = words_pattern(phrases("question"))
    # A heading of the model's own, at the start of a line: "Question:", "## Frage 2:".
    return re.compile(rf"^[ \t*_#>(\[]*{nouns}[ \t]*(?P<number>[0-9]+)?[ \t*_)\]]*:", re.MULTILINE)


def question_cues(low: str) -> Iterator[re.Match[str]]:
    """Yield the places of a folded reply where a new question is announced."""
    if ":" not in low:
        return iter(())
    return _question_pattern().finditer(low)
