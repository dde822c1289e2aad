"""Messages name things as whoever reads them must type them."""

from __future__ import annotations

import numpy as np
import pytest

from hatscore.cli.reading import as_typed
from hatscore.stats import Estimate, difference, hat_scores, mean


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("with metric=NAME", "with --metric NAME"),
        ("not x (filter=NAME)", "not x (--filter NAME)"),
        ("choose with run=TIMESTAMP or run=latest", "choose with --run TIMESTAMP or --run latest"),
        ("further replies with pool=True", "further replies with --pool"),
        ("say allow_missing=True", "say --allow-missing"),
        ("for example source='en'", "for example --source 'en'"),
        ("map={'language': 'metadata.KEY'}", "--map language=metadata.KEY"),
        ("with map={'item': ...}, or", "with --map item=FIELD, or"),
        (r"map='(?P<x>.)_(\w+)', or map=doc.FIELD", r"--map '(?P<x>.)_(\w+)', or --map doc.FIELD"),
        ("columns item=COLUMN, or", "--columns item=COLUMN, or"),
        # what users named themselves stays
        ("own(run=x,source=en): no row", "own(run=x,source=en): no row"),
        ("columns reply, gold", "columns reply, gold"),
    ],
)
def test_options_are_named_as_they_are_typed(said, typed):
    assert as_typed(said) == typed


def test_the_command_line_asks_for_its_own_options(hatscore, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item,language,score\n1,en,1\n1,de,0\n", encoding="utf-8")
    code, _, err = hatscore("score", path, "--model", "m", "--benchmark", "b")
    assert code == 2
    assert "--source TAG" in err
    assert "source=TAG" not in err


def test_a_benchmark_that_lacks_a_language_is_named(hatscore, tmp_path):
    code, _, err = hatscore(
        *("run", "openai-api/m", "--base-url", "http://127.0.0.1:9/v1"),
        *("-b", "worldfacts,wordmath", "-l", "de,sw", "-o", tmp_path / "run"),
    )
    assert code == 2
    assert "language of wordmath 'sw'" in err


def test_why_a_mean_has_no_value_is_said_once():
    never = np.zeros((5, 6))
    first = mean(hat_scores(never[:, 0], 4, never, 4))
    both = difference(first, mean(hat_scores(never[:, 0], 4, never, 4)))
    assert both.reason == first.reason
    assert "parts have no value" not in first.reason
    good = hat_scores([4, 3, 2], 4, [[3], [3], [1]], 4)[0]
    some = mean([good, *hat_scores(never[:, 0], 4, never[:, :2], 4)])
    assert some.reason.startswith("2 of 3 parts have no value: no source item")
    again = mean([good, some])
    assert again.reason.startswith("1 of 2 parts have no value: no source item")
    assert again.reason.count("parts") == 1


def test_parts_that_lack_a_value_for_different_reasons_say_how_many():
    parts = [
        Estimate.missing(why, estimator="x", interval="delta", confidence=0.95)
        for why in ("no items", "never right")
    ]
    assert mean(parts).reason == "2 of 2 parts have no value: no items"
