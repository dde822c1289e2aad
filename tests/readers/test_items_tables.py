"""Items of Parquet tables and of Every Eval Ever: texts beside scores, and what is missing."""

from __future__ import annotations

import json

import polars as pl
import pytest

import hatscore
from hatscore.errors import AlignmentError, UnknownNameError
from hatscore.readers import items_parquet
from hatscore.readers.items import Items

COUNTED = ("model", "benchmark", "item", "language")


def by_key(records):
    return {(r.item, r.language): r for r in records}


def agrees(outcomes, records):
    """Whether the items are those of the table, and counted replies are n."""
    rows = {
        tuple(r[name] for name in COUNTED): r["n"] for r in outcomes.frame.iter_rows(named=True)
    }
    found = {
        tuple(getattr(r, name) for name in COUNTED): sum(x.counts for x in r.replies)
        for r in records
    }
    assert found == rows


# -- the canonical table -------------------------------------------------------------------------


def canonical(**texts):
    """Return four rows of two replies each, with columns of texts."""
    rows = [("1", "en", 2), ("1", "sw", 1), ("2", "en", 2), ("2", "sw", 0)]
    return pl.DataFrame([
        {"model": "m", "benchmark": "b", "item": item, "language": language,
         "source_language": "en", "n": 2, "k": k, "weight": 1.0,
         **{name: make(item, language, k) for name, make in texts.items()}}
        for item, language, k in rows
    ])  # fmt: skip


def put(frame, folder):
    path = folder / "table.parquet"
    frame.write_parquet(path)
    return path


TEXTS = {
    "question": lambda item, language, _: f"{item} in {language}?",
    "prompt": lambda item, language, _: f"Briefly. {item} in {language}?",
    "reference": lambda item, language, _: [f"{item} {language}", item],
    "reply": lambda item, _, k: [f"{item}, I say", "no" if k < 2 else item],
}


def test_a_canonical_table_with_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(items_parquet, "_ROWS", 3)
    path = put(canonical(**TEXTS), tmp_path)
    outcomes = hatscore.read(path)
    assert outcomes.frame.equals(hatscore.read(put(canonical(), tmp_path)).frame)
    put(canonical(**TEXTS), tmp_path)
    items = Items([path])
    records = list(items)
    agrees(outcomes, records)
    assert items.notes == []
    one = by_key(records)["1", "sw"]
    assert (one.question, one.prompt) == ("1 in sw?", "Briefly. 1 in sw?")
    assert (one.gold, one.also) == ("1 sw", ("1",))
    # one of two is right, and nothing says which
    assert [(r.text, r.status) for r in one.replies] == [("1, I say", ""), ("no", "")]
    assert {r.status for r in by_key(records)["2", "sw"].replies} == {"wrong"}
    assert {r.status for r in by_key(records)["2", "en"].replies} == {"correct"}
    items.keep = lambda _, item: item == "2"
    assert {r.item for r in items} == {"2"}


def test_a_canonical_table_may_say_how_replies_were_read(tmp_path):
    more = {
        "options": lambda *_: ["red", "blue"],
        "gold": lambda *_: "B",
        "status": lambda _, __, k: [
            "correct" if k else "wrong",
            "correct" if k > 1 else "unparsed",
        ],
        "answer": lambda *_: ["B", None],
        "why": lambda *_: ["the first letter", None],
    }
    path = put(canonical(**TEXTS, **more), tmp_path)
    agrees(hatscore.read(path), list(Items([path])))
    one = by_key(Items([path]))["1", "sw"]
    assert one.options == (("A", "red"), ("B", "blue"))
    assert one.gold == "B"
    assert [(r.status, r.answer, r.why) for r in one.replies] == [
        ("correct", "B", "the first letter"),
        ("unparsed", None, "as the table says"),
    ]


def test_what_a_canonical_table_lacks_is_said(tmp_path):
    path = put(canonical(question=TEXTS["question"]), tmp_path)
    items = Items([path])
    assert {r.replies for r in items} == {()}
    assert items.notes == ["table.parquet: the table has no column reply, so replies are missing"]
    path = put(canonical(comment=TEXTS["question"]), tmp_path)
    with pytest.raises(UnknownNameError, match="comment"):
        hatscore.read(path)
    path = put(canonical(gold=TEXTS["question"]), tmp_path)
    with pytest.raises(AlignmentError, match="golds that differ"):
        hatscore.read(path)


def test_numbers_for_items_are_named_as_in_the_table(tmp_path):
    frame = canonical(**TEXTS).with_columns(pl.col("item").cast(pl.Float64))
    path = put(frame, tmp_path)
    agrees(hatscore.read(path), list(Items([path])))


# -- other Parquet tables ------------------------------------------------------------------------


def test_parquet_of_any_make_with_a_map_of_columns(tmp_path):
    rows = [
        {"qid": i, "lang": language, "q": {"text": f"{i} in {language}?"}, "right": ["Red", "Rot"],
         "said": [{"content": f"{'Red' if i else 'Blue'}, I say"}], "ok": i}
        for i in range(2) for language in ("en", "de")
    ]  # fmt: skip
    path = put(pl.DataFrame(rows), tmp_path)
    columns = "item=qid,language=lang,question=q.text,gold=right,reply=said.0.content"
    named = {"source": "en", "model": "m", "benchmark": "b"}
    scored = {**named, "columns": f"{columns.replace('right', 'right.0')},score=ok"}
    items = Items([path], options=scored)
    records = list(items)
    agrees(hatscore.read(path, **scored), records)
    assert items.notes == []
    one = by_key(records)["1", "de"]
    assert (one.question, one.gold) == ("1 in de?", "Red")
    assert [(r.text, r.status) for r in one.replies] == [("Red, I say", "correct")]
    graded = by_key(Items([path], options={**named, "columns": columns, "grade": "name"}))
    (read,) = graded["1", "de"].replies
    assert (read.status, read.answer) == ("correct", "Red")
    assert graded["1", "de"].also == ("Rot",)


