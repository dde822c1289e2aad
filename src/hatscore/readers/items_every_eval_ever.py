"""Items of instance-level files of Every Eval Ever: input, references, output, attribution."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from hatscore.grading import STATUSES
from hatscore.readers import every_eval_ever
from hatscore.readers.items import ItemRecord, ItemReply
from hatscore.readers.items_scored import Scored, conversation, shown_options, status_of
from hatscore.readers.items_table import FIELDS, graded_gold, graded_reply
from hatscore.readers.table_grade import Grader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.readers.items import Keep

__all__ = ["collect"]


class _Row(NamedTuple):
    row: Mapping[str, Any]
    cells: Mapping[str, Any]
    record: Mapping[str, Any]


def collect(
    paths: Sequence[Path],
    options: Mapping[str, Any],
    *,
    keep: Keep,
    notes: list[str],
) -> Iterator[ItemRecord]:
    """Yield the items of instance-level files read as one; see `items_run` for the parameters."""
    rows: list[_Row] = []

    def listen(
        row: Mapping[str, Any], cell: Callable[[str], Any], record: Mapping[str, Any]
    ) -> None:
        if row["item"] is None or keep(row["benchmark"], row["item"]):
            rows.append(_Row(row, {name: cell(name) for name in FIELDS}, record))

    every_eval_ever.read_many(paths, **options, listen=listen)
    if any(one.row["item"] is None for one in rows):
        names = ", ".join(path.name for path in paths)
        notes.append(f"{names}: items that are joined by their rows are not shown")
        return
    grader = Grader(options["grade"]) if options.get("grade") else None
    groups: dict[tuple[str, ...], list[_Row]] = defaultdict(list)
    for one in rows:
        row = one.row
        groups[row["model"], row["benchmark"], row["item"], row["language"]].append(one)
    silent = without = 0
    for (model, benchmark, item, language), group in groups.items():
        row, cells, record = group[0]
        asked = _dict(record.get("input"))
        question, formatted = _text(asked.get("raw")), _text(asked.get("formatted"))
        graded = {} if grader is None else graded_gold(grader, cells, row)
        replies = [
            reply
            for number, one in enumerate(group)
            for reply in _replies(one, number, grader)
        ]  # fmt: skip
        silent += not replies
        without += not question
        yield ItemRecord(
            model=model,
            benchmark=benchmark,
            item=item,
            language=language,
            source_language=row["source_language"],
            question=question,
            prompt=formatted or _sent(record),
            **(_answers(asked) | {name: said for name, said in graded.items() if said}),
            replies=tuple(replies),
        )
    if without:
        notes.append(f"Items of Every Eval Ever without input.raw, the question: {without}")
    if silent:
        notes.append(f"Items of Every Eval Ever with neither output nor messages: {silent}")


def _answers(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return gold and options: references are labels of choices, choices themselves, or texts."""
    references, choices = _texts(asked.get("reference")), _texts(asked.get("choices"))
    right = [choices.index(one) for one in references if one in choices]
    if choices and right:
        return shown_options(choices, right)
    shown = {"gold": references[0] if references else "", "also": tuple(references[1:])}
    return shown_options(choices, ()) | shown if choices else shown


def _replies(one: _Row, number: int, grader: Grader | None) -> Iterator[ItemReply]:
    row, record = one.row, one.record
    output, message = _dict(record.get("output")), _last_message(record)
    texts = _texts(output.get("raw")) or _texts([message.get("content")])
    if grader is not None:
        if texts or row.get("error"):
            yield graded_reply(grader, row, one.cells, number)
        return
    thoughts = _texts(output.get("reasoning_trace")) or _texts([message.get("reasoning_trace")])
    status, why, answer = _read(row, record)
    repeat = row.get("repeat") or str(number)
    scored = Scored(
        row["model"], row["benchmark"], row["item"], row["language"], row["source_language"],
        repeat, row["k"], "",
    )  # fmt: skip
    for place, text in enumerate(texts or [""] * bool(row.get("error"))):
        if place:
            yield scored.reply(text, place, of=len(texts), why="")
            continue
        yield ItemReply(
            text, status, row["n"] > 0, (repeat,), answer=answer, why=why,
            reasoning=thoughts[0] if thoughts else None,
            error=_text(record.get("error")) or None,
            credit=row["k"] if row["n"] and not status else None,
        )  # fmt: skip


def _read(row: Mapping[str, Any], record: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """Return how a reply ended, why, and what was read from it, as the record says."""
    status = status_of(row["k"]) if row["n"] else "error"
    why = "as the record says"
    named = _dict(record.get("metadata")).get("status")
    # `hatscore convert` leaves there how a reply ended; it must not say another score
    if named in STATUSES and (named == "correct") == (status == "correct"):
        status = named
    if not row["n"] and (error := _text(record.get("error"))):
        why = f"as the record says: {error}"
    listed = record.get("answer_attribution")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    last = next((one for one in reversed(found) if one.get("is_terminal")), None)
    answer = _text(last.get("extracted_value")) if last is not None else ""
    if last is not None and answer:
        why = f"by {_text(last.get('extraction_method')) or 'an unnamed method'}, {why}"
    return status, why, answer or None


def _last_message(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the last that the model said in a conversation."""
    spoken = [one for one in _messages(record) if one.get("role") == "assistant"]
    return spoken[-1] if spoken else {}


def _sent(record: Mapping[str, Any]) -> str:
    """Return a conversation up to the model's last message."""
    messages, last = _messages(record), _last_message(record)
    return conversation(messages[: messages.index(last)] if last in messages else messages)


def _messages(record: Mapping[str, Any]) -> list[Any]:
    listed = record.get("messages")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
