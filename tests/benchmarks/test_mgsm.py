from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Benchmark, Checkable
from hatscore.benchmarks.mgsm import MGSM, MGSM_V2, Mgsm
from hatscore.benchmarks.mgsm_data import EDITIONS, question_hash
from hatscore.errors import AlignmentError, InputError, ReaderError, UnknownNameError
from hatscore.grading import Reply, extract_number, grade

if TYPE_CHECKING:
    from hatscore.benchmarks.base import Finding, Item

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not (SHARED / "mgsm_rev2").is_dir(), reason="no official MGSM files in ../shared/data"
)
LANGUAGES = ["bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh"]
# The counts of the paper's release, and the rows whose English changed.
REPLACED = dict(zip(LANGUAGES, [46, 35, 22, 38, 45, 46, 32, 43, 52, 40, 43], strict=True))
ENGLISH_ROWS = [3, 13, 38, 41, 63, 86, 88, 90, 101, 120, 145, 160, 162, 164, 175, 178, 185]
ENGLISH_ROWS += [188, 232, 235, 236, 242]
COMMAS = {"147": "2125", "202": "114200", "231": "276000", "250": "5600"}

# --- made-up files: 250 tiny problems, of which rows 3 and 7 changed between the editions


def question(language: str, row: int, *, edition: str) -> str:
    new = " (new)" if edition == "mgsm_v2" and row in (3, 7) else ""
    return f"{language}: what is {row} plus 1?{new}"


def lines(language: str, *, edition: str = "mgsm_v2") -> list[str]:
    golds = [f"{row + 1}" if row != 5 else "1,006" for row in range(1, 251)]
    return [
        f"{question(language, row, edition=edition)}\t{gold}" for row, gold in enumerate(golds, 1)
    ]


def write(root: Path, files: dict[str, list[str]]) -> dict[str, str]:
    root.mkdir(exist_ok=True)
    for language, rows in files.items():
        text = "\n".join(rows) + "\n"
        (root / f"mgsm_{language}.tsv").write_text(text, encoding="utf-8", newline="")
    return {"data": str(root)}


@pytest.fixture
def made() -> Mgsm:
    rows = {
        language: {
            str(row): (
                question_hash(question(language, row, edition="mgsm")),
                question_hash(question(language, row, edition="mgsm_v2")),
            )
            for row in (3, 7)
        }
        for language in ("en", "sw")
    }
    return Mgsm(replace(EDITIONS["mgsm_v2"], rows=rows))


def load(
    benchmark: Mgsm, options: dict[str, str], languages: tuple[str, ...] = ("en", "sw")
) -> list[Item]:
    return benchmark.load(
        languages=languages, source_language="en", items=None, seed=0, options=options
    )


def test_items_of_made_files(made: Mgsm, tmp_path: Path) -> None:
    options = write(tmp_path, {"en": lines("en"), "sw": lines("sw")})
    items = load(made, options)
    assert [item.language for item in items[:4]] == ["en", "sw", "en", "sw"]
    assert {item.id for item in items} == {str(row) for row in range(1, 251)}
    by_key = {(item.id, item.language): item for item in items}
    assert len(by_key) == 500
    item = by_key["9", "sw"]
    assert item.question == "sw: what is 9 plus 1?"
    assert (item.gold.kind, item.gold.value) == ("number", "10")
    assert (item.group, item.chance, item.source_language) == ("9", 0.0, "en")
    assert by_key["5", "en"].gold.value == by_key["5", "sw"].gold.value == "1006"


def test_a_sample_begins_a_larger_one(made: Mgsm, tmp_path: Path) -> None:
    options = write(tmp_path, {"en": lines("en")})
    ids = [
        [
            item.id
            for item in made.load(
                languages=["en"], source_language="en", items=count, seed=3, options=options
            )
        ]
        for count in (5, 20, 250, None)
    ]
    assert ids[1][:5] == ids[0]
    assert ids[2][:20] == ids[1]
    assert ids[3] == ids[2]


