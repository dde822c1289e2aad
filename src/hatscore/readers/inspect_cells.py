"""Samples of one run summed up: a row for each item in each language."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from hatscore.errors import ReaderError
from hatscore.grading import extract_number
from hatscore.outcomes import STATUS_COLUMNS, TOKEN_COLUMNS
from hatscore.readers.inspect_fields import ROW
from hatscore.readers.inspect_score import Reply, judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatscore.readers.inspect_runs import Run

__all__ = ["Cell", "clear_golds", "tally"]

_NUMBER = re.compile(r"[-+]?\d[\d.,]*")
_LETTER = re.compile(r"[A-Z]")


class Cell:
    """Running totals of one item in one language of one run."""

    __slots__ = (
        "credit",
        "fields",
        "identical",
        "n",
        "partial",
        "position",
        "replies",
        "sample",
        "statuses",
        "text",
        "tokens",
        "where",
    )

    def __init__(self, fields: dict[str, Any], sample: str, where: str) -> None:
        self.fields = fields
        self.sample = sample  # the id inspect gave, to notice two ids of one item
        self.where = where
        self.position = 0
        self.n = 0
        self.credit = 0.0
        self.partial = False
        self.replies = 0
        self.identical = True
        self.text: int | None = None
        self.statuses: Counter[str] = Counter()
        self.tokens = [[0, 0] for _ in TOKEN_COLUMNS]

    def add(self, reply: Reply) -> None:
        """Count a reply."""
        self.statuses[reply.status] += 1
        if reply.counts:
            self.n += 1
            self.credit += reply.credit
            self.partial |= 0 < reply.credit < 1
            self.identical &= reply.text is not None and self.text in (None, reply.text)
            self.text = reply.text
            self.replies += 1
        counts = (reply.input_tokens, reply.output_tokens, reply.reasoning_tokens)
        for total, count in zip(self.tokens, counts, strict=True):
            if count is not None and reply.counts:
                total[0] += count
                total[1] += 1

    def row(self) -> dict[str, Any]:
        """Return the row for the guard."""
        return {
            **self.fields,
            "n": self.n,
            "k": self.credit,
            **{name: self.statuses[name] for name in STATUS_COLUMNS},
            **{
                name: total / count if count else None
                for name, (total, count) in zip(TOKEN_COLUMNS, self.tokens, strict=True)
            },
            "where": self.where,
        }


def tally(
    run: Run, *, scorer: str, source: str | None, seen: set[str] | None, pool: bool
) -> list[Cell]:
    """Sum the samples of a run up.

    Parameters
    ----------
    run
        The run.
    scorer
        The score that counts.
    source
        Source language of all items, None where the samples say it.
    seen
        Ids of samples that other runs have brought already, added to; None asks for no ids.
    pool
        Take several samples of one item and epoch for further replies.

    Raises
    ------
    ReaderError
        A broken file, a sample without what is needed, two samples of one item.
    """
    log = run.log
    by_row = run.places.of["item"].kind == ROW
    if by_row and not log.order:
        raise ReaderError(
            f"{log.name}: the log does not list the ids of its data set, so the row of a sample is "
            "unknown; say where the item is instead"
        )
    limit = log.config.get("max_tokens")
    replies: dict[tuple[str, int], tuple[Cell, Reply]] = {}
    cells: dict[tuple[str, ...], Cell] = {}
    for sample in log.samples():
        key = _key(sample, log.name)
        if seen is not None and not _is_new(sample, seen):
            continue
        where = f"{log.name}, sample {key[0]} epoch {key[1]}"
        at, make = _address(run, sample, key[0], where, source=source, by_row=by_row)
        cell = cells.get(at)
        if cell is None:
            cell = cells[at] = make()
        elif cell.sample != key[0] and not pool:
            raise ReaderError(
                f"{log.name}: samples {cell.sample} and {key[0]} are both item {at[1]!r} in "
                f"{at[2]}; say where the item is with map={{'item': ...}}, or take them for "
                "further replies with pool=True"
            )
        reply = judge(
            sample,
            scorer,
            model=log.model,
            max_tokens=limit if isinstance(limit, int) else None,
            where=where,
        )
        replies[key] = (cell, reply)  # of one sample written twice the later counts
    for cell, reply in replies.values():
        cell.add(reply)
    found = list(cells.values())
    return _in_order(found, run) if by_row else found


def clear_golds(rows: Sequence[dict[str, Any]]) -> None:
    """Forget the golds of benchmarks whose golds are not all numbers, or all option letters."""
    kinds: dict[str, set[str]] = {}
    for row in rows:
        kind, row["gold"] = _neutral(row["gold"])
        kinds.setdefault(row["benchmark"], set()).add(kind)
    for row in rows:
        if len(kinds[row["benchmark"]]) > 1:
            row["gold"] = None


def _address(
    run: Run, sample: dict[str, Any], identity: str, where: str, *, source: str | None, by_row: bool
) -> tuple[tuple[str, ...], Any]:
    """Return the key of a sample's cell, and how to make the cell."""
    log, places = run.log, run.places.of

    def at(column: str) -> str | None:
        place = places.get(column)
        return place.of(log, sample, where) if place else None

    item = identity if by_row else at("item")
    language = at("language") or run.language or ""
    key = (str(item), language, at("model") or log.model, at("benchmark") or run.benchmark)

    def make() -> Cell:
        origin = source or at("source_language")
        if origin is None:
            raise ReaderError(
                f"{log.name}: nothing says the source language; name it, for example source='en'"
            )
        target = at("gold") if "gold" in places else sample.get("target")
        fields = {
            "model": key[2],
            "benchmark": key[3],
            "item": key[0],
            "language": language,
            "source_language": origin,
            "group": at("group"),
            "chance": _chance(at("chance"), where),
            "gold": _gold(target),
            "question": _question(sample.get("input")),
        }
        for name, value in fields.items():
            if isinstance(value, str) and not value.isprintable() and _broken(value):
                raise ReaderError(f"{where}: {name} holds half a character: {value!r}")
        cell = Cell(fields, identity, where)
        cell.position = log.order.get(identity, -1)
        return cell

    return (key[2] + "\n" + key[3], key[0], key[1]), make


