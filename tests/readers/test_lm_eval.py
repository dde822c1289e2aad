"""Logs of lm-evaluation-harness: written by the harness itself, real ones, and broken ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.errors import AlignmentError, InputError, ReaderError
from hatscore.readers import lm_eval
from hatscore.readers.lm_eval_samples import neutral_gold
from hatscore.readers.task_names import TaskName, language_tag, split_names

REAL = Path(__file__).parents[2] / ".." / "shared" / "logs" / "truthfulqa_multi"
EXACT = [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}]
FILTERS = [
    {
        "name": "strict-match",
        "filter": [
            {"function": "regex", "regex_pattern": r"The answer is (\-?[0-9\.\,]+)"},
            {"function": "take_first"},
        ],
    },
    {
        "name": "flexible-extract",
        "filter": [
            {"function": "regex", "group_select": -1, "regex_pattern": r"(-?[0-9.,]{1,})"},
            {"function": "take_first"},
        ],
    },
]


def number_tasks(name, golds, **more):
    return [
        {
            "task": f"{name}_{language}",
            "items": [
                {"question": f"{name} {language} {i}", "answer": gold, "question_id": 900 + i}
                for i, gold in enumerate(golds)
            ],
            "metric_list": EXACT,
            **more,
        }
        for language in ("en", "de")
    ]


def choice_tasks(name, subtasks):
    options = {"option_0": "dog", "option_1": "cat", "option_2": "cow", "option_3": None}
    return [
        {
            "task": f"{name}_{language}_{subtask}",
            "items": [
                {"question": f"{subtask} {language} {i}", "answer": "BAC"[i], **options}
                for i in range(3)
            ],
            "metric_list": EXACT,
            "repeats": 2,
        }
        for language in ("en", "de")
        for subtask in subtasks
    ]


def scored_tasks():
    return [
        {
            "task": f"belebele_{language}_Latn",
            "output_type": "multiple_choice",
            "items": [{"question": f"{language} {i}", "gold": i} for i in range(2)],
            "doc_to_target": "gold",
            "doc_to_choice": ["a", "b", "c", "d"],
            "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
        }
        for language in ("eng", "deu")
    ]


PLAN = [
    {
        "folder": "repeats",
        "model": "org/tiny",
        "tasks": number_tasks("mgsm_native_cot", ["12", "70000"], repeats=3, filter_list=FILTERS),
        "replies": {
            "mgsm_native_cot en 0": ["The answer is 12", "The answer is 13", "The answer is 12"],
            "mgsm_native_cot en 1": ["The answer is 70,000", "70000", "no idea"],
            "mgsm_native_cot de 0": ["Antwort: 12", "13", "12"],
            "mgsm_native_cot de 1": ["Antwort: 70.000", "7", "7"],
        },
    },
    {
        "folder": "subtasks",
        "model": "org/tiny",
        "tasks": choice_tasks("mmlu_prox_lite", ["law", "math"]),
        "replies": {
            f"{subtask} {language} {i}": ["The answer is (B)", "Die Antwort ist (B)"]
            for subtask in ("law", "math")
            for language in ("en", "de")
            for i in range(3)
        },
    },
    {
        "folder": "choices",
        "model": "org/tiny",
        "tasks": scored_tasks(),
        "replies": {
            f"{language} {i}\t {option}": [-1.0 - (option != "b")]
            for language in ("eng", "deu")
            for i in range(2)
            for option in "abcd"
        },
    },
    {
        "folder": "equal",
        "model": "org/tiny",
        "tasks": number_tasks("mgsm_direct", ["1", "2"], repeats=4),
        "replies": {f"mgsm_direct {lang} {i}": ["1"] * 4 for lang in ("en", "de") for i in (0, 1)},
    },
    *(
        {
            "folder": "runs",
            "model": model,
            "tasks": number_tasks("quiz", ["5", "6"]),
            "replies": {
                "quiz en 0": ["5"],
                "quiz en 1": [second],
                "quiz de 0": ["5"],
                "quiz de 1": [second],
            },
        }
        for model, second in (("org/tiny", "6"), ("org/tiny", "7"), ("org/big", "6"))
    ),
    {
        "folder": "unknown",
        "model": "org/tiny",
        "tasks": number_tasks("quiz", ["5", "6"], repeats=2),
        "replies": {f"quiz {lang} {i}": ["5", "6"] for lang in ("en", "de") for i in (0, 1)},
    },
]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Folders that the harness wrote; never changed by a test."""
    pytest.importorskip("lm_eval", reason="the test extra holds lm-eval")
    folder = tmp_path_factory.mktemp("harness")
    plan = folder / "plan.json"
    plan.write_text(json.dumps(PLAN), encoding="utf-8")
    script = Path(__file__).with_name("lm_eval_run.py")
    done = subprocess.run(
        [sys.executable, str(script), str(plan), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture
def copied(written, tmp_path):
    """Give a copy of one of the folders to break."""

    def copy(name):
        return Path(shutil.copytree(written / name, tmp_path / name))

    return copy


def cells(outcomes):
    rows = outcomes.frame.sort("benchmark", "item", "language").iter_rows(named=True)
    return {(r["item"], r["language"]): (r["k"], r["n"]) for r in rows}


def said(outcomes):
    return "\n".join(outcomes.notes)


def rewrite(path, change):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [new for i, row in enumerate(rows) if (new := change(i, row)) is not None]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def one_file(folder, part):
    return next(folder.rglob(f"samples_*{part}*.jsonl"))


def test_repeats_are_graded_anew_in_every_language(written):
    outcomes = lm_eval.read(written / "repeats")
    assert cells(outcomes) == {
        ("0", "en"): (2, 3),
        ("1", "en"): (2, 3),
        ("0", "de"): (2, 3),
        ("1", "de"): (1, 3),
    }
    assert outcomes.frame["unparsed"].sum() == 1
    assert outcomes.frame["model"].unique().to_list() == ["org/tiny"]
    assert "all 3 replies per item are graded anew" in said(outcomes)


def test_a_named_metric_takes_the_one_score_of_the_log(written):
    outcomes = lm_eval.read(written / "repeats", metric="exact_match")
    assert cells(outcomes) == {
        ("0", "en"): (1, 1),
        ("1", "en"): (0, 1),  # 70,000 is not 70000 for the harness
        ("0", "de"): (1, 1),
        ("1", "de"): (0, 1),
    }
    assert "filter flexible-extract, not strict-match" in said(outcomes)
    assert "so n is 1" in said(outcomes)
    strict = lm_eval.read(written / "repeats", filter="strict-match")
    assert cells(strict)["0", "de"] == (0, 1)
    with pytest.raises(InputError, match="no rows of filter 'strict', there are strict-match"):
        lm_eval.read(written / "repeats", filter="strict")


def test_subtasks_keep_their_items_apart(written):
    outcomes = lm_eval.read(written / "subtasks")
    assert cells(outcomes) == {
        (f"{subtask}/{i}", language): (2 * (i == 0), 2)
        for subtask in ("law", "math")
        for i in range(3)
        for language in ("en", "de")
    }
    assert outcomes.frame["benchmark"].unique().to_list() == ["mmlu_prox_lite"]


def test_choices_have_a_guess_rate_and_languages_their_two_letter_tag(written):
    with pytest.raises(InputError, match=r"acc \(4 rows, 0 or 1.*acc_norm \(4 rows.*metric=NAME"):
        lm_eval.read(written / "choices")
    outcomes = lm_eval.read(written / "choices", metric="acc_norm,acc")
    assert set(outcomes.frame["language"]) == {"en", "de"}
    assert set(outcomes.frame["chance"]) == {0.25}
    assert cells(outcomes) == {
        ("0", "en"): (0, 1),
        ("1", "en"): (1, 1),
        ("0", "de"): (0, 1),
        ("1", "de"): (1, 1),
    }
    with pytest.raises(InputError, match="did you mean acc"):
        lm_eval.read(written / "choices", metric="accc")


def test_equal_repeats_count_as_one_reply(written):
    outcomes = lm_eval.read(written / "equal")
    assert set(cells(outcomes).values()) == {(1, 1), (0, 1)}
    assert "the 4 replies to every item are the same text" in said(outcomes)


def test_repeats_of_unknown_answers_are_one_score(written):
    outcomes = lm_eval.read(written / "unknown")
    assert set(outcomes.frame["n"]) == {1}
    assert "does not know how to read these answers" in said(outcomes)


def test_runs_are_separate_unless_chosen_or_pooled(written):
    with pytest.raises(InputError, match=r"org/tiny on quiz_de has 2 runs: \d{4}.*run=latest"):
        lm_eval.read(written / "runs")
    outcomes = lm_eval.read(written / "runs", run="latest")
    assert outcomes.frame.filter(model="org/tiny", item="1", language="en")["k"].to_list() == [0]
    assert set(outcomes.frame["model"]) == {"org/tiny", "org/big"}
    pooled = lm_eval.read(written / "runs", pool=True)
    tiny = pooled.frame.filter(model="org/tiny", item="1", language="en")
    assert tiny.select("k", "n").row(0) == (1, 2)
    assert "are pooled" in said(pooled)
    with pytest.raises(InputError, match="there are only"):
        lm_eval.read(written / "runs", run="2020")


def test_the_same_run_twice_is_no_repeat(copied):
    folder = copied("unknown")
    shutil.copytree(folder, folder / "again")
    with pytest.raises(ReaderError, match="are the same run of org/tiny on quiz_de"):
        lm_eval.read(folder)
    for path in [*(folder / "again").rglob("*_20*")]:
        stamp = path.stem.rpartition("_")[2]
        path.rename(path.with_name(path.name.replace(stamp, "2020-01-01T00-00-00.000001")))
    with pytest.raises(InputError, match="same replies to every item, so the second says nothing"):
        lm_eval.read(folder, pool=True)


def test_a_log_without_filter_names_takes_them_from_the_configuration(copied):
    folder = copied("repeats")
    for path in folder.rglob("samples_*.jsonl"):
        rewrite(path, lambda _, row: {k: v for k, v in row.items() if k != "filter"})
    outcomes = lm_eval.read(folder, metric="exact_match", filter="strict-match")
    assert cells(outcomes)["0", "de"] == (0, 1)
    path = one_file(folder, "_de_")
    path.write_text(path.read_text(encoding="utf-8") * 2, encoding="utf-8")
    with pytest.raises(ReaderError, match=r":5: doc_id 0 comes 3 times, but the task has 2"):
        lm_eval.read(folder, metric="exact_match")


@pytest.mark.skipif(not REAL.is_dir(), reason="the real logs are not beside the project")
def test_real_logs_score_as_their_results_say():
    outcomes = lm_eval.read(REAL, metric="bleu_acc")
    assert set(outcomes.frame["language"]) == {"ca", "en", "es", "eu", "gl"}
    assert set(outcomes.frame["n"]) == {1}
    for path in REAL.rglob("results_*.json"):
        results = json.loads(path.read_text(encoding="utf-8"))
        for task, scores in results["results"].items():
            rows = outcomes.frame.filter(
                model=results["model_name"], language=task.rpartition("_")[2]
            )
            assert rows.height == 817
            assert rows["k"].mean() == pytest.approx(scores["bleu_acc,none"])
    assert "rests on doc_id" in said(outcomes)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real logs are not beside the project")
def test_real_logs_need_a_metric_that_is_an_accuracy():
    with pytest.raises(InputError, match=r"bleu_acc \(5719 rows, 0 or 1.*bleu_max \(5719 rows, 0"):
        lm_eval.read(REAL)
    with pytest.raises(ReaderError, match=r"jsonl:\d+: bleu_max is .* is no accuracy"):
        lm_eval.read(REAL, metric="bleu_max")


@pytest.mark.skipif(not REAL.is_dir(), reason="the real logs are not beside the project")
def test_real_logs_take_languages_from_a_pattern_or_a_field():
    by_name = lm_eval.read(REAL, metric="bleu_acc")
    pattern = r"(?P<benchmark>truthfulqa-multi_gen)_(?P<language>\w\w)"
    assert lm_eval.read(REAL, metric="bleu_acc", map=pattern).frame.equals(by_name.frame)
    assert lm_eval.read(REAL, metric="bleu_acc", map="doc.lang").frame.equals(by_name.frame)
    by_id = lm_eval.read(REAL, metric="bleu_acc", item="id")
    assert by_id.frame["item"].to_list()[0] == "1"


def test_an_empty_folder(tmp_path):
    with pytest.raises(ReaderError, match=r"no samples_\*\.jsonl"):
        lm_eval.read(tmp_path)
    assert not lm_eval.sniff(tmp_path)


def test_results_without_samples(copied):
    folder = copied("unknown")
    for path in folder.rglob("samples_*"):
        path.unlink()
    assert lm_eval.sniff(folder)
    with pytest.raises(ReaderError, match="--log_samples"):
        lm_eval.read(folder)


def test_two_models_in_one_folder(copied):
    folder = copied("runs")
    big, tiny = folder / "org__big", folder / "org__tiny"
    for path in tiny.iterdir():
        path.rename(big / path.name)
    outcomes = lm_eval.read(folder, run="latest")
    assert set(outcomes.frame["model"]) == {"org/big", "org/tiny"}
    min(big.glob("results_*")).unlink()
    with pytest.raises(ReaderError, match=r"results of 2 models \(org/big, org/tiny\) and none of"):
        lm_eval.read(folder, run="latest")


def test_a_language_that_never_has_its_source(copied):
    folder = copied("unknown")
    with pytest.raises(AlignmentError, match="no rows in the source language fr"):
        lm_eval.read(folder, source="fr")
    one_file(folder, "_en_").unlink()
    with pytest.raises(ReaderError, match=r"no task is there in two languages; found quiz_de"):
        lm_eval.read(folder)


def test_missing_rows_are_seen(copied):
    folder = copied("unknown")
    rewrite(one_file(folder, "_de_"), lambda i, row: row if i else None)
    with pytest.raises(ReaderError, match=r"_de_.*1 rows, but the run evaluated 2 items"):
        lm_eval.read(folder)
    outcomes = lm_eval.read(folder, allow_missing=True)
    assert "de lacks 1 of 2 items of en: 0" in said(outcomes)


def test_rows_of_another_run_are_seen(copied):
    folder = copied("unknown")
    rewrite(one_file(folder, "_de_"), lambda _, row: {**row, "exact_match": 0.0})
    with pytest.raises(ReaderError, match=r"mean of exact_match .* results of this run state"):
        lm_eval.read(folder)


def test_golds_and_ids_that_differ_between_languages(copied):
    folder = copied("unknown")
    path = one_file(folder, "_de_")
    original = path.read_text(encoding="utf-8")
    rewrite(path, lambda i, row: {**row, "target": "65"[i]})
    with pytest.raises(AlignmentError, match="golds differ from those of en in de"):
        lm_eval.read(folder)
    path.write_text(original, encoding="utf-8")
    # the same questions in another order, and golds that cannot tell
    for name in ("_de_", "_en_"):
        rewrite(one_file(folder, name), lambda _, row: {**row, "target": "a text"})
    rewrite(path, lambda i, row: {**row, "doc": {**row["doc"], "question_id": 901 - i}})
    with pytest.raises(AlignmentError, match=r"share 2 values of doc\.question_id, but 2 rows"):
        lm_eval.read(folder)
    outcomes = lm_eval.read(folder, item="doc.question_id")
    assert set(outcomes.frame["item"]) == {"900", "901"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"doc_id": 0, "resps"', r":2: no JSON"),
        (b"[1]", r":2: a row of lm-evaluation-harness has a doc_id"),
        (b'{"doc_id": null}', r":2: doc_id is empty"),
        (b'{"doc_id": 1, "target": "6", "filter": "none"}', r":2: exact_match is missing"),
        (
            b'{"doc_id": 1, "target": "6", "filter": "none", "exact_match": NaN}',
            r":2: exact_match is missing or no number",
        ),
        (
            b'{"doc_id": 1, "target": "6", "filter": "none", "exact_match": 2}',
            r":2: exact_match is 2, expected 0",
        ),
        (
            b'{"doc_id": 0, "target": "5", "filter": "none", "exact_match": 1}',
            r":2: item '0' was already in line 1; an item has one row of filter none",
        ),
        (b"\xff\xfe\x00", r":2: no JSON"),
    ],
)
def test_broken_rows_are_named(copied, line, message):
    folder = copied("unknown")
    path = one_file(folder, "_de_")
    path.write_bytes(path.read_bytes().splitlines()[0] + b"\n" + line + b"\n")
    with pytest.raises(InputError, match=message):
        lm_eval.read(folder)


def test_an_empty_file_and_damaged_results(copied):
    folder = copied("unknown")
    one_file(folder, "_de_").write_bytes(b"")
    with pytest.raises(ReaderError, match="no rows; the run was stopped"):
        lm_eval.read(folder)
    next(folder.rglob("results_*")).write_text("{", encoding="utf-8")
    with pytest.raises(ReaderError, match="the results file is damaged"):
        lm_eval.read(folder)


def test_without_results_the_folder_names_the_model(copied):
    folder = copied("unknown")
    next(folder.rglob("results_*")).unlink()
    assert set(lm_eval.read(folder).frame["model"]) == {"org/tiny"}


def test_partial_credit_is_said(copied):
    folder = copied("unknown")
    next(folder.rglob("results_*")).unlink()
    rewrite(one_file(folder, "_de_"), lambda _, row: {**row, "exact_match": 0.5})
    outcomes = lm_eval.read(folder)
    assert cells(outcomes)["0", "de"] == (0.5, 1)
    assert "partial credit in 2 of 2 rows" in said(outcomes)


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        (["mgsm_en_cot_en", "mgsm_en_cot_de"], "mgsm_en_cot_en", ("mgsm_en_cot", "en", "")),
        (["mgsm_en_cot_de"], "mgsm_en_cot_de", ("mgsm_en_cot", "de", "")),
        (["belebele_eng_Latn", "belebele_zho_Hant"], "belebele_zho_Hant", None),
        (
            ["global_mmlu_full_sw_abstract_algebra", "global_mmlu_full_en_abstract_algebra"],
            "global_mmlu_full_sw_abstract_algebra",
            ("global_mmlu_full", "sw", "abstract_algebra"),
        ),
        (
            ["afrimgsm_amh_prompt_2", "afrimgsm_eng_prompt_2"],
            "afrimgsm_amh_prompt_2",
            ("afrimgsm_prompt_2", "am", ""),
        ),
    ],
)
def test_names_of_tasks(names, name, expected):
    expected = TaskName(*expected) if expected else TaskName("belebele", "zh-Hant", "")
    assert split_names(names)[name] == expected


