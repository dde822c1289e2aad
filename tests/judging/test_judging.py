"""Judges at a test server: what is asked, what is kept, what follows."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from hatscore import read
from hatscore.errors import InputError, ModelError, RunError, UnknownNameError
from hatscore.grading import Gold, Reply
from hatscore.judging import (
    VERDICTS_NAME,
    ReplyKey,
    VerdictStore,
    judge_prompt,
    judge_replies,
    majority,
    read_verdicts,
    run_judging,
    verdict_statuses,
)
from hatscore.judging.engine import JUDGE_LOCK_NAME
from hatscore.judging.prompt import JUDGE_VERSION, subject_key
from hatscore.judging.subjects import readable_answer
from hatscore.sampling import Completion, Run
from hatscore.sampling.lock import Lock

JUDGE = "openai-api/test-model"


def answer_of(prompt):
    return prompt.split("Answer:\n", 1)[1].rsplit("\n\nOutput:", 1)[0]


def says(word):
    """Make a judge that says `word(answer)`."""
    return {"right": lambda prompt: word(answer_of(prompt)), "probability": lambda _: 1.0}


def yes_to_good(answer):
    return "YES" if "good" in answer else "NO"


def key(item, language, repeat=0):
    return ReplyKey("free", str(item), language, repeat)


REPLIES = {
    (1, "en"): ["good 1", "bad 1", "good 1"],
    (1, "de"): ["gut, good", "good 1", "bad"],
    (2, "en"): ["bad 2", "bad 2", "bad 2"],
    (2, "de"): ["bad 2", "bad 2", "good 2"],
}


def judge(directory, server, judges=(JUDGE,), **options):
    return run_judging(directory, judges, base_url=server.url, **options)


def prompts(server):
    return [r.body["messages"][0]["content"] for r in server.requests]


def test_majority():
    assert majority([True]) == "correct"
    assert majority([False]) == "wrong"
    assert majority([None]) == majority([]) == "judge_unparsed"
    assert majority([True, False]) == "judge_unparsed"
    assert majority([True, None]) == "judge_unparsed"
    assert majority([True, True, None]) == "correct"
    assert majority([False, False, True]) == "wrong"
    assert majority([True, False, None]) == "judge_unparsed"
    assert majority([True, True, False, False]) == "judge_unparsed"
    assert majority([True, None, None]) == "judge_unparsed"


def test_prompt_holds_what_the_judge_reads_and_names_the_language():
    prompt = judge_prompt(context="C {x}", question="Q?", answer="A", language="de")
    assert "They are in German." in prompt.text
    assert "Text:\nC {x}\n\nQuestion:\nQ?\n\nAnswer:\nA\n\nOutput:" in prompt.text
    assert prompt.mode == "chat"
    assert prompt.max_tokens == 1024
    more = judge_prompt(context="C", question="Q?", answer="A", language="de", attempt=1)
    assert more.max_tokens == 4096
    with pytest.raises(InputError):
        judge_prompt(context="C", question="Q?", answer="A", language="xx")


def test_subjects_differ_in_every_part():
    parts = {"context": "c", "question": "q", "answer": "a", "language": "de"}
    keys = {subject_key(**parts)} | {subject_key(**{**parts, name: "x"}) for name in parts}
    assert len(keys) == 5
    moved = {**parts, "context": "cq", "question": ""}
    assert subject_key(**moved) not in keys


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply("", "stop"), "empty"),
        (Reply(" \n", None), "empty"),
        (Reply("Berl", "length"), "truncated"),
        (Reply("<think>Berlin", "stop"), "truncated"),
        (Reply("Berlin", "content_filter"), "refused"),
        (Reply("", None, "timeout"), "error"),
    ],
)
def test_what_no_judge_sees(reply, status):
    assert readable_answer(reply, Gold("judge", "x")) == (status, "")


def test_thinking_is_not_shown_to_the_judge():
    reply = Reply("<think>good or bad?</think>\nBerlin.", "stop")
    assert readable_answer(reply, Gold("judge", "x")) == (None, "Berlin.")


def test_statuses_of_a_whole_run(make_run, model_server):
    directory = make_run(REPLIES)
    server = model_server(**says(yes_to_good))
    (summary,) = judge(directory, server)
    assert summary.complete
    assert (summary.replies, summary.subjects, summary.asked) == (12, 8, 8)
    assert verdict_statuses(directory) == {
        ReplyKey("free", str(item), language, repeat): "correct" if "good" in text else "wrong"
        for (item, language), texts in REPLIES.items()
        for repeat, text in enumerate(texts)
    }
    frame = read(directory).frame
    counts = {(r["item"], r["language"]): (r["k"], r["n"]) for r in frame.iter_rows(named=True)}
    assert counts == {
        ("1", "en"): (2, 3),
        ("1", "de"): (2, 3),
        ("2", "en"): (0, 3),
        ("2", "de"): (1, 3),
    }


def test_each_text_is_asked_once_at_temperature_0(make_run, model_server):
    directory = make_run(REPLIES)
    server = model_server(**says(yes_to_good))
    judge(directory, server)
    asked = prompts(server)
    assert len(asked) == len(set(asked)) == 8
    assert all(r.body["temperature"] == 0 for r in server.requests)
    assert all(r.body["max_tokens"] == 1024 for r in server.requests)
    assert all("seed" not in r.body for r in server.requests)
    both = [p for p in asked if answer_of(p) == "good 1"]
    assert {p.split("Text:\n")[1].split("\n")[0] for p in both} == {"Text 1 en.", "Text 1 de."}
    again = judge(directory, server)
    assert again[0].asked == 0
    assert len(server.requests) == 8


def test_what_has_no_answer_is_never_sent(make_run, model_server):
    directory = make_run(
        {
            (1, "en"): ["", "good", Completion("cut", finish_reason="length")],
            (1, "de"): [
                Completion("x", finish_reason="content_filter"),
                Completion("", error="timeout"),
                "<think>only",
            ],
        }
    )
    server = model_server(**says(yes_to_good))
    judge(directory, server)
    assert [answer_of(p) for p in prompts(server)] == ["good"]
    assert list(verdict_statuses(directory).values()) == [
        "refused",
        "error",
        "truncated",
        "empty",
        "correct",
        "truncated",
    ]
    frame = read(directory).frame
    de = frame.filter(frame["language"] == "de").row(0, named=True)
    assert (de["n"], de["k"], de["refused"], de["error"], de["truncated"]) == (2, 0, 1, 1, 1)


def test_an_unreadable_verdict_is_asked_for_once_more_with_more_room(make_run, model_server):
    def word(answer):
        return "Hm, who knows" if "odd" in answer else "YES"

    directory = make_run({(1, "en"): ["odd", "odd", "fine"], (1, "de"): ["fine", "fine", "fine"]})
    server = model_server(**says(word))
    (summary,) = judge(directory, server)
    assert summary.complete
    assert (summary.unparsed, summary.asked) == (1, 4)
    odd = [r.body["max_tokens"] for r in server.requests if "odd" in str(r.body)]
    assert odd == [1024, 4096]
    statuses = verdict_statuses(directory)
    assert statuses[key(1, "en", 0)] == statuses[key(1, "en", 1)] == "judge_unparsed"
    assert statuses[key(1, "en", 2)] == "correct"
    row = read(directory).frame.filter(read(directory).frame["language"] == "en").row(0, named=True)
    assert (row["n"], row["k"], row["judge_unparsed"]) == (1, 1, 2), "never wrong"
    assert judge(directory, server)[0].asked == 0, "twice is enough"
    with VerdictStore(directory / VERDICTS_NAME, read_only=True) as store:
        kept = dict(store.verdicts(JUDGE))[key(1, "en", 0)]
    assert (kept.attempts, kept.text, kept.first_text) == (2, "Hm, who knows", "Hm, who knows")


def test_the_second_try_counts(make_run, model_server):
    said = iter(["cut in the midd", "**YES**"])
    directory = make_run({(1, "en"): ["a"], (1, "de"): [""]})
    server = model_server(right=lambda _: next(said), probability=lambda _: 1.0)
    judge(directory, server)
    assert verdict_statuses(directory)[key(1, "en")] == "correct"


def test_raw_verdicts_are_kept_and_read_anew(make_run, model_server):
    directory = make_run({(1, "en"): ["a"], (1, "de"): ["b"]})
    server = model_server(**says(lambda _: "**Yes**, it is."))
    judge(directory, server)
    with sqlite3.connect(directory / VERDICTS_NAME) as connection:
        rows = connection.execute(
            "SELECT judge, text, attempts, model, prompt_version FROM verdicts"
        ).fetchall()
        connection.execute("UPDATE verdicts SET text = 'Verdict: NO' WHERE language = 'de'")
    connection.close()
    assert rows == [(JUDGE, "**Yes**, it is.", 1, "test-model", JUDGE_VERSION)] * 2
    assert list(verdict_statuses(directory).values()) == ["wrong", "correct"]


def test_a_panel_and_its_ties(make_run, model_server):
    directory = make_run({(1, "en"): ["good x", "good", "bad"], (1, "de"): ["bad", "x", "good"]})
    server = model_server(
        models=("a", "b", "c"),
        **says(yes_to_good),
    )
    strict = model_server(models=("b",), **says(lambda a: "YES" if a == "good" else "NO"))
    odd = model_server(models=("c",), **says(lambda a: "??" if a == "x" else "YES"))
    judge(directory, server, ("openai-api/a",))
    judge(directory, strict, ("openai-api/b",))
    two = verdict_statuses(directory)
    assert two[key(1, "en", 0)] == "judge_unparsed", "one says yes, the other no"
    assert two[key(1, "en", 1)] == "correct"
    assert two[key(1, "de", 0)] == "wrong"
    judge(directory, odd, ("openai-api/c",))
    three = verdict_statuses(directory)
    assert three[key(1, "en", 0)] == "correct"
    assert three[key(1, "de", 1)] == "wrong", "two of three, one unreadable"
    assert verdict_statuses(directory, ["openai-api/b"])[key(1, "en", 0)] == "wrong"
    assert read_verdicts(directory).judges == ("openai-api/a", "openai-api/b", "openai-api/c")
    with pytest.raises(UnknownNameError, match="did you mean openai-api/a"):
        verdict_statuses(directory, ["openai-api/aa"])
    alone = read(directory, judges="openai-api/b")
    assert any("judged by openai-api/b" in note for note in alone.notes)


def test_before_any_judge_nothing_counts_and_a_note_says_what_to_do(make_run):
    directory = make_run(REPLIES)
    found = read_verdicts(directory)
    assert set(found.statuses.values()) == {"judge_unparsed"}
    assert found.judges == ()
    (note,) = found.notes
    assert "12 replies wait for a verdict" in note
    assert f"hatscore judge {directory} --judge MODEL" in note
    outcomes = read(directory)
    assert outcomes.excluded["n"].sum() == 0
    assert outcomes.excluded["judge_unparsed"].sum() == 12
    assert any("wait for a verdict" in note for note in outcomes.notes)
    with pytest.raises(UnknownNameError, match="none has been asked"):
        verdict_statuses(directory, ["x"])


def test_a_stopped_judge_goes_on(make_run, model_server, fault):
    directory = make_run({(n, t): [f"good {n} {t}"] for n in range(30) for t in ("en", "de")})
    server = model_server(**says(yes_to_good))
    count = iter(range(1000))

    def then_fail(prompt):
        if next(count) == 20:
            server.always = fault(status=401, text="no access")
        return yes_to_good(answer_of(prompt))

    server.right = then_fail
    with pytest.raises(ModelError):
        judge(directory, server, concurrency=1)
    with VerdictStore(directory / VERDICTS_NAME, read_only=True) as store:
        kept = len(list(store.verdicts(JUDGE)))
    assert kept == 21
    note = next(n for n in read_verdicts(directory).notes if "wait" in n)
    assert "39 replies wait" in note
    assert f"--judge {JUDGE}" in note
    server.always = None
    (summary,) = judge(directory, server)
    assert summary.asked == 39
    assert set(verdict_statuses(directory).values()) == {"correct"}


KILLED = """
import sys
from hatscore.judging import run_judging
print("begin", flush=True)
run_judging(sys.argv[1], [sys.argv[2]], base_url=sys.argv[3], concurrency=1)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_judge_goes_on(make_run, model_server, how):
    directory = make_run({(n, "en"): [f"good {n}"] for n in range(60)})
    server = model_server(latency_s=0.03, **says(yes_to_good))
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(directory), JUDGE, server.url],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 20
    while len(server.requests) < 30 and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(how)
    process.wait(20)
    with VerdictStore(directory / VERDICTS_NAME, read_only=True) as store:
        kept = len(list(store.verdicts(JUDGE)))
    asked = len(server.requests)
    # half a second of verdicts may be lost to SIGKILL, none to a stop in good order
    assert kept >= (asked - 2 if how != signal.SIGKILL else 5)
    assert kept < 60
    server.latency_s = 0
    (summary,) = judge(directory, server)
    assert summary.asked == 60 - kept
    assert set(verdict_statuses(directory).values()) == {"correct"}


