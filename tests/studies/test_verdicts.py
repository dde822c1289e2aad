"""The rule of verdicts: one for all analyses, by q within a kind of claims."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.cli.study_show import _head
from hatscore.outcomes import Outcomes
from hatscore.studies.analyses import analyse
from hatscore.studies.effects import benjamini_hochberg
from hatscore.studies.material import gather
from hatscore.studies.result import between, judged, read_together, with_p_and_q
from hatscore.studies.size import size
from hatscore.studies.time import time


def row(p, value=0.1, **columns):
    return {"value": value, "low": 0.01, "high": 0.2, "p": p, **columns}


def test_claims_of_one_kind_share_their_false_discovery_rate():
    rows = [row(p, value=i) for i, p in enumerate((0.01, 0.04, 0.03))]
    other = row(0.04)
    note = read_together(
        [*((r, "p", "HAT, over models") for r in rows), (other, "p", "HAT, over items")],
        confidence=0.95,
    )
    assert [r["q"] for r in rows] == pytest.approx([0.03, 0.04, 0.04])
    # one claim of its kind is read alone, whatever else is in the table
    assert other["q"] == 0.04
    assert other["kind"] == "HAT, over items"
    assert "HAT, over models: 3 claims, p < 0.05 in 3, q in 3." in note
    assert "over items" not in note


def test_the_same_claim_twice_counts_once():
    rows = [row(0.03, value=0.1), row(0.03, value=0.1), row(0.2, value=0.05)]
    read_together([(r, "p", "k") for r in rows], confidence=0.95)
    assert [r["q"] for r in rows] == pytest.approx([0.06, 0.06, 0.2])
    # the same p of another effect is another claim
    rows[1]["value"] = 0.2
    read_together([(r, "p", "k") for r in rows], confidence=0.95)
    assert rows[0]["q"] == pytest.approx(0.045)


def test_what_has_no_p_has_no_q_and_takes_no_part():
    rows = [row(math.nan), row(None), row(0.02)]
    assert not read_together([(r, "p", "k") for r in rows], confidence=0.95)
    assert math.isnan(rows[0]["q"])
    assert math.isnan(rows[1]["q"])
    assert rows[2]["q"] == 0.02


def test_a_second_p_of_a_row_has_a_q_of_its_own():
    one = row(0.5, p_languages=0.048)
    lines = [row(0.02, value=0.2), row(0.9, value=0.3)]
    claims = [(one, "p", "items"), (one, "p_languages", "languages")]
    read_together([*claims, *((r, "p", "languages") for r in lines)], confidence=0.95)
    assert one["q"] == 0.5
    assert one["q_languages"] == pytest.approx(0.072)
    verdict, said = judged(one, 0.95, p="p_languages")
    assert verdict == "not shown"
    assert said == "; not when the claims of its kind are read together (p = 0.048, q = 0.072)"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"p": 0.02, "q": 0.02}, ("shown", "")),
        ({"p": 0.02, "q": 0.04}, ("shown", " (p = 0.020, q = 0.040)")),
        ({"p": 1e-6, "q": 1e-5}, ("shown", "")),
        ({"p": 1e-6, "q": 0.002}, ("shown", " (p < 0.001, q = 0.002)")),
        ({"p": math.nan, "q": math.nan}, ("shown", "")),
        ({"low": -0.1, "p": 0.3, "q": 0.6}, ("not shown", " (p = 0.300, q = 0.600)")),
        ({"low": math.nan, "p": math.nan, "q": math.nan}, ("cannot tell", "")),
    ],
)
def test_the_word_goes_by_interval_and_q_and_the_sentence_tells_both(columns, expected):
    assert judged(row(0.02) | columns, 0.95) == expected


def test_the_level_is_that_of_the_intervals():
    one = row(0.03) | {"q": 0.03}
    assert judged(one, 0.95)[0] == "shown"
    assert judged(one, 0.99)[0] == "not shown"
    rows = [row(0.03), row(0.005, value=1)]
    assert "q < 0.01" in read_together([(r, "p", "k") for r in rows], confidence=0.99)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_a_verdict_never_gains_by_more_claims(p):
    rows = [row(x, value=i) for i, x in enumerate(p)]
    read_together([(r, "p", "k") for r in rows], confidence=0.95)
    assert [r["q"] for r in rows] == pytest.approx(benjamini_hochberg(p))
    for r in rows:
        assert r["q"] >= r["p"] * (1 - 1e-12)
        assert (judged(r, 0.95)[0] == "shown") == (r["q"] < 1 - 0.95)


def test_p_and_q_alike_are_not_told():
    assert not with_p_and_q(0.0184, 0.0181)
    assert not with_p_and_q(math.nan, 0.1)


@pytest.mark.parametrize(
    ("numbers", "sign", "text"),
    [
        ((-1e-9, -1e-7, 1e-7), True, "0.000 [0.000, 0.000]"),
        ((0.02, -0.01, 0.05), True, "+0.020 [-0.010, +0.050]"),
        ((0.02, -math.inf, math.inf), True, "+0.020 [-inf, +inf]"),
        ((-0.0001, math.nan, math.nan), False, "0.000"),
        ((math.nan, 0.0, 1.0), False, "no value"),
    ],
)
def test_what_rounds_to_zero_has_no_sign(numbers, sign, text):
    assert between(*numbers, sign=sign) == text


# -- in the analyses -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found(material):
    return {a.name: a for a in analyse(material)}


def test_every_p_has_its_q_and_its_kind(found):
    seen = 0
    for a in found.values():
        if "p" not in a.table.columns:
            continue
        known = a.table.filter(pl.col("p").is_not_nan() & pl.col("p").is_not_null())
        assert known["q"].is_not_nan().all(), a.name
        assert (known["q"] >= known["p"] - 1e-12).all(), a.name
        assert known["kind"].null_count() == 0, a.name
        assert any(n.startswith("Claims of a kind") for n in a.notes), a.name
        seen += 1
    assert seen == 6


def test_nothing_is_shown_beside_a_q_that_says_otherwise(found):
    shown = 0
    for a in found.values():
        for finding in a.findings:
            q = re.search(r"q = (0\.\d+)", finding.text)
            if finding.verdict == "shown":
                shown += 1
                assert q is None or float(q[1]) <= 0.05, finding.text
            elif "not when the claims" in finding.text:
                assert finding.verdict == "not shown"
                assert float(q[1]) >= 0.05
    assert shown


def test_kinds_part_units_scores_and_means(found):
    by = {name: set(a.table["kind"].drop_nulls()) for name, a in found.items() if "kind" in a.table}
    assert by["size"] == {
        f"{what}{mean}"
        for what in (
            "HAT, over models",
            "target accuracy, over models",
            "parts of the gain, over items",
        )
        for mean in ("", ", mean over benchmarks")
    }
    assert "HAT, over items, mean over models" in by["script"]
    assert {"HAT, over items", "HAT, over languages"} < by["script"]
    assert "movement of hat, over items, mean over models" in by["validation"]
    assert "output tokens, target / source, over items, mean over languages" in by["thinking"]


def test_total_and_active_parameters_of_dense_models_are_one_claim(only):
    a = size(only(*(f"gemma-3-{n}b-it" for n in (1, 4, 12, 27))))
    lines = a.table.filter((pl.col("score") == "HAT") & (pl.col("benchmark") == "reasoning"))
    assert set(lines["parameters"]) == {"total", "active"}
    assert lines["p"].n_unique() <= 2
    note = next(n for n in a.notes if n.startswith("Claims of a kind"))
    # per benchmark pooled and within families, which is the same in one family
    assert int(re.search(r"HAT, over models: (\d+) claims", note)[1]) <= 4


# -- sentences fit their numbers -----------------------------------------------------------------


def of_counts(registry, models, *, items=80, replies=10, languages=("de", "fr", "ja", "sw")):
    """Return the material of models with (source rate, slope), the same items for all."""
    rng = np.random.default_rng(0)
    base = rng.beta(1, 1, items)
    rows = []
    for model, (rate, slope) in models.items():
        s = np.clip(base * rate, 0, 1)
        for i, p in enumerate(s.tolist()):
            for x in ("en", *languages):
                k = rng.binomial(replies, min(1.0, p if x == "en" else p * slope))
                rows.append((model, "quiz", str(i), x, "en", k, replies))
    columns = ["model", "benchmark", "item", "language", "source_language", "k", "n"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return gather(Outcomes.from_frame(frame), registry)


def test_the_distance_to_one_has_its_side(registry):
    over = {
        "gemma-3-4b-it": (0.3, 1.0),
        "gemma-3-12b-it": (0.5, 1.3),
        "gemma-3-27b-it": (0.6, 1.3),
        "qwen3-4b": (0.5, 1.4),
    }
    m = of_counts(registry, over, items=150)
    text = next(f.text for f in time(m).findings if "the best HAT" in f.text)
    scores = [m.macro(x, "quiz", "HAT") for x in m.models]
    best = max(scores, key=lambda e: e.value)
    assert best.low > 1
    width = (best.value - 1) / (best.high - best.low)
    assert f"{best.value - 1:.3f} above 1 or {width:.1f} times the width" in text
    counts = [sum(e.high < 1 for e in scores), sum(e.low <= 1 <= e.high for e in scores)]
    above = sum(e.low > 1 for e in scores)
    assert above == 4 - sum(counts)
    assert f"{counts[1]} cannot be told from 1, {above} lie above 1" in text
    assert "lie below" not in text or counts[0]


def test_perfect_models_have_no_interval_without_width_and_no_minus_zero(registry):
    perfect = dict.fromkeys(
        ("gemma-3-4b-it", "gemma-3-12b-it", "gemma-3-27b-it", "qwen3-4b"), (1e9, 1.0)
    )
    m = of_counts(registry, perfect, items=10, languages=("de",))
    for a in analyse(m):
        for f in a.findings:
            assert "-0.000" not in f.text
            assert "[0.000, 0.000]" not in f.text, f.text
        if "low" in a.table.columns:
            ends = a.table.select("low", "high").fill_nan(None).drop_nulls()
            assert not (ends["low"] == ends["high"]).any(), a.name
    trend = next(f for f in time(m).findings if "per year" in f.text)
    assert trend.verdict == "cannot tell"
    assert "no scatter of models to see" in trend.text


def test_one_score_on_both_sides_of_a_cut_off_has_no_interval(registry):
    names = ("gemma-3-4b-it", "gemma-3-12b-it", "qwen3-4b", "qwen3-30b-a3b")
    more = ("gemma-3-1b-it", "gemma-3-27b-it", "gpt-oss-20b", "gpt-oss-120b", "gemma-4-31b-it")
    m = of_counts(registry, dict.fromkeys((*names, *more), (1e9, 1.0)), items=10)
    row = time(m).table.filter((pl.col("effect") == "shift") & (pl.col("score") == "HAT"))
    assert row["value"][0] == 0
    assert math.isnan(row["low"][0])
    assert row["reason"][0] == "all models have the same score: no scatter to see"


def test_levels_are_written_as_they_are(material):
    assert _head(replace(material, confidence=0.999)).endswith(" 99.9% intervals")
    assert _head(material).endswith(" 95% intervals")


def test_the_gain_is_told_as_the_sum_of_its_parts(found):
    a = found["size"]
    assert any("all models weighing the same" in f.text for f in a.findings)
    assert any("the line over models weights them by their noise" in n for n in a.notes)


def test_the_spread_of_languages_is_called_what_it_is(found):
    text = found["variance"].findings[0].text
    assert "differ between languages with a standard deviation of" in text
    verdicts = {f.verdict for f in found["variance"].findings}
    # no p, no claim
    assert verdicts <= {"described", "cannot tell"}


def test_analyses_warn_of_nothing(only):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analyse(only("gemma-3-4b-it", "gemma-3-12b-it", "qwen3-4b"))
