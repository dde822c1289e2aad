"""``hatscore figure`` writes what was asked for, and says what it cannot."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from pypdf import PdfReader

from hatscore import Outcomes
from hatscore.cli import cli
from hatscore.cli.facts import facts_of
from hatscore.cli.figure import FIGURES, STUDIES
from hatscore.errors import HatscoreError
from hatscore.models import load_models
from hatscore.studies.analyses import ANALYSES

MODELS = ("gemma-3-4b-it", "gemma-3-27b-it", "gemma-3-1b-it", "gemma-3-12b-it")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rng = np.random.default_rng(5)
    parts = []
    for model in MODELS:
        for benchmark in ("sums", "facts"):
            for i in range(12):
                s = rng.beta(4, 1.5)
                for language, slope in (("en", 1.0), ("de", 0.9), ("sw", 0.5), ("zh", 0.7)):
                    k = int(rng.binomial(10, slope * s))
                    parts.append((model, benchmark, str(i), language, "en", 10, k))
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    path = tmp_path_factory.mktemp("run") / "outcomes.parquet"
    Outcomes.from_frame(pl.DataFrame(parts, schema=names, orient="row")).write_parquet(path)
    return path


@pytest.fixture
def figure(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(name, *options):
        result = CliRunner().invoke(cli, ["figure", name, str(run), *options])
        if isinstance(result.exception, HatscoreError):
            raise result.exception
        return result.exit_code, result.stdout.split()

    return call


def test_the_list_names_all_figures_and_needs_no_run():
    result = CliRunner().invoke(cli, ["figure", "--list"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == [*FIGURES, *STUDIES]
    assert list(STUDIES) == list(ANALYSES)


def test_one_file_per_benchmark_where_one_is_run(figure, tmp_path):
    assert figure("hat-dots") == (0, ["hat-dots-sums.png", "hat-dots-facts.png"])
    assert (tmp_path / "hat-dots-sums.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_every_figure_is_drawn_in_every_format(figure, tmp_path, name):
    code, written = figure(
        name, "-o", "out", "--format", "svg,pdf",
        "--only", "benchmark=sums", "--only", f"model={MODELS[0]}",
    )  # fmt: skip
    assert code == 0
    part = f"-{MODELS[0]}" if name in {"profiles", "status"} else ""
    assert written == [f"out/{name}-sums{part}.{kind}" for kind in ("svg", "pdf")]
    assert (tmp_path / written[0]).read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize("name", ["size", "coupling"])
def test_studies_are_drawn_of_registered_models(figure, tmp_path, name):
    assert figure(name, "-o", "s.svg") == (0, ["s.svg"])
    drawn = (tmp_path / "s.svg").read_text(encoding="utf-8")
    assert 'aria-roledescription="point"' in drawn


def test_a_study_without_an_answer_says_why(figure):
    with pytest.raises(HatscoreError, match="thinking has nothing to draw: "):
        figure("thinking")


def test_a_file_gives_its_format_and_its_place(figure, tmp_path):
    code, written = figure("heat_map", "-o", "sub/map-1.5.pdf", "--only", "benchmark=facts")
    assert (code, written) == (0, ["sub/map-1.5.pdf"])
    text = PdfReader(tmp_path / written[0]).pages[0].extract_text()
    assert all(model in text for model in MODELS)


def test_only_narrows_what_is_drawn(figure, tmp_path):
    figure("hat-dots", "-o", "x.svg", "--only", "benchmark=sums", "--only", "language=de,sw")
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "sw · Swahili" in drawn
    assert "zh · Chinese" not in drawn
    assert all(model in drawn for model in MODELS)


def test_native_names_are_those_the_font_has(figure, tmp_path):
    figure("hat-dots", "-o", "x.svg", "--only", "benchmark=sums", "--native-names")
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "sw · Kiswahili" in drawn
    assert "zh · Chinese" in drawn


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("hatdots", (), "did you mean hat-dots"),
        ("hat-dots", ("--format", "gif"), "unknown format 'gif'"),
        ("hat-dots", ("--only", "language=Swahili"), r"did you mean sw \(Swahili\)"),
        ("hat-dots", ("--only", "model=gemma"), "unknown model 'gemma'"),
        ("hat-dots", ("--only", "sums"), "expected model=NAME, benchmark=NAME or language=TAG"),
        ("hat-dots", ("-o", "x.bmp"), "unknown format 'bmp'"),
        ("hat-dots", ("-o", "x.jpeg"), "unknown format 'jpeg'.* Known: pdf, png, svg"),
        ("hat-dots", ("-o", "x.png"), "is one file, but there are 2 figures"),
        ("hat-dots", ("--fonts", "nowhere"), "holds no fonts"),
    ],
)
def test_what_cannot_be_done_is_said(figure, tmp_path, name, options, said):
    with pytest.raises(HatscoreError, match=said):
        figure(name, *options)
    assert list(tmp_path.iterdir()) == []


def test_a_point_alone_makes_no_file_of_a_directory(figure):
    assert figure("heat-map", "-o", "figures-1.5", "--only", "benchmark=sums") == (
        0,
        ["figures-1.5/heat-map-sums.png"],
    )


def test_a_file_is_not_taken_for_a_directory(figure, tmp_path):
    (tmp_path / "notes").write_text("x", encoding="utf-8")
    with pytest.raises(HatscoreError, match="notes is a file"):
        figure("hat-dots", "-o", "notes")


def test_facts_are_those_of_the_registry():
    registry = load_models()
    facts = facts_of([*MODELS, "nobody"], registry)
    assert set(facts) == set(MODELS)
    entry = registry.get(MODELS[0])
    assert facts[MODELS[0]]["family"] == entry.family
    if entry.is_sure("released"):
        assert facts[MODELS[0]]["released"] == entry.released
