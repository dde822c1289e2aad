"""By hand, against naive loops, as algebra, and by simulation with a known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore import hat_score
from hatscore.errors import InputError
from hatscore.stats import hat_macro, hat_scores, mean, simulate

HAND = ([10, 5, 0], 10, [8, 3, 1], 10)


def test_plugin_by_hand():
    # s = 1, .5, 0; t = .8, .3, .1: (0.8 + 0.15) / (1 + 0.25)
    got = hat_score(*HAND, estimator="plugin")
    assert got.value == pytest.approx(0.76, abs=1e-15)


def test_corrected_by_hand():
    # u = 90/90, 20/90, 0
    got = hat_score(*HAND)
    assert got.value == pytest.approx(0.95 / (1 + 20 / 90), abs=1e-15)
    assert got.reliability == pytest.approx((1 + 20 / 90) / 1.25)
    assert got.n_items == 3


def test_influence_by_hand():
    got = hat_score(*HAND)
    u = np.array([1, 20 / 90, 0])
    a = np.array([0.8, 0.15, 0])
    expected = (a - got.value * u) / u.sum()
    np.testing.assert_allclose(got.influence, expected, atol=1e-15)
    assert got.se == pytest.approx(math.sqrt((expected**2).sum()))


def test_fieller_solves_its_quadratic():
    data = simulate(60, slopes=0.6, source=(1, 2), rng=np.random.default_rng(3))
    got = hat_score(data.k_source, 10, data.k_target[:, 0], 10)
    s, t = data.k_source / 10, data.k_target[:, 0] / 10
    u = data.k_source * (data.k_source - 1) / 90
    for end in (got.low, got.high):
        left = ((s * t).sum() - end * u.sum()) ** 2
        right = 1.959963984540054**2 * ((s * t - end * u) ** 2).sum()
        assert left == pytest.approx(right, rel=1e-9)


def test_never_solved_source_is_missing_with_a_reason():
    got = hat_score([0, 0, 0], 10, [3, 0, 1], 10)
    assert math.isnan(got.value)
    assert "ever solved" in got.reason


def test_solved_once_only_is_missing_with_a_reason():
    got = hat_score([1, 0, 1], 10, [3, 0, 1], 10)
    assert math.isnan(got.value)
    assert "two of its replies" in got.reason


def test_one_source_reply_gives_the_plugin_which_is_the_conditional_transfer_score():
    ks, kt = [1, 0, 1, 1], [1, 1, 0, 1]
    got = hat_score(ks, 1, kt, 1)
    assert got.estimator == "plugin"
    assert got.value == pytest.approx(2 / 3)  # right in both over right in the source
    assert "plug-in" in got.reason


def test_few_solved_items_leave_the_interval_unbounded():
    got = hat_score(*HAND)
    assert (got.low, got.high) == (-math.inf, math.inf)
    assert "unbounded" in got.reason


@pytest.mark.parametrize(("kt", "expected"), [(10, 1.0), (0, 0.0)])
def test_all_perfect_and_all_zero_have_wilsons_width(kt, expected):
    # no spread between items: as many trials as items, whatever the number of replies
    got = hat_score([10] * 100, 10, [kt] * 100, 10)
    q2 = 1.959963984540054**2
    assert got.value == expected
    width = q2 / (100 + q2)
    assert got.high - got.low == pytest.approx(width)


def test_clusters_of_identical_items_count_once():
    alone = hat_score([10] * 10, 10, [10] * 10, 10)
    grouped = hat_score([10] * 100, 10, [10] * 100, 10, groups=[i % 10 for i in range(100)])
    assert grouped.low == pytest.approx(alone.low)
    assert grouped.n_effective == pytest.approx(10)


def test_chance_adjustment_recovers_the_slope_of_knowledge():
    rng = np.random.default_rng(5)
    data = simulate(40_000, slopes=0.7, source=(1, 1), chance=0.25, rng=rng)
    adjusted = hat_score(data.k_source, 10, data.k_target[:, 0], 10, chance=0.25)
    plain = hat_score(data.k_source, 10, data.k_target[:, 0], 10)
    assert adjusted.value == pytest.approx(0.7, abs=0.01)
    assert plain.value > 0.75


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([1, 2], 10, [1], 10), "same items"),
        (([11], 10, [1], 10), r"source counts: 1 has successes outside 0\.\.n: item 0"),
        (([1], 10, [-1], 10), "target counts"),
        (([1], 10, [float("nan")], 10), "not a finite number"),
        (([1.5], 10, [1], 10), 'estimator="plugin"'),
        (([1, 2], [10, 10, 10], [1, 2], 10), "one shape"),
        (([[1, 2], [3]], 10, [1, 2], 10), "one shape"),
        (([1, 2], 10, [[1, 2], [3]], 10), "one shape"),
    ],
)
def test_bad_counts_are_named(args, message):
    with pytest.raises(InputError, match=message):
        hat_score(*args)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "mle"}, "corrected or plugin"),
        ({"interval": "wald"}, "fieller, delta or bootstrap"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"chance": 1.0}, "below 1"),
        ({"groups": ["a"]}, "one label per item"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        hat_score(*HAND, **options)


def test_partial_credit_is_for_the_plugin():
    got = hat_score([10, 5.5, 0], 10, [8, 3.25, 1], 10, estimator="plugin")
    assert got.value == pytest.approx((0.8 + 0.55 * 0.325) / (1 + 0.55**2))


def test_no_items():
    got = hat_score([], 10, [], 10)
    assert math.isnan(got.value)
    assert got.reason == "no items"


counts = st.integers(2, 40).flatmap(
    lambda size: st.tuples(
        st.lists(st.tuples(st.integers(0, 6), st.integers(2, 6)), min_size=size, max_size=size),
        st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=size, max_size=size),
    )
)


def naive(source, target, groups):
    """The corrected slope, its influence and n, in plain loops over plain numbers."""
    a, u = {}, {}
    for (ks, ns), (kt, nt), g in zip(source, target, groups, strict=True):
        if nt == 0:
            continue
        a[g] = a.get(g, 0.0) + (ks / ns) * (kt / nt)
        u[g] = u.get(g, 0.0) + ks * (ks - 1) / (ns * (ns - 1))
    total = sum(u.values())
    if total == 0:
        return None
    value = sum(a.values()) / total
    return value, math.sqrt(sum(((a[g] - value * u[g]) / total) ** 2 for g in a))


@given(counts, st.integers(1, 5))
@settings(deadline=None, derandomize=True)
def test_naive_loops_agree(data, n_groups):
    source = [(min(k, n), n) for k, n in data[0]]
    target = [(min(k, n), n) for k, n in data[1]]
    groups = [i % n_groups for i in range(len(source))]
    got = hat_score(
        [k for k, _ in source],
        [n for _, n in source],
        [k for k, _ in target],
        [n for _, n in target],
        groups=groups,
    )
    expected = naive(source, target, groups)
    if expected is None:
        assert math.isnan(got.value)
        assert got.reason
    else:
        assert got.value == pytest.approx(expected[0], abs=1e-12)
        assert got.se == pytest.approx(expected[1], abs=1e-12)
        assert got.low <= got.value <= got.high
        assert got.high > got.low


@given(counts, st.randoms(use_true_random=False))
@settings(deadline=None, derandomize=True)
def test_order_and_batch_size_do_not_matter(data, random):
    source = [(min(k, n), n) for k, n in data[0]]
    target = [(min(k, n), n) for k, n in data[1]]
    order = list(range(len(source)))
    random.shuffle(order)

    def score(indices, columns):
        k = np.array([[target[i][0]] * columns for i in indices])
        n = np.array([[target[i][1]] * columns for i in indices])
        return hat_scores([source[i][0] for i in indices], [source[i][1] for i in indices], k, n)[
            -1
        ]

    one, other = score(range(len(source)), 1), score(order, 3)
    np.testing.assert_allclose(
        [one.value, one.low, one.high, one.se],
        [other.value, other.low, other.high, other.se],
        rtol=1e-9,
        atol=1e-12,
    )


def test_macro_is_the_mean_and_its_fieller_interval_holds_it():
    data = simulate(300, slopes=[0.9, 0.5, 0.2], source=(0.5, 1.5), rng=np.random.default_rng(2))
    counts = (data.k_source, 10, data.k_target, 10)
    joint, parts = hat_macro(*counts), mean(hat_scores(*counts))
    assert joint.value == pytest.approx(parts.value, abs=1e-12)
    assert joint.se == pytest.approx(parts.se, abs=1e-12)
    assert joint.interval == "fieller"
    assert joint.low < joint.value < joint.high


def test_macro_with_missing_cells_adds_influences():
    data = simulate(50, slopes=[0.9, 0.5], source=(1, 1), rng=np.random.default_rng(2))
    n_target = data.n_target.copy()
    n_target[3, 1] = 0
    k_target = np.where(n_target > 0, data.k_target, 0)
    joint = hat_macro(data.k_source, 10, k_target, n_target)
    parts = hat_scores(data.k_source, 10, k_target, n_target)
    assert joint.value == pytest.approx((parts[0].value + parts[1].value) / 2)
    assert parts[1].n_items == 49
    assert joint.interval == "delta"


def test_bootstrap_agrees_with_fieller_and_is_reproducible():
    data = simulate(400, slopes=0.7, source=(1, 1), rng=np.random.default_rng(4))
    counts = (data.k_source, 10, data.k_target[:, 0], 10)
    closed = hat_score(*counts)
    resampled = hat_score(*counts, interval="bootstrap")
    assert resampled.low == pytest.approx(closed.low, abs=0.01)
    assert resampled.high == pytest.approx(closed.high, abs=0.01)
    assert hat_score(*counts, interval="bootstrap").low == resampled.low
    other = hat_score(*counts, interval="bootstrap", rng=np.random.default_rng(9))
    assert other.low != resampled.low


def recover(repetitions, seed):
    """Weak source: mean of both slopes and how often the interval holds the truth."""
    rng = np.random.default_rng(seed)
    corrected, plugin, hits = [], [], 0
    for _ in range(repetitions):
        data = simulate(658, slopes=0.8, source=(0.3, 2.7), rng=rng)
        counts = (data.k_source, 10, data.k_target[:, 0], 10)
        got = hat_score(*counts)
        corrected.append(got.value)
        plugin.append(hat_score(*counts, estimator="plugin").value)
        hits += got.low <= 0.8 <= got.high
    return np.mean(corrected), np.mean(plugin), hits / repetitions


def test_known_slope_is_recovered_where_the_plugin_is_not():
    corrected, plugin, coverage = recover(400, seed=11)
    assert corrected == pytest.approx(0.80, abs=0.01)
    assert plugin == pytest.approx(0.665, abs=0.015)
    assert 0.92 <= coverage <= 0.98  # a binomial band for 400 draws


@pytest.mark.slow
def test_known_slope_and_coverage_over_many_draws():
    corrected, plugin, coverage = recover(10_000, seed=12)
    assert corrected == pytest.approx(0.80, abs=0.01)
    assert plugin == pytest.approx(0.665, abs=0.01)
    assert 0.935 <= coverage <= 0.965
