"""What a run may become: what it holds stays, what is more is asked for, the rest is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Bindable
from hatscore.benchmarks.chosen import load_chosen
from hatscore.errors import RunError
from hatscore.sampling import (
    BenchmarkPlan,
    Run,
    RunConfig,
    SamplingParams,
    SamplingPlan,
    make_tasks,
)
from hatscore.sampling.client import Completion
from hatscore.sampling.config import differences
from hatscore.sampling.plan import Decision
from hatscore.sampling.plan_state import BenchmarkState, PlanState
from hatscore.sampling.run import check_resumable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hatscore.sampling import Task

EFFICIENT = SamplingPlan("efficient", 0.15)


def plan_of(
    *languages: str,
    items: int | None = 6,
    repeats: int = 4,
    name: str = "wordmath",
    plan: SamplingPlan | None = None,
    options: Mapping[str, str] | None = None,
) -> BenchmarkPlan:
    benchmark = get_benchmark(name)
    if isinstance(benchmark, Bindable):
        benchmark = benchmark.bind(options or {})
    return BenchmarkPlan(
        name,
        benchmark.version,
        ("en", *languages),
        "en",
        repeats,
        items,
        options=options or {},
        plan=plan or SamplingPlan(),
    )


def config_of(*plans: BenchmarkPlan, address: str = "http://a/v1") -> RunConfig:
    params = SamplingParams()
    return RunConfig("openai-api/m", "openai-api", "m", "chat", "native", params, plans, address)


def tasks_of(plan: BenchmarkPlan) -> list[Task]:
    benchmark = get_benchmark(plan.name)
    if isinstance(benchmark, Bindable):
        benchmark = benchmark.bind(plan.options)
    _, items = load_chosen(
        benchmark,
        languages=plan.languages[1:],
        source_language="en",
        items=plan.items,
        seed=0,
        options=plan.options,
    )
    return make_tasks(benchmark, items, mode="chat", prompt_language="native", repeats=plan.repeats)


def begun(directory: Path, plan: BenchmarkPlan, *, text: str = "Answer: 1") -> RunConfig:
    """Make a run that holds a reply to the first prompt."""
    config = config_of(plan)
    with Run.create_or_resume(directory, config) as run:
        tasks = tasks_of(plan)
        run.store.put_items(tasks)
        run.store.put(tasks[0].cell, 0, Completion(text, "stop"), seed=None)
    return config


def refusal(directory: Path, *plans: BenchmarkPlan) -> str:
    """Return why a run cannot grow, and check that nothing was changed."""
    before = {p.name: p.read_bytes() for p in directory.iterdir() if p.suffix == ".json"}
    with pytest.raises(RunError, match="holds another run") as foretold:
        check_resumable(directory, config_of(*plans))
    with pytest.raises(RunError, match="holds another run") as caught:
        Run.create_or_resume(directory, config_of(*plans))
    assert str(foretold.value) == str(caught.value)
    assert {p.name: p.read_bytes() for p in directory.iterdir() if p.suffix == ".json"} == before
    return str(caught.value)


@pytest.mark.parametrize(
    "wider",
    [
        plan_of("de", "fr"),
        plan_of("de", repeats=6),
        plan_of("de", items=9),
        plan_of("de", items=None),
        plan_of("fr", "ru", "de", items=40, repeats=10),
    ],
    ids=["languages", "repeats", "items", "all items", "everything"],
)
def test_a_run_grows_and_keeps_what_it_has(tmp_path: Path, wider: BenchmarkPlan) -> None:
    stored = begun(tmp_path, plan_of("de"))
    asked = replace(config_of(wider, address="http://b/v1"), created_at="later")
    with Run.create_or_resume(tmp_path, asked) as run:
        assert run.resumed
        assert list(run.grown) == differences(stored, asked)
        # when and where it was begun stays
        assert run.config == replace(stored, benchmarks=(wider,))
        assert sum(run.store.counts().values()) == 1
        run.store.put_items(tasks_of(wider))
    with Run.open(tmp_path) as run:
        assert run.config.benchmarks == (wider,)
    with Run.create_or_resume(tmp_path, asked) as run:
        assert run.grown == ()
    assert "This cannot: wordmath: " in refusal(tmp_path, plan_of("de"))


def test_a_run_loses_nothing(tmp_path: Path) -> None:
    begun(tmp_path, plan_of("de", "fr"))
    for plan, why in (
        (plan_of("de", "ru"), "it holds fr too: ask for all its languages"),
        (plan_of("ru"), "it holds de, fr too"),
        (plan_of("de", "fr", "ru", repeats=3), "it holds 4 repeats: ask for as many or more"),
        (plan_of("de", "fr", items=4, repeats=9), "2 of its items ("),
    ):
        said = refusal(tmp_path, plan)
        assert why in said
        assert "benchmarks.wordmath." in said


def test_what_decides_replies_does_not_change_on_the_way(tmp_path: Path) -> None:
    """More languages do not excuse another seed, plan, option, mode or benchmark."""
    begun(tmp_path, plan_of("de"))
    wider = plan_of("de", "fr")
    for plans, line in (
        ((replace(wider, seed=1),), "seed: stored 0, asked 1"),
        ((replace(wider, plan=EFFICIENT),), "plan.kind: stored 'paper', asked 'efficient'"),
        ((replace(wider, options={"difficulty": "1"}),), "options.difficulty: stored nothing"),
        ((wider, plan_of("de", name="worldfacts")), "worldfacts.items: stored nothing"),
    ):
        said = refusal(tmp_path, *plans)
        assert line in said
        assert "languages: stored ['de', 'en'], asked ['de', 'en', 'fr']" in said or len(plans) > 1
        assert "may gain" not in said
    with pytest.raises(RunError, match="mode: stored 'chat', asked 'completion'"):
        Run.create_or_resume(tmp_path, replace(config_of(wider), mode="completion"))


def test_a_language_without_some_of_the_items_is_another_run(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    rows = [f"{i},{x},Question {i} {x}?,{i}" for i in range(8) for x in ("en", "de", "fr")]
    table.write_text("item,language,question,answer\n" + "\n".join(rows[:-4]) + "\n", "utf-8")
    options = {"data": str(table), "missing": "drop"}
    run = tmp_path / "run"
    begun(run, plan_of("de", name="custom", options=options, items=None))
    said = refusal(run, plan_of("de", "fr", name="custom", options=options, items=None))
    assert "1 of its items (6) are not among the 6 that are asked for" in said
    assert "leave out languages in which they do not exist" in said


def test_items_that_nobody_can_choose_again_do_not_grow(tmp_path: Path) -> None:
    gone = replace(plan_of("de"), name="of-a-package-that-is-gone")
    with Run.create_or_resume(tmp_path, config_of(gone)) as run:
        tasks = [replace(task, benchmark=gone.name) for task in tasks_of(plan_of("de"))]
        run.store.put_items(tasks)
        run.store.put(tasks[0].cell, 0, Completion("1"), seed=None)
    said = refusal(tmp_path, replace(gone, repeats=5))
    assert "nobody knows which items are asked for: unknown benchmark" in said
    old = replace(plan_of("de"), version="0")
    begun(tmp_path / "old", old)
    assert "its version is 0, not" in refusal(tmp_path / "old", replace(old, repeats=5))


# -- a run without replies ------------------------------------------------------------------


def test_a_start_that_brought_no_reply_leaves_no_run(tmp_path: Path) -> None:
    wrong = replace(config_of(plan_of("de")), model="openai-api/zzz", served_model="zzz")
    with Run.create_or_resume(tmp_path, wrong) as run:
        tasks = tasks_of(plan_of("de"))
        run.store.put_items(tasks)
        run.store.put(tasks[0].cell, 0, Completion("", error="HTTP 404"), seed=None)
    (tmp_path / "servers.json").write_text("[]", "utf-8")
    (tmp_path / "provider.json").write_text("[]", "utf-8")
    asked = config_of(plan_of("fr", name="worldfacts"))
    check_resumable(tmp_path, asked)
    with Run.create_or_resume(tmp_path, asked) as run:
        assert not run.resumed
        assert run.config == asked
        assert run.store.counts() == {}
    names = {path.name for path in tmp_path.iterdir()}
    assert not names & {"servers.json", "provider.json"}
    with Run.open(tmp_path) as run:
        assert run.config == asked


@pytest.mark.parametrize("name", ["verdicts.sqlite", "set-aside", "plan.json", "notes.txt"])
def test_a_directory_with_anything_else_is_left_alone(tmp_path: Path, name: str) -> None:
    """Shards set aside were paid for, and notes are somebody's."""
    Run.create_or_resume(tmp_path, config_of(plan_of("de"))).close()
    (tmp_path / name).mkdir()
    with pytest.raises(RunError, match="holds another run"):
        Run.create_or_resume(tmp_path, replace(config_of(plan_of("de")), model="x/y"))
    assert (tmp_path / name).is_dir()


