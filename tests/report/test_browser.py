"""The page in a browser: it works by click and by key, for eyes and screen readers, offline."""

from __future__ import annotations

import json
import math
import re
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from hatscore import Outcomes
from hatscore.report import write_report
from hatscore.report.page_studies import STUDY_ROWS
from hatscore.studies.result import Analysis, Figure, Finding

HOSTILE = "</script><img src=x onerror=alert(1)>"
LANGUAGES = ("de", "fr", "sw", "th", "zh", "ru")


@pytest.fixture(scope="module")
def report(tmp_path_factory, simulate_outcomes):
    """Three models, one of them hostile, on two benchmarks, with statuses and a study."""
    frame = simulate_outcomes(("alpha", "beta", HOSTILE), LANGUAGES, items=30).frame
    unparsed = pl.when(pl.col("language") == "th").then(2).otherwise(0)
    first = frame.with_columns(
        benchmark=pl.lit("maths"),
        unparsed=unparsed.cast(pl.Int64),
        truncated=pl.lit(1, dtype=pl.Int64),
    )
    second = frame.filter(pl.col("language") != "zh").with_columns(benchmark=pl.lit("facts"))
    facts = {"alpha": {"family": "A"}, "beta": {"family": "B"}}
    points = pl.DataFrame(
        {"panel": ["p"] * 3, "series": ["s"] * 3, "x": [1.0, 2.0, 3.0], "label": list("abc"),
         "y": [0.1, 0.2, 0.4], "low": [0.0, 0.1, 0.3], "high": [0.2, 0.3, 0.5]}
    )  # fmt: skip
    study = Analysis(
        "size", "Does it grow?", pl.DataFrame({"value": [0.1, 0.2]}),
        (Finding("shown", "It grows."),), Figure(points, "size", "HAT", lines={"p": (0.1, 0.0)}),
    )  # fmt: skip
    long = pl.DataFrame(
        {"model": [f"m{i}" for i in range(150)], "n": range(950, 1100),
         "value": [math.inf, None, *(-i / 1000 for i in range(148))]}
    )  # fmt: skip
    time = Analysis("time", "Does it age?", long, (Finding("shown", HOSTILE),))
    outcomes = Outcomes.from_frame(pl.concat([first, second], how="diagonal"))
    where = tmp_path_factory.mktemp("report")
    return write_report(outcomes, where, facts=facts, studies=[study, time], formats=())


@pytest.fixture
def opened(visit, report):
    """Open the page, which asks for nothing but itself."""

    def go(fragment="", *, settle=True, **options):
        page = visit(report.as_uri() + fragment, within=report.as_uri(), **options)
        if settle:
            drawn(page)
        return page

    return go


def drawn(page):
    page.locator("html[data-drawn=all]").wait_for(state="attached")


def column(page, table, key):
    heads = page.locator(f"{table} thead th")
    keys = [heads.nth(i).get_attribute("data-key") for i in range(heads.count())]
    return page.locator(f"{table} tbody tr > :nth-child({keys.index(key) + 1})").all_inner_texts()


def scores(page):
    return [float(x.split()[0]) for x in column(page, "#score-table", "hat")]


def choose(page, field, *wanted):
    pick = page.locator(f"details.pick[data-field={field}]")
    pick.locator("summary").click()
    pick.get_by_role("button", name="None").click()
    for value in wanted:
        pick.locator(f"input[value={json.dumps(value)}]").check()
    pick.locator("summary").press("Escape")


def test_a_single_way_of_ending_is_named(opened):
    page = opened("#summary?language=fr")
    chart = page.locator("figure[data-chart=status] svg").text_content()
    assert "truncated" in chart
    assert "unparsed" not in chart


def test_charts_are_drawn_and_nothing_is_loaded(opened):
    page = opened()
    figures = page.locator("figure[data-chart]")
    assert figures.count() == 2 * 3 + 3
    assert page.locator("figure[data-chart] svg").count() == figures.count()
    assert page.locator("figure .empty").count() == 0
    # HAT of every model in every language, macro with it, as filled points
    assert page.locator("figure[data-chart=dots][data-benchmark=maths] svg path").count() > 3 * 7


