"""Records hold what was measured, charts show every record, files hold their letters."""

from __future__ import annotations

import io
import json
import math
import re
import struct
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from hatscore import Outcomes
from hatscore.errors import InputError, UnknownNameError
from hatscore.report import charts
from hatscore.report.charts_theme import COLOURS, SHAPES
from hatscore.report.drawing import drawable, draws, file_name, save_chart, use_fonts
from hatscore.report.fonts import letters_of
from hatscore.report.looks import looks_of
from hatscore.report.rows import (
    MACRO_LABEL,
    mixed,
    ordered_labels,
    packed,
    score_rows,
    sources_of,
    unpacked,
)
from hatscore.report.rows_profile import BINS, decoded, encoded, profile_rows, spread
from hatscore.report.rows_rank import rank_rows, status_rows
from hatscore.report.text import with_interval
from hatscore.scoring import MACRO, measurements
from hatscore.stats import difference
from hatscore.stats.estimate import p_value

L28 = re.findall(
    r"\w+", "ar bg bn ca cs da de el es fi fr he hi hu id it ja ko nl pl pt ru sr sw th tr vi zh"
)


@pytest.fixture(scope="module")
def svg():
    """Draw a chart and return its text; equal charts are drawn once."""
    known = {}

    def draw(chart, tmp_path):
        plain = json.dumps(chart.to_dict(), sort_keys=True)
        if plain not in known:
            (path,) = save_chart(chart, tmp_path / "chart", ("svg",))
            known[plain] = path.read_text(encoding="utf-8")
        return known[plain]

    return draw


def texts(drawn):
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


def rows_of(outcomes, **options):
    return score_rows(measurements(outcomes), sources=sources_of(outcomes), **options)


# records


def test_a_record_holds_the_numbers_of_its_measurement(simulated):
    outcomes = simulated(("m", "n"))
    found = measurements(outcomes)
    rows = score_rows(found, sources=sources_of(outcomes))
    assert len(rows) == len(found)
    for m, row in zip(found, rows, strict=True):
        assert (row["model"], row["language"]) == (m.model, m.language)
        assert row["hat"] == pytest.approx(m.scores["hat"].value, abs=5e-5)
        assert row["hat_low"] == pytest.approx(m.scores["hat"].low, abs=5e-5)
        for name in ("source_accuracy", "target_accuracy", "gap", "transfer_score"):
            assert row[name] == pytest.approx(m.scores[name].value, abs=5e-5)
            assert row[f"{name}_high"] == pytest.approx(m.scores[name].high, abs=5e-5)
    sw = next(r for r in rows if r["language"] == "sw")
    assert (sw["label"], sw["native_label"]) == ("sw · Swahili", "sw · Kiswahili")
    assert (sw["english"], sw["script"], sw["same_script"]) == ("Swahili", "Latn", True)
    macro = [r for r in rows if r["macro"]]
    assert [r["label"] for r in macro] == [MACRO_LABEL] * 2
    json.dumps(rows, allow_nan=False)


def test_facts_are_of_the_model_they_name(simulated):
    facts = {"m": {"family": "Gemma", "released": "2025-01-02", "params": 4, "vendor": "x"}}
    rows = rows_of(simulated(("m", "n")), facts=facts)
    assert {(r["model"], r["family"], r["released"], r["params"]) for r in rows} == {
        ("m", "Gemma", "2025-01-02", 4.0),
        ("n", "other", None, None),
    }


def test_scripts_are_compared_with_all_sources():
    def made(sources):
        return Outcomes.from_frame(
            pl.DataFrame(
                [
                    ("m", "b", f"{i}{s}", language, s, 5, 3)
                    for s in sources
                    for i in range(3)
                    for language in {s, "ru", "de"}
                ],
                schema=["model", "benchmark", "item", "language", "source_language", "n", "k"],
                orient="row",
            )
        )

    def same(sources):
        return {r["language"]: r["same_script"] for r in rows_of(made(sources))}

    assert same(["en"]) == {"ru": False, "de": True, MACRO: None}
    assert same(["en", "uk"])["de"] is None
    assert same(["en", "uk"])["ru"] is None
    assert same(["hi", "ja"])["ru"] is False


def test_missing_and_open_are_told_apart(table, unbounded):
    lost = rows_of(table(("en", 10, 0, {}), ("de", 10, 3, {})))[0]
    assert (lost["hat"], lost["hat_low"], lost["low_open"], lost["estimator"]) == (
        None, None, False, "",
    )  # fmt: skip
    assert lost["reason"]
    rows = rows_of(unbounded())
    for m, row in zip(measurements(unbounded()), rows, strict=True):
        hat = m.scores["hat"]
        assert (row["low_open"], row["high_open"]) == (math.isinf(hat.low), math.isinf(hat.high))
        assert (row["hat_high"] is None) == row["high_open"]
    assert any(r["high_open"] for r in rows)


