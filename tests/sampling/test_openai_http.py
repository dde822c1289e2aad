"""The HTTP client against a real server that misbehaves on order."""

from __future__ import annotations

import asyncio
import socket
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.benchmarks.base import Prompt
from hatscore.errors import InputError, ModelError
from hatscore.sampling import SamplingParams
from hatscore.sampling.clients.openai_http import OpenAIClient
from hatscore.sampling.clients.retry import Retry
from hatscore.sampling.servers import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatscore.sampling import Completion

    Serve = Callable[..., Any]

CHAT = Prompt("chat", "how many", ("\n",), 32)
PLAIN = Prompt("completion", "two and two is", (), 16)
QUICK = Retry(tries=4, base_s=0.001, cap_s=0.002, rng=Random(0))


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HATSCORE_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def ask(
    server: Any,
    n: int = 1,
    *,
    prompt: Prompt = CHAT,
    params: SamplingParams | None = None,
    seed: int | None = None,
    **options: Any,
) -> list[Completion]:
    async def main() -> list[Completion]:
        client = OpenAIClient("test-model", server.url, **{"retry": QUICK, **options})
        try:
            return await client.complete(prompt, n=n, params=params or SamplingParams(), seed=seed)
        finally:
            await client.close()

    return asyncio.run(main())


def check(url: str, name: str = "test-model", **options: Any) -> None:
    async def main() -> None:
        client = OpenAIClient(name, url, **options)
        try:
            await client.check()
        finally:
            await client.close()

    asyncio.run(main())


def test_chat_body_is_exactly_what_was_asked_for(model_server: Serve) -> None:
    server = model_server()
    params = SamplingParams(temperature=0.7, top_p=0.9, extra={"top_k": 5})
    (reply,) = ask(server, params=params, seed=11)
    assert reply.text in ("right", "wrong")
    assert (reply.finish_reason, reply.model, reply.error) == ("stop", "test-model", None)
    assert (reply.input_tokens, reply.output_tokens) == (2, 2)
    assert reply.latency_s is not None
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.authorization is None
    assert request.body == {
        "model": "test-model",
        "messages": [{"role": "user", "content": "how many"}],
        "max_tokens": 32,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 11,
        "stop": ["\n"],
        "top_k": 5,
    }


def test_completion_body_leaves_out_what_is_none(model_server: Serve) -> None:
    server = model_server()
    ask(server, 3, prompt=PLAIN, params=SamplingParams(temperature=None, max_tokens=5))
    (request,) = server.requests
    assert request.path == "/v1/completions"
    assert request.body == {
        "model": "test-model",
        "prompt": "two and two is",
        "n": 3,
        "max_tokens": 5,
    }


def test_own_fields_cannot_be_overridden(model_server: Serve) -> None:
    server = model_server()
    with pytest.raises(InputError, match="extra field 'n' is set by hatscore itself"):
        ask(server, params=SamplingParams(extra={"n": 4}))
    assert not server.requests


@pytest.mark.parametrize(
    ("limit", "beyond", "asked", "got"),
    [
        (None, "refuse", [10], 10),
        (3, "refuse", [10, 5, 2], 2),
        (6, "refuse silently", [10, 5], 5),
        (1, "refuse", [10, 5, 2, 1], 1),
        (1, "refuse silently", [10, 5, 2, 1], 1),
        (1, "ignore", [10], 1),
        (3, "ignore", [10], 3),
    ],
)
def test_number_of_replies_is_found_and_remembered(
    model_server: Serve, limit: int | None, beyond: str, asked: list[int], got: int
) -> None:
    server = model_server(n_limit=limit, beyond=beyond)

    async def main() -> list[int]:
        client = OpenAIClient("test-model", server.url, retry=QUICK)
        try:
            return [
                len(await client.complete(CHAT, n=10, params=SamplingParams(), seed=None))
                for _ in range(3)
            ]
        finally:
            await client.close()

    assert asyncio.run(main()) == [got] * 3
    assert [request.n for request in server.requests] == [*asked, got, got]


