"""Items of a run directory: the stored replies, each with the rule that read it."""

from __future__ import annotations

from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from hatscore.grading.explain import Explained, explain
from hatscore.grading.name import accepted_names
from hatscore.judging import ReplyKey, read_verdicts
from hatscore.readers.hatscore_run import COUNTABLE, benchmark_label, check_count
from hatscore.readers.items import ItemRecord, ItemReply
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.grading.answer import Gold, NameMode
    from hatscore.judging import Judged
    from hatscore.readers.items import Keep
    from hatscore.sampling.store import StoredItem, StoredResponse

__all__ = ["collect", "shown_gold"]

_VOTES = {True: "yes", False: "no", None: "no verdict that can be read"}


def collect(
    paths: Iterable[Path],
    options: Mapping[str, Any],
    *,
    keep: Keep,
    notes: list[str],  # noqa: ARG001 - a run lacks nothing
) -> Iterator[ItemRecord]:
    """Yield the items of run directories, ordered by benchmark, item and language.

    Parameters
    ----------
    paths
        Run directories.
    options
        Those of `hatscore.readers.hatscore_run.read`.
    keep
        Which items are wanted.
    notes
        For what the paths do not hold.

    Raises
    ------
    RunError
        No run, or a damaged one.
    InputError
        Unknown value of an option.
    """
    names: NameMode = options.get("names", "lenient")
    counted = check_count(options.get("count", ",".join(COUNTABLE))) | {"correct", "wrong"}
    panel = [part.strip() for part in options.get("judges", "").split(",") if part.strip()] or None
    for path in paths:
        judged: Judged | None = None
        with Run.open(path) as run, closing(_rows(run)) as stored:
            labels = {plan.name: benchmark_label(plan) for plan in run.config.benchmarks}
            for _, rows in groupby(stored, key=_identity):
                pairs = iter(rows)
                item, first = next(pairs)
                label = labels[item.benchmark]
                if not keep(label, item.item):
                    continue
                if item.gold.kind == "judge":
                    judged = judged or read_verdicts(path, panel)
                responses = [first, *(response for _, response in pairs)]
                yield ItemRecord(
                    model=run.config.model,
                    benchmark=label,
                    item=item.item,
                    language=item.language,
                    source_language=item.source_language,
                    question=item.question,
                    prompt=item.prompt.text,
                    **shown_gold(item.gold, names),
                    replies=_replies(item, responses, judged, names, counted),
                )


def shown_gold(gold: Gold, names: NameMode) -> dict[str, Any]:
    """Return what an `ItemRecord` says of a gold."""
    also = tuple(gold.also)
    if gold.kind == "name":
        also = tuple(
            name for name in dict.fromkeys(accepted_names(gold, names)) if name != gold.value
        )
    return {
        "gold": gold.value,
        "also": also,
        "options": tuple(zip(gold.labels, gold.options, strict=False)),
        "context": gold.context,
    }


def _rows(run: Run) -> Generator[tuple[StoredItem, StoredResponse], None, None]:
    """Yield what the store holds; can be closed before the store is."""
    yield from run.store.rows()


_item = itemgetter(0)


def _identity(row: tuple[StoredItem, StoredResponse]) -> int:
    return id(_item(row))  # replies of a cell share one object


def _replies(
    item: StoredItem,
    responses: Sequence[StoredResponse],
    judged: Judged | None,
    names: NameMode,
    counted: frozenset[str],
) -> tuple[ItemReply, ...]:
    read: dict[object, Explained] = {}
    same: dict[object, ItemReply] = {}
    for response in responses:
        reply = response.reply
        found = read.get(reply)
        if found is None:
            found = read[reply] = explain(reply, item.gold, names=names)
        status, answer = ("", None)
        votes: tuple[tuple[str, str], ...] = ()
        if found.graded is not None:
            status, answer = found.graded.status, found.graded.answer
        if judged is not None:
            key = ReplyKey(item.benchmark, item.item, item.language, response.repeat)
            status = judged.statuses.get(key, "judge_unparsed")
            if found.graded is None:
                votes = tuple((j, _VOTES[judged.votes[j].get(key)]) for j in judged.judges)
        equal = (reply, response.reasoning, status, votes)
        before = same.get(equal)
        repeats = (*before.repeats, str(response.repeat)) if before else (str(response.repeat),)
        same[equal] = ItemReply(
            text=response.text,
            status=status,
            counts=status in counted,
            repeats=repeats,
            answer=answer,
            why=found.why,
            place=found.place,
            reasoning=response.reasoning,
            finish=response.finish_reason,
            error=response.error,
            votes=votes,
        )
    return tuple(same.values())
