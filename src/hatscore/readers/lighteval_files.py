"""Details files of lighteval: which model, task and run each is of, and its rows."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore.errors import ReaderError
from hatscore.readers.lm_eval_samples import neutral_gold
from hatscore.readers.scores import as_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "Details",
    "DetailsRow",
    "as_literal",
    "as_record",
    "find_details",
    "holds_lighteval",
    "read_rows",
]

_STAMP = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_DETAILS = re.compile(rf"details_(?P<task>.+)_(?P<stamp>{_STAMP})\.parquet", re.DOTALL)
_SHOTS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Details:
    """One details file.

    Attributes
    ----------
    path, stamp
        The file and the time of its run.
    name
        The task without suite and shots: ``mgsm:de``.
    setting
        Suite and shots, which make another benchmark: ``lighteval, 5 shots``.
    model
        The model's name.
    """

    path: Path
    stamp: str
    name: str
    setting: str
    model: str

    @property
    def task(self) -> str:
        """Name and setting: what two runs must share to be runs of one task."""
        return f"{self.name} ({self.setting})" if self.setting else self.name


@dataclass(frozen=True, slots=True)
class DetailsRow:
    """One row: scores by name, the item's own id, text and language-neutral gold if known."""

    scores: dict[str, float]
    item: str | None
    text: str | None
    gold: str | None


def holds_lighteval(path: Path) -> bool:
    """Say whether a path is a details file, or a folder of such or of results without them."""
    if path.is_file():
        return _DETAILS.fullmatch(path.name) is not None
    if any(_DETAILS.fullmatch(one.name) for one in path.rglob("details_*.parquet")):
        return True
    return next(_results(path), None) is not None


def find_details(paths: Sequence[Path]) -> list[Details]:
    """Return all details files at or below some paths.

    Raises
    ------
    ReaderError
        None there, or results without details, or a run that is there twice.
    """
    found: list[Details] = []
    for path in paths:
        files = sorted(path.rglob("details_*.parquet")) if path.is_dir() else [path]
        here = [(one, match) for one in files if (match := _DETAILS.fullmatch(one.name))]
        if not here:
            raise ReaderError(_nothing(path))
        models = _models(path)
        found += [_details(one, match, models) for one, match in here]
    seen: dict[tuple[str, str, str, str], Details] = {}
    for one in found:
        other = seen.setdefault((one.model, one.name, one.setting, one.stamp), one)
        if other is not one:
            raise ReaderError(
                f"{other.path} and {one.path} are the same run of {one.model} on {one.name}; "
                "keep one of them"
            )
    return found


def read_rows(path: Path) -> list[DetailsRow]:
    """Return the rows of a details file, of either layout.

    Raises
    ------
    ReaderError
        No Parquet, another layout, or a row without scores. Names file and row.
    """
    try:
        columns = pl.read_parquet_schema(path)
        wanted: list[str] = [name for name in ("doc", "metric", "metrics") if name in columns]
        wanted += [name for name in ("gold", "gold_index", "choices", "example") if name in columns]
        frame = pl.read_parquet(path, columns=wanted)
    except (OSError, pl.exceptions.PolarsError) as err:
        raise ReaderError(f"{path}: no readable Parquet file: {err}") from err
    name = next((one for one in ("metric", "metrics") if one in wanted), None)
    if name is None:
        raise ReaderError(
            f"{path}: expected a column metric (lighteval 0.10 and later) or metrics (before); "
            f"there are {', '.join(columns)}"
        )
    if not frame.height:
        raise ReaderError(f"{path}: no rows; the run was stopped")
    rows = []
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        where = f"{path}, row {number}"
        doc = as_record(row.get("doc"), where) if "doc" in row else row
        rows.append(
            DetailsRow(
                scores=_scores(as_record(row[name], where), where),
                item=_text(doc.get("id")),
                text=_text(doc.get("query") or doc.get("example")),
                gold=_gold(doc, where),
            )
        )
    return rows


