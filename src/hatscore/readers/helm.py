"""Results of HELM: ``per_instance_stats.json`` with ``instances.json`` and ``run_spec.json``."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from hatscore.errors import InputError, ReaderError
from hatscore.readers.guard import align
from hatscore.readers.helm_files import (
    INSTANCES,
    SPEC,
    STATS,
    HelmRun,
    find_runs,
    instance_facts,
    load,
    name_runs,
)
from hatscore.readers.scores import as_text, check_scores, choose_score, partial_note
from hatscore.readers.task_names import read_map

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hatscore.outcomes import Outcomes
    from hatscore.readers.task_names import TaskName

    Listener = Callable[[HelmRun, Mapping[str, Any], tuple[str, int], str], None]

__all__ = ["FORMAT", "OPTIONS", "read", "read_many", "sniff"]

FORMAT = "helm"
OPTIONS = ("source", "metric", "map", "item", "run", "pool", "allow_missing", "allow_golds")
_EXTRA = "extra_data."
_Rows = dict[tuple[str, int], dict[str, float]]
_Facts = dict[str, tuple[str, str, str | None, str | None]]


def sniff(path: Path) -> bool:
    """Say whether `path` is a run directory of HELM or holds some."""
    if not path.is_dir():
        return False
    spec = next(path.rglob(SPEC), None)
    return spec is not None and (
        (spec.parent / STATS).exists() or (spec.parent / INSTANCES).exists()
    )


def read(
    path: Path,
    *,
    source: str = "en",
    metric: str | None = None,
    map: str | Mapping[str, str] | None = None,  # noqa: A002 - one name in all readers
    item: str | None = None,
    run: str | int | None = None,
    pool: bool = False,
    allow_missing: bool = False,
    allow_golds: bool = False,
) -> Outcomes:
    """Read run directories, of one model or several. Perturbed instances are left out.

    Parameters
    ----------
    path
        A run directory or one that holds some, such as a suite.
    source
        Source language of all items.
    metric
        Name of the statistic that is the score; several in order of preference with commas.
    map
        Where the language stands: a regular expression over run names without the model, with a
        group ``language``; or ``extra_data.FIELD`` of the instances. By default an argument of
        the run or its scenario (``language``, ``lang``, ...), else the place where names differ.
    item
        Field of the instances (``extra_data.FIELD``) that tells which question it is; by
        default rows are joined on the instance id.
    run
        Which ``train_trial_index`` to take where a run has several.
    pool
        Take all trials as replies to one item, though their prompts hold other examples.
    allow_missing, allow_golds
        See :func:`hatscore.readers.guard.align`.

    Raises
    ------
    ReaderError
        Files that are missing, damaged or not of this format. Names file and entry.
    InputError
        A choice is needed (metric, run) or cannot be met.
    AlignmentError
        Languages that do not ask the same items.
    """
    return read_many(
        [path],
        source=source,
        metric=metric,
        map=map,
        item=item,
        run=run,
        pool=pool,
        allow_missing=allow_missing,
        allow_golds=allow_golds,
    )


def read_many(
    paths: Sequence[Path],
    *,
    source: str = "en",
    metric: str | None = None,
    map: str | Mapping[str, str] | None = None,  # noqa: A002 - one name in all readers
    item: str | None = None,
    run: str | int | None = None,
    pool: bool = False,
    allow_missing: bool = False,
    allow_golds: bool = False,
    listen: Listener | None = None,
) -> Outcomes:
    """Read several paths as one set of runs; see `read`.

    `listen` is told of every row: its run, the row, instance and trial, and the score's name.
    """
    language_field, pattern = read_map(map, field=_EXTRA)
    item_field = item and item.removeprefix(_EXTRA)
    runs = find_runs(paths)
    names = name_runs(runs, pattern, by_field=language_field is not None)
    _check_once(runs, names)
    by_benchmark: dict[str, list[tuple[HelmRun, TaskName]]] = defaultdict(list)
    for one, name in zip(runs, names, strict=True):
        by_benchmark[name.benchmark].append((one, name))
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for benchmark, part in by_benchmark.items():
        read_in = [_read_stats(one.path / STATS) for one, _ in part]
        if perturbed := sum(left for _, left in read_in):
            notes.append(f"{benchmark}: {perturbed} perturbed rows are left out")
        stats = [
            _choose_trial(found, one, trial=run, pool=pool)
            for (found, _), (one, _) in zip(read_in, part, strict=True)
        ]
        chosen = choose_score(_columns(stats, metric), metric, what=f"benchmark {benchmark}")
        notes.append(f"{benchmark}: score {chosen}")
        for (one, name), found in zip(part, stats, strict=True):
            facts = _instances(one, item_field, language_field)
            added, said = _rows(one, name, found, facts, metric=chosen)
            notes += said
            for row, entry in zip(added, found, strict=True):
                row["source_language"] = source
                if listen is not None:
                    listen(one, row, entry, chosen)
            rows += added
    golds = Counter(row["benchmark"] for row in rows if row["gold"] is None)
    notes += [
        f"{benchmark}: {count} golds are neither options nor numbers, so that the languages list "
        f"the same items rests on {item or 'instance ids'}"
        for benchmark, count in golds.items()
    ]
    return align(rows, allow_missing=allow_missing, allow_golds=allow_golds, pool=pool, notes=notes)


def _rows(
    run: HelmRun, name: TaskName, found: _Rows, facts: _Facts, *, metric: str
) -> tuple[list[dict[str, Any]], list[str]]:
    entries = list(found)
    values = np.array([row.get(metric, np.nan) for row in found.values()])
    where = [f"{run.path / STATS}: instance {i}, trial {t}" for i, t in entries]
    check_scores(values, name=metric, where=where.__getitem__)
    notes = partial_note(values, name=metric, what=f"{run.model} on {name.benchmark}")
    if notes and len({number for _, number in entries}) > 1:
        raise InputError(f"{notes[0]}, so trials cannot be pooled; choose one with run=NUMBER")
    rows = []
    for (instance, number), k, place in zip(entries, values, where, strict=True):
        if instance not in facts:
            raise ReaderError(f"{place}: {INSTANCES} does not list this instance")
        key, language, gold, text = facts[instance]
        rows.append(
            {
                "model": run.model,
                "benchmark": name.benchmark,
                "item": f"{name.subtask}/{key}" if name.subtask else key,
                "language": language or name.language,
                "n": 1,
                "k": float(k),
                "gold": gold,
                "question": text,
                "repeat": str(number),
                "where": place,
            }
        )
    return rows, notes


def _check_once(runs: Sequence[HelmRun], names: Sequence[TaskName]) -> None:
    seen: dict[tuple[str, TaskName], HelmRun] = {}
    for run, name in zip(runs, names, strict=True):
        other = seen.setdefault((run.model, name), run)
        if other is not run:
            raise ReaderError(
                f"{other.path} and {run.path} are both {run.model} on {name.benchmark} "
                f"{name.subtask} in {name.language or 'one run'}; runs are separate "
                "measurements, give the directory of one suite"
            )


def _read_stats(path: Path) -> tuple[_Rows, int]:
    """Return values by (instance, trial) and metric, and how many perturbed entries were left."""
    found: _Rows = {}
    perturbed = 0
    for number, entry in enumerate(load(path, list), start=1):
        try:
            key = (str(entry["instance_id"]), int(entry["train_trial_index"]))
            if entry.get("perturbation"):
                perturbed += 1
                continue
            row = found.setdefault(key, {})
            for stat in entry["stats"]:
                name, count = str(stat["name"]["name"]), stat["count"]
                if not count:
                    continue
                if float(count) < 0:
                    raise ValueError(f"count {count!r} is negative")  # noqa: TRY301 - told below
                value = float(stat["sum"]) / float(count)
                if row.setdefault(name, value) != value:
                    raise ReaderError(  # noqa: TRY301 - passes through below
                        f"{path}, entry {number}: instance {key[0]} has two values of {name}; two "
                        "runs were written into one file"
                    )
        except ReaderError:
            raise  # it is a ValueError too, and has said all there is to say
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as err:
            raise ReaderError(
                f"{path}, entry {number}: expected instance_id, train_trial_index and stats with "
                f"name, count and sum; {type(err).__name__}: {err}"
            ) from err
    if not found:
        raise ReaderError(f"{path}: no unperturbed instance has statistics")
    return found, perturbed


def _choose_trial(found: _Rows, run: HelmRun, *, trial: str | int | None, pool: bool) -> _Rows:
    trials = sorted({number for _, number in found})
    if trial is None and (pool or len(trials) == 1):
        return found
    kept = {key: row for key, row in found.items() if str(key[1]) == str(trial)}
    if not kept:
        raise InputError(
            f"{run.path}: the run has {len(trials)} trials "
            f"({', '.join(map(str, trials))}), whose prompts hold different examples"
            f"{'' if trial is None else f', and none is {trial}'}; choose with run=NUMBER, or "
            "take them for replies to the same items with pool"
        )
    return kept


def _columns(stats: Sequence[_Rows], wanted: str | None) -> dict[str, list[Any]]:
    """Return the statistics that every run has, of which those that could be an accuracy."""
    names = set.intersection(*({name for row in found.values() for name in row} for found in stats))
    columns = {
        name: [np.array([row.get(name, np.nan) for row in found.values()]) for found in stats]
        for name in sorted(names)
    }
    if wanted is not None:
        return columns
    # counts of tokens and log probabilities would only hide the scores
    likely = {
        name: pieces
        for name, pieces in columns.items()
        if all(((piece >= 0) & (piece <= 1)).all() for piece in pieces)
    }
    return likely or columns


def _instances(run: HelmRun, item_field: str | None, language_field: str | None) -> _Facts:
    """Return item key, language, gold and text by instance id."""
    path = run.path / INSTANCES
    facts: _Facts = {}
    for number, instance in enumerate(load(path, list), start=1):
        where = f"{path}, entry {number}"
        if not isinstance(instance, dict) or "id" not in instance:
            raise ReaderError(f"{where}: an instance has an id, this has none")
        if instance.get("perturbation"):
            continue
        key = as_text(instance["id"], what="id", where=where)
        item = _field(instance, item_field, where) if item_field else key
        language = _field(instance, language_field, where) if language_field else ""
        facts[key] = (item, language, *instance_facts(instance))
    return facts


def _field(instance: dict[str, Any], name: str, where: str) -> str:
    extra = instance.get("extra_data")
    value = extra.get(name) if isinstance(extra, dict) else None
    if value is None or isinstance(value, (dict, list)):
        has = ", ".join(extra) if isinstance(extra, dict) and extra else "no fields"
        raise ReaderError(f"{where}: extra_data has no {name!r} with one value; it has {has}")
    return as_text(value, what=name, where=where)
