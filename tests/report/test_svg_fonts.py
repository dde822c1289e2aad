"""A figure's SVG holds every letter that it shows, in fonts that browsers take."""

from __future__ import annotations

import base64
import io
import re
import warnings
from html import unescape
from xml.etree import ElementTree as ET

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from pypdf import PdfReader

from hatscore import cli
from hatscore.report import charts, drawing, fonts, svg_fonts, typeface
from hatscore.report.drawing import save_chart, use_fonts
from hatscore.report.fonts import face_with
from hatscore.report.rows import score_rows
from hatscore.report.svg_fonts import dressed, embedded
from hatscore.scoring import measurements

RULE = re.compile(
    r'@font-face\{font-family:"([^"]+)";font-weight:(\d+);'
    r"src:url\(data:font/woff;base64,([A-Za-z0-9+/=]+)\)format\('woff'\)\}"
)
CJK = "中文模型"


@pytest.fixture(autouse=True)
def _no_system(monkeypatch):
    """A machine without fonts."""
    monkeypatch.setattr(drawing, "_own_fonts", [])
    monkeypatch.setattr(fonts, "_SYSTEM", ())


@pytest.fixture
def make_font(tmp_path):
    """Write a font in which every letter of a text is a square."""

    def make(name, letters, *, weight=400, embedding=0, upright=True, upem=1000):
        builder = FontBuilder(upem)
        glyphs = [".notdef", *(f"u{ord(c):04X}" for c in letters)]
        pen = TTGlyphPen(None)
        for i, point in enumerate([(50, 0), (50, upem // 2), (450, upem // 2), (450, 0)]):
            (pen.lineTo if i else pen.moveTo)(point)
        pen.closePath()
        square = pen.glyph()
        builder.setupGlyphOrder(glyphs)
        builder.setupCharacterMap(dict(zip(map(ord, letters), glyphs[1:], strict=True)))
        builder.setupGlyf(dict.fromkeys(glyphs, square))
        builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (500, 50)))
        builder.setupHorizontalHeader(ascent=800, descent=-200)
        builder.setupNameTable({"familyName": name, "styleName": "Regular", "psName": name})
        builder.setupOS2(
            usWeightClass=weight, fsType=embedding, fsSelection=0x40 if upright else 0x01
        )
        builder.setupPost()
        directory = tmp_path / "fonts"
        directory.mkdir(exist_ok=True)
        builder.save(directory / f"{name}.ttf")
        return directory

    yield make
    fonts._faces.cache_clear()


def chart_of(outcomes, **options):
    return charts.hat_dots(score_rows(measurements(outcomes)), **options)


def svg_of(chart, directory):
    (path,) = save_chart(chart, directory / "chart", ("svg",))
    return path.read_text(encoding="utf-8")


def texts_of(drawn):
    """Families, weight and words of every text, by a reader of XML and not by ours."""
    for text in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314 - ours
        families = [f.strip() for f in text.get("font-family").split(",")]
        weight = 700 if text.get("font-weight") == "bold" else 400
        yield families, weight, "".join(text.itertext())


def rules_of(drawn):
    return {
        (family, int(weight)): TTFont(io.BytesIO(base64.b64decode(data)))
        for family, weight, data in RULE.findall(drawn)
    }


def lacking(drawn):
    """Letters of texts that no font inside has, of those that the text names."""
    rules = rules_of(drawn)
    return {
        c
        for families, weight, words in texts_of(drawn)
        for c in words
        if not any(
            ord(c) in rules[f, weight].getBestCmap() for f in families if (f, weight) in rules
        )
    }


def text(words, *, weight="normal", family=typeface.FAMILY):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"><text font-family="{family}, serif" '
        f'font-weight="{weight}">{words}</text></svg>'
    )


def test_every_letter_of_a_figure_is_inside(simulated, tmp_path):
    outcomes = simulated(("m", "Ünïcode Ωmega <&> 5²"), ("de", "ru", "vi", "he", "yo"))
    rows = score_rows(measurements(outcomes))
    for chart in (
        charts.hat_dots(rows, native=True),
        charts.heat_map(rows),
        charts.metrics_beside(rows),
    ):
        drawn = svg_of(chart, tmp_path)
        assert drawn.count("<style>") == 1
        used = {(families[0], weight) for families, weight, words in texts_of(drawn) if words}
        assert used == set(rules_of(drawn)) == {(typeface.FAMILY, w) for w in (400, 700)}
        assert lacking(drawn) == set()
        assert len(RULE.search(drawn)[0]) < 12_000
    assert "Tiếng Việt" in svg_of(charts.hat_dots(rows, native=True), tmp_path)  # it stays text


def test_a_weight_holds_its_own_letters_alone():
    drawn = text("Ab").replace("</svg>", text("Xy &amp;", weight="bold").partition(">")[2])
    rules = rules_of(embedded(drawn))
    assert {w: set(map(chr, f.getBestCmap())) for (_, w), f in rules.items()} == {
        400: set("Ab"),
        700: set("Xy &"),
    }
    assert rules[typeface.FAMILY, 700]["OS/2"].usWeightClass == 700


def test_text_of_another_family_is_left_alone():
    drawn = text("Ab 中", family="Courier")
    assert dressed(drawn) == (drawn, [], "")
    assert embedded(drawn) == drawn


def test_files_do_not_depend_on_the_fonts_of_the_machine(simulated, tmp_path):
    chart = chart_of(simulated(languages=("de", "ru")))
    (path,) = save_chart(chart, tmp_path / "chart", ("pdf",))
    names = set(re.findall(rb"/FontName\s*/[A-Z]{6}\+([^\s/]+)", path.read_bytes()))
    assert names == {b"Arimohatscore-Regular", b"Arimohatscore-Bold"}


