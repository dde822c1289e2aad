"""The score behind a judge that errs: by hand, as algebra, and by simulation with a known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.errors import InputError
from hatscore.stats import hat_score, mean
from hatscore.stats.judged import ErrorRates, judged_hat_score, true_rate

PERFECT = ErrorRates(1.0, 1.0)
COUNTS = st.lists(
    st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=3, max_size=12
).filter(lambda pairs: any(k > 1 for k, _ in pairs))


def test_true_rate_by_hand():
    # r = 0.9 p + 0.2 (1 - p) = 0.2 + 0.7 p
    rates = ErrorRates(sensitivity=0.9, specificity=0.8)
    np.testing.assert_allclose(true_rate([0.2, 0.55, 0.9], rates), [0, 0.5, 1], atol=1e-15)


def test_score_by_hand():
    # two items, n = 4: k_s 4, 2; k_t 3, 1. f = 0.1, a - f = 0.8.
    rates = ErrorRates(0.9, 0.9)
    got = judged_hat_score([4, 2], 4, [3, 1], 4, source=rates)
    s = [(1 - 0.1) / 0.8, (0.5 - 0.1) / 0.8]
    t = [(0.75 - 0.1) / 0.8, (0.25 - 0.1) / 0.8]
    u = [(1 - 0.2 + 0.01) / 0.64, (2 / 12 - 0.1 + 0.01) / 0.64]
    assert got.value == pytest.approx((s[0] * t[0] + s[1] * t[1]) / (u[0] + u[1]), rel=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(COUNTS)
def test_a_judge_without_error_changes_nothing(pairs):
    ks, kt = zip(*pairs, strict=True)
    plain = hat_score(ks, 10, kt, 10)
    got = judged_hat_score(ks, 10, kt, 10, source=PERFECT)
    assert got.value == pytest.approx(plain.value, rel=1e-12, abs=1e-12)
    assert got.se == pytest.approx(plain.se, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(got.influence, plain.influence, atol=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(COUNTS, st.floats(0.05, 0.6))
def test_guessing_is_a_judge_that_calls_guesses_right(pairs, chance):
    ks, kt = zip(*pairs, strict=True)
    plain = hat_score(ks, 10, kt, 10, chance=chance)
    got = judged_hat_score(ks, 10, kt, 10, source=ErrorRates(1.0, 1 - chance))
    if math.isnan(plain.value) or math.isnan(got.value):
        return
    assert got.value == pytest.approx(plain.value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("correlation", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(
    ("a", "b", "p"), [(0.9, 0.8, 0.3), (0.7, 0.95, 0.8), (1.0, 0.6, 0.5), (0.6, 1.0, 0.0)]
)
def test_square_is_unbiased_by_enumeration(a, b, p, correlation):
    """Expectation of u' over every pair of replies and verdicts, exactly, is p squared."""
    f = 1 - b
    both = 0.0
    for x, px in ((1, p), (0, 1 - p)):
        for y, py in ((1, p), (0, 1 - p)):
            ex, ey = (a if x else f), (a if y else f)
            together = ex * ey
            if x == y:  # P(both called right) of two verdicts with this correlation
                together += correlation * ex * (1 - ex)
            both += px * py * together
    rates = ErrorRates(a, b)
    r = a * p + f * (1 - p)
    # one "item" whose k, n give exactly these moments does not exist; use the formula's parts
    from hatscore.stats.judged import _first_power, _second_power

    s = _first_power(np.array([r]), rates)
    u = _second_power(np.array([both]), s, rates, correlation)
    assert s.value[0] == pytest.approx(p, abs=1e-12)
    assert u.value[0] == pytest.approx(p * p, abs=1e-12)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_derivatives_are_those_of_the_value(correlation):
    from hatscore.stats.judged import _first_power, _second_power

    s, u, h = np.array([0.1, 0.55, 0.9]), np.array([0.02, 0.3, 0.8]), 1e-6

    def value(a, f):
        rates = ErrorRates(a, 1 - f)
        first = _first_power(s, rates)
        return first.value, _second_power(u, first, rates, correlation).value

    rates = ErrorRates(0.85, 0.8)
    first = _first_power(s, rates)
    second = _second_power(u, first, rates, correlation)
    for power, part in enumerate((first, second)):
        by_a = (value(0.85 + h, 0.2)[power] - value(0.85 - h, 0.2)[power]) / (2 * h)
        by_f = (value(0.85, 0.2 + h)[power] - value(0.85, 0.2 - h)[power]) / (2 * h)
        np.testing.assert_allclose(part.by_a, by_a, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(part.by_f, by_f, rtol=1e-6, atol=1e-8)


def judged_counts(rng, rates, p, n, *, shared):
    """What a judge of these rates counts; `shared`: one verdict per item, right and wrong apart."""
    shape = (*p.shape, n)
    right = rng.random(shape) < p[..., None]
    draws = rng.random((*p.shape, 1) if shared else shape)
    again = rng.random((*p.shape, 1) if shared else shape)
    said = np.where(right, draws < rates.sensitivity, again < 1 - rates.specificity)
    return said.sum(-1)


def study(runs, *, items, validation, correlation=0.0, seed=1, m=0.6):
    rng = np.random.default_rng(seed)
    truth = ErrorRates(0.9, 0.85)
    corrected, naive, covered, spread = [], [], [], []
    for _ in range(runs):
        p = rng.beta(1, 1, items)
        ks = judged_counts(rng, truth, p, 10, shared=correlation == 1)
        kt = judged_counts(rng, truth, m * p, 10, shared=False)
        right = rng.binomial(validation, truth.sensitivity) / validation
        wrong = rng.binomial(validation, truth.specificity) / validation
        known = ErrorRates(max(right, 0.01), max(wrong, 0.01), validation, validation)
        got = judged_hat_score(ks, 10, kt, 10, source=known, correlation=correlation)
        corrected.append(got.value)
        naive.append(hat_score(ks, 10, kt, 10).value)
        covered.append(got.low <= m <= got.high)
        spread.append(got.se)
    return (np.array(x) for x in (corrected, naive, covered, spread))


def test_truth_is_recovered_and_covered():
    corrected, naive, covered, se = study(600, items=150, validation=150)
    assert abs(corrected.mean() - 0.6) < 4 * corrected.std() / math.sqrt(600) + 0.004
    assert naive.mean() - 0.6 > 0.03  # what it is good for
    assert 0.92 <= covered.mean() <= 0.98
    assert se.mean() == pytest.approx(corrected.std(), rel=0.12)


def test_forgetting_the_doubt_of_the_rates_covers_too_little():
    rng = np.random.default_rng(5)
    hits = []
    for _ in range(300):
        p = rng.beta(1, 1, 400)
        truth = ErrorRates(0.9, 0.85)
        ks = judged_counts(rng, truth, p, 10, shared=False)
        kt = judged_counts(rng, truth, 0.6 * p, 10, shared=False)
        seen = ErrorRates(rng.binomial(40, 0.9) / 40, rng.binomial(40, 0.85) / 40)
        got = judged_hat_score(ks, 10, kt, 10, source=seen)
        doubt = ErrorRates(seen.sensitivity, seen.specificity, 40, 40)
        with_doubt = judged_hat_score(ks, 10, kt, 10, source=doubt)
        assert with_doubt.value == pytest.approx(got.value, rel=1e-12)
        hits.append((got.low <= 0.6 <= got.high, with_doubt.low <= 0.6 <= with_doubt.high))
    without, with_doubt = np.mean(hits, axis=0)
    assert without < 0.85
    assert 0.91 <= with_doubt <= 0.985


def test_shared_verdicts_need_the_correlation():
    corrected, _, covered, _ = study(400, items=150, validation=2000, correlation=1.0, seed=2)
    assert abs(corrected.mean() - 0.6) < 0.01
    assert 0.92 <= covered.mean() <= 0.985


def test_scores_that_rest_on_one_judge_share_its_doubt():
    rng = np.random.default_rng(3)
    p = rng.beta(1, 1, 200)
    rates = ErrorRates(0.9, 0.85, 50, 50)
    ks = judged_counts(rng, rates, p, 10, shared=False)
    one, two = (
        judged_hat_score(
            ks, 10, judged_counts(rng, rates, m * p, 10, shared=False), 10, source=rates
        )
        for m in (0.6, 0.5)
    )
    joint = mean([one, two])
    alone = math.sqrt(one.se**2 + two.se**2) / 2  # as if nothing were shared
    assert joint.se > 1.2 * alone
    judge = [label for label in one.clusters if isinstance(label, tuple)]
    assert len(judge) == 4
    assert one.influence[-4:].sum() == pytest.approx(0, abs=1e-15)


def test_own_rates_of_the_target_language():
    rng = np.random.default_rng(8)
    p = rng.beta(2, 1, 3000)
    here, there = ErrorRates(0.95, 0.95, judge="en"), ErrorRates(0.7, 0.9, judge="sw")
    ks = judged_counts(rng, here, p, 10, shared=False)
    kt = judged_counts(rng, there, 0.8 * p, 10, shared=False)
    got = judged_hat_score(ks, 10, kt, 10, source=here, target=there)
    assert got.value == pytest.approx(0.8, abs=0.02)
    assert judged_hat_score(ks, 10, kt, 10, source=here).value < 0.7


def test_messages():
    with pytest.raises(InputError, match="tells nothing"):
        ErrorRates(0.5, 0.5)
    with pytest.raises(InputError, match="sensitivity must lie"):
        ErrorRates(0.0, 1.0)
    with pytest.raises(InputError, match="n_wrong must be positive"):
        ErrorRates(0.9, 0.9, 10, 0)
    with pytest.raises(InputError, match="correlation"):
        judged_hat_score([3], 10, [3], 10, source=PERFECT, correlation=2)
    with pytest.raises(InputError, match="two different error rates of the judge 'judge'"):
        judged_hat_score([3], 10, [3], 10, source=PERFECT, target=ErrorRates(0.9, 0.9))
    with pytest.raises(InputError, match="same items"):
        judged_hat_score([3], 10, [3, 2], 10, source=PERFECT)
    never = judged_hat_score([0, 1], 10, [3, 1], 10, source=ErrorRates(0.9, 0.5))
    assert never.reason or never.value
    assert "no items" in judged_hat_score([1], 1, [1], 1, source=PERFECT).reason
    weak = judged_hat_score([9, 3], 10, [8, 3], 10, source=ErrorRates(0.6, 0.5, 10, 10))
    assert "hardly told apart" in weak.reason
