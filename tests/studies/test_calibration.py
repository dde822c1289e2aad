"""Tests of the study reject as often as they say, and intervals hold what they are about.

Fast simulations of the statistics alone; `benchmarks/study_recovery.py` has whole studies.
"""

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore import hat_score
from hatscore.stats import Estimate, difference
from hatscore.stats.regression import trend
from hatscore.studies.coupling import _fieller, coupled
from hatscore.studies.effects import fair, fit, freedom, gap_between, student, student_p
from hatscore.studies.script import _dealings, _n_dealings
from hatscore.studies.simulated import NOTHING, Layout, simulate_study
from hatscore.studies.validation import strata

LABELS = np.arange(200).astype(object)


def point(value, influence, n=50.0):
    se = math.sqrt(float(influence @ influence))
    labels = LABELS[: len(influence)]
    return Estimate(
        value, value - 2 * se, value + 2 * se, se, "x", "delta", 0.95, len(influence), n,
        influence=influence, clusters=labels,
    )  # fmt: skip


def within(share, expected, n):
    """Whether a simulated share agrees with its expectation, by three standard errors."""
    return abs(share - expected) < 3 * math.sqrt(expected * (1 - expected) / n)


def test_degrees_of_freedom_are_those_of_a_sum_of_squares():
    rng = np.random.default_rng(0)
    scale = np.concatenate([np.full(10, 3.0), np.full(90, 1.0)])
    draws = rng.standard_normal((4000, 100)) * scale
    v = (draws**2).sum(1)
    true = 2 * v.mean() ** 2 / v.var()
    found = np.array([freedom(d) for d in draws])
    # true is 2 (sum s2)**2 / (2 sum s4)
    assert true == pytest.approx(float((scale**2).sum() ** 2 / (scale**4).sum()), rel=0.1)
    assert np.median(found) == pytest.approx(true, rel=0.3)


@pytest.mark.parametrize("influence", [np.zeros(5), np.array([1.0, 0, 0]), np.array([2.0])])
def test_degrees_of_freedom_are_at_least_one(influence):
    assert freedom(influence) == 1.0


def test_clusters_bound_the_degrees_of_freedom():
    assert freedom(np.array([0.1, -0.1, 0.1])) == 2.0


def test_a_t_test_of_very_unequal_clusters_does_not_reject_too_often():
    rng = np.random.default_rng(1)
    scale = np.concatenate([np.full(4, 4.0), np.full(16, 1.0)])
    rejected = 0
    for _ in range(4000):
        x = rng.standard_normal(20) * scale
        e = point(float(x.mean()), (x - x.mean()) / 20, n=20.0)
        rejected += student_p(fair(e)) < 0.05
    # four clusters hold nearly all of the variance: on the careful side
    assert 0.02 < rejected / 4000 < 0.055


def test_interval_and_p_agree():
    e = hat_score([9, 5, 2, 8, 7, 6], 10, [8, 3, 1, 7, 6, 4], 10)
    found = student(fair(e), confidence=0.95)
    assert student_p(found, null=found.high) == pytest.approx(0.05)
    assert found.low < e.value < found.high
    assert fair(e).se == pytest.approx(e.se * math.sqrt(e.n_effective / (e.n_effective - 1)))


def test_an_estimate_without_spread_stays_open():
    sure = hat_score([10] * 8, 10, [10] * 8, 10)
    assert sure.se == 0
    assert student(sure, confidence=0.95) is sure
    assert math.isnan(student_p(sure))
    lost = hat_score([0], 10, [0], 10)
    assert math.isnan(student_p(lost))
    assert fair(lost) is lost


def test_differences_are_paired_on_items():
    rng = np.random.default_rng(2)
    k = rng.integers(1, 11, 60)
    a = hat_score(k, 10, rng.binomial(k, 0.9), 10)
    b = hat_score(k, 10, rng.binomial(k, 0.6), 10)
    gap = gap_between(a, b, confidence=0.95)
    assert gap.value == pytest.approx(difference(a, b).value)
    n = a.n_effective
    assert gap.se == pytest.approx(difference(a, b).se * math.sqrt(n / (n - 1)))
    assert gap.se < math.hypot(a.se, b.se)


