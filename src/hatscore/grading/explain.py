"""Why a reply was read as it was: the rule that read it, in words, and the place it was read from.

The status is that of :func:`hatscore.grading.grade`, never another: here the same steps are only
told apart. Each rule is found by asking the extractor again with fewer cues, so a new cue or rule
needs no second list here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatscore.errors import InputError
from hatscore.grading.choice import announced_choice, bare_choice, read_choice
from hatscore.grading.name import read_name
from hatscore.grading.number import announced_number, bare_number
from hatscore.grading.reply import Read, boxes, line_after, prepare, spoken, strip_reasoning
from hatscore.grading.status import read_and_grade

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatscore.grading.answer import Gold, Graded, NameMode, Reply
    from hatscore.grading.cues import Cue

__all__ = ["Explained", "explain"]

_SPAN = 80
_CUE_SHOWN = 48


@dataclass(frozen=True, slots=True)
class Explained:
    """How one reply was read, and why.

    Parameters
    ----------
    graded
        Status and answer, as `grade` returns them; None for a reply that only a judge can judge.
    why
        The rule that read it, as part of a sentence: ``after the cue “Antwort:”``.
    place
        Where in the reply's raw text the answer was read, as (begin, end) in characters; None
        where the text that was read is not found in it to the letter, or nothing was read.
    """

    graded: Graded | None
    why: str
    place: tuple[int, int] | None = None


def explain(reply: Reply, gold: Gold, *, names: NameMode = "lenient") -> Explained:
    """Return how a reply is read, and why so.

    Parameters
    ----------
    reply, gold, names
        As for :func:`hatscore.grading.grade`.

    Returns
    -------
    Explained
        Its `graded` equals what `grade` returns; where `grade` asks for a judge it is None.

    Raises
    ------
    InputError
        A gold that cannot be used, as `grade`.

    Examples
    --------
    >>> from hatscore.grading import Gold, Reply
    >>> found = explain(Reply("Es sind viele. Antwort: 70.000"), Gold("number", "70000"))
    >>> found.graded.answer, found.why
    ('70000', 'after the cue “Antwort:”')
    """
    judged = gold.kind == "judge"
    try:
        graded, read = read_and_grade(reply, gold, names=names)
    except InputError:
        if not judged:
            raise
        read = prepare(strip_reasoning(reply.text)[0], spoken)
        return Explained(None, _with_preparation("the whole reply goes to the judge", reply, read))
    if read is None or graded.status in _ENDED:
        return Explained(graded, _ENDED[graded.status](reply))
    why, spans = _RULES[gold.kind](read, gold, names, graded)
    return Explained(graded, _with_preparation(why, reply, read), _placed(reply.text, read, spans))


def _error(reply: Reply) -> str:
    return f"no reply came: {reply.error}"


def _refused(reply: Reply) -> str:
    return f"the server ended it with {reply.finish_reason!r}"


def _empty(reply: Reply) -> str:
    return "nothing but thinking came" if reply.text.strip() else "no text came"


def _truncated(reply: Reply) -> str:
    if strip_reasoning(reply.text)[1]:
        return "it ends inside its thinking, with no complete answer before"
    return f"it was cut off ({reply.finish_reason}) and no complete answer stands before"


_ENDED: dict[str, Callable[[Reply], str]] = {
    "error": _error,
    "refused": _refused,
    "empty": _empty,
    "truncated": _truncated,
}

# why, and places in the text that was read, the best first
_Found = tuple[str, tuple[tuple[int, int], ...]]


def _number(read: Read, _gold: Gold, _names: NameMode, graded: Graded) -> _Found:
    if graded.status == "unparsed":
        return "no number stands in it", ()
    for cue in reversed(read.cues):
        if announced_number(_with(read, cue)) is not None:
            return _after(read, cue)
    if announced_number(_with(read)) is not None:
        return _mark(read)
    line = read.text.lstrip().partition("\n")[0]
    whole = bare_number(line)
    if whole is not None and str(whole) == graded.answer and line.strip() == read.text.strip():
        return "it holds this number alone", _last(read, graded.answer)
    return "no cue announces an answer: the last number counts", _last(read, graded.answer)


def _choice(read: Read, gold: Gold, _names: NameMode, graded: Graded) -> _Found:
    options = gold.options or None
    announced = None
    for cue in reversed(read.cues):
        announced = announced_choice(_with(read, cue), gold.labels, options)
        if announced is not None:
            why, spans = _after(read, cue)
            no_label = "" if announced else ", where no label of the item stands, or several do"
            return why + no_label, spans
    if announced_choice(_with(read), gold.labels, options) is not None:
        return _mark(read)
    if graded.status == "unparsed":
        return "no option's label or text could be told apart in it", ()
    lines = [line.strip() for line in read.text.split("\n") if line.strip()]
    for line in (lines[-1], lines[0], *lines):
        if bare_choice(line, gold.labels) == graded.answer:
            where = read.text.find(line)
            return "a line holds or begins with the label", ((where, where + len(line)),)
    if read_choice(read, gold.labels, None) == graded.answer:
        return "the only option that it calls right, names or puts in brackets", ()
    return "the only option whose text occurs in it", ()


def _name(read: Read, gold: Gold, names: NameMode, graded: Graded) -> _Found:
    if graded.status == "unparsed":
        return "no line of it says anything", ()
    answer = read_name(read, gold, names=names)
    spans = _last(read, graded.answer)
    if answer.announced:
        for cue in reversed(read.cues):
            alone = read_name(_with(read, cue), gold, names=names)
            if alone.announced and alone[:3] == answer[:3]:
                why, line = _after(read, cue)
                return why + _known(graded), line
    return "the first line that answers" + _known(graded), spans


def _known(graded: Graded) -> str:
    return "" if graded.status == "correct" else ": no accepted name alone"


_RULES: dict[str, Callable[[Read, Gold, NameMode, Graded], _Found]] = {
    "number": _number,
    "choice": _choice,
    "name": _name,
}


def _with(read: Read, *cues: Cue) -> Read:
    """Return `read` as if it held no cues but these."""
    some = Read(read.text, read.cut)
    some.__dict__["cues"] = list(cues)  # where the cached property keeps its value
    return some


def _after(read: Read, cue: Cue) -> _Found:
    said = " ".join(read.text[cue.start : cue.end].split())
    if len(said) > _CUE_SHOWN:
        said = f"{said[:_CUE_SHOWN]}…"
    begin, end = line_after(read.text, cue)
    where = " on the next line" if begin > cue.end else ""
    return f"after the cue “{said}”{where}", (
        (cue.start, min(end, begin + _SPAN)),
        (cue.start, cue.end),
    )


def _mark(read: Read) -> _Found:
    """Name the mark without words that announces the answer."""
    if next(boxes(read.text), None) is not None:
        at = read.text.rfind("boxed")
        return "in the last box (\\boxed)", ((at - 1, _line_end(read.text, at)),)
    at = read.text.rfind("####")
    return "after ####", ((at, _line_end(read.text, at)),)


def _line_end(text: str, begin: int) -> int:
    end = text.find("\n", begin)
    return min(len(text) if end < 0 else end, begin + _SPAN)


def _last(read: Read, answer: str | None) -> tuple[tuple[int, int], ...]:
    at = read.text.rfind(answer) if answer else -1
    return ((at, at + len(answer)),) if answer and at >= 0 else ()


def _with_preparation(why: str, reply: Reply, read: Read) -> str:
    """Add what was taken off before reading."""
    if read.cut:
        why += "; a question that it goes on to ask was left out"
    if strip_reasoning(reply.text)[0] != reply.text:
        why += "; its thinking was not read"
    return why


def _placed(raw: str, read: Read, spans: tuple[tuple[int, int], ...]) -> tuple[int, int] | None:
    """Return where the first of `spans` that is found stands in `raw`.

    The same occurrence, counted from the front. Nothing is better than a wrong place: where
    reading took occurrences away there is none.
    """
    for first, end in spans:
        said = read.text[first:end].strip()
        if not said or raw.count(said) != read.text.count(said):
            continue
        begin = read.text.index(said, first)
        at = -1
        for _ in range(read.text.count(said, 0, begin) + 1):
            at = raw.find(said, at + 1)
        if at >= 0:
            return at, at + len(said)
    return None
