"""Every analysis finds the truth of a drawn study, and says when the data cannot tell."""

import datetime as dt
import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from hatscore.benchmarks import get_benchmark, list_benchmarks
from hatscore.errors import InputError, UnknownNameError
from hatscore.models import Registry
from hatscore.outcomes import Outcomes
from hatscore.report.charts import study_chart
from hatscore.report.drawing import save_chart
from hatscore.studies.analyses import ANALYSES, analyse
from hatscore.studies.coupling import coupled, coupling
from hatscore.studies.covariates import articles, family_of, script_of, speakers
from hatscore.studies.family import family
from hatscore.studies.material import gather
from hatscore.studies.recovery import COLUMNS, metrics_against_truth, recovery
from hatscore.studies.script import pair_scores, script, trait_difference
from hatscore.studies.size import PARTS, decompose, size
from hatscore.studies.thinking import thinking, token_ratio
from hatscore.studies.time import shift, time
from hatscore.studies.validation import strata, validation
from hatscore.studies.variance import reply_variance, variance


@pytest.fixture(scope="module")
def found(material):
    return {a.name: a for a in analyse(material)}


def test_every_question_is_answered(found):
    assert list(found) == list(ANALYSES)
    for a in found.values():
        assert a.findings
        assert all(f.text.endswith(".") for f in a.findings)


def test_recovery_holds_nearly_all_truths(study, material, found):
    table = recovery(study, material, list(found.values()))
    assert table.columns == list(COLUMNS)
    known = table.filter(pl.col("low").is_not_nan() & (pl.col("over") == "items"))
    assert known.height > 500
    assert known["covered"].mean() > 0.9


def test_the_gap_does_not_order_the_models_by_their_hat(study, material):
    ranks = dict(metrics_against_truth(study, material).iter_rows())
    assert ranks["hat"] > 0.9 > abs(ranks["gap"])


def test_target_accuracy_grows_more_than_transfer_does(found, study):
    parts = found["size"].table.filter(pl.col("score") == "part: target")
    assert (parts["low"] > 2 * study.effects.size).all()


def test_unknown_analyses_are_refused_with_the_nearest(material):
    with pytest.raises(UnknownNameError, match="did you mean thinking"):
        analyse(material, ["thinkin"])


# -- size ----------------------------------------------------------------------------------------


def test_size_is_seen_within_families(found, study):
    row = (
        found["size"]
        .table.filter(
            (pl.col("benchmark") == "all")
            & (pl.col("parameters") == "total")
            & (pl.col("lines") == "within families")
            & (pl.col("score") == "HAT")
        )
        .row(0, named=True)
    )
    assert row["items_low"] < study.effects.size < row["items_high"]


def test_parts_of_the_gain_add_up_exactly(found):
    parts = found["size"].table.filter(pl.col("score").str.starts_with("part: "))
    for _, part in parts.group_by("benchmark"):
        by = dict(part.select("score", "value").iter_rows())
        total = by.pop("part: target")
        assert math.fsum(by.values()) == pytest.approx(total, abs=1e-12)


def test_parts_of_a_difference_have_no_joint_part(material):
    models = ("gemma-3-4b-it", "gemma-3-27b-it")
    columns = [
        [material.macro(m, "reasoning", name) for m in models]
        for name in ("source_accuracy", "target_accuracy", "HAT")
    ]
    parts = decompose((-1.0, 1.0), *columns, confidence=0.95)
    assert set(parts) == set(PARTS)
    assert parts["both"].value == pytest.approx(0.0, abs=1e-15)
    source, _, hat = ([e.value for e in c] for c in columns)
    assert parts["source"].value == pytest.approx(sum(hat) / 2 * (source[1] - source[0]))
    # the influence of the parts adds up to that of the whole as well
    joint = sum(parts[p].influence for p in PARTS if p != "target")
    assert joint == pytest.approx(parts["target"].influence, abs=1e-12)


def test_size_needs_models_of_different_sizes(only):
    two = size(only("gemma-3-4b-it", "qwen3-4b"))
    assert two.findings[0].verdict == "cannot tell"
    assert "2 of 2 models have a known size and a HAT; a trend" in two.findings[0].text
    closed = size(only("claude-opus-4-7", "gemini-3-flash", "gemini-3-flash-low"))
    assert (
        "0 of 3 models have a known size and a HAT (1 more are further settings"
        in closed.findings[0].text
    )
    assert any("size not published" in n for n in closed.notes)


def test_models_of_one_size_have_no_trend(study, registry):
    same = Registry({k: replace(m, parameters_total=7.0) for k, m in registry.models.items()})
    a = size(gather(study.outcomes, same))
    assert "all 17 models have 7 billion parameters" in a.findings[0].text


