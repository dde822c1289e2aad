"""The pure parts of the protocol: addresses, token counts, messages, waiting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.benchmarks.base import Prompt
from hatscore.errors import InputError
from hatscore.sampling import SamplingParams
from hatscore.sampling.clients.protocol import (
    _any_form,
    _plain,
    api_root,
    error_message,
    is_about_n,
    nearest,
    read_answer,
    request_body,
    share_tokens,
)
from hatscore.sampling.clients.retry import Retry, is_temporary, retry_after_seconds


@pytest.mark.parametrize(
    ("given_url", "root"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("http://localhost:8000/", "http://localhost:8000/v1"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        (" http://localhost:8000/v1/ ", "http://localhost:8000/v1"),
        ("https://example.org/api/v1/completions", "https://example.org/api/v1"),
        ("https://example.org/openai", "https://example.org/openai/v1"),
        ("https://example.org/v1beta/openai/", "https://example.org/v1beta/openai"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
    ],
)
def test_every_form_of_an_address(given_url: str, root: str) -> None:
    assert api_root(given_url) == root


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host", "http://", "http://host:port", "http://h:99999"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError, match="expected http://HOST:PORT"):
        api_root(url)


def test_address_with_a_query() -> None:
    with pytest.raises(InputError, match="expected no"):
        api_root("https://host/v1?key=1")


def test_extra_fields_win_and_replace_the_token_bound() -> None:
    params = SamplingParams(extra={"max_completion_tokens": 9, "temperature": 0.2})
    body = request_body(Prompt("chat", "x"), model="m", n=1, params=params, seed=None)
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "temperature": 0.2,
        "max_completion_tokens": 9,
    }


@pytest.mark.parametrize(
    ("total", "sizes", "bound", "shares"),
    [
        (None, [5, 5], 64, [None, None]),
        (20, [6] * 10, 64, [2] * 10),  # ten times " Tokyo" and an end: more than one reply holds
        (2, [6] * 10, 64, [None] * 10),  # llama.cpp: the first reply alone
        (100, [400, 400], 64, [50, 50]),  # more than one reply may have
        (60, [400, 400], 64, [None, None]),  # may be either
        (60, [400, 400], None, [None, None]),
        (11, [1, 1, 1], 64, [4, 4, 3]),  # the sum is kept
        (0, [0, 0], 64, [None, None]),
    ],
)
def test_tokens_are_shared_only_when_they_must_be_of_all(
    total: int | None, sizes: list[int], bound: int | None, shares: list[int | None]
) -> None:
    assert share_tokens(total, sizes, bound=bound) == shares


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 60), min_size=2, max_size=10), st.integers(60, 100), st.data())
def test_count_of_one_reply_is_never_taken_for_all(
    tokens: list[int], bound: int, data: st.DataObject
) -> None:
    """Whatever bytes its tokens have (one at least), the first reply's count is not shared."""
    sizes = [count * data.draw(st.integers(1, 6)) for count in tokens]
    assert share_tokens(tokens[0], sizes, bound=bound) == [None] * len(tokens)
    shared = share_tokens(sum(tokens), sizes, bound=bound)
    assert shared[0] is None or sum(share or 0 for share in shared) == sum(tokens)


def test_reasoning_tokens_follow_the_same_rule() -> None:
    def read(n: int, total: int) -> list[tuple[int | None, int | None]]:
        data = {
            "choices": [{"message": {"content": "x"}}] * n,
            "usage": {
                "completion_tokens": total,
                "completion_tokens_details": {"reasoning_tokens": total - n},
            },
        }
        found = read_answer(data, n=n, bound=50, latency_s=0.0)
        return [(c.output_tokens, c.reasoning_tokens) for c in found]

    assert read(1, 40) == [(40, 39)]
    assert read(2, 102) == [(51, 50), (51, 50)]
    assert read(2, 3) == [(None, None)] * 2


@pytest.mark.parametrize(
    "usage", [None, [], "x", {"completion_tokens": "7"}, {"prompt_tokens": -1}]
)
def test_strange_usage_is_no_usage(usage: Any) -> None:
    data = {"choices": [{"text": "x"}], "usage": usage, "model": 5}
    (found,) = read_answer(data, n=1, bound=None, latency_s=0.0)
    assert (found.text, found.input_tokens, found.output_tokens) == ("x", None, None)
    assert found.model is None


