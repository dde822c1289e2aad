"""Run directories of HELM: which model, benchmark and language each is of, and its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hatscore.errors import ReaderError
from hatscore.readers.lm_eval_samples import neutral_gold
from hatscore.readers.scores import as_text
from hatscore.readers.task_names import TaskName, language_named, split_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "INSTANCES",
    "SPEC",
    "STATS",
    "HelmRun",
    "find_runs",
    "instance_facts",
    "is_right",
    "load",
    "name_runs",
    "text_of",
]

SPEC, STATS, INSTANCES = "run_spec.json", "per_instance_stats.json", "instances.json"
_LANGUAGE_KEYS = ("language", "lang", "target_language", "locale", "language_code")
# Arguments that say which part of the items a run has; others make another benchmark.
_PART_KEYS = frozenset({"subject", "subset", "task", "category", "domain", "topic"})
_MODEL_KEYS = frozenset({"model", "model_deployment"})


@dataclass(frozen=True, slots=True)
class HelmRun:
    """One run directory.

    Attributes
    ----------
    path
        The directory.
    model
        The model's name.
    scenario, arguments
        The run's name before the colon and what follows it, without the model.
    scenario_arguments
        Arguments of the scenario.
    """

    path: Path
    model: str
    scenario: str
    arguments: dict[str, str]
    scenario_arguments: dict[str, Any]


def find_runs(paths: Sequence[Path]) -> list[HelmRun]:
    """Return all run directories at or below some paths.

    Raises
    ------
    ReaderError
        None there, or one without its statistics per instance.
    """
    runs = []
    for path in paths:
        specs = sorted(path.rglob(SPEC)) if path.is_dir() else []
        if not specs:
            raise ReaderError(f"{path}: no run directory of HELM (a {SPEC}) here or below")
        runs += [_run(spec) for spec in specs]
    return runs


def load(path: Path, kind: type) -> Any:
    """Return the JSON of a file, a list or a dict as asked.

    Raises
    ------
    ReaderError
        The file is missing, damaged or of another shape.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError as err:
        raise ReaderError(
            f"{path}: no such file; a run that ended normally has {SPEC}, {STATS} and {INSTANCES}"
        ) from err
    except (OSError, ValueError, RecursionError) as err:
        raise ReaderError(f"{path}: no JSON, the file is damaged or cut off: {err}") from err
    if not isinstance(content, kind):
        raise ReaderError(f"{path}: expected a JSON {kind.__name__}, got {type(content).__name__}")
    return content


def name_runs(runs: Sequence[HelmRun], pattern: str | None, *, by_field: bool) -> list[TaskName]:
    """Return benchmark, language and subtask of every run.

    Raises
    ------
    ReaderError
        A run whose language is not told.
    """
    spelled = [_spelled(run) for run in runs]
    by_name = split_names(spelled, pattern)
    names = []
    for run, text in zip(runs, spelled, strict=True):
        found = by_name.get(text) if pattern is not None else _by_argument(run)
        found = found or (None if pattern is not None or by_field else by_name.get(text))
        if found is None and by_field:
            found = _labels(run)
        if found is None:
            raise ReaderError(
                f"{run.path}: run {text!r} does not say its language; give map with a regular "
                r"expression over such names, as map='language=re:-(\w\w):', or "
                "map=extra_data.FIELD for a field of the instances"
            )
        names.append(found)
    return names


def instance_facts(instance: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the language-neutral gold of an instance, and its text."""
    references = instance.get("references")
    listed = references if isinstance(references, list) else []
    listed = [one for one in listed if isinstance(one, dict)]
    right = [i for i, one in enumerate(listed) if is_right(one.get("tags"))]
    gold = None
    if len(listed) > 1 and len(right) == 1:
        gold = f"option {right[0] + 1}"
    elif len(listed) == 1 and right:
        gold = neutral_gold(text_of(listed[0].get("output")))
    return gold, text_of(instance.get("input"))


def is_right(tags: Any) -> bool:
    """Say whether the tags of a reference call it correct."""
    return isinstance(tags, list) and "correct" in tags


def text_of(value: Any) -> str | None:
    """Return the text of an input, an output or a completion, None where it has none."""
    # older versions write the text itself
    text = value.get("text") if isinstance(value, dict) else value
    # broken characters are replaced: the text is only compared and shown
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else None


def _run(spec: Path) -> HelmRun:
    content = load(spec, dict)
    name = content.get("name")
    adapter = content.get("adapter_spec")
    adapter = adapter if isinstance(adapter, dict) else {}
    model = adapter.get("model") or adapter.get("model_deployment")
    if not isinstance(name, str) or not isinstance(model, str) or not name or not model:
        raise ReaderError(f"{spec}: a run of HELM has a name and adapter_spec.model")
    name = as_text(name, what="name", where=str(spec))
    model = as_text(model, what="model", where=str(spec))
    scenario, _, rest = name.partition(":")
    given = dict(part.partition("=")[::2] for part in rest.split(",") if part)
    arguments = {key: value for key, value in given.items() if key not in _MODEL_KEYS}
    described = content.get("scenario_spec")
    of_scenario = described.get("args") if isinstance(described, dict) else None
    return HelmRun(
        spec.parent,
        model,
        scenario,
        arguments,
        of_scenario if isinstance(of_scenario, dict) else {},
    )


def _spelled(run: HelmRun) -> str:
    """Return the run's name without its model."""
    arguments = ",".join(f"{key}={value}" for key, value in run.arguments.items())
    return f"{run.scenario}:{arguments}" if arguments else run.scenario


def _by_argument(run: HelmRun) -> TaskName | None:
    for given in (run.arguments, run.scenario_arguments):
        for key in _LANGUAGE_KEYS:
            tag = language_named(str(given[key])) if key in given else None
            if tag is not None:
                return _labels(run, key)._replace(language=tag)
    return None


def _labels(run: HelmRun, language_key: str = "") -> TaskName:
    rest = sorted((key, value) for key, value in run.arguments.items() if key != language_key)
    other = ",".join(f"{key}={value}" for key, value in rest if key not in _PART_KEYS)
    part = ",".join(f"{key}={value}" for key, value in rest if key in _PART_KEYS)
    return TaskName(f"{run.scenario}({other})" if other else run.scenario, "", part)
