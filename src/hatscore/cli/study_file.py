"""A study file: models by benchmarks by languages, what of it is there, and sampling the rest."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hatscore.cli.request import Request, default_directory
from hatscore.cli.prepared import load_tasks
from hatscore.cli.study_cost import cost_of, expected, price_of
from hatscore.errors import HatscoreError, InputError, UnknownNameError
from hatscore.planning import choose_plan
from hatscore.readers.hatscore_run import sniff
from hatscore.sampling import SamplingParams
from hatscore.sampling.budget import Usage
from hatscore.sampling.plan import KEEP, parse_plan
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hatscore.models import Registry
    from hatscore.sampling import SamplingPlan, Task

__all__ = ["Cell", "StudyFile", "describe", "read_study_file"]

_REQUEST = {"languages", "source_language", "items", "repeats", "seed", "mode", "prompt_language",
            "base_url", "concurrency", "timeout_s", "tries", "batch"}  # fmt: skip
_STUDY = {"models", "directory", "plan", "keep", *_REQUEST, "temperature", "top_p", "max_tokens"}
_BENCHMARK = {"name", "languages", "source_language", "items", "repeats", "seed", "options"}
_MODEL = {"name", "base_url", "mode", "concurrency", "timeout_s", "tries", "temperature", "top_p",
          "max_tokens", "extra"}  # fmt: skip
_PARAMS = ("temperature", "top_p", "max_tokens")


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on one benchmark, and where its run lies.

    Attributes
    ----------
    request
        What is sampled.
    directory
        The run directory.
    """

    request: Request
    directory: Path

    def tasks(self) -> list[Task]:
        """Return everything that the full plan of the cell asks.

        Raises
        ------
        InputError
            The benchmark cannot be loaded, or has no such language.
        """
        ((_, tasks),) = load_tasks(self.request, self.request.mode or "chat")
        return tasks

    def present(self) -> Usage:
        """Return the replies that are there, and their tokens."""
        if not sniff(self.directory):
            return Usage()
        with Run.open(self.directory) as run:
            return run.store.usage()


@dataclass(frozen=True, slots=True)
class StudyFile:
    """What a study file describes.

    Attributes
    ----------
    cells
        Models by benchmarks.
    """

    cells: tuple[Cell, ...]


