"""Sampling plans through the command line: stages, resuming, scores and what is said of them."""

from __future__ import annotations

import json
import math
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from hashlib import sha256

import pytest

from hatscore import read
from hatscore.benchmarks import get_benchmark
from hatscore.cli.per_request import Seen, replies_seen
from hatscore.errors import RunError
from hatscore.sampling import BenchmarkPlan, Run, RunConfig, SamplingParams
from hatscore.sampling.plan_state import PlanState
from hatscore.sampling.servers import Known, Limits, keep_server
from hatscore.scoring import measurements

SLOPES = {"de": 0.9, "ru": 0.4, "fr": 0.6, "ja": 0.8}
ITEMS = 120


def rate_of(item_id):
    """A third of the items is never solved, the others uniformly."""
    u = int(sha256(item_id.encode()).hexdigest()[:8], 16) / 16**8
    return max(0.0, 1.5 * u - 0.5)


@pytest.fixture
def known_model(model_server):
    benchmark = get_benchmark("wordmath")
    items = benchmark.load(
        languages=["en", *SLOPES], source_language="en", items=ITEMS, seed=0, options={}
    )
    asked = {benchmark.prompt(i, mode="chat", prompt_language="native").text: i for i in items}

    def probability(prompt):
        item = asked[prompt]
        return rate_of(item.id) * SLOPES.get(item.language, 1.0)

    return model_server(
        probability=probability,
        right=lambda prompt: f"Answer: {asked[prompt].gold.value}",
        wrong=lambda prompt: f"Answer: {int(asked[prompt].gold.value) + 1}",
        n_limit=8,
    )


def arguments(server, directory, *more, languages=SLOPES):
    return [
        *("run", "openai-api/test-model", "-b", "wordmath", "-l", ",".join(languages)),
        *("--items", ITEMS, "--base-url", server.url, "-o", directory, "-q", *more),
    ]


def replies(directory):
    path = directory / "responses.sqlite"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        query = "SELECT item, language, count(*) FROM responses WHERE error IS NULL GROUP BY 1, 2"
        with suppress(sqlite3.OperationalError):
            return {(item, language): n for item, language, n in db.execute(query)}
    return {}


