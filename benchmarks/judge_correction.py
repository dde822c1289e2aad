"""How good HAT is when a judge errs, and when labels of people correct it: bias and coverage.

Every draw writes a run with its verdicts and a file of labels, and reads them as `hatscore score
RUN --labels FILE` does.

    python benchmarks/judge_correction.py [--draws 200] [--items 150] [--labels 200]
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hatscore import read
from hatscore.benchmarks.base import Item, Prompt
from hatscore.grading.answer import Gold
from hatscore.judging import VERDICTS_NAME, ReplyKey, Verdict, VerdictStore
from hatscore.judging.corrected import corrected_scores
from hatscore.judging.subjects import subjects
from hatscore.sampling import BenchmarkPlan, Completion, Run, RunConfig, SamplingParams, Task
from hatscore.scoring import measurements
from hatscore.stats import mean
from hatscore.stats.judged import ErrorRates, judged_hat_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hatscore import Outcomes
    from hatscore.judging.corrected import Corrected
    from hatscore.stats import Estimate

SLOPES = {"de": 0.8, "sw": 0.5}
SENSITIVITY, SPECIFICITY = 0.85, 0.95
REPEATS = 8
JUDGE = "openai-api/judge"
WORLDS = {
    "independent": "errs independently on every reply",
    "language": "the same, with sensitivity 0.95 in en, 0.85 in de, 0.70 in sw",
    "item": "errs alike on replies to one item (correlation 1/3)",
    "hard": "misses more where the item is hard (sensitivity 0.75 to 0.95)",
    "drawn by verdict": "errs independently; half of the labels from either verdict",
}
"""How the judge errs, and how labels are drawn."""


def draw(
    world: str, language: str, rates: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether replies are right and what the judge says, shape (items, repeats)."""
    shape = (len(rates), REPEATS)
    right = rng.random(shape) < rates[:, None]
    a, f = np.full(len(rates), SENSITIVITY), np.full(len(rates), 1 - SPECIFICITY)
    if world == "item":
        a, f = (rng.beta(2 * p, 2 * (1 - p), len(rates)) for p in (SENSITIVITY, 1 - SPECIFICITY))
    if world == "language":
        a = np.full(len(rates), {"en": 0.95, "de": 0.85, "sw": 0.70}[language])
    if world == "hard":
        a = 0.75 + 0.2 * rates
    return right, rng.random(shape) < np.where(right, a[:, None], f[:, None])


def write(where: Path, world: str, items: int, labels: int, rng: np.random.Generator) -> Path:
    """Write a run with verdicts and return the path of its labels."""
    source = rng.beta(1, 1, items)
    truth: dict[ReplyKey, bool] = {}
    said: dict[ReplyKey, bool] = {}
    for language, slope in {"en": 1.0, **SLOPES}.items():
        # items differ in how much of them survives: Beta with the mean slope * source
        mean = np.clip(slope * source, 1e-6, 1 - 1e-6)
        rates = source if language == "en" else rng.beta(4 * mean, 4 * (1 - mean))
        for kind, table in zip((truth, said), draw(world, language, rates, rng), strict=True):
            for (item, repeat), value in np.ndenumerate(table):
                kind[ReplyKey("free", str(item), language, repeat)] = bool(value)
    plan = BenchmarkPlan("free", "1", ("en", *SLOPES), "en", REPEATS)
    config = RunConfig(
        "openai-api/m", "openai-api", "m", "chat", "native", SamplingParams(), (plan,)
    )
    with Run.create_or_resume(where, config) as run:
        tasks = [
            Task(
                "free",
                Item(
                    str(i),
                    language,
                    "en",
                    f"Q{i}?",
                    Gold("judge", "A", language, "en", context="C"),
                ),
                Prompt("chat", "?"),
                REPEATS,
            )
            for i in range(items)
            for language in ("en", *SLOPES)
        ]
        run.store.put_items(tasks)
        for task in tasks:
            for repeat in range(REPEATS):
                run.store.put(task.cell, repeat, Completion(f"answer {repeat}"), seed=None)
        found = subjects(run.store)
    with VerdictStore(where / VERDICTS_NAME) as store:
        for name, subject in found.items():
            (key,) = subject.keys
            word = "YES" if said[key] else "NO"
            verdict = Verdict(
                name, 1, word, None, None, "stop", "judge", "1", "2026-01-01T00:00:00Z"
            )
            store.put(JUDGE, [key], verdict)
    return _write_labels(
        where / "labels.csv", truth, said, labels, rng, halved=world == "drawn by verdict"
    )


