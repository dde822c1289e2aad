"""`hatscore study` as a user types it."""

from __future__ import annotations

import csv
import json
import math
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import hatscore.cli.study as module
from hatscore.cli.comparable import check_comparable
from hatscore.cli.study import command
from hatscore.cli.study_file import read_study_file
from hatscore.cli.study_show import Said, document
from hatscore.errors import InputError, UnknownNameError
from hatscore.sampling import BenchmarkPlan, Run, RunConfig, SamplingParams
from hatscore.studies.simulated import Layout, simulate_study

ROOT = Path(__file__).parents[1]
LOGS = ROOT / ".." / "shared" / "logs"
SMALL = Layout(("reasoning",), "", ("de", "ja", "sw", "th"), n_items=40)


@pytest.fixture
def small(monkeypatch):
    """Draw fewer items than the command would: what is tested is the way out."""
    from hatscore.studies import simulated

    def draw(registry, *, rng):
        return simulate_study(registry, layout=SMALL, rng=rng)

    monkeypatch.setattr(simulated, "simulate_study", draw)


@pytest.fixture
def outcomes(tmp_path):
    """Write outcomes of four models as a user would have them."""
    from numpy.random import default_rng

    from hatscore.models import load_models

    study = simulate_study(load_models(), layout=SMALL, rng=default_rng(0))
    frame = study.outcomes.frame.filter(pl.col("model").str.starts_with("gemma-3-"))
    path = tmp_path / "outcomes.parquet"
    frame.write_parquet(path)
    return path


