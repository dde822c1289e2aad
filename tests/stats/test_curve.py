from __future__ import annotations

import numpy as np
import pytest

from hatscore.errors import InputError
from hatscore.stats.curve import mixing_distribution, transfer_curve


@pytest.mark.parametrize(
    ("shape", "truth"),
    [
        (lambda s: 0.8 * s, 0.8),
        (lambda s: s**2, 2 / 3),
        (lambda s: 0.3 + 0.5 * s, 1.1),
        (np.sqrt, 4 / 3),
    ],
)
def test_integral_of_any_rising_shape_is_found_through_the_noise(shape, truth):
    rng = np.random.default_rng(1)
    s = rng.beta(1, 1, size=4000)
    got = transfer_curve(rng.binomial(10, s), 10, rng.binomial(10, shape(s)), 10, n_resamples=0)
    assert got.integral == pytest.approx(truth, abs=0.03)
    assert np.all(np.diff(got.target_rate) >= -1e-9)
    middle = got.source_rate.searchsorted(0.5)
    assert got.target_rate[middle] == pytest.approx(shape(0.5), abs=0.08)


def test_noise_is_taken_out_of_the_source_distribution():
    rng = np.random.default_rng(2)
    s = np.where(rng.random(5000) < 0.5, 0.2, 0.9)
    rates, shares = mixing_distribution(rng.binomial(10, s), 10)
    assert shares.sum() == pytest.approx(1)
    near = shares[np.abs(rates - 0.2) < 0.06].sum() + shares[np.abs(rates - 0.9) < 0.06].sum()
    assert near > 0.95  # the observed rates spread over all of 0 to 1


def test_bootstrap_interval_holds_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(25):
        s = rng.beta(1, 1, size=300)
        t = rng.binomial(10, 0.7 * s)
        got = transfer_curve(rng.binomial(10, s), 10, t, 10, n_resamples=40, rng=rng)
        hits += got.integral_low <= 0.7 <= got.integral_high
    assert hits >= 20


def test_unequal_numbers_of_replies_and_missing_cells():
    got = transfer_curve([5, 1, 0, 3], [5, 2, 4, 10], [5, 1, 0, 0], [5, 2, 4, 0], n_resamples=5)
    assert np.isfinite(got.integral)
    assert np.all(got.low <= got.high)


def test_nothing_to_fit_is_an_error():
    with pytest.raises(InputError, match="0 with both"):
        transfer_curve([1], [1], [0], [0])
    with pytest.raises(InputError, match="grid of at least 2"):
        mixing_distribution([1], 1, grid=1)
