"""Items of logs of lm-evaluation-harness: prompt, target, replies, and what each filter took."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hatscore.grading import Reply
from hatscore.grading.explain import explain
from hatscore.readers import lm_eval
from hatscore.readers.items import ItemRecord, ItemReply
from hatscore.readers.items_run import shown_gold
from hatscore.readers.lm_eval_samples import gold_of, known_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.readers.items import Keep
    from hatscore.readers.lm_eval_samples import Samples
    from hatscore.readers.task_names import TaskName

__all__ = ["collect"]

_LONGEST, _MOST = 60, 3
_QUESTIONS = ("question", "query", "problem", "input")


@dataclass(slots=True)
class _Asked:
    row: dict[str, Any]
    kind: str | None
    # what each filter took, and the metrics of its row
    taken: list[str] = field(default_factory=list)


def collect(
    paths: Sequence[Path],
    options: Mapping[str, Any],
    *,
    keep: Keep,
    notes: list[str],
) -> Iterator[ItemRecord]:
    """Yield the items of folders of logs read as one; see `items_run` for the parameters."""
    found: dict[tuple[str, str, str, str], list[_Asked]] = defaultdict(list)

    def listen(name: TaskName, regrade: bool, samples: Samples, row: dict[str, Any]) -> None:  # noqa: FBT001 - called by place
        item = f"{name.subtask}/{samples.items[-1]}" if name.subtask else samples.items[-1]
        if not keep(name.benchmark, item):
            return
        language = samples.languages[-1] or name.language
        asked = found[samples.file.model, name.benchmark, item, language]
        kind = known_kind(samples.file.task) if regrade else None
        if not asked or asked[-1].row.get("resps") != row.get("resps"):
            asked.append(_Asked(row, kind))
        asked[-1].taken.append(_taken(row, samples.filters[-1]))

    lm_eval.read_many(paths, **options, listen=listen)
    silent = 0
    for (model, benchmark, item, language), asked in found.items():
        first = asked[0]
        replies = tuple(reply for one in asked for reply in _replies(one))
        silent += not replies
        yield ItemRecord(
            model=model,
            benchmark=benchmark,
            item=item,
            language=language,
            source_language=options.get("source", "en"),
            question=_question(first.row),
            prompt=_prompt(first.row),
            **_gold(first),
            replies=replies,
        )
    if silent:
        notes.append(f"{silent} items were scored by likelihood: they have no replies to show")


def _gold(asked: _Asked) -> dict[str, Any]:
    if asked.kind is not None:
        return shown_gold(gold_of(asked.row, asked.kind), "strict")
    target = asked.row.get("target")
    return {"gold": "" if target is None else str(target)}


def _replies(asked: _Asked) -> Iterator[ItemReply]:
    texts = _texts(asked.row)
    said = "; ".join(asked.taken)
    for number, text in enumerate(texts):
        if asked.kind is None:
            yield ItemReply(text, "", counts=number == 0, repeats=(str(number),), why=said)
            continue
        found = explain(Reply(text), gold_of(asked.row, asked.kind))
        if found.graded is None:
            continue
        status, answer = found.graded.status, found.graded.answer
        yield ItemReply(
            text, status, counts=True, repeats=(str(number),),
            answer=answer, why=found.why, place=found.place,
        )  # fmt: skip


def _taken(row: Mapping[str, Any], name: str) -> str:
    """Say what a filter took of the replies, and how its row was scored."""
    filtered = row.get("filtered_resps")
    taken = filtered[0] if isinstance(filtered, list) and len(filtered) == 1 else filtered
    metrics = row.get("metrics")
    scores = [f"{one} {row.get(one)}" for one in metrics] if isinstance(metrics, list) else []
    # the harness calls it "none" where nothing is filtered
    who = "the log" if name == "none" else f"the log's filter {name}"
    said = f"{who} took {_named(taken, _texts(row))}"
    return said + (f": {', '.join(scores)}" if scores else "")


def _named(taken: Any, texts: Sequence[str]) -> str:
    """Name what a filter took: the reply stands beside it and is not said again."""
    several = isinstance(taken, list) and all(isinstance(one, str) for one in taken)
    if several and len(taken) != 1:
        if taken == texts:
            return "all replies whole"
        return ", ".join(_quoted(one) for one in taken[:_MOST]) + ", ..." * (len(taken) > _MOST)
    text = taken[0] if several else taken
    if not isinstance(text, str):
        return _shortened(repr(text))
    if texts and text.strip() == texts[0].strip():
        return "the whole reply" if len(texts) == 1 else "the whole first reply"
    return _quoted(text)


def _quoted(text: str) -> str:
    return f"'{_shortened(' '.join(text.split()))}'"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3].rstrip()}..."


def _texts(row: Mapping[str, Any]) -> list[str]:
    """Return the replies of a row."""
    resps = row.get("resps")
    inner = resps[0] if isinstance(resps, list) and len(resps) == 1 else None
    return [text for text in inner if isinstance(text, str)] if isinstance(inner, list) else []


def _question(row: Mapping[str, Any]) -> str:
    doc = row.get("doc")
    fields = doc if isinstance(doc, dict) else {}
    return next((fields[n] for n in _QUESTIONS if isinstance(fields.get(n), str)), "")


def _prompt(row: Mapping[str, Any]) -> str:
    arguments = row.get("arguments")
    if isinstance(arguments, dict):
        arguments = [
            list(one.values()) if isinstance(one, dict) else one for one in arguments.values()
        ]
    first = arguments[0] if isinstance(arguments, list) and arguments else None
    text = first[0] if isinstance(first, list) and first else first
    return text if isinstance(text, str) else ""
