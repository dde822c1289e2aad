"""Whether runs may stand side by side: what `run.json` says that outcomes no longer do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.archive import is_archive, read_archive
from hatscore.errors import InputError
from hatscore.readers.hatscore_run import benchmark_label, check_count, sniff
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hatscore.sampling.config import BenchmarkPlan, RunConfig

__all__ = ["check_comparable", "what_was_asked"]

_ASKED = {
    "version": "version of the benchmark",
    "source_language": "source language",
    "prompt_language": "language of the prompts",
}
_GRADED = {"count": "replies that count as not correct", "names": "names accepted"}
_REFUSED = {**_ASKED, **_GRADED}
_SHOWN = 3
_NOTED = {"items": "number of items", "seed": "seed of the items", "mode": "mode of the prompts"}


def what_was_asked(
    paths: Sequence[str | Path], *, names: str | None = None, count: str | None = None
) -> list[dict[str, Any]]:
    """Return what scores of runs no longer say, for `check_comparable` and as JSON can hold it.

    Parameters
    ----------
    paths
        What is scored.
    names, count
        How the replies are graded, as for `hatscore.cli.reading.read_graded`; None if all that is
        compared is graded alike.

    Returns
    -------
    list of dict
        One per path and benchmark, with the ``path`` by its last part, the ``model``, the
        ``benchmark`` and under ``facts`` what was asked; ``path`` alone where only the user
        knows.
    """
    records: list[dict[str, Any]] = []
    for path in map(Path, paths):
        if not sniff(path):
            records.append({"path": path.name})
            continue
        with Run.open(path) as run:
            config = run.config
            # which spellings count matters to no benchmark of numbers
            items = () if names is None else run.store.items()
            named = {item.benchmark for item in items if item.gold.kind == "name"}
        for plan in config.benchmarks:
            facts = {name: _value(config, plan, name) for name in {**_ASKED, **_NOTED}}
            if count is not None:
                facts["count"] = ", ".join(sorted(check_count(count))) or "none"
            if plan.name in named:
                facts["names"] = names
            records.append(
                {
                    "path": path.name,
                    "model": config.model,
                    "benchmark": benchmark_label(plan),
                    "facts": facts,
                }
            )
    return records


def check_comparable(
    paths: Sequence[str | Path],
    *,
    models: Collection[str] | None = None,
    names: str | None = None,
    count: str | None = None,
) -> list[str]:
    """Refuse runs that asked different questions, and return notes on smaller differences.

    Parameters
    ----------
    paths
        What is compared; only run directories, and scores saved from them, say how they were made.
    models
        Of which models; None for all.
    names, count
        As for `what_was_asked`: how replies are graded now, beside what was graded before.

    Returns
    -------
    list of str
        Differences that leave scores comparable but are worth knowing.

    Raises
    ------
    InputError
        Two runs of one benchmark with another version, source language or language of the
        prompts, or graded by other rules; names the runs and the difference.
    """
    seen: dict[tuple[str, str], tuple[object, str]] = {}
    refused: dict[str, list[str]] = {}
    notes: list[str] = []
    silent: list[str] = []
    for where, record in _records(paths, names, count):
        if "benchmark" not in record:
            silent.append(where)
            continue
        if models is not None and record["model"] not in models:
            continue
        label, facts = record["benchmark"], record["facts"]
        for name, words in {**_REFUSED, **_NOTED}.items():
            if name not in facts:
                continue
            first, there = seen.setdefault((label, name), (facts[name], where))
            if facts[name] != first:
                said = f"{label}: {words}: {_shown(first)} in {there}, {_shown(facts[name])} in "
                (refused.setdefault(name, []) if name in _REFUSED else notes).append(said + where)
    if refused:
        raise InputError(_refusal(refused))
    if silent and len(paths) > 1:
        more = f" and {len(silent) - _SHOWN} more" if len(silent) > _SHOWN else ""
        notes.append(
            f"{', '.join(silent[:_SHOWN])}{more}: nothing says which version and prompts they "
            "had; whether they compare is for you to know"
        )
    return notes


def _records(
    paths: Sequence[str | Path], names: str | None, count: str | None
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return what was asked with where it lies, for people."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for path in map(Path, paths):
        if not is_archive(path):
            found += [(r["path"], r) for r in what_was_asked([path], names=names, count=count)]
            continue
        asked = read_archive(path).asked
        several = len({record["path"] for record in asked}) > 1
        found += [(path.name + f" ({r['path']})" * several, r) for r in asked]
        if not asked:  # saved before it was kept
            found.append((path.name, {}))
    return found


def _refusal(refused: Mapping[str, Sequence[str]]) -> str:
    lines = "\n  ".join(line for part in refused.values() for line in part)
    todo = []
    if set(refused) & set(_ASKED):
        todo.append("Sample them alike, or look at each by itself.")
    if set(refused) & set(_GRADED):
        todo.append("Grade them alike: save scores again with the same --count and --names.")
    what = "asked different questions" if set(refused) & set(_ASKED) else "are graded differently"
    return f"these runs {what} and are not compared:\n  {lines}\n{' '.join(todo)}"


def _value(config: RunConfig, plan: BenchmarkPlan, name: str) -> Any:
    return getattr(plan, name) if hasattr(plan, name) else getattr(config, name)


def _shown(value: object) -> str:
    return "all" if value is None else str(value)
