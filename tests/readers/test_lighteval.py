"""Details of lighteval in both layouts, and broken ones."""

from __future__ import annotations

import json

import polars as pl
import pytest

from hatscore.errors import AlignmentError, InputError, ReaderError
from hatscore.readers import lighteval

STAMP = "2025-03-01T10-00-00.123456"
LATER = "2025-03-02T10-00-00.123456"


def old_row(i, k, *, gold=0):
    """Return a row as written before 0.10."""
    return {
        "example": f"question {i}",
        "choices": ["A", "B", "C"],
        "gold_index": [gold],
        "gold": ["A"],
        "metrics": {"acc": k, "acc_norm": k},
        "predictions": ["x"],
    }


def new_row(i, k, *, gold="7"):
    """Return a row as written from 0.10 on."""
    return {
        "doc": {"id": str(i), "query": f"question {i}", "choices": [gold], "gold_index": 0},
        "model_response": {"text": ["x"]},
        "metric": {"extractive_match": k},
    }


def write(folder, task, rows, *, stamp=STAMP, model="org/tiny"):
    path = folder / "details" / model / stamp
    path.mkdir(parents=True, exist_ok=True)
    file = path / f"details_{task}_{stamp}.parquet"
    pl.DataFrame(rows).write_parquet(file)
    return file


def write_pair(folder, make, *, tasks=("lighteval|mgsm:en|0", "lighteval|mgsm:de|0"), **more):
    rights = ([1, 0, 1], [1, 1, 0])
    return [
        write(folder, task, [make(i, k) for i, k in enumerate(right)], **more)
        for task, right in zip(tasks, rights, strict=True)
    ]


def cells(outcomes):
    rows = outcomes.frame.iter_rows(named=True)
    return {(r["item"], r["language"]): (r["k"], r["n"]) for r in rows}


EXPECTED = {
    (str(i), language): (right[i], 1)
    for language, right in (("en", [1, 0, 1]), ("de", [1, 1, 0]))
    for i in range(3)
}


def test_the_old_layout(tmp_path):
    write_pair(tmp_path, old_row)
    assert lighteval.sniff(tmp_path)
    with pytest.raises(InputError, match=r"acc \(6 rows, 0 or 1, mean 0.667\), acc_norm"):
        lighteval.read(tmp_path)
    outcomes = lighteval.read(tmp_path, metric="acc")
    assert cells(outcomes) == EXPECTED
    assert set(outcomes.frame["benchmark"]) == {"mgsm(lighteval, 0 shots)"}
    assert set(outcomes.frame["model"]) == {"org/tiny"}


def test_the_new_layout(tmp_path):
    write_pair(tmp_path, new_row, tasks=("mgsm:en|5", "mgsm:de|5"))
    outcomes = lighteval.read(tmp_path)
    assert cells(outcomes) == EXPECTED
    assert set(outcomes.frame["benchmark"]) == {"mgsm(5 shots)"}


def test_structs_that_were_written_as_text(tmp_path):
    def row(i, k):
        return {name: str(value) for name, value in new_row(i, k).items()}

    write_pair(tmp_path, row)
    assert cells(lighteval.read(tmp_path)) == EXPECTED

    def numpy_text(i, k):
        return {**row(i, k), "metric": f"{{'acc': np.float64({k})}}"}

    write_pair(tmp_path, numpy_text)
    with pytest.raises(ReaderError, match=r"row 1: .* no Python literal"):
        lighteval.read(tmp_path)


def test_languages_and_formulations(tmp_path):
    tasks = ("belebele_eng_Latn_mcf", "belebele_swh_Latn_mcf")
    write_pair(tmp_path, old_row, tasks=tuple(f"lighteval|{task}|0|0" for task in tasks))
    outcomes = lighteval.read(tmp_path, metric="acc")
    assert set(outcomes.frame["language"]) == {"en", "sw"}
    assert set(outcomes.frame["benchmark"]) == {"belebele_mcf(lighteval, 0 shots)"}


