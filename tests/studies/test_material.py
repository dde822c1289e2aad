"""Which models are compared, by which slope, and that none counts twice."""

from __future__ import annotations

import polars as pl
import pytest

from hatscore.outcomes import Outcomes
from hatscore.studies.family import family
from hatscore.studies.material import gather
from hatscore.studies.size import size
from hatscore.studies.thinking import thinking
from hatscore.studies.time import time

GEMMA = [f"gemma-3-{n}b-it" for n in (1, 4, 12, 27)]


@pytest.fixture(scope="module")
def frame(study):
    return study.outcomes.frame.filter(pl.col("benchmark") == "reasoning")


@pytest.fixture(scope="module")
def of(frame, registry):
    """Return the material of some models, with columns of one of them replaced."""

    def choose(models, *, changed="", **columns):
        part = frame.filter(pl.col("model").is_in(models))
        mine = part.filter(pl.col("model") == changed).with_columns(**columns)
        rest = part.filter(pl.col("model") != changed)
        return gather(Outcomes.from_frame(pl.concat([rest, mine])), registry)

    return choose


def test_a_model_that_solves_nothing_leaves_the_others_their_slope(of):
    m = of(GEMMA, changed=GEMMA[0], k=pl.lit(0.0))
    assert m.hat == "hat"
    assert m.with_hat("reasoning") == tuple(GEMMA[1:])
    (note,) = m.notes
    assert note.startswith("reasoning: left out of all that is about HAT")
    assert "gemma-3-1b-it (no source item was ever solved" in note
    assert "plug-in" not in note
    # the others have what they have without it
    alone = of(GEMMA[1:])
    for name in ("size", "time", "family"):
        analysis = {"size": size, "time": time, "family": family}[name]
        assert analysis(m).findings == analysis(alone).findings, name


def test_a_source_solved_once_an_item_has_a_plug_in_and_no_corrected_slope(of):
    # ten replies: the corrected slope could be, had more been right
    once = pl.min_horizontal(pl.col("k"), 1.0)
    m = of(GEMMA, changed=GEMMA[0], k=once)
    assert m.scores[GEMMA[0], "reasoning", "macro"]["hat_plugin"].value > 0
    assert m.hat == "hat"
    assert GEMMA[0] not in m.with_hat("reasoning")


def test_single_replies_and_partial_credit_make_it_the_plug_in_for_all(of):
    single = of(
        GEMMA, changed=GEMMA[0], n=pl.lit(1, dtype=pl.Int64), k=(pl.col("k") > 5).cast(pl.Float64)
    )
    partial = of(GEMMA, changed=GEMMA[0], k=pl.col("k") * 0.55)
    for m in (single, partial):
        assert m.hat == "hat_plugin"
        assert "HAT is the plug-in here, for all of them" in m.notes[-1]


def test_two_names_of_one_model_are_one_point(frame, registry):
    again = {m: f"google/{m}" for m in GEMMA}
    mine = frame.filter(pl.col("model").is_in([*GEMMA, "qwen3-4b"]))
    doubled = pl.concat(
        [
            mine,
            mine.filter(pl.col("model").is_in(GEMMA)).with_columns(pl.col("model").replace(again)),
        ]
    )
    once, twice = (gather(Outcomes.from_frame(f), registry) for f in (mine, doubled))
    assert len(twice.models) == 9
    for analysis in (size, time, family):
        a, b = analysis(once), analysis(twice)
        assert a.table.equals(b.table), a.name
        assert a.findings == b.findings
        assert b.figure.points.height == a.figure.points.height
    assert (
        "gemma-3-4b-it, google/gemma-3-4b-it are one model in the registry: size, time, family "
        "and thinking take the first that has what they ask for"
    ) in twice.notes


def test_the_name_that_has_a_benchmark_stands_for_the_model(study, registry):
    other = study.outcomes.frame.filter(pl.col("model").is_in(GEMMA))
    # the second benchmark is known under another name alone
    named = other.with_columns(
        model=pl.when(pl.col("benchmark") == "closed-book")
        .then(pl.col("model").replace({m: f"google/{m}" for m in GEMMA}))
        .otherwise(pl.col("model"))
    )
    m = gather(Outcomes.from_frame(named), registry)
    assert m.points("closed-book") == [f"google/{x}" for x in GEMMA]
    table = size(m).table
    assert set(table.filter(pl.col("benchmark") == "closed-book")["n"]) == {4}


def test_two_names_of_a_setting_are_compared_once(frame, registry):
    names = ["gemini-3-flash", "gemini-3-flash-low"]
    mine = frame.filter(pl.col("model").is_in(names))
    doubled = pl.concat([mine, mine.with_columns(model=pl.lit("paper/") + pl.col("model"))])
    a, b = (thinking(gather(Outcomes.from_frame(f), registry)) for f in (mine, doubled))
    pairs = b.table.drop_nulls("other").select("model", "other").unique()
    assert pairs.rows() == [tuple(names)]
    assert a.table.drop_nulls("other")["value"].to_list() == pytest.approx(
        b.table.drop_nulls("other")["value"].to_list()
    )


def test_settings_are_not_counted_among_the_undated(only):
    names = ("gemini-2.5-flash", "gemini-2.5-flash-off", "gemini-3-flash-low")
    text = time(only(*names)).findings[0].text
    assert text.startswith("1 of 3 models have a known release date and a HAT (2 more are further")


def test_known_sizes_on_different_benchmarks_are_not_called_unknown(study, registry):
    frame = study.outcomes.frame
    parts = [
        frame.filter((pl.col("benchmark") == b) & pl.col("model").is_in(models))
        for b, models in (("reasoning", GEMMA[:2]), ("closed-book", GEMMA[2:]))
    ]
    text = size(gather(Outcomes.from_frame(pl.concat(parts)), registry)).findings[0].text
    assert (
        text == "no benchmark has more than 2 of 4 models of known size: a trend needs at least 3"
    )