def test_hub_layout_gives_the_same_items(made: Mgsm, tmp_path: Path) -> None:
    on_disk = write(tmp_path / "tsv", {"en": lines("en"), "sw": lines("sw")})
    hub = tmp_path / "hub"
    card = ["---", "configs:"]
    for language in ("en", "sw"):
        (hub / language).mkdir(parents=True)
        rows = [line.split("\t") for line in lines(language)]
        pl.DataFrame(
            {
                "question": [row[0] for row in rows],
                "answer": pl.Series([None] * 250, dtype=pl.String),
                "answer_number": [int(row[1].replace(",", "")) for row in rows],
                "equation_solution": pl.Series([None] * 250, dtype=pl.String),
            }
        ).write_parquet(hub / language / "test-00000-of-00001.parquet")
        card += [f"- config_name: {language}", "  data_files:"]
        card += ["  - split: test", f"    path: {language}/test-*"]
    (hub / "README.md").write_text("\n".join([*card, "---"]), encoding="utf-8")
    assert load(made, {"data": str(hub)}) == load(made, on_disk)


@pytest.mark.parametrize(
    ("row", "line", "message"),
    [
        (9, "sw: nothing else", r"mgsm_sw\.tsv, row 9: 1 columns \(sw: nothing else\), expected 2"),
        (9, "sw: a\tb\t10", r"row 9: 3 columns \(sw: a \| b \| 10\), expected 2"),
        (9, "\t10", r"row 9: the problem is empty"),
        (9, "sw: what?\tten", r"row 9: the answer 'ten' is not a number"),
        (9, "sw: what?\t", r"row 9: the answer '' is not a number"),
        (9, "sw: what?\t1,0", r"row 9: the answer '1,0' is not a number"),
        (9, "sw: what?\t১০", r"row 9: the answer '১০' is not a number in the digits 0 to 9"),
    ],
)
def test_broken_rows_are_named(
    made: Mgsm, tmp_path: Path, row: int, line: str, message: str
) -> None:
    broken = lines("sw")
    broken[row - 1] = line
    options = write(tmp_path, {"en": lines("en"), "sw": broken})
    with pytest.raises(ReaderError, match=message):
        load(made, options)
    (fault,) = [f for f in faults(made, options, "sw") if f.row == str(row)]
    assert re.search(message, fault.text)


@pytest.mark.parametrize("count", [249, 251])
def test_wrong_number_of_rows(made: Mgsm, tmp_path: Path, count: int) -> None:
    rows = [*lines("sw"), "sw: one more\t1"][:count]
    options = write(tmp_path, {"en": lines("en"), "sw": rows})
    with pytest.raises(ReaderError, match=rf"mgsm_sw\.tsv has {count} rows, expected 250"):
        load(made, options)


def test_missing_language_names_what_is_there(made: Mgsm, tmp_path: Path) -> None:
    options = write(tmp_path, {"en": lines("en")})
    with pytest.raises(ReaderError, match=r"mgsm_sw\.tsv is missing; .* has mgsm_en\.tsv"):
        load(made, options)


def test_answers_that_differ_are_no_benchmark(made: Mgsm, tmp_path: Path) -> None:
    other = lines("sw")
    other[11] = "sw: what is 12 plus 1?\t14"
    options = write(tmp_path, {"en": lines("en"), "sw": other})
    with pytest.raises(AlignmentError, match="row 12: en 13, sw 14"):
        load(made, options)
    (fault,) = [f for f in made.check(options=options) if f.level == "fault" and f.row == "12"]
    assert "en 13, sw 14" in fault.text


def test_the_other_edition_is_refused_with_its_rows(made: Mgsm, tmp_path: Path) -> None:
    options = write(tmp_path, {"en": lines("en", edition="mgsm")})
    message = r"mgsm_en\.tsv: rows 3, 7 have the text of mgsm\. .*run mgsm with this file"
    with pytest.raises(ReaderError, match=message):
        load(made, options, ("en",))
    assert [f.row for f in faults(made, options, "en")] == ["3"]


def test_a_mix_of_both_editions_is_refused(made: Mgsm, tmp_path: Path) -> None:
    mixed = lines("sw")
    mixed[6] = lines("sw", edition="mgsm")[6]
    options = write(tmp_path, {"en": lines("en"), "sw": mixed})
    message = r"rows 7 have the text of mgsm and rows 3 that of mgsm_v2: it mixes the two"
    with pytest.raises(ReaderError, match=message):
        load(made, options)


