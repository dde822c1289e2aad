"""Figures: the score of every language, and the profile behind it.

Everything is drawn on `matplotlib.figure.Figure` objects. pyplot, and with it the choice of a
window system and the settings of whoever imports this, is never touched.
"""

from __future__ import annotations

import math
import os
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from hatscore.errors import InputError, UnknownNameError
from hatscore.report.blocks import CURVED_P
from hatscore.report.text import MISSING, headline, label, printable, with_interval
from hatscore.scoring import MACRO, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from hatscore.outcomes import Aligned

__all__ = ["FORMATS", "hat_dots", "profile_plot", "save"]

FORMATS = ("pdf", "png", "svg")

# M. Okabe and K. Ito's palette without yellow, which is too pale for a thin line on white
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#333333")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<")
_INK, _FAINT, _BAND = "#222222", "#8a8a8a", "#f3f3f3"
_DPI = 150
_WIDTH = 7.4
_SLOT, _ROOM, _MARGIN = 0.09, 0.14, 0.9
_AXIS, _WIDE = (-0.5, 2.0), 1.6
_PANEL = 1.75
_COLUMNS = 4
_SMALL, _TEXT = 8.0, 9.0


def hat_dots(measurements: Iterable[Measurement]) -> Figure:
    """Draw the HAT of every language with its interval, one colour and shape per model.

    Parameters
    ----------
    measurements
        Those of one benchmark, any number of models.

    Returns
    -------
    matplotlib.figure.Figure
        Languages from top to bottom by their HAT (mean over models), the macro average last.
        Filled markers are HAT, small hollow ones target accuracy. An interval end that is
        infinite, or beyond an axis that would otherwise flatten everything else, is an arrow. A
        language without a value has a dash at the left edge. Models without a corrected slope
        are drawn with their plug-in, and the axis says so.

    Raises
    ------
    InputError
        No measurements, or those of several benchmarks.
    """
    found = list(measurements)
    benchmarks = sorted({m.benchmark for m in found})
    if len(benchmarks) != 1:
        raise InputError(
            "hat_dots draws the measurements of one benchmark, got "
            f"{len(found)} of {', '.join(benchmarks) or 'none'}: filter them by benchmark first"
        )
    models = list(dict.fromkeys(m.model for m in found))
    rows = _sorted_languages(found)
    band = _SLOT * len(models) + _ROOM
    height = band * len(rows) + _MARGIN + 0.22 * math.ceil((len(models) + 1) / 3)
    figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    low, high = _span(found)
    axes.set_xlim(low, high)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for y in range(0, len(rows), 2):
        axes.axhspan(y - 0.5, y + 0.5, color=_BAND, linewidth=0, zorder=0)
    for x in (0.0, 1.0):
        axes.axvline(x, color=_FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    if rows[-1] == MACRO and len(rows) > 1:
        axes.axhline(len(rows) - 1.5, color=_INK, linewidth=0.8, zorder=1)
    place = {language: y for y, language in enumerate(rows)}
    for m in found:
        if m.language in place:
            i = models.index(m.model)
            offset = (i - (len(models) - 1) / 2) * _SLOT / band
            _dot(axes, m, place[m.language] + offset, i)
    axes.set_yticks(range(len(rows)), [label(language) for language in rows])
    _dress(axes)
    axes.xaxis.set_major_locator(MultipleLocator(0.2 if high - low <= _WIDE else 0.5))
    axes.set_xlabel(_axis_name(found), fontsize=_TEXT, color=_INK)
    _legend(figure, models)
    return figure


def profile_plot(aligned: Aligned, measurements: Measurement | Sequence[Measurement]) -> Figure:
    """Draw target against source success rates, one panel per language.

    Parameters
    ----------
    aligned
        One model on one benchmark.
    measurements
        Of the same model and benchmark; macro has no panel. Panels come in this order.

    Returns
    -------
    matplotlib.figure.Figure
        The area of a dot is proportional to the number of items at its (s, t), over all panels
        alike. The dashed diagonal is perfect transfer, the line the fitted slope (corrected, else
        plug-in). Axes run from 0 to 1. ``(curved)`` stands where the test of the line has a p
        below `blocks.CURVED_P`.

    Raises
    ------
    InputError
        No measurement of a language, or one of another model, benchmark or language.
    """
    given = [measurements] if isinstance(measurements, Measurement) else list(measurements)
    shown = [m for m in given if m.language != MACRO]
    if not shown:
        raise InputError("profile_plot needs the measurement of at least one language, got none")
    for m in shown:
        if (m.model, m.benchmark) != (aligned.model, aligned.benchmark):
            raise InputError(
                f"profile_plot got the outcomes of {aligned.model} on {aligned.benchmark} and a "
                f"measurement of {m.model} on {m.benchmark}: they must belong together"
            )
        if m.language not in aligned.languages:
            raise UnknownNameError("language", m.language, aligned.languages)
    columns = _columns(len(shown))
    lines = math.ceil(len(shown) / columns)
    side = _PANEL if columns > 1 else 2 * _PANEL
    figure = Figure(
        figsize=(side * columns + 0.4, (side + 0.25) * lines + 0.5),
        dpi=_DPI,
        layout="constrained",
        facecolor="white",
    )
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    panels = [_points(aligned, m.language) for m in shown]
    most = max((int(count.max()) for *_, count in panels if len(count)), default=1)
    for axes, m, points in zip(grid.flat, shown, panels, strict=False):
        _profile_panel(axes, m, points, most)
    for axes in grid.flat[len(shown) :]:
        axes.set_axis_off()
    # a panel above an empty place is the lowest of its column and needs the numbers
    for j in range(columns):
        last = [i for i in range(lines) if i * columns + j < len(shown)][-1]
        grid[last, j].xaxis.set_tick_params(labelbottom=True)
    figure.supxlabel("success rate in the source language", fontsize=_TEXT, color=_INK)
    figure.supylabel("success rate in the target language", fontsize=_TEXT, color=_INK)
    return figure


def save(figure: Figure, path: str | Path, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write a figure, completely or not at all, in one or several formats.

    Parameters
    ----------
    figure
        From `hat_dots` or `profile_plot`, or any other.
    path
        Where to, without the suffix; missing directories are made.
    formats
        Some of `FORMATS`.

    Returns
    -------
    list of Path
        The files, in the order of `formats`.

    Raises
    ------
    UnknownNameError
        A format that is none of `FORMATS`.
    """
    for name in formats:
        if name not in FORMATS:
            raise UnknownNameError("format", name, FORMATS)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for name in formats:
        # not with_suffix: the dot in "gemma-3.5" starts no suffix
        target = path.with_name(f"{path.name}.{name}")
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        try:
            with warnings.catch_warnings():
                # model names may use any script; a box in place of a letter is no reason to stop
                warnings.filterwarnings("ignore", message="Glyph .* missing from")
                figure.savefig(draft, format=name, dpi=_DPI, metadata=_undated(name))
            Path(draft).chmod(0o644)
            Path(draft).replace(target)
        finally:
            Path(draft).unlink(missing_ok=True)
        written.append(target)
    return written


def _undated(name: str) -> dict[str, Any]:
    """Leave dates out, so that equal data give equal files."""
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(name, {})


def _sorted_languages(found: list[Measurement]) -> list[str]:
    """Order languages by mean HAT, best first, unknown ones after them, macro at the end."""
    values: dict[str, list[float]] = {}
    for m in found:
        value = headline(m)[1].value
        values.setdefault(m.language, []).extend([value] if not math.isnan(value) else [])
    languages = [x for x in values if x != MACRO]
    languages.sort(key=lambda x: (-np.mean(values[x]) if values[x] else math.inf, x))
    return languages + [MACRO] * (MACRO in values and len(languages) > 1)


def _span(found: list[Measurement]) -> tuple[float, float]:
    """Return an axis that holds 0, 1, every value, and the ends that do not flatten the rest."""
    must, may = [0.0, 1.0], []
    for m in found:
        hat = headline(m)[1]
        must += [v for v in (hat.value, m.scores["target_accuracy"].value) if math.isfinite(v)]
        may += [v for v in (hat.low, hat.high) if math.isfinite(v)]
    low = min([*must, *(max(v, _AXIS[0]) for v in may)])
    high = max([*must, *(min(v, _AXIS[1]) for v in may)])
    return low - 0.04, high + 0.04


def _dot(axes: Axes, m: Measurement, y: float, i: int) -> None:
    colour, marker = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
    hat, accuracy = headline(m)[1], m.scores["target_accuracy"]
    left, right = axes.get_xlim()
    if math.isfinite(accuracy.value):
        axes.plot(
            [accuracy.value], [y], marker=marker, markersize=3.6, markerfacecolor="white",
            markeredgecolor=colour, markeredgewidth=0.8, linestyle="none", zorder=4,
            gid=f"accuracy {m.model} {m.language}",
        )  # fmt: skip
    if math.isnan(hat.value):
        note = axes.text(left, y, f" {MISSING}", color=colour, fontsize=_TEXT, va="center")
        note.set_gid(f"missing {m.model} {m.language}")
        return
    if not math.isnan(hat.low) and not math.isnan(hat.high):
        ends = (max(hat.low, left), min(hat.high, right))
        axes.plot(ends, [y, y], color=colour, linewidth=1.3, solid_capstyle="butt", zorder=3,
                  gid=f"interval {m.model} {m.language}")  # fmt: skip
        for end, edge, arrow in ((hat.low, left, "<"), (hat.high, right, ">")):
            if (end < left) if arrow == "<" else (end > right):
                axes.plot(
                    [edge], [y], marker=arrow, color=colour, markersize=4.5, linestyle="none",
                    clip_on=False, zorder=5, gid=f"arrow {m.model} {m.language}",
                )  # fmt: skip
    axes.plot([hat.value], [y], marker=marker, color=colour, markersize=5.2, linestyle="none",
              markeredgecolor="white", markeredgewidth=0.5, zorder=5,
              gid=f"hat {m.model} {m.language}")  # fmt: skip


def _axis_name(found: list[Measurement]) -> str:
    names = {headline(m)[0] for m in found if not math.isnan(headline(m)[1].value)}
    level = next(iter(found)).scores["target_accuracy"].confidence
    kind = {
        frozenset({"hat"}): "HAT",
        frozenset({"hat_plugin"}): "HAT (plug-in: there is no corrected slope)",
        frozenset({"hat", "hat_plugin"}): "HAT (plug-in where there is no corrected slope)",
    }.get(frozenset(names), "HAT")
    return f"{kind} with {100 * level:g} % intervals; hollow: target accuracy"


def _legend(figure: Figure, models: list[str]) -> None:
    handles = [
        Line2D([], [], color=_COLOURS[i % len(_COLOURS)], marker=_MARKERS[i % len(_MARKERS)],
               markersize=5.2, linewidth=1.3, label=_short(model))
        for i, model in enumerate(models)
    ]  # fmt: skip
    legend = figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=min(len(models), 3 if max(map(len, models)) <= _LEGEND_NAME else 2),
        frameon=False,
        fontsize=_TEXT,
        labelcolor=_INK,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


_LEGEND_NAME = 28


def _short(model: str) -> str:
    """Keep both ends of a long name: the maker is at its head, the variant at its tail."""
    longest = 44
    name = printable(model)
    # matplotlib hides the legend entry of a label that begins with an underscore
    name = f" {name}" if name.startswith("_") else name
    return name if len(name) <= longest else f"{name[:20]}…{name[-23:]}"


def _points(
    aligned: Aligned, language: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return s, t and the number of items at each distinct (s, t)."""
    j = aligned.languages.index(language)
    n_target = aligned.n_target[:, j]
    present = (n_target > 0) & (aligned.n_source > 0)
    s = aligned.k_source[present] / aligned.n_source[present]
    t = aligned.k_target[present, j] / n_target[present]
    pairs, count = np.unique(np.round(np.stack([s, t]), 9), axis=1, return_counts=True)
    return pairs[0], pairs[1], count


def _profile_panel(
    axes: Axes,
    m: Measurement,
    points: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]],
    most: int,
) -> None:
    s, t, count = points
    axes.plot([0, 1], [0, 1], color=_FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1,
              gid="diagonal")  # fmt: skip
    # the largest dot fills about the distance between the steps of ten replies
    area = 90.0 * count / max(most, 4)
    axes.scatter(s, t, s=area, color=_COLOURS[0], alpha=0.55, linewidths=0, zorder=2, clip_on=False)
    hat = headline(m)[1]
    if not math.isnan(hat.value):
        axes.plot([0, 1], [0, hat.value], color=_COLOURS[1], linewidth=1.6, zorder=3, gid="fit")
    curved = " (curved)" if m.curvature_p < CURVED_P else ""
    axes.set_title(
        f"{label(m.language)}{curved}\n{with_interval(hat)}",
        fontsize=_SMALL, color=_INK, loc="left", pad=6, linespacing=1.25,
    )  # fmt: skip
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    axes.set_yticks([0, 0.5, 1], ["0", ".5", "1"])
    _dress(axes)


def _columns(panels: int) -> int:
    """Return four columns, or as many fewer as the last row would be short of."""
    lines = math.ceil(panels / _COLUMNS)
    return math.ceil(panels / lines)


def _dress(axes: Axes) -> None:
    axes.tick_params(labelsize=_SMALL, colors=_INK, length=2.5, width=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axes.spines[side].set_color(_FAINT)
        axes.spines[side].set_linewidth(0.6)
