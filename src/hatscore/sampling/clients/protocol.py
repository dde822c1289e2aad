"""The OpenAI-compatible protocol as pure functions: addresses, request bodies, answers."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hatscore.errors import InputError
from hatscore.sampling.client import Completion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hatscore.benchmarks.base import Prompt
    from hatscore.sampling.client import SamplingParams

__all__ = [
    "api_root",
    "check_extra",
    "error_message",
    "is_about_n",
    "nearest",
    "read_answer",
    "request_body",
    "share_tokens",
    "token_bound",
]

OWN_FIELDS = frozenset({"best_of", "messages", "model", "n", "prompt", "stream"})
_ENDPOINTS = ("/chat/completions", "/completions", "/models")
_MOST_TOKENS = 2**40  # above it a count is noise
_SHOWN = 400
_REASONING = frozenset({"reasoning", "reasoning_content"})


def api_root(base_url: str) -> str:
    """Return the address that ``/models`` and ``/chat/completions`` are appended to.

    Raises
    ------
    InputError
        No http address.

    Examples
    --------
    >>> api_root("http://localhost:8000")
    'http://localhost:8000/v1'
    >>> api_root("https://example.org/api/v1/chat/completions/")
    'https://example.org/api/v1'
    """
    url = base_url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InputError(
            f"server address {base_url!r}: expected http://HOST:PORT or https://HOST/v1"
        )
    if parts.query or parts.fragment:
        raise InputError(f"server address {base_url!r}: expected no '?' or '#' in it")
    for endpoint in _ENDPOINTS:
        if url.endswith(endpoint):
            url = url.removesuffix(endpoint)
            break
    versioned = any(re.fullmatch(r"v\d\w*", part) for part in urlsplit(url).path.split("/"))
    return url if versioned else f"{url}/v1"


def check_extra(extra: Mapping[str, Any]) -> None:
    """Raise InputError when `extra` sets a field that the engine must own."""
    taken = sorted(OWN_FIELDS & extra.keys())
    if taken:
        raise InputError(
            f"extra field {taken[0]!r} is set by hatscore itself; "
            "use the options for the model, the repeats and the prompt"
        )


def request_body(
    prompt: Prompt,
    *,
    model: str,
    n: int,
    params: SamplingParams,
    seed: int | None,
    max_tokens_field: str = "max_tokens",
) -> dict[str, Any]:
    """Return the JSON body of one request; fields that are None are left out."""
    body: dict[str, Any] = {"model": model}
    if prompt.mode == "chat":
        body["messages"] = [{"role": "user", "content": prompt.text}]
    else:
        body["prompt"] = prompt.text
    if n > 1:
        body["n"] = n
    body[max_tokens_field] = params.max_tokens or prompt.max_tokens
    optional = {"temperature": params.temperature, "top_p": params.top_p, "seed": seed}
    body |= {name: value for name, value in optional.items() if value is not None}
    if prompt.stop:
        body["stop"] = list(prompt.stop)
    if "max_completion_tokens" in params.extra:
        body.pop(max_tokens_field)
    return body | dict(params.extra)


def token_bound(body: Mapping[str, Any]) -> int | None:
    """Return the bound of generated tokens per reply that `body` asks for."""
    bound = body.get("max_completion_tokens", body.get("max_tokens"))
    return bound if isinstance(bound, int) else None


def read_answer(data: Any, *, n: int, bound: int | None, latency_s: float) -> list[Completion]:
    """Return the completions of a successful answer.

    Parameters
    ----------
    data
        The decoded JSON.
    n
        Replies asked for; more than that are dropped.
    bound
        Most tokens that one reply may have, None if unknown.
    latency_s
        Seconds from request to answer.

    Raises
    ------
    ValueError
        Not an answer of this protocol; says what is missing.
    """
    if not isinstance(data, dict):
        raise ValueError(f"expected a JSON object, got {type(data).__name__}")  # noqa: TRY004
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError(error_message(data) or "no choices in the answer")
    choices = choices[:n]
    texts, finishes, reasonings = _plain(choices) or _any_form(choices)
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("completion_tokens_details")
    hidden = _count(details.get("reasoning_tokens")) if isinstance(details, dict) else None
    total = _count(usage.get("completion_tokens"))
    if n == 1:
        outputs, thoughts = [total], [hidden]
    else:
        sizes = _sizes(texts, reasonings)
        outputs = share_tokens(total, sizes, bound=bound)
        known = outputs[0] is not None and hidden is not None
        thoughts = _split(hidden, len(choices)) if known else [None] * len(choices)
    name = _text(data.get("model"))
    inputs = _count(usage.get("prompt_tokens"))
    columns = (
        texts,
        finishes,
        reasonings,
        repeat(inputs),
        outputs,
        thoughts,
        repeat(name),
        repeat(latency_s),
        repeat(None),  # the columns of the others end
    )
    return list(map(_completion, zip(*columns, strict=False)))


# What Completion._make does, without a call of Python's for each reply.
_completion: Callable[[Iterable[Any]], Completion] = partial(tuple.__new__, Completion)
_Columns = tuple[list[str], list[str | None], list[str | None]]


def _plain(choices: Sequence[Any]) -> _Columns | None:
    """Return text, finish reason and reasoning of choices as most servers send them.

    None when any is of another form, or ended with an error: :func:`_any_form` reads those too,
    one by one. At thousands of replies per second that is what an answer costs most.
    """
    try:
        messages = [choice["message"] for choice in choices]
        texts = [message["content"] for message in messages]
        finishes = [choice["finish_reason"] for choice in choices]
        told = set().union(*messages, *choices)
    except (KeyError, TypeError):
        return None
    if {*map(type, texts)} != {str} or not {*map(type, finishes)} <= {str, type(None)}:
        return None
    if "error" in finishes:
        return None
    if told.isdisjoint(_REASONING):
        return texts, finishes, [None] * len(texts)
    return texts, finishes, [_choice_reasoning(choice) for choice in choices]


def _any_form(choices: Sequence[Any]) -> _Columns:
    for choice in choices:
        if isinstance(choice, dict) and choice.get("finish_reason") == "error":  # a gateway's
            raise ValueError(error_message(choice) or "a choice ended with an error")
    return (
        [_choice_text(choice) for choice in choices],
        [_text(choice.get("finish_reason")) for choice in choices],
        [_choice_reasoning(choice) for choice in choices],
    )


def share_tokens(total: int | None, sizes: Sequence[int], *, bound: int | None) -> list[int | None]:
    """Return output tokens per reply of a request that brought several, or None for each.

    Servers differ in what ``completion_tokens`` counts: all replies (OpenAI, vLLM) or the first
    one alone (llama.cpp). The total surely covers all replies when one reply cannot have so
    many tokens: more than `bound`, or more than its bytes and two marks at its end, since a
    token holds at least one byte. Then it is dealt out evenly, whole tokens, so that the mean
    per item is right though a single reply's count is not. Otherwise nothing is claimed.

    Parameters
    ----------
    total
        ``completion_tokens`` of the answer.
    sizes
        Bytes of each reply, visible reasoning included.
    bound
        Most tokens that one reply may have, None if unknown.

    Examples
    --------
    >>> share_tokens(21, [6, 6, 6], bound=64)
    [7, 7, 7]
    >>> share_tokens(4, [6, 6, 6], bound=64)
    [None, None, None]
    """
    n = len(sizes)
    if total is None:
        return [None] * n
    beyond_bound = bound is not None and total > bound
    beyond_text = total > max(sizes) + 2
    return _split(total, n) if beyond_bound or beyond_text else [None] * n


def _split(total: int | None, n: int) -> list[int | None]:
    if total is None:
        return [None] * n
    each, rest = divmod(total, n)
    return [each + (index < rest) for index in range(n)]


def _choice_text(choice: Any) -> str:
    if not isinstance(choice, dict):
        raise ValueError(f"expected choices to be objects, got {type(choice).__name__}")  # noqa: TRY004
    if "message" in choice:
        message = choice["message"]
        content = message.get("content") if isinstance(message, dict) else None
    else:
        content = choice.get("text")
    if content is None:
        return ""
    if isinstance(content, list):  # parts, as some gateways send them
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise ValueError(f"expected text as content, got {type(content).__name__}")  # noqa: TRY004
    return content


def _choice_reasoning(choice: Mapping[str, Any]) -> str | None:
    for holder in (choice.get("message"), choice):
        if isinstance(holder, dict):
            found = holder.get("reasoning_content")
            if not isinstance(found, str):
                found = holder.get("reasoning")
            if isinstance(found, str):
                return found
    return None


def _sizes(texts: Sequence[str], reasonings: Sequence[str | None]) -> list[int]:
    """Return the number of bytes of each reply in UTF-8, visible reasoning included."""
    if "".join(texts).isascii() and not any(reasonings):
        return list(map(len, texts))
    whole = (text + (thought or "") for text, thought in zip(texts, reasonings, strict=True))
    return [len(text.encode(errors="replace")) for text in whole]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS
    return value if valid else None


def error_message(data: Any) -> str:
    """Return the server's own words from a decoded error answer, "" when there are none."""
    if isinstance(data, str):
        plain = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", data, flags=re.DOTALL)
        return " ".join(plain.split())[:_SHOWN]
    if isinstance(data, list) and data:
        return error_message(data[0])
    if isinstance(data, dict):
        for name in ("error", "message", "detail", "msg"):
            found = error_message(data.get(name))
            if found:
                return found
    return ""


def is_about_n(message: str) -> bool:
    """Whether an error message speaks of the number of completions.

    Examples
    --------
    >>> is_about_n("Only one completion choice is allowed"), is_about_n("unknown model")
    (True, False)
    """
    return bool(re.search(r"\bn\b|slots?\b|parallel|choices?\b|best_of", message, re.IGNORECASE))


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return `names`, those most like `name` first."""

    def likeness(other: str) -> float:
        return SequenceMatcher(None, name.lower(), other.lower()).ratio()

    return sorted(names, key=lambda other: (-likeness(other), other))
