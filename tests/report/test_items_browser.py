"""Items in a browser, from disk: source beside target, by click and by key, and nothing acts."""

from __future__ import annotations

import pytest

from hatscore import read
from hatscore.readers.items import Items
from hatscore.report import items as module
from hatscore.report import write_report

ARABIC = "#items?m=lab%2Fm&b=wordmath&l=ar"


@pytest.fixture(scope="module")
def report(request, tmp_path_factory, sampled_run):
    with pytest.MonkeyPatch.context() as patch:
        if getattr(request, "param", "beside") == "beside":
            patch.setattr(module, "EMBED_BYTES", 1000)
            patch.setattr(module, "CHUNK_BYTES", 1500)
        where = tmp_path_factory.mktemp("items")
        return write_report(read(sampled_run), where, formats=(), items=Items([sampled_run]))


@pytest.fixture
def opened(visit, report):
    """Open the page, which asks for nothing outside its folder."""

    def go(fragment="", **options):
        page = visit(report.as_uri() + fragment, within=report.parent.as_uri(), **options)
        page.locator("html[data-ready=yes]").wait_for(state="attached")
        if fragment.startswith(ARABIC):
            page.locator("#drill[open] .items button").first.wait_for()
        return page

    return go


def names(page):
    return page.locator("#drill .items .name").all_inner_texts()


@pytest.mark.parametrize("report", ["beside", "inside"], indirect=True)
def test_a_score_opens_its_items(opened):
    page = opened("#scores")
    page.locator("#score-table button.cell[data-language=ar]").click()
    drill = page.locator("#drill")
    drill.locator(".items button").first.wait_for()
    assert drill.get_by_role("heading", level=2).inner_text() == "Arabic (ar)"
    assert "lab/m · wordmath · HAT" in drill.inner_text()
    assert "6 of 6 items" in drill.inner_text()
    # five items lose a reply that counts; that of the transport error does not count
    assert names(page) == ["1", "2", "3", "4", "5", "0"]
    source, target = drill.locator(".side").all()
    assert "English, the source" in source.inner_text()
    assert "1 + 2 in en?" in source.inner_text()
    assert "s = 4 of 4 replies right = 1.000" in source.inner_text()
    assert "t = 3 of 4 replies right = 0.750" in target.inner_text()
    assert "✓ correct" in target.inner_text()
    assert "3 times the same" in target.inner_text()
    assert "Read as 3: after the cue “الجواب:”." in target.inner_text()
    assert "✗ wrong" in target.inner_text()
    assert target.locator("mark").first.inner_text() == "الجواب: 3"
    question = target.locator(".question")
    assert (question.get_attribute("lang"), question.get_attribute("dir")) == ("ar", "auto")
    target.get_by_text("What was sent").click()
    assert target.locator("details pre").inner_text().startswith("Sum.\n1 + 2 in ar?\nالجواب:")
    # Escape leads back to the page and to the score
    page.keyboard.press("Escape")
    assert not drill.is_visible()
    page.wait_for_url("**#scores")
    # going back takes the focus away for a few milliseconds, before the page gives it back
    page.wait_for_function("document.activeElement.dataset.language === 'ar'")


def test_a_hostile_reply_is_shown_and_does_nothing(opened):
    page = opened(f"{ARABIC}&i=4")
    target = page.locator("#drill .side").nth(1)
    assert "</script><img src=x onerror=alert(1)><!--" in target.inner_text()
    assert page.locator("img").count() == 0


def test_filters_search_and_order(opened):
    page = opened(ARABIC)
    status = page.get_by_label("Items with a target reply that ended so")
    status.select_option("error")
    assert names(page) == ["0"]
    target = page.locator("#drill .side").nth(1)
    assert "does not count" in target.inner_text()
    assert "No reply came: HTTP 500." in target.inner_text()
    assert "s=error" in page.url
    again = opened(page.url.split("index.html")[1])
    assert names(again) == ["0"]
    status.select_option("")
    page.get_by_label("Order of the items").select_option("item")
    assert names(page) == list("012345")
    page.get_by_label("Search questions").fill("so 1 AND")
    page.get_by_text("1 of 6 items").wait_for()
    assert names(page) == ["3"]
    page.get_by_label("Search questions").fill("nowhere")
    page.get_by_text("No item passes the filter.").wait_for()


