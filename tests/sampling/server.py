"""A small OpenAI-compatible server with known success probabilities and faults on order.

It runs in a thread of the test process; what was asked is kept in ``requests``.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, Literal, Self

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Fault:
    """What one request meets instead of an answer; an answer goes out when all fields are None."""

    status: int | None = None
    text: str | None = None
    json: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    reset: Literal["before", "middle"] | None = None
    hang_s: float | None = None


@dataclass
class Request:
    """One request to a completions endpoint."""

    path: str
    body: dict[str, Any]
    authorization: str | None

    @property
    def n(self) -> int:
        return self.body.get("n", 1)


class ModelServer:
    """Serve ``models`` at ``url`` while entered.

    Parameters
    ----------
    models
        Served names; the first is returned in answers unless ``returned_name`` says otherwise.
    probability
        Chance that a reply to a prompt is right.
    right, wrong
        The two replies to a prompt. Each reply ends with `tag`.
    numbered
        Add a running number to each reply, so that no two are equal.
    n_limit
        Most choices in one request, None for no limit.
    beyond
        What a request for more meets: ``refuse`` (HTTP 400 that says why), ``refuse silently``
        (one that does not), ``ignore`` (fewer choices).
    usage
        ``all``: completion_tokens of all choices, as OpenAI; ``first``: of one, as llama.cpp.
    latency_s
        Seconds before each answer.
    loading
        So many requests for the models meet HTTP 503 first.
    message
        Makes the message of a choice from its text; for null content and reasoning.
    """

    def __init__(
        self,
        *,
        models: tuple[str, ...] = ("test-model",),
        probability: Callable[[str], float] = lambda _: 0.5,
        right: Callable[[str], str] = lambda _: "right",
        wrong: Callable[[str], str] = lambda _: "wrong",
        numbered: bool = False,
        n_limit: int | None = None,
        beyond: Literal["refuse", "refuse silently", "ignore"] = "refuse",
        usage: Literal["all", "first", "none"] = "all",
        latency_s: float = 0.0,
        loading: int = 0,
        key: str | None = None,
        message: Callable[[str], dict[str, Any]] = lambda text: {"content": text},
        finish_reason: str = "stop",
        returned_name: Callable[[int], str] | None = None,
    ) -> None:
        self.models = models
        self.probability = probability
        self.right = right
        self.wrong = wrong
        self.numbered = numbered
        self.n_limit = n_limit
        self.beyond = beyond
        self.usage = usage
        self.latency_s = latency_s
        self.loading = loading
        self.key = key
        self.message = message
        self.finish_reason = finish_reason
        self.returned_name = returned_name or (lambda _: models[0])
        self.always: Fault | None = None
        self.away = False  # everything is answered by a gateway that finds nobody
        self.faults: deque[Fault] = deque()
        self.requests: list[Request] = []
        self.under_way = self.most_under_way = 0
        self.url = ""
        self._numbers = count()
        self._free: dict[str, Random] = {}
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def order(self, *faults: Fault) -> None:
        """Let the next requests meet these."""
        self.faults.extend(faults)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/v1/completions", self._complete)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._stop = asyncio.Event()
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _models(self, request: web.Request) -> web.StreamResponse:
        if self.away:
            return _error(502, "Bad Gateway")
        if self.loading:
            self.loading -= 1
            return _error(503, "Loading model")
        refused = self._unauthorized(request)
        if refused is not None:
            return refused
        data = [{"id": name, "object": "model"} for name in self.models]
        return web.json_response({"object": "list", "data": data})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked = Request(request.path, body, request.headers.get("Authorization"))
        self.requests.append(asked)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.latency_s)
            if self.away:
                return _error(502, "Bad Gateway")
            fault = self.faults.popleft() if self.faults else self.always
            if fault is not None:
                return await _meet(fault, request)
            refused = self._unauthorized(request)
            if refused is not None:
                return refused
            return self._answer(asked)
        finally:
            self.under_way -= 1

    def _unauthorized(self, request: web.Request) -> web.Response | None:
        given = request.headers.get("Authorization")
        if self.key is None or given == f"Bearer {self.key}":
            return None
        return _error(401, f"Incorrect API key provided: {given}")

    def _answer(self, asked: Request) -> web.Response:
        n = asked.n
        if self.n_limit is not None and n > self.n_limit:
            if self.beyond == "refuse":
                return _error(400, f"Field 'n': at most {self.n_limit}, got {n}")
            if self.beyond == "refuse silently":
                return _error(400, "bad request")
            n = self.n_limit
        if asked.body["model"] not in self.models:
            return _error(404, f"The model `{asked.body['model']}` does not exist")
        chat = asked.path.endswith("/chat/completions")
        prompt = asked.body["messages"][0]["content"] if chat else asked.body["prompt"]
        texts = [self._text(prompt, asked.body.get("seed"), index) for index in range(n)]
        tokens = [len(text.split()) + 1 for text in texts]
        data: dict[str, Any] = {
            "model": self.returned_name(len(self.requests)),
            "choices": [
                {
                    "index": index,
                    "finish_reason": self.finish_reason,
                    **({"message": self.message(text)} if chat else {"text": text}),
                }
                for index, text in enumerate(texts)
            ],
        }
        if self.usage != "none":
            data["usage"] = {
                "prompt_tokens": len(prompt.split()),
                "completion_tokens": sum(tokens) if self.usage == "all" else tokens[0],
            }
        return web.json_response(data)

    def _text(self, prompt: str, seed: int | None, index: int) -> str:
        if seed is None:
            # the i-th reply to a prompt is the same in whatever order prompts arrive
            rng = self._free.setdefault(prompt, Random(f"{self.models[0]} {prompt}"))
        else:
            rng = Random(f"{seed + index} {prompt}")
        text = self.right(prompt) if rng.random() < self.probability(prompt) else self.wrong(prompt)
        return f"{text} {next(self._numbers)}" if self.numbered else text


async def _meet(fault: Fault, request: web.Request) -> web.StreamResponse:
    if fault.hang_s is not None:
        await asyncio.sleep(fault.hang_s)
    if fault.reset == "before" and request.transport is not None:
        request.transport.abort()
    if fault.reset == "middle":
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        if request.transport is not None:
            request.transport.abort()
        return response
    if fault.json is not None:
        return web.json_response(fault.json, status=fault.status or 200, headers=fault.headers)
    return web.Response(status=fault.status or 200, text=fault.text or "", headers=fault.headers)


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "code": status}}, status=status)
