"""Killed at any moment: every key once, and nothing is paid twice but what was under way."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.sampling import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[..., Any]

REPEATS, CONCURRENCY = 3, 8
WORKER = f"""
import asyncio, sys
from hatscore.benchmarks.base import Item, Prompt
from hatscore.grading.answer import Gold
from hatscore.sampling import SamplingParams, Store, Task, sample
from hatscore.sampling.clients.openai_http import OpenAIClient

async def main(url, path, items):
    gold = Gold("number", "1", "sw", "en")
    tasks = [
        Task("b", Item(str(i), "sw", "en", "q", gold), Prompt("chat", f"question {{i}}"), {REPEATS})
        for i in range(items)
    ]
    client = OpenAIClient("test-model", url)
    with Store(path) as store:
        print("started", flush=True)
        await sample(
            store, tasks, client, params=SamplingParams(seed=1), concurrency={CONCURRENCY}
        )
    await client.close()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def start(server: Any, path: Path, items: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, server.url, str(path), str(items)]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "started\n"
    return worker


def stored(path: Path) -> dict[tuple[str, int], str]:
    with Store(path, read_only=True) as store:
        return {(item.item, row.repeat): row.text for item, row in store.rows()}


def kill_and_resume(server: Any, path: Path, *, items: int, kills: int, longest_s: float) -> None:
    moments = Random(5)
    held: dict[tuple[str, int], str] = {}
    done = 0
    for _ in range(kills):
        with start(server, path, items) as worker:
            time.sleep(moments.uniform(0.0, longest_s))
            done += worker.poll() is None
            worker.send_signal(signal.SIGKILL)
        now = stored(path)
        assert held.items() <= now.items()  # what was stored stays as it was
        held = now
    assert done == kills  # none had nothing left to do
    with start(server, path, items) as worker:
        worker.communicate()
    assert worker.returncode == 0
    final = stored(path)
    assert set(final) == {(str(i), r) for i in range(items) for r in range(REPEATS)}
    assert held.items() <= final.items()
    assert len(set(final.values())) == len(final)  # numbered replies: none was stored twice
    served = next(server._numbers)
    assert 0 <= served - len(final) <= kills * CONCURRENCY * REPEATS


def test_a_few_kills(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(numbered=True, latency_s=0.02)
    kill_and_resume(server, tmp_path / "r", items=250, kills=3, longest_s=0.3)


@pytest.mark.slow
def test_fifty_kills(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(numbered=True, latency_s=0.02)
    kill_and_resume(server, tmp_path / "r", items=5000, kills=50, longest_s=0.5)
