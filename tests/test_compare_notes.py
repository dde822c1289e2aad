"""What is to be known of the data stands beside a comparison, saved scores or not."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator

from hatscore import Outcomes
from hatscore.archive import read_archive, write_scores
from hatscore.cli.schema import load_schema
from hatscore.report.health import alarms
from hatscore.scoring import measurements
from hatscore.stats import simulate

NAMES = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
SAID = "silent: the run is incomplete, 3 of 90 cells have fewer replies than asked"


@pytest.fixture(scope="module")
def outcomes():
    """Three models of which two fall silent in every third reply; an item has no source row."""
    rows = []
    for seed, model in enumerate(("sound", "silent", "third")):
        rng = np.random.default_rng(seed)
        data = simulate(30, slopes=[0.8, 0.6], source=(4, 1), concentration=3, rng=rng)
        k = np.column_stack([data.k_source, data.k_target])
        rows += [
            (model, "b", str(i), language, "en", 10, int(k[i, j]))
            for i in range(30)
            for j, language in enumerate(("en", "de", "sw"))
            if (model, i, language) != ("silent", 29, "en")
        ]
    frame = pl.DataFrame(rows, schema=NAMES, orient="row")
    hit = pl.col("model").is_in(["silent", "third"])
    empty = pl.min_horizontal(3, pl.col("n") - pl.col("k"))
    frame = frame.with_columns(empty=pl.when(hit).then(empty).otherwise(0))
    notes = [SAID, SAID.replace("silent", "third"), "names: accepted in the target language alone"]
    return Outcomes.from_frame(frame, notes=notes)


def notes_of(out):
    document = json.loads(out)
    Draft202012Validator(load_schema("compare")).validate(document)
    return document["notes"]


def check(notes, outcomes):
    (alarm,) = (a for a in alarms(outcomes) if a.startswith("silent on b: replies are empty"))
    assert alarm in notes
    assert SAID in notes
    assert "names: accepted in the target language alone" in notes
    assert any(n.startswith("silent on b: 1 items have no replies in their") for n in notes)
    assert not any(note.startswith("third") for note in notes)
    assert len(notes) == len(set(notes))


@pytest.mark.parametrize("gate", [(), ("--noninferior", "9")])
def test_alarms_and_notes_of_both_models_and_of_no_other(outcomes, hatscore, tmp_path, gate):
    outcomes.write_parquet(tmp_path / "o.parquet")
    arguments = ("compare", tmp_path / "o.parquet", "silent", "sound", *gate)
    code, out, err = hatscore(*arguments, "--format", "json")
    assert code == 0
    check(notes_of(out), outcomes)
    assert err == "".join(f"Note: {note}\n" for note in notes_of(out))
    assert hatscore(*arguments)[2] == err


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_saved_scores_keep_them(outcomes, hatscore, tmp_path, suffix):
    outcomes.write_parquet(tmp_path / "o.parquet")
    saved = tmp_path / f"s.{suffix}"
    assert hatscore("score", tmp_path / "o.parquet", "--save", saved)[0] == 0
    kept = read_archive(saved)
    assert kept.told
    assert kept.outcomes.notes == outcomes.notes
    assert kept.outcomes.frame.equals(outcomes.frame)
    assert kept.outcomes.excluded.equals(outcomes.excluded)
    code, out, _ = hatscore("compare", saved, "silent", "sound", "--format", "json")
    assert code == 0
    check(notes_of(out), outcomes)


def test_scores_that_were_saved_without_them_say_so(outcomes, hatscore, tmp_path):
    saved = tmp_path / "s.json"
    write_scores(measurements(outcomes), saved, outcomes=outcomes)
    document = json.loads(saved.read_text("utf-8"))
    del document["notes"], document["outcomes"]["empty"]
    saved.write_text(json.dumps(document), "utf-8")
    code, _, err = hatscore("compare", saved, "silent", "sound")
    assert code == 0
    assert "Note: s.json: saved without the notes on its data and how its replies ended" in err


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_saved_scores_have_intervals_of_the_level_asked_for(outcomes, hatscore, tmp_path, suffix):
    saved = tmp_path / f"s.{suffix}"
    write_scores(measurements(outcomes), saved, outcomes=outcomes)
    wanted = {
        (m.model, m.language): m.scores["hat"] for m in measurements(outcomes, confidence=0.8)
    }
    typed = ("compare", saved, "third", "sound", "--confidence", "0.8", "--format", "json")
    code, out, _ = hatscore(*typed)
    assert code == 0
    rows = json.loads(out)["differences"]
    assert [row["language"] for row in rows] == ["de", "sw", "macro"]
    for row in rows:
        assert row["first_status"] == row["second_status"] == row["status"] == "bounded"
        for model, part in (("third", "first"), ("sound", "second")):
            score = wanted[model, row["language"]]
            assert (row[f"{part}_low"], row[f"{part}_high"]) == (score.low, score.high)


def test_a_model_without_any_score_is_not_unknown(outcomes, hatscore, tmp_path):
    lost = (pl.col("model") == "silent") & (pl.col("language") == "en")
    frame = outcomes.frame.with_columns(
        pl.when(lost).then(0).otherwise(pl.col(c)).alias(c) for c in ("n", "k", "empty")
    )
    Outcomes.from_frame(frame).write_parquet(tmp_path / "o.parquet")
    code, _, err = hatscore("compare", tmp_path / "o.parquet", "silent", "sound")
    assert code == 2
    assert "silent has no scores: no item has replies in its source language" in err
