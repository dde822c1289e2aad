"""A study file: models by benchmarks by languages, what of it is there, and sampling the rest."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Bindable
from hatscore.cli.running import Request, default_directory
from hatscore.errors import HatscoreError, InputError, UnknownNameError
from hatscore.languages import check_language
from hatscore.readers.hatscore_run import sniff
from hatscore.sampling import SamplingParams
from hatscore.sampling.plan import KEEP, parse_plan
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hatscore.models import Registry

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

    def planned(self) -> int:
        """Return the replies of the whole cell.

        Raises
        ------
        InputError
            The benchmark cannot be loaded, or has no such language.
        """
        r = self.request
        benchmark = get_benchmark(r.benchmarks[0])
        options = dict(r.options)
        if isinstance(benchmark, Bindable):
            benchmark = benchmark.bind(options)
        source = check_language(
            r.source_language or benchmark.source_languages[0], benchmark.source_languages
        )
        asked = [check_language(x, benchmark.languages) for x in r.languages or benchmark.languages]
        items = benchmark.load(
            languages=list(dict.fromkeys([source, *asked])),
            source_language=source,
            items=r.items,
            seed=r.seed,
            options=options,
        )
        return len(items) * r.repeats

    @property
    def is_full(self) -> bool:
        """Whether every planned reply is asked for; other plans leave some out as they go."""
        return self.request.plan is not None and self.request.plan.kind == "paper"

    def present(self) -> int:
        """Return the replies that are there."""
        if not sniff(self.directory):
            return 0
        with Run.open(self.directory) as run:
            return sum(run.store.counts().values())


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


def describe(study: StudyFile, registry: Registry) -> str:
    """Return what of a study is there, what is missing, and what output of that costs at most."""
    lines, missing, unknown = [], 0, 0
    for cell in study.cells:
        r = cell.request
        head = f"{r.model} on {r.benchmarks[0]}"
        try:
            planned, there = cell.planned(), cell.present()
        except HatscoreError as error:
            lines.append(f"{head}: cannot be planned: {error}")
            unknown += 1
            continue
        rest = max(0, planned - there)
        missing += rest
        most = "" if cell.is_full else "at most "
        line = f"{head}: {there:,} of {most}{planned:,} replies are there, {most}{rest:,} missing"
        lines.append(f"{line} ({cell.directory}){_price(r, rest, registry)}")
    last = f"Missing: {missing:,} replies in {len(study.cells) - unknown} cells"
    if unknown:
        last += f"; {unknown} cells cannot be planned"
    return "\n".join([*lines, f"{last}."])


def _price(request: Request, replies: int, registry: Registry) -> str:
    entry = registry.find(request.model)
    most = request.params.max_tokens
    if not replies or entry is None or not entry.price or most is None:
        return ""
    cost = replies * most * float(entry.price["output"]) / 1e6
    return f"; output at most {cost:.2f} USD (price of {entry.price['date']})"


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
