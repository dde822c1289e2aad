"""What is true of a drawn study, held against draws, and that every analysis is held against it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hatscore.studies.analyses import analyse
from hatscore.studies.covariates import family_of, script_of
from hatscore.studies.material import gather
from hatscore.studies.recovery import recovery
from hatscore.studies.simulated import NOTHING, PAPER, Layout, simulate_study
from hatscore.studies.truth import Truth, gap_variances, shift_between


@pytest.fixture(scope="module")
def table(study, material):
    return recovery(study, material, analyse(material))


@pytest.fixture(scope="module")
def truth(study, material):
    return Truth(study, material)


def test_every_analysis_and_every_unit_has_its_truth(table):
    found = set(table.select("effect", "over").iter_rows())
    lines = {
        (f"size: {score} per tenfold{kind}, {how}", over)
        for score in ("HAT", "target accuracy")
        for kind in ("", " active")
        for how in ("pooled", "within families")
        for over in ("models", "items")
    }
    traits = ("other script - same", "other family - same", "log10 speakers", "log10 articles")
    assert lines <= found
    assert {
        (f"time: {s} per year", o) for s in ("HAT", "target accuracy") for o in ("models", "items")
    } <= found
    assert ("time: shift of HAT at the cut-off", "models") in found
    # six languages are too few for a joint line
    assert {(f"script: {t}, line", o) for t in traits for o in ("languages", "items")} <= found
    for trait in ("script", "family"):
        assert (f"script: other {trait} - same, one model", "items") in found
        assert (f"script: dealt anew, {trait}", "languages") in found
    for score in ("HAT", "target accuracy"):
        assert (f"thinking: paired difference in {score}", "items") in found
    for tokens in ("output tokens", "reasoning tokens"):
        assert (f"thinking: {tokens}, one language", "items") in found
    assert ("variance: gap, mean over languages", "items") in found
    assert {("variance: sd from replies", "items"), ("variance: sd from items", "items")} <= found
    assert ("validation: movement of gap, mean", "items") in found


def test_what_has_no_interval_is_neither_covered_nor_not(table):
    without = table.filter(pl.col("low").is_nan())
    assert without.height
    assert without["covered"].null_count() == without.height
    assert table.filter(pl.col("low").is_not_nan())["covered"].null_count() == 0
    assert set(without["effect"]) == {
        "script: dealt anew, script",
        "script: dealt anew, family",
        "variance: sd from replies",
        "variance: sd from items",
    }


def test_languages_are_held_jointly_where_there_are_enough(registry):
    study = simulate_study(
        registry, layout=Layout(("reasoning",), "", n_items=30), rng=np.random.default_rng(1)
    )
    material = gather(study.outcomes, registry)
    found = recovery(study, material, analyse(material, ["script"]))
    joint = found.filter(
        pl.col("effect").str.ends_with("jointly") & (pl.col("over") == "languages")
    )
    truths = dict(joint.select("effect", "truth").iter_rows())
    # other things equal, script alone counts
    assert truths.pop("script: other script - same, jointly") == pytest.approx(PAPER.script)
    assert len(truths) == 3
    assert max(map(abs, truths.values())) < 1e-12


def test_models_without_a_part_of_their_own_are_what_they_are_on_average(truth, table):
    # the study of the fixture draws models without spread in HAT
    for b in (*truth.benchmarks, "all"):
        assert truth.expected(b, "HAT") == pytest.approx(truth.scores(b, "HAT"), abs=1e-12)
    both = table.filter(pl.col("effect").str.starts_with("size: HAT"))
    by = both.pivot(on="over", index=["effect", "of"], values="truth", aggregate_function="first")
    assert by["models"].to_list() == pytest.approx(by["items"].to_list())


def test_one_effect_alone_is_the_slope_itself(registry):
    layout = Layout(("reasoning",), "", ("de", "ja", "sw", "th"), n_items=30)
    for name, effect in (("total", {"size": 0.05}), ("active", {"active": 0.05})):
        study = simulate_study(
            registry,
            effects=replace(NOTHING, **effect),
            layout=layout,
            rng=np.random.default_rng(2),
        )
        material = gather(study.outcomes, registry)
        found = recovery(study, material, analyse(material, ["size", "time"]))
        extra = " active" if name == "active" else ""
        mine = found.filter(
            pl.col("effect").str.starts_with(f"size: HAT per tenfold{extra},")
            & (pl.col("over") == "models")
        )
        assert mine["truth"].to_list() == pytest.approx([0.05] * 2)


def test_traits_differ_by_what_was_drawn(registry):
    effects = replace(PAPER, language_sd=0.0)
    layout = Layout(("reasoning",), "closed-book", n_items=20)
    study = simulate_study(registry, effects=effects, layout=layout, rng=np.random.default_rng(3))
    t = Truth(study, gather(study.outcomes, registry))
    for b in t.benchmarks:
        assert t.trait_gaps(b, script_of) == pytest.approx(np.full(20, effects.script))
        # families share scripts: a line over one sees the other
        assert (t.trait_gaps(b, family_of) < -0.005).all()
    of_these, of_others = t.language_lines("reasoning")["over languages", "other script"]
    assert of_these == pytest.approx(effects.script)
    assert of_others == pytest.approx(effects.script)
    # one trait of two values, no other spread
    other = [float(script_of(x) != "Latn") for x in layout.languages]
    expected = t.study.source * abs(effects.script) * np.std(other, ddof=1)
    assert t.language_sd("reasoning") == pytest.approx(expected)


def test_average_sources_are_those_of_many_models(registry):
    layout = Layout(("reasoning",), "", ("de",), n_items=1)
    drawn = [
        simulate_study(registry, layout=layout, rng=np.random.default_rng([4, i]))
        for i in range(400)
    ]
    mean = np.mean([s.source for s in drawn], axis=0)
    spread = np.std([s.source for s in drawn], axis=0) / 20
    assert (np.abs(mean - drawn[0].expected_source) < 4 * spread).all()
    level = np.mean([s.level for s in drawn], axis=0)
    assert level == pytest.approx(drawn[0].expected_level, abs=4 * PAPER.model_sd / 20)


def test_parts_of_a_gap_are_those_of_draws(registry):
    layout = Layout(("reasoning",), "", ("de",), n_items=60_000, n_replies=5)
    study = simulate_study(registry, layout=layout, rng=np.random.default_rng(5))
    block = study.blocks()[3]
    gap = block.k_source / 5 - block.k_target[:, 0] / 5
    replies, items = gap_variances(study.ability[3:4], study.slopes["reasoning"][3, :, 0], 5)
    assert gap.var() == pytest.approx(replies + items, rel=0.02)
    s, t = block.k_source / 5, block.k_target[:, 0] / 5
    assert ((s * (1 - s) + t * (1 - t)) / 4).mean() == pytest.approx(replies, rel=0.02)


def test_a_shift_is_the_median_of_all_differences():
    assert shift_between([0.0, 0.0], [0.3, 0.3], 0.1) == pytest.approx(0.3)
    assert shift_between([0.0, 0.1], [0.2, 0.5, 0.9], 0.0) == pytest.approx(
        np.median([0.2, 0.1, 0.5, 0.4, 0.9, 0.8])
    )
    rng = np.random.default_rng(6)
    before, after = np.array([0.0, 0.05]), np.array([0.02, 0.1, 0.4])
    x = rng.normal(before, 0.05, (40_000, 2))
    y = rng.normal(after, 0.05, (40_000, 3))
    gaps = y[:, None, :] - x[:, :, None]
    assert shift_between(before, after, 0.05) == pytest.approx(float(np.median(gaps)), abs=2e-3)


def test_truths_are_numbers(table):
    assert table["truth"].is_finite().all()
    assert not any(math.isnan(x) for x in table["value"])
