"""Which replies of a run a judge must see, and what it sees of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hatscore.errors import InputError
from hatscore.grading import clean_reply, grade
from hatscore.judging.prompt import subject_key
from hatscore.judging.store import ReplyKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatscore.grading.answer import Gold, Reply, Status
    from hatscore.sampling.store import Store, StoredItem

__all__ = ["Judgeable", "Subject", "judged_replies", "readable_answer", "subjects"]


@dataclass(frozen=True, slots=True)
class Judgeable:
    """One reply to an item that needs a judge.

    Parameters
    ----------
    key
        Of the reply.
    item
        Its item.
    status
        How the reply ended when no judge need see it, else None.
    answer
        What the judge reads, "" with a status.
    """

    key: ReplyKey
    item: StoredItem
    status: Status | None
    answer: str

    @property
    def subject(self) -> str:
        """Hash of what is judged."""
        return subject_key(
            context=self.item.gold.context,
            question=self.item.question,
            answer=self.answer,
            language=self.item.language,
        )


@dataclass(frozen=True, slots=True)
class Subject:
    """What a judge is asked once, and the replies that share its verdict."""

    item: StoredItem
    answer: str
    keys: list[ReplyKey] = field(default_factory=list)


def readable_answer(reply: Reply, gold: Gold) -> tuple[Status | None, str]:
    """Return what a judge reads of a reply, or the status of one that no judge need see.

    An error, a refusal by the server, a reply that was cut and one without visible text are
    never sent.

    Parameters
    ----------
    reply
        As the model gave it.
    gold
        Of kind ``judge``.
    """
    try:
        return grade(reply, gold).status, ""
    except InputError:  # how grade() says that this one has to go to a judge
        return None, clean_reply(reply.text).strip()


def judged_replies(store: Store) -> Iterator[Judgeable]:
    """Yield every reply to an item whose gold is of kind ``judge``, ordered by key."""
    for item, response in store.rows():
        if item.gold.kind == "judge":
            status, answer = readable_answer(response.reply, item.gold)
            key = ReplyKey(item.benchmark, item.item, item.language, response.repeat)
            yield Judgeable(key, item, status, answer)


def subjects(store: Store) -> dict[str, Subject]:
    """Return what is to be judged, by hash: replies of one text to one item come once."""
    found: dict[str, Subject] = {}
    for reply in judged_replies(store):
        if reply.status is None:
            subject = found.setdefault(reply.subject, Subject(reply.item, reply.answer))
            subject.keys.append(reply.key)
    return found
