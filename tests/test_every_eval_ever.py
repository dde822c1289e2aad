"""`hatscore convert --format every_eval_ever`: what the schema demands, and the way back."""

from __future__ import annotations

import json
from hashlib import sha256

import polars as pl
import pytest

from hatscore import Outcomes, measure, read
from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Item, Prompt
from hatscore.cli import main
from hatscore.errors import AlignmentError, InputError, UnknownNameError
from hatscore.grading.answer import Gold
from hatscore.outcomes import STATUS_COLUMNS
from hatscore.readers.items import Items
from hatscore.report.every_eval_ever import Origin, record
from hatscore.sampling import BenchmarkPlan, Completion, Run, RunConfig, SamplingParams, Task
from hatscore.scoring import measurements

# the required fields of eval.schema.json and instance_level_eval.schema.json, version 0.2.2
AGGREGATE = {
    "schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info",
    "eval_library", "evaluation_results",
}  # fmt: skip
AGGREGATE_OPTIONAL = {"evaluation_timestamp", "detailed_evaluation_results"}
RESULT = {"evaluation_name", "source_data", "metric_config", "score_details"}
INSTANCE = {
    "schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id",
    "interaction_type", "input", "answer_attribution", "evaluation",
}  # fmt: skip
INSTANCE_OPTIONAL = {
    "evaluation_result_id", "sample_hash", "output", "messages", "token_usage", "performance",
    "error", "metadata",
}  # fmt: skip
SLOPES = {"de": 0.9, "ru": 0.4}
RIGHT = {"en": 7, "de": 5, "sw": 2}


def completion(language, item, repeat):
    if (language, item, repeat) == ("sw", 0, 9):
        return Completion("", error="HTTP 500")
    if (language, item, repeat) == ("sw", 1, 9):
        return Completion("", finish_reason="stop", input_tokens=9, output_tokens=0)
    right = (repeat + item) % 10 < RIGHT[language]
    return Completion(
        f"Answer: {item if right else item + 1} \u2028 \ud800",
        finish_reason="stop",
        input_tokens=9,
        output_tokens=4 + repeat,
        latency_s=0.25,
    )


@pytest.fixture
def run(tmp_path):
    """Write a run of sums with known replies, without any model."""
    directory = tmp_path / "run"
    config = RunConfig(
        "openai-api/lab/m",
        "openai-api",
        "lab/m",
        "chat",
        "native",
        SamplingParams(temperature=0.7, max_tokens=32),
        (BenchmarkPlan("sums", "3", tuple(RIGHT), "en", 10, options={"data": "home/me/s.csv"}),),
    )
    with Run.create_or_resume(directory, config) as opened:
        for language in RIGHT:
            for item in range(8):
                gold = Gold("number", str(item), language, "en")
                asked = Item(str(item), language, "en", f"{item} + 0?", gold)
                task = Task("sums", asked, Prompt("chat", f"Sum: {item} + 0?"), 10)
                opened.store.put_items([task])
                for repeat in range(10):
                    opened.store.put(
                        task.cell, repeat, completion(language, item, repeat), seed=None
                    )
    return directory


@pytest.fixture
def cli(capsys):
    def run_it(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(one) for one in arguments])
        streams = capsys.readouterr()
        return end.value.code, streams.out, streams.err

    return run_it


def export(cli, run, out, *more):
    code, said, err = cli(
        "convert", run, out, "--format", "every_eval_ever", "--organization", "Lab", *more
    )
    assert code == 0, err
    return said


def parts(out):
    (aggregate,) = out.rglob("*.json")
    (samples,) = out.rglob("*.jsonl")
    lines = samples.read_text(encoding="utf-8").split("\n")[:-1]
    return json.loads(aggregate.read_text(encoding="utf-8")), list(map(json.loads, lines)), samples


@pytest.mark.parametrize("count", ["unparsed,empty,truncated,refused", "answered"])
def test_what_is_written_reads_back(cli, run, tmp_path, count):
    out = tmp_path / "out"
    said = export(cli, run, out, "--count", count)
    assert "1 records, 1 of them with every reply" in said
    columns = ["model", "benchmark", "item", "language", "source_language", "n", "k", "group"]
    columns += ["chance", "weight", *STATUS_COLUMNS, "input_tokens", "output_tokens"]
    first = read(run, count=count).frame.select(columns)
    second = read(out).frame.select(columns)
    keys = columns[:4]
    tokens = ("input_tokens", "output_tokens")
    if count == "answered":
        # tokens are means over the replies that count, which are fewer on the way back
        first, second = first.drop(tokens), second.drop(tokens)
    assert first.sort(keys).equals(second.sort(keys))
    assert sum(second["n"]) == 239 - (count == "answered")


