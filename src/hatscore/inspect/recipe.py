"""Which items a task asks: a few words that a log can hold, and the items they stand for.

Golds with all their names would weigh more than the replies of a log, so they are not written
into it. Samples name their recipe instead, and a log can be scored again where the same data are.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Bindable
from hatscore.benchmarks.chosen import load_chosen
from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatscore.benchmarks import Benchmark, Item

__all__ = ["Material", "Recipe", "read_languages", "sample_id"]

_KEPT = 8


@dataclass(frozen=True, slots=True)
class Material:
    """What a recipe stands for.

    Attributes
    ----------
    benchmark
        With the version of the data.
    languages
        Source first.
    items
        By the id of their sample, item by item: the first of them are whole items.
    """

    benchmark: Benchmark
    languages: tuple[str, ...]
    items: Mapping[str, Item]

    @property
    def is_judged(self) -> bool:
        """Whether a model must say which replies are right."""
        return any(item.gold.kind == "judge" for item in self.items.values())


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which items of a benchmark are asked, as `hatscore run` would be told.

    Parameters
    ----------
    benchmark
        Its name.
    languages
        Targets, the source may stand among them; None for all.
    source_language
        None for the benchmark's own.
    limit
        Items, each in all languages; None for all.
    seed
        Of the sample of items.
    options
        The benchmark's own, pairs sorted by name.
    """

    benchmark: str
    languages: tuple[str, ...] | None = None
    source_language: str | None = None
    limit: int | None = None
    seed: int = 0
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        benchmark: str,
        *,
        languages: Any = None,
        source_language: str | None = None,
        limit: int | None = None,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> Recipe:
        """Return the recipe that task arguments mean, as YAML has read them.

        Raises
        ------
        InputError
            Arguments of another type.
        """
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
            raise InputError(f"limit {limit!r}: expected a number of items")
        given = {name: value for name, value in (options or {}).items() if value is not None}
        return cls(
            benchmark,
            read_languages(languages),
            None if source_language is None else _tag(source_language),
            limit,
            seed,
            tuple(sorted((name, str(value)) for name, value in given.items())),
        )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of :meth:`of` that make this recipe, as plain values."""
        return {
            "benchmark": self.benchmark,
            "languages": None if self.languages is None else list(self.languages),
            "source_language": self.source_language,
            "limit": self.limit,
            "seed": self.seed,
            "options": dict(self.options),
        }

    def label(self) -> str:
        """Return the benchmark's name with its options: other options are other questions.

        Of a file only the name is shown. Runs of `hatscore run` bear the same label.
        """
        shown = [f"{k}={Path(v).name if k == 'data' else v}" for k, v in self.options]
        return f"{self.benchmark}({','.join(shown)})" if shown else self.benchmark

    def load(self) -> Material:
        """Return the items, from memory where the data are those of the last call.

        Raises
        ------
        InputError
            No such benchmark, language or option, or data that cannot be used.
        """
        benchmark = get_benchmark(self.benchmark)
        if isinstance(benchmark, Bindable):
            benchmark = benchmark.bind(dict(self.options))
        return _load(self, benchmark)


def sample_id(item: Item) -> str:
    """Return the id of an item in a language: language tags have no underscore."""
    return f"{item.id}_{item.language}"


def read_languages(given: Any) -> tuple[str, ...] | None:
    """Return the tags that a task argument names, None for all.

    Parameters
    ----------
    given
        Tags, a comma-separated text, or what YAML makes of one.

    Raises
    ------
    InputError
        Anything else.

    Examples
    --------
    >>> read_languages("sw,bn"), read_languages(["sw", False])
    (('sw', 'bn'), ('sw', 'no'))
    """
    if given is None:
        return None
    if isinstance(given, str):
        given = [part.strip() for part in given.split(",") if part.strip()]
    parts = given if isinstance(given, list | tuple) else [given]
    return tuple(_tag(part) for part in parts)


def _tag(value: object) -> str:
    if value is False:  # YAML takes the tag of Norwegian for a truth value
        return "no"
    if not isinstance(value, str):
        raise InputError(f"language {value!r}: expected tags such as sw,bn")
    return value


# By version too, so that a table that has changed is read again.
_LOADED: dict[tuple[Recipe, str], Material] = {}


def _load(recipe: Recipe, benchmark: Benchmark) -> Material:
    key = (recipe, benchmark.version)
    if key not in _LOADED:
        while len(_LOADED) >= _KEPT:
            del _LOADED[next(iter(_LOADED))]
        _LOADED[key] = _material(recipe, benchmark)
    return _LOADED[key]


def _material(recipe: Recipe, benchmark: Benchmark) -> Material:
    languages, items = load_chosen(
        benchmark,
        languages=recipe.languages,
        source_language=recipe.source_language,
        items=recipe.limit,
        seed=recipe.seed,
        options=dict(recipe.options),
    )
    return Material(benchmark, languages, {sample_id(item): item for item in items})
