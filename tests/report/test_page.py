from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hatscore.report
from hatscore import Outcomes
from hatscore.errors import InputError, InsufficientData
from hatscore.report import alarms, write_report
from hatscore.report.page_embed import as_data
from hatscore.report.page_studies import STUDY_ROWS
from hatscore.report.page_tables import STATIC_ROWS
from hatscore.report.page_type import signed, typesetter
from hatscore.report.page_words import disagreement, overview, summary
from hatscore.report.rows import unpacked
from hatscore.report.rows_rank import rank_rows
from hatscore.report.text import interval, number, with_interval
from hatscore.scoring import measurements
from hatscore.studies.result import Analysis, Figure, Finding

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
        path = write_report(outcomes, tmp_path / "out", **{"formats": (), **options})
        return Page(path.read_text(encoding="utf-8"))

    return make


def embedded(page):
    (held,) = [x for x in page.all("script") if x["attrs"].get("type") == "application/json"]
    return json.loads(held["text"])


def body(page):
    return words(page.all("header")[0]) + " " + words(page.all("main")[0])


def test_structure(simulated, page_of):
    page = page_of(simulated(("m", "n"), error=1))
    assert len(page.all("h1")) == len(page.all("main")) == len(page.all("nav")) == 1
    assert words(page.all("h1")[0]) == "Cross-lingual transfer of m and n on b"
    assert page.all("html")[0]["attrs"]["lang"] == "en"
    # ranking, map, scores, statuses
    assert len(page.all("table")) == 4
    for table in page.all("table"):
        around = page.elements[page.elements.index(table) - 1]["attrs"]
        assert around["class"] == "scroll"
        assert around["aria-label"]
    assert len(page.all("thead")) == len(page.all("caption")) == 4
    for th in page.all("th"):
        assert th["attrs"]["scope"] == ("col" if "thead" in th["inside"] else "row")
    ids = [x["attrs"]["id"] for x in page.elements if "id" in x["attrs"]]
    assert len(ids) == len(set(ids))
    links = [x["attrs"]["href"] for x in page.all("a") if x["attrs"]["href"].startswith("#")]
    assert {x.removeprefix("#") for x in links} <= set(ids)
    for x in page.all("figure"):
        assert "hidden" in x["attrs"]  # drawn by the script, and only then shown


def test_the_page_loads_nothing(simulated, page_of):
    page = page_of(simulated())
    assert page.all("link") == page.all("iframe") == page.all("img") == []
    for element in page.elements:
        for name in element["attrs"]:
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "data", "poster", "style")
            if name == "href":
                assert element["tag"] == "a"
    (style,) = page.all("style")
    assert "url(" not in style["text"]
    assert "@import" not in style["text"]
    for needed in ("prefers-color-scheme: dark", "@media print", "size: A4"):
        assert needed in style["text"]


