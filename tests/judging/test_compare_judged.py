"""Runs that judges graded side by side: who judged is a part of how they were graded."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hatscore import read
from hatscore.archive import read_archive
from hatscore.cli.comparable import check_comparable, what_was_asked
from hatscore.judging import VERDICTS_NAME, Verdict, VerdictStore
from hatscore.judging.subjects import subjects
from hatscore.sampling import Run


@pytest.fixture
def judged(make_run):
    """Write a run whose replies say whether they are right, judged by some judges."""

    def make(name, *judges, seed=0):
        coin = np.random.default_rng(seed)
        replies = {
            (item, language): [
                f"{'good' if coin.random() < 0.7 else 'bad'} {repeat}" for repeat in range(4)
            ]
            for language in ("en", "de")
            for item in range(12)
        }
        directory = make_run(replies, name, model=name)
        with Run.open(directory) as run:
            found = subjects(run.store)
        if judges:
            with VerdictStore(directory / VERDICTS_NAME) as store:
                for judge in judges:
                    for key, subject in found.items():
                        said = "YES" if subject.answer.startswith("good") else "NO"
                        verdict = Verdict(key, 1, said, None, None, "stop", "j", "1", "2026")
                        store.put(judge, subject.keys, verdict)
        return directory

    return make


def test_other_judges_are_refused_and_the_way_out_works(judged, hatscore, tmp_path):
    old, new = judged("old", "j/a"), judged("new", "j/b", "j/a", seed=1)
    code, out, err = hatscore("compare", old, new, "new", "old")
    assert (code, out) == (2, "")
    assert "these runs are graded differently" in err
    assert "free: judges: j/a in old, j/a, j/b in new" in err
    assert "hatscore judge RUN --judge MODEL" in err
    assert 'hatscore.read("RUN", judges="MODEL").write_parquet("RUN.parquet")' in err
    for run in (old, new):
        read(run, judges="j/a").write_parquet(tmp_path / f"{run.name}.parquet")
    files = (tmp_path / "old.parquet", tmp_path / "new.parquet")
    code, _, err = hatscore("compare", *files, "new", "old")
    assert code == 0
    assert "Note: judged by j/a\n" in err


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_saved_scores_remember_their_judges(judged, hatscore, tmp_path, suffix):
    old, saved = judged("old", "j/b", "j/a"), tmp_path / f"s.{suffix}"
    assert hatscore("score", old, "--save", saved)[0] == 0
    (record,) = read_archive(saved).asked
    assert record["facts"]["judges"] == "j/a, j/b"
    alike = judged("alike", "j/a", "j/b", seed=1)
    assert hatscore("compare", saved, alike, "alike", "old")[0] == 0
    code, _, err = hatscore("compare", saved, judged("new", "j/b", seed=2), "new", "old")
    assert code == 2
    assert f"free: judges: j/a, j/b in s.{suffix}, j/b in new" in err


def test_pages_note_other_judges(judged):
    old, new = judged("old", "j/a"), judged("new", "j/b", seed=1)
    assert check_comparable([old, new]) == ["free: judges: j/a in old, j/b in new"]
    (record,) = what_was_asked([judged("none")], names="lenient", count="answered")
    assert "judges" not in record["facts"]


def test_a_run_that_waits_for_its_judge_says_so(judged, hatscore):
    old, new = judged("old", "j/a"), judged("new", seed=1)
    code, out, err = hatscore("compare", old, new, "new", "old")
    assert (code, out) == (2, "")
    assert "new has no scores: none of its 96 replies has a verdict yet" in err
    assert "did you mean" not in err
    # a third model that waits is in nobody's way
    other = judged("other", "j/a", seed=2)
    code, out, err = hatscore("compare", old, new, other, "other", "old", "--format", "json")
    assert code == 0
    assert not any(note.startswith("new") for note in json.loads(out)["notes"])