def test_words_in_other_letters_get_a_font_that_has_them(simulated, make_font, tmp_path):
    letters = use_fonts(make_font("HanSans", CJK, upem=2000))
    assert letters == set(map(ord, CJK))
    chart = chart_of(simulated(("模型 & m", "n")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = svg_of(chart, tmp_path)
    others = {f for f, _ in rules_of(drawn)} - {typeface.FAMILY}
    assert [re.sub(r"-[0-9a-f]{8}$", "", f) for f in others] == ["hatscore-HanSans"]
    assert lacking(drawn) == set()
    assert "模型 &amp; m" in drawn
    # PDF and PNG take the same font
    (path,) = save_chart(chart, tmp_path / "chart", ("pdf",))
    assert others.pop().encode() in path.read_bytes()
    assert "模型" in PdfReader(path).pages[0].extract_text()


def test_a_joined_font_does_not_know_the_day(make_font, monkeypatch):
    own = (make_font("HanSans", CJK),)
    made = []
    for second in ("1000000000", "1700000000"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", second)
        svg_fonts._cut_of.cache_clear()
        svg, cuts, _ = dressed(text("zh · 中文"), own)
        made.append(embedded(svg, cuts))
    assert made[0] == made[1]


def test_two_scripts_in_a_text_have_a_font_each(make_font):
    make_font("HanSans", "中文")
    own = (make_font("ThaiSans", "ไทย"),)
    svg, cuts, missing = dressed(text("中ไ\u200dท a €ក"), own)
    assert sorted(c.family[:15] for c in cuts) == ["hatscore-HanSan", "hatscore-ThaiSa"]
    assert missing == "ក"
    assert lacking(embedded(svg, cuts)) <= {"ក", "\u200d"}
    assert unescape(re.search(r"<text[^>]*>(.*)</text>", svg)[1]) == "中ไ\u200dท a €ក"


def test_letters_that_no_font_has_are_named_once(simulated, tmp_path):
    chart = chart_of(simulated(("模型", "n")))
    with pytest.warns(UserWarning, match="no font for '型模'") as told:
        save_chart(chart, tmp_path / "chart", ("svg", "png"))
    assert len(told) == 1
    assert told[0].filename == __file__
    assert lacking((tmp_path / "chart.svg").read_text(encoding="utf-8")) == set("模型")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_chart(chart, tmp_path / "chart", ("png",))


def test_the_best_font_has_the_weight_and_stands_upright(make_font):
    make_font("B", CJK, weight=700)
    make_font("ASlanted", CJK, upright=False)
    make_font("Serif", CJK, weight=300)
    make_font("SmallSans", "中", weight=900)
    own = (make_font("BigSansMono", CJK + "x", weight=900),)

    def best(letters, weight=400):
        found = face_with(map(ord, letters), weight, own)
        return found and found.path.stem

    assert best("中", 100) == "SmallSans"
    assert best("中文") == "Serif"
    assert best("中文", 600) == "B"
    assert best("x中") == "BigSansMono"
    assert best("ไ") is None


@pytest.mark.parametrize("embedding", [0x0002, 0x0100, 0x0200])
def test_a_font_that_may_not_be_embedded_is_not(make_font, embedding):
    own = (make_font("ClosedSans", CJK, embedding=embedding),)
    assert face_with(map(ord, CJK), 400, own) is None
    svg, cuts, missing = dressed(text(CJK), own)
    assert (cuts, missing) == ([], "".join(sorted(CJK)))
    assert svg == text(CJK)


def test_a_broken_font_is_passed_over(make_font):
    directory = make_font("HanSans", CJK)
    (directory / "a.ttf").write_text("no font", encoding="utf-8")
    (directory / "b.otf").write_bytes((directory / "HanSans.ttf").read_bytes()[:200])
    assert face_with(map(ord, CJK), 400, (directory,)).path.stem == "HanSans"


def test_a_chart_that_loads_a_picture_is_refused(tmp_path):
    picture = {
        "data": {"values": [{"u": "data:image/png;base64,iVBORw0KGgo="}]},
        "mark": {"type": "image", "width": 9, "height": 9},
        "encoding": {"url": {"field": "u"}},
    }
    with pytest.raises(drawing.InputError, match="loads a picture"):
        save_chart(picture, tmp_path / "x", ("png",))


def test_a_browser_takes_the_fonts(simulated, visit, make_font, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "_own_fonts", [make_font("HanSans", CJK)])
    (path,) = save_chart(chart_of(simulated(("模型 m", "n"))), tmp_path / "chart", ("svg",))
    page = visit(path.as_uri(), within=path.as_uri())
    page.wait_for_function("document.fonts.status === 'loaded'")
    found = page.evaluate("[...document.fonts].map(f => f.status)")
    assert found == ["loaded"] * 3
    # a square is half as wide as it is high; fonts of systems draw these letters as wide as high
    wide = page.evaluate(
        "[...document.querySelectorAll('text')].filter(t => t.textContent === '模型 m')"
        ".map(t => t.getSubStringLength(0, 2) / parseFloat(t.getAttribute('font-size')))"
    )
    assert wide == [pytest.approx(1, abs=0.01)]


@pytest.mark.filterwarnings("default")
def test_the_command_line_says_it_as_a_sentence(monkeypatch, capsys):
    def warn(**_):
        warnings.warn("no font for 'x'", stacklevel=2)
        warnings.warn("of a library", RuntimeWarning, stacklevel=2)

    monkeypatch.setattr(cli.cli, "main", warn)
    with pytest.raises(SystemExit):
        cli.main([])
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "Warning: no font for 'x'"
    assert "RuntimeWarning: of a library" in told[1]
