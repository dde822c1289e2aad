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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hatscore.readers.inspect_runs import Run

    Listener = Callable[[Run, "Cell", Mapping[str, Any], Reply], None]

__all__ = ["Cell", "clear_golds", "tally"]

_MOST_EPOCHS = 1 << 20
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
    run: Run,
    *,
    scorer: str,
    source: str | None,
    seen: set[str] | None,
    pool: bool,
    listen: Listener | None = None,
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
    listen
        Is told of every sample that counts, with its cell and what it says.

    Raises
    ------
    ReaderError
        A broken file, a sample without what is needed, two samples of one item.
    """
    if run.places.of["item"].kind == ROW and not run.log.order:
        raise ReaderError(
            f"{run.log.name}: the log does not list the ids of its data set, so the row of a "
            "sample is unknown; say where the item is instead"
        )
    before = frozenset(seen or ())
    # only a log broken off, or an old one, holds a sample twice: the later one then counts
    heard: list[tuple[Cell, Mapping[str, Any], Reply]] | None = None if listen is None else []
    cells = _summed(run, scorer, source, before, pool=pool, superseded=Counter(), heard=heard)
    if cells is None:
        keys = Counter(_key(sample, run.log.name) for sample in run.log.samples())
        keys.subtract(dict.fromkeys(keys, 1))
        heard = None if listen is None else []
        cells = _summed(run, scorer, source, before, pool=pool, superseded=+keys, heard=heard)
    if listen is not None:
        for cell, sample, reply in heard or ():
            listen(run, cell, sample, reply)
    if seen is not None:
        seen.update(str(sample.get("uuid")) for sample in run.log.samples())
    return _in_order(cells or [], run) if run.places.of["item"].kind == ROW else cells or []


def _summed(
    run: Run,
    scorer: str,
    source: str | None,
    before: frozenset[str],
    *,
    pool: bool,
    superseded: Counter[tuple[str, int]],
    heard: list[tuple[Cell, Mapping[str, Any], Reply]] | None,
) -> list[Cell] | None:
    """Cells of a run, None where a sample comes twice beyond those said to be superseded."""
    log = run.log
    limit = log.config.get("max_tokens")
    limit = limit if isinstance(limit, int) else None
    cells: dict[tuple[str, ...], Cell] = {}
    by_sample: dict[str, Cell] = {}
    epochs: dict[str, int] = {}
    for sample in log.samples():
        identity, epoch = key = _key(sample, log.name)
        if superseded and superseded[key]:
            superseded[key] -= 1
            continue
        bit = 1 << epoch
        if epochs.get(identity, 0) & bit:
            return None
        epochs[identity] = epochs.get(identity, 0) | bit
        if before and sample.get("uuid") in before:
            continue  # a retry copies what it keeps of the run before
        where = f"{log.name}, sample {identity} epoch {epoch}"
        cell = by_sample.get(identity)
        if cell is None:
            # what item a sample is does not change from epoch to epoch
            cell = by_sample[identity] = _cell(run, sample, where, source, cells, pool=pool)
        reply = judge(sample, scorer, model=log.model, max_tokens=limit, where=where)
        cell.add(reply)
        if heard is not None:
            heard.append((cell, sample, reply))
    return list(cells.values())


def clear_golds(rows: Sequence[dict[str, Any]]) -> None:
    """Forget the golds of benchmarks whose golds are not all numbers, or all option letters."""
    kinds: dict[str, set[str]] = {}
    for row in rows:
        kind, row["gold"] = _neutral(row["gold"])
        kinds.setdefault(row["benchmark"], set()).add(kind)
    for row in rows:
        if len(kinds[row["benchmark"]]) > 1:
            row["gold"] = None


def _cell(
    run: Run,
    sample: dict[str, Any],
    where: str,
    source: str | None,
    cells: dict[tuple[str, ...], Cell],
    *,
    pool: bool,
) -> Cell:
    """Return the cell of a sample, made and added to `cells` where it is not there yet."""
    log, places = run.log, run.places.of
    identity = str(sample["id"])

    def at(column: str) -> str | None:
        place = places.get(column)
        return place.of(log, sample, where) if place else None

    item = identity if places["item"].kind == ROW else at("item")
    language = at("language") or run.language
    model, benchmark = at("model") or log.model, at("benchmark") or run.benchmark
    key = (model, benchmark, str(item), str(language))
    if key in cells:
        if not pool:
            raise ReaderError(
                f"{log.name}: samples {cells[key].sample} and {identity} are both item {item!r} in "
                f"{language}; say where the item is with map={{'item': ...}}, or take them for "
                "further replies with pool=True"
            )
        return cells[key]
    origin = source or at("source_language")
    if origin is None:
        raise ReaderError(
            f"{log.name}: nothing says the source language; name it, for example source='en'"
        )
    fields = {
        "model": model,
        "benchmark": benchmark,
        "item": item,
        "language": language,
        "source_language": origin,
        "group": at("group"),
        "chance": _chance(at("chance"), where),
        "gold": _gold(at("gold") if "gold" in places else sample.get("target")),
        "question": _question(sample.get("input")),
    }
    for name, value in fields.items():
        if isinstance(value, str) and _is_broken(value):
            raise ReaderError(f"{where}: {name} holds half a character: {value!r}")
    cell = cells[key] = Cell(fields, identity, where)
    cell.position = log.order.get(identity, -1)
    return cell


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
    if isinstance(epoch, bool) or not isinstance(epoch, int) or not 0 <= epoch < _MOST_EPOCHS:
        raise ReaderError(f"{name}: sample {identity} has the epoch {epoch!r}; expected a number")
    return str(identity), epoch


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


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
