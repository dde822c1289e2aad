"""The engine: asks for what is missing, stores what comes, stops in good order."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import InputError, ModelError, RunError
from hatscore.grading.answer import Gold
from hatscore.sampling import (
    BenchmarkPlan,
    Cell,
    Progress,
    Run,
    RunConfig,
    SamplingParams,
    Store,
    Summary,
    Task,
    run_sampling,
    run_stages,
    sample,
)
from hatscore.sampling.clients.openai_http import OpenAIClient
from hatscore.sampling.clients.retry import Retry
from hatscore.sampling.engine import MOST_FAILED, request_seed
from hatscore.sampling.servers import Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[..., Any]

QUICK = Retry(tries=2, base_s=0.001, cap_s=0.002, rng=Random(0))


def make(items: int, repeats: int, languages: tuple[str, ...] = ("en", "sw")) -> list[Task]:
    return [
        Task(
            "b",
            Item(str(i), language, "en", f"Q{i}", Gold("number", str(i), language, "en")),
            Prompt("chat", f"{language} question {i}"),
            repeats,
        )
        for i in range(items)
        for language in languages
    ]


def run_once(
    server: Any, path: Path, tasks: list[Task], *, seed: int | None = 7, **options: Any
) -> Summary:
    async def main() -> Summary:
        client = OpenAIClient("test-model", server.url, retry=QUICK)
        with Store(path) as store:
            try:
                return await sample(
                    store, tasks, client, params=SamplingParams(seed=seed), **options
                )
            finally:
                await client.close()

    return asyncio.run(main())


def stored(path: Path) -> dict[tuple[Cell, int], tuple[str, str | None]]:
    with Store(path, read_only=True) as store:
        return {(item.cell, row.repeat): (row.text, row.error) for item, row in store.rows()}


def test_every_reply_once_and_nothing_asked_twice(model_server: Serve, tmp_path: Path) -> None:
    server = model_server()
    path, tasks = tmp_path / "r", make(5, 4)
    summary = run_once(server, path, tasks)
    assert summary.complete
    assert (summary.total, summary.already, summary.new, summary.errors) == (40, 0, 40, 0)
    assert summary.requests == len(server.requests) == 10
    assert summary.models == ("test-model",)
    assert (summary.input_tokens, summary.output_tokens) == (40 * 3, 40 * 2)
    assert summary.reasoning_tokens is None
    assert set(stored(path)) == {(task.cell, r) for task in tasks for r in range(4)}
    again = run_once(server, path, tasks)
    assert again.complete
    assert (again.already, again.new, again.requests) == (40, 0, 0)
    assert len(server.requests) == 10


def test_a_finished_run_needs_no_server(model_server: Serve, tmp_path: Path) -> None:
    class Gone:
        url = "http://127.0.0.1:9"

    run_once(model_server(), tmp_path / "r", make(2, 2))
    assert run_once(Gone(), tmp_path / "r", make(2, 2)).complete


def test_success_rate_is_that_of_the_model(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(probability=lambda prompt: 0.8 if prompt.startswith("en") else 0.3)
    run_once(server, tmp_path / "r", make(40, 10))
    right = Counter(
        cell.language for (cell, _), (text, _) in stored(tmp_path / "r").items() if text == "right"
    )
    # 400 draws each; five standard errors are 0.1 and 0.115
    assert abs(right["en"] / 400 - 0.8) < 0.1
    assert abs(right["sw"] / 400 - 0.3) < 0.115


@pytest.mark.parametrize(("limit", "beyond"), [(3, "refuse"), (1, "ignore"), (4, "ignore")])
def test_limits_of_the_server_lose_nothing(
    model_server: Serve, tmp_path: Path, limit: int, beyond: str
) -> None:
    server = model_server(n_limit=limit, beyond=beyond)
    assert run_once(server, tmp_path / "r", make(4, 7)).complete
    assert len(stored(tmp_path / "r")) == 56


def test_only_missing_repeats_are_asked_for(model_server: Serve, tmp_path: Path) -> None:
    server = model_server()
    run_once(server, tmp_path / "r", make(2, 2))
    server.requests.clear()
    assert run_once(server, tmp_path / "r", make(3, 5)).new == 2 * (3 + 3 + 5)
    assert sorted(request.n for request in server.requests) == [3, 3, 3, 3, 5, 5]


def test_concurrency_is_bounded(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(latency_s=0.01)
    run_once(server, tmp_path / "r", make(20, 1), concurrency=3)
    assert server.most_under_way == 3


def test_errors_are_stored_counted_and_replaced(
    model_server: Serve, fault: Any, tmp_path: Path
) -> None:
    server = model_server()
    server.order(fault(status=500, text="oops"), fault(status=500, text="oops"))
    summary = run_once(server, tmp_path / "r", make(2, 3), concurrency=1)
    assert (summary.new, summary.errors, summary.complete) == (9, 3, False)
    assert summary.last_error == "HTTP 500: oops (after 2 tries)"
    errors = {key: error for key, (_, error) in stored(tmp_path / "r").items() if error}
    assert set(errors) == {(Cell("b", "0", "en"), r) for r in range(3)}
    summary = run_once(server, tmp_path / "r", make(2, 3))
    assert (summary.already, summary.new, summary.complete) == (9, 3, True)
    assert not any(error for _, error in stored(tmp_path / "r").values())


def test_a_dead_server_ends_the_run(model_server: Serve, fault: Any, tmp_path: Path) -> None:
    server = model_server()
    server.always = fault(status=500)
    with pytest.raises(ModelError, match="the last 20 requests have all failed: HTTP 500"):
        run_once(server, tmp_path / "r", make(200, 1), concurrency=4)
    assert len(stored(tmp_path / "r")) >= MOST_FAILED
    assert len(server.requests) <= 2 * (MOST_FAILED + 4)


def test_a_permanent_refusal_is_no_storm_and_loses_nothing(
    model_server: Serve, fault: Any, tmp_path: Path
) -> None:
    server = model_server(latency_s=0.002)
    tasks = make(500, 5)

    def refuse_later(progress: Progress) -> None:
        if progress.new >= 100:
            server.always = fault(status=403, json={"error": {"message": "key revoked"}})

    with pytest.raises(ModelError, match="key revoked"):
        run_once(server, tmp_path / "r", tasks, concurrency=8, progress=refuse_later)
    held = stored(tmp_path / "r")
    assert len(held) >= 100
    assert len(server.requests) <= len(held) / 5 + 8


def test_model_that_is_not_served_is_refused_before_sampling(
    model_server: Serve, tmp_path: Path
) -> None:
    server = model_server(models=("other",))
    with pytest.raises(ModelError, match="it serves other"):
        run_once(server, tmp_path / "r", make(5, 1))
    assert not server.requests


def test_change_of_the_returned_model_stops_the_run(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(returned_name=lambda request: "m-may" if request < 3 else "m-june")
    words = "asked for 'test-model', the server answers as 'm-june' now and as 'm-may' before"
    with pytest.raises(ModelError, match=words):
        run_once(server, tmp_path / "r", make(3, 1), concurrency=1)
    assert len(stored(tmp_path / "r")) == 2  # nothing of the other model
    with pytest.raises(ModelError, match=words):  # and not on the next start either
        run_once(server, tmp_path / "r", make(3, 1))
    assert len(stored(tmp_path / "r")) == 2
    summary = run_once(server, tmp_path / "r", make(3, 1), mixed_models=True)
    assert summary.complete
    assert summary.models == ("m-june", "m-may")
    assert any("m-june, m-may" in warning for warning in summary.warnings)


def test_progress_counts_to_the_end(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(latency_s=0.002)
    run_once(server, tmp_path / "r", make(3, 2))
    seen: list[Progress] = []
    run_once(server, tmp_path / "r", make(6, 2), concurrency=2, progress=seen.append)
    assert (seen[0].done, seen[0].total, seen[0].eta_s) == (12, 24, None)
    assert [p.done for p in seen] == list(range(12, 25, 2))
    assert (seen[-1].new, seen[-1].errors, seen[-1].eta_s) == (12, 0, 0.0)
    assert all(p.rate > 0 for p in seen[1:])
    assert all(a.elapsed_s <= b.elapsed_s for a, b in pairwise(seen))


@pytest.mark.parametrize(
    ("tasks", "options", "words"),
    [
        (make(1, 1), {"concurrency": 0}, "concurrency 0"),
        (make(1, 0), {}, "repeats 0"),
        (make(1, 1) + make(1, 2), {}, "two tasks for b/0/en"),
    ],
)
def test_unusable_input(
    model_server: Serve, tmp_path: Path, tasks: list[Task], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        run_once(model_server(), tmp_path / "r", tasks, **options)


def test_a_full_disk_stops_the_run_and_the_next_start_goes_on(
    model_server: Serve, tmp_path: Path
) -> None:
    server = model_server(right=lambda _: "x" * 2000, wrong=lambda _: "y" * 2000)
    path, tasks = tmp_path / "r", make(200, 2)

    async def main() -> None:
        client = OpenAIClient("test-model", server.url, retry=QUICK)
        store = Store(path)
        store.put_items(tasks)
        store._connection.execute("PRAGMA max_page_count = 400")  # SQLite's own "disk is full"
        with pytest.raises(RunError, match="full; free space and start again"):
            await sample(store, tasks, client, params=SamplingParams(seed=1))
        await client.close()
        store._connection.close()

    asyncio.run(main())
    held = stored(path)
    assert 0 < len(held) < 800
    assert run_once(server, path, tasks, seed=1).complete
    assert held.items() <= stored(path).items()


# -- seeds -----------------------------------------------------------------------------------


def test_each_request_has_its_own_seed_far_from_the_others(
    model_server: Serve, tmp_path: Path
) -> None:
    server = model_server(n_limit=3)
    run_once(server, tmp_path / "r", make(50, 6))
    seeds = sorted(r.body["seed"] for r in server.requests if r.n <= 3)
    assert len(seeds) == len(set(seeds)) == 200
    assert all(0 <= seed < 2**31 for seed in seeds)
    # llama.cpp draws reply j with seed + j, so neighbours would share draws
    assert all(b - a > 10 for a, b in pairwise(seeds))


def test_seeds_do_not_depend_on_order_or_resuming(model_server: Serve, tmp_path: Path) -> None:
    one, two = model_server(), model_server()
    run_once(one, tmp_path / "one", make(6, 3))
    run_once(two, tmp_path / "two", make(6, 3)[7:])
    run_once(two, tmp_path / "two", make(6, 3)[::-1])
    assert stored(tmp_path / "one") == stored(tmp_path / "two")
    other = model_server()
    run_once(other, tmp_path / "other", make(6, 3), seed=8)
    assert stored(tmp_path / "one") != stored(tmp_path / "other")


def test_without_a_seed_none_is_sent(model_server: Serve, tmp_path: Path) -> None:
    server = model_server()
    run_once(server, tmp_path / "r", make(2, 2), seed=None)
    assert all("seed" not in request.body for request in server.requests)


def test_request_seed_is_pinned() -> None:
    """A change would break the resuming of old runs' draws."""
    cell = Cell("capitals", "fr", "sw")
    assert request_seed(None, cell, 0) is None
    # printf '0\\0capitals\\0fr\\0sw\\0%s' 0 | sha256sum: the first 32 bits, halved
    assert request_seed(0, cell, 0) == 347016683
    assert request_seed(0, cell, 1) == 668568596


