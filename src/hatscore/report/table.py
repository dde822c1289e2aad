"""The table for a terminal: one per model and benchmark, never wider than asked."""

from __future__ import annotations

import io
import math
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from rich.box import Box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hatscore.outcomes import STATUS_COLUMNS
from hatscore.report.blocks import blocks_of, profile_notes
from hatscore.report.health import alarms
from hatscore.report.text import MISSING, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from hatscore.outcomes import Outcomes
    from hatscore.report.blocks import Block, Row
    from hatscore.scoring import Measurement

__all__ = ["DROP_ORDER", "render_table"]

DROP_ORDER = (
    "reliability",
    "gap",
    *reversed(STATUS_COLUMNS),
    "transfer_score",
    "hat_chance_adjusted",
    "bar",
    "the other HAT",
    "source_accuracy",
    "target_accuracy",
    "names of languages",
    "n_items",
)
"""What goes first when the terminal is narrow; language and HAT with its interval never go."""

_BAR = 8
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NARROWEST = 20
_DEFAULT_WIDTH = 80
_ENDLESS = 10_000
_RULES = Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n")
_ASCII_RULES = Box("    \n    \n -- \n    \n -- \n -- \n    \n    \n", ascii=True)
_STAND_INS = {MISSING: "-", "\N{INFINITY}": "inf"}


def render_table(
    measurements: Sequence[Measurement],
    outcomes: Outcomes,
    *,
    width: int | None = None,
    color: bool | None = None,
    unicode: bool | None = None,
) -> str:
    """Return the scores as text for a terminal.

    One table per (model, benchmark): a row per target language, then their macro average. HAT
    has its interval in brackets; a missing score is a dash, an unbounded end of an interval is
    infinity, and a footnote gives the reason. Below: notes of the data, alarms, curved profiles.

    Parameters
    ----------
    measurements
        From `hatscore.scoring.measurements`.
    outcomes
        The table they were made from.
    width
        Columns of the terminal, at least 20; default that of the terminal. When piped, tables
        have 80 and nothing else is folded. What does not fit is left out in `DROP_ORDER`, and a
        caption says what.
    color
        Whether to use escape codes; default only if standard output is a terminal and the
        environment does not set NO_COLOR.
    unicode
        Whether rules, bars, the dash and the infinity sign may be other than ASCII; default
        whether standard output can encode them. Names in other scripts pass through then, and
        become ``?`` otherwise.
    """
    # a pipe has no edge: a folded name or note would be lost to whoever searches for it
    fold = width is not None or sys.stdout.isatty() or "COLUMNS" in os.environ
    if width is None:
        width = shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns
    width = max(width, _NARROWEST)
    if color is None:
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if unicode is None:
        unicode = _encodes(getattr(sys.stdout, "encoding", None))
    draw = _Pen(width, color=color, unicode=unicode, fold=fold)
    blocks = blocks_of(measurements, outcomes)
    parts: list[RenderableType] = [
        part for block in blocks for part in (*_layout(block, draw), Text())
    ]
    if not blocks:
        parts.append(Text("No model has replies in a target language: there is no score."))
    parts += [_item(draw.say("!", "bold red"), draw.say(line)) for line in alarms(outcomes)]
    notes = [*outcomes.notes, *profile_notes(measurements)]
    parts += [_item(draw.say("*"), draw.say(line)) for line in notes]
    return "".join(draw(part) for part in parts)


class _Pen:
    """Draws renderables as text of one width, with or without escape codes."""

    def __init__(self, width: int, *, color: bool, unicode: bool, fold: bool) -> None:
        self.width = width
        self.fold = fold
        self.unicode = unicode
        self._options: dict[str, Any] = {
            "force_terminal": color,
            "color_system": "standard" if color else None,
            "legacy_windows": False,
            "force_jupyter": False,
            "highlight": False,
            "markup": False,
            "emoji": False,
            # the caller has decided: NO_COLOR, COLUMNS and the like have had their say
            "_environ": {},
        }

    def say(self, text: str, style: str = "") -> Text:
        """Make literal text: brackets in a model's name are no markup, escape codes no orders."""
        # replaced before the layout: "inf" takes three places where the sign takes one
        if not self.unicode:
            for sign, stand_in in _STAND_INS.items():
                text = text.replace(sign, stand_in)
            text = text.encode("ascii", "replace").decode()
        return Text(printable(text), style=style)

    def natural_width(self, renderable: RenderableType) -> int:
        """Return how wide it is when nothing is cut or wrapped."""
        console = Console(file=io.StringIO(), width=_ENDLESS, **self._options)
        return console.measure(renderable).maximum

    def __call__(self, renderable: RenderableType) -> str:
        """Return the lines, without blanks at their ends; a table is never cut."""
        width = self.width
        if not self.fold or (isinstance(renderable, Table) and renderable.box is not None):
            width = max(width, self.natural_width(renderable))
        file = io.StringIO()
        Console(file=file, width=width, **self._options).print(renderable)
        return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def _encodes(encoding: str | None) -> bool:
    try:
        "".join((*_STAND_INS, *_EIGHTHS, "─")).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _item(mark: Text, text: Text) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(mark, text)
    return grid


