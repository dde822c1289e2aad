"""Scores are compared only where the same was asked and graded by the same rules."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from hatscore import Outcomes
from hatscore.archive import read_archive, write_scores
from hatscore.benchmarks.base import Item, Prompt
from hatscore.cli.comparable import check_comparable, what_was_asked
from hatscore.errors import InputError
from hatscore.grading.answer import Gold
from hatscore.readers.hatscore_run import benchmark_label
from hatscore.sampling import BenchmarkPlan, Completion, Run, RunConfig, SamplingParams, Task
from hatscore.scoring import measurements

LANGUAGES = ("en", "de")


@pytest.fixture
def sampled(tmp_path):
    """Write a run of ten items in English and German, answered by a coin."""

    def write(model, *, seed=0, name=False, prompt_language="native", **plan):
        settings = {"name": "b", "version": "1", "languages": LANGUAGES, "source_language": "en"}
        benchmark = BenchmarkPlan(**settings | {"repeats": 4} | plan)
        config = RunConfig(
            model=model,
            client="local",
            served_model=model,
            mode="completion",
            prompt_language=prompt_language,
            params=SamplingParams(),
            benchmarks=(benchmark,),
        )
        coin = np.random.default_rng(seed)
        names = dict.fromkeys(LANGUAGES, ("Bern",))
        right, wrong = ("Answer: Bern", "Answer: Rom") if name else ("Answer: 4", "Answer: 5")
        items = [
            Item(
                id=str(i),
                language=x,
                source_language="en",
                question="?",
                gold=Gold("name", "Bern", x, "en", names=names) if name else Gold("number", "4"),
            )
            for x in LANGUAGES
            for i in range(10)
        ]
        with Run.create_or_resume(tmp_path / model, config) as run:
            tasks = [Task("b", i, Prompt(mode="completion", text="p"), 4) for i in items]
            run.store.put_items(tasks)
            for task in tasks:
                for repeat in range(4):
                    text = right if coin.random() < 0.7 else wrong
                    run.store.put(
                        task.cell, repeat, Completion(text=text, model=model), seed=repeat
                    )
        return tmp_path / model

    return write


CHANGES = [
    ({"prompt_language": "english"}, "b: language of the prompts: native in old, english in new"),
    ({"version": "2"}, "b: version of the benchmark: 1 in old, 2 in new"),
    ({"source_language": "de"}, "b: source language: en in old, de in new"),
]


@pytest.mark.parametrize(("changes", "message"), CHANGES)
@pytest.mark.parametrize("command", ["compare", "report"])
def test_what_was_asked_differently_is_refused(hatscore, sampled, command, changes, message):
    old, new = sampled("old"), sampled("new", seed=1, **changes)
    page = old.with_name("page")
    more = ("new", "old") if command == "compare" else ("-o", page)
    code, out, err = hatscore(command, old, new, *more)
    assert (code, out) == (2, "")
    assert message in err
    assert "Sample them alike" in err
    assert not page.exists()


@pytest.mark.parametrize("suffix", ["json", "parquet"])
@pytest.mark.parametrize(("changes", "message"), CHANGES)
def test_saved_scores_remember_what_was_asked(hatscore, sampled, suffix, changes, message):
    old = sampled("old")
    saved = old.with_name(f"saved.{suffix}")
    assert hatscore("score", old, "--save", saved)[0] == 0
    alike = sampled("alike", seed=1)
    assert hatscore("compare", saved, alike, "alike", "old")[::2] == (0, "")
    code, _, err = hatscore("compare", saved, sampled("new", **changes), "new", "old")
    assert code == 2
    assert message.replace(" in old", f" in saved.{suffix}") in err


def test_saved_scores_remember_how_they_were_graded(hatscore, sampled, tmp_path):
    saved = tmp_path / "saved.json"
    assert hatscore("score", sampled("old"), "--count", "answered", "--save", saved)[0] == 0
    new = sampled("new", seed=1)
    code, _, err = hatscore("compare", saved, new, "new", "old")
    assert code == 2
    assert "these runs are graded differently and are not compared" in err
    assert "none in saved.json, empty, refused, truncated, unparsed in new" in err
    assert "save scores again with the same --count and --names" in err
    assert hatscore("compare", saved, new, "new", "old", "--count", "answered")[0] == 0
    # the order in which statuses are named is no difference
    both = ("--count", "empty,refused"), ("--count", "refused,empty")
    assert hatscore("score", tmp_path / "old", *both[0], "--save", saved)[0] == 0
    assert hatscore("compare", saved, new, "new", "old", *both[1])[0] == 0


@pytest.mark.parametrize(("name", "code"), [(True, 2), (False, 0)])
def test_which_names_are_accepted_matters_where_names_are_asked(
    hatscore, sampled, tmp_path, name, code
):
    saved = tmp_path / "saved.json"
    old = sampled("old", name=name)
    assert hatscore("score", old, "--names", "strict", "--save", saved)[::2] == (0, "")
    found, _, err = hatscore("compare", saved, sampled("new", name=name, seed=1), "new", "old")
    assert found == code
    assert ("names accepted: strict in saved.json, lenient in new" in err) == name


def test_only_the_models_that_are_compared_must_be_alike(hatscore, sampled):
    old, new, other = sampled("old"), sampled("new", seed=1), sampled("other", version="2")
    assert hatscore("compare", old, new, other, "new", "old")[0] == 0
    assert hatscore("compare", old, new, other, "new", "other")[0] == 2


def test_smaller_differences_are_notes_of_compare_and_report(hatscore, sampled, tmp_path):
    old, new = sampled("old", items=10), sampled("new", seed=1)
    note = "b: number of items: 10 in old, all in new"
    code, out, err = hatscore("compare", old, new, "new", "old", "--format", "json")
    assert (code, err) == (0, f"Note: {note}\n")
    assert json.loads(out)["notes"] == [note]
    code, _, err = hatscore("report", old, new, "-o", tmp_path / "page", "--figures", "none")
    assert code == 0
    assert f"Note: {note}\n" in err


def test_scores_saved_before_all_this_are_read_with_a_note(hatscore, sampled, tmp_path):
    old, new = sampled("old"), sampled("new", seed=1)
    saved = tmp_path / "saved.json"
    hatscore("score", old, "--save", saved)
    document = json.loads(saved.read_text(encoding="utf-8"))
    kept = {"kind", "hatscore", "measurements"}
    saved.write_text(json.dumps({k: document[k] for k in document if k in kept}), encoding="utf-8")
    assert read_archive(saved).asked == []
    code, _, err = hatscore("compare", saved, new, "new", "old")
    assert code == 0
    assert "Note: saved.json: nothing says which version and prompts they had" in err


def test_scores_of_several_runs_name_the_run(sampled, tmp_path):
    old, new = sampled("old"), sampled("new", version="2")
    frames = [Outcomes.from_frame(frame(model)) for model in ("old", "new")]
    found = [m for outcomes in frames for m in measurements(outcomes)]
    write_scores(found, tmp_path / "s.parquet", asked=what_was_asked([old, new, "t.csv"]))
    with pytest.raises(InputError, match=r"1 in s.parquet \(old\), 2 in s.parquet \(new\)"):
        check_comparable([tmp_path / "s.parquet"])
    (note,) = check_comparable([tmp_path / "s.parquet", old], models=["old"])
    assert note.startswith("s.parquet (t.csv): nothing says")


def frame(model):
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    rows = [(model, "b", str(i), x, "en", 4, i % 5) for i in range(10) for x in LANGUAGES]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_records_are_plain(sampled):
    (record,) = what_was_asked([sampled("m", name=True)], names="lenient", count="answered")
    assert record == json.loads(json.dumps(record))
    assert record["benchmark"] == benchmark_label(BenchmarkPlan("b", "1", LANGUAGES, "en", 4))
    assert record["facts"]["count"] == "none"
    assert record["facts"]["names"] == "lenient"
    assert what_was_asked(["nothing.csv"]) == [{"path": "nothing.csv"}]


@pytest.fixture
def tables(tmp_path):
    """Write a table of replies per model, some of them empty."""
    for seed, model in enumerate(("x", "y")):
        coin = np.random.default_rng(seed)
        lines = ["model,benchmark,item,language,repeat,reply,gold"]
        for item in range(10):
            for language in LANGUAGES:
                for repeat in range(3):
                    reply = coin.choice(["4", "5", ""], p=[0.6, 0.2, 0.2])
                    lines.append(f"{model},t,{item},{language},{repeat},{reply},4")
        (tmp_path / f"{model}.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return tmp_path


def test_saved_scores_of_tables_remember_how_they_were_graded(hatscore, tables):
    x, y, saved, other = (tables / name for name in ("x.csv", "y.csv", "x.json", "y.json"))
    graded = ("--grade", "number", "--source", "en")
    answered = ("--count", "answered")
    assert hatscore("score", x, *graded, *answered, "--save", saved)[0] == 0
    assert hatscore("score", y, *graded, "--save", other)[0] == 0
    assert read_archive(saved).asked == [
        {"path": "x.csv"},
        {"path": "x.csv", "model": "x", "benchmark": "t", "facts": {"count": "none"}},
    ]
    code, _, err = hatscore("compare", saved, other, "x", "y")
    assert code == 2
    said = "t: replies that count as not correct: none in x.json, "
    assert f"{said}empty, refused, truncated, unparsed in y.json" in err
    code, _, err = hatscore("compare", saved, y, "x", "y", *graded)
    assert code == 2
    assert f"{said}empty, refused, truncated, unparsed in y.csv" in err
    code, _, err = hatscore("compare", saved, y, "x", "y", *graded, *answered)
    assert code == 0
    assert "x.json, y.csv: nothing says which version and prompts" in err


def test_tables_that_say_themselves_what_is_right_are_not_graded(hatscore, tmp_path):
    frame("x").write_csv(tmp_path / "x.csv")
    frame("y").write_csv(tmp_path / "y.csv")
    for name, count in (("x", "answered"), ("y", "empty")):
        typed = ("score", tmp_path / f"{name}.csv", "--count", count)
        assert hatscore(*typed, "--save", tmp_path / f"{name}.json")[0] == 0
        assert read_archive(tmp_path / f"{name}.json").asked == [{"path": f"{name}.csv"}]
    assert hatscore("compare", tmp_path / "x.json", tmp_path / "y.json", "x", "y")[0] == 0