class Flaky:
    """A judge whose server fails on every second request for good."""

    name = "flaky"

    def __init__(self):
        self.asked = 0
        self.fails = True

    async def check(self):
        pass

    async def close(self):
        pass

    async def complete(self, prompt, *, n, params, seed):
        assert (prompt.mode, n, params.temperature, seed) == ("chat", 1, 0, None)
        self.asked += 1
        if self.fails and self.asked % 2:
            return [Completion("", error="timeout")]
        return [Completion("YES", output_tokens=2)]


def test_a_transport_error_is_no_verdict(make_run):
    directory = make_run({(n, t): ["a"] for n in range(5) for t in ("en", "de")})
    client = Flaky()

    async def ask():
        with Run.open(directory) as run, VerdictStore(directory / VERDICTS_NAME) as store:
            return await judge_replies(run, store, client, judge="flaky", concurrency=1)

    first = asyncio.run(ask())
    assert not first.complete
    assert (first.asked, first.missing, first.last_error) == (5, 5, "timeout")
    assert first.output_tokens == 10
    found = list(verdict_statuses(directory).values())
    assert (found.count("correct"), found.count("judge_unparsed")) == (5, 5)
    client.fails = False
    second = asyncio.run(ask())
    assert second.complete
    assert second.asked == 5
    assert set(verdict_statuses(directory).values()) == {"correct"}


