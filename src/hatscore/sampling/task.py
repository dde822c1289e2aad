"""What is to be sampled: one item in one language, with its prompt and the number of replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hatscore.benchmarks.base import Benchmark, Item, Mode, Prompt, PromptLanguage

__all__ = ["Cell", "Task", "make_tasks"]


class Cell(NamedTuple):
    """Key of one item in one language."""

    benchmark: str
    item: str
    language: str


@dataclass(frozen=True, slots=True)
class Task:
    """One item in one language, with what is sent for it.

    Parameters
    ----------
    benchmark
        Name of the benchmark.
    item
        The item; its gold and question are stored beside the replies, for later regrading.
    prompt
        What is sent, exactly.
    repeats
        How many replies are wanted, at least 1. Repeats are numbered from 0.
    """

    benchmark: str
    item: Item
    prompt: Prompt
    repeats: int

    @property
    def cell(self) -> Cell:
        """The key of this task in the store."""
        return Cell(self.benchmark, self.item.id, self.item.language)


def make_tasks(
    benchmark: Benchmark,
    items: Iterable[Item],
    *,
    mode: Mode,
    prompt_language: PromptLanguage,
    repeats: int,
) -> list[Task]:
    """Return one task per item, in the order of `items`.

    Parameters
    ----------
    benchmark
        Where the prompts come from.
    items
        Items in all languages that are to be sampled.
    mode, prompt_language
        Passed on to :meth:`Benchmark.prompt`.
    repeats
        Replies wanted per item and language.
    """
    return [
        Task(
            benchmark.name,
            item,
            benchmark.prompt(item, mode=mode, prompt_language=prompt_language),
            repeats,
        )
        for item in items
    ]
