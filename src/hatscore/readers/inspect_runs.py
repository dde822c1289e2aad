"""Which runs of inspect_ai count, and which benchmark each is of."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError
from hatscore.readers.inspect_fields import Places
from hatscore.readers.task_names import language_tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.readers.inspect_cells import Cell
    from hatscore.readers.inspect_fields import Place
    from hatscore.readers.inspect_files import Log

__all__ = ["Run", "choose_runs", "claim", "prepare"]

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Run:
    """A log that counts, and how its samples are to be read.

    Attributes
    ----------
    log
        The log.
    first
        Its first sample.
    places
        Where its columns come from.
    language
        The language of its task's name, None where the samples say it.
    benchmark
        Task without language, with those arguments that make it another task.
    """

    log: Log
    first: dict[str, Any]
    places: Places
    language: str | None
    benchmark: str


def choose_runs(logs: Sequence[Log], *, pool: bool) -> tuple[list[Log], list[str]]:
    """Drop copies of a log, and runs that a later run of the same task replaces.

    Of runs that retry each other the newest complete one counts, without a complete one the
    newest that has samples.

    Parameters
    ----------
    logs
        All logs found.
    pool
        Keep retried runs; their samples are told apart by their ids.

    Returns
    -------
    kept : list
        In the order of `logs`.
    notes : list of str
        What was left out.
    """
    copies: dict[tuple[str, str, str], list[Log]] = defaultdict(list)
    for log in logs:
        copies[log.eval_id, log.model, log.task].append(log)
    notes = []
    lineages: dict[tuple[str, ...], list[Log]] = defaultdict(list)
    for same in copies.values():
        # a copy made while the run was under way is behind the one made at its end
        kept = max(same, key=lambda log: log.complete)
        if len(same) > 1:
            others = _names([log for log in same if log is not kept])
            notes.append(f"{others}: the same run as {kept.name}, read once")
        lineages[_line(kept) if not pool else (kept.name,)].append(kept)
    chosen, replaced, partial = set(), [], []
    for runs in lineages.values():
        best = max(runs, key=lambda log: (log.complete, _has_samples(log), log.created, log.name))
        chosen.add(id(best))
        replaced += [log for log in runs if log is not best]
        if len(runs) > 1 and not best.complete:
            partial.append(best)
    if replaced:
        notes.append(
            f"{len(replaced)} logs are of runs that were retried; the newest complete run counts, "
            f"not counted: {_names(replaced)}"
        )
    if partial:
        notes.append(f"no complete run, the newest one counts: {_names(partial)}")
    return [log for log in logs if id(log) in chosen], notes


def _line(log: Log) -> tuple[str, ...]:
    """Return what a run shares with those it retries, and with no others."""
    return (*log.lineage, log.task)


def prepare(
    logs: Sequence[Log], given: Mapping[str, Place], names: Mapping[str, tuple[str, str]]
) -> tuple[list[Run], list[str]]:
    """Find places, language and benchmark of every log that has a sample.

    Parameters
    ----------
    logs
        Those of `choose_runs`.
    given
        What the user said of places.
    names
        Benchmark and language by task name, as of `task_languages`.

    Returns
    -------
    runs : list
        One for each log with samples.
    notes : list of str
        Of the others.

    Raises
    ------
    ReaderError
        A broken log, or one that does not say its language.
    """
    notes = []
    found: list[tuple[Log, dict[str, Any], Places, str]] = []
    for log in logs:
        first = next(log.samples(), None)
        if first is None:
            notes.append(f"{log.name}: no sample in it (status {log.status}), nothing to count")
            continue
        places = Places.find(log, first, given, by_task=log.task in names)
        place = places.of.get("language")
        tag = place.of(log, first, log.name) if place else names[log.task][1]
        found.append((log, first, places, str(tag)))
    stems = {
        log.name: names[log.task][0]
        if log.task in names and language_tag(tag) == names[log.task][1]
        else log.task
        for log, _, _, tag in found
    }
    apart = _telling_arguments(found, stems)
    runs = []
    for log, first, places, tag in found:
        stem = stems[log.name]
        shown = [f"{key}={log.args[key]}" for key in apart[stem] if key in log.args]
        label = f"{stem}({','.join(shown)})" if shown else stem
        runs.append(Run(log, first, places, None if "language" in places.of else tag, label))
    return runs, notes


def claim(cells: Sequence[Cell], run: Run, owners: dict[tuple[str, str, str], Log]) -> None:
    """Refuse a second run of a model, benchmark and language.

    Parameters
    ----------
    cells, run
        What the run holds.
    owners
        The log that holds it by model, benchmark and language; added to.

    Raises
    ------
    InputError
        There is one already; says how the two differ.
    """
    for cell in cells:
        key = (cell.fields["model"], cell.fields["benchmark"], cell.fields["language"])
        other = owners.setdefault(key, run.log)
        if other is run.log:
            continue
        mine, theirs = run.log.config, other.config
        names = sorted(mine.keys() | theirs.keys())
        differing = [name for name in names if mine.get(name) != theirs.get(name)]
        told = f" They differ in {', '.join(differing)}." if differing else ""
        raise InputError(
            f"{other.name} and {run.log.name} both hold {key[0]} on {key[1]} in {key[2]}, and "
            f"neither retries the other.{told} Give only one of them, or take both for further "
            "replies to the same items with pool=True"
        )


def _telling_arguments(
    found: Sequence[tuple[Log, dict[str, Any], Places, str]], stems: Mapping[str, str]
) -> dict[str, list[str]]:
    """Arguments with several values for one model, task and language: those are several tasks.

    What differs between languages alone (a path, a prompt) goes with the language.
    """
    values: dict[tuple[str, str, str, str], set[str]] = defaultdict(set)
    for log, _, places, tag in found:
        place = places.of.get("language")
        taken = place.key if place and place.kind == "task_args" else None
        for key, value in log.args.items():
            if key != taken:
                written = json.dumps(value, sort_keys=True, default=str)
                values[stems[log.name], key, log.model, tag].add(written)
    apart: dict[str, list[str]] = defaultdict(list)
    for (stem, key, _, _), seen in values.items():
        if len(seen) > 1 and key not in apart[stem]:
            apart[stem].append(key)
    return apart


def _has_samples(log: Log) -> bool:
    return next(log.samples(), None) is not None


def _names(logs: Sequence[Log]) -> str:
    shown = ", ".join(log.name for log in logs[:_SHOWN])
    return shown if len(logs) <= _SHOWN else f"{shown} and {len(logs) - _SHOWN} more"
