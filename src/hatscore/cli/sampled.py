"""Which benchmarks the run directories on a command line hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hatscore.readers.hatscore_run import benchmark_label, sniff
from hatscore.readers.registry import with_runs_within
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.sampling.config import BenchmarkPlan, RunConfig

__all__ = ["Sampled", "sampled_benchmarks"]


@dataclass(frozen=True, slots=True)
class Sampled:
    """One benchmark of one run: where it is, and what was asked."""

    path: Path
    config: RunConfig
    plan: BenchmarkPlan


def sampled_benchmarks(paths: Sequence[str | Path]) -> dict[tuple[str, str], Sampled]:
    """Return the benchmarks of the run directories among `paths`, by model and label.

    Raises
    ------
    RunError
        A damaged run.
    """
    found = {}
    for path in map(Path, with_runs_within(paths)):
        if sniff(path):
            with Run.open(path) as run:
                config = run.config
            for plan in config.benchmarks:
                found[config.model, benchmark_label(plan)] = Sampled(path, config, plan)
    return found
