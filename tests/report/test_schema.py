"""The published schemas are those of what the commands really print."""

from __future__ import annotations

import copy
import json

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator, ValidationError

from hatscore.cli import main
from hatscore.cli.schema import load_schema, schema_names
from hatscore.models import load_models
from hatscore.report.export import to_json
from hatscore.scoring import measurements
from hatscore.studies.simulated import Layout, simulate_study

SMALL = Layout(("reasoning",), "", ("de", "ja", "sw", "th"), n_items=40)


@pytest.fixture
def out(capsys):
    """Run a command and return its JSON."""

    def run(*arguments, code=0):
        with pytest.raises(SystemExit) as end:
            main([str(a) for a in arguments])
        printed = capsys.readouterr().out
        assert end.value.code == code
        return json.loads(printed)

    return run


def validator(name):
    return Draft202012Validator(load_schema(name))


def objects(node):
    """Yield every subschema of an object."""
    if isinstance(node, dict):
        if node.get("type") == "object" and "properties" in node:
            yield node
        for child in node.values():
            yield from objects(child)
    elif isinstance(node, list):
        for child in node:
            yield from objects(child)


@pytest.mark.parametrize("name", schema_names())
def test_schemas_are_valid_closed_and_described(name):
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:hatscore:schema:{name}:1"
    assert "://" not in schema["$id"]
    found = list(objects(schema))
    assert len(found) >= 2
    for each in found:
        assert each["additionalProperties"] is False
        for key, child in each["properties"].items():
            assert "description" in child or "$ref" in child or "const" in child, key


def test_scores_fit_their_schema(simulated, unbounded, table):
    check = validator("score").validate
    for outcomes in (
        simulated(("m", "other"), chance=0.25, output_tokens=12.5),
        simulated(replies=1),
        unbounded(),
        table(("en", 10, 0, {}), ("de", 10, 3, {"error": 2})),
        table(("en", 10, 3, {})),
    ):
        check(json.loads(to_json(measurements(outcomes), outcomes)))


def test_the_commands_print_what_is_published(simulated, out, tmp_path):
    path = tmp_path / "outcomes.parquet"
    simulated(("m", "other")).write_parquet(path)
    validator("score").validate(out("score", path, "--format", "json"))
    compared = out("compare", path, "m", "other", "--scores", "all", "--format", "json")
    validator("compare").validate(compared)
    assert {row["language"] for row in compared["differences"]} == {"de", "fr", "sw", "macro"}
    # the first model cannot be better than itself by this much
    failed = out("compare", path, "m", "other", "--fail-below", 2, "--format", "json", code=1)
    validator("compare").validate(failed)
    assert failed["gate_failures"]


def test_an_open_interval_of_a_difference_says_so(unbounded, out, tmp_path):
    path = tmp_path / "outcomes.parquet"
    frame = pl.concat([unbounded("a").frame, unbounded("b").frame])
    frame.write_parquet(path)
    document = out("compare", path, "a", "b", "--scores", "all", "--format", "json")
    validator("compare").validate(document)


def test_a_study_fits_its_schema(out, monkeypatch):
    from hatscore.studies import simulated as drawing

    monkeypatch.setattr(
        drawing,
        "simulate_study",
        lambda registry, *, rng: simulate_study(registry, layout=SMALL, rng=rng),
    )
    document = out("study", "--simulate", "paper", "--format", "json")
    validator("study").validate(document)
    assert len(document["analyses"]) == 8
    assert all(analysis["table"] for analysis in document["analyses"])


def test_a_study_that_cannot_tell_fits_its_schema(out, tmp_path):
    study = simulate_study(load_models(), layout=SMALL, rng=np.random.default_rng(0))
    frame = study.outcomes.frame
    one = tmp_path / "one.parquet"
    frame.filter(pl.col("model") == "gemma-3-4b-it").write_parquet(one)
    document = out("study", one, "--format", "json")
    validator("study").validate(document)
    assert "truth" not in document
    few = tmp_path / "few.parquet"
    frame.filter(pl.col("model").str.starts_with("gemma-3-")).with_columns(
        output_tokens=pl.lit(20.0)
    ).write_parquet(few)
    validator("study").validate(out("study", few, "--format", "json"))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["results"][0].update(surprise=1),
        lambda d: d["results"][0].pop("hat_low"),
        lambda d: d["results"][0].update(hat="0.8"),
        lambda d: d["results"][0].update(source_accuracy=80.0),
        lambda d: d.update(schema=2),
        lambda d: d["status_shares"][0].update(role="other"),
        lambda d: d["method"].update(confidence=95),
    ],
)
def test_a_changed_output_is_caught(simulated, change):
    outcomes = simulated()
    document = json.loads(to_json(measurements(outcomes), outcomes))
    changed = copy.deepcopy(document)
    change(changed)
    with pytest.raises(ValidationError):
        validator("score").validate(changed)


def test_schema_command_prints_lists_and_helps(capsys):
    for name in schema_names():
        with pytest.raises(SystemExit):
            main(["schema", name])
        assert json.loads(capsys.readouterr().out) == load_schema(name)
    with pytest.raises(SystemExit):
        main(["schema"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == schema_names()
    with pytest.raises(SystemExit) as end:
        main(["schema", "scores"])
    assert end.value.code == 2
    assert "did you mean score" in capsys.readouterr().err
