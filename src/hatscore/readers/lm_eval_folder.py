"""Files of a folder that lm-evaluation-harness wrote: which model, task and run each belongs to."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hatscore.errors import ReaderError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["NO_STAMP", "SampleFile", "find_samples", "holds_lm_eval"]

NO_STAMP = "undated"
_STAMP = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(?P<task>.+?)(?:_(?P<stamp>{_STAMP}))?\.jsonl")
_RESULTS = re.compile(rf"(?:.*_)?(?P<stamp>{_STAMP})\.json")
# The order in which the harness itself looks for the model's name among its arguments.
_MODEL_ARGS = ("peft", "delta", "pretrained", "model", "path", "engine")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class SampleFile:
    """One ``samples_*.jsonl``.

    Attributes
    ----------
    path, task, stamp
        The file, its task, and the time of the run as file names write it.
    model
        The model's name, from the results file of the same run.
    results
        That file's content, empty if there is none.
    """

    path: Path
    task: str
    stamp: str
    model: str
    results: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def config(self) -> dict[str, Any]:
        """The task's configuration, empty if unknown."""
        return _dict(_dict(self.results.get("configs")).get(self.task))

    @property
    def filters(self) -> tuple[str, ...]:
        """Names of the task's filters in the order of its rows."""
        listed = self.config.get("filter_list")
        if not isinstance(listed, list):
            return ("none",)
        return tuple(str(_dict(one).get("name")) for one in listed) or ("none",)


def holds_lm_eval(path: Path) -> bool:
    """Say whether a folder holds results or samples of the harness, or a file its samples."""
    if path.is_file():
        return path.suffix == ".jsonl" and _is_samples(path)
    if any(_is_samples(one) for one in _first(path, "samples_*.jsonl")):
        return True
    return any(_is_results(_load(one)) for one in _first(path, "*.json"))


def find_samples(paths: Sequence[Path]) -> list[SampleFile]:
    """Return all samples files of some paths: of a folder those below it.

    Raises
    ------
    ReaderError
        None there; results without samples; a file whose model cannot be told.
    """
    found: dict[Path, re.Match[str]] = {}
    for path in paths:
        names = sorted(path.rglob("samples_*.jsonl")) if path.is_dir() else [path]
        here = {name: match for name in names if (match := _SAMPLES.fullmatch(name.name))}
        if not here:
            raise ReaderError(_nothing(path))
        found |= here
    results = _find_results({name.parent for name in found})
    files = [_sample_file(name, match, results[name.parent]) for name, match in found.items()]
    seen: dict[tuple[str, str, str], SampleFile] = {}
    for one in files:
        other = seen.setdefault((one.model, one.task, one.stamp), one)
        if other is not one:
            raise ReaderError(
                f"{other.path} and {one.path} are the same run of {one.model} on {one.task}; "
                "keep one of them"
            )
    return files


def _sample_file(
    name: Path, match: re.Match[str], results: Sequence[tuple[str, dict[str, Any]]]
) -> SampleFile:
    task, stamp = match["task"], match["stamp"] or NO_STAMP
    same_run = [content for time, content in results if time == stamp]
    ran = [one for one in same_run if task in _dict(one.get("configs"))] or same_run
    models = {_model(one) for _, one in results} - {None}
    if ran:
        content = ran[0]
        model = _model(content) or _from_folder(name)
    elif len(models) > 1:
        raise ReaderError(
            f"{name}: the folder holds results of {len(models)} models "
            f"({', '.join(sorted(map(str, models))[:_SHOWN])}) and none of this run {stamp}; "
            "put every model into its own folder, with its results file"
        )
    else:
        content = {}
        model = next(iter(models), None) or _from_folder(name)
    return SampleFile(name, task, stamp, model, content)


def _find_results(folders: set[Path]) -> dict[Path, list[tuple[str, dict[str, Any]]]]:
    found: dict[Path, list[tuple[str, dict[str, Any]]]] = {}
    for folder in folders:
        found[folder] = []
        for name in sorted(folder.glob("*.json")):
            match = _RESULTS.fullmatch(name.name)
            if match is None and name.name != "results.json":
                continue
            content = _load(name)
            if content is None:
                raise ReaderError(f"{name}: no JSON; the results file is damaged or cut off")
            if _is_results(content):
                found[folder].append((match["stamp"] if match else NO_STAMP, content))
    return found


def _nothing(path: Path) -> str:
    if path.is_file():
        return f"{path}: expected a file named samples_TASK_TIMESTAMP.jsonl"
    results = [one for one in path.rglob("*.json") if _is_results(_load(one))]
    if results:
        return (
            f"{results[0]}: results of lm-evaluation-harness without samples; scores need every "
            "item, so run it again with --log_samples and keep the samples_*.jsonl beside it"
        )
    return f"{path}: no samples_*.jsonl of lm-evaluation-harness in this folder or below"


def _model(results: dict[str, Any]) -> str | None:
    name = results.get("model_name")
    if isinstance(name, str) and name:
        return name.encode("utf-8", "replace").decode()
    arguments = _dict(results.get("config")).get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    values = _dict(arguments)
    return next((str(values[key]) for key in _MODEL_ARGS if values.get(key)), None)


def _from_folder(name: Path) -> str:
    # the harness writes the slash of a name as two underscores
    return name.resolve().parent.name.replace("__", "/")


def _first(path: Path, pattern: str) -> Sequence[Path]:
    """Return the first folder's files of a pattern: enough to tell the format."""
    for name in path.rglob(pattern):
        return sorted(name.parent.glob(pattern))[:_SHOWN]
    return ()


def _is_samples(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            row = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        # an empty or damaged file of this name is still one of ours: the reader says what is wrong
        return _SAMPLES.fullmatch(path.name) is not None
    return isinstance(row, dict) and "doc_id" in row and bool({"resps", "filtered_resps"} & {*row})


def _is_results(content: dict[str, Any] | None) -> bool:
    return (
        content is not None
        and "results" in content
        and bool({"configs", "n-shot"} & content.keys())
    )


def _load(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
