"""Limits of a run shared between workers: nothing is promised twice, nothing is left over."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.benchmarks.base import Prompt
from hatscore.sampling import Budget, Completion, Usage
from hatscore.sampling.budget import Meter
from hatscore.sampling.cluster_budget import Grant, Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

PROMPT = Prompt("chat", "x")
PRICES: dict[str, Any] = {"price_in": 0.0, "price_out": 1.0}


def spend(grant: Grant, wanted: int, sizes: Random, spread: tuple[int, int]) -> tuple[Usage, bool]:
    """Ask one by one as the engine does; return what was used and whether the grant ended it."""
    meter = Meter(grant.budget, grant.used)

    async def main() -> None:
        for _ in range(wanted):
            if not await meter.begin(1):
                return
            reply = Completion("x", input_tokens=0, output_tokens=sizes.randint(*spread))
            meter.end(1, [reply], PROMPT)

    asyncio.run(main())
    used = meter.usage
    new = used.replies - grant.used.replies
    tokens = used.output_tokens - grant.used.output_tokens
    return Usage(new, 0, tokens, 0), meter.reached is not None


def simulate(
    ledger: Ledger, slices: Sequence[int], *, workers: int, seed: int, spread: tuple[int, int]
) -> None:
    """Sample all slices as the pool does; some workers are lost with what they had."""
    chance = Random(seed)
    waiting = list(enumerate(slices))
    busy: list[tuple[int, int, Grant]] = []
    turns = deaths = 0
    while waiting or busy:
        while waiting and len(busy) < workers and ledger.has_room():
            number, wanted = waiting.pop(0)
            grant = ledger.grant(str(number), wanted, min(wanted, 5))
            assert grant is not None
            busy.append((number, wanted, grant))
        if not busy:
            break
        turns += 1
        assert turns < 10_000
        number, wanted, grant = busy.pop(chance.randrange(len(busy)))
        if deaths < 3 and chance.random() < 0.05:
            deaths += 1
            ledger.settle(str(number), ledger.used)
            waiting.insert(0, (number, wanted))
            continue
        new, stopped = spend(grant, wanted, chance, spread)
        was = ledger.used
        now = Usage(was.replies + new.replies, 0, was.output_tokens + new.output_tokens, 0)
        ledger.settle(str(number), now, stopped=stopped)
        if stopped:
            waiting.insert(0, (number, wanted - new.replies))


@given(
    limit=st.integers(1, 400),
    slices=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    workers=st.integers(1, 5),
    seed=st.integers(0, 999),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_replies_are_kept_exactly(limit: int, slices: list[int], workers: int, seed: int) -> None:
    ledger = Ledger(Budget(max_replies=limit), Usage())
    simulate(ledger, slices, workers=workers, seed=seed, spread=(1, 9))
    assert ledger.used.replies == min(limit, sum(slices))
    assert (ledger.reached is None) == (limit >= sum(slices))


@given(
    limit=st.integers(1, 4000),
    kind=st.sampled_from(["tokens", "cost"]),
    slices=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    workers=st.integers(1, 5),
    seed=st.integers(0, 999),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_tokens_and_money_stop_near_the_limit(
    limit: int, kind: str, slices: list[int], workers: int, seed: int
) -> None:
    most = 20
    limits = {"max_tokens": limit} if kind == "tokens" else {"max_cost": limit / 1e6, **PRICES}
    ledger = Ledger(Budget(**limits), Usage())
    simulate(ledger, slices, workers=workers, seed=seed, spread=(1, most))
    used = ledger.used.output_tokens
    # one at a time in each worker, so each may be wrong about one reply
    assert used <= limit + workers * most
    if ledger.reached is None:
        assert ledger.used.replies == sum(slices)
    else:
        assert ledger.used.replies < sum(slices)
        assert used >= limit - most  # what is left does not buy another reply
        assert ledger.reached.startswith("the limit of ")


def test_equal_replies_use_the_limit_up_and_no_more() -> None:
    ledger = Ledger(Budget(max_tokens=503), Usage())
    simulate(ledger, [40] * 10, workers=3, seed=1, spread=(5, 5))
    assert ledger.used == Usage(100, 0, 500, 0)
    assert ledger.reached == "the limit of 503 tokens is reached (500 used)"


def test_the_first_task_tells_what_a_reply_costs() -> None:
    ledger = Ledger(Budget(max_tokens=1000), Usage())
    grant = ledger.grant("a", 40, 4)
    assert grant == Grant(Budget(4, 1000), Usage())
    assert not ledger.has_room()  # nobody else goes before it
    assert ledger.reached is None
    ledger.settle("a", Usage(4, 0, 40, 0), stopped=True)
    assert ledger.has_room()
    # 40 replies at 10 tokens, and a quarter more
    assert ledger.grant("a", 40, 4) == Grant(Budget(44, 540), Usage(4, 0, 40, 0))
    assert ledger.grant("b", 40, 4) == Grant(Budget(44, 500), Usage(4, 0, 40, 0))
    assert not ledger.has_room()
    ledger.settle("b", Usage(14, 0, 140, 0))
    assert ledger.has_room()


def test_without_limits_nothing_is_granted() -> None:
    ledger = Ledger(Budget(price_in=1, price_out=1), Usage())
    assert not ledger.is_limited
    assert ledger.grant("a", 1, 1) is None


@pytest.mark.parametrize(
    ("budget", "used", "words"),
    [
        (Budget(max_replies=5), Usage(5), "the limit of 5 replies is reached"),
        (Budget(max_tokens=9), Usage(3, 4, 5), "the limit of 9 tokens is reached (9 used)"),
        (
            Budget(max_cost=2e-6, price_in=0, price_out=1),
            Usage(1, 0, 2),
            "the limit of 2e-06 USD is reached (2e-06 USD used)",
        ),
        (Budget(max_replies=9, max_tokens=9), Usage(3, 9), "the limit of 9 tokens is reached"),
    ],
)
def test_the_nearest_limit_is_named(budget: Budget, used: Usage, words: str) -> None:
    ledger = Ledger(budget, used)
    assert not ledger.has_room()
    assert str(ledger.reached).startswith(words)