# -- lines ---------------------------------------------------------------------------------------


def test_slopes_within_families_by_hand():
    x = [0.0, 1.0, 0.0, 2.0, 1.0, 3.0]
    family = ["a", "a", "b", "b", "c", "c"]
    y = [0.1, 0.2, 0.6, 0.8, 0.3, 0.5]
    scores = [point(v, np.array([0.01, -0.01])) for v in y]
    found = trend(x, scores, absorb=family)
    inner_x = np.array([-0.5, 0.5, -1, 1, -1, 1])
    assert found.slope == pytest.approx(float(inner_x @ y / (inner_x @ inner_x)))
    assert found.leverage == pytest.approx(inner_x / (inner_x @ inner_x))
    assert found.n_models == 6
    orders = [
        np.array(a + b + c)
        for a in permutations((0, 1)) for b in permutations((2, 3)) for c in permutations((4, 5))
    ]  # fmt: skip
    steep = [abs(inner_x[o] @ y) >= abs(inner_x @ y) - 1e-12 for o in orders]
    assert found.p_permutation == pytest.approx(np.mean(steep))


def test_one_label_for_all_is_no_label():
    rng = np.random.default_rng(3)
    scores = [point(v, rng.normal(0, 0.01, 20)) for v in rng.normal(0.5, 0.1, 9)]
    x = rng.normal(size=9)
    with_label, without = trend(x, scores, absorb=["f"] * 9), trend(x, scores)
    for name in ("slope", "intercept", "low", "high", "p", "p_permutation"):
        assert getattr(with_label, name) == pytest.approx(getattr(without, name))


def test_labels_leave_too_few():
    scores = [point(v, np.array([0.01])) for v in (0.1, 0.2, 0.3)]
    assert "too few" in trend([1, 2, 3], scores, absorb=["a", "b", "b"]).reason
    four = [*scores, scores[0]]
    assert "same x" in trend([1, 1, 2, 2], four, absorb=["a", "a", "b", "b"]).reason


def test_noisy_small_models_do_not_make_slopes():
    """Equal weights reject too often here: the noise sits at one end of x."""
    rng = np.random.default_rng(4)
    x = np.array([0.0, 0.0, 1.0, 2.0, 2.5, 2.5, 3.0, 3.0])
    se = np.array([0.08, 0.08, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02])
    family = ["a", "b", "a", "b", "a", "b", "a", "b"]
    n = 2000
    spread = [point(0.0, np.array([s])) for s in se]
    y = rng.normal(0, np.hypot(se, 0.02), (n, 8))
    p = [
        trend(
            x,
            [replace(e, value=float(v)) for e, v in zip(spread, row, strict=True)],
            absorb=family,
            n_permutations=0,
        ).p
        for row in y
    ]
    rate = np.mean(np.array(p) < 0.05)
    assert within(rate, 0.05, n)
    equal = [
        fit(
            {"x": x},
            [replace(e, value=float(v)) for e, v in zip(spread, row, strict=True)],
            absorb=family,
            confidence=0.95,
        )[0].p
        for row in y
    ]
    assert np.mean(np.array(equal) < 0.05) > rate


# -- dealing traits anew -------------------------------------------------------------------------


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5).filter(lambda x: sum(x) <= 7))
def test_all_dealings_are_those_of_all_orders(sizes):
    sizes = sorted(sizes, reverse=True)
    codes = [i for i, n in enumerate(sizes) for _ in range(n)]

    def partition(code):
        return frozenset(
            frozenset(i for i, c in enumerate(code) if c == one) for one in range(len(sizes))
        )

    expected = {partition(code) for code in set(permutations(codes))}
    found = [partition(code) for code in _dealings(sizes)]
    assert set(found) == expected
    assert len(found) == len(expected) == _n_dealings(sizes)


def test_dealings_of_many_single_languages_are_one():
    assert len(_dealings([1] * 40)) == 1


