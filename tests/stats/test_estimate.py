from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hatscore.errors import InputError
from hatscore.stats import (
    Estimate,
    classical_scores,
    combine,
    difference,
    hat_score,
    hat_scores,
    mean,
    mean_of_shares,
    simulate,
)
from hatscore.stats.estimate import contrast, p_value, weighted_mean


@pytest.fixture
def pair():
    data = simulate(200, slopes=[0.8, 0.5], source=(1, 1), rng=np.random.default_rng(1))
    return hat_scores(data.k_source, 10, data.k_target, 10)


def test_mean_and_difference_are_linear(pair):
    a, b = pair
    assert mean(pair).value == pytest.approx((a.value + b.value) / 2)
    assert difference(a, b).value == pytest.approx(a.value - b.value)
    assert difference(a, b).se == pytest.approx(np.sqrt(((a.influence - b.influence) ** 2).sum()))


def test_shared_items_are_paired_and_disjoint_ones_independent(pair):
    a, b = pair
    paired = difference(a, b).se
    independent = math.hypot(a.se, b.se)
    assert paired < independent
    moved = Estimate(
        **{
            **{f: getattr(b, f) for f in b.__slots__},
            "clusters": np.array([f"other {c}" for c in b.clusters], dtype=object),
        }
    )
    apart = difference(a, moved)
    assert apart.se == pytest.approx(independent)
    assert len(apart.clusters) == 400


def test_partly_shared_clusters_join_by_label():
    one = hat_score([9, 5, 3, 7], 10, [8, 4, 1, 6], 10, groups=["a", "b", "c", "d"])
    two = hat_score([9, 5, 3, 7], 10, [8, 4, 1, 6], 10, groups=["d", "c", "x", "y"])
    joint = mean([one, two])
    by_label = dict(zip(joint.clusters, joint.influence, strict=True))
    assert by_label["d"] == pytest.approx((one.influence[3] + two.influence[0]) / 2)
    assert by_label["x"] == pytest.approx(two.influence[2] / 2)


def test_a_part_without_value_makes_the_whole_missing_with_its_reason(pair):
    lost = hat_score([0, 0], 10, [1, 1], 10)
    got = mean([pair[0], lost])
    assert math.isnan(got.value)
    assert "ever solved" in got.reason


def test_combination_of_perfect_scores_keeps_a_width():
    perfect = hat_score([10] * 50, 10, [10] * 50, 10)
    assert mean([perfect, perfect]).low == pytest.approx(perfect.low)
    assert difference(perfect, perfect).low < 0 < difference(perfect, perfect).high


def test_weights_must_match(pair):
    with pytest.raises(InputError, match="2 estimates and 1 weights"):
        combine(pair, [1.0])
    with pytest.raises(InputError, match="at least one"):
        mean([])


def test_weighted_mean_and_contrast(pair):
    a, b = pair
    assert weighted_mean(pair, [3, 1]).value == pytest.approx((3 * a.value + b.value) / 4)
    assert contrast([a], [b]).value == pytest.approx(a.value - b.value)
    assert contrast([a, b], [b]).se == pytest.approx(
        np.sqrt(((a.influence / 2 - b.influence / 2) ** 2).sum())
    )
    with pytest.raises(InputError, match="must not be negative"):
        weighted_mean(pair, [1, -1])
    with pytest.raises(InputError, match="both sides"):
        contrast([a], [])


def test_scaling_all_clusters_changes_nothing():
    once = hat_score([9, 5, 2, 7], 10, [8, 3, 1, 6], 10, groups=list("abcd"))
    twice = hat_score([9, 5, 2, 7] * 2, 10, [8, 3, 1, 6] * 2, 10, groups=list("abcd") * 2)
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high))


def test_json_round_trip_keeps_every_field(pair):
    unbounded = hat_score([10, 5, 0], 10, [8, 3, 1], 10)
    lost = hat_score([0, 0], 10, [1, 1], 10)
    for before in (*pair, unbounded, lost):
        after = Estimate.from_dict(json.loads(json.dumps(before.to_dict(), allow_nan=False)))
        for name in before.__slots__:
            old, new = getattr(before, name), getattr(after, name)
            if name == "clusters":
                assert list(new) == [str(c) for c in old]
            elif name == "influence":
                np.testing.assert_array_equal(new, old)
            else:
                assert new == old or (math.isnan(new) and math.isnan(old))


