from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.errors import InputError, InsufficientData
from hatscore.stats import hat_scores, simulate
from hatscore.stats.allocation import expected_source, learn, shares, target_repeats
from hatscore.stats.levels import (
    first_replies,
    further_replies,
    level_for_ratio,
    level_for_width,
)

SLOPES = (0.5, 0.7, 0.9)


def draw(seed, *, items=4000, concentration=3, n_target=2, correlation=0.5, source=(1, 1)):
    rng = np.random.default_rng(seed)
    return rng, simulate(
        items,
        slopes=SLOPES,
        source=source,
        concentration=concentration,
        correlation=correlation if concentration else 0.0,
        n_target=n_target,
        rng=rng,
    )


@settings(derandomize=True, deadline=None)
@given(st.floats(0.05, 1), st.floats(0.02, 0.98), st.floats(0.5, 20), st.integers(1, 30))
def test_a_further_reply_goes_where_it_lowers_the_variance_most(s, q, level, most):
    """With noise v = s**2 q (1 - q), n replies are right at a price that depends on the level."""
    n = int(target_repeats([s], [q], level, most=most)[0])
    noise, price = s * s * q * (1 - q), 1 / (4 * level**2)
    assert 1 <= n <= most
    if 1 < n < most:
        assert noise / (n * (n - 1)) >= price * (1 - 1e-9)
    if n < most:
        assert noise / (n * (n + 1)) <= price * (1 + 1e-9)
    assert target_repeats([0.0], [q], level, most=most).tolist() == [0]
    assert 0 < shares([s], [q], level)[0] <= 1
    assert n == 1 or shares([s], [q], level)[0] == 1


@pytest.mark.parametrize("source", [(2, 1), (1, 1), (0.4, 1.2)])
def test_expected_source_rates_are_those_of_the_items_with_that_count(source):
    rng, d = draw(1, items=60_000, source=source)
    expected = expected_source(d.k_source, 10)
    for k in (0, 2, 5, 9, 10):
        here = d.k_source == k
        assert expected[here][0] == pytest.approx(d.source_rates[here].mean(), abs=0.012)
    assert expected_source([10, 10], 10).max() <= 1
    assert expected_source([1, 0], 1).tolist() == [1, 0]
    assert (expected_source(rng.binomial(10, 0.3, 50), 10) < 0.6).all()


@pytest.mark.parametrize("concentration", [None, 3, 1])
def test_what_is_learned_predicts_the_width_of_other_plans(concentration):
    rng, d = draw(1, concentration=concentration, items=20_000)
    learned = learn(d.k_source, d.n_source, d.k_target, d.n_target)
    for level in (2.0, 4.0, 8.0):
        n, sent = learned.plan(level, most=10, further=False)
        drawn = rng.random(n.shape) < sent
        weights = np.where(drawn, 1 / sent, 0.0)
        weights[d.k_source == 0] = 1
        n = np.where(drawn, np.maximum(n, 1), 0)
        found = hat_scores(
            d.k_source, 10, rng.binomial(n.astype(int), d.target_rates), n, weights=weights
        )
        expected = learned.width(*learned.plan(level, most=10, further=False))
        for width, e in zip(expected, found, strict=True):
            assert width == pytest.approx(e.high - e.low, rel=0.08)
    full = hat_scores(d.k_source, 10, rng.binomial(10, d.target_rates), 10)
    for width, e in zip(learned.width(10), full, strict=True):
        assert width == pytest.approx(e.high - e.low, rel=0.08)