def test_replies_that_come_later_share_a_known_verdict(make_run, model_server):
    directory = make_run({(1, "en"): ["good", "bad"], (1, "de"): ["good"]})
    server = model_server(**says(yes_to_good))
    judge(directory, server)
    before = len(server.requests)
    with Run.open(directory) as run:
        config = run.config
        cells = {item.language: item.cell for item in run.store.items()}
    with Run.create_or_resume(directory, config) as run:
        run.store.put(cells["de"], 1, Completion("good"), seed=None)
        run.store.put(cells["de"], 2, Completion("new"), seed=None)
    assert verdict_statuses(directory)[key(1, "de", 1)] == "judge_unparsed"
    (summary,) = judge(directory, server)
    assert summary.asked == len(server.requests) - before == 1
    assert verdict_statuses(directory)[key(1, "de", 1)] == "correct"
    assert verdict_statuses(directory)[key(1, "de", 2)] == "wrong"


def test_a_verdict_on_another_text_does_not_count(make_run, model_server):
    directory = make_run({(1, "en"): ["good"], (1, "de"): ["good"]})
    server = model_server(**says(yes_to_good))
    judge(directory, server)
    with sqlite3.connect(directory / VERDICTS_NAME) as connection:
        connection.execute("UPDATE verdicts SET subject = 'old' WHERE language = 'de'")
    connection.close()
    assert verdict_statuses(directory)[key(1, "de")] == "judge_unparsed"
    assert judge(directory, server)[0].asked == 1
    assert verdict_statuses(directory)[key(1, "de")] == "correct"


