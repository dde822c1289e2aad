"""The limits of a run shared between the workers of a cluster.

The driver promises each slice a part of what is left, reckoned at the mean of the run, and takes
back what was not used when the slice returns. No promise is given twice, so a limit is passed by no
more than the spread of the last requests of each worker; the number of replies is kept exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hatscore.sampling.budget import Budget, Meter, Usage

__all__ = ["Grant", "Ledger"]

HEADROOM = 1.25  # of a promise over the mean, so that few slices come back for a last reply
_ROUNDING = 1 + 1e-9  # a promise of one reply must buy one


@dataclass(frozen=True, slots=True)
class Grant:
    """What a worker may use for a slice, as :func:`hatscore.sampling.engine.sample` takes it.

    Parameters
    ----------
    budget
        Limits, counted from `used`.
    used
        What the run had used, which tells the mean of a reply.
    """

    budget: Budget
    used: Usage


@dataclass(frozen=True, slots=True)
class _Amount:
    """Replies, tokens and USD."""

    replies: float
    tokens: float
    cost: float


class Ledger:
    """What a run may still use, less what is promised.

    Parameters
    ----------
    budget
        Limits of the run.
    used
        What earlier starts have used.

    Attributes
    ----------
    used
        What the run has used, as far as it has arrived.
    reached
        Why nothing more is promised, in words; None as long as something may be.
    """

    def __init__(self, budget: Budget, used: Usage) -> None:
        self.budget = budget
        self.used = used
        self.reached: str | None = None
        self._promised: dict[str, _Amount] = {}
        self._short = False

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        limits = (self.budget.max_replies, self.budget.max_tokens, self.budget.max_cost)
        return any(limit is not None for limit in limits)

    def has_room(self) -> bool:
        """Tell whether a reply may be asked for now, and note the reason where none ever may."""
        room = self._room() >= 1
        if not room and not self._promised:
            _, self.reached = Meter(self.budget, self.used).room()
        return room

    def grant(self, name: str, wanted: int, first: int) -> Grant | None:
        """Promise what is needed for a slice, or what is left of it.

        Parameters
        ----------
        name
            Of the slice.
        wanted
            Replies that it lacks.
        first
            Replies that its first task lacks: no more is promised before the cost of one is known.

        Returns
        -------
        Grant or None
            None where nothing is limited. Call it only where :meth:`has_room` says yes.
        """
        if not self.is_limited:
            return None
        budget, used, rest, mean = self.budget, self.used, self._rest(), self._mean()
        replies = int(min(wanted if self._knows_the_mean else first, self._room()))
        promised = _Amount(
            replies,
            min(rest.tokens, HEADROOM * replies * mean.tokens),
            min(rest.cost, HEADROOM * replies * mean.cost),
        )
        if not self._knows_the_mean:
            promised = _Amount(replies, rest.tokens, rest.cost)
        self._promised[name] = promised
        max_tokens, max_cost = budget.max_tokens, budget.max_cost
        if max_tokens is not None:
            max_tokens = min(max_tokens, math.ceil(_tokens(used) + promised.tokens))
        if max_cost is not None:
            max_cost = min(max_cost, (self._cost() + promised.cost) * _ROUNDING)
        shares = Budget(
            used.replies + replies, max_tokens, max_cost, budget.price_in, budget.price_out
        )
        return Grant(shares, used)

    def settle(self, name: str, used: Usage, *, stopped: bool = False) -> None:
        """Take a promise back.

        Parameters
        ----------
        name
            Of the slice that has returned, or was lost.
        used
            What the run has used now.
        stopped
            Whether the worker stopped because of the promise.
        """
        # Too little for one more reply: only what others give back makes it enough.
        self._short = stopped and used.replies == self.used.replies
        self.used = used
        self._promised.pop(name, None)

    @property
    def _knows_the_mean(self) -> bool:
        return self.used.replies > 0 or self.budget.max_tokens is self.budget.max_cost is None

    def _cost(self) -> float:
        return self.budget.cost(self.used.input_tokens, self.used.output_tokens) or 0.0

    def _mean(self) -> _Amount:
        replies = max(1, self.used.replies)
        return _Amount(1, _tokens(self.used) / replies, self._cost() / replies)

    def _rest(self) -> _Amount:
        """Return what the limits leave, less what is promised."""
        limits = (self.budget.max_replies, self.budget.max_tokens, self.budget.max_cost)
        used = (self.used.replies, _tokens(self.used), self._cost())
        promised = self._promised.values()
        sums = (
            sum(p.replies for p in promised),
            sum(p.tokens for p in promised),
            sum(p.cost for p in promised),
        )
        return _Amount(
            *(
                math.inf if limit is None else max(0.0, limit - had - out)
                for limit, had, out in zip(limits, used, sums, strict=True)
            )
        )

    def _room(self) -> float:
        """Return how many replies may be promised now."""
        if self._short or (self._promised and not self._knows_the_mean):
            return 0
        rest, mean = self._rest(), self._mean()
        rooms = [rest.replies]
        for left, each in ((rest.tokens, mean.tokens), (rest.cost, mean.cost)):
            if left <= 0:
                rooms.append(0)
            elif each > 0 and left < math.inf:
                rooms.append(left / each * _ROUNDING)
        return min(rooms)


def _tokens(used: Usage) -> int:
    return used.input_tokens + used.output_tokens
