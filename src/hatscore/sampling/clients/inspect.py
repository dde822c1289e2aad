"""Models of many providers through inspect_ai's model layer (extra ``providers``).

Only the provider classes are used: ``Model.generate`` and the evaluation loop around them keep
transcripts and cost more time per request than some servers need to answer.

What a provider does not take is found out with the first requests, of which only one at a time
is under way until one has been answered. A sampling parameter that it refuses is left out from
then on; one that it never sends is named; both are kept in :attr:`InspectClient.observed`. A
reasoning setting that does not reach the provider is an error, since the run is about it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError, MissingExtraError, ModelError, RefusedRequestError
from hatscore.sampling.client import Completion
from hatscore.sampling.clients.provider_answer import error_words, read_output, status_of
from hatscore.sampling.clients.provider_request import (
    REASONING,
    asked_parameters,
    is_about_a_value,
    missing_from,
    refused_parameter,
    without_texts,
)
from hatscore.sampling.clients.providers import PROVIDERS
from hatscore.sampling.clients.retry import Patience, Retry, is_temporary
from hatscore.sampling.servers import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from hatscore.benchmarks.base import Mode, Prompt
    from hatscore.sampling.client import SamplingParams
    from hatscore.sampling.servers import Why

__all__ = ["REASONING_ROOM", "InspectClient", "reasons"]

REASONING_ROOM = 32_768  # tokens beside the answer, where a model reasons and no budget is set
_OWN_RETRIES = ("anthropic", "openai")  # SDKs that try again by themselves unless told not to
_REFUSALS = (400, 422)
_NO_WAY = (401, 403, 404)
_ASK_FOR_LESS = (429, 503, 529)
_OFF: tuple[object, ...] = ("none", 0)


def reasons(api: Any, config: Any) -> bool:
    """Whether tokens beside the answer must be allowed for; a wide bound harms nothing.

    Parameters
    ----------
    api
        inspect's of the model.
    config
        inspect's, with the reasoning settings.
    """
    if config.reasoning_effort in _OFF or config.reasoning_tokens == 0:
        return False
    if config.reasoning_effort is not None or config.reasoning_tokens is not None:
        return True
    # how a provider says that its model thinks without having been told to
    tells = ("has_reasoning_options", "is_gemini_thinking", "is_claude_4_7_or_later")
    return any(getattr(api, name, bool)() for name in tells)


@dataclass(frozen=True, slots=True)
class _Passing:
    """A failure that may pass, or that concerns one request alone."""

    problem: str
    retry_after: float | None = None
    again: bool = True


class InspectClient:
    """A model of a provider that inspect_ai knows.

    Keys are read by inspect_ai from the environment variables of the providers
    (``OPENAI_API_KEY``, ``ANTHROPIC_API_KEY``, ``GOOGLE_API_KEY``, ...).

    Parameters
    ----------
    spec
        ``PROVIDER/NAME`` with a provider of :data:`hatscore.sampling.clients.providers.PROVIDERS`.
    base_url
        Address other than the provider's own, None for that.
    batch
        Use the provider's batch interface, at a lower price and with answers after minutes to
        hours: True, the number of requests in a batch, or fields of inspect's ``BatchConfig``.
        The first request goes out alone and at once, to find out what the provider takes.
    retry
        How failures that may pass are tried again.
    timeout_s
        Longest time for one request, in seconds; not in batches.
    max_n
        Most replies asked for in one request, at least 1.
    model_args
        Passed on to the provider class.

    Attributes
    ----------
    name
        The model's name without its provider.
    notes
        What the provider did not take, as sentences.
    on_pushback
        Called when the provider asks for less (HTTP 429, 503, 529) or is too late, with the
        seconds of ``Retry-After`` and ``time.monotonic()`` of when the request went out. Not
        there with `batch`: a batch has no pace to follow, all its requests wait together.

    Raises
    ------
    MissingExtraError
        inspect_ai is not installed.
    InputError
        `spec` is no ``PROVIDER/NAME``.
    """

    kind = "inspect"
    mode: Mode = "chat"
    on_pushback: Callable[[float | None, float], None] | None

    def __init__(
        self,
        spec: str,
        *,
        base_url: str | None = None,
        batch: bool | int | Mapping[str, Any] = False,
        retry: Retry | None = None,
        timeout_s: float = 600.0,
        max_n: int = 64,
        model_args: Mapping[str, Any] | None = None,
    ) -> None:
        self.provider, _, self.name = spec.partition("/")
        if self.provider not in PROVIDERS or not self.name:
            raise InputError(f"model {spec!r}: expected PROVIDER/NAME, e.g. openai/gpt-4o")
        if importlib.util.find_spec("inspect_ai") is None:
            raise MissingExtraError("providers", f"the model {spec!r}")
        self.spec = spec
        self.retry = retry or Retry()
        self.timeout_s = timeout_s
        self.max_n = max_n
        self.notes: tuple[str, ...] = ()
        if not batch:
            self.on_pushback = None
        self._base_url = base_url
        self._batch = batch
        self._model_args = dict(model_args or {})
        self._api: Any = None
        self._given_up: dict[str, str] = {}  # refused parameters, with the provider's words
        self._dropped: dict[str, Any] = {}
        self._first_request: dict[str, Any] | None = None
        self._accepted_n = 0  # the most that has worked; 0 before the first answer
        self._answered_before = False  # in an earlier start
        self._why_less: Why | None = None  # what has lowered max_n
        self._probing = asyncio.Lock()
        self._patience = Patience()

    @property
    def base_url(self) -> str | None:
        """The address that was given, None for the provider's own."""
        return self._base_url

    @property
    def observed(self) -> dict[str, Any] | None:
        """What the provider made of the request, None before the first answer.

        ``request``: the parameters of the first request that was answered, as sent. ``dropped``:
        what was asked for and not in it. ``refused``: what the provider did not take, with its
        words. ``replies_per_request``: the most it gave at once.
        """
        if not self._accepted_n:
            return None
        return {
            "model": self.spec,
            "request": self._first_request,
            "dropped": dict(self._dropped),
            "refused": dict(self._given_up),
            "replies_per_request": self._accepted_n,
        }

    @property
    def server(self) -> str:
        """The address that was given or stands in the environment, else the provider's name."""
        variable = f"{self.provider.upper().replace('-', '_')}_BASE_URL"
        return self._base_url or os.environ.get(variable) or self.provider

    @property
    def limits(self) -> Limits | None:
        """How many replies a request may ask for, None before the first answer."""
        if not self._accepted_n:
            return None
        most = None if self._why_less is None else self.max_n
        return Limits(self._accepted_n, most, self._why_less)

    def recall(self, limits: Limits) -> None:
        """Believe the limit that an earlier start has found out."""
        self._answered_before = True
        if limits.most is not None and limits.most < self.max_n:
            self.max_n, self._why_less = limits.most, limits.why
            if self.max_n == 1:
                self._say(f"{self.spec} gives one reply per request, as an earlier start has found")

    @property
    def trouble(self) -> str | None:
        """Nothing: the provider's own waits are not known."""
        return None

    def let_go(self) -> None:
        """End the waiting of requests between tries."""
        self._patience.let_go()

    async def check(self) -> None:
        """Load the provider; the first request tells whether the model answers.

        Raises
        ------
        ModelError
            The provider cannot be used: no key, a package is missing, a server does not start.
        """
        if self._api is None:
            self._api = self._load()

    async def complete(
        self, prompt: Prompt, *, n: int, params: SamplingParams, seed: int | None
    ) -> list[Completion]:
        """Return between 1 and `n` completions of `prompt`.

        Parameters
        ----------
        prompt
            A chat prompt.
        n
            Replies wanted, at least 1.
        params
            Sampling parameters; ``params.seed`` is not used here. Fields of ``extra`` that
            inspect's generation config has (``reasoning_effort``, ``reasoning_tokens``,
            ``top_k``, ``system_message``, ...) are set in it, others go into the body. Where
            the model reasons and ``max_tokens`` is None, the prompt's bound is widened by the
            reasoning budget, or :data:`REASONING_ROOM`, because providers count both together.
        seed
            Seed of this request.

        Returns
        -------
        list of Completion
            With `error` set in each when all tries failed.

        Raises
        ------
        ModelError
            The provider refuses in a way that every further request would meet, or a reasoning
            setting does not reach it.
        InputError
            A completion prompt, or ``params.extra`` sets a field that is set here.
        """
        if prompt.mode != "chat":
            raise InputError(f"{self.spec}: providers take chat prompts only; use --mode chat")
        await self.check()
        attempt = 1
        while True:
            async with self._turn():
                outcome = await self._attempt(prompt, n, params, seed)
            if not isinstance(outcome, _Passing):
                return outcome
            if attempt >= self.retry.tries or not outcome.again:
                tried = f" (after {attempt} tries)" if attempt > 1 else ""
                return [Completion("", error=outcome.problem + tried)] * min(n, self.max_n)
            await self._patience.wait(self.retry.wait_s(attempt, outcome.retry_after))
            attempt += 1

    async def close(self) -> None:
        """Release connections, and end a server that the provider has started.

        What was found out about the provider stays.
        """
        api, self._api = self._api, None
        self._probing = asyncio.Lock()  # the next one may be used in another event loop
        self._patience.renew()
        if api is not None:
            await api.aclose()

    # -- the provider -----------------------------------------------------------------------

    def _load(self) -> Any:
        from inspect_ai.model import get_model  # noqa: PLC0415 - takes seconds

        args = dict(self._model_args)
        if self.provider in _OWN_RETRIES:
            args.setdefault("max_retries", 0)
        if self.provider == "mockllm":
            args.setdefault("custom_outputs", _mock_output)
        try:
            return get_model(self.spec, base_url=self._base_url, memoize=False, **args).api
        except Exception as error:
            # Providers raise whatever their SDKs do: all of it means that none can be asked.
            raise ModelError(f"{self.spec} cannot be used: {error_words(error)}") from error

    def _config(self, asked: Mapping[str, Any], *, bound_is_given: bool) -> Any:
        from inspect_ai.model import GenerateConfig  # noqa: PLC0415 - loaded with the provider

        known = {
            name: value for name, value in asked.items() if name in GenerateConfig.model_fields
        }
        body = {name: value for name, value in asked.items() if name not in known}
        if body:
            known["extra_body"] = body | dict(known.get("extra_body") or {})
        try:
            config = GenerateConfig(**known)
        except ValueError as error:
            raise InputError(f"{self.spec}: {' '.join(str(error).split())}") from error
        if not bound_is_given and reasons(self._api, config):
            config.max_tokens = asked["max_tokens"] + (config.reasoning_tokens or REASONING_ROOM)
        if self._batch and self._accepted_n:
            config.batch = self._batch_config()
        return config

    def _batch_config(self) -> Any:
        from inspect_ai.model import BatchConfig  # noqa: PLC0415 - loaded with the provider

        if isinstance(self._batch, bool | int):
            return self._batch
        return BatchConfig(**self._batch)

    # -- one attempt, and what the provider takes -------------------------------------------

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Let only one request at a time find out what the provider takes."""
        if self._accepted_n:
            yield
            return
        async with self._probing:
            known = bool(self._accepted_n)
            if not known:
                yield
        if known:
            yield

    async def _attempt(
        self, prompt: Prompt, wanted: int, params: SamplingParams, seed: int | None
    ) -> list[Completion] | _Passing:
        """Ask once, and again only with less of the same request."""
        while True:
            n = min(wanted, self.max_n)
            asked = asked_parameters(
                prompt,
                n=n,
                params=params,
                seed=seed,
                max_tokens=params.max_tokens or prompt.max_tokens,
            )
            asked = {k: v for k, v in asked.items() if k not in self._given_up}
            config = self._config(asked, bound_is_given=params.max_tokens is not None)
            start = time.monotonic()
            try:
                output, call = await self._generate(prompt, config)
            except TimeoutError:
                self._push_back(None, start)
                return _Passing(f"no answer within {self.timeout_s:g} s")
            except Exception as error:  # noqa: BLE001 - providers raise whatever their SDKs do
                outcome = self._judge(error, asked, n, start)
                if outcome is None:
                    continue
                return outcome
            self._look_at(call, asked)
            completions = read_output(
                output,
                None if call is None else call.response,
                n=n,
                bound=config.max_tokens,
                latency_s=time.monotonic() - start,
            )
            if not completions:
                return _Passing("the provider returned no reply")
            self._note_n(n, len(completions))
            return completions

    async def _generate(self, prompt: Prompt, config: Any) -> tuple[Any, Any]:
        """Return the output and the call; raise what the provider raises or returns as error."""
        from inspect_ai.model import (  # noqa: PLC0415 - loaded with the provider
            ChatMessageSystem,
            ChatMessageUser,
        )

        messages: list[Any] = [ChatMessageUser(content=prompt.text)]
        if config.system_message:
            messages.insert(0, ChatMessageSystem(content=config.system_message))
        async with asyncio.timeout(None if config.batch else self.timeout_s):
            result = await self._api.generate(messages, [], "none", config)
        output, call = result if isinstance(result, tuple) else (result, None)
        if isinstance(output, Exception):
            raise output
        return output, call

    def _judge(
        self, error: Exception, asked: Mapping[str, Any], n: int, began: float
    ) -> _Passing | None:
        """Return what a failure means; None: ask again with what the provider takes."""
        words = error_words(error)
        status = status_of(error)
        if status in _REFUSALS and self._lowers(words, asked, n):
            return None
        decision = self._api.should_retry(error)
        if bool(decision) or (status is not None and is_temporary(status)):
            retry_after = getattr(decision, "retry_after", None)
            if status in _ASK_FOR_LESS:
                self._push_back(retry_after, began)
            # A batch is sent again by inspect itself.
            again = not (self._batch and self._accepted_n)
            return _Passing(words, retry_after, again=again)
        if status in _NO_WAY or not (self._accepted_n or self._answered_before):
            kind = RefusedRequestError if status in _REFUSALS else ModelError
            raise kind(f"{self.spec}: {words}; {_advice(status)}") from error
        return _Passing(words, again=False)  # others were answered: it is about this one

    def _lowers(self, words: str, asked: Mapping[str, Any], n: int) -> bool:
        """Give up what a refusal is about, when that is ours to give up."""
        name = refused_parameter(words, asked)
        if n > 1 and (name == "num_choices" or (name is None and n > self._accepted_n)):
            self.max_n, self._why_less = max(1, n // 2), "refused"
            self._accepted_n = min(self._accepted_n, self.max_n)
            if self.max_n == 1:
                self._say(f"{self.spec} gives one reply per request ({words})")
            return True
        if name is None or name == "num_choices" or is_about_a_value(words):
            return False
        self._given_up[name] = words
        self._say(f"{self.spec} refuses {name}={asked[name]!r} ({words}); it is left out")
        return True

    def _look_at(self, call: Any, asked: Mapping[str, Any]) -> None:
        """Compare the first request that was answered with what was asked for."""
        if self._first_request is not None or call is None or self.provider == "mockllm":
            return
        self._first_request = without_texts(call.request)
        missing = missing_from(call.request, [n for n in asked if n != "system_message"])
        self._dropped = {name: asked[name] for name in missing}
        lost = [name for name in REASONING if asked.get(name) not in (None, *_OFF)]
        if lost and all(name in missing for name in lost):
            raise ModelError(
                f"{self.spec}: {lost[0]}={asked[lost[0]]!r} does not reach the provider: the "
                "request carried no setting of the reasoning. This model takes none, or another "
                "one; leave the option out, or use the one that the model takes"
            )
        for name in missing:
            if name != "num_choices":  # told by the number of replies
                self._say(
                    f"{self.spec}: {name}={asked[name]!r} is not sent, because this provider or "
                    "model does not take it; its own default applies"
                )

    def _note_n(self, n: int, got: int) -> None:
        if got < n and self.max_n > got:
            self.max_n, self._why_less = max(got, self._accepted_n), "ignored"
            if self.max_n == 1:
                self._say(
                    f"{self.spec} gives one reply per request: every repeat is a request of its "
                    "own, and is billed with its prompt"
                )
        self._accepted_n = max(self._accepted_n, got)

    def _push_back(self, retry_after: float | None, began: float) -> None:
        heard = getattr(self, "on_pushback", None)
        if heard is not None:
            heard(retry_after, began)

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes = (*self.notes, note)


def _advice(status: int | None) -> str:
    if status in (401, 403):
        return "check the key in the provider's environment variable"
    if status == 404:  # noqa: PLR2004 - HTTP
        return "check the name of the model"
    return "check the parameters and the model"


def _mock_output(messages: list[Any], _tools: Any, _choice: Any, _config: Any) -> Any:
    """Answer as inspect's mock model does, but without asking the network for a tokenizer."""
    from inspect_ai.model import ModelOutput, ModelUsage  # noqa: PLC0415 - loaded with it

    reply = "Default output from mockllm/model"
    output = ModelOutput.from_content(model="mockllm", content=reply)
    words = sum(len(message.text.split()) for message in messages)
    output.usage = ModelUsage(input_tokens=words, output_tokens=len(reply.split()))
    return output