# -- Every Eval Ever -----------------------------------------------------------------------------


def instance(item, language, k, said, **more):
    """Return a record of schema instance_level_eval 0.2.2."""
    return {
        "schema_version": "instance_level_eval_0.2.2",
        "evaluation_id": "colours/lab/m/1",
        "model_id": "lab/m",
        "evaluation_name": "colours",
        "sample_id": item,
        "interaction_type": "single_turn",
        "input": {
            "raw": f"{item} in {language}?",
            "formatted": f"Briefly. {item} in {language}?",
            "reference": ["Blue"],
            "choices": ["Red", "Blue"],
        },
        "output": {"raw": [said], "reasoning_trace": ["Let me see."]},
        "messages": None,
        "answer_attribution": [
            {
                "turn_idx": 0, "source": "output.raw", "extracted_value": said[:4],
                "extraction_method": "regex", "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(k), "is_correct": bool(k)},
        "error": None,
        "metadata": {"language": language, "source_language": "en"},
        **more,
    }  # fmt: skip


def samples(folder, *records):
    path = folder / "1_samples.jsonl"
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return path


def test_records_of_every_eval_ever_hold_input_and_output(tmp_path):
    path = samples(tmp_path, instance("1", "en", 1, "Blue it is"), instance("1", "de", 0, "Red"))
    items = Items([path])
    records = list(items)
    agrees(hatscore.read(path), records)
    assert items.notes == []
    one = by_key(records)["1", "en"]
    assert (one.question, one.prompt) == ("1 in en?", "Briefly. 1 in en?")
    assert (one.gold, one.options) == ("B", (("A", "Red"), ("B", "Blue")))
    (reply,) = one.replies
    assert (reply.text, reply.status, reply.answer) == ("Blue it is", "correct", "Blue")
    assert (reply.why, reply.reasoning) == ("by regex, as the record says", "Let me see.")
    items.keep = lambda *_: False
    assert list(items) == []


def test_replies_of_every_eval_ever_can_be_graded_here(tmp_path):
    def with_letter(item, language, k, said):
        asked = {"raw": "?", "reference": ["B"], "choices": ["Red", "Blue"]}
        return instance(item, language, k, said, input=asked)

    path = samples(tmp_path, with_letter("1", "en", 0, "Answer: B"),
                   with_letter("1", "de", 1, "Antwort: A"))  # fmt: skip
    options = {"grade": "choice"}
    records = by_key(Items([path], options=options))
    agrees(hatscore.read(path, **options), records.values())
    (english,), (german,) = records["1", "en"].replies, records["1", "de"].replies
    assert (english.status, english.answer, english.why) == (
        "correct", "B", "after the cue “Answer:”",
    )  # fmt: skip
    assert (german.status, german.answer) == ("wrong", "A")
    assert records["1", "en"].gold == "B"
    assert [text for _, text in records["1", "en"].options] == ["Red", "Blue"]


def test_conversations_errors_and_what_is_missing(tmp_path):
    turns = [
        {"turn_idx": 0, "role": "user", "content": "Which?"},
        {"turn_idx": 1, "role": "assistant", "content": "Of what?"},
        {"turn_idx": 2, "role": "user", "content": "Colours."},
        {"turn_idx": 3, "role": "assistant", "content": "Blue", "reasoning_trace": "Sky."},
    ]
    bare = {"raw": "Which?", "reference": ["Blue"]}
    talk = {"output": None, "messages": turns, "interaction_type": "multi_turn", "input": bare}
    path = samples(
        tmp_path,
        instance("1", "en", 1, "", **talk),
        instance("1", "de", 0, "", output=None, input={}, answer_attribution=[]),
        instance("2", "en", 1, "Blue"),
        instance("2", "de", 0, "", output=None, error="HTTP 500", answer_attribution=[]),
    )
    items = Items([path])
    records = by_key(items)
    counts = hatscore.read(path).frame.sort("item", "language")["n"].to_list()
    assert counts == [1, 1, 0, 1]
    first = records["1", "en"]
    assert first.prompt == "user: Which?\n\nassistant: Of what?\n\nuser: Colours."
    assert (first.gold, first.options) == ("Blue", ())
    assert (first.replies[0].text, first.replies[0].reasoning) == ("Blue", "Sky.")
    (failed,) = records["2", "de"].replies
    assert (failed.status, failed.counts) == ("error", False)
    assert failed.why == "as the record says: HTTP 500"
    assert records["1", "de"].replies == ()
    assert items.notes == [
        "Items of Every Eval Ever without input.raw, the question: 1",
        "Items of Every Eval Ever with neither output nor messages: 1",
    ]


def test_how_a_reply_ended_is_believed_where_it_says_no_other_score(tmp_path):
    def ended(status):
        return {"metadata": {"language": "de", "source_language": "en", "status": status}}

    path = samples(
        tmp_path,
        *(instance(str(i), "en", 1, "Blue") for i in range(3)),
        instance("0", "de", 0, "?", **ended("unparsed")),
        instance("1", "de", 0, "?", **ended("correct")),
        instance("2", "de", 0, "?", **ended("lost")),
    )
    records = by_key(Items([path]))
    said = [records[str(i), "de"].replies[0].status for i in range(3)]
    assert said == ["unparsed", "wrong", "wrong"]
