"""How every chart looks: colours, shapes, letters, on paper and on a dark screen.

Charts name no colour of their own. They name a range (``category``, ``heatmap``) or a style
(``reference``, ``curve``), and the configuration of `theme` says what that is; a page changes
from light to dark by giving the same chart another configuration.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

import altair as alt

from hatscore.errors import InputError
from hatscore.report.rows import MACRO_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

C = TypeVar(
    "C",
    alt.Chart,
    alt.LayerChart,
    alt.HConcatChart,
    alt.VConcatChart,
    alt.FacetChart,
    alt.ConcatChart,
)

__all__ = ["COLOURS", "FONT", "SHAPES", "SHORT", "theme"]

# M. Okabe and K. Ito's palette without yellow, which is too pale for a thin line on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7A7A7A")
_STAR = (
    "M0,-1.15L0.27,-0.36L1.09,-0.36L0.44,0.14L0.68,0.93L0,0.45L-0.68,0.93L-0.44,0.14"
    "L-1.09,-0.36L-0.27,-0.36Z"
)
_SALTIRE = (
    "M-0.9,-0.55L-0.55,-0.9L0,-0.35L0.55,-0.9L0.9,-0.55L0.35,0L0.9,0.55L0.55,0.9L0,0.35"
    "L-0.55,0.9L-0.9,0.55L-0.35,0Z"
)
# no triangles to the sides: those are the arrows of open intervals
SHAPES = (
    "circle", "square", "diamond", "triangle-up", "cross", "triangle-down", _STAR, _SALTIRE,
)  # fmt: skip
# seven colours and eight shapes, both in turn: the first repetition is the 57th name

_LONGEST, _HEAD, _TAIL = 44, 20, 23
SHORT = (
    f"length(datum.label) > {_LONGEST} ? slice(datum.label, 0, {_HEAD}) + '\N{HORIZONTAL ELLIPSIS}'"
    f" + slice(datum.label, -{_TAIL}) : datum.label"
)
"""An expression that keeps both ends of a long name: the maker is at its head, the variant at its
tail."""
FONT = "Liberation Sans, Arimo, Helvetica, Arial, sans-serif"
_LIGHT = {"ink": "#222222", "faint": "#6f6f6f", "line": "#c9c9c9", "ground": "#ffffff"}
_DARK = {"ink": "#e6e6e6", "faint": "#a6a6a6", "line": "#4a4a4a", "ground": "#161616"}
_DARK_COLOURS = ("#4FA8DC", "#F08040", "#2DC49A", "#DE9CC0", "#8FD0F5", "#F0B840", "#B0B0B0")


def theme(*, dark: bool = False) -> dict[str, Any]:
    """Return the Vega-Lite configuration of all charts.

    Parameters
    ----------
    dark
        For a dark ground; the colours keep their order.

    Returns
    -------
    dict
        A ``config``, to be given to a chart (`altair.Chart.configure`), to vegaEmbed or to
        `drawing.save_chart`.
    """
    c = _DARK if dark else _LIGHT
    colours = _DARK_COLOURS if dark else COLOURS
    return {
        "background": c["ground"],
        "font": FONT,
        # what charts may name in expressions
        "params": [
            {"name": "palette", "value": list(colours)},
            {"name": "ink", "value": c["ink"]},
            {"name": "faint", "value": c["faint"]},
        ],
        "range": {
            "category": list(colours),
            "symbol": list(SHAPES),
            "heatmap": {"scheme": "cividis"},
        },
        "view": {"stroke": None},
        "axis": {
            "domainColor": c["line"], "gridColor": c["line"], "gridOpacity": 0.5,
            "tickColor": c["line"], "labelColor": c["ink"], "titleColor": c["ink"],
            "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal",
            "labelLimit": 0, "titleLimit": 0, "labelFlush": False,
        },
        "header": {
            "labelColor": c["ink"], "titleColor": c["ink"], "labelFontSize": 11,
            "labelFontWeight": "normal", "labelLimit": 0,
        },
        "legend": {
            "labelColor": c["ink"], "titleColor": c["ink"], "labelFontSize": 11,
            "titleFontSize": 11, "titleFontWeight": "normal", "labelLimit": 0, "symbolLimit": 0,
            "symbolSize": 55,
        },
        "title": {
            "color": c["ink"], "subtitleColor": c["faint"], "fontSize": 13, "subtitleFontSize": 11,
            "fontWeight": "bold", "anchor": "start", "frame": "group", "limit": 0,
        },
        "mark": {"color": colours[0]},
        "rule": {"color": colours[0]},
        "point": {"filled": True, "opacity": 1, "size": 40},
        "style": {
            "reference": {"color": c["faint"], "strokeWidth": 1, "strokeDash": [4, 3]},
                        "curve": {"color": c["ink"], "strokeWidth": 1.4, "strokeDash": [2, 2]},
            "fit": {"color": colours[1], "strokeWidth": 1.8},
            "density": {"color": colours[0], "opacity": 0.6},
            "note": {"color": c["ink"], "fontSize": 11},
            "faint-note": {"color": c["faint"], "fontSize": 11},
            "empty": {"color": c["line"], "filled": False, "strokeWidth": 1},
        },
    }  # fmt: skip


def finished(
    chart: C,
    rows: Sequence[Mapping[str, Any]],
    *,
    data_name: str,
    embed: bool,
    description: str,
    title: str | Sequence[str] = "",
) -> C:
    """Return a chart with its data, description, title and look."""
    more: dict[str, Any] = {"description": description, "config": alt.Config(**theme())}
    if title:
        more["title"] = title if isinstance(title, str) else list(title)
    if embed:
        more["datasets"] = {data_name: [dict(row) for row in rows]}
    return chart.properties(**more)


def only(rows: Sequence[Mapping[str, Any]], field: str, what: str) -> str:
    """Return the one value that a field has in all records.

    Raises
    ------
    InputError
        No records, or several values; names them.
    """
    found = list(dict.fromkeys(row[field] for row in rows))
    if len(found) != 1:
        raise InputError(
            f"{what} draws one {field}, got {len(found)}: {', '.join(map(str, found)) or 'none'}; "
            f"filter the records by {field} first"
        )
    return str(found[0])


def distinct(rows: Iterable[Mapping[str, Any]], field: str) -> list[str]:
    """Return the values of a field, each once, in order of first appearance."""
    return list(dict.fromkeys(row[field] for row in rows))


def series_names(rows: Iterable[Mapping[str, Any]], field: str) -> list[str]:
    """Return the names that colours and shapes tell apart, in an order that all charts share."""
    return sorted(distinct(rows, field), key=lambda name: (name == "other", _natural(name)))


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key by which 4b comes before 12b."""
    parts = re.split(r"(\d+)", name.casefold())
    return [(int(part), "") if i % 2 else (0, part) for i, part in enumerate(parts)]


