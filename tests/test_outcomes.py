from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from hatscore import Outcomes, measure
from hatscore.errors import AlignmentError, HatscoreError, InputError, ReaderError
from hatscore.outcomes import SCHEMA
from hatscore.scoring import MEASURE_COLUMNS, measurements

NAMES = ["model", "benchmark", "item", "language", "source_language", "n", "k"]


def frame(rows, **extra):
    return pl.DataFrame(rows, schema=NAMES, orient="row").with_columns(
        pl.Series(name, values) for name, values in extra.items()
    )


ROWS = [
    ("m", "b", item, language, "en", 10, k)
    for item, ks in (("007", (10, 8, 2)), ("8", (5, 3, 1)), ("9", (0, 1, 0)))
    for language, k in zip(("en", "de", "sw"), ks, strict=True)
]


def test_schema_is_complete_and_typed():
    got = Outcomes.from_frame(frame(ROWS)).frame
    assert list(got.columns) == list(SCHEMA)
    assert got["group"].to_list() == got["item"].to_list()
    assert got["k"].dtype == pl.Float64


def test_items_are_text():
    rows = [("m", "b", 17, "en", "en", 1, 1), ("m", "b", 17, "de", "en", 1, 1)]
    assert Outcomes.from_frame(frame(rows)).frame["item"].to_list() == ["17", "17"]
    assert "007" in Outcomes.from_frame(frame(ROWS)).frame["item"].to_list()


def test_hand_computed_table():
    got = measure(Outcomes.from_frame(frame(ROWS)))
    assert tuple(got.columns) == MEASURE_COLUMNS
    assert got["language"].to_list() == ["de", "sw", "macro"]
    de = got.row(0, named=True)
    assert de["hat"] == pytest.approx(0.95 / (1 + 20 / 90))
    assert de["hat_plugin"] == pytest.approx(0.76)
    assert de["source_accuracy"] == pytest.approx(0.5)
    assert de["target_accuracy"] == pytest.approx(0.4)
    assert de["gap"] == pytest.approx(0.1)
    assert math.isnan(de["hat_chance_adjusted"])
    macro = got.row(2, named=True)
    assert macro["hat"] == pytest.approx((got["hat"][0] + got["hat"][1]) / 2)


def test_source_rows_never_count_as_targets():
    got = measure(Outcomes.from_frame(frame(ROWS)))
    assert "en" not in got["language"].to_list()


def test_source_per_item_pairs_each_item_with_its_own_source():
    rows = [
        ("m", "b", "1", "en", "en", 4, 4),
        ("m", "b", "1", "de", "en", 4, 2),
        ("m", "b", "2", "de", "de", 4, 4),
        ("m", "b", "2", "en", "de", 4, 1),
    ]
    got = measure(Outcomes.from_frame(frame(rows)))
    values = dict(zip(got["language"], got["hat"], strict=True))
    assert values["de"] == pytest.approx(0.5)
    assert values["en"] == pytest.approx(0.25)


def test_items_without_source_are_listed_counted_and_left_out():
    rows = [*ROWS, ("m", "b", "99", "de", "en", 10, 9)]
    got = Outcomes.from_frame(frame(rows))
    assert got.excluded["item"].to_list() == ["99"]
    assert any("1 items have no replies in their source" in n and "99" in n for n in got.notes)
    assert measure(got)["hat"][0] == pytest.approx(0.777272, abs=1e-6)


def test_differing_item_sets_are_reported():
    got = Outcomes.from_frame(frame(ROWS[:-1]))
    assert any("sw lacks 1 of 3" in n and "9" in n for n in got.notes)


def test_duplicates_are_refused_or_summed():
    rows = [*ROWS, ("m", "b", "8", "de", "en", 10, 4)]
    with pytest.raises(InputError, match=r"2 rows share .*row 4.*row 9"):
        Outcomes.from_frame(frame(rows))
    got = Outcomes.from_frame(frame(rows), duplicates="sum").frame
    assert got.filter(item="8", language="de").select("n", "k").row(0) == (20, 7.0)


def test_splitting_repeats_into_two_rows_changes_nothing():
    halves = [(*r[:5], 4, min(4, r[6])) for r in ROWS]
    rest = [(*r[:5], 6, r[6] - min(4, r[6])) for r in ROWS]
    whole = measure(Outcomes.from_frame(frame(ROWS)))
    split = measure(Outcomes.from_frame(frame(halves + rest), duplicates="sum"))
    assert whole.equals(split, null_equal=True)


