"""Do the analyses of the study find what is there, and nothing where there is nothing?

Studies with a known truth are drawn and analysed by the very functions that analyse real ones.
Five worlds, because an effect of one kind hides in the analysis of another (large models are
also newer): all effects at once; size alone; time alone; models and languages that differ for no
reason; models and languages that do not differ at all.

    python benchmarks/study_recovery.py --repetitions 200 -o docs/study_recovery.md
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from hatscore.models import load_models
from hatscore.studies.analyses import ANALYSES, analyse
from hatscore.studies.material import gather
from hatscore.studies.recovery import recovery
from hatscore.studies.simulated import NOTHING, PAPER, Layout, simulate_study

PLAIN = Layout(benchmarks=("reasoning",), by_item="", n_items=150)
BOTH = Layout(benchmarks=("reasoning",), by_item="closed-book", n_items=150)
WORLDS = {
    "all effects": (PAPER, BOTH, tuple(ANALYSES)),
    "size": (replace(NOTHING, size=PAPER.size), PLAIN, ("size",)),
    "time": (replace(NOTHING, time=PAPER.time), PLAIN, ("time",)),
    "no effects": (NOTHING, BOTH, tuple(ANALYSES)),
    "all alike": (replace(NOTHING, model_sd=0.0, language_sd=0.0), BOTH, tuple(ANALYSES)),
}
# in a world with all effects at once, lines over models see other effects too
# and where all models transfer alike, R2 is exactly 1 or has no meaning
MISLED = {"all effects": ("size: HAT per tenfold", "time: "), "all alike": ("coupling",)}
# where models differ for no reason other models would differ otherwise, items cannot be silent
NULL = {
    "no effects": (
        "size: HAT", "time: ", "thinking: paired", "validation: movement of hat",
        "validation: movement of ratio", "script: other minus same, line", "script: dealt",
    ),
    "all alike": ("family: ", "script: other minus same, mean", "script: other minus same, one"),
}  # fmt: skip


def one(task):
    world, seed = task
    effects, layout, names = WORLDS[world]
    registry = load_models()
    study = simulate_study(
        registry, effects=effects, layout=layout, rng=np.random.default_rng([seed, len(world)])
    )
    material = gather(study.outcomes, registry)
    found = recovery(study, material, analyse(material, names))
    return found.with_columns(world=pl.lit(world), seed=pl.lit(seed))


def summarise(frame):
    """Return one row per world and effect; the error of a share counts studies, not effects."""
    rows = []
    for (effect, over), part in frame.group_by(["effect", "over"], maintain_order=True):
        row = {"effect": effect, "over": over}
        known = part.filter(
            pl.col("low").is_not_nan()
            & ~pl.any_horizontal(
                (pl.col("world") == w) & pl.col("effect").str.starts_with(e)
                for w, es in MISLED.items()
                for e in es
            )
        )
        if known.height:
            by_study = known.group_by("world", "seed").agg(pl.col("covered").mean())["covered"]
            row |= {
                "effects": known.height,
                "bias": float((known["value"] - known["truth"]).mean()),
                "coverage": float(by_study.mean()),
                "coverage_error": float(by_study.std() / np.sqrt(len(by_study))),
            }
        silent = [w for w, es in NULL.items() if any(effect.startswith(e) for e in es)]
        tested = part.filter(pl.col("world").is_in(silent) & pl.col("p").is_not_nan())
        if effect == "validation: movement of hat_plugin":
            tested = tested.clear()
        if tested.height:
            by_study = tested.group_by("world", "seed").agg((pl.col("p") < 0.05).mean())["p"]
            row |= {
                "false_positives": float(by_study.mean()),
                "false_positives_error": float(by_study.std() / np.sqrt(len(by_study))),
            }
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def share(row, name):
    value = row.get(name)
    if value is None:
        return ""
    return f"{100 * value:.1f} ± {100 * (row[f'{name}_error'] or 0):.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    start = time.perf_counter()
    tasks = [(world, seed) for seed in range(given.repetitions) for world in WORLDS]
    with ProcessPoolExecutor(given.workers) as pool:
        frame = pl.concat(pool.map(one, tasks, chunksize=2))
    table = summarise(frame)
    lines = [
        "| effect | interval over | effects | bias | coverage, % | false positives, % |",
        "|---|---|---|---|---|---|",
    ]
    for row in table.iter_rows(named=True):
        bias = "" if row["bias"] is None else f"{row['bias']:+.4f}"
        lines.append(
            f"| {row['effect']} | {row['over']} | {row['effects'] or ''} | {bias} "
            f"| {share(row, 'coverage')} | {share(row, 'false_positives')} |"
        )
    text = "\n".join(lines) + "\n"
    print(text)
    print(f"{given.repetitions} studies a world, {time.perf_counter() - start:.0f} s")
    if given.output:
        given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
