"""Budgets: what a run may use, kept over all its starts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import InputError
from hatscore.grading.answer import Gold
from hatscore.sampling import (
    Budget,
    Completion,
    Progress,
    SamplingParams,
    Store,
    Summary,
    Task,
    Usage,
    sample,
)
from hatscore.sampling.budget import Meter
from hatscore.sampling.clients.openai_http import OpenAIClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[..., Any]

PROMPT = Prompt("chat", "three words here")  # the test server counts words


def make(items: int, repeats: int) -> list[Task]:
    gold = Gold("number", "1", "sw", "en")
    return [Task("b", Item(str(i), "sw", "en", "q", gold), PROMPT, repeats) for i in range(items)]


def run_once(
    server: Any, path: Path, tasks: list[Task], budget: Budget | None, **options: Any
) -> tuple[Summary, Usage]:
    async def main() -> tuple[Summary, Usage]:
        client = OpenAIClient("test-model", server.url)
        with Store(path) as store:
            summary = await sample(
                store,
                tasks,
                client,
                params=SamplingParams(),
                budget=budget,
                used=store.usage(),
                **options,
            )
            await client.close()
            return summary, store.usage()

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_replies": 0}, "max_replies 0: expected a positive number"),
        ({"max_tokens": -5}, "max_tokens -5"),
        ({"max_cost": float("inf"), "price_in": 1, "price_out": 1}, "max_cost inf"),
        ({"price_in": -1.0, "price_out": 1}, "price_in -1.0: expected USD per million tokens"),
        ({"price_in": 1.0}, "price_out is missing"),
        ({"price_out": 1.0}, "price_in is missing"),
        ({"max_cost": 2.5}, "max_cost 2.5 USD needs price_in and price_out"),
    ],
)
def test_unusable_limits(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Budget(**options)


@pytest.mark.parametrize("repeats", [1, 7])
def test_the_number_of_replies_is_kept_exactly(
    model_server: Serve, tmp_path: Path, repeats: int
) -> None:
    server, path, tasks = model_server(latency_s=0.002), tmp_path / "r", make(40, repeats)
    budget = Budget(max_replies=23)
    summary, usage = run_once(server, path, tasks, budget, concurrency=8)
    assert (summary.new, usage.replies, summary.complete) == (23, 23, False)
    assert summary.stopped == "the limit of 23 replies is reached"
    asked = len(server.requests)
    again, _ = run_once(server, path, tasks, budget)  # the same command spends nothing more
    assert (again.new, len(server.requests)) == (0, asked)
    assert again.stopped == summary.stopped
    more, usage = run_once(server, path, tasks, Budget(max_replies=24))
    assert (more.new, usage.replies) == (1, 24)
    done, usage = run_once(server, path, tasks, None)
    assert done.complete
    assert done.stopped is None
    assert usage.replies == 40 * repeats


def test_tokens_stop_near_their_limit_and_on_the_safe_side(
    model_server: Serve, tmp_path: Path
) -> None:
    server, tasks = model_server(latency_s=0.002), make(200, 1)
    # 3 words in and 2 out each, always: nothing to misjudge
    summary, usage = run_once(server, tmp_path / "r", tasks, Budget(max_tokens=503), concurrency=16)
    assert usage == Usage(100, 300, 200, 0)
    assert summary.stopped == "the limit of 503 tokens is reached (500 used)"


def test_cost_stops_near_its_limit(model_server: Serve, tmp_path: Path) -> None:
    words = {"right": lambda _: "a b c d", "wrong": lambda _: "e f g h"}  # surely told
    server, tasks = model_server(latency_s=0.002, **words), make(200, 5)
    budget = Budget(max_cost=0.01, price_in=10.0, price_out=20.0)
    seen: list[Progress] = []
    summary, usage = run_once(
        server, tmp_path / "r", tasks, budget, concurrency=16, progress=seen.append
    )
    # a prompt of 3 words once for each request, and 5 tokens each reply
    assert usage.output_tokens == 5 * usage.replies
    assert usage.input_tokens == 3 * len(server.requests)
    assert summary.cost == pytest.approx((usage.input_tokens * 10 + usage.output_tokens * 20) / 1e6)
    assert 0.0094 < summary.cost <= 0.01
    assert summary.stopped == f"the limit of 0.01 USD is reached ({summary.cost:.4g} USD used)"
    assert seen[-1].cost == summary.cost
    assert [p.cost or 0.0 for p in seen] == sorted(p.cost or 0.0 for p in seen)
    again, _ = run_once(server, tmp_path / "r", tasks, budget)
    assert again.new == 0
    assert again.cost == summary.cost


def test_a_limit_that_is_never_reached_changes_nothing(model_server: Serve, tmp_path: Path) -> None:
    budget = Budget(max_replies=10_000, max_tokens=10**9, max_cost=1e6, price_in=1, price_out=1)
    summary, _ = run_once(model_server(), tmp_path / "r", make(20, 3), budget)
    assert summary.complete
    assert summary.stopped is None


def test_untold_tokens_are_estimated_high_and_said(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(usage="first", right=lambda _: "ab" * 50, wrong=lambda _: "ab" * 50)
    budget = Budget(price_in=1, price_out=1)
    summary, usage = run_once(server, tmp_path / "r", make(3, 4), budget)
    assert usage == Usage(12, 9, 12 * 51, 12)
    assert any("estimated for 12 replies" in warning for warning in summary.warnings)
    silent = model_server(usage="none")
    _, usage = run_once(silent, tmp_path / "s", make(1, 1), budget)
    assert usage.input_tokens >= len(PROMPT.text) // 2
    assert usage.estimated == 1


def test_the_first_answer_tells_the_price_before_others_are_asked() -> None:
    async def main() -> None:
        meter = Meter(Budget(max_tokens=1000), Usage())
        assert await meter.begin(4) == 4
        others = [asyncio.create_task(meter.begin(4)) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert not any(other.done() for other in others)
        reply = Completion("x", input_tokens=40, output_tokens=90)
        meter.end(4, [reply] * 4, PROMPT)  # 40 + 360: a hundred for each reply
        await asyncio.sleep(0.01)
        # 600 tokens are left for six replies: four for one, two for the next, none for the third
        assert sorted(other.result() for other in others if other.done()) == [2, 4]
        meter.end(4, [], PROMPT)  # it failed, and its room is free again
        await asyncio.sleep(0.01)
        assert sorted(other.result() for other in others) == [2, 4, 4]

    asyncio.run(main())


def test_closing_ends_the_waiting() -> None:
    async def main() -> None:
        meter = Meter(Budget(max_replies=1), Usage())
        assert await meter.begin(3) == 1
        other = asyncio.create_task(meter.begin(1))
        await asyncio.sleep(0)
        meter.close()
        assert await other == 0
        assert meter.reached is None

    asyncio.run(main())