def test_renaming_languages_only_renames_rows():
    renamed = frame(ROWS).with_columns(pl.col("language").replace({"de": "xx", "sw": "aa"}))
    a = measure(Outcomes.from_frame(frame(ROWS))).drop("language")
    b = measure(Outcomes.from_frame(renamed)).drop("language")
    assert a[0].equals(b[1], null_equal=True)


def test_golds_must_agree_across_languages():
    golds = ["18", "18", "18", "5", "7", "5", "1", "1", "1"]
    with pytest.raises(AlignmentError, match=r"item 8 \(en: 5, de: 7, sw: 5\)"):
        Outcomes.from_frame(frame(ROWS, gold=golds))
    agreed = Outcomes.from_frame(frame(ROWS, gold=["18"] * 3 + ["5"] * 3 + ["1"] * 3))
    assert "gold" not in agreed.frame.columns


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 11}, r"k outside 0\.\.n: row 0"),
        ({"n": -1}, "negative n"),
        ({"n": 2.5}, "no whole number"),
        ({"k": "many"}, "column k, row 0: 'many'"),
        ({"k": None}, "column k is empty in rows 0"),
        ({"item": ""}, "column item is empty in rows 0"),
        ({"language": None}, "column language is empty"),
        ({"source_language": "de"}, "two source languages"),
    ],
)
def test_bad_values_name_the_row(change, message):
    ((name, value),) = change.items()
    rows = [dict(zip(NAMES, r, strict=True)) for r in ROWS]
    rows[0][name] = value
    if isinstance(value, str) and name == "k":
        rows = [{**r, "k": str(r["k"])} for r in rows]
    with pytest.raises(InputError, match=message):
        Outcomes.from_frame(pl.DataFrame(rows, infer_schema_length=None, strict=False))


def test_unknown_and_missing_columns_are_named():
    with pytest.raises(InputError, match="unknown column 'langauge': did you mean language"):
        Outcomes.from_frame(frame(ROWS).rename({"language": "langauge"}))
    with pytest.raises(InputError, match="lacks source_language, n"):
        Outcomes.from_frame(frame(ROWS).drop("source_language", "n"))
    with pytest.raises(InputError, match="polars or pandas"):
        Outcomes.from_frame([1, 2])


def test_parquet_round_trip(tmp_path):
    rows = [*ROWS, ("m", "b", "99", "de", "en", 10, 9)]
    before = Outcomes.from_frame(frame(rows))
    before.write_parquet(tmp_path / "o.parquet")
    after = Outcomes.read_parquet(tmp_path / "o.parquet")
    assert after.frame.equals(before.frame)
    assert after.notes == before.notes
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(ReaderError, match=r"broken\.parquet"):
        Outcomes.read_parquet(tmp_path / "broken.parquet")
    with pytest.raises(HatscoreError, match="nowhere"):
        Outcomes.read_parquet(tmp_path / "nowhere.parquet")


def test_one_reply_per_item_leaves_hat_missing_and_says_why():
    rows = [(*r[:5], 1, int(r[6] > 4)) for r in ROWS]
    got = measure(Outcomes.from_frame(frame(rows))).row(0, named=True)
    assert math.isnan(got["hat"])
    assert "only the plug-in exists" in got["reason"]
    assert got["hat_plugin"] == pytest.approx(got["transfer_score"])


def test_partial_credit_leaves_hat_missing_and_says_why():
    rows = [(*r[:5], 10, r[6] * 0.99) for r in ROWS]
    got = measure(Outcomes.from_frame(frame(rows))).row(0, named=True)
    assert "partial credit" in got["reason"]
    assert got["hat_plugin"] > 0


def test_chance_adjusted_column_appears_with_a_guess_rate():
    got = measure(Outcomes.from_frame(frame(ROWS, chance=[0.1] * 9)))
    assert got["hat_chance_adjusted"][0] < got["hat"][0]


def test_no_target_rows_gives_no_rows():
    only_source = [r for r in ROWS if r[3] == "en"]
    assert measure(Outcomes.from_frame(frame(only_source))).height == 0


