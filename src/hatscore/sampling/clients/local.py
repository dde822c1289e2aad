"""A small model on this machine's processor, served by a child process (extra ``local``)."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hatscore.errors import InputError, MissingExtraError, ModelError
from hatscore.sampling.clients import local_server
from hatscore.sampling.clients.openai_http import OpenAIClient
from hatscore.sampling.clients.weights import (
    DEMO_NAME,
    check_gguf,
    demo_weights,
    has_chat_template,
)

if TYPE_CHECKING:
    from types import TracebackType

    from hatscore.benchmarks.base import Mode, Prompt
    from hatscore.sampling.client import Completion, SamplingParams
    from hatscore.sampling.clients.retry import Retry

__all__ = ["SLOTS", "LocalClient", "LocalServer"]

SLOTS = 10
CONTEXT = 4096
THREADS_VARIABLE = "HATSCORE_LOCAL_THREADS"
_LOG_LINES = 15
_POLL_S = 0.05


class LocalServer:
    """A model served over HTTP on this machine; a context manager.

    The child process has its own session, so Ctrl-C reaches this process alone, and it ends
    with this process however that ends. Enter it in a thread that lives as long as it is used:
    Linux ends the child with the thread that started it.

    Parameters
    ----------
    model
        A GGUF file; None takes the demo model of the extra ``local``.
    threads
        Processor threads; None takes ``HATSCORE_LOCAL_THREADS``, else the usable processors.
    slots
        Most replies under way at once, and so the most in one request.
    context
        Tokens per slot, prompt and reply together.
    log_path
        Where the server's log goes; None takes a temporary file that is removed at the end.
    start_timeout_s
        Longest time for loading the model, in seconds.

    Attributes
    ----------
    name
        The name under which the model is served.
    address
        ``http://127.0.0.1:PORT`` once it is ready, else None.
    pid
        Process id of the child, None when there is none.

    Raises
    ------
    MissingExtraError
        The extra ``local`` is not installed.
    InputError
        `model` is no GGUF file, or a number is not positive.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        threads: int | None = None,
        slots: int = SLOTS,
        context: int = CONTEXT,
        log_path: str | Path | None = None,
        start_timeout_s: float = 300.0,
    ) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtraError("local", "a model on this machine")
        self.model = None if model is None else Path(model).expanduser()
        if self.model is not None:
            check_gguf(self.model)
        self.name = DEMO_NAME if self.model is None else self.model.stem
        self.threads = _threads() if threads is None else threads
        for what, number in (("threads", self.threads), ("slots", slots), ("context", context)):
            if number < 1:
                raise InputError(f"{what} of the local model: {number}; expected at least 1")
        self.slots = slots
        self.context = context
        self.start_timeout_s = start_timeout_s
        self.address: str | None = None
        self._keep_log = log_path is not None
        self._log_path = None if log_path is None else Path(log_path)
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    @property
    def pid(self) -> int | None:
        """Process id of the child."""
        return None if self._process is None else self._process.pid

    def weights(self) -> Path:
        """Return the file to load, putting the demo model together when needed."""
        return demo_weights() if self.model is None else self.model

    def spawn(self, weights: Path) -> None:
        """Start the child; it is not ready yet."""
        options = {
            "model": str(weights.absolute()),
            "alias": self.name,
            "threads": self.threads,
            "slots": self.slots,
            "context": self.context,
            "parent": os.getpid(),
        }
        # Run by path and with -P: what lies in the working directory must not shadow a module.
        command = [sys.executable, "-P", local_server.__file__, json.dumps(options)]
        with self._open_log() as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own script
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                **_own_group(),
            )
        threading.Thread(target=self._await_line, args=(self._process,), daemon=True).start()

    def is_ready(self) -> bool:
        """Whether the model is loaded.

        Raises
        ------
        ModelError
            The child has ended; with the last lines of its log.
        """
        if self.address is None:
            try:
                line = self._ready.get_nowait()
                self.address = json.loads(line)["address"]
            except (queue.Empty, ValueError, KeyError):
                self.check_alive()
        return self.address is not None

    def check_alive(self) -> None:
        """Raise ModelError, with the last lines of the log, when the child has ended."""
        if self._process is not None and self._process.poll() is None:
            return
        code = None if self._process is None else self._process.returncode
        raise ModelError(
            f"the local model {self.name!r} has ended (exit status {code}); "
            f"the last lines of its log:\n{self.log_tail()}"
        )

    def check_time(self, end: float) -> None:
        """Raise ModelError, with the last lines of the log, when ``time.monotonic()`` > `end`."""
        if time.monotonic() > end:
            raise ModelError(
                f"the local model {self.name!r} was not ready after {self.start_timeout_s:g} s; "
                f"the last lines of its log:\n{self.log_tail()}"
            )

    def log_tail(self) -> str:
        """Return the last lines of the server's log."""
        if self._log_path is None:
            return "(no log)"
        try:
            text = self._log_path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return f"({self._log_path}: {error.strerror})"
        return "\n".join(f"  {line}" for line in text.splitlines()[-_LOG_LINES:]) or "(empty)"

    def stop(self) -> None:
        """End the child and wait for it; a second call does nothing."""
        process, self._process, self.address = self._process, None, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()  # the child's sign to go
            for end in (process.terminate, process.kill):
                try:
                    process.wait(timeout=3)
                    break
                except subprocess.TimeoutExpired:
                    end()
            process.wait()
        if self._log_path is not None and not self._keep_log:
            self._log_path.unlink(missing_ok=True)
            self._log_path = None

    def __enter__(self) -> Self:
        try:
            self.spawn(self.weights())
            end = time.monotonic() + self.start_timeout_s
            while not self.is_ready():
                self.check_time(end)
                time.sleep(_POLL_S)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _open_log(self) -> Any:
        try:
            if self._log_path is not None:
                return self._log_path.open("wb")
            descriptor, name = tempfile.mkstemp(prefix="hatscore-local-", suffix=".log")
        except OSError as error:
            raise ModelError(f"cannot write the log of the local model: {error}") from error
        self._log_path = Path(name)
        return os.fdopen(descriptor, "wb")

    def _await_line(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdout is not None:
            with process.stdout as stdout:
                self._ready.put(stdout.readline())


class _WatchedClient(OpenAIClient):
    """A client that does not go on asking a server of ours that has ended."""

    def __init__(self, server: LocalServer, address: str, **options: Any) -> None:
        super().__init__(server.name, address, api_key="", max_n=server.slots, **options)
        self._server = server

    def _still_there(self) -> None:
        self._server.check_alive()


class LocalClient:
    """The client of a local model; :meth:`check` starts the model, :meth:`close` ends it.

    Parameters
    ----------
    server
        What to start.
    mode
        ``completion``, or ``chat`` when the model has a chat template.
    retry, timeout_s
        As of :class:`OpenAIClient`.

    Raises
    ------
    InputError
        `mode` is ``chat`` and the model is a base model.
    """

    kind = "local"

    def __init__(
        self,
        server: LocalServer,
        *,
        mode: Mode = "completion",
        retry: Retry | None = None,
        timeout_s: float = 600.0,
    ) -> None:
        self.server = server
        self.name = server.name
        self.mode: Mode = mode
        self._options: dict[str, Any] = {"mode": mode, "retry": retry, "timeout_s": timeout_s}
        self._client: OpenAIClient | None = None
        if mode == "chat":
            self._refuse_chat()

    @property
    def base_url(self) -> str | None:
        """None: the address is another one at every start."""
        return None

    async def check(self) -> None:
        """Start the model and wait until it is loaded.

        Raises
        ------
        ModelError
            It does not start; with the last lines of its log.
        """
        if self._client is not None:
            self.server.check_alive()
            return
        weights = await asyncio.to_thread(self.server.weights)
        # In this thread, not in a worker: Linux ends the child with the thread that started it.
        self.server.spawn(weights)
        end = time.monotonic() + self.server.start_timeout_s
        while not self.server.is_ready():
            self.server.check_time(end)
            await asyncio.sleep(_POLL_S)
        address = self.server.address or ""
        self._client = _WatchedClient(self.server, address, **self._options)
        await self._client.check()

    async def complete(
        self, prompt: Prompt, *, n: int, params: SamplingParams, seed: int | None
    ) -> list[Completion]:
        """Return between 1 and `n` completions; see :meth:`OpenAIClient.complete`."""
        if prompt.mode == "chat" and self.mode != "chat":
            self._refuse_chat()
        if self._client is None:
            raise ModelError(f"the local model {self.name!r} is not started; call check() first")
        return await self._client.complete(prompt, n=n, params=params, seed=seed)

    @property
    def trouble(self) -> str | None:
        """Why requests are held back, None while they are not."""
        return None if self._client is None else self._client.trouble

    def let_go(self) -> None:
        """End the waiting of requests between tries."""
        if self._client is not None:
            self._client.let_go()

    async def close(self) -> None:
        """Release connections and end the model."""
        client, self._client = self._client, None
        try:
            if client is not None:
                await client.close()
        finally:
            self.server.stop()

    def _refuse_chat(self) -> None:
        path = self.server.model
        if path is None or not has_chat_template(path):
            raise InputError(
                f"the local model {self.name!r} is a base model without a chat template: "
                "use mode 'completion'"
            )


def _threads() -> int:
    text = os.environ.get(THREADS_VARIABLE)
    if text is None:
        usable: Any = getattr(os, "sched_getaffinity", None)  # Linux: what a container may use
        return len(usable(0)) if usable else os.cpu_count() or 1
    if not text.strip().isdigit() or int(text) < 1:
        raise InputError(f"{THREADS_VARIABLE}={text!r}: expected a number of threads, at least 1")
    return int(text)


def _own_group() -> dict[str, Any]:
    """Keep the child away from the terminal's Ctrl-C."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}
