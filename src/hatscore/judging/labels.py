"""Labels that people gave to replies, from a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from hatscore.errors import ReaderError
from hatscore.judging.store import ReplyKey

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_labels"]

_COLUMNS = (*ReplyKey._fields, "label")
_LABELS: Mapping[str, bool] = {
    "yes": True,
    "true": True,
    "1": True,
    "right": True,
    "correct": True,
    "no": False,
    "false": False,
    "0": False,
    "wrong": False,
}
_SHOWN = 10


def read_labels(path: str | Path) -> dict[ReplyKey, bool]:
    """Read whether replies are right, as people see it.

    Parameters
    ----------
    path
        A CSV file in UTF-8 with the columns benchmark, item, language, repeat and label. A label
        is yes or no, also true, 1, right, correct and false, 0, wrong; a row with an empty one
        is passed over.

    Returns
    -------
    dict
        By reply.

    Raises
    ------
    ReaderError
        No such file, a column is missing, or faulty rows: all of them are named by line.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise ReaderError(
                    f"{path}: no column {', '.join(missing)}; expected {', '.join(_COLUMNS)}"
                )
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReaderError(f"{path}: cannot be read as CSV in UTF-8: {error}") from error
    labels: dict[ReplyKey, bool] = {}
    faults = []
    for line, row in rows:
        label = (row["label"] or "").strip().casefold()
        repeat = (row["repeat"] or "").strip()
        if not label:
            continue
        if not repeat.isdecimal():
            faults.append(f"line {line}: repeat {repeat!r} is no whole number")
            continue
        key = ReplyKey(row["benchmark"], row["item"], row["language"], int(repeat))
        if label not in _LABELS:
            faults.append(f"line {line}: label {row['label']!r}; expected yes or no")
        elif labels.setdefault(key, _LABELS[label]) != _LABELS[label]:
            faults.append(f"line {line}: another label for the same reply above")
    if faults:
        more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise ReaderError(
            f"{path}: {len(faults)} faulty rows:\n  " + "\n  ".join(faults[:_SHOWN]) + more
        )
    return labels
