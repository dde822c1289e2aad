"""Instance-level files of Every Eval Ever: JSON lines of schema ``instance_level_eval``.

The schema (0.2.1 and later) says model, benchmark, sample, score and tokens, but neither language
nor repeat nor source language. Where every file has them in its metadata under these names, as
`hatscore convert` writes them, they are taken from there; otherwise ``map`` or ``columns`` must say
where they are. It also leaves there how a reply ended and what a sampling plan decided: how many
replies it asked for, for how many cells they stand, and which languages it left the item out of.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError
from hatscore.outcomes import STATUS_COLUMNS, TOKEN_COLUMNS
from hatscore.readers import table
from hatscore.readers.table_columns import parse_columns, parse_maps
from hatscore.readers.table_files import table_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.outcomes import Outcomes

__all__ = ["FORMAT", "OPTIONS", "read", "read_many", "sniff"]

FORMAT = "every_eval_ever"
OPTIONS = table.OPTIONS
COLUMNS = {
    "model": "model_id",
    "benchmark": "evaluation_name",
    "item": "sample_id",
    "score": "evaluation.is_correct",
    "error": "error",
    "input_tokens": "token_usage.input_tokens",
    "output_tokens": "token_usage.output_tokens",
    "reasoning_tokens": "token_usage.reasoning_tokens",
}
_METADATA = {
    "language": "language",
    "source": "source_language",
    "repeat": "repeat",
    "group": "group",
    "chance": "chance",
}
STATUS = "status"
ASKED, WEIGHT, OMITTED = "plan_replies", "plan_weight", "plan_left_out"
"""What `hatscore convert` writes into metadata, the last into those of one source reply an item."""
_OURS = frozenset({STATUS, *_METADATA.values()})
_GRADED = {"reply": "output.raw.0", "gold": "input.reference.0"}
_KEYS = frozenset({"schema_version", "evaluation_id", "evaluation_name", "sample_id", "evaluation"})
_LONGEST = 1 << 22


def sniff(path: Path) -> bool:
    """Say whether the first line of a file is a record of the schema, or of any file below."""
    return any(_is_instance_file(file) for file in table_files(path))


def read(path: Path, **options: Any) -> Outcomes:
    """Read one file, or all instance-level files below a directory; see `read_many`."""
    return read_many([path], **options)


def read_many(
    paths: Sequence[Path],
    *,
    columns: str | Mapping[str, str] | Sequence[str] | None = None,
    map: Mapping[str, Any] | Sequence[str] | None = None,  # noqa: A002 - the public name
    grade: str | None = None,
    **options: Any,
) -> Outcomes:
    r"""Read instance-level files as one table.

    Parameters
    ----------
    paths
        Files, and directories whose instance-level files are read.
    columns
        Fields beside or instead of those that the schema gives, such as
        ``language=metadata.language``.
    map
        Such as ``["language=re:_([a-z]{2})$", "benchmark=re:^(.*)_"]`` where the name of the
        benchmark ends with the language. A map of the language is applied to that name.
    grade
        Grade ``output.raw`` by ``input.reference`` instead of taking ``is_correct``.
    options
        As for tables.

    Raises
    ------
    InputError
        Nothing says the languages, and all that a table is refused for.
    """
    own = COLUMNS if grade is None else {**COLUMNS, **_GRADED}
    given = parse_columns(columns)
    files = [file for path in paths for file in table_files(path) if _is_instance_file(file)]
    maps = parse_maps(map)
    for field in _in_metadata(files):
        if field not in given and field not in maps and options.get(field) is None:
            given[field] = f"metadata.{_METADATA[field]}"
    if "language" not in given:
        if "language" not in maps:
            raise InputError(
                "Every Eval Ever records no language: say where it is, columns "
                "language=metadata.language, or map language=re:_([a-z]{2})$ for the end of "
                "evaluation_name (then also benchmark=re:^(.*)_), or map language=path:REGEX"
            )
        if not maps["language"].on_path:
            given["language"] = "evaluation_name"
    return table.read_many(
        files,
        columns=given,
        map=map,
        grade=grade,
        defaults={field: (column,) for field, column in own.items()},
        complete=_Completion(graded=grade is not None, mapped="language" in maps),
        **options,
    )


@dataclass(frozen=True, slots=True)
class _Completion:
    """What the metadata of a record of ours say beyond the fields of a table.

    Attributes
    ----------
    graded
        The record's own result is not asked for.
    mapped
        Languages are renamed: those that a plan left out are then not known.
    """

    graded: bool
    mapped: bool

    def __call__(self, row: dict[str, Any], record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        held = record.get("metadata")
        if not isinstance(held, dict) or not held.keys() >= _OURS:
            yield row
            return
        status = held[STATUS]
        if not self.graded and status in STATUS_COLUMNS and not row["k"]:
            row = {**row, "error": 0, status: 1}
        asked, weight = _number(held.get(ASKED)), _number(held.get(WEIGHT))
        if asked is None or weight is None:
            yield row
            return
        yield {**row, "asked": int(asked), "weight": weight}
        left_out = "" if self.mapped else str(held.get(OMITTED, ""))
        for language in left_out.split():
            yield {
                **row,
                "language": language,
                **dict.fromkeys(("n", "k", "asked", "weight", *STATUS_COLUMNS), 0),
                **dict.fromkeys(("gold", "question", *TOKEN_COLUMNS)),
            }


def _number(value: Any) -> float | None:
    """Return a number from 0 that metadata, all texts, hold; None where they hold none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _in_metadata(files: Sequence[Path]) -> list[str]:
    """Return the fields that the metadata of every file's first record holds."""
    held = []
    for file in files:
        metadata = (_first_record(file) or {}).get("metadata")
        held.append(metadata if isinstance(metadata, dict) else {})
    return [field for field, name in _METADATA.items() if held and all(name in m for m in held)]


def _is_instance_file(path: Path) -> bool:
    record = _first_record(path)
    return record is not None and record.keys() >= _KEYS


def _first_record(path: Path) -> dict[str, Any] | None:
    """Return the object in a file's first line, None if there is none."""
    with path.open("rb") as file:
        line = file.readline(_LONGEST)
    line = line.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t")
    if not line.startswith(b"{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
