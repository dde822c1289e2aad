"""The real model on this machine: draws differ, and its process never stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import ModelError
from hatscore.grading.answer import Gold
from hatscore.sampling import (
    BenchmarkPlan,
    Completion,
    Run,
    RunConfig,
    SamplingParams,
    Task,
    make_client,
    run_sampling,
)
from hatscore.sampling.clients.local import LocalServer

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the extra local"),
]

OPEN = Prompt("completion", "A list of animals:\n-", ("\n",), 8)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody has collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def gone(pid: int, within_s: float = 10.0) -> bool:
    end = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


def ask(server: LocalServer, n: int, seed: int) -> list[Completion]:
    from hatscore.sampling.clients.openai_http import OpenAIClient

    async def main() -> list[Completion]:
        client = OpenAIClient(server.name, server.address or "", mode="completion")
        try:
            await client.check()
            return await client.complete(OPEN, n=n, params=SamplingParams(), seed=seed)
        finally:
            await client.close()

    return asyncio.run(main())


def test_replies_of_one_request_are_different_draws() -> None:
    with LocalServer(threads=1, slots=4, context=256) as server:
        pid = server.pid
        assert pid is not None
        replies = ask(server, 4, seed=1)
        beyond = ask(server, 7, seed=2)
    assert gone(pid)
    assert len(replies) == 4
    assert len({reply.text for reply in replies}) > 1
    assert all(reply.error is None and reply.model == server.name for reply in replies)
    # it counts the tokens of one reply only, so nothing is claimed for each
    assert {reply.output_tokens for reply in replies} == {None}
    assert replies[0].input_tokens == 8
    assert len(beyond) == 3  # more than the slots: refused, halved


def test_a_file_that_is_no_model_shows_the_log(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with (
        pytest.raises(ModelError, match=r"(?s)'broken' has ended .*of its log:\n.*model"),
        LocalServer(path, threads=1),
    ):
        pass


def make_run(tmp_path: Path, client_name: str) -> Run:
    plan = BenchmarkPlan("animals", "1", ("en",), "en", 6, 3)
    config = RunConfig(
        "local", "local", client_name, "completion", "native", SamplingParams(seed=5), (plan,)
    )
    return Run.create_or_resume(tmp_path, config)


def tasks(count: int = 3, repeats: int = 6) -> list[Task]:
    gold = Gold("name", "dog", "en", "en")
    return [
        Task("animals", Item(str(i), "en", "en", "?", gold), OPEN, repeats) for i in range(count)
    ]


def test_a_whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATSCORE_LOCAL_THREADS", "1")
    client = make_client("local")
    pids: set[int | None] = set()
    with make_run(tmp_path, client.name) as run:
        summary = run_sampling(run, tasks(), client, progress=lambda _: pids.add(client.server.pid))
        assert summary.complete
        assert (summary.new, summary.models) == (18, (client.name,))
        texts = [row.text for _, row in run.store.rows()]
    assert len(set(texts)) > 9  # the same prompt 18 times, three seeds: draws, not copies
    (pid,) = pids - {None}
    assert pid is not None
    assert gone(pid)


PARENT = """
import sys, time
from hatscore.sampling.clients.local import LocalServer
with LocalServer(threads=1, slots=1, context=64) as server:
    print(server.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_server_ends_with_its_parent(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        assert os.getsid(pid) != os.getsid(parent.pid)  # a terminal's Ctrl-C does not reach it
        parent.send_signal(number)
        parent.wait(10)
    assert gone(pid)


def test_a_server_that_is_killed_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATSCORE_LOCAL_THREADS", "1")
    client = make_client("local")

    async def main() -> None:
        try:
            await client.check()
            os.kill(client.server.pid, signal.SIGKILL)
            with pytest.raises(ModelError, match=r"has ended \(exit status -9\)"):
                await client.complete(OPEN, n=1, params=SamplingParams(), seed=None)
        finally:
            await client.close()

    start = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - start < 15