def test_levels_are_the_lowest_that_are_enough():
    _, d = draw(2)
    learned = learn(d.k_source, d.n_source, d.k_target, d.n_target)
    level = level_for_ratio(learned, 1.25, paper=10, further=False)
    full = learned.width(10).mean()
    ratio = [learned.widths(c, paper=10, further=False).mean() / full for c in (level, 0.9 * level)]
    assert ratio[0] <= 1.25 < ratio[1]
    one = learned.columns([1])
    wanted = float(one.widths(5.0, paper=10, further=False)[0])
    assert level_for_width(one, wanted, paper=10, further=False) == pytest.approx(5.0, rel=0.02)
    assert level_for_width(one, 1e-6, paper=10) == 200
    assert level_for_width(one, 1.0, paper=10, least=3.0) == 3.0
    # two replies everywhere are there already, and what is there stays
    n, share = learned.plan(0.6, most=10, further=True)
    assert (n[d.k_source > 0] == 2).all()
    assert (share[d.k_source > 0] == 1).all()


def test_one_reply_per_item_borrows_what_the_slope_expects():
    _, two = draw(3)
    rng = np.random.default_rng(4)
    one = rng.binomial(1, two.target_rates)
    a = learn(two.k_source, two.n_source, two.k_target, two.n_target)
    b = learn(two.k_source, two.n_source, one, np.ones_like(one))
    np.testing.assert_allclose(a.width(10), b.width(10), rtol=0.15)


def test_an_item_missed_elsewhere_is_expected_to_be_missed():
    k = np.array([[2, 2, 1], [0, 0, 1], [1, 1, 1]] * 20)
    learned = learn(np.full(60, 8), np.full(60, 10), k, np.full(k.shape, 2))
    easy, hard, usual = learned.expected[:3, 2]
    assert easy > usual > hard
    alone = learn(np.full(60, 8), np.full(60, 10), k[:, :1], np.full((60, 1), 2))
    assert np.ptp(alone.expected) == 0


def test_no_reply_is_planned_by_replies_to_the_same_cell():
    """Whatever the replies to one item in one language are, they change nothing about itself."""
    rng, d = draw(5, items=60)
    n, share = first_replies(d.k_source, d.n_source, most=10)
    n = np.broadcast_to(n[:, None], d.n_target.shape)
    k = rng.binomial(n, d.target_rates)
    folds = np.arange(60) % 3
    weights = np.ones(n.shape)

    def plan(counts):
        return further_replies(
            d.k_source,
            d.n_source,
            counts,
            n,
            weights=weights,
            folds=folds,
            level=lambda x: level_for_ratio(x, 1.25, paper=10),
            most=10,
        )

    before = plan(k)
    assert (before.replies >= n).all()
    assert ((before.share > 0) & (before.share <= 1)).all()
    assert ((share > 0) & (share <= 1)).all()
    moved = False
    for i, j in [(3, 0), (17, 1), (42, 2), (55, 0)]:
        other = k.copy()
        other[i, j] = n[i, j] - k[i, j]
        after = plan(other)
        assert after.replies[i, j] == before.replies[i, j]
        assert after.share[i, j] == before.share[i, j]
        assert after.levels[i, j] == before.levels[i, j]
        moved |= bool((after.levels != before.levels).any())
    assert moved


def test_where_nothing_teaches_a_level_is_given():
    found = further_replies(
        [10, 0, 5],
        [10, 10, 10],
        np.zeros((3, 1)),
        np.zeros((3, 1)),
        weights=np.ones((3, 1)),
        folds=[0, 0, 0],
        level=lambda _: 1.0,
        most=10,
    )
    assert found.levels.tolist() == [[4.0]] * 3
    assert found.replies[1, 0] == 0
    assert found.replies[0, 0] >= 3


def test_what_cannot_be():
    with pytest.raises(InsufficientData, match="two of its replies"):
        learn([0, 1, 0], [10, 10, 10], [[0], [1], [0]], [[2], [2], [2]])
    learned = learn([5, 8], [10, 10], [[1], [2]], [[2], [2]])
    with pytest.raises(InputError, match="above that of the full one"):
        level_for_ratio(learned, 1.0, paper=10)
    with pytest.raises(InputError, match="positive"):
        level_for_width(learned, 0, paper=10)