def read_study_file(path: Path) -> StudyFile:
    """Return the study that a TOML file describes.

    ``[study]`` holds ``models``, the directory of the runs (relative to the file), and what all
    cells share; each ``[[benchmark]]`` a name and what is particular to it; each ``[[model]]`` a
    name of ``models`` and what is particular to that. ``plan`` is that of `hatscore run`, but
    ``paper`` unless it is given: a study compares like with like.

    Raises
    ------
    InputError
        No TOML, unknown or missing fields; says which.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: no readable file: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no TOML: {error}") from error
    _known(document, {"study", "benchmark", "model"}, f"{path}: table")
    study = document.get("study", {})
    _known(study, _STUDY, f"{path}: field of [study]")
    models, benchmarks = study.get("models", []), document.get("benchmark", [])
    if not models or not benchmarks:
        raise InputError(f"{path}: a study needs models in [study] and at least one [[benchmark]]")
    particular: dict[str, Mapping[str, Any]] = {}
    for table in document.get("model", []):
        _known(table, _MODEL, f"{path}: field of [[model]]")
        if table.get("name") not in models:
            raise UnknownNameError(f"model of [[model]] in {path}", str(table.get("name")), models)
        particular[table["name"]] = table
    root = path.parent / study.get("directory", "runs")
    cells = []
    for table in benchmarks:
        _known(table, _BENCHMARK, f"{path}: field of [[benchmark]]")
        if "name" not in table:
            raise InputError(f"{path}: a [[benchmark]] has no name")
        cells += [_cell(m, table, {**study, **particular.get(m, {})}, root) for m in models]
    return StudyFile(tuple(cells))


def describe(study: StudyFile, registry: Registry, *, output_tokens: float | None = None) -> str:
    """Return what of a study is there, what is missing, and what that is expected to cost.

    Parameters
    ----------
    study
        From `read_study_file`.
    registry
        Holds the prices of models.
    output_tokens
        Of one reply, reasoning included; default those of the replies that are there, else the
        most that a reply may have.
    """
    lines, missing, costs, priceless, unknown = [], 0, [], [], 0
    loaded: dict[tuple[Any, ...], list[Task]] = {}
    for cell in study.cells:
        r = cell.request
        head = f"{r.model} on {r.benchmarks[0]}"
        try:
            tasks = _shared_tasks(cell, loaded)
            plan = _plan_of(r, tasks)
            usage = cell.present()
        except HatscoreError as error:
            lines.append(f"{head}: cannot be planned: {error}")
            unknown += 1
            continue
        planned = sum(task.repeats for task in tasks)
        rest = max(0, planned - usage.replies)
        missing += rest
        most = "" if plan.kind == "paper" else "at most "
        line = f"{head}: {usage.replies:,} of {most}{planned:,} replies are there, "
        line += f"{most}{rest:,} missing ({cell.directory})"
        price = price_of(r.model, registry, batch=r.batch)
        if price is None:
            priceless += [r.model] if rest else []
        elif rest:
            seen = usage.output_tokens / usage.replies if usage.replies else None
            found = expected(
                tasks,
                plan=plan,
                repeats=r.repeats,
                params=r.params,
                output_tokens=output_tokens,
                seen=seen,
            )
            costs.append((cost_of(price, found, found.outlook.replies - usage.replies), found))
            word = "at most" if found.is_bound else "about"
            line += f"; {word} {costs[-1][0]:.2f} USD ({price.said}; {found.basis})"
        lines.append(line)
    last = f"Missing: {missing:,} replies in {len(study.cells) - unknown} cells"
    if unknown:
        last += f"; {unknown} cells cannot be planned"
    lines.append(f"{last}.")
    if costs:
        word = "at most" if any(found.is_bound for _, found in costs) else "about"
        total = math.fsum(cost for cost, _ in costs)
        lines.append(
            f"Cost: {word} {total:.2f} USD for the {len(costs)} cells whose price is known. Tokens "
            "of prompts are reckoned by their bytes; say with --output-tokens how long replies are."
        )
    if priceless:
        names = ", ".join(dict.fromkeys(priceless))
        lines.append(f"No price is known of {names} (--models adds one).")
    return "\n".join(lines)


def _shared_tasks(cell: Cell, loaded: dict[tuple[Any, ...], list[Task]]) -> list[Task]:
    """Return the tasks of a cell, loaded once for all models that are asked the same."""
    r = cell.request
    key = (r.benchmarks, tuple(r.languages or ()), r.source_language, r.items, r.repeats, r.seed,
           r.mode, r.prompt_language, tuple(sorted(r.options.items())))  # fmt: skip
    if key not in loaded:
        loaded[key] = cell.tasks()
    return loaded[key]


def _plan_of(request: Request, tasks: list[Task]) -> SamplingPlan:
    plan, _ = choose_plan(
        request.plan,
        [task.item for task in tasks],
        benchmark=request.benchmarks[0],
        repeats=request.repeats,
        judged=bool(request.judges),
    )
    return plan


def _cell(model: str, benchmark: Mapping[str, Any], shared: Mapping[str, Any], root: Path) -> Cell:
    given = {**{k: v for k, v in shared.items() if k in _REQUEST}}
    given |= {k: v for k, v in benchmark.items() if k in _REQUEST}
    options = {k: str(v) for k, v in benchmark.get("options", {}).items()}
    params = {k: shared[k] for k in _PARAMS if k in shared}
    request = Request(
        model=model,
        benchmarks=(benchmark["name"],),
        languages=given.pop("languages", None),
        options=options,
        plan=parse_plan(shared.get("plan", "paper"), keep=float(shared.get("keep", KEEP))),
        params=SamplingParams(**params, extra=dict(shared.get("extra", {}))),
        **given,
    )
    name = default_directory(model, request.benchmarks, options).name
    return Cell(request, root / name)


def _known(table: Mapping[str, Any], names: set[str], what: str) -> None:
    for name in table:
        if name not in names:
            raise UnknownNameError(what, name, names)
