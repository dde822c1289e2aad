"""Logs of inspect_ai, ``.eval`` and ``.json``: every reply by itself, never the reductions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from hatscore.errors import AlignmentError, InputError, ReaderError
from hatscore.languages import check_language
from hatscore.readers.guard import align
from hatscore.readers.inspect_cells import clear_golds, tally
from hatscore.readers.inspect_fields import ROW, parse_map, task_languages
from hatscore.readers.inspect_files import find_logs, is_log
from hatscore.readers.inspect_notes import notes_on
from hatscore.readers.inspect_runs import choose_runs, claim, prepare
from hatscore.readers.inspect_score import choose_scorer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatscore.outcomes import Outcomes
    from hatscore.readers.inspect_cells import Cell, Listener
    from hatscore.readers.inspect_files import Log
    from hatscore.readers.inspect_runs import Run

__all__ = ["FORMAT", "OPTIONS", "REMOTE", "read", "read_many", "sniff"]

FORMAT = "inspect"
REMOTE = True
OPTIONS = ("source", "map", "scorer", "pool", "allow_missing", "allow_golds")


def sniff(path: str | Path) -> bool:
    """Say whether `path` is a log of inspect_ai or has one below it."""
    return is_log(path)


def read(path: str | Path, **options: Any) -> Outcomes:
    """Read a log, a directory of logs or an fsspec URL of either; options as for `read_many`."""
    return read_many([path], **options)


def read_many(
    paths: Sequence[str | Path],
    *,
    source: str | None = None,
    map: Mapping[str, str] | str | None = None,  # noqa: A002 - the public name
    scorer: str | None = None,
    pool: bool = False,
    allow_missing: bool = False,
    allow_golds: bool = False,
    listen: Listener | None = None,
) -> Outcomes:
    r"""Read logs that belong together, for example one for each language.

    Of the runs that retry each other the newest complete one counts. A sample with an error
    counts in ``error`` and not in n; a sample that a limit stopped counts as ``truncated``.

    Parameters
    ----------
    paths
        Logs, directories of logs, fsspec URLs.
    source
        Source language of all items; else the logs must say it (``source_language``).
    map
        Where columns come from: canonical column to ``metadata.KEY``, ``task_args.KEY``,
        ``sample.FIELD``, ``task`` or ``id``, with ``~REGEX`` behind it to take a part; ``item``
        may be ``row``: the place in the data set, refused unless the golds agree; ``gold`` may
        be ``none``. A string is a regular expression on the task's name.
    scorer
        The scorer that counts, ``scorer.key`` where its value has several parts.
    pool
        Take several runs of one model, task and language for further replies.
    allow_missing, allow_golds
        As for `guard.align`. Items that a run under way or broken off lacks are accepted anyway.
    listen
        Is told of every sample that counts; see `inspect_cells.tally`.

    Raises
    ------
    ReaderError
        A broken file, no log, or one that does not say what is needed.
    AlignmentError
        Languages that do not have the same items.
    InputError
        Unusable options; the same model and task twice.
    """
    given = parse_map(map)
    by_row = "item" in given and given["item"].kind == ROW
    if by_row and pool:
        raise InputError("items cannot be joined by row order and pooled at once: give an item id")
    logs: list[Log] = []
    notes: list[str] = []
    for path in paths:
        found, said = find_logs(path)
        logs += found
        notes += said
    logs, said = choose_runs(logs, pool=pool)
    notes += said
    runs, said = prepare(logs, given, task_languages(logs))
    notes += said
    if not runs:
        raise ReaderError(f"{', '.join(str(path) for path in paths)}: no log has a sample yet")
    pairs, scorers = _tallied(runs, source=source, scorer=scorer, pool=pool, listen=listen)
    notes += notes_on(pairs, scorers, pool=pool)
    rows = [cell.row() for _, cells in pairs for cell in cells]
    clear_golds(rows)
    _check_sources(rows, source=source, allow=allow_missing, by_row=by_row)
    broken_off = any(not run.log.complete for run in runs)
    return align(
        rows,
        by_row=by_row,
        allow_missing=allow_missing or broken_off,
        allow_golds=allow_golds,
        pool=pool,
        notes=notes,
    )


def _tallied(
    runs: Sequence[Run],
    *,
    source: str | None,
    scorer: str | None,
    pool: bool,
    listen: Listener | None,
) -> tuple[list[tuple[Run, list[Cell]]], dict[str, str]]:
    """Cells of every run, and the scorer by log."""
    owners: dict[tuple[str, str, str], Log] = {}
    seen: set[str] | None = set() if pool else None
    pairs, scorers = [], {}
    for run in runs:
        which = _scorer(run, scorer)
        if which is None:
            raise ReaderError(
                f"{run.log.name}: no sample has a score (status {run.log.status}); "
                "score the log with `inspect score`, or leave it out"
            )
        scorers[run.log.name] = which
        cells = tally(run, scorer=which, source=source, seen=seen, pool=pool, listen=listen)
        if not pool:
            claim(cells, run, owners)
        pairs.append((run, cells))
    return pairs, scorers


def _scorer(run: Run, wanted: str | None) -> str | None:
    for sample in run.log.samples():
        scores = sample.get("scores")
        if isinstance(scores, dict) and scores:
            return choose_scorer(scores, wanted, run.log.name)
    return None


def _check_sources(
    rows: Sequence[dict[str, Any]], *, source: str | None, allow: bool, by_row: bool
) -> None:
    """Refuse a source language that is not there, and languages that share no item with it."""
    if source is not None:
        check_language(source, {row["language"] for row in rows})
    if by_row or allow:
        return
    items: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    sources: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        key = (row["model"], row["benchmark"])
        items[key][row["language"]].add(row["item"])
        if row["language"] == row["source_language"]:
            sources[key].add(row["item"])
    for (model, benchmark), languages in items.items():
        alone = [
            language for language, mine in languages.items() if not mine & sources[model, benchmark]
        ]
        if alone and sources[model, benchmark]:
            mine = min(languages[alone[0]])
            theirs = min(sources[model, benchmark])
            raise AlignmentError(
                f"{model} on {benchmark}: {', '.join(sorted(alone))} share no item with the source "
                f"language; items there are like {mine!r}, in the source like {theirs!r}. Where "
                "the ids are made of the question's text, as in inspect_evals, they differ between "
                "languages: name a field that does not, map={'item': 'metadata.KEY'}, or join by "
                "the order of the data set, map={'item': 'row'}, which is refused unless the "
                "golds agree"
            )
