"""Paths on the command line into outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatscore.errors import InputError
from hatscore.readers.registry import detect, read_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.outcomes import Outcomes

__all__ = ["read_graded"]


def read_graded(paths: Sequence[str], *, names: str, count: str) -> Outcomes:
    """Read paths, passing the grading options to the readers that grade.

    Raises
    ------
    InputError
        Nothing in the paths can be scored.
    """
    wanted = {"names": names, "count": count}
    parts = []
    for path in paths:
        reader = detect(path)
        options = {name: value for name, value in wanted.items() if name in reader.OPTIONS}
        parts.append((path, options))
    outcomes = read_parts(parts)
    if not outcomes.frame.height:
        raise InputError(
            f"{', '.join(map(str, paths))}: no item has replies in its source language yet, "
            f"so nothing can be scored{''.join(f'; {note}' for note in outcomes.notes)}"
        )
    return outcomes