def test_only_one_request_probes_the_number(model_server: Serve) -> None:
    server = model_server(n_limit=2, latency_s=0.01)

    async def main() -> None:
        client = OpenAIClient("test-model", server.url, retry=QUICK)
        calls = [client.complete(CHAT, n=8, params=SamplingParams(), seed=None) for _ in range(20)]
        replies = await asyncio.gather(*calls)
        await client.close()
        assert [len(found) for found in replies] == [2] * 20

    asyncio.run(main())
    assert sorted(request.n for request in server.requests) == [2] * 20 + [4, 8]
    assert server.most_under_way > 5  # and once it is known, they go together


def test_refusal_after_success_is_of_that_prompt_alone(model_server: Serve, fault: Any) -> None:
    server = model_server()

    async def main() -> list[list[Completion]]:
        client = OpenAIClient("test-model", server.url, retry=QUICK)
        found = []
        try:
            for _ in range(3):
                found.append(await client.complete(CHAT, n=4, params=SamplingParams(), seed=None))
                server.order(fault(status=400, json={"error": {"message": "no such thing"}}))
                found.append(await client.complete(CHAT, n=4, params=SamplingParams(), seed=None))
        finally:
            await client.close()
        return found

    found = asyncio.run(main())
    assert [request.n for request in server.requests] == [4] * 6
    for replies in found[1::2]:
        assert [r.error for r in replies] == [
            "the server refuses this prompt: HTTP 400: no such thing"
        ] * 4
    assert all(r.error is None for replies in found[::2] for r in replies)


def test_a_prompt_that_is_too_long_says_nothing_of_the_number(
    model_server: Serve, fault: Any
) -> None:
    server = model_server()
    words = "This model's maximum context length is 8192 tokens."
    server.order(*[fault(status=400, json={"error": {"message": words}})] * 3)  # n = 4, 2, 1

    async def main() -> tuple[list[Completion], list[Completion], Limits | None]:
        client = OpenAIClient("test-model", server.url, retry=QUICK)
        try:
            first = await client.complete(CHAT, n=4, params=SamplingParams(), seed=None)
            then = await client.complete(CHAT, n=4, params=SamplingParams(), seed=None)
            return first, then, client.limits
        finally:
            await client.close()

    first, then, limits = asyncio.run(main())
    assert {r.error for r in first} == {f"the server refuses this prompt: HTTP 400: {words}"}
    assert [r.error for r in then] == [None] * 4
    assert limits == Limits(4)


@pytest.mark.parametrize("status", [500, 501])
def test_a_server_that_fails_at_several_replies_is_asked_for_one(
    model_server: Serve, status: int
) -> None:
    server = model_server(right=lambda _: "x", wrong=lambda _: "x")
    answer = server._answer

    def one_only(asked: Any) -> Any:
        if asked.n > 1:
            return type(answer(asked))(status=status, text="n > 1 is not implemented")
        return answer(asked)

    server._answer = one_only

    async def main() -> tuple[list[int], Limits | None]:
        client = OpenAIClient("test-model", server.url, retry=QUICK)
        try:
            came = [
                await client.complete(CHAT, n=4, params=SamplingParams(), seed=None)
                for _ in range(4)
            ]
            assert all(r.error is None for replies in came for r in replies)
            return [len(replies) for replies in came], client.limits
        finally:
            await client.close()

    came, limits = asyncio.run(main())
    assert came == [1] * 4
    assert limits == Limits(1, 1, "refused")
    assert sum(request.n > 1 for request in server.requests) <= 2 * QUICK.tries


