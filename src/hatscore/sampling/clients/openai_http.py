"""Any OpenAI-compatible server over HTTP: chat and completion, several replies a request.

Failures are of three kinds. What may pass (429, 5xx, a lost connection, a timeout, an answer
that cannot be read) is tried again, and at last becomes replies with an error. What stands in
the way of every request (401, 404, a field the server does not know) is a ModelError at once.
A refusal of the number of replies in one request halves that number, and it is remembered, also
for the next start (:mod:`hatscore.sampling.servers`).

This is the only place where requests are tried again. When every request fails, a breaker holds
all of them back while one at a time looks whether the server has returned. A prompt that only fails
where others are answered is given up alone: an error of its own replies.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from hatscore.errors import ModelError, RefusedRequestError
from hatscore.sampling.client import Completion
from hatscore.sampling.clients.http_answer import (
    Answer,
    LostError,
    Passing,
    advice,
    is_about_a_prompt,
    is_filtered,
    is_of_a_request,
    is_out_of_quota,
    require_served,
    served_names,
)
from hatscore.sampling.clients.protocol import (
    api_root,
    check_extra,
    error_message,
    is_about_n,
    read_answer,
    request_body,
    token_bound,
)
from hatscore.sampling.clients.retry import (
    Breaker,
    Patience,
    Retry,
    asks_for_less,
    is_temporary,
    retry_after_seconds,
)
from hatscore.sampling.fast_json import from_json, to_json
from hatscore.sampling.servers import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hatscore.benchmarks.base import Mode, Prompt
    from hatscore.sampling.client import SamplingParams
    from hatscore.sampling.servers import Why

__all__ = ["KEY_VARIABLES", "OpenAIClient"]

KEY_VARIABLES = ("HATSCORE_API_KEY", "OPENAI_API_KEY")
_PATHS: dict[Mode, str] = {"chat": "/chat/completions", "completion": "/completions"}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CONNECT_S = 30.0
_OK = 200
_ABOUT_N = (400, 422, 501)
_LOOK_S = 0.05
_MOST_SUSPECTS = 2  # prompts for which one reply came and several did not
_NO_LIST = (404, 405, 501)
_LOADING = 503
_SERVER_ERRORS = 500
_JSON = {"Content-Type": "application/json"}


class OpenAIClient:
    """A model behind an OpenAI-compatible server.

    Parameters
    ----------
    name
        Model name as the server knows it.
    base_url
        Address with or without ``/v1``.
    mode
        Which prompts it is meant for; :meth:`complete` follows the prompt's own mode.
    api_key
        None takes the first set variable of :data:`KEY_VARIABLES`. It is never stored, and
        never shown in messages.
    retry
        How failures that may pass are tried again.
    timeout_s
        Longest time for one request, in seconds.
    loading_s
        Longest wait for a server that says it is loading (HTTP 503), in seconds.
    max_n
        Most replies asked for in one request, at least 1.

    Attributes
    ----------
    on_pushback
        Called when the server asks for less (HTTP 429, 503) or is too late; see
        :class:`hatscore.sampling.pace.Paced`.

    Raises
    ------
    InputError
        `base_url` is no http address.
    """

    kind = "openai-api"

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        mode: Mode = "chat",
        api_key: str | None = None,
        retry: Retry | None = None,
        timeout_s: float = 600.0,
        loading_s: float = 300.0,
        max_n: int = 64,
    ) -> None:
        self.name = name
        self.mode: Mode = mode
        self.root = api_root(base_url)
        self.retry = retry or Retry()
        self.timeout_s = timeout_s
        self.loading_s = loading_s
        self.max_n = max_n
        self.on_pushback: Callable[[float | None, float], None] | None = None
        self._patience = Patience()
        self._breaker = Breaker(self.retry, self.root, self._patience)
        self._urls = {mode: URL(self.root + path) for mode, path in _PATHS.items()}
        self._key = api_key if api_key is not None else _key_from_environment()
        self._session: aiohttp.ClientSession | None = None
        self._accepted_n = 1  # the most that has worked
        self._recalled_n = 1  # the most that has worked in an earlier start
        self._answered = False
        self._answered_before = False  # in an earlier start
        self._suspects = self._under_way = self._refused_now = 0
        self._why_less: Why | None = None  # what has lowered max_n
        self._probing = asyncio.Lock()
        self._probe_failed = False  # then nobody waits for anybody
        self._max_tokens_field = "max_tokens"

    @property
    def base_url(self) -> str | None:
        """The address in use, None before it is known."""
        return self.root

    @property
    def server(self) -> str:
        """The address in use."""
        return self.root

    @property
    def limits(self) -> Limits | None:
        """How many replies a request may ask for, None before the first answer."""
        if not self._answered:
            return None
        accepted = max(self._accepted_n, self._recalled_n)
        # More has come in than what was refused: that refusal was about something else.
        if self._why_less is None or self._accepted_n > self.max_n:
            return Limits(accepted)
        return Limits(accepted, self.max_n, self._why_less)

    def recall(self, limits: Limits) -> None:
        """Believe what an earlier start has found out.

        A limit is not tried again. What was accepted is asked for without waiting for a first
        answer, and found out anew where the server refuses it now.
        """
        if limits.most is not None and limits.most < self.max_n:
            self.max_n, self._why_less = limits.most, limits.why
        self._recalled_n = min(limits.accepted, self.max_n)
        self._answered_before = True

    @property
    def trouble(self) -> str | None:
        """Why requests are held back, None while they are not."""
        return self._breaker.trouble

    def let_go(self) -> None:
        """End the waiting of requests between tries."""
        self._patience.let_go()

    async def check(self) -> None:
        """Wait until the server has loaded, and see that it serves the model.

        Raises
        ------
        ModelError
            No server, no access, still loading after `loading_s`, or another model.
        """
        url = URL(f"{self.root}/models")
        end = time.monotonic() + self.loading_s
        while True:
            try:
                answer = await self._http("GET", url)
            except LostError as error:
                raise ModelError(
                    f"no answer from {url}: {error}; start the server, or name another one"
                ) from error
            if answer.status != _LOADING or time.monotonic() >= end:
                break
            await asyncio.sleep(min(0.5, self.loading_s / 10))
        if answer.status in _NO_LIST:
            return  # a server without a list; the first request will tell
        if answer.status != _OK:
            raise self._refused(answer, url)
        require_served(self.name, served_names(answer.data), url, self.root)

    async def complete(
        self, prompt: Prompt, *, n: int, params: SamplingParams, seed: int | None
    ) -> list[Completion]:
        """Return between 1 and `n` completions of `prompt`.

        Parameters
        ----------
        prompt
            What is sent; its mode chooses the endpoint.
        n
            Replies wanted, at least 1.
        params
            Sampling parameters; ``params.seed`` is not used here.
        seed
            Seed of this request. llama.cpp draws reply j of the request with seed + j.

        Returns
        -------
        list of Completion
            With `error` set in each when all tries failed. `input_tokens` is the size of the
            prompt; for `output_tokens` see :func:`protocol.share_tokens`.

        Raises
        ------
        ModelError
            The server refuses in a way that every further request would meet, or has been away
            for longer than ``retry.give_up_s``.
        LetGoError
            After :meth:`let_go`, between two tries.
        InputError
            ``params.extra`` sets a field that is set here.
        """
        check_extra(params.extra)
        self._under_way += 1
        try:
            return await self._complete(prompt, n, params, seed)
        except RefusedRequestError as error:
            if not await self._others_are_answered():
                raise
            return [Completion("", error=f"the server refuses this prompt: {error}")] * n
        finally:
            self._under_way -= 1

    async def _complete(
        self, prompt: Prompt, n: int, params: SamplingParams, seed: int | None
    ) -> list[Completion]:
        attempt, spent, asked = 1, 0.0, n
        while True:
            looks = self._breaker.is_open
            if looks:
                await self._breaker.turn()
            began = time.monotonic()
            if self._takes(asked):
                outcome = await self._attempt(prompt, asked, params, seed)
            else:
                outcome = await self._probe(prompt, asked, params, seed)
            if not isinstance(outcome, Passing):
                if asked < n:
                    self._suspect_n()
                return outcome
            self._still_there()
            if outcome.broken and 2 * attempt > self.retry.tries and not self._several_came:
                asked = 1  # several at once may be what it fails at
            wait = self.retry.wait_s(attempt, outcome.retry_after)
            spent += time.monotonic() - began + wait
            last = attempt >= self.retry.tries or spent > self.retry.budget_s
            if outcome.broken and (looks or last) and not await self._is_there():
                self._breaker.open()  # nothing is given up for a server that is away
                continue
            if last:
                self._breaker.answered()  # it is about this prompt: others need not wait for it
                error = f"{outcome.problem} (after {attempt} tries)"
                return [Completion("", error=error)] * min(n, self.max_n)
            await self._patience.wait(wait)
            attempt += 1

    async def _others_are_answered(self) -> bool:
        """Wait until one of those under way is answered; False where all are refused."""
        self._refused_now += 1
        try:
            while not self._answered and self._refused_now < self._under_way:
                await self._patience.wait(_LOOK_S)
            return self._answered
        finally:
            self._refused_now -= 1

    async def _is_there(self) -> bool:
        """Whether the server answers at all, if not this prompt."""
        try:
            answer = await self._http("GET", URL(f"{self.root}/models"))
        except LostError:
            return False
        return answer.status < _SERVER_ERRORS or answer.status in _NO_LIST

    @property
    def _several_came(self) -> bool:
        return max(self._accepted_n, self._recalled_n) > 1

    def _suspect_n(self) -> None:
        """Note that one reply came where several at once brought no answer."""
        self._suspects += 1
        if self._suspects >= _MOST_SUSPECTS and not self._several_came:
            self._lower_to(1, "refused")

    async def close(self) -> None:
        """Release connections; what was found out about the server stays."""
        session, self._session = self._session, None
        self._probing = asyncio.Lock()  # the next one may be used in another event loop
        self._patience.renew()
        self._breaker.answered()
        if session is not None:
            await session.close()

    # -- one attempt, and the number of replies in it ---------------------------------------

    async def _probe(
        self, prompt: Prompt, n: int, params: SamplingParams, seed: int | None
    ) -> list[Completion] | Passing:
        """Let only one request at a time find out how many replies the server takes."""
        async with self._probing:
            if not self._takes(n):
                return await self._attempt(prompt, n, params, seed)
        return await self._attempt(prompt, n, params, seed)

    def _takes(self, n: int) -> bool:
        accepted = max(self._accepted_n, self._recalled_n)
        return self._probe_failed or min(n, self.max_n) <= accepted

    async def _attempt(
        self, prompt: Prompt, wanted: int, params: SamplingParams, seed: int | None
    ) -> list[Completion] | Passing:
        """Ask once, and again only with another form of the same request."""
        url = self._urls[prompt.mode]
        before = self.max_n, self._why_less
        while True:
            n = min(wanted, self.max_n)
            field = self._max_tokens_field
            body = request_body(
                prompt, model=self.name, n=n, params=params, seed=seed, max_tokens_field=field
            )
            began = time.monotonic()
            try:
                answer = await self._http("POST", url, body)
                if answer.status == _OK:
                    completions = self._read(answer, n, body)
                    self._breaker.answered()
                    return completions
            except (LostError, ValueError) as error:
                self._probe_failed = True
                self._breaker.failed(str(error))
                if isinstance(error, LostError) and error.late:
                    self._push_back(None, began)
                return Passing(str(error), None, broken=True)
            if is_temporary(answer.status) and not is_out_of_quota(answer):
                self._probe_failed = True
                return self._passing(answer, began)
            self._breaker.answered()
            if is_filtered(answer):
                return [Completion("", "content_filter", latency_s=answer.latency_s)] * n
            if self._switch_field(answer, field) or self._lower_n(answer, n):
                continue
            if n == 1:
                self.max_n, self._why_less = before  # nor was it the number of replies
            some = self._answered or self._answered_before
            if not (is_about_a_prompt(answer) or (some and is_of_a_request(answer))):
                raise self._refused(answer, url)
            refusal = f"the server refuses this prompt: {self._words(answer)}"
            return [Completion("", error=refusal)] * n

    def _passing(self, answer: Answer, began: float) -> Passing:
        problem = self._words(answer)
        if asks_for_less(answer.status):
            self._push_back(answer.retry_after, began)
        if answer.status < _SERVER_ERRORS:
            self._breaker.answered()
        else:
            self._breaker.failed(problem)
        return Passing(problem, answer.retry_after, broken=answer.status >= _SERVER_ERRORS)

    def _push_back(self, retry_after: float | None, began: float) -> None:
        if self.on_pushback is not None:
            self.on_pushback(retry_after, began)

    def _read(self, answer: Answer, n: int, body: Mapping[str, Any]) -> list[Completion]:
        if not answer.is_json:
            raise ValueError(f"answer is no JSON: {error_message(answer.data)[:80]}")
        completions = read_answer(
            answer.data, n=n, bound=token_bound(body), latency_s=answer.latency_s
        )
        self._answered = True
        if len(completions) < n:
            self._lower_to(max(len(completions), self._accepted_n), "ignored")
        self._accepted_n = max(self._accepted_n, len(completions))
        return completions

    def _lower_n(self, answer: Answer, n: int) -> bool:
        """Halve the number of replies when it may be what the server refuses."""
        if n <= 1 or answer.status not in _ABOUT_N:
            return False
        if n <= self._accepted_n and not is_about_n(error_message(answer.data)):
            return False  # it took as many before: something else is wrong
        self._lower_to(n // 2, "refused")
        self._accepted_n = min(self._accepted_n, self.max_n)
        return True

    def _lower_to(self, most: int, why: Why) -> None:
        if most < self.max_n:
            self.max_n, self._why_less = most, why
        self._recalled_n = min(self._recalled_n, self.max_n)

    def _switch_field(self, answer: Answer, used: str) -> bool:
        """Take the name that newer OpenAI models want for the bound of tokens."""
        newer = "max_completion_tokens"
        if used == newer or newer not in error_message(answer.data):
            return False
        self._max_tokens_field = newer
        return True

    # -- one request ------------------------------------------------------------------------

    def _still_there(self) -> None:
        """Raise ModelError when trying again is hopeless; for servers that we started."""

    async def _http(self, method: str, url: URL, body: Mapping[str, Any] | None = None) -> Answer:
        if self._session is None:
            self._session = self._new_session()
        data = None if body is None else to_json(body).encode("utf-8", "replace")
        start = time.monotonic()
        try:
            async with self._session.request(
                method, url, data=data, headers=_JSON if body else None, allow_redirects=False
            ) as response:
                raw = await response.read()
        except aiohttp.ConnectionTimeoutError as error:
            raise LostError(f"no connection within {_CONNECT_S:g} s") from error
        except TimeoutError as error:
            raise LostError(f"no answer within {self.timeout_s:g} s", late=True) from error
        except aiohttp.ClientPayloadError as error:
            raise LostError("the connection broke within the answer") from error
        except (aiohttp.ClientError, OSError) as error:
            raise LostError(str(error) or type(error).__name__) from error
        try:
            found, is_json = from_json(raw), True
        except (ValueError, RecursionError):
            found, is_json = raw.decode("utf-8", "replace"), False
        return Answer(
            response.status,
            found,
            is_json,
            retry_after_seconds(response.headers.get("Retry-After")),
            time.monotonic() - start,
        )

    def _new_session(self) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return aiohttp.ClientSession(
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=self.timeout_s, sock_connect=_CONNECT_S),
            connector=aiohttp.TCPConnector(limit=0),  # the engine bounds what is under way
            cookie_jar=aiohttp.DummyCookieJar(),
            # A proxy of the environment is for the world outside, not for this machine.
            trust_env=urlsplit(self.root).hostname not in _LOOPBACK,
        )

    def _words(self, answer: Answer) -> str:
        message = error_message(answer.data)
        if self._key:
            message = message.replace(self._key, "[key]")
        return f"HTTP {answer.status}" + (f": {message}" if message else "")

    def _refused(self, answer: Answer, url: URL) -> ModelError:
        said = f"{self._words(answer)} from {url} for model {self.name!r}"
        kind = RefusedRequestError if is_of_a_request(answer) else ModelError
        return kind(f"{said}; {advice(answer, KEY_VARIABLES, has_key=bool(self._key))}")


def _key_from_environment() -> str | None:
    keys = (os.environ.get(name, "").strip() for name in KEY_VARIABLES)
    return next((key for key in keys if key), None)