def test_again_replaces_the_verdicts_of_this_judge(make_run, model_server):
    directory = make_run({(1, "en"): ["good"], (1, "de"): ["good"]})
    server = model_server(models=("test-model", "other"), **says(yes_to_good))
    judge(directory, server, (JUDGE, "openai-api/other"))
    with sqlite3.connect(directory / VERDICTS_NAME) as connection:
        connection.execute("UPDATE verdicts SET prompt_version = '0'")
    connection.close()
    assert any("version 0 of the judge's prompt" in n for n in read_verdicts(directory).notes)
    server.right = lambda _: "NO"
    judge(directory, server, again=True)
    assert set(verdict_statuses(directory, [JUDGE]).values()) == {"wrong"}
    assert set(verdict_statuses(directory, ["openai-api/other"]).values()) == {"correct"}


def test_messages(make_run, model_server, tmp_path):
    directory = make_run({(1, "en"): ["good"], (1, "de"): ["good"]})
    server = model_server(**says(yes_to_good))
    with pytest.raises(InputError, match="at least one; got none"):
        judge(directory, server, ())
    with pytest.raises(InputError, match="once each"):
        judge(directory, server, (JUDGE, JUDGE))
    with pytest.raises(UnknownNameError, match="openai-api/NAME"):
        judge(directory, server, ("gemini",))
    with pytest.raises(RunError, match="is no run"):
        judge(tmp_path / "none", server)
    lock = Lock(directory / JUDGE_LOCK_NAME)
    try:
        with pytest.raises(RunError, match="another process"):
            judge(directory, server)
    finally:
        lock.release()

    async def inside():
        judge(directory, server)

    with pytest.raises(InputError, match="running event loop"):
        asyncio.run(inside())
    (directory / VERDICTS_NAME).write_text("no database, but long enough to be one" * 50)
    with pytest.raises(RunError, match="cannot open"):
        verdict_statuses(directory)
    (directory / VERDICTS_NAME).unlink()
    with sqlite3.connect(directory / VERDICTS_NAME) as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(RunError, match="not the verdicts of a run"):
        judge(directory, server)
    with pytest.raises(RunError, match="no such file"):
        VerdictStore(tmp_path / "none.sqlite", read_only=True)


def test_a_run_without_free_answers_needs_no_judge(tmp_path, model_server):
    from hatscore.cli.request import Request
    from hatscore.cli.running import sample_into

    server = model_server(right=lambda _: "5", probability=lambda _: 1.0)
    request = Request(JUDGE, ("wordmath",), ["de"], items=2, repeats=1, base_url=server.url)
    sample_into(request, tmp_path / "r", quiet=True)
    with pytest.raises(InputError, match="no item of this run is graded by a judge"):
        judge(tmp_path / "r", server)
    assert verdict_statuses(tmp_path / "r") == {}
