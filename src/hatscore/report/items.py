"""Items behind the scores, beside the page: in chunks that load when somebody opens a cell.

A page opened from disk may not fetch, so a chunk is a script that hands data to one function of
the page. What a small run holds stands in the page itself, which then is one file. Chunks lie in a
directory named by the hash of them all: a page never meets the chunks of another report.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from markupsafe import Markup

from hatscore.report.page_embed import as_data
from hatscore.report.text import language_name, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatscore.outcomes import Outcomes
    from hatscore.readers.items import ItemRecord, ItemReply

__all__ = ["CHUNK_BYTES", "EMBED_BYTES", "ItemsPart", "tidy", "write_items"]

CHUNK_BYTES = 300_000
"""A chunk is closed when it holds more: one item is the most that it is larger by."""
EMBED_BYTES = 300_000
"""What weighs less in all stands in the page."""
MOST_CHARACTERS = 20_000
"""Of one text; longer ones are cut, and the page says so."""

_FOLDER = "items"
_BUILD = re.compile(r"[0-9a-f]{16}")
_CHUNK = re.compile(r"\d+-\d+\.js")
_LAST_OF_16_BITS = "\uffff"

_Key = tuple[str, str, str, bool]


class Records(Protocol):
    """Items, and what is to be said about them when all have come."""

    @property
    def notes(self) -> Sequence[str]:
        """What the data do not hold."""
        ...

    def __iter__(self) -> Iterator[ItemRecord]:
        """Yield the items."""
        ...


@dataclass(frozen=True, slots=True)
class ItemsPart:
    """What a page needs to show items.

    Parameters
    ----------
    index
        JSON: which parts there are, and where.
    data
        JSON of all chunks by name where they stand in the page, else None.
    build
        Name of the directory of the chunks, "" where they stand in the page.
    count
        Items in a language that are held.
    """

    index: Markup
    data: Markup | None
    build: str
    count: int


@dataclass(slots=True)
class _Part:
    """Items of a model on a benchmark in a language, as source or as target, being written."""

    number: int
    chunks: int = 0
    count: int = 0
    size: int = 0
    items: list[str] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)

    def text(self, text: str) -> int:
        """Return the place of a text that many items of a chunk share."""
        if text not in self.texts:
            self.texts[text] = len(self.texts)
            self.size += len(text)
        return self.texts[text]

    def close(self) -> tuple[str, str]:
        """Return name and content of the chunk, and begin the next."""
        name = f"{self.number}-{self.chunks}"
        texts = str(as_data(list(self.texts))).encode("utf-8", "replace").decode()
        content = f'{{"texts":{texts},"items":[{",".join(self.items)}]}}'
        self.chunks += 1
        self.size, self.items, self.texts = 0, [], {}
        return name, content


def write_items(records: Records, outcomes: Outcomes, directory: Path) -> ItemsPart | None:
    """Write items as chunks below `directory`, or keep them for the page.

    Of every part one chunk is in memory. The chunks are complete when this returns; those of an
    earlier report stay until `tidy`.

    Parameters
    ----------
    records
        The items; those that are not in `outcomes` are left out and counted.
    outcomes
        The table that the scores were computed from: k and n are taken from it.
    directory
        Of the page; it exists.

    Returns
    -------
    ItemsPart or None
        None where there is no item to show.
    """
    columns = ("model", "benchmark", "item", "language", "n", "k", "weight")
    counts = {row[:4]: row[4:] for row in outcomes.frame.select(columns).iter_rows()}
    parts: dict[_Key, _Part] = {}
    strangers = 0
    with _Shelf(directory) as shelf:
        for record in records:
            tally = counts.get((record.model, record.benchmark, record.item, record.language))
            if tally is None:
                strangers += 1
                continue
            is_source = record.language == record.source_language
            key = (record.model, record.benchmark, record.language, is_source)
            part = parts.setdefault(key, _Part(len(parts)))
            # half a character, as servers send that cut inside an emoji, is no text of a file
            written = str(as_data(_item(record, tally, part))).encode("utf-8", "replace")
            part.items.append(written.decode())
            part.count += 1
            part.size += len(written)
            if part.size > CHUNK_BYTES:
                shelf.put(*part.close())
        for part in parts.values():
            if part.items:
                shelf.put(*part.close())
        build = shelf.finish()
    if not parts:
        return None
    notes = list(records.notes)
    if strangers:
        notes.append(f"{strangers:,} items of the data are no part of the scores and are not shown")
    index = {
        "where": f"{_FOLDER}/{build}/" if build else "",
        "parts": [
            [printable(model), printable(benchmark), printable(language), is_source,
             part.chunks, part.count]
            for (model, benchmark, language, is_source), part in parts.items()
        ],
        "names": {
            printable(code): printable(language_name(code))
            for code in dict.fromkeys(language for _, _, language, _ in parts)
        },
        "notes": notes,
    }  # fmt: skip
    data = None if build else Markup(shelf.all())  # noqa: S704 - as_data wrote every part of it
    return ItemsPart(as_data(index), data, build, sum(part.count for part in parts.values()))


def tidy(directory: Path, part: ItemsPart | None) -> None:
    """Remove the chunks of earlier reports below `directory`, and nothing that is none."""
    folder = directory / _FOLDER
    if not folder.is_dir() or folder.is_symlink():
        return
    for build in folder.iterdir():
        stale = _BUILD.fullmatch(build.name) and (part is None or build.name != part.build)
        if stale and build.is_dir() and not build.is_symlink():
            for file in build.iterdir():
                if _CHUNK.fullmatch(file.name):
                    file.unlink(missing_ok=True)
            with suppress(OSError):  # something of others lies there: it stays
                build.rmdir()
    with suppress(OSError):
        folder.rmdir()


class _Shelf:
    """Takes chunks: in memory as long as they are few, then in files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: dict[str, str] = {}
        self._size = 0
        self._hash = hashlib.sha256()
        self._draft: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._draft is not None:
            shutil.rmtree(self._draft, ignore_errors=True)

    def put(self, name: str, content: str) -> None:
        """Take a chunk."""
        self._hash.update(f"{name}\n{content}\n".encode())
        self._size += len(content.encode())
        self._held[name] = content
        if self._draft is None and self._size > EMBED_BYTES:
            self._draft = Path(
                tempfile.mkdtemp(dir=self._directory, prefix=f".{_FOLDER}.", suffix=".part")
            )
        if self._draft is not None:
            for held, text in self._held.items():
                path = self._draft / f"{held}.js"
                path.write_text(
                    f'hatscore.take("{held}",{text});\n', encoding="utf-8", newline="\n"
                )
                path.chmod(0o644)
            self._held.clear()

    def finish(self) -> str:
        """Put the files in their place and return its name, "" where there are none."""
        if self._draft is None:
            return ""
        build = self._hash.hexdigest()[:16]
        place = self._directory / _FOLDER / build
        place.parent.mkdir(exist_ok=True)
        self._draft.chmod(0o755)
        if not place.exists():  # else the same content lies there already
            self._draft.replace(place)
            self._draft = None
        return build

    def all(self) -> str:
        """Return every chunk as one JSON text."""
        named = ",".join(f'"{name}":{text}' for name, text in self._held.items())
        return f"{{{named}}}"


