"""Do the intervals of the study hold the truth they are about?

Studies with a known truth are drawn and analysed by the very functions that analyse real ones.
Worlds, because an effect of one kind hides in the analysis of another (large models are also
newer): all effects at once; size alone; active parameters alone; time alone; sources that size and
time do not move, for lines of target accuracy; models and languages that differ for no reason;
models and languages that do not differ at all; and models drawn from a population, for intervals
that speak of other models. How often tests reject where there is nothing to find needs
more draws than intervals do: that is `study_null.py`.

    python benchmarks/study_recovery.py --repetitions 200 -o docs/study_recovery.md
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # many small tables: threads only wait

import numpy as np
import polars as pl

from hatscore.models import Registry, load_models
from hatscore.outcomes import SCHEMA
from hatscore.scoring import MACRO, measurements
from hatscore.studies.analyses import ANALYSES, analyse
from hatscore.studies.effects import scoped
from hatscore.studies.material import Material, gather
from hatscore.studies.recovery import recovery
from hatscore.studies.simulated import NOTHING, PAPER, Layout, simulate_study

PLAIN = Layout(benchmarks=("reasoning",), by_item="", n_items=150)
BOTH = Layout(benchmarks=("reasoning",), by_item="closed-book", n_items=150)
ALIKE = replace(NOTHING, model_sd=0.0, language_sd=0.0)
FLAT = replace(
    NOTHING, ability_size=0.0, ability_time=0.0, ability_closed=0.0, ability_thinking=0.0
)
OTHERS, TOKENS = "models drawn", "tokens"
TOKEN_SHARE = 5  # every fifth study has token counts as well: two hundred ratios each
WORLDS = {
    "all effects": (PAPER, BOTH, tuple(ANALYSES)),
    "size": (replace(NOTHING, size=PAPER.size), PLAIN, ("size",)),
    "active": (replace(NOTHING, active=PAPER.size), PLAIN, ("size",)),
    "time": (replace(NOTHING, time=PAPER.time), PLAIN, ("time",)),
    "sources alike": (FLAT, PLAIN, ("size", "time")),
    "no effects": (NOTHING, BOTH, tuple(ANALYSES)),
    "all alike": (ALIKE, BOTH, tuple(ANALYSES)),
    TOKENS: (PAPER, BOTH, ("thinking",)),
    OTHERS: (PAPER, PLAIN, ("coupling",)),
}
# where R2 is exactly 1, or has no meaning
NO_COUPLING = "all alike"
POPULATION = 400  # models behind the R2 of all models, and draws of items and languages
POPULATION_DRAWS = 40


@dataclass(frozen=True)
class Counts:
    """As much of outcomes as analyses of counts read."""

    blocks: tuple
    frame: pl.DataFrame

    def aligned(self):
        return self.blocks


def counts_material(study, registry):
    """Return a study's material from its counts, without the table of replies."""
    counts = Counts(study.blocks(), pl.DataFrame(schema=SCHEMA))
    scores = {
        (m.model, m.benchmark, m.language): {
            name: scoped(e, m.benchmark) for name, e in m.scores.items()
        }
        for m in measurements(counts)
    }
    facts = {name: registry.models[name] for name in study.names}
    return Material(counts, scores, facts, 0.95)


def drawn_registry(rng, n):
    """Return models as many as n with sizes, dates and settings of the paper's, by chance."""
    those = [m for m in load_models().models.values() if m.paper_name]
    picked = [those[i] for i in rng.integers(len(those), size=n)]
    named = [
        replace(m, name=f"drawn-{i}", variant_of="", released=m.released)
        for i, m in enumerate(picked)
    ]
    return Registry({m.name: m for m in named})


@cache
def population():
    """Return the R2 of observed scores on observed source accuracy over very many models."""
    effects, layout, _ = WORLDS[OTHERS]
    found = {}
    for seed in range(POPULATION_DRAWS):
        rng = np.random.default_rng([seed, 1])
        study = simulate_study(
            drawn_registry(rng, POPULATION), effects=effects, layout=layout, rng=rng
        )
        blocks = study.blocks()
        n = layout.n_replies
        s = np.array([b.k_source for b in blocks]) / n
        t = np.array([b.k_target for b in blocks]) / n
        u = s * (n * s - 1) / (n - 1)
        source, target = s.mean(1), t.mean(1)
        hat = (s[:, :, None] * t).sum(1) / u.sum(1)[:, None]
        for name, y in (("target accuracy", target), ("HAT", hat)):
            columns = [*y.T, y.mean(1)]
            r2 = [np.corrcoef(source, c)[0, 1] ** 2 for c in columns]
            for language, value in zip((*sorted(layout.languages), MACRO), r2, strict=True):
                found.setdefault((name, language), []).append(value)
    return {key: float(np.mean(values)) for key, values in found.items()}


