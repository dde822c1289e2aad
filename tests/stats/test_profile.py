from __future__ import annotations

import math

import numpy as np
import pytest

from hatscore.stats import profile, simulate


def test_line_has_no_curvature_and_its_slope_is_the_integral():
    d = simulate(20_000, slopes=0.6, source=(1, 1), rng=np.random.default_rng(1))
    (got,) = profile(d.k_source, 10, d.k_target, 10)
    assert got.integral.value == pytest.approx(0.6, abs=0.01)
    assert got.slope.value == pytest.approx(0.6, abs=0.03)
    assert got.curvature_p > 0.001


def test_curve_is_found_through_the_noise():
    rng = np.random.default_rng(2)
    s = rng.beta(1, 1, size=20_000)
    t = 0.2 * s + 0.6 * s**2
    (got,) = profile(rng.binomial(10, s), 10, rng.binomial(10, t), 10)
    assert got.slope.value == pytest.approx(0.2, abs=0.03)
    assert got.curvature.value == pytest.approx(0.6, abs=0.04)
    assert got.integral.value == pytest.approx(0.2 + 0.4, abs=0.01)
    assert got.curvature_p < 1e-6


def test_p_values_of_a_line_are_uniform_enough():
    rng = np.random.default_rng(3)
    small = 0
    for _ in range(400):
        d = simulate(150, slopes=0.7, source=(1, 1), concentration=3, rng=rng)
        small += profile(d.k_source, 10, d.k_target, 10)[0].curvature_p < 0.05
    assert 0.02 <= small / 400 <= 0.09


def test_too_few_replies_or_no_spread_is_missing_with_a_reason():
    (few,) = profile([3, 2, 1], 3, [1, 1, 1], 3)
    assert math.isnan(few.integral.value)
    assert "at least 4" in few.integral.reason
    (flat,) = profile([10] * 20, 10, [5] * 20, 10)
    assert "vary too little" in flat.integral.reason
