"""Stages of a plan where judges grade, and on many machines: the same run as on this one alone."""

from __future__ import annotations

import importlib.util
import sqlite3
from collections import Counter
from contextlib import closing
from hashlib import sha256
from types import SimpleNamespace

import pytest

from hatscore import read
from hatscore.sampling.plan_state import PlanState
from hatscore.scoring import measurements

ITEMS = 90
SLOPES = {"de": 0.9, "hi": 0.4}
SOURCE = "en"


def rate_of(name):
    """Return how often the source knows an item: four in ten of them never, the others evenly."""
    u = int(sha256(name.encode()).hexdigest()[:8], 16) / 16**8
    return max(0.0, (u - 0.4) / 0.6)


@pytest.fixture
def data(tmp_path, eclektic_file):
    return eclektic_file(tmp_path / "e.jsonl", {str(i): SOURCE for i in range(ITEMS)})


@pytest.fixture
def world(model_server, data):
    """Return a model, its judge, and the command that lets one sample and the other judge."""

    def probability(prompt):
        _, name, language = prompt.rstrip("?").split()
        return rate_of(name) * SLOPES.get(language, 1.0)

    model = model_server(
        right=lambda p: f"right: {p}", wrong=lambda p: f"wrong: {p}", probability=probability
    )
    judge = model_server(
        models=("judge",),
        probability=lambda _: 1.0,
        right=lambda p: "YES" if "Answer:\nright" in p else "NO",
    )

    def command(out, *more):
        return [
            *("run", "openai-api/test-model", "-b", "eclektic", "--set", f"data={data}"),
            *("-l", ",".join([SOURCE, *SLOPES]), "--base-url", model.url, "-o", out, "-q", *more),
        ]

    by_judge = ["--judge", "openai-api/judge", "--judge-url", judge.url]
    return SimpleNamespace(model=model, judge=judge, command=command, by_judge=by_judge)


def replies(directory):
    """Return text and seed of every good reply by its key."""
    path = directory / "responses.sqlite"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        query = "SELECT item, language, repeat, text, seed FROM responses WHERE error IS NULL"
        return {tuple(row[:3]): row[3:] for row in db.execute(query)}


def test_judged_answers_are_planned_by_what_the_judge_says(world, tmp_path, hatscore):
    out = tmp_path / "run"
    code, printed, err = hatscore(*world.command(out, *world.by_judge))
    assert code == 0, err
    assert "plan efficient" in printed
    assert "incomplete" not in printed
    assert "Note" not in err
    got = replies(out)
    full = (1 + len(SLOPES)) * ITEMS * 10
    assert sum(language == SOURCE for _, language, _ in got) == ITEMS * 10
    assert len(got) < 0.7 * full  # two targets share the source
    state = PlanState.read(out).benchmarks["eclektic"]
    assert state.stage == "done"
    assert set(state.widened) == set(SLOPES)
    # what the judge says of the source decides: its word and the truth are one here
    truth = {str(i): rate_of(str(i)) for i in range(ITEMS)}
    assert all(truth[item] > 0 for item, d in state.decisions.items() if d.k > 0)
    unsolved = [item for item, d in state.decisions.items() if d.k == 0]
    assert sum(state.decisions[item].weight for item in unsolved) == pytest.approx(len(unsolved))
    assert 0.3 * ITEMS < len(unsolved) < 0.6 * ITEMS
    found = {m.language: m.scores for m in measurements(read(out))}
    mean = sum(truth.values()) / ITEMS
    for language, slope in SLOPES.items():
        hat, accuracy = found[language]["hat"], found[language]["target_accuracy"]
        assert hat.low - 0.05 <= slope <= hat.high + 0.05
        assert hat.n_items == accuracy.n_items == ITEMS
        assert accuracy.low - 0.03 <= slope * mean <= accuracy.high + 0.03
    # every text is judged once, whatever the stage
    judged = len(world.judge.requests)
    texts = {(item, language, text) for (item, language, _), (text, _) in got.items()}
    assert sum("completions" in r.path for r in world.judge.requests) == len(texts)
    # the same command asks nobody anything
    before = len(world.model.requests)
    assert hatscore(*world.command(out, *world.by_judge))[0] == 0
    assert not [r for r in world.model.requests[before:] if "completions" in r.path]
    assert not [r for r in world.judge.requests[judged:] if "completions" in r.path]