def test_a_third_text_is_reported_but_only_refused_if_nothing_is_known(
    made: Mgsm, tmp_path: Path
) -> None:
    edited = lines("sw")
    edited[6] = "sw: an edited problem\t8"
    options = write(tmp_path, {"en": lines("en"), "sw": edited})
    assert len(load(made, options)) == 500
    (fault,) = faults(made, options, "sw")
    assert fault.row == "7"
    assert "neither edition" in fault.text

    edited[2] = "sw: another edited problem\t4"
    options = write(tmp_path, {"en": lines("en"), "sw": edited})
    with pytest.raises(ReaderError, match=r"mgsm_sw\.tsv: no row has the text of mgsm_v2"):
        load(made, options)


def test_copies_may_differ_in_form_and_blanks(made: Mgsm, tmp_path: Path) -> None:
    text = "\ufeff" + "\r\n".join(line.replace(" plus", "  plus") for line in lines("en"))
    (tmp_path / "mgsm_en.tsv").write_text(text, encoding="utf-8", newline="")
    items = load(made, {"data": str(tmp_path)}, ("en",))
    assert {item.gold.value for item in items} >= {"2", "251"}
    assert not any("\r" in item.question or "\ufeff" in item.question for item in items)


def faults(benchmark: Mgsm, options: dict[str, str], language: str) -> list[Finding]:
    return [
        finding
        for finding in benchmark.check(options=options)
        if finding.level == "fault" and finding.language == language
    ]


def test_check_finds_characters_repeats_and_missing_languages(made: Mgsm, tmp_path: Path) -> None:
    odd = lines("sw")
    odd[9] = "sw: what is 10 pl\ufffds 1?\t11"
    odd[19] = odd[19].replace("sw: what is 20 plus", "sw: what is 21 plus")
    options = write(tmp_path, {"en": lines("en"), "sw": odd})
    found = {(f.row, f.text.split("(")[0]) for f in faults(made, options, "sw")}
    assert found == {
        ("10", "sw: row 10 contains a replacement character "),
        ("20", "sw: rows 20, 21 ask the same"),
    }
    (missing,) = faults(made, options, "de")
    assert "mgsm_de.tsv is missing" in missing.text
    infos = [f.text for f in made.check(options=options) if f.level == "info"]
    assert any("answers are the same numbers in 2 languages: en, sw" in text for text in infos)
    assert any("rows 5 are read without thousands commas" in text for text in infos)


def test_wrong_requests(made: Mgsm, tmp_path: Path) -> None:
    options = write(tmp_path, {"en": lines("en"), "sw": lines("sw")})
    with pytest.raises(UnknownNameError, match="did you mean data"):
        load(made, {"dat": "x"})
    with pytest.raises(UnknownNameError, match="option of mgsm_v2"):
        made.check(options={"dat": "x"})
    with pytest.raises(UnknownNameError, match="unknown language 'ko'"):
        load(made, options, ("en", "ko"))
    with pytest.raises(InputError, match="250 items; 251 were asked for"):
        made.load(languages=["en"], source_language="en", items=251, seed=0, options=options)
    with pytest.raises(InputError, match="source language of mgsm_v2 is en, got 'sw'"):
        made.load(languages=["sw"], source_language="sw", items=None, seed=0, options=options)


# --- prompts


