"""One ``samples_*.jsonl``, line by line: only what a score needs of a row stays in memory."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError, ReaderError
from hatscore.grading import Gold, Reply, grade
from hatscore.grading.number import parse_number
from hatscore.readers.scores import as_number, as_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatscore.readers.lm_eval_folder import SampleFile

    Listener = Callable[["Samples", dict[str, Any]], None]

__all__ = [
    "ID_FIELDS",
    "Samples",
    "count_repeats",
    "gold_of",
    "known_kind",
    "neutral_gold",
    "read_samples",
]

_OWN = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash"}
)
# Names under which data sets number their items; where they say otherwise than doc_id, doc_id is
# the number of a row and no more.
ID_FIELDS = (
    "id", "question_id", "qid", "q_id", "sample_id", "idx", "ind", "uid", "item_id", "example_id"
)  # fmt: skip
_decode = json.JSONDecoder().decode
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NUMBER = re.compile(r"[-\u2212+]?\d[\d., \u00a0\u202f]*")
_LETTER = re.compile(r"\(?([A-Z])\)?\.?")
_OPTION = re.compile(r"option_(\d+)")
# Tasks whose answers hatscore reads itself, by the beginning of their name.
_KNOWN = {"mgsm": "number", "afrimgsm": "number", "gsm8k": "number", "mmlu_prox": "choice"}


@dataclass(slots=True)
class Samples:
    """The rows of one file, as columns.

    Attributes
    ----------
    file
        Where they come from.
    items, languages, golds, filters
        Per row: item key, language (empty if the task's name says it), language-neutral gold or
        None, name of the filter.
    lines
        Line number per row.
    metrics
        Values per metric; NaN where a row has none.
    options
        Answers that were scored per row, 0 where the reply was free.
    repeats
        Replies per row.
    right, graded, statuses
        Where replies were graded anew: replies that are right, and replies, per row, and how
        replies ended otherwise, by status and row.
    ids
        Hashes of the item's other numbers, by field.
    docs
        Hash of the item per row, where asked for.
    replies
        Hash of the replies per row, where asked for.
    same
        Whether all repeats of every row are equal.
    """

    file: SampleFile
    items: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    golds: list[str | None] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("q"))
    metrics: dict[str, array[float]] = field(default_factory=dict)
    options: array[int] = field(default_factory=lambda: array("q"))
    repeats: array[int] = field(default_factory=lambda: array("q"))
    right: array[int] = field(default_factory=lambda: array("q"))
    graded: array[int] = field(default_factory=lambda: array("q"))
    statuses: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    ids: dict[str, array[int]] = field(default_factory=dict)
    docs: list[str] | None = None
    replies: array[int] = field(default_factory=lambda: array("q"))
    same: bool = True

    def where(self, row: int) -> str:
        """Return file and line of a row."""
        return f"{self.file.path}:{self.lines[row]}"


def known_kind(task: str) -> str | None:
    """Return how answers of a task are read, ``number`` or ``choice``, if hatscore knows it."""
    return next((kind for start, kind in _KNOWN.items() if task.startswith(start)), None)


def neutral_gold(target: Any) -> str | None:
    """Return the gold in canonical form if it is a number or an option's letter, else None.

    Examples
    --------
    >>> [neutral_gold(target) for target in ("2,125", "१८", "(B)", 3, "Paris")]
    ['2125', '18', 'B', '3', None]
    """
    text = str(target).strip()
    if letter := _LETTER.fullmatch(text):
        return letter[1]
    if _NUMBER.fullmatch(text) and (value := parse_number(text)) is not None:
        return str(value)
    return None


def count_repeats(file: SampleFile) -> int:
    """Return how many replies the first row of a file holds, 1 where that cannot be told."""
    try:
        with file.path.open("rb") as lines:
            row = json.loads(lines.readline())
        first = row["resps"][0]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return 1  # the reader proper says what is wrong
    return len(first) if isinstance(first, list) else 1


def read_samples(
    file: SampleFile,
    *,
    item_field: str | None = None,
    language_field: str | None = None,
    regrade: bool = False,
    hash_docs: bool = False,
    listen: Listener | None = None,
) -> Samples:
    """Read a file line by line.

    Parameters
    ----------
    file
        What to read.
    item_field, language_field
        Fields of the item (``doc``) that hold the item's key and its language.
    regrade
        Grade all replies, of a task whose answers are known.
    hash_docs
        Keep hashes of every item and its replies, to compare with another file of the task.
    listen
        Is told of every row, with the columns so far, whose last entries are its own.

    Raises
    ------
    ReaderError
        A line that is no row of the harness. Names file and line.
    """
    samples = Samples(file, docs=[] if hash_docs else None)
    kind = known_kind(file.task) if regrade else None
    rows_of: Counter[str] = Counter()
    try:
        with file.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row = _parse(line)
                    _add_keys(samples, row, rows_of, item_field, language_field)
                    _add_metrics(samples, row)
                    _add_doc(samples, row)
                    _add_replies(samples, row, kind)
                    if listen is not None:
                        listen(samples, row)
                except InputError as err:
                    raise ReaderError(f"{file.path}:{number}: {err}") from err
                samples.lines.append(number)
    except OSError as err:
        raise ReaderError(f"{file.path}: cannot be read: {err}") from err
    if not samples.items:
        raise ReaderError(f"{file.path}: no rows; the run was stopped or the file is cut off")
    return samples


def _parse(line: bytes) -> dict[str, Any]:
    try:
        row = _decode(line.decode())
    except (ValueError, RecursionError) as err:
        raise ReaderError(f"no JSON, the line is damaged or cut off: {err}") from err
    if not isinstance(row, dict) or "doc_id" not in row:
        raise ReaderError("a row of lm-evaluation-harness has a doc_id, this has none")
    if row["doc_id"] is None:
        raise ReaderError("doc_id is empty")
    return row


def _add_keys(
    samples: Samples,
    row: dict[str, Any],
    rows_of: Counter[str],
    item_field: str | None,
    language_field: str | None,
) -> None:
    item = _field(row, item_field) if item_field else as_text(row["doc_id"], what="doc_id")
    samples.filters.append(_filter(row, samples.file, rows_of[item]))
    rows_of[item] += 1
    samples.items.append(item)
    samples.languages.append(_field(row, language_field) if language_field else "")
    samples.golds.append(neutral_gold(row.get("target")))


def _field(row: dict[str, Any], name: str) -> str:
    doc = row.get("doc")
    value = doc.get(name) if isinstance(doc, dict) else None
    if value is None or isinstance(value, (dict, list)):
        has = ", ".join(doc) if isinstance(doc, dict) else "no fields"
        raise ReaderError(f"the item has no field {name!r} with one value; it has {has}")
    return as_text(value, what=name)


def _filter(row: dict[str, Any], file: SampleFile, before: int) -> str:
    """Name the row's filter; older versions only write the rows of all filters one by one."""
    name = row.get("filter")
    if name is not None:
        return as_text(name, what="filter")
    if before < len(file.filters):
        return file.filters[before]
    raise ReaderError(
        f"doc_id {row['doc_id']} comes {before + 1} times, but the task has "
        f"{len(file.filters)} filters; two runs were written into one file, or rows are repeated"
    )


def _add_metrics(samples: Samples, row: dict[str, Any]) -> None:
    done = len(samples.items) - 1
    named = row.get("metrics")
    for name in named if isinstance(named, list) else row.keys() - _OWN:
        number = as_number(row.get(name)) if isinstance(name, str) else None
        if number is None:
            continue
        column = samples.metrics.get(name)
        if column is None:
            column = samples.metrics[name] = array("d")
        if len(column) <= done:
            column.extend([math.nan] * (done - len(column)))
            column.append(number)


def _add_doc(samples: Samples, row: dict[str, Any]) -> None:
    doc = row.get("doc")
    if samples.docs is not None:
        samples.docs.append(str(hash(json.dumps(doc, sort_keys=True))))
    if not isinstance(doc, dict):
        return
    done = len(samples.items) - 1
    # only what the first row has can number them all
    for name in samples.ids if done else ID_FIELDS:
        value = doc.get(name)
        # a field that some rows lack numbers nothing
        if value is not None and isinstance(value, (str, int, float)):
            column = samples.ids.setdefault(name, array("q"))
            if len(column) == done:
                column.append(hash(value))


def _add_replies(samples: Samples, row: dict[str, Any], kind: str | None) -> None:
    resps = row.get("resps")
    asked = resps if isinstance(resps, list) else []
    replies = asked[0] if asked and isinstance(asked[0], list) else []
    texts = [text for text in replies if isinstance(text, str)]
    repeats = max(1, len(replies))
    samples.repeats.append(repeats)
    samples.options.append(len(asked) if len(asked) > 1 else 0)
    if samples.docs is not None:
        samples.replies.append(hash(repr(resps)))
    samples.same = samples.same and all(reply == replies[0] for reply in replies)
    if kind is None:
        return
    if len(asked) != 1 or not texts or len(texts) < len(replies):
        raise ReaderError("resps must hold one list of texts, to grade all of them")
    gold = gold_of(row, kind)
    ended = Counter(grade(Reply(text), gold).status for text in texts)
    samples.right.append(ended.pop("correct", 0))
    samples.graded.append(len(texts))
    ended.pop("wrong", None)
    for status, count in ended.items():
        samples.statuses[status][len(samples.items) - 1] = count


def gold_of(row: dict[str, Any], kind: str) -> Gold:
    """Return the gold of a row whose answers hatscore reads.

    Raises
    ------
    ReaderError
        The target is none of `kind`.
    """
    value = neutral_gold(row.get("target"))
    if value is None:
        raise ReaderError(f"expected a {kind} as target, got {row.get('target')!r}")
    return _GOLDS[kind](row, value)


def _number_gold(_: dict[str, Any], value: str) -> Gold:
    return Gold("number", value)


def _choice_gold(row: dict[str, Any], value: str) -> Gold:
    doc = row.get("doc")
    fields = doc if isinstance(doc, dict) else {}
    listed = sorted(
        (int(match[1]), str(text))
        for name, text in fields.items()
        if (match := _OPTION.fullmatch(name)) and text is not None
    )
    options = tuple(text for _, text in listed)
    labels = tuple(_LETTERS[: len(options) or _LETTERS.index("J") + 1])
    return Gold("choice", value, options=options, labels=labels)


_GOLDS: dict[str, Callable[[dict[str, Any], str], Gold]] = {
    "number": _number_gold,
    "choice": _choice_gold,
}
