"""From what was asked for to the items: languages checked, the source first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatscore.errors import InputError
from hatscore.languages import check_language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.benchmarks.base import Benchmark, Item

__all__ = ["load_chosen"]


def load_chosen(
    benchmark: Benchmark,
    *,
    languages: Sequence[str] | None,
    source_language: str | None,
    items: int | None,
    seed: int,
    options: Mapping[str, str],
) -> tuple[tuple[str, ...], list[Item]]:
    """Return the languages, the source first, and the items in all of them.

    Parameters
    ----------
    benchmark
        What is asked.
    languages
        Targets; None or empty for all that it has.
    source_language
        None for that of the benchmark.
    items, seed, options
        As for :meth:`hatscore.benchmarks.base.Benchmark.load`.

    Raises
    ------
    InputError
        No target beside the source, or what the benchmark refuses.
    UnknownNameError
        The benchmark lacks a language.
    """
    asked = languages or benchmark.languages
    targets = [check_language(tag, benchmark.languages, of=benchmark.name) for tag in asked]
    source = check_language(
        source_language or benchmark.source_languages[0],
        benchmark.source_languages,
        of=f"the source of {benchmark.name}",
    )
    everything = tuple(dict.fromkeys([source, *targets]))
    if len(everything) == 1:
        raise InputError(
            f"{benchmark.name}: the only language asked for is the source ({source}); name at "
            "least one other in the languages (-l)"
        )
    return everything, benchmark.load(
        languages=everything,
        source_language=source,
        items=items,
        seed=seed,
        options=options,
    )
