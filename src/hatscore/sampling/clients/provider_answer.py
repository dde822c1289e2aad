"""From an answer of inspect's model layer to completions, and from its errors to words."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from hatscore.sampling.client import Completion
from hatscore.sampling.clients.protocol import share_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["error_words", "read_output", "status_of"]

_FINISH = {"max_tokens": "length", "model_length": "length", "unknown": None}
_NOTHING = "(no content)"  # what inspect writes where a provider sent no candidate
_SHOWN = 400
_SHORTEST_SECRET = 8


def read_output(
    output: Any,
    response: Mapping[str, Any] | None,
    *,
    n: int,
    bound: int | None,
    latency_s: float,
) -> list[Completion]:
    """Return the completions of an ``inspect_ai.model.ModelOutput``.

    Parameters
    ----------
    output
        The output.
    response
        The answer as it came, None when unknown.
    n
        Replies asked for; more than that are dropped.
    bound
        Most tokens that one reply may have, None if unknown.
    latency_s
        Seconds from request to answer.

    Returns
    -------
    list of Completion
        Empty when the output holds no choice. `input_tokens` counts cached tokens too;
        `output_tokens` counts reasoning too. Counts that a provider gives for several replies
        together are dealt out as :func:`hatscore.sampling.clients.protocol.share_tokens` says.
    """
    choices = output.choices[:n]
    # What inspect writes for a prompt that was not answered is its own text, not a reply.
    unanswered = bool(output.error) or (
        response is not None and "candidates" in response and not response["candidates"]
    )
    texts = ["" if unanswered else _text(choice.message.content) for choice in choices]
    reasonings = [_reasoning(choice.message.content) for choice in choices]
    usage = output.usage
    total = None if usage is None else usage.output_tokens
    hidden = None if usage is None else usage.reasoning_tokens
    if len(choices) == 1:
        outputs, thoughts = [total], [hidden]
    else:
        sizes = [
            len((text + (thought or "")).encode(errors="replace"))
            for text, thought in zip(texts, reasonings, strict=True)
        ]
        outputs = share_tokens(total, sizes, bound=bound)
        known = all(count is not None for count in outputs)
        thoughts = [hidden // len(choices) if known and hidden is not None else None] * len(choices)
    return [
        Completion(
            text=text,
            finish_reason=_FINISH.get(choice.stop_reason, choice.stop_reason),
            reasoning=reasoning,
            input_tokens=_input_tokens(usage),
            output_tokens=tokens,
            reasoning_tokens=thought,
            model=output.model or None,
            latency_s=latency_s,
        )
        for choice, text, reasoning, tokens, thought in zip(
            choices, texts, reasonings, outputs, thoughts, strict=True
        )
    ]


def _input_tokens(usage: Any) -> int | None:
    if usage is None:
        return None
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return int(usage.input_tokens + cached)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return "" if content == _NOTHING else content
    return "".join(part.text for part in content if part.type == "text")


def _reasoning(content: Any) -> str | None:
    """Return the reasoning as text; where it is encrypted, its summary."""
    if isinstance(content, str):
        return None
    parts = [part for part in content if part.type == "reasoning"]
    if not parts:
        return None
    return "\n".join((part.summary or "") if part.redacted else part.reasoning for part in parts)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of an SDK's error, None when it has none."""
    for name in ("status_code", "code"):  # OpenAI and Anthropic; Google
        value = getattr(error, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def error_words(error: BaseException) -> str:
    """Return what an error says in one line, without keys."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    text = str(message or getattr(error, "message", None) or error or type(error).__name__)
    text = re.sub(r"\[/?(?:bold|red|blue|link[^\]]*)\]", "", text)  # inspect's marks for terminals
    for name, value in os.environ.items():
        if re.search(r"KEY|TOKEN|SECRET|PASSWORD", name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "[key]")
    status = status_of(error)
    words = " ".join(text.split())[:_SHOWN] or type(error).__name__
    return words if status is None else f"HTTP {status}: {words}"
