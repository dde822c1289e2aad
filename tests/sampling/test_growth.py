"""What a run may become: what it holds stays, what is more is asked for, the rest is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import hatscore.sampling.run as run_module
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
from hatscore.sampling.cluster_shard import Aside
from hatscore.sampling.config import differences
from hatscore.sampling.plan import Decision
from hatscore.sampling.plan_state import BenchmarkState, PlanState
from hatscore.sampling.run import check_resumable
from hatscore.sampling.store import Store

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


def begun(directory: Path, plan: BenchmarkPlan, *, whole: bool = False) -> RunConfig:
    """Make a run that holds a reply to the first prompt, or all that it asks for."""
    config = config_of(plan)
    with Run.create_or_resume(directory, config) as run:
        tasks = tasks_of(plan)
        run.store.put_items(tasks)
        for task in tasks if whole else tasks[:1]:
            for repeat in range(task.repeats if whole else 1):
                run.store.put(task.cell, repeat, Completion("Answer: 1", "stop"), seed=None)
    return config


def fail(directory: Path, plan: BenchmarkPlan) -> RunConfig:
    """Ask a run for `plan` where no reply comes: every request that it lacks ends in an error."""
    with Run.create_or_resume(directory, config_of(plan)) as run:
        tasks = tasks_of(plan)
        run.store.put_items(tasks)
        held = run.store.good_repeats()
        for task in tasks:
            for repeat in set(range(task.repeats)) - set(held.get(task.cell, ())):
                run.store.put(task.cell, repeat, Completion("", error="HTTP 503"), seed=None)
        return run.config


def contents(directory: Path) -> tuple[object, ...]:
    """Return what a run is, all its rows and all that its plan has decided."""
    with Run.open(directory) as run:
        return (
            run.config,
            run.store.counts(),
            list(run.store.rows()),
            PlanState.read(directory).benchmarks,
        )


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


def test_a_run_loses_nothing(tmp_path: Path) -> None:
    begun(tmp_path, plan_of("de", "fr"), whole=True)
    for plan, why in (
        (plan_of("de", "ru"), "it holds fr too: ask for all its languages"),
        (plan_of("ru"), "it holds de, fr too"),
        (plan_of("de", "fr", "ru", repeats=3), "it holds 4 repeats: ask for as many or more"),
        (plan_of("de", "fr", items=4, repeats=9), "2 of its items ("),
    ):
        said = refusal(tmp_path, plan)
        assert f"and lose those without a reply. This cannot: wordmath: {why}" in said
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
    begun(run, plan_of("de", name="custom", options=options, items=None), whole=True)
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


# -- what has brought no reply ------------------------------------------------------------------


@pytest.mark.parametrize(
    "wider",
    [
        plan_of("de", "fr"),
        plan_of("de", repeats=6),
        plan_of("de", items=9),
        plan_of("fr", "ru", "de", items=40, repeats=10),
    ],
    ids=["languages", "repeats", "items", "everything"],
)
def test_what_has_brought_no_reply_is_given_up_again(tmp_path: Path, wider: BenchmarkPlan) -> None:
    before = begun(tmp_path, plan_of("de"), whole=True)
    was = contents(tmp_path)
    grown = fail(tmp_path, wider)
    assert contents(tmp_path) != was
    check_resumable(tmp_path, before)
    assert contents(tmp_path)[0] == grown  # it was only looked at
    with Run.create_or_resume(tmp_path, before) as run:
        assert list(run.grown) == differences(grown, before)
    assert contents(tmp_path) == was
    fail(tmp_path, wider)
    with Run.create_or_resume(tmp_path, config_of(wider)) as run:
        held = run.store.good_repeats()
        new = next(t for t in tasks_of(wider) if len(held.get(t.cell, ())) < wider.repeats)
        run.store.put(new.cell, wider.repeats - 1, Completion("Answer: 1"), seed=None)
    assert "This cannot: wordmath: " in refusal(tmp_path, plan_of("de"))


def test_some_is_given_up_while_other_joins(tmp_path: Path) -> None:
    begun(tmp_path, plan_of("de"), whole=True)
    fail(tmp_path, plan_of("de", "fr"))
    asked = plan_of("de", "ru", items=9)
    with Run.create_or_resume(tmp_path, config_of(asked)) as run:
        assert run.config.benchmarks == (asked,)
        assert {cell.language for cell in run.store.counts()} == {"en", "de"}


def test_what_was_set_aside_may_be_of_what_is_given_up(tmp_path: Path) -> None:
    begun(tmp_path, plan_of("de"), whole=True)
    fail(tmp_path, plan_of("de", "fr"))
    Aside(tmp_path).put(b"paid for")
    assert "take them in with --mixed-models first" in refusal(tmp_path, plan_of("de"))


# -- under a plan ---------------------------------------------------------------------------


def planned(
    directory: Path,
    plan: BenchmarkPlan,
    *,
    stage: str = "done",
    undecided: int = 0,
    whole: bool = False,
) -> BenchmarkState:
    """Make a run whose plan has decided about its items."""
    begun(directory, plan, whole=whole)
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
    assert state.widened == before.widened  # those that join have none yet
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


def begin(directory: Path, *languages: str) -> None:
    """Decide first replies in `languages`, as the stages do, of which none comes."""
    plans = PlanState.read(directory)
    state = plans.benchmarks["wordmath"]
    for language in languages:
        state.replies[language] = dict.fromkeys(state.decisions, 1)
        state.standing[language] = {}
    state.stage = "first"
    plans.write()


PLANS = pytest.mark.parametrize("plan", [EFFICIENT, SamplingPlan("width", 0.15, 0.1)], ids=str)


@PLANS
@pytest.mark.parametrize("asked_for", [False, True])
def test_a_plan_is_where_it_was_without_the_languages_that_never_answered(
    tmp_path: Path, plan: SamplingPlan, *, asked_for: bool
) -> None:
    narrow = plan_of("de", "fr", plan=plan)
    planned(tmp_path, narrow, whole=True)
    was = contents(tmp_path)
    wide = plan_of("ru", "fr", "it", "de", plan=plan)
    fail(tmp_path, wide)
    if asked_for:
        begin(tmp_path, "ru", "it")
    before = state_of(tmp_path)
    check_resumable(tmp_path, config_of(narrow))
    assert state_of(tmp_path) == before
    Run.create_or_resume(tmp_path, config_of(narrow)).close()
    assert contents(tmp_path)[1:] == was[1:]
    assert state_of(tmp_path).stage == "done"
    # one stays, and the plan goes on to find its level
    fail(tmp_path, wide)
    one = plan_of("fr", "it", "de", plan=plan)
    Run.create_or_resume(tmp_path, config_of(one)).close()
    state = state_of(tmp_path)
    assert state.stage == "source"
    assert set(state.targets.values()) == {("de", "fr", "it")}
    # another joins in its place
    other = plan_of("fr", "ja", "de", plan=plan)
    Run.create_or_resume(tmp_path, config_of(other)).close()
    assert set(state_of(tmp_path).targets.values()) == {("de", "fr", "ja")}
    assert state_of(tmp_path).stage == "source"
    begin(tmp_path, "ja")
    said = refusal(tmp_path, plan_of("fr", "ja", "de", plan=plan, items=9))
    assert "at the stage 'first', and ja joins it: let it end first" in said


def test_a_language_that_never_answers_can_leave_a_plan_that_waits_for_it(tmp_path: Path) -> None:
    plan = plan_of("fr", "de", plan=EFFICIENT)
    planned(tmp_path, plan)
    plans = PlanState.read(tmp_path)
    state = plans.benchmarks["wordmath"]
    state.levels.clear()
    state.widened.clear()
    state.stage = "first"
    plans.write()
    Run.create_or_resume(tmp_path, config_of(plan_of("fr", plan=EFFICIENT))).close()
    state = state_of(tmp_path)
    assert state.stage == "first"
    assert set(state.replies) == {"fr"}


@PLANS
def test_a_plan_is_where_it_was_without_the_items_that_never_answered(
    tmp_path: Path, plan: SamplingPlan
) -> None:
    narrow = plan_of("de", plan=plan)
    before = planned(tmp_path, narrow, whole=True)
    was = contents(tmp_path)
    fail(tmp_path, replace(narrow, items=9))
    assert state_of(tmp_path).stage == "first"
    Run.create_or_resume(tmp_path, config_of(narrow)).close()
    # the end of the next start notes again what the plan has cost
    before.widened.clear()
    before.stage = "done" if plan.width is None else "targets"
    assert contents(tmp_path)[1:-1] == was[1:-1]
    assert state_of(tmp_path) == before


@pytest.mark.parametrize("killed", ["growing", "giving up"])
def test_a_plan_of_more_languages_than_the_run_is_put_right(tmp_path: Path, killed: str) -> None:
    narrow = plan_of("de", plan=EFFICIENT)
    before = planned(tmp_path, narrow, whole=True)
    old = (tmp_path / "run.json").read_text("utf-8")
    Run.create_or_resume(tmp_path, config_of(plan_of("de", "fr", plan=EFFICIENT))).close()
    if killed == "giving up":
        begin(tmp_path, "fr")
    (tmp_path / "run.json").write_text(old, "utf-8")
    Run.create_or_resume(tmp_path, config_of(narrow)).close()
    assert state_of(tmp_path) == before


def test_nothing_is_lost_between_the_files_of_a_narrower_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before any of its writes, it goes on with the narrower and with the wider request."""
    narrow, wide = plan_of("de", plan=EFFICIENT), plan_of("de", "fr", plan=EFFICIENT)
    for i, (owner, name) in enumerate(
        ((run_module, "_write"), (PlanState, "write"), (Store, "give_up"))
    ):
        for request in (narrow, wide):
            directory = tmp_path / f"{i}-{len(request.languages)}"
            before = planned(directory, narrow, whole=True)
            fail(directory, wide)
            begin(directory, "fr")
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, killed)
                with pytest.raises(KeyboardInterrupt):
                    Run.create_or_resume(directory, config_of(narrow))
            with Run.create_or_resume(directory, config_of(request)) as run:
                assert set(run.config.benchmarks[0].languages) == set(request.languages)
            state = state_of(directory)
            assert set(state.targets.values()) == {request.languages[1:]}
            assert (state == before) == (request is narrow)
            assert state.stage == ("done" if request is narrow else "first")


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
