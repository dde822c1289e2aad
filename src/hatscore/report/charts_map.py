"""Charts of models beside each other: a map over languages, and who leads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from hatscore.errors import InputError
from hatscore.report.charts_scores import ordered_models
from hatscore.report.charts_theme import (
    SHORT,
    bold_macro,
    distinct,
    finished,
    numbers,
    only,
    score_tooltip,
    series,
    series_names,
    span,
)
from hatscore.report.rows import ordered_labels
from hatscore.report.text import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["heat_map", "ranking"]

_CELL = (30, 21)
_LEAST_TENTHS = 4
_WIDTH = 420


def heat_map(
    rows: Sequence[Mapping[str, Any]],
    *,
    data_name: str = "scores",
    embed: bool = True,
    native: bool = False,
    title: str = "",
) -> alt.LayerChart:
    """Draw the HAT of every model in every language as a coloured table.

    Parameters
    ----------
    rows
        From `rows.score_rows`, of one benchmark.
    data_name, embed, native, title
        As for `charts.hat_dots`.

    Returns
    -------
    altair.LayerChart
        Models from top to bottom and languages from left to right by mean HAT, the mean over
        languages last; the parameters ``models`` and ``languages`` hold these orders. Colours span
        the values, at least 0.4 of them, between -0.2 and 1.4; every cell says its value, a cell
        without one has a dash and its tooltip the reason.

    Raises
    ------
    InputError
        No records, or those of several benchmarks.
    """
    benchmark = only(rows, "benchmark", "heat_map")
    field = "native_label" if native else "label"
    values = [r["hat"] for r in rows if r["hat"] is not None]
    low, high = _colour_span(values)
    place = {
        "x": alt.X(
            f"{field}:N",
            scale=alt.Scale(domain=alt.ExprRef("languages")),
            axis=alt.Axis(
                orient="top", labelAngle=-55, title=None, ticks=False, domain=False,
                labelOverlap=False, labelFontWeight=bold_macro(),
            ),
        ),
        "y": alt.Y(
            "model:N",
            scale=alt.Scale(domain=alt.ExprRef("models")),
            axis=alt.Axis(
                title=None, ticks=False, domain=False, labelOverlap=False, labelExpr=SHORT
            ),
        ),
    }  # fmt: skip
    base = alt.Chart(alt.NamedData(name=data_name))
    scored = base.transform_filter("isValid(datum.hat)")
    lost = base.transform_filter("!isValid(datum.hat)")
    # black and white are equally far from the colour at 0.45 of cividis
    middle = low + 0.45 * (high - low)
    layers = [
        scored.mark_rect(stroke=None).encode(
            color=alt.Color(
                "hat:Q",
                scale=alt.Scale(domain=[low, high], clamp=True, nice=False),
                legend=alt.Legend(title="HAT", orient="right", gradientLength=120),
            ),
            tooltip=score_tooltip(),
            **place,
        ),
        scored.mark_text(fontSize=10).encode(
            text=alt.Text("hat:Q", format=".2f"),
            color=alt.condition(
                f"datum.hat < {middle:.4g}", alt.value("#ffffff"), alt.value("#000000")
            ),
            tooltip=score_tooltip(),
            **place,
        ),
        lost.mark_rect(style="empty").encode(tooltip=score_tooltip(), **place),
        lost.mark_text(text=MISSING, style="note").encode(tooltip=score_tooltip(), **place),
    ]
    models = ordered_models(rows)
    labels = ordered_labels(rows, field=field)
    chart = (
        alt.LayerChart(layer=layers)
        .add_params(
            alt.param(name="languages", value=labels), alt.param(name="models", value=models)
        )
        .properties(width=alt.Step(_CELL[0]), height=alt.Step(_CELL[1]))
    )
    return finished(
        chart,
        rows,
        data_name=data_name,
        embed=embed,
        title=title,
        description=(
            f"Coloured table of HAT on {benchmark}: {len(models)} models in lines, best on top, "
            f"{len(labels)} columns of languages, best first, every cell with its value."
        ),
    )


def _colour_span(values: Sequence[float]) -> tuple[float, float]:
    """Return the scores of the darkest and the brightest colour, in whole tenths.

    A score far outside 0 to 1 rests on next to nothing: it must not bleach all others. And
    differences of a few hundredths must not look like night and day.
    """
    low = max(math.floor(10 * min(values, default=0.0)), -2)
    high = min(math.ceil(10 * max(values, default=1.0)), 14)
    low = min(low, high - _LEAST_TENTHS)
    return low / 10, high / 10


def ranking(
    rows: Sequence[Mapping[str, Any]],
    *,
    by: Literal["model", "family"] = "family",
    data_name: str = "ranks",
    embed: bool = True,
    width: int = _WIDTH,
    title: str = "",
) -> alt.VConcatChart:
    """Draw the mean over languages of every model, a panel per benchmark, with ranks.

    Parameters
    ----------
    rows
        From `rows_rank.rank_rows`.
    by
        What colour and shape tell apart.
    data_name, embed, title
        As for `charts.hat_dots`.
    width
        Of the plot in pixels.

    Returns
    -------
    altair.VConcatChart
        Models by score, best on top. To the right the ranks that the data leave each: one with
        1 to 4 is tied for the first. A model stands behind another only where their paired
        difference shows it.

    Raises
    ------
    InputError
        No records.
    """
    if not rows:
        raise InputError("ranking got no records: make them with rank_rows from measurements")
    low, high = span(
        [r["hat"] for r in rows], [v for r in rows for v in (r["hat_low"], r["hat_high"])]
    )
    look = series(by, series_names(rows, by), width + 120, title=by)
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    benchmarks = distinct(rows, "benchmark")
    panels = []
    for benchmark in benchmarks:
        part = [r for r in rows if r["benchmark"] == benchmark]
        axis = alt.Axis(title="HAT (mean over languages) with intervals", grid=True, tickCount=8)
        y = alt.Y(
            "model:N",
            scale=alt.Scale(domain=distinct(part, "model")),
            axis=alt.Axis(
                grid=True, tickBand="extent", ticks=False, title=None, domain=False,
                labelOverlap=False, labelExpr=SHORT,
            ),
        )  # fmt: skip
        own = alt.Chart(alt.NamedData(name=data_name)).transform_filter(
            alt.FieldEqualPredicate(field="benchmark", equal=benchmark)
        )
        scored = own.transform_filter("isValid(datum.hat)").transform_calculate(
            from_=f"max({low}, isValid(datum.hat_low) ? datum.hat_low : {low})",
            to_=f"min({high}, isValid(datum.hat_high) ? datum.hat_high : {high})",
        )
        ranked = own.transform_calculate(
            said=f"!isValid(datum.rank) ? '{MISSING}' : datum.rank == datum.worst_rank"
            f" ? '' + datum.rank : datum.rank + '{MISSING}' + datum.worst_rank"
        )
        tooltip = [
            *score_tooltip(),
            alt.Tooltip("rank:Q", title="rank at best"),
            alt.Tooltip("worst_rank:Q", title="rank at worst"),
        ]
        panels.append(
            alt.layer(
                scored.mark_rule(strokeWidth=1.4).encode(
                    x=alt.X("from_:Q", scale=scale, axis=axis), x2="to_", y=y, color=look["color"]
                ),
                scored.mark_point(size=50).encode(
                    x=alt.X("hat:Q", scale=scale, axis=axis), y=y, tooltip=tooltip, **look
                ),
                ranked.mark_text(style="note", align="right").encode(
                    x=alt.value(width + 40), y=y, text="said:N", tooltip=tooltip
                ),
                alt.Chart(numbers(0))
                .mark_text(style="faint-note", text="rank", align="right", baseline="bottom")
                .encode(x=alt.value(width + 40), y=alt.value(-4)),
            ).properties(
                width=width,
                height=alt.Step(19),
                title=alt.TitleParams(benchmark, fontSize=12),
            )
        )
    chart = alt.vconcat(*panels, spacing=16)
    return finished(
        chart,
        rows,
        data_name=data_name,
        embed=embed,
        title=title,
        description=(
            f"Ranking of {len(distinct(rows, 'model'))} models by HAT on {', '.join(benchmarks)}, "
            "best on top, with intervals. Models whose difference the data do not show share "
            "a rank."
        ),
    )
