"""The price of statistics: hatscore against the straightforward script, ratios from one run.

Usage: python benchmarks/stats.py [--quick]

1. 20 models x 28 languages x 588 items, every metric with its interval, against pandas and
   scipy.stats.bootstrap with 10,000 resamples. The peer is timed on a share of the cells and
   scaled up, because all of them would take hours; the share is printed.
2. Our own bootstrap against scipy.stats.bootstrap on the same cells, and how far apart the ends
   of the intervals are, in units of their Monte-Carlo error.
3. 1e6 items x 10 languages, and how the time grows with items.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import polars as pl
import scipy.stats

from hatscore import Outcomes, measure
from hatscore.stats import hat_scores, simulate

MODELS, LANGUAGES, ITEMS, RESAMPLES = 20, 28, 588, 10_000


def make_table(rng):
    slopes = np.linspace(0.2, 0.98, LANGUAGES)
    frames = []
    for m in range(MODELS):
        d = simulate(
            ITEMS, slopes=slopes, source=(0.5 + m / 5, 1), concentration=3, correlation=0.5, rng=rng
        )
        counts = np.column_stack([d.k_source, d.k_target])
        frames.append(
            pl.DataFrame(
                {
                    "model": f"model-{m:02}",
                    "benchmark": "bench",
                    "item": np.repeat(np.arange(ITEMS), LANGUAGES + 1),
                    "language": ["en", *(f"l{j:02}" for j in range(LANGUAGES))] * ITEMS,
                    "source_language": "en",
                    "n": 10,
                    "k": counts.ravel(),
                }
            )
        )
    return pl.concat(frames)


METRICS = {
    "source_accuracy": lambda s, _t, _u: s.mean(),
    "target_accuracy": lambda _s, t, _u: t.mean(),
    "gap": lambda s, t, _u: s.mean() - t.mean(),
    "ratio": lambda s, t, _u: t.mean() / s.mean(),
    "transfer_score": lambda s, t, _u: (s * t).sum() / s.sum(),
    "overall": lambda s, t, _u: (s * t).mean(),
    "hat": lambda s, t, u: (s * t).sum() / u.sum(),
    "hat_plugin": lambda s, t, _u: (s * t).sum() / (s * s).sum(),
}


def peer(table, cells, rng):
    """What one writes first: merge source and target, then bootstrap every metric."""
    source = table[table.language == "en"].set_index(["model", "item"])
    found = {}
    for model, language in cells:
        part = table[(table.model == model) & (table.language == language)]
        both = part.join(source[["k", "n"]], on=["model", "item"], rsuffix="_source")
        s = (both.k_source / both.n_source).to_numpy()
        t = (both.k / both.n).to_numpy()
        u = (both.k_source * (both.k_source - 1) / (both.n_source * (both.n_source - 1))).to_numpy()
        for name, metric in METRICS.items():
            result = scipy.stats.bootstrap(
                (s, t, u),
                metric,
                n_resamples=RESAMPLES,
                paired=True,
                vectorized=False,
                method="percentile",
                rng=rng,
            )
            found[model, language, name] = result.confidence_interval
    return found


def clock(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def compare_metrics(rng, cells_timed):
    table = make_table(rng)
    outcomes = Outcomes.from_frame(table)
    measure(outcomes)  # imports and caches are warm for both
    ours, ours_s = clock(lambda: measure(outcomes))
    pandas = table.to_pandas()
    cells = [(f"model-{i % MODELS:02}", f"l{(7 * i) % LANGUAGES:02}") for i in range(cells_timed)]
    theirs, peer_s = clock(lambda: peer(pandas, cells, rng))
    scaled = peer_s * MODELS * LANGUAGES / len(cells)
    print(f"1. {MODELS} models x {LANGUAGES} languages x {ITEMS} items, {len(METRICS)} metrics")
    print(f"   hatscore measure: {ours_s:.2f} s for {ours.height} rows")
    print(
        f"   pandas + scipy.stats.bootstrap: {peer_s:.1f} s for {len(cells)} of "
        f"{MODELS * LANGUAGES} cells, {scaled:.0f} s for all"
    )
    print(f"   ratio: {scaled / ours_s:.0f} times faster (wanted: 300)")
    apart = []
    for model, language in cells:
        row = ours.filter(model=model, language=language).row(0, named=True)
        low, high = theirs[model, language, "hat"]
        apart.append(max(abs(row["hat_low"] - low), abs(row["hat_high"] - high)) / (high - low))
    print(f"   largest distance of HAT ends, in interval widths: {max(apart):.3f}")


def compare_bootstraps(rng, cells_timed):
    slopes = np.linspace(0.2, 0.98, LANGUAGES)
    d = simulate(ITEMS, slopes=slopes, source=(1, 1), concentration=3, rng=rng)
    s, u = d.k_source / 10, d.k_source * (d.k_source - 1) / 90

    def ours(columns):
        return hat_scores(
            d.k_source, 10, d.k_target[:, :columns], 10, interval="bootstrap", rng=rng
        )

    def theirs():
        return [
            scipy.stats.bootstrap(
                (s, d.k_target[:, j] / 10, u),
                METRICS["hat"],
                n_resamples=RESAMPLES,
                paired=True,
                vectorized=False,
                method="percentile",
                rng=rng,
            ).confidence_interval
            for j in range(cells_timed)
        ]

    ours(1)
    _, single_s = clock(lambda: ours(1))
    mine, ours_s = clock(lambda: ours(LANGUAGES))
    other, peer_s = clock(theirs)
    # density of a normal at its 2.5 % point: the Monte-Carlo error of a percentile
    errors = []
    for a, b in zip(mine, other, strict=False):
        sd = (b.high - b.low) / 3.92
        mc = sd * np.sqrt(2 * 0.025 * 0.975 / RESAMPLES) / scipy.stats.norm.pdf(1.96)
        errors += [abs(a.low - b.low) / mc, abs(a.high - b.high) / mc]
    ours_cell, peer_cell = ours_s / LANGUAGES, peer_s / cells_timed
    print(f"2. bootstrap, {RESAMPLES:,} resamples of {ITEMS} items, {LANGUAGES} languages")
    print(f"   a language: hatscore {1e3 * ours_cell:.1f} ms, scipy {1e3 * peer_cell:.0f} ms")
    print(f"   ratio: {peer_cell / ours_cell:.0f} times faster (wanted: 30); all languages share")
    print(f"   each resample. One language alone: {peer_cell / single_s:.1f} times")
    print(f"   ends differ by {np.mean(errors):.2f} Monte-Carlo errors on average")


def growth(rng, sizes):
    print("3. corrected HAT with Fieller's interval, 10 languages")
    last = None
    for size in sizes:
        d = simulate(size, slopes=[0.7] * 10, source=(1, 1), rng=rng)
        _, seconds = clock(lambda d=d: hat_scores(d.k_source, 10, d.k_target, 10))
        more = "" if last is None else f", {seconds / last:.1f} times the row above"
        print(f"   {size:>9,} items: {seconds:.3f} s{more}")
        last = seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cells of the peers")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    compare_metrics(rng, 2 if given.quick else 6)
    compare_bootstraps(rng, 3 if given.quick else 10)
    growth(rng, (10_000, 100_000, 1_000_000))


if __name__ == "__main__":
    main()
