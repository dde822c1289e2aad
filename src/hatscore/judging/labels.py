"""Labels that people gave to replies, in a CSV file: read, and drawn for labelling."""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hatscore.errors import InputError, ReaderError
from hatscore.judging.store import ReplyKey
from hatscore.judging.subjects import judged_replies
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from hatscore.judging.subjects import Judgeable

__all__ = ["Label", "draw_labels", "read_label_rows", "read_labels"]

_COLUMNS = (*ReplyKey._fields, "label")
_SHOWN_TO_PEOPLE = ("context", "question", "answer")
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
_SEPARATORS = (",", ";", "\t", "|")
_SAYS_SEPARATOR = "sep="


@dataclass(frozen=True, slots=True)
class Label:
    """What people say of one reply.

    Parameters
    ----------
    line
        Where the row ends in its file, from 1.
    key
        The reply.
    right
        Whether it is right.
    answer
        The text that they read, where the file has it.
    """

    line: int
    key: ReplyKey
    right: bool
    answer: str | None = None


def read_labels(path: str | Path) -> dict[ReplyKey, bool]:
    """Return the labels of a file by reply; see :func:`read_label_rows`."""
    return {label.key: label.right for label in read_label_rows(path)}


def read_label_rows(path: str | Path) -> list[Label]:
    """Read whether replies are right, as people see it.

    Parameters
    ----------
    path
        A CSV file in UTF-8 with the columns benchmark, item, language, repeat and label, as
        :func:`draw_labels` writes it; semicolons, tabs or bars may separate them too, as
        spreadsheets of other countries save them. A label is yes or no, also true, 1, right,
        correct and false, 0, wrong; a row with an empty one is passed over. A column answer holds
        the text that was labelled; others are passed over.

    Returns
    -------
    list of Label
        One per reply, in order; a row that repeats another one is left out.

    Raises
    ------
    ReaderError
        No such file, a column is missing, or faulty rows: all of them are named by line.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            separator, skipped = _separator(file)
            reader = csv.DictReader(file, delimiter=separator)
            missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise ReaderError(
                    f"{path}: no column {', '.join(missing)}; expected {', '.join(_COLUMNS)}, "
                    "separated by comma, semicolon, tab or bar"
                )
            rows = [(reader.line_num + skipped, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error, TypeError) as error:
        raise ReaderError(f"{path}: cannot be read as CSV in UTF-8: {error}") from error
    labels: dict[ReplyKey, Label] = {}
    faults = []
    for line, row in rows:
        label = (row["label"] or "").strip().casefold()
        repeat = (row["repeat"] or "").strip()
        if not label:
            continue
        if not (repeat.isascii() and repeat.isdecimal()):
            faults.append(f"line {line}: repeat {repeat!r} is no whole number")
            continue
        if label not in _LABELS:
            faults.append(f"line {line}: label {row['label']!r}; expected yes or no")
            continue
        benchmark, item, language = (
            (row[name] or "").strip() for name in ("benchmark", "item", "language")
        )
        key = ReplyKey(benchmark, item, language, int(repeat))
        found = Label(line, key, _LABELS[label], row.get("answer"))
        if labels.setdefault(key, found).right != found.right:
            faults.append(
                f"line {line}: another label for the same reply in line {labels[key].line}"
            )
    if faults:
        more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise ReaderError(
            f"{path}: {len(faults)} faulty rows:\n  " + "\n  ".join(faults[:_SHOWN]) + more
        )
    return list(labels.values())


def _separator(file: TextIO) -> tuple[str, int]:
    """Return what separates the cells, and how many lines only say so; leave the header next."""
    first = file.readline()
    if first.lower().startswith(_SAYS_SEPARATOR):
        return first[len(_SAYS_SEPARATOR) :].rstrip("\r\n") or ",", 1
    file.seek(0)
    widths = {mark: len(next(csv.reader([first], delimiter=mark), [])) for mark in _SEPARATORS}
    return max(_SEPARATORS, key=lambda mark: widths[mark]), 0


def draw_labels(
    run_directory: str | Path, path: str | Path, *, per_language: int = 100, seed: int = 0
) -> dict[str, int]:
    """Write replies of a run for people to label, drawn at random in each language.

    What a judge has said is not shown. The rows of a language are in random order, so that the
    first so many of them are a random draw as well: nobody need label them all.

    Parameters
    ----------
    run_directory
        Written by `hatscore run`; it need not be judged yet.
    path
        Where to write the CSV: columns of :func:`read_label_rows` with empty labels, then the
        text that holds the fact, the question, and the answer to label.
    per_language
        Replies of each language, or all where it has fewer.
    seed
        Of the draw.

    Returns
    -------
    dict
        Rows written, by language.

    Raises
    ------
    InputError
        The file exists: it may hold labels. No reply of the run is one that a judge sees.
    RunError
        No run, or a damaged one.
    """
    where = Path(path)
    with Run.open(run_directory) as run:
        replies = [reply for reply in judged_replies(run.store) if reply.status is None]
    if not replies:
        raise InputError(f"{run_directory}: no reply of this run is one that a judge sees")
    by_language: dict[str, list[Judgeable]] = {}
    for reply in replies:
        by_language.setdefault(reply.key.language, []).append(reply)
    rng = random.Random(seed)  # noqa: S311 - a draw that can be repeated, no secret
    drawn = {
        language: rng.sample(those, min(per_language, len(those)))
        for language, those in sorted(by_language.items())
    }
    try:
        with where.open("x", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*_COLUMNS, *_SHOWN_TO_PEOPLE])
            for those in drawn.values():
                for reply in those:
                    item = reply.item
                    writer.writerow(
                        [*reply.key, "", item.gold.context, item.question, reply.answer]
                    )
    except FileExistsError:
        raise InputError(
            f"{where}: is there already and may hold labels; give another name, or move it away"
        ) from None
    except OSError as error:
        raise InputError(f"{where}: cannot be written: {error.strerror}") from error
    return {language: len(those) for language, those in drawn.items()}