def test_the_plugin_is_named_where_it_stands_in(simulated):
    rows = rows_of(simulated(replies=1, items=30))
    assert {r["estimator"] for r in rows} == {"plugin"}
    assert all(r["hat"] == r["hat_plugin"] for r in rows)


def test_control_characters_do_not_reach_a_record(simulated):
    rows = rows_of(simulated(("a\x1b[31m\n",)))
    assert {r["model"] for r in rows} == {"a [31m "}


values = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(-1, 1), st.text("ab"))


@settings(deadline=None, derandomize=True)
@given(st.lists(st.fixed_dictionaries({"a": values, "b": st.text("xy"), "c": st.none()})))
def test_packing_loses_nothing(rows):
    through = unpacked(json.loads(json.dumps(packed(rows))))
    assert through == rows
    for row, back in zip(rows, through, strict=True):
        assert {k: type(v) for k, v in back.items()} == {k: type(v) for k, v in row.items()}


def test_packing_refuses_records_of_different_kinds():
    with pytest.raises(InputError, match="record 1 has the fields b; expected a"):
        packed([{"a": 1}, {"b": 1}])


def test_twenty_models_of_three_benchmarks_are_small(simulated):
    outcomes = simulated(tuple("abcdefghij"), L28, items=12)
    rows = rows_of(outcomes)
    size = len(json.dumps(packed(rows), ensure_ascii=False, separators=(",", ":")))
    assert size / len(rows) < 280  # 1,740 records stay below half a megabyte


@settings(deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.just(0), st.integers(0, 60), st.integers(0, 36**4 - 1)), max_size=150))
def test_densities_come_back(counts):
    assert decoded(encoded(counts)) == counts


@pytest.mark.parametrize("text", ["~1", "é", "!12", "~1A", "B~"])
def test_a_broken_density_is_refused(text):
    with pytest.raises(InputError, match="no density"):
        decoded(text)


@pytest.mark.parametrize("count", [-1, 36**4])
def test_a_density_has_bounds(count):
    with pytest.raises(InputError, match="from 0 to 1679615"):
        encoded([count])


def test_profiles_count_every_item_once(simulated):
    outcomes = simulated(languages=("de", "sw"), items=40)
    (block,) = outcomes.aligned()
    rows = profile_rows([block], measurements(outcomes))
    assert [r["language"] for r in rows] == ["de", "sw"]
    for j, row in enumerate(rows):
        counts = np.array(decoded(row["density"])).reshape(BINS, BINS)
        expected = np.zeros((BINS, BINS), dtype=int)
        for s, t in zip(block.k_source, block.k_target[:, j], strict=True):
            expected[int(s), int(t)] += 1
        assert (counts == expected).all()
        assert row["n"] == 40
        (full,) = spread([row])
        assert sum(full["items"]) == 40
        points = set(zip(block.k_source / 10, block.k_target[:, j] / 10, strict=True))
        assert set(zip(full["s"], full["t"], strict=True)) == points


def test_other_numbers_of_replies_are_counted_at_the_nearest_tenth(table):
    rows = [("en", 4, 1, {}), ("de", 3, 2, {}), ("en", 4, 3, {}), ("de", 3, 1, {})]
    outcomes = table(*rows)
    (row,) = profile_rows(outcomes.aligned(), measurements(outcomes))
    (full,) = spread([row])
    assert set(zip(full["s"], full["t"], strict=True)) == {(0.3, 0.7), (0.8, 0.3)}


def test_ranks_follow_paired_differences():
    # b is a hair below a on every item, c far below: pairs tell what intervals alone do not
    rng = np.random.default_rng(2)
    source = rng.integers(3, 11, 60)
    parts = []
    for model, slope in (("a", 0.9), ("b", 0.85), ("c", 0.3)):
        target = np.round(slope * source).astype(int)
        for i, (s, t) in enumerate(zip(source, target, strict=True)):
            parts += [(model, "x", str(i), "en", "en", 10, int(s))]
            parts += [(model, "x", str(i), lang, "en", 10, int(t)) for lang in ("de", "sw")]
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    found = measurements(Outcomes.from_frame(pl.DataFrame(parts, schema=names, orient="row")))
    rows = rank_rows(found)
    assert [r["model"] for r in rows] == ["a", "b", "c"]
    assert [r["n_languages"] for r in rows] == [2, 2, 2]
    macro = {m.model: m.scores["hat"] for m in found if m.language == MACRO}
    p = sorted(p_value(difference(macro[x], macro[y])) for x, y in combinations("abc", 2))
    shown = sum(1 for k in range(3) if all(p[i] * (3 - i) <= 0.05 for i in range(k + 1)))
    assert shown == 3
    assert [(r["rank"], r["worst_rank"], r["tied"]) for r in rows] == [
        (1, 1, False), (2, 2, False), (3, 3, False),
    ]  # fmt: skip


