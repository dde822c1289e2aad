from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.errors import InputError
from hatscore.stats import (
    CLASSICAL,
    classical_scores,
    difference,
    hat_macro,
    hat_scores,
    mean,
    profile,
    simulate,
)
from hatscore.stats.weighting import Planned, check_weights

LANGUAGES = 3


def planned(data, keep, rng):
    """Leave out the target cells of unsolved items but for a share; return n, k and weights."""
    unsolved = np.flatnonzero(data.k_source == 0)
    kept = rng.permutation(unsolved)[: max(1, round(keep * len(unsolved)))]
    weights = np.ones(data.n_target.shape)
    weights[unsolved] = 0
    weights[kept] = len(unsolved) / len(kept)
    sent = weights > 0
    return np.where(sent, data.k_target, 0), np.where(sent, data.n_target, 0), weights


def draw(seed, *, items=120, source=(0.5, 1.0), n_target=5, correlation=0.0):
    rng = np.random.default_rng(seed)
    data = simulate(
        items,
        slopes=np.linspace(0.4, 0.9, LANGUAGES),
        source=source,
        concentration=2,
        correlation=correlation,
        n_target=n_target,
        rng=rng,
    )
    return data, rng


def same(a, b):
    for x, y in zip(astuple(a), astuple(b), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_one_change_no_bit(seed):
    data, _ = draw(seed)
    counts = (data.k_source, 10, data.k_target, data.n_target)
    ones = np.ones(data.n_target.shape)
    plain, weighted = classical_scores(*counts), classical_scores(*counts, weights=ones)
    for name in CLASSICAL:
        for a, b in zip(plain[name], weighted[name], strict=True):
            same(a, b)
    for a, b in zip(hat_scores(*counts), hat_scores(*counts, weights=ones), strict=True):
        same(a, b)
    same(hat_macro(*counts), hat_macro(*counts, weights=ones))
    for a, b in zip(profile(*counts), profile(*counts, weights=ones), strict=True):
        same(a.floor, b.floor)


@pytest.mark.parametrize("estimator", ["corrected", "plugin"])
@pytest.mark.parametrize("seed", range(5))
def test_hat_is_that_of_the_full_plan_on_the_same_replies(seed, estimator):
    data, rng = draw(seed)
    k, n, weights = planned(data, 0.15, rng)
    full = hat_scores(data.k_source, 10, data.k_target, data.n_target, estimator=estimator)
    part = hat_scores(data.k_source, 10, k, n, estimator=estimator, weights=weights)
    for a, b in zip(full, part, strict=True):
        assert (a.value, a.low, a.high, a.se) == (b.value, b.low, b.high, b.se)
        assert (a.n_items, a.n_effective) == (b.n_items, b.n_effective)
        np.testing.assert_equal(a.reliability, b.reliability)
        np.testing.assert_array_equal(a.influence, b.influence)
    a = hat_macro(data.k_source, 10, data.k_target, data.n_target, estimator=estimator)
    b = hat_macro(data.k_source, 10, k, n, estimator=estimator, weights=weights)
    assert b.interval == "fieller"
    assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=1e-12)
    curves = profile(data.k_source, 10, data.k_target, data.n_target)
    for a, b in zip(curves, profile(data.k_source, 10, k, n, weights=weights), strict=True):
        assert a.integral.value == b.integral.value
        assert a.curvature_p == b.curvature_p


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.floats(0.05, 0.9), st.integers(1, 4))
def test_values_are_those_of_a_plain_weighted_sum(seed, keep, n_target):
    data, rng = draw(seed, items=30, n_target=n_target)
    k, n, w = planned(data, keep, rng)
    if not (data.k_source == 0).any() or not (data.k_source > 0).any():
        return
    got = classical_scores(data.k_source, 10, k, n, weights=w)
    s = data.k_source / 10
    for j in range(LANGUAGES):
        sent = n[:, j] > 0
        t = k[sent, j] / n[sent, j]
        total = (w[sent, j] * t).sum()
        expected = {
            "source_accuracy": s.mean(),
            "target_accuracy": total / w[sent, j].sum(),
            "gap": s.mean() - total / w[sent, j].sum(),
            "ratio": total / s.sum(),
            "transfer_score": (s[sent] * t).sum() / s.sum(),
            "overall": (s[sent] * t).mean() * sent.sum() / len(s),
        }
        for name, value in expected.items():
            assert got[name][j].value == pytest.approx(value, abs=1e-12)
            assert got[name][j].n_items == len(s)