def test_sorting_by_click_and_by_key(opened):
    page = opened(settle=False)
    head = page.locator("#score-table th[data-key=hat]")
    assert head.get_attribute("aria-sort") is None
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert scores(page) == sorted(scores(page), reverse=True)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert scores(page) == sorted(scores(page))
    language = page.locator("#score-table th[data-key=label]")
    language.get_by_role("button").press("Space")
    assert language.get_attribute("aria-sort") == "ascending"
    assert head.get_attribute("aria-sort") is None
    names = column(page, "#score-table", "label")
    assert names == sorted(names)
    # a table that stands in the source sorts too
    page.locator("#ranking-1 th[data-key=target_accuracy] button").click()
    held = [float(x.split()[0]) for x in column(page, "#ranking-1", "target_accuracy")]
    assert held == sorted(held, reverse=True)


def test_a_long_table_of_a_study_is_drawn_on_demand(opened):
    page = opened(settle=False)
    table = page.locator("#study-time")
    opener = page.locator("details.more").filter(has=table)
    opener.locator("summary").click()
    rows = table.locator("tbody tr")
    assert rows.count() == 60 > STUDY_ROWS
    first = [column(page, "#study-time", key)[:3] for key in ("model", "n", "value")]
    assert first == [["m0", "m1", "m2"], ["950", "951", "952"], ["∞", "–", "0.000"]]
    table.locator("th[data-key=value] button").click()
    assert column(page, "#study-time", "value")[:3] == ["∞", "0.000", "\N{MINUS SIGN}0.001"]
    assert "The first 60 of 150 rows" in opener.inner_text()
    opener.get_by_role("button", name="Show all 150").click()
    assert rows.count() == 150
    assert column(page, "#study-time", "value")[-2:] == ["\N{MINUS SIGN}0.147", "–"]
    assert column(page, "#study-time", "n")[-2:] == ["1,099", "951"]


def test_filters_act_on_tables_and_charts(opened):
    page = opened()
    shown = page.locator("#shown")
    assert "33 of 33 scores shown: 3 models, 6 languages, 2 benchmarks" in shown.inner_text()
    choose(page, "model", "alpha")
    choose(page, "script", "Latn", "Thai")
    drawn(page)
    assert "8 of 33 scores shown: 1 model, 4 languages, 2 benchmarks" in shown.inner_text()
    assert set(column(page, "#score-table", "model")) == {"alpha"}
    assert page.locator("#ranking-1 tbody tr:visible").count() == 1
    assert page.locator("table.heat").first.locator("thead th:visible").count() == 4 + 1
    labels = page.locator("figure[data-chart=dots][data-benchmark=maths] svg").text_content()
    assert "sw · Swahili" in labels
    assert "ru · Russian" not in labels
    # the mean is over all languages: it does not stand beside some of them
    assert "mean over languages" not in labels
    choose(page, "benchmark", "facts")
    drawn(page)
    assert page.locator("figure[data-benchmark=maths]:visible").count() == 0
    page.get_by_role("button", name="Reset").click()
    drawn(page)
    assert "33 of 33" in shown.inner_text()
    assert page.url.endswith("index.html")


def test_scripts_are_called_by_name_and_linked_by_code(opened):
    page = opened()
    choose(page, "script", "Hans")
    drawn(page)
    assert page.locator("details.pick[data-field=script] summary").inner_text() == (
        "Script: Han (Simplified)"
    )
    assert page.url.endswith("?script=Hans")
    assert set(column(page, "#score-table", "script_name")) == {"Han (Simplified)"}
    page.locator("figure[data-chart=dots] svg path[data-language=zh]").last.hover()
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert "Han (Simplified)" in tip.inner_text()


