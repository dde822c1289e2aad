"""Every fault of a server: what becomes of its replies, and that the score does not move."""

from __future__ import annotations

import asyncio
import time
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hatscore import hat_score
from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import ModelError
from hatscore.grading import grade
from hatscore.grading.answer import Gold
from hatscore.sampling import SamplingParams, Store, Summary, Task, sample
from hatscore.sampling.clients.openai_http import OpenAIClient
from hatscore.sampling.clients.retry import Breaker, Retry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Serve = Callable[..., Any]

ITEMS, REPEATS = 30, 6
QUICK = Retry(tries=6, base_s=0.001, cap_s=0.004, rng=Random(0))


def tasks() -> list[Task]:
    """Targets first: the first requests are the ones that meet what is ordered."""
    return [
        Task(
            "b",
            Item(str(i), language, "en", f"Q{i}", Gold("number", str(i), language, "en")),
            Prompt("chat", f"{language} {i}"),
            REPEATS,
        )
        for language in ("sw", "en")
        for i in range(ITEMS)
    ]


def right(prompt: str) -> str:
    return f"The answer is {prompt.split()[1]}."


def serve(model_server: Serve, **options: Any) -> Any:
    chances = {"en": 0.8, "sw": 0.5}
    return model_server(
        probability=lambda prompt: chances[prompt[:2]],
        right=right,
        wrong=lambda _: "The answer is 999.",
        **options,
    )


def run_once(server: Any, path: Path, *, retry: Retry = QUICK, **options: Any) -> Summary:
    async def main() -> Summary:
        client = OpenAIClient("test-model", server.url, retry=retry, **options)
        with Store(path) as store:
            try:
                return await sample(
                    store, tasks(), client, params=SamplingParams(seed=3), concurrency=4
                )
            finally:
                await client.close()

    return asyncio.run(main())


def statuses(path: Path) -> dict[tuple[str, int, str], list[str]]:
    """Return the graded replies by language and item."""
    found: dict[Any, list[str]] = {}
    with Store(path, read_only=True) as store:
        for item, row in store.rows():
            status = grade(row.reply, item.gold).status
            found.setdefault((item.language, int(item.item)), []).append(status)
    return found


def hat(found: Mapping[Any, list[str]], *, lost_are: bool | None = None) -> float:
    """Return the score; lost target replies are left out, or all right, or all wrong."""

    def counts(language: str, *, fill: bool | None) -> tuple[np.ndarray, np.ndarray]:
        k = np.array([found[language, i].count("correct") for i in range(ITEMS)])
        lost = np.array([found[language, i].count("error") for i in range(ITEMS)])
        if fill is None:
            return k, REPEATS - lost
        return k + (lost if fill else 0), np.full(ITEMS, REPEATS)

    k_source, n_source = counts("en", fill=None)
    k_target, n_target = counts("sw", fill=lost_are)
    return hat_score(k_source, n_source, k_target, n_target).value


PASSING = {
    "429": {"status": 429},
    "429 with Retry-After": {"status": 429, "headers": {"Retry-After": "0.05"}},
    "500": {"status": 500, "text": "oops"},
    "502 with a page": {"status": 502, "text": "<html><h1>Bad Gateway</h1></html>"},
    "reset in the body": {"reset": "middle"},
    "hang": {"hang_s": 30.0},
    "invalid JSON": {"text": '{"choices": [{"mess'},
}


@pytest.fixture
def clean(model_server: Serve, tmp_path: Path) -> dict[Any, list[str]]:
    assert run_once(serve(model_server), tmp_path / "clean").complete
    return statuses(tmp_path / "clean")


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_leaves_no_trace(
    model_server: Serve, fault: Any, tmp_path: Path, clean: dict[Any, list[str]], name: str
) -> None:
    server = serve(model_server)
    server.order(*[fault(**PASSING[name])] * 8)
    summary = run_once(server, tmp_path / "r", timeout_s=0.3)
    assert summary.complete
    assert summary.errors == 0
    found = statuses(tmp_path / "r")
    assert found == clean  # reply for reply: seeds do not depend on tries
    assert hat(found) == hat(clean)


