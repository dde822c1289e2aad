from __future__ import annotations

import io
import json
import math
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore import Outcomes, __version__, measure
from hatscore.cli import main
from hatscore.report import to_csv, to_json, to_latex, to_markdown
from hatscore.report.text import number
from hatscore.scoring import MEASURE_COLUMNS, measurements


def as_json(outcomes):
    return json.loads(to_json(measurements(outcomes), outcomes), parse_constant=pytest.fail)


def test_json_rows_are_those_of_measure(simulated):
    outcomes = simulated(("m", "n"), output_tokens=4.0)
    got = as_json(outcomes)
    assert got["hatscore"] == __version__
    assert got["schema"] == 1
    assert got["method"] == {
        "estimator": "corrected",
        "interval": "fieller",
        "macro_interval": "fieller",
        "confidence": 0.95,
    }
    want = measure(outcomes).rows(named=True)
    assert len(got["results"]) == len(want)
    for row, expected in zip(got["results"], want, strict=True):
        assert tuple(row) == MEASURE_COLUMNS
        for column, value in expected.items():
            if isinstance(value, float) and math.isnan(value):
                assert row[column] is None
            else:
                assert row[column] == value  # bit by bit
    assert [row["language"] for row in got["status_shares"]][:2] == ["en", "de"]
    assert got["status_shares"][0]["output_tokens"] == 4.0
    assert got["alarms"] == []


def test_json_is_one_pure_ascii_document(simulated):
    outcomes = simulated(("模型 \x1b[1m",), error=1)
    text = to_json(measurements(outcomes), outcomes)
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text)["results"][0]["model"] == "模型 \x1b[1m"
    assert len(json.loads(text)["alarms"]) == 1


def test_json_marks_what_is_unbounded(simulated, unbounded):
    rows = as_json(unbounded())["results"]
    (de,) = [r for r in rows if r["language"] == "de"]
    assert de["unbounded"] is True
    assert de["hat"] is not None
    assert de["hat_low"] is None or de["hat_high"] is None
    assert "unbounded" not in as_json(simulated())["results"][0]


def test_json_without_a_score(table):
    got = as_json(table(("en", 10, 0, {}), ("de", 10, 3, {})))
    assert got["results"][0]["hat"] is None
    assert "ever solved" in got["results"][0]["reason"]
    assert as_json(table(("en", 10, 0, {})))["results"] == []


def test_json_names_the_plugin_where_it_is_all_there_is(simulated):
    assert as_json(simulated(replies=1, items=30))["method"]["estimator"] == "plugin"


def test_csv_reads_back(unbounded):
    frame = measure(unbounded())
    back = pl.read_csv(io.StringIO(to_csv(frame)))
    assert back.columns == frame.columns
    assert back["hat"].to_list() == frame["hat"].to_list()
    assert back["hat_low"].to_list() == frame["hat_low"].to_list()  # with infinities
    assert back["hat_chance_adjusted"].null_count() == frame.height
    assert "NaN" not in to_csv(frame)


def frame_of(**more):
    columns = {"model": ["m"], "hat": [0.84249], "hat_low": [0.8], "hat_high": [math.inf]}
    return pl.DataFrame({**columns, "hat_se": [0.1], "empty": [math.nan], **more})


def test_markdown_merges_intervals_and_drops_empty_columns():
    assert to_markdown(frame_of(count=[3])).splitlines() == [
        "| model | HAT | count |",
        "| --- | ---: | ---: |",
        "| m | 0.842 [0.800, ∞] | 3 |",
    ]


