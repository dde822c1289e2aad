"""The canonical table itself, as Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatscore.outcomes import Outcomes

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT", "OPTIONS", "read", "sniff"]

FORMAT = "parquet"
OPTIONS: tuple[str, ...] = ()
_MAGIC = b"PAR1"


def sniff(path: Path) -> bool:
    """Say whether `path` is a Parquet file, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def read(path: Path) -> Outcomes:
    """Return the outcomes that `Outcomes.write_parquet` wrote."""
    return Outcomes.read_parquet(path)
