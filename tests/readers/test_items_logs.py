"""Items of HELM and lighteval: files in their layout, texts under the keys that were scored."""

from __future__ import annotations

import json

import polars as pl
import pytest

import hatscore
from hatscore.readers import items_helm, items_lighteval
from hatscore.readers.items import Items

STAMP, LATER = "2025-03-01T10-00-00.123456", "2025-03-02T10-00-00.123456"
OPTIONS = ("Kampala", "Nairobi", "Dodoma", "Kigali")
SHOTS = "Question: 1 + 1?\nAnswer: 2\n\n"


def by_key(records):
    return {(r.item, r.language): r for r in records}


def agrees(outcomes, records):
    """Whether right replies and counted ones of every item are those of its row."""
    rows = {
        (r["model"], r["benchmark"], r["item"], r["language"]): (r["n"], r["k"])
        for r in outcomes.frame.iter_rows(named=True)
    }
    found = {
        (r.model, r.benchmark, r.item, r.language): (
            sum(x.counts for x in r.replies),
            sum(x.status == "correct" for x in r.replies),
        )
        for r in records
    }
    assert found == rows


# -- HELM ----------------------------------------------------------------------------------------


def instance(i, language, *, right=1, perturbed=False):
    made = {
        "id": f"id{i}",
        "input": {"text": f"capital {i} in {language}?"},
        "references": [
            {"output": {"text": text}, "tags": ["correct"] if at == right else []}
            for at, text in enumerate(OPTIONS)
        ],
        "split": "test",
    }
    return {**made, "perturbation": {"name": "dialect"}} if perturbed else made


def state(made, *texts, trial=0, **more):
    return {
        "instance": made,
        "train_trial_index": trial,
        "output_mapping": dict(zip("ABCD", OPTIONS, strict=True)),
        "request": {
            "model": "org/tiny",
            "model_deployment": "org/tiny",
            "prompt": f"{SHOTS}{made['input']['text']}\nA. Kampala\nB. Nairobi\nAnswer:",
            "temperature": 0.0,
        },
        "result": {
            "success": True,
            "embedding": [],
            "completions": [
                {
                    "text": text,
                    "logprob": -0.5,
                    "tokens": [{"text": text, "logprob": -0.5}],
                    "finish_reason": {"reason": "length"},
                }
                for text in texts
            ],
            "cached": False,
        },
        "num_train_instances": 1,
        "prompt_truncated": False,
        "num_conditioning_tokens": 0,
        **more,
    }


def write_run(folder, language, right, states, *, trials=(0,), method="multiple_choice_joint"):
    path = folder / f"capitals:language={language},model=org_tiny"
    path.mkdir(parents=True)
    adapter = {"method": method, "model": "org/tiny", "model_deployment": "org/tiny"}
    stats, instances = [], []
    for i, ks in enumerate(right):
        instances += [instance(i, language), instance(i, language, perturbed=True)]
        for trial, k in zip(trials, ks if isinstance(ks, tuple) else (ks,), strict=True):
            stats.append({
                "instance_id": f"id{i}", "train_trial_index": trial,
                "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": k}],
            })  # fmt: skip
    for name, content in (
        ("run_spec.json", {"name": path.name, "scenario_spec": {"class_name": "x", "args": {}},
                           "adapter_spec": adapter}),
        ("per_instance_stats.json", stats),
        ("instances.json", instances),
        ("scenario_state.json", None if states is None else {
            "adapter_spec": adapter, "request_states": states, "annotator_specs": []}),
    ):  # fmt: skip
        if content is not None:
            (path / name).write_text(json.dumps(content, indent=2), encoding="utf-8")
    return path


@pytest.fixture
def suite(tmp_path):
    write_run(tmp_path, "en", [1, 0], [
        state(instance(0, "en", perturbed=True), "C"), state(instance(0, "en"), " B"),
        state(instance(1, "en"), " A"),
    ])  # fmt: skip
    write_run(tmp_path, "sw", [0, 0], [
        state(instance(0, "sw"), "Ni Nairobi"),
        state(instance(1, "sw"), result={"success": False, "error": "HTTP 500", "completions": []}),
    ])  # fmt: skip
    return tmp_path