def run(*arguments, code=0):
    done = CliRunner().invoke(command, list(map(str, arguments)), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    assert (done.return_value or 0) == code
    return done


def config(**changes):
    plan = {
        "name": "worldfacts",
        "version": "1",
        "languages": ("en", "de"),
        "source_language": "en",
        "repeats": 2,
    }
    plan |= {k: v for k, v in changes.items() if k in (*plan, "items", "seed", "options")}
    return RunConfig(
        model=changes.get("model", "local"),
        client="local",
        served_model="m",
        mode=changes.get("mode", "completion"),
        prompt_language=changes.get("prompt_language", "native"),
        params=SamplingParams(),
        benchmarks=(BenchmarkPlan(**plan),),
    )


@pytest.mark.usefixtures("small")
def test_a_simulated_study_is_printed_with_its_truth():
    out = run("--simulate", "paper", "--seed", 1).stdout
    assert "20 models (20 in the registry), 1 benchmark" in out
    assert "truth: what the study was drawn from" in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.usefixtures("small")
def test_json_is_one_document_and_a_directory_holds_everything(tmp_path):
    where = tmp_path / "out"
    done = run("--simulate", "paper", "--format", "json", "-o", where)
    document = json.loads(done.stdout)
    names = [a["name"] for a in document["analyses"]]
    assert names[0] == "coupling"
    assert len(names) == 8
    assert document["truth"]["effects"]
    assert document == json.loads((where / "study.json").read_text(encoding="utf-8"))
    findings = (where / "findings.md").read_text(encoding="utf-8")
    for name in names:
        assert (where / f"{name}.png").stat().st_size > 1000
        with (where / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            assert len(list(csv.reader(file))) > 1
        assert f"## {name.capitalize()}" in findings
    assert (where / "ranking-reasoning.png").stat().st_size > 1000
    page = (where / "index.html").read_text(encoding="utf-8")
    assert "Simulated: no model was asked anything." in page
    assert "the seed 0 from a truth" in page
    for a in document["analyses"]:
        assert a["question"] in page


def test_a_study_of_files_writes_its_page_and_the_figures_asked_for(outcomes, tmp_path):
    where = tmp_path / "out"
    done = run(outcomes, "-o", where, "--ask", "size", "--figures", "svg,pdf")
    assert f"{where / 'index.html'}: the page" in done.stderr
    page = (where / "index.html").read_text(encoding="utf-8")
    assert "What drives transfer" in page
    assert "Simulated" not in page
    suffixes = {path.suffix for path in where.iterdir()}
    assert suffixes == {".html", ".md", ".json", ".csv", ".svg", ".pdf"}
    assert (where / "size.pdf").read_bytes().startswith(b"%PDF")
    findings = (where / "findings.md").read_text(encoding="utf-8")
    assert "(size.svg)" in findings
    run(outcomes, "-o", tmp_path / "pdf", "--ask", "size", "--figures", "pdf")
    assert "Figure: [size.pdf](size.pdf)" in (tmp_path / "pdf" / "findings.md").read_text("utf-8")
    run(outcomes, "-o", tmp_path / "bare", "--ask", "size", "--figures", "none")
    bare = {path.name for path in (tmp_path / "bare").iterdir()}
    assert bare == {"index.html", "findings.md", "study.json", "size.csv"}


def test_a_format_of_figures_that_is_none_is_refused_before_anything_is_drawn(tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean png"):
        run("--simulate", "paper", "-o", tmp_path / "out", "--figures", "pmg")


def test_an_open_end_is_told_from_a_missing_one_in_json(outcomes):
    from hatscore import read
    from hatscore.models import load_models
    from hatscore.studies.analyses import analyse
    from hatscore.studies.material import gather

    material = gather(read(outcomes), load_models())
    (found,) = analyse(material, ["family"])
    ends = pl.DataFrame({"low": [-math.inf, math.nan, 0.1], "high": [0.2, math.nan, 0.3]})
    found = replace(found, table=ends)
    (shown,) = json.loads(document([found], material, Said(), None))["analyses"]
    assert shown["table"] == [
        {"low": None, "high": 0.2, "unbounded": True},
        {"low": None, "high": None},
        {"low": 0.1, "high": 0.3},
    ]


def test_outcomes_are_analysed_with_facts_of_the_users(outcomes, tmp_path):
    mine = tmp_path / "my.toml"
    mine.write_text(
        '[[model]]\nname = "gemma-3-27b-it"\nreleased = "2026-01-01"\n', encoding="utf-8"
    )
    out = run(outcomes, "--models", mine, "--ask", "size,time").stdout
    out = " ".join(out.split())
    assert "within families: HAT changes by" in out
    assert "over 4 models" in out
    assert "models before 2026-01-01" in out
    assert "coupling:" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give runs, logs, a study file"),
        (("--simulate", "paper", "x"), "give it no paths"),
        (("x", "--dry-run"), "--dry-run is for a study file"),
        (("x", "study.toml"), "stands alone"),
        (("nowhere",), "nowhere"),
    ],
)
def test_wrong_words_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        run(*arguments)


def test_an_unknown_analysis_is_refused(outcomes):
    with pytest.raises(UnknownNameError, match="did you mean script"):
        run(outcomes, "--ask", "scripts")


# -- runs that asked different questions ---------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": "2"}, "worldfacts: version of the benchmark: 1 in one, 2 in two"),
        ({"prompt_language": "english"}, "language of the prompts: native in one, english in two"),
        ({"source_language": "de"}, "source language: en in one, de in two"),
    ],
)
def test_runs_that_asked_differently_are_refused(tmp_path, changes, message):
    for name, settings in (("one", {}), ("two", changes)):
        Run.create_or_resume(tmp_path / name, config(**settings)).close()
    with pytest.raises(InputError, match=message):
        check_comparable([tmp_path / "one", tmp_path / "two"])


def test_smaller_differences_are_noted(tmp_path):
    for name, settings in (("one", {}), ("two", {"items": 20, "mode": "chat"})):
        Run.create_or_resume(tmp_path / name, config(**settings)).close()
    notes = check_comparable([tmp_path / "one", tmp_path / "two"])
    assert notes == [
        "worldfacts: number of items: all in one, 20 in two",
        "worldfacts: mode of the prompts: completion in one, chat in two",
    ]


def test_other_sampling_parameters_are_noted_once_for_many_runs(tmp_path):
    for name in "abcde":
        params = {} if name < "e" else {"temperature": 0.0, "max_tokens": 5}
        one = replace(config(), params=SamplingParams(**params))
        Run.create_or_resume(tmp_path / name, one).close()
    assert check_comparable([tmp_path / name for name in "abcde"]) == [
        "worldfacts: temperature: 1.0 in a, b, c and 1 more, 0.0 in e",
        "worldfacts: most tokens of a reply: those of the benchmark in a, b, c and 1 more, 5 in e",
    ]


