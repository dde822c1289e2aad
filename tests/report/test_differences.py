"""Two models side by side: every score with its interval, in every format and width."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator

from hatscore.archive import write_scores
from hatscore.cli import main
from hatscore.cli.schema import load_schema
from hatscore.comparing import COMPARED, Difference
from hatscore.report.differences import (
    differences_document,
    interval_at,
    render_differences,
)
from hatscore.scoring import measurements
from hatscore.stats import Estimate, difference


@pytest.fixture
def two(simulated, tmp_path):
    """Two models in a file."""
    path = tmp_path / "outcomes.parquet"
    simulated(("m", "other")).write_parquet(path)
    return path


@pytest.fixture
def open_ended(unbounded, tmp_path):
    """Two models whose source solves too little to bound a score."""
    path = tmp_path / "outcomes.parquet"
    pl.concat([unbounded("a").frame, unbounded("b").frame]).write_parquet(path)
    return path


@pytest.fixture
def printed(capsys):
    def run(*arguments, code=0):
        with pytest.raises(SystemExit) as end:
            main([str(a) for a in arguments])
        assert end.value.code == code
        return capsys.readouterr().out

    return run


def estimate(value, low, high, *, confidence=0.95, reason=""):
    made = ("corrected", "fieller", confidence, 40, 30.0, 0.9, reason)
    clusters = np.array(["1", "2"], dtype=object)
    return Estimate(value, low, high, 0.05, *made, np.array([0.03, -0.04]) * value, clusters)


def row(first, second, language="de", score="hat"):
    return Difference("b", language, score, first, second, difference(first, second), 0.5, 40)


def valid(document):
    Draft202012Validator(load_schema("compare")).validate(document)
    return document


def test_at_80_columns_every_score_has_its_interval_below(two, printed, simulated):
    out = printed("compare", two, "m", "other", "--scores", "all")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    found = {(m.model, m.language): m for m in measurements(simulated(("m", "other")))}
    for name in COMPARED:
        start = lines.index(f"b: {name}")
        assert lines[start + 1].split() == ["language", "A", "B", "A", "-", "B", "p", "items"]
        table = lines[start + 2 : start + 2 + 8]
        for values, ends in zip(table[::2], table[1::2], strict=True):
            language, a, b, *_ = values.split()
            for model, shown in (("m", a), ("other", b)):
                score = found[model, language].scores[name]
                assert shown == f"{score.value:.3f}"
                assert f"[{score.low:.3f}, {score.high:.3f}]" in ends
            assert ends.count("[") == 3
            # the interval of a score begins below it
            assert ends.index("[") == lines[start + 1].index("A") - 1


def test_a_wide_terminal_has_one_line_for_each_language(two, printed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    lines = printed("compare", two, "m", "other").splitlines()
    assert max(map(len, lines)) <= 120
    start = next(i for i, line in enumerate(lines) if line.startswith("language"))
    table = [line for line in lines[start + 1 :] if line]
    assert [line.split()[0] for line in table] == ["de", "fr", "sw", "macro"]
    assert all(line.count("[") == 3 for line in table)


def test_text_marks_what_is_unbounded_or_missing():
    open_end = estimate(0.5, -math.inf, math.inf, reason="unbounded: too few solved source items")
    none = Estimate.missing("no items", estimator="corrected", interval="fieller", confidence=0.95)
    bounded = estimate(0.4, 0.3, 0.5)
    rows = [row(open_end, bounded), row(bounded, none, "sw")]
    lines = render_differences(rows, "x", "y", confidence=0.95, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    de, ends = lines[5:7]
    assert de.split()[:4] == ["de", "0.500", "(1)", "0.400"]
    assert "[-inf, inf]" in ends
    sw, ends = lines[7:9]
    assert sw.split()[:4] == ["sw", "0.400", "-", "(3)"]
    assert ends.split("  ")[-1] == "[0.300, 0.500]"
    text = " ".join(lines[9:])
    assert "(1) unbounded: too few solved source items" in text
    assert "(2) a normal approximation, though a score behind it is unbounded" in text
    assert "(3) no items" in text


def test_where_no_score_has_an_interval_there_is_no_empty_line():
    none = Estimate.missing("no items", estimator="corrected", interval="fieller", confidence=0.95)
    rows = [row(none, none), row(none, none, "sw"), row(estimate(0.4, 0.3, 0.5), none, score="gap")]
    lines = render_differences(rows, "x", "y", confidence=0.95, width=60).splitlines()
    start = lines.index("b: hat")
    assert [line.split()[:1] for line in lines[start + 1 : start + 5]] == [
        ["language"], ["de"], ["sw"], []
    ]  # fmt: skip
    assert "[0.300, 0.500]" in lines[lines.index("b: gap") + 3]


def test_json_of_an_unbounded_interval(open_ended, printed):
    document = valid(json.loads(printed("compare", open_ended, "a", "b", "--format", "json")))
    for entry in document["differences"]:
        if entry["language"] == "macro":
            continue
        assert entry["first"] is not None
        assert entry["first_status"] == entry["second_status"] == "unbounded"
        assert "unbounded" in entry["first_reason"]
        assert None in (entry["first_low"], entry["first_high"])
        assert entry["unbounded"] is True


def test_noninferiority_is_not_shown_by_an_unbounded_score(table, tmp_path, printed, capsys):
    seldom = {"en": (5, 3, 2, 0, 0), "de": (3, 1, 2, 1, 0), "fr": (1, 3, 1, 0, 2)}
    often = {"en": (9, 8, 9, 7, 6), "de": (7, 7, 8, 5, 5), "fr": (6, 7, 7, 6, 3)}
    path = tmp_path / "outcomes.parquet"
    parts = [
        table(*((x, 10, right, {}) for x in k for right in k[x]), model=model).frame
        for model, k in (("a", seldom), ("b", often))
    ]
    pl.concat(parts).write_parquet(path)
    typed = ("compare", path, "a", "b", "--format", "json")
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in (*typed, "--noninferior", "999")])
    streams = capsys.readouterr()
    assert end.value.code == 1
    document = valid(json.loads(streams.out))
    (macro,) = (row for row in document["differences"] if row["language"] == "macro")
    # as far as this interval goes, the gate would pass
    assert macro["low"] > -999
    (failure,) = document["gate_failures"]
    assert "is not shown to be above -999: its interval is a normal approximation" in failure
    assert "and a score behind it is unbounded: too few solved source items" in failure
    assert f"Gate failed: {failure}\n" in streams.err
    # a limit of the difference itself needs no interval
    printed(*typed, "--fail-below", "-999")


def test_json_has_the_intervals_of_score(two, printed):
    compared = valid(json.loads(printed("compare", two, "m", "other", "--format", "json")))
    scored = json.loads(printed("score", two, "--format", "json"))["results"]
    wanted = {(r["model"], r["language"]): (r["hat_low"], r["hat_high"]) for r in scored}
    for entry in compared["differences"]:
        assert (entry["first_low"], entry["first_high"]) == wanted["m", entry["language"]]
        assert (entry["second_low"], entry["second_high"]) == wanted["other", entry["language"]]
        assert entry["first_status"] == entry["second_status"] == entry["status"] == "bounded"
        assert "unbounded" not in entry


def test_a_missing_score_has_a_missing_interval():
    none = Estimate.missing("no items", estimator="corrected", interval="fieller", confidence=0.95)
    rows = [row(estimate(0.4, 0.3, 0.5), none)]
    document = valid(differences_document(rows, "x", "y", confidence=0.95, failures=[]))
    (entry,) = document["differences"]
    assert (entry["second"], entry["second_low"], entry["second_status"]) == (None, None, "missing")
    assert entry["second_reason"] == "no items"
    assert (entry["status"], entry["first_status"]) == ("missing", "bounded")


def test_no_interval_of_another_level_is_shown(simulated, tmp_path, printed):
    path = tmp_path / "scores.json"
    write_scores(measurements(simulated(("m", "other"))), path)
    document = valid(
        json.loads(
            printed("compare", path, "m", "other", "--confidence", "0.99", "--format", "json")
        )
    )
    for entry in document["differences"]:
        assert entry["first"] is not None
        assert entry["first_status"] == "missing"
        assert "level 0.95, not 0.99" in entry["first_reason"]
        assert "hatscore score --confidence 0.99 --save" in entry["first_reason"]
        assert entry["status"] == "bounded"
        assert entry["low"] < entry["high"]
    text = printed("compare", path, "m", "other", "--confidence", "0.99")
    assert "level 0.95, not 0.99" in text
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("("))


def test_interval_at_keeps_what_was_said_of_the_score():
    noted = estimate(0.5, 0.4, 0.6, confidence=0.9, reason="one source reply")
    assert interval_at(noted, 0.95).reason.startswith("one source reply; saved with")
    assert interval_at(replace(noted, confidence=0.95), 0.95).status == "bounded"


def test_csv_has_every_column_and_infinite_ends(open_ended, printed):
    out = printed("compare", open_ended, "a", "b", "--format", "csv")
    records = list(csv.DictReader(io.StringIO(out)))
    schema = load_schema("compare")["$defs"]["difference"]["required"]
    assert list(records[0]) == ["first_model", "second_model", *schema]
    assert {(r["first_model"], r["second_model"]) for r in records} == {("a", "b")}
    single = [r for r in records if r["language"] != "macro"]
    assert all(r["first_status"] == "unbounded" for r in single)
    assert all({r["first_low"], r["first_high"]} & {"inf", "-inf"} for r in single)


@pytest.mark.parametrize(("style", "gap"), [("md", "|"), ("latex", "&")])
def test_people_read_intervals_beside_their_numbers(open_ended, printed, style, gap):
    every = ["--every-column"] if style == "latex" else []
    out = printed("compare", open_ended, "a", "b", "--format", style, *every)
    assert "unbounded" in out
    assert ("∞" if style == "md" else r"$\infty$") in out
    head = next(line for line in out.splitlines() if "first model" in line)
    names = [name.strip(" \\") for name in head.strip("|").split(gap)]
    assert {"first", "first status", "second", "difference", "status", "p"} <= set(names)
    assert "first low" not in names


def test_a_tiny_p_is_not_written_as_nothing():
    tiny = replace(row(estimate(0.9, 0.8, 1.0), estimate(0.1, 0.0, 0.2)), p=1e-9)
    text = render_differences([tiny], "x", "y", confidence=0.95, width=120)
    assert "<0.001" in text


def test_the_tutorial_shows_what_is_printed(tmp_path, printed, monkeypatch):
    text = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text("utf-8")
    within = re.MULTILINE | re.DOTALL
    table = re.search(r'^```csv title="two-models.csv"\n(.*?)^```', text, within)
    typed = re.search(r"^\$ hatscore (compare two-models.csv .*?)(?<!\\)\n(.*?)^```", text, within)
    (tmp_path / "two-models.csv").write_text(table[1], "utf-8")
    monkeypatch.chdir(tmp_path)
    assert printed(*shlex.split(typed[1].replace("\\\n", " "))) == typed[2]


def test_latex_has_what_a_paper_has_room_for(two, printed, simulated):
    lines = printed("compare", two, "m", "other", "--format", "latex").splitlines()
    assert lines[0] == "% benchmark b, score hat"
    assert lines[1].startswith("% A = m, B = other; A - B is paired over shared items; 95% ")
    assert lines[2:6] == [
        r"\begin{tabular}{@{}lrrrr@{}}", r"\toprule", r"language & A & B & A - B & items \\",
        r"\midrule",
    ]  # fmt: skip
    found = {
        (m.model, m.language): m.scores["hat"] for m in measurements(simulated(("m", "other")))
    }
    numbers, ends = (lines[i].split(" & ") for i in (6, 7))
    assert (numbers[0], ends[0], numbers[4], ends[4]) == ("de", "", r"12 \\", r" \\")
    for i, model in ((1, "m"), (2, "other")):
        score = found[model, "de"]
        assert numbers[i] == f"{score.value:.3f}"
        assert ends[i] == f"[{score.low:.3f}, {score.high:.3f}]"
    assert len([line for line in lines if line.endswith(r"\\")]) == 9


def test_latex_has_a_table_for_every_score_and_says_why(open_ended, printed):
    out = printed("compare", open_ended, "a", "b", "--scores", "hat,gap", "--format", "latex")
    hat, gap = out.split("\n\n")
    assert hat.startswith("% benchmark b, score hat\n% A = a, B = b;")
    assert gap.startswith("% benchmark b, score gap\n% A = a, B = b;")
    for table in (hat, gap):
        rows = [line.split(" & ")[0] for line in table.splitlines() if line.endswith(r"\\")]
        assert rows == ["language", "de", "", "fr", "", "macro", ""]
    assert re.search(r"^% A in de, B in de, A - B in de, .*: unbounded: ", hat, re.MULTILINE)
    assert "unbounded" not in gap
    assert "first status" not in out


def test_latex_keeps_the_columns_where_nothing_can_be_compared(table, tmp_path, printed):
    path = tmp_path / "o.parquet"
    never = [table(*[("en", 10, 0, {}), ("de", 10, 1, {})] * 3, model=m).frame for m in "ab"]
    pl.concat(never).write_parquet(path)
    lines = printed("compare", path, "a", "b", "--format", "latex").splitlines()
    assert r"language & A & B & A - B & items \\" in lines
    assert r"de & -- & -- & -- & 3 \\" in lines
    assert any(line.startswith("% A in de, B in de, A - B in de") for line in lines)


def test_every_column_is_for_latex(two, capsys):
    with pytest.raises(SystemExit) as end:
        main(["compare", str(two), "m", "other", "--every-column"])
    assert end.value.code == 2
    assert "for --format latex" in capsys.readouterr().err
