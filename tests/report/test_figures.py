from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path

import pytest

from hatscore.errors import InputError, UnknownNameError
from hatscore.report import hat_dots, profile_plot, save
from hatscore.report.figures import _sorted_languages
from hatscore.scoring import measurements

L28 = re.findall(
    r"\w+", "ar bg bn ca cs da de el es fi fr he hi hu id it ja ko nl pl pt ru sr sw th tr vi zh"
)


def artists(axes, kind):
    return [x for x in axes.get_children() if (x.get_gid() or "").split(" ")[0] == kind]


def test_one_dot_interval_and_accuracy_per_model_and_language(simulated):
    found = measurements(simulated(("m", "n")))
    (axes,) = hat_dots(found).axes
    hats = artists(axes, "hat")
    assert len(hats) == 2 * (3 + 1)
    assert len(artists(axes, "interval")) == len(artists(axes, "accuracy")) == len(hats)
    assert len({(x.get_color(), x.get_marker()) for x in hats}) == 2
    drawn = {x.get_gid(): x.get_xdata()[0] for x in hats}
    for m in found:
        assert drawn[f"hat {m.model} {m.language}"] == m.scores["hat"].value


def test_languages_run_from_best_to_worst_and_macro_is_last(simulated):
    found = measurements(simulated(languages=("sw", "de", "fr")))
    (axes,) = hat_dots(found).axes
    labels = [x.get_text() for x in axes.get_yticklabels()]
    assert labels == ["sw Swahili", "de German", "fr French", "macro average"]
    values = [m.scores["hat"].value for m in found if m.language != "macro"]
    assert _sorted_languages(found)[0] == found[values.index(max(values))].language
    low, high = axes.get_ylim()
    assert low > high  # the first is on top


def test_unbounded_ends_are_arrows(simulated, unbounded):
    found = measurements(unbounded())
    (axes,) = hat_dots(found).axes
    infinite = sum(
        math.isinf(e) for m in found for e in (m.scores["hat"].low, m.scores["hat"].high)
    )
    assert infinite > 0
    assert len(artists(axes, "arrow")) >= infinite
    left, right = axes.get_xlim()
    for line in artists(axes, "interval"):
        assert left <= min(line.get_xdata()) <= max(line.get_xdata()) <= right
    (bounded,) = hat_dots(measurements(simulated())).axes
    assert artists(bounded, "arrow") == []


def test_a_missing_score_leaves_a_dash(table):
    (axes,) = hat_dots(measurements(table(("en", 10, 0, {}), ("de", 10, 3, {})))).axes
    assert len(artists(axes, "missing")) == 1
    assert artists(axes, "hat") == []
    assert len(artists(axes, "accuracy")) == 1


def test_the_axis_says_when_the_plugin_is_drawn(simulated):
    (axes,) = hat_dots(measurements(simulated(replies=1, items=30))).axes
    assert "plug-in" in axes.get_xlabel()
    (axes,) = hat_dots(measurements(simulated())).axes
    assert axes.get_xlabel().startswith("HAT with 95 % intervals")


def test_labels_of_28_languages_do_not_overlap(simulated):
    figure = hat_dots(measurements(simulated(("a", "b", "c", "d"), L28, items=5)))
    figure.canvas.draw()
    (axes,) = figure.axes
    boxes = [x.get_window_extent() for x in axes.get_yticklabels()]
    assert len(boxes) == 29
    for above, below in pairwise(boxes):
        assert below.y1 < above.y0
    assert min(x.x0 for x in boxes) >= 0
    heights = sorted({x.get_ydata()[0] for x in artists(axes, "hat")})
    per_unit = axes.get_window_extent().height / len(boxes)
    gaps = [(b - a) * per_unit for a, b in pairwise(heights)]
    assert min(gaps) > 5.2 * figure.dpi / 72  # more than a marker


def test_names_are_drawn_literally(simulated, tmp_path):
    figure = hat_dots(measurements(simulated(("$x_1$ 模型", "_hidden", "$broken{"))))
    texts = [x.get_text() for x in figure.legends[0].get_texts()]
    assert [x.strip() for x in texts] == ["$x_1$ 模型", "_hidden", "$broken{"]
    save(figure, tmp_path / "f")


def test_one_benchmark_per_dot_plot():
    with pytest.raises(InputError, match="one benchmark, got 0"):
        hat_dots([])


def test_profile_has_a_panel_per_language(simulated):
    outcomes = simulated(languages=("de", "fr", "hi", "sw", "yo"))
    (aligned,) = outcomes.aligned()
    found = measurements(outcomes)
    figure = profile_plot(aligned, found)
    shown = [axes for axes in figure.axes if axes.axison]
    assert len(shown) == 5
    for axes, m in zip(shown, found, strict=False):
        (scatter,) = axes.collections
        j = aligned.languages.index(m.language)
        pairs = set(zip(aligned.k_source / 10, aligned.k_target[:, j] / 10, strict=True))
        assert len(scatter.get_offsets()) == len(pairs)
        (fit,) = artists(axes, "fit")
        assert fit.get_ydata()[1] == m.scores["hat"].value
        assert len(artists(axes, "diagonal")) == 1
        assert axes.get_xlim() == axes.get_ylim() == (0, 1)
        assert m.language in axes.get_title(loc="left")


def test_dot_areas_are_proportional_to_items(table):
    rows = [("en", 2, 1, {}), ("de", 2, 1, {})] * 3 + [("en", 2, 2, {}), ("de", 2, 1, {})]
    outcomes = table(*rows)
    (aligned,) = outcomes.aligned()
    figure = profile_plot(aligned, measurements(outcomes)[0])
    (scatter,) = figure.axes[0].collections
    areas = sorted(scatter.get_sizes())
    assert areas[1] / areas[0] == pytest.approx(3)


def test_profile_refuses_what_does_not_belong_together(simulated):
    outcomes = simulated()
    (aligned,) = outcomes.aligned()
    with pytest.raises(InputError, match="at least one language"):
        profile_plot(aligned, [])
    with pytest.raises(InputError, match="belong together"):
        profile_plot(aligned, measurements(simulated(("other",))))
    with pytest.raises(UnknownNameError, match="hi"):
        profile_plot(aligned, measurements(simulated(languages=("hi",))))


def test_save_writes_whole_files_only(simulated, tmp_path, monkeypatch):
    figure = hat_dots(measurements(simulated()))
    paths = save(figure, tmp_path / "sub" / "gemma-3.5", formats=("png", "svg", "pdf"))
    assert [x.name for x in paths] == ["gemma-3.5.png", "gemma-3.5.svg", "gemma-3.5.pdf"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    before = paths[0].read_bytes()

    def half(path, **_):
        Path(path).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(figure, "savefig", half)
    with pytest.raises(OSError, match="disk full"):
        save(figure, tmp_path / "sub" / "gemma-3.5")
    assert paths[0].read_bytes() == before
    assert sorted(x.name for x in (tmp_path / "sub").iterdir()) == sorted(x.name for x in paths)
    with pytest.raises(UnknownNameError, match="png"):
        save(figure, tmp_path / "x", formats=("jpng",))


def test_equal_data_give_equal_files(simulated, tmp_path):
    found = measurements(simulated())
    (a,), (b,) = save(hat_dots(found), tmp_path / "a"), save(hat_dots(found), tmp_path / "b")
    assert a.read_bytes() == b.read_bytes()
