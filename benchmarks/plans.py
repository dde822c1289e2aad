"""What sampling plans cost and give: replies, interval width and coverage on the same truth.

Usage: python benchmarks/plans.py [--repetitions 100] [--seed 1] [--run DIR] [-o docs/plans]

Simulated models have a source of one kind, 28 targets with slopes from 0.3 to 1 and 400 items.
Every plan makes its decisions with the functions that `hatscore run` uses. "False floors" is how
often the test at 5 % says that a target knows what the source does not; none does. With --run a
run of the full plan is replayed: the efficient plan takes the first replies of each cell that it
would have asked for. "width / paper's" is the mean width over draws and targets by the mean
width of the full plan on the same models. Prints Markdown tables; with -o also writes them to
DIR/tables.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

from hatscore.grading import grade
from hatscore.planning import HIGHEST, RATIO
from hatscore.sampling import Run
from hatscore.sampling.plan import KEEP, decide, draw, fold_of
from hatscore.stats import classical_scores, hat_scores, profile, simulate
from hatscore.stats.allocation import learn
from hatscore.stats.levels import (
    first_replies,
    further_replies,
    level_for_ratio,
    level_for_width,
)

SOURCES = {"strong": (2, 1), "uniform": (1, 1), "weak": (0.4, 1.2)}
WANTED = {
    ("strong", 3): 26,
    ("uniform", 3): 22,
    ("weak", 3): 15,
    ("strong", 1): 20,
    ("uniform", 1): 14,
    ("weak", 1): 10,
}
HETEROGENEITY = (3, 1)
CORRELATION = 0.5
FULL = 10
STEP = 1.25  # as `hatscore run` raises a level
ALPHA = 0.05
ITEMS = 400
TARGETS = 28
LINES: list[str] = []


def say(line=""):
    print(line, flush=True)
    LINES.append(line)


def print_row(*cells):
    say("| " + " | ".join(str(c) for c in cells) + " |")


class Asked:
    """Replies of one simulated model, drawn when a plan asks for them and kept."""

    def __init__(self, k_source, rates, rng):
        self.k_source = k_source
        self.rates = rates
        self.draws = rng.random((*rates.shape, FULL)) < rates[..., None]
        self.weights = np.ones(rates.shape)
        self.n = np.zeros(rates.shape, dtype=np.int64)

    def ask(self, j, n):
        """Have at least `n` replies in column `j`; the first ones are the same for every plan."""
        self.n[:, j] = np.maximum(self.n[:, j], np.where(self.weights[:, j] > 0, n, 0))

    @property
    def counts(self):
        return self.k_source, FULL, self.k, self.n

    @property
    def k(self):
        return (self.draws & (np.arange(FULL) < self.n[..., None])).sum(-1)


def weights_of(k_source, seed, keep=KEEP):
    counts = {str(i): (int(k), FULL) for i, k in enumerate(k_source)}
    found = decide(counts, keep=keep, seed=seed, benchmark="simulated")
    return np.array([found[str(i)].weight for i in range(len(k_source))])


def settle(model, seed, j, folds, wanted):
    """Draw the solved items that are sent in column `j` and have their replies."""
    replies, share = wanted
    names = [str(i) for i in np.flatnonzero(model.k_source > 0)]
    kinds = {i: (int(model.k_source[int(i)]), folds[int(i)]) for i in names}
    drawn = draw(
        kinds,
        {i: max(float(share[int(i)]), KEEP) for i in names},
        seed=seed,
        benchmark="simulated",
        language=str(j),
    )
    for i in names:
        model.weights[int(i), j] = drawn.get(i, 0.0)
    model.ask(j, np.where(model.k_source > 0, replies, 1))


def sample(model, seed, width=None):
    """Ask as `hatscore run` does and return the weights of the cells."""
    items, targets = model.rates.shape
    model.weights = np.repeat(weights_of(model.k_source, seed)[:, None], targets, axis=1)
    folds = [fold_of(str(i), seed=seed, benchmark="simulated") for i in range(items)]
    n, share = first_replies(model.k_source, np.full(items, FULL), most=FULL)
    for j in range(targets):
        settle(model, seed, j, folds, (n, share))

    def find(learned):
        if width is None:
            return level_for_ratio(learned, RATIO, paper=FULL)
        return level_for_width(learned, width, paper=FULL)

    def further(level, columns):
        found = further_replies(
            *model.counts, weights=model.weights, folds=folds, level=level, most=FULL
        )
        full = found.levels >= HIGHEST * FULL
        replies, part = np.where(full, FULL, found.replies), np.where(full, 1.0, found.share)
        for j in columns:
            weight = model.weights[:, j]
            before = np.divide(1, weight, where=weight > 0, out=np.zeros_like(weight))
            share = np.maximum(part[:, j], before)
            settle(model, seed, j, folds, (replies[:, j], share))
        return found.levels.max(0)

    levels = further(find, range(targets))
    while width is not None:
        raised = []
        for j, e in enumerate(scores(model, model.weights)):
            if e.high - e.low <= width or levels[j] >= HIGHEST * FULL:
                continue
            learned = learn(*model.counts, weights=model.weights).columns([j])
            least = min(STEP * levels[j], HIGHEST * FULL)
            levels[j] = level_for_width(learned, width, paper=FULL, least=least)
            raised.append(j)
        if not raised:
            break
        further(levels, raised)
    return model.weights


def scores(model, weights):
    return hat_scores(model.k_source, FULL, model.k, model.n, weights=weights)


def simulated(source, heterogeneity, slopes, rng):
    data = simulate(
        ITEMS,
        slopes=slopes,
        source=source,
        concentration=heterogeneity,
        correlation=CORRELATION,
        n_source=FULL,
        n_target=0,
        rng=rng,
    )
    return Asked(data.k_source, data.target_rates, rng)


def paper_of(model):
    full = Asked.__new__(Asked)
    full.k_source, full.rates, full.draws = model.k_source, model.rates, model.draws
    full.n = np.full(model.rates.shape, FULL)
    full.weights = np.ones(model.rates.shape)
    return full


class Tally:
    """Widths, errors and hits over repetitions; each repetition is one draw of the items."""

    def __init__(self):
        self.width, self.error, self.hit = [], [], []

    def add(self, estimates, truth):
        low = np.array([e.low for e in estimates])
        high = np.array([e.high for e in estimates])
        self.width.append(float(np.mean(high - low)))
        self.error.append(float(np.mean([e.value for e in estimates] - truth)))
        self.hit.append(float(np.mean((low <= truth) & (truth <= high))))

    def coverage(self):
        return f"{mean(self.hit):.3f} ± {error_of(self.hit):.3f}"


def mean(values):
    return float(np.mean(values))


def ratio_of(a, b):
    """Return the ratio of two means over the same draws, and its error."""
    ratio = mean(a) / mean(b)
    return f"{ratio:.4f} ± {error_of(np.array(a) - ratio * np.array(b)) / mean(b):.4f}"


def error_of(values):
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))


def efficient(repetitions, rng):
    say("## Paper and efficient plan on the same models")
    say()
    print_row(
        "source",
        "heterogeneity",
        "replies, % of paper",
        "wanted",
        "width / paper's",
        "bias",
        "bias of paper",
        "coverage",
        "coverage of paper",
        "accuracy",
        "gap",
        "gap of paper",
        "accuracy width / paper's",
        "false floors",
        "of paper",
    )
    print_row(*["---"] * 15)
    slopes = np.linspace(0.3, 1.0, TARGETS)
    for heterogeneity in HETEROGENEITY:
        for name, source in SOURCES.items():
            share, hat, full_hat = [], Tally(), Tally()
            target, full_target, gap, full_gap = Tally(), Tally(), Tally(), Tally()
            floors, full_floors = [], []
            average = source[0] / (source[0] + source[1])
            for i in range(repetitions):
                model = simulated(source, heterogeneity, slopes, rng)
                weights = sample(model, i)
                full = paper_of(model)
                share.append((ITEMS * FULL + model.n.sum()) / (ITEMS * FULL * (1 + TARGETS)))
                hat.add(scores(model, weights), slopes)
                full_hat.add(hat_scores(full.k_source, FULL, full.k, full.n), slopes)
                counts = (model.k_source, FULL, model.k, model.n)
                classical = classical_scores(*counts, weights=weights)
                target.add(classical["target_accuracy"], slopes * average)
                gap.add(classical["gap"], (1 - slopes) * average)
                plain = classical_scores(full.k_source, FULL, full.k, full.n)
                full_target.add(plain["target_accuracy"], slopes * average)
                full_gap.add(plain["gap"], (1 - slopes) * average)
                floors += [p.floor_p < ALPHA for p in profile(*counts, weights=weights)]
                columns = profile(full.k_source, FULL, full.k, full.n)
                full_floors += [p.floor_p < ALPHA for p in columns]
            print_row(
                f"{name}, Beta{source}",
                heterogeneity,
                f"{100 * mean(share):.2f} ± {100 * error_of(share):.2f}",
                WANTED[name, heterogeneity],
                ratio_of(hat.width, full_hat.width),
                f"{mean(hat.error):+.4f}",
                f"{mean(full_hat.error):+.4f}",
                hat.coverage(),
                full_hat.coverage(),
                target.coverage(),
                gap.coverage(),
                full_gap.coverage(),
                f"{mean(target.width) / mean(full_target.width):.2f}",
                f"{mean(floors):.3f}",
                f"{mean(full_floors):.3f}",
            )
    say()


def widths(repetitions, rng):
    say("## Stopping at a width")
    say()
    print_row("source", "width asked", "reached in", "mean width", "replies, %", "bias", "coverage")
    print_row(*["---"] * 7)
    slopes = np.linspace(0.3, 1.0, 8)
    for name, source in SOURCES.items():
        for factor in (1.1, 1.3, 1.6):
            tally, share, reached = Tally(), [], []
            probe = paper_of(simulated(source, 3, slopes, rng))
            typical = np.mean([e.high - e.low for e in scores(probe, np.ones(probe.rates.shape))])
            width = round(factor * float(typical), 3)
            for i in range(repetitions):
                model = simulated(source, 3, slopes, rng)
                weights = sample(model, i, width)
                found = scores(model, weights)
                tally.add(found, slopes)
                share.append((ITEMS * FULL + model.n.sum()) / (ITEMS * FULL * (1 + len(slopes))))
                reached.append(np.mean([e.high - e.low <= width for e in found]))
            print_row(
                f"{name}, Beta{source}",
                f"{width:.3f}",
                f"{mean(reached):.0%}",
                f"{mean(tally.width):.3f}",
                f"{100 * mean(share):.0f}",
                f"{mean(tally.error):+.4f}",
                tally.coverage(),
            )
    say()


def replay(directory):
    """The efficient plan on the replies of a run of the full plan."""
    right: dict[tuple[str, str], list[bool]] = {}
    sources = set()
    with Run.open(directory) as run:
        label = run.config.model
        for item, response in run.store.rows():
            status = grade(response.reply, item.gold).status
            right.setdefault((item.item, item.language), []).append(status == "correct")
            if item.language == item.source_language:
                sources.add(item.language)
    (source,) = sources
    items = sorted({i for i, language in right if language == source})
    languages = sorted({language for _, language in right} - sources)
    model = Asked.__new__(Asked)
    model.k_source = np.array([sum(right[i, source]) for i in items])
    model.draws = np.array([[right[i, language][:FULL] for language in languages] for i in items])
    model.rates = model.draws.mean(-1)
    model.n = np.zeros(model.rates.shape, dtype=np.int64)
    model.weights = np.ones(model.rates.shape)
    weights = sample(model, 0)
    full = paper_of(model)
    a, b = scores(model, weights), hat_scores(full.k_source, FULL, full.k, full.n)
    say(f"## {label}, {len(items)} items, replayed")
    say()
    asked = len(items) * FULL + model.n.sum()
    paper = len(items) * FULL * (1 + len(languages))
    say(f"{asked:,} replies instead of {paper:,} ({asked / paper:.0%}).")
    say()
    print_row("language", "HAT, paper", "HAT, efficient", "width / paper's", "accuracies")
    print_row(*["---"] * 5)
    counts = classical_scores(model.k_source, FULL, model.k, model.n, weights=weights)
    plain = classical_scores(full.k_source, FULL, full.k, full.n)
    for j, language in enumerate(languages):
        print_row(
            language,
            f"{b[j].value:.3f} [{b[j].low:.3f}, {b[j].high:.3f}]",
            f"{a[j].value:.3f} [{a[j].low:.3f}, {a[j].high:.3f}]",
            f"{(a[j].high - a[j].low) / (b[j].high - b[j].low):.2f}",
            f"{plain['target_accuracy'][j].value:.3f}, {counts['target_accuracy'][j].value:.3f}",
        )
    say()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--run", type=Path, help="directory of a run of the full plan")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    start = time.perf_counter()
    say(
        f"{given.repetitions} draws per condition, seed {given.seed}; {ITEMS} items, correlation "
        f"{CORRELATION} of heterogeneity between languages; ± is the Monte-Carlo error."
    )
    say()
    efficient(given.repetitions, rng)
    widths(given.repetitions, rng)
    if given.run:
        replay(given.run)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    if given.output:
        given.output.mkdir(parents=True, exist_ok=True)
        (given.output / "tables.md").write_text("\n".join(LINES) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
