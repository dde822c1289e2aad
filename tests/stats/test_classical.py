from __future__ import annotations

import numpy as np
import pytest

from hatscore.stats import CLASSICAL, classical_scores, simulate, wilson

KS, KT = np.array([10, 5, 0, 8]), np.array([[8], [3], [1], [8]])


def values(**kwargs):
    return {k: v[0] for k, v in classical_scores(KS, 10, KT, 10, **kwargs).items()}


def test_by_hand():
    got = values()
    assert tuple(got) == CLASSICAL
    assert got["source_accuracy"].value == pytest.approx(2.3 / 4)
    assert got["target_accuracy"].value == pytest.approx(2.0 / 4)
    assert got["gap"].value == pytest.approx(0.3 / 4)
    assert got["ratio"].value == pytest.approx(2.0 / 2.3)
    assert got["transfer_score"].value == pytest.approx((0.8 + 0.15 + 0.64) / 2.3)
    assert got["overall"].value == pytest.approx((0.8 + 0.15 + 0.64) / 4)


def test_missing_cells_leave_the_pair_out():
    nt = np.array([[10], [0], [10], [10]])
    kt = np.where(nt > 0, KT, 0)
    got = {k: v[0] for k, v in classical_scores(KS, 10, kt, nt).items()}
    assert got["source_accuracy"].value == pytest.approx(1.8 / 3)
    assert got["target_accuracy"].n_items == 3


@pytest.mark.parametrize(("ks", "kt"), [(10, 10), (10, 0), (0, 0)])
def test_every_interval_has_a_width_at_the_boundary(ks, kt):
    got = classical_scores(np.full(30, ks), 10, np.full((30, 1), kt), 10)
    for name, (estimate,) in got.items():
        if np.isnan(estimate.value):
            assert estimate.reason, name
        else:
            assert estimate.high > estimate.low, name


def test_one_reply_per_item_gives_wilsons_interval():
    kt = np.array([[1]] * 12 + [[0]] * 5)
    got = classical_scores(np.ones(17), 1, kt, 1)["target_accuracy"][0]
    low, high = wilson(12, 17, 0.95)
    assert (got.low, got.high) == pytest.approx((low, high))


def test_proportions_stay_inside_the_unit_interval():
    data = simulate(40, slopes=0.95, source=(30, 1), rng=np.random.default_rng(0))
    got = classical_scores(data.k_source, 10, data.k_target, 10)
    for name in ("source_accuracy", "target_accuracy", "transfer_score", "overall"):
        assert 0 <= got[name][0].low <= got[name][0].high <= 1


def test_coverage_of_accuracy_and_gap():
    rng = np.random.default_rng(8)
    hits = dict.fromkeys(("target_accuracy", "gap", "transfer_score"), 0)
    # E S = 1/3, E T = .2, E ST / E S = .6 E S^2 / E S = .6 * (1/6) / (1/3)
    truth = {"target_accuracy": 0.2, "gap": 2 / 15, "transfer_score": 0.3}
    for _ in range(400):
        d = simulate(150, slopes=0.6, source=(1, 2), concentration=3, rng=rng)
        got = classical_scores(d.k_source, 10, d.k_target, 10)
        for name in hits:
            hits[name] += got[name][0].low <= truth[name] <= got[name][0].high
    for name, count in hits.items():
        assert 0.92 <= count / 400 <= 0.98, name
