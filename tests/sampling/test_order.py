"""In which order cells are asked for, what failures hold up, and how a wait is said and ended."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import ModelError
from hatscore.grading.answer import Gold
from hatscore.sampling import Budget, Progress, SamplingParams, Store, Summary, Task, sample
from hatscore.sampling.clients.openai_http import OpenAIClient
from hatscore.sampling.clients.retry import Retry
from hatscore.sampling.engine import STOPPED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[..., Any]

QUICK = Retry(tries=2, base_s=0.001, cap_s=0.002, rng=Random(0))
REPEATS = 5


def make(items: int, languages: tuple[str, ...] = ("en", "sw")) -> list[Task]:
    return [
        Task(
            "b",
            Item(str(i), language, "en", f"Q{i}", Gold("number", str(i), language, "en")),
            Prompt("chat", f"{language} {i}"),
            REPEATS,
        )
        for language in languages
        for i in range(items)
    ]


def run_once(
    server: Any,
    path: Path,
    tasks: list[Task],
    *,
    retry: Retry = QUICK,
    after_s: float | None = None,
    **options: Any,
) -> Summary:
    """Sample, and ask for an orderly stop `after_s`."""

    async def main() -> Summary:
        client = OpenAIClient("test-model", server.url, retry=retry)
        stop = asyncio.Event()
        if after_s is not None:
            asyncio.get_running_loop().call_later(after_s, stop.set)
        with Store(path) as store:
            try:
                return await sample(
                    store, tasks, client, params=SamplingParams(), stop=stop, **options
                )
            finally:
                await client.close()

    return asyncio.run(main())


def asked(server: Any) -> list[str]:
    return [request.body["messages"][0]["content"] for request in server.requests]


def held(path: Path) -> Counter[tuple[str, str]]:
    with Store(path, read_only=True) as store:
        return Counter(
            (item.language, item.item) for item, row in store.rows() if row.error is None
        )


def answering(server: Any, refused: Callable[[str], Any]) -> None:
    """Let the server answer with what `refused` returns for a prompt, where it is not None."""
    answer = server._answer

    def some(request: Any) -> Any:
        fault = refused(request.body["messages"][0]["content"])
        return answer(request) if fault is None else fault(type(answer(request)))

    server._answer = some


def test_a_stop_leaves_whole_cells_in_the_order_of_the_tasks(
    model_server: Serve, tmp_path: Path
) -> None:
    server = model_server(latency_s=0.005)
    budget = Budget(max_replies=40 * REPEATS + 20)
    summary = run_once(server, tmp_path / "r", make(40), concurrency=64, budget=budget)
    assert summary.stopped is not None
    found = held(tmp_path / "r")
    assert [found["en", str(i)] for i in range(40)] == [REPEATS] * 40
    assert sum(n for (language, _), n in found.items() if language == "sw") == 20
    # as far as requests can overtake each other on their way
    names = [task.prompt.text for task in make(40)]
    places = [names.index(text) for text in dict.fromkeys(asked(server))]
    assert sorted(places) == list(range(len(places)))
    assert all(abs(place - i) < 64 for i, place in enumerate(places))


def test_prompts_that_keep_failing_hold_up_nobody(model_server: Serve, tmp_path: Path) -> None:
    """Two prompts of three always fail: those that never failed come first, each time."""
    server = model_server()
    answering(
        server,
        lambda text: (lambda kind: kind(status=500)) if int(text.split()[1]) % 3 else None,
    )
    tasks = make(45)
    first = run_once(server, tmp_path / "r", tasks, concurrency=1, retry=Retry(tries=1))
    good = 2 * 15 * REPEATS
    assert (first.new, first.complete) == (good, False)
    server.requests.clear()
    # 60 known failures in a row end nothing, and stand behind what is new
    more = [*tasks, *make(3, ("yo",))]
    second = run_once(server, tmp_path / "r", more, concurrency=1, retry=Retry(tries=1))
    assert (second.already, second.new, second.errors) == (good, REPEATS, 62 * REPEATS)
    assert asked(server)[:3] == ["yo 0", "yo 1", "yo 2"]
    # where everything that is new fails it ends
    answering(server, lambda _: lambda kind: kind(status=500))
    with pytest.raises(ModelError, match="the last 20 requests have all failed"):
        run_once(server, tmp_path / "s", tasks, concurrency=1, retry=Retry(tries=1))


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_outage_gives_no_reply_up_at_any_concurrency(
    model_server: Serve, tmp_path: Path, concurrency: int
) -> None:
    """All of the server is away, its list of models too, for longer than a request tries."""
    server = model_server()
    said = []

    def progress(now: Progress) -> None:
        said.append(now.trouble)
        if now.new == 10 * REPEATS and not server.away:
            server.away = True
            asyncio.get_running_loop().call_later(2.3, back)

    def back() -> None:
        server.away = False

    retry = Retry(tries=3, base_s=0.01, cap_s=0.02)
    path, tasks = tmp_path / "r", make(30)
    summary = run_once(server, path, tasks, concurrency=concurrency, retry=retry, progress=progress)
    assert summary.complete
    assert summary.errors == 0
    assert any(words and "no answer from" in words and "502" in words for words in said)


def test_a_pause_is_said_and_ends_at_once_when_asked(
    model_server: Serve, fault: Any, tmp_path: Path
) -> None:
    server = model_server()
    server.always = fault(status=429, headers={"Retry-After": "60"})
    said: list[Progress] = []
    start = time.monotonic()
    summary = run_once(
        server,
        tmp_path / "r",
        make(20),
        concurrency=8,
        retry=Retry(),
        after_s=2.5,
        progress=said.append,
    )
    assert time.monotonic() - start < 6
    assert summary.stopped == STOPPED
    assert summary.new == summary.errors == 0
    assert not held(tmp_path / "r")
    words = [p.trouble for p in said if p.trouble]
    assert len(words) >= 2  # each second
    assert all("asked for a pause" in text for text in words)
