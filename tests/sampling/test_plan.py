"""What a plan decides: by the source alone, the same in every run, never twice."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.errors import InputError, RunError, UnknownNameError
from hatscore.sampling import BenchmarkPlan, RunConfig, SamplingParams
from hatscore.sampling.config import differences
from hatscore.sampling.plan import (
    FEWEST_KEPT,
    FOLDS,
    Decision,
    SamplingPlan,
    decide,
    draw,
    fold_of,
    parse_plan,
    rank,
)
from hatscore.sampling.plan_state import PLAN_NAME, BenchmarkState, PlanState

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
    st.integers(0, 10).map(lambda k: (k if k > 3 else 0, 10)),
    max_size=60,
)


@settings(derandomize=True, deadline=None)
@given(COUNTS, st.floats(0.01, 1), st.integers(0, 5))
def test_weights_stand_for_exactly_the_unsolved(
    counts: dict[str, tuple[int, int]], keep: float, seed: int
) -> None:
    found = decide(counts, keep=keep, seed=seed, benchmark="b")
    assert list(found) == list(counts)
    unsolved = [d for d in found.values() if d.k == 0]
    kept = [d for d in unsolved if d.weight > 0]
    assert all(d.weight == 1 for d in found.values() if d.k > 0)
    assert sum(d.weight for d in unsolved) == pytest.approx(len(unsolved))
    assert len({d.weight for d in kept}) <= 1
    assert len(kept) == min(len(unsolved), max(math.ceil(keep * len(unsolved)), FEWEST_KEPT))
    # the order of items decides nothing
    again = decide(dict(reversed(counts.items())), keep=keep, seed=seed, benchmark="b")
    assert again == found


def test_the_choice_is_random_over_seeds_and_benchmarks() -> None:
    counts = {str(i): (0, 10) for i in range(40)}
    kept = [0] * 40
    for seed in range(400):
        for i, d in decide(counts, keep=0.25, seed=seed, benchmark="b").items():
            kept[int(i)] += d.weight > 0
    assert sum(kept) == 4000
    assert all(55 <= n <= 150 for n in kept)
    assert rank("abcdefgh", 0, "one") != rank("abcdefgh", 0, "two")
    assert sorted(rank("abcdefgh", 0, "one")) == list("abcdefgh")


KINDS = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
    st.tuples(st.integers(1, 3), st.integers(0, 1)),
    max_size=60,
)


@settings(derandomize=True, deadline=None)
@given(KINDS, st.floats(0.01, 1), st.floats(0.01, 1))
def test_those_that_are_drawn_stand_for_their_kind(
    kinds: dict[str, tuple[int, int]], part: float, more: float
) -> None:
    def drawn(share: float) -> dict[str, float]:
        shares = dict.fromkeys(kinds, share)
        return draw(kinds, shares, seed=1, benchmark="b", language="de")

    low, high = sorted((part, more))
    few, many = drawn(low), drawn(high)
    assert few.keys() <= many.keys() <= kinds.keys()
    for kind in set(kinds.values()):
        members = [item for item in kinds if kinds[item] == kind]
        weights = [few[item] for item in members if item in few]
        assert sum(weights) == pytest.approx(len(members))
        assert len(set(weights)) == 1
        assert len(weights) == max(1, math.ceil(low * len(members) - 1e-9))
    assert drawn(1.0) == dict.fromkeys(kinds, 1.0)


def test_draws_differ_between_languages_and_not_between_runs() -> None:
    kinds = {str(i): (1, 0) for i in range(200)}
    shares = dict.fromkeys(kinds, 0.2)
    drawn = {
        language: set(draw(kinds, shares, seed=0, benchmark="b", language=language))
        for language in ("de", "fr")
    }
    assert len(drawn["de"]) == len(drawn["fr"]) == 40
    assert len(drawn["de"] & drawn["fr"]) < 20
    turned = dict(reversed(kinds.items()))
    assert set(draw(turned, shares, seed=0, benchmark="b", language="de")) == drawn["de"]


def test_folds_are_a_random_part_of_the_items_each() -> None:
    folds = [fold_of(str(i), seed=0, benchmark="b") for i in range(2000)]
    assert set(folds) == set(range(FOLDS))
    assert all(0.8 < folds.count(f) * FOLDS / 2000 < 1.2 for f in range(FOLDS))
    assert folds != [fold_of(str(i), seed=1, benchmark="b") for i in range(2000)]


def test_words_of_plans() -> None:
    assert parse_plan("paper") == SamplingPlan()
    assert parse_plan("efficient", keep=0.3) == SamplingPlan("efficient", 0.3)
    assert str(parse_plan(" width=0.020 ")) == "width=0.02"
    for text in ("efficent", "width", "width=", "paper=3", ""):
        with pytest.raises(InputError):
            parse_plan(text)
    with pytest.raises(UnknownNameError, match="efficient"):
        parse_plan("eficient")
    for keep in (0.0, 1.5, math.nan):
        with pytest.raises(InputError, match="kept"):
            SamplingPlan("efficient", keep)
    with pytest.raises(InputError, match=r"\(0, 1\]"):
        parse_plan("width=2")
    with pytest.raises(InputError, match="write width="):
        SamplingPlan("width")


def test_the_plan_is_part_of_what_a_run_is() -> None:
    def config(plan: SamplingPlan) -> RunConfig:
        one = BenchmarkPlan("b", "1", ("de", "en"), "en", 10, plan=plan)
        return RunConfig("m", "c", "m", "chat", "native", SamplingParams(), (one,))

    paper, efficient = config(SamplingPlan()), config(SamplingPlan("efficient", 0.15))
    assert RunConfig.from_json(efficient.to_json()) == efficient
    assert differences(paper, efficient) == [
        "benchmarks.b.plan.keep: stored 1.0, asked 0.15",
        "benchmarks.b.plan.kind: stored 'paper', asked 'efficient'",
    ]
    before = json.loads(paper.to_json())
    del before["benchmarks"][0]["plan"]  # as runs were written before there were plans
    assert RunConfig.from_json(json.dumps(before)) == paper


def test_state_survives_the_disk(tmp_path: Path) -> None:
    state = BenchmarkState(
        10,
        targets={"a": ("de", "fr"), "b": ("de",), "c": ("de", "fr"), "d": ("de", "fr")},
        decisions={
            "a": Decision(3, 10, 1.0),
            "b": Decision(0, 9, 0.0),
            "c": Decision(0, 10, 2.0),
            "d": Decision(1, 10, 1.0),
        },
        replies={"de": {"a": 2, "b": 0, "c": 1, "d": 0}, "fr": {"a": 1, "c": 1, "d": 1}},
        standing={"de": {"a": 2.0}},
        levels={"de": 2.5, "fr": 2.0},
        stage="targets",
        widened={"de": 1.2},
        widths={"de": 0.04},
    )
    assert PlanState.read(tmp_path).benchmarks == {}
    PlanState(tmp_path / PLAN_NAME, {"b": state}).write()
    again = PlanState.read(tmp_path).benchmarks["b"]
    assert again == state
    assert again.omitted("de") == ["b", "d"]
    assert again.omitted("fr") == []
    assert [again.repeats(i, "de") for i in "abcd"] == [2, 0, 1, 0]
    assert [again.weight(i, "de") for i in "abcd"] == [2.0, 0.0, 2.0, 0.0]
    assert [again.weight(i, "fr") for i in "abcd"] == [1.0, 1.0, 2.0, 1.0]
    assert again.repeats("x", "de") is None
    assert again.repeats("a", "sw") is None


def test_plans_of_the_first_format_are_scored_but_not_continued(tmp_path: Path) -> None:
    written = {
        "format": 1,
        "benchmarks": {
            "b": {
                "most": 10,
                "languages": [["de", "fr"]],
                "items": {"a": [6, 10, 1.0, 0], "b": [0, 10, 0.0, 0], "c": [0, 10, 2.0, 0]},
                "levels": {"de": [4.0, 1]},
                "stage": "pilot",
                "widened": {},
                "widths": {},
            }
        },
    }
    (tmp_path / PLAN_NAME).write_text(json.dumps(written))
    plans = PlanState.read(tmp_path)
    state = plans.benchmarks["b"]
    assert [state.repeats(item, "de") for item in "abc"] == [2, 0, 1]
    assert [state.weight(item, "de") for item in "abc"] == [1.0, 0.0, 2.0]
    assert state.repeats("a", "fr") is None
    assert state.omitted("de") == ["b"]
    with pytest.raises(
        RunError, match=r"older hatscore decided the plan of b .* another directory"
    ):
        plans.require_continuing()
    written["benchmarks"]["b"]["stage"] = "done"
    (tmp_path / PLAN_NAME).write_text(json.dumps(written))
    PlanState.read(tmp_path).require_continuing()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 3}',
        '{"format": 1}',
        '{"format": 1, "benchmarks": {"b": {"most": 1}}}',
    ],
)
def test_damage_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / PLAN_NAME).write_text(text)
    with pytest.raises(RunError, match=PLAN_NAME):
        PlanState.read(tmp_path)