def test_a_model_missing_from_the_registry_is_named(only):
    a = size(only("gemma-3-4b-it", "gemma-3-1b-it", rename={"gemma-3-1b-it": "mystery-1b"}))
    assert any(n.startswith("not in the registry, so without a size: mystery-1b") for n in a.notes)


# -- time ----------------------------------------------------------------------------------------


def brute_shift(before, after):
    """Interval by inverting the rank-sum test over all dealings of ranks."""
    m, n = len(before), len(after)
    ways = [
        sum(b < a for b in first for a in set(range(m + n)) - set(first))
        for first in combinations(range(m + n), m)
    ]
    c = 0
    while sum(w <= c for w in ways) / len(ways) <= 0.025:
        c += 1
    gaps = sorted(a - b for a in after for b in before)
    return (gaps[c - 1], gaps[-c]) if c else (-math.inf, math.inf)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 1000))
def test_shift_agrees_with_all_dealings_and_with_scipy(m, n, seed):
    rng = np.random.default_rng(seed)
    before, after = rng.normal(size=m).tolist(), rng.normal(0.5, 1, size=n).tolist()
    value, low, high, p = shift(before, after, confidence=0.95)
    assert (low, high) == pytest.approx(brute_shift(before, after))
    assert p == pytest.approx(mannwhitneyu(after, before, method="exact").pvalue)
    assert low <= value <= high


def test_shift_without_one_side_or_with_a_wrong_level():
    assert all(math.isnan(x) for x in shift([], [1.0], confidence=0.95))
    with pytest.raises(InputError, match="between 0 and 1"):
        shift([1.0], [2.0], confidence=1.5)


def test_settings_of_a_model_are_not_further_models(found):
    row = found["time"].table.row(0, named=True)
    assert row["n"] == 17


def test_the_cut_off_can_be_chosen(material):
    a = time(material, cutoff=dt.date(2026, 1, 1))
    row = a.table.filter(pl.col("effect") == "shift").row(0, named=True)
    assert (row["n_before"], row["n_after"]) == (11, 6)
    assert "2026-01-01" in " ".join(f.text for f in a.findings)


def test_saturation_is_a_distance_in_widths(found, material):
    text = next(f.text for f in found["time"].findings if f.text.startswith("reasoning: the best"))
    best = max(
        (material.macro(m, "reasoning", "HAT") for m in material.models), key=lambda e: e.value
    )
    assert f"{(1 - best.value) / (best.high - best.low):.1f} times the width" in text


def test_time_needs_dates(only, study):
    one = time(only("gemma-3-4b-it"))
    assert "1 of 1 model have a known release date and a HAT; a trend" in one.findings[0].text
    names = {m: f"mystery {i}" for i, m in enumerate(study.names)}
    nameless = time(only(*study.names, rename=names))
    assert nameless.findings[0].verdict == "cannot tell"
    assert "no release date known: mystery 0" in nameless.notes[0]
    same_day = time(only("gemma-3-1b-it", "gemma-3-4b-it", "gemma-3-12b-it"))
    assert "all 3 models were released on 2025-03-12" in same_day.findings[0].text


# -- family and thinking -------------------------------------------------------------------------


def test_families_are_compared_at_comparable_size_alone(found, material):
    table = found["family"].table
    assert table["size_ratio"].max() <= 1.5
    for row in table.iter_rows(named=True):
        a, b = (material.facts[row[x]] for x in ("first", "second"))
        assert a.family != b.family
        assert row["value"] == pytest.approx(
            material.score(row["first"], row["benchmark"], "HAT").value
            - material.score(row["second"], row["benchmark"], "HAT").value
        )


def test_one_family_has_nobody_to_compare_with(only):
    a = family(only("gemma-3-1b-it", "gemma-3-4b-it"))
    assert a.findings[0].verdict == "cannot tell"
    assert "(1 known)" in a.findings[0].text


def test_settings_are_compared_with_their_model(found):
    pairs = set(found["thinking"].table.drop_nulls("other").select("other", "model").iter_rows())
    assert pairs == {
        ("gemini-2.5-flash-off", "gemini-2.5-flash"),
        ("gemini-3-flash-low", "gemini-3-flash"),
        ("gemini-3-flash-minimal", "gemini-3-flash"),
    }


def test_an_id_that_settings_share_is_no_setting(only):
    names = {"gemini-2.5-flash": "google/gemini-2.5-flash"}
    a = thinking(only("gemini-2.5-flash", "gemini-2.5-flash-off", rename=names))
    assert "No two models are settings of one" in a.findings[0].text


