from __future__ import annotations

import base64
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import hatscore.report
from hatscore import Outcomes
from hatscore.errors import InputError, InsufficientData
from hatscore.report import alarms, write_report
from hatscore.report.text import interval, number, with_interval
from hatscore.scoring import measurements

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Collect elements with their attributes and texts; hold nesting to be right."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.stack, self.cells = [], [], []
        self.feed(text)
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        element = {
            "tag": tag,
            "attrs": dict(attrs),
            "text": "",
            "inside": [x["tag"] for x in self.stack],
        }
        self.elements.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_endtag(self, tag):
        assert self.stack.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.stack:
            element["text"] += data

    def all(self, tag):
        return [x for x in self.elements if x["tag"] == tag]


def words(element):
    return " ".join(element["text"].split())


@pytest.fixture
def page_of(tmp_path):
    def make(outcomes, **options):
        path = write_report(outcomes, tmp_path / "out", **options)
        return Page(path.read_text(encoding="utf-8"))

    return make


def test_structure(simulated, page_of):
    page = page_of(simulated(("m", "n"), error=1))
    assert len(page.all("h1")) == 1
    assert words(page.all("h1")[0]) == "Cross-lingual transfer of m and n on b"
    assert page.all("html")[0]["attrs"]["lang"] == "en"
    assert len(page.all("table")) == 4
    for table in page.all("table"):
        assert "scroll" in str(page.elements[page.elements.index(table) - 1]["attrs"].get("class"))
    assert len(page.all("thead")) == len(page.all("caption")) == 4
    for th in page.all("th"):
        assert th["attrs"]["scope"] == ("col" if "thead" in th["inside"] else "row")
    assert {x["attrs"].get("id") for x in page.all("h2")} >= {"summary", "scores", "method", "cite"}
    for img in page.all("img"):
        assert len(img["attrs"]["alt"]) > 20


def test_the_page_loads_nothing(simulated, page_of):
    page = page_of(simulated())
    assert page.all("script") == page.all("link") == page.all("iframe") == []
    for element in page.elements:
        for name, value in element["attrs"].items():
            assert not name.startswith("on")
            if name in ("src", "srcset", "data", "poster"):
                assert value.startswith("data:image/png;base64,")
            if name == "href":
                assert element["tag"] == "a"
    (style,) = page.all("style")
    assert "url(" not in style["text"]
    assert "@import" not in style["text"]
    for needed in ("prefers-color-scheme: dark", "@media print", "size: A4"):
        assert needed in style["text"]


def test_figures_inside_are_the_files_beside(simulated, page_of, tmp_path):
    page = page_of(simulated(("m", "M/m", "m m")))
    files = {x.name: x.read_bytes() for x in (tmp_path / "out").glob("*.png")}
    inside = [base64.b64decode(x["attrs"]["src"].split(",")[1]) for x in page.all("img")]
    assert sorted(inside) == sorted(files.values())
    assert len(inside) == 1 + 3
    assert {x.name for x in (tmp_path / "out").iterdir()} == {*files, "index.html"}


def test_numbers_are_those_of_measure(simulated, page_of):
    outcomes = simulated(chance=0.25)
    page = page_of(outcomes)
    rows = [words(x) for x in page.all("tr")]
    for m in measurements(outcomes):
        start = "macro average" if m.language == "macro" else m.language
        row = next(x for x in rows if x.startswith(start))
        for name in ("hat", "hat_plugin", "source_accuracy", "target_accuracy", "gap",
                     "transfer_score", "hat_chance_adjusted"):  # fmt: skip
            e = m.scores[name]
            assert f"{number(e.value)} {interval(e)}" in row
        assert number(m.scores["hat"].reliability) in row


def test_the_summary_gives_best_worst_and_mean_with_interval_and_n(simulated, page_of):
    outcomes = simulated(items=40)
    text = words(page_of(outcomes).all("section")[0])
    found = {m.language: m.scores["hat"] for m in measurements(outcomes)}
    assert f"German: {with_interval(found['de'])} (40 items)" in text
    assert f"Swahili: {with_interval(found['sw'])} (40 items)" in text
    assert f"mean over 3 languages is {with_interval(found['macro'])} (40 items)" in text
    assert "overlap" not in text


def test_the_summary_says_when_the_order_is_uncertain(unbounded, page_of):
    text = words(page_of(unbounded()).all("section")[0])
    assert "overlap" in text
    assert "do not bound the score" in text