@given(st.lists(st.sampled_from(["en", "de", "sw", "zh", "th"]), min_size=2, unique=True))
@settings(derandomize=True, deadline=None, max_examples=20)
def test_languages_are_found_whatever_others_are_there(languages):
    names = [f"mmlu_prox_lite_{one}_{topic}" for one in languages for topic in ("law", "math")]
    found = split_names([*names, "arc_easy", "gsm8k"])
    assert [found[name].language for name in names] == [x for x in languages for _ in (0, 1)]
    assert {found[name].benchmark for name in names} == {"mmlu_prox_lite"}


@given(st.text(max_size=12))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_no_text_breaks_the_small_parsers(text):
    assert language_tag(text) is None or language_tag(text)
    gold = neutral_gold(text)
    assert gold is None or gold.strip()
    assert set(split_names([f"task_{text}_x"])) <= {f"task_{text}_x"}


def test_patterns_that_cannot_be_used(written):
    assert lm_eval.read(written / "unknown", map="quiz_(..)").frame.height == 4
    with pytest.raises(InputError, match="has no group named language"):
        lm_eval.read(written / "unknown", map="(quiz)_(..)")
    with pytest.raises(InputError, match="is no regular expression"):
        lm_eval.read(written / "unknown", map="(")
    with pytest.raises(InputError, match="which is no language"):
        lm_eval.read(written / "unknown", map="(?P<language>quiz)")
    with pytest.raises(ReaderError, match="no field 'idx' with one value; it has question"):
        lm_eval.read(written / "unknown", item="idx")
    with pytest.raises(ReaderError, match="no field 'language' with one value; it has question"):
        lm_eval.read(written / "unknown", map="doc.language")


