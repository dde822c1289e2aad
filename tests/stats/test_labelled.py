"""The slope corrected by labels: by hand, against loops over pairs, and with a known truth."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hatscore.errors import InputError
from hatscore.stats import hat_score, mean
from hatscore.stats.clusters import Clusters
from hatscore.stats.judged import ErrorRates, judged_hat_score
from hatscore.stats.labelled import labelled_scores
from hatscore.stats.labels import Replies, label_rates, rates_differ


def replies(yes, label, *, text=None, more=0.0):
    """Make `Replies` of arrays of shape (items, repeats); `more` replies that no judge sees."""
    items, repeats = yes.shape
    codes = np.tile(np.arange(repeats), (items, 1)) if text is None else text
    return Replies(
        np.full(items, float(repeats) + more),
        np.repeat(np.arange(items), repeats),
        codes.ravel(),
        yes.ravel().astype(bool),
        label.ravel().astype(float),
    )


def some(rng, right, share):
    """Label a share of the replies."""
    return np.where(rng.random(right.shape) < share, right, np.nan)


def test_error_rates_by_hand_when_labels_are_drawn_by_verdict():
    # 8 yes and 2 no; of 4 labelled yes 3 are right, of 2 labelled no 1 is:
    # P(right) = .8 * .75 + .2 * .5 = .7, a = .6 / .7, 1 - f = .1 / .3
    yes = np.array([[1, 1, 1, 1, 1, 1, 1, 1, 0, 0]])
    nan = np.nan
    label = np.array([[1, 1, 1, 0, nan, nan, nan, nan, 1, 0]])
    found = labelled_scores([replies(yes, label)], [0]).rates[0]
    assert found.sensitivity.value == pytest.approx(0.6 / 0.7)
    assert found.specificity.value == pytest.approx(0.1 / 0.3)
    assert (found.right, found.wrong, found.yes_right, found.no_wrong) == (4, 2, 3, 1)
    assert found.sensitivity.low < 0.6 / 0.7 < found.sensitivity.high


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_a_judge_without_error_changes_no_score_but_leaves_some_doubt(seed):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1, 12)
    right = [rng.random((12, 5)) < q[:, None] for q in (p, 0.7 * p)]
    labels = [some(rng, z, 0.4) for z in right]
    for z, label in zip(right, labels, strict=True):
        known = ~np.isnan(label)
        assume((known & z).any() and (known & ~z).any())
    got = labelled_scores([replies(z, x) for z, x in zip(right, labels, strict=True)], np.zeros(12))
    plain = hat_score(right[0].sum(1), 5, right[1].sum(1), 5)
    assume(not math.isnan(plain.value))
    assert got.scores[0] is None
    assert got.scores[1].value == pytest.approx(plain.value, rel=1e-12)
    assert got.scores[1].se > plain.se


def by_loops(source, target):
    """Return the slope as the module defines it, pair by pair."""
    rates = []
    for _, yes, label, _ in (source, target):
        known = ~np.isnan(label)
        q1, q0 = label[known & (yes == 1)].mean(), label[known & (yes == 0)].mean()
        y = yes.mean()
        right = y * q1 + (1 - y) * q0
        rates.append((y * q1 / right, y * (1 - q1) / (1 - right)))
    x, d = [], []
    for (_, yes, label, _), (a, f) in zip((source, target), rates, strict=True):
        known = ~np.isnan(label)
        x.append((yes - f) / (a - f))
        w = np.zeros(yes.shape)
        for said in (0, 1):
            w[known & (yes == said)] = (yes == said).sum() / (known & (yes == said)).sum()
        d.append(np.where(known, w * (label - x[-1]), 0.0))
    top = bottom = 0.0
    (n_s, text_s), (n_t,) = (source[0], source[3]), (target[0],)
    for i in range(len(x[0])):
        for j in range(x[0].shape[1]):
            for k in range(x[1].shape[1]):
                one, two = x[0][i, j], x[1][i, k]
                mended = one * two + (d[0][i, j] * two + one * d[1][i, k]) / 2
                top += mended / (n_s * n_t)
        for j, k in permutations(range(x[0].shape[1]), 2):
            if text_s[i, j] == text_s[i, k]:
                pair = x[0][i, j] + d[0][i, j]  # z z = z
            else:
                pair = x[0][i, j] * x[0][i, k] + d[0][i, j] * x[0][i, k]
            bottom += pair / (n_s * (n_s - 1))
    return top / bottom if bottom > 0 else math.nan


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(0, 2))
def test_loops_over_pairs_find_the_same(seed, unseen):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 1, 7)
    sides = []
    for q in (p, 0.8 * p):
        right = rng.random((7, 4)) < q[:, None]
        text = rng.integers(0, 3, (7, 4))
        # replies of one text are right together, and judged alike
        right = np.take_along_axis(right, text, axis=1)
        yes = np.where(right, rng.random((7, 4)) < 0.9, rng.random((7, 4)) < 0.2)
        yes = np.take_along_axis(yes, text, axis=1).astype(float)
        sides.append((4 + unseen, yes, some(rng, right, 0.6), text))
    for _, yes, label, _ in sides:
        known = ~np.isnan(label)
        assume(all((known & (yes == said)).any() for said in (0, 1)))
        assume(0 < label[known].mean() < 1)
    got = labelled_scores(
        [replies(yes, label, text=text, more=unseen) for _, yes, label, text in sides], [0] * 7
    )
    assume(all(r.sensitivity.value + r.specificity.value > 1.05 for r in got.rates))
    wanted = by_loops(*sides)
    if math.isnan(wanted):
        assert math.isnan(got.scores[1].value)
    else:
        assert got.scores[1].value == pytest.approx(wanted, rel=1e-9)


def judge(rng, right, a, b, *, alike):
    """Return verdicts; `alike`: sensitivity and specificity differ between items."""
    items = len(right)
    if alike:
        a, b = rng.beta(2 * a, 2 * (1 - a), items), rng.beta(2 * b, 2 * (1 - b), items)
    a, b = np.broadcast_to(a, items)[:, None], np.broadcast_to(b, items)[:, None]
    return np.where(right, rng.random(right.shape) < a, rng.random(right.shape) > b)


def study(draws, *, seed, alike=False, m=0.7, items=150, share=0.15, by_verdict=False):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(draws):
        p = rng.beta(1, 1, items)
        sides, counts = [], []
        for q, a in ((p, 0.9), (m * p, 0.75)):
            right = rng.random((items, 8)) < q[:, None]
            yes = judge(rng, right, a, 0.95, alike=alike)
            # twice the labels where the judge says yes
            likely = np.where(yes, 2 * share, share) if by_verdict else share
            sides.append(replies(yes, some(rng, right, likely)))
            counts.append(yes.sum(1))
        got = labelled_scores(sides, np.zeros(items)).scores[1]
        plain = hat_score(counts[0], 8, counts[1], 8)
        known = judged_hat_score(
            counts[0],
            8,
            counts[1],
            8,
            source=ErrorRates(0.9, 0.95),
            target=ErrorRates(0.75, 0.95, judge="target"),
        )
        covered = got.low <= m <= got.high
        rows.append((got.value, covered, got.se, plain.value, known.value))
    return np.array(rows).T


@pytest.mark.parametrize(
    "world", [{}, {"alike": True}, {"by_verdict": True}], ids=["independent", "alike", "by verdict"]
)
def test_truth_is_recovered_and_covered(world):
    value, covered, se, plain, known = study(300, seed=4, **world)
    assert abs(value.mean() - 0.7) < 4 * value.std() / math.sqrt(300) + 0.004
    assert 0.92 <= covered.mean() <= 0.985
    assert se.mean() == pytest.approx(value.std(), rel=0.15)
    assert plain.mean() < 0.66  # what it is good for
    if "alike" in world:
        # known error rates alone do not help where the judge errs alike on one item
        assert known.mean() < 0.67


def test_forgetting_that_labels_are_scored_replies_is_not_needed():
    """With every reply labelled the judge's errors are known, and little doubt is left."""
    value, covered, se, *_ = study(60, seed=5, share=1.1)
    assert covered.mean() >= 0.9
    sparse = study(60, seed=5, share=0.1)
    assert se.mean() < 0.6 * sparse[2].mean()
    assert abs(value.mean() - 0.7) < 0.03


