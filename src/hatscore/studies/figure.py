"""Figures of analyses: points with intervals, in panels. Matplotlib's objects, never pyplot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import matplotlib.figure
import matplotlib.lines
import numpy as np
from matplotlib.ticker import StrMethodFormatter

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from hatscore.studies.result import Figure

__all__ = ["draw"]

# M. Okabe and K. Ito's palette without yellow, which is too pale on white
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#333333")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<")
_INK, _FAINT = "#222222", "#8a8a8a"
_WIDTH, _DPI, _TEXT, _SMALL = 7.4, 150, 9.0, 8.0
_COLUMNS = 2


def draw(figure: Figure) -> matplotlib.figure.Figure:
    """Draw an analysis: a scatter where its points have an x, else a line per label.

    Parameters
    ----------
    figure
        From `Analysis.figure`, with at least one point.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per value of ``panel``. Interval ends that are infinite end at the axis.
    """
    panels = figure.points["panel"].unique(maintain_order=True).to_list()
    scatter = "x" in figure.points.columns
    parts = [figure.points.filter(figure.points["panel"] == p) for p in panels]
    columns = min(_COLUMNS if scatter else 1, len(panels))
    rows = math.ceil(len(panels) / columns)
    heights = [
        2.7 if scatter else 0.5 + 0.19 * parts[i]["label"].n_unique()
        for i in range(0, len(panels), columns)
    ]
    drawn = matplotlib.figure.Figure(
        figsize=(_WIDTH, sum(heights) + 0.6),
        dpi=_DPI,
        layout="constrained",
        facecolor="white",
    )
    grid = drawn.subplots(rows, columns, squeeze=False, height_ratios=heights)
    series = figure.points["series"].unique(maintain_order=True).to_list()
    for axes, panel, part in zip(grid.flat, panels, parts, strict=False):
        axes.set_title(_plain(panel), fontsize=_SMALL, color=_INK, loc="left")
        for i, name in enumerate(series):
            chosen = part.filter(part["series"] == name)
            if chosen.height:
                (_scatter if scatter else _forest)(axes, chosen, i, part["label"].to_list())
        _dress(axes, figure, panel, scatter=scatter)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    names = [s for s in series if s]
    if names:
        handles = [
            matplotlib.lines.Line2D(
                [], [], color=_COLOURS[i % len(_COLOURS)], marker=_MARKERS[i % len(_MARKERS)],
                linestyle="none", label=_plain(name),
            )
            for i, name in enumerate(series) if name
        ]  # fmt: skip
        drawn.legend(
            handles=handles, loc="outside upper left", ncols=min(len(names), 4), frameon=False,
            fontsize=_SMALL,
        )  # fmt: skip
    return drawn


def _ends(part: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    y = part["y"].to_numpy()
    low = np.where(np.isfinite(part["low"].to_numpy()), part["low"].to_numpy(), y)
    high = np.where(np.isfinite(part["high"].to_numpy()), part["high"].to_numpy(), y)
    return np.minimum(low, y), np.maximum(high, y)


def _scatter(axes: Axes, part: pl.DataFrame, i: int, _: list[str]) -> None:
    colour = _COLOURS[i % len(_COLOURS)]
    low, high = _ends(part)
    axes.vlines(part["x"].to_numpy(), low, high, color=colour, linewidth=1.1)
    axes.plot(
        part["x"].to_numpy(), part["y"].to_numpy(), marker=_MARKERS[i % len(_MARKERS)],
        color=colour, linestyle="none", markersize=4.5, gid=f"points {part['series'][0]}",
    )  # fmt: skip


def _forest(axes: Axes, part: pl.DataFrame, i: int, labels: list[str]) -> None:
    order = list(dict.fromkeys(labels))
    place = np.array([order.index(x) for x in part["label"].to_list()], dtype=float)
    colour = _COLOURS[i % len(_COLOURS)]
    low, high = _ends(part)
    axes.hlines(place, low, high, color=colour, linewidth=1.3)
    axes.plot(
        part["y"].to_numpy(), place, marker=_MARKERS[i % len(_MARKERS)], color=colour,
        linestyle="none", markersize=4.5, gid=f"points {part['series'][0]}",
    )  # fmt: skip
    axes.set_yticks(range(len(order)), [_plain(x) for x in order])
    axes.set_ylim(len(order) - 0.5, -0.5)


def _dress(axes: Axes, figure: Figure, panel: str, *, scatter: bool) -> None:
    if scatter:
        if figure.log_x:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        if panel in figure.lines and all(map(math.isfinite, figure.lines[panel])):
            slope, intercept = figure.lines[panel]
            left, right = axes.get_xlim()
            x = np.array([left, right])
            at = np.log10(x) if figure.log_x else x
            axes.plot(x, intercept + slope * at, color=_FAINT, linewidth=1.2, gid="line")
            axes.set_xlim(left, right)
        axes.set_xlabel(figure.x_label, fontsize=_TEXT, color=_INK)
        axes.set_ylabel(figure.y_label, fontsize=_TEXT, color=_INK)
    else:
        axes.set_xlabel(figure.y_label, fontsize=_TEXT, color=_INK)
        if figure.reference is not None:
            axes.axvline(figure.reference, color=_FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.tick_params(labelsize=_SMALL, colors=_INK, length=2.5, width=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _plain(text: str) -> str:
    """Return a name that matplotlib takes for text, not for mathematics, and can print."""
    return "".join(c if c.isprintable() else " " for c in text).replace("$", r"\$")