def test_json_of_something_else_is_refused(pair):
    plain = pair[0].to_dict()
    with pytest.raises(InputError, match="missing or unknown: value"):
        Estimate.from_dict({k: v for k, v in plain.items() if k != "value"})
    with pytest.raises(InputError, match="field se holds 'much'"):
        Estimate.from_dict({**plain, "se": "much"})
    with pytest.raises(InputError, match="influences for"):
        Estimate.from_dict({**plain, "influence": [1.0]})


def test_p_value_is_two_sided():
    data = simulate(300, slopes=0.5, source=(1, 1), rng=np.random.default_rng(1))
    got = hat_score(data.k_source, 10, data.k_target[:, 0], 10)
    assert p_value(got) < 1e-6
    assert p_value(got, null=got.value) == pytest.approx(1)
    assert p_value(got, null=got.low) == pytest.approx(0.05, abs=0.02)


def shares(rng, rates, *, items, targets, n=10):
    """Return target accuracies of one draw; `rates` gives true rates, shape (items, targets)."""
    truth = rates(rng, items, targets)
    source = np.clip(truth.mean(axis=1) * 1.3, 0, 1)
    k = rng.binomial(n, truth)
    found = classical_scores(rng.binomial(n, source), n, k, np.full(k.shape, n))
    return found["target_accuracy"]


def seldom(rng, items, targets):
    """Return rates of a model that knows one item in a hundred, the same ones everywhere."""
    return rng.beta(0.1, 5, (items, 1)) * np.linspace(0.3, 0.9, targets)


def test_a_mean_of_shares_stays_between_the_means_of_the_ends():
    rng = np.random.default_rng(3)
    for _ in range(50):
        parts = shares(rng, seldom, items=30, targets=5)
        found = mean_of_shares(parts)
        assert found.value == mean(parts).value
        assert np.mean([e.low for e in parts]) - 1e-12 <= found.low <= found.value
        assert found.value <= found.high <= np.mean([e.high for e in parts]) + 1e-12
        assert 0 <= found.low < found.high <= 1
    [part] = shares(rng, seldom, items=30, targets=1)
    alone = mean_of_shares([part])
    assert (alone.low, alone.high) == pytest.approx((part.low, part.high))
    # one share under several names is that share
    twice = mean_of_shares([part, part, part])
    assert (twice.low, twice.high) == pytest.approx((part.low, part.high))


def test_a_mean_of_shares_of_different_items_or_levels():
    rng = np.random.default_rng(4)
    a, b = (
        classical_scores(k, 10, k[:, None], np.full((20, 1), 10), groups=names)["target_accuracy"][
            0
        ]
        for k, names in (
            (rng.binomial(10, 0.5, 20), [f"a{i}" for i in range(20)]),
            (rng.binomial(10, 0.5, 20), [f"b{i}" for i in range(20)]),
        )
    )
    # independent parts: squares of their distances add
    found = mean_of_shares([a, b])
    below = np.hypot(a.value - a.low, b.value - b.low) / 2
    assert found.low == pytest.approx(found.value - below)
    other, usual = (f([a, b], confidence=0.5) for f in (mean_of_shares, mean))
    assert (other.low, other.high) == (usual.low, usual.high)


def test_a_mean_of_rare_shares_covers():
    """Symmetric intervals miss the truth in one case of six here, most of them from below."""
    rng = np.random.default_rng(5)
    draws = rng.beta(0.1, 5, 400_000)
    truth = float(draws.mean() * np.linspace(0.3, 0.9, 6).mean())
    hits = {mean: 0, mean_of_shares: 0}
    for _ in range(300):
        parts = shares(rng, seldom, items=40, targets=6)
        for how in hits:
            found = how(parts)
            hits[how] += found.low <= truth <= found.high
    assert hits[mean] < 0.9 * 300
    assert hits[mean_of_shares] > 0.93 * 300
