# ruff: noqa: RUF001, RUF002 - other scripts look alike on purpose
"""From what the model sent to what it said: thinking removed, one normal form, no run-on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hatscore.grading.cues import Cue, answer_cues, question_cues
from hatscore.grading.text import fold, normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Read", "boxes", "clean_reply", "line_after", "prepare", "spoken", "strip_reasoning"]

_NAMES = (
    r"(?:seed:|longcat_)?think(?:ing)?|thoughts?|reasoning|reason|reflection|scratchpad"
    r"|inner_thoughts?|chain_of_thought"
)
_CLOSING = re.compile(
    rf"<\s{{0,3}}/\s{{0,3}}(?:{_NAMES})\s{{0,3}}>"
    rf"|\[\s{{0,3}}/\s{{0,3}}(?:{_NAMES})\s{{0,3}}\]"
    r"|◁\s{0,3}/\s{0,3}think\s{0,3}▷"
    r"|<\|(?:end_of_thought|end_thinking|inner_suffix|/think)\|>"
    r"|<\|channel\|>\s{0,3}final\s{0,3}(?:<\|constrain\|>\s{0,3}\w{0,20}\s{0,3})?<\|message\|>"
    r"|<channel\|>|<unused95>",
    re.IGNORECASE,
)
_OPENING = re.compile(
    rf"<\s{{0,3}}(?:{_NAMES})(?:\s[^<>]{{0,80}})?>"
    rf"|\[\s{{0,3}}(?:{_NAMES})\s{{0,3}}\]"
    r"|◁\s{0,3}think\s{0,3}▷"
    r"|<\|(?:begin_of_thought|start_thinking|inner_prefix|think)\|>"
    r"|(?:<\|start\|>\s{0,3}assistant\s{0,3})?<\|channel\|>\s{0,3}(?:analysis|commentary)"
    r"|<\|channel>|<unused94>",
    re.IGNORECASE,
)
_TAG_START = re.compile(r"[<\[◁]")
# What the channel markers of one family become where special tokens are dropped.
_BARE_CHANNELS = ("analysis", "assistantfinal")

_TURN_END = re.compile(
    r"<\|(?:im_end|end|eot_id|eom_id|endoftext|end_of_text|end_of_turn|return|eos|call)\|>"
    r"|<(?:/s|eos|end_of_turn|turn\|)>|<\|end[_▁]of[_▁]sentence\|>|\[/?INST\]"
    r"|<\|(?:im_start|start_header_id|start|user|assistant)\|>(?:\s{0,3}assistant)?"
    r"(?:\s{0,3}<\|(?:end_header_id|message)\|>)?|<start_of_turn>(?:\s{0,3}model)?",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\f?boxed\s{0,3}(?:\{|(?=[-−]?\d))")
_MOST_BOXES = 50
_BRACE = re.compile(r"[{}]")
# What may follow a cue on a line that says nothing.
_BLANK = " \t*_`~\"'“”()[]{}<>$\\|#.:✅"
_NEXT_LINE = re.compile(r"\s*(\S[^\n]*)")
# Longest text before a label that is a heading of its own ("## The final answer").
_HEADING = 30
_FIRST_LINE = re.compile(r"\s*(\S[^\n]*)\n")
_LONGEST_BARE_ANSWER = 80


@dataclass(frozen=True)
class Read:
    """A reply in the form in which extractors read it.

    Parameters
    ----------
    text
        Visible text in normal form, ended before a run-on question.
    cut
        Whether a run-on question was taken off, so that what stands before it is complete.
    """

    text: str
    cut: bool = False

    @cached_property
    def low(self) -> str:
        """`text` folded, of the same length."""
        return fold(self.text)

    @cached_property
    def cues(self) -> list[Cue]:
        """Every answer cue, in order of position."""
        return answer_cues(self.text, self.low)

    def before(self, position: int) -> Read:
        """Return the part before `position`, as cut."""
        return Read(self.text[:position].rstrip(), cut=True)


def strip_reasoning(text: str) -> tuple[str, bool]:
    """Return the visible part of a reply, and whether a thinking block was left open.

    Everything through the last closing tag is thinking, so an opening tag may be missing. A
    block without a closing tag takes the rest of the text with it. Known are the tags
    ``<think>``, ``<thinking>``, ``<thought>``, ``<reasoning>`` and their kin, also in square
    brackets, in any case, and the channel and token markers of current model families. Other
    tags stay.

    Parameters
    ----------
    text
        The reply as the model gave it.

    Returns
    -------
    visible, open
        The text outside of thinking, untouched, and True when the reply ended inside it.

    Examples
    --------
    >>> strip_reasoning("<think>12, or is it?</think>Answer: 15")
    ('Answer: 15', False)
    >>> strip_reasoning("Let me see. <think>Option B looks")
    ('Let me see. ', True)
    """
    if text.startswith(_BARE_CHANNELS[0]):
        _, found, after = text.rpartition(_BARE_CHANNELS[1])
        text = after if found else text
    if _TAG_START.search(text) is None:
        return text, False
    visible = 0
    for closing in _CLOSING.finditer(text):
        visible = closing.end()
    opening = _OPENING.search(text, visible)
    if opening is None:
        return text[visible:], False
    return text[visible : opening.start()], True


def prepare(text: str, is_answer: Callable[[Read, Cue | None], bool]) -> Read:
    """Return a reply ready for an extractor.

    Parameters
    ----------
    text
        The reply as the model gave it.
    is_answer
        Asked with a cue: whether a value follows it. Asked with None: whether the whole (one
        short line, without a cue) is an answer. A question that the reply asks after an answer
        is the beginning of another item and ends the reply.
    """
    read = Read(_own_turn(normalise(strip_reasoning(text)[0])))
    questions = list(question_cues(read.low))
    if not questions:
        return read
    last = questions[-1].start()
    answered = next(
        (cue.end for cue in read.cues if cue.start < last and is_answer(read, cue)), None
    )
    for mark in _marks(read.text):
        if answered is None or mark < answered:
            answered = mark
    first = _FIRST_LINE.match(read.text)
    if first and len(first[1]) <= _LONGEST_BARE_ANSWER and not first[1].rstrip(" *_").endswith(":"):
        line = Read(first[1].strip())
        starts_answered = not line.cues and is_answer(line, None)
        if starts_answered and questions[0].start() >= first.end():
            answered = first.end()
    if answered is None:
        return read
    # A reply that divides the task into numbered questions of its own answers them all.
    divides = any(q["number"] for q in questions if q.start() < answered)
    for question in questions:
        if question.start() >= answered and not (divides and question["number"]):
            return read.before(question.start())
    return read


def clean_reply(text: str) -> str:
    r"""Return a reply as extractors see it: visible, in normal form, ended before a run-on.

    Thinking goes (:func:`strip_reasoning`), then whatever follows an end-of-turn token. Letters
    and digits take their plain form and every decimal digit becomes ASCII (superscripts and
    fractions do not), what cannot be seen goes, and a new question after an answer ends the
    reply.

    Examples
    --------
    >>> clean_reply("<think>?</think>答え: １８\n\nQuestion: And 5²?")
    '答え: 18'
    """
    return prepare(text, spoken).text


def spoken(read: Read, cue: Cue | None) -> bool:
    """Take any word or number for an answer: for replies whose answer is free text."""
    if cue is None:
        return any(char.isalnum() for char in read.text)
    if cue.kind == "bare":
        return False
    return any(char.isalnum() for char in read.text[cue.end : cue.end + 80])


def line_after(text: str, cue: Cue) -> tuple[int, int]:
    """Return where the line that a cue announces begins and ends.

    The rest of the cue's line, or the next line that is not empty if nothing but decoration
    follows the cue. An empty span at the cue's end if there is neither.
    """
    end = _line_end(text, cue.end)
    if text[cue.end : end].strip(_BLANK):
        return cue.end, end
    following = _NEXT_LINE.match(text, end)
    if not cue.near or following is None:
        return cue.end, cue.end
    if cue.kind == "bare" and len(text[text.rfind("\n", 0, cue.start) + 1 : cue.start]) > _HEADING:
        return cue.end, cue.end
    return following.span(1)


def _line_end(text: str, begin: int) -> int:
    end = text.find("\n", begin)
    return len(text) if end < 0 else end


def boxes(text: str) -> Iterator[str]:
    """Yield the contents of the LaTeX boxes of `text`, last first, with balanced braces."""
    if "boxed" not in text:
        return
    for match in reversed(list(_BOX.finditer(text))[-_MOST_BOXES:]):
        begin = match.end()
        if not match[0].endswith("{"):
            yield text[begin : begin + 60].split("\n", 1)[0]
            continue
        depth = 1
        for brace in _BRACE.finditer(text, begin, begin + 2000):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                yield text[begin : brace.start()]
                break


def _own_turn(text: str) -> str:
    """End the reply at the first token that ends a turn, past any that open it."""
    if "<" not in text and "[" not in text:
        return text
    begin = 0
    for token in _TURN_END.finditer(text):
        if text[begin : token.start()].strip():
            return text[begin : token.start()]
        begin = token.end()
    return text[begin:]


def _marks(text: str) -> Iterator[int]:
    """Yield where the first answer of each wordless kind ends: a box, or four hash signs."""
    if "####" in text and (match := re.search(r"####[ \t]*[^\w\s]{0,3}[0-9]", text)):
        yield match.end()
    box = text.find("\\boxed")
    if box >= 0:
        yield box + 6
