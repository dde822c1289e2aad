"""Against other people's code: the script that makes the reference is the test."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from hatscore.stats import classical_scores, hat_score, simulate, wilson

with warnings.catch_warnings():
    # what these packages warn of while they are imported is theirs
    warnings.simplefilter("ignore")
    statsmodels = pytest.importorskip("statsmodels.api")
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    isotonic = pytest.importorskip("sklearn.isotonic")


@pytest.fixture
def data():
    return simulate(
        240, slopes=0.7, source=(0.6, 1.2), concentration=3, rng=np.random.default_rng(7)
    )


def test_plugin_and_its_error_are_cluster_robust_least_squares_through_the_origin(data):
    groups = np.repeat(np.arange(60), 4)
    s, t = data.k_source / 10, data.k_target[:, 0] / 10
    fit = statsmodels.WLS(t, s[:, None]).fit(
        cov_type="cluster",
        cov_kwds={"groups": groups, "use_correction": False},
    )
    ours = hat_score(data.k_source, 10, data.k_target[:, 0], 10, estimator="plugin", groups=groups)
    assert ours.value == pytest.approx(fit.params[0], rel=1e-12)
    assert ours.se == pytest.approx(fit.bse[0], rel=1e-12)


def test_corrected_slope_is_the_instrumental_variable_fit_averaged_over_split_halves(data):
    # One half of the source replies is the instrument of the other half: both see the true
    # rate with independent noise. Averaged over all splits of 10 replies into 5 and 5, the
    # moments are those of pairs of different replies, which is the unbiased square.
    rng = np.random.default_rng(1)
    t = data.k_target[:, 0] / 10
    replies = np.zeros((240, 10))
    for i, k in enumerate(data.k_source):
        replies[i, :k] = 1
    top = bottom = 0.0
    for _ in range(4000):
        shuffled = rng.permuted(replies, axis=1)
        first, second = shuffled[:, :5].mean(1), shuffled[:, 5:].mean(1)
        top += first @ t
        bottom += first @ second
    ours = hat_score(data.k_source, 10, data.k_target[:, 0], 10)
    assert ours.value == pytest.approx(top / bottom, rel=5e-4)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (250, 1000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson(k, n, level):
    expected = proportion.proportion_confint(k, n, alpha=1 - level, method="wilson")
    low, high = wilson(k, n, level)
    assert (float(low), float(high)) == pytest.approx(expected, abs=1e-12)


def test_accuracy_of_single_replies_has_wilsons_interval():
    kt = np.array([[1]] * 31 + [[0]] * 9)
    got = classical_scores(np.ones(40), 1, kt, 1)["target_accuracy"][0]
    expected = proportion.proportion_confint(31, 40, method="wilson")
    assert (got.low, got.high) == pytest.approx(expected, abs=1e-12)


def test_curve_without_noise_is_isotonic_regression():
    from hatscore.stats.curve import transfer_curve

    # with 4000 replies the source rate is known, and nothing is left to correct
    rng = np.random.default_rng(3)
    s = rng.choice(np.linspace(0, 1, 11), size=3000)
    t = rng.binomial(20, np.clip(s**1.5, 0, 1))
    ours = transfer_curve(np.round(s * 4000), 4000, t, 20, n_resamples=0)
    model = isotonic.IsotonicRegression(y_min=0, y_max=1).fit(s, t / 20)
    at = np.linspace(0, 1, 11)
    found = np.interp(at, ours.source_rate, ours.target_rate)
    np.testing.assert_allclose(found, model.predict(at), atol=0.02)