def as_record(value: Any, where: str) -> Mapping[str, Any]:
    """Return a struct; where its types differ between rows, lighteval writes it as text.

    Raises
    ------
    ReaderError
        Neither a struct nor the text of one. Names the place.
    """
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError) as err:
            raise ReaderError(
                f"{where}: scores or item are written as text that is no Python literal: "
                f"{value[:80]!r}"
            ) from err
    if not isinstance(value, dict):
        raise ReaderError(f"{where}: expected a record, got {type(value).__name__}")
    return value


def _scores(record: Mapping[str, Any], where: str) -> dict[str, float]:
    scores = {
        str(name): number
        for name, value in record.items()
        if (number := as_number(value)) is not None
    }
    if not scores:
        raise ReaderError(f"{where}: no score is a number; there are {', '.join(record) or 'none'}")
    return scores


def _gold(doc: Mapping[str, Any], where: str) -> str | None:
    """Return the gold if it does not depend on the language: an option's number or a number."""
    choices, index, gold = (as_literal(doc.get(name), where) for name in _GOLD_FIELDS)
    indices = index if isinstance(index, list) else [index]
    whole = [int(one) for one in indices if isinstance(one, (int, float)) and one == int(one)]
    if isinstance(choices, list) and len(choices) > 1 and whole:
        return f"option {','.join(str(one + 1) for one in sorted(whole))}"
    texts = gold if isinstance(gold, list) and gold else choices
    if isinstance(texts, list) and len(texts) == 1:
        return neutral_gold(texts[0])
    return neutral_gold(gold) if isinstance(gold, (str, int)) else None


_GOLD_FIELDS = ("choices", "gold_index", "gold")


def as_literal(value: Any, where: str) -> Any:
    """Return a list or dict that is written as text, None where the text is none of Python."""
    if isinstance(value, str) and value[:1] in "[{" and value:
        try:
            return ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None if where else value
    return value


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _details(path: Path, match: re.Match[str], models: Mapping[str, str]) -> Details:
    parts = match["task"].split("|")
    shots = [part for part in parts[1:] if _SHOTS.fullmatch(part)]
    words = [part for part in parts if not _SHOTS.fullmatch(part)]
    name = words[-1] if words else match["task"]
    suite = f"{words[0]}, " if len(words) > 1 else ""
    setting = f"{suite}{shots[0]} shots" if shots else suite.rstrip(", ")
    stamp = match["stamp"]
    model = models.get(stamp) or _from_folders(path, stamp)
    return Details(path, stamp, name, setting, model)


def _from_folders(path: Path, stamp: str) -> str:
    """Return the folders between ``details`` and the run's: the model's name is their path."""
    folders = path.resolve().parent.parts
    if folders[-1] == stamp:
        folders = folders[:-1]
    if "details" in folders:
        last = len(folders) - 1 - folders[::-1].index("details")
        if folders[last + 1 :]:
            return "/".join(folders[last + 1 :])
    return folders[-1].removeprefix("details_").replace("__", "/")


def _models(path: Path) -> dict[str, str]:
    """Return the model's name by the time of its run, from results files."""
    names = {}
    for file, content in _results(path):
        general = content["config_general"]
        model = general.get("model_name")
        config = general.get("model_config")
        if not model and isinstance(config, dict):
            model = config.get("model_name")
        if isinstance(model, str) and model:
            names[file.stem.removeprefix("results_")] = model
    return names


def _results(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file in sorted(path.rglob("results_*.json")) if path.is_dir() else ():
        try:
            content = json.loads(file.read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(content, dict) and isinstance(content.get("config_general"), dict):
            yield file, content


def _nothing(path: Path) -> str:
    results = next(_results(path), None)
    if results is not None:
        return (
            f"{results[0]}: results of lighteval without details; scores need every item, so run "
            "it again with --save-details"
        )
    return f"{path}: no details_TASK_TIMESTAMP.parquet of lighteval here or below"