def test_a_suite_of_helm_holds_prompts_and_completions(suite):
    items = Items([suite])
    records = list(items)
    [said] = items.notes
    assert said.startswith("HELM's requests of 1 items have failed, and its statistics count them")
    agrees(hatscore.read(suite), records)
    found = by_key(records)
    first = found["id0", "en"]
    assert first.question == "capital 0 in en?"
    assert first.prompt.startswith(SHOTS)
    assert first.question in first.prompt
    assert (first.gold, first.options) == ("B", tuple(zip("ABCD", OPTIONS, strict=True)))
    (reply,) = first.replies
    assert (reply.text, reply.status, reply.answer, reply.place) == (" B", "correct", "B", (1, 2))
    assert reply.why == "the label of an option; the run's statistics give exact_match 1"
    assert reply.finish == "length"
    (spelled,) = found["id0", "sw"].replies
    assert (spelled.text, spelled.answer) == ("Ni Nairobi", None)
    assert spelled.why.startswith("the reply is no label of an option")
    (failed,) = found["id1", "sw"].replies
    assert (failed.text, failed.status) == ("", "wrong")
    assert failed.why.startswith("the request failed (HTTP 500)")
    items.keep = lambda benchmark, item: (benchmark, item) == (first.benchmark, "id1")
    assert {r.item for r in items} == {"id1"}


def test_free_answers_chats_and_several_completions(tmp_path):
    right = [
        {"output": {"text": "Nairobi"}, "tags": ["correct"]},
        {"output": {"text": "Jiji la Nairobi"}, "tags": ["correct"]},
    ]
    for language in ("en", "sw"):
        asked = {**instance(0, language), "references": right}
        chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}]
        made = state(asked, "Nairobi", "Mombasa", request={"messages": chat})
        del made["output_mapping"]
        write_run(tmp_path, language, [0.5], [made], method="chat")
    records = list(Items([tmp_path]))
    first, _ = records
    assert (first.gold, first.also, first.options) == ("Nairobi", ("Jiji la Nairobi",), ())
    assert first.prompt == "system: Be brief.\n\nuser: Capital?"
    counted, other = first.replies
    assert (counted.status, counted.credit, counted.counts) == ("", 0.5, True)
    assert (other.text, other.counts) == ("Mombasa", False)
    assert other.why == "one of 2 replies that were scored together"


def test_trials_that_are_pooled_are_replies_to_one_item(tmp_path):
    for language in ("en", "sw"):
        states = [state(instance(0, language), "ABA"[t], trial=t) for t in range(3)]
        write_run(tmp_path, language, [(0, 1, 0)], states, trials=(0, 1, 2))
    records = list(Items([tmp_path], options={"pool": True}))
    agrees(hatscore.read(tmp_path, pool=True), records)
    assert [r.text for r in records[0].replies] == ["A", "B", "A"]
    assert [r.repeats for r in records[0].replies] == [("0",), ("1",), ("2",)]
    (one,) = next(iter(Items([tmp_path], options={"run": "1"}))).replies
    assert (one.text, one.status) == ("B", "correct")


def test_what_a_run_of_helm_lacks_is_said(tmp_path):
    write_run(tmp_path, "en", [1, 1], None)
    cut = write_run(tmp_path, "sw", [1, 0], [state(instance(0, "sw"), "B"),
                                            state(instance(1, "sw"), "A")])  # fmt: skip
    file = cut / "scenario_state.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: text.index("capital 1 in sw")], encoding="utf-8")
    items = Items([tmp_path])
    found = by_key(items)
    assert len(found) == 4
    assert all(r.question and r.gold == "B" for r in found.values())
    assert [bool(r.replies) for _, r in sorted(found.items())] == [False, True, False, False]
    said = "\n".join(items.notes)
    assert "language=en,model=org_tiny: no scenario_state.json, so HELM's prompts" in said
    assert (
        "Items without a request in HELM's scenario_state.json, and so without replies: 1" in said
    )
    assert "language=sw,model=org_tiny/scenario_state.json: no valid JSON at character" in said
    assert str(tmp_path) not in said
    file.write_text(json.dumps({"request_states": [{"instance": {}}]}), encoding="utf-8")
    assert len(list(items)) == 4
    assert "request 1: expected instance with an id" in "\n".join(items.notes)


