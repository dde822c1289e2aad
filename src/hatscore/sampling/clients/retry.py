"""When to try again and how long to wait: full jitter, bounded, as the server asks.

:class:`Retry` is about one request, :class:`Breaker` about the server: when nothing but failures
comes back, all requests wait while one at a time looks whether it is there again.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random

from hatscore.errors import ModelError
from hatscore.sampling.client import LetGoError

__all__ = ["Breaker", "Patience", "Retry", "asks_for_less", "is_temporary", "retry_after_seconds"]

_TEMPORARY = frozenset({408, 425, 429})
_LESS = frozenset({429, 503, 529})
_SERVER_ERRORS = 500
_NOT_IMPLEMENTED = 501


def is_temporary(status: int) -> bool:
    """Whether the same request may work later: 408, 425, 429 and every 5xx but 501."""
    return status in _TEMPORARY or (status >= _SERVER_ERRORS and status != _NOT_IMPLEMENTED)


def asks_for_less(status: int) -> bool:
    """Whether the server says that it is asked for too much: 429, 503, 529."""
    return status in _LESS


def retry_after_seconds(value: str | None) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, None when it says nothing.

    Takes seconds and HTTP dates; a date in the past is 0.

    Examples
    --------
    >>> retry_after_seconds("1.5"), retry_after_seconds("soon")
    (1.5, None)
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        seconds = (when - datetime.now(UTC)).total_seconds()
        return max(0.0, seconds)
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how long.

    Parameters
    ----------
    tries
        Requests in all, at least 1.
    base_s, cap_s
        Before try k + 1 the wait is uniform in 0 to ``min(cap_s, base_s * 2**(k-1))`` seconds
        ("full jitter": clients that failed together do not come back together).
    longest_s
        The most that a ``Retry-After`` is believed.
    budget_s
        Seconds that one request may take with all its tries and waits: what would begin after
        that is not tried.
    open_after
        So many failures in a row, of all requests together, stop the flow; see
        :class:`Breaker`.
    give_up_s
        So long a server may stay away, in seconds.
    rng
        Source of the jitter; it decides no result.
    """

    tries: int = 8  # with these waits about a minute on average: a server's restart
    base_s: float = 1.0
    cap_s: float = 60.0
    longest_s: float = 300.0
    budget_s: float = 1800.0
    open_after: int = 12
    give_up_s: float = 600.0
    rng: Random = field(default_factory=Random, compare=False)

    def wait_s(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after failed `attempt`, counted from 1.

        A ``Retry-After`` is a lower bound; the jitter comes on top of it.
        """
        jitter = self.rng.uniform(0.0, min(self.cap_s, self.base_s * 2.0 ** min(attempt - 1, 32)))
        return jitter + min(retry_after or 0.0, self.longest_s)


class Patience:
    """The waiting of requests between tries, which :meth:`let_go` ends."""

    def __init__(self) -> None:
        self._sleeping: set[asyncio.Future[None]] = set()
        self._gone = False

    async def wait(self, seconds: float) -> None:
        """Return after `seconds`.

        Raises
        ------
        LetGoError
            The waiting has been ended.
        """
        if self._gone:
            raise LetGoError
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        timer = loop.call_later(seconds, _finish, woken)
        self._sleeping.add(woken)
        try:
            await woken
        finally:
            timer.cancel()
            self._sleeping.discard(woken)
        if self._gone:
            raise LetGoError

    def let_go(self) -> None:
        """End all waiting, and let nobody wait any more until :meth:`renew`."""
        self._gone = True
        for woken in self._sleeping:
            _finish(woken)

    def renew(self) -> None:
        """Let requests wait again."""
        self._gone = False


def _finish(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


class Breaker:
    """Stops the flow to a server from which nothing but failures comes.

    Closed, everything passes. ``retry.open_after`` failures in a row open it: then one request
    at a time may pass, after a wait that grows as between tries, to see whether the server is
    there again. The first answer closes it. So a server that restarts is not stormed, and no
    reply is given up for it.

    Parameters
    ----------
    retry
        Its waits and bounds.
    what
        The server, for the message.
    patience
        How its requests wait.
    """

    def __init__(self, retry: Retry, what: str, patience: Patience | None = None) -> None:
        self.retry = retry
        self.what = what
        self.patience = patience or Patience()
        self._row = 0
        self._opened: float | None = None
        self._looks = 0
        self._looking = False
        self._next_look = 0.0
        self._problem = ""

    @property
    def is_open(self) -> bool:
        """Whether requests are held back."""
        return self._opened is not None

    @property
    def trouble(self) -> str | None:
        """Why and since when requests are held back, in words."""
        if self._opened is None:
            return None
        away = time.monotonic() - self._opened
        return f"no answer from {self.what} for {away:.0f} s: {self._problem}"

    async def turn(self) -> None:
        """Return when a request may go out.

        Raises
        ------
        ModelError
            The server has been away for longer than ``retry.give_up_s``.
        LetGoError
            The waiting has been ended.
        """
        while self._opened is not None:
            now = time.monotonic()
            if now - self._opened > self.retry.give_up_s:
                raise ModelError(
                    f"{self.what} has not answered for {now - self._opened:.0f} s: "
                    f"{self._problem}; what had arrived is stored, start again to go on"
                )
            if not self._looking and now >= self._next_look:
                self._looking = True
                return
            await self.patience.wait(max(self._next_look - now, self.retry.base_s / 4))

    def answered(self) -> None:
        """Say that the server has answered, if only with a refusal."""
        self._row = 0
        self._opened = None
        self._looking = False
        self._looks = 0

    def open(self) -> None:
        """Hold requests back: the server has been found to be away."""
        if self._opened is None:
            self._row = max(self._row, self.retry.open_after)
            self._opened = time.monotonic()
            self._look_later()

    def failed(self, problem: str) -> None:
        """Say that no answer came, or one that only a broken server gives."""
        self._row += 1
        self._problem = problem
        if self._opened is None:
            if self._row < self.retry.open_after:
                return
            self._opened = time.monotonic()
        elif not self._looking:
            return  # one that was under way when it opened
        self._look_later()

    def _look_later(self) -> None:
        self._looking = False
        self._looks += 1
        self._next_look = time.monotonic() + self.retry.wait_s(self._looks, None)