# -- under a plan ---------------------------------------------------------------------------


def planned(
    directory: Path, plan: BenchmarkPlan, *, stage: str = "done", undecided: int = 0
) -> BenchmarkState:
    """Make a run whose plan has decided about its items."""
    begun(directory, plan)
    items = list(dict.fromkeys(task.item.id for task in tasks_of(plan)))
    items = items[: len(items) - undecided]
    targets = tuple(plan.languages[1:])
    state = BenchmarkState(
        plan.repeats,
        targets=dict.fromkeys(items, targets),
        decisions={item: Decision(i % 4, 4, 1.0) for i, item in enumerate(items)},
        replies={x: {item: i % 4 for i, item in enumerate(items)} for x in targets},
        levels=dict.fromkeys(targets, 4.0),
        widened=dict.fromkeys(targets, 1.2),
    )
    state.stage = stage  # type: ignore[assignment]
    PlanState(directory / "plan.json", {plan.name: state}).write()
    return state


def state_of(directory: Path) -> BenchmarkState:
    return PlanState.read(directory).benchmarks["wordmath"]


@pytest.mark.parametrize("plan", [EFFICIENT, SamplingPlan("width", 0.15, 0.1)], ids=str)
def test_new_languages_are_begun_by_what_is_decided(tmp_path: Path, plan: SamplingPlan) -> None:
    before = planned(tmp_path, plan_of("fr", "de", plan=plan))
    wider = config_of(plan_of("ru", "de", "fr", plan=plan))
    check_resumable(tmp_path, wider)
    assert state_of(tmp_path) == before  # it was only looked at
    Run.create_or_resume(tmp_path, wider).close()
    state = state_of(tmp_path)
    assert state.decisions == before.decisions
    assert state.replies == before.replies
    assert set(state.targets.values()) == {("de", "fr", "ru")}
    assert state.stage == "source"
    assert not state.widened  # they are estimated anew with the others
    Run.create_or_resume(tmp_path, wider).close()
    assert state_of(tmp_path) == state