def test_options_that_helm_scored_apart_have_no_reply(tmp_path):
    for language in ("en", "sw"):
        states = [
            state(instance(0, language), "…Nairobi", reference_index=at, request_mode="original",
                  output_mapping=None)
            for at in range(4)
        ]  # fmt: skip
        states.append(state(instance(1, language)))
        write_run(tmp_path, language, [1, 0], states, method="multiple_choice_separate_original")
    items = Items([tmp_path])
    first, second, *_ = items
    assert (first.prompt, first.replies, first.gold) == ("", (), "B")
    assert second.replies == ()
    assert items.notes == [
        "Items without replies, as HELM scored their options one by one: 2",
        "Items without a completion of HELM's request: 2",
    ]


def test_a_state_is_read_request_by_request(tmp_path, monkeypatch):
    big = state(instance(0, "en"), "B", filler="x" * 300_000)
    for language in ("en", "sw"):
        states = [{**big, "instance": instance(i, language)} for i in range(9)]
        write_run(tmp_path, language, [1] * 9, states)
    monkeypatch.setattr(items_helm, "_LONGEST", 600_000)  # the file has 2.7 million characters
    items = Items([tmp_path])
    assert sum(len(r.replies) for r in items) == 18
    assert items.notes == []


# -- lighteval -----------------------------------------------------------------------------------


def old_row(i, k, language):
    """Return a generative row as written before 0.10."""
    return {
        "example": f"{i} + 2 in {language}?", "instruction": "Add.",
        "full_prompt": f"{SHOTS}{i} + 2 in {language}?", "choices": [], "gold_index": [],
        "gold": [str(i + 2)], "predictions": [f"It is {i + 2 if k else 'unknown'}"],
        "input_tokens": [[1, 2]], "cont_tokens": [[3]], "metrics": {"qem": k},
    }  # fmt: skip


def old_choice(i, k, language):
    """Return a row of choices by likelihood as written before 0.10."""
    return {
        "example": f"{i} in {language}?", "full_prompt": f"{i} in {language}?\nAnswer:",
        "choices": [" Kampala", " Nairobi"], "gold_index": [1], "gold": [],
        "predictions": [[-1.5, 1.0], [-2.5, 0.0]], "metrics": {"acc": k},
    }  # fmt: skip


def new_row(i, k, language, *, messages=False):
    """Return a row as written from 0.10 on."""
    query = f"{i} + 2 in {language}?"
    sent = [{"role": "user", "content": f"{SHOTS}{query}"}] if messages else f"{SHOTS}{query}"
    return {
        "doc": {
            "query": query, "choices": [str(i + 2)], "gold_index": [0], "id": str(i),
            "task_name": "sums", "full_prompt": None, "num_samples": 2,
        },
        "metric": {"extractive_match": k},
        "model_response": {
            "input": sent, "input_tokens": [1, 2], "text": [f"So {i + 2}", "So 0"],
            "output_tokens": [[3], [4]], "reasonings": ["Let me add.", None], "logprobs": [],
        },
    }  # fmt: skip


def write(folder, make, *, stamp=STAMP, rights=((1, 0, 1), (1, 1, 0)), **more):
    home = folder / "details" / "org/tiny" / stamp
    home.mkdir(parents=True, exist_ok=True)
    for language, right in zip(("en", "de"), rights, strict=True):
        rows = [make(i, k, language, **more) for i, k in enumerate(right)]
        file = home / f"details_lighteval|sums:{language}|0_{stamp}.parquet"
        pl.DataFrame(rows).write_parquet(file)


