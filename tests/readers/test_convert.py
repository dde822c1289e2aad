"""`hatscore convert`, and the options of readers on the command line."""

from __future__ import annotations

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from hatscore import read
from hatscore.cli import main

LONG = "q_id,lang,correct\n1,English,1\n1,German,0\n2,English,1\n2,German,1\n3,English,1\n"
OPTIONS = [
    "--source", "en", "--columns", "item=q_id,language=lang,score=correct",
    "--map", "language=English:en,German:de", "--model", "m", "--benchmark", "b",
]  # fmt: skip


@pytest.fixture
def run(capsys):
    """Run the command line: ``code, out, err = run("score", path)``."""

    def run_it(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(one) for one in arguments])
        streams = capsys.readouterr()
        return end.value.code, streams.out, streams.err

    return run_it


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(LONG, encoding="utf-8")
    return path


def test_convert_writes_what_reads_back_identical(run, log, tmp_path):
    out = tmp_path / "out.parquet"
    code, said, err = run("convert", log, out, *OPTIONS, "--allow-missing")
    assert code == 0
    assert "out.parquet: Outcomes(5 rows: 1 models, 1 benchmarks, 2 languages)" in said
    assert "Note: m on b: de lacks 1 of 3 items of en: 3" in err
    first = read(
        log,
        source="en",
        columns="item=q_id,language=lang,score=correct",
        map={"language": {"English": "en", "German": "de"}},
        model="m",
        benchmark="b",
        allow_missing=True,
    )
    second = read(out)
    assert_frame_equal(first.frame, second.frame)
    assert_frame_equal(first.excluded, second.excluded)
    assert first.notes == second.notes
    assert any("allow_missing" in note for note in second.notes)


def test_what_was_accepted_stays_said_after_converting(run, log, tmp_path):
    out, again = tmp_path / "out.parquet", tmp_path / "again.parquet"
    assert run("convert", log, out, *OPTIONS, "--allow-missing")[0] == 0
    assert run("convert", out, again)[0] == 0
    code, said, _ = run("score", again, "--format", "json")
    assert code == 0
    assert any("(allow_missing)" in note for note in json.loads(said)["notes"])


def test_scores_say_how_they_were_read(run, log):
    code, _, err = run("score", log, *OPTIONS)
    assert code == 2
    assert "de lacks 1 of 3 items of en: 3 (first log.csv:6)" in err
    assert "--allow-missing" in err
    code, said, _ = run("score", log, *OPTIONS, "--allow-missing", "--format", "json")
    assert code == 0
    document = json.loads(said)
    assert any("(allow_missing)" in note for note in document["notes"])


def test_compare_and_report_read_tables_too(run, tmp_path):
    path = tmp_path / "two.csv"
    rows = [
        f"{model},{item},{one},{int(one == 'en' or model == 'x')}"
        for model in ("x", "y")
        for item in range(6)
        for one in ("en", "de")
    ]
    path.write_text("model,item,language,score\n" + "\n".join(rows) + "\n", encoding="utf-8")
    common = ["--source", "en", "--benchmark", "b"]
    code, said, _ = run("compare", path, "x", "y", "--scores", "target_accuracy", *common)
    assert code == 0
    assert "A = x, B = y" in said
    code, said, _ = run("report", path, "-o", tmp_path / "page", *common)
    assert code == 0
    assert (tmp_path / "page" / "index.html").is_file()


def test_nothing_is_overwritten_unasked(run, log, tmp_path):
    out = tmp_path / "out.parquet"
    assert run("convert", log, out, *OPTIONS, "--allow-missing")[0] == 0
    before = out.read_bytes()
    code, _, err = run("convert", log, out, *OPTIONS, "--allow-missing")
    assert code == 2
    assert "it would be replaced" in err
    assert out.read_bytes() == before
    assert run("convert", log, out, *OPTIONS, "--allow-missing", "--force")[0] == 0
    code, _, err = run("convert", out, out, "--force")
    assert code == 2
    assert "is read and would be replaced" in err
    assert out.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["out.parquet"], "give at least one path to read"),
        (["log.csv", "out.csv"], "its name must end in .parquet"),
        (["none.csv", "out.parquet"], "no such file or directory"),
        (["log.csv", "none/out.parquet"], "cannot be written"),
    ],
)
def test_wrong_use_of_convert(run, log, monkeypatch, arguments, said):
    monkeypatch.chdir(log.parent)
    code, _, err = run("convert", *arguments, *OPTIONS, "--allow-missing")
    assert code == 2
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scorer", "x"], "option of reader table 'scorer'"),
        (["--map", "English:en"], "log.csv|map"),
        (["--map", "model=a:b", "--map", "x"], "--map: expected FIELD=SPEC, got 'x'"),
        (["--map", "language=a:b"], "mapped twice"),
        (["--reader", "tabel"], "did you mean table"),
        (["--grade", "number"], "needs --columns reply=COLUMN,gold=COLUMN"),
        (["--columns", "gold=answer"], "unknown column 'answer'"),
    ],
)
def test_wrong_options_of_readers(run, log, arguments, said):
    code, out, err = run("score", log, *OPTIONS, *arguments)
    assert code == 2
    assert out == ""
    assert any(part in err for part in said.split("|"))
    assert "Traceback" not in err


def test_options_can_be_given_in_parts(run, log):
    parts = ["--columns", "item=q_id", "--columns", "language=lang,score=correct"]
    rest = [one for one in OPTIONS if one not in OPTIONS[2:4]]
    code, said, _ = run("score", log, *rest, *parts, "--allow-missing", "--format", "json")
    assert code == 0
    assert json.loads(said)


def test_a_csv_of_the_table_itself_reads_back(log, tmp_path):
    first = read(
        log, source="en", columns="item=q_id,language=lang,score=correct",
        map=["language=English:en,German:de"], model="m", benchmark="b", allow_missing=True,
    )  # fmt: skip
    pl.concat([first.frame, first.excluded]).write_csv(tmp_path / "table.csv")
    second = read(tmp_path / "table.csv", allow_missing=True)
    assert_frame_equal(first.frame, second.frame, check_row_order=False)
