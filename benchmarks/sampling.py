"""The price of one reply: hatscore against a bare loop and two other harnesses, in one run.

Usage: python benchmarks/sampling.py [--replies N] [--n N ...] [--rounds R] [--only NAME ...]
       [--memory]

Every contender is a process of its own that asks the same server, another process on loopback
that answers after 0 to 20 ms, and reports what it took: replies per second, processor time per
reply, peak memory. Shown are medians over rounds that go through all contenders in turn, and
ratios to the bare loop of the same rounds: absolute times of a shared machine say little.

bare       one aiohttp session, JSON out and in, replies kept in a list: the floor
hatscore   `sample` into a store; every reply is committed to disk as it comes
inspect    inspect_ai `eval`, 10 epochs (needs inspect-ai and openai)
lm-eval    lm_eval `local-chat-completions` by `simple_evaluate`, 10 repeats (needs lm-eval)

--memory samples 200,000 replies with hatscore alone, as 20,000 prompts with 10 replies each in
one request and as 200,000 prompts with one reply, and prints the peak memory. The tasks are made
when they are asked for: the prompts themselves are not what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

CONCURRENCY = 64
DELAY_S = 0.02
PROMPT = "A question of a usual length for a benchmark of many languages, number {}: " + "w " * 300
REPLY = "The answer is 42, because six times seven is forty-two and nothing else would do here."


# -- the server ----------------------------------------------------------------------------------


@functools.cache
def answer_to(n):
    """The answer to a request for n replies, made once: the server must not be what is measured."""
    message = {"role": "assistant", "content": REPLY}
    choices = [{"index": i, "finish_reason": "stop", "message": message} for i in range(n)]
    usage = {"prompt_tokens": 320, "completion_tokens": 21 * n, "total_tokens": 320 + 21 * n}
    answer = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
    return json.dumps(answer | {"choices": choices, "usage": usage}).encode()


class Server(asyncio.Protocol):
    """Just enough HTTP for keep-alive POST requests with a Content-Length."""

    served = 0
    delays = 0

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        while True:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            at = head.lower().find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(rest) < length:
                return
            body, self.buffer = rest[:length], rest[length:]
            if head.startswith(b"GET"):
                self.send(json.dumps({"data": [{"id": "m"}]}).encode())
                continue
            n = json.loads(body).get("n") or 1
            # Evenly spread delays from a fixed sequence: the same for every contender.
            Server.delays += 1
            delay = DELAY_S * (Server.delays * 0.6180339887 % 1.0)
            asyncio.get_running_loop().call_later(delay, self.answer, n)

    def answer(self, n):
        Server.served += n
        self.send(answer_to(n))

    def send(self, body):
        if not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                + str(len(body)).encode()
                + b"\r\n\r\n"
                + body
            )


async def serve():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # until the parent closes it or ends


@contextmanager
def running_server():
    command = [sys.executable, __file__, "--role", "server"]
    with subprocess.Popen(  # noqa: S603 - this script
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        process.stdin.close()


# -- the contenders ------------------------------------------------------------------------------


def bare(url, replies, n):
    import aiohttp  # noqa: PLC0415 - each contender loads its own

    async def main():
        kept = []
        requests = iter(range(replies // n))

        async def work(session):
            for i in requests:
                body = {
                    "model": "m",
                    "messages": [{"role": "user", "content": PROMPT.format(i)}],
                    "max_tokens": 64,
                    "temperature": 1.0,
                    "n": n,
                }
                async with session.post(f"{url}/chat/completions", json=body) as response:
                    data = await response.json()
                kept.extend(choice["message"]["content"] for choice in data["choices"])

        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.gather(*(work(session) for _ in range(CONCURRENCY)))
        return len(kept)

    return timed(lambda: asyncio.run(main()))


def hatscore(url, replies, n, cells=None):
    from hatscore.benchmarks.base import Item, Prompt  # noqa: PLC0415 - see above
    from hatscore.grading.answer import Gold  # noqa: PLC0415 - see above
    from hatscore.sampling import SamplingParams, Store, Task, sample  # noqa: PLC0415 - see above
    from hatscore.sampling.clients.openai_http import OpenAIClient  # noqa: PLC0415 - see above

    repeats = 10
    count = cells or replies // repeats
    gold = Gold("number", "42", "sw", "en")

    class Tasks(Sequence):
        """Tasks made when asked for, as a sequence may."""

        def __len__(self):
            return count

        def __getitem__(self, i):
            if not 0 <= i < count:
                raise IndexError(i)
            text = PROMPT.format(i)
            item = Item(str(i), "sw", "en", text, gold)
            return Task("b", item, Prompt("chat", text, (), 64), replies // count)

    async def main(path):
        client = OpenAIClient("m", url, max_n=n, api_key="")
        with Store(path) as store:
            summary = await sample(
                store,
                Tasks(),
                client,
                params=SamplingParams(),
                concurrency=CONCURRENCY,
            )
        await client.close()
        return summary.new

    with tempfile.TemporaryDirectory() as folder:
        return timed(lambda: asyncio.run(main(Path(folder) / "responses.sqlite")))


def inspect(url, replies, _n):
    os.environ |= {"OPENAI_API_KEY": "none", "INSPECT_LOG_LEVEL": "error"}
    from inspect_ai import Task, eval  # noqa: A004, PLC0415 - the name of the peer's function
    from inspect_ai.dataset import Sample  # noqa: PLC0415 - see above
    from inspect_ai.scorer import match  # noqa: PLC0415 - see above
    from inspect_ai.solver import generate  # noqa: PLC0415 - see above

    samples = [Sample(input=PROMPT.format(i), target="42") for i in range(replies // 10)]
    task = Task(dataset=samples, solver=generate(), scorer=match(), epochs=10)

    def main():
        with tempfile.TemporaryDirectory() as folder:
            (log,) = eval(
                task,
                model="openai/m",
                model_base_url=url,
                model_args={"responses_api": False},
                log_dir=folder,
                display="none",
                max_connections=CONCURRENCY,
                max_samples=CONCURRENCY,
                max_tokens=64,
                temperature=1.0,
            )
            return len(log.samples) if log.status == "success" else 0

    return timed(main)


def lm_eval(url, replies, _n):
    os.environ |= {"OPENAI_API_KEY": "none", "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}
    import logging  # noqa: PLC0415 - see above

    import datasets  # noqa: PLC0415 - see above
    from lm_eval import simple_evaluate  # noqa: PLC0415 - see above
    from lm_eval.api.task import ConfigurableTask  # noqa: PLC0415 - see above

    logging.disable(logging.CRITICAL)
    rows = [{"question": PROMPT.format(i), "answer": "42"} for i in range(replies // 10)]
    config = {
        "task": "bench",
        "custom_dataset": lambda **_: {"test": datasets.Dataset.from_list(rows)},
        "output_type": "generate_until",
        "test_split": "test",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answer}}",
        "repeats": 10,
        "generation_kwargs": {"until": ["\n\n"], "temperature": 1.0, "do_sample": True},
        "metric_list": [{"metric": "exact_match"}],
    }

    def main():
        found = simple_evaluate(
            model="local-chat-completions",
            model_args={
                "model": "m",
                "base_url": f"{url}/chat/completions",
                "num_concurrent": CONCURRENCY,
                "max_gen_toks": 64,
            },
            tasks=[ConfigurableTask(config=config)],
            apply_chat_template=True,
            bootstrap_iters=0,
            log_samples=True,
        )
        return sum(len(sample["resps"][0]) for sample in found["samples"]["bench"])

    return timed(main)


CONTENDERS = {"bare": bare, "hatscore": hatscore, "inspect": inspect, "lm-eval": lm_eval}
NEEDS = {"inspect": "inspect_ai", "lm-eval": "lm_eval"}
SHARE = {"inspect": 0.1, "lm-eval": 0.2}  # of the replies: the slow ones would take minutes


def timed(job):
    """Replies, seconds and processor seconds of `job`, without what its imports took."""
    before, start = os.times(), time.perf_counter()
    replies = job()
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.user + after.system - before.user - before.system
    return {"replies": replies, "wall_s": wall, "cpu_s": cpu}


# -- the comparison ------------------------------------------------------------------------------


def measure(name, url, replies, n, cells=None):
    """Run one contender as a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--role", name, "--url", url]
    command += ["--replies", str(replies), "--n", str(n)] + (
        ["--cells", str(cells)] if cells else []
    )
    done = subprocess.run(  # noqa: S603 - this script
        command, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def compare(url, names, replies, n, rounds):
    found = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            wanted = max(10 * n, int(replies * SHARE.get(name, 1.0)) // 10 * 10)
            result = measure(name, url, wanted, n)
            if result["replies"] != wanted:
                raise SystemExit(f"{name} brought {result['replies']} of {wanted} replies")
            found[name].append(result)
    print(f"\nn = {n}, {replies:,} replies, {CONCURRENCY} requests at once, {rounds} rounds")
    print(f"{'':10} {'replies/s':>10} {'CPU ms/reply':>13} {'peak MB':>8}   of bare: rate, CPU")
    for name, results in found.items():
        rate = [r["replies"] / r["wall_s"] for r in results]
        cpu = [1e3 * r["cpu_s"] / r["replies"] for r in results]
        line = f"{name:10} {statistics.median(rate):10.0f} {statistics.median(cpu):13.3f} "
        line += f"{statistics.median(r['peak_mb'] for r in results):8.0f}"
        if "bare" in found and name != "bare":
            floor = found["bare"]
            rates = [a / b["replies"] * b["wall_s"] for a, b in zip(rate, floor, strict=True)]
            cpus = [a / (1e3 * b["cpu_s"] / b["replies"]) for a, b in zip(cpu, floor, strict=True)]
            line += f"   {statistics.median(rates):.2f}, {statistics.median(cpus):.1f}"
        print(line)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replies", type=int, default=10_000)
    parser.add_argument("--n", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CONTENDERS)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--role", choices=["server", *CONTENDERS], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--cells", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role == "server":
        asyncio.run(serve())
        return
    if given.role:
        options = {"cells": given.cells} if given.cells else {}
        if not given.cells:  # what is loaded at the first use is not the price of a reply
            CONTENDERS[given.role](given.url, 10 * given.n[0], given.n[0])
        result = CONTENDERS[given.role](given.url, given.replies, given.n[0], **options)
        result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(result))
        return
    names = [
        name
        for name in given.only or CONTENDERS
        if name not in NEEDS or importlib.util.find_spec(NEEDS[name])
    ]
    with running_server() as url:
        if given.memory:
            for replies, n, cells in ((200_000, 10, 20_000), (200_000, 1, 200_000)):
                result = measure("hatscore", url, replies, n, cells)
                print(
                    f"{replies:,} replies of {cells:,} prompts, n = {n}: "
                    f"{result['peak_mb']:.0f} MB at most, {result['wall_s']:.0f} s"
                )
            return
        for n in given.n:
            compare(url, names, given.replies, n, given.rounds)


if __name__ == "__main__":
    main()
