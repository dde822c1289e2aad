"""Whether logs of the harness say the same as its results, and the same of every language."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hatscore.errors import AlignmentError, InputError, ReaderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hatscore.readers.lm_eval_samples import Samples
    from hatscore.readers.task_names import TaskName

__all__ = ["check_hidden_ids", "check_pooled", "check_results"]

_TOLERANCE = 1e-6


def check_results(
    samples: Samples,
    rows: NDArray[np.intp],
    *,
    metric: str | None,
    chosen: str,
    allow: bool,
) -> list[str]:
    """Compare a file's rows with the results of its run.

    Parameters
    ----------
    samples, rows
        The file, and its rows of the chosen filter.
    metric
        The score, None where replies were graded anew.
    chosen
        Name of the filter.
    allow
        Accept rows that are missing and say so in a note.

    Raises
    ------
    ReaderError
        Fewer or more rows than items were evaluated, or another mean than the results state.
    """
    file = samples.file
    notes = []
    counts = _dict(_dict(file.results.get("n-samples")).get(file.task))
    asked, original = counts.get("effective"), counts.get("original")
    if isinstance(asked, int) and asked != len(rows):
        said = f"{file.path}: {len(rows)} rows, but the run evaluated {asked} items"
        if not allow or len(rows) > asked:
            raise ReaderError(
                f"{said}; the file is cut off or holds another run. Repair it, or accept what is "
                "there with allow_missing (--allow-missing)"
            )
        return [f"{said} (allow_missing)"]
    if isinstance(asked, int) and isinstance(original, int) and asked < original:
        notes.append(f"{file.model} on {file.task}: limited to {asked} of {original} items")
    stated = _dict(_dict(file.results.get("results")).get(file.task)).get(f"{metric},{chosen}")
    if metric is not None and isinstance(stated, (int, float)) and _is_mean(file.config, metric):
        found = float(np.asarray(samples.metrics[metric])[rows].mean())
        if abs(found - stated) > _TOLERANCE:
            raise ReaderError(
                f"{file.path}: the mean of {metric} ({chosen}) is {found:.6f}, but the results of "
                f"this run state {stated:.6f}; the files do not belong together"
            )
    return notes


def check_pooled(samples: Sequence[Samples], *, metric: str | None) -> None:
    """Refuse to pool runs that are no further replies.

    Raises
    ------
    InputError
        Two runs of a task with the same replies, or a score with partial credit.
    """
    by_task: dict[tuple[str, str], list[Samples]] = {}
    for one in samples:
        by_task.setdefault((one.file.model, one.file.task), []).append(one)
    for (model, task), runs in by_task.items():
        for one, other in pairwise(runs):
            if sorted(one.replies) == sorted(other.replies):
                raise InputError(
                    f"{model} on {task}: runs {one.file.stamp} and {other.file.stamp} have the "
                    "same replies to every item, so the second says nothing new: choose one with "
                    "run=TIMESTAMP"
                )
        if len(runs) > 1 and metric is not None:
            values = np.concatenate([np.asarray(one.metrics[metric]) for one in runs])
            if not np.isin(values, (0, 1)).all():
                raise InputError(
                    f"{model} on {task}: {metric} gives partial credit, which cannot be pooled; "
                    "choose one run with run=TIMESTAMP"
                )


def check_hidden_ids(
    benchmark: str,
    samples: Sequence[Samples],
    names: Mapping[str, TaskName],
    *,
    source: str,
) -> None:
    """Refuse a join on ``doc_id`` where the items carry numbers that say otherwise.

    Two languages whose items have the same numbers in another order list the same questions,
    and ``doc_id``, the number of a row, joins the wrong ones.

    Raises
    ------
    AlignmentError
        Names the field, the languages and the first item.
    """
    sources = {
        names[one.file.task].subtask: one
        for one in samples
        if names[one.file.task].language == source
    }
    for one in samples:
        name = names[one.file.task]
        origin = sources.get(name.subtask)
        if origin is None or origin is one:
            continue
        for field in origin.ids.keys() & one.ids.keys():
            there, here = _by_item(origin, field), _by_item(one, field)
            if there is None or here is None:
                continue
            shared = set(there.values()) & set(here.values())
            torn = [i for i in here if i in there and here[i] != there[i]]
            if torn and 2 * len(shared) >= min(len(here), len(there)):
                row = one.items.index(torn[0])
                raise AlignmentError(
                    f"{benchmark}: {name.language} and {source} share {len(shared)} values of "
                    f"doc.{field}, but {len(torn)} rows with one doc_id have different ones, "
                    f"first {one.where(row)}; join on it with item=doc.{field}"
                )


def _by_item(samples: Samples, field: str) -> dict[str, int] | None:
    """Return the field's value per item, None if it does not number the items."""
    values = samples.ids[field]
    if len(values) < len(samples.items):
        return None
    found = dict(zip(samples.items, values, strict=True))
    return found if len(set(found.values())) == len(found) else None


def _is_mean(config: dict[str, Any], metric: str) -> bool:
    listed = config.get("metric_list")
    return isinstance(listed, list) and any(
        isinstance(one, dict) and one.get("metric") == metric and one.get("aggregation") == "mean"
        for one in listed
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
