"""`hatscore card`: nothing without its interval, nothing made up, valid YAML."""

from __future__ import annotations

import math
import re

import polars as pl
import pytest

from hatscore import Outcomes, read
from hatscore.benchmarks.base import Item, Prompt
from hatscore.cli import main
from hatscore.grading.answer import Gold
from hatscore.report.card import Facts, card_markdown, card_yaml
from hatscore.report.text import headline, label, with_interval
from hatscore.sampling import BenchmarkPlan, Completion, Run, RunConfig, SamplingParams, Task
from hatscore.scoring import measurements

yaml = pytest.importorskip("yaml")
RIGHT = {"en": 8, "de": 6, "sw": 2, "hi": 4}


def rows(model="lab/m", right=RIGHT, items=12):
    return [
        (model, "b", str(i), language, "en", 10, max(0, min(10, k + i % 3 - 1)))
        for i in range(items)
        for language, k in right.items()
    ]


@pytest.fixture
def outcomes():
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    return Outcomes.from_frame(pl.DataFrame(rows(), schema=names, orient="row"))


@pytest.fixture
def run(tmp_path):
    """Write a run of sums, without any model."""
    config = RunConfig(
        "openai-api/lab/m", "openai-api", "lab/m", "chat", "native",
        SamplingParams(temperature=0.7, max_tokens=32, extra={"top_k": 40}),
        (BenchmarkPlan("wordmath", "3", ("en", "de"), "en", 4, items=6),),
        created_at="2026-05-04T10:00:00Z",
        version="0.0.1",
    )  # fmt: skip
    with Run.create_or_resume(tmp_path / "run", config) as opened:
        for language in ("en", "de"):
            for i in range(6):
                gold = Gold("number", str(i), language, "en")
                asked = Item(str(i), language, "en", f"{i}?", gold)
                task = Task("wordmath", asked, Prompt("chat", f"{i}?"), 4)
                opened.store.put_items([task])
                for repeat in range(4):
                    right = repeat + i % 2 < (4 if language == "en" else 3)
                    text = f"Answer: {i if right else i + 1}"
                    opened.store.put(task.cell, repeat, Completion(text), seed=None)
    return tmp_path / "run"


def test_every_score_has_its_interval(outcomes):
    found = measurements(outcomes)
    text = card_markdown(found, outcomes)
    for m in found:
        line = next(x for x in text.splitlines() if x.startswith(f"| {label(m.language)} "))
        assert with_interval(headline(m)[1]) in line
        assert with_interval(m.scores["target_accuracy"]) in line
    # a decimal number is a score with its interval, an end of one, or a version
    bare = re.sub(r"-?\d+\.\d{3} \\?\[[^\]]*\]", "", text)
    bare = re.sub(r"hatscore \d[\w.]*|2606\.21954|p (=|\\<) 0\.\d+", "", bare)
    assert not re.findall(r"\d\.\d", bare)


def test_highest_and_lowest_are_named(outcomes):
    text = card_markdown(measurements(outcomes), outcomes)
    assert "Highest: de German, 0." in text
    assert "Lowest: sw Swahili, 0." in text
    assert "picked after looking" in text
    assert "arXiv 2606.21954" in text


def test_what_is_not_known_is_called_so(outcomes):
    text = card_markdown(measurements(outcomes), outcomes)
    assert "Benchmark version: not recorded" in text
    assert "Plan: not recorded. Prompts: not recorded. Sampling parameters: not recorded." in text
    assert "Judge: not recorded." in text


