"""What the engine expects of a model: one asynchronous call that returns raw completions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatscore.benchmarks.base import Prompt

__all__ = ["Client", "Completion", "LetGoError", "SamplingParams", "Waiting"]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Sampling parameters as they are sent.

    Parameters
    ----------
    temperature, top_p
        None leaves the parameter out of the request.
    max_tokens
        None takes the prompt's own bound.
    seed
        None sends none. With repeats a fixed seed makes them equal: the engine derives one seed
        per request from this one.
    extra
        Further fields of the request body, as given.
    """

    temperature: float | None = 1.0
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class Completion(NamedTuple):
    """One reply with what the server said about it.

    Token counts are per reply, None where the server does not tell them for this reply alone.
    `error` is set, and `text` empty, when the request failed for good.
    """

    text: str
    finish_reason: str | None = None
    reasoning: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    model: str | None = None
    latency_s: float | None = None
    error: str | None = None


class Client(Protocol):
    """A model that can be sampled."""

    name: str

    async def check(self) -> None:
        """Raise ModelError, naming the address and what to do, unless the model answers."""
        ...

    async def complete(
        self, prompt: Prompt, *, n: int, params: SamplingParams, seed: int | None
    ) -> list[Completion]:
        """Return between 1 and `n` completions of `prompt`; fewer where the server limits n."""
        ...

    async def close(self) -> None:
        """Release connections; what was found out about the server stays."""
        ...


class LetGoError(Exception):
    """From :meth:`Client.complete` after :meth:`Waiting.let_go`: nothing was under way."""


@runtime_checkable
class Waiting(Protocol):
    """A client whose requests wait between tries, which it can say and end."""

    @property
    def trouble(self) -> str | None:
        """Why nothing comes at present, in words; None while answers come."""
        ...

    def let_go(self) -> None:
        """End the waiting of requests that are not under way; they raise :class:`LetGoError`."""
        ...
