"""Tables of every make, with tiny examples and the published logs."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore import measure, read
from hatscore.errors import AlignmentError, HatscoreError, InputError, ReaderError, UnknownNameError
from hatscore.readers.table_columns import get, parse_columns, parse_maps
from hatscore.readers.table_values import (
    BadCellError,
    plain_integers,
    to_count,
    to_number,
    to_score,
    to_text,
)

LOGS = Path(__file__).parents[2] / ".." / "shared" / "logs"
NAMED = {"source": "en", "model": "m", "benchmark": "b"}
LONG = "item,language,score\n1,en,1\n1,de,0\n2,en,1\n2,de,1\n"


def logs(name):
    path = LOGS / name
    if not path.exists():
        pytest.skip(f"needs ../shared/logs/{name}")
    return path


def put(folder, text, name="table.csv", encoding="utf-8"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def cells(outcomes):
    return {
        (r["item"], r["language"]): (r["n"], r["k"]) for r in outcomes.frame.iter_rows(named=True)
    }


PLAIN = {("1", "en"): (1, 1), ("1", "de"): (1, 0), ("2", "en"): (1, 1), ("2", "de"): (1, 1)}


# -- makes of files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (LONG, "utf-8"),
        (LONG, "utf-8-sig"),
        (LONG, "utf-16"),
        (LONG.replace(",", ";"), "utf-8-sig"),
        (LONG.replace(",", "\t"), "utf-16"),
        (LONG.replace(",", "|"), "utf-8"),
        (LONG.replace("\n", "\r\n"), "utf-8"),
        ("sep=;\n" + LONG.replace(",", ";"), "utf-8"),
        (LONG.replace("\n", ",,\n"), "utf-8"),
        (LONG + "\n,,\n\n", "utf-8"),
    ],
)
def test_separated_files(tmp_path, text, encoding):
    assert cells(read(put(tmp_path, text, encoding=encoding), **NAMED)) == PLAIN


def test_json_and_parquet(tmp_path):
    rows = [
        {"item": item, "language": language, "score": k}
        for (item, language), (_, k) in PLAIN.items()
    ]
    lines = put(tmp_path, "\n".join(map(json.dumps, rows)), "a.jsonl")
    array = put(tmp_path, json.dumps(rows), "b.json")
    pl.DataFrame(rows).write_parquet(tmp_path / "c.parquet")
    for path in (lines, array, tmp_path / "c.parquet"):
        assert cells(read(path, **NAMED)) == PLAIN


def test_the_name_of_a_file_says_nothing(tmp_path):
    rows = ({"item": "1", "language": one, "score": 1} for one in ("en", "de"))
    path = put(tmp_path, "\n".join(map(json.dumps, rows)), "table.csv")
    assert read(path, **NAMED).frame.height == 2


def test_line_separators_inside_texts_end_no_row(tmp_path):
    for mark in ("\u2028", "\u2029", "\x85", "\x1c"):
        text = LONG.replace("language", "t,language").replace(",en", f',"a{mark}b",en')
        path = put(tmp_path, text.replace(",de", ",x,de"))
        assert cells(read(path, **NAMED)) == PLAIN
        row = json.dumps({"item": f"a{mark}b", "language": "en", "score": 1}, ensure_ascii=False)
        both = row + "\n" + row.replace('"en"', '"de"')
        assert read(put(tmp_path, both, "t.jsonl"), **NAMED).frame.height == 2


def test_several_files_are_one_table(tmp_path):
    for one in ("en", "de"):
        put(tmp_path, f"id,right\n1,{int(one == 'en')}\n2,1\n", f"runs/{one}/out.csv")
    options = {"columns": "item=id,score=right", "map": [r"language=path:([a-z]+)/out\.csv$"]}
    paths = sorted(tmp_path.glob("runs/*/out.csv"))
    for where in (tmp_path / "runs", paths):
        assert cells(read(where, **options, **NAMED)) == PLAIN
    with pytest.raises(ReaderError, match=r"en/out.csv.* finds nothing in the path"):
        read(tmp_path, **{**options, "map": [r"language=path:(d.)/out\.csv$"]}, **NAMED)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LONG[:-5], r"table.csv, line 5: 2 cells where the header has 3; the file is cut"),
        (LONG + '3,en,"1', r"line 6: no CSV: .*; a quote is open or the file is cut"),
        (LONG.replace("score", "item"), "the column 'item' stands twice"),
        (LONG + "3,e,n,1\n", "line 6: 4 cells where the header has 3"),
        ("item,language,score\n", "rows|no known format"),
        ('{"item": 1}\n{"item": ', r"line 2: no JSON: .* the file is cut"),
        ('{"item": 1, "item": 2}', "the key 'item' stands twice"),
        ('{"item": ' + "[" * 100_000, "nested too deeply"),
        ('{"item": ' + "1" * 5000 + "}", "4300 digits"),
        ('[{"item": 1}, 5]', "record 2: expected an object, got a number"),
        ('{"item": 1}\n[1]', "line 2: expected an object, got an array"),
    ],
)
def test_broken_files_are_refused_with_their_line(tmp_path, text, said):
    with pytest.raises(HatscoreError, match=said):
        read(put(tmp_path, text), **NAMED)


def test_other_encodings_are_refused(tmp_path):
    text = "item,language,score,name\n1,en,1,Größe\n1,de,1,x\n"
    with pytest.raises(ReaderError, match=r"line 2: byte 0xf6 is not UTF-8"):
        read(put(tmp_path, text, encoding="latin-1"), **NAMED)
    with pytest.raises(HatscoreError):
        read(put(tmp_path, text, encoding="utf-16-le"), **NAMED)


def test_a_damaged_parquet_file_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"item": ["1"], "language": ["en"], "score": [1]}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ReaderError, match="no readable Parquet file"):
        read(path, **NAMED)


def test_a_last_line_without_end_is_told(tmp_path):
    found = read(put(tmp_path, LONG.rstrip("\n")), **NAMED)
    assert any("the last line has no line end" in note for note in found.notes)


def test_replies_longer_than_the_limit_of_the_csv_module(tmp_path):
    long = "so " * 60_000
    text = f"item,language,reply,gold\n1,en,{long}Answer: 5,5\n1,de,6,5\n"
    assert cells(read(put(tmp_path, text), grade="number", **NAMED)) == {
        ("1", "en"): (1, 1),
        ("1", "de"): (1, 0),
    }


# -- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "score"),
    [
        (1, (1, 1)), (0.0, (0, 1)), (True, (1, 1)), ("1", (1, 1)), (" 0 ", (0, 1)),
        ("1.0", (1, 1)), ("0,5", (0.5, 1)), ("0.25", (0.25, 1)), ("1,000", (1, 1)),
        ("TRUE", (1, 1)), ("false", (0, 1)), ("WAHR", (1, 1)), ("Faux", (0, 1)),
        ("C", (1, 1)), ("I", (0, 1)), ("P", (0.5, 1)), ("N", (0, 1)),
        ("7/10", (7, 10)), (" 3 / 4 ", (3, 4)), ("0/0", None),
        ("", None), ("N/A", None), ("NaN", None), (float("nan"), None), (None, None), ("-", None),
        (".5", (0.5, 1)), ("5e-1", (0.5, 1)),
    ],
)  # fmt: skip
def test_scores(cell, score):
    assert to_score(cell) == score


@pytest.mark.parametrize(
    "cell",
    [2, -1, "2", "50", "50%", "inf", "1e999", "4/3", "yes?", "1_0", "١", [1], {}, 10**400, "--1",
     float("inf"), "0.5.5", "1 0", "#REF!", "9" * 5000],
)  # fmt: skip
def test_what_is_no_score(cell):
    with pytest.raises(BadCellError):
        to_score(cell)


def test_counts_and_numbers():
    assert to_count("12.0") == to_count(12.0) == to_count("12") == 12
    assert to_count("n/a") is None
    assert to_number("0,125") == 0.125
    assert to_number("12.125") == 12.125
    for cell in ("1,5", "1.000", "1,000", -1, 10**12, True, "x"):
        with pytest.raises(BadCellError):
            to_count(cell)
    with pytest.raises(BadCellError, match="a decimal or a thousand"):
        to_number("1,234")


def test_names():
    assert to_text("007") == "007"
    assert to_text(7.0) == to_text(7) == "7"
    assert to_text(1.5) == "1.5"
    assert to_text(" a b ") == "a b"
    assert to_text("NA") == "NA"  # Namibia
    assert to_text("N/A") is None
    assert to_text("") is None
    for cell in (True, [1], {}, 2.0**60, float("inf"), "1,23457E+17", "a\x00", "\ud800", 10**400):
        with pytest.raises(BadCellError):
            to_text(cell)


def test_whole_numbers_that_were_floats():
    assert plain_integers(["1.0", "2", None, "13.00"])
    assert not plain_integers(["1", "2"])
    assert not plain_integers(["1.0", "1.5"])
    assert not plain_integers(["1.0", "a"])


def test_twelve_point_zero_joins_twelve(tmp_path):
    text = "item,language,score\n12,en,1\n13,en,0\n12.0,de,1.0\n13.0,de,0.0\n"
    assert set(cells(read(put(tmp_path, text), **NAMED))) == {
        (item, one) for item in ("12", "13") for one in ("en", "de")
    }
    text = "item,language,score\n1.0,en,1\n1.5,en,0\n1.0,de,1\n1.5,de,0\n"
    assert ("1.0", "de") in cells(read(put(tmp_path, text), **NAMED))


@pytest.mark.parametrize("cell", ["", "N/A", "NaN", "null"])
def test_missing_is_not_wrong(tmp_path, cell):
    path = put(tmp_path, LONG.replace("1,de,0", f"1,de,{cell}"))
    with pytest.raises(AlignmentError, match=r"line 3, column score: .* is no result; 1 rows"):
        read(path, **NAMED)
    found = read(path, allow_missing=True, **NAMED)
    assert ("1", "de") not in cells(found)
    assert any("1 rows have no result and are left out" in note for note in found.notes)


def test_a_bad_cell_is_named(tmp_path):
    with pytest.raises(ReaderError, match=r"table.csv, line 3, column score: '7' is no score"):
        read(put(tmp_path, LONG.replace("1,de,0", "1,de,7")), **NAMED)
    with pytest.raises(ReaderError, match=r"line 3, column language: .* missing"):
        read(put(tmp_path, LONG.replace("1,de,0", "1,,0")), **NAMED)


def test_partly_right_is_told(tmp_path):
    found = read(put(tmp_path, LONG.replace("1,de,0", "1,de,0.5")), **NAMED)
    assert cells(found)["1", "de"] == (1, 0.5)
    assert "scores between 0 and 1 count as partly right" in found.notes


# -- columns and maps ----------------------------------------------------------------------------


def test_columns_and_counts(tmp_path):
    text = "q,l,right,of,src\na,en,7,10,en\na,de,3,10,en\nb,de,9,10,de\nb,en,2,5,de\n"
    options = {"columns": "item=q,language=l,k=right,n=of,source=src", "model": "m"}
    found = read(put(tmp_path, text), **options)
    assert cells(found)["b", "en"] == (5, 2)
    assert set(found.frame["source_language"]) == {"en", "de"}
    assert any("nothing names the benchmark" in note for note in found.notes)


def test_wide_tables(tmp_path):
    text = "id,subject,en_ok,de_ok\n1,x,1,0\n2,y,1,1\n"
    found = read(put(tmp_path, text), columns="item=id,score=*_ok,group=subject", **NAMED)
    assert cells(found) == PLAIN
    assert set(found.frame["group"]) == {"x", "y"}
    assert "languages of the columns: en, de" in found.notes
    found = read(put(tmp_path, "item,en,de\n1,1,0\n2,1,1\n"), columns="score=*", **NAMED)
    assert cells(found) == PLAIN
    text = "item,English,German,mean\n1,1,0,0.5\n2,1,1,1\n"
    renamed = {"language": {"English": "en", "German": "de", "mean": ""}}
    assert cells(read(put(tmp_path, text), columns="score=*", map=renamed, **NAMED)) == PLAIN
    with pytest.raises(InputError, match="'English' is no language tag; map it"):
        read(put(tmp_path, text), columns="score=*", **NAMED)


def test_wide_tables_need_every_field_of_every_language(tmp_path):
    text = "item,en_k,en_n,de_k\n1,1,2,1\n"
    with pytest.raises(InputError, match=r"the columns of de lack n \(\*_n\)"):
        read(put(tmp_path, text), columns="k=*_k,n=*_n", **NAMED)
    with pytest.raises(InputError, match="no column fits"):
        read(put(tmp_path, text), columns="score=*_ok", **NAMED)


def test_two_columns_name_an_item(tmp_path):
    text = "a,b,language,score\n1,x,en,1\n1,x,de,0\n1,y,en,1\n1,y,de,1\n"
    found = read(put(tmp_path, text), columns="item=a+b,score=score", **NAMED)
    assert set(found.frame["item"]) == {"1/x", "1/y"}


def test_maps_rename_and_drop(tmp_path):
    text = LONG.replace("en", "English").replace("de", "German") + "1,French,1\n"
    path = put(tmp_path, text)
    found = read(path, map=["language=English:en,German:de,*:"], **NAMED)
    assert cells(found) == PLAIN
    assert "1 rows are left out by map: language French" in found.notes
    with pytest.raises(InputError, match="'en' is none of the table's: English, German, French"):
        read(path, **NAMED)


def test_maps_by_expression(tmp_path):
    text = "task,item,score\nsum_en,1,1\nsum_de,1,0\nsum_en,2,1\nsum_de,2,1\n"
    options = {
        "columns": "language=task,benchmark=task,score=score",
        "map": ["language=re:_(..)$", "benchmark=re:^(.*)_"],
    }
    found = read(put(tmp_path, text), source="en", model="m", **options)
    assert cells(found) == PLAIN
    assert set(found.frame["benchmark"]) == {"sum"}


def test_nested_cells():
    row = {"a": {"b": [{"c": 5}, 7]}, "x.y": 1, "l": []}
    assert get(row, "a.b.0.c") == 5
    assert get(row, "a.b.-1") == 7
    assert get(row, "x.y") == 1
    assert get(row, "l.0") is None
    assert get(row, "a.b.c") is None
    assert get(row, "nothing.at.all") is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": "itm=a"}, "did you mean item"),
        ({"columns": "item"}, "expected field=..., got 'item'"),
        ({"columns": "item=a,item=b"}, "name item twice"),
        ({"columns": "item="}, "lacks the name"),
        ({"columns": "item=itm,score=score"}, "unknown column 'itm': did you mean item"),
        ({"columns": "score=score,k=score"}, "both score and k"),
        ({"columns": "k=score"}, "say of how many"),
        ({"columns": "item=item"}, "which column holds the result"),
        ({"columns": "score=score,n=score"}, "if the score counts right replies"),
        ({"columns": "reply=score"}, "say how: --grade number"),
        ({"columns": "score=score", "grade": "number"}, "needs columns reply=COLUMN,gold=COLUMN"),
        ({"columns": "reply=score,gold=item", "grade": "digits"}, "unknown way to grade 'digits'"),
        ({"columns": "item=@row,score=score"}, "needs a gold in every row"),
        ({"columns": "score=*re,language=language"}, "there is no column of languages"),
        ({"map": ["language=de"]}, "expected path:REGEX, re:REGEX or from:to"),
        ({"map": ["langauge=de:x"]}, "did you mean language"),
        ({"map": ["language=re:("]}, "no regular expression"),
        ({"map": ["language=re:x"]}, "needs a group in parentheses"),
        ({"map": ["language=a:b", "language=c:d"]}, "mapped twice"),
        ({"source": None}, "which language is the source"),
        ({"source": "fr"}, "'fr' is none of the table's: en, de"),
        ({"colums": "a=b"}, "did you mean columns"),
    ],
)
def test_options_that_do_not_fit_say_what_would(tmp_path, options, said):
    with pytest.raises(HatscoreError, match=said):
        read(put(tmp_path, LONG), **{**NAMED, **options})


def test_a_name_is_given_once(tmp_path):
    path = put(tmp_path, LONG.replace("item", "model,item").replace("1,en", "a,1,en"))
    with pytest.raises(HatscoreError):
        read(path, **NAMED)
    text = "model,item,language,score\na,1,en,1\na,1,de,1\n"
    with pytest.raises(InputError, match="model is given as 'm', but the column 'model'"):
        read(put(tmp_path, text), **NAMED)


def test_columns_as_text_and_as_mapping():
    text = parse_columns(r"item=a\,b,score=x y")
    assert text == parse_columns({"item": "a,b", "score": "x y"}) == {"item": "a,b", "score": "x y"}
    assert parse_columns(["item=a", "score=b"]) == {"item": "a", "score": "b"}
    assert parse_columns({"source_language": "s"}) == {"source": "s"}
    assert parse_maps("model=a:b:c")["model"].values == {"a:b": "c"}


# -- replies -------------------------------------------------------------------------------------


def test_replies_are_graded_as_our_own(tmp_path):
    rows = [
        ("1", "en", "The answer is 1,200.", "1200", "stop", None),
        ("1", "de", "Antwort: 1.200", "1200", "stop", None),
        ("2", "en", "<think>hm", "7", "length", None),
        ("2", "de", "", "7", "stop", None),
        ("3", "en", "no idea", "8", "stop", None),
        ("3", "de", None, "8", None, "timeout"),
    ]
    names = ("item", "language", "reply", "gold", "finish", "error")
    lines = "\n".join(json.dumps(dict(zip(names, one, strict=True))) for one in rows)
    found = read(put(tmp_path, lines, "r.jsonl"), grade="number", **NAMED)
    ways = {(r["item"], r["language"]): r for r in found.frame.iter_rows(named=True)}
    assert cells(found)["1", "de"] == (1, 1)
    assert ways["2", "en"]["truncated"] == 1
    assert ways["2", "de"]["empty"] == 1
    assert ways["3", "en"]["unparsed"] == 1
    assert (ways["3", "de"]["error"], ways["3", "de"]["n"]) == (1, 0)
    fewer = read(tmp_path / "r.jsonl", grade="number", count="answered", **NAMED)
    assert cells(fewer) == {("1", "en"): (1, 1), ("1", "de"): (1, 1)}
    assert set(fewer.excluded["item"]) == {"2", "3"}


def test_choices_and_names(tmp_path):
    options = ["cat", "dog", "cow", "ant", "bee"]
    rows = [
        {"item": 1, "language": one, "reply": reply, "gold": "e", "options": options}
        for one, reply in (("en", "Answer: E"), ("de", "Antwort: (C)"))
    ]
    lines = "\n".join(map(json.dumps, rows))
    found = read(put(tmp_path, lines, "c.jsonl"), grade="choice", **NAMED)
    assert cells(found) == {("1", "en"): (1, 1), ("1", "de"): (1, 0)}
    bare = lines.replace('"options"', '"others"')
    with pytest.raises(ReaderError, match="none of the labels A, B, C, D; golds are letters"):
        read(put(tmp_path, bare, "c.jsonl"), grade="choice", **NAMED)
    rows = [
        {"item": 1, "language": "en", "reply": "Europe", "gold": ["Europe"]},
        {"item": 1, "language": "de", "reply": "Auf dem Mars", "gold": '["Europa", "Abendland"]'},
    ]
    found = read(put(tmp_path, json.dumps(rows), "n.json"), grade="name", **NAMED)
    assert cells(found) == {("1", "en"): (1, 1), ("1", "de"): (1, 0)}


def test_golds_that_cannot_be_used_are_refused(tmp_path):
    for gold in ("", "none", None, [1], {"a": 1}):
        row = {"item": 1, "language": "en", "reply": "5", "gold": gold}
        path = put(tmp_path, json.dumps([row, {**row, "language": "de"}]), "g.json")
        with pytest.raises(ReaderError, match=r"record 1, column reply: .*gold|nested value"):
            read(path, grade="number", **NAMED)


def test_no_right_reply_in_the_source_is_told(tmp_path):
    text = "item,language,reply,gold\n1,en,5,6\n1,de,5,6\n"
    found = read(put(tmp_path, text), grade="number", **NAMED)
    assert any("no reply in the source language is right" in note for note in found.notes)


def test_replies_with_broken_characters_are_read(tmp_path):
    text = '{"item": 1, "language": "en", "reply": "\\ud800 Answer: 5", "gold": 5}'
    path = put(tmp_path, text + "\n" + text.replace('"en"', '"de"'), "s.jsonl")
    assert cells(read(path, grade="number", **NAMED))["1", "en"] == (1, 1)


def test_every_eval_ever(tmp_path):
    rows = [
        {
            "schema_version": "0.2.1",
            "evaluation_id": f"sums_{one}/m/1",
            "model_id": "lab/m",
            "evaluation_name": f"sums_{one}",
            "sample_id": f"q{i}",
            "interaction_type": "single_turn",
            "input": {"raw": "1 + 1", "reference": [str(i)]},
            "output": {"raw": [f"Answer: {i if one == 'en' else 0}"]},
            "answer_attribution": [],
            "evaluation": {"score": 1.0, "is_correct": True},
            "token_usage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
        }
        for one in ("en", "de")
        for i in (1, 2)
    ]
    path = put(tmp_path, "\n".join(map(json.dumps, rows)), "x_samples.jsonl")
    with pytest.raises(InputError, match="records no language: say where it is"):
        read(path, source="en")
    maps = ["language=re:_([a-z]{2})$", "benchmark=re:^(.*)_"]
    found = read(tmp_path, source="en", map=maps)
    assert set(found.frame["model"]) == {"lab/m"}
    assert set(found.frame["benchmark"]) == {"sums"}
    assert found.frame["k"].sum() == 4
    assert set(found.frame["input_tokens"]) == {5.0}
    assert read(path, source="en", map=maps, grade="number").frame["k"].sum() == 2


# -- properties ----------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.data())
def test_make_of_the_file_never_matters(tmp_path_factory, data):
    names = st.text(min_size=1, max_size=6).filter(
        lambda t: to_plain(t) is not None and t.isprintable()
    )
    items = data.draw(st.lists(names, min_size=1, max_size=5, unique_by=to_plain))
    rows = [
        {"item": item, "language": one, "score": data.draw(st.sampled_from([0, 1]))}
        for item in items
        for one in ("en", "de")
    ]
    folder = tmp_path_factory.mktemp("make")
    frame = pl.DataFrame(rows)
    frame.write_csv(folder / "a.csv", quote_style="always")
    frame.write_csv(folder / "b.csv", separator=";", include_bom=True)
    frame.write_ndjson(folder / "c.jsonl")
    frame.write_parquet(folder / "d.parquet")
    found = [cells(read(path, **NAMED)) for path in sorted(folder.iterdir())]
    assert found.count(found[0]) == 4
    assert len(found[0]) == len(rows)


def to_plain(text):
    try:
        return to_text(text)
    except BadCellError:
        return None


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=5,
    )
)
def test_any_cell_is_read_or_refused(value):
    for parse in (to_score, to_count, to_number, to_text):
        with contextlib.suppress(BadCellError):
            found = parse(value)
            assert found is None or isinstance(found, int | float | str | tuple)


# -- published logs ------------------------------------------------------------------------------

CLSP = {
    "grade": "number",
    "source": "de",
    "model": "chatgpt",
    "benchmark": "mgsm",
    "map": [r"language=path:([a-z]+)/[a-z]+\.jsonl$", r"repeat=path:([a-z]+)\.jsonl$"],
}


def test_clsp_by_row():
    path = logs("clsp_mgsm_chatgpt")
    found = read(path, columns="item=@row,reply=message.0.content,gold=origin.answer", **CLSP)
    assert found.frame["n"].unique().to_list() == [7]
    scores = measure(found)
    hat = dict(scores.select("language", "hat").iter_rows())
    plug_in = dict(scores.select("language", "hat_plugin").iter_rows())
    known = {
        "es": 1.00, "ru": 0.98, "fr": 0.94, "zh": 0.86, "sw": 0.85, "ja": 0.82, "th": 0.75,
        "bn": 0.67, "te": 0.42,
    }  # fmt: skip
    assert {one: hat[one] for one in known} == pytest.approx(known, abs=0.015)
    assert plug_in["es"] == pytest.approx(0.97, abs=0.015)
    assert plug_in["ru"] == pytest.approx(0.95, abs=0.015)


def test_clsp_by_its_id_is_refused():
    path = logs("clsp_mgsm_chatgpt")
    columns = "item=id,reply=message.0.content,gold=origin.answer"
    with pytest.raises(
        AlignmentError, match=r"share their item .* join by row order \(item=@row\)"
    ):
        read([path / "de", path / "es"], columns=columns, **CLSP)
    with pytest.raises(AlignmentError, match="golds differ"):
        read([path / "de", path / "es"], columns=columns, pool=True, **CLSP)


HELLASWAG = {
    "source": "en",
    "columns": "model=Model,benchmark=Dataset,language=Language,item=@row,score=Correct,"
    "gold=True_Label",
}


def test_hellaswag_refuses_german_and_french_with_rows():
    path = logs("hellaswag6") / "evaluation_results.csv"
    tags = "English:en,Polish:pl,Romanian:ro,Hungarian:hu,German:de,French:fr"
    maps = [f"language={tags}", "benchmark=Global PIQA:"]
    with pytest.raises(AlignmentError) as caught:
        read(path, map=maps, **HELLASWAG)
    said = str(caught.value)
    assert "golds differ from those of en in de, fr: de in 67 of 100 items" in said
    assert "(evaluation_results.csv:812)" in said
    assert "fr in 69 of 100 items" in said
    assert "The golds of pl, ro, hu agree" in said


def test_hellaswag_accepts_the_others():
    path = logs("hellaswag6") / "evaluation_results.csv"
    maps = ["language=English:en,Polish:pl,Romanian:ro,Hungarian:hu,*:", "benchmark=Global PIQA:"]
    found = read(path, map=maps, **HELLASWAG)
    assert found.frame["model"].n_unique() == 8
    assert set(found.frame["language"]) == {"en", "pl", "ro", "hu"}
    assert found.frame.height == 8 * 4 * 100
    assert "1600 rows are left out by map: language German" in found.notes


def test_eclektic():
    columns = "item=q_id,language=target_lang,source=source_lang,score=correct_target"
    found = read(logs("eclektic_gpt4o"), columns=columns, model="gpt-4o", benchmark="eclektic")
    scores = measure(found)
    german = scores.filter(pl.col("language") == "de")
    assert german["source_accuracy"].item() == pytest.approx(31 / 39)
    assert german["n_items"].item() == 39
    assert german["hat_plugin"].item() == german["transfer_score"].item()


def test_crosslingual_qa():
    path = logs("xing_crosslingual_qa") / "gpt35" / "result_timeliness.json"
    options = {
        "columns": "item=head_entity_id+rel_id,reply=*.answer,gold=*.groundTruth",
        "grade": "name",
        "source": "en",
        "model": "gpt35",
        "map": [r"benchmark=path:result_([a-z_]+)\.json$"],
    }
    found = read(path, **options)
    assert found.frame.height == 130 * 12
    assert set(found.frame["benchmark"]) == {"timeliness"}


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean number"):
        read(logs("eclektic_gpt4o"), columns="item=q_id,language=target_lang,reply=a_tgt,gold=q_id",
             grade="numbr", **NAMED)  # fmt: skip
