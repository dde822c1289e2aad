"""A study file: models by benchmarks by languages, as cells that are each one run."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.cli.request import Request, default_directory
from hatscore.cli.study_fields import read_table
from hatscore.errors import InputError, UnknownNameError
from hatscore.sampling import SamplingParams
from hatscore.sampling.plan import KEEP, parse_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Cell", "StudyFile", "read_study_file"]

_PARAMS = ("temperature", "top_p", "max_tokens")
_PASSED = ("languages", "source_language", "items", "repeats", "seed", "mode", "prompt_language",
           "base_url", "concurrency", "timeout_s", "tries", "batch", "judge_url")  # fmt: skip
_TABLES = ("study", "benchmark", "model")


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on one benchmark, and where its run lies.

    Attributes
    ----------
    request
        What is sampled.
    directory
        The run directory.
    judges_are_shared
        Whether the judges are those of all benchmarks: then they are for those that need one.
    prices
        USD per million input and output tokens where the file says so, else None.
    """

    request: Request
    directory: Path
    judges_are_shared: bool = False
    prices: tuple[float, float] | None = None

    @property
    def model(self) -> str:
        """The model as the file names it."""
        return self.request.model

    @property
    def benchmark(self) -> str:
        """Name of the benchmark, with its options where it has any."""
        (name,) = self.request.benchmarks
        options = self.request.options.items()
        said = ", ".join(f"{k} {Path(v).name if k == 'data' else v}" for k, v in options)
        return f"{name} ({said})" if said else name


@dataclass(frozen=True, slots=True)
class StudyFile:
    """What a study file describes.

    Attributes
    ----------
    cells
        Models by benchmarks.
    """

    cells: tuple[Cell, ...] = field(default_factory=tuple)


def read_study_file(path: Path, *, model_files: Sequence[str] = ()) -> StudyFile:
    """Return the study that a TOML file describes.

    ``[study]`` holds ``models``, the directory of the runs (relative to the file), and what all
    cells share; each ``[[benchmark]]`` a name and what is particular to it; each ``[[model]]`` a
    name of ``models`` and what is particular to that. ``plan`` is that of `hatscore run`, but
    ``paper`` unless it is given: a study compares like with like.

    Parameters
    ----------
    path
        The file.
    model_files
        Files of the user's that add models to the registry; every request takes them along.

    Raises
    ------
    InputError
        No TOML, an unknown or missing field, a value of the wrong kind, or two cells that would
        lie in one directory; says where.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: no readable file: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no TOML: {error}") from error
    for name in document:
        if name not in _TABLES:
            raise UnknownNameError(f"{path}: table", name, _TABLES)
    study = read_table(document.get("study", {}), "[study]", path)
    benchmarks = [
        read_table(table, "[[benchmark]]", path) for table in _list(document, "benchmark", path)
    ]
    if not study.get("models") or not benchmarks:
        raise InputError(f"{path}: a study needs models in [study] and at least one [[benchmark]]")
    if any("name" not in table for table in benchmarks):
        raise InputError(f"{path}: a [[benchmark]] has no name")
    particular = _particular(document, study["models"], path)
    root = path.parent / study.get("directory", "runs")
    cells = [
        _cell(
            study,
            benchmark,
            particular.get(model, {}),
            model=model,
            root=root,
            model_files=tuple(model_files),
        )
        for benchmark in benchmarks
        for model in study["models"]
    ]
    _refuse_shared_directories(cells, path)
    return StudyFile(tuple(cells))


def _list(document: Mapping[str, Any], name: str, path: Path) -> list[Any]:
    found = document.get(name, [])
    if not isinstance(found, list):
        raise InputError(f"{path}: write [[{name}]], in double brackets: there may be several")
    return found


def _particular(
    document: Mapping[str, Any], models: Sequence[str], path: Path
) -> dict[str, dict[str, Any]]:
    """Return what the [[model]] tables say, by model."""
    found: dict[str, dict[str, Any]] = {}
    for plain in _list(document, "model", path):
        table = read_table(plain, "[[model]]", path)
        name = str(table.get("name", ""))
        if name not in models:
            raise UnknownNameError(f"model of [[model]] in {path}", name, models)
        if name in found:
            raise InputError(f"{path}: two [[model]] of the name {name!r}: put both into one")
        if ("price_in" in table) != ("price_out" in table):
            raise InputError(f"{path}: [[model]] {name}: give both price_in and price_out")
        found[name] = table
    return found


def _cell(
    study: Mapping[str, Any],
    benchmark: Mapping[str, Any],
    particular: Mapping[str, Any],
    *,
    model: str,
    root: Path,
    model_files: tuple[str, ...],
) -> Cell:
    given = {**study, **particular, **benchmark}
    options = {k: _written(v) for k, v in benchmark.get("options", {}).items()}
    judge = given.get("judge", ())
    # judges of all benchmarks are asked at one server, never at that of a model they judge
    passed: dict[str, Any] = {"judge_url": study.get("base_url")}
    passed |= {k: given[k] for k in _PASSED if k in given}
    request = Request(
        model=model,
        benchmarks=(benchmark["name"],),
        languages=passed.pop("languages", None),
        options=options,
        plan=parse_plan(given.get("plan", "paper"), keep=float(given.get("keep", KEEP))),
        params=SamplingParams(
            **{k: given[k] for k in _PARAMS if k in given}, extra=dict(given.get("extra", {}))
        ),
        judges=(judge,) if isinstance(judge, str) else tuple(judge),
        model_files=model_files,
        **passed,
    )
    return Cell(
        request,
        default_directory(model, request.benchmarks, options, root=root),
        judges_are_shared="judge" not in benchmark,
        prices=(given["price_in"], given["price_out"]) if "price_in" in given else None,
    )


def _written(value: object) -> str:
    """Return the value of an option as the command line would have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refuse_shared_directories(cells: Sequence[Cell], path: Path) -> None:
    owners: dict[Path, Cell] = {}
    for cell in cells:
        other = owners.setdefault(cell.directory, cell)
        if other is not cell:
            one, two = (f"{c.model} on {c.benchmark}" for c in (other, cell))
            both = f"{one} stands there twice" if one == two else f"{one} and {two}"
            raise InputError(
                f"{path}: {both}, and both would be the run {cell.directory.name}: a run is named "
                "by its model, its benchmark and the options; leave one out, or put it into a "
                "study file with another directory"
            )
