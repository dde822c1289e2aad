"""Loopback servers that speak the wire formats of OpenAI, Anthropic and Google.

One server answers under all of their paths. It runs in a thread of the test process; what was
asked is kept in ``requests``.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Asked:
    """One request to an endpoint that generates text."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]


@dataclass(frozen=True)
class Refusal:
    """An error in the form of the provider that is asked."""

    status: int
    message: str
    headers: tuple[tuple[str, str], ...] = ()


class WireServer:
    """Serve all formats at ``url`` while entered.

    Parameters
    ----------
    refuse
        Looks at a body and returns a refusal, or None to answer.
    reasoning
        Text of the reasoning in every answer, None for none.
    reply
        Makes the text of a reply from its running number.
    most
        Most replies in one answer, however many are asked for.
    finish
        Why a reply ended, in the words of OpenAI: ``stop`` or ``length``.
    """

    def __init__(
        self,
        *,
        refuse: Callable[[dict[str, Any]], Refusal | None] = lambda _: None,
        reasoning: str | None = None,
        reply: Callable[[int], str] = lambda number: f"reply {number}",
        most: int = 100,
        finish: str = "stop",
        latency_s: float = 0.0,
    ) -> None:
        self.refuse = refuse
        self.reasoning = reasoning
        self.reply = reply
        self.most = most
        self.finish = finish
        self.latency_s = latency_s
        self.requests: list[Asked] = []
        self.order: deque[Refusal] = deque()
        self.under_way = self.most_under_way = 0
        self.files: dict[str, str] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.url = ""
        self._numbers = count()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [asked.body for asked in self.requests]

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._handler(_openai_error, self._chat))
        app.router.add_post("/v1/responses", self._handler(_openai_error, self._responses))
        app.router.add_post("/v1/messages/count_tokens", _count_tokens)
        app.router.add_post("/v1/messages", self._handler(_anthropic_error, self._messages))
        app.router.add_post(
            "/{version:v1(?:beta)?}/models/{call}",
            self._handler(_google_error, self._generate_content),
        )
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._download)
        app.router.add_post("/v1/batches", self._start_batch)
        app.router.add_get("/v1/batches/{id}", self._show_batch)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._stop = asyncio.Event()
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    def _handler(self, error: Any, answer: Any) -> Any:
        async def handle(request: web.Request) -> web.StreamResponse:
            body = await request.json()
            self.requests.append(Asked(request.path, body, dict(request.headers)))
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            try:
                await asyncio.sleep(self.latency_s)
                refusal = self.order.popleft() if self.order else self.refuse(body)
                if refusal is not None:
                    return web.json_response(
                        error(refusal), status=refusal.status, headers=dict(refusal.headers)
                    )
                return await answer(request, body)
            finally:
                self.under_way -= 1

        return handle

    def _texts(self, n: int) -> list[str]:
        return [self.reply(next(self._numbers)) for _ in range(min(n, self.most))]

    # -- OpenAI --------------------------------------------------------------------------

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = self._texts(body.get("n", 1))
        extra = {} if self.reasoning is None else {"reasoning_content": self.reasoning}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": f"{body['model']}-served",
            "choices": [
                {
                    "index": index,
                    "finish_reason": self.finish,
                    "logprobs": None,
                    "message": {"role": "assistant", "content": text, **extra},
                }
                for index, text in enumerate(texts)
            ],
            "usage": {
                "prompt_tokens": 11,
                "completion_tokens": 7 * len(texts),
                "total_tokens": 11 + 7 * len(texts),
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 3 * len(texts)},
            },
        }

    async def _chat(self, _: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(self._completion(body))

    async def _responses(self, _: web.Request, body: dict[str, Any]) -> web.Response:
        output: list[dict[str, Any]] = []
        if self.reasoning is not None:
            summary = [{"type": "summary_text", "text": self.reasoning}]
            output.append(
                {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "x"}
            )
        text = self._texts(1)[0]
        output.append(
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }
        )
        return web.json_response(
            {
                "id": "resp_1",
                "object": "response",
                "created_at": 1,
                "status": "completed",
                "model": f"{body['model']}-served",
                "output": output,
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
                "usage": {
                    "input_tokens": 11,
                    "input_tokens_details": {"cached_tokens": 4},
                    "output_tokens": 7,
                    "output_tokens_details": {"reasoning_tokens": 3},
                    "total_tokens": 18,
                },
            }
        )

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        upload: Any = form["file"]
        name = f"file-{len(self.files)}"
        self.files[name] = upload.file.read().decode()
        return web.json_response(
            {
                "id": name,
                "object": "file",
                "bytes": 1,
                "created_at": 1,
                "filename": "batch.jsonl",
                "purpose": "batch",
                "status": "processed",
            }
        )

    async def _start_batch(self, request: web.Request) -> web.Response:
        asked = await request.json()
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        answers = [
            {
                "id": f"line-{index}",
                "custom_id": line["custom_id"],
                "response": {
                    "status_code": 200,
                    "request_id": "r",
                    "body": self._completion(line["body"]),
                },
                "error": None,
            }
            for index, line in enumerate(lines)
        ]
        name = f"file-{len(self.files)}"
        self.files[name] = "\n".join(json.dumps(answer) for answer in answers)
        batch = {
            "id": f"batch-{len(self.batches)}",
            "object": "batch",
            "endpoint": asked["endpoint"],
            "input_file_id": asked["input_file_id"],
            "output_file_id": name,
            "error_file_id": None,
            "completion_window": "24h",
            "status": "completed",
            "created_at": 1,
            "request_counts": {"total": len(lines), "completed": len(lines), "failed": 0},
        }
        self.batches[batch["id"]] = batch
        return web.json_response(batch)

    async def _show_batch(self, request: web.Request) -> web.Response:
        return web.json_response(self.batches[request.match_info["id"]])

    async def _download(self, request: web.Request) -> web.Response:
        return web.Response(text=self.files[request.match_info["id"]])

    # -- Anthropic -----------------------------------------------------------------------

    async def _messages(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        content: list[dict[str, Any]] = []
        if self.reasoning is not None:
            content.append({"type": "thinking", "thinking": self.reasoning, "signature": "s"})
        content.append({"type": "text", "text": self._texts(1)[0]})
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": f"{body['model']}-served",
            "content": content,
            "stop_reason": {"stop": "end_turn", "length": "max_tokens"}[self.finish],
            "stop_sequence": None,
            "usage": {"input_tokens": 7, "output_tokens": 7, "cache_read_input_tokens": 4},
        }
        if not body.get("stream"):
            return web.json_response(message)
        return await _stream(request, _anthropic_events(message))

    # -- Google --------------------------------------------------------------------------

    async def _generate_content(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        texts = self._texts(body.get("generationConfig", {}).get("candidateCount", 1))
        thoughts = [] if self.reasoning is None else [{"text": self.reasoning, "thought": True}]
        finish = {"stop": "STOP", "length": "MAX_TOKENS"}[self.finish]
        model = request.match_info["call"].partition(":")[0]
        return web.json_response(
            {
                "candidates": [
                    {
                        "index": index,
                        "finishReason": finish,
                        "content": {"role": "model", "parts": [*thoughts, {"text": text}]},
                    }
                    for index, text in enumerate(texts)
                ],
                "usageMetadata": {
                    "promptTokenCount": 11,
                    "cachedContentTokenCount": 4,
                    "candidatesTokenCount": 4 * len(texts),
                    "thoughtsTokenCount": 3 * len(texts),
                    "totalTokenCount": 11 + 7 * len(texts),
                },
                "modelVersion": f"{model}-served",
                "responseId": "r",
            }
        )


async def _count_tokens(_: web.Request) -> web.Response:
    return web.json_response({"input_tokens": 3})


def _openai_error(refusal: Refusal) -> dict[str, Any]:
    return {"error": {"message": refusal.message, "type": "invalid_request_error", "code": None}}


def _anthropic_error(refusal: Refusal) -> dict[str, Any]:
    kind = "rate_limit_error" if refusal.status == 429 else "invalid_request_error"
    return {"type": "error", "error": {"type": kind, "message": refusal.message}}


def _google_error(refusal: Refusal) -> dict[str, Any]:
    status = "RESOURCE_EXHAUSTED" if refusal.status == 429 else "INVALID_ARGUMENT"
    return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}


def _anthropic_events(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    empty = {**message, "content": [], "stop_reason": None}
    events: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": empty})]
    for index, block in enumerate(message["content"]):
        if block["type"] == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        else:
            start = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": block["text"]}]
        events.append(("content_block_start", {"index": index, "content_block": start}))
        events += [("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
        events.append(("content_block_stop", {"index": index}))
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append(("message_delta", {"delta": delta, "usage": message["usage"]}))
    events.append(("message_stop", {}))
    return events


async def _stream(
    request: web.Request, events: list[tuple[str, dict[str, Any]]]
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for name, data in events:
        line = json.dumps({"type": name, **data})
        await response.write(f"event: {name}\ndata: {line}\n\n".encode())
    await response.write_eof()
    return response
