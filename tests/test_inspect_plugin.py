"""The plug-in for inspect_ai: what its tasks ask, how they grade, and HAT as a metric."""

import asyncio
import csv
import gc
import importlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import hatscore
from hatscore.errors import InputError, MissingExtraError

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("inspect_ai") is None, reason="needs the extra providers"
    ),
    pytest.mark.filterwarnings("ignore"),  # what inspect and its SDKs warn of is not ours
]
ROOT = Path(__file__).parents[1]
COUNTS = [
    "item",
    "language",
    "n",
    "k",
    "empty",
    "truncated",
    "refused",
    "unparsed",
    "error",
    "judge_unparsed",
]
TOKENS = ["input_tokens", "output_tokens"]


@pytest.fixture(autouse=True)
def _swept():
    """Let go here of what inspect leaves open, where its warnings are passed over."""
    yield
    gc.collect()


def plugin():
    return importlib.import_module("hatscore.inspect")


def evaluate(task, model, folder, **options):
    from inspect_ai import eval as run

    (log,) = run(
        task,
        model=model,
        log_dir=str(folder),
        display="none",
        score_display=False,
        log_realtime=False,
        **options,
    )
    return log


def mock(speak):
    from inspect_ai.model import get_model

    return get_model("mockllm/model", custom_outputs=speak)


class Speaker:
    """Answers every prompt in turn with right, wrong and broken replies, the same each time."""

    def __init__(self, golds):
        self.golds = golds
        self.places = {text: place for place, text in enumerate(golds)}
        self.asked = Counter()
        self.configs = []

    def __call__(self, messages, _tools, _choice, config):
        from inspect_ai.model import ModelOutput, ModelUsage

        text = messages[-1].text
        turn = self.asked[text]
        self.asked[text] += 1
        self.configs.append(config)
        gold = self.golds[text]
        replies = [
            (gold, "stop"),
            (gold, "stop"),
            ("999", "stop"),
            ("", "stop"),
            ("no idea at all", "stop"),
            (f"Answer: {gold}\n\nQuestion: and now?", "max_tokens"),
            ("I was about to say", "max_tokens"),
            ("<think>hm", "stop"),
            (gold, "content_filter"),
        ]
        words, stop = replies[(turn + self.places[text]) % len(replies)]
        output = ModelOutput.from_content("mockllm/model", words, stop_reason=stop)
        output.usage = ModelUsage(input_tokens=7 + turn, output_tokens=9, total_tokens=16 + turn)
        return output


def golds_of(task):
    return {sample.input: sample.target for sample in task.dataset}


def sample_here(recipe, directory, speak, repeats):
    """Sample the same items as `hatscore run` does."""
    from hatscore.sampling import BenchmarkPlan, Run, RunConfig, SamplingParams, make_tasks
    from hatscore.sampling import sample as sample_all
    from hatscore.sampling.clients.inspect import InspectClient

    material = recipe.load()
    name = material.benchmark.name
    plan = BenchmarkPlan(
        name, material.benchmark.version, material.languages, material.languages[0], repeats
    )
    config = RunConfig(
        "mockllm/model", "inspect", "model", "chat", "native", SamplingParams(), (plan,)
    )
    tasks = make_tasks(
        material.benchmark,
        material.items.values(),
        mode="chat",
        prompt_language="native",
        repeats=repeats,
    )
    client = InspectClient("mockllm/model", model_args={"custom_outputs": speak}, max_n=1)
    with Run.create_or_resume(directory, config) as run:
        asyncio.run(sample_all(run.store, tasks, client, params=config.params))
    return directory