def _write_labels(
    path: Path,
    truth: dict[ReplyKey, bool],
    said: dict[ReplyKey, bool],
    labels: int,
    rng: np.random.Generator,
    *,
    halved: bool,
) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*ReplyKey._fields, "label"])
        for language in ("en", *SLOPES):
            ours = [key for key in truth if key.language == language]
            halves = [ours]
            if halved:
                halves = [[key for key in ours if said[key] is word] for word in (True, False)]
            for half in halves:
                most = min(labels // len(halves), len(half))
                for i in rng.choice(len(half), most, replace=False):
                    writer.writerow([*half[i], "yes" if truth[half[i]] else "no"])
    return path


def main() -> None:
    """Print a table of bias and coverage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--items", type=int, default=150)
    parser.add_argument("--labels", type=int, default=200)
    given = parser.parse_args()
    print(
        f"{given.draws} draws, {given.items} items, {REPEATS} replies each, {given.labels} labels "
        f"per language; sensitivity {SENSITIVITY}, specificity {SPECIFICITY}\n"
    )
    print("| the judge | HAT | as judged | covers | width | rates alone | covers ", end="")
    print("| corrected | covers | width |\n|---|---|---|---|---|---|---|---|---|---|")
    for number, (world, words) in enumerate(WORLDS.items()):
        rng = np.random.default_rng(number)
        rows: dict[str, list[tuple[float, ...]]] = {}
        for _ in range(given.draws):
            with tempfile.TemporaryDirectory() as folder:
                where = Path(folder) / "run"
                labels = write(where, world, given.items, given.labels, rng)
                [mended] = corrected_scores(where, labels)
                outcomes = read(where)
            plain = {m.language: m.scores["hat"] for m in measurements(outcomes)}
            alone = rates_alone(outcomes, mended)
            for language, slope in {**SLOPES, "macro": sum(SLOPES.values()) / len(SLOPES)}.items():
                new = mended.macro if language == "macro" else mended.scores[language]
                cells = [slope]
                for e in (plain[language], alone[language], new):
                    cells += [e.value, float(e.low <= slope <= e.high), e.high - e.low]
                rows.setdefault(language, []).append(tuple(cells))
        for language, found in rows.items():
            table = np.array(found)
            (slope, old, covers, _, some, some_cover, _, new_, new_cover, _) = table.mean(0)
            widths = np.median(table[:, [3, 9]], axis=0)
            print(
                f"| {words} | {slope:.2f}{' (macro)' * (language == 'macro')} | {old:.3f} | "
                f"{covers:.2f} | {widths[0]:.2f} | {some:.3f} | {some_cover:.2f} | {new_:.3f} | "
                f"{new_cover:.2f} | {widths[1]:.2f} |",
                flush=True,
            )


def rates_alone(outcomes: Outcomes, mended: Corrected) -> dict[str, Estimate]:
    """Correct by sensitivity and specificity alone, as if the judge erred anew on every reply."""
    [block] = outcomes.aligned()
    rates = {
        language: ErrorRates(
            found.sensitivity.value,
            found.specificity.value,
            found.right,
            found.wrong,
            judge=language,
        )
        for language, found in mended.rates.items()
    }
    scores = {
        language: judged_hat_score(
            block.k_source,
            block.n_source,
            block.k_target[:, j],
            block.n_target[:, j],
            source=rates["en"],
            target=rates[language],
        )
        for j, language in enumerate(block.languages)
    }
    return scores | {"macro": mean(list(scores.values()))}


if __name__ == "__main__":
    main()
