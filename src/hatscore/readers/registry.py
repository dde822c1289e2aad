"""Which reader takes a path: by its content, never by its name.

A package adds a reader with an entry point in its ``pyproject.toml``::

    [project.entry-points."hatscore.readers"]
    ourlogs = "hatscore_ourlogs.reader"

The object it names, usually a module, implements `Reader`. Plug-ins are asked after the built-in
formats and before the table reader, which takes nearly everything.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import polars as pl

from hatscore.errors import InputError, ReaderError, UnknownNameError
from hatscore.outcomes import Outcomes
from hatscore.readers import (
    every_eval_ever,
    hatscore_run,
    helm,
    inspect_log,
    lighteval,
    lm_eval,
    outcomes_parquet,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from importlib.metadata import EntryPoint

__all__ = [
    "ENTRY_POINT_GROUP",
    "READERS",
    "Reader",
    "detect",
    "option_names",
    "read",
    "read_all",
    "with_runs_within",
]

ENTRY_POINT_GROUP = "hatscore.readers"
_BESIDE_RUNS = frozenset({"report"})  # where `hatscore run` writes the page of several runs
_RESULTS = frozenset({".csv", ".tsv", ".json", ".jsonl", ".parquet", ".eval", ".gz", ".zst"})
_SHOWN = 3


class Reader(Protocol):
    """A module that reads one format.

    Options have one name in all readers: ``source``, ``map``, ``allow_missing``,
    ``allow_golds``, ``pool``.

    A module may also have ``read_many(paths, **options)``: several paths of its format on one
    command line are then read as one log, so that a file per language is joined by the guard.
    Without it every path is read alone, and two paths with the same model and benchmark are
    refused. With ``REMOTE = True`` its functions also take URLs, as texts.

    Attributes
    ----------
    FORMAT
        Its name for ``format=``.
    OPTIONS
        Names of the keyword options of ``read``.
    """

    FORMAT: str
    OPTIONS: tuple[str, ...]

    def sniff(self, path: Path) -> bool:
        """Say whether the content at `path` is of this format."""
        ...

    def read(self, path: Path, **options: Any) -> Outcomes:
        """Return the outcomes at `path`."""
        ...


READERS: dict[str, Reader] = {
    reader.FORMAT: cast("Reader", reader)
    for reader in (
        # the first that takes a path reads it
        hatscore_run,
        outcomes_parquet,
        inspect_log,
        lm_eval,
        helm,
        lighteval,
        every_eval_ever,
        table,
    )
}


def read(
    path: str | Path | Sequence[str | Path],
    *,
    format: str = "auto",  # noqa: A002 - the public name
    **options: Any,
) -> Outcomes:
    r"""Read results into the canonical table.

    Parameters
    ----------
    path
        A file or a directory of results, or several: a run directory of `hatscore run` or a
        folder of such, a Parquet file of `Outcomes.write_parquet`, logs of another tool, tables.
        Several paths of one format are joined where the format allows it.
    format
        ``auto`` looks at the content; otherwise the name of a reader (``hatscore``, ``parquet``,
        ``table``, ...; an unknown name is answered with all of them).
    options
        Options of the reader. Run directories take ``names`` (``lenient`` or ``strict``: which
        spellings of a name count) and ``count`` (which unreadable replies count in n). Tables
        take ``source``, ``columns``, ``map``, ``grade`` and others; see `hatscore.readers.table`.

    Raises
    ------
    ReaderError
        Nothing there, or of no known format; says what was found.
    InputError
        An option that none of the readers has.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "results.csv"
    >>> _ = file.write_text("item,language,score\n1,en,1\n1,de,0\n")
    >>> read(file, source="en", model="m", benchmark="b")
    Outcomes(2 rows: 1 models, 1 benchmarks, 2 languages)
    """
    paths = [path] if isinstance(path, str | Path) else list(path)
    return read_all(paths, format=format, options=options)


def read_all(
    paths: Sequence[str | Path],
    *,
    format: str = "auto",  # noqa: A002 - as in read
    options: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Outcomes:
    """Read several paths and join them into one table.

    Parameters
    ----------
    paths
        At least one.
    format
        As for `read`, for all paths.
    options
        Options that somebody asked for: an option that no path's reader knows is an error.
    defaults
        Options that are passed to the readers that know them, and else forgotten.

    Raises
    ------
    ReaderError, InputError
        As for `read`; also where two paths hold the same model on the same benchmark.
    """
    if not paths:
        raise InputError("nothing to read: give at least one path")
    groups = _groups([_place(path) for path in with_runs_within(paths)], format)
    given = dict(options or {})
    known = {name for reader, _ in groups for name in reader.OPTIONS}
    for name in given:
        if name not in known:
            formats = " and ".join(dict.fromkeys(reader.FORMAT for reader, _ in groups))
            raise UnknownNameError(f"option of reader {formats}", name, known)
    wanted = {**(defaults or {}), **given}
    owners: dict[tuple[str, str], Path] = {}
    found = []
    for reader, where in groups:
        mine = {name: value for name, value in wanted.items() if name in reader.OPTIONS}
        several = getattr(reader, "read_many", None)
        outcomes = several(where, **mine) if several else reader.read(where[0], **mine)
        rows = pl.concat([outcomes.frame, outcomes.excluded])
        for key in rows.select("model", "benchmark").unique(maintain_order=True).iter_rows():
            if key in owners:
                raise InputError(
                    f"{owners[key]} and {where[0]} both hold {key[0]} on {key[1]}; "
                    "score them apart, or give only one of them"
                )
            owners[key] = where[0]
        found.append(outcomes)
    if len(found) == 1:
        return found[0]
    said = [note for part in found for note in part.notes]
    joined = Outcomes.from_frame(pl.concat([f for p in found for f in (p.frame, p.excluded)]))
    return Outcomes(joined.frame, joined.excluded, tuple(dict.fromkeys([*said, *joined.notes])))


def with_runs_within(paths: Iterable[str | Path]) -> list[str | Path]:
    """Return the paths with every folder of runs replaced by the runs in it, sorted.

    A folder of runs, as `hatscore run` and studies make it, is a directory that is no run and has
    runs directly in it. A report may lie beside them, and files that hold no results.

    Raises
    ------
    InputError
        What may be results lies beside the runs and would pass unseen; names it.
    """
    found: list[str | Path] = []
    for path in paths:
        where = _place(path)
        found += (isinstance(where, Path) and _runs_within(where)) or [path]
    return found


def _runs_within(folder: Path) -> list[Path]:
    """Return the runs directly in a folder; none where it is a run itself, or holds none."""
    try:
        if not folder.is_dir() or hatscore_run.sniff(folder):
            return []
        inside = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except OSError:
        return []  # whoever reads it says what is wrong
    runs = [p for p in inside if hatscore_run.sniff(p)]
    others = [p.name for p in inside if p not in runs and _may_be_results(p)]
    if runs and others:
        shown = ", ".join(others[:_SHOWN]) + " ..." * (len(others) > _SHOWN)
        raise InputError(
            f"{folder}: beside the runs in it lies {shown}, which may be results too; name "
            f"what is to be read: {folder / runs[0].name} ..."
        )
    return runs


def _may_be_results(path: Path) -> bool:
    return path.name not in _BESIDE_RUNS if path.is_dir() else path.suffix.lower() in _RESULTS


def detect(path: str | Path) -> Reader:
    """Return the reader that takes `path`, by its content.

    Raises
    ------
    ReaderError
        Nothing there, not to be read, or of no known format; says what was found.
    """
    where = _place(path)
    if isinstance(where, Path) and not where.exists():
        raise ReaderError(f"{where}: no such file or directory")
    try:
        for reader in _in_order():
            if (isinstance(where, Path) or _is_remote(reader)) and reader.sniff(where):
                return reader
        found = _describe(where)
    except OSError as err:
        raise ReaderError(f"{where}: cannot be read: {err.strerror or err}") from err
    raise ReaderError(
        f"{where}: {found}; expected a directory of `hatscore run`, a Parquet file of outcomes, "
        f"or a log that one of these reads: {', '.join(_names())}"
    )


def option_names() -> frozenset[str]:
    """Return the options that the built-in readers know."""
    return frozenset(name for reader in READERS.values() for name in reader.OPTIONS)


def _place(path: str | Path) -> Any:
    """Return a path, or a URL as the text it is."""
    return path if isinstance(path, str) and "://" in path else Path(path)


def _is_remote(reader: Reader) -> bool:
    return reader.FORMAT == inspect_log.FORMAT or getattr(reader, "REMOTE", False)


def _groups(paths: Iterable[Any], name: str) -> list[tuple[Reader, list[Any]]]:
    """Paths with their reader; those of a reader that reads many together are one group."""
    groups: list[tuple[Reader, list[Any]]] = []
    for path in paths:
        reader = detect(path) if name == "auto" else _named(name)
        if isinstance(path, str) and not _is_remote(reader):
            raise ReaderError(f"{path}: the reader {reader.FORMAT} reads no URLs; fetch it first")
        if isinstance(path, Path) and not path.exists():
            raise ReaderError(f"{path}: no such file or directory")
        same = (where for other, where in groups if other is reader)
        together = next(same, None) if hasattr(reader, "read_many") else None
        if together is None:
            groups.append((reader, [path]))
        elif path not in together:
            together.append(path)
    return groups


def _in_order() -> Iterable[Reader]:
    for name, reader in READERS.items():
        if name != table.FORMAT:
            yield reader
    for point in _plug_ins().values():
        yield _loaded(point)
    yield READERS[table.FORMAT]


def _named(name: str) -> Reader:
    if name in READERS:
        return READERS[name]
    points = _plug_ins()
    if name not in points:
        raise UnknownNameError("format", name, [*_names(), "auto"])
    return _loaded(points[name])


def _names() -> list[str]:
    return [*READERS, *_plug_ins()]


def _plug_ins() -> dict[str, EntryPoint]:
    return _points(tuple(sys.path))


@lru_cache(maxsize=4)
def _points(_path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Entry points by name; looking through all installed packages takes long, so only once."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: (p.name, p.value)):
        other = found.setdefault(point.name, point)
        if other.value != point.value or point.name in READERS:
            raise InputError(
                f"the reader {point.name!r} of {_owner(point)} is already brought by "
                f"{'hatscore itself' if point.name in READERS else _owner(other)}: "
                "uninstall one of them"
            )
    return found


def _loaded(point: EntryPoint) -> Reader:
    try:
        loaded = point.load()
    except Exception as err:
        raise InputError(
            f"the reader {point.name!r} of {_owner(point)} cannot be loaded from {point.value!r}: "
            f"{type(err).__name__}: {err}; repair or uninstall that package"
        ) from err
    missing = [part for part in ("FORMAT", "OPTIONS", "sniff", "read") if not hasattr(loaded, part)]
    if missing:
        raise InputError(
            f"the reader {point.name!r} of {_owner(point)} has no {', '.join(missing)}: "
            "it must have FORMAT, OPTIONS, sniff and read"
        )
    return cast("Reader", loaded)


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value


_KNOWN_STARTS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook (save a workbook's sheet as CSV UTF-8)",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (save its sheet as CSV UTF-8)",
    b"\x1f\x8b": "a file compressed with gzip (unpack it first)",
    b"\x28\xb5\x2f\xfd": "a file compressed with zstd (unpack it first)",
}


def _describe(path: Path | str) -> str:
    if isinstance(path, str):
        return "no log at this URL"
    if path.is_dir():
        names = sorted(p.name for p in path.iterdir())
        if not names:
            return "an empty directory"
        return f"a directory with {', '.join(names[:_SHOWN])}{' ...' * (len(names) > _SHOWN)}"
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        return "an empty file"
    for magic, what in _KNOWN_STARTS.items():
        if start.startswith(magic):
            return what
    return f"a file of {path.stat().st_size} bytes of no known format"
