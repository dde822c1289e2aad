"""Lines with two uncertainties, functions of estimates, many claims at once."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from hatscore import hat_score
from hatscore.errors import InputError
from hatscore.stats import Estimate, mean
from hatscore.studies.effects import benjamini_hochberg, fit, function_of, over_units, scoped


def point(value, *, clusters=("a", "b", "c"), influence=(0.01, -0.02, 0.01)):
    labels = np.empty(len(clusters), dtype=object)
    labels[:] = list(clusters)
    e = np.asarray(influence, dtype=float)
    se = math.sqrt(float(e @ e))
    return Estimate(
        value, value - 2 * se, value + 2 * se, se, "x", "delta", 0.95, 50, 40.0,
        influence=e, clusters=labels,
    )  # fmt: skip


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_false_discovery_rates_agree_with_statsmodels(p):
    ours = benjamini_hochberg(p)
    assert ours == pytest.approx(multipletests(p, method="fdr_bh")[1])


def test_a_missing_p_takes_no_part():
    q = benjamini_hochberg([0.01, math.nan, 0.04])
    assert q[0] == pytest.approx(0.02)
    assert math.isnan(q[1])


def test_a_line_agrees_with_statsmodels():
    rng = np.random.default_rng(0)
    x, z, y = rng.normal(size=(3, 12))
    lines = fit({"x": x, "z": z}, [point(v) for v in y], confidence=0.9)
    known = sm.OLS(y, sm.add_constant(np.column_stack([x, z]))).fit()
    for j, line in enumerate(lines, start=1):
        assert line.value == pytest.approx(known.params[j])
        assert line.se == pytest.approx(known.bse[j])
        assert line.p == pytest.approx(known.pvalues[j])
        assert (line.low, line.high) == pytest.approx(tuple(known.conf_int(0.1)[j]))


def test_within_families_each_has_its_own_level():
    x = [0.0, 1.0, 0.0, 1.0]
    y = [0.2, 0.3, 0.7, 0.8]
    (line,) = fit({"x": x}, [point(v) for v in y], absorb=list("aabb"), confidence=0.95)
    assert line.value == pytest.approx(0.1)


def test_uncertainty_of_items_cancels_where_models_share_it():
    scores = [point(v) for v in (0.1, 0.2, 0.3)]
    (shared,) = fit({"x": [0.0, 1.0, 2.0]}, scores, confidence=0.95)
    own = [point(v, clusters=(f"{i}a", f"{i}b", f"{i}c")) for i, v in enumerate((0.1, 0.2, 0.3))]
    (apart,) = fit({"x": [0.0, 1.0, 2.0]}, own, confidence=0.95)
    assert shared.items.se == pytest.approx(0.0, abs=1e-15)
    assert apart.items.se == pytest.approx(math.sqrt(0.5) * own[0].se)


def test_points_without_scatter_to_see_say_so():
    (line,) = fit({"x": [0.0, 1.0]}, [point(0.1), point(0.3)], confidence=0.95)
    assert line.value == pytest.approx(0.2)
    assert math.isnan(line.p)
    assert "nothing is left" in line.reason


@pytest.mark.parametrize(
    ("covariates", "reason"),
    [
        ({"x": [1.0, 1.0, 1.0, 1.0]}, "do not vary"),
        ({"x": [1.0, 2.0, 3.0, 4.0], "z": [2.0, 4.0, 6.0, 8.0]}, "do not vary"),
        ({k: [1.0, 2.0, 4.0, 8.0] for k in "abcd"}, "too few"),
    ],
)
def test_lines_that_do_not_exist_are_missing(covariates, reason):
    for line in fit(covariates, [point(v) for v in (0.1, 0.2, 0.3, 0.5)], confidence=0.95):
        assert math.isnan(line.value)
        assert reason in line.reason


def test_covariates_must_fit_the_scores():
    with pytest.raises(InputError, match="2 scores needs 2 values"):
        fit({"x": [1.0]}, [point(0.1), point(0.2)], confidence=0.95)


def test_the_delta_method_of_a_product():
    a, b = point(0.5, influence=(0.01, 0.0, -0.01)), point(0.8, influence=(0.0, 0.02, -0.02))
    product = function_of([a, b], 0.4, [0.8, 0.5], name="ab", confidence=0.95)
    expected = 0.8 * a.influence + 0.5 * b.influence
    assert product.value == 0.4
    assert product.se == pytest.approx(math.sqrt(float(expected @ expected)))
    assert product.low < 0.4 < product.high


def test_items_of_two_benchmarks_are_not_paired():
    one, two = scoped(point(0.5), "b1"), scoped(point(0.7), "b2")
    assert mean([one, two]).se == pytest.approx(one.se / math.sqrt(2))
    assert mean([one, scoped(point(0.7), "b1")]).se == pytest.approx(one.se)


def test_a_mean_over_many_does_not_hang_on_its_weakest():
    strong = hat_score([9, 5, 2, 8, 7, 6] * 20, 10, [8, 3, 1, 7, 6, 4] * 20, 10)
    weak = hat_score([9, 1, 0, 0], 10, [8, 0, 0, 0], 10, groups=[900, 901, 902, 903])
    both = over_units([strong] * 9 + [weak], confidence=0.95)
    assert both.value == pytest.approx(mean([strong] * 9 + [weak]).value)
    assert both.n_effective > 50 > weak.n_effective
