"""Tables of every format and kind, and every fault by line."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Benchmark, Bindable, Checkable
from hatscore.benchmarks.custom_items import _plain
from hatscore.errors import InputError, ReaderError, UnknownNameError
from hatscore.grading import Reply, extract_number, grade

CUSTOM = get_benchmark("custom")
NAMES = (
    "item,language,question,answer,aliases,group\n"
    "1,en,Largest city of Kenya?,Nairobi,,africa\n"
    '1,sw,"Jiji kubwa la Kenya, ni lipi?",Nairobi,Nairobi City|NBO,africa\n'
    '007,en,Who wrote Faust?,Goethe,"[""Johann Wolfgang von Goethe""]",books\n'
    "007,sw,Nani aliandika Faust?,Goethe,,books\n"
)


@pytest.fixture
def table(tmp_path):
    def write(text, name="t.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return {"data": str(path)}

    return write


def load(options, languages=("en", "sw"), source="en", items=None, seed=0):
    return CUSTOM.load(
        languages=languages, source_language=source, items=items, seed=seed, options=options
    )


def faults(options):
    return [f.text for f in CUSTOM.check(options=options) if f.level == "fault"]


def test_it_is_a_benchmark_that_can_be_bound_and_checked(table):
    for protocol in (Benchmark, Bindable, Checkable):
        assert isinstance(CUSTOM, protocol)
    bound = CUSTOM.bind(table(NAMES))
    assert isinstance(bound, Benchmark)
    assert bound.languages == ("en", "sw")
    assert bound.source_languages == ("en", "sw")
    assert not bound.language_neutral_gold
    again = CUSTOM.bind(table(NAMES.replace("Kenya", "Ghana")))
    assert again.version != bound.version
    assert again.version.startswith(CUSTOM.version)


def test_names_with_aliases_of_every_language(table):
    items = {(i.id, i.language): i for i in load(table(NAMES))}
    assert len(items) == 4
    assert {id_ for id_, _ in items} == {"1", "007"}
    sw = items["1", "sw"]
    assert sw.question == "Jiji kubwa la Kenya, ni lipi?"
    assert sw.group == "africa"
    assert sw.chance == 0
    assert sw.gold.names == {"en": ("Nairobi",), "sw": ("Nairobi", "Nairobi City", "NBO")}
    assert grade(Reply("nbo"), sw.gold).status == "correct"
    assert grade(Reply("Mombasa"), sw.gold).status == "wrong"
    assert grade(Reply("Johann Wolfgang von Goethe"), items["007", "sw"].gold).status == "correct"


def as_rows(text):
    import csv
    import io

    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("form", ["bom", "semicolon", "tab", "txt", "crlf", "jsonl", "parquet"])
def test_every_format_gives_the_same_items(table, tmp_path, form):
    expected = load(table(NAMES))
    if form == "bom":
        options = table("\ufeff" + NAMES, "b.csv")
    elif form == "semicolon":
        options = table("\n".join(map(semicolons, as_rows_and_header())), "s.csv")
    elif form in ("tab", "txt"):
        lines = ["\t".join(cells) for cells in as_rows_and_header()]
        options = table("\n".join(lines).replace('["', '"[""').replace('"]', '""]"'), f"t.{form}")
        if form == "tab":
            (tmp_path / "t.tab").rename(tmp_path / "t.tsv")
            options = {"data": str(tmp_path / "t.tsv")}
    elif form == "crlf":
        options = table(NAMES.replace("\n", "\r\n"), "c.csv")
    elif form == "jsonl":
        rows = as_rows(NAMES)
        rows[0]["item"] = 1
        rows[1]["aliases"] = ["Nairobi City", "NBO"]
        rows[0]["aliases"] = None
        options = table("\n".join(json.dumps(r, ensure_ascii=False) for r in rows), "t.jsonl")
    else:
        rows = [
            {
                **r,
                "aliases": json.loads(r["aliases"])
                if r["aliases"][:1] == "["
                else [a for a in r["aliases"].split("|") if a],
            }
            for r in as_rows(NAMES)
        ]
        pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
        options = {"data": str(tmp_path / "t.parquet")}
    assert load(options) == expected


def as_rows_and_header():
    rows = as_rows(NAMES)
    return [list(rows[0]), *(list(r.values()) for r in rows)]


def semicolons(cells):
    return ";".join('"' + cell.replace('"', '""') + '"' for cell in cells)


CHOICE = (
    "item,language,question,options,answer\n"
    "a,en,2+2?,3|4|5,B\n"
    "a,de,2+2?,drei|vier|vier,vier\n"
    "b,en,Sky?,blue|red,blue\n"
    'b,de,Himmel?,"[""blau"", ""rot|orange""]",A\n'
)


def test_choices_by_letter_and_by_text(table):
    options = table(CHOICE)
    items = {(i.id, i.language): i for i in load(options, ("en", "de"))}
    gold = items["a", "de"].gold
    assert (gold.kind, gold.value, gold.labels) == ("choice", "B", ("A", "B", "C"))
    assert gold.also == ("C",), "equal options are equally right"
    assert items["a", "de"].chance == pytest.approx(1 / 3)
    assert items["b", "de"].gold.options == ("blau", "rot|orange")
    assert items["b", "en"].gold.value == "A"
    assert CUSTOM.bind(options).language_neutral_gold
    assert grade(Reply("Antwort: B"), gold).status == "correct"


def test_numbers_are_one_text_in_all_languages(table):
    options = table(
        "item,language,question,answer\n1,en,q,12.50\n1,de,q,12.5\n2,en,q,-7\n"
        "2,de,q,−7\n3,en,q,1/3\n3,de,q,2/6\n4,en,q,18\n4,de,q,१८\n"
    )
    items = load(options, ("en", "de"))
    golds = {(i.id, i.language): i.gold.value for i in items}
    assert {k: v for k, v in golds.items() if k[1] == "en"} == {
        ("1", "en"): "12.5",
        ("2", "en"): "-7",
        ("3", "en"): "1/3",
        ("4", "en"): "18",
    }
    assert all(golds[i, "de"] == golds[i, "en"] for i in "1234")
    assert all(i.gold.kind == "number" for i in items)
    half = next(i.gold for i in items if (i.id, i.language) == ("1", "de"))
    assert grade(Reply("Antwort: 12,5"), half).status == "correct"
    named = load({**options, "kind": "name"}, ("en", "de"))
    assert all(i.gold.kind == "name" for i in named)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.fractions(max_denominator=400, min_value=-(10**9), max_value=10**9))
def test_plain_numbers_keep_their_value(value):
    text = _plain(str(value))
    assert Fraction(text) == value
    if not re.fullmatch(r"-?[1-9][0-9]{0,2}\.[0-9]{3}", text):  # then it is a fault of the table
        assert extract_number(f"Answer: {text}") == value


def test_source_language_per_item(table):
    options = table(
        "item,language,question,answer,source_language\n"
        "1,en,q1en,a,en\n1,de,q1de,a,\n1,fr,q1fr,a,en\n"
        "2,en,q2en,a,de\n2,de,q2de,a,de\n2,fr,q2fr,a,de\n"
    )
    assert CUSTOM.bind(options).source_languages == ("item", "de", "en")
    items = load(options, ("item", "fr"), "item")
    assert {(i.id, i.language, i.source_language) for i in items} == {
        ("1", "en", "en"),
        ("1", "fr", "en"),
        ("2", "de", "de"),
        ("2", "fr", "de"),
    }
    assert {i.id for i in load(options, ("de", "fr"), "de")} == {"2"}
    with pytest.raises(InputError, match="no column source_language"):
        load(table(NAMES, "n.csv"), ("item", "sw"), "item")


def test_missing_rows_are_refused_or_dropped_on_request(table):
    options = table(NAMES + "8,en,q,a,,\n8,fr,q,a,,\n")
    with pytest.raises(InputError, match=r"1 of 3 items .* 8 lacks sw.*--set missing=drop"):
        load(options)
    assert {i.id for i in load({**options, "missing": "drop"})} == {"1", "007"}
    with pytest.raises(InputError, match="2 of 3 items"):
        load(options, ("en", "fr"))
    info = [f.text for f in CUSTOM.check(options=options) if f.level == "info"]
    assert any("fr lacks 2 items" in text for text in info)


def test_samples_are_nested(table):
    rows = "".join(f"{i},{tag},q,a{i}\n" for i in range(30) for tag in ("en", "de"))
    options = table("item,language,question,answer\n" + rows)
    whole = list(dict.fromkeys(i.id for i in load(options, ("en", "de"), seed=3)))
    assert (
        list(dict.fromkeys(i.id for i in load(options, ("en", "de"), items=7, seed=3)))
        == (whole[:7])
    )
    assert whole != sorted(whole)
    with pytest.raises(InputError, match="has 30 items; 31"):
        load(options, ("en", "de"), items=31)


def test_all_faults_at_once_with_their_lines(table):
    options = table(
        "item,language,question,answer,options,source_language,group\n"
        '1,en,"two\nlines",A,x|y,en,g\n'  # lines 2 and 3
        "1,de,q,B,x|y,en,h\n"  # 4: other answer, other group
        "1,de,q,A,x|y,en,g\n"  # 5: twice
        "2,en,,A,x|y,en,\n"  # 6: empty question
        "3,en,q,Z,x|y,en,\n"  # 7: no option
        "3,xx-y,q,A,x|y,en,\n"  # 8: no language
        "4,de,q,A,x|y,en,\n"  # 9: no source row
        "5,en,q,A,x,en,\n"  # 10: one option
        "6,en,q,A,x||y,en,\n"  # 11: an empty option
        "7,en,q,A,x|y,en\n"  # 12: a cell is missing
        "8,en,q,A,x|y,en,\n8,de,q,A,x|y,de,\n"  # 13: two sources
        "9,en,q,A,x|y,,\n"  # 15: none
    )
    found = faults(options)
    for part in (
        "line 4: item 1: the answer is B of 2 options in de, but A of 2 options in en on line 2",
        "line 4: item 1: group 'h', but 'g' on line 2",
        "line 5: item 1 in de is on line 4 too",
        "line 6: question is empty",
        "line 7: answer 'Z' is neither a letter from A to B nor one of the options",
        "line 8: no language has the tag 'xx-y'",
        "line 9: item 4 has no row in its source language en",
        "line 10: 1 options, expected 2 to 26",
        "line 11: options 'x||y'",
        "line 12: 6 cells, the header has 7",
        "line 13: item 8 has several source languages: en on line 13, de on line 14",
        "line 15: item 9: source_language is empty",
    ):
        assert any(text.startswith(part) for text in found), part
    assert len(found) == 12
    lines = [int(re.match(r"line (\d+)", text)[1]) for text in found]
    assert lines == sorted(lines)
    with pytest.raises(InputError, match="12 faults") as caught:
        load(options)
    assert all(text in str(caught.value) for text in found)


def test_faults_of_numbers(table):
    options = table(
        'item,language,question,answer\n1,en,q,12\n1,de,q,13\n2,en,q,"1,234"\n2,de,q,1234\n'
    )
    found = faults(options)
    assert found[0].startswith("line 3: item 1: the answer is 13 in de, but 12 in en on line 2")
    assert found[1].startswith("line 4: answer '1,234' can be read in several ways")
    assert len(found) == 2
    (fault,) = faults(table("item,language,question,answer\n1,en,q,12.345\n", "x.csv"))
    assert fault.startswith("line 2: answer '12.345': in a reply, three places")
    assert not faults(table("item,language,question,answer\n1,en,q,0.345\n", "x.csv"))
    (fault,) = faults(
        {**table("item,language,question,answer\n1,en,q,x\n", "x.csv"), "kind": "number"}
    )
    assert "answer 'x' is no number" in fault
    assert faults(
        {**table("item,language,question,answer\n1,en,q,x\n", "x.csv"), "kind": "choice"}
    ) == ["line 2: 0 options, expected 2 to 26"]


def test_files_that_are_no_table(table, tmp_path):
    for text, name, message in (
        ("item,language,question\n1,en,q\n", "a.csv", "no column answer; it has item, language"),
        ('{"item": 1}\n', "a.jsonl", "no column language, question, answer"),
        ("", "b.csv", "has no rows"),
        ("item,language,question,answer\n", "c.csv", "has no rows"),
        ('item,language,question,answer\n1,en,"q,a\n', "d.csv", "line 2: .*doubled"),
        ("item,item,language,question,answer\n", "e.csv", "names item more than once"),
        ("no parquet", "f.parquet", "no readable Parquet"),
    ):
        with pytest.raises(ReaderError, match=message):
            load(table(text, name))
    with pytest.raises(ReaderError, match="not UTF-8"):
        load(table(NAMES.replace("Faust", "Fäust"), "g.csv", "latin-1"))
    with pytest.raises(ReaderError, match=r"UTF-8|zero bytes"):
        load(table(NAMES, "h.csv", "utf-16-be"))
    (options,) = [table('[1]\n{"item": \n', "i.jsonl")]
    assert [t.partition(",")[0] for t in faults(options)] == [
        "line 1: a list",
        "line 2: no JSON: Expecting value at character 10",
    ]
    with pytest.raises(InputError, match=r"ending in \.csv, \.tsv"):
        load(table(NAMES, "t.xlsx"))
    with pytest.raises(InputError, match="does not exist"):
        load({"data": str(tmp_path / "none.csv")})
    with pytest.raises(InputError, match="--set data=PATH"):
        load({})
    with pytest.raises(UnknownNameError, match="did you mean data"):
        load({"dta": "x"})
    with pytest.raises(UnknownNameError, match="did you mean number"):
        load({**table(NAMES), "kind": "numbers"})
    with pytest.raises(UnknownNameError, match="did you mean drop"):
        load({**table(NAMES), "missing": "drops"})


def test_misspelt_columns_are_faults(table):
    text = NAMES.replace("aliases", "alias", 1)
    assert faults(table(text)) == ["column 'alias': did you mean 'aliases'?"]
    assert faults(table(NAMES.replace("group", "remark", 1), "b.csv")) == []
    assert faults(table(NAMES.replace("item,language", "Item, Language", 1), "c.csv")) == []


def test_prompts(table):
    options = table(
        "item,language,question,options,answer,prompt\n"
        "1,en,Sky?,blue|red,A,\n1,de,Himmel?,blau|rot,A,\n1,gn,Ára?,hovy|pytã,A,\n"
        '1,zh-Hant,天空?,藍|紅,A,\n1,fr,Ciel ?,bleu|rouge,A," Ciel ? "\n'
    )
    items = {i.language: i for i in load(options, ("en", "de", "gn", "zh-Hant", "fr"))}

    def prompt(tag, mode="chat", language="native"):
        return CUSTOM.prompt(items[tag], mode=mode, prompt_language=language)

    assert prompt("de").text == (
        "Himmel?\nA. blau\nB. rot\n\nBeende deine Antwort mit einer Zeile in dieser Form:\n"
        "Antwort: <Buchstabe>"
    )
    completion = prompt("de", "completion")
    assert completion.text == "Frage: Himmel?\nA. blau\nB. rot\nAntwort:"
    assert completion.stop == ("\n",)
    assert prompt("de", "completion", "english").text.startswith("Question: Himmel?")
    assert prompt("gn", "completion").text.startswith("Question: Ára?"), "no labels: English"
    assert prompt("zh-Hant", "completion").text.startswith("问题：天空?"), "base language"
    assert prompt("fr").text == prompt("fr", "completion").text == " Ciel ? "
    info = [f.text for f in CUSTOM.check(options=options)]
    assert any(text.startswith("gn has no labels") for text in info)
    name = load(table(NAMES, "n.csv"))[0]
    text = CUSTOM.prompt(name, mode="chat", prompt_language="english").text
    assert text == f"{name.question}\n\nAnswer briefly, with the answer alone."


def test_every_language_of_the_prompt_file_is_read_by_the_graders():
    from hatscore.benchmarks.custom import _texts
    from hatscore.grading import Gold, extract_choice

    for tag, texts in _texts().items():
        line = f"{texts.answer}{texts.gap}"
        assert extract_choice(f"blah B blah\n{line}C", ("A", "B", "C")) == "C", tag
        assert extract_number(f"99 blah\n{line}12") == 12, tag
        gold = Gold("name", "Nairobi", tag, "en", names={tag: ("Nairobi",)})
        assert grade(Reply(f"{line}Nairobi"), gold).status == "correct", tag
        for text in (texts.question, texts.answer):
            assert text[-1] in ":：", tag
