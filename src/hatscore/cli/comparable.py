"""Whether runs may stand side by side: what `run.json` says that outcomes no longer do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.archive import is_archive, read_archive
from hatscore.errors import InputError
from hatscore.judging import VERDICTS_NAME, VerdictStore
from hatscore.readers.hatscore_run import benchmark_label, check_count, sniff
from hatscore.readers.registry import READERS, detect, with_runs_within
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hatscore.outcomes import Outcomes
    from hatscore.sampling.config import BenchmarkPlan, RunConfig

__all__ = ["check_comparable", "what_was_asked"]

_ASKED = {
    "version": "version of the benchmark",
    "source_language": "source language",
    "prompt_language": "language of the prompts",
}
_OPTIONS = {"count": "replies that count as not correct", "names": "names accepted"}
_GRADED = {**_OPTIONS, "judges": "judges"}
_SHOWN = 3
_PARAMS = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "most tokens of a reply"}
_NOTED = {
    "items": "number of items",
    "seed": "seed of the items",
    "mode": "mode of the prompts",
    **_PARAMS,
}
_UNSET = {"items": "all", "max_tokens": "those of the benchmark"}
_WORDS = {**_ASKED, **_GRADED, **_NOTED}
_DATA = re.compile(r"data=[^,)]*")


def what_was_asked(
    paths: Sequence[str | Path],
    *,
    names: str | None = None,
    count: str | None = None,
    outcomes: Outcomes | None = None,
    given: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return what scores of runs no longer say, for `check_comparable` and as JSON can hold it.

    Parameters
    ----------
    paths
        What is scored.
    names, count
        How the replies are graded, as for `hatscore.cli.reading.read_graded`; None if all that is
        compared is graded alike.
    outcomes
        What was read from `paths`: tells the models and benchmarks of tables and logs.
    given
        The options that they were read with, as for `hatscore.cli.reading.read_graded`.

    Returns
    -------
    list of dict
        One per path and benchmark, with the ``path`` by its last part, the ``model``, the
        ``benchmark`` and under ``facts`` what was asked; ``path`` alone where only the user
        knows. Tables whose replies were graded also have how.
    """
    records: list[dict[str, Any]] = []
    for path in map(Path, with_runs_within(paths)):
        records += _of_run(path, names, count) if sniff(path) else [{"path": path.name}]
    graded = {"names": names, "count": count}
    return [*records, *_of_others(paths, records, graded, outcomes, given)]


def _of_run(path: Path, names: str | None, count: str | None) -> Iterator[dict[str, Any]]:
    """Yield what was asked in a run, a record per benchmark."""
    judges = _judges(path)
    with Run.open(path) as run:
        config = run.config
        # which spellings count matters to no benchmark of numbers, and neither do judges
        items = () if names is None and not judges else run.store.items()
        kinds = {(item.benchmark, item.gold.kind) for item in items}
    for plan in config.benchmarks:
        facts = {name: _value(config, plan, name) for name in {**_ASKED, **_NOTED}}
        if count is not None:
            facts["count"] = _counted(count)
        if names is not None and (plan.name, "name") in kinds:
            facts["names"] = names
        if judges and (plan.name, "judge") in kinds:
            facts["judges"] = judges
        yield {
            "path": path.name,
            "model": config.model,
            "benchmark": benchmark_label(plan),
            "facts": facts,
        }


def _of_others(
    paths: Sequence[str | Path],
    runs: Sequence[Mapping[str, Any]],
    graded: Mapping[str, str | None],
    outcomes: Outcomes | None,
    given: Mapping[str, Any] | None,
) -> Iterator[dict[str, Any]]:
    """Yield how the replies in tables and logs were graded, where it was us who did."""
    if outcomes is None:
        return
    chosen = given or {}
    others = [path for path in with_runs_within(paths) if not sniff(Path(path))]
    facts: dict[str, str] = {}
    for path in others:
        reader = READERS.get(chosen.get("reader") or "") or detect(path)
        if "grade" in reader.OPTIONS and not chosen.get("grade"):
            continue  # the table says what is right
        facts |= {name: value for name, value in graded.items() if value and name in reader.OPTIONS}
    if not facts:
        return
    if "count" in facts:
        facts["count"] = _counted(facts["count"])
    known = {(run["model"], run["benchmark"]) for run in runs if "benchmark" in run}
    where = _few([Path(path).name for path in others])
    keys = outcomes.frame.select("model", "benchmark").unique(maintain_order=True)
    for model, benchmark in keys.iter_rows():
        if (model, benchmark) not in known:
            yield {"path": where, "model": model, "benchmark": benchmark, "facts": dict(facts)}