# -- stopping --------------------------------------------------------------------------------


def test_cancelling_commits_what_has_arrived(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(latency_s=0.02)
    seen: list[Progress] = []

    async def main() -> None:
        client = OpenAIClient("test-model", server.url, retry=QUICK)
        with Store(tmp_path / "r") as store:
            job = asyncio.create_task(
                sample(
                    store,
                    make(200, 2),
                    client,
                    params=SamplingParams(),
                    concurrency=4,
                    progress=seen.append,
                )
            )
            await asyncio.sleep(0.2)
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
            with Store(tmp_path / "r", read_only=True) as reader:  # before the store is closed
                assert sum(reader.counts().values()) == seen[-1].new > 0
            await client.close()

    asyncio.run(main())


WORKER = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]).parent))
from test_engine import config, make
from hatscore.sampling import Run, make_client, run_sampling
client = make_client("openai-api/test-model", base_url=sys.argv[2])
with Run.create_or_resume(sys.argv[3], config()) as run:
    print("started", flush=True)
    try:
        summary = run_sampling(run, make(40, 3), client, concurrency=4)
    except KeyboardInterrupt:
        print("stopped", sum(run.store.counts().values()), flush=True)
        sys.exit(130)
    print("done", summary.already, summary.new, flush=True)
"""


def config() -> RunConfig:
    plan = BenchmarkPlan("b", "1", ("en", "sw"), "en", 3, 40)
    return RunConfig(
        "openai-api/test-model", "openai-api", "test-model", "chat", "native",
        SamplingParams(seed=1), (plan,),
    )  # fmt: skip


def start(server: Any, directory: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, __file__, server.url, str(directory)]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "started\n"
    return worker


def wait_for(condition: Callable[[], bool], within_s: float = 20.0) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_killed_at_any_moment_every_key_comes_exactly_once(
    model_server: Serve, tmp_path: Path
) -> None:
    server = model_server(numbered=True, latency_s=0.05)
    directory = tmp_path / "run"
    path = directory / "responses.sqlite"
    held: dict[tuple[Cell, int], tuple[str, str | None]] = {}
    for moment in (lambda: True, lambda: len(stored(path)) > 0, lambda: len(server.requests) > 60):
        with start(server, directory) as worker:
            wait_for(moment)
            worker.send_signal(signal.SIGKILL)
        now = stored(path)
        assert held.items() <= now.items()  # what was stored stays as it was
        held = now
    assert held
    with start(server, directory) as worker:
        output = worker.communicate()[0]
    assert output == f"done {len(held)} {240 - len(held)}\n"
    final = stored(path)
    assert set(final) == {(task.cell, r) for task in make(40, 3) for r in range(3)}
    assert held.items() <= final.items()
    texts = [text for text, _ in final.values()]
    assert len(set(texts)) == 240  # numbered replies: none was stored twice


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_in_good_order(
    model_server: Serve, tmp_path: Path, number: signal.Signals
) -> None:
    server = model_server(latency_s=0.03)
    with start(server, tmp_path) as worker:
        wait_for(lambda: len(server.requests) >= 12)
        worker.send_signal(number)
        output = worker.communicate(timeout=10)[0]
    word, count = output.split()
    assert (word, worker.returncode) == ("stopped", 130)
    held = stored(tmp_path / "responses.sqlite")
    assert int(count) == len(held)
    assert len(held) == 3 * len(server.requests)  # what was under way is paid for, and kept
    assert len(held) < 120


def test_a_stop_in_the_last_requests_is_a_stop(model_server: Serve, tmp_path: Path) -> None:
    """What was under way completes the stage, and nothing comes after it."""
    server = model_server(latency_s=0.5)
    tasks = make(4, 2)
    asked = []

    def then(summary: Summary) -> list[Task]:
        asked.append(summary)
        return tasks

    timer = threading.Timer(0.25, os.kill, (os.getpid(), signal.SIGINT))
    with Run.create_or_resume(tmp_path / "run", config()) as run:
        client = OpenAIClient("test-model", server.url, retry=QUICK, max_n=2)
        client.recall(Limits(2))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            run_stages(run, tasks, client, then=then, concurrency=8)
        assert run.store.usage().replies == 2 * len(tasks)
    assert asked == []
    assert len(server.requests) == len(tasks)


def test_a_second_signal_drops_what_is_under_way(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(latency_s=15.0)
    with start(server, tmp_path) as worker:
        wait_for(lambda: len(server.requests) >= 1)
        worker.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert worker.poll() is None
        worker.send_signal(signal.SIGINT)
        output = worker.communicate(timeout=10)[0]
    assert output == "stopped 0\n"


def test_run_sampling_inside_a_running_loop_says_what_to_do(tmp_path: Path) -> None:
    async def main() -> None:
        with Run.create_or_resume(tmp_path, config()) as run:
            client = OpenAIClient("m", "http://127.0.0.1:9")
            with pytest.raises(InputError, match=r"await hatscore.sampling.sample"):
                run_sampling(run, [], client)

    asyncio.run(main())


def test_importing_sampling_loads_no_http_client() -> None:
    code = (
        "import sys, hatscore.sampling; print(sorted({'aiohttp', 'xllamacpp'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert found.stdout == "[]\n"