def test_a_judge_that_falls_silent_loses_nothing(world, tmp_path, fault, hatscore):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    send = ["--send-seed", "--tries", 1]
    assert hatscore(*world.command(whole, *send, *world.by_judge))[0] == 0
    world.judge.always = fault(status=500)
    code, _, err = hatscore(*world.command(broken, *send, *world.by_judge))
    assert code != 0
    assert "500" in err
    assert {language for _, language, _ in replies(broken)} == {SOURCE}
    # without its judge the run cannot go on, and says so before it asks anything
    asked = len(world.model.requests)
    code, _, err = hatscore(*world.command(broken, *send))
    assert code == 2
    assert "goes by what a judge says of the source; name the judge with --judge" in err
    assert len(world.model.requests) == asked
    world.judge.always = None
    assert hatscore(*world.command(broken, *send, *world.by_judge))[0] == 0
    assert replies(broken) == replies(whole)
    assert (broken / "plan.json").read_bytes() == (whole / "plan.json").read_bytes()


def test_judges_are_looked_at_before_anything_is_paid_for(world, tmp_path, hatscore):
    plain = ["run", "openai-api/test-model", "-b", "wordmath", "-l", "de", "--items", 5, "-q"]
    plain += ["--base-url", world.model.url, "-o", tmp_path / "w"]
    for command, said in (
        (world.command(tmp_path / "a", "--plan", "efficient"), "name the judge with"),
        (world.command(tmp_path / "a", "--judge", "opnai/x"), "opnai/x"),
        (world.command(tmp_path / "a", *world.by_judge, *world.by_judge), "once each"),
        ([*plain, *world.by_judge], "no item of wordmath is graded by a judge"),
    ):
        code, _, err = hatscore(*command)
        assert code == 2
        assert said in err
    assert world.model.requests == []
    # to be judged later: every cell in full
    out = tmp_path / "later"
    code, _, err = hatscore(*world.command(out, "--items", 30, "--repeats", 4))
    assert "without --judge nobody knows which items the source solves; sampled by the full" in err
    assert len(replies(out)) == 3 * 30 * 4


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra cluster")
def test_workers_sample_what_one_machine_would(world, tmp_path, hatscore, monkeypatch):
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    alone, on_ray = tmp_path / "alone", tmp_path / "ray"
    send = ["--send-seed", *world.by_judge]
    assert hatscore(*world.command(alone, *send))[0] == 0
    code, printed, err = hatscore(*world.command(on_ray, *send, "--ray", "--workers", 2))
    assert code == 0, err
    assert "plan efficient" in printed
    assert replies(on_ray) == replies(alone)
    assert (on_ray / "plan.json").read_bytes() == (alone / "plan.json").read_bytes()

    # stopped by its budget in a late stage, then taken up on another machine
    shelf = tmp_path / "shelf"
    spread = [*send, "--ray", "--workers", 2, "--results", shelf.as_uri()]
    first, then = tmp_path / "one" / "x", tmp_path / "two" / "x"
    most = ITEMS * 10 + 100
    code, _, err = hatscore(*world.command(first, *spread, "--max-replies", most))
    assert code == 1, err
    assert len(replies(first)) == most
    assert PlanState.read(first).benchmarks["eclektic"].stage == "first"
    assert hatscore(*world.command(then, *spread))[0] == 0
    assert replies(then).items() >= replies(first).items()
    state = PlanState.read(then).benchmarks["eclektic"]
    assert state.stage == "done"
    asked = {(i, x): n for x, cells in state.replies.items() for i, n in cells.items() if n}
    assert Counter((i, x) for i, x, _ in replies(then) if x != SOURCE) == asked
    assert (shelf / "x" / "plan.json").read_bytes() == (then / "plan.json").read_bytes()
    assert (shelf / "x" / "verdicts.sqlite").is_file()


