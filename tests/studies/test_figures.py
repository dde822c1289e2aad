"""Figures of analyses show what their tables hold, with axes and colours that mean something."""

from __future__ import annotations

import math

import polars as pl
import pytest

from hatscore.outcomes import Outcomes
from hatscore.report.charts_study import study_chart
from hatscore.report.charts_theme import COLOURS
from hatscore.studies.material import gather
from hatscore.studies.size import size
from hatscore.studies.time import time
from hatscore.studies.validation import validation
from hatscore.studies.variance import variance


def layers(chart):
    """Return the layers of the first panel, as Vega-Lite reads them."""
    return chart.to_dict()["concat"][0]["layer"]


def test_the_spread_of_languages_has_its_interval_and_the_axis_begins_at_nothing(material):
    a = variance(material)
    points = a.figure.points.filter(pl.col("series") == "languages").sort("panel", "label")
    table = a.table.sort("benchmark", "model")
    assert points["low"].to_list() == table["languages_low"].to_list()
    assert points["high"].to_list() == table["languages_high"].to_list()
    assert points["high"].is_finite().all()
    others = a.figure.points.filter(pl.col("series") != "languages")
    assert others["low"].is_nan().all()
    found = layers(study_chart(a.figure))
    assert {x["encoding"]["x"]["scale"]["domain"][0] for x in found} == {0}
    top = {x["encoding"]["x"]["scale"]["domain"][1] for x in found}
    assert min(top) >= points["y"].max()


@pytest.mark.parametrize("analysis", [size, time])
def test_a_line_through_all_families_has_the_colour_of_none(material, analysis):
    first, *rest = layers(study_chart(analysis(material).figure))
    # under the points
    assert first["mark"]["type"] == "line"
    assert first["mark"]["color"] == {"expr": "ink"}
    assert "color" not in first["encoding"]
    assert not any(c in str(first) for c in COLOURS)
    assert [x["mark"]["type"] for x in rest] == ["rule", "point"]


def test_a_negative_effect_keeps_its_side_of_the_axis(material):
    a = validation(material)
    assert a.figure.least is None
    low = layers(study_chart(a.figure))[0]["encoding"]["x"]["scale"]["domain"][0]
    assert low <= a.figure.points["y"].min()


def test_benchmarks_with_a_model_each_are_all_drawn(study, registry):
    frame = study.outcomes.frame
    one = frame.filter((pl.col("benchmark") == "reasoning") & (pl.col("model") == "gemma-3-4b-it"))
    other = frame.filter((pl.col("benchmark") == "closed-book") & (pl.col("model") == "qwen3-4b"))
    a = validation(gather(Outcomes.from_frame(pl.concat([one, other])), registry))
    assert a.figure.points["panel"].unique(maintain_order=True).to_list() == [
        "reasoning (hard to easy)",
        "closed-book (hard to easy)",
    ]
    assert a.figure.points.height == 16
    assert [f.text.partition(":")[0] for f in a.findings] == [
        "reasoning, hard to easy, gemma-3-4b-it",
        "closed-book, hard to easy, qwen3-4b",
    ]


def test_a_benchmark_with_one_model_stands_beside_one_with_several(study, registry):
    frame = study.outcomes.frame
    several = frame.filter(
        (pl.col("benchmark") == "reasoning") & pl.col("model").is_in(["gemma-3-4b-it", "qwen3-4b"])
    )
    one = frame.filter((pl.col("benchmark") == "closed-book") & (pl.col("model") == "qwen3-4b"))
    a = validation(gather(Outcomes.from_frame(pl.concat([several, one])), registry))
    assert a.figure.points.height == 16
    assert "mean over models (2)" in a.findings[0].text
    assert "qwen3-4b: HAT moves" in a.findings[1].text


def test_a_mean_over_models_takes_those_that_have_a_movement(study, registry):
    names = ["gemma-3-4b-it", "qwen3-4b"]
    frame = study.outcomes.frame.filter(
        (pl.col("benchmark") == "reasoning") & pl.col("model").is_in(names)
    )
    # of one model three items alone are solved: its HAT rests on too few to move
    few = pl.col("item").is_in(["0", "1", "2", "3", "4", "5", "6"])
    mine = (pl.col("model") == "qwen3-4b") & ~few
    frame = frame.with_columns(k=pl.when(mine).then(0.0).otherwise(pl.col("k")))
    a = validation(gather(Outcomes.from_frame(frame), registry))
    rows = a.table.filter((pl.col("metric") == "hat") & (pl.col("model") == "mean over models"))
    assert rows["n_models"].to_list() == [1]
    assert math.isfinite(rows["value"][0])
    assert a.findings[0].verdict in ("shown", "not shown")