def table(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


@pytest.fixture
def choices(tmp_path):
    rows = [
        {
            "item": f"q{number}",
            "language": tag,
            "question": f"{tag} question {number}?",
            "options": "|".join(f"{tag}{word}" for word in ("one", "two", "three")),
            "answer": "ABC"[number % 3],
            "group": f"g{number % 2}",
        }
        for number in range(4)
        for tag in ("en", "de", "sw")
    ]
    return table(tmp_path / "choices.csv", rows)


@pytest.fixture
def facts(tmp_path):
    from hatscore.benchmarks.eclektic_data import LANGUAGES

    path = tmp_path / "facts.jsonl"
    lines = []
    for name, source in {"7": "de", "12": "en", "30": "zh"}.items():
        data = {"q_id": int(name), "original_lang": source, "title": name, "url": "x"}
        for tag in LANGUAGES:
            data |= {f"{tag}_c": f"text {name} {tag}", f"{tag}_q": f"ask {name} {tag}?"}
            data |= {f"{tag}_a": f"fact {name} {tag}"}
        for long, short in (("content", "c"), ("question", "q"), ("answer", "a")):
            data[long] = data[f"{source}_{short}"]
        lines.append(json.dumps(data, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


# -- what inspect finds -------------------------------------------------------------------------


def test_entry_point_registers_tasks_scorer_and_metric(tmp_path):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "entry-points"
    ]["inspect_ai"]
    info = tmp_path / "plug-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 0\n")
    points = "".join(f"{name} = {value}\n" for name, value in declared.items())
    (info / "entry_points.txt").write_text(f"[inspect_ai]\n{points}")
    code = (
        "import sys, hatscore\n"
        "assert 'inspect_ai' not in sys.modules\n"
        "from inspect_ai._util.registry import registry_lookup\n"
        "for name in 'mgsm mgsm_v2 mmlu_prox_lite eclektic wordmath worldfacts chain custom'"
        ".split():\n"
        "    assert registry_lookup('task', 'hatscore/' + name), name\n"
        "assert registry_lookup('scorer', 'hatscore/graded')\n"
        "assert registry_lookup('metric', 'hatscore/hat')\n"
        "assert registry_lookup('task', 'hatscore/nothing') is None\n"
        "heavy = {'polars', 'scipy', 'num2words'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": paths}
    )


def test_eval_resolves_the_task_by_its_name(tmp_path):
    plugin()
    speak = Speaker({})
    speak.golds = _Anything()
    speak.places = _Anything(0)
    log = evaluate(
        "hatscore/wordmath",
        mock(speak),
        tmp_path,
        task_args={"languages": ["de", "fr"], "limit": 2, "difficulty": 3},
    )
    assert log.status == "success"
    assert log.eval.task_registry_name == "hatscore/wordmath"
    assert log.eval.task == "wordmath(difficulty=3)"
    assert len(log.samples) == 2 * 3


class _Anything(dict):
    def __init__(self, value="1"):
        super().__init__()
        self.value = value

    def __missing__(self, key):
        return self.value


def test_without_inspect_the_extra_is_named(monkeypatch):
    plugin()
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "inspect_ai" else real(name, *rest),
    )
    monkeypatch.delitem(sys.modules, "hatscore.inspect")
    with pytest.raises(MissingExtraError, match=r"pip install 'hatscore\[providers\]'"):
        importlib.import_module("hatscore.inspect")


# -- what is asked ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wordmath", "worldfacts", "chain"])
@pytest.mark.parametrize("mode", ["chat", "completion"])
def test_samples_are_the_prompts_of_a_run(name, mode):
    from hatscore.benchmarks import get_benchmark

    task = getattr(plugin(), name)(languages="de,fr", limit=3, seed=4, mode=mode, prompts="english")
    benchmark = get_benchmark(name)
    items = benchmark.load(
        languages=["en", "de", "fr"], source_language="en", items=3, seed=4, options={}
    )
    samples = list(task.dataset)
    assert len({sample.id for sample in samples}) == len(samples) == 9
    for item, sample in zip(items, samples, strict=True):
        prompt = benchmark.prompt(item, mode=mode, prompt_language="english")
        assert sample.input == prompt.text
        assert sample.target == item.gold.value
        data = sample.metadata
        assert (data["item"], data["language"], data["source_language"]) == (
            item.id,
            item.language,
            "en",
        )
        assert data["group"] == (item.group or item.id)
        assert data["chance"] == item.chance
        assert data["benchmark_version"] == benchmark.version
        assert tuple(data.get("stop", ())) == prompt.stop
        assert data["max_tokens"] == prompt.max_tokens


def test_official_files_come_from_the_users_folder():
    folder = ROOT / ".." / "shared" / "data" / "mgsm_rev2"
    if not folder.is_dir():
        pytest.skip("the official files are not beside the repository")
    task = plugin().mgsm_v2(data=str(folder), languages="de", limit=2)
    assert [s.metadata["language"] for s in task.dataset] == ["en", "de"] * 2
    assert task.name == "mgsm_v2(data=mgsm_rev2)"


