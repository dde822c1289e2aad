"""Charts of scores by language: dots with intervals, and metrics beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from hatscore.errors import UnknownNameError
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
    dashed,
    filled_points,
    hat_name,
    hollow_points,
    is_mixed,
    score_tooltip,
    told,
)
from hatscore.report.looks import looks_of
from hatscore.report.rows import PLUGIN, mixed, ordered_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.report.looks import Looks

__all__ = ["METRICS", "hat_dots", "metrics_beside", "ordered_models"]

METRICS = {
    "hat": "HAT",
    "target_accuracy": "target accuracy",
    "gap": "gap",
    "transfer_score": "transfer score",
}
_WIDTH = 460
_PANEL = 150
_TALL = 12


def hat_dots(
    rows: Sequence[Mapping[str, Any]],
    *,
    by: Literal["model", "family"] = "model",
    compact: bool = False,
    looks: Looks | None = None,
    data_name: str = "scores",
    embed: bool = True,
    native: bool = False,
    width: int | Literal["container"] = _WIDTH,
    title: str = "",
) -> alt.LayerChart:
    """Draw the HAT of every language with its interval.

    Parameters
    ----------
    rows
        From `rows.score_rows`, of one benchmark.
    by
        What colour and shape tell apart.
    compact
        Whether all models share one line per language, with faint intervals and without target
        accuracies; otherwise each has its own. For many models on one sheet.
    looks
        Colours and shapes, from `looks.looks_of` of all records that charts show beside this one;
        default of `rows` alone.
    data_name
        Under which name the chart reads its records.
    embed
        Whether the records are inside the chart.
    native
        Label languages by their own names.
    width
        Of the plot in pixels, or that of the element around it.
    title
        Above the chart; default none.

    Returns
    -------
    altair.LayerChart
        Languages from top to bottom by mean HAT, macro last, and in each the models by theirs; the
        parameters ``languages`` and ``models`` hold these orders and may be set anew, the height
        follows. Filled markers are HAT, small hollow ones target accuracy; plug-in slopes among
        corrected ones are large and hollow, with a dashed interval. An interval end that is
        infinite, or beyond an axis that would otherwise flatten everything else, is an arrow.
        A language without a score has those words at the right edge. A tall chart has its axis
        above and below.

    Raises
    ------
    InputError
        No records, or those of several benchmarks.
    UnknownNameError
        `by` is neither of the two.
    """
    if by not in {"model", "family"}:
        raise UnknownNameError("series", by, ("model", "family"))
    benchmark = only(rows, "benchmark", "hat_dots")
    models = ordered_models(rows)
    labels = ordered_labels(rows, field="native_label" if native else "label")
    field = "native_label" if native else "label"
    low, high = span(
        [v for r in rows for v in (r["hat"], r["target_accuracy"])],
        [v for r in rows for v in (r["hat_low"], r["hat_high"])],
    )
    room = _WIDTH if width == "container" else width
    own = looks or looks_of(rows)
    look = (own.by_model if by == "model" else own.by_group)(models, room + 120)
    plain = {"color": look["color"]}
    place: dict[str, Any] = {"y": _languages(field)}
    if not compact:
        place["yOffset"] = alt.YOffset("model:N", scale=alt.Scale(domain=alt.ExprRef("models")))
    x_scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    axis = alt.Axis(title=_axis_title(rows, compact=compact), grid=True, tickCount=8)

    def x(name: str, axis: alt.Axis | None = None) -> alt.X:
        return alt.X(f"{name}:Q", scale=x_scale, axis=axis)

    every = told(own.grouped(alt.Chart(alt.NamedData(name=data_name))))
    scored = every.transform_filter("isValid(datum.hat)").transform_calculate(
        from_=f"max({low}, isValid(datum.hat_low) ? datum.hat_low : {low})",
        to_=f"min({high}, isValid(datum.hat_high) ? datum.hat_high : {high})",
        beyond_low=f"datum.low_open || datum.hat_low < {low}",
        beyond_high=f"datum.high_open || datum.hat_high > {high}",
        edge_low=str(low),
        edge_high=str(high),
    )
    layers = [
        alt.Chart(numbers(0, 2)).mark_rule(style="reference").encode(x=x("at", axis)),
        alt.Chart(numbers(0))
        .mark_rule(opacity=0)
        .encode(x=x("at", _above() if len(labels) > _TALL else None)),
        scored.mark_rule(strokeWidth=1.4, opacity=0.22 if compact else 1).encode(
            x=x("from_"), x2="to_", strokeDash=dashed(), **place, **plain
        ),
        *(
            scored.transform_filter(f"datum.beyond_{end}")
            .mark_point(shape=f"triangle-{side}", size=28)
            .encode(x=x(f"edge_{end}"), **place, **plain)
            for end, side in (("low", "left"), ("high", "right"))
        ),
        *(
            [
                every.transform_filter("isValid(datum.target_accuracy)")
                .mark_point(filled=False, size=16, strokeWidth=1)
                .encode(x=x("target_accuracy"), tooltip=score_tooltip(), **place, **look)
            ]
            if not compact
            else []
        ),
        *(
            points.encode(x=x("hat"), tooltip=score_tooltip(), **place, **look)
            for points in (filled_points(scored, 44), hollow_points(scored, 50))
        ),
        every.transform_filter("!isValid(datum.hat)")
        .transform_calculate(edge_high=str(high))
        .mark_text(style="faint-note", text=NO_SCORE, align="right", dx=-3, fontSize=8)
        .encode(x=x("edge_high"), tooltip=score_tooltip(), **place),
    ]
    step = alt.Step(19) if compact else alt.Step(_step(len(models)), **{"for": "offset"})
    chart: alt.LayerChart = (
        alt.LayerChart(layer=layers)
        .add_params(
            alt.param(name="languages", value=labels),
            alt.param(name="models", value=models),
            is_mixed(rows),
        )
        .resolve_axis(x="independent")
        .properties(width=width, height=step)
    )
    languages = len({r["language"] for r in rows if not r["macro"]})
    return finished(
        chart,
        rows,
        data_name=data_name,
        embed=embed,
        title=title,
        description=(
            f"Dot plot of HAT with intervals on {benchmark}: {len(models)} models, "
            f"{languages} languages, best on top, the mean over languages last."
            + ("" if compact else " Small hollow markers show target accuracy.")
            + (f" {HOLLOW.capitalize()}." if mixed(rows) else "")
        ),
    )


def metrics_beside(
    rows: Sequence[Mapping[str, Any]],
    *,
    by: Literal["language", "model"] = "language",
    looks: Looks | None = None,
    data_name: str = "scores",
    embed: bool = True,
    native: bool = False,
    width: int = _PANEL,
    title: str = "",
) -> alt.HConcatChart:
    """Draw HAT, target accuracy, gap and transfer score beside each other, in the order of HAT.

    Where a panel does not fall from top to bottom as the first does, that metric and HAT disagree.
    Interval ends beyond an axis end at it.

    Parameters
    ----------
    rows
        From `rows.score_rows`, of one benchmark.
    by
        What the lines are: languages, one marker per model; or models, by their macro records.
    looks, data_name, embed, native, title
        As for `hat_dots`.
    width
        Of one panel, in pixels.

    Returns
    -------
    altair.HConcatChart
        The parameter ``languages`` (or ``models``) holds the order of the lines.

    Raises
    ------
    InputError
        No records, or those of several benchmarks.
    UnknownNameError
        `by` is neither of the two.
    """
    if by not in {"language", "model"}:
        raise UnknownNameError("lines", by, ("language", "model"))
    benchmark = only(rows, "benchmark", "metrics_beside")
    models = ordered_models(rows)
    own = looks or looks_of(rows)
    room = 4 * (width + 20)
    offset: dict[str, Any] = {}
    if by == "model":
        field, kept, step = "model", "datum.macro", 18.0
        order = alt.param(name="models", value=models)
        line = alt.Y(
            "model:N",
            scale=alt.Scale(domain=alt.ExprRef("models")),
            axis=_line_axis(labelExpr=SHORT),
            title=None,
        )
        look = own.by_both(models, room)
    else:
        field, kept = ("native_label" if native else "label"), "true"
        step = max(16.0, 6.0 * len(models) + 6)
        order = alt.param(name="languages", value=ordered_labels(rows, field=field))
        line = _languages(field)
        look = own.by_model(models, room)
        offset = {"yOffset": alt.YOffset("model:N", scale=alt.Scale(domain=models))}
    panels = []
    for metric, name in METRICS.items():
        shown = [r for r in rows if by == "language" or r["macro"]]
        low, high = span(
            [r[metric] for r in shown],
            [v for r in shown for v in (r[f"{metric}_low"], r[f"{metric}_high"])],
        )
        if metric != "hat":
            high = min(high, 1.05)
        scale = alt.Scale(domain=[low, high], nice=False, zero=False)
        main = metric == "hat"
        axis = alt.Axis(
            title=_panel_title(rows) if main else name, grid=True, tickCount=4, labelOverlap=True
        )
        base = (
            told(own.grouped(alt.Chart(alt.NamedData(name=data_name))), metric)
            .transform_filter(f"{kept} && isValid(datum.{metric})")
            .transform_calculate(
                from_=f"max({low}, isValid(datum.{metric}_low) ? datum.{metric}_low : {low})",
                to_=f"min({high}, isValid(datum.{metric}_high) ? datum.{metric}_high : {high})",
            )
        )
        at = {"y": line if main else line.axis(_line_axis(labels=False)), **offset}
        marks = (filled_points(base, 32), hollow_points(base, 38)) if main else (
            base.mark_point(size=32),
        )  # fmt: skip
        rule = base.mark_rule(strokeWidth=1.2).encode(
            x=alt.X("from_:Q", scale=scale, axis=axis), x2="to_", color=look["color"], **at
        )
        panels.append(
            alt.layer(
                rule.encode(strokeDash=dashed()) if main else rule,
                *(
                    points.encode(
                        x=alt.X(f"{metric}:Q", scale=scale, axis=axis),
                        tooltip=[
                            "model:N",
                            alt.Tooltip("label:N", title="language"),
                            alt.Tooltip(f"{metric}_told:N", title=name),
                        ],
                        **look,
                        **at,
                    )
                    for points in marks
                ),
            ).properties(width=width, height=alt.Step(step, **{"for": "position"}))
        )
    chart = alt.hconcat(*panels, spacing=10).add_params(order, is_mixed(rows))
    return finished(
        chart,
        rows,
        data_name=data_name,
        embed=embed,
        title=title,
        description=(
            f"Four panels on {benchmark}: HAT, target accuracy, gap and transfer score by {by}, "
            "all in the order of HAT, so that metrics which disagree with it show as broken order."
        ),
    )


def ordered_models(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return models by their macro HAT, best first; then those without one, by their mean.

    Plug-in scores come after corrected ones.
    """
    macro = {r["model"]: r["hat"] for r in rows if r["macro"] and r["hat"] is not None}
    plugin = {r["model"] for r in rows if r["macro"] and r.get("estimator") == PLUGIN}
    means: dict[str, float] = {}
    for model in distinct(rows, "model"):
        values = [r["hat"] for r in rows if r["model"] == model and r["hat"] is not None]
        means[model] = macro.get(model, sum(values) / len(values) if values else float("-inf"))
    return sorted(
        means, key=lambda model: (model not in macro, model in plugin, -means[model], model)
    )


