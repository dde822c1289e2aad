"""How often do the tests of the study reject at 5 % where there is nothing to find?

The same worlds and the same statistics as in `study_recovery.py`, item by item, but only what the
tests look at: HAT as arrays of all models and languages at once, without tables, other scores or
intervals. Two thousand studies take a quarter of an hour of one core, and a rate of 5 % is then
known to within half a percent.

    python benchmarks/study_null.py --repetitions 2000 -o docs/study_null.md
"""

import argparse
import math
import time
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from hatscore.models import load_models
from hatscore.stats import Estimate, mean
from hatscore.stats.regression import trend
from hatscore.studies import script, validation
from hatscore.studies.covariates import script_of
from hatscore.studies.effects import fit, gap_between, over_units, student_p
from hatscore.studies.family import COMPARABLE
from hatscore.studies.simulated import NOTHING, Layout, simulate_study
from hatscore.studies.time import even_cutoff, shift, years_of

LAYOUT = Layout(benchmarks=("reasoning",), by_item="closed-book", n_items=150)
ALIKE = replace(NOTHING, model_sd=0.0, language_sd=0.0)


class Models:
    """Facts of the configurations, as the analyses use them."""

    def __init__(self, registry):
        self.registry = registry
        those = [m for m in registry.models.values() if m.paper_name]
        place = {m.name: i for i, m in enumerate(those)}
        own = [i for i, m in enumerate(those) if not m.variant_of]
        self.sized = [i for i in own if those[i].parameters_total is not None]
        self.sizes = {i: those[i].parameters_total for i in self.sized}
        self.family = {i: those[i].family for i in own}
        several = {
            f
            for f in self.family.values()
            if len({self.sizes[i] for i in self.sized if self.family[i] == f}) > 1
        }
        self.within = [i for i in self.sized if self.family[i] in several]
        self.dated = own
        self.days = [those[i].released for i in own]
        self.settings = [(i, place[m.variant_of]) for i, m in enumerate(those) if m.variant_of]
        self.pairs = [
            (a, b)
            for a, b in combinations(self.sized, 2)
            if self.family[a] != self.family[b]
            and max(self.sizes[a], self.sizes[b]) / min(self.sizes[a], self.sizes[b]) <= COMPARABLE
        ]


def slopes(blocks):
    """Return HAT per model and language with influences: (M, L), (M, J, L), shares (M, J, L)."""
    s = np.array([b.k_source / b.n_source for b in blocks])
    n = np.array([b.n_source for b in blocks])
    nt = np.array([b.n_target for b in blocks])
    t = np.array([b.k_target for b in blocks]) / np.maximum(nt, 1)
    u = (s * (n * s - 1) / (n - 1))[:, :, None] * (nt > 0)
    total = u.sum(1, keepdims=True)
    value = (s[:, :, None] * t).sum(1, keepdims=True) / total
    return value[:, 0], (s[:, :, None] * t - value * u) / total, u / total


def estimates(value, influence, shares, labels):
    """Return the macro HAT of every model."""
    found = []
    for v, f, h in zip(value, influence, shares, strict=True):
        of_items = f.mean(1)
        se = math.sqrt(float(of_items @ of_items))
        effective = float((1 / (h**2).sum(0)).min())
        found.append(
            Estimate(
                float(v.mean()),
                math.nan,
                math.nan,
                se,
                "hat",
                "delta",
                0.95,
                len(labels),
                effective,
                influence=of_items,
                clusters=labels,
            )
        )
    return found