def languages(rng, slopes, *, items=80, share=0.3):
    p = rng.beta(1, 1, items)
    found = []
    for slope in slopes:
        right = rng.random((items, 6)) < slope * p[:, None]
        found.append(replies(judge(rng, right, 0.85, 0.95, alike=False), some(rng, right, share)))
    return found


def test_means_and_differences_of_languages_are_joint():
    found = languages(np.random.default_rng(1), (1.0, 0.8, 0.6))
    _, one, two = labelled_scores(found, np.zeros(80)).scores
    assert list(one.clusters) == list(two.clusters)
    assert one.influence.sum() == pytest.approx(0, abs=1e-12)
    joint = mean([one, two])
    # the labels of the source stand behind both
    assert joint.se > math.hypot(one.se, two.se) / 2


def test_one_rate_for_all_languages_is_surer():
    found = languages(np.random.default_rng(2), (1.0, 0.8, 0.6))
    apart = labelled_scores(found, np.zeros(80)).scores[2]
    pooled = labelled_scores(found, np.zeros(80), pooled=True)
    assert len({id(rates) for rates in pooled.rates}) == 1
    assert pooled.scores[2].se < apart.se
    # labels in one language serve all
    bare = [found[0], *(Replies(r.n, r.item, r.text, r.yes, r.label * np.nan) for r in found[1:])]
    assert labelled_scores(bare, np.zeros(80), pooled=True).scores[2].value == pytest.approx(
        0.6, abs=0.2
    )


