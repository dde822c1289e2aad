from __future__ import annotations

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


@pytest.mark.parametrize(("short", "expected"), [(20, 0), (21, 1)])
def test_short_replies_alarm_above_two_percent(table, short, expected):
    split = {"empty": short // 2, "truncated": short - short // 2}
    found = alarms(table(("en", 1000, 5, {}), ("de", 1000, 5, split)))
    assert len(found) == expected
    assert all("in de 2.1 %" in text and "21 of 1000" not in text for text in found)
    assert all(
        f"empty {split['empty']}, truncated {split['truncated']} of 1000" in x for x in found
    )


@pytest.mark.parametrize(("unparsed", "expected"), [(50, 0), (51, 1)])
def test_unparsed_replies_alarm_above_five_percent(table, unparsed, expected):
    found = alarms(table(("en", 1000, 5, {}), ("de", 1000, 5, {"unparsed": unparsed})))
    assert len(found) == expected
    assert all("in de 5.1 % of replies hold no readable answer (51 of 1000)" in x for x in found)


def test_the_source_language_is_watched_too(table):
    (text,) = alarms(table(("en", 10, 5, {"truncated": 1}), ("de", 10, 5, {})))
    assert "in en" in text


@pytest.mark.parametrize("status", ["error", "judge_unparsed"])
def test_one_uncounted_reply_alarms_with_its_bounds(table, status):
    # items: 4 of 9 right and one unknown, 5 of 10 right
    (text,) = alarms(table(SOURCE, SOURCE, ("de", 9, 4, {status: 1}), ("de", 10, 5, {})))
    assert f"1 of 20 replies do not count ({status} 1)" in text
    assert "0.450 if all of them were wrong" in text  # (4/10 + 5/10) / 2
    assert "0.500 if all were right" in text  # (5/10 + 5/10) / 2


def test_bounds_of_items_whose_source_was_lost(table):
    # the source row of the second item has only errors: the item is excluded, yet it was asked
    (text,) = alarms(
        table(SOURCE, ("en", 0, 0, {"error": 10}), ("de", 10, 5, {}), ("de", 10, 5, {}))
    )
    assert "in en 10 of 20 replies do not count" in text
    assert "0.250 if all of them were wrong, 0.750 if all were right" in text
