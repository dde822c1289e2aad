"""Charts of analyses over models: points with intervals, in panels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt

from hatscore.errors import InputError
from hatscore.report.charts_theme import distinct, finished, numbers, series
from hatscore.report.rows import rounded
from hatscore.report.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.studies.result import Figure

__all__ = ["study_chart"]

_WIDE, _HALF, _HEIGHT = 420, 250, 190
_COLUMNS = 2
_DIGITS = 5
# axes without a thousands separator: 2025.5 is a date, not a quantity
_PLAIN = "~g"

Row = dict[str, Any]


def study_chart(
    figure: Figure,
    *,
    data_name: str = "points",
    embed: bool = True,
    title: str = "",
    description: str = "",
) -> alt.ConcatChart:
    """Draw an analysis: a scatter where its points have an x, else a line per label.

    Parameters
    ----------
    figure
        From `Analysis.figure`, with at least one point.
    data_name, embed, title
        As for `charts.hat_dots`.
    description
        What it shows, for those who cannot see it; default what the axes say.

    Returns
    -------
    altair.ConcatChart
        One panel per value of ``panel``, all over the same values. Interval ends beyond the axis,
        infinite ones among them, end at it.

    Raises
    ------
    InputError
        No points.
    """
    rows = [_row(point) for point in figure.points.iter_rows(named=True)]
    if not rows:
        raise InputError("the figure of this analysis has no points, so there is nothing to draw")
    scatter = "x" in figure.points.columns
    panels = distinct(rows, "panel")
    columns = min(_COLUMNS if scatter else 1, len(panels))
    width = _HALF if columns > 1 else _WIDE
    names = [name for name in distinct(rows, "series") if name]
    look = series("series", names, columns * width, title="series") if names else {}
    drawn = []
    for panel in panels:
        own = [r for r in rows if r["panel"] == panel]
        base = alt.Chart(alt.NamedData(name=data_name)).transform_filter(
            alt.FieldEqualPredicate(field="panel", equal=panel)
        )
        span = _span(rows, figure)
        draw = _scatter if scatter else _forest
        drawn.append(
            draw(base, own, figure=figure, panel=panel, look=look, span=span).properties(
                width=width, title=alt.TitleParams(panel, fontSize=12)
            )
        )
    chart = alt.concat(*drawn, columns=columns, spacing=20)
    across = "" if not scatter else f" over {figure.x_label}"
    return finished(
        chart,
        rows,
        data_name=data_name,
        embed=embed,
        title=title,
        description=description
        or f"{figure.y_label}{across} with intervals: {len(rows)} points, {', '.join(panels)}.",
    )


def _row(point: Mapping[str, Any]) -> Row:
    """Return a point as JSON holds it: an end that is None is infinite where its flag says so."""
    row = {
        name: rounded(value, _DIGITS)
        if isinstance(value, float)
        else printable(value)
        if isinstance(value, str)
        else value
        for name, value in point.items()
    }
    for end in ("low", "high"):
        row[f"{end}_open"] = point[end] is not None and math.isinf(point[end])
    return row


def _span(rows: Sequence[Row], figure: Figure) -> tuple[float, float]:
    """Return an axis that holds all values, and interval ends that do not flatten these."""
    values = [r["y"] for r in rows if r["y"] is not None]
    values += [at for at in (figure.reference, figure.least) if at is not None]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = max(high - low, 0.1)
    ends = [r[end] for r in rows for end in ("low", "high") if r[end] is not None]
    low = min([low, *(max(end, low - room) for end in ends)])
    high = max([high, *(min(end, high + room) for end in ends)])
    edge = 0.03 * (high - low)
    start = math.floor(100 * (low - edge)) / 100 if figure.least is None else figure.least
    return start, math.ceil(100 * (high + edge)) / 100


def _known(base: alt.Chart, span: tuple[float, float]) -> Any:
    low, high = span
    return base.transform_filter("isValid(datum.y)").transform_calculate(
        from_=f"isValid(datum.low) ? max(datum.low, {low}) : datum.low_open ? {low} : datum.y",
        to_=f"isValid(datum.high) ? min(datum.high, {high}) : datum.high_open ? {high} : datum.y",
    )


def _tooltip(figure: Figure) -> list[alt.Tooltip]:
    columns = figure.points.columns
    found = [alt.Tooltip(f"{c}:N") for c in ("label", "series") if c in columns]
    if "x" in columns:
        found.append(alt.Tooltip("x:Q", title=figure.x_label, format=".4~g"))
    return [
        *found,
        alt.Tooltip("y:Q", title=figure.y_label, format=".3f"),
        alt.Tooltip("low:Q", title="from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
    ]


def _scatter(
    base: alt.Chart,
    own: Sequence[Row],
    *,
    figure: Figure,
    panel: str,
    look: Mapping[str, Any],
    span: tuple[float, float],
) -> alt.LayerChart:
    at = [r["x"] for r in own if r["x"] is not None]
    kind: dict[str, Any] = {"type": "log"} if figure.log_x else {"zero": False}
    x_scale = alt.Scale(**kind, nice=False, padding=12)
    x_axis = alt.Axis(
        title=figure.x_label, format=_PLAIN, tickCount=5, labelOverlap="greedy", grid=False
    )
    y_scale = alt.Scale(domain=list(span), nice=False, zero=False)
    y_axis = alt.Axis(title=figure.y_label, tickCount=6)

    def x(name: str) -> alt.X:
        return alt.X(f"{name}:Q", scale=x_scale, axis=x_axis)

    def y(name: str) -> alt.Y:
        return alt.Y(f"{name}:Q", scale=y_scale, axis=y_axis)

    known = _known(base, span)
    colour = {"color": look["color"]} if look else {}
    layers = [
        known.mark_rule(strokeWidth=1.2, opacity=0.75).encode(
            x=x("x"), y=y("from_"), y2="to_", **colour
        ),
        known.mark_point(size=45).encode(x=x("x"), y=y("y"), tooltip=_tooltip(figure), **look),
    ]
    line = figure.lines.get(panel)
    if line is not None and all(map(math.isfinite, line)) and min(at) < max(at):
        slope, intercept = line
        # straight on this axis, whether it is logarithmic or not: two ends are enough
        over = "log(datum.at) / LN10" if figure.log_x else "datum.at"
        layers.insert(
            0,
            base.transform_aggregate(first="min(x)", last="max(x)")
            .transform_fold(["first", "last"], as_=["end", "at"])
            .transform_calculate(fit=f"{intercept} + {slope} * {over}")
            # no colour of a series: the line is of all of them
            .mark_line(color=alt.ExprRef("ink"), strokeWidth=1.5, clip=True)
            .encode(x=x("at"), y=y("fit")),
        )
    if figure.reference is not None:
        layers.insert(0, _reference(figure.reference, y=y("at")))
    return alt.LayerChart(layer=layers, height=_HEIGHT)


def _forest(
    base: alt.Chart,
    own: Sequence[Row],
    *,
    figure: Figure,
    panel: str,  # noqa: ARG001 - as for the scatter
    look: Mapping[str, Any],
    span: tuple[float, float],
) -> alt.LayerChart:
    scale = alt.Scale(domain=list(span), nice=False, zero=False)
    axis = alt.Axis(title=figure.y_label, tickCount=7)

    def x(name: str) -> alt.X:
        return alt.X(f"{name}:Q", scale=scale, axis=axis)

    labels, names = distinct(own, "label"), distinct(own, "series")
    place: dict[str, Any] = {
        "y": alt.Y(
            "label:N",
            scale=alt.Scale(domain=labels),
            axis=alt.Axis(
                grid=True, tickBand="extent", ticks=False, title=None, domain=False,
                labelOverlap=False, labelPadding=6,
            ),
        )
    }  # fmt: skip
    # two series at one label stand one below the other, others on the line itself
    beside = len(own) > len(labels)
    if beside:
        place["yOffset"] = alt.YOffset("series:N", scale=alt.Scale(domain=names))
    known = _known(base, span)
    colour = {"color": look["color"]} if look else {}
    layers = [
        known.mark_rule(strokeWidth=1.3).encode(x=x("from_"), x2="to_", **place, **colour),
        known.mark_point(size=42).encode(x=x("y"), tooltip=_tooltip(figure), **place, **look),
    ]
    if figure.reference is not None:
        layers.insert(0, _reference(figure.reference, x=x("at")))
    step = 17.0 if not beside else 8.0 * len(names) + 5
    return alt.LayerChart(layer=layers, height=alt.Step(step, **{"for": "position"}))


def _reference(value: float, **at: Any) -> alt.Chart:
    line: alt.Chart = alt.Chart(numbers(value)).mark_rule(style="reference").encode(**at)
    return line
