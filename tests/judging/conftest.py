"""A small run of free answers, stored without any model."""

from __future__ import annotations

import pytest

from hatscore.benchmarks.base import Item, Prompt
from hatscore.grading.answer import Gold
from hatscore.sampling import BenchmarkPlan, Completion, Run, RunConfig, SamplingParams, Task

LANGUAGES = ("en", "de")


def make_item(number, language):
    return Item(
        id=str(number),
        language=language,
        source_language="en",
        question=f"Q{number} {language}?",
        gold=Gold("judge", f"A{number}", language, "en", context=f"Text {number} {language}."),
    )


@pytest.fixture
def make_run(tmp_path):
    """Write a run: ``make_run({(item, language): [completion or text, ...]})``."""

    def make(replies, name="run", model="openai-api/m"):
        directory = tmp_path / name
        repeats = max(len(texts) for texts in replies.values())
        config = RunConfig(
            model,
            "openai-api",
            "m",
            "chat",
            "native",
            SamplingParams(),
            (BenchmarkPlan("free", "1", LANGUAGES, "en", repeats),),
        )
        with Run.create_or_resume(directory, config) as run:
            tasks = [
                Task("free", make_item(number, language), Prompt("chat", "?"), repeats)
                for number, language in replies
            ]
            run.store.put_items(tasks)
            for task, texts in zip(tasks, replies.values(), strict=True):
                for repeat, text in enumerate(texts):
                    given = text if isinstance(text, Completion) else Completion(text)
                    run.store.put(task.cell, repeat, given, seed=None)
        return directory

    return make
