"""Items of logs of inspect_ai: what was asked, the target, every output with its score."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from hatscore.readers import inspect_log
from hatscore.readers.items import ItemRecord, ItemReply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.readers.inspect_cells import Cell
    from hatscore.readers.inspect_files import Log
    from hatscore.readers.inspect_runs import Run
    from hatscore.readers.inspect_score import Reply
    from hatscore.readers.items import Keep

__all__ = ["collect"]

_Said = tuple["Cell", "Reply", "Mapping[str, Any]"]


def collect(
    paths: Sequence[str | Path],
    options: Mapping[str, Any],
    *,
    keep: Keep,
    notes: list[str],
) -> Iterator[ItemRecord]:
    """Yield the items of logs, log after log.

    Which samples count, and how, is what `inspect_log.read_many` has found; see `items_run` for
    the parameters.
    """
    said: dict[str, tuple[Log, dict[tuple[str, str], _Said]]] = {}

    def listen(run: Run, cell: Cell, sample: Mapping[str, Any], reply: Reply) -> None:
        if keep(cell.fields["benchmark"], str(cell.fields["item"])):
            _, mine = said.setdefault(run.log.name, (run.log, {}))
            mine[_key(sample)] = (cell, reply, _score_of(sample))

    inspect_log.read_many(paths, **options, listen=listen)
    without = 0
    for log, mine in said.values():
        replies: dict[int, list[ItemReply]] = defaultdict(list)
        asked: dict[int, tuple[Cell, Mapping[str, Any]]] = {}
        for sample in log.texts():
            found = mine.pop(_key(sample), None)
            if found is None:
                continue
            cell, heard, score = found
            asked.setdefault(id(cell), (cell, sample))
            replies[id(cell)].append(_reply(sample, heard, _score_of(sample) or score))
        without += len(mine)
        for place, (cell, first) in asked.items():
            yield _record(cell, first, tuple(replies[place]))
    if without:
        notes.append(f"{without} samples of the logs hold no texts")


def _key(sample: Mapping[str, Any]) -> tuple[str, str]:
    return str(sample.get("id")), str(sample.get("epoch"))


def _record(cell: Cell, sample: Mapping[str, Any], replies: tuple[ItemReply, ...]) -> ItemRecord:
    target, choices = sample.get("target"), sample.get("choices")
    golds = [str(one) for one in (target if isinstance(target, list) else [target]) if one]
    options = choices if isinstance(choices, list) else []
    return ItemRecord(
        model=cell.fields["model"],
        benchmark=cell.fields["benchmark"],
        item=str(cell.fields["item"]),
        language=str(cell.fields["language"]),
        source_language=str(cell.fields["source_language"]),
        question=_visible(sample.get("input")),
        gold=golds[0] if golds else "",
        also=tuple(golds[1:]),
        options=tuple((chr(ord("A") + i), str(text)) for i, text in enumerate(options)),
        replies=replies,
    )


def _reply(sample: Mapping[str, Any], reply: Reply, score: Mapping[str, Any]) -> ItemReply:
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    one = choices[0] if isinstance(choices, list) and choices else None
    first: dict[str, Any] = one if isinstance(one, dict) else {}
    error = sample.get("error")
    answer, explanation = score.get("answer"), score.get("explanation")
    message = first.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    text = _visible(content)
    why = "as the log's own scorer gave it"
    if isinstance(explanation, str) and explanation.strip() and explanation.strip() != text.strip():
        why += f", which explains: {explanation.strip()}"
    credit = reply.credit if 0 < reply.credit < 1 and not math.isnan(reply.credit) else None
    return ItemReply(
        text=text,
        status=reply.status,
        counts=reply.counts,
        repeats=(str(sample.get("epoch")),),
        answer=answer if isinstance(answer, str) else None,
        why=why,
        reasoning=_thinking(content) or None,
        finish=first.get("stop_reason") if isinstance(first.get("stop_reason"), str) else None,
        error=str(error.get("message")) if isinstance(error, dict) else None,
        credit=credit,
    )


def _score_of(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the only score of a sample; of several none says what was read for the one."""
    scores = sample.get("scores")
    found = list(scores.values()) if isinstance(scores, dict) else []
    return found[0] if len(found) == 1 and isinstance(found[0], dict) else {}


def _visible(content: Any) -> str:
    """Return the text of a question or a message, of several messages one after the other."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [
        part if isinstance(part, str) else _visible(part.get("text") or part.get("content"))
        for part in content
        if isinstance(part, str | dict)
    ]
    return "\n\n".join(part for part in parts if part)


def _thinking(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    found = [part.get("reasoning") for part in parts if isinstance(part, dict)]
    return "\n\n".join(part for part in found if isinstance(part, str) and part)
