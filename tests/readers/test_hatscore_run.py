"""What a reader of a run is told beside its numbers."""

from __future__ import annotations

import pytest

from hatscore import read
from hatscore.benchmarks.base import Item, Prompt
from hatscore.grading.answer import Gold
from hatscore.sampling import BenchmarkPlan, Completion, Run, RunConfig, SamplingParams, Task
from hatscore.sampling.observed import write_observed

LANGUAGES = ("en", "de", "ja", "sw")


@pytest.fixture
def stopped(tmp_path):
    """Return a run that was stopped in its second language."""
    plan = BenchmarkPlan("toy", "1", LANGUAGES, "en", 2)
    config = RunConfig("lab/m", "inspect", "m", "chat", "native", SamplingParams(), (plan,))
    tasks = [
        Task("toy", Item(str(i), x, "en", "1?", Gold("number", "1")), Prompt("chat", "1?"), 2)
        for x in LANGUAGES[:3]
        for i in range(4)
    ]
    with Run.create_or_resume(tmp_path / "run", config) as run:
        run.store.put_items(tasks)
        for task in tasks[:6]:
            run.store.put_all(task.cell, [0, 1], [Completion("1"), Completion("2")], seed=None)
    return tmp_path / "run"


def test_languages_without_a_reply_are_named(stopped):
    notes = read(stopped).notes
    assert (
        "lab/m on toy: the run is incomplete, no reply has come in ja, sw; means over languages "
        "are of the others alone"
    ) in notes
    assert any("6 of 12 cells have fewer replies than asked" in note for note in notes)


def test_parameters_that_did_not_reach_the_model_are_named(stopped):
    said = "Unsupported value: 'temperature'"
    write_observed(
        stopped,
        {
            "model": "openai/m",
            "request": {},
            "dropped": {"temperature": 1.0, "top_k": 64, "num_choices": 10},
            "refused": {"temperature": said},
            "replies_per_request": 1,
        },
    )
    notes = [note for note in read(stopped).notes if "lab/m: " in note]
    assert f"lab/m: sampled without temperature, which the provider refuses ({said})" in notes
    assert (
        "lab/m: top_k=64 was asked for and did not reach the model; the provider's own default "
        "applies"
    ) in notes
    assert not any("num_choices" in note for note in notes)