ODD = [None, [], "", 2.5, {"a": 1}, 10**400, "\ud800", [[1, "a"]]]


@pytest.mark.parametrize(
    ("name", "metric"),
    [("unknown", None), ("repeats", None), ("repeats", "exact_match"), ("choices", "acc")],
)
def test_odd_values_never_end_in_a_traceback(copied, name, metric):
    folder = copied(name)
    path = one_file(folder, "de")
    text = path.read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    for key in rows[0]:
        for odd in ODD:
            changed = [{**rows[0], key: odd}, *rows[1:]]
            path.write_text("\n".join(map(json.dumps, changed)), encoding="utf-8")
            try:
                outcomes = lm_eval.read(folder, metric=metric)
            except InputError:
                continue
            else:
                assert outcomes.frame.height == 4
    path.write_text(text, encoding="utf-8")
    file = next(folder.rglob("results_*"))
    results = json.loads(file.read_text(encoding="utf-8"))
    for key in ("results", "configs", "n-samples", "higher_is_better", "model_name", "config"):
        for odd in ODD:
            within = dict.fromkeys(results["configs"], odd)
            for value in (odd, within):
                file.write_text(json.dumps({**results, key: value}), encoding="utf-8")
                with suppress(InputError):
                    lm_eval.read(folder, metric=metric)
