"""How many requests are under way at once: found by trying, bounded, and lowered when asked.

What a server delivers per second is the number of requests under way over the time that each
takes. So a level is worth keeping when that time grew by less than the level did. The level is
doubled as long as that pays (at least a fifth more per second), then held, and a small step up is
tried now and then; what brought less than before is taken back. HTTP 429 and 503 and timeouts
lower it at once, and a ``Retry-After`` pauses everybody.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Pace", "Paced"]

FIRST = 8
LOWERED = 0.7
LONGEST_PAUSE_S = 300.0
_PAYS = 1.2  # times as many per second after doubling
_STEP = 1.25
_STEP_PAYS = 1.08
_HOLD = 4  # rounds between two small steps; doubled after each that did not pay
_LONGEST_HOLD = 64
_ROUND = 3  # a round: so many answers for each request under way, and at least
_SHORTEST_ROUND = 8


@runtime_checkable
class Paced(Protocol):
    """A client that tells when its server asks for less.

    Attributes
    ----------
    on_pushback
        Called with the seconds of ``Retry-After`` (None without one) and with
        ``time.monotonic()`` of when the request went out.
    """

    on_pushback: Callable[[float | None, float], None] | None


class Pace:
    """Lets requests begin, at most :attr:`limit` at once.

    Parameters
    ----------
    most
        Upper bound of the level, at least 1.
    first
        Level at the start, bounded by `most`.
    clock
        Seconds that never go back.

    Attributes
    ----------
    limit
        The level now.
    under_way
        Requests begun and not ended.

    Raises
    ------
    InputError
        `most` or `first` below 1.
    """

    def __init__(
        self, most: int, *, first: int = FIRST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if most < 1 or first < 1:
            raise InputError(f"concurrency {min(most, first)}: expected at least 1")
        self.most = most
        self.limit = min(first, most)
        self.under_way = 0
        self._clock = clock
        self._waiting: deque[asyncio.Future[bool]] = deque()
        self._closed = False
        self._not_before = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0  # when the level was set: what began earlier tells nothing about it
        self._lowered_at = float("-inf")
        self._sum = 0.0
        self._count = 0
        self._doubling = True
        self._hold_for = _HOLD
        self._held = 0
        self._base: tuple[int, float] | None = None  # the level below and its mean time

    # -- requests ------------------------------------------------------------------------------

    async def begin(self) -> float | None:
        """Wait for a turn, and return when it came; None if :meth:`close` has ended them.

        Turns come in the order in which they were asked for.
        """
        if self._closed:
            return None
        if self._waiting or not self._is_free():
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                came = await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled() and turn.result():
                    self.leave()  # it was this one's turn
                raise
            return self._clock() if came else None
        self.under_way += 1
        return self._clock()

    def leave(self) -> None:
        """Give a turn back, with nothing done in it."""
        self.under_way -= 1
        self._wake()

    @property
    def paused_s(self) -> float:
        """Seconds until the end of a pause that the server has asked for, 0.0 without one."""
        return max(0.0, self._not_before - self._clock()) if self._not_before else 0.0

    def end(self, began: float, *, good: bool) -> None:
        """Say that a request has ended.

        Parameters
        ----------
        began
            What :meth:`begin` returned for it.
        good
            Whether an answer came; a failure tells nothing about the level.
        """
        if good and began >= self._since and self.under_way >= self.limit:
            self._sum += self._clock() - began
            self._count += 1
            if self._count >= max(_ROUND * self.limit, _SHORTEST_ROUND):
                self._judge(self._sum / self._count)
        self.leave()

    def push_back(self, retry_after: float | None, began: float) -> None:
        """Lower the level because the server asked for less, and pause as long as it asked.

        Only once for all requests of one level: what began before the last cut was part of the
        load that led to it.
        """
        now = self._clock()
        if retry_after:
            self._not_before = max(self._not_before, now + min(retry_after, LONGEST_PAUSE_S))
        if began < self._lowered_at:
            return
        self._lowered_at = now
        self._doubling = False
        self._base = None
        self._held = 0
        self._set(max(1, int(self.limit * LOWERED)))

    def close(self) -> None:
        """Let no further request begin."""
        self._closed = True
        self._wake()

    # -- the level -----------------------------------------------------------------------------

    def _judge(self, mean_s: float) -> None:
        """End a round: go up, back or stay."""
        level, base, self._base = self.limit, self._base, None
        self._sum, self._count = 0.0, 0
        if base is not None and base[0] < level:
            before, time_before = base
            gain = (level / mean_s) / (before / time_before) if mean_s > 0 else _PAYS
            if gain < (_PAYS if self._doubling else _STEP_PAYS):
                self._doubling = False
                self._hold_for = min(2 * self._hold_for, _LONGEST_HOLD)
                self._held = 0
                if gain < 1.0:
                    self._set(before)
                return
            self._hold_for = _HOLD
        elif not self._doubling:
            self._held += 1
            if self._held < self._hold_for:
                return
        self._held = 0
        factor = 2.0 if self._doubling else _STEP
        above = min(self.most, max(level + 1, int(level * factor)))
        if above > level:
            self._base = (level, mean_s)
            self._set(above)

    def _set(self, level: int) -> None:
        self.limit = level
        self._since = self._clock()
        self._sum, self._count = 0.0, 0
        self._wake()

    def _is_free(self) -> bool:
        if self.under_way >= self.limit:
            return False
        if self._not_before:
            wait = self._not_before - self._clock()
            if wait > 0:
                if self._timer is None:
                    loop = asyncio.get_running_loop()
                    self._timer = loop.call_later(wait, self._end_pause)
                return False
            self._not_before = 0.0
        return True

    def _end_pause(self) -> None:
        self._timer = None
        self._wake()

    def _wake(self) -> None:
        """Give their turns to those who waited longest; nobody can come between."""
        while self._waiting and (self._closed or self._is_free()):
            turn = self._waiting.popleft()
            if not turn.done():
                self.under_way += not self._closed
                turn.set_result(not self._closed)
