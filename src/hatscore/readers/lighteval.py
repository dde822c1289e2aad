"""Results of lighteval: the Parquet files that ``--save-details`` writes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from hatscore.errors import InputError, ReaderError
from hatscore.readers.guard import align
from hatscore.readers.lighteval_files import (
    Details,
    DetailsRow,
    find_details,
    holds_lighteval,
    read_rows,
)
from hatscore.readers.runs import choose_runs
from hatscore.readers.scores import check_scores, choose_score, partial_note
from hatscore.readers.task_names import read_map, split_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hatscore.outcomes import Outcomes
    from hatscore.readers.task_names import TaskName

    Listener = Callable[[Details, Mapping[str, Any], int, str], None]

__all__ = ["FORMAT", "OPTIONS", "read", "read_many", "sniff"]

FORMAT = "lighteval"
OPTIONS = ("source", "metric", "map", "run", "pool", "allow_missing", "allow_golds")
_SHOWN = 5
_NO_FIELD = "\0"  # the language is in the name alone


def sniff(path: Path) -> bool:
    """Say whether `path` holds details of lighteval, or results of it without details."""
    return holds_lighteval(path)


def read(
    path: Path,
    *,
    source: str = "en",
    metric: str | None = None,
    map: str | Mapping[str, str] | None = None,  # noqa: A002 - one name in all readers
    run: str | None = None,
    pool: bool = False,
    allow_missing: bool = False,
    allow_golds: bool = False,
) -> Outcomes:
    """Read details of one model or several, with the folders below.

    Parameters
    ----------
    path
        The output folder of lighteval, or its folder ``details``.
    source
        Source language of all items.
    metric
        Which score counts; several in order of preference with commas between.
    map
        Regular expression over task names (``mgsm:de``) with a group ``language``. By default
        the place where the names differ by language.
    run
        Timestamp of the run to take where a task has several, or ``latest``.
    pool
        Take several runs of a task as further replies to its items.
    allow_missing, allow_golds
        See :func:`hatscore.readers.guard.align`.

    Returns
    -------
    Outcomes
        Rows are joined on ``doc.id`` where the file has it, else on the number of the row.

    Raises
    ------
    ReaderError
        Files that are missing, damaged or not of this format. Names file and row.
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
    run: str | None = None,
    pool: bool = False,
    allow_missing: bool = False,
    allow_golds: bool = False,
    listen: Listener | None = None,
) -> Outcomes:
    """Read several paths as one set of details; see `read`.

    `listen` is told of every row: its file, the row, its number from 0, and the score's name.
    """
    details = find_details(paths)
    names, notes = _name_tasks(details, read_map(map, field=_NO_FIELD)[1])
    details, said = choose_runs([one for one in details if one.name in names], run=run, pool=pool)
    notes += said
    by_benchmark: dict[str, list[Details]] = defaultdict(list)
    for one in details:
        setting = f"({one.setting})" if one.setting else ""
        by_benchmark[f"{names[one.name].benchmark}{setting}"].append(one)
    rows: list[dict[str, Any]] = []
    for benchmark, part in by_benchmark.items():
        read_in = [read_rows(one.path) for one in part]
        common = set.intersection(*(set(row.scores) for found in read_in for row in found[:1]))
        columns = {name: [_values(found, name) for found in read_in] for name in sorted(common)}
        chosen = choose_score(columns, metric, what=f"benchmark {benchmark}")
        notes.append(f"{benchmark}: score {chosen}")
        by_id = all(row.item is not None for found in read_in for row in found)
        neutral = all(row.gold is not None for found in read_in for row in found)
        if not neutral:
            notes.append(
                f"{benchmark}: golds are neither options nor numbers, so that the languages list "
                f"the same items rests on {'doc.id' if by_id else 'the order of rows'}"
            )
        for one, found in zip(part, read_in, strict=True):
            added, said = _rows(one, found, names[one.name], metric=chosen, pool=pool, by_id=by_id)
            notes += said
            for number, row in enumerate(added):
                row |= {"benchmark": benchmark, "source_language": source}
                if not neutral:
                    row["gold"] = None
                if listen is not None:
                    listen(one, row, number, chosen)
            rows += added
    return align(rows, allow_missing=allow_missing, allow_golds=allow_golds, pool=pool, notes=notes)


def _rows(
    details: Details,
    found: Sequence[DetailsRow],
    name: TaskName,
    *,
    metric: str,
    pool: bool,
    by_id: bool,
) -> tuple[list[dict[str, Any]], list[str]]:
    values = _values(found, metric)
    where = [f"{details.path}, row {number}" for number in range(1, len(found) + 1)]
    check_scores(values, name=metric, where=where.__getitem__)
    notes = partial_note(values, name=metric, what=f"{details.model} on {details.name}")
    if notes and pool:
        raise InputError(f"{notes[0]}, so runs cannot be pooled; choose one with run=TIMESTAMP")
    prefix = f"{name.subtask}/" if name.subtask else ""
    rows = [
        {
            "model": details.model,
            "item": f"{prefix}{row.item if by_id else number}",
            "language": name.language,
            "n": 1,
            "k": float(k),
            "gold": row.gold,
            "question": row.text,
            "repeat": details.stamp,
            "where": place,
        }
        for number, (row, k, place) in enumerate(zip(found, values, where, strict=True))
    ]
    return rows, notes


def _values(found: Sequence[DetailsRow], metric: str) -> Any:
    return np.array([row.scores.get(metric, np.nan) for row in found])


def _name_tasks(
    details: Sequence[Details], pattern: str | None
) -> tuple[dict[str, TaskName], list[str]]:
    tasks = sorted({one.name for one in details})
    found = split_names(tasks, pattern)
    languages: dict[str, set[str]] = defaultdict(set)
    for name in found.values():
        languages[name.benchmark].add(name.language)
    kept = {task: name for task, name in found.items() if len(languages[name.benchmark]) > 1}
    if not kept:
        raise ReaderError(
            f"{details[0].path}: no task is there in two languages; found "
            f"{', '.join(tasks[:_SHOWN])}. Give the folder that holds all languages, or say where "
            r"a name holds the language with map='(?P<benchmark>...):(?P<language>\w+)'"
        )
    notes = [f"languages come from task names: {', '.join(sorted(kept)[:_SHOWN])}"]
    if left := [task for task in tasks if task not in kept]:
        notes.append(f"left out, in one language or none: {', '.join(left[:_SHOWN])}")
    return kept, notes
