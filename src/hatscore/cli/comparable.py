"""Whether runs may stand side by side: what `run.json` says that outcomes no longer do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.archive import is_archive, read_archive
from hatscore.errors import InputError
from hatscore.readers.hatscore_run import benchmark_label, check_count, sniff
from hatscore.readers.registry import with_runs_within
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
_PARAMS = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "most tokens of a reply"}
_NOTED = {
    "items": "number of items",
    "seed": "seed of the items",
    "mode": "mode of the prompts",
    **_PARAMS,
}
_UNSET = {"items": "all", "max_tokens": "those of the benchmark"}
_WORDS = {**_REFUSED, **_NOTED}
_DATA = re.compile(r"data=[^,)]*")


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
    for path in map(Path, with_runs_within(paths)):
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
    seen: dict[tuple[str, str], dict[object, list[str]]] = {}
    versions: dict[tuple[str, object], dict[str, None]] = {}
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
        for name in _WORDS:
            if name in facts:
                seen.setdefault((label, name), {}).setdefault(facts[name], []).append(where)
        versions.setdefault((_DATA.sub("data=", label), facts.get("version")), {})[label] = None
    for (label, name), values in seen.items():
        if len(values) > 1:
            parts = ", ".join(f"{_shown(name, v)} in {_few(there)}" for v, there in values.items())
            said = f"{label}: {_WORDS[name]}: {parts}"
            (refused.setdefault(name, []) if name in _REFUSED else notes).append(said)
    if refused:
        raise InputError(_refusal(refused))
    notes += [
        f"{' and '.join(labels)} count as different benchmarks, though they may be one: their "
        "data lie under different names"
        for labels in versions.values()
        if len(labels) > 1
    ]
    if silent and len(paths) > 1:
        notes.append(
            f"{_few(silent)}: nothing says which version and prompts they "
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
    for holder in (plan, config, config.params):
        if hasattr(holder, name):
            return getattr(holder, name)
    raise AttributeError(name)


def _shown(name: str, value: object) -> str:
    return _UNSET.get(name, "none sent") if value is None else str(value)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