def as_text(make):
    """Return what makes the rows that lighteval writes as text."""
    return lambda *given, **more: {name: str(v) for name, v in make(*given, **more).items()}


@pytest.mark.parametrize("make", [old_row, as_text(old_row)])
def test_the_old_layout_of_lighteval(tmp_path, make):
    write(tmp_path, make)
    items = Items([tmp_path])
    records = list(items)
    agrees(hatscore.read(tmp_path), records)
    assert items.notes == []
    one = by_key(records)["1", "en"]
    assert (one.question, one.gold) == ("1 + 2 in en?", "3")
    assert one.prompt == f"{SHOTS}{one.question}"
    (reply,) = one.replies
    assert (reply.text, reply.status, reply.why) == (
        "It is unknown",
        "wrong",
        "lighteval gave qem 0",
    )


@pytest.mark.parametrize("make", [new_row, as_text(new_row)])
@pytest.mark.parametrize("messages", [False, True])
def test_the_new_layout_of_lighteval(tmp_path, make, messages, monkeypatch):
    monkeypatch.setattr(items_lighteval, "_ROWS", 2)
    write(tmp_path, make, messages=messages)
    items = Items([tmp_path])
    records = list(items)
    agrees(hatscore.read(tmp_path), records)
    assert items.notes == []
    one = by_key(records)["2", "de"]
    assert (one.question, one.gold, one.options) == ("2 + 2 in de?", "4", ())
    assert one.prompt == f"{'user: ' * messages}{SHOTS}{one.question}"
    counted, other = one.replies
    assert (counted.text, counted.reasoning, counted.status) == ("So 4", "Let me add.", "wrong")
    assert (other.text, other.reasoning, other.counts) == ("So 0", None, False)
    items.keep = lambda _, item: item == "1"
    assert {r.item for r in items} == {"1"}


@pytest.mark.parametrize("make", [old_choice, as_text(old_choice)])
def test_choices_by_likelihood_have_options_and_no_reply(tmp_path, make):
    write(tmp_path, make)
    items = Items([tmp_path])
    for record in items:
        assert record.options == (("A", " Kampala"), ("B", " Nairobi"))
        assert (record.gold, record.replies) == ("B", ())
    (note,) = items.notes
    assert note.startswith("Items without a reply in lighteval's details, as where options are")
    assert note.endswith(": 6")


def test_details_without_texts_are_scores_alone(tmp_path):
    def bare(i, k, language):
        made = new_row(i, k, language)
        return {"doc": {"id": str(i), "task_name": "sums"}, "metric": made["metric"]}

    write(tmp_path, bare)
    items = Items([tmp_path])
    assert {(r.question, r.gold, r.replies) for r in items} == {("", "", ())}
    assert items.notes[0].endswith(": 6")


def test_runs_of_lighteval_that_are_pooled(tmp_path):
    write(tmp_path, new_row)
    write(tmp_path, new_row, stamp=LATER, rights=((0, 0, 1), (1, 0, 0)))
    records = list(Items([tmp_path], options={"pool": True}))
    agrees(hatscore.read(tmp_path, pool=True), records)
    assert len(by_key(records)["0", "en"].replies) == 4


@pytest.mark.parametrize(
    ("make", "column", "text"),
    [(old_row, "predictions", "[Prediction('x')]"), (new_row, "model_response", "Response(x=1)")],
)
def test_replies_that_are_no_literal_are_missing_and_the_rest_is_there(
    tmp_path, make, column, text
):
    write(tmp_path, lambda *given: {**as_text(make)(*given), column: text})
    items = Items([tmp_path])
    records = list(items)
    assert len(records) == 6
    assert all(r.question and r.gold and not r.replies for r in records)
    (note,) = items.notes
    assert "Items whose replies in lighteval's details cannot be read: 6, first " in note
    assert "row 1: " in note
