from __future__ import annotations

import math

import polars as pl
import pytest

from hatscore import Outcomes
from hatscore.report import alarms, status_shares

SOURCE = ("en", 10, 5, {})


def test_shares_relate_to_all_replies(table):
    got = status_shares(
        table(
            SOURCE,
            ("de", 6, 3, {"empty": 2, "error": 3, "judge_unparsed": 1, "output_tokens": 5.0}),
        )
    )
    assert got["language"].to_list() == ["en", "de"]
    assert got["role"].to_list() == ["source", "target"]
    de = got.row(1, named=True)
    assert (de["n_items"], de["n"], de["replies"]) == (1, 6, 10)
    assert de["empty"] == pytest.approx(0.2)
    assert de["error"] == pytest.approx(0.3)
    assert de["judge_unparsed"] == pytest.approx(0.1)
    assert de["output_tokens"] == pytest.approx(5.0)
    assert got["output_tokens"][0] is None


def test_token_means_weigh_replies_and_skip_unknown_items(table):
    got = status_shares(
        table(
            SOURCE,
            SOURCE,
            SOURCE,
            ("de", 1, 0, {"output_tokens": 10.0}),
            ("de", 3, 0, {"output_tokens": 2.0}),
            ("de", 5, 0, {"output_tokens": None}),
        )
    )
    assert got["output_tokens"][1] == pytest.approx((10 + 3 * 2) / 4)


def test_a_language_without_replies_has_no_shares(table):
    got = status_shares(table(SOURCE, ("de", 0, 0, {})))
    assert got["empty"].to_list() == [0.0, None]


def test_items_of_different_sources_give_the_role_both():
    rows = [
        ("m", "b", item, language, source, 2, 1)
        for item, source in (("1", "en"), ("2", "de"))
        for language in ("en", "de")
    ]
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    got = status_shares(Outcomes.from_frame(pl.DataFrame(rows, schema=names, orient="row")))
    assert got["role"].to_list() == ["both", "both"]


def test_a_clean_run_raises_no_alarm(table):
    assert alarms(table(SOURCE, ("de", 10, 5, {}))) == []


def lower_end(part, whole, q=1.959963985):
    p = part / whole
    half = q * math.sqrt(p * (1 - p) / whole + q * q / (4 * whole * whole))
    return (p + q * q / (2 * whole) - half) / (1 + q * q / whole)


@pytest.mark.parametrize(("short", "expected"), [(28, 0), (29, 1)])
def test_short_replies_alarm_surely_above_two_percent(table, short, expected):
    assert (lower_end(short, 1000) > 0.02) == bool(expected)
    split = {"empty": short // 2, "truncated": short - short // 2}
    found = alarms(table(("en", 1000, 5, {}), ("de", 1000, 5, split)))
    assert len(found) == expected
    for text in found:
        assert text.startswith("m on b: replies are empty or truncated in de 2.9 % (empty 14, ")
        assert "truncated 15 of 1000); surely above 2 %" in text


@pytest.mark.parametrize(("unparsed", "expected"), [(63, 0), (64, 1)])
def test_unparsed_replies_alarm_surely_above_five_percent(table, unparsed, expected):
    assert (lower_end(unparsed, 1000) > 0.05) == bool(expected)
    found = alarms(table(("en", 1000, 5, {}), ("de", 1000, 5, {"unparsed": unparsed})))
    assert len(found) == expected
    assert all("no readable answer in de 6.4 % (64 of 1000)" in x for x in found)


@pytest.mark.parametrize("n", [1, 5, 9])
def test_one_reply_of_few_is_no_alarm_and_two_are(table, n):
    assert alarms(table(("en", 9, 0, {}), ("de", n, 0, {"empty": 1}))) == []
    if n > 1:
        (text,) = alarms(table(("en", 9, 0, {}), ("de", n, 0, {"empty": 2})))
        assert f"(empty 2 of {n})" in text


def test_languages_stand_in_one_line_worst_first(table):
    empty = dict(zip("abcdefgh", range(8, 81, 10), strict=True))
    rows = [(x, 100, 5, {"empty": n}) for x, n in empty.items()]
    (text,) = alarms(table(("en", 100, 5, {}), *rows))
    places = [text.index(f"{x} {empty[x]}.0 %") for x in "hgfedc"]
    assert places == sorted(places)
    assert "and in 2 others; surely" in text


def test_what_every_language_has_a_little_of_is_told_of_all_together(table):
    few = [(x, 9, 3, {"empty": 1}) for x in "abcdefgh"]
    (text,) = alarms(table(("en", 9, 3, {}), *few))
    assert "in the 9 languages together, 9.9 % (empty 8 of 81)" in text


def test_the_line_of_the_worst_comes_first(table):
    mild = table(("en", 100, 5, {}), ("de", 100, 5, {"unparsed": 20}), model="mild").frame
    bad = table(("en", 100, 5, {"truncated": 60}), ("de", 100, 5, {"error": 2}), model="bad").frame
    found = alarms(Outcomes.from_frame(pl.concat([mild, bad])))
    assert [text.split(" on ")[0] for text in found] == ["bad", "mild", "bad"]
    assert "in en 60.0 %" in found[0]
    assert "do not count" in found[2]


def test_empty_replies_that_are_kept_out_of_n_alarm(table):
    (text,) = alarms(table(("en", 10, 5, {}), ("de", 0, 0, {"empty": 5})))
    assert "de all (empty 5 of 0)" in text


@pytest.mark.parametrize("status", ["error", "judge_unparsed"])
def test_one_uncounted_reply_alarms_with_its_bounds(table, status):
    # items: 4 of 9 right and one unknown, 5 of 10 right
    (text,) = alarms(table(SOURCE, SOURCE, ("de", 9, 4, {status: 1}), ("de", 10, 5, {})))
    assert f"1 of 20 replies do not count ({status} 1)" in text
    # all wrong: (4/10 + 5/10) / 2, all right: (5/10 + 5/10) / 2
    assert text.endswith("is 0.450 to 0.500 in de (1 of 20)")


def test_bounds_of_items_whose_source_was_lost(table):
    # the source row of the second item has only errors: the item is excluded, yet it was asked
    (text,) = alarms(
        table(SOURCE, ("en", 0, 0, {"error": 10}), ("de", 10, 5, {}), ("de", 10, 5, {}))
    )
    assert "10 of 20 replies do not count" in text
    assert "0.250 to 0.750 in en (10 of 20)" in text
