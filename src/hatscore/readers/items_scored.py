"""What items of other harnesses share: one score for an item, options, and conversations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from hatscore.readers.items import ItemRecord, ItemReply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Scored", "conversation", "merged", "shown_options", "status_of"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Scored(NamedTuple):
    """A row of a log as it was scored: the key of the table, the score and its name."""

    model: str
    benchmark: str
    item: str
    language: str
    source_language: str
    repeat: str
    k: float
    metric: str

    @classmethod
    def of(cls, row: Mapping[str, Any], metric: str) -> Scored:
        """Return the score of a row of the table, as the readers of logs make it."""
        return cls(
            row["model"], row["benchmark"], row["item"], row["language"],
            row["source_language"], row["repeat"], row["k"], metric,
        )  # fmt: skip

    def record(self, **texts: Any) -> ItemRecord:
        """Return the item with what is known of it."""
        return ItemRecord(
            model=self.model,
            benchmark=self.benchmark,
            item=self.item,
            language=self.language,
            source_language=self.source_language,
            **texts,
        )

    def reply(self, text: str, number: int, *, of: int, why: str, **more: Any) -> ItemReply:
        """Return one of the `of` replies that the score was given to.

        Only the first counts: the table has one row, however many replies the score was made of.
        """
        if number:
            return ItemReply(
                text, "", counts=False, repeats=(f"{self.repeat}.{number}",),
                why=f"one of {of} replies that were scored together", **more,
            )  # fmt: skip
        status = status_of(self.k)
        return ItemReply(
            text, status, counts=True, repeats=(self.repeat,), why=why,
            credit=None if status else self.k, **more,
        )  # fmt: skip


def status_of(k: float) -> str:
    """Return how a scored reply ended, "" where the score lies between wrong and right."""
    return {1.0: "correct", 0.0: "wrong"}.get(k, "")


def merged(records: Iterable[ItemRecord]) -> Iterator[ItemRecord]:
    """Yield items that come in several parts, as pooled runs do, with the replies of all parts."""
    found: dict[tuple[str, ...], ItemRecord] = {}
    for record in records:
        key = (record.model, record.benchmark, record.item, record.language)
        before = found.get(key)
        if before is not None:
            found[key] = replace(before, replies=(*before.replies, *record.replies))
        else:
            found[key] = record
    yield from found.values()


def shown_options(
    texts: Sequence[str], right: Sequence[int], labels: Sequence[str] = ()
) -> dict[str, Any]:
    """Return gold, further golds and options as an `ItemRecord` has them.

    Parameters
    ----------
    texts
        Options, or answers that all count.
    right
        Which of them are right, from 0.
    labels
        Of the options; by default letters.
    """
    right = [i for i in dict.fromkeys(right) if 0 <= i < len(texts)]
    if len(right) == len(texts):
        golds = [texts[i] for i in right]
        return {"gold": golds[0] if golds else "", "also": tuple(golds[1:])}
    names = labels or [_LETTERS[i] if i < len(_LETTERS) else str(i + 1) for i in range(len(texts))]
    golds = [names[i] for i in right]
    return {
        "gold": golds[0] if golds else "",
        "also": tuple(golds[1:]),
        "options": tuple(zip(names, texts, strict=True)),
    }


def conversation(messages: Any) -> str:
    """Return messages of a chat as one text, "" where there is none in them."""
    found = messages if isinstance(messages, list) else []
    said = [
        f"{one.get('role')}: {one['content']}"
        for one in found
        if isinstance(one, dict) and isinstance(one.get("content"), str)
    ]
    return "\n\n".join(said)
