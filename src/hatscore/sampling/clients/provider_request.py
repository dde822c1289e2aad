"""What is asked of a provider, what of it reached the wire, and what the provider refuses.

Providers differ in the parameters they take. Some refuse a parameter with HTTP 400, others are
served by a library that leaves it out without a word. Here are the names under which a parameter
appears in a request, and in the words of a refusal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from hatscore.benchmarks.base import Prompt
    from hatscore.sampling.client import SamplingParams

__all__ = [
    "REASONING",
    "asked_parameters",
    "is_about_a_value",
    "missing_from",
    "refused_parameter",
    "without_texts",
]

REASONING = ("reasoning_effort", "reasoning_tokens")

# Names of a parameter in requests of OpenAI, Anthropic, Google and Bedrock.
_SENT_AS: dict[str, tuple[str, ...]] = {
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens"),
    "num_choices": ("n", "candidate_count"),
    "stop_seqs": ("stop", "stop_sequences"),
    "reasoning_effort": ("reasoning_effort", "effort", "thinking_level", "thinking_budget"),
    "reasoning_tokens": ("reasoning_tokens", "budget_tokens", "thinking_budget"),
}
_THINKING = ("thinking", "budget_tokens", "reasoning", "thinking_config")
# Asked for by default rather than by the user, in the order in which they are given up.
_REFUSABLE: dict[str, str] = {
    "num_choices": r"\bn\b|candidates?\b|candidate_?count|choices?\b|num_choices",
    "temperature": r"temperature",
    "top_p": r"top[_ ]?p\b|topP",
    "top_k": r"top[_ ]?k\b|topK",
    "seed": r"\bseed\b",
    "stop_seqs": r"'stop'|stop[_ ]?seq|\"stop\"|`stop`|stopSequences",
}
_VALUE = (
    r"between|range|less than|greater than|at most|at least|must be (?:[<>=]|in\b)|maximum value"
)
_OWN = frozenset(
    {
        "adaptive_connections",
        "attempt_timeout",
        "batch",
        "best_of",
        "cache",
        "fail_on_refusal",
        "max_connections",
        "max_retries",
        "n",
        "num_choices",
        "stream_idle_timeout",
        "timeout",
    }
)
_UNSHOWN = frozenset(
    {"contents", "extra_headers", "headers", "input", "messages", "system", "system_instruction"}
)


def asked_parameters(
    prompt: Prompt, *, n: int, params: SamplingParams, seed: int | None, max_tokens: int
) -> dict[str, Any]:
    """Return what is asked for by the names of inspect's generation config.

    Parameters
    ----------
    prompt
        For its stop strings.
    n
        Replies in this request; 1 asks for no number.
    params
        ``extra`` wins over the named ones.
    seed
        Seed of this request, None for none.
    max_tokens
        Bound of generated tokens.

    Raises
    ------
    InputError
        ``params.extra`` sets a field that is set here.
    """
    taken = sorted(_OWN & params.extra.keys())
    if taken:
        raise InputError(
            f"extra field {taken[0]!r} is set by hatscore itself; use the options for the "
            "repeats, the time limit and the batch mode"
        )
    asked = {
        "max_tokens": max_tokens,
        "num_choices": n if n > 1 else None,
        "seed": seed,
        "stop_seqs": list(prompt.stop) or None,
        "temperature": params.temperature,
        "top_p": params.top_p,
    }
    named = {name: value for name, value in asked.items() if value is not None}
    return named | dict(params.extra)


def missing_from(request: Mapping[str, Any], asked: Collection[str]) -> list[str]:
    """Return the names in `asked` that `request` carries under none of their names.

    Parameters
    ----------
    request
        The request as it was sent; what is None in it was not.
    asked
        Names as of :func:`asked_parameters`.

    Examples
    --------
    >>> missing_from({"generation_config": {"topP": 0.9, "seed": None}}, ["top_p", "seed"])
    ['seed']
    """
    sent = set(_names(request))
    return [name for name in asked if not sent & _forms(name)]


def _forms(name: str) -> set[str]:
    forms = {name, *_SENT_AS.get(name, ())}
    if name in REASONING:
        forms |= set(_THINKING)
    return forms


def _names(value: Any) -> Iterator[str]:
    """Yield every key of `value` and below that holds something, in snake case."""
    if isinstance(value, dict):
        for key, held in value.items():
            if key in _UNSHOWN or held is None or held == "NOT_GIVEN":
                continue
            # Google's default is to return thoughts, which sets nothing about the thinking.
            if key == "thinking_config" and set(_names(held)) <= {"include_thoughts"}:
                continue
            yield re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(key)).lower()
            yield from _names(held)


def refused_parameter(message: str, asked: Collection[str]) -> str | None:
    """Return the parameter that a provider's refusal is about, None when it is none of them.

    Examples
    --------
    >>> refused_parameter("`temperature` is deprecated for this model.", ["temperature", "seed"])
    'temperature'
    """
    for name, pattern in _REFUSABLE.items():
        if name in asked and re.search(pattern, message, re.IGNORECASE):
            return name
    return None


def is_about_a_value(message: str) -> bool:
    """Whether a refusal is about the value of a parameter, which the user can change.

    Examples
    --------
    >>> is_about_a_value("temperature: range: 0..1"), is_about_a_value("unsupported: temperature")
    (True, False)
    """
    return re.search(_VALUE, message, re.IGNORECASE) is not None


def without_texts(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return `request` without prompts, headers and what was not sent: its parameters."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: kept(held)
                for key, held in value.items()
                if key not in _UNSHOWN and held is not None and held != "NOT_GIVEN"
            }
        return value

    found: dict[str, Any] = kept(dict(request))
    return found