def test_efficient_asks_little_and_scores_as_it_should(known_model, tmp_path, hatscore):
    directory = tmp_path / "run"
    code, out, _ = hatscore(*arguments(known_model, directory, "--plan", "efficient"))
    assert code == 0
    assert "plan efficient" in out
    assert "left out on purpose" in " ".join(out.split())
    assert "lacks" not in out

    got = replies(directory)
    full = (1 + len(SLOPES)) * ITEMS * 10
    assert sum(n for (_, lang), n in got.items() if lang == "en") == ITEMS * 10
    assert sum(got.values()) < 0.55 * full  # four targets share the source

    state = PlanState.read(directory).benchmarks["wordmath"]
    assert state.stage == "done"
    unsolved = [item for item, d in state.decisions.items() if d.k == 0]
    kept = [item for item in unsolved if state.decisions[item].weight > 0]
    assert len(kept) == max(5, -(-len(unsolved) * 15 // 100))
    assert sum(state.decisions[item].weight for item in kept) == pytest.approx(len(unsolved))
    for (item, language), n in got.items():
        if language != "en":
            assert n == state.repeats(item, language) > 0

    found = {m.language: m.scores for m in measurements(read(directory))}
    mean_rate = sum(rate_of(item) for item in state.decisions) / ITEMS
    for language, slope in SLOPES.items():
        scores = found[language]
        assert scores["hat"].low - 0.03 <= slope <= scores["hat"].high + 0.03
        assert scores["hat"].n_items == scores["target_accuracy"].n_items == ITEMS
        accuracy = scores["target_accuracy"]
        assert accuracy.low - 0.02 <= slope * mean_rate <= accuracy.high + 0.02
    assert 1.0 < sum(state.widened.values()) / len(SLOPES) < 1.4

    # the same command asks for nothing, and without --plan it is the same run
    before = len(known_model.requests)
    for more in (["--plan", "efficient"], []):
        assert hatscore(*arguments(known_model, directory, *more))[0] == 0
    assert not [r for r in known_model.requests[before:] if "completions" in r.path]
    code, _, err = hatscore(*arguments(known_model, directory, "--plan", "paper"))
    assert code == 2
    assert "plan.kind: stored 'efficient', asked 'paper'" in err


def test_killed_anywhere_it_ends_as_if_it_had_never_stopped(known_model, tmp_path, hatscore):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    command = [str(a) for a in arguments(known_model, broken, "--plan", "efficient")]
    known_model.latency_s = 0.02
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "hatscore", *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before = sum(replies(broken).values())
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            if sum(replies(broken).values()) > before + 500:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    known_model.latency_s = 0
    assert hatscore(*command)[0] == 0
    assert hatscore(*arguments(known_model, whole, "--plan", "efficient"))[0] == 0
    a = PlanState.read(broken).benchmarks["wordmath"]
    assert a.stage == "done"
    assert sum(d.weight for d in a.decisions.values()) == pytest.approx(ITEMS)
    for (item, language), n in replies(broken).items():
        assert n == (10 if language == "en" else a.repeats(item, language))
    b = PlanState.read(whole).benchmarks["wordmath"]
    # which unsolved items are kept does not hang on the model's draws
    both = {i for i in a.decisions if a.decisions[i].k == b.decisions[i].k == 0}
    kept = [{i for i in both if x.decisions[i].weight > 0} for x in (a, b)]
    assert len(kept[0] & kept[1]) >= 0.6 * min(len(kept[0]), len(kept[1]))


def test_width_stops_where_the_interval_is_narrow_enough(known_model, tmp_path, hatscore):
    directory = tmp_path / "run"
    command = arguments(known_model, directory, "--plan", "width=0.25")
    code, out, _ = hatscore(*command)
    assert code == 0
    assert "plan width=0.25" in out
    state = PlanState.read(directory).benchmarks["wordmath"]
    for m in measurements(read(directory)):
        if m.language == "macro":
            continue
        width = m.scores["hat"].high - m.scores["hat"].low
        assert width == pytest.approx(state.widths[m.language])
        full = all(n == 10 or state.decisions[i].k == 0
                   for i, n in state.replies[m.language].items())  # fmt: skip
        assert width <= 0.25 or full
    narrow = tmp_path / "narrow"
    code, out, _ = hatscore(
        *arguments(known_model, narrow, "--plan", "width=0.01", languages=["de"])
    )
    assert code == 0
    assert "not reached with 10 replies per item" in " ".join(out.split())
    # it is said only where every item that the source solved has all its replies
    state = PlanState.read(narrow).benchmarks["wordmath"]
    solved = {item for item, d in state.decisions.items() if d.k > 0}
    assert {state.replies["de"][item] for item in solved} == {10}


def test_unfinished_stages_are_said(known_model, tmp_path, hatscore):
    directory = tmp_path / "run"
    command = arguments(known_model, directory, "--plan", "efficient")
    code, out, _ = hatscore(*command, "--max-replies", 600)
    assert code == 1
    assert "incomplete" in " ".join(out.split())
    assert {language for _, language in replies(directory)} == {"en"}
    code, _, _ = hatscore(*command, "--max-replies", 1500)
    assert code == 1
    assert hatscore(*command)[0] == 0
    assert PlanState.read(directory).benchmarks["wordmath"].stage == "done"


def test_half_a_stage_decides_nothing(known_model, tmp_path, hatscore):
    """Wherever a limit stops a stage, the next one waits for the rest of it."""
    directory = tmp_path / "run"
    command = arguments(known_model, directory, "--plan", "efficient", languages=["de", "ru"])
    for limit, stage in ((900, None), (1230, "first"), (1300, "first")):
        assert hatscore(*command, "--max-replies", limit)[0] == 1
        state = PlanState.read(directory).benchmarks.get("wordmath")
        assert (state.stage if state else None) == stage
        assert sum(replies(directory).values()) == limit
        if state:
            assert not state.levels
    assert hatscore(*command)[0] == 0
    done = PlanState.read(directory).benchmarks["wordmath"]
    assert done.stage == "done"
    assert set(done.levels) == {"de", "ru"}


def by_language(directory):
    found = {}
    for (_, language), n in replies(directory).items():
        found[language] = found.get(language, 0) + n
    return found


def test_a_run_of_a_plan_gains_languages(known_model, tmp_path, hatscore):
    """New languages go by the items that are decided; nothing is paid again, no set is torn."""
    directory = tmp_path / "run"
    assert hatscore(*arguments(known_model, directory, languages=["de", "ru"]))[0] == 0
    before, decided = by_language(directory), PlanState.read(directory).benchmarks["wordmath"]
    command = arguments(known_model, directory)
    assert hatscore(*command, "--max-replies", sum(before.values()) + 50)[0] == 1
    # half grown: said to be incomplete, and what is there counts as it should
    outcomes = read(directory)
    assert any("'first': the run is incomplete" in note for note in outcomes.notes)
    found = {m.language: m.scores["hat"] for m in measurements(outcomes)}
    for language in ("de", "ru"):
        assert found[language].low - 0.03 <= SLOPES[language] <= found[language].high + 0.03

    code, out, _ = hatscore(*command)
    assert code == 0
    assert "incomplete" not in out
    state = PlanState.read(directory).benchmarks["wordmath"]
    assert state.stage == "done"
    assert state.decisions == decided.decisions
    assert set(state.widened) == set(SLOPES)
    after = by_language(directory)
    assert after["en"] == before["en"]
    for language in ("de", "ru"):
        assert after[language] == before[language]
        # a kind is drawn once: who stands for whom does not change
        for item, n in decided.replies[language].items():
            assert state.replies[language][item] >= n
            assert n or state.weight(item, language) == decided.weight(item, language) == 0
    for (item, language), n in replies(directory).items():
        assert n == (10 if language == "en" else state.repeats(item, language))
    for language in SLOPES:
        assert sum(state.weight(x, language) for x in state.decisions) == pytest.approx(ITEMS)
    for m in measurements(read(directory)):
        if m.language in SLOPES:
            hat = m.scores["hat"]
            assert hat.low - 0.03 <= SLOPES[m.language] <= hat.high + 0.03
    code, _, err = hatscore(*command, "--repeats", 12)
    assert code == 2
    assert "more would come too late" in err


def test_a_run_of_a_plan_gains_items(known_model, tmp_path, hatscore):
    directory = tmp_path / "run"
    command = arguments(known_model, directory, languages=["de", "ru"])
    half = [60 if x == ITEMS else x for x in command]
    assert hatscore(*half)[0] == 0
    before = replies(directory)
    decided = PlanState.read(directory).benchmarks["wordmath"]
    assert hatscore(*command)[0] == 0
    state = PlanState.read(directory).benchmarks["wordmath"]
    assert state.stage == "done"
    assert len(state.decisions) == ITEMS
    assert {item: state.decisions[item] for item in decided.decisions} == decided.decisions
    after = replies(directory)
    assert all(after[cell] >= n for cell, n in before.items())
    for language in ("de", "ru"):
        assert sum(state.weight(x, language) for x in state.decisions) == pytest.approx(ITEMS)
    for m in measurements(read(directory)):
        if m.language in SLOPES:
            hat = m.scores["hat"]
            assert hat.n_items == ITEMS
            assert hat.low - 0.03 <= SLOPES[m.language] <= hat.high + 0.03
    code, _, err = hatscore(*half)
    assert code == 2
    assert "60 of its items" in err


def test_a_full_run_gains_languages_repeats_and_items(known_model, tmp_path, hatscore):
    """What it asks in all is what the widest request alone would have asked."""
    directory = tmp_path / "run"
    wide = arguments(known_model, directory, "--plan", "paper", languages=["de", "ru"])
    narrow = [*wide, "--repeats", 4]
    narrow = [{ITEMS: 40, "de,ru": "de"}.get(x, x) for x in narrow]
    assert hatscore(*narrow)[0] == 0
    before = replies(directory)
    assert set(before.values()) == {4}
    # stopped on the way, cells have unequal numbers of replies
    code, out, err = hatscore(*wide, "--repeats", 6, "--max-replies", 900)
    assert code == 1
    said = " ".join(out.split())
    assert "the run is incomplete" in said
    assert "Traceback" not in err
    assert set(replies(directory).values()) >= {4, 6}
    for m in measurements(read(directory)):
        for score in m.scores.values():
            assert math.isnan(score.value) or -1 <= score.value <= 2
    code, out, _ = hatscore(*wide, "--repeats", 6)
    assert code == 0
    assert "incomplete" not in out
    after = replies(directory)
    assert len(after) == 3 * ITEMS
    assert set(after.values()) == {6}
    assert before.keys() <= after.keys()


def test_a_wrong_name_does_not_occupy_the_directory(known_model, tmp_path, hatscore):
    directory = tmp_path / "run"
    right = arguments(known_model, directory, "--plan", "paper", "--repeats", 2, languages=["de"])
    wrong = ["openai-api/zzz" if x == "openai-api/test-model" else x for x in right]
    code, _, err = hatscore(*wrong)
    assert code != 0
    assert "zzz" in err
    assert (directory / "run.json").exists()
    assert hatscore(*right)[0] == 0
    with Run.open(directory) as run:
        assert run.config.model == "openai-api/test-model"
    code, _, err = hatscore(*wrong)
    assert code == 2
    assert "model: stored 'openai-api/test-model', asked 'openai-api/zzz'" in err


def test_efficient_is_the_default_where_it_can_be(known_model, tmp_path, hatscore):
    directory = tmp_path / "run"
    code, out, err = hatscore(*arguments(known_model, directory, languages=["de"]))
    assert code == 0
    assert "plan efficient" in out
    assert "Note" not in err
    assert PlanState.read(directory).benchmarks["wordmath"].stage == "done"
    few = arguments(known_model, tmp_path / "few", "--items", 12, "--repeats", 4, languages=["de"])
    code, out, err = hatscore(*few)
    assert code == 0
    assert "fewer than 30 items teach too little to plan by; sampled by the full plan" in err
    assert sum(replies(tmp_path / "few").values()) == 2 * 12 * 4


def test_stages_are_one_run_in_progress_and_warnings(known_model, tmp_path, hatscore):
    directory = tmp_path / "run"
    known_model.n_limit, known_model.beyond = 1, "ignore"
    command = [a for a in arguments(known_model, directory, languages=["de"]) if a != "-q"]
    code, _, err = hatscore(*command, "--repeats", 4, "--progress", "json")
    assert code == 0
    events = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    total = sum(replies(directory).values())
    end = events[-1]
    assert (end["event"], end["done"], end["total"]) == ("end", total, total)
    assert end["new"] == total
    assert {x: sum(ends.values()) for x, ends in end["endings"].items()} == {
        "en": 4 * ITEMS,
        "de": total - 4 * ITEMS,
    }
    assert [e["done"] for e in events] == sorted(e["done"] for e in events)
    assert events[0]["stage"] == "source"
    assert end["stage"] in {"first target replies", "further target replies"}
    # what only the first stage could see
    assert err.count("the server brings one reply per request") == 1


def test_of_several_models_one_failure_stops_one(known_model, tmp_path, hatscore):
    known_model.models = ("test-model", "zzz-not-served")
    answer = known_model._answer

    def refusing(asked):
        found = answer(asked)
        return type(found)(status=403) if asked.body["model"].startswith("zzz") else found

    known_model._answer = refusing
    given = arguments(known_model, tmp_path / "runs", "--repeats", 4, languages=["de"])
    code, out, err = hatscore("run", "openai-api/zzz-not-served", *given[1:])
    assert code == 2
    assert "HTTP 403" in err
    assert "openai-api/test-model" in out
    assert "zzz" not in out
    assert (tmp_path / "runs" / "report" / "index.html").exists() or "Page: " in out
    # what cannot work is said before anything is asked
    asked = len(known_model.requests)
    code, _, err = hatscore("run", "opnai/x", *given[1:])
    assert code == 2
    assert "opnai/x" in err
    assert len(known_model.requests) == asked


def test_a_run_that_breaks_off_is_scored_all_the_same(known_model, tmp_path, hatscore):
    answer, served = known_model._answer, 0

    def revoked(asked):
        nonlocal served
        served += 1
        return type(answer(asked))(status=401) if served > 100 else answer(asked)

    known_model._answer = revoked
    command = arguments(
        known_model, tmp_path / "r", "--plan", "paper", "--repeats", 4, languages=["de"]
    )
    code, out, err = hatscore(*command, "--concurrency", 4)
    assert code == 2
    assert "HTTP 401" in err
    assert "the run is incomplete" in " ".join(out.split()) or "Error" in err


def test_a_limit_on_cost_takes_the_prices_of_the_registry(known_model, tmp_path, hatscore):
    given = arguments(known_model, tmp_path / "run", "--repeats", 4, languages=["de"])
    known_model.models = ("gemini-2.5-flash", "test-model")
    known_model.returned_name = lambda _: "gemini-2.5-flash"
    priced = ["run", "openai-api/gemini-2.5-flash", *given[2:]]
    code, _, err = hatscore(*priced, "--max-cost", "1e-6")
    assert code == 1
    assert "cost reckoned at 0.3 and 2.5 USD per million tokens" in err
    assert "price of the vendor on 20" in err
    # one's own server bills nothing, so nothing is said of a cost unless a limit is asked for
    code, _, err = hatscore(*priced, "--max-replies", "20")
    assert "USD" not in err
    code, _, err = hatscore(*given, "--max-cost", "1")
    assert code == 2
    assert "no price known; give --price-in and --price-out" in err


def test_a_damaged_plan_is_an_error_not_another_plan(known_model, tmp_path, hatscore):
    directory = tmp_path / "run"
    hatscore(*arguments(known_model, directory, "--plan", "efficient", languages=["de"]))
    path = directory / "plan.json"
    data = json.loads(path.read_text())
    path.write_text(path.read_text()[:40])
    with pytest.raises(RunError, match="left out on purpose"):
        read(directory)
    path.write_text(json.dumps({**data, "format": 99}))
    with pytest.raises(RunError, match="format 99"):
        read(directory)


def test_few_repeats_and_wrong_words(known_model, tmp_path, hatscore):
    for more, said in (
        (["--plan", "efficient", "--repeats", "2"], "fewer than 4 repeats"),
        (["--plan", "cheap"], "efficient"),
        (["--plan", "width=wide"], "expected a number"),
        (["--plan", "width=-1"], "(0, 1]"),
    ):
        code, _, err = hatscore(*arguments(known_model, tmp_path / "no", *more))
        assert code == 2
        assert said in " ".join(err.split())
    code, _, err = hatscore(
        *arguments(known_model, tmp_path / "two", "--repeats", 2, languages=["de"])
    )
    assert code == 0
    assert "Note: wordmath: with fewer than 4 repeats" in err
    assert "sampled by the full plan" in err


def plan_json(hatscore, *more):
    code, out, _ = hatscore("plan", *more, "--format", "json")
    assert code == 0
    return json.loads(out)


def test_plan_counts_what_a_run_would_ask(hatscore):
    found = plan_json(
        hatscore,
        *("openai-api/x", "-b", "wordmath", "-l", "de,ru", "--items", 100, "--width", 0.2),
        *("--price-in", 1, "--price-out", 10, "--output-tokens", 100, "--n-per-request", 1),
    )
    (part,) = found["benchmarks"]
    paper, efficient, width = part["plans"]
    assert paper["replies"] == paper["requests"]["1"] == 3 * 100 * 10
    assert paper["output_tokens"] == 100 * paper["replies"]
    cost = (paper["input_tokens"]["1"] + 10 * paper["output_tokens"]) / 1e6
    assert paper["cost"]["openai-api/x"] == {"1": pytest.approx(cost)}
    assert 1000 < efficient["replies"] < paper["replies"]
    # a request for every reply: stages cost nothing
    assert efficient["requests"]["1"] == pytest.approx(efficient["replies"])
    assert efficient["cost"]["openai-api/x"]["1"] < paper["cost"]["openai-api/x"]["1"]
    assert part["dearer_than_paper"] == []
    for language in ("de", "ru"):
        assert 1 < efficient["widths"][language] / paper["widths"][language] <= 1.2501
        assert paper["widths"][language] > 0.05
    assert width["plan"] == "width=0.2"
    assert "assumed: source accuracy 0.5" in part["basis"]


def test_plan_says_how_many_replies_a_prompt_is_billed_for(hatscore):
    asked = ("-b", "wordmath", "-l", "de,ru", "--items", 100, "--output-tokens", 1)
    prices = ("--price-in", 1, "--price-out", 2)
    models = ("anthropic/x", "openai-api/x", "local")
    found = plan_json(hatscore, *models, *asked, *prices)
    assert [(x["model"], x["numbers"]) for x in found["replies_per_request"]] == [
        ("anthropic/x", [1]),
        ("openai-api/x", [1, 10]),
        ("local", [10]),
    ]
    paper, efficient = found["benchmarks"][0]["plans"]
    assert paper["requests"] == {"1": 3000, "10": 300}
    assert paper["input_tokens"]["1"] == pytest.approx(10 * paper["input_tokens"]["10"])
    assert paper["cost"]["anthropic/x"].keys() == {"1"}
    assert paper["cost"]["openai-api/x"].keys() == {"1", "10"}
    # at ten replies a prompt the stages of the plan send more prompts than the full plan
    assert efficient["requests"]["10"] > 300 > 0.2 * efficient["requests"]["1"]
    assert efficient["input_tokens"]["1"] < paper["input_tokens"]["1"]
    dearer = found["benchmarks"][0]["dearer_than_paper"]
    assert {(x["model"], x["plan"], x["n"]) for x in dearer} == {
        (model, "efficient", 10)
        for model in ("openai-api/x", "local")
        if efficient["cost"][model]["10"] > paper["cost"][model]["10"]
    }
    code, out, _ = hatscore("plan", *models, *asked, *prices)
    assert code == 0
    assert "input tokens, n=1  input tokens, n=10" in out
    assert "USD openai-api/x, n=1  USD openai-api/x, n=10  USD local" in out
    assert "Figures are for n=1 and n=10" in out
    assert "* anthropic/x: 1 reply to a request" in out
    code, out, _ = hatscore(
        *("plan", "openai-api/x", *asked, "--n-per-request", 10),
        *("--price-in", 100, "--price-out", 0),
    )
    assert code == 0
    assert "openai-api/x: efficient costs more than paper where a request brings 10 replies" in out
    assert "* openai-api/x: 10 replies to a request, whose prompt is billed once (as given)" in out


def test_plan_foretells_the_tokens_that_are_billed(known_model, tmp_path, hatscore):
    """Tokens of prompts as the server counts them, within a tenth, of either plan."""
    used = {}
    for plan in ("paper", "efficient"):
        given = arguments(known_model, tmp_path / plan, "--plan", plan)
        assert hatscore(*given)[0] == 0
        with Run.open(tmp_path / plan) as run:
            used[plan] = run.store.usage()
    asked = ("openai-api/test-model", "-b", "wordmath", "-l", ",".join(SLOPES), "--items", ITEMS)
    for pilot in ("paper", "efficient"):
        found = plan_json(hatscore, *asked, "--pilot", tmp_path / pilot)
        (said,) = found["replies_per_request"]
        assert said["numbers"] == [5]  # at most 8: ten were refused, five were not
        assert "as the server of the pilot (openai-api/test-model) does" in said["said"]
        for plan in found["benchmarks"][0]["plans"]:
            billed = used[plan["plan"]]
            assert plan["input_tokens"]["5"] == pytest.approx(billed.input_tokens, rel=0.1)
    # without the note of the server it is seen in what came together
    (tmp_path / "paper" / "servers.json").unlink()
    (said,) = plan_json(hatscore, *asked, "--pilot", tmp_path / "paper")["replies_per_request"]
    assert said["numbers"] == [5]
    # another vendor's server is another server
    others = ("anthropic/x", "google/x", *asked[1:])
    known = plan_json(hatscore, *others, "--pilot", tmp_path / "paper")["replies_per_request"]
    assert [x["numbers"] for x in known] == [[1], [1, 10]]


def test_a_pilot_of_single_replies_shows_no_number(tmp_path):
    """One reply at a time says nothing of how many a request could have brought."""
    params = SamplingParams()
    plan = BenchmarkPlan("wordmath", "1", ("en", "de"), "en", 1)
    config = RunConfig("openai-api/m", "openai-api", "m", "chat", "native", params, (plan,))
    with Run.create_or_resume(tmp_path / "run", config):
        pass
    assert replies_seen(tmp_path / "run") is None
    assert replies_seen(tmp_path) is None
    for limits, most in ((Limits(10), None), (Limits(4, 4, "refused"), 4), (Limits(1, 1), 1)):
        keep_server(tmp_path / "run", Known("http://a", "m", limits))
        assert replies_seen(tmp_path / "run") == Seen("openai-api/m", most)
    keep_server(tmp_path / "run", Known("http://a", "m", Limits(1)))
    assert replies_seen(tmp_path / "run") is None


def test_plan_from_assumptions_foresees_the_run(known_model, tmp_path, hatscore):
    """The pilot's own run is foretold: replies and widths."""
    directory = tmp_path / "run"
    assert hatscore(*arguments(known_model, directory, "--plan", "paper"))[0] == 0
    found = plan_json(
        hatscore,
        *("-b", "wordmath", "-l", ",".join(SLOPES), "--items", ITEMS, "--pilot", directory),
    )
    paper, efficient = found["benchmarks"][0]["plans"]
    for m in measurements(read(directory)):
        if m.language != "macro":
            width = m.scores["hat"].high - m.scores["hat"].low
            assert paper["widths"][m.language] == pytest.approx(width, rel=0.2)
    again = tmp_path / "again"
    assert hatscore(*arguments(known_model, again, "--plan", "efficient"))[0] == 0
    # the level rests on 120 items of four languages in either
    assert efficient["replies"] == pytest.approx(sum(replies(again).values()), rel=0.35)


def test_plan_says_what_it_does_not_know(hatscore):
    code, out, _ = hatscore(
        "plan", "gemini-2.5-flash", "nobody/knows", "-b", "wordmath", "--width", "0.01"
    )
    assert code == 0
    said = " ".join(out.split())
    assert "no price known; give --price-in and --price-out" in said
    assert "price of the vendor on 20" in said
    assert "times as many items would do" in said
    for more, message in (
        (["--price-in", "1", "m"], "both prices"),
        (["--assume-accuracy", "1.5"], "between 0 and 1"),
        (["--assume-heterogeneity", "0"], "positive"),
        (["--width", "3"], "(0, 1]"),
        (["--output-tokens", "-5"], "expected a number, 0 or more"),
        (["--output-tokens", "nan"], "expected a number, 0 or more"),
        (["--price-in", "1", "--price-out", "-1", "m"], "'--price-out': -1: expected a number"),
        (["--price-in", "inf", "--price-out", "1", "m"], "'--price-in': inf: expected a number"),
        (["--n-per-request", "0"], "x>=1"),
    ):
        code, _, err = hatscore("plan", "-b", "wordmath", *more)
        assert code == 2
        assert message in " ".join(err.split())


def test_a_growth_that_brought_no_reply_is_given_up(known_model, tmp_path, hatscore):
    """A mistaken request with the server away leaves nothing: the old command finds the end."""
    directory = tmp_path / "run"
    command = arguments(known_model, directory, languages=["de", "ru"])
    assert hatscore(*command)[0] == 0
    config, decided = (directory / "run.json").read_text(), PlanState.read(directory).benchmarks
    before, got = read(directory), replies(directory)
    away = [*arguments(known_model, directory, languages=["de", "ru", "fr"]), "--tries", 1]
    away = ["http://127.0.0.1:9" if x == known_model.url else x for x in away]
    assert hatscore(*away)[0] != 0
    grown = json.loads((directory / "run.json").read_text())["benchmarks"][0]
    assert "fr" in grown["languages"]
    assert PlanState.read(directory).benchmarks["wordmath"].stage != "done"

    code, out, err = hatscore(*command)
    assert code == 0
    assert "incomplete" not in out + err
    assert (directory / "run.json").read_text() == config
    assert PlanState.read(directory).benchmarks == decided
    assert decided["wordmath"].widened
    assert read(directory).notes == before.notes
    assert read(directory).frame.equals(before.frame)
    assert replies(directory) == got
