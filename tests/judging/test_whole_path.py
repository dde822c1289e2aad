"""From the command line: sample eclektic, judge it, score it; and the user's own table."""

from __future__ import annotations

import pytest

from hatscore import measure, read
from hatscore.cli import main
from hatscore.judging import VERDICTS_NAME

SOURCES = {"1": "de", "2": "en", "3": "zh", "4": "en"}


@pytest.fixture
def data(tmp_path, eclektic_file):
    return eclektic_file(tmp_path / "e.jsonl", SOURCES)


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    return end.value.code


def test_eclektic_from_sampling_to_scores(data, tmp_path, model_server, capsys):
    # knows everything in the source and in French, nothing elsewhere
    def knows(prompt):
        _, name, language = prompt.rstrip("?").split()
        return language in (SOURCES[name], "fr")

    model = model_server(
        right=lambda p: f"right: {p}",
        wrong=lambda p: f"wrong: {p}",
        probability=lambda p: 1.0 if knows(p) else 0.0,
    )
    judge = model_server(
        models=("judge",),
        probability=lambda _: 1.0,
        right=lambda p: "YES" if "Answer:\nright" in p else "NO",
    )
    out = tmp_path / "run"
    sampling = [
        "run",
        "openai-api/test-model",
        "-b",
        "eclektic",
        "--set",
        f"data={data}",
        "-l",
        "fr,hi,en",
        "--repeats",
        3,
        "--base-url",
        model.url,
        "-o",
        out,
        "-q",
    ]
    code = run(*sampling, "--judge", "openai-api/judge", "--judge-url", judge.url)
    printed = capsys.readouterr()
    assert code == 0, printed
    outcomes = read(out)
    # source rows come along: de, en, zh; en is a target of 1 and 3 only
    assert {(r["item"], r["language"]) for r in outcomes.frame.iter_rows(named=True)} == {
        *((n, t) for n in SOURCES for t in ("fr", "hi")),
        *SOURCES.items(),
        ("1", "en"),
        ("3", "en"),
    }
    table = {r["language"]: r for r in measure(outcomes).iter_rows(named=True)}
    assert table["fr"]["hat"] == pytest.approx(1)
    assert table["hi"]["hat"] == pytest.approx(0)
    assert table["en"]["n_items"] == 2
    asked = len(judge.requests)
    assert asked == 4 * 2 + 4 + 2, "three equal replies are judged once"
    assert any("judged by openai-api/judge" in note for note in outcomes.notes)

    data.unlink()  # stored runs are judged and scored without the data
    stern = model_server(models=("stern",), probability=lambda _: 1.0, right=lambda _: "NO")
    assert run("judge", out, "--judge", "openai-api/stern", "--base-url", stern.url, "-q") == 0
    printed = capsys.readouterr().out
    assert "openai-api/stern: yes 0, no 42, neither 0" in printed
    assert "agreement on 42 replies: 0.429" in printed
    assert set(
        read(out).frame["judge_unparsed"].to_list() + read(out).excluded["judge_unparsed"].to_list()
    ) == {0, 3}
    labels = tmp_path / "labels.csv"
    labels.write_text(
        "benchmark,item,language,repeat,label\neclektic,1,fr,0,yes\neclektic,1,hi,0,yes\n"
        "eclektic,2,hi,0,no\neclektic,99,hi,0,no\n",
        "utf-8",
    )
    assert run("judge", out, "--labels", labels) == 0
    printed = capsys.readouterr().out
    assert "openai-api/judge against 4 labels: sensitivity 0.500 [0.095, 0.905] of 2" in printed
    assert "specificity 1.000" in printed
    assert "1 not in this run" in printed


def test_without_a_judge_the_error_says_what_to_do(data, tmp_path, model_server, capsys):
    model = model_server(right=lambda _: "x", probability=lambda _: 1.0)
    out = tmp_path / "run"
    code = run(
        "run",
        "openai-api/test-model",
        "-b",
        "eclektic",
        "--set",
        f"data={data}",
        "-l",
        "fr",
        "--repeats",
        2,
        "--base-url",
        model.url,
        "-o",
        out,
        "-q",
    )
    assert code == 2
    error = capsys.readouterr().err
    assert f"hatscore judge {out} --judge MODEL" in error
    assert not (out / VERDICTS_NAME).exists()


def test_another_file_under_the_same_path_is_another_run(data, tmp_path, model_server, capsys):
    model = model_server(right=lambda _: "x", probability=lambda _: 1.0)
    out = tmp_path / "run"
    command = [
        "run",
        "openai-api/test-model",
        "-b",
        "eclektic",
        "--set",
        f"data={data}",
        "--set",
        "grading=names",
        "-l",
        "fr",
        "--repeats",
        2,
        "--base-url",
        model.url,
        "-o",
        out,
        "-q",
    ]
    assert run(*command) == 0
    data.write_text(data.read_text("utf-8").replace("Question 1 fr", "Question 1 FR"), "utf-8")
    assert run(*command) == 2
    assert "holds another run" in capsys.readouterr().err


def test_a_table_of_ones_own(tmp_path, model_server, capsys):
    table = tmp_path / "mine.csv"
    rows = [f"{i},{t},Q{i} {t}?,{i}" for i in range(6) for t in ("en", "de", "sw")]
    table.write_text("item,language,question,answer\n" + "\n".join(rows), "utf-8")
    model = model_server(
        right=lambda p: "Answer: " + p[1], probability=lambda p: 0.0 if " sw?" in p else 1.0
    )
    code = run(
        "run",
        "openai-api/test-model",
        "-b",
        "custom",
        "--set",
        f"data={table}",
        "--repeats",
        2,
        "--base-url",
        model.url,
        "-o",
        tmp_path / "run",
        "-q",
    )
    assert code == 0, capsys.readouterr()
    outcomes = read(tmp_path / "run")
    assert outcomes.frame["benchmark"].unique().to_list() == ["custom(data=mine.csv)"]
    scores = {r["language"]: r["hat"] for r in measure(outcomes).to_dicts()}
    assert scores["de"] == pytest.approx(1)
    assert scores["sw"] == pytest.approx(0)
    assert run("benchmarks") == 0
    assert "custom" in capsys.readouterr().out