def refusing(judge, refused):
    """Let the judge refuse some answers, as a content filter does."""
    answer = judge._answer

    def answering(asked):
        text = asked.body["messages"][0]["content"]
        found = answer(asked)
        if any(f"Question {name} en?" in text for name in refused):
            return type(found)(status=400, text="not this one")
        return found

    judge._answer = answering
    return answer


def test_half_of_an_items_verdicts_decide_nothing(world, tmp_path, hatscore):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    given = ["--send-seed", *world.by_judge]
    assert hatscore(*world.command(whole, *given))[0] == 0
    late = {"2", "16", "31", "44"}
    answer = refusing(world.judge, late)
    code, printed, err = hatscore(*world.command(broken, *given))
    assert code == 1
    assert "has not been heard on" in err
    assert "HAT" in printed  # what has been heard is scored
    decided = PlanState.read(broken).benchmarks["eclektic"].decisions
    assert not decided.keys() & late
    world.judge._answer = answer
    code, _, err = hatscore(*world.command(broken, *given))
    assert code == 0, err
    first, then = (PlanState.read(d).benchmarks["eclektic"] for d in (whole, broken))
    assert {i: d[:2] for i, d in then.decisions.items()} == {
        i: d[:2] for i, d in first.decisions.items()
    }
    assert then.stage == "done"
    assert set(then.widened) == set(SLOPES)
    # those that came late had both stages of replies: as many as they have in the other run
    for language in SLOPES:
        for item in late:
            if then.decisions[item].k:
                assert then.repeats(item, language) >= first.repeats(item, language) - 1


def test_what_a_judge_always_refuses_ends_no_start(world, tmp_path, hatscore):
    out = tmp_path / "run"
    refusing(world.judge, {str(i) for i in range(0, ITEMS, 3)})
    given = world.command(out, "--tries", 1, "--plan", "paper", "--repeats", 2, *world.by_judge)
    for start in range(3):
        code, printed, err = hatscore(*given)
        assert code == 1, start
        assert "macro average" in printed
        if start:  # the first one may meet a refusal before any answer
            assert "has not been heard on" in err
    assert len(replies(out)) == 3 * ITEMS * 2
    with closing(sqlite3.connect(out / "verdicts.sqlite")) as db:
        heard = set(db.execute("SELECT DISTINCT item, language FROM verdicts"))
    refused = {(str(i), SOURCE) for i in range(0, ITEMS, 3)}
    assert heard == {(str(i), x) for i in range(ITEMS) for x in (SOURCE, *SLOPES)} - refused


def test_of_several_models_those_that_answer_are_judged(world, tmp_path, hatscore):
    given = world.command(tmp_path / "runs", "--items", 10, "--repeats", 2, *world.by_judge)
    code, printed, err = hatscore("run", "openai-api/nosuch", *given[1:])
    assert code == 2
    assert "does not serve 'nosuch'" in err
    assert "openai-api/test-model on eclektic" in printed
    assert "wait for a verdict" not in printed + err


def test_judges_are_asked_whether_they_are_there_before_the_model_is(world, tmp_path, hatscore):
    out = tmp_path / "run"
    typo = ["--judge", "openai-api/jugde", "--judge-url", world.judge.url]
    code, _, err = hatscore(*world.command(out, *typo))
    assert code == 2
    assert "does not serve 'jugde'" in err
    assert world.model.requests == []
    assert not out.exists()
    # nor does a run grow for want of one
    few = world.command(out, *world.by_judge)
    few[few.index("-l") + 1] = "en,de"
    assert hatscore(*few)[0] == 0
    before = {name: (out / name).read_bytes() for name in ("run.json", "plan.json")}
    code, _, err = hatscore(*world.command(out))
    assert code == 2
    assert "goes by what a judge says; name the judge with --judge" in err
    assert {name: (out / name).read_bytes() for name in before} == before
    assert hatscore(*world.command(out, *world.by_judge))[0] == 0