def _above() -> alt.Axis:
    """Return the axis on top of a tall chart."""
    return alt.Axis(orient="top", title=None, grid=False, tickCount=8)


def _step(models: int) -> float:
    """Return the height of a model's line: the more of them, the closer together."""
    return {1: 16.0, 2: 10.0, 3: 9.0, 4: 8.0}.get(models, max(4.5, 9.0 - models / 3))


def _languages(field: str) -> alt.Y:
    return alt.Y(
        f"{field}:N",
        scale=alt.Scale(domain=alt.ExprRef("languages")),
        axis=_line_axis(),
        title=None,
    )


def _line_axis(**more: Any) -> alt.Axis:
    """Return an axis with a thin line between the bands and the mean in bold."""
    return alt.Axis(
        grid=True, tickBand="extent", ticks=False, labelPadding=6, domain=False,
        labelFontWeight=bold_macro(), labelOverlap=False, **more,
    )  # fmt: skip


def _axis_title(rows: Sequence[Mapping[str, Any]], *, compact: bool) -> str | list[str]:
    accuracies = "" if compact else "; small hollow markers: target accuracy"
    first = f"{hat_name(rows)} with intervals{accuracies}"
    return [first, HOLLOW] if mixed(rows) else first


def _panel_title(rows: Sequence[Mapping[str, Any]]) -> str | list[str]:
    return ["HAT", "(hollow: plug-in)"] if mixed(rows) else hat_name(rows)