@pytest.fixture(scope="module")
def tables() -> dict:
    path = resources.files("hatscore.benchmarks").joinpath("prompts", "mgsm.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def items(tmp_path: Path) -> dict[str, Item]:
    free = Mgsm(replace(EDITIONS["mgsm_v2"], rows={}))
    options = write(tmp_path, {language: lines(language) for language in LANGUAGES})
    found = free.load(languages=LANGUAGES, source_language="en", items=1, seed=0, options=options)
    return {item.language: item for item in found}


def test_prompts_of_all_languages_are_complete(tables: dict) -> None:
    assert sorted(set(tables) - {"shots"}) == LANGUAGES
    for language in LANGUAGES:
        texts = tables[language]
        assert len(texts["examples"]) == len(tables["shots"]["answers"]) == 3
        for text in [*_strings(texts)]:
            assert text == unicodedata.normalize("NFC", text)


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    return [text for part in parts for text in _strings(part)]


def test_examples_are_the_same_sums_in_every_language(tables: dict) -> None:
    for language in LANGUAGES:
        for own, english, answer in zip(
            tables[language]["examples"],
            tables["en"]["examples"],
            tables["shots"]["answers"],
            strict=True,
        ):
            for part in ("question", "reasoning"):
                numbers = sorted(re.findall(r"\d+", own[part]))
                assert numbers == sorted(re.findall(r"\d+", english[part])), (language, part)
            sums = re.findall(r"(\d+) ([-+*/]) (\d+) = (\d+)", own["reasoning"])
            assert len(sums) == len(re.findall("=", own["reasoning"])) >= 2
            for left, sign, right, result in sums:
                value = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}.get(sign)
                expected = value(int(left), int(right)) if value else int(left) / int(right)
                assert expected == int(result)
            assert re.findall(r"\d+", own["reasoning"])[-1] == answer


