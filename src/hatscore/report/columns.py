"""Plain text in columns, for tables whose cells have two lines at 80 columns."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["columns_text", "columns_width", "footnote"]

_GAP = "  "


def columns_width(table: Sequence[Sequence[str]]) -> int:
    """Return how wide the longest line of `columns_text` can be."""
    widths = _widths(table)
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def columns_text(table: Sequence[Sequence[str]], *, right: int = 0) -> list[str]:
    """Return a line per row, cells below each other; the last `right` columns end together.

    Examples
    --------
    >>> columns_text([["language", "p"], ["de", "0.5"]], right=1)
    ['language    p', 'de        0.5']
    """
    widths = _widths(table)
    first = len(widths) - right
    return [
        _GAP.join(
            f"{cell:>{wide}}" if j >= first else f"{cell:<{wide}}"
            for j, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def footnote(mark: str, text: str, width: int | None) -> list[str]:
    """Return a note with its mark, folded to `width` with a hanging indent; None: one line."""
    if width is None:
        return [f"{mark} {text}"]
    return wrap(
        f"{mark} {text}",
        width,
        subsequent_indent=" " * (len(mark) + 1),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*table, strict=True)]
