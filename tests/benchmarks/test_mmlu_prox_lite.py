from __future__ import annotations

import json
import re
import time
import tomllib
import unicodedata
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Benchmark, Checkable
from hatscore.benchmarks.mmlu_prox_lite import BENCHMARK, SHOT_ROWS
from hatscore.benchmarks.mmlu_prox_lite_data import (
    ALSO_RIGHT,
    LETTERS,
    OPTION_COUNTS,
    identical_to_gold,
    read,
)
from hatscore.errors import AlignmentError, InputError, ReaderError, UnknownNameError
from hatscore.grading import Reply, grade

if TYPE_CHECKING:
    from hatscore.benchmarks.base import Finding, Item

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data" / "mmlu_prox_lite"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="no MMLU-ProX-Lite files in ../shared/data"
)
LANGUAGES = "af ar bn cs de en es fr hi hu id it ja ko mr ne pt ru sr sw te th uk ur vi wo yo zh zu"
# Where a wrong moon of Mars got the name of the right one.
MOONS = "ar bn de es hi ja ko pt sw th ur zh zu"
OFFICIAL = {"data": str(SHARED)}

# --- made-up files: as many rows and options as the official ones, all texts trivial

SIZES = [size for size, count in OPTION_COUNTS.items() for _ in range(count)]


def rows(language: str, split: str = "test") -> list[dict[str, Any]]:
    sizes = SIZES if split == "test" else [10] * 70
    return [
        {
            "row": row,
            "question": f"{language} {split}: which is {row % size}?",
            "options": [f"{language} {number}" for number in range(size)],
            "answer": LETTERS[row % size],
            "answer_index": row % size,
        }
        for row, size in enumerate(sizes)
    ]


def write(root: Path, **files: list[dict[str, Any]]) -> dict[str, str]:
    root.mkdir(exist_ok=True)
    for name, content in files.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
        (root / f"{name.replace('_', '.')}.jsonl").write_text(text, encoding="utf-8")
    return {"data": str(root)}


def both(language: str) -> dict[str, list[dict[str, Any]]]:
    return {
        f"{language}_test": rows(language),
        f"{language}_validation": rows(language, "validation"),
    }


def load(
    options: dict[str, str],
    languages: tuple[str, ...] = ("en", "sw"),
    items: int | None = None,
    seed: int = 0,
) -> list[Item]:
    return BENCHMARK.load(
        languages=languages, source_language="en", items=items, seed=seed, options=options
    )


def faults(options: dict[str, str], *languages: str) -> list[Finding]:
    return [
        finding
        for finding in BENCHMARK.check(options=options)
        if finding.level == "fault" and finding.language in languages
    ]


def test_items_of_made_files(tmp_path: Path) -> None:
    items = load(write(tmp_path, **both("en"), **both("sw")))
    assert [item.language for item in items[:4]] == ["en", "sw", "en", "sw"]
    by_key = {(item.id, item.language): item for item in items}
    assert len(by_key) == len(items) == 588 * 2
    item = by_key["12", "sw"]
    assert item.question == "sw test: which is 2?"
    assert item.gold.kind == "choice"
    assert (item.gold.value, item.gold.also) == ("C", ())
    assert item.gold.options == tuple(f"sw {number}" for number in range(10))
    assert "".join(item.gold.labels) == LETTERS
    assert (item.group, item.chance, item.source_language) == ("12", 0.1, "en")
    last = by_key["587", "en"]
    assert ("".join(last.gold.labels), last.chance) == ("ABCD", 0.25)


def test_a_sample_begins_a_larger_one(tmp_path: Path) -> None:
    options = write(tmp_path, **both("en"))
    ids = [[i.id for i in load(options, ("en",), count, seed=5)] for count in (3, 40, None)]
    assert ids[1][:3] == ids[0]
    assert ids[2][:40] == ids[1]
    assert ids[0] != [item.id for item in load(options, ("en",), 3, seed=6)]


