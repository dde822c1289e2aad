"""Items behind a score: what is shown is what was counted, and no text of a model can act."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hatscore import read
from hatscore.benchmarks.base import Item, Prompt
from hatscore.cli import main
from hatscore.cli.reading import items_behind, read_graded
from hatscore.grading.answer import Gold
from hatscore.judging.prompt import subject_key
from hatscore.judging.store import VERDICTS_NAME, ReplyKey, Verdict, VerdictStore
from hatscore.readers.items import ItemRecord, ItemReply, Items
from hatscore.report import items as module
from hatscore.report import write_report
from hatscore.report.items import tidy, write_items
from hatscore.sampling import BenchmarkPlan, Completion, Run, RunConfig, SamplingParams, Task

HOSTILE = "</script><img src=x onerror=alert(1)><!-- \u2028 \N{GRINNING FACE} Answer: 4"


@pytest.fixture
def run(sampled_run):
    """Six items in three languages; every way to end is there, and a hostile reply."""
    return sampled_run


def chunks_of(directory):
    found = {}
    for file in directory.glob("items/*/*.js"):
        name, text = re.fullmatch(
            r'hatscore\.take\("(\d+-\d+)",(.*)\);\n', file.read_text(encoding="utf-8"), re.DOTALL
        ).groups()
        found[name] = json.loads(text)
    return found


class Scripts(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.tags, self._id = {}, [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._id = dict(attrs).get("id") if tag == "script" else None

    def handle_endtag(self, tag):  # noqa: ARG002 - the name of the base class
        self._id = None

    def handle_data(self, data):
        if self._id:
            self.found[self._id] = data


def test_replies_are_read_as_they_were_counted(run):
    outcomes = read(run)
    records = list(Items([run]))
    assert len(records) == outcomes.frame.height == 18
    for row in outcomes.frame.iter_rows(named=True):
        (record,) = (
            r for r in records if (r.item, r.language) == (row["item"], row["language"])
        )  # fmt: skip
        total = {}
        for reply in record.replies:
            total[reply.status] = total.get(reply.status, 0) + len(reply.repeats)
        assert total.get("correct", 0) == row["k"]
        assert sum(len(r.repeats) for r in record.replies if r.counts) == row["n"]
        for status in ("empty", "truncated", "refused", "unparsed", "error"):
            assert total.get(status, 0) == row[status]
        assert record.question in record.prompt


def test_options_of_grading_reach_the_items(run):
    strict = list(Items([run], options={"count": "answered"}))
    assert not any(r.counts for x in strict for r in x.replies if r.status == "truncated")
    some = list(Items([run], keep=lambda _, item: item == "3"))
    assert {r.item for r in some} == {"3"}


def test_equal_replies_come_once_with_the_rule_and_the_place(run):
    record = next(r for r in Items([run]) if r.language == "ar" and r.item == "1")
    first, other = record.replies
    assert first.repeats == ("0", "1", "2")
    assert first.why == "after the cue “الجواب:”"
    assert first.text[slice(*first.place)] == "الجواب: 3"
    assert (other.answer, other.status) == ("99", "wrong")


def test_few_items_stand_in_the_page(run, tmp_path):
    page = write_report(read(run), tmp_path / "out", formats=(), items=Items([run]))
    assert not (tmp_path / "out" / "items").exists()
    text = page.read_text(encoding="utf-8")
    scripts = Scripts(text)
    assert "img" not in scripts.tags
    index, data = (json.loads(scripts.found[f"items-{x}"]) for x in ("index", "data"))
    assert index["where"] == ""
    assert sum(part[5] for part in index["parts"]) == 18
    texts = [r["text"] for c in data.values() for item in c["items"] for r in item["replies"]]
    assert texts.count(HOSTILE) == 2  # to the letter
    assert "strict-dynamic" not in text
    assert "complete in itself" in text


def test_many_items_lie_beside_the_page(run, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "EMBED_BYTES", 1000)
    monkeypatch.setattr(module, "CHUNK_BYTES", 1500)
    page = write_report(read(run), tmp_path, formats=(), items=Items([run]))
    text = page.read_text(encoding="utf-8")
    index = json.loads(Scripts(text).found["items-index"])
    found = chunks_of(tmp_path)
    named = {f"{i}-{j}" for i, part in enumerate(index["parts"]) for j in range(part[4])}
    assert set(found) == named
    assert len(found) > len(index["parts"])
    assert (tmp_path / index["where"]).is_dir()
    assert "strict-dynamic" in text
    assert "folder “items”" in text
    for file in tmp_path.glob("items/*/*.js"):
        written = file.read_text(encoding="utf-8")
        assert not set("<>&\u2028") & set(written)
        assert file.stat().st_size < 4000
    for content in found.values():
        for item in content["items"]:
            before, after = (content["texts"][place] for place in item["prompt"])
            assert (before, after[0]) == ("Sum.\n", "\n")
    assert not list(tmp_path.glob(".items*"))


def test_chunks_of_an_earlier_report_go_and_nothing_else(run, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "EMBED_BYTES", 1000)
    stale = tmp_path / "items" / ("0" * 16)
    stale.mkdir(parents=True)
    (stale / "0-0.js").write_text("old")
    (tmp_path / "items" / "mine.txt").write_text("kept")
    outcomes = read(run)
    write_report(outcomes, tmp_path, formats=(), items=Items([run]))
    (build,) = (p.name for p in (tmp_path / "items").iterdir() if p.is_dir())
    assert not stale.exists()
    assert (tmp_path / "items" / "mine.txt").exists()
    # the same data make the same name
    write_report(outcomes, tmp_path, formats=(), items=Items([run]))
    assert (tmp_path / "items" / build).is_dir()
    write_report(outcomes, tmp_path, formats=())
    assert [p.name for p in (tmp_path / "items").iterdir()] == ["mine.txt"]
    tidy(tmp_path / "nowhere", None)


def test_what_is_no_part_of_the_scores_is_left_out_and_said(run, tmp_path):
    outcomes = read(run)

    class Strange(list):
        notes = ("a note",)

    known = outcomes.frame.row(0, named=True)
    names = {x: known[x] for x in ("model", "benchmark", "item", "language", "source_language")}
    long = ItemReply("x" * 30_000, "wrong", counts=True)
    half = ItemRecord(**names, question="\ud83d", replies=(long,))
    stranger = ItemRecord(**{**names, "item": "none"})
    part = write_items(Strange([half, stranger]), outcomes, tmp_path)
    index, data = json.loads(part.index), json.loads(part.data)
    assert index["notes"][0] == "a note"
    assert "1 items of the data are no part of the scores" in index["notes"][1]
    (item,) = data["0-0"]["items"]
    assert item["question"] == "?"
    assert (len(item["replies"][0]["text"]), item["replies"][0]["whole"]) == (20_000, 30_000)
    assert write_items(Strange([stranger]), outcomes, tmp_path) is None


def test_a_failing_iteration_leaves_nothing_behind(run, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "EMBED_BYTES", 1000)
    monkeypatch.setattr(module, "CHUNK_BYTES", 500)

    class Failing:
        notes = ()

        def __iter__(self):
            yield from list(Items([run]))[:9]
            raise OSError("gone")

    (tmp_path / "index.html").write_text("old page")
    with pytest.raises(OSError, match="gone"):
        write_report(read(run), tmp_path, formats=(), items=Failing())
    left = {p.name for p in tmp_path.iterdir()} - {"run"}
    assert left == {"index.html"}
    assert (tmp_path / "index.html").read_text() == "old page"


def test_the_default_of_very_large_runs_is_a_sample(run, monkeypatch):
    outcomes = read(run)
    asked = {"names": "lenient", "count": "unparsed,empty,truncated,refused"}
    assert items_behind([run], outcomes, **asked).keep is None
    assert items_behind([run], outcomes, **asked, wanted=False) is None
    monkeypatch.setattr("hatscore.cli.reading.MOST_REPLIES", 36)
    found = items_behind([run], outcomes, **asked)
    kept = {item for item in map(str, range(2000)) if found.keep("b", item)}
    assert 900 < len(kept) < 1100
    records = list(found)
    assert {r.item for r in records if r.language == "en"} == {
        r.item for r in records if r.language == "ar"
    }
    assert found.notes[0].startswith("A random sample of 50% of the items is kept")
    assert items_behind([run], outcomes, **asked, wanted=True).keep is None


def test_the_command_keeps_items_or_none(run, tmp_path, capsys):
    for flags, there in (([], True), (["--no-items"], False)):
        with pytest.raises(SystemExit) as end:
            main(["report", str(run), "-o", str(tmp_path / "out"), "--figures", "none", *flags])
        assert end.value.code == 0
        page = Path(capsys.readouterr().out.strip())
        assert ('id="items-index"' in page.read_text(encoding="utf-8")) is there


def test_formats_without_texts_say_so(run, tmp_path):
    file = tmp_path / "table.parquet"
    read(run).write_parquet(file)
    items = Items([file])
    assert list(items) == []
    (note,) = items.notes
    assert note.startswith("table.parquet: this table holds counts and no texts")
    page = write_report(read(file), tmp_path, formats=(), items=items).read_text(encoding="utf-8")
    assert "items-index" not in Scripts(page).found
    assert note in page


def test_replies_of_a_table_are_shown_with_their_reading(tmp_path):
    lines = ["item,language,reply,gold,question"]
    for i in range(4):
        lines += [f"{i},en,Answer: {i},{i},What is {i}?", f"{i},de,Antwort: 9,{i},Was ist {i}?"]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    given = {"source": "en", "grade": "number", "reader": None}
    asked = {"names": "lenient", "count": "unparsed,empty,truncated,refused", "given": given}
    outcomes = read_graded([file], **asked)
    records = list(items_behind([file], outcomes, **asked))
    assert len(records) == 8
    german = next(r for r in records if (r.item, r.language) == ("2", "de"))
    assert (german.question, german.gold) == ("Was ist 2?", "2")
    (reply,) = german.replies
    assert (reply.status, reply.answer, reply.why) == ("wrong", "9", "after the cue “Antwort:”")
    part = write_items(items_behind([file], outcomes, **asked), outcomes, tmp_path)
    assert part.count == 8


def test_verdicts_of_judges_are_shown_with_their_names(tmp_path):
    config = RunConfig(
        "lab/m", "openai-api", "lab/m", "chat", "native", SamplingParams(),
        (BenchmarkPlan("eclektic", "1", ("en", "de"), "en", 2),),
        created_at="2026-05-04T10:00:00Z", version="0.0.1",
    )  # fmt: skip
    with Run.create_or_resume(tmp_path, config) as opened:
        for language in ("en", "de"):
            gold = Gold("judge", "Ada", language, "en", context="Ada wrote it.")
            item = Item("1", language, "en", "Who?", gold)
            task = Task("eclektic", item, Prompt("chat", "Who?"), 2)
            opened.store.put_items([task])
            said = [Completion("Ada."), Completion("")]
            opened.store.put_all(task.cell, range(2), said, seed=None)
    subject = subject_key(context="Ada wrote it.", question="Who?", answer="Ada.", language="de")
    with VerdictStore(tmp_path / VERDICTS_NAME) as store:
        verdict = Verdict(subject, 1, "YES", None, None, "stop", "j", "1", "2026-05-04T10:00:00Z")
        store.put("judge/j", [ReplyKey("eclektic", "1", "de", 0)], verdict)
    german, english = list(Items([tmp_path]))
    assert (german.gold, german.context) == ("Ada", "Ada wrote it.")
    answered, silent = german.replies
    assert (answered.status, answered.votes) == ("correct", (("judge/j", "yes"),))
    assert answered.why == "the whole reply goes to the judge"
    assert (silent.status, silent.votes) == ("empty", ())
    assert english.replies[0].status == "judge_unparsed"
    assert not english.replies[0].counts
    assert english.replies[0].votes == (("judge/j", "no verdict that can be read"),)