def test_a_growth_that_was_killed_between_its_files_goes_on(tmp_path: Path) -> None:
    planned(tmp_path, plan_of("de", plan=EFFICIENT))
    old = (tmp_path / "run.json").read_text("utf-8")
    wider = config_of(plan_of("de", "fr", plan=EFFICIENT))
    Run.create_or_resume(tmp_path, wider).close()
    state = state_of(tmp_path)
    (tmp_path / "run.json").write_text(old, "utf-8")
    with Run.create_or_resume(tmp_path, wider) as run:
        assert run.config.benchmarks == wider.benchmarks
    assert state_of(tmp_path) == state


@pytest.mark.parametrize("stage", ["first", "targets", "done"])
def test_new_items_come_late_and_the_levels_are_found_again(tmp_path: Path, stage: str) -> None:
    before = planned(tmp_path, plan_of("de", plan=EFFICIENT), stage=stage)
    Run.create_or_resume(tmp_path, config_of(plan_of("de", plan=EFFICIENT, items=40))).close()
    state = state_of(tmp_path)
    assert state.stage == "first"
    assert state.decisions == before.decisions
    assert state.replies == before.replies


def test_what_a_plan_cannot_take_is_refused_with_the_reason(tmp_path: Path) -> None:
    plan = plan_of("de", plan=EFFICIENT)
    for name, settings, wider, why in (
        ("repeats", {}, replace(plan, repeats=6), "more would come too late"),
        (
            "both",
            {},
            plan_of("de", "fr", plan=EFFICIENT, items=9),
            "ask for the languages first, then for the items",
        ),
        (
            "stage",
            {"stage": "first"},
            plan_of("de", "fr", plan=EFFICIENT),
            "at the stage 'first': let it end first",
        ),
        (
            "undecided",
            {"undecided": 1},
            plan_of("de", "fr", plan=EFFICIENT),
            "let it end first",
        ),
        (
            "begun",
            {"stage": "source"},
            plan_of("de", plan=EFFICIENT, items=9),
            "at the stage 'source': let it end first",
        ),
    ):
        planned(tmp_path / name, plan, **settings)
        assert why in refusal(tmp_path / name, wider)


def test_before_anything_is_decided_a_planned_run_grows_as_any(tmp_path: Path) -> None:
    begun(tmp_path, plan_of("de", plan=EFFICIENT))
    wider = plan_of("de", "fr", plan=EFFICIENT, items=9, repeats=5)
    with Run.create_or_resume(tmp_path, config_of(wider)) as run:
        assert run.config.benchmarks == (wider,)
    assert not (tmp_path / "plan.json").exists()


def test_a_plan_of_older_rules_does_not_grow(tmp_path: Path) -> None:
    planned(tmp_path, plan_of("de", plan=EFFICIENT))
    path = tmp_path / "plan.json"
    text = path.read_text("utf-8").replace('"format":2', '"format":1')
    path.write_text(text.replace('{"de":4.0}', '{"de":[4.0,1]}'), "utf-8")
    assert not PlanState.read(tmp_path).continues
    assert "an older hatscore" in refusal(tmp_path, plan_of("de", "fr", plan=EFFICIENT))