def test_latex_merges_intervals_and_sets_macro_off():
    frame = pl.DataFrame(
        {"language": ["de", "macro"], "gap": [-0.25, math.nan], "gap_low": [-math.inf, math.nan],
         "gap_high": [0.5, math.nan]}
    )  # fmt: skip
    assert to_latex(frame).splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"language & gap \\",
        r"\midrule",
        r"de & $-0.250$ [$-\infty$, 0.500] \\",
        r"\addlinespace",
        r"macro & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_latex_has_what_a_paper_has_room_for(simulated):
    frame = measure(simulated())
    lines = to_latex(frame).splitlines()
    assert lines[0] == "% model m, benchmark b"
    assert lines[1:4] == [
        r"\begin{tabular}{lrrrr}", r"\toprule", r"language & HAT & source & target & n \\",
    ]  # fmt: skip
    row = frame.row(0, named=True)
    ends = f"[{number(row['hat_low'])}, {number(row['hat_high'])}]"
    rates = f"{number(row['source_accuracy'])} & {number(row['target_accuracy'])}"
    assert lines[5] == rf"de & {number(row['hat'])} {ends} & {rates} & 12 \\"
    whole = to_latex(frame, every_column=True)
    assert "reliability" in whole
    assert "plug-in" not in lines[3]


def test_the_command_prints_latex_with_few_columns_and_with_all(simulated, tmp_path, capsys):
    simulated().write_parquet(tmp_path / "o.parquet")

    def printed(*more):
        with pytest.raises(SystemExit) as end:
            main(["score", str(tmp_path / "o.parquet"), *more])
        return end.value.code, capsys.readouterr()

    few = printed("--format", "latex")[1].out
    whole = printed("--format", "latex", "--every-column")[1].out
    assert few == to_latex(measure(simulated()))
    assert whole == to_latex(measure(simulated()), every_column=True)
    code, streams = printed("--every-column")
    assert code == 2
    assert "for --format latex" in streams.err


def test_latex_names_models_where_there_are_several(simulated):
    lines = to_latex(measure(simulated(("m", "n")))).splitlines()
    assert lines[0] == "% benchmark b"
    assert lines[3].startswith("model & language & HAT &")


def test_latex_keeps_slopes_of_two_kinds_apart_and_says_why(simulated):
    one = simulated(("one",), replies=1)
    lines = to_latex(measure(one)).splitlines()
    assert r"language & plug-in HAT & source & target & n \\" in lines
    assert any(line.startswith("% de, fr, sw, macro: one source reply") for line in lines)
    both = Outcomes.from_frame(pl.concat([one.frame, simulated(("ten",)).frame]))
    assert r"model & language & HAT & plug-in HAT & source & target & n \\" in to_latex(
        measure(both)
    )


def test_markdown_escapes():
    text = to_markdown(frame_of(model=["a|b\n*c*_d_<e>`[f](g)\\"])).splitlines()[2]
    assert text.startswith(r"| a\|b \*c\*\_d\_\<e\>\`\[f\](g)\\ |")


def test_latex_escapes():
    text = to_latex(frame_of(model=["a_b & 5% $x$ {y} ~^#\\ gpt-4"]))
    assert (
        r"a\_b \& 5\% \$x\$ \{y\} \textasciitilde{}\textasciicircum{}\#\textbackslash{} gpt-4 &"
        in text
    )


@pytest.mark.parametrize("name", ["[x]", "*x"])
def test_latex_rows_do_not_start_an_argument(name):
    assert "\n{}" + name in to_latex(frame_of(model=[name]))


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.text(min_size=1))
def test_no_text_breaks_a_row(text):
    frame = pl.DataFrame({"model": [text], "n": [1]})
    lines = to_markdown(frame).splitlines()
    assert len(lines) == 3
    bars = lines[2].replace("\\\\", "").replace("\\|", "").count("|")
    assert bars == lines[1].count("|")
    latex = to_latex(frame)
    assert latex.count("\\\\") == 2  # one for the header, one for the row
    (row,) = latex.splitlines()[4:-2]
    bare = re.sub(r"\\[&{}]", "", row)
    assert bare.count("&") == 1
    assert bare.count("{") == bare.count("}")
    assert lines[2].isprintable()
    assert row.isprintable()


def test_the_whole_table_of_measure_can_be_written(simulated):
    frame = measure(simulated(chance=0.25))
    assert len(to_markdown(frame).splitlines()) == 2 + frame.height
    assert to_latex(frame, every_column=True).count(r"\\") == 1 + frame.height
