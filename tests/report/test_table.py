from __future__ import annotations

import math

import pytest
from rich.cells import cell_len

from hatscore.report import render_table
from hatscore.report.text import number, with_interval
from hatscore.scoring import measurements

LANGUAGES = (
    "af", "ar", "bn", "cs", "de", "es", "fr", "hi", "hu", "id", "it", "ja", "ko", "mr", "ne", "pt",
    "ru", "sr", "sw", "te", "th", "uk", "ur", "vi", "wo", "yo", "zh", "zu",
)  # fmt: skip
PLAIN = {"color": False, "unicode": True}


def render(outcomes, **options):
    return render_table(measurements(outcomes), outcomes, **{**PLAIN, "width": 140, **options})


def row(text, start):
    (line,) = [x for x in text.splitlines() if x.startswith(start)]
    return line


def test_rows_hold_the_scores(simulated):
    outcomes = simulated()
    text = render(outcomes)
    for m in measurements(outcomes):
        line = row(text, "macro" if m.language == "macro" else m.language)
        assert with_interval(m.scores["hat"]) in line
        for name in ("hat_plugin", "source_accuracy", "target_accuracy", "gap", "transfer_score"):
            assert number(m.scores[name].value) in line
        assert number(m.scores["hat"].reliability) in line
    assert "sw Swahili" in text
    assert "m on b" in text.splitlines()[0]