def test_what_the_data_do_not_tell_is_a_tie(simulated):
    outcomes = simulated(("m", "n", "o"), items=8)
    rows = rank_rows(measurements(outcomes))
    assert {(r["rank"], r["worst_rank"], r["tied"]) for r in rows} == {(1, 3, True)}


def test_models_of_different_languages_are_not_compared(simulated):
    strong = simulated(("strong",), ("de",), items=60)
    weak = simulated(("weak",), ("fr", "sw", "yo"), items=60)
    rows = rank_rows(measurements(Outcomes.from_frame(pl.concat([strong.frame, weak.frame]))))
    assert [(r["rank"], r["worst_rank"]) for r in rows] == [(1, 2), (1, 2)]
    assert [r["n_languages"] for r in rows] == [1, 3]


def test_a_model_without_a_score_has_no_rank(simulated, table):
    lost = table(("en", 10, 0, {}), ("de", 10, 3, {}), model="lost")
    both = Outcomes.from_frame(
        pl.concat([simulated(languages=("de",)).frame, lost.frame], how="diagonal_relaxed")
    )
    rows = rank_rows(measurements(both))
    assert [(r["model"], r["rank"], r["worst_rank"]) for r in rows] == [
        ("m", 1, 1), ("lost", None, None),
    ]  # fmt: skip


def test_shares_of_a_language_add_up(table):
    outcomes = table(
        ("en", 10, 5, {"empty": 1}), ("de", 10, 3, {"truncated": 2, "unparsed": 3, "error": 2})
    )
    rows = status_rows(outcomes)
    shares = {(r["language"], r["status"]): r["share"] for r in rows}
    assert shares["en", "empty"] == 0.1
    assert shares["de", "error"] == pytest.approx(2 / 12, abs=1e-4)
    for language in ("en", "de"):
        whole = sum(v for (where, _), v in shares.items() if where == language)
        assert whole == pytest.approx(1, abs=2e-4)
    assert ("en", "error") not in shares
    assert [r["role"] for r in rows if r["language"] == "en"] == ["source"] * 2


def test_languages_run_from_best_to_worst_and_macro_is_last(simulated):
    rows = rows_of(simulated(languages=("sw", "de", "fr")))
    assert ordered_labels(rows) == ["sw · Swahili", "de · German", "fr · French", MACRO_LABEL]
    rows[0]["hat"] = None  # de, the columns being sorted
    assert ordered_labels(rows)[-2:] == ["de · German", MACRO_LABEL]


# charts


def every_chart(outcomes):
    found = measurements(outcomes)
    rows = score_rows(found)
    profile = profile_rows(outcomes.aligned(), found)
    first = profile[0]["model"]
    statuses = [r for r in status_rows(outcomes) if r["model"] == first]
    return {
        "hat_dots": charts.hat_dots(rows),
        "compact": charts.hat_dots(rows, by="family", compact=True),
        "heat_map": charts.heat_map(rows),
        "languages": charts.metrics_beside(rows),
        "models": charts.metrics_beside(rows, by="model"),
        "ranking": charts.ranking(rank_rows(found)),
        "profiles": charts.profiles([r for r in profile if r["model"] == first]),
        "status_bars": charts.status_bars(statuses),
        "trouble": charts.status_bars(statuses, answered=False),
    }


def test_a_chart_reads_one_named_table_and_says_what_it_shows(simulated):
    for name, chart in every_chart(simulated(("m", "n"), truncated=1)).items():
        plain = chart.to_dict()  # which checks it against the schema
        assert len(plain["datasets"]) == 1, name
        assert len(plain["description"]) > 30, name
        named = set(re.findall(r'"data": \{"name": "(\w+)"', json.dumps(plain)))
        assert named == set(plain["datasets"]), name


def test_without_its_records_a_chart_is_a_template(simulated):
    rows = rows_of(simulated())
    chart = charts.hat_dots(rows, data_name="mine", embed=False).to_dict()
    assert "datasets" not in chart
    assert '"name": "mine"' in json.dumps(chart)