def test_models_without_a_hat_take_no_part_in_size(study, registry):
    models = ["gemma-3-1b-it", "gemma-3-4b-it", "gemma-3-12b-it", "gemma-3-27b-it"]
    never = pl.when(pl.col("model") == "gemma-3-1b-it").then(0.0).otherwise(pl.col("k"))
    frame = study.outcomes.frame.filter(pl.col("model").is_in(models)).with_columns(k=never)
    m = gather(Outcomes.from_frame(frame), registry)
    assert set(size(m).table["n"]) == {3}
    assert m.notes[0].startswith("reasoning: left out of all that is about HAT, for want of it")
    assert "gemma-3-1b-it (no source item was ever solved" in m.notes[0]


def test_token_ratios_by_hand(only):
    m = only("gemma-3-4b-it")
    ratios = token_ratio(m, "gemma-3-4b-it", "reasoning", "output_tokens")
    f = m.outcomes.frame.filter(pl.col("benchmark") == "reasoning")
    total = f.group_by("language").agg(pl.col("output_tokens").sum()).rows()
    tokens = dict(total)
    assert ratios["th"].value == pytest.approx(tokens["th"] / tokens["en"])
    assert ratios["th"].low < 1.12 < ratios["th"].high
    assert token_ratio(m, "gemma-3-4b-it", "reasoning", "reasoning_tokens") == {}


def test_thinking_without_settings_and_tokens_cannot_tell(study, registry):
    frame = study.outcomes.frame.filter(pl.col("model") == "gemma-3-4b-it")
    frame = frame.with_columns(pl.lit(None).alias(c) for c in ("output_tokens", "reasoning_tokens"))
    a = thinking(gather(Outcomes.from_frame(frame), registry))
    assert [f.verdict for f in a.findings] == ["cannot tell"]


# -- script --------------------------------------------------------------------------------------


def test_covariates_of_languages():
    assert (script_of("de"), script_of("zh"), script_of("xx")) == ("Latn", "Hans", "")
    assert (family_of("sw"), family_of("zh-Hant"), family_of("xx")) == (
        "Atlantic-Congo",
        "Sino-Tibetan",
        "",
    )
    assert speakers("zh") > speakers("de") > articles("de") > articles("sw") > 0
    assert math.isnan(speakers("xx"))
    assert math.isnan(articles("xx"))


def test_every_language_of_the_benchmarks_has_its_facts():
    for name in list_benchmarks():
        for tag in get_benchmark(name).languages:
            assert family_of(tag), f"{name}: {tag}"
            assert script_of(tag), f"{name}: {tag}"


def test_script_effect_is_seen_over_items(found, study):
    rows = found["script"].table.filter(
        (pl.col("trait") == "script")
        & (pl.col("effect") == "other - same")
        & (pl.col("model") == "mean over models")
    )
    assert set(rows["benchmark"]) == {"reasoning", "closed-book"}
    for row in rows.iter_rows(named=True):
        assert row["low"] < study.effects.script < row["high"]


def test_pairs_are_used_where_the_source_differs_by_item(study):
    block = next(b for b in study.outcomes.aligned() if b.benchmark == "closed-book")
    pairs = pair_scores(block, estimator="hat")
    assert len(pairs) == 6 * 5
    assert ("de", "de") not in pairs
    other, same = trait_difference(block, script_of, estimator="hat", confidence=0.95)
    # German, Spanish and Swahili are written alike; Chinese and Japanese are not
    latin = {"de", "es", "sw"}
    cells = {p for p in pairs if set(p) <= latin}
    assert same.n_items == 15 * len(cells)
    assert other.n_items == 15 * (len(pairs) - len(cells))


def test_alike_targets_cannot_tell_scripts_apart(only):
    keep = pl.col("language").is_in(["en", "de"]) & (pl.col("benchmark") == "reasoning")
    a = script(only("gemma-3-4b-it", keep=keep))
    assert a.findings[0].verdict == "cannot tell"


# -- coupling, validation, variance --------------------------------------------------------------


def test_coupling_needs_four_models(only):
    a = coupling(only("gemma-3-4b-it", "gemma-3-1b-it", "qwen3-4b"))
    assert "3 models: too few" in a.findings[0].text


def test_coupling_takes_the_noise_of_items_out(found):
    table = found["coupling"].table.filter(pl.col("score") == "target accuracy")
    assert (table["r_squared"] >= table["observed"]).all()
    assert (table["r_squared"] <= 1).all()
    assert (table["low"] <= table["r_squared"]).all()
    assert (table["r_squared"] <= table["high"]).all()


def test_models_alike_have_no_coupling(material):
    e = material.macro("gemma-3-4b-it", "reasoning", "source_accuracy")
    c = coupled([e] * 5, [e] * 5, confidence=0.95)
    assert math.isnan(c.items.value)
    assert "same value" in c.items.reason


