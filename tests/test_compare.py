from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

from hatscore import Outcomes
from hatscore.archive import read_scores, write_scores
from hatscore.comparing import COMPARED, compare
from hatscore.errors import InputError, ReaderError, UnknownNameError
from hatscore.scoring import MACRO, measurements
from hatscore.stats import simulate


def model_rows(name, slopes, seed, n_items=150):
    data = simulate(
        n_items, slopes=slopes, source=(1, 1), concentration=3, rng=np.random.default_rng(seed)
    )
    for i in range(n_items):
        yield (name, "b", str(i), "en", "en", 10, int(data.k_source[i]))
        for j, language in enumerate(("de", "sw")):
            yield (name, "b", str(i), language, "en", 10, int(data.k_target[i, j]))


@pytest.fixture(scope="module")
def outcomes():
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    rows = [*model_rows("strong", [0.9, 0.7], 1), *model_rows("weak", [0.6, 0.3], 2)]
    return Outcomes.from_frame(pl.DataFrame(rows, schema=names, orient="row"))


@pytest.fixture(scope="module")
def found(outcomes):
    return measurements(outcomes)


def test_difference_is_paired_and_holds_the_truth(found):
    rows = {(r.language, r.score): r for r in compare(found, "strong", "weak")}
    assert {score for _, score in rows} == set(COMPARED)
    for language, truth in (("de", 0.3), ("sw", 0.4), (MACRO, 0.35)):
        row = rows[language, "hat"]
        assert row.difference.low <= truth <= row.difference.high
        assert row.p < 1e-3
        assert row.n_shared == 150


def test_direction_and_unknown_names(found):
    there = compare(found, "strong", "weak", scores=["hat"])[0].difference.value
    back = compare(found, "weak", "strong", scores=["hat"])[0].difference.value
    assert there == pytest.approx(-back)
    with pytest.raises(UnknownNameError, match="did you mean strong"):
        compare(found, "stron", "weak")
    with pytest.raises(UnknownNameError, match="did you mean hat"):
        compare(found, "strong", "weak", scores=["hatt"])
    with pytest.raises(InputError, match="with itself"):
        compare(found, "weak", "weak")


def test_macro_over_other_languages_is_left_out(found):
    fewer = [m for m in found if (m.model, m.language) != ("weak", "sw")]
    assert {r.language for r in compare(fewer, "strong", "weak")} == {"de"}


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_saved_scores_compare_without_the_data(found, tmp_path, suffix, hatscore):
    a, b = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    write_scores([m for m in found if m.model == "strong"], a)
    write_scores([m for m in found if m.model == "weak"], b)
    again = compare([*read_scores(a), *read_scores(b)], "strong", "weak")
    for before, after in zip(compare(found, "strong", "weak"), again, strict=True):
        assert after.difference.value == pytest.approx(before.difference.value, abs=1e-15)
        assert after.difference.se == pytest.approx(before.difference.se, abs=1e-15)
    code, out, _ = hatscore("compare", a, b, "strong", "weak", "--format", "json")
    assert code == 0
    assert len(json.loads(out)["differences"]) == 3


def test_damaged_scores_are_named(found, tmp_path):
    path = tmp_path / "a.json"
    write_scores(found, path)
    path.write_text(path.read_text(encoding="utf-8")[:-200], encoding="utf-8")
    with pytest.raises(ReaderError, match=r"a\.json: damaged"):
        read_scores(path)
    with pytest.raises(ReaderError, match="hatscore score --save"):
        read_scores(tmp_path / "b.json")
    with pytest.raises(InputError, match=r"\.json or \.parquet"):
        write_scores(found, tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["strong", "weak", "--fail-below", "0.2"], 0),
        (["strong", "weak", "--fail-below", "0.6"], 1),
        (["weak", "strong", "--fail-below", "0"], 1),
        (["strong", "weak", "--noninferior", "0.05"], 0),
        (["weak", "strong", "--noninferior", "0.05"], 1),
        (["weak", "strong", "--noninferior", "0.9"], 0),
    ],
)
def test_gates(outcomes, tmp_path, hatscore, arguments, code):
    path = tmp_path / "o.parquet"
    outcomes.write_parquet(path)
    got, out, err = hatscore("compare", path, *arguments)
    assert got == code
    assert "A - B" in out
    assert ("Gate failed" in err) == (code == 1)


def test_table_fits_80_columns_and_all_scores_can_be_asked(outcomes, tmp_path, hatscore):
    path = tmp_path / "o.parquet"
    outcomes.write_parquet(path)
    code, out, _ = hatscore("compare", path, "strong", "weak", "--scores", "all")
    assert code == 0
    assert all(len(line) <= 80 for line in out.splitlines())
    for name in COMPARED:
        assert name in out


def test_score_saves_for_compare(outcomes, tmp_path, hatscore):
    path = tmp_path / "o.parquet"
    outcomes.write_parquet(path)
    code, _, _ = hatscore("score", path, "--save", tmp_path / "s.json")
    assert code == 0
    assert {m.model for m in read_scores(tmp_path / "s.json")} == {"strong", "weak"}


def test_wrong_use(outcomes, tmp_path, hatscore):
    path = tmp_path / "o.parquet"
    outcomes.write_parquet(path)
    assert hatscore("compare", "strong", "weak")[0] == 2
    code, _, err = hatscore("compare", path, "strong", "week")
    assert code == 2
    assert "did you mean weak" in err


def test_coverage_of_paired_differences():
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(300):
        # one item set, two models: hard items are hard for both
        rates = rng.beta(1, 1, size=120)
        scores = []
        for slope in (0.8, 0.6):
            data = simulate(
                120,
                slopes=slope,
                source=lambda _r, _n, rates=rates: rates,
                concentration=3,
                rng=rng,
            )
            names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
            rows = [
                (f"m{slope}", "b", str(i), language, "en", 10, int(k))
                for i in range(120)
                for language, k in (("en", data.k_source[i]), ("de", data.k_target[i, 0]))
            ]
            frame = pl.DataFrame(rows, schema=names, orient="row")
            scores += measurements(Outcomes.from_frame(frame))
        row = compare(scores, "m0.8", "m0.6", scores=["hat"])[0].difference
        hits += row.low <= 0.2 <= row.high
        assert not math.isnan(row.value)
    assert 0.915 <= hits / 300 <= 0.98
