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
    span,
)
from hatscore.report.charts_words import (
    HOLLOW,
    NO_SCORE,
    daggered,
    dashed,
    filled_points,
    hat_name,
    hollow_points,
    is_mixed,
    score_tooltip,
    told,
)
from hatscore.report.looks import looks_of
from hatscore.report.rows import mixed, ordered_labels
from hatscore.report.text import DAGGER, MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.report.looks import Looks

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
        without one has a dash and its tooltip the reason. Plug-in slopes among corrected ones have
        a dagger.

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
    base = told(alt.Chart(alt.NamedData(name=data_name)))
    scored = base.transform_filter("isValid(datum.hat)")
    lost = base.transform_filter("!isValid(datum.hat)")
    # black and white are equally far from the colour at 0.45 of cividis
    middle = low + 0.45 * (high - low)
    layers = [
        scored.mark_rect(stroke=None).encode(
            color=alt.Color(
                "hat:Q",
                scale=alt.Scale(domain=[low, high], clamp=True, nice=False),
                legend=alt.Legend(
                    title=["HAT", f"{DAGGER} plug-in"] if mixed(rows) else hat_name(rows),
                    orient="right",
                    gradientLength=120,
                ),
            ),
            tooltip=score_tooltip(),
            **place,
        ),
        scored.transform_calculate(said=daggered(".2f"))
        .mark_text(fontSize=10)
        .encode(
            text="said:N",
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
            alt.param(name="languages", value=labels),
            alt.param(name="models", value=models),
            is_mixed(rows),
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
            + (f" {DAGGER}: plug-in, not corrected for noise." if mixed(rows) else "")
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
    looks: Looks | None = None,
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
        What the legend names: models, or the families that share a colour.
    looks, data_name, embed, title
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
    own_looks = looks or looks_of(rows)
    models = distinct(rows, "model")
    look = (own_looks.by_model if by == "model" else own_looks.by_both)(models, width + 120)
    axis_title = f"{hat_name(rows)} (mean over languages) with intervals"
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    benchmarks = distinct(rows, "benchmark")
    panels = []
    for benchmark in benchmarks:
        part = [r for r in rows if r["benchmark"] == benchmark]
        axis = alt.Axis(
            title=[axis_title, HOLLOW] if mixed(rows) else axis_title, grid=True, tickCount=8
        )
        y = alt.Y(
            "model:N",
            scale=alt.Scale(domain=distinct(part, "model")),
            axis=alt.Axis(
                grid=True, tickBand="extent", ticks=False, title=None, domain=False,
                labelOverlap=False, labelExpr=SHORT,
            ),
        )  # fmt: skip
        own = told(own_looks.grouped(alt.Chart(alt.NamedData(name=data_name)))).transform_filter(
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
                    x=alt.X("from_:Q", scale=scale, axis=axis),
                    x2="to_",
                    y=y,
                    color=look["color"],
                    strokeDash=dashed(),
                ),
                *(
                    points.encode(
                        x=alt.X("hat:Q", scale=scale, axis=axis), y=y, tooltip=tooltip, **look
                    )
                    for points in (filled_points(scored, 50), hollow_points(scored, 56))
                ),
                own.transform_filter("!isValid(datum.hat)")
                .mark_text(style="faint-note", text=NO_SCORE, align="left", fontSize=9)
                .encode(x=alt.value(4), y=y, tooltip=tooltip),
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
    chart = alt.vconcat(*panels, spacing=16).add_params(is_mixed(rows))
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