@pytest.fixture
def planned(model_server, tmp_path, cli):
    """Sample by the efficient plan: a third of the items is never solved, the others evenly."""
    benchmark = get_benchmark("wordmath")
    items = benchmark.load(
        languages=["en", *SLOPES], source_language="en", items=40, seed=0, options={}
    )
    asked = {benchmark.prompt(i, mode="chat", prompt_language="native").text: i for i in items}

    def probability(prompt):
        item = asked[prompt]
        u = int(sha256(item.id.encode()).hexdigest()[:8], 16) / 16**8
        return max(0.0, 1.5 * u - 0.5) * SLOPES.get(item.language, 1.0)

    server = model_server(
        probability=probability,
        right=lambda prompt: f"Answer: {asked[prompt].gold.value}",
        wrong=lambda prompt: f"Answer: {int(asked[prompt].gold.value) + 1}",
        n_limit=8,
    )
    directory = tmp_path / "planned"
    code, _, err = cli(
        *("run", "openai-api/test-model", "-b", "wordmath", "-l", ",".join(SLOPES)),
        *("--items", 40, "--base-url", server.url, "-o", directory, "-q"),
        *("--plan", "efficient"),
    )
    assert code == 0, err
    return directory


def test_what_a_plan_decided_survives(cli, planned, tmp_path):
    out = tmp_path / "out"
    export(cli, planned, out)
    columns = ["model", "benchmark", "item", "language", "n", "k", "group", "weight"]
    first, second = (read(p).frame.select(columns).sort(columns) for p in (planned, out))
    assert first.equals(second)
    weights = second["weight"]
    assert ((weights == 0).any(), (weights == 1).any(), (weights > 1).any()) == (True, True, True)
    assert second["n"].n_unique() > 2
    assert measure(read(planned)).equals(measure(read(out)))
    _, rows, samples = parts(out)
    assert samples.parts[-3:-1] == ("unknown", "test-model")
    (note,) = [n for n in read(out).notes if "left out" in n]
    assert f"left out {(weights == 0).sum()} of 80 cells" in note
    # a reply that was lost on the way is not one that the plan did not ask for
    lost = next(i for i, row in enumerate(rows) if row["metadata"]["language"] == "de")
    del rows[lost]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(AlignmentError, match="fewer replies than others"):
        read(out)


@pytest.mark.parametrize(
    ("model", "developer"),
    [
        ("openai-api/a", "unknown"),
        ("openai-api/Qwen/x", "Qwen"),
        ("together/lab/x", "lab"),
        ("anthropic/x", "anthropic"),
        ("x", "unknown"),
        ("gemma-3-4b-it", "Google"),
    ],
)
def test_a_way_to_a_model_is_not_its_developer(cli, run, tmp_path, model, developer):
    table = tmp_path / "t.parquet"
    frame = read(run).frame.with_columns(model=pl.lit(model))
    Outcomes.from_frame(frame).write_parquet(table)
    export(cli, table, tmp_path / "out")
    (path,) = (tmp_path / "out").rglob("*.json")
    assert path.relative_to(tmp_path / "out").parts[1] == developer
    named = json.loads(path.read_text(encoding="utf-8"))["model_info"]
    assert named.get("developer", "unknown") == developer


def test_the_replies_that_are_written_are_shown_with_how_they_ended(cli, run, tmp_path):
    export(cli, run, tmp_path / "out")

    def told(path):
        return {
            (r.item, r.language, repeat): (
                r.question, r.gold, r.prompt, reply.text, reply.answer,
                reply.status if reply.status != "error" else reply.counts,
            )
            for r in Items([path]) for reply in r.replies for repeat in reply.repeats
        }  # fmt: skip

    first, second = told(run), told(tmp_path / "out")
    assert first == second
    assert len(first) == 240


def test_the_record_has_what_the_schema_demands(cli, run, tmp_path):
    export(cli, run, tmp_path / "out", "--relationship", "third_party")
    aggregate, rows, samples = parts(tmp_path / "out")
    assert AGGREGATE <= aggregate.keys() <= AGGREGATE | AGGREGATE_OPTIONAL
    assert aggregate["schema_version"] == "0.2.2"
    assert aggregate["retrieved_timestamp"].isdigit()
    assert aggregate["source_metadata"]["source_type"] == "evaluation_run"
    assert aggregate["source_metadata"]["evaluator_relationship"] == "third_party"
    assert aggregate["eval_library"]["name"] == "hatscore"
    named = {"name": "openai-api/lab/m", "id": "openai-api/lab/m", "developer": "lab"}
    assert aggregate["model_info"] == named
    assert samples.parts[-3:-1] == ("lab", "m")
    scores = {m.language: m.scores for m in measurements(read(run))}
    by_id = {}
    for result in aggregate["evaluation_results"]:
        assert result.keys() >= RESULT
        assert result["source_data"]["source_type"] == "other"
        assert result["source_data"]["source_version"] == "3"
        config = result["metric_config"]
        assert config["lower_is_better"] is False
        if config.get("score_type") == "continuous":
            assert config["min_score"] < config["max_score"]
        arguments = result["generation_config"]["generation_args"]
        assert arguments == {"temperature": 0.7, "max_tokens": 32}
        by_id[result["evaluation_result_id"]] = result["score_details"]
    names = {f"{metric}/{x}" for metric in ("hat", "hat_plugin", "accuracy") for x in scores}
    assert by_id.keys() == names | {"accuracy/source"}
    hat = scores["sw"]["hat"]
    assert by_id["hat/sw"]["score"] == hat.value
    interval = by_id["hat/sw"]["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"]) == (hat.low, hat.high)
    assert interval["confidence_level"] == 0.95
    detailed = aggregate["detailed_evaluation_results"]
    assert detailed["file_path"] == samples.name
    assert detailed["total_rows"] == len(rows) == 240
    assert detailed["checksum"] == sha256(samples.read_bytes()).hexdigest()
    assert "home" not in json.dumps(aggregate)