def legend(names: Sequence[str], width: float, **more: Any) -> alt.Legend:
    """Return a legend above the chart, in as many columns as its names leave room for."""
    longest = min(max(map(len, names), default=1), _LONGEST)
    columns = max(1, min(len(names), int(width // (6.2 * longest + 34))))
    return alt.Legend(
        orient="top", direction="vertical" if columns == 1 else "horizontal", columns=columns,
        title=None, labelLimit=0, symbolLimit=0, columnPadding=14, labelExpr=SHORT,
        symbolStrokeWidth=0, symbolOpacity=1, **more,
    )  # fmt: skip


def span(values: Iterable[float | None], ends: Iterable[float | None] = ()) -> tuple[float, float]:
    """Return an axis that holds 0, 1, all values, and those interval ends that do not flatten it.

    Ends beyond -0.5 or 2 are cut there; charts draw an arrow in their place.
    """
    must = [0.0, 1.0, *(v for v in values if v is not None)]
    may = [v for v in ends if v is not None]
    low = min([*must, *(max(v, -0.5) for v in may)])
    high = max([*must, *(min(v, 2.0) for v in may)])
    # to the next twentieth outwards, so that no marker is cut in half
    return math.floor(20 * low - 0.8) / 20, math.ceil(20 * high + 0.8) / 20


def series(field: str, names: Sequence[str], width: float, *, title: str) -> dict[str, Any]:
    """Return the channels that give every name its own colour and shape, in one legend."""
    scale = alt.Scale(domain=list(names))
    shown = legend(names, width) if len(names) > 1 else None
    return {
        "color": alt.Color(f"{field}:N", scale=scale, legend=shown, title=title),
        "shape": alt.Shape(f"{field}:N", scale=scale, legend=shown, title=title),
    }


def numbers(start: float, count: int = 1) -> alt.SequenceGenerator:
    """Return data of some numbers in the field ``at``, one apart.

    They are generated where the chart is drawn: a chart holds no data but its named records.
    """
    return alt.SequenceGenerator(
        sequence=alt.SequenceParams(start=start, stop=start + count - 0.5, step=1, **{"as": "at"})
    )


def bold_macro() -> Any:
    """Return the weight of an axis label: bold for the mean over languages."""
    return alt.condition(f"datum.value == '{MACRO_LABEL}'", alt.value("bold"), alt.value("normal"))
