"""Whether runs may stand side by side: what `run.json` says that outcomes no longer do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hatscore.errors import InputError
from hatscore.readers.hatscore_run import benchmark_label, sniff
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.sampling.config import BenchmarkPlan, RunConfig

__all__ = ["check_comparable"]

_REFUSED = {
    "version": "version of the benchmark",
    "source_language": "source language",
    "prompt_language": "language of the prompts",
}
_SHOWN = 3
_NOTED = {"items": "number of items", "seed": "seed of the items", "mode": "mode of the prompts"}


def check_comparable(paths: Sequence[str | Path]) -> list[str]:
    """Refuse runs that asked different questions, and return notes on smaller differences.

    Parameters
    ----------
    paths
        What a study is made of; only run directories say how they were made.

    Returns
    -------
    list of str
        Differences that leave scores comparable but are worth knowing.

    Raises
    ------
    InputError
        Two runs of one benchmark with another version, source language or language of the
        prompts; names the runs and the difference.
    """
    seen: dict[tuple[str, str], tuple[object, str]] = {}
    refused: list[str] = []
    notes: list[str] = []
    silent = []
    for path in map(Path, paths):
        if not sniff(path):
            silent.append(path.name)
            continue
        with Run.open(path) as run:
            config = run.config
        for plan in config.benchmarks:
            for name, words in {**_REFUSED, **_NOTED}.items():
                value, label = _value(config, plan, name), benchmark_label(plan)
                first, where = seen.setdefault((label, name), (value, path.name))
                if value != first:
                    said = f"{label}: {words}: {_shown(first)} in {where}, {_shown(value)} in "
                    (refused if name in _REFUSED else notes).append(said + path.name)
    if refused:
        raise InputError(
            "these runs asked different questions and are not compared:\n  "
            + "\n  ".join(refused)
            + "\nSample them alike, or study them apart."
        )
    if silent and len(paths) > 1:
        more = f" and {len(silent) - _SHOWN} more" if len(silent) > _SHOWN else ""
        notes.append(
            f"{', '.join(silent[:_SHOWN])}{more}: nothing says which version and prompts they "
            "had; whether they compare is for you to know"
        )
    return notes


def _value(config: RunConfig, plan: BenchmarkPlan, name: str) -> object:
    return getattr(plan, name) if hasattr(plan, name) else getattr(config, name)


def _shown(value: object) -> str:
    return "all" if value is None else str(value)
