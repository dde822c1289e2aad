"""When to try again and how long to wait: full jitter, bounded, as the server asks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random

__all__ = ["Retry", "is_temporary", "retry_after_seconds"]

_TEMPORARY = frozenset({408, 425, 429})
_SERVER_ERRORS = 500


def is_temporary(status: int) -> bool:
    """Whether the same request may work later: 408, 425, 429 and every 5xx."""
    return status in _TEMPORARY or status >= _SERVER_ERRORS


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
    rng
        Source of the jitter; it decides no result.
    """

    tries: int = 8  # with these waits about a minute on average: a server's restart
    base_s: float = 1.0
    cap_s: float = 60.0
    longest_s: float = 300.0
    rng: Random = field(default_factory=Random, compare=False)

    def wait_s(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after failed `attempt`, counted from 1.

        A ``Retry-After`` is a lower bound; the jitter comes on top of it.
        """
        jitter = self.rng.uniform(0.0, min(self.cap_s, self.base_s * 2.0 ** min(attempt - 1, 32)))
        return jitter + min(retry_after or 0.0, self.longest_s)