def test_dots_show_every_score(simulated, svg, tmp_path):
    rows = rows_of(simulated(("m", "n")))
    drawn = svg(charts.hat_dots(rows), tmp_path)
    # HAT and target accuracy of three languages and their mean
    assert drawn.count('aria-roledescription="point"') == 2 * 2 * (3 + 1)
    assert {"de · German", "fr · French", "sw · Swahili", MACRO_LABEL, "m", "n"} <= set(
        texts(drawn)
    )
    compact = svg(charts.hat_dots(rows, compact=True), tmp_path)
    assert compact.count('aria-roledescription="point"') == 2 * (3 + 1)


def test_open_ends_are_arrows(simulated, unbounded, svg, tmp_path):
    rows = rows_of(unbounded())
    ends = sum(r["low_open"] + r["high_open"] for r in rows)
    assert ends > 0
    drawn = svg(charts.hat_dots(rows), tmp_path)
    shown = sum(r["hat"] is not None for r in rows)
    points = drawn.count('aria-roledescription="point"')
    assert points - shown - len(rows) >= ends
    bounded = svg(charts.hat_dots(rows_of(simulated())), tmp_path)
    assert bounded.count('aria-roledescription="point"') == 2 * (3 + 1)


def test_a_missing_score_is_said_and_its_reason_is_told(table, svg, tmp_path):
    rows = rows_of(table(("en", 10, 0, {}), ("de", 10, 3, {})))
    for chart, words in ((charts.hat_dots(rows), "no score"), (charts.heat_map(rows), "\u2013")):
        drawn = svg(chart, tmp_path)
        assert words in texts(drawn)
        assert "note: " in drawn
        # nothing is called null, and what is there stays
        assert "HAT: \u2013;" in drawn
        assert "target accuracy: 0.300 [" in drawn
        assert "null" not in drawn


def test_a_tooltip_writes_scores_as_tables_do(simulated, unbounded, svg, tmp_path):
    outcomes = unbounded()
    drawn = svg(charts.hat_dots(rows_of(outcomes)), tmp_path)
    for m in measurements(outcomes):
        for name, title in (("hat", "HAT"), ("target_accuracy", "target accuracy")):
            said = with_interval(m.scores[name]).replace("-", "\N{MINUS SIGN}")
            assert f"{title}: {said}; " in drawn
    one = svg(charts.hat_dots(rows_of(simulated(replies=1, items=30))), tmp_path)
    assert re.search(r"HAT: \d\.\d{3} \[[^]]+\], plug-in; ", one)


def test_the_axis_says_when_the_plugin_is_drawn(simulated):
    plain = json.dumps(charts.hat_dots(rows_of(simulated(replies=1, items=30))).to_dict())
    assert "plug-in HAT with intervals" in plain
    assert "plug-in HAT" not in dumped(charts.hat_dots(rows_of(simulated())))


def test_plugins_stand_apart_from_corrected_scores(simulated, svg, tmp_path):
    both = pl.concat([simulated(("ten",)).frame, simulated(("one",), replies=1, items=30).frame])
    found = measurements(Outcomes.from_frame(both))
    rows = score_rows(found)
    for r in rows:
        # higher than those it must not lead
        if r["model"] == "one":
            r.update(hat=r["hat"] + 1, hat_low=r["hat_low"] + 1, hat_high=r["hat_high"] + 1)
    assert mixed(rows)
    assert charts.ordered_models(rows) == ["ten", "one"]
    assert ordered_labels(rows) == ordered_labels([r for r in rows if r["model"] == "ten"])
    ranks = rank_rows(found)
    assert [(r["model"], r["rank"]) for r in ranks] == [("ten", 1), ("one", None)]
    for chart in (charts.hat_dots(rows), charts.ranking(ranks), charts.metrics_beside(rows)):
        drawn = svg(chart, tmp_path)
        assert re.search(r'stroke-dasharray="3,2"', drawn)
        assert re.search(r">[^<]*hollow", drawn)
    assert sum(x.endswith("\N{DAGGER}") for x in texts(svg(charts.heat_map(rows), tmp_path))) == 4
    alone = [r for r in rows if r["model"] == "one"]
    drawn = svg(charts.heat_map(alone), tmp_path)
    assert "plug-in HAT" in texts(drawn)
    assert "\N{DAGGER}" not in drawn