def hub_layout(root: Path, languages: tuple[str, ...], *, category: bool = True) -> dict[str, str]:
    """Build the official layout: one parquet file per language and split, listed in a card."""
    card = ["---", "configs:"]
    for language in languages:
        (root / language).mkdir(parents=True)
        card += [f"- config_name: {language}", "  data_files:"]
        for split in ("test", "validation"):
            made = rows(language, split)
            columns: dict[str, Any] = {
                "question_id": [1000 + row["row"] for row in made],
                "question": [row["question"] for row in made],
            }
            for number in range(10):
                columns[f"option_{number}"] = [
                    row["options"][number] if number < len(row["options"]) else None for row in made
                ]
            columns |= {
                "answer": [row["answer"] for row in made],
                "answer_index": [row["answer_index"] for row in made],
                "cot_content": [""] * len(made),
                "src": ["made"] * len(made),
            }
            if category:
                columns["category"] = [["law", "maths"][row["row"] % 2] for row in made]
            frame = pl.DataFrame(columns)
            frame.write_parquet(root / language / f"{split}-00000-of-00001.parquet")
            card += [f"  - split: {split}", f"    path: {language}/{split}-*"]
    (root / "README.md").write_text("\n".join([*card, "---"]), encoding="utf-8")
    return {"data": str(root)}


def test_hub_layout_gives_the_same_items(tmp_path: Path) -> None:
    on_disk = load(write(tmp_path / "jsonl", **both("en"), **both("sw")))
    assert load(hub_layout(tmp_path / "hub", ("en", "sw"), category=False)) == on_disk


def test_hub_layout_groups_by_category(tmp_path: Path) -> None:
    items = load(hub_layout(tmp_path / "hub", ("en", "sw")))
    assert {item.group for item in items if int(item.id) % 2} == {"maths"}
    assert {item.group for item in items if int(item.id) % 2 == 0} == {"law"}
    completion = BENCHMARK.prompt(items[1], mode="completion", prompt_language="native")
    assert "sw validation: which is 3?\nA. sw 0\n" in completion.text


def test_rows_of_the_hub_are_aligned_by_their_ids(tmp_path: Path) -> None:
    options = hub_layout(tmp_path / "hub", ("en", "sw"))
    path = tmp_path / "hub" / "sw" / "test-00000-of-00001.parquet"
    frame = pl.read_parquet(path)
    # Ten questions further on: same letters, same numbers of options, other questions.
    order = [*range(10, 20), *range(10), *range(20, 588)]
    frame[order].write_parquet(path)
    with pytest.raises(AlignmentError, match=r"row 0: the ids differ: en 1000, sw 1010"):
        load(options)


# --- options that translation made equal to the right one


def equalled(language: str, row: int, letters: str) -> list[dict[str, Any]]:
    made = rows(language)
    options = made[row]["options"]
    for letter in letters:
        # Equal after NFC and single blanks, as people see them.
        options[LETTERS.index(letter)] = f" {options[made[row]['answer_index']]}  "
    return made


def test_the_table_holds_whatever_languages_are_loaded(tmp_path: Path) -> None:
    options = write(tmp_path, **both("en"), **both("sw"))
    for languages in (("en",), ("en", "sw")):
        forgiven = {
            int(item.id): "".join(item.gold.also)
            for item in load(options, languages)
            if item.gold.also
        }
        assert forgiven == dict(ALSO_RIGHT)


def test_an_equal_option_beyond_the_table_is_forgiven_in_all_loaded_languages(
    tmp_path: Path,
) -> None:
    sw = {**both("sw"), "sw_test": equalled("sw", 12, "EH")}
    options = write(tmp_path, **both("en"), **sw)
    for item in (item for item in load(options) if item.id == "12"):
        assert item.gold.also == ("E", "H")
        assert item.chance == pytest.approx(0.3)
        for letter, status in (("C", "correct"), ("H", "correct"), ("A", "wrong")):
            assert grade(Reply(f"Answer: {letter}", "stop"), item.gold).status == status
    assert [item.gold.also for item in load(options, ("en",)) if item.id == "12"] == [()]
    found = [f for f in BENCHMARK.check(options=options) if f.row == "12"]
    assert [f.level for f in found] == ["fault"]
    assert "EH in sw" in found[0].text


