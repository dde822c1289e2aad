"""What is to be said beside scores that come from logs of inspect_ai."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatscore.readers.inspect_cells import Cell
    from hatscore.readers.inspect_runs import Run

__all__ = ["notes_on"]

_SHOWN = 3
_SUSPECT, _FEWEST = 0.95, 20  # as for repeats that are sampled here


def notes_on(
    pairs: Sequence[tuple[Run, list[Cell]]], scorers: Mapping[str, str], *, pool: bool
) -> list[str]:
    """Return the notes, [] when nothing is to be said.

    Parameters
    ----------
    pairs
        Runs and their cells.
    scorers
        The scorer that counts, by log.
    pool
        Runs were pooled: a retry's cells lack what it took over.
    """
    return [
        *_scorers(pairs, scorers),
        *_unfinished(pairs, pool=pool),
        *_uncounted(pairs),
        *_sampling(pairs),
        *_identical(pairs),
        *_models(pairs),
    ]


def _scorers(pairs: Sequence[tuple[Run, list[Cell]]], scorers: Mapping[str, str]) -> Iterator[str]:
    by_benchmark: dict[str, dict[str, str]] = defaultdict(dict)
    for run, _ in pairs:
        by_benchmark[run.benchmark].setdefault(scorers[run.log.name], run.log.name)
    for benchmark, found in by_benchmark.items():
        if len(found) == 1:
            yield f"{benchmark}: scored by {next(iter(found))} of inspect"
        else:
            shown = ", ".join(f"{scorer} ({name})" for scorer, name in found.items())
            yield (
                f"{benchmark}: scored by different scorers, {shown}; differences between these "
                "logs are differences of scorers too"
            )
    partial = sorted({run.benchmark for run, cells in pairs if any(c.partial for c in cells)})
    if partial:
        yield (
            f"{', '.join(partial)}: the scorer gives partial credit, for which there is no "
            "noise-corrected score, only the plug-in"
        )


def _unfinished(pairs: Sequence[tuple[Run, list[Cell]]], *, pool: bool) -> Iterator[str]:
    for run, cells in pairs:
        log = run.log
        there = sum(sum(cell.statuses.values()) for cell in cells)
        if log.invalidated:
            yield f"{log.name}: samples that somebody invalidated count as errors, not in n"
        if log.members is not None and log.members < there:
            yield (
                f"{log.name}: the summaries tell of {there} samples, the archive has {log.members}"
            )
        if not log.complete:
            planned = f" of {log.planned * log.epochs} planned" if log.planned else ""
            yield (
                f"{log.name}: the run is incomplete (status {log.status}), "
                f"{there}{planned} samples are there and count"
            )
        elif log.total is not None and there != log.total and not pool:
            yield (
                f"{log.name}: the log's results tell of {log.total} samples, {there} are there; "
                "somebody has changed the log"
            )


def _uncounted(pairs: Sequence[tuple[Run, list[Cell]]]) -> Iterator[str]:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for run, cells in pairs:
        for cell in cells:
            found[run.benchmark][0] += cell.statuses["error"]
            found[run.benchmark][1] += cell.statuses["judge_unparsed"]
    for benchmark, (errors, unscored) in found.items():
        if errors or unscored:
            yield (
                f"{benchmark}: {errors} samples ended in an error and {unscored} have no score; "
                "they do not count in n"
            )


def _sampling(pairs: Sequence[tuple[Run, list[Cell]]]) -> Iterator[str]:
    cold: dict[str, int] = {}
    seeded: dict[str, int] = {}
    for run, _ in pairs:
        log = run.log
        if log.epochs > 1 and log.config.get("temperature") == 0:
            cold[f"{log.model} on {run.benchmark}"] = log.epochs
        if log.epochs > 1 and log.config.get("seed") is not None:
            seeded[f"{log.model} on {run.benchmark}"] = log.epochs
    for found, what in ((cold, "temperature 0"), (seeded, "one fixed seed")):
        if found:
            yield (
                f"{what} with {max(found.values())} epochs ({_few(list(found))}): the epochs may "
                "be the same reply again, which says nothing of how often an item is solved"
            )


def _identical(pairs: Sequence[tuple[Run, list[Cell]]]) -> Iterator[str]:
    same: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for run, cells in pairs:
        for cell in cells:
            if cell.replies > 1 and cell.text is not None:
                total = same[f"{run.log.model} on {run.benchmark}"]
                total[0] += cell.identical
                total[1] += 1
    for what, (identical, repeated) in same.items():
        if repeated >= _FEWEST and identical > _SUSPECT * repeated:
            yield (
                f"{what}: in {identical} of {repeated} cells all epochs have the same reply; "
                "the model or a cache may have answered once, and n then claims too much"
            )


def _models(pairs: Sequence[tuple[Run, list[Cell]]]) -> Iterator[str]:
    answered: dict[tuple[str, str], None] = {}
    for run, _ in pairs:
        returned = run.log.returned_model(run.first)
        if returned and not f"/{run.log.model}".endswith(f"/{returned}"):
            answered[run.log.model, returned] = None
    for asked, returned in answered:
        yield f"{asked}: the server says that {returned} answered"


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
