"""From reply and gold to status: how one reply ended, told the same way in every language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hatscore.errors import InputError, UnknownNameError
from hatscore.grading.answer import Graded
from hatscore.grading.choice import announced_choice, bare_choice, choice_test, read_choice
from hatscore.grading.name import read_name
from hatscore.grading.number import (
    announced_number,
    bare_number,
    is_number,
    last_number,
    parse_number,
)
from hatscore.grading.reply import Read, prepare, spoken, strip_reasoning

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from hatscore.grading.answer import Gold, NameMode, Reply
    from hatscore.grading.cues import Cue

__all__ = ["grade", "read_and_grade"]

# Finish reasons of current servers and libraries, in small letters and without separators.
_REFUSED = re.compile(
    r"contentfilter(?:ed)?|refus(?:al|ed)|safety|prohibitedcontent|block(?:ed|list)|recitation|spii"
    r"|imagesafety|guardrail(?:intervened)?|sensitive|moderation|policyviolation"
)
_CUT = re.compile(
    r"length(?:capped)?|max(?:output|completion|new)?tokens|maxlength|modellength|tokenlimit"
    r"|(?:model)?context(?:length|windowexceeded)|incomplete"
)
_SEPARATORS = re.compile(r"[^a-z0-9]+")


def grade(reply: Reply, gold: Gold, *, names: NameMode = "lenient") -> Graded:
    """Return the status of one reply and what was read from it.

    In this order: ``error`` (no reply), ``refused`` (the finish reason says so), ``empty`` (no
    visible text), ``truncated`` (the token limit was reached, or a thinking block left open,
    and no complete answer stands before), ``unparsed`` (no answer of the asked kind), else
    ``correct`` or ``wrong``.

    A cut reply is complete if an announced answer stands in it (after a cue, in a box, after
    ``####``), or if the reply goes on after an answer on its first line, as base models do.

    Parameters
    ----------
    reply
        The reply as the model gave it.
    gold
        The right answer; ``gold.kind`` selects the extractor.
    names
        Which names count where ``gold.kind == "name"``.

    Returns
    -------
    Graded
        With the answer in canonical form: a number as text (``"25/2"``), a label, a name. Of a
        name that is wrong, the known name or the line that was read.

    Raises
    ------
    InputError
        When the gold cannot be used: a number without a digit, a label that is no option, an
        unknown kind, or ``kind == "judge"`` for a reply that needs one. For such golds the
        statuses ``error``, ``refused``, ``empty`` and ``truncated`` are returned without a
        judge; every other reply has to go to one.

    Examples
    --------
    >>> from hatscore.grading import Gold, Reply
    >>> grade(Reply("Antwort: 70.000"), Gold("number", "70000"))
    Graded(status='correct', answer='70000')
    >>> grade(Reply("<think>Maybe"), Gold("number", "70000"))
    Graded(status='truncated', answer=None)
    """
    return read_and_grade(reply, gold, names=names)[0]


def read_and_grade(
    reply: Reply, gold: Gold, *, names: NameMode = "lenient"
) -> tuple[Graded, Read | None]:
    """Return what :func:`grade` returns, and the text that was read; None where none was."""
    if gold.kind not in _READERS:
        raise UnknownNameError("kind of gold", str(gold.kind), _READERS)
    if reply.error is not None:
        return Graded("error"), None
    finish = _SEPARATORS.sub("", (reply.finish_reason or "").lower().rpartition(".")[2])
    if _REFUSED.fullmatch(finish):
        return Graded("refused"), None
    visible, is_open = strip_reasoning(reply.text)
    is_cut = is_open or _CUT.fullmatch(finish) is not None
    read = prepare(visible, _test_of(gold))
    if not read.text.strip():
        return Graded("truncated" if is_cut else "empty"), None
    return _READERS[gold.kind](read, gold, names=names, is_cut=is_cut), read


def _test_of(gold: Gold) -> Callable[[Read, Cue | None], bool]:
    """Return what tells whether a question of this kind is answered, to find a run-on."""
    if gold.kind == "number":
        return is_number
    return choice_test(gold.labels) if gold.kind == "choice" else spoken


def _number(read: Read, gold: Gold, *, is_cut: bool, **_: object) -> Graded:
    expected = parse_number(gold.value)
    if expected is None:
        raise InputError(f"a gold of kind 'number' needs a number, got {gold.value!r}")
    value = announced_number(read)
    if value is None and is_cut and not read.cut:
        first = _complete_line(read)
        value = bare_number(first) if first else None
        if value is None:
            return Graded("truncated")
    return _compared(last_number(read) if value is None else value, expected)


def _compared(value: Fraction | None, expected: Fraction) -> Graded:
    if value is None:
        return Graded("unparsed")
    return Graded("correct" if value == expected else "wrong", str(value))


def _choice(read: Read, gold: Gold, *, is_cut: bool, **_: object) -> Graded:
    if gold.value not in gold.labels:
        raise InputError(
            f"the gold label {gold.value!r} is none of the item's labels {', '.join(gold.labels)}"
        )
    options = gold.options or None
    if is_cut and not read.cut and announced_choice(read, gold.labels, options) is None:
        first = _complete_line(read)
        label = bare_choice(first, gold.labels) if first else None
        if label is None:
            return Graded("truncated")
    else:
        label = read_choice(read, gold.labels, options)
    if label is None:
        return Graded("unparsed")
    right = label == gold.value or label in gold.also
    return Graded("correct" if right else "wrong", label)


def _name(read: Read, gold: Gold, *, names: NameMode, is_cut: bool) -> Graded:
    answer = read_name(read, gold, names=names)
    # What a cue announces is complete, and so is a line behind which the reply went on.
    if is_cut and not read.cut and not answer.announced and answer.end >= len(read.text):
        return Graded("truncated")
    if answer.accepted is not None:
        return Graded("correct", answer.accepted)
    return Graded("unparsed") if answer.said is None else Graded("wrong", answer.said)


def _judged(read: Read, gold: Gold, *, is_cut: bool, **_: object) -> Graded:
    if is_cut and not read.cut:
        return Graded("truncated")
    raise InputError(
        f"the answer {gold.value!r} is judged by a model: grade() only tells error, refused, "
        "empty and truncated replies of kind 'judge'. Ask the judge and read its reply with "
        "parse_verdict()"
    )


def _complete_line(read: Read) -> str | None:
    """Return the first line if the reply went on behind it."""
    line, end, _ = read.text.lstrip().partition("\n")
    return line if end else None


_READERS: dict[str, Callable[..., Graded]] = {
    "number": _number,
    "choice": _choice,
    "name": _name,
    "judge": _judged,
}
