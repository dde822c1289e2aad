from __future__ import annotations

import numpy as np
import pytest

from hatscore.errors import InputError
from hatscore.stats import hat_score, simulate
from hatscore.stats.design import cheapest_plan, components, components_of_rates, plan


@pytest.mark.parametrize(
    ("source", "n_source", "n_target", "concentration"),
    [((1, 1), 10, 10, None), ((0.5, 1.5), 10, 3, 3), ((3, 0.5), 4, 2, 1), ((1, 1), 2, 1, 3)],
)
def test_predicted_variance_is_what_simulated_runs_show(source, n_source, n_target, concentration):
    rng = np.random.default_rng(1)
    truth = simulate(200_000, slopes=0.7, source=source, concentration=concentration, rng=rng)
    parts = components_of_rates(truth.source_rates, truth.target_rates[:, 0])
    expected = plan(parts, n_items=300, n_source=n_source, n_target=n_target).width
    widths, values = [], []
    for _ in range(400):
        d = simulate(
            300,
            slopes=0.7,
            source=source,
            n_source=n_source,
            n_target=n_target,
            concentration=concentration,
            rng=rng,
        )
        got = hat_score(d.k_source, n_source, d.k_target[:, 0], n_target)
        widths.append(got.high - got.low)
        values.append(got.value)
    assert np.mean(widths) == pytest.approx(expected, rel=0.05)
    assert np.std(values) * 2 * 1.96 == pytest.approx(expected, rel=0.12)


def test_pilot_recovers_the_components_of_the_truth():
    rng = np.random.default_rng(2)
    d = simulate(100_000, slopes=0.6, source=(1, 2), concentration=2, rng=rng)
    pilot = components(d.k_source, 10, d.k_target[:, 0], 10)
    truth = components_of_rates(d.source_rates, d.target_rates[:, 0])
    for n_source, n_target in ((10, 10), (3, 1)):
        a, b = pilot.variance(n_source, n_target), truth.variance(n_source, n_target)
        for part in ("items", "source", "target"):
            assert a[part] == pytest.approx(b[part], rel=0.05, abs=2e-4)
    assert pilot.solved(5) == pytest.approx(truth.solved(5), abs=0.01)


def test_more_replies_never_widen_and_items_are_a_floor():
    parts = components_of_rates(np.linspace(0, 1, 50), np.linspace(0, 1, 50) ** 2)
    widths = [plan(parts, n_items=100, n_source=n, n_target=n).width for n in (2, 5, 10, 50)]
    assert widths == sorted(widths, reverse=True)
    shares = plan(parts, n_items=100).shares
    assert sum(shares.values()) == pytest.approx(1)


def test_skipping_unsolved_items_saves_replies_and_no_width():
    rates = np.concatenate([np.zeros(60), np.full(40, 0.8)])
    parts = components_of_rates(rates, 0.5 * rates)
    full = plan(parts, n_items=100, n_languages=10)
    saving = plan(parts, n_items=100, n_languages=10, skip_unsolved=True, keep=0.1)
    assert saving.width == full.width
    assert saving.replies == pytest.approx(100 * (10 + 10 * 10 * (0.4 + 0.1 * 0.6)), rel=1e-6)


def test_cheapest_plan_is_narrow_enough_and_none_cheaper_is():
    rng = np.random.default_rng(3)
    d = simulate(2000, slopes=0.8, source=(1, 1), concentration=3, rng=rng)
    parts = components(d.k_source, 10, d.k_target[:, 0], 10)
    got = cheapest_plan(parts, width=0.1, max_items=1000, n_languages=5)
    assert got is not None
    assert got.width <= 0.1
    for n_source in range(2, 20):
        for n_target in range(1, 20):
            other = plan(
                parts,
                n_items=got.n_items,
                n_source=n_source,
                n_target=n_target,
                n_languages=5,
                skip_unsolved=True,
            )
            assert other.replies >= got.replies - 1e-9 or other.width > 0.1
    assert cheapest_plan(parts, width=0.001, max_items=100) is None


def test_wrong_numbers_are_named():
    with pytest.raises(InputError, match="at least 4 source and 2 target"):
        components([1, 2], 3, [1, 1], 3)
    with pytest.raises(InputError, match="never solved"):
        components([0, 0], 10, [1, 1], 10)
    with pytest.raises(InputError, match="must lie in"):
        components_of_rates([1.2], [0.5])
    parts = components_of_rates([0.5], [0.5])
    with pytest.raises(InputError, match="n_source >= 2"):
        plan(parts, n_items=10, n_source=1)
    with pytest.raises(InputError, match="width > 0"):
        cheapest_plan(parts, width=0, max_items=10)
