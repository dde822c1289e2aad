"""How large the page is, and how long it takes: a demo's size, and 20 x 3 x 28 with its replies.

The study is simulated: the configurations of the paper, three benchmarks, 28 target languages. The
page of 20 x 3 x 28 is written without anything, with the analyses of `hatscore study`, and with
these and pictures; only writing it is timed, not the analyses.

    python benchmarks/report.py             # 10 items: 174,000 replies
    python benchmarks/report.py --items 250 # 4,350,000 replies
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from hatscore import Outcomes
from hatscore.cli.facts import facts_of
from hatscore.models import load_models
from hatscore.report import write_report
from hatscore.studies.analyses import analyse
from hatscore.studies.material import gather
from hatscore.studies.simulated import Layout, simulate_study

BENCHMARKS = ("mgsm", "mmlu-prox", "global-mmlu")
LANGUAGES = (
    "am", "ar", "bg", "bn", "cs", "de", "el", "es", "fa", "fi", "fr", "he", "hi", "hu", "id",
    "ja", "ko", "pl", "pt", "ru", "sr", "sw", "te", "th", "tr", "uk", "vi", "zh",
)  # fmt: skip
LARGEST, LONGEST = 3_000_000, 30.0


def study(items, *, models, benchmarks, languages):
    """Return outcomes of the first of the paper's configurations."""
    layout = Layout(benchmarks=benchmarks, by_item="", languages=languages, n_items=items)
    drawn = simulate_study(load_models(()), layout=layout, rng=np.random.default_rng(0))
    frame = drawn.outcomes.frame
    return Outcomes.from_frame(frame.filter(frame["model"].is_in(drawn.names[:models])))


def measure(name, outcomes, formats, studies=()):
    frame = outcomes.frame
    facts = facts_of(frame["model"].unique().to_list(), load_models(()))
    with tempfile.TemporaryDirectory() as where:
        start = time.perf_counter()
        page = write_report(outcomes, where, facts=facts, studies=studies, formats=formats)
        seconds = time.perf_counter() - start
        size = page.stat().st_size
        files = len(list(Path(where).iterdir())) - 1
    print(
        f"{name:<32}{frame['n'].sum():>11,} replies  {size / 1e6:5.2f} MB"
        f"  {seconds:6.1f} s  {files:>2} files beside it"
    )
    return size, seconds


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--items", type=int, default=10, help="items per benchmark")
    items = asked.parse_args().items
    demo = study(40, models=1, benchmarks=BENCHMARKS[:1], languages=("de", "es", "fr", "sw", "th"))
    measure("demo", demo, ("png",))
    large = study(items, models=20, benchmarks=BENCHMARKS, languages=LANGUAGES)
    measure("20 x 3 x 28, page", large, ())
    start = time.perf_counter()
    studies = analyse(gather(large, load_models(())))
    print(f"  (eight analyses of it: {time.perf_counter() - start:.1f} s)")
    measure("20 x 3 x 28, studies", large, (), studies)
    size, seconds = measure("20 x 3 x 28, studies and PNG", large, ("png",), studies)
    return int(size > LARGEST or seconds > LONGEST)


if __name__ == "__main__":
    raise SystemExit(main())