def _item(record: ItemRecord, tally: tuple[int, float, float], part: _Part) -> dict[str, Any]:
    n, k, weight = tally
    written: dict[str, Any] = {"item": record.item, "n": n, "k": int(k) if k == int(k) else k}
    if record.language != record.source_language:
        written["source"] = printable(record.source_language)
    if weight != 1:
        written["weight"] = round(weight, 2)
    for name in ("question", "gold", "context"):
        if value := getattr(record, name):
            written[name] = _cut(value)
    if record.also:
        written["also"] = list(record.also)
    if record.options:
        written["options"] = [list(option) for option in record.options]
    if record.prompt:
        before, found, after = record.prompt.rpartition(record.question)
        if record.question and found:
            # what stands around the questions is the same for many items
            written["prompt"] = [part.text(_cut(before)), part.text(_cut(after))]
        else:
            written["prompt"] = [part.text(_cut(record.prompt))]
    written["replies"] = [_reply(reply, n, k) for reply in record.replies]
    return written


def _reply(reply: ItemReply, n: int, k: float) -> dict[str, Any]:
    status = reply.status
    if (
        not status and n == 1 and reply.counts
    ):  # a log of one scored reply says by its score how it ended
        status = "correct" if k == 1 else "wrong"
    text = _cut(reply.text)
    written: dict[str, Any] = {"text": text, "status": status}
    if len(text) < len(reply.text):
        written["whole"] = len(reply.text)
    if len(reply.repeats) > 1:
        written["times"] = len(reply.repeats)
    if not reply.counts:
        written["out"] = True
    more: Mapping[str, Any] = {
        "answer": reply.answer,
        "why": reply.why or None,
        "thinking": _cut(reply.reasoning) if reply.reasoning else None,
        "finish": reply.finish if reply.finish not in (None, "stop") else None,
        "error": _cut(reply.error) if reply.error else None,
        "credit": reply.credit,
        "votes": [list(vote) for vote in reply.votes] or None,
    }
    written |= {name: value for name, value in more.items() if value is not None}
    if reply.place is not None and reply.place[1] <= len(text):
        written["place"] = [_units(text, at) for at in reply.place]
    return written


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS]


def _units(text: str, at: int) -> int:
    """Return a place in characters as browsers count: in units of 16 bits."""
    before = text[:at]
    if not before or max(before) <= _LAST_OF_16_BITS:
        return at
    return at + sum(sign > _LAST_OF_16_BITS for sign in before)