def test_bounds_are_ours_unless_the_eval_says_others(tmp_path):
    task = plugin().chain(languages="de", limit=1, mode="completion")
    speak = Speaker(golds_of(task))
    evaluate(task, mock(speak), tmp_path)
    (config, _) = speak.configs
    sample = task.dataset[0]
    assert config.max_tokens == sample.metadata["max_tokens"]
    assert config.stop_seqs == sample.metadata["stop"]
    assert config.temperature == 1.0

    speak = Speaker(golds_of(task))
    evaluate(task, mock(speak), tmp_path, max_tokens=7, stop_seqs=["!"], temperature=0.5)
    (config, _) = speak.configs
    assert (config.max_tokens, config.stop_seqs, config.temperature) == (7, ["!"], 0.5)


def test_models_that_think_get_room_for_it():
    from inspect_ai.model import GenerateConfig, get_model

    from hatscore.inspect.solver import room
    from hatscore.sampling.clients.inspect import REASONING_ROOM

    model = get_model("mockllm/model")
    assert room(model, GenerateConfig(), 100) == 100
    assert room(model, GenerateConfig(reasoning_effort="low"), 100) == 100 + REASONING_ROOM
    assert room(model, GenerateConfig(reasoning_tokens=50), 100) == 150
    assert room(model, GenerateConfig(reasoning_effort="none"), 100) == 100
    model.api.is_gemini_thinking = lambda: True
    assert room(model, GenerateConfig(), 100) == 100 + REASONING_ROOM


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"languages": "xx"}, "unknown language of wordmath 'xx'"),
        ({"languages": ["en"]}, "only language asked for is the source"),
        ({"languages": 5}, "expected tags"),
        ({"limit": "3"}, "expected a number of items"),
        ({"mode": "chats"}, "did you mean chat"),
        ({"prompts": "latin"}, "native"),
        ({"difficulty": 9}, "difficulty"),
    ],
)
def test_wrong_arguments_are_told_as_inspect_tells_its_own(arguments, words):
    from inspect_ai._util.error import PrerequisiteError

    with pytest.raises(InputError, match=words) as caught:
        plugin().wordmath(**arguments)
    assert isinstance(caught.value, PrerequisiteError)
    assert words in caught.value.message


def test_norwegian_survives_yaml():
    from hatscore.inspect.recipe import read_languages

    assert read_languages([False]) == ("no",)
    assert read_languages("sw, no") == ("sw", "no")


# -- grading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wordmath", "custom"])
def test_a_log_counts_as_a_run_of_the_same_replies(name, choices, tmp_path):
    from hatscore.inspect.recipe import Recipe

    options = {"data": choices} if name == "custom" else {"difficulty": 1}
    recipe = Recipe.of(
        name, languages="de,sw" if name == "custom" else "de,fr", limit=4, options=options
    )
    task = getattr(plugin(), name)(languages=recipe.languages, limit=4, **options)
    log = evaluate(task, mock(Speaker(golds_of(task))), tmp_path / "logs", epochs=9)
    assert log.status == "success"
    directory = sample_here(recipe, tmp_path / "run", Speaker(golds_of(task)), 9)
    ours = hatscore.read(directory)
    theirs = hatscore.read(tmp_path / "logs")
    keys = [*COUNTS, *TOKENS, "source_language", "group", "chance"]
    expected = ours.frame.select(keys).sort("item", "language")
    assert theirs.frame.select(keys).sort("item", "language").equals(expected)
    assert expected["unparsed"].sum() > 0
    assert expected["empty"].sum() > 0

    said = Counter(sample.scores["graded"].metadata["status"] for sample in log.samples)
    for status in ("empty", "truncated", "refused", "unparsed"):
        assert said[status] == ours.frame[status].sum()
    assert said["correct"] == ours.frame["k"].sum()
    assert {sample.scores["graded"].value for sample in log.samples} == {0, 1}


