"""How far a start of the sampling is, and what it has brought: counters, progress, summary."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from hatscore.grading.answer import Gold, Reply
from hatscore.grading.status import grade

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hatscore.sampling.budget import Meter, Usage
    from hatscore.sampling.client import Completion

__all__ = [
    "ENDINGS",
    "Ending",
    "Progress",
    "Summary",
    "Tally",
    "ending",
    "estimated",
    "several_names",
]

Ending = Literal["answered", "cut", "empty", "refused", "error"]
ENDINGS: tuple[Ending, ...] = ("answered", "cut", "empty", "refused", "error")

_SEVERAL = "the server answered under several model names"
_ESTIMATED = "the cost is estimated"
OF_THE_RUN = (_SEVERAL, _ESTIMATED)  # how warnings begin that count all starts together

_NO_GOLD = Gold("number", "0")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the sampling is.

    Parameters
    ----------
    done, total
        Good replies stored and wanted, those of earlier starts included.
    new, errors
        Good replies and errors of this start.
    elapsed_s
        Seconds since this start.
    rate
        New good replies per second since the model was ready; 0.0 before the first.
    eta_s
        Seconds to go at that rate; None before the first reply.
    input_tokens, output_tokens
        Used by the run, as of :class:`hatscore.sampling.budget.Usage`.
    cost
        USD of the run so far, None without prices.
    under_way, level
        Requests now, and how many there may be now.
    endings
        Replies of this start per language and :data:`Ending`; a live view that goes on counting.
    trouble
        Why nothing comes at present, in words; None while answers come.
    stage
        Which part of a plan this is, in words; "" where there is one only.
    """

    done: int
    total: int
    new: int
    errors: int
    elapsed_s: float
    rate: float
    eta_s: float | None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    under_way: int = 0
    level: int = 0
    endings: Mapping[str, Mapping[Ending, int]] = field(default_factory=dict)
    trouble: str | None = None
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one start of the sampling has brought.

    Parameters
    ----------
    total, already, new, errors
        Replies wanted, stored before, new and good, failed for good. The run is complete when
        ``already + new == total``.
    requests
        Answers of the client.
    wall_s
        Seconds.
    input_tokens, output_tokens, reasoning_tokens
        Sums over the new replies for which the server told them; None when for none. The prompt
        of a request that brings n replies counts n times, though most servers bill it once.
    models
        Model names that the server has given with any good reply of the store.
    warnings
        What a reader of the results should know.
    last_error
        The last failure, None when there was none.
    cost
        USD of the run, earlier starts included; None without prices.
    stopped
        Why it ended before everything was asked for: a limit of the budget or a stop from
        outside, in words; None when it did not.
    """

    total: int
    already: int
    new: int
    errors: int
    requests: int
    wall_s: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    models: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    last_error: str | None = None
    cost: float | None = None
    stopped: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every reply that was asked for is stored."""
        return self.already + self.new >= self.total


def several_names(models: Sequence[str]) -> list[str]:
    """Return the warning about more than one model name, if there is more than one."""
    said = f"{_SEVERAL}: {', '.join(models)}; these replies may come from different models"
    return [said] if len(models) > 1 else []


def estimated(used: Usage, cost: float | None) -> list[str]:
    """Return the warning about a cost that rests on estimates, if it does."""
    said = f"{_ESTIMATED} for {used.estimated:,} replies whose tokens the server did not tell"
    return [said] if used.estimated and cost is not None else []


@lru_cache(maxsize=256)
def _without_text(finish_reason: str | None) -> Ending:
    """Return what a finish reason says by itself."""
    status = grade(Reply("", finish_reason), _NO_GOLD).status
    if status == "refused":
        return "refused"
    return "cut" if status == "truncated" else "empty"


def ending(completion: Completion) -> Ending:
    """Return how a reply has ended, as far as the server's own words tell.

    Grading looks closer: an answer may stand in a cut reply, and nothing behind the thinking of
    one that seems answered.

    Examples
    --------
    >>> from hatscore.sampling.client import Completion
    >>> ending(Completion("4", "stop")), ending(Completion("It is", "length"))
    ('answered', 'cut')
    """
    if completion.error is not None:
        return "error"
    end = _without_text(completion.finish_reason)
    if end == "empty" and completion.text and not completion.text.isspace():
        return "answered"
    return end


