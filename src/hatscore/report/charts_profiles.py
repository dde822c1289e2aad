"""Charts of what lies behind a score: transfer profiles, and how replies ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from hatscore.errors import InputError
from hatscore.outcomes import STATUS_COLUMNS
from hatscore.report.charts_theme import COLOURS, distinct, finished, only
from hatscore.report.rows_profile import spread
from hatscore.report.rows_rank import ANSWERED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["profiles", "status_bars"]

_PANEL = 118
_COLUMNS = 4
_BAR = 17
# told apart on light and dark ground alike; what is well needs no colour
# what a line is: its colour and its dashes
_LINES: dict[str, tuple[Any, list[int]]] = {
    "score": ({"expr": "palette[1]"}, [1, 0]),
    "noise-corrected profile": ({"expr": "ink"}, [2, 2]),
    "all survives": ({"expr": "faint"}, [4, 3]),
}
_BARS = dict(zip((ANSWERED, *STATUS_COLUMNS), ("#b4b9bf", *COLOURS), strict=False))


def profiles(
    rows: Sequence[Mapping[str, Any]],
    *,
    data_name: str = "profiles",
    embed: bool = True,
    native: bool = False,
    columns: int = _COLUMNS,
    panel: int = _PANEL,
    title: str = "",
) -> alt.FacetChart:
    """Draw target against source success rates, a panel per language.

    Parameters
    ----------
    rows
        From `rows_profile.profile_rows`, of one model and benchmark; as they come or after
        `rows_profile.spread`.
    data_name, embed, native, title
        As for `charts.hat_dots`. The chart reads records as `spread` gives them.
    columns, panel
        Panels beside each other, and the side of one in pixels.

    Returns
    -------
    altair.FacetChart
        The area of a dot is proportional to the number of items at its rates, over all panels
        alike. The solid line is the score (the corrected slope, else the plug-in), the dotted
        curve the noise-corrected profile where the data give one, the dashed diagonal perfect
        transfer; a legend says so.

    Raises
    ------
    InputError
        No records, or those of several models or benchmarks.
    """
    model, benchmark = only(rows, "model", "profiles"), only(rows, "benchmark", "profiles")
    full = [row for r in rows for row in ([dict(r)] if "items" in r else spread([r]))]
    field = "native_label" if native else "label"
    most = max((n for r in full for n in r["items"]), default=1)
    axis: dict[str, Any] = {"values": [0, 0.5, 1], "format": ".1~f"}
    one = alt.Scale(domain=[0, 1], nice=False)

    def channel(kind: Any, name: str, what: str) -> Any:
        return kind(f"{name}:Q", scale=one, axis=alt.Axis(title=what, **axis))

    def line() -> dict[str, Any]:
        return {
            kind: channel(
                "line:N",
                scale=alt.Scale(domain=list(_LINES), range=[look[i] for look in _LINES.values()]),
                legend=alt.Legend(
                    title=None, orient="top", direction="horizontal", symbolType="stroke",
                    symbolSize=260, symbolStrokeWidth=1.6, columns=len(_LINES),
                ),
            )
            for i, (kind, channel) in enumerate(
                (("stroke", alt.Stroke), ("strokeDash", alt.StrokeDash))
            )
        }  # fmt: skip

    def at(x: str, y: str) -> dict[str, Any]:
        return {"x": channel(alt.X, x, "source"), "y": channel(alt.Y, y, "target")}

    base = alt.Chart()
    layers = [
        base.transform_calculate(zero="0", one="1", line="'all survives'")
        .mark_rule(style="reference")
        .encode(**at("zero", "zero"), x2="one", y2="one", **line()),
        base.transform_flatten(["s", "t", "items"])
        .mark_point(style="density", clip=False)
        .encode(
            **at("s", "t"),
            size=alt.Size(
                "items:Q",
                scale=alt.Scale(
                    # the largest dot fills about the distance between the steps of ten replies
                    domain=[0, max(most, 4)], range=[0, 1.1 * (panel / 10) ** 2], nice=False
                ),
                legend=alt.Legend(title="items", orient="right", tickCount=4),
            ),
            tooltip=[
                alt.Tooltip("s:Q", title="source", format=".1f"),
                alt.Tooltip("t:Q", title="target", format=".1f"),
                alt.Tooltip("items:Q", title="items"),
            ],
        ),
        base.transform_filter("isValid(datum.b1)")
        .transform_calculate(at="sequence(0, 1.001, 0.05)")
        .transform_flatten(["at"])
        .transform_calculate(
            curve="datum.b1 * datum.at + datum.b2 * datum.at * datum.at",
            line="'noise-corrected profile'",
        )
        .mark_line(style="curve", clip=True)
        .encode(**at("at", "curve"), **line()),
        base.transform_filter("isValid(datum.slope)")
        .transform_calculate(at="[0, 1]")
        .transform_flatten(["at"])
        .transform_calculate(fit="datum.slope * datum.at", line="'score'")
        .mark_line(style="fit", clip=True)
        .encode(**at("at", "fit"), **line()),
    ]  # fmt: skip
    names = distinct(full, field)
    chart = (
        alt.layer(*layers)
        .properties(width=panel, height=panel, data=alt.NamedData(name=data_name))
        .facet(
            facet=alt.Facet(
                f"{field}:N", sort=names, title=None,
                header=alt.Header(labelAnchor="start", labelPadding=3),
            ),
            columns=min(columns, len(names)),
            spacing=14,
        )
    )  # fmt: skip
    return finished(
        chart,
        full,
        data_name=data_name,
        embed=embed,
        title=title,
        description=(
            f"Success rates of {model} on {benchmark} in each of {len(names)} target languages "
            "against those in the source language, item by item, with the fitted line, the "
            "noise-corrected curve and the diagonal of perfect transfer."
        ),
    )


def status_bars(
    rows: Sequence[Mapping[str, Any]],
    *,
    answered: bool = True,
    data_name: str = "statuses",
    embed: bool = True,
    native: bool = False,
    width: int = 420,
    title: str = "",
) -> alt.Chart:
    """Draw how the replies in each language ended.

    Parameters
    ----------
    rows
        From `rows_rank.status_rows`, of one model and benchmark.
    answered
        Whether replies with a readable answer have their part of a bar; without them the others
        are drawn larger.
    data_name, embed, native, title
        As for `charts.hat_dots`.
    width
        Of the plot in pixels.

    Returns
    -------
    altair.Chart
        One bar per language, the source among them, in the order of the records.

    Raises
    ------
    InputError
        No records, those of several models or benchmarks, or none to be drawn.
    """
    model, benchmark = only(rows, "model", "status_bars"), only(rows, "benchmark", "status_bars")
    field = "native_label" if native else "label"
    statuses = sorted(
        {(r["place"], r["status"]) for r in rows if answered or r["status"] != ANSWERED}
    )
    names = [name for _, name in statuses]
    if not names:
        raise InputError(
            f"every reply of {model} on {benchmark} was answered: without the answered ones there "
            "is nothing to draw"
        )
    chart = alt.Chart(alt.NamedData(name=data_name))
    if not answered:
        chart = chart.transform_filter(f"datum.status != '{ANSWERED}'")
    bars: alt.Chart = (
        chart.mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                stack="zero",
                scale=alt.Scale(domain=[0, 1], clamp=True) if answered else alt.Scale(nice=True),
                axis=alt.Axis(title="share of replies", format="~%", grid=True, tickCount=6),
            ),
            y=alt.Y(
                f"{field}:N",
                scale=alt.Scale(domain=alt.ExprRef("languages")),
                axis=alt.Axis(title=None, ticks=False, domain=False, labelOverlap=False),
            ),
            color=alt.Color(
                "status:N",
                scale=alt.Scale(domain=names, range=[_BARS[name] for name in names]),
                legend=alt.Legend(
                    orient="top",
                    title=None,
                    columns=4,
                    symbolType="square",
                    labelLimit=0,
                    labelExpr="replace(datum.label, '_', ' ')",
                ),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("label:N", title="language"),
                alt.Tooltip("role:N"),
                alt.Tooltip("status:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("replies:Q"),
            ],
        )
        .add_params(alt.param(name="languages", value=distinct(rows, field)))
        .properties(width=width, height=alt.Step(_BAR))
    )
    return finished(
        bars,
        rows,
        data_name=data_name,
        embed=embed,
        title=title,
        description=(
            f"Stacked bars of how the replies of {model} on {benchmark} ended, by language: "
            f"{', '.join(names)}."
        ),
    )