def test_tokens_per_reply_only_when_certain(model_server: Serve) -> None:
    every = ask(model_server(usage="all", right=lambda _: "x", wrong=lambda _: "x"), 4)
    assert [reply.output_tokens for reply in every] == [2] * 4
    first = ask(model_server(usage="first", right=lambda _: "x", wrong=lambda _: "x"), 4)
    assert [reply.output_tokens for reply in first] == [None] * 4
    alone = ask(model_server(usage="first"), 1)
    assert alone[0].output_tokens == 2
    silent = ask(model_server(usage="none"), 1)
    assert (silent[0].input_tokens, silent[0].output_tokens) == (None, None)


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": None}, "", None),
        ({"content": "4", "reasoning_content": "two twos"}, "4", "two twos"),
        ({"content": "4", "reasoning": "two twos"}, "4", "two twos"),
        ({"content": None, "reasoning_content": "cut"}, "", "cut"),
        ({}, "", None),
        ({"content": [{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]}, "42", None),
        ({"content": "half \ud83d"}, "half \ud83d", None),
    ],
)
def test_content_of_a_message(
    model_server: Serve, message: dict[str, Any], text: str, reasoning: str | None
) -> None:
    (reply,) = ask(model_server(message=lambda _: message))
    assert (reply.text, reply.reasoning, reply.error) == (text, reasoning, None)


def test_finish_reason_is_kept(model_server: Serve) -> None:
    (reply,) = ask(
        model_server(finish_reason="content_filter", message=lambda _: {"content": None})
    )
    assert (reply.text, reply.finish_reason, reply.error) == ("", "content_filter", None)


def test_prompt_filtered_with_400_is_a_reply_not_a_failure(model_server: Serve, fault: Any) -> None:
    server = model_server()
    server.order(fault(status=400, json={"error": {"code": "content_filter", "message": "no"}}))
    replies = ask(server, 2)
    assert [(r.text, r.finish_reason, r.error) for r in replies] == [
        ("", "content_filter", None)
    ] * 2


FAULTS = {
    "429": {"status": 429, "json": {"error": {"message": "slow down"}}},
    "429 with Retry-After": {"status": 429, "headers": {"Retry-After": "0"}},
    "500": {"status": 500, "text": "oops"},
    "502 page": {"status": 502, "text": "<html><style>x{}</style><h1>Bad Gateway</h1></html>"},
    "503": {"status": 503},
    "504": {"status": 504},
    "reset": {"reset": "before"},
    "reset in the body": {"reset": "middle"},
    "no JSON": {"text": '{"choices": [{"mess'},
    "a page with 200": {"text": "<html>please log in</html>"},
    "JSON of another kind": {"json": ["hello"]},
    "no choices": {"json": {"choices": []}},
    "error with 200": {"json": {"error": {"message": "upstream is down"}}},
    "error in a choice": {
        "json": {"choices": [{"message": {"content": "he"}, "finish_reason": "error"}]}
    },
    "choices of another kind": {"json": {"choices": ["text"]}},
    "content of another kind": {"json": {"choices": [{"message": {"content": 7}}]}},
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_may_pass_is_tried_again(model_server: Serve, fault: Any, name: str) -> None:
    server = model_server()
    server.order(*[fault(**FAULTS[name])] * 3)
    (reply,) = ask(server)
    assert reply.error is None
    assert reply.text in ("right", "wrong")
    assert len(server.requests) == 4


@pytest.mark.parametrize("name", FAULTS)
def test_what_does_not_pass_becomes_an_error_per_reply(
    model_server: Serve, fault: Any, name: str
) -> None:
    server = model_server()
    server.always = fault(**FAULTS[name])
    replies = ask(server, 3)
    assert len(replies) == 3
    assert len(server.requests) == 4  # tries
    for reply in replies:
        assert reply.text == ""
        assert reply.error is not None
        assert reply.error.endswith("(after 4 tries)")
        assert "<" not in reply.error
    status = FAULTS[name].get("status")
    if status:
        assert f"HTTP {status}" in (replies[0].error or "")


def test_error_keeps_the_words_of_the_server(model_server: Serve, fault: Any) -> None:
    server = model_server()
    server.always = fault(**FAULTS["502 page"])
    assert ask(server)[0].error == "HTTP 502: Bad Gateway (after 4 tries)"


def test_retry_after_is_waited_for(model_server: Serve, fault: Any) -> None:
    server = model_server()
    server.order(fault(status=429, headers={"Retry-After": "0.3"}))
    start = time.monotonic()
    assert ask(server)[0].error is None
    assert 0.3 <= time.monotonic() - start < 3


def test_hang_ends_with_the_timeout(model_server: Serve, fault: Any) -> None:
    server = model_server()
    server.order(fault(hang_s=30), fault(hang_s=30))
    start = time.monotonic()
    (reply,) = ask(server, timeout_s=0.2, retry=Retry(tries=2, base_s=0.001))
    assert reply.error == "no answer within 0.2 s (after 2 tries)"
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "check the parameters"),
        (401, "no key is set: set HATSCORE_API_KEY or OPENAI_API_KEY"),
        (403, "no key is set"),
        (404, "check the address and the model name"),
        (422, "check the parameters"),
        (302, "name the final address"),
    ],
)
def test_permanent_refusal_is_no_storm(
    model_server: Serve, fault: Any, status: int, words: str
) -> None:
    server = model_server()
    server.always = fault(status=status, json={"error": {"message": "said the server"}})
    with pytest.raises(ModelError, match=words) as caught:
        ask(server)
    assert f"HTTP {status}: said the server" in str(caught.value)
    assert "/v1/chat/completions" in str(caught.value)
    assert len(server.requests) == 1