def test_a_heat_map_says_every_value_in_letters_that_can_be_read(simulated, svg, tmp_path):
    rows = rows_of(simulated(("m", "n"), L28[:6]))
    drawn = svg(charts.heat_map(rows), tmp_path)
    assert sorted(x for x in texts(drawn) if re.fullmatch(r"\d\.\d\d", x)) == sorted(
        f"{r['hat']:.2f}" for r in rows
    )
    cells = re.findall(
        r'aria-roledescription="rect mark".*?fill="rgb\((\d+), (\d+), (\d+)\)"', drawn
    )
    letters = re.findall(r'fill="(#\w+)"[^>]*>(\d\.\d\d)<', drawn)
    assert len(cells) == len(letters) == len(rows)
    for cell, (ink, _) in zip(cells, letters, strict=True):
        assert contrast(luminance(map(int, cell)), 1.0 if ink == "#ffffff" else 0.0) >= 4


def luminance(rgb):
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


def test_scores_far_outside_do_not_bleach_the_map():
    row = {"model": "m", "benchmark": "b", "macro": False, "family": "f", "reason": ""}
    rows = [
        row | {"label": x, "language": x, "hat": hat}
        for x, hat in zip("abcd", (-9.0, 0.5, 0.6, 40.0), strict=True)
    ]
    scale = charts.heat_map(rows).to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == [-0.2, 1.4]
    assert scale["clamp"]
    near = charts.heat_map(rows[1:3]).to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert near["domain"] == pytest.approx([0.2, 0.6])


def test_ranking_shows_ties_as_ranges(simulated, svg, tmp_path):
    drawn = svg(
        charts.ranking(rank_rows(measurements(simulated(("m", "n", "o"), items=8)))), tmp_path
    )
    assert texts(drawn).count("1\N{EN DASH}3") == 3


def test_profiles_show_every_pair_of_rates(simulated, svg, tmp_path):
    outcomes = simulated(languages=("de", "fr", "hi", "sw", "yo"))
    rows = profile_rows(outcomes.aligned(), measurements(outcomes))
    drawn = svg(charts.profiles(rows), tmp_path)
    points = sum(len(r["items"]) for r in spread(rows))
    assert drawn.count('aria-roledescription="point"') == points
    # fit and curve of every language
    assert drawn.count('aria-roledescription="line mark"') == 2 * 5
    assert all(r["label"] in texts(drawn) for r in rows)
    spec = charts.profiles(rows).to_dict()
    assert charts.profiles(spread(rows)).to_dict() == spec


def test_labels_of_28_languages_do_not_overlap(simulated, svg, tmp_path):
    rows = rows_of(simulated(("a", "b"), L28, items=5))
    drawn = svg(charts.hat_dots(rows), tmp_path)
    labels = set(ordered_labels(rows))
    places = [
        float(y)
        for y, text in re.findall(r'translate\([-\d.]+,([-\d.]+)\)"[^>]*>([^<]*)<', drawn)
        if text in labels
    ]
    assert len(places) == 29
    assert min(np.diff(places)) >= 14


FAMILIES = {"g-4b": "G", "g-12b": "G", "h": "H", "lonely": "other", "a": "other"}


def looks_in(chart, tmp_path, svg):
    """Return the looks of models in a chart: fill and outline of the marker of each name."""
    drawn = svg(chart, tmp_path)
    found = {}
    marker = r'aria-label="([^"]*model: [^"]*)"[^>]*on="point"[^>]*d="([^"]*)" fill="(#\w+)"'
    for told, shape, fill in re.findall(marker, drawn):
        model = re.search(r"model: ([^;]*)", told)[1]
        found.setdefault(model, set()).add((fill, re.sub(r"[-\d.]+", "", shape)))
    return found


def test_a_model_has_one_colour_and_shape_in_all_charts(simulated, svg, tmp_path):
    facts = {m: {"family": f} for m, f in FAMILIES.items()}
    outcomes = simulated(tuple(FAMILIES))
    found = measurements(outcomes)
    rows = score_rows(found, facts=facts)
    looks = looks_of(rows)
    assert looks.families == ("G", "H")
    assert looks.models["g-4b"].colour == looks.models["g-12b"].colour
    pairs = [(look.colour, look.shape) for look in looks.models.values()]
    assert len(set(pairs)) == len(pairs)
    assert len({colour for colour, _ in pairs}) == 4
    some = [r for r in rows if r["model"] in ("lonely", "g-12b")]
    drawn = [
        looks_in(chart, tmp_path, svg)
        for chart in (
            charts.hat_dots(rows, looks=looks),
            charts.metrics_beside(rows, looks=looks),
            charts.metrics_beside(rows, by="model", looks=looks),
            charts.ranking(rank_rows(found, facts=facts), looks=looks),
            charts.hat_dots(some, looks=looks),
        )
    ]
    every = drawn[0]
    assert set(every) == set(FAMILIES)
    assert all(len(held) == 1 for held in every.values())
    for held in drawn[1:]:
        assert held.items() <= every.items()
    # the order of the records changes nothing
    assert looks_of(reversed(rows)) == looks


