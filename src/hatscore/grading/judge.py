# ruff: noqa: RUF001 - other scripts look alike on purpose
"""Verdicts of a judge that was asked for one word: yes, no, or it cannot be told."""

from __future__ import annotations

import re

from hatscore.grading.reply import strip_reasoning
from hatscore.grading.text import normalise

__all__ = ["parse_verdict"]

_VERDICTS = {
    "yes": True,
    "correct": True,
    "true": True,
    "no": False,
    "incorrect": False,
    "wrong": False,
    "false": False,
}
_WORD = "|".join(_VERDICTS)
_MARKER = r"verdict|answer|output|judge?ment|decision|result|grade|conclusion|label|rating"
# The word a phrase ends on; "partially correct" and "yes or no" are other phrases.
_PHRASE = rf"(?P<not>not\s{{1,3}})?(?P<word>{_WORD})(?![\w'’]|[ \t]*/)"

_JSON = re.compile(
    rf"(?P<q>[\"'])(?:is_?)?(?P<key>\w{{0,20}}?(?:{_MARKER}|correct|supported))(?P=q)"
    r"\s{0,5}:\s{0,5}"
    r"(?P<value>\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[\w.]{1,40}(?=\s{0,5}[,}]))",
    re.IGNORECASE,
)
_EXPLICIT = re.compile(
    rf"(?<!\w)(?P<marker>{_MARKER})(?!\w)[\s*_`\"'>)\]]{{0,6}}"
    rf"(?:(?P<is>is\b)|[:=\-–—>]|\n|\b(?=[*_`\"']))"
    rf"[\s*_`\"':>(\[]{{0,8}}(?P<said>(?:not\s{{1,3}})?[^\W\d_]{{1,30}})"
    r"(?:[ \t]{1,3}(?P<next>[^\W\d_]{1,30}))?",
    re.IGNORECASE,
)
_OWN_LINE = re.compile(
    rf"(?:^|\n)[\s*_`\"'(\[<>#-]{{0,8}}{_PHRASE}[\s*_`\"')\]<>.!]{{0,8}}$", re.IGNORECASE
)
_FIRST = re.compile(rf"[\W\d_]{{0,40}}{_PHRASE}", re.IGNORECASE)
_NOUN_NEXT = re.compile(
    r"[\s*_`\"']{0,4}(?:answer|response|option|verdict|evidence|information|context|text)s?\b",
    re.IGNORECASE,
)
# Where a word of verdict is meant as one: it ends its clause, or a verb leads to it.
_STATED = re.compile(
    rf"(?<![\w\"'“‘/])(?:(?P<verb>(?:is|are|was|were|be)\s{{1,3}}(?:\w{{2,12}}ly\s{{1,3}})?)?{_PHRASE})"
    r"(?P<ends>[*_`)\]]{0,3}(?:$|[\n.,;:!?)]))?",
    re.IGNORECASE,
)


def parse_verdict(text: str) -> bool | None:
    """Return what a judge decided: True, False, or None when it cannot be told.

    The last verdict that is announced as one (``Verdict: NO``, ``{"verdict": "correct"}``, a
    last line of its own) counts, else the first word of the reply. The words are YES and NO,
    CORRECT and INCORRECT, TRUE and FALSE, WRONG, and "not" before one of them. Thinking is
    removed first.

    Parameters
    ----------
    text
        The judge's reply as the model gave it.

    Returns
    -------
    bool or None
        None for anything else: an unknown word, another class ("partially correct"), a cut
        reply, or two verdicts that contradict each other. Never raises. None is not wrong: the
        caller counts it as ``judge_unparsed``.

    Examples
    --------
    >>> parse_verdict("**Yes**"), parse_verdict("At first YES. Final verdict: NO")
    (True, False)
    >>> parse_verdict("NO, ... yes") is None
    True
    """
    visible = normalise(strip_reasoning(text)[0]).strip()
    if json_values := list(_JSON.finditer(visible)):
        return _json_value(json_values[-1])
    first = _FIRST.match(visible)
    if explicit := [match for match in _EXPLICIT.finditer(visible) if _announces(match)]:
        value = _explicit(visible, explicit[-1])
        # "Yes, but the answer is incorrect" says both.
        return None if explicit[-1]["is"] and first and _value(first) != value else value
    line = _OWN_LINE.search(visible)
    if line and (not first or line.start() > 0):
        return None if first and _value(first) != _value(line) else _value(line)
    if first is None or _NOUN_NEXT.match(visible, first.end()):
        return None
    return _unless_contradicted(visible, first.end(), value=_value(first))


def _value(match: re.Match[str]) -> bool | None:
    value = _VERDICTS[match["word"].lower()]
    if not match["not"]:
        return value
    # "Not correct" is a verdict; "not wrong" and "not no" are none.
    return False if value else None


def _json_value(match: re.Match[str]) -> bool | None:
    value = match["value"].strip("\"' .").lower()
    whole = re.fullmatch(_PHRASE, value)
    return _value(whole) if whole else None


def _announces(match: re.Match[str]) -> bool:
    """Tell "the answer is correct" from "the answer is Paris", which is no verdict."""
    return not match["is"] or re.fullmatch(_PHRASE, match["said"], re.IGNORECASE) is not None


def _explicit(text: str, match: re.Match[str]) -> bool | None:
    said = re.fullmatch(_PHRASE, match["said"], re.IGNORECASE)
    if said is None:
        return None
    if match["next"] and match["next"].lower() in {"or", "and", "longer", "answer", "evidence"}:
        return None
    return _unless_contradicted(text, match.end("said"), value=_value(said))


def _unless_contradicted(text: str, begin: int, *, value: bool | None) -> bool | None:
    """Return `value` unless the text goes on to state the opposite."""
    for match in _STATED.finditer(text, begin):
        word = match["word"].lower()
        stated = match["ends"] is not None or (match["verb"] and word not in {"yes", "no"})
        if stated and _value(match) is not value:
            return None
    return value