def test_all_is_reached_by_key(opened):
    page = opened(f"{ARABIC}&o=item&i=0")
    current = page.locator("#drill [aria-current] .name")
    assert page.evaluate("document.activeElement.querySelector('.name')?.textContent") == "0"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    assert current.inner_text() == "2"
    assert "i=2" in page.url
    page.keyboard.press("End")
    assert current.inner_text() == "5"
    page.keyboard.press("k")
    page.keyboard.press("/")
    page.keyboard.type("2 in")
    page.get_by_text("6 of 6 items").wait_for()
    assert current.inner_text() == "4"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert not page.locator("#drill").is_visible()
    page.wait_for_url("**/index.html")


def test_back_closes_and_a_link_opens(opened):
    page = opened()
    page.evaluate("hatscore.openCell('lab/m', 'wordmath', 'sw')")
    page.locator("#drill[open] .items button").first.wait_for()
    page.go_back()
    page.locator("#drill").wait_for(state="hidden")
    page.go_forward()
    page.locator("#drill[open]").wait_for()
    for broken in ("#items?b=x&l=__proto__&m=no", "#items?", "#items?m=%25"):
        opened(broken)


def test_a_page_of_one_model_shows_the_way_to_its_items(opened):
    """Such a page has no map: the table and the dots are the way in, and look like it."""
    page = opened("#scores")
    page.locator("html[data-drawn=all]").wait_for(state="attached")
    assert page.locator("table.heat").count() == 0
    for said in (
        "Every score, and every dash in its place, opens the questions and replies behind it.",
        "Click a dot to see the questions and replies behind it.",
        "Click a score, or the dash that stands for none, to see the questions and replies behind",
    ):
        assert page.locator("main p", has_text=said).is_visible(), said
    value = page.locator("#score-table button.cell[data-language=ar] .value")
    assert value.evaluate("x => getComputedStyle(x).textDecorationLine") == "underline"
    plain = page.locator("#score-table td.score").first
    colour = "x => getComputedStyle(x).color"
    assert value.evaluate(colour) != plain.evaluate(colour)
    # the interval is a wider target than its dot
    line = page.locator("figure[data-chart=dots] svg line[data-language=ar]").first
    assert line.evaluate("x => getComputedStyle(x).cursor") == "pointer"
    line.click(force=True)
    page.locator("#drill[open] .items button").first.wait_for()
    assert page.locator("#drill h2").inner_text() == "Arabic (ar)"


def test_the_way_replies_ended_opens_them_too(opened):
    page = opened("#replies")
    rows = page.locator("#status-table tbody tr")
    assert rows.count() == 3
    # the source is shown beside each target
    assert rows.locator("button.cell").count() == 2
    rows.locator("button.cell[data-language=sw]").click()
    page.locator("#drill[open] .items button").first.wait_for()
    assert page.locator("#drill h2").inner_text() == "Swahili (sw)"


def test_a_score_without_texts_says_so(opened):
    page = opened("#items?b=x&l=de&m=no")
    page.get_by_text("No texts are held for this score.").wait_for()


def test_a_phone_shows_one_thing_at_a_time(opened):
    page = opened(ARABIC, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    drill = page.locator("#drill")
    assert not drill.locator(".item").is_visible()
    drill.locator(".items button").nth(1).click()
    assert drill.locator(".of-t").is_visible()
    assert not drill.locator(".of-s").is_visible()
    drill.get_by_role("button", name="English", exact=True).click()
    assert drill.locator(".of-s").is_visible()
    boxes = page.evaluate(
        "[...document.querySelectorAll('#drill *')].map(x => x.getBoundingClientRect().right)"
    )
    assert max(boxes) <= 390
    drill.get_by_role("button", name="All items").click()
    assert drill.locator(".items").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(ARABIC, color_scheme=scheme)
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (x["id"], [n["html"][:200] for n in x["nodes"]][:3])
        for x in found
        if x["impact"] in ("serious", "critical")
    ]
    assert serious == []