def over_models(coupling):
    """Return Fisher's intervals beside the R2 of the population of models."""
    truth = population()
    rows = []
    for row in coupling.iter_rows(named=True):
        which = "macro" if row["language"] == MACRO else "one language"
        rows.append(
            {
                "effect": f"coupling R2 of {row['score']}, {which}",
                "of": row["benchmark"],
                "over": "models",
                "truth": truth[row["score"], row["language"]],
                "value": row["observed"],
                "low": row["models_low"],
                "high": row["models_high"],
                "p": float("nan"),
            }
        )
    return pl.DataFrame(rows).with_columns(
        covered=(pl.col("low") <= pl.col("truth")) & (pl.col("truth") <= pl.col("high"))
    )


def tasks_of(repetitions):
    """Return (world, effects, layout, analyses, seed), interleaved."""
    return [
        (world, *WORLDS[world], seed)
        for seed in range(repetitions)
        for world in WORLDS
        if world != TOKENS or seed % TOKEN_SHARE == 0
    ]


def one(task):
    world, effects, layout, names, seed = task
    rng = np.random.default_rng([seed, len(world), len(names)])
    if world == OTHERS:
        registry = drawn_registry(rng, 20)
        study = simulate_study(registry, effects=effects, layout=layout, rng=rng)
        (coupling,) = analyse(counts_material(study, registry), names)
        found = over_models(coupling.table)
    else:
        registry = load_models()
        study = simulate_study(registry, effects=effects, layout=layout, rng=rng)
        material = (
            gather(study.outcomes, registry)
            if world == TOKENS
            else counts_material(study, registry)
        )
        found = recovery(study, material, analyse(material, names))
    return found.with_columns(world=pl.lit(world), seed=pl.lit(seed))


def misled(world, effect, over):
    """Say whether a line has something else in its scatter than what units have by chance.

    It then misses its points by more than other models or languages would, and its interval over
    these holds the truth too often.
    """
    if effect.startswith("coupling"):
        return world == NO_COUPLING
    if over == "items":
        return False
    if "target accuracy" in effect:
        # goes with ability along a curve, and scatters most in the middle of it
        return world != "sources alike"
    if world == "all effects":
        # other effects; script is the only one that is drawn for languages
        return effect != "script: other script - same, line" and "jointly" not in effect
    if "shift" in effect and world == "time":
        return True  # models of one side are not alike
    active = "active" in effect
    return (world == "size" and active) or (world == "active" and not active)


def summarise(frame):
    """Return one row per effect; the error of a share counts studies, not effects."""
    rows = []
    for (effect, over), part in frame.group_by(["effect", "over"], maintain_order=True):
        out = [w for w in part["world"].unique() if misled(w, effect, over)]
        known = part.filter(~pl.col("world").is_in(out))
        if not known.height:
            continue
        if not known["low"].is_not_nan().any():
            bias = float((known["value"] - known["truth"]).mean())
            rows.append({"effect": effect, "over": over, "effects": known.height, "bias": bias})
            continue
        known = known.filter(pl.col("low").is_not_nan())
        by_study = known.group_by("world", "seed").agg(pl.col("covered").mean())["covered"]
        row = {
            "effect": effect,
            "over": over,
            "studies": len(by_study),
            "effects": known.height,
            "bias": float((known["value"] - known["truth"]).mean()),
            "coverage": float(by_study.mean()),
            "error": float(by_study.std() or 0.0) / len(by_study) ** 0.5,
        }
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def covered(row):
    if row["coverage"] is None:
        return "no interval"
    return f"{100 * row['coverage']:.1f} ± {100 * row['error']:.1f}"


def lines_of(table):
    lines = [
        "| effect | interval over | studies | effects | bias | coverage, % |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['effect']} | {row['over']} | {row['studies'] or ''} | {row['effects']} "
        f"| {row['bias']:+.4f} | {covered(row)} |"
        for row in table.iter_rows(named=True)
    ]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200, help="of every world")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    start = time.perf_counter()
    tasks = tasks_of(given.repetitions)
    with ProcessPoolExecutor(given.workers) as pool:
        frame = pl.concat(pool.map(one, tasks, chunksize=2))
    text = "\n".join(lines_of(summarise(frame))) + "\n"
    print(text)
    print(f"{given.repetitions} studies a world, {time.perf_counter() - start:.0f} s")
    if given.output:
        given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
