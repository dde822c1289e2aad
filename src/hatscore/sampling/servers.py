"""How many replies a request of each server may ask for, beside the replies: ``servers.json``.

It saves the next start what the last one has found out. Nothing depends on it: where it is missing,
damaged or cannot be written, the next start finds out again.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hatscore.sampling.client import Client

__all__ = [
    "SERVERS_NAME",
    "Known",
    "Limits",
    "Remembering",
    "keep_server",
    "known_of",
    "read_servers",
    "recall",
]

SERVERS_NAME = "servers.json"
_MOST_ENTRIES = 100  # of a gateway whose address changes with every start, the last

Why = Literal["refused", "ignored"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many replies one request may ask for.

    Parameters
    ----------
    accepted
        The most that one request has brought, at least 1.
    most
        The most to ask for, at least 1; None where nothing has shown a limit.
    why
        What showed the limit: more were ``refused``, or fewer came than were asked for (the
        number was ``ignored``).
    """

    accepted: int = 1
    most: int | None = None
    why: Why | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What one server takes for one model.

    Parameters
    ----------
    server
        Its address without credentials, or the name of the provider.
    model
        The model's name as the server knows it.
    limits
        What it takes.
    """

    server: str
    model: str
    limits: Limits

    @classmethod
    def from_data(cls, data: Any) -> Self | None:
        """Return what an entry of the file says, None where it says nothing usable."""
        try:
            server, model, why = data["server"], data["model"], data["why"]
            accepted, most = data["accepted"], data["most"]
        except (KeyError, TypeError, IndexError):
            return None
        numbers = (accepted, 1 if most is None else most)
        if (
            not (isinstance(server, str) and isinstance(model, str))
            or not all(type(number) is int and number >= 1 for number in numbers)
            or why not in (None, "refused", "ignored")
        ):
            return None
        return cls(server, model, Limits(accepted, most, why))

    def to_data(self) -> dict[str, Any]:
        """Return the entry of the file."""
        return {"server": self.server, "model": self.model, **asdict(self.limits)}


@runtime_checkable
class Remembering(Protocol):
    """A client that can be told what an earlier one has found out about its server."""

    name: str

    @property
    def server(self) -> str:
        """Whom it asks: an address, or the name of a provider."""
        ...

    @property
    def limits(self) -> Limits | None:
        """What it has found out, None before the first answer."""
        ...

    def recall(self, limits: Limits) -> None:
        """Begin with what was found out before; called before the first request."""
        ...


def known_of(client: Client) -> Known | None:
    """Return what `client` has found out, None where there is nothing to keep."""
    if not isinstance(client, Remembering) or client.limits is None:
        return None
    return Known(_address(client.server), client.name, client.limits)


def recall(client: Client, known: Iterable[Known]) -> None:
    """Tell `client` what is known of its server and model, if anything is."""
    if isinstance(client, Remembering):
        whom = (_address(client.server), client.name)
        for entry in known:
            if (entry.server, entry.model) == whom:
                client.recall(entry.limits)


def read_servers(directory: str | Path) -> list[Known]:
    """Return what earlier starts of the run in `directory` have found out; [] where unknown."""
    try:
        data = json.loads((Path(directory) / SERVERS_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    entries = map(Known.from_data, data if isinstance(data, list) else [])
    return [entry for entry in entries if entry is not None]


def keep_server(directory: str | Path, known: Known | None) -> None:
    """Keep what a start has found out, in place of what was known of the same server and model.

    Parameters
    ----------
    directory
        A run directory, open for sampling.
    known
        From :func:`known_of`; None keeps the file as it is.
    """
    before = read_servers(directory)
    if known is None or known in before:
        return
    whom = (known.server, known.model)
    others = [entry for entry in before if (entry.server, entry.model) != whom]
    entries = [*others, known][-_MOST_ENTRIES:]
    path = Path(directory) / SERVERS_NAME
    part = path.with_name(f"{SERVERS_NAME}.part")
    text = json.dumps([entry.to_data() for entry in entries], ensure_ascii=False, indent=2)
    with contextlib.suppress(OSError, ValueError):  # a run is worth more than this file
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)


def _address(server: str) -> str:
    """Return `server` without a user name and password."""
    try:
        parts = urlsplit(server)
    except ValueError:  # no address: then it is a name only
        return server.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