def test_rates_that_differ_are_told_from_those_that_do_not():
    rng = np.random.default_rng(11)
    equal, other = [], []
    for _ in range(200):
        right = rng.random((150, 4)) < 0.5
        same = [
            replies(judge(rng, right, 0.85, 0.9, alike=False), some(rng, right, 0.3)) for _ in "ab"
        ]
        worse = replies(judge(rng, right, 0.6, 0.9, alike=False), some(rng, right, 0.3))
        clusters = Clusters.of(None, 150)
        rates = [label_rates(r, clusters, 0.95).public for r in (*same, worse)]
        equal.append(rates_differ(rates[:2]))
        other.append(rates_differ(rates))
    assert np.mean(np.array(equal) < 0.05) <= 0.09
    assert np.mean(np.array(other) < 0.01) > 0.8
    assert rates_differ(rates[:1]) == 1


def test_every_item_may_have_its_own_source_language():
    rng = np.random.default_rng(3)
    items = 400
    home = np.arange(items) % 2
    p = rng.beta(2, 1, items)
    found = []
    for j in range(3):
        right = rng.random((items, 8)) < np.where(home == j, p, 0.6 * p)[:, None]
        yes = judge(rng, right, (0.95, 0.8, 0.7)[j], 0.95, alike=False)
        found.append(replies(yes, some(rng, right, 0.3)))
    scores = labelled_scores(found, home).scores
    assert [s.n_items for s in scores] == [200, 200, 400]
    for score in scores:
        assert score.low <= 0.6 <= score.high


def test_cells_that_a_plan_left_out_are_stood_for():
    """Keeping a fifth of the unsolved items, each for five, changes no expectation."""
    rng = np.random.default_rng(7)
    rows = []
    for _ in range(300):
        p = rng.beta(0.6, 1, 150)
        right = [rng.random((150, 8)) < q[:, None] for q in (p, 0.7 * p + 0.1 * (1 - p))]
        yes = [judge(rng, z, a, 0.9, alike=False) for z, a in zip(right, (0.9, 0.75), strict=True)]
        labels = [some(rng, z, 0.15) for z in right]
        full = [replies(y, x) for y, x in zip(yes, labels, strict=True)]
        unsolved = np.flatnonzero(yes[0].sum(1) == 0)
        kept = rng.choice(unsolved, max(len(unsolved) // 5, 1), replace=False)
        weights = np.ones((150, 2))
        weights[unsolved, 1] = 0
        weights[kept, 1] = len(unsolved) / len(kept)
        there = weights[full[1].item, 1] > 0
        target = Replies(
            np.where(weights[:, 1] > 0, full[1].n, 0.0),
            *(x[there] for x in (full[1].item, full[1].text, full[1].yes, full[1].label)),
        )
        whole = labelled_scores(full, np.zeros(150)).scores[1]
        part = labelled_scores([full[0], target], np.zeros(150), weights=weights).scores[1]
        assert part.n_items == whole.n_items == 150
        rows.append((whole.value, part.value, part.se))
    whole, part, se = np.array(rows).T
    assert part.mean() == pytest.approx(whole.mean(), abs=4 * (part - whole).std() / math.sqrt(300))
    assert se.mean() == pytest.approx(part.std(), rel=0.2)


def test_few_labels_leave_the_score_unbounded_and_perfect_ones_some_doubt():
    rng = np.random.default_rng(6)
    found = languages(rng, (1.0, 0.8), items=60, share=1.0)

    def first(r, n):
        keep = np.zeros(len(r.label), dtype=bool)
        for said in (True, False):
            for truth in (0.0, 1.0):
                keep[np.flatnonzero((r.yes == said) & (r.label == truth))[:n]] = True
        return Replies(r.n, r.item, r.text, r.yes, np.where(keep, r.label, np.nan))

    few = labelled_scores([first(r, 1) for r in found], np.zeros(60)).scores[1]
    assert math.isnan(few.value) or math.isinf(few.high) or "label more" in few.reason
    assert few.reason


def test_a_judge_that_tells_nothing_gives_no_score():
    right = np.tile([1, 0], (10, 2))
    yes = np.tile([1, 1, 0, 0], (10, 1))
    found = [replies(yes, right.astype(float))] * 2
    got = labelled_scores(found, np.zeros(10)).scores[1]
    assert math.isnan(got.value)
    assert got.reason == "the judge's verdicts say nothing of the labels"


def test_messages():
    yes = np.array([[1, 0, 1, 0]])
    nothing = np.full((1, 4), np.nan)
    with pytest.raises(InputError, match="no labelled reply is one that the judge calls right"):
        labelled_scores([replies(yes, nothing)] * 2, [0])
    with pytest.raises(InputError, match="all labelled replies are wrong"):
        labelled_scores([replies(yes, np.zeros((1, 4)))] * 2, [0])
    with pytest.raises(InputError, match="indices of the 2 languages"):
        labelled_scores([replies(yes, yes.astype(float))] * 2, [2])
    with pytest.raises(InputError, match="expected n of shape"):
        labelled_scores([replies(yes, yes.astype(float))], [0, 0])