def _in_order(cells: list[Cell], run: Run) -> list[Cell]:
    """Cells by place in the data set; refused where one is missing, as all after it would shift."""
    lost = len(run.log.order) - len({cell.sample for cell in cells})
    if lost or any(cell.position < 0 for cell in cells):
        raise ReaderError(
            f"{run.log.name}: {lost} samples of the data set are not in the log, so items cannot "
            "be joined by row order; complete the run, or say where the item is"
        )
    return sorted(cells, key=lambda cell: cell.position)


def _key(sample: Mapping[str, Any], name: str) -> tuple[str, int]:
    identity, epoch = sample.get("id"), sample.get("epoch")
    if isinstance(identity, bool) or not isinstance(identity, str | int) or identity == "":
        raise ReaderError(f"{name}: a sample has the id {identity!r}; expected a text or a number")
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise ReaderError(f"{name}: sample {identity} has the epoch {epoch!r}; expected a number")
    return str(identity), epoch


def _is_new(sample: Mapping[str, Any], seen: set[str]) -> bool:
    """Whether no other run has brought the sample; a retry copies what it keeps, with its id."""
    uuid = sample.get("uuid")
    if not isinstance(uuid, str):
        return True
    if uuid in seen:
        return False
    seen.add(uuid)
    return True


def _chance(text: str | None, where: str) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError as err:
        raise ReaderError(f"{where}: the chance {text!r} is no number") from err


def _gold(target: Any) -> str | None:
    if isinstance(target, list):
        target = target[0] if len(target) == 1 else None
    return None if target is None else str(target).strip() or None


def _neutral(gold: str | None) -> tuple[str, str | None]:
    """Kind of a gold, and its canonical form if it is the same in every language."""
    if gold is not None and _LETTER.fullmatch(gold):
        return "letter", gold
    if gold is not None and _NUMBER.fullmatch(gold):
        number = extract_number(gold)
        if number is not None:
            return "number", str(number)
    return "text", None


def _question(asked: Any) -> str | None:
    """Return a hash of the question, without the ids that inspect gives messages."""
    text = "\n".join(_parts(asked))
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest() if text else None


def _parts(asked: Any) -> Iterator[str]:
    if isinstance(asked, str):
        yield asked
    elif isinstance(asked, list):
        for message in asked:
            if isinstance(message, dict):
                yield from _parts(message.get("content") or message.get("text"))


def _broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
