"""What a shell offers after TAB: benchmarks, models, languages, formats, files.

Nothing here may raise: a shell would print the error into the command that is being typed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from hatscore.errors import HatscoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click

__all__ = [
    "complete_benchmarks",
    "complete_figures",
    "complete_languages",
    "complete_models",
    "complete_paths",
    "complete_readers",
]

_FORMS = ("local", "openai-api/")


def complete_benchmarks(
    ctx: click.Context,  # noqa: ARG001 - click's signature
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Offer the names of benchmarks, plug-ins too; commas part several."""
    found: tuple[str, ...] = ()
    with suppress(HatscoreError):
        from hatscore.benchmarks import list_benchmarks

        found = list_benchmarks()
    return _listed(found, incomplete)


def complete_figures(
    ctx: click.Context,  # noqa: ARG001 - click's signature
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Offer the names of figures, with what they show where the shell has room for it."""
    from hatscore.cli.figure import FIGURES, STUDIES

    return [
        CompletionItem(name, help=what)
        for name, what in {**FIGURES, **STUDIES}.items()
        if name.startswith(incomplete.replace("_", "-"))
    ]


def complete_languages(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Offer the languages of the benchmarks that were named, else of all; commas part several."""
    from hatscore.benchmarks import get_benchmark, list_benchmarks

    named = [part for value in ctx.params.get("benchmarks") or () for part in value.split(",")]
    tags: dict[str, None] = {}
    for name in named or list_benchmarks():
        with suppress(HatscoreError):
            tags |= dict.fromkeys(get_benchmark(name).languages)
    return _listed(sorted(tags), incomplete)


def complete_models(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Offer the forms of a model's name and the models of the registry."""
    from hatscore.models import load_models

    names: list[str] = []
    with suppress(HatscoreError):
        names = [*load_models(ctx.params.get("model_files") or ()).models]
    if ctx.info_name != "models":
        # where a model is asked for, not looked up
        names = [*_FORMS, *(f"paper/{name}" for name in names)]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_readers(
    ctx: click.Context,  # noqa: ARG001 - click's signature
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Offer the formats that can be read."""
    from hatscore.readers.registry import READERS

    return [CompletionItem(name) for name in READERS if name.startswith(incomplete)]


def complete_paths(
    ctx: click.Context,  # noqa: ARG001 - click's signature
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Let the shell offer files."""
    return [CompletionItem(incomplete, type="file")]


def _listed(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Offer names for the last part of a list with commas, but those that it holds already."""
    *done, last = incomplete.split(",")
    head = "".join(f"{part}," for part in done)
    return [
        CompletionItem(head + name) for name in names if name.startswith(last) and name not in done
    ]