@pytest.mark.parametrize("name", PASSING)
def test_what_does_not_pass_is_an_error_and_stays_within_its_bounds(
    model_server: Serve, fault: Any, tmp_path: Path, clean: dict[Any, list[str]], name: str
) -> None:
    server = serve(model_server)
    server.order(*[fault(**PASSING[name])] * 6)
    summary = run_once(server, tmp_path / "r", retry=Retry(tries=1), timeout_s=0.3)
    assert not summary.complete
    found = statuses(tmp_path / "r")
    lost = sum(status.count("error") for status in found.values())
    assert lost == summary.errors == 6 * REPEATS
    kept = {key: value for key, value in found.items() if "error" not in value}
    assert kept.items() <= clean.items()
    assert all("correct" not in v and "wrong" not in v for v in found.values() if "error" in v)
    # the bounds that the report gives: every lost target reply wrong, or every one right
    assert hat(found, lost_are=False) <= hat(clean) <= hat(found, lost_are=True)
    assert run_once(server, tmp_path / "r").complete  # the next start asks for them again
    assert statuses(tmp_path / "r") == clean


@pytest.mark.parametrize(
    ("options", "status", "ends"),
    [
        ({"message": lambda _: {"content": ""}}, "empty", "empty"),
        ({"message": lambda _: {"content": " \n"}}, "empty", "empty"),
        (
            {"message": lambda text: {"content": None, "reasoning_content": text}},
            "empty",
            "empty",
        ),
        (
            {
                "message": lambda text: {"content": None, "reasoning": text},
                "finish_reason": "length",
            },
            "truncated",
            "cut",
        ),
        ({"finish_reason": "content_filter"}, "refused", "refused"),
        (
            {"message": lambda _: {"content": "It is"}, "finish_reason": "length"},
            "truncated",
            "cut",
        ),
        ({"message": lambda _: {"content": "I do not know"}}, "unparsed", "answered"),
    ],
)
def test_replies_that_are_no_answers(
    model_server: Serve, tmp_path: Path, options: dict[str, Any], status: str, ends: str
) -> None:
    progress = []
    server = serve(model_server, **options)

    async def main() -> None:
        client = OpenAIClient("test-model", server.url, retry=QUICK)
        with Store(tmp_path / "r") as store:
            await sample(store, tasks(), client, params=SamplingParams(), progress=progress.append)
        await client.close()

    asyncio.run(main())
    found = statuses(tmp_path / "r")
    assert {s for replies in found.values() for s in replies} == {status}
    last = progress[-1].endings
    assert set(last) == {"en", "sw"}
    for ends_of in last.values():
        assert {name for name, count in ends_of.items() if count} == {ends}


def test_one_model_name_that_is_wrong_stops_the_run(model_server: Serve, tmp_path: Path) -> None:
    server = serve(model_server, returned_name=lambda i: "other" if i >= 20 else "test-model")
    with pytest.raises(ModelError, match="answers as 'other' now and as 'test-model' before"):
        run_once(server, tmp_path / "r")
    with Store(tmp_path / "r", read_only=True) as store:
        assert store.models() == ("test-model",)


@pytest.mark.parametrize(
    ("limit", "beyond"), [(1, "ignore"), (2, "ignore"), (1, "refuse"), (3, "refuse")]
)
def test_servers_that_do_not_take_n(
    model_server: Serve, tmp_path: Path, limit: int, beyond: str
) -> None:
    server = serve(model_server, n_limit=limit, beyond=beyond)
    summary = run_once(server, tmp_path / "r")
    assert summary.complete
    assert summary.new == 2 * ITEMS * REPEATS
    noticed = any("one reply per request" in w for w in summary.warnings)
    assert noticed == (limit == 1)
    # remembered: no more than the first few requests ask for too much
    assert sum(request.n > limit for request in server.requests) <= 4