def test_items_that_stand_for_others_of_their_source_count_leave_the_slope_unbiased():
    """Of items solved once to three times in ten a random part is sent, the rest stand aside."""
    rng = np.random.default_rng(7)
    found, plain, true = [], [], 0.7
    for _ in range(400):
        data = simulate(200, slopes=true, source=(0.6, 1.2), n_target=2, concentration=2, rng=rng)
        weights = np.ones(data.n_target.shape)
        for k, part in ((0, 0.2), (1, 0.25), (2, 0.4), (3, 0.6)):
            kind = rng.permutation(np.flatnonzero(data.k_source == k))
            kept = kind[: max(2, round(part * len(kind)))]
            weights[kind] = 0
            weights[kept] = len(kind) / max(len(kept), 1)
        sent = weights > 0
        k, n = np.where(sent, data.k_target, 0), np.where(sent, data.n_target, 0)
        found.append(hat_scores(data.k_source, 10, k, n, weights=weights)[0])
        plain.append(hat_scores(data.k_source, 10, data.k_target, 2)[0])
    values = np.array([e.value for e in found])
    assert abs(values.mean() - true) < 3 * values.std() / 20
    # the spread that the thinning adds is in the interval, and it is little
    assert 0.925 <= np.mean([e.low <= true <= e.high for e in found]) <= 0.975
    width = np.mean([e.high - e.low for e in found])
    assert 1 < width / np.mean([e.high - e.low for e in plain]) < 1.1
    assert np.mean([e.se for e in found]) == pytest.approx(values.std(), rel=0.12)


def test_a_stratum_that_a_later_grader_emptied_takes_the_nearest():
    weights = np.array([[2.0], [0], [0], [3], [0], [0]])
    seen = weights > 0
    plan = Planned.of(weights, seen, np.array([[0.0], [0], [1], [4], [4], [4]]))
    values = np.array([[0.25], [0], [0], [0.5], [0], [0]])
    assert plan.fill(values)[:, 0].tolist() == [0.25, 0.25, 0.25, 0.5, 0.5, 0.5]
    assert plan.standing(4).tolist() == [1]