def test_refused_parameter_with_many_replies_ends_after_a_few_requests(
    model_server: Serve, fault: Any
) -> None:
    server = model_server()
    server.always = fault(status=400, json={"detail": [{"msg": "top_k: unknown"}]})
    with pytest.raises(ModelError, match="top_k: unknown"):
        ask(server, 10)
    assert [request.n for request in server.requests] == [10, 5, 2, 1]


def test_empty_account_is_not_waited_for(model_server: Serve, fault: Any) -> None:
    server = model_server()
    server.always = fault(
        status=429, json={"error": {"code": "insufficient_quota", "message": "pay first"}}
    )
    with pytest.raises(ModelError, match="pay first"):
        ask(server)
    assert len(server.requests) == 1


def test_newer_name_of_the_token_bound_is_taken(model_server: Serve, fault: Any) -> None:
    server = model_server()
    words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server.order(fault(status=400, json={"error": {"message": words}}))
    assert len(ask(server, 3)) == 3
    assert [request.n for request in server.requests] == [3, 3]
    assert server.requests[1].body["max_completion_tokens"] == 32
    assert "max_tokens" not in server.requests[1].body


@pytest.mark.parametrize("variable", ["HATSCORE_API_KEY", "OPENAI_API_KEY"])
def test_key_is_sent_and_never_shown(
    model_server: Serve, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    server = model_server(key="sk-right")
    monkeypatch.setenv(variable, "sk-right")
    assert ask(server)[0].error is None
    monkeypatch.setenv(variable, "sk-wrong")
    with pytest.raises(ModelError, match="the key was refused") as caught:
        ask(server)
    assert "sk-wrong" not in str(caught.value)
    with pytest.raises(ModelError, match="the key was refused") as caught:
        check(server.url)
    assert "sk-wrong" not in str(caught.value)


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/models"])
def test_check_takes_every_form_of_the_address(model_server: Serve, ending: str) -> None:
    check(model_server().url + ending)


def test_check_names_the_served_models_nearest_first(model_server: Serve) -> None:
    server = model_server(models=("aya-8b", "qwen-2.5-7b", "qwen-2.5-14b"))
    with pytest.raises(ModelError, match=r"it serves qwen-2\.5-7b, qwen-2\.5-14b, aya-8b"):
        check(server.url, "qwen2.5-7b")
    check(model_server(models=("org/qwen",)).url, "qwen")


def test_check_waits_while_the_model_loads(model_server: Serve) -> None:
    check(model_server(loading=2).url, loading_s=5.0)
    with pytest.raises(ModelError, match="HTTP 503: Loading model"):
        check(model_server(loading=1000).url, loading_s=0.1)


def test_check_without_a_server_names_the_address() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ModelError, match=f"no answer from {url}/v1/models: .*start the server"):
            check(url)


def test_unknown_model_met_while_sampling(model_server: Serve) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        ask(model_server(models=("other",)))