def test_a_log_gives_the_score_that_its_metric_gave(tmp_path):
    task = plugin().wordmath(languages="de,fr", limit=8, difficulty=2)
    log = evaluate(task, mock(Speaker(golds_of(task))), tmp_path, epochs=4)
    values = {
        name: metric.value for score in log.results.scores for name, metric in score.metrics.items()
    }
    assert log.results.headline.metric == "hat"
    rows = {row["language"]: row for row in hatscore.measure(hatscore.read(tmp_path)).to_dicts()}
    for language, name, prefix in (
        ("macro", "hat", ""),
        ("de", "hat_de", "hat_de_"),
        ("fr", "hat_fr", "hat_fr_"),
    ):
        row = rows[language]
        assert values[name] == pytest.approx(row["hat"], abs=1e-12)
        assert values[f"{prefix}low"] == pytest.approx(row["hat_low"], abs=1e-12)
        assert values[f"{prefix}high"] == pytest.approx(row["hat_high"], abs=1e-12)
        assert values[f"{prefix}plugin"] == pytest.approx(row["hat_plugin"], abs=1e-12)
    assert values["de"] == pytest.approx(rows["de"]["target_accuracy"], abs=1e-12)


class Judge:
    """Says yes to what holds the fact; to some only when asked twice, to some never."""

    def __init__(self):
        self.asked = Counter()
        self.bounds = []

    def __call__(self, messages, _tools, _choice, config):
        from inspect_ai.model import ModelOutput, ModelUsage

        text = messages[-1].text
        self.asked[text] += 1
        self.bounds.append(config.max_tokens)
        assert config.temperature == 0
        answer = text.rpartition("Answer:\n")[2]
        word = "YES" if "fact" in answer else "NO"
        if "999" in answer:
            word = "NO" if self.asked[text] > 1 else "let me think"
        if "no idea" in answer:
            word = "who knows"
        output = ModelOutput.from_content("mockllm/judge", word)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output


def test_judged_replies_count_as_in_a_run(facts, tmp_path):
    from inspect_ai.model import get_model

    from hatscore.inspect.recipe import Recipe
    from hatscore.judging import VERDICTS_NAME, VerdictStore, judge_replies
    from hatscore.sampling import Run
    from hatscore.sampling.clients.inspect import InspectClient

    recipe = Recipe.of("eclektic", languages="en,de", options={"data": facts})
    task = plugin().eclektic(languages="en,de", data=facts)
    judge = Judge()
    grader = get_model("mockllm/judge", custom_outputs=judge)
    log = evaluate(
        task,
        mock(Speaker(golds_of(task))),
        tmp_path / "logs",
        epochs=9,
        model_roles={"grader": grader},
    )
    assert log.status == "success", log.error
    assert set(judge.bounds) == {1024, 4096}

    directory = sample_here(recipe, tmp_path / "run", Speaker(golds_of(task)), 9)
    other = InspectClient("mockllm/judge", model_args={"custom_outputs": Judge()})
    with Run.open(directory) as run, VerdictStore(directory / VERDICTS_NAME) as store:
        asyncio.run(judge_replies(run, store, other, judge="j"))
    expected = hatscore.read(directory).frame.select(COUNTS).sort("item", "language")
    found = hatscore.read(tmp_path / "logs").frame.select(COUNTS).sort("item", "language")
    assert found.equals(expected)
    assert expected["judge_unparsed"].sum() > 0
    assert set(expected["language"]) == {"de", "en", "zh"}


def test_a_judge_is_looked_for_before_a_reply_is_paid_for(facts, tmp_path):
    task = plugin().eclektic(languages="en,de", data=facts)
    speak = Speaker(golds_of(task))
    log = evaluate(task, mock(speak), tmp_path)
    assert log.status == "error"
    assert "--model-role grader=" in log.error.message
    assert not speak.asked
    task = plugin().eclektic(languages="en,de", data=facts, grading="names")
    assert evaluate(task, mock(Speaker(golds_of(task))), tmp_path).status == "success"


