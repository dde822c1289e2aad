from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from hatscore.errors import InputError
from hatscore.stats import hat_score, simulate
from hatscore.stats.regression import coupling, trend


def scores_of(slopes, rng, n_items=200):
    """Scores of models on the same items, so that their errors are correlated."""
    found = []
    for slope in slopes:
        d = simulate(n_items, slopes=float(slope), source=(1, 1), concentration=3, rng=rng)
        found.append(hat_score(d.k_source, 10, d.k_target[:, 0], 10))
    return found


def test_coupling_by_hand():
    got = coupling([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
    r = 6 / math.sqrt(10 * 6)
    assert got.r_squared == pytest.approx(r * r)
    half = 1.959963984540054 / math.sqrt(2)
    assert got.high == pytest.approx(math.tanh(math.atanh(r) + half) ** 2)
    assert got.low == 0.0  # the interval of r holds 0


def test_coupling_leaves_out_models_without_a_value_and_says_when_it_cannot():
    assert coupling([1, 2, math.nan], [1, 2, 3]).reason == "2 models are too few for an R2"
    assert "same value" in coupling([1, 1, 1, 1], [1, 2, 3, 4]).reason
    assert math.isnan(coupling([1, 2, 3], [1, 2, 4]).low)
    with pytest.raises(InputError, match="one number per model"):
        coupling([1, 2], [1, 2, 3])


def test_coupling_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    truth, hits = 0.8**2, 0
    for _ in range(1000):
        x = rng.standard_normal(20)
        y = 0.8 * x + 0.6 * rng.standard_normal(20)
        got = coupling(x, y)
        hits += got.low <= truth <= got.high
    assert 0.93 <= hits / 1000 <= 0.97


def test_trend_is_least_squares_where_weights_are_equal():
    rng = np.random.default_rng(2)
    x = np.arange(6.0)
    scores = scores_of(0.3 + 0.1 * x, rng)
    got = trend(x, scores)
    plain = scipy.stats.linregress(x, [s.value for s in scores])
    assert got.slope == pytest.approx(plain.slope, abs=0.02)
    assert got.low < 0.1 < got.high
    assert got.se_items > 0
    assert float(got.leverage @ [s.value for s in scores]) == pytest.approx(got.slope)
    assert got.n_models == 6


def test_trend_over_models_keeps_its_level_and_its_coverage():
    rng = np.random.default_rng(3)
    x = np.linspace(0, 2, 9)
    hits = false = permuted = 0
    repetitions = 400
    for _ in range(repetitions):
        real = np.clip(0.5 + 0.08 * rng.standard_normal(9), 0, 1)
        flat = trend(x, scores_of(real, rng, n_items=80), n_permutations=300)
        hits += flat.low <= 0 <= flat.high
        false += flat.p < 0.05
        permuted += flat.p_permutation < 0.05
    assert 0.92 <= hits / repetitions <= 0.98
    assert 0.02 <= false / repetitions <= 0.08
    assert 0.02 <= permuted / repetitions <= 0.08


def test_item_error_is_joint_over_shared_items():
    rng = np.random.default_rng(4)
    d = simulate(100, slopes=0.6, source=(1, 1), concentration=2, rng=rng)
    same = hat_score(d.k_source, 10, d.k_target[:, 0], 10)
    # the same score three times: items move all models alike, so the trend cannot move
    assert trend([0.0, 1.0, 2.0], [same] * 3).se_items == pytest.approx(0, abs=1e-15)


def test_too_few_models_or_one_x_say_so():
    rng = np.random.default_rng(5)
    scores = scores_of([0.3, 0.5, 0.7], rng)
    assert "too few" in trend([1, 2], scores[:2]).reason
    assert "same x" in trend([1, 1, 1], scores).reason
    lost = hat_score([0], 10, [0], 10)
    assert trend([1, 2, 3], [*scores[:2], lost]).n_models == 2
    with pytest.raises(InputError, match="one x per score"):
        trend([1], scores)


def test_scores_on_one_line_show_no_scatter_of_models():
    one = hat_score([9, 5, 2, 8], 10, [8, 3, 1, 7], 10)
    got = trend([1.0, 2.0, 3.0, 5.0], [one] * 4)
    assert got.slope == pytest.approx(0, abs=1e-15)
    # no interval from finite data has zero width
    assert all(math.isnan(x) for x in (got.low, got.high, got.p, got.se_models))
    assert "lie on one line" in got.reason


def test_leverage_leaves_out_what_has_no_value():
    rng = np.random.default_rng(6)
    scores = scores_of([0.3, 0.5, 0.7], rng)
    got = trend([1, 2, 3, 4], [scores[0], hat_score([0], 10, [0], 10), *scores[1:]])
    assert got.leverage.shape == (4,)
    assert got.leverage[1] == 0
    assert np.isnan(trend([1, 2], scores[:2]).leverage).all()
