"""Bias of the estimators and coverage of their intervals, by simulation with a known truth.

Usage: python benchmarks/calibration.py [--repetitions 2000] [--seed 1] [-o docs/calibration]

Prints Markdown tables. With -o it also writes them to DIR/tables.md and every condition to
DIR/conditions.csv.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import sys
import time
from pathlib import Path

import numpy as np

from hatscore.stats import classical_scores, difference, hat_macro, hat_score, simulate
from hatscore.stats.calibration import Calibration, Condition, calibrate
from hatscore.stats.simulate import mostly_never, mostly_solved

SOURCES = {
    "Beta(50, 1)": (50, 1),
    "Beta(200, 1)": (200, 1),
    "97 % always": mostly_solved,
    "Beta(3, .5)": (3, 0.5),
    "Beta(1, 1)": (1, 1),
    "Beta(.3, .3)": (0.3, 0.3),
    "Beta(.4, 1.2)": (0.4, 1.2),
    "Beta(.3, 2.7)": (0.3, 2.7),
    "Beta(.1, 2.7)": (0.1, 2.7),
    "Beta(.05, 3)": (0.05, 3),
    "90 % never": mostly_never,
}
SATURATED = ("Beta(50, 1)", "Beta(200, 1)", "97 % always")
SLOPES = (0.5, 0.8, 1.0)
CONCENTRATIONS = (None, 3, 1)
REPLIES = ((2, 2), (5, 5), (10, 10), (30, 30), (10, 3))
ITEMS = (100, 250, 658)
CHANCE = 0.11
FEW = 5.0


def grid():
    for (name, source), slope, spread, (ns, nt), items in itertools.product(
        SOURCES.items(), SLOPES, CONCENTRATIONS, REPLIES, ITEMS
    ):
        yield name, Condition(source, slope, spread, items, ns, nt)


def chance_grid():
    for (name, source), slope in itertools.product(SOURCES.items(), SLOPES):
        yield name, Condition(source, slope, 3, 250, 10, 10, CHANCE)


def study(conditions, repetitions, rng):
    rows = []
    for name, condition in conditions:
        corrected = calibrate(condition, repetitions=repetitions, rng=rng)
        plugin = calibrate(
            condition,
            repetitions=max(2, repetitions // 10),
            estimator="plugin",
            interval="delta",
            rng=rng,
        )
        rows.append((name, condition, corrected, plugin))
    return rows


def band(name, result: Calibration):
    """The wanted band of coverage, widened by three Monte-Carlo errors."""
    slack = 3 * max(result.coverage_se, 1e-9)
    return 0.935 - slack, (0.975 if name in SATURATED else 0.965) + slack


def judged(rows):
    for name, condition, got, plugin in rows:
        low, high = band(name, got)
        enough = got.n_effective >= FEW and got.missing < 0.5
        biased = got.n_effective > 20 and abs(got.bias) > max(0.005, 2 * got.bias_se)
        yield (
            name,
            condition,
            got,
            plugin,
            enough and got.coverage < low,
            enough and got.coverage > high,
            biased,
        )


def by_source(rows):
    """One line per source distribution: ranges over everything else."""
    print_row(
        "source",
        "conditions",
        "effective items",
        "plug-in bias",
        "bias (>20 eff.)",
        "median bias (>20)",
        "coverage (>=5 eff.)",
        "too low",
        "too high",
    )
    print_row(*["---"] * 9)
    table = list(judged(rows))
    for name in SOURCES:
        part = [r for r in table if r[0] == name]
        if not part:
            continue
        enough = [r for r in part if r[2].n_effective >= FEW and r[2].missing < 0.5]
        many = [r for r in part if r[2].n_effective > 20]
        print_row(
            name,
            len(part),
            span([r[2].n_effective for r in part], 0),
            span([r[3].bias for r in part], 3),
            span([r[2].bias for r in many], 3),
            span([r[2].median_bias for r in many], 3),
            span([r[2].coverage for r in enough], 3),
            sum(r[4] for r in enough),
            sum(r[5] for r in enough),
        )


def bias_by_size(rows):
    """The bias of a ratio shrinks with the effective number of items."""
    print_row("effective items", "conditions", "mean bias", "largest", "bias / standard error")
    print_row(*["---"] * 5)
    edges = (5, 10, 20, 40, 80, 160, math.inf)
    for low, high in itertools.pairwise(edges):
        part = [r for r in rows if low <= r[2].n_effective < high and r[2].missing < 0.01]
        if part:
            relative = [
                r[2].bias / (r[2].bias_se * math.sqrt(REPETITIONS)) for r in part if r[2].bias_se
            ]
            print_row(
                f"{low:g} to {high:g}",
                len(part),
                f"{np.mean([r[2].bias for r in part]):+.4f}",
                f"{max((r[2].bias for r in part), key=abs):+.4f}",
                f"{np.mean(relative):+.2f}",
            )


def joint(repetitions, rng):
    """Macro average over 28 correlated languages, paired differences, the classical measures."""
    print_row("what", "condition", "truth", "bias", "coverage", "+-")
    print_row(*["---"] * 6)
    for source, items in (((1, 1), 250), ((0.3, 2.7), 658), ((3, 0.5), 100)):
        slopes = np.linspace(0.2, 1.0, 28)
        found = []
        for _ in range(repetitions):
            d = simulate(
                items, slopes=slopes, source=source, concentration=2, correlation=0.6, rng=rng
            )
            found.append(hat_macro(d.k_source, 10, d.k_target, 10))
        report("macro HAT, 28 languages", f"Beta{source}, {items} items", found, slopes.mean())
        found = []
        for _ in range(repetitions):
            rates = rng.beta(*source, size=items)
            pair = [
                simulate(
                    items,
                    slopes=slope,
                    source=lambda _rng, _size, rates=rates: rates,
                    concentration=3,
                    rng=rng,
                )
                for slope in (0.8, 0.6)
            ]
            a, b = (hat_score(d.k_source, 10, d.k_target[:, 0], 10) for d in pair)
            found.append(difference(a, b))
        report("paired difference of models", f"Beta{source}, {items} items", found, 0.2)
        truths = classical_truths(source, 0.7)
        scores = {name: [] for name in truths}
        for _ in range(repetitions):
            d = simulate(items, slopes=0.7, source=source, concentration=3, rng=rng)
            got = classical_scores(d.k_source, 10, d.k_target, 10)
            for name in truths:
                scores[name].append(got[name][0])
        for name, truth in truths.items():
            report(name, f"Beta{source}, {items} items", scores[name], truth)


def classical_truths(source, slope):
    a, b = source
    mean = a / (a + b)
    square = mean * (a + 1) / (a + b + 1)
    return {
        "source_accuracy": mean,
        "target_accuracy": slope * mean,
        "gap": (1 - slope) * mean,
        "ratio": slope,
        "transfer_score": slope * square / mean,
        "overall": slope * square,
    }


def report(what, condition, found, truth):
    values = np.array([e.value for e in found])
    holds = np.array([e.low <= truth <= e.high for e in found])
    known = ~np.isnan(values)
    p = holds[known].mean()
    print_row(
        what,
        condition,
        f"{truth:.3f}",
        f"{values[known].mean() - truth:+.4f}",
        f"{p:.3f}",
        f"{math.sqrt(p * (1 - p) / known.sum()):.3f}",
    )


def span(values, digits):
    if not values:
        return "-"
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


LINES: list[str] = []
HEADER = (
    "source",
    "slope",
    "concentration",
    "items",
    "n_source",
    "n_target",
    "chance",
    "effective_items",
    "bias",
    "bias_se",
    "median_bias",
    "plugin_bias",
    "coverage",
    "coverage_se",
    "unbounded",
    "missing",
)
REPETITIONS = 2000


def print_row(*cells):
    say("| " + " | ".join(str(c) for c in cells) + " |")


def say(line=""):
    print(line, flush=True)
    LINES.append(line)


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for name, c, got, plugin in rows:
            writer.writerow(
                [
                    name,
                    c.slope,
                    "" if c.concentration is None else c.concentration,
                    c.n_items,
                    c.n_source,
                    c.n_target,
                    c.chance,
                    *(
                        f"{x:.5g}"
                        for x in (
                            got.n_effective,
                            got.bias,
                            got.bias_se,
                            got.median_bias,
                            plugin.bias,
                            got.coverage,
                            got.coverage_se,
                            got.unbounded,
                            got.missing,
                        )
                    ),
                ]
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    globals()["REPETITIONS"] = given.repetitions
    rng = np.random.default_rng(given.seed)
    start = time.perf_counter()
    say(f"{given.repetitions} draws per condition, seed {given.seed}.")
    say()
    say("## By source distribution")
    say()
    rows = study(grid(), given.repetitions, rng)
    by_source(rows)
    say()
    say("## The bias of a ratio")
    say()
    bias_by_size(rows)
    say()
    say(f"## With a guess rate of {CHANCE}, chance-adjusted (heterogeneity 3, 250 items, N = 10)")
    say()
    guessed = study(chance_grid(), given.repetitions, rng)
    by_source(guessed)
    say()
    say("## Joint estimates and the classical measures")
    say()
    joint(given.repetitions, rng)
    print(f"\n{time.perf_counter() - start:.0f} s", file=sys.stderr)
    if given.output:
        given.output.mkdir(parents=True, exist_ok=True)
        (given.output / "tables.md").write_text("\n".join(LINES) + "\n", encoding="utf-8")
        write_csv(given.output / "conditions.csv", [*rows, *guessed])


if __name__ == "__main__":
    main()