def test_replies_have_what_the_schema_demands(cli, run, tmp_path):
    export(cli, run, tmp_path / "out")
    aggregate, rows, _ = parts(tmp_path / "out")
    known = {result["evaluation_result_id"] for result in aggregate["evaluation_results"]}
    for row in rows:
        assert INSTANCE <= row.keys() <= INSTANCE | INSTANCE_OPTIONAL
        assert row["schema_version"] == "instance_level_eval_0.2.2"
        assert row["evaluation_id"] == aggregate["evaluation_id"]
        assert row["evaluation_result_id"] in known
        assert row["interaction_type"] == "single_turn"
        assert row["messages"] is None
        assert all(isinstance(text, str) for text in row["output"]["raw"])
        assert row["evaluation"]["score"] == float(row["evaluation"]["is_correct"])
        assert all(isinstance(value, str) for value in row["metadata"].values())
        if row["token_usage"]:
            usage = row["token_usage"]
            assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        for how in row["answer_attribution"]:
            assert how.keys() == {
                "turn_idx", "source", "extracted_value", "extraction_method", "is_terminal",
            }  # fmt: skip
    failed = [row for row in rows if row["error"]]
    assert [row["error"] for row in failed] == ["HTTP 500"]
    empty = [row for row in rows if row["metadata"]["status"] == "empty"]
    assert len(empty) == 1
    assert not empty[0]["evaluation"]["is_correct"]
    assert {row["evaluation_result_id"] for row in rows if row["metadata"]["language"] == "en"} == {
        "accuracy/source"
    }


def test_a_table_has_records_but_no_replies(cli, run, tmp_path):
    table = tmp_path / "t.parquet"
    read(run).write_parquet(table)
    code, said, err = cli(
        "convert", table, tmp_path / "out", "--format", "every_eval_ever", "--organization", "Lab"
    )
    assert code == 0
    assert "1 records, 0 of them" in said
    assert "only the records are written" in err
    (path,) = (p for p in (tmp_path / "out").rglob("*") if p.is_file())
    made = json.loads(path.read_text(encoding="utf-8"))
    assert "detailed_evaluation_results" not in made


def test_open_ends_and_missing_scores_are_said_not_written(tmp_path):
    path = tmp_path / "t.csv"
    rows = ["item,language,n,k"]
    for i, (source, target) in enumerate([(4, 3), (1, 2), (0, 1), (1, 4)]):
        rows += [f"{i},en,10,{source}", f"{i},de,10,{target}", f"{i},fr,1,0"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    outcomes = read(path, source="en", model="m", benchmark="b")
    found = measurements(outcomes)
    assert not all(m.scores["hat"].bounded for m in found)
    made = record(found, Origin("Lab", "other", 0), source_language="en")
    json.dumps(made, allow_nan=False)
    for result in made["evaluation_results"]:
        details = result["score_details"]
        if "\N{INFINITY}" in details["details"]["interval"]:
            assert "confidence_interval" not in details["uncertainty"]
            assert details["details"]["reason"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "needs --organization NAME"),
        (["--organization", " "], "give the organization's name"),
    ],
)
def test_wrong_use(cli, run, tmp_path, arguments, said):
    code, _, err = cli("convert", run, tmp_path / "o", "--format", "every_eval_ever", *arguments)
    assert code == 2
    assert said in err


def test_a_full_folder_is_left_alone(cli, run, tmp_path):
    out = tmp_path / "out"
    export(cli, run, out)
    code, _, err = cli("convert", run, out, "--format", "every_eval_ever", "--organization", "Lab")
    assert code == 2
    assert "is not empty" in err
    export(cli, run, out, "--force")
    code, _, err = cli("convert", run, tmp_path / "t.parquet", "--organization", "Lab")
    assert code == 2
    assert "is for --format every_eval_ever" in err


def test_origin_and_record_check_what_they_get():
    with pytest.raises(UnknownNameError, match="did you mean third_party"):
        Origin("Lab", "third-party", 0)
    with pytest.raises(InputError, match="one model on one benchmark"):
        record([], Origin("Lab", "other", 0), source_language="en")