def test_the_policy_lets_exactly_these_scripts_and_styles_act(simulated, page_of):
    page = page_of(simulated())
    (policy,) = [x["attrs"]["content"] for x in page.all("meta") if "http-equiv" in x["attrs"]]
    rules = dict(part.split(" ", 1) for part in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in policy
    code = [x["text"] for x in page.all("script") if "type" not in x["attrs"]]
    assert len(code) == 2
    for kind, texts in (
        ("script-src", code),
        ("style-src", [x["text"] for x in page.all("style")]),
    ):
        digests = [base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() for x in texts]
        assert rules[kind].split() == [f"'sha256-{d}'" for d in digests]


def test_the_charting_library_is_there_once(simulated, page_of, tmp_path):
    page_of(simulated())
    raw = (tmp_path / "out" / "index.html").read_text()
    assert raw.count("window.vegaEmbed=") == 1
    assert len(raw) < 1_500_000


def test_files_beside_the_page(simulated, tmp_path):
    both = pl.concat([x := simulated(("m", "M")).frame, x.with_columns(benchmark=pl.lit("B"))])
    write_report(Outcomes.from_frame(both), tmp_path, formats=("svg",))
    names = sorted(x.name for x in tmp_path.iterdir())
    kinds = ("hat", "map", "metrics", "ranking")
    # B and b are one file name on some systems; profiles of four blocks stay on the page
    assert names == sorted([f"{k}-{b}.svg" for k in kinds for b in ("b", "B-2")] + ["index.html"])


def test_few_profiles_are_drawn_as_files(simulated, tmp_path):
    write_report(simulated(("M/m",)), tmp_path)
    assert sorted(x.name for x in tmp_path.iterdir()) == [
        "hat-b.png", "index.html", "metrics-b.png", "profile-M-m-b.png",
    ]  # fmt: skip


def test_numbers_are_those_of_measure(simulated, page_of):
    outcomes = simulated(chance=0.25)
    page = page_of(outcomes)
    rows = [words(x) for x in page.all("tr")]
    held = {(r["model"], r["language"]): r for r in unpacked(embedded(page)["scores"])}
    for m in measurements(outcomes):
        start = "m " if m.language == "macro" else f"{m.language} \u00b7"
        row = next(x for x in rows if x.startswith(start) and "[" in x)
        for name in ("hat", "hat_plugin", "source_accuracy", "target_accuracy", "gap",
                     "transfer_score", "hat_chance_adjusted"):  # fmt: skip
            e = m.scores[name]
            assert signed(f"{number(e.value)} {interval(e)}") in row
            assert held[m.model, m.language][name] == pytest.approx(e.value, abs=1e-5)
            assert held[m.model, m.language][f"{name}_low"] == pytest.approx(e.low, abs=1e-5)
        assert number(m.scores["hat"].reliability) in row


@given(st.recursive(st.text() | st.none() | st.integers(), lambda x: st.lists(x, max_size=3)))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_embedded_data_hold_no_markup_and_lose_nothing(value):
    text = str(as_data(value))
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


def test_embedded_data_are_json():
    with pytest.raises(ValueError, match="JSON"):
        as_data(float("nan"))


def test_the_overview_names_leaders_and_languages(simulate_outcomes):
    first = simulate_outcomes(("good",), items=200).frame
    weak = first.with_columns(
        model=pl.lit("weak"),
        k=pl.when(pl.col("language") == "en").then(pl.col("k")).otherwise(pl.col("k") // 3),
    )
    found = measurements(Outcomes.from_frame(pl.concat([first, weak])))
    text = overview(found, rank_rows(found))
    macro = {m.model: m.scores["hat"] for m in found if m.language == "macro"}
    assert text.startswith(f"good has the highest mean HAT: {with_interval(macro['good'])}.")
    assert f"weak has the lowest: {with_interval(macro['weak'])}." in text
    assert "shares rank 1" not in text
    assert "HAT is highest in German" in text
    assert "lowest in Swahili" in text
    same = measurements(
        Outcomes.from_frame(pl.concat([first, first.with_columns(model=pl.lit("twin"))]))
    )
    assert "No model is shown to be better than any other." in overview(same, rank_rows(same))


def test_plugins_are_not_ranked_with_corrected_scores(simulate_outcomes, page_of):
    ten = simulate_outcomes(("ten",), items=60).frame
    one = simulate_outcomes(("one",), items=60, replies=1).frame
    both = Outcomes.from_frame(pl.concat([ten, one]))
    found = measurements(both)
    macro = {m.model: m for m in found if m.language == "macro"}
    text = overview(found, rank_rows(found))
    assert text.startswith(f"ten has a mean HAT of {with_interval(macro['ten'].scores['hat'])}.")
    assert "one has plug-in scores alone" in text
    assert "highest" not in text
    alone = [m for m in found if m.model == "one"]
    said = summary(alone)
    assert said["plugin"]
    assert said["text"].startswith("Plug-in HAT is highest in German")
    page = page_of(both)
    cells = {"main": [], "td": []}
    for x in page.all("td"):
        kind = x["attrs"].get("class", "").split()[:1] == ["main"]
        cells["main" if kind else "td"].append(words(x))
    marked = [x for x in cells["main"] if "\N{DAGGER}" in x]
    assert len(marked) == len(alone)
    assert len(cells["main"]) == len(found)
    assert "\N{DAGGER}: plug-in, not corrected for noise" in body(page)
    # of a kind all alone nothing needs a mark, and the column says what it is
    page = page_of(Outcomes.from_frame(one))
    assert "\N{DAGGER}" not in body(page)
    heads = [words(x) for x in page.all("th")]
    assert sum(x.startswith("plug-in HAT [95") for x in heads) == 2
    assert "plug-in HAT" not in heads


@pytest.mark.parametrize("right", [0, 10])
def test_ties_and_zeros_have_their_own_sentences(table, right):
    rows = [(language, 10, 10, {}) for language in ("en",) for _ in range(6)]
    rows += [(language, 10, right, {}) for language in ("de", "fr") for _ in range(6)]
    frames = [table(*rows, model=model).frame for model in ("m", "n")]
    found = measurements(Outcomes.from_frame(pl.concat(frames)))
    text = summary([m for m in found if m.model == "m"])["text"]
    value = "1.000" if right else "0.000"
    assert f"HAT is {value} in each of 2 languages; the widest interval is of " in text
    assert ("Nothing is shown to survive" in text) == (not right)
    text = overview(found, rank_rows(found))
    assert f"All models have a mean HAT of {value}, m [" in text
    assert f"the mean HAT of every language is {value}" in text
    assert "highest" not in text
    assert "lowest" not in text


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


@given(st.lists(NAMES, max_size=4), st.lists(NAMES | st.sampled_from(["`", "[", "]", "-1", "--x"])))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_setting_a_sentence_changes_signs_alone(names, parts):
    text = " ".join([*parts, *names])
    shown = Page(f"<p>{typesetter(names)(text)}</p>").all("p")[0]["text"]
    plain = str.maketrans({"\N{MINUS SIGN}": "-", "\xa0": " ", "`": None})
    assert shown.translate(plain) == text.translate(plain)


def test_names_intervals_and_code_hold_together():
    set_ = typesetter(["openai-api/a", "openai-api/a-b", "mgsm"])
    assert str(set_("openai-api/a-b: -0.5 [-1.2, 0.3] of gpt-4, see --models, `x_y`")) == (
        '<span class="name">openai-api/a-b</span>: \u22120.5 [\u22121.2,\xa00.3] of gpt-4, see '
        '<span class="name">--models</span>, <code>x_y</code>'
    )


def test_disagreement_names_the_model_that_moves_most(simulate_outcomes):
    # transfers most and knows least: first by HAT, last by accuracy
    frames = [
        simulate_outcomes((name,), dict.fromkeys(("de", "fr")), items=150, source=source).frame
        for name, source in (("able", (8.0, 2.0)), ("middling", (5.0, 3.0)), ("weak", (1.5, 6.0)))
    ]
    keep = {"able": 2, "middling": 4, "weak": 10}
    frame = pl.concat(frames).with_columns(
        k=pl.when(pl.col("language") == "en")
        .then(pl.col("k"))
        .otherwise(pl.col("k") * pl.col("model").replace_strict(keep) // 10)
    )
    found = measurements(Outcomes.from_frame(frame))
    ranks = rank_rows(found)
    order = [r["model"] for r in ranks]
    accuracy = {m.model: m.scores["target_accuracy"].value for m in found if m.language == "macro"}
    by_accuracy = sorted(order, key=lambda x: -accuracy[x])
    moved = max(order, key=lambda x: abs(order.index(x) - by_accuracy.index(x)))
    text = disagreement(found, ranks)
    assert order[0] == "weak"
    assert order != by_accuracy
    assert f"differ most for {moved}: number {order.index(moved) + 1} of 3 by HAT" in text
    assert f"number {by_accuracy.index(moved) + 1} by target accuracy" in text
    assert disagreement(found, ranks[:2]) == ""


def test_long_tables_are_cut_and_the_data_are_not(simulated, page_of):
    languages = dict.fromkeys(["de", "fr", "sw", "th", "zh", "es", "ja", "ru", "bn", "te"], 0.7)
    page = page_of(simulated(tuple(f"m{i:02}" for i in range(13)), languages, items=4))
    (table,) = [x for x in page.all("table") if x["attrs"].get("id") == "score-table"]
    start = page.elements.index(table)
    after = [x for x in page.elements[start + 1 :] if x["tag"] in ("table", "tr")]
    ends = next((i for i, x in enumerate(after) if x["tag"] == "table"), len(after))
    assert sum("data-language" in x["attrs"] for x in after[:ends]) == STATIC_ROWS
    assert f"The first {STATIC_ROWS} of 130 rows" in body(page)
    assert embedded(page)["scores"]["n"] == 143


def test_ranking_shows_ties(simulated, page_of):
    page = page_of(simulated(("m", "n"), items=40))
    data = unpacked(embedded(page)["ranks"])
    cells = [words(x) for x in page.all("td")]
    assert [r["rank"] for r in data] == [1, 1]
    assert "1\u20132" in cells


def test_studies_are_shown(simulated, page_of):
    points = pl.DataFrame(
        {"panel": ["p"] * 3, "series": ["s"] * 3, "x": [1.0, 2.0, 3.0], "label": list("abc"),
         "y": [0.1, 0.2, 0.4], "low": [0.0, 0.1, 0.3], "high": [0.2, 0.3, 0.5]}
    )  # fmt: skip
    study = Analysis(
        "size",
        "Does it grow?",
        pl.DataFrame({"scope": ["<b>all"], "value": [0.1234], "p": [None]}),
        (Finding("shown", "It grows."), Finding("cannot tell", "No dates.")),
        Figure(points, "size", "HAT", lines={"p": (0.1, 0.0)}),
        ("One note.",),
    )
    page = page_of(simulated(), studies=[study])
    text = body(page)
    for part in ("Does it grow?", "It grows.", "cannot tell", "One note.", "<b>all", "0.123"):
        assert part in text
    assert embedded(page)["specs"]["study size"]["datasets"]["points"][2]["y"] == 0.4
    assert "Does it grow?" not in body(page_of(simulated()))


def test_long_tables_of_studies_are_cut_and_their_data_are_not(simulated, page_of):
    n = 3 * STUDY_ROWS
    frame = pl.DataFrame(
        {
            "n": [1000 + i for i in range(n)],
            "reason": ["too few", *[""] * (n - 1)],
            "value": [-0.123456 + i for i in range(n - 2)] + [math.inf, math.nan],
            "nothing": [""] * n,
            "model": [f"a_{i}" for i in range(n - 1)] + [None],
        }
    )
    study = Analysis("size", "Does it grow?", frame, (Finding("shown", "It grows."),))
    page = page_of(simulated(), studies=[study, replace(study, name="time", table=frame[:3])])
    table, short = (x for x in page.all("table") if x["attrs"]["id"].startswith("study-"))
    after = page.elements[page.elements.index(table) : page.elements.index(short)]
    rows = [x for x in after if x["tag"] == "tr"]
    assert len(rows) == 1 + STUDY_ROWS
    assert [words(x) for x in after if x["tag"] in ("th", "td")][:8] == [
        "model", "n", "value", "reason", "a_0", "1,000", "−0.123", "too few",
    ]  # fmt: skip
    assert f"The first {STUDY_ROWS} of {n} rows" in body(page)
    assert "long tables are cut short" in body(page)
    (held,) = embedded(page)["studies"].values()
    assert [c["kind"] for c in held["columns"]] == ["text", "count", "number", "words"]
    records = unpacked(held["rows"])
    assert len(records) == n
    assert records[0] == {"model": "a_0", "n": 1000, "value": -0.12346, "reason": "too few"}
    assert records[-2]["value"] == 1e9
    assert records[-1] == {"model": None, "n": 1000 + n - 1, "value": None, "reason": ""}


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
    text = body(page)
    assert "No language has a HAT score: no source item was ever solved" in text
    assert "nan" not in text.lower()


def test_unbounded_intervals_are_written_so(unbounded, page_of):
    assert "\u221e" in body(page_of(unbounded()))


def test_text_from_outside_is_never_markup(simulated, page_of, tmp_path):
    name = "</script><b>x\"'&<img src=http://h/p onerror=1><!--"
    page = page_of(simulated((name,), error=1), context={f"S{name}": {f"T{name}": f"D{name}"}})
    raw = (tmp_path / "out" / "index.html").read_text()
    assert "<b>x" not in raw
    assert "&lt;/script&gt;&lt;b&gt;x" in raw
    assert page.all("b") == page.all("img") == []
    assert len(page.all("script")) == 3
    assert words(page.all("h1")[0]) == f"Cross-lingual transfer of {name} on b"
    assert f"D{name}" in [words(x) for x in page.all("dd")]
    assert unpacked(embedded(page)["scores"])[0]["model"] == name


def test_what_must_be_known_first_stands_above_the_summary(simulated, page_of):
    text = body(page_of(simulated(), remarks=("Drawn, <b>not</b> measured.",)))
    assert text.index("Drawn, <b>not</b> measured.") < text.index("HAT is highest in")
    assert "raise an alarm; here there is none." in text


def test_alarms_notes_and_context_are_shown(simulated, page_of):
    outcomes = simulated(truncated=4)
    context = {"Plan": {"prompt language": "native", "mode": "chat"}}
    page = page_of(outcomes, context=context, confidence=0.9)
    items = [words(x) for x in page.all("li")]
    assert len(alarms(outcomes)) == 1
    for text in alarms(outcomes):
        assert text in items
    assert "Plan" in [words(x) for x in page.all("h3")]
    terms = [words(x) for x in page.all("dt")]
    values = [words(x) for x in page.all("dd")]
    assert values[terms.index("prompt language")] == "native"
    assert values[terms.index("level")] == "90 %"
    assert "12 items in 12 clusters" in values[terms.index("b")]
    assert "10 counted replies per item" in values[terms.index("b")]
    assert "arXiv:2606.21954" in body(page)


def test_without_alarms_it_says_so(simulated, page_of):
    text = body(page_of(simulated()))
    assert "here there is none" in text
    assert "Read with care" not in text


def test_a_failed_write_leaves_the_old_page(simulated, tmp_path, monkeypatch):
    path = write_report(simulated(), tmp_path, formats=())
    old, names = path.read_text(), {x.name for x in tmp_path.iterdir()}
    replace = Path.replace

    def fails(self, target):
        if Path(target).name == "index.html":
            raise OSError("no room")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="no room"):
        write_report(simulated(items=30), tmp_path, formats=())
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
        "print([x for x in ('altair', 'vl_convert', 'jinja2') if x in sys.modules])"
    )
    got = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert got.strip() == "[]"


def test_every_public_name_exists():
    for name in hatscore.report.__all__:
        assert callable(getattr(hatscore.report, name))
    with pytest.raises(AttributeError, match="no attribute"):
        _ = hatscore.report.nothing


def test_the_text_is_english_prose_without_template_remains(simulated, page_of):
    text = body(page_of(simulated())).replace("{{The hatscore developers}}", "")
    assert not re.search(r"\{\{|\}\}|\{%|None|\bnan\b|Undefined", text)


def test_the_command_takes_formats_facts_and_studies(simulate_outcomes, tmp_path, capsys):
    from hatscore.cli import main

    models = ("gemma-3-4b-it", "gemma-3-12b-it", "gemma-3-27b-it")
    simulate_outcomes(models, items=30).write_parquet(tmp_path / "o.parquet")
    command = ["report", str(tmp_path / "o.parquet"), "-o", str(tmp_path / "page")]
    with pytest.raises(SystemExit) as end:
        main([*command, "--figures", "none", "--study"])
    assert end.value.code in (0, None)
    assert capsys.readouterr().out.strip().endswith("index.html")
    assert [x.name for x in (tmp_path / "page").iterdir()] == ["index.html"]
    page = Page((tmp_path / "page" / "index.html").read_text(encoding="utf-8"))
    assert "What drives transfer" in body(page)
    rows = unpacked(embedded(page)["scores"])
    assert {r["family"] for r in rows} == {"Gemma 3"}
    assert {r["params"] for r in rows} != {None}


def test_the_method_section_names_plan_prompts_and_judges(tmp_path):
    from hatscore.cli.context import run_context
    from hatscore.judging import VERDICTS_NAME, ReplyKey, Verdict, VerdictStore
    from hatscore.sampling import BenchmarkPlan, Run, RunConfig, SamplingParams

    plan = BenchmarkPlan("free", "1", ("en", "de"), "en", 5)
    config = RunConfig(
        "m", "openai-api", "m", "chat", "native", SamplingParams(temperature=0.5), (plan,)
    )
    Run.create_or_resume(tmp_path / "run", config).close()
    verdict = Verdict("s", 1, "YES", None, None, None, "judge-2026", "1", "2026-01-01T00:00:00Z")
    with VerdictStore(tmp_path / "run" / VERDICTS_NAME) as store:
        store.put("strict", [ReplyKey("free", "1", "de", 0)], verdict)
    (section,) = run_context([str(tmp_path / "run")]).values()
    assert section["Prompts"] == "chat mode, native prompts"
    assert "temperature 0.5" in section["Sampling parameters sent"]
    assert "5 replies per item and language" in " ".join(section.values())
    assert section["Judge strict"] == "answered by judge-2026"
