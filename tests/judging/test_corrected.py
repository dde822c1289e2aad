"""Labels on a judged run: drawn, read, checked, and what they make of its scores."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from hatscore import measure, read
from hatscore.cli.schema import load_schema
from hatscore.errors import InputError, ReaderError
from hatscore.judging import VERDICTS_NAME, ReplyKey, Verdict, VerdictStore, read_labels
from hatscore.judging.corrected import corrected_scores
from hatscore.judging.labels import draw_labels, read_label_rows
from hatscore.judging.subjects import subjects
from hatscore.sampling import Completion, Run
from hatscore.sampling.plan import Decision
from hatscore.sampling.plan_state import PLAN_NAME, BenchmarkState, PlanState

JUDGE = "openai-api/judge"
HEAD = "benchmark,item,language,repeat,label\n"
ITEMS, REPEATS = 60, 5


def leave_out(replies):
    """Leave out the target replies of unsolved items but for every third, and say so."""
    good = [sum("good" in text for text in replies[item, "en"]) for item in range(ITEMS)]
    unsolved = [item for item in range(ITEMS) if not good[item]]
    kept = unsolved[::3]
    for item in set(unsolved) - set(kept):
        del replies[item, "de"]
    weights = {item: len(unsolved) / len(kept) if item in kept else 0.0 for item in unsolved}
    return BenchmarkState(
        REPEATS,
        targets={str(item): ("de",) for item in range(ITEMS)},
        decisions={
            str(item): Decision(good[item], REPEATS, weights.get(item, 1.0))
            for item in range(ITEMS)
        },
        stage="done",
    )


@pytest.fixture
def judged(make_run):
    """Write a judged run of en and de whose truth is in the replies: ``judged(seed=0)``."""

    def make(
        *,
        seed=0,
        sensitivity=0.85,
        elsewhere=None,
        specificity=0.95,
        verdicts=True,
        empty=False,
        planned=False,
    ):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.5 if planned else 2, 1, ITEMS)
        replies = {}
        for language, slope in (("en", 1.0), ("de", 0.7)):
            for item in range(ITEMS):
                right = rng.random(REPEATS) < slope * p[item]
                replies[item, language] = [
                    f"{'good' if z else 'bad'} {repeat}" for repeat, z in enumerate(right)
                ]
                if empty and item == 0:
                    replies[item, language][0] = Completion("", finish_reason="stop")
        state = leave_out(replies) if planned else None
        directory = make_run(replies, f"run{seed}" if planned else "run")
        if state is not None:
            PlanState(directory / PLAN_NAME, {"free": state}).write()
        if verdicts:
            with Run.open(directory) as run:
                found = subjects(run.store)
            with VerdictStore(directory / VERDICTS_NAME) as store:
                for name, subject in found.items():
                    good = subject.answer.startswith("good")
                    home = subject.item.language == "en" or elsewhere is None
                    right = sensitivity if home else elsewhere
                    yes = rng.random() < (right if good else 1 - specificity)
                    verdict = Verdict(
                        name, 1, "YES" if yes else "NO", None, None, "stop", "j", "1", "2026"
                    )
                    store.put(JUDGE, subject.keys, verdict)
        return directory

    return make


@pytest.fixture
def label(tmp_path):
    """Draw replies of a run and label them by what they say."""

    def make(directory, *, keep=lambda row: True, per_language=100):  # noqa: ARG005 - all rows
        path = tmp_path / "labels.csv"
        path.unlink(missing_ok=True)
        draw_labels(directory, path, per_language=per_language)
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            for row in rows:
                row["label"] = "yes" if row["answer"].startswith("good") else "no"
                if keep(row):
                    writer.writerow(row)
        return path

    return make


def test_a_draw_shows_what_people_need_and_no_verdict(judged, tmp_path):
    directory = judged(empty=True)
    path = tmp_path / "draw.csv"
    assert draw_labels(directory, path, per_language=40) == {"de": 40, "en": 40}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*ReplyKey._fields, "label", "context", "question", "answer"]
    assert all(row["label"] == "" and row["answer"] for row in rows)
    assert len({(r["language"], r["item"], r["repeat"]) for r in rows}) == 80
    items = [int(r["item"]) for r in rows if r["language"] == "de"]
    assert items != sorted(items), "the first rows must be a random draw too"
    assert read_label_rows(path) == []
    again = tmp_path / "again.csv"
    draw_labels(directory, again, per_language=40)
    assert again.read_text("utf-8") == path.read_text("utf-8")
    with pytest.raises(InputError, match="may hold labels"):
        draw_labels(directory, path)
    everything = draw_labels(directory, tmp_path / "all.csv", per_language=10_000)
    assert everything == {"de": ITEMS * REPEATS - 1, "en": ITEMS * REPEATS - 1}


def test_labels_keep_line_and_answer(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text(
        'benchmark,item,language,repeat,label,answer\nb,1,de,0,yes,"two\nlines"\nb,1,de,1,,x\n'
        "b,2,de,0,no,y\nb,2,de,0,NO,y\n",
        "utf-8",
    )
    one, two = read_label_rows(path)
    assert (one.line, one.right, one.answer) == (3, True, "two\nlines")
    assert (two.line, two.right) == (5, False)
    assert read_labels(path) == {one.key: True, two.key: False}
    path.write_text(HEAD + "b,1,de,0,yes\nb,1,de,0,no\n", "utf-8")
    with pytest.raises(ReaderError, match="line 3: another label for the same reply in line 2"):
        read_label_rows(path)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize("told", [False, True])
def test_labels_may_be_saved_with_another_separator(judged, label, tmp_path, mark, told):
    path = label(judged(), per_language=10)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    expected = read_label_rows(path)
    other = tmp_path / "other.csv"
    # what a spreadsheet of another country makes of it
    with other.open("w", encoding="utf-8-sig", newline="") as file:
        file.write(f"sep={mark}\r\n" * told)
        csv.writer(file, delimiter=mark).writerows(rows)
    found = read_label_rows(other)
    assert [(x.key, x.right, x.answer) for x in found] == [
        (x.key, x.right, x.answer) for x in expected
    ]
    assert [x.line for x in found] == [x.line + told for x in expected]


@pytest.mark.parametrize("text", ["", "benchmark item label\n", "sep=;;\nbenchmark;item\n"])
def test_files_that_are_no_table_of_labels_are_named(tmp_path, text):
    path = tmp_path / "l.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(ReaderError, match=r"l\.csv: (no column .*semicolon|cannot be read as CSV)"):
        read_label_rows(path)


def test_scores_are_corrected_and_cover_the_truth(judged, label):
    directory = judged(sensitivity=0.7)
    [found] = corrected_scores(directory, label(directory))
    assert list(found.scores) == ["de"]
    score = found.scores["de"]
    assert score.low <= 0.7 <= score.high
    plain = measure(read(directory)).row(0, named=True)
    assert score.se > plain["hat_se"]
    [whole] = corrected_scores(directory, label(directory, per_language=10_000))
    for language, rates in found.rates.items():
        assert rates.right + rates.wrong == 100
        for rate in ("sensitivity", "specificity"):
            some, every = getattr(rates, rate), getattr(whole.rates[language], rate)
            assert some.low <= every.value <= some.high
            assert every.high - every.low < some.high - some.low
    assert whole.scores["de"].se < score.se
    assert found.macro.value == pytest.approx(score.value)
    assert found.judges == (JUDGE,)


def test_a_perfect_judge_gives_the_score_of_score(judged, label):
    directory = judged(sensitivity=1.0, specificity=1.0, empty=True)
    [found] = corrected_scores(directory, label(directory))
    plain = measure(read(directory)).row(0, named=True)
    assert found.scores["de"].value == pytest.approx(plain["hat"], rel=1e-12)
    # and so with empty replies left out
    [answered] = corrected_scores(directory, label(directory), counted=())
    plain = measure(read(directory, count="answered")).row(0, named=True)
    assert answered.scores["de"].value == pytest.approx(plain["hat"], rel=1e-12)


def test_pooling_what_differs_is_warned_of(judged, label):
    directory = judged(sensitivity=0.95, elsewhere=0.5)
    path = label(directory)
    [apart] = corrected_scores(directory, path)
    [pooled] = corrected_scores(directory, path, pooled=True)
    assert apart.scores["de"].value > 1.3 * pooled.scores["de"].value
    assert apart.notes == ()
    [note] = pooled.notes
    assert "differ between languages" in note
    assert "leave --pooled out" in note
    directory = judged(seed=3)
    [pooled] = corrected_scores(directory, label(directory), pooled=True)
    assert pooled.notes == ()


def test_cells_left_out_by_a_plan_are_stood_for(judged, label):
    directory = judged(planned=True, sensitivity=1.0, specificity=1.0)
    outcomes = read(directory)
    assert (outcomes.frame["weight"] == 0).any()
    [found] = corrected_scores(directory, label(directory))
    plain = measure(outcomes).row(0, named=True)
    score = found.scores["de"]
    assert score.value == pytest.approx(plain["hat"], rel=1e-12)
    assert score.n_items == ITEMS
    erring = judged(planned=True, seed=1)
    [found] = corrected_scores(erring, label(erring))
    assert found.scores["de"].low <= 0.7 <= found.scores["de"].high


def test_score_prints_both_at_80_columns(judged, label, hatscore):
    directory = judged()
    path = label(directory)
    code, out, _ = hatscore("score", directory, "--labels", path)
    assert code == 0
    lines = out.splitlines()
    start = lines.index(f"HAT on free, corrected for the errors of {JUDGE}")
    assert max(map(len, lines)) <= 80
    head, de, ends, en, *_ = lines[start + 2 :]
    assert head.split() == ["language", "as", "judged", "corrected", "sensitivity", "specificity"]
    [found] = corrected_scores(directory, path)
    score, rates = found.scores["de"], found.rates["de"]
    plain = measure(read(directory)).row(0, named=True)
    assert de.split()[:5] == [
        "de",
        f"{plain['hat']:.3f}",
        f"{score.value:.3f}",
        f"{rates.sensitivity.value:.3f}",
        "of",
    ]
    assert f"[{plain['hat_low']:.3f}, {plain['hat_high']:.3f}]" in ends
    assert f"[{score.low:.3f}, {score.high:.3f}]" in ends
    assert ends.count("[") == 4
    assert en.split()[0] == "en"
    assert f"of {found.rates['en'].wrong}" in en
    assert "macro" in [line.split()[0] for line in lines[start:] if line.split()]


def test_json_is_the_published_one(judged, label, hatscore):
    directory = judged()
    path = label(directory)
    code, out, _ = hatscore("score", directory, "--labels", path, "--format", "json")
    assert code == 0
    document = json.loads(out)
    check = Draft202012Validator(load_schema("score"))
    check.validate(document)
    [corrected] = document["corrected"]
    rows = {row["language"]: row for row in corrected["results"]}
    assert list(rows) == ["de", "en", "macro"]
    [found] = corrected_scores(directory, path)
    assert rows["de"]["hat_corrected"] == found.scores["de"].value
    assert rows["de"]["hat_corrected_status"] == "bounded"
    results = {row["language"]: row for row in document["results"]}
    assert rows["de"]["hat"] == results["de"]["hat"]
    assert rows["en"]["hat"] is None
    assert rows["en"]["hat_corrected_status"] == "missing"
    assert rows["en"]["n_labelled_right"] == found.rates["en"].right
    assert rows["macro"]["n_labelled_right"] is rows["macro"]["n_labelled_wrong"] is None
    # one pair of rates for all languages
    code, out, _ = hatscore("score", directory, "--labels", path, "--pooled", "--format", "json")
    document = json.loads(out)
    check.validate(document)
    assert document["corrected"][0]["pooled"] is True
    assert [row["language"] for row in document["corrected"][0]["results"]] == [
        "de",
        "all",
        "macro",
    ]
    labelled = [row["n_labelled_right"] for row in document["corrected"][0]["results"]]
    assert [x is None for x in labelled] == [True, False, True]
    # without labels nothing changes
    _, out, _ = hatscore("score", directory, "--format", "json")
    assert "corrected" not in json.loads(out)


def test_csv_is_the_corrected_table(judged, label, hatscore):
    directory = judged()
    code, out, err = hatscore("score", directory, "--labels", label(directory), "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["language"] for row in rows] == ["de", "en", "macro"]
    assert float(rows[0]["hat_corrected_low"]) < float(rows[0]["hat_corrected"])
    assert rows[1]["hat_corrected"] == ""
    assert rows[2]["n_labelled_right"] == ""
    assert float(rows[1]["specificity"]) > 0.5
    assert "judged by" in err
    code, out, _ = hatscore("score", directory, "--labels", label(directory), "--format", "md")
    assert code == 0
    assert "| HAT corrected |" in out


def test_latex_has_what_a_paper_has_room_for(judged, label, hatscore, tmp_path):
    directory = judged()
    typed_in = ("score", directory, "--labels", label(directory), "--format", "latex")
    code, out, _ = hatscore(*typed_in)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "% model openai-api/m, benchmark free"
    assert lines[1] == f"% corrected for the errors of {JUDGE}; 95% intervals in brackets"
    assert "% labels of right and wrong replies: de " in out
    assert r"language & HAT & corrected & sensitivity & specificity \\" in lines
    [found] = corrected_scores(directory, tmp_path / "labels.csv")
    score = found.scores["de"]
    i = next(i for i, line in enumerate(lines) if line.startswith("de & "))
    assert f" & {score.value:.3f} & " in lines[i]
    assert f" & [{score.low:.3f}, {score.high:.3f}] & " in lines[i + 1]
    assert lines[i + 1].count("[") == 4
    whole = hatscore(*typed_in, "--every-column")[1]
    assert "HAT status" in whole
    assert "n labelled right" in whole
    if shutil.which("pdflatex"):
        head = r"\documentclass{article}\usepackage{booktabs}\usepackage[T1]{fontenc}"
        text = head + r"\begin{document}\noindent " + out + r"\end{document}"
        (tmp_path / "t.tex").write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],  # noqa: S607 - where TeX is, is the user's
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-1500:]
        assert "Overfull" not in done.stdout


def test_the_fewer_the_labels_the_wider_the_interval(judged, label):
    directory = judged()
    widths = []
    for per_language in (25, 100, 300):
        [found] = corrected_scores(directory, label(directory, per_language=per_language))
        score = found.scores["de"]
        widths.append(score.high - score.low)
    assert widths[0] > 1.3 * widths[1] > 1.3 * widths[2]


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        (lambda row: row["language"] == "en", "de: no label, of 300 replies with a verdict"),
        (
            lambda row: row["language"] == "en" or row["label"] == "yes",
            "says wrong, and so the specificity is not known",
        ),
    ],
    ids=["no labels", "one class"],
)
def test_labels_that_cannot_tell_are_refused(judged, label, hatscore, keep, said):
    directory = judged(specificity=0.5)
    path = label(directory, keep=keep)
    code, out, err = hatscore("score", directory, "--labels", path)
    assert code == 2
    assert out == ""
    assert str(path) in err
    assert "in 1 of 2 languages" in err
    assert said in err
    assert f"hatscore judge {directory} --draw-labels FILE" in err
    assert "--pooled" in err
    assert hatscore("score", directory, "--labels", path, "--pooled")[0] == 0


def test_a_verdict_without_labels_is_named(judged, label):
    directory = judged()
    with VerdictStore(directory / VERDICTS_NAME, read_only=True) as store:
        said = {key: verdict.value for key, verdict in store.verdicts(JUDGE)}

    def keep(row):
        key = ReplyKey(row["benchmark"], row["item"], row["language"], int(row["repeat"]))
        return row["language"] == "en" or said[key]

    with pytest.raises(
        InputError, match=r"de: none of the \d+ labels is of a reply that the judge "
    ):
        corrected_scores(directory, label(directory, keep=keep))


def test_labels_of_other_replies_are_refused_by_line(judged, tmp_path, hatscore):
    directory = judged()
    path = tmp_path / "l.csv"
    path.write_text(
        "benchmark,item,language,repeat,label,answer\n"
        "free,1,de,0,yes,\n"
        "free,999,de,0,yes,good 0\n"
        "free,1,fr,0,no,bad 0\n"
        "other,1,de,0,no,bad 0\n"
        "free,2,de,1,no,a text of another run\n",
        "utf-8",
    )
    code, out, err = hatscore("score", directory, "--labels", path)
    assert (code, out) == (2, "")
    assert f"{path}: 5 of 5 labels are of replies that {directory} does not hold" in err
    assert "line 3: no reply with benchmark free, item 999" in err
    assert "line 4: no reply with benchmark free, item 1, language fr" in err
    assert "line 5: no reply with benchmark other" in err
    assert "line 6: another answer than the run has there: 'a text of another run', not " in err
    assert "Give the run that was labelled" in err


def test_what_else_is_refused(judged, tmp_path, hatscore, label):
    bare = judged(verdicts=False)
    path = tmp_path / "some.csv"
    path.write_text(HEAD + "free,1,de,0,yes\n", "utf-8")
    code, _, err = hatscore("score", bare, "--labels", path)
    assert code == 2
    assert f"hatscore judge {bare} --judge MODEL" in err
    empty = tmp_path / "none.csv"
    empty.write_text(HEAD + "free,1,de,0,\n", "utf-8")
    directory = judged()
    code, _, err = hatscore("score", directory, "--labels", empty)
    assert code == 2
    assert f"{empty}: no row has a label" in err
    code, _, err = hatscore("score", directory, "--labels", tmp_path / "absent.csv")
    assert code == 2
    assert "absent.csv" in err
    code, _, err = hatscore("score", directory, directory, "--labels", path)
    assert code == 2
    assert "score each run with its own labels" in err
    code, _, err = hatscore("score", directory, "--pooled")
    assert code == 2
    assert "--labels FILE" in err
    code, _, err = hatscore(
        "judge", directory, "--draw-labels", tmp_path / "x.csv", "--labels", label(directory)
    )
    assert code == 2
    assert "draw, then ask" in err


def test_labels_that_no_verdict_belongs_to_are_counted(judged, tmp_path, label):
    directory = judged(empty=True)
    path = label(directory)
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write("free,0,de,0,yes,,,\n")
    [found] = corrected_scores(directory, path)
    assert any("1 labels are of replies that no judge sees" in note for note in found.notes)
    plain = tmp_path / "plain.csv"
    labels = read_label_rows(path)
    plain.write_text(
        HEAD
        + "".join(f"{','.join(map(str, x.key))},{'yes' if x.right else 'no'}\n" for x in labels),
        "utf-8",
    )
    [same] = corrected_scores(directory, plain)
    assert same.scores["de"].value == found.scores["de"].value
    assert any("no column answer" in note for note in same.notes)


def test_judge_draws_and_compares_by_language(judged, label, tmp_path, hatscore):
    directory = judged()
    file = tmp_path / "fresh.csv"
    code, out, err = hatscore("judge", directory, "--draw-labels", file, "--per-language", 7)
    assert code == 0
    assert out == f"{file}: 14 replies to label (de 7, en 7)\n"
    assert f"hatscore score {directory} --labels {file}" in err
    code, out, _ = hatscore("judge", directory, "--labels", label(directory))
    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    assert any(line.startswith(f"{JUDGE} against 200 labels: sensitivity") for line in lines)
    for language in ("de", "en"):
        assert any(line.startswith(f"{language}: sensitivity") for line in lines)
