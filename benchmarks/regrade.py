"""How fast a stored run is graded anew: 170,520 replies, from SQLite to the table of scores.

Usage: python benchmarks/regrade.py [--items 588]

Fills a run directory in the layout of MMLU-ProX-Lite (29 languages x 588 items x 10 replies) with
replies of several hundred characters, then reads, grades, aggregates and measures it. The peer in
the same run is what every other way begins with: reading the same replies from the same file.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tempfile
import time
from pathlib import Path

from hatscore import measure, read
from hatscore.benchmarks.base import Item, Prompt
from hatscore.grading import Gold
from hatscore.sampling import BenchmarkPlan, Completion, Run, RunConfig, SamplingParams, Task

LANGUAGES = 29
REPEATS = 10
LETTERS = tuple("ABCDEFGHIJ")
REASONING = (
    "Let us look at the options one by one and see which of them fits what is asked. ",
    "The first idea does not hold, because the second condition rules it out. ",
    "Option {} looks close, yet it contradicts what was given in the text. ",
    "Taken together this leaves one option that meets every condition. ",
)
CUES = ("The answer is ({}).", "Answer: {}", "**Answer: ({})**", "答案 {}", "La réponse est ({}).")


def reply(rng, letter):
    middle = "".join(rng.choice(REASONING).format(rng.choice(LETTERS)) for _ in range(6))
    return f"{middle}\n{rng.choice(CUES).format(letter)}"


def fill(directory, n_items, rng):
    languages = ["en", *(f"l{i:02}" for i in range(1, LANGUAGES))]
    plan = BenchmarkPlan(
        name="mmlu_prox_lite",
        version="benchmark",
        languages=tuple(languages),
        source_language="en",
        repeats=REPEATS,
    )
    config = RunConfig(
        "openai-api/made",
        "openai-api",
        "made",
        "chat",
        "native",
        SamplingParams(),
        (plan,),
    )
    options = tuple(f"the option that is called number {i}" for i in range(len(LETTERS)))
    with Run.create_or_resume(directory, config) as run:
        for language in languages:
            tasks = []
            for i in range(n_items):
                gold = Gold("choice", LETTERS[i % 10], language, "en", options, LETTERS)
                item = Item(str(i), language, "en", f"question {i}", gold, chance=0.1)
                tasks.append(Task("mmlu_prox_lite", item, Prompt("chat", f"q {i}"), REPEATS))
            run.store.put_items(tasks)
            for task in tasks:
                for repeat in range(REPEATS):
                    right = rng.random() < (0.8 if language == "en" else 0.6)
                    letter = task.item.gold.value if right else rng.choice(LETTERS)
                    completion = Completion(reply(rng, letter), "stop", model="made")
                    run.store.put(task.cell, repeat, completion, seed=None)


def clock(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def read_only(directory):
    with sqlite3.connect(directory / "responses.sqlite") as db:
        return sum(len(text) for (text,) in db.execute("SELECT text FROM responses"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=588)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        fill(directory, given.items, random.Random(1))
        count = LANGUAGES * given.items * REPEATS
        characters, floor = clock(lambda: read_only(directory))
        outcomes, grading = clock(lambda: read(directory))
        table, scoring = clock(lambda: measure(outcomes))
    print(f"{count:,} replies, {characters / count:.0f} characters each")
    print(f"reading the texts alone: {floor:.2f} s")
    print(
        f"reading and grading: {grading:.1f} s, {count / grading:,.0f} replies/s (wanted: < 60 s)"
    )
    print(f"scores of {table.height} rows: {scoring:.2f} s")
    print(f"grading costs {grading / floor:.0f} times the reading")


if __name__ == "__main__":
    main()