def test_a_log_can_be_scored_again_where_the_data_are_the_same(choices, tmp_path):
    from inspect_ai import score

    module = plugin()
    task = module.custom(data=choices, limit=2)
    log = evaluate(task, mock(Speaker(golds_of(task))), tmp_path, epochs=3)
    again = score(log, module.graded(), action="overwrite", display="none")
    before = [sample.scores["graded"].value for sample in log.samples]
    assert [sample.scores["graded"].value for sample in again.samples] == before

    text = Path(choices).read_text(encoding="utf-8")
    Path(choices).write_text(text.replace("question 1", "question one"), encoding="utf-8")
    with pytest.raises(InputError, match="score with the options and data"):
        score(log, module.graded(), action="overwrite", display="none")


def test_the_scorer_refuses_samples_of_other_tasks(tmp_path):
    from inspect_ai import Task
    from inspect_ai.dataset import Sample

    task = Task(dataset=[Sample(input="1?", target="1")], scorer=plugin().graded())
    log = evaluate(task, mock(Speaker({"1?": "1"})), tmp_path)
    assert log.status == "error"
    assert "metric hatscore/hat" in log.error.message


# -- the metric ---------------------------------------------------------------------------------


def scores_of(counts, *, keys=("item", "language", "source_language"), extra=None):
    """Scores of every epoch for ``{(item, language): (k, n)}``."""
    from inspect_ai.scorer import SampleScore, Score

    found = []
    for (item, language), (k, n) in counts.items():
        metadata = dict(zip(keys, (item, language, "en"), strict=True)) | (extra or {}).get(
            item, {}
        )
        for epoch in range(n):
            score = Score(value="C" if epoch < k else "I")
            name = f"{item}-{language}"
            found.append(SampleScore(score=score, sample_id=name, sample_metadata=metadata))
    return found


COUNTED = {
    **{(f"q{i}", "en"): (k, 10) for i, k in enumerate([10, 8, 5, 2, 0, 9, 7])},
    **{(f"q{i}", "de"): (k, 10) for i, k in enumerate([9, 8, 3, 2, 1, 6, 4])},
    **{(f"q{i}", "sw"): (k, 4) for i, k in enumerate([4, 3, 1, 0, 1, 2, 2])},
}


def column(language):
    return [k for (_, tag), (k, _) in COUNTED.items() if tag == language]


@pytest.mark.parametrize("clustered", [False, True])
def test_hat_is_hat_score(clustered):
    groups = {f"q{i}": {"group": f"g{i // 2}"} for i in range(7)} if clustered else {}
    values = plugin().hat()(scores_of(COUNTED, extra=groups))
    labels = [groups.get(f"q{i}", {"group": str(i)})["group"] for i in range(7)]
    for language, n in (("de", 10), ("sw", 4)):
        one = hatscore.hat_score(column("en"), 10, column(language), n, groups=labels)
        other = hatscore.hat_score(column("en"), 10, column(language), n, estimator="plugin")
        name = f"hat_{language}"
        assert values[name] == pytest.approx(one.value, abs=1e-12)
        assert values[f"{name}_low"] == pytest.approx(one.low, abs=1e-12)
        assert values[f"{name}_high"] == pytest.approx(one.high, abs=1e-12)
        assert values[f"{name}_plugin"] == pytest.approx(other.value, abs=1e-12)
    mean = (values["hat_de"] + values["hat_sw"]) / 2
    assert values["hat"] == pytest.approx(mean, abs=1e-12)
    assert values["low"] < mean < values["high"]


def test_hat_takes_other_keys_a_guess_rate_and_a_level():
    keys = ("q", "lang", "from")
    extra = {f"q{i}": {"guess": 0.25} for i in range(7)}
    metric = plugin().hat("q", "lang", "from", chance="guess", confidence=0.8, per_language=False)
    values = metric(scores_of(COUNTED, keys=keys, extra=extra))
    assert set(values) == {"hat", "low", "high", "plugin"}
    parts = [
        hatscore.hat_score(column("en"), 10, column(tag), n, chance=0.25)
        for tag, n in (("de", 10), ("sw", 4))
    ]
    assert values["hat"] == pytest.approx(sum(p.value for p in parts) / 2, abs=1e-12)
    fixed = plugin().hat("q", "lang", source_language="en")(scores_of(COUNTED, keys=keys))
    usual = plugin().hat()(scores_of(COUNTED))
    assert fixed == usual


