"""Results of EleutherAI's lm-evaluation-harness: ``samples_*.jsonl`` with ``results_*.json``."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hatscore.errors import ReaderError
from hatscore.outcomes import STATUS_COLUMNS
from hatscore.readers.guard import align
from hatscore.readers.lm_eval_checks import check_hidden_ids, check_pooled, check_results
from hatscore.readers.lm_eval_choices import (
    choose_filter,
    choose_metric,
    column,
    must_regrade,
    repeat_notes,
)
from hatscore.readers.lm_eval_folder import SampleFile, find_samples, holds_lm_eval
from hatscore.readers.lm_eval_samples import Samples, read_samples
from hatscore.readers.runs import choose_runs
from hatscore.readers.scores import check_scores, partial_note
from hatscore.readers.task_names import TaskName, read_map, split_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hatscore.outcomes import Outcomes

    Listener = Callable[[TaskName, bool, Samples, dict[str, Any]], None]

__all__ = ["FORMAT", "OPTIONS", "read", "read_many", "sniff"]

FORMAT = "lm-eval"
OPTIONS = (
    "source", "metric", "filter", "map", "item", "run", "pool", "allow_missing", "allow_golds"
)  # fmt: skip
_DOC = "doc."
_SHOWN = 5


def sniff(path: Path) -> bool:
    """Say whether `path` holds logs of the harness, or results of it without logs."""
    return holds_lm_eval(path)


def read(
    path: Path,
    *,
    source: str = "en",
    metric: str | None = None,
    filter: str | None = None,  # noqa: A002 - the harness calls it so
    map: str | Mapping[str, str] | None = None,  # noqa: A002 - one name in all readers
    item: str | None = None,
    run: str | None = None,
    pool: bool = False,
    allow_missing: bool = False,
    allow_golds: bool = False,
) -> Outcomes:
    """Read a folder of logs, of one model or several, with the folders below it.

    Parameters
    ----------
    path
        The folder; written with ``--log_samples``.
    source
        Source language of all items.
    metric
        Which metric is the score; several in order of preference with commas between. Needed
        where rows have more than one.
    filter
        Which filter's rows to take. By default the only one, else ``flexible-extract``, else
        the first; a note names it.
    map
        Where the language stands: a regular expression over task names with a group
        ``language`` (and optionally ``benchmark`` and ``subtask``), or ``doc.FIELD`` for a
        field of the item. By default the place where the names of tasks differ by language.
    item
        Field of the item (``doc.FIELD``) that tells which question it is; by default rows
        are joined on ``doc_id``.
    run
        Timestamp of the run to take where a task has several, or ``latest``.
    pool
        Take several runs of a task as further replies to its items.
    allow_missing, allow_golds
        See :func:`hatscore.readers.guard.align`.

    Returns
    -------
    Outcomes
        One row per item and language with n = 1, or with n = repeats where hatscore knows how
        to read the answers and neither `metric` nor `filter` is given: then all ``resps`` are
        graded anew.

    Raises
    ------
    ReaderError
        Files that are damaged, incomplete or not what their names say. Names file and line.
    InputError
        A choice is needed (metric, run) or cannot be met.
    AlignmentError
        Languages that do not ask the same items.
    """
    return read_many(
        [path],
        source=source,
        metric=metric,
        filter=filter,
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
    filter: str | None = None,  # noqa: A002 - the harness calls it so
    map: str | Mapping[str, str] | None = None,  # noqa: A002 - one name in all readers
    item: str | None = None,
    run: str | None = None,
    pool: bool = False,
    allow_missing: bool = False,
    allow_golds: bool = False,
    listen: Listener | None = None,
) -> Outcomes:
    """Read several paths as one log, a folder per language for example; see `read`.

    `listen` is told of every row that is read: its task's name, whether its replies are graded
    anew, and what `lm_eval_samples.read_samples` tells.
    """
    language_field, pattern = read_map(map, field=_DOC)
    item_field = item and item.removeprefix(_DOC)
    files = find_samples(paths)
    names, notes = _name_tasks(files, pattern, by_field=language_field is not None)
    files, said = choose_runs([one for one in files if one.task in names], run=run, pool=pool)
    notes += said
    by_benchmark: dict[str, list[SampleFile]] = defaultdict(list)
    for one in files:
        by_benchmark[names[one.task].benchmark].append(one)
    frames = []
    for benchmark, part in by_benchmark.items():
        several = len({one.task for one in part}) < len(part)
        regrade = metric is None and filter is None and must_regrade(part)
        samples = [
            read_samples(
                one,
                item_field=item_field,
                language_field=language_field,
                regrade=regrade,
                hash_docs=several,
                listen=listen and partial(listen, names[one.task], regrade),
            )
            for one in part
        ]
        chosen, said = choose_filter(benchmark, samples, filter)
        notes += [] if regrade else said
        wanted = None if regrade else choose_metric(benchmark, samples, metric)
        notes += repeat_notes(benchmark, samples, regrade=regrade, metric=wanted)
        if pool:
            check_pooled(samples, metric=wanted)
        if item_field is None:
            check_hidden_ids(benchmark, samples, names, source=source)
        neutral = all(gold is not None for one in samples for gold in one.golds)
        if not neutral:
            notes.append(
                f"{benchmark}: golds are not all numbers or option letters, so that the "
                f"languages list the same items rests on {item or 'doc_id'}"
            )
        for read_in in samples:
            name = names[read_in.file.task]
            frame, said = _frame(read_in, name, metric=wanted, chosen=chosen, allow=allow_missing)
            notes += said
            frames.append(frame if neutral else frame.drop("gold"))
    rows = pl.concat(frames, how="diagonal").with_columns(source_language=pl.lit(source))
    return align(rows, allow_missing=allow_missing, allow_golds=allow_golds, pool=pool, notes=notes)


def _name_tasks(
    files: Sequence[SampleFile], pattern: str | None, *, by_field: bool
) -> tuple[dict[str, TaskName], list[str]]:
    tasks = sorted({one.task for one in files})
    found = split_names(tasks, pattern)
    languages: dict[str, set[str]] = defaultdict(set)
    for name in found.values():
        languages[name.benchmark].add(name.language)
    kept = {task: name for task, name in found.items() if len(languages[name.benchmark]) > 1}
    left = [task for task in tasks if task not in kept]
    if by_field:
        return {**kept, **{task: TaskName(task, "", "") for task in left}}, []
    if not kept:
        raise ReaderError(
            f"{files[0].path}: no task is there in two languages; found {_names(tasks)}. Give "
            "the folder that holds all languages, or the folders of all, or say where a name "
            r"holds the language with map='(?P<benchmark>...)_(?P<language>\w+)', or map=doc.FIELD"
        )
    notes = [f"languages come from task names: {_names(sorted(kept))}"]
    if left:
        notes.append(f"left out, in one language or none: {_names(left)}")
    return kept, notes


def _frame(
    samples: Samples, name: TaskName, *, metric: str | None, chosen: str, allow: bool
) -> tuple[pl.DataFrame, list[str]]:
    """Return rows for the guard, those of the chosen filter."""
    rows = np.flatnonzero([filtered == chosen for filtered in samples.filters])
    file, prefix = samples.file, f"{name.subtask}/" if name.subtask else ""
    items = [prefix + samples.items[i] for i in rows]
    languages = [samples.languages[i] or name.language for i in rows]
    seen: dict[tuple[str, str], int] = {}
    for key, row in zip(zip(items, languages, strict=True), rows, strict=True):
        if (first := seen.setdefault(key, int(row))) != row:
            raise ReaderError(
                f"{samples.where(int(row))}: item {key[0]!r} was already in line "
                f"{samples.lines[first]}; an item has one row of filter {chosen} in a run"
            )
    notes: list[str] = []
    columns: dict[str, Any] = {}
    if metric is None:
        n, k = np.asarray(samples.graded)[rows], np.asarray(samples.right, float)[rows]
        columns |= {
            status: np.array([by_row.get(int(i), 0) for i in rows])
            for status, by_row in samples.statuses.items()
            if status in STATUS_COLUMNS
        }
        if samples.same:
            columns = {status: np.minimum(count, 1) for status, count in columns.items()}
            n, k = np.ones_like(n), k / n
    else:
        k = column(samples, metric)[rows]
        n = np.ones(len(rows), int)
        check_scores(k, name=metric, where=lambda row: samples.where(int(rows[row])))
        notes = partial_note(k, name=metric, what=f"{file.model} on {file.task}")
        columns["chance"] = _chance(samples, metric, k)[rows]
    notes += check_results(samples, rows, metric=metric, chosen=chosen, allow=allow)
    frame = pl.DataFrame(
        {
            "item": items,
            "language": languages,
            "n": n,
            "k": k,
            "gold": pl.Series([samples.golds[i] for i in rows], dtype=pl.String),
            "where": [samples.where(int(i)) for i in rows],
            "question": pl.Series(
                [samples.docs[i] for i in rows] if samples.docs else [None] * len(rows),
                dtype=pl.String,
            ),
            **columns,
        }
    ).with_columns(
        model=pl.lit(file.model), benchmark=pl.lit(name.benchmark), repeat=pl.lit(file.stamp)
    )
    return frame, notes


def _chance(samples: Samples, metric: str, k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Guess rate where a choice was scored option by option; 0 otherwise."""
    options = np.asarray(samples.options, float)
    is_choice = metric.startswith(("acc", "exact_match")) and np.isin(k, (0, 1)).all()
    if not is_choice or "acc_mutual_info" in samples.metrics:
        return np.zeros_like(options)
    chance: NDArray[np.float64] = np.divide(
        1, options, out=np.zeros_like(options), where=options > 1
    )
    return chance


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