def test_filters_that_leave_nothing_say_so(opened):
    page = opened()
    choose(page, "model")
    drawn(page)
    assert "0 of 33 scores shown" in page.locator("#shown").inner_text()


def test_a_link_shows_the_same(opened):
    page = opened()
    choose(page, "model", "beta", HOSTILE)
    page.locator("#score-table th[data-key=gap] button").click()
    page.locator("#profile-model").select_option("beta")
    page.locator("#profile-language").select_option("sw")
    page.get_by_role("navigation").get_by_role("link", name="Scores").click()
    link = page.url.split("index.html")[1]
    assert link.startswith("#scores?")
    again = opened(link)
    assert again.locator("#shown").inner_text() == page.locator("#shown").inner_text()
    assert again.locator("#score-table th[data-key=gap]").get_attribute("aria-sort") == "descending"
    assert column(again, "#score-table", "gap") == column(page, "#score-table", "gap")
    assert again.locator("#profile-model").input_value() == "beta"
    assert again.locator("#profile-language").input_value() == "sw"
    assert again.locator("#scores").bounding_box()["y"] < 200


def test_languages_are_called_by_their_own_names_on_demand(opened):
    page = opened()
    button = page.get_by_role("button", name="Native names")
    zh = page.locator("table.heat").first.locator("th[data-language=zh]")
    option = page.locator("input[name=language][value=sw] + span")

    def shown():
        drawn(page)
        return {
            "table": set(column(page, "#score-table", "label")),
            "replies": set(column(page, "#status-table", "label")),
            "chart": page.locator("figure[data-chart=dots] svg").first.text_content(),
            "profile": page.locator("figure[data-chart=profiles] svg").text_content(),
            "status": page.locator("figure[data-chart=status] svg").text_content(),
            "title": [zh.get_attribute("title")],
            "filter": option.text_content(),
            "choice": page.locator("#profile-language").text_content(),
        }

    assert button.get_attribute("aria-pressed") == "false"
    english = shown()
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert page.url.endswith("#?names=native")
    native = shown()
    for place in english:
        words = ("sw · Swahili", "sw · Kiswahili")
        if place == "title":
            words = ("zh · Chinese", "zh · 中文")
        assert words[0] in english[place], place
        assert words[1] not in english[place], place
        assert words[1] in native[place], place
        assert words[0] not in native[place], place
    again = opened("#?names=native")
    assert "sw · Kiswahili" in column(again, "#score-table", "label")
    again.get_by_role("button", name="Native names").click()
    assert again.url.endswith("index.html")
    assert "sw · Swahili" in column(again, "#score-table", "label")


BROKEN = ("#?model=nobody&__proto__=x&sort=a.b&profile=%7B", "#nowhere", "#?&&=")


@pytest.mark.parametrize("fragment", BROKEN)
def test_broken_links_are_harmless(opened, fragment):
    page = opened(fragment)
    assert page.locator("html[data-ready=yes]").count() == 1


def test_dark_mode_follows_the_system_and_the_button(opened):
    page = opened(color_scheme="dark")

    def colours():
        drawn(page)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        label = page.locator("figure[data-chart=dots] svg text").first.get_attribute("fill")
        return sum(map(int, re.findall(r"\d+", ground)[:3])), label

    dark = colours()
    assert dark[0] < 150
    button = page.locator("#theme")
    button.click()
    light = colours()
    assert button.inner_text() == "Theme: light"
    assert light[0] > 700
    assert light[1] != dark[1]
    button.click()
    assert colours() == dark


