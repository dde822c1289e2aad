"""One HTTP answer of an OpenAI-compatible server, and what its refusal is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hatscore.errors import ModelError
from hatscore.sampling.clients.protocol import error_message, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Answer",
    "LostError",
    "Passing",
    "advice",
    "is_about_a_prompt",
    "is_filtered",
    "is_of_a_request",
    "is_out_of_quota",
    "require_served",
    "served_names",
]

_MOST_NAMES = 15
_OF_A_REQUEST = (400, 413, 422)
_TOO_LARGE = 413
_ABOUT_A_PROMPT = ("context_length_exceeded", "invalid_prompt", "string_above_max_length")
_SAID_OF_A_PROMPT = re.compile(
    r"context (length|window|size)|maximum context|prompt is too long", re.IGNORECASE
)


class Answer(NamedTuple):
    """One HTTP answer; `data` is its JSON, or its text when it is none."""

    status: int
    data: Any
    is_json: bool
    retry_after: float | None
    latency_s: float


class LostError(Exception):
    """No answer came: connection, timeout."""

    def __init__(self, problem: str, *, late: bool = False) -> None:
        super().__init__(problem)
        self.late = late


@dataclass(frozen=True, slots=True)
class Passing:
    """A failure that may pass."""

    problem: str
    retry_after: float | None
    broken: bool = False  # what a server that is away gives


def advice(answer: Answer, keys: Sequence[str], *, has_key: bool) -> str:
    """Return what to do about a refusal that every further request would meet.

    Parameters
    ----------
    answer
        The refusal.
    keys
        Environment variables that a key is read from.
    has_key
        Whether one was sent.
    """
    if answer.status in (401, 403):
        given = "the key was refused" if has_key else "no key is set"
        return f"{given}: set {' or '.join(keys)}"
    if answer.status == 404:  # noqa: PLR2004 - HTTP
        return "check the address and the model name, and whether the server knows this mode"
    if 300 <= answer.status < 400:  # noqa: PLR2004 - HTTP
        return "the server sends elsewhere: name the final address"
    return "the server does not take this request: check the parameters"


def is_of_a_request(answer: Answer) -> bool:
    """Whether the refusal is of what was sent, not of who sent it or where."""
    return answer.status in _OF_A_REQUEST


def is_about_a_prompt(answer: Answer) -> bool:
    """Whether the server says that it is this prompt which it does not take."""
    return is_of_a_request(answer) and (
        answer.status == _TOO_LARGE
        or _error_code(answer.data) in _ABOUT_A_PROMPT
        or _SAID_OF_A_PROMPT.search(error_message(answer.data)) is not None
    )


def _error_code(data: Any) -> str:
    error = data.get("error") if isinstance(data, dict) else None
    return str(error.get("code", "")) if isinstance(error, dict) else ""


def is_out_of_quota(answer: Answer) -> bool:
    """Whether a 429 is an empty account, which no waiting fills."""
    return _error_code(answer.data) == "insufficient_quota"


def is_filtered(answer: Answer) -> bool:
    """Whether the refusal is the answer: Azure rejects a prompt with HTTP 400."""
    return _error_code(answer.data) == "content_filter"


def served_names(data: Any) -> list[str] | None:
    """Return the names and aliases in a list of models, None where it is no such list."""
    entries = data.get("data") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        return None
    names: list[str] = []
    for entry in entries:
        if isinstance(entry, dict):
            aliases = entry.get("aliases")
            found = [entry.get("id"), *(aliases if isinstance(aliases, list) else [])]
            names += [name for name in found if isinstance(name, str)]
    return list(dict.fromkeys(names))


def require_served(name: str, served: Sequence[str] | None, url: object, root: str) -> None:
    """Raise ModelError where a list of models, at `url`, is none or lacks `name`."""
    if served is None:
        raise ModelError(
            f"{url}: expected a list of models in JSON; is this an OpenAI-compatible server?"
        )
    if served and not any(n == name or n.endswith(f"/{name}") for n in served):
        shown = nearest(name, served)
        more = f" and {len(shown) - _MOST_NAMES} more" if len(shown) > _MOST_NAMES else ""
        raise ModelError(
            f"{root} does not serve {name!r}; it serves {', '.join(shown[:_MOST_NAMES])}{more}"
        )