def test_a_family_that_is_alone_has_a_colour_per_model():
    rows = [{"model": m, "family": "G"} for m in ("g-12b", "g-4b", "g-1b")]
    looks = looks_of(rows).models
    assert list(looks) == ["g-1b", "g-4b", "g-12b"]
    assert [look.colour for look in looks.values()] == [0, 1, 2]


@given(st.lists(st.sampled_from("ABCDEFGHIJ"), min_size=1, max_size=40))
@settings(deadline=None, derandomize=True)
def test_no_two_models_look_alike_while_there_are_looks_left(families):
    rows = [{"model": str(i), "family": f} for i, f in enumerate(families)]
    looks = looks_of(rows).models.values()
    for colour in range(len(COLOURS)):
        shapes = [look.shape for look in looks if look.colour == colour]
        assert len(set(shapes)) == min(len(shapes), len(SHAPES))


def test_a_tall_chart_has_its_axis_above_and_below(simulated, svg, tmp_path):
    few, many = (
        texts(svg(charts.hat_dots(rows_of(simulated(languages=x, items=5))), tmp_path))
        for x in (L28[:3], L28)
    )
    assert few.count("0.8") == 1
    assert many.count("0.8") == 2


def dumped(chart):
    return json.dumps(chart.to_dict())


@pytest.mark.parametrize("share", [0.0017, 0.03, 0.5])
def test_every_share_on_an_axis_is_said_once(svg, tmp_path, share):
    row = {"model": "m", "benchmark": "b", "language": "de", "label": "de", "native_label": "de"}
    rows = [row | {"status": "truncated", "place": 1, "share": share, "replies": 600}]
    drawn = svg(charts.status_bars(rows, answered=False), tmp_path)
    said = [text for text in texts(drawn) if text.endswith("%")]
    assert len(said) == len(set(said)) > 2


def test_long_names_keep_both_ends(simulated, svg, tmp_path):
    name = "maker/a-very-long-family-of-models-that-goes-on-and-on-instruct-v2"
    rows = rank_rows(measurements(simulated((name, "n"))))
    drawn = svg(charts.ranking(rows, by="model"), tmp_path)
    short = f"{name[:20]}\N{HORIZONTAL ELLIPSIS}{name[-23:]}"
    assert texts(drawn).count(short) == 2  # axis and legend


def test_models_without_a_mean_stand_last():
    def row(model, hat, *, macro=False):
        return {"model": model, "hat": hat, "macro": macro}

    rows = [
        row("gap", 0.9),
        row("gap", None, macro=True),
        row("low", 0.1),
        row("low", 0.1, macro=True),
    ]
    assert charts.ordered_models([*rows, row("none", None, macro=True)]) == ["low", "gap", "none"]


def test_colours_and_shapes_of_56_names_differ():
    names = [(COLOURS[i % len(COLOURS)], SHAPES[i % len(SHAPES)]) for i in range(56)]
    assert len(set(names)) == 56
    light, dark = charts.theme(), charts.theme(dark=True)
    assert set(light) == set(dark)
    assert len(light["range"]["category"]) == len(dark["range"]["category"]) == len(COLOURS)
    for look in (light, dark):
        ground = luminance(rgb(look["background"]))
        assert contrast(luminance(rgb(look["axis"]["labelColor"])), ground) > 12
        assert contrast(luminance(rgb(look["style"]["faint-note"]["color"])), ground) > 4.5


