"""What a provider made of the requests of a run, beside its replies: ``provider.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.errors import RunError
from hatscore.sampling.store import now

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OBSERVED_NAME", "read_observed", "write_observed"]

OBSERVED_NAME = "provider.json"


def write_observed(directory: str | Path, observed: Mapping[str, Any]) -> None:
    """Add `observed` to the record of the run in `directory`, unless its last entry is the same.

    Parameters
    ----------
    directory
        A run directory, open for sampling.
    observed
        As :attr:`hatscore.sampling.clients.inspect.InspectClient.observed`; without secrets.

    Raises
    ------
    RunError
        The record cannot be read or written.
    """
    path = Path(directory) / OBSERVED_NAME
    entries = read_observed(directory)
    entry = json.loads(json.dumps(dict(observed)))
    if entries and {k: v for k, v in entries[-1].items() if k != "first_seen"} == entry:
        return
    entries.append({"first_seen": now(), **entry})
    part = path.with_name(f"{OBSERVED_NAME}.part")
    try:
        part.write_text(json.dumps(entries, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from error


def read_observed(directory: str | Path) -> list[dict[str, Any]]:
    """Return what providers made of the requests of the run, oldest first, [] when unknown.

    Raises
    ------
    RunError
        The record cannot be read.
    """
    path = Path(directory) / OBSERVED_NAME
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read: {error}; remove it to go on") from error
    if not isinstance(entries, list):
        raise RunError(f"{path}: expected a list, got {type(entries).__name__}; remove it to go on")
    return entries