def test_check_tells_when_the_table_is_not_of_these_files(tmp_path: Path) -> None:
    made = {name: value for language in LANGUAGES.split() for name, value in both(language).items()}
    made["sw_test"] = equalled("sw", 49, "H")
    findings = BENCHMARK.check(options=write(tmp_path, **made))
    of_table = {f.row: (f.level, f.text) for f in findings if f.row and not f.language}
    level, text = of_table.pop("49")
    assert level == "info"
    assert "H in sw" in text
    assert set(of_table) == {str(row) for row in ALSO_RIGHT if row != 49}
    for level, text in of_table.values():
        assert level == "fault"
        assert "not the pinned revision" in text


# --- broken files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": " "}, "row 7: the question is missing or empty"),
        ({"options": []}, "row 7: 0 options, expected 2 to 10"),
        ({"options": [str(n) for n in range(11)]}, "row 7: 11 options, expected 2 to 10"),
        ({"options": "A B C"}, "row 7: 0 options"),
        ({"options": ["a", None, *"cdefghij"]}, "row 7: option B is empty, but a later one"),
        ({"answer": "K"}, r"row 7: the answer 'K' is no letter of its 10 options \(A to J\)"),
        ({"answer": None}, "row 7: the answer '' is no letter"),
        ({"options": ["a", "b", "c"]}, r"the answer 'H' is no letter of its 3 options"),
        ({"answer_index": 3}, "row 7: the answer is H, but answer_index is 3"),
        ({"row": 8}, "row 7: the field `row` says 8"),
    ],
)
def test_broken_rows_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    broken = rows("sw")
    broken[7] |= change
    options = write(tmp_path, **both("en"), **{**both("sw"), "sw_test": broken})
    with pytest.raises(ReaderError, match=rf"sw\.test\.jsonl, .*{message}"):
        load(options)
    (fault,) = [fault for fault in faults(options, "sw") if fault.row == "7"]
    assert re.search(message, fault.text)


@pytest.mark.parametrize("count", [0, 587, 589])
def test_wrong_number_of_rows(tmp_path: Path, count: int) -> None:
    made = [*rows("sw"), {**rows("sw")[0], "row": 588}][:count]
    options = write(tmp_path, **both("en"), **{**both("sw"), "sw_test": made})
    with pytest.raises(ReaderError, match=rf"sw\.test\.jsonl has {count} rows, expected 588"):
        load(options)