def _are_answered(texts: Sequence[str], finishes: Sequence[str | None]) -> bool:
    """Whether :func:`ending` says so of every reply, from one look at all of them."""
    return (
        finishes.count(finishes[0]) == len(finishes)
        and _without_text(finishes[0]) == "empty"
        and all(texts)
        and not any(map(str.isspace, texts))
    )


class Tally:
    """Counters of one start.

    Parameters
    ----------
    total, already
        Replies wanted, and those stored before.
    meter
        What counts tokens and money.

    Attributes
    ----------
    most_per_request
        Most replies that one request has brought where more than one was asked for; None when
        none was.
    """

    def __init__(self, total: int, already: int, meter: Meter) -> None:
        self.total = total
        self.already = already
        self.meter = meter
        self.new = self.errors = self.requests = 0
        self.last_error: str | None = None
        self.most_per_request: int | None = None
        self.start = self.begin = time.monotonic()  # begin: when the model was ready
        self._tokens: dict[str, int] = {}
        self._endings: dict[str, dict[Ending, int]] = {}
        self._shown = MappingProxyType(self._endings)

    @property
    def complete(self) -> bool:
        """Whether nothing is missing any more."""
        return self.already + self.new >= self.total

    def count(self, language: str, asked: int, completions: Sequence[Completion]) -> None:
        """Count what a request for `asked` replies has brought."""
        self.requests += 1
        ends = self._endings.get(language)
        if ends is None:
            ends = self._endings[language] = dict.fromkeys(ENDINGS, 0)
        told = [completion for completion in completions if completion.error is None]
        good = len(told)
        if good < len(completions):
            errors = [
                completion.error for completion in completions if completion.error is not None
            ]
            ends["error"] += len(errors)
            self.last_error = errors[-1]
        if good:
            texts, finishes, _, inputs, outputs, thoughts, _, _, _ = zip(*told, strict=True)
            if _are_answered(texts, finishes):
                ends["answered"] += good
            else:
                for completion in told:
                    ends[ending(completion)] += 1
            self._add("input_tokens", inputs)
            self._add("output_tokens", outputs)
            self._add("reasoning_tokens", thoughts)
        self.new += good
        self.errors += len(completions) - good
        if asked > 1 and good:
            self.most_per_request = max(self.most_per_request or 0, good)

    def _add(self, name: str, values: Sequence[int | None]) -> None:
        if values.count(None) < len(values):
            self._tokens[name] = self._tokens.get(name, 0) + sum(filter(None, values))

    def progress(self, under_way: int = 0, level: int = 0, trouble: str | None = None) -> Progress:
        """Return how far this start is."""
        now = time.monotonic()
        busy = now - self.begin
        rate = self.new / busy if busy > 0 else 0.0
        done = self.already + self.new
        meter = self.meter
        return Progress(
            done,
            self.total,
            self.new,
            self.errors,
            now - self.start,
            rate,
            (self.total - done) / rate if rate > 0 else None,
            meter.input_tokens,
            meter.output_tokens,
            meter.cost,
            under_way,
            level,
            self._shown,
            trouble,
        )

    def summary(self, models: Iterable[str], *, stopped: str | None = None) -> Summary:
        """Return what this start has brought."""
        models = tuple(models)
        warnings = several_names(models)
        if self.most_per_request == 1:
            warnings.append(
                "the server brings one reply per request: every reply sends the prompt again, "
                "which takes longer and costs more input tokens"
            )
        warnings += estimated(self.meter.usage, self.meter.cost)
        return Summary(
            total=self.total,
            already=self.already,
            new=self.new,
            errors=self.errors,
            requests=self.requests,
            wall_s=time.monotonic() - self.start,
            input_tokens=self._tokens.get("input_tokens"),
            output_tokens=self._tokens.get("output_tokens"),
            reasoning_tokens=self._tokens.get("reasoning_tokens"),
            models=models,
            warnings=tuple(warnings),
            last_error=self.last_error,
            cost=self.meter.cost,
            stopped=stopped,
        )
