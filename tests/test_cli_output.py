"""Where a result cannot be written, one message names the place and the exit code is 2."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hatscore import Outcomes
from hatscore.cli import main
from hatscore.stats import simulate

FULL = Path("/dev/full")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Lie in a directory with outcomes of two models and a file that is no directory."""
    rows = []
    for model, seed in (("a", 1), ("b", 2)):
        data = simulate(40, slopes=[0.8, 0.6], concentration=3, rng=np.random.default_rng(seed))
        for i in range(40):
            rows.append((model, "bench", str(i), "en", "en", 10, int(data.k_source[i])))
            rows += [
                (model, "bench", str(i), x, "en", 10, int(data.k_target[i, j]))
                for j, x in enumerate(("de", "sw"))
            ]
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    Outcomes.from_frame(pl.DataFrame(rows, schema=names, orient="row")).write_parquet(
        tmp_path / "o.parquet"
    )
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hatscore(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        return end.value.code, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("arguments", "place", "todo"),
    [
        (("score", "o.parquet", "--save", "no/s.json"), "no/s.json", "directory that exists"),
        (("score", "o.parquet", "--save", "file/s.parquet"), "file/s.parquet", "Not a directory"),
        (("report", "o.parquet", "-o", "file/page"), "file/page", "path through directories"),
        (("figure", "ranking", "o.parquet", "-o", "file/f.pdf"), "file", "another path"),
        (("figure", "ranking", "o.parquet", "-o", "file/d/f.pdf"), "file/d", "through directories"),
        (("convert", "o.parquet", "file/o.parquet"), "file/o.parquet", "Not a directory"),
        (("convert", "o.parquet", "no/o.parquet"), "no/o.parquet", "No such file"),
        (
            ("convert", "o.parquet", "file/e", "--format=every_eval_ever", "--organization=x"),
            "file/e",
            "cannot be written: Not a directory",
        ),
        (("study", "o.parquet", "--ask", "script", "-o", "file/st"), "file/st", "directories"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_place_that_cannot_be_written(home, hatscore, arguments, place, todo):
    code, err = hatscore(*arguments)
    assert code == 2
    last = err.splitlines()[-1]
    assert last.startswith(f"Error: {place}:")
    assert todo in last
    assert "Traceback" not in err
    assert (home / "file").read_bytes() == b""


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full here")
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_full_disk(home, hatscore, suffix):
    (home / f"s.{suffix}").symlink_to(FULL)
    code, err = hatscore("score", "o.parquet", "--save", f"s.{suffix}")
    assert code == 2
    assert f"Error: s.{suffix}: scores cannot be written there: No space left on device" in err


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full here")
def test_a_full_disk_behind_standard_output(home):
    with FULL.open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hatscore", "score", "o.parquet"],
            check=False,
            cwd=home,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: No space left on device; make room")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.EACCES, "Permission denied", "x.csv"), "x.csv: Permission denied; ask for"),
        (OSError(errno.EXDEV, "Cross-device link", "a", None, "b"), "b: Cross-device link"),
        (OSError("said by a library"), "said by a library"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_every_error_of_the_system_is_a_message(hatscore, monkeypatch, error, message):
    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr("hatscore.cli.reading.read_graded", fail)
    code, err = hatscore("score", "o.parquet")
    assert code == 2
    assert err.startswith(f"Error: {message}")