def test_one_benchmark_under_two_names_of_its_data_is_noted(tmp_path):
    for name in ("one", "two"):
        asked = config(options={"data": f"/somewhere/{name}"})
        Run.create_or_resume(tmp_path / name, asked).close()
    (note,) = check_comparable([tmp_path / "one", tmp_path / "two"])
    assert note.startswith("worldfacts(data=one) and worldfacts(data=two) count as different")
    other = config(options={"data": "/somewhere/three"}, version="2")
    Run.create_or_resume(tmp_path / "three", other).close()
    assert check_comparable([tmp_path / "one", tmp_path / "three"]) == []


def test_other_options_are_another_benchmark(tmp_path):
    for name, settings in (("one", {}), ("two", {"options": {"kind": "x"}, "version": "2"})):
        Run.create_or_resume(tmp_path / name, config(**settings)).close()
    assert check_comparable([tmp_path / "one", tmp_path / "two"]) == []


def test_files_that_say_nothing_are_noted(outcomes, tmp_path):
    Run.create_or_resume(tmp_path / "one", config()).close()
    (note,) = check_comparable([tmp_path / "one", outcomes])
    assert note.startswith("outcomes.parquet: nothing says which version")


# -- study files ---------------------------------------------------------------------------------


def study_file(tmp_path, url):
    path = tmp_path / "study.toml"
    path.write_text(
        f"""
[study]
models = ["openai-api/one", "openai-api/two"]
repeats = 4
languages = ["de", "fr"]
max_tokens = 50

[[benchmark]]
name = "worldfacts"
items = 6

[[model]]
name = "openai-api/one"
base_url = "{url}"

[[model]]
name = "openai-api/two"
base_url = "{url}"
temperature = 0.5
""",
        encoding="utf-8",
    )
    return path


def test_a_study_file_is_planned_run_resumed_and_analysed(tmp_path, model_server):
    server = model_server(models=("one", "two"), probability=lambda _: 0.6)
    path = study_file(tmp_path, server.url)
    plan = run(path, "--dry-run").stdout
    assert "openai-api/one on worldfacts: 0 of 72 replies are there, 72 missing" in plan
    assert "Missing: 144 replies in 2 cells." in plan
    assert not (tmp_path / "runs").exists()
    out = run(path, "-q", "--ask", "validation,variance").stdout
    assert "2 models (0 in the registry), 1 benchmark" in out
    again = run(path, "--dry-run").stdout
    assert "72 of 72 replies are there, 0 missing" in again
    assert "Cost" not in again


def test_a_plan_that_leaves_replies_out_is_counted_from_above(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\nmodels = ["local"]\nplan = "efficient"\nitems = 5\nlanguages = ["de"]\n'
        '[[benchmark]]\nname = "worldfacts"\n',
        encoding="utf-8",
    )
    (cell,) = read_study_file(path).cells
    assert (cell.request.plan.kind, cell.request.plan.keep) == ("efficient", 0.15)
    assert "0 of at most 100 replies are there" in run(path, "--dry-run").stdout