def test_a_phone_scrolls_no_sideways(opened):
    page = opened(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.body.scrollWidth") == 390
    letters = page.locator("figure[data-chart=dots] svg text")
    ends = letters.evaluate_all("all => all.map(x => x.getBoundingClientRect().right)")
    assert max(ends) <= 390
    page.locator("details.pick[data-field=language] summary").click()
    box = page.locator("details.pick[data-field=language] > div").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def test_a_phone_shows_scores_and_whole_charts(opened):
    page = opened(**PHONE)
    cell = page.locator("#score-table td.main").first.bounding_box()
    assert cell["x"] + cell["width"] <= 390
    # what is cut off looks like it
    box = page.locator(".scroll", has=page.locator("#score-table"))
    assert "more-right" in box.get_attribute("class")
    box.evaluate("x => { x.scrollLeft = x.scrollWidth; }")
    page.locator(".more-right", has=page.locator("#score-table")).wait_for(state="detached")
    widths = page.locator("figure svg.marks").evaluate_all(
        "all => all.map(x => [x.closest('figure').dataset.chart, x.getBoundingClientRect().width])"
    )
    assert len(widths) == page.locator("figure[data-chart]").count()
    assert [(kind, w) for kind, w in widths if w > 360] == []
    # numbers on an axis stand apart
    ranking = page.locator("figure[data-chart=ranking] svg .role-axis-label text")
    ends = ranking.evaluate_all(
        """all => all.map(x => x.getBoundingClientRect())
            .filter((x, i) => /^[\\d.]+$/.test(all[i].textContent) && x.width > 0)
            .map(x => [Math.round(x.top), x.left, x.right])"""
    )
    rows = {top: sorted(e[1:] for e in ends if e[0] == top) for top, *_ in ends}
    assert rows
    for row in rows.values():
        assert all(b[0] - a[1] > 3 for a, b in pairwise(row))


def markers(page):
    """Return fill and outline of the marks of each model, by chart."""
    found = page.locator("figure[data-chart] svg path[aria-roledescription=point]").evaluate_all(
        """all => all.map(x => [
            x.closest("figure").dataset.chart, x.__data__.datum.model,
            x.getAttribute("fill"), x.getAttribute("d").replace(/[-\\d.e]+/g, "")])"""
    )
    looks = {}
    for chart, model, fill, shape in found:
        if chart in ("dots", "metrics", "ranking") and fill.startswith("#"):
            looks.setdefault((chart, model), set()).add((fill, shape))
    return looks


def test_a_model_looks_alike_in_all_charts_and_under_every_filter(opened):
    page = opened()
    every = markers(page)
    by_model = {}
    for (_, model), found in every.items():
        by_model.setdefault(model, set()).update(found)
    assert set(by_model) == {"alpha", "beta", HOSTILE}
    assert all(len(found) == 1 for found in by_model.values())
    assert len(set.union(*by_model.values())) == 3
    choose(page, "model", "beta", HOSTILE)
    drawn(page)
    some = markers(page)
    assert {model for _, model in some} == {"beta", HOSTILE}
    assert all(by_model[model] == found for (_, model), found in some.items())


@pytest.fixture(scope="module")
def uneven(tmp_path_factory, simulate_outcomes):
    """Many replies beside one, and a benchmark whose source nobody solves."""
    ten = simulate_outcomes(("ten",), items=40).frame
    one = simulate_outcomes(("one",), items=40, replies=1).frame
    lost = pl.concat([ten, one]).with_columns(benchmark=pl.lit("hard"), k=pl.lit(0.0))
    where = tmp_path_factory.mktemp("uneven")
    return write_report(Outcomes.from_frame(pl.concat([ten, one, lost])), where, formats=())


def test_a_tall_chart_has_its_axis_above_and_below(visit, tmp_path, simulate_outcomes):
    languages = ("ar", "bg", "bn", "de", "el", "es", "fr", "he", "hi", "it", "ja", "ko", "ru")
    path = write_report(simulate_outcomes(languages=languages, items=6), tmp_path, formats=())
    page = visit(path.as_uri(), within=path.as_uri())
    drawn(page)
    numbers = page.locator("figure[data-chart=dots] svg text", has_text=re.compile(r"^0\.4$"))
    assert numbers.count() == 2
    choose(page, "language", "de", "fr")
    drawn(page)
    assert numbers.count() == 1


def test_plugins_are_sorted_behind_corrected_scores(visit, uneven):
    page = visit(uneven.as_uri(), within=uneven.as_uri())
    for table, key in (("#score-table", "hat"), ("#ranking-1", "hat")):
        head = page.locator(f"{table} th[data-key={key}] button")
        for _ in range(2):
            head.click()
            cells = [x.split()[0] for x in column(page, table, key)]
            kinds = [2 if x == "–" else int(x.endswith("†")) for x in cells]
            assert kinds == sorted(kinds)
            assert {0, 1} <= set(kinds)
    dots = page.locator("figure[data-chart=dots][data-benchmark=b]")
    drawn(page)
    assert "hollow with a dashed interval: plug-in" in dots.locator("svg").text_content()
    assert dots.locator("svg line[stroke-dasharray='3,2']").count() > 0
    choose(page, "model", "one")
    drawn(page)
    assert "plug-in HAT with intervals" in dots.locator("svg").text_content()


def test_without_a_score_it_says_so_and_still_leads_on(visit, uneven):
    page = visit(uneven.as_uri(), within=uneven.as_uri())
    drawn(page)
    ranking = page.locator("figure[data-chart=ranking][data-benchmark=hard]")
    assert "No model has a score here" in ranking.inner_text()
    dots = page.locator("figure[data-chart=dots][data-benchmark=hard] svg")
    assert "no score" in dots.text_content()
    dots.locator("path[data-language=de]").first.hover(force=True)
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert "null" not in tip.inner_text()
    assert re.search(r"HAT\s*–", tip.inner_text())
    cell = page.locator("#score-table button.cell[data-benchmark=hard]").first
    assert cell.inner_text() == "–"
    cell.click()
    assert page.locator("#profile-benchmark").input_value() == "hard"
    heat = page.locator("[data-benchmark=hard] table.heat button.cell").first
    assert "no score" in heat.get_attribute("aria-label")


def test_paper_shows_what_is_folded(opened):
    page = opened()
    folded = page.locator("main details:not([open], .numbers)")
    before = folded.count()
    rows = page.locator("#status-table tbody tr")
    few = rows.count()
    assert before > 0
    page.emulate_media(media="print")
    folded.first.wait_for(state="detached")
    assert rows.count() > few
    assert not page.get_by_text("Click a dot to see").first.is_visible()
    page.emulate_media(media="screen")
    folded.first.wait_for(state="attached")
    assert folded.count() == before
    assert rows.count() == few
    assert page.get_by_text("Click a dot to see").first.is_visible()


def test_it_prints_on_a4_with_its_charts(opened):
    from pypdf import PdfReader

    page = opened(color_scheme="dark")
    made = PdfReader(BytesIO(page.pdf(prefer_css_page_size=True)))
    assert [round(float(x)) for x in made.pages[0].mediabox[2:]] in ([595, 842], [596, 842])
    text = " ".join(sheet.extract_text() for sheet in made.pages)
    assert "Cross-lingual transfer of" in text
    assert "mean over languages" in text  # a label of a chart
    assert "Reset" not in text


def test_charts_of_the_dark_page_print_with_dark_letters(opened):
    page = opened(color_scheme="dark")
    label = page.locator("figure[data-chart=dots] svg text").first
    on_screen = label.get_attribute("fill")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert label.get_attribute("fill") == "#222222"
    page.emulate_media(media="screen", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert label.get_attribute("fill") == on_screen != "#222222"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(color_scheme=scheme)
    for part in page.locator("details.more").all():
        part.evaluate("x => { x.open = true; }")
    page.locator("details.pick summary").first.click()
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (x["id"], [n["html"][:200] for n in x["nodes"]][:3])
        for x in found
        if x["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_names_from_outside_stay_text(opened):
    page = opened()
    assert page.locator("img").count() == 0
    assert page.locator("#ranking-1").get_by_text(HOSTILE).count() == 1
    page.locator("#profile-model").select_option(HOSTILE)
    drawn(page)
    # the text that a pointer brings up is made by the charting library
    dot = page.locator("figure[data-chart=ranking] svg path[aria-roledescription=point]").last
    dot.hover()
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert HOSTILE in tip.inner_text() or "alpha" in tip.inner_text() or "beta" in tip.inner_text()
    assert page.locator("img").count() == 0


def test_a_chart_is_saved_as_it_is_shown(opened):
    page = opened()
    figure = page.locator("figure[data-chart=dots][data-benchmark=maths]")
    with page.expect_download() as got:
        figure.get_by_role("button", name="Save SVG").click()
    text = Path(got.value.path()).read_text(encoding="utf-8")
    assert got.value.suggested_filename == "dots-maths.svg"
    assert text.startswith("<svg")
    assert "sw · Swahili" in text
    with page.expect_download() as got:
        figure.get_by_role("button", name="Save PNG").click()
    assert Path(got.value.path()).read_bytes().startswith(b"\x89PNG")


def test_all_is_reached_by_key(opened):
    page = opened(settle=False)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    summary = page.locator("details.pick[data-field=script] summary")
    summary.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert "of 33 scores" in page.locator("#shown").inner_text()
    assert "33 of 33" not in page.locator("#shown").inner_text()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_without_scripts_the_numbers_are_there(opened):
    page = opened(settle=False, java_script_enabled=False)
    assert page.locator("noscript").first.is_visible()
    assert not page.locator("#filters").is_visible()
    assert page.locator("#ranking-1 tbody tr").count() == 3
    assert page.locator("#score-table tbody tr").count() == 33
    assert page.locator("figure:visible").count() == 0
    # and they are the same that the script writes, sign by sign
    with_script = opened(settle=False)
    with_script.locator("html[data-ready=yes]").wait_for(state="attached")
    for table in ("#score-table", "#status-table"):
        rows = f"{table} tbody tr"
        static, drawn_rows = (
            [" ".join(x.split()) for x in p.locator(rows).all_inner_texts()]
            for p in (page, with_script)
        )
        assert static[: len(drawn_rows)] == drawn_rows
        assert len(drawn_rows) >= 30


def test_cells_open_their_items_where_there_are_some(opened):
    """What the script offers to a drill-down: every cell is named, click and Enter call it."""
    page = opened()
    page.evaluate(
        """() => {
            hatscore.hasItems = () => true;
            hatscore.openCell = (...cell) => { document.title = cell.join(' / '); };
            document.querySelector('#reset').click();
        }"""
    )
    for cell in (
        page.locator("#score-table button.cell").nth(2),
        page.locator("table.heat button.cell").nth(4),
    ):
        cell.press("Enter")
        wanted = [cell.get_attribute(f"data-{x}") for x in ("model", "benchmark", "language")]
        assert page.title() == " / ".join(wanted)
    drawn(page)
    dot = page.locator("figure[data-chart=dots] svg path[data-language]").last
    dot.click(force=True)
    assert page.title().split(" / ")[2] in LANGUAGES


def test_a_cell_leads_to_its_profile_where_there_are_no_items(opened):
    page = opened()
    assert page.get_by_text("Click a cell to see the profile behind it.").is_visible()
    page.locator("table.heat").first.locator("button.cell[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    there = page.evaluate("({...document.activeElement.dataset})")
    page.keyboard.press("Enter")
    drawn(page)
    assert page.locator("#profile-model").input_value() == there["model"]
    assert page.locator("#profile-benchmark").input_value() == there["benchmark"]
    assert page.locator("#profile-language").input_value() == there["language"]
    assert page.evaluate("document.activeElement.id") == "profile-language"
    # one cell of a map is in the order of Tab, also when a filter hides it
    choose(page, "language", there["language"])
    reached = page.locator("table.heat").first.locator("button.cell[tabindex='0']")
    assert reached.count() == 1
    assert reached.get_attribute("data-language") == there["language"]
