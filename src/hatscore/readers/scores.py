"""Which of the numbers in a log is the score, and whether it can be one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hatscore.errors import InputError, ReaderError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

__all__ = ["as_number", "as_text", "check_scores", "choose_score", "partial_note"]


def as_number(value: Any) -> float | None:
    """Return a number as float (infinite where it is too large for one), anything else as None."""
    if not isinstance(value, (bool, int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def as_text(value: Any, *, what: str, where: str = "") -> str:
    """Return a text or number as text.

    Raises
    ------
    ReaderError
        Anything else, and text with a broken character (half a surrogate pair).
    """
    if isinstance(value, (str, int, float)):
        text = str(value)
        if text.isascii() or text.encode("utf-8", "replace").decode("utf-8") == text:
            return text
        raise ReaderError(f"{where}{': ' * bool(where)}{what} holds a broken character: {text!r}")
    raise ReaderError(
        f"{where}{': ' * bool(where)}{what} must be a text or a number, got {type(value).__name__}"
    )


def choose_score(
    columns: Mapping[str, Iterable[NDArray[np.float64]]],
    wanted: str | None,
    *,
    what: str,
    option: str = "metric",
) -> str:
    """Return the name of the score to count.

    Parameters
    ----------
    columns
        Values by name of the score, in pieces; NaN where a row has none.
    wanted
        The user's choice, or several in order of preference with commas between; None takes
        the only one there is.
    what
        What the scores belong to, for messages.
    option
        Name of the option that chooses.

    Raises
    ------
    InputError
        None there, or several and no choice; lists them with rows and values.
    """
    if not columns:
        raise InputError(f"{what}: rows hold no score, only text; nothing can be counted")
    if wanted is not None:
        chosen = [name.strip() for name in wanted.split(",") if name.strip()]
        found = [name for name in chosen if name in columns]
        if not found:
            raise UnknownNameError(f"{option} of {what}", wanted, columns)
        return found[0]
    if len(columns) == 1:
        return next(iter(columns))
    shown = ", ".join(f"{name} ({_describe(columns[name])})" for name in sorted(columns))
    raise InputError(
        f"{what} has several scores: {shown}. Choose the one that says right or wrong "
        f"with {option}=NAME"
    )


def check_scores(values: NDArray[np.float64], *, name: str, where: Callable[[int], str]) -> None:
    """Refuse values that are no share of a right answer.

    Parameters
    ----------
    values
        Score per row.
    name
        Its name.
    where
        File and line of a row.

    Raises
    ------
    ReaderError
        A row without the score, or with one outside [0, 1]. Names file and line.
    """
    empty = np.flatnonzero(np.isnan(values))
    if empty.size:
        raise ReaderError(
            f"{where(int(empty[0]))}: {name} is missing or no number, in {empty.size} rows of "
            f"{values.size}; choose a score that every row has, or repair the file"
        )
    outside = np.flatnonzero((values < 0) | (values > 1))
    if outside.size:
        row = int(outside[0])
        raise ReaderError(
            f"{where(row)}: {name} is {values[row]:g}, expected 0 (wrong) to 1 (right); "
            f"{outside.size} of {values.size} rows are outside, so {name} is no accuracy: choose "
            "another score"
        )


def partial_note(values: NDArray[np.float64], *, name: str, what: str) -> list[str]:
    """Return a note if some values lie between 0 and 1."""
    partial = int(((values > 0) & (values < 1)).sum())
    if not partial:
        return []
    said = (
        f"{what}: {name} gives partial credit in {partial} of {values.size} rows; only the "
        "plug-in score exists for it"
    )
    return [said]


def _describe(pieces: Iterable[NDArray[np.float64]]) -> str:
    values = np.concatenate([np.asarray(piece, dtype=np.float64) for piece in pieces])
    values = values[~np.isnan(values)]
    rows = f"{values.size} rows"
    if not values.size:
        return rows
    if np.isin(values, (0, 1)).all():
        return f"{rows}, 0 or 1, mean {values.mean():.3f}"
    return f"{rows}, {values.min():.3g} to {values.max():.3g}"
