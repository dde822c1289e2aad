"""Which reader takes a path: by its content, never by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from hatscore.errors import InputError, ReaderError, UnknownNameError
from hatscore.outcomes import Outcomes
from hatscore.readers import hatscore_run, outcomes_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["READERS", "detect", "read", "read_parts"]


class Reader(Protocol):
    """A module that reads one format.

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


READERS: dict[str, Reader] = {module.FORMAT: module for module in (hatscore_run, outcomes_parquet)}


def read(path: str | Path, *, format: str = "auto", **options: Any) -> Outcomes:  # noqa: A002
    """Read results into the canonical table.

    Parameters
    ----------
    path
        A run directory of `hatscore run` or a Parquet file of `Outcomes.write_parquet`.
    format
        ``auto`` looks at the content; otherwise the name of a reader: ``hatscore``, ``parquet``.
    options
        Options of the reader. Run directories take ``names`` (``lenient`` or ``strict``: which
        spellings of a name count) and ``count`` (which unreadable replies count in n).

    Raises
    ------
    ReaderError
        Nothing there, or of no known format; says what was found.
    InputError
        An option that the reader does not have.
    """
    where = Path(path)
    if format == "auto":
        reader = detect(where)
    elif format not in READERS:
        raise UnknownNameError("format", format, [*READERS, "auto"])
    elif not where.exists():
        raise ReaderError(f"{where}: no such file or directory")
    else:
        reader = READERS[format]
    unknown = [name for name in options if name not in reader.OPTIONS]
    if unknown:
        raise UnknownNameError(f"option of reader {reader.FORMAT}", unknown[0], reader.OPTIONS)
    return reader.read(where, **options)


def detect(path: str | Path) -> Reader:
    """Return the reader that takes `path`, by its content.

    Raises
    ------
    ReaderError
        Nothing there, or of no known format; says what was found.
    """
    where = Path(path)
    if not where.exists():
        raise ReaderError(f"{where}: no such file or directory")
    reader = next((r for r in READERS.values() if r.sniff(where)), None)
    if reader is None:
        raise ReaderError(
            f"{where}: {_describe(where)}; expected a directory written by `hatscore run` "
            "or a Parquet file of outcomes"
        )
    return reader


def read_parts(parts: Sequence[tuple[str | Path, Mapping[str, Any]]]) -> Outcomes:
    """Read several paths, each with its own options, and join them into one table.

    Raises
    ------
    ReaderError, InputError
        As for `read`; also where two paths hold the same model on the same benchmark.
    """
    if not parts:
        raise InputError("nothing to read: give at least one path")
    owners: dict[tuple[str, str], str | Path] = {}
    found = []
    for path, options in parts:
        outcomes = read(path, **options)
        for key in outcomes.frame.select("model", "benchmark").unique().iter_rows():
            if key in owners:
                raise InputError(
                    f"{owners[key]} and {path} both hold {key[0]} on {key[1]}; "
                    "score them apart, or give only one of them"
                )
            owners[key] = path
        found.append(outcomes)
    if len(found) == 1:
        return found[0]
    said = [note for part in found for note in part.notes]
    joined = Outcomes.from_frame(pl.concat([f for p in found for f in (p.frame, p.excluded)]))
    return Outcomes(joined.frame, joined.excluded, tuple(dict.fromkeys([*said, *joined.notes])))


def _describe(path: Path) -> str:
    if path.is_dir():
        names = sorted(p.name for p in path.iterdir())
        return f"a directory with {', '.join(names[:3])} ..." if names else "an empty directory"
    return f"a file of {path.stat().st_size} bytes of no known format"