def test_more_choices_than_asked_for_are_dropped() -> None:
    data = {"choices": [{"text": "a"}, {"text": "b"}]}
    assert [c.text for c in read_answer(data, n=1, bound=None, latency_s=0.0)] == ["a"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "text", "usage", "error", "model"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(JSON, st.integers(1, 3))
def test_any_json_is_read_or_refused(data: Any, n: int) -> None:
    try:
        found = read_answer(data, n=n, bound=5, latency_s=0.0)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
    else:
        assert 1 <= len(found) <= n
        assert all(isinstance(completion.text, str) for completion in found)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"error": {"message": "no", "code": 4}}, "no"),
        ({"error": "no"}, "no"),
        ({"message": "no"}, "no"),
        ({"detail": [{"msg": "no", "loc": []}]}, "no"),
        ([{"error": {"message": "no"}}], "no"),
        ("<html><style>a{}</style>\n<b>no</b></html>", "no"),
        ({"error": {"code": 4}}, ""),
        (None, ""),
        ("x" * 1000, "x" * 400),
    ],
)
def test_words_of_the_server(data: Any, message: str) -> None:
    assert error_message(data) == message


def test_what_speaks_of_the_number_of_replies() -> None:
    assert is_about_n("Field 'n': Value must be between 1 <= value <= 10, but got 11")
    assert is_about_n("only one completion choice is supported")
    assert is_about_n("not enough slots")
    assert not is_about_n("prompt is too long")
    assert not is_about_n("")


def test_nearest_names_come_first() -> None:
    assert nearest("gemma-2b", ["zephyr", "gemma-27b", "gemma-2b-it"])[-1] == "zephyr"


def test_retry_after_forms() -> None:
    assert retry_after_seconds(None) is None
    assert retry_after_seconds("7") == 7.0
    assert retry_after_seconds("-1") is None
    assert retry_after_seconds("nan") is None
    later = datetime.now(UTC) + timedelta(seconds=60)
    found = retry_after_seconds(format_datetime(later, usegmt=True))
    assert found is not None
    assert 55 < found <= 60
    assert retry_after_seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_waits_are_full_jitter_within_their_bounds() -> None:
    retry = Retry(base_s=1.0, cap_s=8.0, longest_s=20.0, rng=Random(1))
    for attempt, bound in ((1, 1.0), (2, 2.0), (4, 8.0), (50, 8.0), (5000, 8.0)):
        waits = [retry.wait_s(attempt, None) for _ in range(500)]
        assert min(waits) >= 0.0
        assert max(waits) <= bound
        assert abs(sum(waits) / 500 - bound / 2) < 0.1 * bound  # uniform: no floor, no lump
    assert 20.0 <= retry.wait_s(1, 1e9) <= 21.0
    assert 3.0 <= retry.wait_s(1, 3.0) <= 4.0


def test_temporary_statuses() -> None:
    assert all(is_temporary(status) for status in (408, 425, 429, 500, 502, 503, 504, 529))
    assert not any(is_temporary(status) for status in (200, 301, 400, 401, 403, 404, 422))


CHOICES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "message": st.fixed_dictionaries(
                    {"content": st.sampled_from(["a", "\u0442\u0430\u043a", None, ["x"]])},
                    optional={"reasoning_content": st.sampled_from([None, "hm"])},
                ),
                "finish_reason": st.sampled_from(["stop", "length", None, 3]),
            },
            optional={"reasoning": st.just("so")},
        ),
        st.sampled_from([{"text": "b"}, {"message": None, "finish_reason": "stop"}]),
    ),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(CHOICES)
def test_the_short_way_reads_what_the_long_one_reads(choices: list[dict[str, Any]]) -> None:
    short = _plain(choices)
    if short is not None:
        assert short == _any_form(choices)
    elif all(isinstance((c.get("message") or {}).get("content"), str) for c in choices):
        assert not all(isinstance(c["finish_reason"], str | None) for c in choices)


def test_the_short_way_leaves_an_error_to_the_long_one() -> None:
    broken = {"message": {"content": "ha"}, "finish_reason": "error", "error": {"message": "lost"}}
    with pytest.raises(ValueError, match="lost"):
        read_answer({"choices": [broken]}, n=1, bound=None, latency_s=0.1)


def test_bytes_of_every_script_are_counted() -> None:
    usage = {"completion_tokens": 12}  # more than the longest has bytes: it covers all
    for text, tokens in (("\u0434\u0430", None), ("da", 6)):
        choices = [{"message": {"content": text * k}, "finish_reason": "stop"} for k in (1, 3)]
        read = read_answer({"choices": choices, "usage": usage}, n=2, bound=None, latency_s=0.1)
        assert [completion.output_tokens for completion in read] == [tokens, tokens]
