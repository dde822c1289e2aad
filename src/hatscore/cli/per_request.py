"""How many replies a model's server gives to one prompt, which it bills once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hatscore.sampling import Run
from hatscore.sampling.run import CONFIG_NAME
from hatscore.sampling.servers import read_servers

if TYPE_CHECKING:
    from hatscore.sampling import RunConfig
    from hatscore.sampling.store import Store

__all__ = ["PerRequest", "Seen", "per_request", "replies_seen"]

# Neither the interface of these vendors nor inspect_ai's way to them has a number of replies.
_ONE = frozenset({"anthropic", "azureai", "bedrock", "grok", "hf", "mistral", "mockllm"})
_LOCAL_SLOTS = 10  # as many as the server of a local model answers at once


@dataclass(frozen=True, slots=True)
class PerRequest:
    """What is assumed of one model.

    Attributes
    ----------
    model
        As on the command line; "" where none is named.
    numbers
        Replies that a request brings at most: one number, or the fewest and the most where
        nothing is known.
    said
        Where it comes from, in words.
    """

    model: str
    numbers: tuple[int, ...]
    said: str

    @property
    def is_known(self) -> bool:
        """Whether one number is assumed."""
        return len(self.numbers) == 1


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run shows of its server.

    Attributes
    ----------
    model
        The model of the run, as typed.
    most
        The most replies that a request brings; None where nothing has shown a limit.
    """

    model: str
    most: int | None


def per_request(
    model: str, *, repeats: int, given: int | None = None, seen: Seen | None = None
) -> PerRequest:
    """Return how many replies a request to `model` is taken to bring.

    Parameters
    ----------
    model
        As on the command line; "" for any.
    repeats
        Replies per item and language of the full plan: no request asks for more.
    given
        What the user says.
    seen
        What a pilot shows; it counts for models that are reached in the same way.
    """
    kind = model.partition("/")[0]
    if given is not None:
        return PerRequest(model, (min(given, repeats),), "as given")
    if seen is not None and kind in ("", seen.model.partition("/")[0]):
        most = repeats if seen.most is None else min(seen.most, repeats)
        said = f"as the server of the pilot ({seen.model}) "
        said += "did, without a limit seen" if seen.most is None else "does"
        return PerRequest(model, (most,), said)
    if kind in _ONE:
        return PerRequest(model, (1,), f"{kind} takes no number of replies")
    if kind == "local":
        return PerRequest(model, (min(_LOCAL_SLOTS, repeats),), "as the local server does")
    return PerRequest(
        model, tuple(sorted({1, repeats})), "not known: --n-per-request N or a --pilot run tells"
    )


def replies_seen(path: str | Path) -> Seen | None:
    """Return what the run in a directory shows; None for anything else, or where it shows nothing.

    What the run has noted of its server says it; else the replies that came together.

    Raises
    ------
    RunError
        A damaged run.
    """
    directory = Path(path)
    if not (directory / CONFIG_NAME).is_file():
        return None
    with Run.open(directory) as run:
        config = run.config
        noted = [x for x in read_servers(directory) if x.model == config.served_model]
        noted = [x for x in noted if x.server == config.base_url] or noted
        for limits in (entry.limits for entry in reversed(noted)):
            if limits.most is not None:
                return Seen(config.model, limits.most)
            if limits.accepted > 1:
                return Seen(config.model, None)
        return _came_together(config, run.store)


def _came_together(config: RunConfig, store: Store) -> Seen | None:
    repeats = max((plan.repeats for plan in config.benchmarks), default=1)
    requests = Counter(
        (item.cell, reply.latency_s, reply.seed, reply.created_at)
        for item, reply in store.rows()
        if reply.error is None
    )
    most = max(requests.values(), default=1)
    if not requests or repeats == 1:
        return None
    return Seen(config.model, most if most < repeats else None)
