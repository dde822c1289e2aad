"""Items of foreign logs: the texts that are there, under the keys that were scored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import hatscore
from hatscore.readers.items import Items

WRITER = Path(__file__).with_name("inspect_logs.py")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    done = subprocess.run(
        [sys.executable, WRITER, folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def agrees(outcomes, records):
    """Whether right replies and counted ones of every item are those of its row."""
    rows = {
        (r["model"], r["benchmark"], r["item"], r["language"]): (r["n"], r["k"])
        for r in outcomes.frame.iter_rows(named=True)
    }
    found = {
        (r.model, r.benchmark, r.item, r.language): (
            sum(len(x.repeats) for x in r.replies if x.counts),
            sum(len(x.repeats) for x in r.replies if x.status == "correct"),
        )
        for r in records
    }
    assert found == rows


@pytest.mark.parametrize("folder", ["names_eval", "names_json", "metadata"])
def test_logs_of_inspect_hold_questions_targets_and_outputs(logs, folder):
    outcomes = hatscore.read(logs / folder, source="en")
    items = Items([logs / folder], options={"source": "en"})
    records = list(items)
    agrees(outcomes, records)
    assert items.notes == []
    for record in records:
        assert record.question
        assert record.gold
        assert all(reply.text and reply.why for reply in record.replies)
    items.keep = lambda _, item: item == records[0].item
    assert {r.item for r in items} == {records[0].item}


LONG = (
    "Let me see.\nFour and a half by two, less one\nis\nthree and a half, so that\n3.5 it is"
    " and remains."
)


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    """Folders that lm-evaluation-harness wrote: free answers with two filters, and a choice."""
    pytest.importorskip("lm_eval", reason="the test extra holds lm-eval")
    folder = tmp_path_factory.mktemp("harness")
    exact = [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}]
    filters = [
        {"name": "strict-match", "filter": [
            {"function": "regex", "regex_pattern": r"The answer is (\-?[0-9\.\,]+)"},
            {"function": "take_first"}]},
        {"name": "flexible-extract", "filter": [
            {"function": "regex", "group_select": -1, "regex_pattern": r"(-?[0-9.,]{1,})"},
            {"function": "take_first"}]},
    ]  # fmt: skip
    free = [
        {"task": f"mgsm_{language}", "metric_list": exact, "repeats": 2, "filter_list": filters,
         "items": [{"question": f"mgsm {language} {i}", "answer": str(i + 4)} for i in range(2)]}
        for language in ("en", "de")
    ]  # fmt: skip
    choice = [
        {"task": f"belebele_{language}_Latn", "output_type": "multiple_choice",
         "items": [{"question": f"{language} {i}", "gold": i} for i in range(2)],
         "doc_to_target": "gold", "doc_to_choice": ["a", "b", "c", "d"],
         "metric_list": [{"metric": "acc"}]}
        for language in ("eng", "deu")
    ]  # fmt: skip
    replies = {
        f"mgsm {language} {i}": ["The answer is 4", "I say 5"]
        for language in ("en", "de")
        for i in range(2)
    }
    likely = {
        f"{language} {i}\t {option}": [-1.0 if option == "a" else -2.0]
        for language in ("eng", "deu")
        for i in range(2)
        for option in "abcd"
    }
    plain = [
        {"task": f"mgsm_direct_{language}", "metric_list": exact, "filter_list": [
            {"name": "none", "filter": [{"function": "take_first"}]},
            {"name": "last-line", "filter": [
                {"function": "regex", "regex_pattern": r"(?s)(Four.+)"},
                {"function": "take_first"}]}],
         "items": [{"question": f"plain {language} {i}", "answer": "4"} for i in range(2)]}
        for language in ("en", "de")
    ]  # fmt: skip
    long = {f"plain {language} {i}": [LONG] for language in ("en", "de") for i in range(2)}
    plan = folder / "plan.json"
    plan.write_text(json.dumps([
        {"folder": "plain", "model": "org/tiny", "tasks": plain, "replies": long},
        {"folder": "free", "model": "org/tiny", "tasks": free, "replies": replies},
        {"folder": "choice", "model": "org/tiny", "tasks": choice, "replies": likely},
    ]), encoding="utf-8")  # fmt: skip
    script = Path(__file__).with_name("lm_eval_run.py")
    done = subprocess.run(
        [sys.executable, str(script), str(plan), str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_logs_of_the_harness_hold_replies_and_how_they_were_read(harness):
    records = list(Items([harness / "free"]))
    agrees(hatscore.read(harness / "free"), records)
    first = next(r for r in records if (r.item, r.language) == ("1", "de"))
    assert (first.question, first.gold) == ("mgsm de 1", "5")
    assert first.question in first.prompt
    assert [(r.status, r.answer, r.why) for r in first.replies] == [
        ("wrong", "4", "after the cue “answer is”"),
        ("correct", "5", "no cue announces an answer: the last number counts"),
    ]
    scored = list(Items([harness / "free"], options={"filter": "strict-match"}))
    (one, _) = scored[0].replies
    assert one.why.startswith("the log's filter strict-match took '4': exact_match 1")
    assert "flexible-extract" in one.why


def test_what_a_filter_took_is_not_the_reply_once_more(harness):
    items = list(Items([harness / "plain"], options={"filter": "none"}))
    replies = [reply for item in items for reply in item.replies]
    assert len(replies) == 4
    for reply in replies:
        assert reply.text == LONG
        whole, cut = reply.why.split("; ")
        assert whole == "the log took the whole reply: exact_match 0.0"
        assert cut.startswith("the log's filter last-line took 'Four and a half by two")
        assert "\\n" not in cut
        assert len(cut) < 150


def test_items_scored_by_likelihood_have_no_replies(harness):
    items = Items([harness / "choice"], options={"metric": "acc"})
    assert {r.replies for r in items} == {()}
    assert items.notes == ["4 items were scored by likelihood: they have no replies to show"]