def test_missing_language_names_what_is_there(tmp_path: Path) -> None:
    options = write(tmp_path, **both("en"))
    with pytest.raises(ReaderError, match=r"sw\.test\.jsonl is missing; .* has en\.test\.jsonl"):
        load(options)
    assert [fault.text.split(" ")[0] for fault in faults(options, "sw")] == ["sw:", "sw:"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "A", "answer_index": 0}, "row 7: the answers differ: en H, sw A"),
        ({"options": list("abcdefghi")}, "row 7: the numbers of options differ: en 10, sw 9"),
    ],
)
def test_languages_that_do_not_belong_together(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    other = rows("sw")
    other[7] |= change
    options = write(tmp_path, **both("en"), **{**both("sw"), "sw_test": other})
    with pytest.raises(AlignmentError, match=message):
        load(options)
    assert any(message in finding.text for finding in BENCHMARK.check(options=options))


def test_without_a_validation_split_only_chat_is_possible(tmp_path: Path) -> None:
    items = load(write(tmp_path, en_test=rows("en")), ("en",), items=1)
    assert BENCHMARK.prompt(items[0], mode="chat", prompt_language="native").text
    with pytest.raises(InputError, match=r"validation split.*en\.validation\.jsonl is missing"):
        BENCHMARK.prompt(items[0], mode="completion", prompt_language="native")


def test_check_finds_characters_and_other_counts(tmp_path: Path) -> None:
    made = rows("sw")
    made[7]["options"][2] = "a\u200bb"
    made[466]["question"] = "10^4 m \x08ullet s^-1"
    made[587]["options"].append("one more")
    options = write(tmp_path, **both("en"), **{**both("sw"), "sw_test": made})
    found = BENCHMARK.check(options=options)
    sw = [f for f in found if f.language == "sw"]
    assert [f.level for f in sw if f.row == "7"] == ["fault"]
    assert [f.level for f in sw if f.row == "466"] == ["info"]
    assert any("4: 26" in f.text and f.level == "fault" for f in sw)
    assert any("row 587: the numbers of options differ" in f.text for f in found)


def test_wrong_requests(tmp_path: Path) -> None:
    options = write(tmp_path, **both("en"))
    with pytest.raises(UnknownNameError, match="did you mean data"):
        load({"dat": "x"})
    with pytest.raises(UnknownNameError, match="option of mmlu_prox_lite"):
        BENCHMARK.check(options={"dat": "x"})
    with pytest.raises(UnknownNameError, match="unknown language 'pl'"):
        load(options, ("en", "pl"))
    with pytest.raises(InputError, match="588 items; 589 were asked for"):
        load(options, ("en",), items=589)
    with pytest.raises(InputError, match="source language of mmlu_prox_lite is en, got 'sw'"):
        BENCHMARK.load(languages=["sw"], source_language="sw", items=None, seed=0, options=options)


# --- prompts


@pytest.fixture(scope="module")
def texts() -> dict[str, dict[str, str]]:
    path = resources.files("hatscore.benchmarks").joinpath("prompts", "mmlu_prox_lite.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_prompts_of_all_languages_are_complete(texts: dict[str, dict[str, str]]) -> None:
    assert list(texts) == LANGUAGES.split()
    for language, own in texts.items():
        assert set(own) == {"gap", "question", "answer", "instruction", "letter"}
        wide = language in ("ja", "zh")
        for name, text in own.items():
            assert text == unicodedata.normalize("NFC", text)
            if name in ("question", "answer", "instruction"):
                assert text.endswith("：" if wide else ":")
                assert (":" if wide else "：") not in text
    assert len({own["instruction"] for own in texts.values()}) == 29


@pytest.mark.parametrize("language", ["en", "fr", "zh", "ur"])
def test_prompts(tmp_path: Path, texts: dict[str, dict[str, str]], language: str) -> None:
    files = both("en") | both(language)
    item = load(write(tmp_path, **files), tuple(dict.fromkeys(("en", language))))[-1]
    block = "\n".join(
        [item.question, *(f"{LETTERS[n]}. {text}" for n, text in enumerate(item.gold.options))]
    )
    for name, own in (("native", texts[language]), ("english", texts["en"])):
        chat = BENCHMARK.prompt(item, mode="chat", prompt_language=name)
        form = f"{own['answer']}{own['gap']}<{own['letter']}>"
        assert chat.text == f"{own['instruction']}\n{form}\n\n{block}"
        assert (chat.mode, chat.stop, chat.max_tokens) == ("chat", (), 2048)

        completion = BENCHMARK.prompt(item, mode="completion", prompt_language=name)
        assert (completion.stop, completion.max_tokens) == (("\n",), 8)
        blocks = completion.text.split("\n\n")
        assert len(blocks) == 4
        for shot, row in zip(blocks[:3], SHOT_ROWS, strict=True):
            source = rows(language, "validation")[row]
            shown = shot.split("\n")
            assert shown[0] == f"{own['question']}{own['gap']}{source['question']}"
            assert shown[1:-1] == [
                f"{x}. {o}" for x, o in zip(LETTERS, source["options"], strict=True)
            ]
            assert shown[-1] == f"{own['answer']}{own['gap']}{source['answer']}"
        assert blocks[3] == f"{own['question']}{own['gap']}{block}\n{own['answer']}"


@pytest.mark.parametrize("language", LANGUAGES.split())
def test_a_reply_of_the_shown_form_is_read(
    tmp_path: Path, texts: dict[str, dict[str, str]], language: str
) -> None:
    files = both("en") | both(language)
    items = load(write(tmp_path, **files), tuple(dict.fromkeys(("en", language))), items=3)
    own = texts[language]
    for item in items:
        for letter in item.gold.labels:
            reply = Reply(f"{item.gold.options[0]}.\n{own['answer']}{own['gap']}{letter}", "stop")
            accepted = {item.gold.value, *item.gold.also}
            graded = grade(reply, item.gold)
            assert graded.answer == letter
            assert (graded.status == "correct") == (letter in accepted)


# --- the official files


def test_identity() -> None:
    assert isinstance(BENCHMARK, Benchmark)
    assert isinstance(BENCHMARK, Checkable)
    assert get_benchmark("mmlu_prox_lite") is BENCHMARK
    assert " ".join(BENCHMARK.languages) == LANGUAGES
    assert BENCHMARK.source_languages == ("en",)
    assert BENCHMARK.language_neutral_gold
    assert BENCHMARK.version.endswith("+e82aafb94605")
    assert sum(OPTION_COUNTS.values()) == 588


@needs_shared
def test_official_files_load_fast_and_have_the_known_shape() -> None:
    begin = time.perf_counter()
    items = load(OFFICIAL, tuple(LANGUAGES.split()))
    assert time.perf_counter() - begin < 5
    assert len(items) == 588 * 29
    english = [item for item in items if item.language == "en"]
    assert Counter(len(item.gold.labels) for item in english) == OPTION_COUNTS
    blind = sum(1 / len(item.gold.labels) for item in english) / 588
    assert round(100 * blind, 2) == 10.99
    for item in items:
        assert item.gold.value in item.gold.labels
        assert item.chance == (1 + len(item.gold.also)) / len(item.gold.labels)


@needs_shared
def test_the_table_is_what_all_languages_show() -> None:
    files = {language: read(str(SHARED), language, "test") for language in LANGUAGES.split()}
    found = identical_to_gold(files)
    assert sum(len(by_language) for by_language in found.values()) == 30
    assert set(found[445]) == set(MOONS.split())
    assert {row: "".join(sorted(set("".join(x.values())))) for row, x in found.items()} == dict(
        ALSO_RIGHT
    )
    # By another way: two options of one language are the same string.
    for row, by_language in found.items():
        for language, letters in by_language.items():
            question = files[language].questions[row]
            for letter in letters:
                other = question.options[LETTERS.index(letter)]
                assert other.split() == question.options[LETTERS.index(question.answer)].split()


@needs_shared
def test_official_files_pass_the_check() -> None:
    findings = BENCHMARK.check(options=OFFICIAL)
    assert [finding for finding in findings if finding.level == "fault"] == []
    texts = [finding.text for finding in findings]
    assert any("the same in 29 languages" in text for text in texts)
    assert any(text.startswith("row 93:") and "E in sw" in text for text in texts)
    assert any(text.startswith("zu: wrong options are equal in rows 12, 18, 212") for text in texts)
    assert {f.row for f in findings if "control character" in f.text} == {
        "0",
        "50",
        "60",
        "466",
        "543",
    }


@needs_shared
def test_examples_of_base_models_are_sound_in_every_language() -> None:
    letters = set()
    for language in LANGUAGES.split():
        questions = read(str(SHARED), language, "validation").questions
        for row in SHOT_ROWS:
            question = questions[row]
            assert len({option.casefold() for option in question.options}) == 10
            assert not {"N/A"} & set(question.options)
            assert question.text.isprintable()
            letters.add((row, question.answer))
    assert letters == {(13, "E"), (32, "C"), (54, "J")}
