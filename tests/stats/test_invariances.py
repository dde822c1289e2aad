"""One dictionary of metrics drives what must hold for all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hatscore.stats import CLASSICAL, classical_scores, hat_macro, hat_scores, profile


def classical(name):
    return lambda ks, ns, kt, nt, groups: classical_scores(ks, ns, kt, nt, groups=groups)[name]


METRICS = {
    "corrected": lambda ks, ns, kt, nt, groups: hat_scores(ks, ns, kt, nt, groups=groups),
    "plugin": lambda ks, ns, kt, nt, groups: hat_scores(
        ks, ns, kt, nt, groups=groups, estimator="plugin"
    ),
    "chance-adjusted": lambda ks, ns, kt, nt, groups: hat_scores(
        ks, ns, kt, nt, groups=groups, chance=0.1
    ),
    "delta": lambda ks, ns, kt, nt, groups: hat_scores(
        ks, ns, kt, nt, groups=groups, interval="delta"
    ),
    "macro": lambda ks, ns, kt, nt, groups: [hat_macro(ks, ns, kt, nt, groups=groups)],
    "profile": lambda ks, ns, kt, nt, groups: [
        p.integral for p in profile(ks, ns, kt, nt, groups=groups)
    ],
    **{name: classical(name) for name in CLASSICAL},
}


def loops(s, t, u):
    """Every value once more, in plain loops over plain numbers."""
    items = range(len(s))
    st_sum = sum(s[i] * t[i] for i in items)
    mean_s, mean_t = sum(s) / len(s), sum(t) / len(t)

    def over(top, bottom):
        return top / bottom if bottom > 0 else math.nan

    return {
        "corrected": over(st_sum, sum(u)),
        "plugin": over(st_sum, sum(x * x for x in s)),
        "source_accuracy": mean_s,
        "target_accuracy": mean_t,
        "gap": mean_s - mean_t,
        "ratio": over(mean_t, mean_s),
        "transfer_score": over(st_sum, sum(s)),
        "overall": st_sum / len(s),
    }


@st.composite
def tables(draw):
    """Counts of 3 targets over a few items, in a few clusters, with 4 to 8 replies each."""
    size = draw(st.integers(3, 25))
    n = draw(st.integers(4, 8))
    numbers = st.lists(st.integers(0, n), min_size=size, max_size=size)
    ks = np.array(draw(numbers))
    kt = np.column_stack([draw(numbers) for _ in range(3)])
    groups = draw(st.lists(st.integers(0, 6), min_size=size, max_size=size))
    return ks, n, kt, np.array(groups)


def numbers(estimates):
    return np.array([[e.value, e.low, e.high, e.se, e.n_effective] for e in estimates])


def same(one, other, rtol=1e-7):
    np.testing.assert_allclose(numbers(one), numbers(other), rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("name", METRICS)
@given(table=tables(), seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True, max_examples=25)
def test_order_of_items_and_names_of_clusters_do_not_matter(name, table, seed):
    ks, n, kt, groups = table
    order = np.random.default_rng(seed).permutation(len(ks))
    renamed = np.array([f"cluster {6 - g}" for g in groups])
    same(
        METRICS[name](ks, n, kt, n, groups),
        METRICS[name](ks[order], n, kt[order], n, renamed[order]),
    )


@pytest.mark.parametrize("name", [m for m in METRICS if m != "macro"])
@given(table=tables())
@settings(deadline=None, derandomize=True, max_examples=25)
def test_one_target_alone_scores_as_among_others(name, table):
    ks, n, kt, groups = table
    among = METRICS[name](ks, n, kt, n, groups)
    alone = [METRICS[name](ks, n, kt[:, [j]], n, groups)[0] for j in range(kt.shape[1])]
    same(among, alone)


@pytest.mark.parametrize("name", METRICS)
@given(table=tables())
@settings(deadline=None, derandomize=True, max_examples=25)
def test_the_same_items_twice_in_the_same_clusters_change_nothing(name, table):
    ks, n, kt, groups = table
    once = METRICS[name](ks, n, kt, n, groups)
    twice = METRICS[name](np.tile(ks, 2), n, np.tile(kt, (2, 1)), n, np.tile(groups, 2))
    same(once, twice)


@pytest.mark.parametrize("name", METRICS)
@given(table=tables())
@settings(deadline=None, derandomize=True, max_examples=25)
def test_interval_holds_the_value_and_has_a_width_or_there_is_a_reason(name, table):
    ks, n, kt, groups = table
    for got in METRICS[name](ks, n, kt, n, groups):
        if math.isnan(got.value):
            assert got.reason
            continue
        assert got.low <= got.value <= got.high
        assert got.se >= 0
        if name != "profile":  # a curve through as many points as it has terms has no spread
            assert got.high > got.low


@given(table=tables())
@settings(deadline=None, derandomize=True, max_examples=100)
def test_plain_loops_agree(table):
    ks, n, kt, _ = table
    s = [k / n for k in ks.tolist()]
    u = [k * (k - 1) / (n * (n - 1)) for k in ks.tolist()]
    for j in range(kt.shape[1]):
        expected = loops(s, [k / n for k in kt[:, j].tolist()], u)
        for name, value in expected.items():
            got = METRICS[name](ks, n, kt[:, [j]], n, None)[0].value
            assert got == pytest.approx(value, abs=1e-12, nan_ok=True), name


@given(table=tables(), split=st.integers(1, 3))
@settings(deadline=None, derandomize=True, max_examples=25)
def test_a_constant_transfer_is_found_exactly(table, split):
    ks, n, _, _ = table
    assume((ks > 1).any())
    # a target that is right exactly as often as the source, over the plug-in's square
    got = METRICS["plugin"](ks, n, np.column_stack([ks] * split), n, None)
    assert [e.value for e in got] == pytest.approx([1.0] * split)