def test_measurements_share_influence_over_items():
    first, second, macro = measurements(Outcomes.from_frame(frame(ROWS)))
    assert list(first.scores["hat"].clusters) == ["007", "8", "9"]
    joint = (first.scores["hat"].influence + second.scores["hat"].influence) / 2
    assert macro.scores["hat"].influence == pytest.approx(joint)


PLANNED = pl.DataFrame(
    [
        ("m", "b", "1", "en", "en", 10, 9, 1.0),
        ("m", "b", "2", "en", "en", 10, 0, 1.0),
        ("m", "b", "3", "en", "en", 10, 0, 1.0),
        ("m", "b", "1", "de", "en", 4, 3, 1.0),
        ("m", "b", "2", "de", "en", 1, 0, 2.0),
        ("m", "b", "3", "de", "en", 0, 0, 0.0),
    ],
    schema=["model", "benchmark", "item", "language", "source_language", "n", "k", "weight"],
    orient="row",
)


def test_cells_left_out_on_purpose_are_not_missing(tmp_path):
    outcomes = Outcomes.from_frame(PLANNED)
    assert outcomes.notes == ()
    (block,) = outcomes.aligned()
    assert block.weights[:, 0].tolist() == [1.0, 2.0, 0.0]
    assert block.n_target[:, 0].tolist() == [4, 1, 0]
    outcomes.write_parquet(tmp_path / "o.parquet")
    again = Outcomes.read_parquet(tmp_path / "o.parquet")
    assert again.frame.equals(outcomes.frame)
    (plain,) = Outcomes.from_frame(PLANNED.drop("weight")).aligned()
    assert (plain.weights == 1).all()


@pytest.mark.parametrize(
    ("row", "weight", "said"),
    [(3, 0.0, "left out by the plan"), (3, -1.0, "below 0"), (0, 2.0, "source rows")],
)
def test_weights_that_cannot_be_are_refused(row, weight, said):
    frame = PLANNED.with_row_index("i").with_columns(
        weight=pl.when(pl.col("i") == row).then(weight).otherwise("weight")
    )
    with pytest.raises(InputError, match=said):
        Outcomes.from_frame(frame.drop("i"))


def test_repeats_of_two_plans_are_not_added_up():
    other = PLANNED.with_columns(
        weight=pl.when(pl.col("weight") == 2).then(1.0).otherwise("weight")
    )
    with pytest.raises(InputError, match="different weights"):
        Outcomes.from_frame(pl.concat([PLANNED, other]), duplicates="sum")
    doubled = Outcomes.from_frame(pl.concat([PLANNED, PLANNED]), duplicates="sum")
    assert doubled.frame["n"].sum() == 2 * PLANNED["n"].sum()
    assert doubled.frame["weight"].to_list() == PLANNED["weight"].to_list()


def test_target_that_is_right_where_the_source_never_is_is_told():
    from hatscore.report.blocks import profile_notes

    rng = np.random.default_rng(1)
    rates = np.where(np.arange(200) < 100, 0.0, rng.beta(2, 2, size=200))
    rows = []
    for i, s in enumerate(rates):
        rows.append(("m", "b", str(i), "en", "en", 10, int(rng.binomial(10, s))))
        rows.append(("m", "b", str(i), "de", "en", 10, int(rng.binomial(10, 0.3 + 0.5 * s))))
        rows.append(("m", "b", str(i), "fr", "en", 10, int(rng.binomial(10, 0.5 * s))))
    found = measurements(Outcomes.from_frame(frame(rows)))
    floors = {m.language: m.scores["floor"].value for m in found}
    assert floors["de"] == pytest.approx(0.3, abs=0.05)
    assert floors["fr"] == pytest.approx(0.0, abs=0.05)
    notes = [n for n in profile_notes(found) if "where the source never is" in n]
    assert len(notes) == 1
    assert notes[0].startswith("m on b: de is right in 0.")


def test_floor_of_a_guess_rate_is_no_floor():
    rng = np.random.default_rng(2)
    rates = rng.beta(1, 1, size=400)
    rows = []
    for i, s in enumerate(rates):
        for language, rate in (("en", s), ("de", 0.6 * s)):
            k = int(rng.binomial(10, 0.25 + 0.75 * rate))
            rows.append(("m", "b", str(i), language, "en", 10, k))
    guessing = frame(rows, chance=[0.25] * len(rows))
    (de, _) = measurements(Outcomes.from_frame(guessing))
    assert de.scores["floor"].low < 0 < de.scores["floor"].high