def _judges(path: Path) -> str:
    """Return the judges whose verdicts count in a run, in one order; "" where none has judged."""
    if not (path / VERDICTS_NAME).is_file():
        return ""
    with VerdictStore(path / VERDICTS_NAME, read_only=True) as store:
        return ", ".join(sorted(store.judges()))


def _counted(count: str) -> str:
    return ", ".join(sorted(check_count(count))) or "none"


def check_comparable(
    paths: Sequence[str | Path],
    *,
    models: Collection[str] | None = None,
    names: str | None = None,
    count: str | None = None,
    outcomes: Outcomes | None = None,
    given: Mapping[str, Any] | None = None,
) -> list[str]:
    """Refuse runs that asked different questions, and return notes on smaller differences.

    Parameters
    ----------
    paths
        What is compared; only run directories, and scores saved from them, say how they were made.
    models
        Of which models; None for all.
    names, count
        As for `what_was_asked`: how replies are graded now, beside what was graded before. None if
        nothing is compared by numbers; other judges are a note then.
    outcomes, given
        As for `what_was_asked`, of those paths that hold no saved scores.

    Returns
    -------
    list of str
        Differences that leave scores comparable but are worth knowing.

    Raises
    ------
    InputError
        Two runs of one benchmark with another version, source language or language of the
        prompts, or graded by other rules or judges; names the runs and the difference.
    """
    seen: dict[tuple[str, str], dict[object, list[str]]] = {}
    versions: dict[tuple[str, object], dict[str, None]] = {}
    refused: dict[str, list[str]] = {}
    notes: list[str] = []
    silent: list[str] = []
    refusable = {**_ASKED, **(_GRADED if count is not None else _OPTIONS)}
    for where, record in _records(paths, {"names": names, "count": count}, outcomes, given):
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
            (refused.setdefault(name, []) if name in refusable else notes).append(said)
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
    paths: Sequence[str | Path],
    graded: Mapping[str, str | None],
    outcomes: Outcomes | None,
    given: Mapping[str, Any] | None,
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return what was asked with where it lies, for people."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    read: list[str | Path] = []
    for path in paths:
        if not is_archive(path):
            found += [
                (r["path"], r)
                for r in what_was_asked([path], names=graded["names"], count=graded["count"])
            ]
            read.append(path)
            continue
        name, asked = Path(path).name, read_archive(path).asked
        several = len({record["path"] for record in asked}) > 1
        found += [(name + f" ({r['path']})" * several, r) for r in asked]
        if not asked:  # saved before it was kept
            found.append((name, {}))
    here = [record for _, record in found]
    found += [(r["path"], r) for r in _of_others(read, here, graded, outcomes, given)]
    return found


def _refusal(refused: Mapping[str, Sequence[str]]) -> str:
    lines = "\n  ".join(line for part in refused.values() for line in part)
    todo = []
    if set(refused) & set(_ASKED):
        todo.append("Sample them alike, or look at each by itself.")
    if set(refused) & set(_OPTIONS):
        todo.append("Grade them alike: save scores again with the same --count and --names.")
    if "judges" in refused:
        todo.append(
            "Judge them alike: `hatscore judge RUN --judge MODEL` adds the verdicts of a judge. Or "
            "count only judges that all of them have: in Python, read each run with "
            'hatscore.read("RUN", judges="MODEL").write_parquet("RUN.parquet"), and compare these '
            "files."
        )
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
