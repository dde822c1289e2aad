"""Providers through inspect_ai: the real SDKs against servers that speak their wire formats."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import InputError, MissingExtraError, ModelError, UnknownNameError
from hatscore.grading import Gold
from hatscore.sampling import BenchmarkPlan, Run, RunConfig, SamplingParams, make_client
from hatscore.sampling.clients.inspect import REASONING_ROOM, InspectClient
from hatscore.sampling.clients.provider_answer import error_words
from hatscore.sampling.clients.provider_request import missing_from, refused_parameter
from hatscore.sampling.clients.providers import PROVIDERS
from hatscore.sampling.clients.retry import Retry
from hatscore.sampling.observed import OBSERVED_NAME, read_observed, write_observed
from hatscore.sampling.servers import Limits
from hatscore.sampling.start import run_sampling
from hatscore.sampling.task import Task

KEY = "sk-loopback-0123456789"
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY")
BASES = {"openai": "/v1", "anthropic": "", "google": ""}
HELLO = Prompt("chat", "hello", max_tokens=50)

needs_inspect = pytest.mark.skipif(
    importlib.util.find_spec("inspect_ai") is None, reason="needs the extra providers"
)
# google-genai derives its session from aiohttp's, which aiohttp warns about at import.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Inheritance class AiohttpClientSession:DeprecationWarning"
)


def _load_wire() -> Any:
    """Load the servers by their path: tests are not a package."""
    name = "hatscore_test_wire"
    if name not in sys.modules:
        path = Path(__file__).with_name("wire.py")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


wire = _load_wire()
Refusal = wire.Refusal


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def ask(
    spec: str,
    server: Any,
    *,
    n: int = 1,
    times: int = 1,
    seed: int | None = None,
    prompt: Prompt = HELLO,
    params: SamplingParams | None = None,
    **options: Any,
) -> tuple[InspectClient, list[Any]]:
    """Ask `times` at once; return the client, and the completions or the error of each."""
    params = params or SamplingParams(temperature=None)
    options.setdefault("retry", Retry(tries=3, base_s=0.001))

    async def main() -> tuple[InspectClient, list[Any]]:
        url = server.url + BASES[spec.partition("/")[0]]
        client = InspectClient(spec, base_url=url, **options)
        try:
            asked = [client.complete(prompt, n=n, params=params, seed=seed) for _ in range(times)]
            return client, await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await client.close()

    return asyncio.run(main())


def with_extra(**extra: Any) -> SamplingParams:
    return SamplingParams(temperature=None, extra=extra)


# -- names ---------------------------------------------------------------------------------


@needs_inspect
@pytest.mark.parametrize("provider", PROVIDERS)
def test_providers_are_clients(provider: str) -> None:
    client = make_client(f"{provider}/some/model")
    assert isinstance(client, InspectClient)
    assert (client.kind, client.name, client.mode) == ("inspect", "some/model", "chat")
    assert client.base_url is None


@needs_inspect
@pytest.mark.parametrize("provider", PROVIDERS)
def test_inspect_knows_every_provider(provider: str) -> None:
    from inspect_ai.model._providers import providers

    assert callable(getattr(providers, provider))


def test_unknown_provider_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean .*anthropic/NAME"):
        make_client("antropic/name")


@needs_inspect
def test_what_providers_cannot_do() -> None:
    with pytest.raises(InputError, match="chat prompts only"):
        make_client("openai/gpt-4o", mode="completion")
    with pytest.raises(InputError, match="has no batches"):
        make_client("openai-api/m", base_url="http://h", batch=True)
    client = make_client("mockllm/m")
    with pytest.raises(InputError, match="chat prompts only"):
        asyncio.run(
            client.complete(Prompt("completion", "x"), n=1, params=SamplingParams(), seed=None)
        )
    with pytest.raises(InputError, match="'num_choices' is set by hatscore itself"):
        asyncio.run(client.complete(HELLO, n=1, params=with_extra(num_choices=3), seed=None))


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hatscore\[providers\]'"):
        make_client("openai/gpt-4o")


def test_naming_a_provider_loads_no_sdk() -> None:
    code = (
        "import sys; from hatscore.sampling import make_client; make_client('openai/x');"
        "print(sorted({'inspect_ai', 'openai', 'ray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@needs_inspect
def test_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name)
    with pytest.raises(ModelError, match=r"openai/gpt-4o cannot be used: .*OPENAI_API_KEY"):
        asyncio.run(make_client("openai/gpt-4o").check())


# -- the wire ------------------------------------------------------------------------------


@needs_inspect
def test_openai_chat_brings_several_replies_a_request() -> None:
    params = SamplingParams(temperature=0.7, top_p=0.9, extra={"logit_bias": {"5": 1.0}})
    prompt = Prompt("chat", "hello", stop=("\n",), max_tokens=50)
    with wire.WireServer(reasoning="hm") as server:
        client, [replies] = ask("openai/gpt-4o", server, n=3, params=params, seed=7, prompt=prompt)
    assert server.bodies == [
        {
            "model": "gpt-4o",
            "messages": [{"role": "user", "content": "hello"}],
            "n": 3,
            "temperature": 0.7,
            "top_p": 0.9,
            "logit_bias": {"5": 1.0},
            "seed": 7,
            "stop": ["\n"],
            "max_tokens": 50,
        }
    ]
    assert [r.text for r in replies] == ["reply 0", "reply 1", "reply 2"]
    assert {(r.finish_reason, r.reasoning, r.model) for r in replies} == {
        ("stop", "hm", "gpt-4o-served")
    }
    # 21 and 9 tokens of three replies together; 7 new and 4 cached of the prompt
    assert [(r.input_tokens, r.output_tokens, r.reasoning_tokens) for r in replies] == [
        (11, 7, 3)
    ] * 3
    assert client.notes == ()
    assert client.observed is not None
    assert client.observed["request"]["top_p"] == 0.9
    assert "messages" not in client.observed["request"]
    assert KEY not in json.dumps(client.observed)
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


@needs_inspect
@pytest.mark.parametrize(
    ("spec", "extra", "expected"),
    [
        # Bodies as the vendors' pages describe them for these models.
        (
            "anthropic/claude-haiku-4-5",
            {"reasoning_tokens": 2048},
            {"thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}},
        ),
        (
            "anthropic/claude-sonnet-4-6",
            {"reasoning_effort": "low"},
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "low"},
            },
        ),
        ("anthropic/claude-haiku-4-5", {"reasoning_effort": "none"}, {"thinking": None}),
        (
            "anthropic/claude-opus-4-7",
            {"reasoning_effort": "none"},
            {"thinking": {"type": "disabled"}},
        ),
        (
            "google/gemini-2.5-flash",
            {"reasoning_tokens": 0},
            {"thinkingConfig": {"include_thoughts": False, "thinking_budget": 0}},
        ),
        ("google/gemini-2.5-flash", {}, {"thinkingConfig": {"include_thoughts": True}}),
        (
            "google/gemini-3-flash-preview",
            {"reasoning_effort": "low"},
            {"thinkingConfig": {"include_thoughts": True, "thinking_level": "LOW"}},
        ),
        (
            "google/gemini-3-flash-preview",
            {"reasoning_effort": "minimal"},
            {"thinkingConfig": {"include_thoughts": True, "thinking_level": "MINIMAL"}},
        ),
        (
            "openai/gpt-5-mini",
            {"reasoning_effort": "low"},
            {"reasoning": {"effort": "low", "summary": "auto"}},
        ),
    ],
)
def test_thinking_settings_on_the_wire(
    spec: str, extra: dict[str, Any], expected: dict[str, Any]
) -> None:
    with wire.WireServer(reasoning="because") as server:
        _, [replies] = ask(spec, server, params=with_extra(**extra))
    body = server.bodies[-1]
    sent = body.get("generationConfig", body)
    assert {name: sent.get(name) for name in expected} == expected
    assert replies[0].error is None
    assert (replies[0].text[:6], replies[0].reasoning) == ("reply ", "because")
    assert replies[0].input_tokens == 11
    assert replies[0].output_tokens == 7
    assert replies[0].reasoning_tokens is not None
    assert replies[0].model == f"{spec.partition('/')[2]}-served"


@needs_inspect
@pytest.mark.parametrize(
    ("spec", "extra", "bound"),
    [
        ("openai/gpt-4o", {}, 50),
        ("openai/gpt-5-mini", {}, 50 + REASONING_ROOM),
        ("anthropic/claude-haiku-4-5", {}, 50),
        ("anthropic/claude-haiku-4-5", {"reasoning_tokens": 2048}, 50 + 2048),
        ("google/gemini-2.5-flash", {}, 50 + REASONING_ROOM),
        ("google/gemini-2.5-flash", {"reasoning_tokens": 0}, 50),
    ],
)
def test_answers_have_room_beside_the_reasoning(
    spec: str, extra: dict[str, Any], bound: int
) -> None:
    names = ("max_tokens", "max_output_tokens", "maxOutputTokens")
    bounds = []
    for limit in (None, 3000):  # what the user gives is sent as it is
        with wire.WireServer() as server:
            ask(spec, server, params=SamplingParams(None, max_tokens=limit, extra=extra))
        body = server.bodies[-1]
        sent = body.get("generationConfig", body)
        bounds.append(next(sent[name] for name in names if name in sent))
    assert bounds == [bound, 3000]


@needs_inspect
@pytest.mark.parametrize(
    "spec", ["openai/gpt-4o", "anthropic/claude-haiku-4-5", "google/gemini-2.5-flash"]
)
def test_cut_replies_say_so(spec: str) -> None:
    with wire.WireServer(finish="length") as server:
        _, [replies] = ask(spec, server)
    assert replies[0].finish_reason == "length"


@needs_inspect
def test_fields_outside_the_generation_config_go_into_the_body() -> None:
    with wire.WireServer() as server:
        client, _ = ask(
            "openai/gpt-4o", server, params=with_extra(top_a=0.5, system_message="Be brief")
        )
    assert server.bodies[0]["top_a"] == 0.5
    assert server.bodies[0]["messages"][0] == {"role": "system", "content": "Be brief"}
    assert client.notes == ()


# -- what providers do not take ------------------------------------------------------------


@needs_inspect
def test_dropped_parameters_are_recorded() -> None:
    with wire.WireServer() as server:
        client, outcomes = ask(
            "anthropic/claude-opus-4-7", server, n=4, times=5, seed=3, params=SamplingParams()
        )
    assert all(len(replies) == 1 for replies in outcomes)
    assert not any({"temperature", "seed", "n"} & set(body) for body in server.bodies)
    assert client.observed is not None
    assert client.observed["dropped"] == {"num_choices": 4, "seed": 3, "temperature": 1.0}
    assert client.observed["replies_per_request"] == 1
    assert [" ".join(note.split()[1:4]) for note in client.notes] == [
        "seed=3 is not",
        "temperature=1.0 is not",
        "gives one reply",
    ]


@needs_inspect
def test_refused_parameter_costs_one_request() -> None:
    def refuse(body: dict[str, Any]) -> Any:
        if "temperature" in body:
            return Refusal(400, "Unsupported parameter: 'temperature' with this model.")
        return None

    with wire.WireServer(refuse=refuse) as server:
        client, outcomes = ask("openai/gpt-4o", server, times=20, params=SamplingParams())
    assert all(replies[0].error is None for replies in outcomes)
    assert sum("temperature" in body for body in server.bodies) == 1
    assert len(server.bodies) == 21
    assert client.observed is not None
    assert list(client.observed["refused"]) == ["temperature"]
    assert "temperature" in client.notes[0]


@needs_inspect
def test_refused_value_is_the_users_to_change() -> None:
    refusal = Refusal(400, "temperature: must be between 0 and 1")
    with wire.WireServer(refuse=lambda _: refusal) as server:
        _, [error, *_] = ask("openai/gpt-4o", server, params=SamplingParams(temperature=1.5))
    assert isinstance(error, ModelError)
    assert "must be between 0 and 1" in str(error)
    assert len(server.bodies) == 1


@needs_inspect
def test_refused_number_of_replies() -> None:
    def refuse(body: dict[str, Any]) -> Any:
        if body["generationConfig"].get("candidateCount", 1) > 1:
            return Refusal(400, "Multiple candidates is not enabled for this model")
        return None

    with wire.WireServer(refuse=refuse) as server:
        client, outcomes = ask("google/gemini-3-flash-preview", server, n=10, times=6)
    assert [len(replies) for replies in outcomes] == [1] * 6
    assert len(server.bodies) == 3 + 6  # 10, 5 and 2 are refused, once
    assert "one reply per request" in client.notes[0]
    assert client.limits == Limits(1, 1, "refused")


@needs_inspect
def test_refused_number_of_replies_is_recalled() -> None:
    with wire.WireServer() as server:
        url = server.url + BASES["google"]
        client = InspectClient("google/gemini-3-flash-preview", base_url=url)
        assert (client.server, client.limits) == (url, None)
        client.recall(Limits(1, 1, "refused"))
        params = SamplingParams(temperature=None)

        async def main() -> Any:
            try:
                return await client.complete(HELLO, n=10, params=params, seed=None)
            finally:
                await client.close()

        assert len(asyncio.run(main())) == 1
    assert len(server.bodies) == 1
    assert server.bodies[0]["generationConfig"].get("candidateCount", 1) == 1
    assert client.limits == Limits(1, 1, "refused")
    assert client.notes == (
        "google/gemini-3-flash-preview gives one reply per request, as an earlier start has found",
    )


@needs_inspect
def test_the_environment_says_who_the_provider_is(monkeypatch: pytest.MonkeyPatch) -> None:
    client = InspectClient("openai/gpt-4o")
    assert client.server == "openai"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://other:1/v1")
    assert client.server == "http://other:1/v1"


@needs_inspect
def test_ten_candidates_where_eight_are_allowed() -> None:
    def refuse(body: dict[str, Any]) -> Any:
        if body["generationConfig"].get("candidateCount", 1) > 8:
            return Refusal(400, "candidateCount must be in the range from 1 to 8")
        return None

    with wire.WireServer(refuse=refuse) as server:
        client, [replies] = ask("google/gemini-2.5-flash", server, n=10)
    assert len(replies) == 5
    assert client.notes == ()
    assert client.observed is not None
    assert client.observed["replies_per_request"] == 5


@needs_inspect
@pytest.mark.parametrize(
    ("spec", "extra"),
    [
        ("openai/gpt-4o", {"reasoning_effort": "low"}),
        ("anthropic/claude-opus-4-7", {"reasoning_tokens": 2048}),
        ("google/gemini-2.0-flash", {"reasoning_tokens": 100}),
    ],
)
def test_lost_reasoning_setting_ends_the_run(spec: str, extra: dict[str, Any]) -> None:
    with wire.WireServer() as server:
        _, outcomes = ask(spec, server, times=4, params=with_extra(**extra))
    assert isinstance(outcomes[0], ModelError)
    assert next(iter(extra)) in str(outcomes[0])


@needs_inspect
@pytest.mark.parametrize(
    "spec", ["openai/gpt-4o", "anthropic/claude-haiku-4-5", "google/gemini-2.5-flash"]
)
@pytest.mark.parametrize(("status", "advice"), [(401, "check the key"), (404, "check the name")])
def test_no_way_is_told_at_once(spec: str, status: int, advice: str) -> None:
    refusal = Refusal(status, f"No: {KEY}")
    with wire.WireServer(refuse=lambda _: refusal) as server:
        _, [error] = ask(spec, server)
    assert isinstance(error, ModelError)
    assert f"HTTP {status}: No: [key]; {advice}" in str(error)
    assert len(server.bodies) == 1


@needs_inspect
def test_refusal_of_everything_is_no_table_of_errors() -> None:
    with wire.WireServer(refuse=lambda _: Refusal(400, "no such thing")) as server:
        _, [error] = ask("openai/gpt-4o", server, n=2)
    assert isinstance(error, ModelError)
    assert len(server.bodies) == 2  # one more without the number of replies


@needs_inspect
def test_refusal_of_one_prompt_is_an_error_of_that_prompt() -> None:
    with wire.WireServer() as server:
        server.order.append(None)

        async def main() -> list[Any]:
            client = InspectClient("openai/gpt-4o", base_url=f"{server.url}/v1")
            params = SamplingParams()
            first = await client.complete(HELLO, n=1, params=params, seed=None)
            server.order.append(Refusal(400, "this prompt is odd"))
            second = await client.complete(HELLO, n=1, params=params, seed=None)
            third = await client.complete(HELLO, n=1, params=params, seed=None)
            await client.close()
            return [*first, *second, *third]

        replies = asyncio.run(main())
    assert [r.error for r in replies] == [None, "HTTP 400: this prompt is odd", None]


# -- failures that pass --------------------------------------------------------------------


@needs_inspect
@pytest.mark.parametrize(
    "spec", ["openai/gpt-4o", "anthropic/claude-haiku-4-5", "google/gemini-2.5-flash"]
)
def test_failures_are_tried_again_here_and_nowhere_else(spec: str) -> None:
    with wire.WireServer() as server:
        server.order += [Refusal(429, "slow down"), Refusal(500, "oops")]
        _, [replies] = ask(spec, server)
        assert len(server.bodies) == 3
        server.order += [Refusal(503, "away")] * 3
        _, [failed] = ask(spec, server)
    assert replies[0].error is None
    assert len(server.bodies) == 6
    assert failed[0].text == ""
    assert failed[0].error == "HTTP 503: away (after 3 tries)"


@needs_inspect
def test_a_server_that_asks_for_less_is_heard() -> None:
    heard = []
    with wire.WireServer() as server:
        server.order.append(Refusal(429, "slow down", headers=(("Retry-After", "0.01"),)))

        async def main() -> None:
            client = InspectClient("openai/gpt-4o", base_url=f"{server.url}/v1")
            client.retry = Retry(base_s=0.001)
            client.on_pushback = lambda after, _: heard.append(after)
            await client.complete(HELLO, n=1, params=SamplingParams(), seed=None)
            await client.close()

        asyncio.run(main())
    assert heard == [0.01]


@needs_inspect
def test_late_answers() -> None:
    with wire.WireServer(latency_s=5) as server:
        _, [replies] = ask("openai/gpt-4o", server, timeout_s=0.05, retry=Retry(tries=1))
    assert replies[0].error == "no answer within 0.05 s"


# -- batches -------------------------------------------------------------------------------


@needs_inspect
# inspect's batcher leaves the streams of its requests to the garbage collector.
@pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning")
def test_batches() -> None:
    batch = {"size": 4, "send_delay": 0.05, "tick": 0.02}
    with wire.WireServer() as server:
        client, outcomes = ask(
            "openai/gpt-4o", server, n=2, times=5, params=SamplingParams(), batch=batch
        )
    assert sorted(r.text for replies in outcomes for r in replies) == sorted(
        f"reply {number}" for number in range(10)
    )
    assert len(server.bodies) == 1  # the first goes out alone, to find out what is taken
    [created] = server.batches.values()
    lines = [json.loads(line) for line in server.files[created["input_file_id"]].splitlines()]
    assert [line["body"]["n"] for line in lines] == [2] * 4
    assert client.notes == ()
    gc.collect()


@needs_inspect
def test_a_batch_has_no_pace_to_follow() -> None:
    from hatscore.sampling.pace import Paced

    assert isinstance(make_client("openai/gpt-4o"), Paced)
    assert not isinstance(make_client("openai/gpt-4o", batch=True), Paced)


# -- a run ---------------------------------------------------------------------------------


def tasks(number: int = 4, repeats: int = 3) -> list[Task]:
    return [
        Task("toy", Item(f"{i}", tag, "en", f"{i}?", Gold("number", "1")), HELLO, repeats)
        for tag in ("en", "sw")
        for i in range(number)
    ]


def config(spec: str, client: Any, params: SamplingParams) -> RunConfig:
    plan = BenchmarkPlan("toy", "1", ("en", "sw"), "en", 3)
    return RunConfig(spec, client.kind, client.name, "chat", "native", params, (plan,))


@needs_inspect
def test_run_through_a_provider_keeps_what_was_observed(tmp_path: Path) -> None:
    params = SamplingParams(extra={"reasoning_effort": "low"})
    spec = "anthropic/claude-sonnet-4-6"
    with wire.WireServer(reasoning="because") as server:
        client = make_client(spec, base_url=server.url)
        with Run.create_or_resume(tmp_path, config(spec, client, params)) as run:
            summary = run_sampling(run, tasks(), client, concurrency=4)
            stored = [response for _, response in run.store.rows()]
    assert summary.complete
    assert len(stored) == 24
    assert {(r.reasoning, r.output_tokens) for r in stored} == {("because", 7)}
    assert any("temperature=1.0 is not sent" in warning for warning in summary.warnings)
    [entry] = read_observed(tmp_path)
    assert entry["request"]["output_config"] == {"effort": "low"}
    assert entry["dropped"] == {"num_choices": 3, "temperature": 1.0}
    assert not any(
        KEY in path.read_text(encoding="utf-8", errors="replace") for path in tmp_path.iterdir()
    )


@needs_inspect
def test_run_through_mockllm(tmp_path: Path) -> None:
    client = make_client("mockllm/model")
    with Run.create_or_resume(tmp_path, config("mockllm/model", client, SamplingParams())) as run:
        summary = run_sampling(run, tasks(), client)
        texts = {response.text for _, response in run.store.rows()}
    assert (summary.complete, summary.new) == (True, 24)
    assert texts == {"Default output from mockllm/model"}


@needs_inspect
def test_mockllm_with_given_outputs() -> None:
    from inspect_ai.model import ModelOutput, ModelUsage

    seen = []

    def output(messages: Any, _tools: Any, _choice: Any, given: Any) -> Any:
        seen.append((messages[-1].text, given.reasoning_effort, given.temperature))
        made = ModelOutput.from_content(model="mockllm", content="41", stop_reason="max_tokens")
        made.usage = ModelUsage(input_tokens=2, output_tokens=9, reasoning_tokens=8)
        return made

    client = InspectClient("mockllm/m", model_args={"custom_outputs": output})
    params = SamplingParams(extra={"reasoning_effort": "high"})
    [reply] = asyncio.run(client.complete(HELLO, n=1, params=params, seed=None))
    assert (reply.text, reply.finish_reason) == ("41", "length")
    assert (reply.input_tokens, reply.output_tokens, reply.reasoning_tokens) == (2, 9, 8)
    assert seen == [("hello", "high", 1.0)]


def test_observed_are_added_once_and_never_lost(tmp_path: Path) -> None:
    assert read_observed(tmp_path) == []
    write_observed(tmp_path, {"dropped": {"seed": 1}})
    write_observed(tmp_path, {"dropped": {"seed": 1}})
    write_observed(tmp_path, {"dropped": {}})
    assert [entry["dropped"] for entry in read_observed(tmp_path)] == [{"seed": 1}, {}]
    (tmp_path / OBSERVED_NAME).write_text("{}")
    with pytest.raises(InputError, match="expected a list, got dict"):
        write_observed(tmp_path, {})


# -- words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("`temperature` is deprecated for this model.", "temperature"),
        ("Unsupported parameter: 'stop' is not supported with this model.", "stop_seqs"),
        ("Unsupported value: 'top_p'", "top_p"),
        ("Multiple candidates is not enabled for this model", "num_choices"),
        ("model: x does not exist", None),
        ("Please stop sending requests", None),
        ("messages: text content blocks must be non-empty", None),
    ],
)
def test_what_a_refusal_is_about(message: str, name: str | None) -> None:
    asked = ("num_choices", "temperature", "top_p", "seed", "stop_seqs")
    assert refused_parameter(message, asked) == name
    assert refused_parameter(message, ()) is None


NAMES = ["temperature", "top_p", "seed", "num_choices", "stop_seqs", "reasoning_effort"]
WRAPS = ["generation_config", "extra_body", "output_config"]


@settings(derandomize=True, deadline=None)
@given(st.sets(st.sampled_from(NAMES)), st.lists(st.sampled_from(WRAPS)))
def test_what_is_in_a_request_is_not_missing(sent: set[str], wraps: list[str]) -> None:
    forms = {"num_choices": "candidateCount", "stop_seqs": "stopSequences", "top_p": "topP"}
    request: dict[str, Any] = {forms.get(name, name): 1 for name in sent}
    for wrap in wraps:
        request = {wrap: request, "temperature": None}
    request["messages"] = [{"seed": 1, "temperature": 1}]
    assert missing_from(request, NAMES) == [name for name in NAMES if name not in sent]


def test_errors_are_one_line_without_keys_and_marks() -> None:
    error = RuntimeError(f"[bold]No[/bold]\n  way {KEY}")
    assert error_words(error) == "No way [key]"
    assert error_words(TimeoutError()) == "TimeoutError"