def test_missing_scores(table, page_of):
    page = page_of(table(("en", 10, 0, {}), ("de", 10, 3, {})))
    text = words(page.all("body")[0])
    assert "No language has a HAT score: no source item was ever solved" in text
    assert "nan" not in text.lower().replace("finance", "")


def test_text_from_outside_is_never_markup(simulated, page_of, tmp_path):
    name = "</script><b>x\"'&<img src=http://h/p onerror=1>"
    page = page_of(simulated((name,), error=1), context={f"S{name}": {f"T{name}": f"D{name}"}})
    raw = (tmp_path / "out" / "index.html").read_text()
    assert "<b>x" not in raw
    assert "&lt;/script&gt;&lt;b&gt;x" in raw
    assert page.all("b") == page.all("script") == []
    assert len(page.all("img")) == 2
    assert words(page.all("h1")[0]) == f"Cross-lingual transfer of {name} on b"
    assert f"D{name}" in [words(x) for x in page.all("dd")]


def test_alarms_notes_and_context_are_shown(simulated, page_of):
    outcomes = simulated(truncated=4)
    context = {"Plan": {"prompt language": "native", "mode": "chat"}}
    page = page_of(outcomes, context=context, confidence=0.9)
    items = [words(x) for x in page.all("li")]
    assert len(alarms(outcomes)) == 4
    for text in alarms(outcomes):
        assert text in items
    assert "Plan" in [words(x) for x in page.all("h3")]
    terms = [words(x) for x in page.all("dt")]
    values = [words(x) for x in page.all("dd")]
    assert values[terms.index("prompt language")] == "native"
    assert values[terms.index("level")] == "90 %"
    assert "12 items in 12 clusters" in values[terms.index("b")]
    assert "10 counted replies per item" in values[terms.index("b")]
    assert "arXiv:2606.21954" in words(page.all("body")[0])


def test_without_alarms_it_says_so(simulated, page_of):
    text = words(page_of(simulated()).all("body")[0])
    assert "here there is none" in text
    assert "Read with care" not in text


def test_several_benchmarks_get_a_dot_plot_each(simulated, page_of, tmp_path):
    one = simulated().frame
    both = pl.concat([one, one.with_columns(benchmark=pl.lit("B"))])
    page = page_of(Outcomes.from_frame(both))
    assert len(page.all("img")) == 4
    # B and b are one file name on some systems
    names = [x.name.lower() for x in (tmp_path / "out").iterdir()]
    assert len(set(names)) == len(names) == 5


def test_a_failed_write_leaves_the_old_page(simulated, tmp_path, monkeypatch):
    path = write_report(simulated(), tmp_path)
    old, names = path.read_text(), {x.name for x in tmp_path.iterdir()}
    replace = Path.replace

    def fails(self, target):
        if Path(target).name == "index.html":
            raise OSError("no room")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="no room"):
        write_report(simulated(items=30), tmp_path)
    assert path.read_text() == old
    assert {x.name for x in tmp_path.iterdir()} == names


def test_wrong_use(simulated, table, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="needs a directory"):
        write_report(simulated(), tmp_path / "file")
    with pytest.raises(InsufficientData, match="nothing to report"):
        write_report(table(("en", 10, 4, {})), tmp_path)
    with pytest.raises(InputError, match="confidence"):
        write_report(simulated(), tmp_path, confidence=2)


def test_importing_the_room_loads_nothing_heavy():
    code = (
        "import sys, hatscore.report as r; assert r.__all__ == sorted(r.__all__); "
        "assert dir(r) == r.__all__; r.render_table; r.to_json; "
        "print([x for x in ('matplotlib', 'jinja2') if x in sys.modules]); "
        "r.hat_dots, r.write_report; print('matplotlib.pyplot' in sys.modules)"
    )
    got = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert got.split("\n")[:2] == ["[]", "False"]


def test_every_public_name_exists():
    for name in hatscore.report.__all__:
        assert callable(getattr(hatscore.report, name))
    with pytest.raises(AttributeError, match="no attribute"):
        _ = hatscore.report.nothing


def test_the_text_is_english_prose_without_template_remains(simulated, page_of):
    text = words(page_of(simulated()).all("body")[0])
    assert not re.search(r"\{\{|\}\}|\{%|None|\bnan\b|Undefined", text)
