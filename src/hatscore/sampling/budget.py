"""What a run may use: replies, tokens and money, counted over all starts of the run.

Before a request goes out, the room that is left is compared with what is under way, reckoned at
the mean of the run. So a limit is passed by no more than the spread of the last requests,
and never by a whole round of them. The number of replies is kept exactly.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.benchmarks.base import Prompt
    from hatscore.sampling.client import Completion

__all__ = ["BYTES_PER_TOKEN", "Budget", "Meter", "Usage"]

BYTES_PER_TOKEN = 2  # where a server does not count: few tokenizers make more of any language
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Usage:
    """What has been used.

    Parameters
    ----------
    replies
        Good replies.
    input_tokens, output_tokens
        As servers bill them: the prompt of a request counts once, however many replies it
        brings; reasoning is part of the output.
    estimated
        Replies whose tokens the server did not tell for them alone. They are in the sums, at
        one token for each two bytes, which errs on the side of too many.
    """

    replies: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run, None for no limit.

    Parameters
    ----------
    max_replies
        Good replies.
    max_tokens
        Input and output tokens together.
    max_cost
        USD; needs both prices.
    price_in, price_out
        USD per million input and output tokens.

    Raises
    ------
    InputError
        A limit that is not positive, a negative price, one price alone, or `max_cost` without
        prices.
    """

    max_replies: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_replies", "max_tokens", "max_cost"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise InputError(f"{name} {value}: expected a positive number")
        for name in ("price_in", "price_out"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise InputError(f"{name} {value}: expected USD per million tokens, 0 or more")
        if (self.price_in is None) != (self.price_out is None):
            missing = "price_out" if self.price_out is None else "price_in"
            raise InputError(f"{missing} is missing: a cost needs the prices of input and output")
        if self.max_cost is not None and self.price_in is None:
            raise InputError(
                f"max_cost {self.max_cost:g} USD needs price_in and price_out, "
                "in USD per million tokens"
            )

    def cost(self, input_tokens: float, output_tokens: float) -> float | None:
        """Return USD for so many tokens; None without prices.

        Examples
        --------
        >>> Budget(price_in=0.5, price_out=2.0).cost(1_000_000, 250_000)
        1.0
        """
        if self.price_in is None or self.price_out is None:
            return None
        return (input_tokens * self.price_in + output_tokens * self.price_out) / _MILLION


class Meter:
    """Counts what a run uses and says how much more may be asked for.

    Parameters
    ----------
    budget
        The limits.
    before
        What earlier starts of the run have used.

    Attributes
    ----------
    reached
        Why nothing more is asked for, in words; None as long as something may be.
    """

    def __init__(self, budget: Budget, before: Usage) -> None:
        self.budget = budget
        self.replies = before.replies
        self.input_tokens = before.input_tokens
        self.output_tokens = before.output_tokens
        self.estimated = before.estimated
        self.reached: str | None = None
        self._under_way = 0
        self._closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._free = budget.max_replies is budget.max_tokens is budget.max_cost is None

    @property
    def usage(self) -> Usage:
        """What the run has used, earlier starts included."""
        return Usage(self.replies, self.input_tokens, self.output_tokens, self.estimated)

    @property
    def cost(self) -> float | None:
        """USD of the run so far, None without prices."""
        return self.budget.cost(self.input_tokens, self.output_tokens)

    async def begin(self, wanted: int) -> int:
        """Return how many of `wanted` replies may be asked for now.

        Waits while the answers under way decide. 0 means that a limit is reached, or that
        :meth:`close` was called.
        """
        while not self._free:
            if self._closed or self.reached is not None:
                return 0
            room, why = self.room()
            if room >= 1:
                wanted = int(min(wanted, room))
                break
            if not self._under_way:
                self.reached = why
                self._wake()
                return 0
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._under_way += wanted
        return wanted

    def end(self, asked: int, completions: Sequence[Completion], prompt: Prompt) -> None:
        """Count what a request for `asked` replies has brought; () when it failed."""
        self._under_way -= asked
        told: int | None = None
        size = 0
        for completion in completions:
            if completion.error is not None:
                continue
            self.replies += 1
            output = completion.output_tokens
            if output is None:
                text = completion.text + (completion.reasoning or "")
                output = -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN) + 1
                self.estimated += 1
            size += output
            told = completion.input_tokens
        if size:
            self.output_tokens += size
        if completions and completions[0].error is None:
            self.input_tokens += (
                told
                if told is not None
                else -(-len(prompt.text.encode(errors="replace")) // BYTES_PER_TOKEN)
            )
        if self._waiting:
            self._wake()

    def close(self) -> None:
        """Let nothing more begin."""
        self._closed = True
        self._wake()

    def room(self) -> tuple[float, str]:
        """Return how many more replies the limits leave, and which limit is the nearest."""
        budget, replies = self.budget, self.replies
        rooms: list[tuple[float, str]] = []
        if budget.max_replies is not None:
            left = budget.max_replies - replies - self._under_way
            rooms.append((left, f"the limit of {budget.max_replies:,} replies is reached"))
        tokens = self.input_tokens + self.output_tokens
        if budget.max_tokens is not None:
            why = f"the limit of {budget.max_tokens:,} tokens is reached ({tokens:,} used)"
            mean = tokens / replies if replies else None
            rooms.append((self._left(budget.max_tokens - tokens, mean), why))
        cost = self.cost
        if budget.max_cost is not None and cost is not None:
            why = f"the limit of {budget.max_cost:g} USD is reached ({cost:.4g} USD used)"
            mean = cost / replies if replies else None
            rooms.append((self._left(budget.max_cost - cost, mean), why))
        return min(rooms)

    def _left(self, rest: float, mean: float | None) -> float:
        if rest <= 0:
            return 0.0
        if mean is None:  # the first answer tells what one costs: nobody else goes before it
            return 0.0 if self._under_way else math.inf
        return rest / mean - self._under_way if mean > 0 else math.inf

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