def test_replies_counted_by_another_grader_stay_unbiased():
    """The plan goes by the grader of its day; later an item it left out may count as solved."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(400):
        data = simulate(300, slopes=0.7, source=(1, 1), n_target=2, concentration=2, rng=rng)
        strict = rng.binomial(data.k_source, 0.3)  # the first grader saw three in ten
        hidden = type(data)(strict, *astuple(data)[1:])
        k, n, w = planned(hidden, 0.3, rng)
        found.append(hat_scores(data.k_source, 10, k, n, weights=w)[0])
    values = np.array([e.value for e in found])
    assert abs(values.mean() - 0.7) < 3 * values.std() / 20 + 0.002
    holds = np.mean([e.low <= 0.7 <= e.high for e in found])
    assert 0.92 <= holds <= 0.98


@pytest.mark.parametrize("floor", [0.0, 0.25])
def test_coverage_of_accuracies_under_a_plan(floor):
    """Two-phase intervals hold the truth as often as they say and are not far too wide."""
    rng = np.random.default_rng(6)
    truths = {"target_accuracy": 0.0, "gap": 0.0, "ratio": 0.0}
    hits = dict.fromkeys(truths, 0)
    widths = {True: 0.0, False: 0.0}
    mean_s, slope = 0.25, 0.8
    t = floor + (slope - floor) * mean_s if floor else slope * mean_s
    truths.update(target_accuracy=t, gap=mean_s - t, ratio=t / mean_s)
    floor_hits = full_hits = draws = 0
    for _ in range(400):
        s = rng.beta(0.3, 0.9, size=300)
        rate = floor + (slope - floor) * s
        ks, kt = rng.binomial(10, s), rng.binomial(3, rng.beta(3 * rate, 3 * (1 - rate)))
        data = type(draw(0)[0])(ks, np.full(300, 10), kt[:, None], np.full((300, 1), 3), s, s)
        k, n, w = planned(data, 0.15, rng)
        got = classical_scores(ks, 10, k, n, weights=w)
        for name, truth in truths.items():
            hits[name] += got[name][0].low <= truth <= got[name][0].high
        widths[True] += got["target_accuracy"][0].high - got["target_accuracy"][0].low
        full = classical_scores(ks, 10, data.k_target, 3)["target_accuracy"][0]
        widths[False] += full.high - full.low
        raised = profile(ks, 10, k, n, weights=w)[0].floor
        floor_hits += raised.low <= floor <= raised.high
        raised = profile(ks, 10, data.k_target, 3)[0].floor
        full_hits += raised.low <= floor <= raised.high
        draws += 1
    for name, hit in hits.items():
        assert 0.915 <= hit / draws <= 0.975, name
    # where the target knows nothing, right replies are rare events and 26 items see few of them
    assert 0.92 <= full_hits / draws <= 0.985
    assert floor_hits / draws >= 0.92
    # 26 of 170 items carry what the others would have said
    assert widths[True] / widths[False] < (2.0 if floor else 1.5)


def test_the_chance_adjusted_slope_needs_the_share():
    rng = np.random.default_rng(7)
    with_share, without = [], []
    for _ in range(150):
        data = simulate(
            400, slopes=0.6, source=(0.4, 1.2), chance=0.25, concentration=2, n_source=4, rng=rng
        )
        k, n, w = planned(data, 0.25, rng)
        with_share.append(hat_scores(data.k_source, 4, k, n, chance=0.25, weights=w)[0])
        without.append(hat_scores(data.k_source, 4, k, n, chance=0.25)[0].value)
    values = np.array([e.value for e in with_share])
    assert abs(values.mean() - 0.6) < 3 * values.std() / math.sqrt(150) + 0.005
    assert abs(np.mean(without) - 0.6) > 0.02
    assert 0.91 <= np.mean([e.low <= 0.6 <= e.high for e in with_share]) <= 0.985


def test_differences_and_means_stay_paired():
    data, rng = draw(9, correlation=0.8)
    k, n, w = planned(data, 0.3, rng)
    got = classical_scores(data.k_source, 10, k, n, weights=w)["target_accuracy"]
    assert len(got[0].influence) == len(data.k_source)
    assert difference(got[0], got[1]).se < math.hypot(got[0].se, got[1].se)
    assert np.isfinite(mean(got).se)


def test_nothing_stands_for_the_omitted_cells():
    ks, kt, n = [10, 5, 0, 0], [[8], [3], [0], [0]], [[10], [10], [0], [0]]
    weights = [[1], [1], [0], [0]]
    got = classical_scores(ks, 10, kt, n, weights=weights)
    for name in ("target_accuracy", "gap", "ratio"):
        assert math.isnan(got[name][0].value)
        assert got[name][0].reason
    assert hat_scores(ks, 10, kt, n, weights=weights)[0].value == pytest.approx(0.777273, abs=1e-6)
    assert math.isnan(profile(ks, 10, kt, n, weights=weights)[0].floor.value)


def test_fill_keeps_the_weighted_sum_and_counts_the_spread_of_the_share_alone():
    weights = np.array([[1.0], [3], [0], [0]])
    plan = Planned.of(weights, np.array([[True], [True], [False], [False]]), np.zeros((4, 1)))
    np.testing.assert_array_equal(plan.fill(np.array([[0.5], [1], [0], [0]]))[:, 0], [0.5, 1, 1, 1])
    assert not plan.lost.any()


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([[1.0], [1], [1]], "shape"),
        ([[-1.0], [1]], "at least 0"),
        ([[math.nan], [1]], "finite"),
        ([[0.0], [1]], "left out on purpose"),
    ],
)
def test_weights_that_cannot_be(weights, said):
    with pytest.raises(InputError, match=said):
        check_weights(weights, np.array([[2.0], [2]]))
