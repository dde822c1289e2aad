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
    Decision,
    Level,
    SamplingPlan,
    decide,
    parse_plan,
    pilots_of,
    rank,
    repeats_of,
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


def test_pilots_are_few_and_fixed() -> None:
    languages = ["de", "fr", "ja", "sw", "th"]
    first = pilots_of(languages, seed=1, benchmark="b")
    assert len(first) == 3
    assert pilots_of(languages[::-1], seed=1, benchmark="b") == first
    assert pilots_of(["de"], seed=1, benchmark="b") == ["de"]


@pytest.mark.parametrize(
    ("k", "weight", "level", "wanted"),
    [
        (10, 1.0, Level(4.0), 4),
        (6, 1.0, Level(4.0), 2),
        (1, 1.0, Level(4.0), 1),
        (1, 1.0, Level(2.0, 2), 2),
        (10, 1.0, Level(40.0), 10),
        (0, 6.5, Level(9.0, 2), 1),
        (0, 0.0, Level(9.0), 0),
    ],
)
def test_replies_of_an_item(k: int, weight: float, level: Level, wanted: int) -> None:
    assert repeats_of(Decision(k, 10, weight), level, 10) == wanted


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
        targets={"a": ("de", "fr"), "b": ("de",), "c": ("de", "fr")},
        decisions={
            "a": Decision(3, 10, 1.0),
            "b": Decision(0, 9, 0.0),
            "c": Decision(0, 10, 2.0),
        },
        levels={"de": Level(2.5), "fr": Level(2.0, 2)},
        stage="targets",
        widened={"de": 1.2},
        widths={"de": 0.04},
    )
    assert PlanState.read(tmp_path).benchmarks == {}
    PlanState(tmp_path / PLAN_NAME, {"b": state}).write()
    again = PlanState.read(tmp_path).benchmarks["b"]
    assert again == state
    assert again.omitted("de") == ["b"]
    assert again.omitted("fr") == []
    assert [again.repeats(i, "de") for i in "abc"] == [1, 0, 1]
    assert again.repeats("x", "de") is None
    assert again.repeats("a", "sw") is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "benchmarks": {"b": {"most": 1}}}']
)
def test_damage_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / PLAN_NAME).write_text(text)
    with pytest.raises(RunError, match=PLAN_NAME):
        PlanState.read(tmp_path)
