"""The records that pass through grading: a raw reply, a gold answer, a graded reply."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STATUSES", "AnswerKind", "Gold", "Graded", "NameMode", "Reply", "Status"]

Status = Literal[
    "correct", "wrong", "unparsed", "empty", "truncated", "refused", "error", "judge_unparsed"
]
AnswerKind = Literal["number", "choice", "name", "judge"]
NameMode = Literal["lenient", "strict"]

STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply as the model gave it.

    Parameters
    ----------
    text
        The visible text, untouched. A thinking block may still be in it.
    finish_reason
        As the server named it (``stop``, ``length``, ``content_filter`` ...), None if unknown.
    error
        Transport error that left no reply; None when the server answered.
    """

    text: str
    finish_reason: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Gold:
    """The right answer to one item in one language.

    Parameters
    ----------
    kind
        Which extractor reads the reply.
    value
        The canonical gold: the number as text, the option's label, or the main name.
    language, source_language
        BCP 47 tags of the item's row and of its source row; only names look at them.
    options
        Texts of the options of a multiple choice item, in order.
    labels
        Labels of the options, ``("A", "B", ...)``, as many as options.
    also
        Labels that count as right beside `value` (options that translation made identical).
    names
        Accepted names by language tag. Lenient grading accepts those of the item's language,
        the source language and English; strict grading those of the item's language alone.
    others
        Names that would be answers of the same kind but are wrong (other capitals, other
        currencies), by language tag: a reply that lists several names is no answer.
    context
        The text that a judge reads beside the question, in the item's language; it is stored
        with the item, so that a run can be judged again without the benchmark's data.
    """

    kind: AnswerKind
    value: str
    language: str = ""
    source_language: str = ""
    options: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    context: str = ""


@dataclass(frozen=True, slots=True)
class Graded:
    """How one reply was read.

    Parameters
    ----------
    status
        One of :data:`STATUSES`.
    answer
        What was read from the reply, in canonical form; None when nothing was.
    """

    status: Status
    answer: str | None = None
