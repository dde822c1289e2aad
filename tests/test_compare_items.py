"""Models that answered different items are compared over the items that both answered."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator

from hatscore import Outcomes
from hatscore.archive import read_archive, write_scores
from hatscore.cli.schema import load_schema
from hatscore.comparing import COMPARED, compare, sharing_notes
from hatscore.scoring import MACRO, measurements
from hatscore.stats import difference, simulate

NAMES = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
WIDE = ("--noninferior", "9")


def model_rows(model, seed, items, slopes=(0.9, 0.7), benchmark="b"):
    """Rows of a model whose items get harder with their number; `items` are a part of 60."""
    data = simulate(
        60,
        slopes=list(slopes),
        source=lambda _rng, n: np.linspace(0.98, 0.3, n),
        concentration=3,
        rng=np.random.default_rng(seed),
    )
    for i in items:
        yield (model, benchmark, str(i), "en", "en", 10, int(data.k_source[i]))
        for j, language in enumerate(("de", "sw")):
            yield (model, benchmark, str(i), language, "en", 10, int(data.k_target[i, j]))


def table(*rows):
    flat = [row for part in rows for row in part]
    return Outcomes.from_frame(pl.DataFrame(flat, schema=NAMES, orient="row"))


@pytest.fixture
def nested():
    return table(model_rows("new", 1, range(10)), model_rows("old", 2, range(60)))


def differences(outcomes, **options):
    found = measurements(outcomes)
    rows = compare(found, "new", "old", outcomes=outcomes, **options)
    return {(r.language, r.score): r for r in rows}


def restricted(outcomes, *conditions):
    return {
        (m.model, m.language): m
        for m in measurements(Outcomes.from_frame(outcomes.frame.filter(*conditions)))
    }


def assert_same(row, one, two):
    plain = difference(one, two)
    assert (row.first.value, row.second.value) == pytest.approx((one.value, two.value))
    assert row.difference.value == pytest.approx(plain.value, abs=1e-12)
    assert row.difference.se == pytest.approx(plain.se, abs=1e-12)
    assert (row.difference.low, row.difference.high) == pytest.approx((plain.low, plain.high))


def test_both_are_scored_over_the_shared_items(nested):
    there = differences(nested)
    by_hand = restricted(nested, pl.col("item").cast(pl.Int64) < 10)
    assert len(there) == 3 * len(COMPARED)
    for (language, score), row in there.items():
        assert_same(row, *(by_hand[m, language].scores[score] for m in ("new", "old")))
        assert (row.items.first, row.items.second, row.items.both, row.n_shared) == (10, 60, 10, 10)
    # over all its items the second model has another score
    own = {(m.model, m.language): m.scores["hat"].value for m in measurements(nested)}
    assert abs(own["old", MACRO] - there[MACRO, "hat"].second.value) > 0.01


def test_equal_items_are_not_scored_again():
    outcomes = table(model_rows("new", 1, range(60)), model_rows("old", 2, range(60)))
    found = measurements(outcomes)
    rows = compare(found, "new", "old", outcomes=outcomes)
    scores = {id(e) for m in found for e in m.scores.values()}
    assert all({id(row.first), id(row.second)} <= scores for row in rows)
    assert sharing_notes(rows, "new", "old") == []


def test_a_missing_cell_is_missing_for_both():
    outcomes = table(model_rows("new", 1, range(60)), model_rows("old", 2, range(60)))
    lost = (pl.col("model") == "old") & (pl.col("language") == "sw") & (pl.col("item") == "3")
    frame = outcomes.frame.with_columns(
        *(pl.when(lost).then(0).otherwise(pl.col(name)).alias(name) for name in ("n", "k"))
    )
    outcomes = Outcomes.from_frame(frame)
    rows = differences(outcomes, scores=["hat", "gap"])
    by_hand = restricted(outcomes, (pl.col("language") != "sw") | (pl.col("item") != "3"))
    for (language, score), row in rows.items():
        assert_same(row, *(by_hand[m, language].scores[score] for m in ("new", "old")))
    assert rows["de", "hat"].items.both == 60
    assert (rows["sw", "hat"].items.first, rows["sw", "hat"].items.both) == (60, 59)


def test_an_item_that_the_slope_cannot_use_is_used_for_neither():
    outcomes = table(model_rows("new", 1, range(60)), model_rows("old", 2, range(60)))
    once = (pl.col("model") == "old") & (pl.col("language") == "en") & (pl.col("item") == "0")
    frame = outcomes.frame.with_columns(
        *(pl.when(once).then(1).otherwise(pl.col(name)).alias(name) for name in ("n", "k"))
    )
    outcomes = Outcomes.from_frame(frame)
    rows = differences(outcomes, scores=["hat", "target_accuracy"])
    by_hand = restricted(outcomes, pl.col("item") != "0")
    assert_same(rows["de", "hat"], *(by_hand[m, "de"].scores["hat"] for m in ("new", "old")))
    assert rows["de", "hat"].items.both == 59
    assert rows["de", "target_accuracy"].items.both == 60


def test_cells_that_a_plan_left_out_are_shared():
    outcomes = table(model_rows("new", 1, range(50)), model_rows("old", 2, range(60)))
    # of the last twenty items of a model one in four was asked in the target languages
    late = (pl.col("item").cast(pl.Int64) >= 30) & (pl.col("language") != "en")
    asked = pl.col("item").cast(pl.Int64) % 4 == (pl.col("model") == "old").cast(pl.Int64)
    weight = pl.when(~late).then(1.0).when(asked).then(4.0).otherwise(0.0)
    frame = outcomes.frame.with_columns(weight.alias("weight")).with_columns(
        *(pl.when(pl.col("weight") == 0).then(0).otherwise(pl.col(c)).alias(c) for c in ("n", "k"))
    )
    outcomes = Outcomes.from_frame(frame)
    rows = differences(outcomes, scores=["hat"])
    by_hand = restricted(outcomes, pl.col("item").cast(pl.Int64) < 50)
    for (language, score), row in rows.items():
        assert_same(row, *(by_hand[m, language].scores[score] for m in ("new", "old")))
        assert row.items.both == 50


def test_without_a_shared_item_there_is_no_difference_and_no_gate_passes(hatscore, tmp_path):
    outcomes = table(model_rows("new", 1, range(30)), model_rows("old", 2, range(30, 60)))
    for row in differences(outcomes).values():
        assert math.isnan(row.difference.value)
        assert "share no item" in row.difference.reason
        assert row.n_shared == row.items.both == 0
        assert not math.isnan(row.first.value)
    path = tmp_path / "o.parquet"
    outcomes.write_parquet(path)
    code, out, err = hatscore("compare", path, "new", "old", "--format", "json", *WIDE)
    assert code == 1
    assert "Gate failed: b: no macro HAT difference: the two models share no item in de, sw" in err
    document = json.loads(out)
    Draft202012Validator(load_schema("compare")).validate(document)
    assert document["notes"] == [
        "b: new has 30 items, old 30; they share none, so there is no difference"
    ]
    assert {row["difference"] for row in document["differences"]} == {None}
    assert hatscore("compare", path, "new", "old", "--fail-below=-9")[0] == 1


def test_no_macro_over_fewer_languages_than_it_says(hatscore, tmp_path):
    outcomes = table(model_rows("new", 1, range(60)), model_rows("old", 2, range(60)))
    number, sw = pl.col("item").cast(pl.Int64), pl.col("language") == "sw"
    mine = pl.col("model") == "new"
    frame = outcomes.frame.filter(~sw | pl.when(mine).then(number < 30).otherwise(number >= 30))
    outcomes = Outcomes.from_frame(frame)
    rows = differences(outcomes, scores=["hat"])
    assert not math.isnan(rows["de", "hat"].difference.value)
    assert math.isnan(rows["sw", "hat"].difference.value)
    assert rows[MACRO, "hat"].difference.reason == "the two models share no item in sw"
    path = tmp_path / "o.parquet"
    outcomes.write_parquet(path)
    assert hatscore("compare", path, "new", "old", *WIDE)[0] == 1


@pytest.mark.parametrize("style", ["table", "csv", "md", "latex"])
def test_people_are_told_how_many_are_shared(nested, hatscore, tmp_path, style):
    path = tmp_path / "o.parquet"
    nested.write_parquet(path)
    code, _, err = hatscore("compare", path, "new", "old", "--format", style, *WIDE)
    assert code == 0
    assert err == (
        "Note: b: new has 10 items, old 60; they share 10, and both are scored over these\n"
    )


def test_the_table_counts_items_and_the_rest_clusters(nested, hatscore, tmp_path):
    frame = nested.frame.with_columns(
        (pl.col("item").cast(pl.Int64) // 2).cast(pl.String).alias("group")
    )
    path = tmp_path / "o.parquet"
    Outcomes.from_frame(frame).write_parquet(path)
    out = hatscore("compare", path, "new", "old")[1]
    (macro,) = (line for line in out.splitlines() if line.startswith("macro"))
    assert macro.split()[-1] == "10"
    rows = json.loads(hatscore("compare", path, "new", "old", "--format", "json")[1])["differences"]
    assert {(row["n_shared"], row["shared_items"]) for row in rows} == {(5, 10)}


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_saved_scores_are_compared_over_shared_items(nested, hatscore, tmp_path, suffix):
    for model in ("new", "old"):
        part = Outcomes.from_frame(nested.frame.filter(pl.col("model") == model))
        part.write_parquet(tmp_path / "o.parquet")
        assert (
            hatscore("score", tmp_path / "o.parquet", "--save", tmp_path / f"{model}.{suffix}")[0]
            == 0
        )
        kept = read_archive(tmp_path / f"{model}.{suffix}").outcomes
        assert kept.frame.equals(part.frame.with_columns(pl.lit(None, pl.Float64).alias(c) for c in
            ("input_tokens", "output_tokens", "reasoning_tokens")))  # fmt: skip
    code, out, _ = hatscore(
        "compare",
        *(tmp_path / f"{m}.{suffix}" for m in ("new", "old")),
        "new",
        "old",
        "--format",
        "json",
    )
    assert code == 0
    for entry in json.loads(out)["differences"]:
        row = differences(nested)[entry["language"], "hat"]
        assert entry["difference"] == pytest.approx(row.difference.value, abs=1e-12)
        assert entry["n_shared"] == entry["shared_items"] == entry["first_items"] == 10
        assert entry["second_items"] == 60


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_groups_chances_and_weights_are_saved(nested, tmp_path, suffix):
    frame = nested.frame.with_columns(
        (pl.col("item").cast(pl.Int64) // 3).cast(pl.String).alias("group"),
        pl.lit(0.25).alias("chance"),
        pl.when(pl.col("language") == "de").then(2.0).otherwise(1.0).alias("weight"),
    )
    outcomes = Outcomes.from_frame(frame)
    write_scores(measurements(outcomes), tmp_path / f"s.{suffix}", outcomes=outcomes)
    assert read_archive(tmp_path / f"s.{suffix}").outcomes.frame.equals(outcomes.frame)


def test_scores_saved_without_counts_say_what_is_missing(nested, hatscore, tmp_path):
    found = measurements(nested)
    path = tmp_path / "old.json"
    write_scores(found, path)
    assert read_archive(path).outcomes is None
    code, out, err = hatscore("compare", path, "new", "old", *WIDE, "--format", "json")
    assert code == 1
    assert "no macro HAT difference: the two models have different items" in err
    document = json.loads(out)
    Draft202012Validator(load_schema("compare")).validate(document)
    assert {(row["difference"], row["shared_items"]) for row in document["differences"]} == {
        (None, None)
    }
    assert "hatscore score --save" in document["differences"][0]["reason"]
    same = measurements(table(model_rows("new", 1, range(60)), model_rows("old", 2, range(60))))
    write_scores(same, path)
    assert hatscore("compare", path, "new", "old", *WIDE)[0] == 0


def test_a_model_that_is_given_twice_is_refused(nested, hatscore, tmp_path):
    for name in ("a.json", "b.json"):
        write_scores(measurements(nested), tmp_path / name)
    code, _, err = hatscore("compare", tmp_path / "a.json", tmp_path / "b.json", "new", "old")
    assert code == 2
    assert "new has scores of b in more than one of" in err


@pytest.mark.parametrize("shared", ["hard", "random"])
def test_coverage_where_items_are_shared_in_part(shared):
    """Of 120 items the first model answers 60; in every item it transfers better by 0.2.

    Half of the items transfer worse, for both models, so a difference of scores over different
    items is far off where the first has the worse half.
    """
    rng = np.random.default_rng(11)
    hits = plain_hits = 0
    for _ in range(120):
        rates = rng.beta(2, 1, size=120)
        worse = np.arange(120) % 2 == 1
        chosen = worse if shared == "hard" else rng.permutation(120) < 60
        rows = []
        for model, slopes, items in (("new", (0.8, 0.4), chosen), ("old", (0.6, 0.2), rates > 0)):
            data = simulate(
                120,
                slopes=list(slopes),
                source=lambda _r, _n, rates=rates: rates,
                concentration=3,
                rng=rng,
            )
            for i in np.flatnonzero(items):
                rows += [
                    (model, "b", str(i), "en", "en", 10, int(data.k_source[i])),
                    (model, "b", str(i), "de", "en", 10, int(data.k_target[i, int(worse[i])])),
                ]
        outcomes = table(rows)
        found = measurements(outcomes)
        (row, _) = compare(found, "new", "old", scores=["hat"], outcomes=outcomes)
        hits += row.difference.low <= 0.2 <= row.difference.high
        plain = difference(*(m.scores["hat"] for m in found if m.language == "de"))
        plain_hits += plain.low <= 0.2 <= plain.high
    assert 0.91 <= hits / 120 <= 0.99
    assert shared == "random" or plain_hits / 120 < 0.2
