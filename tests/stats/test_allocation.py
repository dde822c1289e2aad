from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.errors import InputError, InsufficientData
from hatscore.sampling.plan import Decision, Level, repeats_of
from hatscore.stats import hat_scores, simulate
from hatscore.stats.allocation import (
    level_for_ratio,
    level_for_width,
    spread_of,
    target_repeats,
    widened,
)


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 30), st.data(), st.floats(0.25, 20), st.integers(1, 30))
def test_sampling_and_statistics_mean_the_same_replies(n, data, level, most):
    """The room that samples cannot import the one that computes, so the rule stands twice."""
    k = data.draw(st.integers(0, n))
    weight = 1.0 if k else 0.0
    wanted = repeats_of(Decision(k, n, weight), Level(level), most)
    assert target_repeats([k], n, level, most=most).tolist() == [wanted]
    assert wanted <= most
    assert (wanted >= 1) == (k > 0)


def draw(seed, *, slope=0.7, items=4000, concentration=3, n_target=2):
    rng = np.random.default_rng(seed)
    return rng, simulate(
        items, slopes=slope, concentration=concentration, n_target=n_target, rng=rng
    )


@pytest.mark.parametrize("concentration", [None, 3, 1])
def test_the_spread_predicts_the_width_of_other_plans(concentration):
    rng, d = draw(1, concentration=concentration, items=20_000)
    spread = spread_of(d.k_source, 10, d.k_target[:, 0], d.n_target[:, 0])
    for level in (1.5, 4.0, 8.0):
        n = target_repeats(d.k_source, 10, level, most=10)
        k = rng.binomial(n[:, None], d.target_rates)
        found = hat_scores(d.k_source, 10, k, n[:, None])[0]
        assert spread.width(n) == pytest.approx(found.high - found.low, rel=0.08)
    full = hat_scores(d.k_source, 10, rng.binomial(10, d.target_rates), 10)[0]
    assert spread.width(10) == pytest.approx(full.high - full.low, rel=0.08)


def test_levels_are_the_lowest_that_are_enough():
    _, d = draw(2)
    spread = spread_of(d.k_source, 10, d.k_target[:, 0], d.n_target[:, 0])
    level = level_for_ratio([spread, spread], 1.25, least=1, paper=10)
    assert widened([spread], level, paper=10) <= 1.25 < widened([spread], level - 0.125, paper=10)
    assert level_for_ratio([spread], 1.25, least=6, paper=10) == 6
    wanted = 0.5 * (spread.width(10) + spread.width(np.minimum(d.k_source, 1)))
    level = level_for_width(spread, wanted, least=1, paper=10)
    n = target_repeats(d.k_source, 10, level, most=10)
    assert spread.width(n) <= wanted
    assert level_for_width(spread, 1e-6, least=1, paper=10) == 20
    assert level_for_width(spread, 1.0, least=1, paper=10) == 1


def test_one_reply_per_item_borrows_what_the_slope_expects():
    _, two = draw(3, concentration=3)
    rng = np.random.default_rng(4)
    one = rng.binomial(1, two.target_rates[:, 0])
    a = spread_of(two.k_source, 10, two.k_target[:, 0], 2)
    b = spread_of(two.k_source, 10, one, 1)
    assert b.width(10) == pytest.approx(a.width(10), rel=0.15)


def test_what_cannot_be():
    with pytest.raises(InsufficientData, match="two of its replies"):
        spread_of([0, 1, 0], 10, [0, 1, 0], 2)
    spread = spread_of([5, 8], 10, [1, 2], 2)
    with pytest.raises(InputError, match="above that of the full one"):
        level_for_ratio([spread], 1.0, least=1, paper=10)
    with pytest.raises(InputError, match="positive"):
        level_for_width(spread, 0, least=1, paper=10)
