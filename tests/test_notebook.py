"""What a notebook gets: pandas frames, and small tables whose text is never markup."""

from __future__ import annotations

import math
import sys
from html.parser import HTMLParser

import pandas as pd
import polars as pl
import pytest

from hatscore import Estimate, Outcomes, hat_score, measure
from hatscore.errors import InputError
from hatscore.outcomes import SCHEMA, to_pandas

NAMES = ["model", "benchmark", "item", "language", "source_language", "n", "k"]


def outcomes(model="m", benchmark="b", items=4):
    rows = [
        (model, benchmark, str(i), language, "en", 10, k)
        for i in range(items)
        for language, k in (("en", 9 - i), ("de", 7 - i))
    ]
    return Outcomes.from_frame(pl.DataFrame(rows, schema=NAMES, orient="row"))


class Tags(HTMLParser):
    """Collect tags and texts, and whether every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.seen, self.open, self.texts = set(), [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_outcomes_become_pandas_and_come_back():
    frame = outcomes().to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(SCHEMA)
    assert frame["n"].dtype.kind == "i"
    assert frame["k"].dtype.kind == "f"
    assert frame["input_tokens"].isna().all()
    again = Outcomes.from_frame(frame)
    assert again.frame.equals(outcomes().frame)


def test_measurements_become_pandas_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    table = measure(outcomes())
    assert isinstance(table, pl.DataFrame)
    frame = to_pandas(table)
    assert list(frame.columns) == table.columns
    assert frame.shape == table.shape
    assert frame["hat"].tolist() == table["hat"].to_list()
    assert frame["language"].tolist() == ["de", "macro"]
    assert math.isnan(frame["curvature_p"].iloc[-1])


def test_without_pandas_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        outcomes().to_pandas()


def test_an_estimate_shows_its_interval():
    estimate = hat_score([10, 8, 7, 5, 3, 9] * 2, 10, [8, 7, 5, 4, 2, 7] * 2, 10)
    assert estimate.bounded
    html = Tags(estimate._repr_html_())
    assert html.open == []
    assert f"{estimate.value:.3f}" in html.texts
    assert f"[{estimate.low:.3f}, {estimate.high:.3f}]" in html.texts
    assert "95 % interval" in html.texts
    assert "12" in html.texts


def test_what_is_missing_or_open_is_no_number():
    lost = Estimate.missing("<b>why</b>", estimator="x", interval="y", confidence=0.9)
    html = Tags(lost._repr_html_())
    assert "\N{EN DASH}" in html.texts
    assert "<b>why</b>" in html.texts
    assert html.seen == {"table", "thead", "tbody", "tr", "th", "td"}
    assert "nan" not in lost._repr_html_()
    wide = Estimate(1.0, -math.inf, math.inf, 1.0, "x", "y", 0.9, 1, 1.0)
    assert "[-\N{INFINITY}, \N{INFINITY}]" in Tags(wide._repr_html_()).texts


def test_outcomes_show_what_is_inside_escaped():
    name = "<script>alert(1)</script>"
    found = outcomes(model=name)
    shown = Outcomes(found.frame, found.excluded, tuple(f"<i>note {i}</i>" for i in range(9)))
    html = Tags(shown._repr_html_())
    assert html.open == []
    assert "script" not in html.seen
    assert "i" not in html.seen
    assert name in html.texts
    for text in ("4", "en", "de", "80", "<i>note 0</i>", "4 more notes, see .notes"):
        assert text in html.texts


def test_a_long_table_is_cut_and_says_so():
    parts = [outcomes(model=f"m{i}").frame for i in range(40)]
    html = Tags(Outcomes.from_frame(pl.concat(parts))._repr_html_())
    assert "10 more rows are not shown" in html.texts
    assert html.texts.count("en") == 30