def test_texts_avoid_the_faults_of_other_prompts(tables: dict) -> None:
    assert tables["ja"]["instruction"].startswith("この")
    assert not re.search("।[.।]", "".join(_strings(tables["bn"])))
    assert "entera" not in tables["es"]["instruction"]
    assert "entière" not in tables["fr"]["instruction"]
    for language in LANGUAGES:
        wide = language in ("ja", "zh")
        for name in ("question", "reasoning", "answer", "instruction"):
            text = tables[language][name]
            assert text.endswith("：" if wide else ":")
            assert (":" if wide else "：") not in text
        assert tables[language]["instruction"].count(tables[language]["answer"][:-1].strip()) <= 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_chat_prompt(items: dict[str, Item], tables: dict, language: str) -> None:
    item = items[language]
    native = MGSM_V2.prompt(item, mode="chat", prompt_language="native")
    english = MGSM_V2.prompt(item, mode="chat", prompt_language="english")
    for prompt, texts in ((native, tables[language]), (english, tables["en"])):
        assert (prompt.mode, prompt.stop, prompt.max_tokens) == ("chat", (), 2048)
        form = f"{texts['answer']}{texts['gap']}<{texts['number']}>"
        assert prompt.text == f"{texts['instruction']}\n{form}\n\n{item.question}"
    assert (native.text == english.text) == (language == "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_completion_prompt(items: dict[str, Item], tables: dict, language: str) -> None:
    item = items[language]
    own = tables[language]
    for name, texts in (("native", own), ("english", tables["en"])):
        prompt = MGSM_V2.prompt(item, mode="completion", prompt_language=name)
        assert prompt.max_tokens == 320
        assert prompt.stop == (f"\n{texts['question']}",)
        blocks = prompt.text.split("\n\n")
        assert len(blocks) == 4
        for block, problem, worked, answer in zip(
            blocks[:3], own["examples"], texts["examples"], ["15", "58", "48"], strict=True
        ):
            asked, reasoned, answered = block.split("\n")
            assert asked == f"{texts['question']}{texts['gap']}{problem['question']}"
            assert reasoned == f"{texts['reasoning']}{texts['gap']}{worked['reasoning']}"
            assert answered == f"{texts['answer']}{texts['gap']}{answer}"
        assert (
            blocks[3] == f"{texts['question']}{texts['gap']}{item.question}\n{texts['reasoning']}"
        )
        assert not prompt.text.endswith(" ")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_reply_of_the_shown_form_is_read(
    items: dict[str, Item], tables: dict, language: str
) -> None:
    item = items[language]
    texts = tables[language]
    for example, answer in zip(texts["examples"], tables["shots"]["answers"], strict=True):
        shown = f"{example['reasoning']}\n{texts['answer']}{texts['gap']}{answer}"
        assert extract_number(shown) == int(answer)
        wrong = grade(Reply(f"{shown}\n\n{texts['question']}", "stop"), item.gold)
        assert (wrong.status, wrong.answer) == ("wrong", answer)
        right = shown.removesuffix(answer) + item.gold.value
        assert grade(Reply(right, "stop"), item.gold).status == "correct"


# --- the two benchmarks


@pytest.mark.parametrize("benchmark", [MGSM, MGSM_V2])
def test_identity(benchmark: Mgsm) -> None:
    assert isinstance(benchmark, Benchmark)
    assert isinstance(benchmark, Checkable)
    assert get_benchmark(benchmark.name) is benchmark
    assert list(benchmark.languages) == LANGUAGES
    assert benchmark.source_languages == ("en",)
    assert benchmark.language_neutral_gold
    assert set(benchmark.options) == {"data"}
    assert benchmark.edition.data.hub.revision.startswith(benchmark.version.split("+")[1])
    assert re.fullmatch("[0-9a-f]{40}", benchmark.edition.data.hub.revision)


def test_the_editions_are_told_apart_in_every_language() -> None:
    assert MGSM.edition.rows == MGSM_V2.edition.rows
    assert {language: len(rows) for language, rows in MGSM.edition.rows.items()} == REPLACED
    assert [int(row) for row in MGSM.edition.rows["en"]] == ENGLISH_ROWS
    for rows in MGSM.edition.rows.values():
        assert set(ENGLISH_ROWS) <= {int(row) for row in rows}
        assert all(first != second for first, second in rows.values())
    assert (MGSM.edition.other, MGSM_V2.edition.other) == ("mgsm_v2", "mgsm")


OFFICIAL = [(MGSM, "mgsm_v1"), (MGSM_V2, "mgsm_rev2")]


@needs_shared
@pytest.mark.parametrize(("benchmark", "folder"), OFFICIAL)
def test_official_files(benchmark: Mgsm, folder: str) -> None:
    options = {"data": str(SHARED / folder)}
    items = load(benchmark, options, tuple(LANGUAGES))
    assert len(items) == 250 * 11
    golds = {(item.id, item.gold.value) for item in items}
    assert len(golds) == 250
    assert set(COMMAS.items()) <= golds
    findings = benchmark.check(options=options)
    assert [finding for finding in findings if finding.level == "fault"] == []
    assert any("250 answers are the same numbers in 11 languages" in f.text for f in findings)


@needs_shared
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("benchmark", "folder"), [(MGSM, "mgsm_rev2"), (MGSM_V2, "mgsm_v1")])
def test_official_files_of_the_other_edition(
    benchmark: Mgsm, folder: str, language: str, tmp_path: Path
) -> None:
    right = dict(OFFICIAL)[benchmark]
    for name in {"en", language} - {language}:
        (tmp_path / f"mgsm_{name}.tsv").write_bytes(
            (SHARED / right / f"mgsm_{name}.tsv").read_bytes()
        )
    (tmp_path / f"mgsm_{language}.tsv").write_bytes(
        (SHARED / folder / f"mgsm_{language}.tsv").read_bytes()
    )
    languages = tuple(dict.fromkeys(("en", language)))
    with pytest.raises(ReaderError, match=rf"mgsm_{language}\.tsv: rows .* have the text of"):
        load(benchmark, {"data": str(tmp_path)}, languages)


@needs_shared
def test_hashes_are_those_of_the_replaced_rows() -> None:
    replaced = json.loads((SHARED / "mgsm_rev2" / "replaced_questions.json").read_text())
    for language in LANGUAGES:
        both = [
            (SHARED / folder / f"mgsm_{language}.tsv").read_text(encoding="utf-8").split("\n")
            for folder in ("mgsm_v1", "mgsm_rev2")
        ]
        expected = {
            str(row): tuple(question_hash(texts[row - 1].split("\t")[0]) for texts in both)
            for row in sorted(replaced[language])
        }
        assert MGSM.edition.rows[language] == expected


@needs_shared
def test_no_example_is_an_item(tables: dict) -> None:
    for benchmark, folder in OFFICIAL:
        for item in load(benchmark, {"data": str(SHARED / folder)}, tuple(LANGUAGES)):
            for example in tables[item.language]["examples"]:
                assert example["question"][:25] not in item.question
