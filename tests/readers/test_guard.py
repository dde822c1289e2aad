"""The alignment guard: what it refuses, how it says so, and what it leaves alone."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.errors import AlignmentError, HatscoreError, InputError, UnknownNameError
from hatscore.readers.guard import ROW_SCHEMA, align

LANGUAGES = ("en", "de", "sw")


def row(item, language, k=1, **more):
    return {
        "model": "m",
        "benchmark": "b",
        "item": item,
        "language": language,
        "source_language": "en",
        "n": 1,
        "k": k,
        **more,
    }


def table(items=4, **more):
    return [
        row(str(i), one, (i + at) % 2, gold=str(10 + i), **more)
        for at, one in enumerate(LANGUAGES)
        for i in range(items)
    ]


def counts(outcomes):
    return {
        (r["item"], r["language"]): (r["n"], r["k"]) for r in outcomes.frame.iter_rows(named=True)
    }


def test_sound_rows_pass_without_a_word():
    found = align(table())
    assert found.notes == ()
    assert found.frame.height == 12
    assert counts(found)["3", "de"] == (1, 0)


def test_repeats_are_summed():
    rows = [{**one, "repeat": str(r)} for one in table() for r in range(3)]
    assert counts(align(rows))["1", "en"] == (3, 3)
    assert counts(align(rows))["0", "en"] == (3, 0)


def test_repeated_keys_are_refused_with_both_places():
    rows = table()
    rows.append({**rows[5], "where": "de.csv:99"})
    with pytest.raises(AlignmentError, match=r"item '1' in de of m on b \(row 6, de.csv:99\)"):
        align(rows)
    with pytest.raises(AlignmentError, match="fewer replies than others"):
        align(rows, pool=True)
    found = align([*table(), *table()], pool=True)
    assert counts(found)["1", "de"] == (2, 0)
    assert any("pool" in note for note in found.notes)


def test_repeats_with_the_same_number_are_refused():
    rows = [{**one, "repeat": "1"} for one in table()]
    with pytest.raises(AlignmentError, match="repeat 1"):
        align([*rows, rows[0]])


def test_a_lost_item_is_refused_and_named():
    rows = table()
    del rows[6]
    with pytest.raises(AlignmentError, match=r"de lacks 1 of 4 items of en: 2 \(first row 3\)"):
        align(rows)
    found = align(rows, allow_missing=True)
    assert any("de lacks 1 of 4 items of en" in n and "allow_missing" in n for n in found.notes)


def test_an_item_that_the_source_lacks_is_refused():
    with pytest.raises(AlignmentError, match="sw has 1 items that en lacks: 9"):
        align([*table(), row("9", "sw")])
    found = align([*table(), row("9", "sw")], allow_missing=True)
    assert found.excluded.height == 1


def test_items_with_fewer_replies_are_refused():
    rows = [{**one, "repeat": str(r)} for one in table() for r in range(3)]
    del rows[-1]
    with pytest.raises(
        AlignmentError, match=r"in sw 1 items have fewer replies .* '3' with 2 of 3"
    ):
        align(rows)
    assert counts(align(rows, allow_missing=True))["3", "sw"] == (2, 2)


def test_a_plan_says_how_many_replies_there_are_to_be():
    rows = [{**one, "repeat": str(r), "asked": 3} for one in table() for r in range(3)]
    few = [{**one, "asked": 2} for one in rows[-3:-1]]
    assert counts(align(rows[:-3] + few))["3", "sw"] == (2, 2)
    with pytest.raises(AlignmentError, match=r"in sw 1 items .* '3' with 1 of 2"):
        align(rows[:-3] + few[:1])


def test_a_cell_that_a_plan_left_out_is_no_missing_one():
    rows = table()
    left_out = {**rows[-1], "n": 0, "k": 0, "weight": 0.0, "asked": 0, "gold": None}
    found = align([*rows[:-1], left_out])
    assert counts(found)["3", "sw"] == (0, 0)
    assert found.frame.filter(item="3", language="sw")["weight"].to_list() == [0.0]
    (note,) = found.notes
    assert note.startswith("m on b: a sampling plan left out 1 of 8 cells")
    with pytest.raises(AlignmentError, match="sw lacks 1 of 4"):
        align(rows[:-1])


def test_items_given_as_counts_may_have_different_n():
    rows = [{**one, "n": 3 + int(one["item"])} for one in table()]
    assert counts(align(rows))["3", "en"] == (6, 1)


def test_without_a_source_there_is_nothing_to_score():
    rows = [one for one in table() if one["language"] != "en"]
    with pytest.raises(AlignmentError, match="no rows in the source language en, there are de, sw"):
        align(rows, allow_missing=True)


def test_only_source_rows_are_told():
    found = align([one for one in table() if one["language"] == "en"])
    assert found.notes == ("all rows are in the source language en: nothing to compare",)


def test_golds_that_differ_name_languages_and_rows_and_those_that_agree():
    rows = table()
    for at in (5, 6):
        rows[at]["gold"] = "77"
    with pytest.raises(AlignmentError) as caught:
        align(rows)
    said = str(caught.value)
    assert "golds differ from those of en in de: de in 2 of 4 items" in said
    assert "item 1 is 77 and not 11 (row 6), item 2 is 77 and not 12 (row 7)" in said
    assert "The golds of sw agree" in said
    found = align(rows, allow_golds=True)
    assert any("allow_golds" in note for note in found.notes)


def test_golds_that_depend_on_the_language_are_not_compared():
    rows = [{**one, "gold": None} for one in table()]
    assert align(rows).frame.height == 12


def test_a_gold_that_another_model_lists_otherwise_is_refused():
    other = [{**one, "model": "x"} for one in table()]
    other[0]["gold"] = "5"
    with pytest.raises(AlignmentError, match="item 0 is 5 and not 10"):
        align([*table(), *other])


def test_one_item_asks_one_question():
    rows = [{**one, "question": one["language"] + one["item"]} for one in table()]
    align(rows)
    other = [{**one, "model": "x"} for one in rows]
    other[7]["question"] = "what else?"
    with pytest.raises(AlignmentError, match=r"two questions .* item '3' in de: row 8 and row 20"):
        align([*rows, *other])


def test_rows_are_joined_by_order_where_the_golds_agree():
    rows = [{k: v for k, v in one.items() if k != "item"} for one in table()]
    found = align(rows, by_row=True)
    assert counts(found)["4", "de"] == counts(align(table()))["3", "de"]
    assert "items are joined by row order, the sequence of golds agrees" in found.notes


def test_row_order_interleaves_languages_as_it_likes():
    by_language = table()
    by_item = sorted(by_language, key=lambda one: one["item"])
    one, two = (align(rows, by_row=True) for rows in (by_language, by_item))
    assert counts(one) == counts(two)


@pytest.mark.parametrize("allow", [{}, {"allow_golds": True, "allow_missing": True, "pool": True}])
def test_shifted_rows_are_refused_whatever_is_allowed(allow):
    rows = table()
    rows[4:8] = [*rows[5:8], rows[4]]
    with pytest.raises(AlignmentError, match="de in 4 of 4 items"):
        align(rows, by_row=True, **allow)


def test_row_order_needs_golds_in_every_row():
    rows = table()
    rows[6]["gold"] = None
    with pytest.raises(AlignmentError, match="first row without one: row 7"):
        align(rows, by_row=True)


def test_row_order_refuses_sequences_of_other_lengths():
    with pytest.raises(AlignmentError, match="different numbers of rows: sw 3, the others 4"):
        align(table()[:-1], by_row=True, allow_missing=True)


def test_golds_that_are_all_the_same_prove_nothing():
    rows = [{**one, "gold": "1"} for one in table()]
    with pytest.raises(AlignmentError, match="cannot show that rows belong together"):
        align(rows, by_row=True)


def test_few_golds_prove_little_and_many_prove_much():
    assert any("prove little" in note for note in align(table(4), by_row=True).notes)
    assert not any("prove little" in note for note in align(table(40), by_row=True).notes)


def test_rows_that_are_no_table_are_refused():
    with pytest.raises(InputError, match="no rows"):
        align([])
    with pytest.raises(InputError, match="wrong kind"):
        align([row("1", "en", n="many")])
    with pytest.raises(UnknownNameError, match="langauge"):
        align(pl.DataFrame({"langauge": ["en"]}))
    with pytest.raises(InputError, match="1 rows have no language, first row 1"):
        align([row("1", "")])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.permutations(range(12)))
def test_order_never_matters_where_items_have_ids(order):
    rows = table()
    assert counts(align([rows[i] for i in order])) == counts(align(rows))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.permutations(range(12)))
def test_joined_by_order_the_numbers_are_right_or_refused(order):
    """No shuffling gives an item the results of another."""
    right = sorted(
        tuple(sorted((r["language"], r["k"]) for r in part.iter_rows(named=True)))
        for _, part in align(table()).frame.group_by("item")
    )
    rows = table()
    try:
        found = align([rows[i] for i in order], by_row=True)
    except HatscoreError:
        return
    assert right == sorted(
        tuple(sorted((r["language"], r["k"]) for r in part.iter_rows(named=True)))
        for _, part in found.frame.group_by("item")
    )


def test_schema_is_that_of_the_table_and_five_more():
    assert list(ROW_SCHEMA)[-5:] == ["gold", "question", "repeat", "where", "asked"]
