"""The main job through the command line: sample, be killed, go on, score, report."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from hashlib import sha256

import pytest

from hatscore import measure, read
from hatscore.benchmarks import get_benchmark

SLOPES = {"de": 0.9, "ru": 0.4}
ITEMS = 150


def prompts_of(items):
    benchmark = get_benchmark("wordmath")
    return {
        benchmark.prompt(item, mode="chat", prompt_language="native").text: item for item in items
    }


@pytest.fixture
def known_model(model_server):
    """A server whose source rates are uniform and whose transfer is known per language."""
    items = get_benchmark("wordmath").load(
        languages=["en", "de", "ru"], source_language="en", items=ITEMS, seed=0, options={}
    )
    asked = prompts_of(items)

    def probability(prompt):
        item = asked[prompt]
        rate = int(sha256(item.id.encode()).hexdigest()[:8], 16) / 16**8
        return rate * SLOPES.get(item.language, 1.0)

    return model_server(
        probability=probability,
        right=lambda prompt: f"Answer: {asked[prompt].gold.value}",
        wrong=lambda prompt: f"Answer: {int(asked[prompt].gold.value) + 1}",
        n_limit=4,
        latency_s=0.01,
    )


def run_arguments(server, directory):
    return [
        "run",
        "openai-api/test-model",
        "-b",
        "wordmath",
        "-l",
        "de,ru",
        "--items",
        ITEMS,
        "--base-url",
        server.url,
        "--plan",
        "paper",
        "-o",
        directory,
    ]


def test_known_slopes_survive_kill_resume_score_and_report(known_model, tmp_path, hatscore):
    directory = tmp_path / "my run"
    command = [str(a) for a in run_arguments(known_model, directory)]
    for _ in range(2):
        kill_midway(command, directory)
    stored = count_replies(directory)
    assert 0 < stored < 3 * ITEMS * 10

    code, out, err = hatscore(*command)
    assert code == 0
    assert f"({stored:,} were there)" in err
    assert count_replies(directory) == 3 * ITEMS * 10
    assert "openai-api/test-model on wordmath" in out
    assert re.search(r"Page: .*index\.html", out)
    html = (directory / "report" / "index.html").read_text(encoding="utf-8")
    assert "test-model" in html

    # what the two kills cost: at most the requests that were under way
    served = sum(
        min(r.n, known_model.n_limit) for r in known_model.requests if "completions" in r.path
    )
    assert 3 * ITEMS * 10 <= served <= 3 * ITEMS * 10 + 2 * 16 * known_model.n_limit + 200

    code, out, err = hatscore("score", directory, "--format", "json")
    assert code == 0
    document = json.loads(out)
    rows = {row["language"]: row for row in document["results"]}
    for language, slope in SLOPES.items():
        assert rows[language]["hat_low"] <= slope <= rows[language]["hat_high"]
    macro = sum(SLOPES.values()) / 2
    assert rows["macro"]["hat_low"] <= macro <= rows["macro"]["hat_high"]

    table = measure(read(directory))
    assert table.filter(language="de")["hat"][0] == rows["de"]["hat"]

    # a finished run starts nothing and asks nothing
    before = len(known_model.requests)
    code, _, err = hatscore(*command)
    assert code == 0
    assert "are there already" in err
    assert len([r for r in known_model.requests[before:] if "completions" in r.path]) == 0


def kill_midway(command, directory):
    process = subprocess.Popen(
        [sys.executable, "-m", "hatscore", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    before = count_replies(directory)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if count_replies(directory) > before + 100:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL, "it was done before it could be killed"


def count_replies(directory):
    path = directory / "responses.sqlite"
    if not path.exists():
        return 0
    with (
        contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db,
        contextlib.suppress(sqlite3.OperationalError),
    ):
        return db.execute("SELECT count(*) FROM responses WHERE error IS NULL").fetchone()[0]
    return 0


def test_other_formats_and_the_report_command(known_model, tmp_path, hatscore):
    directory = tmp_path / "run"
    arguments = run_arguments(known_model, directory)
    arguments[arguments.index("--items") + 1] = 20
    assert hatscore(*arguments, "--repeats", 4, "-q")[0] == 0
    code, out, _ = hatscore("score", directory, "--format", "csv")
    assert (code, out.splitlines()[0][:24]) == (0, "model,benchmark,language")
    code, out, _ = hatscore("score", directory, "--format", "md")
    assert out.startswith("|")
    code, out, _ = hatscore("report", directory, "-o", tmp_path / "page")
    assert code == 0
    assert (tmp_path / "page" / "index.html").is_file()
    assert list((tmp_path / "page").glob("*.png"))

    # another configuration in the same directory is refused with the differences named
    code, _, err = hatscore(*arguments, "--repeats", 4, "--temperature", 0.5)
    assert code == 2
    assert "temperature: stored 1.0, asked 0.5" in err

    outcomes = read(directory)
    outcomes.write_parquet(tmp_path / "o.parquet")
    assert measure(read(tmp_path / "o.parquet")).equals(measure(outcomes), null_equal=True)
    code, _, err = hatscore("score", directory, tmp_path / "o.parquet")
    assert code == 2
    assert "both hold" in err


def test_temperature_zero_is_warned_of_before_sampling(known_model, tmp_path, hatscore):
    arguments = run_arguments(known_model, tmp_path / "run")
    arguments[arguments.index("--items") + 1] = 2
    _, _, err = hatscore(*arguments, "--repeats", 3, "--temperature", 0)
    assert "temperature 0 with 3 repeats" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "local", "-b", "worldfact"], "did you mean worldfacts"),
        (["run", "local", "-b", "worldfacts", "-l", "swahili"], r"did you mean sw \(Swahili\)"),
        (["run", "local", "-b", "worldfacts", "-l", "de", "--repeats", "0"], "repeats"),
        (["run", "local", "-b", "worldfacts", "-l", "en"], "only language asked for is the source"),
        (["run", "local", "-b", "worldfacts", "-l", "de", "--set", "knd=all"], "did you mean kind"),
        (["run", "local", "-b", "worldfacts", "-l", "de", "--set", "kind"], "NAME=VALUE"),
        (["run", "local", "-b", "wordmath", "-l", "de", "--difficulty", "9"], "difficulty"),
        (["run", "local/nowhere.gguf", "-b", "worldfacts", "-l", "de"], r"nowhere\.gguf"),
        (["run", "locl", "-b", "worldfacts", "-l", "de"], "unknown model 'locl'"),
        (["run", "openai-api/x", "-b", "worldfacts", "-l", "de"], "--base-url"),
        (
            [
                "run",
                "openai-api/x",
                "-b",
                "worldfacts",
                "-l",
                "de",
                "--base-url",
                "http://127.0.0.1:9/v1",
            ],
            r"127\.0\.0\.1:9",
        ),
        (["score", "."], r"a directory with|an empty directory"),
        (["score", "nowhere"], "no such file or directory"),
        (["scor"], "Did you mean score"),
    ],
)
def test_wrong_input_ends_with_one_clear_message_and_code_2(
    arguments, message, tmp_path, hatscore, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("HATSCORE_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    code, out, err = hatscore(*arguments)
    assert code == 2
    assert re.search(message, err)
    assert "Traceback" not in err
    assert out == ""


def test_missing_extra_names_the_install_command(tmp_path):
    # an interpreter that cannot see the extra, as where it is not installed
    code = (
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'xllamacpp' else real(name, *a)\n"
        "from hatscore.cli import main\n"
        "main(['run', 'local', '-b', 'worldfacts', '-l', 'de', '-o', 'r'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert "pip install 'hatscore[local]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_key_is_neither_printed_nor_stored(model_server, tmp_path, hatscore, monkeypatch):
    server = model_server(key="s3cret-key")
    monkeypatch.setenv("HATSCORE_API_KEY", "s3cret-key")
    arguments = run_arguments(server, tmp_path / "run")
    arguments[arguments.index("--items") + 1] = 2
    code, out, err = hatscore(*arguments)
    assert code == 0
    assert "s3cret" not in out + err
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if b"s3cret" in path.read_bytes()]


def test_incomplete_run_ends_with_code_1_and_keeps_what_came(
    model_server, fault, tmp_path, hatscore
):
    server = model_server()
    answers = [
        {"index": i, "message": {"content": "Answer: 1"}, "finish_reason": "stop"}
        for i in range(10)
    ]
    # the cells of the source are answered, what follows is not
    good = fault(json={"model": "test-model", "choices": answers})
    server.order(*[good] * 3, *[fault(status=200, text="not json")] * 6)
    arguments = run_arguments(server, tmp_path / "run")
    arguments[arguments.index("--items") + 1] = 3
    arguments += ["--tries", 1, "--concurrency", 1]
    code, out, err = hatscore(*arguments)
    assert code == 1, err
    assert "Incomplete: 60 of 90 replies are missing" in err
    assert "not json" in err or "JSON" in err
    assert "the run is incomplete" in out
    assert count_replies(tmp_path / "run") == 30

    code, _, err = hatscore(*arguments)
    assert code == 0
    assert "(30 were there)" in err
    assert count_replies(tmp_path / "run") == 90


def test_run_without_any_reply_is_incomplete_not_wrong_use(model_server, fault, tmp_path, hatscore):
    server = model_server()
    server.always = fault(status=500, text="down")
    arguments = run_arguments(server, tmp_path / "run")
    arguments[arguments.index("--items") + 1] = 2
    code, out, err = hatscore(*arguments, "--tries", 1)
    assert code == 1
    assert "nothing can be scored" in err
    assert out == ""


def test_commands_are_listed_with_help(hatscore):
    code, out, _ = hatscore("--help")
    assert code == 0
    for name in ("benchmarks", "demo", "report", "run", "score"):
        assert name in out
    code, out, _ = hatscore("benchmarks")
    assert "worldfacts" in out
    assert "licence" in out


@pytest.mark.model
def test_real_model_runs_scores_and_reports(tmp_path, hatscore, monkeypatch):
    monkeypatch.setenv("HATSCORE_LOCAL_THREADS", "1")
    code, out, _ = hatscore(
        "demo",
        "--items",
        3,
        "--repeats",
        4,
        "-l",
        "de",
        "-o",
        tmp_path / "demo",
    )
    assert code == 0
    assert "local on worldfacts(kind=capital)" in out
    assert count_replies(tmp_path / "demo") == 3 * 2 * 4
    assert (tmp_path / "demo" / "report" / "index.html").is_file()