@pytest.fixture
def key(monkeypatch):
    """Give a key: without one a dry run says that the model cannot be asked."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")


def priced(tmp_path, more=""):
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\nmodels = ["claude-haiku-4-5-20251001", "gemma-3-1b-it"]\n'
        f'items = 6\nlanguages = ["de"]\n{more}[[benchmark]]\nname = "worldfacts"\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.usefixtures("key")
def test_a_cost_is_told_where_the_registry_has_a_price(tmp_path):
    from hatscore.cli.prepared import load_tasks
    from hatscore.models import load_models

    path = priced(tmp_path)
    price = load_models().models["claude-haiku-4-5-20251001"].price
    request = read_study_file(path).cells[0].request
    ((_, tasks),) = load_tasks(request, "chat")
    prompts = sum(len(t.prompt.text.encode()) * t.repeats for t in tasks) / 3.5
    replies = sum(t.repeats for t in tasks)
    assert replies == 6 * 2 * 10

    def usd(output):
        return f"{(prompts * price['input'] + output * price['output']) / 1e6:.2f} USD"

    out = run(path, "--dry-run").stdout
    most = sum(t.prompt.max_tokens * t.repeats for t in tasks)
    assert f"at most {usd(most)} (price of the vendor on {price['date']}" in out
    assert f"Cost: at most {usd(most)} for the cell whose price is known" in out
    assert "No price is known of gemma-3-1b-it" in out
    given = run(path, "--dry-run", "--output-tokens", 5000).stdout
    assert f"; about {usd(5000 * replies)} (" in given
    assert "5000 output tokens a reply as given" in given


@pytest.mark.usefixtures("key")
def test_batches_and_plans_that_ask_less_cost_less(tmp_path):
    full = cost_in(run(priced(tmp_path), "--dry-run", "--output-tokens", 5000).stdout)
    batch = run(priced(tmp_path, "batch = true\n"), "--dry-run", "--output-tokens", 5000).stdout
    assert "50% off in batches" in batch
    assert cost_in(batch) == pytest.approx(full / 2, abs=0.01)
    less = priced(tmp_path, 'plan = "efficient"\n')
    assert cost_in(run(less, "--dry-run", "--output-tokens", 5000).stdout) < full


def cost_in(text):
    return float(text.partition("Cost: about ")[2].partition(" USD")[0])


def test_output_tokens_are_for_a_dry_run(outcomes):
    with pytest.raises(InputError, match="--dry-run"):
        run(outcomes, "--output-tokens", 100)


def test_cells_that_cannot_be_planned_are_counted(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\nmodels = ["local"]\n[[benchmark]]\nname = "nothing"\n', encoding="utf-8"
    )
    out = run(path, "--dry-run", code=2).stdout
    assert "1 of 1 cells cannot be planned:\n  local on nothing: unknown benchmark" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[study]\n", "needs models in"),
        ('[study]\nmodles = ["a"]\n', "did you mean models"),
        ('[study]\nmodels = ["a"]\n[[benchmark]]\nitems = 3\n', "has no name"),
        ('[study]\nmodels = ["a"]\n[[benchmark]]\nname = "x"\nlang = 1\n', "field of"),
        ('[study]\nmodels = ["a"]\n[[benchmark]]\nname = "x"\n[[model]]\nname = "b"\n', "'b'"),
        ("models = [", "no TOML"),
    ],
)
def test_wrong_study_files_are_refused(tmp_path, text, message):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_study_file(path)


def test_a_missing_study_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml: no readable file"):
        read_study_file(tmp_path / "none.toml")


def test_the_papers_study_is_twenty_configurations_by_three_benchmarks():
    path = ROOT / "examples" / "paper.toml"
    cells = read_study_file(path).cells
    assert len(cells) == 20 * 3
    assert {c.request.repeats for c in cells} == {10}
    assert len({c.directory for c in cells}) == len(cells)
    models = tomllib.loads(path.read_text(encoding="utf-8"))["study"]["models"]
    assert all(m.startswith("paper/") for m in models)


def test_help_names_the_command():
    assert "STUDY.toml" in CliRunner().invoke(module.command, ["--help"]).output


# -- real logs -----------------------------------------------------------------------------------


def test_real_replies_in_five_languages():
    logs = LOGS / "clsp_mgsm_chatgpt"
    if not logs.is_dir():
        pytest.skip("needs ../shared/logs/clsp_mgsm_chatgpt")
    out = run(
        *(logs / tag for tag in ("de", "es", "zh", "bn", "te")),
        "--source", "de", "--model", "chatgpt", "--benchmark", "mgsm", "--grade", "number",
        "--columns", "item=@row,reply=message.0.content,gold=origin.answer",
        "--map", r"language=path:([a-z]+)/[a-z]+\.jsonl$",
        "--map", r"repeat=path:([a-z]+)\.jsonl$",
        "--ask", "script,validation", "--format", "json",
    ).stdout  # fmt: skip
    (script,) = (a for a in json.loads(out)["analyses"] if a["name"] == "script")
    by = {(r["trait"], r["effect"]): r for r in script["table"]}
    # four targets of one model: sure over items, open over languages
    assert by["script", "other - same"]["high"] < 0
    assert (
        by["other script", "over languages"]["low"]
        < 0
        < by["other script", "over languages"]["high"]
    )