def test_hat_stays_where_items_get_easier(found):
    rows = found["validation"].table.filter(pl.col("model") == "mean over models")
    by = {(r["benchmark"], r["metric"]): r for r in rows.iter_rows(named=True)}
    for benchmark in ("reasoning", "closed-book"):
        assert by[benchmark, "hat"]["low"] < 0 < by[benchmark, "hat"]["high"]
        for metric in ("hat_plugin", "target_accuracy", "gap", "transfer_score"):
            assert by[benchmark, metric]["low"] > 0


def test_strata_are_split_by_other_replies_than_they_are_scored_with(study):
    block = next(iter(study.outcomes.aligned()))
    hard, easy = strata(block, confidence=0.95, rng=np.random.default_rng(0))
    assert hard["hat"].n_items + easy["hat"].n_items <= len(block.items)
    # ten replies, five to split by and five to score with: no rate but fifths
    k = hard["source_accuracy"].value * hard["source_accuracy"].n_items * 5
    assert k == pytest.approx(round(k))


def test_validation_needs_replies_to_split_by(study, registry):
    frame = study.outcomes.frame.filter(pl.col("model") == "gemma-3-4b-it")
    frame = frame.with_columns(n=pl.lit(3), k=pl.min_horizontal(pl.col("k"), 3))
    a = validation(gather(Outcomes.from_frame(frame), registry))
    assert a.findings[0].verdict == "cannot tell"
    assert "at least 4 source replies" in a.findings[0].text


def test_a_dial_is_read_from_the_names_of_benchmarks(study, registry):
    frame = study.outcomes.frame.filter(
        (pl.col("model") == "gemma-3-4b-it") & (pl.col("benchmark") == "reasoning")
    )
    dial = pl.concat(
        frame.with_columns(benchmark=pl.lit(f"wordmath(difficulty={d},kind=sum)"))
        for d in (1, 10, 2)
    )
    table = validation(gather(Outcomes.from_frame(dial), registry)).table
    rows = table.filter(pl.col("along") == "difficulty 10 to 1")
    assert rows.height == 8
    assert set(rows["benchmark"]) == {"wordmath"}
    # the same outcomes at both ends: nothing moves
    assert rows["value"].abs().max() < 1e-12


def test_noise_of_replies_by_hand(study):
    block = next(iter(study.outcomes.aligned()))
    s, t = block.k_source / 10, block.k_target[:, 0] / 10
    expected = ((s * (1 - s) + t * (1 - t)) / 9).sum() / len(s) ** 2
    assert reply_variance(block)[block.languages[0]] == pytest.approx(expected)


def test_single_replies_hide_their_noise(study, registry):
    frame = study.outcomes.frame.filter(pl.col("model") == "gemma-3-4b-it")
    frame = frame.with_columns(n=pl.lit(1), k=(pl.col("k") > 5).cast(pl.Float64))
    material = gather(Outcomes.from_frame(frame), registry)
    assert material.hat == "hat_plugin"
    assert "HAT is the plug-in here" in material.notes[-1]
    a = variance(material)
    assert a.findings[0].verdict == "cannot tell"


# -- what is compared, and figures ---------------------------------------------------------------


def test_only_common_languages_are_compared(study, registry):
    frame = study.outcomes.frame.filter(
        (pl.col("benchmark") == "reasoning")
        & ~((pl.col("model") == "gemma-3-4b-it") & (pl.col("language") == "th"))
    )
    m = gather(Outcomes.from_frame(frame), registry)
    assert "th" not in m.languages("reasoning")
    assert m.notes == (
        "reasoning: only the 5 languages that all models have are compared; left out: th",
    )


def test_models_without_a_common_language_are_refused(study, registry):
    frame = study.outcomes.frame.filter(
        (pl.col("benchmark") == "reasoning")
        & (
            (pl.col("language") == "en")
            | ((pl.col("model") == "gemma-3-4b-it") & (pl.col("language") == "th"))
            | ((pl.col("model") == "qwen3-4b") & (pl.col("language") == "de"))
        )
    ).filter(pl.col("model").is_in(["gemma-3-4b-it", "qwen3-4b"]))
    with pytest.raises(InputError, match="no language of reasoning in common"):
        gather(Outcomes.from_frame(frame), registry)


def test_every_figure_shows_every_point(found, tmp_path):
    for a in found.values():
        assert a.figure is not None
        (picture,) = save_chart(study_chart(a.figure), tmp_path / a.name, ("svg",))
        points = picture.read_text(encoding="utf-8").count('aria-roledescription="point"')
        assert points == a.figure.points["y"].is_finite().sum()