def without_effects(study, models, seed, p):
    """Collect p of lines over models and languages, of settings and of movements."""
    blocks = study.blocks()
    scopes, labels = {}, {}
    for benchmark in ("reasoning", "closed-book"):
        mine = [b for b in blocks if b.benchmark == benchmark]
        labels[benchmark] = np.array([f"{benchmark} {x}" for x in mine[0].items], dtype=object)
        table = slopes(mine)
        scopes[benchmark] = estimates(*table, labels[benchmark])
        for a, b in models.settings:
            of = scopes[benchmark]
            gap = gap_between(of[a], of[b], confidence=0.95)
            p["thinking: paired difference in HAT"].append(student_p(gap))
        if benchmark == "reasoning":
            other = [float(script_of(x) != script_of("en")) for x in mine[0].languages]
            columns = [
                Estimate(
                    float(v), math.nan, math.nan, 0.0, "hat", "delta", 0.95, 1, 2.0,
                    influence=np.zeros(1), clusters=labels[benchmark][:1],
                )
                for v in table[0].mean(0)
            ]  # fmt: skip
            (line,) = fit({"other": other}, columns, confidence=0.95)
            p["script: other script - same, line"].append(line.p)
        else:
            sums = defaultdict(list)
            for b in mine:
                for pair, v in script.pair_scores(b, estimator="hat").items():
                    sums[pair].append(v)
            dealt = script.dealt_anew({k: float(np.mean(v)) for k, v in sums.items()}, script_of)
            p["script: dealt anew, script"].append(dealt)
        movements(mine, seed, p)
    scopes["all"] = [mean(pair) for pair in zip(*scopes.values(), strict=True)]
    day = even_cutoff(models.days)
    before = np.array([d < day for d in models.days])
    for of in scopes.values():
        x = [math.log10(models.sizes[i]) for i in models.sized]
        t = trend(x, [of[i] for i in models.sized], n_permutations=0)
        p["size: HAT per tenfold, pooled"].append(t.p)
        t = trend(
            [math.log10(models.sizes[i]) for i in models.within],
            [of[i] for i in models.within],
            absorb=[models.family[i] for i in models.within],
            n_permutations=0,
        )
        p["size: HAT per tenfold, within families"].append(t.p)
        t = trend(
            [years_of(d) for d in models.days], [of[i] for i in models.dated], n_permutations=0
        )
        p["time: HAT per year"].append(t.p)
        values = np.array([of[i].value for i in models.dated])
        moved = shift(values[before], values[~before], confidence=0.95)
        p["time: shift of HAT at the cut-off"].append(moved[3])


def movements(blocks, seed, p):
    """Collect p of movements of HAT and of the ratio from hard to easy items."""
    moved = {"hat": [], "ratio": []}
    for i, block in enumerate(blocks):
        try:
            halves = validation.strata(block, confidence=0.95, rng=np.random.default_rng([seed, i]))
        except validation.InputError:
            continue
        for name, found in moved.items():
            e = validation.moved_between(name, *halves, 0.95)
            if math.isfinite(e.value):
                found.append(e)
    for name, found in moved.items():
        p[f"validation: movement of {name}"] += [student_p(e) for e in found]
    over = over_units(moved["hat"], confidence=0.95)
    p["validation: movement of hat, mean"].append(student_p(over))


def all_alike(study, models, p):
    """Collect p of differences between models and between languages over items."""
    blocks = study.blocks()
    scopes = {}
    for benchmark in ("reasoning", "closed-book"):
        mine = [b for b in blocks if b.benchmark == benchmark]
        labels = np.array([f"{benchmark} {x}" for x in mine[0].items], dtype=object)
        scopes[benchmark] = estimates(*slopes(mine), labels)
        gaps = []
        for block in mine:
            both = script.trait_difference(block, script_of, estimator="hat", confidence=0.95)
            gaps.append(gap_between(*both, confidence=0.95))
        p["script: other script - same, one model"] += [student_p(g) for g in gaps]
        over = over_units(gaps, confidence=0.95)
        p["script: other script - same, mean of models"].append(student_p(over))
    scopes["all"] = [mean(pair) for pair in zip(*scopes.values(), strict=True)]
    for of in scopes.values():
        for a, b in models.pairs:
            gap = gap_between(of[a], of[b], confidence=0.95)
            p["family: paired difference in HAT"].append(student_p(gap))


def study_of(models, seed, effects):
    rng = np.random.default_rng([seed, 5])
    return simulate_study(models.registry, effects=effects, layout=LAYOUT, rng=rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first study")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after these")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    start = time.perf_counter()
    models = Models(load_models())
    rates = defaultdict(
        list
    )  # share of rejections by study: tests of one study are not independent
    count = defaultdict(int)
    done = 0
    for seed in range(given.first, given.first + given.repetitions):
        p = defaultdict(list)
        without_effects(study_of(models, seed, NOTHING), models, seed, p)
        if seed % 2 == 0:
            all_alike(study_of(models, seed, ALIKE), models, p)
        for name, values in p.items():
            known = np.array([v for v in values if not math.isnan(v)])
            if len(known):
                rates[name].append(float((known < 0.05).mean()))
                count[name] += len(known)
        done += 1
        if time.perf_counter() - start > given.seconds:
            break
    lines = ["| test | studies | tests | false positives, % |", "|---|---|---|---|"]
    for name in sorted(rates):
        r = np.array(rates[name])
        error = r.std(ddof=1) / math.sqrt(len(r))
        lines.append(
            f"| {name} | {len(r)} | {count[name]} | {100 * r.mean():.1f} ± {100 * error:.1f} |"
        )
    text = "\n".join(lines) + "\n"
    print(text)
    print(f"{done} studies, {time.perf_counter() - start:.0f} s")
    if given.output:
        given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