def _layout(block: Block, draw: _Pen) -> list[RenderableType]:
    """Return title, table, caption and footnotes; leave out as many columns as necessary."""
    title = Text.assemble(draw.say(block.model, "bold"), " on ", draw.say(block.benchmark, "bold"))
    dropped: list[str] = []
    for key in _drops(block):
        # columns move closer before one of them goes
        for gap in (1, 0):
            table = _table(block, dropped, gap, draw)
            if draw.natural_width(table) <= draw.width:
                return [title, table, *_below(block, dropped, draw)]
        dropped.append(key)
    return [title, _table(block, dropped, 0, draw), *_below(block, dropped, draw)]


def _drops(block: Block) -> list[str]:
    """Return what this block can lose, least important first, by key."""
    present = {c.key for c in block.columns} | {"bar", "names of languages"}
    other = "hat_plugin" if block.main == "hat" else "hat"
    keys = (other if key == "the other HAT" else key for key in DROP_ORDER)
    return [key for key in keys if key in present]


def _table(block: Block, dropped: list[str], gap: int, draw: _Pen) -> Table:
    columns = [c for c in block.columns if c.key not in dropped]
    rules = _RULES if draw.unicode else _ASCII_RULES
    table = Table(box=rules, safe_box=False, show_edge=False, padding=(0, gap, 0, 0))
    table.pad_edge = False
    for c in columns:
        is_main = c.key == block.main
        header = f"{c.header} [{100 * block.confidence:g} %]" if is_main else c.header
        table.add_column(
            Text(header if is_main else header.replace(" ", "\n"), style="bold"),
            justify="left" if c.key == "language" else "right",
            no_wrap=True,
            vertical="bottom",
            style="bold cyan" if is_main else "",
        )
    bars = "bar" not in dropped
    if bars:
        table.add_column(Text("0" + " " * (_BAR - 2) + "1"), no_wrap=True, style="cyan")
    for i, row in enumerate(block.rows):
        cells = [draw.say(_written(row, c.key, block, dropped)) for c in columns]
        if bars:
            cells.append(Text(_bar(row.score, unicode=draw.unicode)))
        before_macro = i + 1 < len(block.rows) and block.rows[i + 1].macro
        table.add_row(*cells, end_section=before_macro)
    return table


def _written(row: Row, key: str, block: Block, dropped: list[str]) -> str:
    if key == "language":
        return row.language if "names of languages" in dropped else row.label
    cell = row.cells[key]
    shown = f"{cell.text} {cell.interval}" if key == block.main else cell.text
    return f"{shown.strip()} {cell.mark}".strip()


def _bar(score: float, *, unicode: bool) -> str:
    """Draw a score between 0 and 1; what lies beyond the ends is not drawn, the number is."""
    if math.isnan(score):
        return ""
    length = _BAR * min(max(score, 0.0), 1.0)
    if not unicode:
        return "#" * round(length)
    whole, part = divmod(round(8 * length), 8)
    return ("█" * whole + _EIGHTHS[part]).rstrip()


def _below(block: Block, dropped: list[str], draw: _Pen) -> list[RenderableType]:
    titles = {c.key: c.header.replace("- ", "") for c in block.columns}
    lost = ", ".join(titles.get(key, key) for key in dropped if key != "bar")
    caption = [draw.say(f"left out for lack of width: {lost}", "dim")] if lost else []
    footnotes = enumerate(block.footnotes, 1)
    return [*caption, *(_item(draw.say(f"({i})"), draw.say(text)) for i, text in footnotes)]