def test_results_name_the_model(tmp_path):
    write_pair(tmp_path, new_row, model="somewhere")
    results = tmp_path / "results" / "somewhere"
    results.mkdir(parents=True)
    content = {"config_general": {"model_name": "org/named"}, "results": {}}
    (results / f"results_{STAMP}.json").write_text(json.dumps(content), encoding="utf-8")
    assert set(lighteval.read(tmp_path).frame["model"]) == {"org/named"}


def test_results_without_details(tmp_path):
    content = {"config_general": {"model_name": "org/named"}, "results": {}}
    (tmp_path / f"results_{STAMP}.json").write_text(json.dumps(content), encoding="utf-8")
    assert lighteval.sniff(tmp_path)
    with pytest.raises(ReaderError, match="--save-details"):
        lighteval.read(tmp_path)


def test_an_empty_folder(tmp_path):
    assert not lighteval.sniff(tmp_path)
    with pytest.raises(ReaderError, match="no details_TASK_TIMESTAMP"):
        lighteval.read(tmp_path)


def test_runs_are_separate(tmp_path):
    write_pair(tmp_path, new_row)
    write_pair(tmp_path, new_row, stamp=LATER)
    with pytest.raises(InputError, match=rf"has 2 runs: {STAMP}, {LATER}"):
        lighteval.read(tmp_path)
    assert cells(lighteval.read(tmp_path, run="latest")) == EXPECTED
    assert set(lighteval.read(tmp_path, pool=True).frame["n"]) == {2}


def test_golds_that_differ(tmp_path):
    write_pair(tmp_path, new_row)
    write(tmp_path, "lighteval|mgsm:de|0", [new_row(i, 1, gold=str(i)) for i in range(3)])
    with pytest.raises(AlignmentError, match="golds differ from those of en in de"):
        lighteval.read(tmp_path)


def test_golds_that_are_texts_leave_the_order_of_rows(tmp_path):
    def row(i, k):
        return {"gold": ["a text"], "example": f"q {i}", "metrics": {"em": k}}

    write_pair(tmp_path, row)
    outcomes = lighteval.read(tmp_path)
    assert cells(outcomes) == EXPECTED
    assert "rests on the order of rows" in "\n".join(outcomes.notes)


def test_a_language_without_its_source_and_missing_rows(tmp_path):
    _, german = write_pair(tmp_path, new_row)
    with pytest.raises(AlignmentError, match="no rows in the source language fr"):
        lighteval.read(tmp_path, source="fr")
    pl.read_parquet(german).head(2).write_parquet(german)
    with pytest.raises(AlignmentError, match="de lacks 1 of 3 items of en: 2"):
        lighteval.read(tmp_path)
    german.unlink()
    with pytest.raises(ReaderError, match="no task is there in two languages; found mgsm:en"):
        lighteval.read(tmp_path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"question": "q"}], "expected a column metric .* there are question"),
        ([{"metrics": {"acc": "right"}}], "row 1: no score is a number; there are acc"),
        ([{"metrics": 3}], "row 1: expected a record, got int"),
        ([{"metrics": {"acc": 1.0}}, {"metrics": {"acc": 4.0}}], "row 2: acc is 4, expected 0"),
        ([{"metrics": {"acc": 1.0}}, {"metrics": {"acc": None}}], "row 2: no score is a number"),
    ],
)
def test_broken_rows_are_named(tmp_path, rows, message):
    write_pair(tmp_path, old_row)
    write(tmp_path, "lighteval|mgsm:de|0", rows)
    with pytest.raises(ReaderError, match=message):
        lighteval.read(tmp_path, metric="acc")


def test_damaged_and_empty_files(tmp_path):
    _, german = write_pair(tmp_path, new_row)
    german.write_bytes(german.read_bytes()[:-20])
    with pytest.raises(ReaderError, match="no readable Parquet file"):
        lighteval.read(tmp_path)
    pl.DataFrame(schema={"metric": pl.Struct({"acc": pl.Float64})}).write_parquet(german)
    with pytest.raises(ReaderError, match="no rows; the run was stopped"):
        lighteval.read(tmp_path)