def test_a_language_unknown_to_cldr_goes_by_its_code(simulated):
    assert (
        row(render(simulated(languages=("de", "qqq"))), "qqq ").split()[1].startswith(("0.", "1."))
    )


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
@pytest.mark.parametrize("model", ["m", "organisation/" + "very-long-model-name-" * 8, "模型" * 40])
def test_no_line_is_wider_than_the_terminal(simulated, width, model):
    outcomes = simulated((model,), ("de", "zh-Hant", "sw"), truncated=4, error=1, chance=0.25)
    text = render(outcomes, width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_what_is_left_out_is_named_and_goes_in_order(simulated):
    outcomes = simulated(chance=0.25)
    captions = [
        next((x for x in render(outcomes, width=w).splitlines() if "lack of width" in x), "")
        for w in (140, 80, 70)
    ]
    assert captions[0] == ""
    assert captions[1].startswith("left out for lack of width: reliability")
    assert len(captions[2]) > len(captions[1])
    narrow = render(outcomes, width=40)
    for m in measurements(outcomes):
        assert with_interval(m.scores["hat"]) in narrow


def test_a_score_is_never_cut_even_where_nothing_fits(simulated):
    outcomes = simulated()
    text = render(outcomes, width=20)
    assert "…" not in text
    for m in measurements(outcomes):
        assert with_interval(m.scores["hat"]) in text


def test_piped_output_has_no_escape_codes_and_colour_has(simulated, capsys, monkeypatch):
    outcomes = simulated()
    found = measurements(outcomes)
    assert "\x1b" not in render_table(found, outcomes)  # captured: no terminal
    assert "\x1b[" in render_table(found, outcomes, color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert "\x1b" not in render_table(found, outcomes)
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b[" in render_table(found, outcomes)
    capsys.readouterr()


def test_ascii_only_when_the_output_knows_nothing_else(unbounded):
    outcomes = unbounded("模型")
    text = render(outcomes, unicode=False)
    assert text.isascii()
    assert "inf" in text
    assert text.splitlines()[0] == "?? on b"


def test_names_are_neither_markup_nor_escape_codes(simulated):
    text = render(simulated(("[bold]m[/bold]\x1b[31m",)), color=False)
    assert "[bold]m[/bold] [31m on b" in text
    assert "\x1b" not in text


def test_unbounded_intervals_keep_their_infinities(unbounded):
    outcomes = unbounded()
    assert any(not m.scores["hat"].bounded for m in measurements(outcomes))
    text = render(outcomes)
    assert "∞" in text
    assert "(1) unbounded" in text


def test_a_missing_score_is_a_dash_with_its_reason(table):
    outcomes = table(("en", 10, 0, {}), ("de", 10, 3, {}))
    line = row(render(outcomes), "de German")
    assert "– (1)" in line
    assert "nan" not in render(outcomes)
    assert "(1) no source item was ever solved" in render(outcomes)


def test_with_one_reply_the_plugin_leads(simulated):
    outcomes = simulated(replies=1, items=30)
    text = render(outcomes, width=60)
    assert "plug-in HAT [95 %]" in text
    for m in measurements(outcomes):
        assert math.isnan(m.scores["hat"].value)
        assert with_interval(m.scores["hat_plugin"]) in text
    assert "one source reply per item" in render(outcomes)


def test_values_above_one_are_shown_as_they_are(table):
    outcomes = table(
        ("en", 10, 4, {}), ("en", 10, 5, {}), ("en", 10, 6, {}),
        ("de", 10, 9, {}), ("de", 10, 10, {}), ("de", 10, 9, {}),
    )  # fmt: skip
    (value,) = {m.scores["hat"].value for m in measurements(outcomes)}
    assert value > 1.5
    assert number(value) in row(render(outcomes), "de German")


def test_chance_and_status_columns_only_where_they_matter(simulated):
    assert "adj." not in render(simulated())
    assert "adj." in render(simulated(chance=0.25))
    assert "refused" not in render(simulated())
    assert "refused" in render(simulated(refused=1))


def test_status_column_threshold(table):
    def has(count):
        return "refused" in render(table(("en", 1000, 9, {}), ("de", 1000, 9, {"refused": count})))

    assert not has(5)
    assert has(6)


def test_notes_alarms_and_curvature_stand_below(table):
    # right only where the source is always right: no line
    rows = []
    for i in range(40):
        k = i % 11
        rows += [("en", 10, k, {}), ("de", 10, 10 if k >= 9 else 0, {"error": 1})]
    rows += [("fr", 10, i % 11, {}) for i in range(39)]
    outcomes = table(*rows)
    text = " ".join(render(outcomes).split())
    (de,) = [m for m in measurements(outcomes) if m.language == "de"]
    assert de.curvature_p < 0.01
    assert "m on b: profile is curved in de (p < 0.001): the integral" in text
    assert f"{with_interval(de.scores['hat_profile'])} is the HAT there" in text
    assert "! m on b: 40 of 440 replies do not count" in text
    assert "* m on b: fr lacks 1 of 40 items" in text


@pytest.fixture
def large(simulated):
    """28 languages, names of models that fill the line, every column."""
    return simulated(
        ("organisation/" + "a-very-long-name-" * 6, "organisation/b"),
        LANGUAGES,
        items=30,
        chance=0.25,
        truncated=1,
        refused=1,
        unparsed=1,
    )


@pytest.mark.parametrize("unicode", [True, False])
def test_28_languages_fit_80_columns_with_a_bar_each(large, unicode):
    text = render(large, width=80, unicode=unicode)
    lines = text.splitlines()
    assert max(cell_len(line) for line in lines) <= 80
    assert "…" not in text
    assert text.isascii() or unicode
    for m in measurements(large):
        start = "macro" if m.language == "macro" else f"{m.language} "
        found = [x for x in lines if x.startswith(start) and with_interval(m.scores["hat"]) in x]
        assert found, (m.model, m.language)
        bar = found[0].split()[-1]
        assert set(bar) <= set("▏▎▍▌▋▊▉█" if unicode else "#")


def test_bars_grow_with_the_score(table):
    def bar(k, **options):
        rows = [("en", 80, 80, {})] * 3 + [("de", 80, k, {})] * 3
        cells = row(render(table(*rows), **options), "de German").split()
        return cells[-1] if set(cells[-1]) <= set("▏▎▍▌▋▊▉█#") else ""

    assert bar(80) == "████████"
    assert bar(40) == "████"
    assert bar(45) == "████▌"
    assert bar(1) == "▏"
    assert bar(0) == ""
    assert bar(45, unicode=False) == "####"
    assert bar(80, unicode=False) == "########"


def test_a_pipe_gets_lines_that_can_be_searched(large, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    found = measurements(large)
    text = render_table(found, large)
    assert "\x1b" not in text
    names = {m.model for m in found}
    lines = text.splitlines()
    for name in names:
        assert any(line.startswith(f"{name} on b") for line in lines)
    # a row is a line, and every line of art is a line without letters
    art = [line for line in lines if set(line) & set("─━│┃┌└┐┘├┤")]
    assert all(set(line) <= {"─", " "} for line in art)
    assert sum(line.startswith("sw Swahili ") for line in lines) == len(names)
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(cell_len, render_table(found, large).splitlines())) <= 80
    capsys.readouterr()


def test_no_targets_is_said(table):
    assert "there is no score" in render(table(("en", 10, 4, {})))
