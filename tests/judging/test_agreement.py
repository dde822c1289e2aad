"""Agreement by hand and against naive counts; labels from a file."""

from __future__ import annotations

import math
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.errors import InputError, ReaderError
from hatscore.grading.agreement import (
    Proportion,
    agreement,
    cohen_kappa,
    judge_accuracy,
    krippendorff_alpha,
)
from hatscore.judging import ReplyKey, read_labels
from hatscore.stats import wilson

Y, N = True, False
VOTES = st.sampled_from([True, False, None])


def test_kappa_by_hand():
    # 45 both yes, 15 yes/no, 25 no/yes, 15 both no: p = .6, e = .7 * .6 + .3 * .4 = .54
    first = [Y] * 45 + [Y] * 15 + [N] * 25 + [N] * 15
    second = [Y] * 45 + [N] * 15 + [Y] * 25 + [N] * 15
    expected = 0.6 * 0.7 + 0.4 * 0.3
    assert cohen_kappa(first, second) == pytest.approx((0.6 - expected) / (1 - expected))
    assert cohen_kappa([*first, None, Y], [*second, Y, None]) == cohen_kappa(first, second)
    assert cohen_kappa([Y, N], [N, Y]) == -1
    assert math.isnan(cohen_kappa([Y, Y], [Y, Y]))
    assert math.isnan(cohen_kappa([None], [Y]))
    with pytest.raises(InputError, match="got 1 and 2"):
        cohen_kappa([Y], [Y, N])


def naive_alpha(table):
    """From the coincidence matrix, as the definition has it."""
    matrix = dict.fromkeys(product((Y, N), repeat=2), 0.0)
    for row in table:
        said = [v for v in row if v is not None]
        for (i, one), (j, two) in product(enumerate(said), repeat=2):
            if i != j:
                matrix[one, two] += 1 / (len(said) - 1)
    yes, no = (matrix[v, Y] + matrix[v, N] for v in (Y, N))
    if yes == 0 or no == 0:
        return math.nan
    return 1 - (yes + no - 1) * matrix[Y, N] / (yes * no)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.lists(VOTES, min_size=3, max_size=3), max_size=12))
def test_alpha_is_that_of_the_coincidence_matrix(table):
    assert krippendorff_alpha(table) == pytest.approx(naive_alpha(table), nan_ok=True, abs=1e-12)


def test_alpha_of_a_published_example():
    # Hayes and Krippendorff's binary example for two observers: ten units, four disagreements
    one = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    two = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    table = [[bool(a), bool(b)] for a, b in zip(one, two, strict=True)]
    assert krippendorff_alpha(table) == pytest.approx(0.095, abs=5e-4)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(VOTES, VOTES, VOTES), min_size=1, max_size=12))
def test_percent_counts_pairs(rows):
    votes = {
        name: dict(enumerate(said))
        for name, said in zip("abc", zip(*rows, strict=True), strict=True)
    }
    found = agreement(votes)
    pairs = [
        one == two
        for row in rows
        for one, two in combinations(row, 2)
        if one is not None and two is not None
    ]
    assert (found.percent.k, found.percent.n) == (sum(pairs), len(pairs))
    assert found.method == "krippendorff"
    assert found.unreadable == {n: list(v.values()).count(None) for n, v in votes.items()}


def test_two_judges_of_different_replies():
    found = agreement({"a": {1: Y, 2: N, 3: Y}, "b": {2: N, 3: N, 4: Y}})
    assert (found.replies, found.percent.k, found.percent.n) == (2, 1, 2)
    assert found.method == "cohen"
    with pytest.raises(InputError, match="two judges or more, got 1"):
        agreement({"a": {}})


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 200), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_interval_is_that_of_stats(n, share, confidence):
    k = round(share * n)
    got = Proportion.of(k, n, confidence=confidence)
    low, high = wilson(k, n, confidence)
    assert got.low == pytest.approx(float(low), abs=1e-9)
    assert got.high == pytest.approx(float(high), abs=1e-9)


def test_accuracy_by_hand():
    labels = {1: Y, 2: Y, 3: Y, 4: N, 5: N, 6: Y, 7: N}
    found = judge_accuracy("j", {1: Y, 2: Y, 3: N, 4: N, 5: Y, 6: None}, labels)
    assert (found.sensitivity.k, found.sensitivity.n) == (2, 3)
    assert (found.specificity.k, found.specificity.n) == (1, 2)
    assert (found.unreadable, found.unknown) == (1, 1)
    assert found.sensitivity.low < 2 / 3 < found.sensitivity.high
    nothing = judge_accuracy("j", {}, {1: Y})
    assert math.isnan(nothing.specificity.value)
    with pytest.raises(InputError, match="out of 2, got 3"):
        Proportion.of(3, 2)
    with pytest.raises(InputError, match="confidence"):
        Proportion.of(1, 2, confidence=1)


def test_labels_from_a_file(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text(
        "\ufeffbenchmark,item,language,repeat,label,who\nb,007,de,0,Yes,x\nb,7,de,1,0,x\nb,8,de,0,,\n",
        "utf-8",
    )
    assert read_labels(path) == {ReplyKey("b", "007", "de", 0): Y, ReplyKey("b", "7", "de", 1): N}
    path.write_text("benchmark,item,language,label\n", "utf-8")
    with pytest.raises(ReaderError, match="no column repeat"):
        read_labels(path)
    path.write_text(
        "benchmark,item,language,repeat,label\nb,1,de,0,maybe\nb,1,de,x,no\nb,2,de,0,no\n"
        "b,2,de,0,yes\n",
        "utf-8",
    )
    with pytest.raises(ReaderError, match="3 faulty rows") as caught:
        read_labels(path)
    for part in ("line 2: label 'maybe'", "line 3: repeat 'x'", "line 5: another label"):
        assert part in str(caught.value)
    with pytest.raises(ReaderError, match="cannot be read"):
        read_labels(tmp_path / "none.csv")
