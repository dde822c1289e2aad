"""Items behind a score: question, gold and every reply with how it was read, for people to look at.

A score says nothing about why. Here are the texts behind it: of run directories all of them, of
logs and tables of others what those hold. What counts is decided by the readers alone: nothing
here is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hatscore.readers.registry import READERS, detect, with_runs_within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hatscore.readers.registry import Reader

__all__ = ["ItemRecord", "ItemReply", "Items", "Keep"]

_COLLECTORS = {
    "hatscore": "hatscore.readers.items_run",
    "inspect": "hatscore.readers.items_inspect",
    "lm-eval": "hatscore.readers.items_lm_eval",
    "helm": "hatscore.readers.items_helm",
    "lighteval": "hatscore.readers.items_lighteval",
    "every_eval_ever": "hatscore.readers.items_every_eval_ever",
    "parquet": "hatscore.readers.items_parquet",
    "table": "hatscore.readers.items_table",
}


class Keep(Protocol):
    """Whether an item is wanted; the others are passed over before anything of them is read."""

    def __call__(self, benchmark: str, item: str) -> bool:
        """Say whether `item` of `benchmark` is wanted."""
        ...


@dataclass(frozen=True, slots=True)
class ItemReply:
    """One reply, or several that are equal to the letter.

    Parameters
    ----------
    text
        As the model gave it.
    status
        How it ended, one of `hatscore.grading.STATUSES`; "" where the log scores it and does not
        say how it ended.
    counts
        Whether it counts in n.
    repeats
        Which repeats of the item it was, in their order.
    answer
        What was read from it, in canonical form.
    why
        The rule that read it, in words.
    place
        Where in `text` it was read, in characters.
    reasoning
        Thinking that the server gave apart.
    finish, error
        As the server named them.
    credit
        What a foreign score gives, 0 to 1; None where replies are right or wrong.
    votes
        Judge and what it said, in words.
    """

    text: str
    status: str
    counts: bool
    repeats: tuple[str, ...] = ("0",)
    answer: str | None = None
    why: str = ""
    place: tuple[int, int] | None = None
    reasoning: str | None = None
    finish: str | None = None
    error: str | None = None
    credit: float | None = None
    votes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """One item in one language, with what came back.

    Parameters
    ----------
    model, benchmark, item, language, source_language
        As in the canonical table.
    question
        What was asked, without instruction and examples; "" where the log does not hold it.
    prompt
        What was sent, exactly; "" where it is not known.
    gold
        The right answer; "" where it is not known.
    also
        Further answers that count as right.
    options
        Label and text of each option.
    context
        The text that a judge reads.
    replies
        In the order of their repeats.
    """

    model: str
    benchmark: str
    item: str
    language: str
    source_language: str
    question: str = ""
    prompt: str = ""
    gold: str = ""
    also: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    context: str = ""
    replies: tuple[ItemReply, ...] = ()


@dataclass(slots=True)
class Items:
    """The items of several paths, read anew with each iteration.

    Of run directories, HELM, lighteval and canonical tables few items are in memory at a time; of
    other logs and tables one path.

    Parameters
    ----------
    paths
        As for `hatscore.readers.registry.read_all`.
    format
        As there.
    options, defaults
        As there: the same that the scores were read with.
    keep
        Which items are wanted; None takes all.
    remarks
        What is known before: the first of the notes.

    Attributes
    ----------
    notes
        What the paths do not hold, in words; complete after an iteration.

    Raises
    ------
    ReaderError, InputError
        As the reader of each path, while iterating.
    """

    paths: Sequence[str | Path]
    format: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    keep: Keep | None = None
    remarks: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[ItemRecord]:
        """Yield the items, those of one path after those of another."""
        self.notes = list(self.remarks)
        wanted = {**self.defaults, **self.options}
        for reader, paths in self._groups():
            where = _COLLECTORS.get(reader.FORMAT)
            if where is None:
                names = ", ".join(Path(path).name for path in paths)
                self.notes.append(f"{names}: the reader {reader.FORMAT} gives scores and no texts")
                continue
            mine = {name: value for name, value in wanted.items() if name in reader.OPTIONS}
            collect: Callable[..., Iterable[ItemRecord]] = import_module(where).collect
            yield from collect(paths, mine, keep=self.keep or _all, notes=self.notes)

    def _groups(self) -> list[tuple[Reader, list[Any]]]:
        """Return the readers with their paths; those that belong together are read together."""
        groups: list[tuple[Reader, list[Any]]] = []
        for path in with_runs_within(self.paths):
            where = path if isinstance(path, str) and "://" in path else Path(path)
            reader = READERS.get(self.format) or detect(where)
            for other, paths in groups:
                if other is reader:
                    paths.append(where)
                    break
            else:
                groups.append((reader, [where]))
        return groups


def _all(benchmark: str, item: str) -> bool:  # noqa: ARG001 - the signature of Keep
    return True
