"""A gate passes only where it has looked: what one model lacks, and limits that are no limits."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator

from hatscore import Outcomes
from hatscore.cli.schema import load_schema
from hatscore.comparing import compare, unpaired
from hatscore.errors import InputError
from hatscore.scoring import MACRO, measurements
from hatscore.stats import simulate

NAMES = ["model", "benchmark", "item", "language", "source_language", "n", "k"]


def rows(model, benchmark, languages=("de", "sw"), *, seed=1, n_items=40):
    data = simulate(
        n_items,
        slopes=[0.8] * len(languages),
        source=(2, 1),
        concentration=3,
        rng=np.random.default_rng(seed),
    )
    for i in range(n_items):
        yield (model, benchmark, str(i), "en", "en", 10, int(data.k_source[i]))
        for j, language in enumerate(languages):
            yield (model, benchmark, str(i), language, "en", 10, int(data.k_target[i, j]))


@pytest.fixture
def file(tmp_path):
    def write(*parts):
        path = tmp_path / "outcomes.parquet"
        frame = pl.DataFrame([row for part in parts for row in part], schema=NAMES, orient="row")
        Outcomes.from_frame(frame).write_parquet(path)
        return path

    return write


WIDE = ("--noninferior", "9")


@pytest.mark.parametrize(("first", "second"), [("new", "old"), ("old", "new")])
def test_a_gate_fails_for_a_benchmark_that_one_model_lacks(file, hatscore, first, second):
    whole = file(*(rows(model, name) for model in ("new", "old") for name in ("x", "y")))
    assert hatscore("compare", whole, first, second, *WIDE)[0] == 0
    path = file(rows("new", "x"), rows("old", "x"), rows("old", "y"))
    code, out, err = hatscore("compare", path, first, second, *WIDE, "--format", "json")
    assert code == 1
    assert "Gate failed: y: only old has scores of it" in err
    document = json.loads(out)
    Draft202012Validator(load_schema("compare")).validate(document)
    assert document["gate_failures"] == ["y: only old has scores of it"]


def test_without_a_gate_it_is_a_note(file, hatscore):
    path = file(rows("new", "x"), rows("old", "x"), rows("old", "y"))
    code, out, err = hatscore("compare", path, "new", "old", "--format", "json")
    assert code == 0
    assert err == "Note: y: only old has scores of it\n"
    document = json.loads(out)
    Draft202012Validator(load_schema("compare")).validate(document)
    assert document["notes"] == ["y: only old has scores of it"]
    assert document["gate_failures"] == []
    assert {row["benchmark"] for row in document["differences"]} == {"x"}


def test_a_gate_fails_for_a_language_that_one_model_lacks_and_names_it(file, hatscore):
    # the other benchmark has a macro average, which used to be enough
    path = file(
        rows("new", "x", ("de", "fr")),
        rows("old", "x", ("de", "sw", "yo")),
        rows("new", "y"),
        rows("old", "y"),
    )
    code, _, err = hatscore("compare", path, "new", "old", *WIDE)
    assert code == 1
    assert err == (
        "Gate failed: x: no macro average over the same languages: new alone has fr; "
        "old alone has sw, yo\n"
    )


def test_what_is_unpaired_has_no_macro_row(file):
    path = file(rows("new", "x", ("de",)), rows("old", "x"), rows("new", "y"), rows("old", "y"))
    found = measurements(Outcomes.read_parquet(path))
    assert [lack.benchmark for lack in unpaired(found, "new", "old")] == ["x"]
    keys = {(r.benchmark, r.language) for r in compare(found, "new", "old", scores=["hat"])}
    assert keys == {("x", "de"), ("y", "de"), ("y", "sw"), ("y", MACRO)}


def test_nothing_in_common_is_wrong_use(file):
    found = measurements(Outcomes.read_parquet(file(rows("new", "x"), rows("old", "y"))))
    with pytest.raises(InputError, match="no benchmark and language in common"):
        compare(found, "new", "old")


@pytest.mark.parametrize("option", ["--fail-below", "--noninferior"])
@pytest.mark.parametrize("limit", ["nan", "inf", "-inf", "1e999", "x", ""])
def test_a_gate_needs_a_finite_limit(file, hatscore, option, limit):
    path = file(rows("new", "x"), rows("old", "x"))
    code, out, err = hatscore("compare", path, "new", "old", f"{option}={limit}")
    assert (code, out) == (2, "")
    assert f"Invalid value for '{option}'" in err


def test_a_margin_is_not_negative_but_a_limit_may_be(file, hatscore):
    path = file(rows("new", "x"), rows("old", "x"))
    assert hatscore("compare", path, "new", "old", "--noninferior=-0.1")[0] == 2
    assert hatscore("compare", path, "new", "old", "--fail-below=-1")[0] == 0