def rgb(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


@pytest.mark.parametrize(
    "draw",
    [charts.hat_dots, charts.heat_map, charts.metrics_beside, charts.profiles, charts.status_bars],
)
def test_a_chart_holds_one_benchmark(draw):
    with pytest.raises(InputError, match="draws one"):
        draw([])


def test_unknown_words_are_refused(simulated):
    rows = rows_of(simulated())
    with pytest.raises(UnknownNameError, match="family"):
        charts.hat_dots(rows, by="famly")
    with pytest.raises(UnknownNameError, match="language"):
        charts.metrics_beside(rows, by="languages")
    with pytest.raises(InputError, match="was answered"):
        charts.status_bars(status_rows(simulated()), answered=False)
    with pytest.raises(InputError, match="rank_rows"):
        charts.ranking([])
    two = [*rows, *({**r, "benchmark": "c"} for r in rows)]
    with pytest.raises(InputError, match="got 2: b, c"):
        charts.heat_map(two)


# files


def test_a_pdf_carries_its_fonts_and_its_words(simulated, tmp_path):
    for name, chart in every_chart(simulated(("m", "n"), items=6, truncated=1)).items():
        (path,) = save_chart(chart, tmp_path / name, ("pdf",))
        reader = PdfReader(path)
        fonts = list(fonts_of(reader.pages[0]["/Resources"]))
        assert fonts, name
        for font in fonts:
            held = {"/FontFile", "/FontFile2", "/FontFile3"} & set(font["/FontDescriptor"])
            assert held, name
    assert "de · German" in PdfReader(tmp_path / "hat_dots.pdf").pages[0].extract_text()


def fonts_of(resources):
    resources = resources.get_object()
    for found in resources.get("/Font", {}).values():
        font = found.get_object()
        yield from (x.get_object() for x in font.get("/DescendantFonts", [font]))
    for inner in resources.get("/XObject", {}).values():
        if "/Resources" in inner.get_object():
            yield from fonts_of(inner.get_object()["/Resources"])


@pytest.mark.filterwarnings("ignore:no font for")
def test_names_are_drawn_literally(simulated, svg, tmp_path):
    names = ("$x_1$ 模型", "_hidden", "$broken{", "<b>&'")
    drawn = svg(charts.hat_dots(rows_of(simulated(names))), tmp_path)
    shown = [
        x.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for x in texts(drawn)
    ]
    assert set(names) <= set(shown)


def test_files_are_whole_and_equal_for_equal_charts(simulated, tmp_path, monkeypatch):
    chart = charts.hat_dots(rows_of(simulated()))
    paths = save_chart(chart, tmp_path / "sub" / "gemma-3.5")
    assert [x.name for x in paths] == ["gemma-3.5.png", "gemma-3.5.svg", "gemma-3.5.pdf"]
    again = save_chart(chart, tmp_path / "again")
    assert [x.read_bytes() for x in paths[:2]] == [x.read_bytes() for x in again[:2]]
    # a PDF lists the parts of a page in any order
    pages = [PdfReader(x).pages[0] for x in (paths[2], again[2])]
    assert pages[0].extract_text() == pages[1].extract_text()
    assert pages[0].mediabox == pages[1].mediabox
    before = paths[0].read_bytes()
    monkeypatch.setattr("os.fdopen", full_disk)
    with pytest.raises(OSError, match="disk full"):
        save_chart(chart, tmp_path / "sub" / "gemma-3.5", ("png",))
    assert paths[0].read_bytes() == before
    assert sorted(x.name for x in (tmp_path / "sub").iterdir()) == sorted(x.name for x in paths)


def full_disk(handle, mode):
    io.FileIO(handle, mode).close()
    raise OSError("disk full")


def test_a_png_says_its_resolution(simulated, tmp_path):
    chart = charts.status_bars(status_rows(simulated()))
    sizes = []
    for dpi in (150, 300):
        (path,) = save_chart(chart, tmp_path / str(dpi), ("png",), dpi=dpi)
        data = path.read_bytes()
        sizes.append(int.from_bytes(data[16:20], "big"))
        at = data.index(b"pHYs") + 4
        assert int.from_bytes(data[at : at + 4], "big") == pytest.approx(dpi / 0.0254, rel=0.01)
    assert sizes[1] == pytest.approx(2 * sizes[0], rel=0.01)


def test_dark_files_are_dark_and_spoken(simulated, tmp_path):
    chart = charts.hat_dots(rows_of(simulated()))
    (path,) = save_chart(chart, tmp_path / "dark", ("svg",), dark=True)
    drawn = path.read_text(encoding="utf-8")
    assert f'fill="{charts.theme(dark=True)["background"]}"' in drawn
    assert 'role="img" aria-label="Dot plot of HAT' in drawn


def test_wrong_wishes_are_refused(simulated, tmp_path):
    chart = charts.hat_dots(rows_of(simulated()))
    with pytest.raises(UnknownNameError, match="did you mean png"):
        save_chart(chart, tmp_path / "x", ("jpng",))
    with pytest.raises(InputError, match="one dot per inch, got 0"):
        save_chart(chart, tmp_path / "x", dpi=0)
    with pytest.raises(InputError, match="cannot be drawn: "):
        save_chart({"mark": "nonsense"}, tmp_path / "x", ("svg",))
    with pytest.raises(InputError, match="holds no fonts"):
        use_fonts(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_native_names_fall_back_where_the_font_lacks_their_letters(simulated):
    rows = drawable(rows_of(simulated(languages=("el", "ru", "vi", "zh", "fr"))))
    shown = {r["language"]: r["native_label"] for r in rows if not r["macro"]}
    assert shown == {
        "el": "el · Ελληνικά",
        "fr": "fr · français",
        "ru": "ru · русский",
        "vi": "vi · Tiếng Việt",
        "zh": "zh · Chinese",
    }
    assert draws(MACRO_LABEL)
    assert draws("kk · қазақ тілі")
    assert draws("ee · Eʋegbe")
    assert not draws("hi · हिन्दी")


def font(tables, *, start=0):
    """A font of nothing but character maps: (platform, encoding, table)."""
    head = 4 + 8 * len(tables)
    places = [head + sum(len(t) for *_, t in tables[:i]) for i in range(len(tables))]
    index = [struct.pack(">HHL", p, e, at) for (p, e, _), at in zip(tables, places, strict=True)]
    cmap = struct.pack(">HH", 0, len(tables)) + b"".join(index) + b"".join(t for *_, t in tables)
    at = start + 12 + 16
    return (
        struct.pack(">LHHHH", 0x10000, 1, 0, 0, 0)
        + struct.pack(">4sLLL", b"cmap", 0, at, len(cmap))
        + cmap
    )


def segments(*parts):
    """Format 4; a part is (begin, end, shift) or (begin, end, glyphs)."""
    parts = [*parts, (0xFFFF, 0xFFFF, 1)]
    n, glyphs, offsets = len(parts), [], []
    for i, (*_, how) in enumerate(parts):
        offsets.append(2 * (n - i + len(glyphs)) if isinstance(how, list) else 0)
        glyphs += how if isinstance(how, list) else []
    shifts = [0 if isinstance(how, list) else how & 0xFFFF for *_, how in parts]
    body = [
        *(end for _, end, _ in parts),
        0,
        *(begin for begin, *_ in parts),
        *shifts,
        *offsets,
        *glyphs,
    ]
    return struct.pack(f">7H{len(body)}H", 4, 14 + 2 * len(body), 0, 2 * n, 0, 0, 0, *body)


def groups(*parts):
    body = b"".join(struct.pack(">LLL", *part) for part in parts)
    return struct.pack(">HHLLL", 12, 0, 16 + len(body), 0, len(parts)) + body


def test_letters_are_those_with_a_glyph(tmp_path):
    basic = segments((0x41, 0x43, 5), (0x3B1, 0x3B3, [7, 0, 9]), (0x500, 0x501, -0x500))
    high = groups((0x1F600, 0x1F602, 40), (0x905, 0x906, 0))
    path = tmp_path / "own.ttf"
    path.write_bytes(font([(0, 3, basic), (3, 10, high), (1, 0, basic)]))
    expected = {0x41, 0x42, 0x43, 0x3B1, 0x3B3, 0x501, 0x1F600, 0x1F601, 0x1F602, 0x906}
    assert letters_of(path) == expected
    both = struct.pack(">4sLLLL", b"ttcf", 0x10000, 2, 20, 0)
    first = font([(3, 1, segments((0x41, 0x41, 5)))], start=20)
    second = font([(3, 1, segments((0x5D0, 0x5EA, 5)))], start=20 + len(first))
    both = both[:16] + struct.pack(">L", 20 + len(first)) + first + second
    path.write_bytes(both)
    assert letters_of(path) == {0x41, *range(0x5D0, 0x5EB)}
    for broken in (b"", b"text that is no font at all", both[:60]):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"own\.ttf is no TrueType or OpenType font"):
            letters_of(path)


def test_own_letters_bring_their_native_names(simulated):
    rows = rows_of(simulated(languages=("zh", "ja")))
    shown = {r["language"]: r["native_label"] for r in drawable(rows, frozenset(map(ord, "中文")))}
    assert shown["zh"] == "zh · 中文"
    assert shown["ja"] == "ja · Japanese"


def test_a_file_of_fonts_that_is_none_is_refused(tmp_path):
    (tmp_path / "a.ttf").write_text("no font", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.ttf is no"):
        use_fonts(tmp_path)


def test_file_names_suit_every_file_system():
    taken = set()
    assert file_name("hat-org/model:1", taken) == "hat-org-model-1"
    assert file_name("HAT-org/model 1", taken) == "HAT-org-model-1-2"
    assert file_name("模型", taken) == "figure"
    assert file_name("..", taken) == "figure-2"
