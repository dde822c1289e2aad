"""The number of requests under way: found by trying, bounded, lowered when the server asks."""

from __future__ import annotations

import asyncio
import heapq
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import InputError
from hatscore.grading.answer import Gold
from hatscore.sampling import SamplingParams, Store, Task, sample
from hatscore.sampling.clients.openai_http import OpenAIClient
from hatscore.sampling.clients.retry import Retry
from hatscore.sampling.pace import FIRST, Pace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Simulated:
    """A server on a clock of its own that serves `capacity` requests at once, one second each.

    More than that are served as slowly as they share it; above `refuse_above` it says 429.
    """

    def __init__(self, capacity: int, *, most: int = 64, refuse_above: int = 10**9) -> None:
        self.now = 0.0
        self.capacity = capacity
        self.refuse_above = refuse_above
        self.pace = Pace(most, clock=lambda: self.now)
        self.ends: list[tuple[float, int, float, bool]] = []
        self.served = self.refused = self.number = 0
        self.levels: list[int] = []

    async def serve(self, requests: int) -> float:
        """Return the requests served per second."""
        start, begun, before = self.now, 0, self.served
        while begun < requests or self.ends:
            while begun < requests and self.pace.under_way < self.pace.limit:
                began = await self.pace.begin()
                assert began is not None
                begun += 1
                load = self.pace.under_way
                good = load <= self.refuse_above
                taken = max(1.0, load / self.capacity) if good else 0.01
                self.number += 1
                heapq.heappush(self.ends, (self.now + taken, self.number, began, good))
            self.now, _, began, good = heapq.heappop(self.ends)
            if not good:
                self.refused += 1
                self.pace.push_back(None, began)
            self.served += good
            self.pace.end(began, good=good)
            self.levels.append(self.pace.limit)
        return (self.served - before) / (self.now - start)


def test_a_fast_server_gets_all_that_is_allowed() -> None:
    server = Simulated(1000)
    asyncio.run(server.serve(2000))
    assert server.levels[0] == FIRST
    assert server.levels[-1] == 64
    assert server.levels.index(64) < 300  # found within a few rounds


@pytest.mark.parametrize("capacity", [1, 3, 10, 24, 50])
def test_a_slow_server_is_kept_busy_and_not_flooded(capacity: int) -> None:
    server = Simulated(capacity)
    asyncio.run(server.serve(500))
    assert asyncio.run(server.serve(3000)) > 0.9 * capacity
    assert max(server.levels[500:]) <= max(2 * FIRST, 2.6 * capacity)


def test_a_server_that_refuses_is_met_at_its_limit() -> None:
    server = Simulated(1000, refuse_above=20)
    asyncio.run(server.serve(500))
    settled = len(server.levels)
    rate = asyncio.run(server.serve(4000))
    assert rate > 0.6 * 20
    assert max(server.levels[settled:]) < 32
    assert server.refused < 0.08 * server.served


def test_one_wave_of_refusals_lowers_the_level_once() -> None:
    async def main() -> None:
        now = 1.0
        pace = Pace(10, first=10, clock=lambda: now)
        began = [await pace.begin() for _ in range(10)]
        now = 2.0
        for moment in began:
            pace.push_back(None, moment or 0.0)
        assert pace.limit == 7
        for moment in began:
            pace.end(moment or 0.0, good=False)
        now = 3.0
        pace.push_back(None, 2.5)
        assert pace.limit == 4
        for _ in range(20):
            now += 1
            pace.push_back(None, now)
        assert pace.limit == 1

    asyncio.run(main())


def test_retry_after_pauses_everybody() -> None:
    async def main() -> float:
        pace = Pace(4)
        pace.push_back(0.2, time.monotonic())
        start = time.monotonic()
        await asyncio.gather(pace.begin(), pace.begin())
        return time.monotonic() - start

    assert 0.19 < asyncio.run(main()) < 5


def test_closing_wakes_who_waits_and_cancelling_passes_the_turn_on() -> None:
    async def main() -> None:
        pace = Pace(1)
        began = await pace.begin()
        waiting = [asyncio.create_task(pace.begin()) for _ in range(3)]
        await asyncio.sleep(0)
        pace.end(began or 0.0, good=True)
        waiting[0].cancel()  # its turn has come, and it will not take it
        await asyncio.sleep(0)
        assert await waiting[1] is not None
        pace.close()
        assert await waiting[2] is None
        assert await pace.begin() is None

    asyncio.run(main())


@given(
    most=st.integers(1, 20),
    steps=st.lists(st.sampled_from(["begin", "good", "bad", "push"]), max_size=200),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_the_level_stays_within_its_bounds(most: int, steps: list[str]) -> None:
    async def main() -> None:
        now = 0.0
        pace = Pace(most, clock=lambda: now)
        under_way: list[float] = []
        for step in steps:
            now += 0.1
            if step == "begin" and pace.under_way < pace.limit:
                began = await pace.begin()
                assert began == now
                under_way.append(began)
            elif step == "push":
                pace.push_back(None, now)
            elif step in ("good", "bad") and under_way:
                pace.end(under_way.pop(0), good=step == "good")
            assert 1 <= pace.limit <= most
            assert pace.under_way == len(under_way)

    asyncio.run(main())


def test_bounds_must_be_positive() -> None:
    for options in ({"most": 0}, {"most": 3, "first": 0}):
        with pytest.raises(InputError, match="concurrency 0"):
            Pace(**options)


def test_a_real_server_that_takes_four_at_once_loses_nothing(
    model_server: Callable[..., Any], tmp_path: Path
) -> None:
    server = model_server(latency_s=0.01)
    answer, refused = server._answer, 0

    def at_most_four(asked: Any) -> Any:
        nonlocal refused
        if server.under_way > 4:
            refused += 1
            return type(answer(asked))(status=429, headers={"Retry-After": "0.02"})
        return answer(asked)

    server._answer = at_most_four
    tasks = [
        Task(
            "b",
            Item(str(i), "sw", "en", "q", Gold("number", "1", "sw", "en")),
            Prompt("chat", f"question {i}"),
            1,
        )
        for i in range(150)
    ]

    async def main() -> None:
        retry = Retry(tries=30, base_s=0.01, cap_s=0.02)
        client = OpenAIClient("test-model", server.url, retry=retry)
        with Store(tmp_path / "r") as store:
            summary = await sample(store, tasks, client, params=SamplingParams(), concurrency=32)
        await client.close()
        assert summary.complete
        assert summary.errors == 0

    asyncio.run(main())
    assert 0 < refused < 150