@pytest.mark.parametrize("reducer", [None, "max", "at_least_2", []])
def test_no_reducer_changes_hat(reducer, tmp_path):
    from inspect_ai import Epochs, Task
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import match

    samples = [
        Sample(
            input=f"{item} {tag}",
            target="1",
            id=f"{item}{tag}",
            metadata={"item": item, "language": tag, "source_language": "en"},
        )
        for item in "abcdef"
        for tag in ("en", "de")
    ]
    task = Task(dataset=samples, scorer=match(), metrics=[plugin().hat()])
    speak = Speaker({sample.input: "1" for sample in samples})
    log = evaluate(task, mock(speak), tmp_path, epochs=Epochs(6, reducer))
    assert log.status == "success"
    k = Counter()
    for sample in log.samples:
        k[sample.metadata["item"], sample.metadata["language"]] += (
            sample.scores["match"].value == "C"
        )
    expected = hatscore.hat_score(
        [k[item, "en"] for item in "abcdef"], 6, [k[item, "de"] for item in "abcdef"], 6
    )
    found = {n: m.value for score in log.results.scores for n, m in score.metrics.items()}
    assert found["hat_de"] == pytest.approx(expected.value, abs=1e-12)
    assert found["low"] == pytest.approx(expected.low, abs=1e-12)


@pytest.fixture
def warnings(monkeypatch):
    from hatscore.inspect import metric

    told = set()
    monkeypatch.setattr(metric, "_WARNED", told)
    return told


def test_one_epoch_gives_the_plugin_alone_and_says_why(warnings):
    counts = {key: (min(k, 1), 1) for key, (k, _) in COUNTED.items()}
    values = plugin().hat()(scores_of(counts))
    assert math.isnan(values["hat"])
    assert math.isnan(values["hat_de_low"])
    assert values["hat_de_plugin"] == pytest.approx(
        hatscore.hat_score([1, 1, 1, 1, 0, 1, 1], 1, [1] * 7, 1).value
    )
    (message,) = warnings
    assert "one source reply per item" in message


def test_means_over_epochs_cannot_be_corrected(warnings):
    from inspect_ai.scorer import SampleScore, Score

    scores = [
        SampleScore(
            score=Score(value=k / n),
            sample_metadata={"item": item, "language": language, "source_language": "en"},
        )
        for (item, language), (k, n) in COUNTED.items()
    ]
    values = plugin().hat()(scores)
    assert math.isnan(values["hat_de"])
    rates = [k / 10 for k in column("en")], [k / 10 for k in column("de")]
    plain = hatscore.hat_score(rates[0], 1, rates[1], 1, estimator="plugin")
    assert values["hat_de_plugin"] == pytest.approx(plain.value, abs=1e-12)
    assert any("means over epochs" in message for message in warnings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"language": None}, "which should say the language"),
        ({"item": None}, "hat(item='KEY')"),
        ({"source_language": None}, "hat(source='KEY')"),
        ({"source_language": None}, "one for all: hat(source_language='en')"),
    ],
)
def test_samples_that_do_not_say_enough_give_nan_and_a_reason(change, words, warnings):
    scores = scores_of(COUNTED)
    scores[3].sample_metadata = {**scores[3].sample_metadata, **change}
    values = plugin().hat()(scores)
    assert math.isnan(values["hat"])
    (message,) = warnings
    assert words in message


def test_scores_that_are_no_credit_give_nan_and_a_reason(warnings):
    scores = scores_of(COUNTED)
    scores[0].score.value = 7
    assert math.isnan(plugin().hat()(scores)["hat"])
    assert any("expected C, P, I, N" in message for message in warnings)


def test_nothing_to_compare_gives_nan(warnings):
    alone = {key: value for key, value in COUNTED.items() if key[1] == "en"}
    assert math.isnan(plugin().hat()(scores_of(alone))["hat"])
    assert len(warnings) == 1
    assert set(plugin().hat()([])) == {
        "hat",
        "low",
        "high",
        "plugin",
    }


def test_unscored_samples_do_not_count():
    from inspect_ai.scorer import SampleScore, Score

    extra = SampleScore(
        score=Score(value=math.nan),
        sample_metadata={"item": "q0", "language": "de", "source_language": "en"},
    )
    assert plugin().hat()([*scores_of(COUNTED), extra]) == plugin().hat()(scores_of(COUNTED))
