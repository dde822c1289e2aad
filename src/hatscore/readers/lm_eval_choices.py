"""Which rows and which number of a benchmark's logs count, and whether replies are read anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError
from hatscore.readers.lm_eval_samples import Samples, count_repeats, known_kind
from hatscore.readers.scores import choose_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hatscore.readers.lm_eval_folder import SampleFile

__all__ = ["choose_filter", "choose_metric", "column", "must_regrade", "repeat_notes"]

# Of several ways to read a reply, the one that does not ask for a sentence of each language.
_PREFERRED_FILTER = "flexible-extract"
_SHOWN = 5


def must_regrade(files: Sequence[SampleFile]) -> bool:
    """Say whether a benchmark has repeats that hatscore can read, in any language."""
    known = all(known_kind(one.task) for one in files)
    return known and any(count_repeats(one) > 1 for one in files)


def choose_filter(
    benchmark: str, samples: Sequence[Samples], wanted: str | None
) -> tuple[str, list[str]]:
    """Return the filter whose rows count, and a note that names it.

    Raises
    ------
    InputError
        A file has no rows of `wanted`, or the files have no filter in common.
    """
    by_file = [list(dict.fromkeys(one.filters)) for one in samples]
    common = [name for name in by_file[0] if all(name in names for names in by_file)]
    if wanted is not None:
        for one, names in zip(samples, by_file, strict=True):
            if wanted not in names:
                raise InputError(
                    f"{one.file.path}: no rows of filter {wanted!r}, there are {', '.join(names)}"
                )
        return wanted, [f"{benchmark}: filter {wanted}"]
    if not common:
        shown = "; ".join(
            f"{one.file.task}: {', '.join(names)}"
            for one, names in zip(samples[:_SHOWN], by_file, strict=False)
        )
        raise InputError(
            f"{benchmark}: the tasks have no filter in common ({shown}); their replies are read "
            "in different ways, which no score can tell from transfer. Run all with one filter"
        )
    chosen = _PREFERRED_FILTER if _PREFERRED_FILTER in common else common[0]
    others = sorted({name for names in by_file for name in names} - {chosen})
    if not others:
        return chosen, [] if chosen == "none" else [f"{benchmark}: filter {chosen}"]
    return chosen, [f"{benchmark}: filter {chosen}, not {', '.join(others)} (filter=NAME)"]


def choose_metric(benchmark: str, samples: Sequence[Samples], wanted: str | None) -> str:
    """Return the metric that is the score.

    Raises
    ------
    InputError
        Several and no choice, none of that name, or one where lower is better.
    """
    common = set.intersection(*(set(one.metrics) for one in samples))
    columns = {name: [column(one, name) for one in samples] for name in sorted(common)}
    chosen = choose_score(columns, wanted, what=f"benchmark {benchmark}")
    for one in samples:
        better = one.file.results.get("higher_is_better")
        of_task = better.get(one.file.task) if isinstance(better, dict) else None
        if isinstance(of_task, dict) and of_task.get(chosen) is False:
            raise InputError(f"{one.file.task}: lower is better for {chosen}, so it is no accuracy")
    return chosen


def repeat_notes(
    benchmark: str, samples: Sequence[Samples], *, regrade: bool, metric: str | None
) -> list[str]:
    """Say what became of repeats, and which metric is the score (None: graded anew)."""
    most = max(max(one.repeats) for one in samples)
    notes = [] if metric is None else [f"{benchmark}: score {metric}"]
    if most == 1:
        return notes
    if not regrade:
        return [
            *notes,
            f"{benchmark}: the log has up to {most} replies per item, of which {metric} gives one "
            "score, so n is 1"
            + (
                ""
                if all(known_kind(one.file.task) for one in samples)
                else "; hatscore does not know how to read these answers itself"
            ),
        ]
    notes.append(f"{benchmark}: all {most} replies per item are graded anew by hatscore")
    notes += [
        f"{one.file.model} on {one.file.task}: the {max(one.repeats)} replies to every item are "
        "the same text (the harness samples with a fixed seed), so they count as one"
        for one in samples
        if one.same and max(one.repeats) > 1
    ]
    return notes


def column(samples: Samples, metric: str) -> NDArray[np.float64]:
    """Return a metric per row, NaN where a row lacks it."""
    values = np.full(len(samples.items), np.nan)
    found = samples.metrics.get(metric)
    if found is not None:
        values[: len(found)] = found
    return values
