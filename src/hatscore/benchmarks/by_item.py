"""Benchmarks whose items have each a source language of their own.

Where the source is asked for as :data:`ITEM_SOURCE`, every item is asked in its own source
language and in the target languages. A language as source keeps the items of that source alone.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from hatscore.errors import InputError
from hatscore.languages import check_language

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["ITEM_SOURCE", "check_targets", "fingerprint", "languages_of", "of_source"]

ITEM_SOURCE: Final = "item"


def check_targets(
    languages: Sequence[str], source_language: str, known: Sequence[str]
) -> tuple[str, ...]:
    """Return `languages` without :data:`ITEM_SOURCE`, after a look at each.

    Parameters
    ----------
    languages
        What the user asked for. :data:`ITEM_SOURCE` may stand among them for the source rows.
    source_language
        A language, which must be among `languages`, or :data:`ITEM_SOURCE`.
    known
        The languages that the benchmark has.

    Raises
    ------
    UnknownNameError
        A language that the benchmark does not have.
    InputError
        A language named twice, a source that is not among the languages, or none at all.
    """
    targets = tuple(tag for tag in languages if tag != ITEM_SOURCE)
    for tag in targets:
        check_language(tag, known)
    if source_language != ITEM_SOURCE:
        check_language(source_language, known)
        if source_language not in targets:
            raise InputError(
                f"the source language {source_language!r} is not among the languages to load "
                f"({', '.join(languages)}): add it"
            )
    if not targets or len(set(targets)) != len(targets):
        raise InputError(
            f"languages must be named once each and at least one; "
            f"got {', '.join(languages) or 'none'}"
        )
    return targets


def of_source(
    sources: Mapping[str, str], targets: Sequence[str], source_language: str
) -> list[str]:
    """Return the items, of those with their `sources`, that have this source and a target."""
    return [
        item
        for item, source in sources.items()
        if source_language in (ITEM_SOURCE, source) and any(tag != source for tag in targets)
    ]


def languages_of(source: str, targets: Iterable[str]) -> tuple[str, ...]:
    """Return the languages that an item is asked in: its source first, then the targets."""
    return tuple(dict.fromkeys((source, *targets)))


def fingerprint(path: Path) -> str:
    """Return the beginning of the SHA-256 of a file, for the version of a benchmark.

    Raises
    ------
    InputError
        It is no file, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