def test_equal_ids_and_indices_are_no_reason_to_merge(
    model_server: Serve, fault: Any, tmp_path: Path
) -> None:
    server = serve(model_server)
    choice = {"index": 0, "message": {"content": "4"}, "finish_reason": "stop"}
    same = {"id": "same", "model": "test-model", "choices": [choice] * REPEATS}
    server.always = fault(json=same)
    assert run_once(server, tmp_path / "r").complete
    assert all(len(replies) == REPEATS for replies in statuses(tmp_path / "r").values())


# -- one request's budget, and the breaker -----------------------------------------------------


def test_a_request_is_given_up_when_its_time_is_spent(model_server: Serve, fault: Any) -> None:
    server = serve(model_server)
    server.always = fault(status=500)
    retry = Retry(tries=1000, base_s=0.02, cap_s=0.02, budget_s=0.2, open_after=10**6)

    async def main() -> str | None:
        client = OpenAIClient("test-model", server.url, retry=retry)
        start = time.monotonic()
        (reply,) = await client.complete(
            Prompt("chat", "sw 1"), n=1, params=SamplingParams(), seed=None
        )
        await client.close()
        assert time.monotonic() - start < 2
        return reply.error

    error = asyncio.run(main())
    assert error is not None
    assert error.startswith("HTTP 500 (after ")
    assert 5 < len(server.requests) < 200


def test_a_server_that_goes_and_comes_is_spared_and_nothing_is_lost(
    model_server: Serve, fault: Any, tmp_path: Path, clean: dict[Any, list[str]]
) -> None:
    server = serve(model_server)
    server.always = fault(status=500)
    retry = Retry(tries=40, base_s=0.02, cap_s=0.05, open_after=6)

    def back(_: object) -> None:
        server.always = None

    async def main() -> Summary:
        client = OpenAIClient("test-model", server.url, retry=retry)
        asyncio.get_running_loop().call_later(0.5, back, None)
        with Store(tmp_path / "r") as store:
            try:
                return await sample(
                    store, tasks(), client, params=SamplingParams(seed=3), concurrency=8
                )
            finally:
                await client.close()

    summary = asyncio.run(main())
    assert summary.complete
    assert summary.errors == 0
    assert statuses(tmp_path / "r") == clean
    # eight at once for half a second would have been hundreds without the breaker
    assert len(server.requests) - summary.requests < 80


def test_a_server_that_stays_away_ends_the_run(
    model_server: Serve, fault: Any, tmp_path: Path
) -> None:
    server = serve(model_server)
    server.always = fault(status=502, text="<h1>Bad Gateway</h1>")
    retry = Retry(tries=1000, base_s=0.01, cap_s=0.02, open_after=5, give_up_s=0.3)
    with pytest.raises(ModelError, match=r"has not answered for 0 s: HTTP 502: Bad Gateway; what"):
        run_once(server, tmp_path / "r", retry=retry)
    assert not statuses(tmp_path / "r")  # no reply was given up for it


def test_the_breaker_lets_one_look_at_a_time() -> None:
    async def main() -> None:
        breaker = Breaker(Retry(base_s=0.01, cap_s=0.01, open_after=3), "the server")
        for _ in range(2):
            breaker.failed("no")
        assert not breaker.is_open
        breaker.answered()
        for _ in range(3):
            breaker.failed("no")
        assert breaker.is_open
        turns = [asyncio.create_task(breaker.turn()) for _ in range(5)]
        await asyncio.sleep(0.1)
        assert sum(turn.done() for turn in turns) == 1
        breaker.failed("still no")
        await asyncio.sleep(0.1)
        assert sum(turn.done() for turn in turns) == 2
        breaker.answered()
        await asyncio.gather(*turns)

    asyncio.run(main())