# -- coupling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
def test_r_squared_without_noise_covers_and_is_nearly_unbiased(rho):
    """20 fixed models, noise of items half as large as the spread of scores."""
    rng = np.random.default_rng(5)
    n, items, runs = 20, 100, 300
    basis = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, 2))]))[0][:, 1:]
    true_x = basis[:, 0]
    true_y = rho * basis[:, 0] + math.sqrt(1 - rho**2) * basis[:, 1]
    sd = 0.5 / math.sqrt(n)
    held, values = [], []
    for _ in range(runs):
        noise = rng.normal(0, sd / math.sqrt(items), (2, n, items))
        found = []
        for true, e in zip((true_x, true_y), noise, strict=True):
            influence = e - e.mean(1, keepdims=True)
            found.append(
                [
                    point(float(t + s), i, n=float(items))
                    for t, s, i in zip(true, e.sum(1), influence, strict=True)
                ]
            )
        c = coupled(*found, confidence=0.95).items
        held.append(c.low <= rho**2 <= c.high)
        values.append(c.value)
    assert 0.92 < np.mean(held) < 0.98
    assert abs(np.mean(values) - rho**2) < 0.03


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(-1, 1), st.floats(0.05, 1), st.floats(0.001, 2), st.floats(0.001, 2), st.floats(-1, 1)
)
def test_fiellers_ends_are_those_of_a_grid(covariance, d, se_xy, se_d, correlation):
    joint = correlation * se_xy * se_d
    square, half, const = d * d - se_d**2, covariance * d - joint, covariance**2 - se_xy**2
    low, high = _fieller(square, half, const)
    r = np.linspace(-1, 1, 20001)
    held = r[square * r**2 - 2 * half * r + const <= 0] ** 2
    if len(held):
        assert low <= held.min() + 2e-4
        assert high >= held.max() - 2e-4
        # never wider than the set, but for the hull of what lies outside of a gap
        assert low >= held.min() - 2e-4 or square <= 0
        assert high <= held.max() + 2e-4 or square <= 0
    assert 0 <= low <= high <= 1


def test_r_squared_of_noise_alone_says_nothing():
    rng = np.random.default_rng(6)
    flat = [point(0.5, rng.normal(0, 0.01, 50)) for _ in range(8)]
    x = [point(float(v), rng.normal(0, 0.001, 50)) for v in range(8)]
    moved = [replace(e, value=0.5 + 1e-4 * i) for i, e in enumerate(flat)]
    assert "no more than the noise" in coupled(x, moved, confidence=0.95).items.reason
    weak = [replace(e, value=0.5 + 0.09 * (-1) ** i) for i, e in enumerate(flat)]
    found = coupled(x, weak, confidence=0.95).items
    assert found.low == 0.0
    assert found.high > 0.3


# -- validation and drawing ----------------------------------------------------------------------


def test_counts_without_the_table_are_those_of_the_table(registry):
    layout = Layout(languages=("th", "de", "ja"), n_items=12)
    study = simulate_study(registry, layout=layout, rng=np.random.default_rng(7))
    by_name = {(b.model, b.benchmark): b for b in study.blocks()}
    for block in study.outcomes.aligned():
        other = by_name.pop((block.model, block.benchmark))
        order = [list(block.items).index(x) for x in other.items]
        assert block.languages == other.languages
        for name in ("k_source", "n_source", "k_target", "n_target", "weights"):
            assert np.array_equal(getattr(block, name)[order], getattr(other, name))
        assert list(block.source_languages[order]) == list(other.source_languages)
    assert not by_name


def test_hat_of_few_hard_items_is_not_biased(registry):
    """A ratio over few items is too large by one over their number; leaving out shows by how much.

    On the same draws the plain slope over hard items is biased by 0.01.
    """
    layout = Layout(("reasoning",), "", ("de", "ja"), n_items=80)
    moved = []
    for seed in range(60):
        rng = np.random.default_rng([8, seed])
        study = simulate_study(registry, effects=NOTHING, layout=layout, rng=rng)
        for block in study.blocks()[::4]:
            if block.k_source.mean() > 9:
                continue  # no hard items
            hard, easy = strata(block, confidence=0.95, rng=rng)
            if min(hard["hat"].n_effective, easy["hat"].n_effective) > 5:
                moved.append(easy["hat"].value - hard["hat"].value)
    assert len(moved) > 200
    assert abs(np.mean(moved)) < 3.5 * np.std(moved) / math.sqrt(len(moved))