def test_index_is_yaml_with_the_interval_in_the_name(outcomes):
    found = measurements(outcomes)
    (entry,) = yaml.safe_load(card_yaml(found, outcomes, {("lab/m", "b"): Facts(version="3")}))[
        "model-index"
    ]
    assert entry["name"] == "lab/m"
    (result,) = entry["results"]
    assert result["task"]["type"]
    assert result["dataset"] == {"type": "b", "name": "b, source en", "revision": "3"}
    assert "not recorded" not in card_yaml(found, outcomes)
    assert len(result["metrics"]) == len(found)
    for metric, m in zip(result["metrics"], found, strict=True):
        estimate = m.scores["hat"]
        assert metric["type"] == "hat"
        assert metric["value"] == pytest.approx(estimate.value, abs=1e-4)
        assert f"95 % interval [{estimate.low:.3f}, {estimate.high:.3f}]" in metric["name"]
        assert metric["args"]["n_items"] == 12


def test_hostile_names_stay_text(outcomes):
    name = 'a: "b" | *c*\n- [d](e) \\ # <script>'
    frame = outcomes.frame.with_columns(model=pl.lit(name), benchmark=pl.lit("x|y`z"))
    hostile = Outcomes.from_frame(frame)
    found = measurements(hostile)
    (entry,) = yaml.safe_load(card_yaml(found, hostile))["model-index"]
    assert entry["name"] == name.replace("\n", " ")
    text = card_markdown(found, hostile)
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "\n- [d]" not in text
    assert r"### x\|y\`z" in text


def test_a_missing_score_has_no_entry_but_a_reason():
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    none = rows(right={"en": 0, "de": 3}, items=1)
    data = pl.DataFrame(none, schema=names, orient="row").with_columns(
        k=pl.when(pl.col("language") == "en").then(0).otherwise("k")
    )
    outcomes = Outcomes.from_frame(data)
    found = measurements(outcomes)
    assert all(math.isnan(m.scores["hat"].value) for m in found)
    text = card_markdown(found, outcomes)
    assert "No language has a score" in text
    assert "no source item was ever solved" in text
    assert yaml.safe_load(card_yaml(found, outcomes)) == {
        "model-index": [{"name": "lab/m", "results": []}]
    }


def test_a_run_says_how_it_was_made(run, capsys):
    printed = {}
    for style in ("both", "md", "yaml"):
        with pytest.raises(SystemExit) as end:
            main(["card", str(run), "--format", style])
        assert end.value.code == 0
        printed[style] = capsys.readouterr().out
    head, index, section = printed["both"].split("---\n", 2)
    assert head == ""
    assert index == printed["yaml"]
    assert section.lstrip("\n") == printed["md"]
    (entry,) = yaml.safe_load(index)["model-index"]
    assert entry["results"][0]["dataset"]["revision"] == "3"
    for said in (
        "Plan: paper, 6 items by seed 0, 4 replies per item and language.",
        "Prompts: chat mode, native language.",
        r"temperature 0.7, max\_tokens 32, top\_k 40",
        "Judge: none.",
        "Sampled: 2026-05-04, with hatscore 0.0.1.",
        "Benchmark version: 3. Data: ",
        "Licence: ",
    ):
        assert said in printed["md"]
    (data,) = (line for line in printed["md"].splitlines() if "Data: " in line)
    assert ". Licence: " in data
    assert data.endswith(".")
    (macro,) = (m for m in measurements(read(run)) if m.language == "macro")
    assert f"**HAT {with_interval(macro.scores['hat'])}**" in printed["md"]


def test_a_plugin_is_called_so(outcomes):
    single = Outcomes.from_frame(
        outcomes.frame.with_columns(n=pl.lit(1), k=(pl.col("k") > 4).cast(pl.Int64))
    )
    text = card_markdown(measurements(single), single)
    (macro,) = (m for m in measurements(single) if m.language == "macro")
    assert f"**plug-in HAT {with_interval(macro.scores['hat_plugin'])}**" in text
    assert "| target language | plug-in HAT [95 % interval] |" in text
    assert "**HAT" not in text
    (entry,) = yaml.safe_load(card_yaml(measurements(single), single))["model-index"]
    names = [metric["name"] for metric in entry["results"][0]["metrics"]]
    assert all(name.startswith("plug-in HAT, ") for name in names)
    text = card_markdown(measurements(outcomes), outcomes)
    assert "plug-in" not in text
