"""Sampling plans: which target prompts are sent, and how often.

``paper`` asks every item in every language the same number of times. ``efficient`` and ``width``
sample the source first. An item that the source never solved adds nothing to either sum of the
slope, so its target prompts are left out, but for a random share that keeps target accuracy, gap
and the floor honest: a kept item stands for the others with a weight. Solved items get a few
target replies first and more where those call for it; of items that the source solved seldom a
random part stands for all, drawn anew in every language.

What was decided is stored in ``plan.json`` beside the replies and never decided twice: a resumed
run asks for the same cells, and a better grader later does not change who stands for whom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from hatscore.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "FEWEST_KEPT",
    "FOLDS",
    "KEEP",
    "Decision",
    "PlanKind",
    "SamplingPlan",
    "decide",
    "draw",
    "fold_of",
    "parse_plan",
    "rank",
]

PlanKind = Literal["paper", "efficient", "width"]

KEEP = 0.15
FEWEST_KEPT = 5  # fewer say nothing about the items they stand for
FOLDS = 5
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """How the replies of one benchmark are spread over its cells.

    Parameters
    ----------
    kind
        ``paper``, ``efficient`` or ``width``.
    keep
        Share, in (0, 1], of the items that the source never solved whose target prompts are
        sent all the same; 1 for ``paper``.
    width
        Full width of a language's interval at which its sampling stops; None but for ``width``.

    Raises
    ------
    InputError
        Values that do not belong together or lie outside their range.
    """

    kind: PlanKind = "paper"
    keep: float = 1.0
    width: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(PlanKind):
            raise UnknownNameError("sampling plan", str(self.kind), get_args(PlanKind))
        if not 0 < self.keep <= 1:
            raise InputError(
                f"the share of unsolved items that is kept must lie in (0, 1], got {self.keep}; "
                "without any, target accuracy and gap cannot be known"
            )
        if (self.kind == "width") != (self.width is not None):
            raise InputError(f"plan {self.kind} with width {self.width}; write width=0.05")
        if self.width is not None and not 0 < self.width <= 1:
            raise InputError(f"width={self.width:g}: expected a width of the interval in (0, 1]")

    def __str__(self) -> str:
        """Return the plan as it is written on the command line."""
        return f"width={self.width:g}" if self.kind == "width" else self.kind


def parse_plan(text: str, *, keep: float = KEEP) -> SamplingPlan:
    """Return the plan that `text` names: ``paper``, ``efficient`` or ``width=X``.

    Raises
    ------
    InputError
        Another name, a width that is no number or outside (0, 1].

    Examples
    --------
    >>> parse_plan("width=0.05")
    SamplingPlan(kind='width', keep=0.15, width=0.05)
    """
    name, equals, value = text.strip().partition("=")
    if name == "width":
        try:
            width = float(value)
        except ValueError:
            raise InputError(f"plan {text!r}: expected a number, as in width=0.05") from None
        return SamplingPlan("width", keep, width)
    if equals or name not in ("paper", "efficient"):
        raise UnknownNameError("sampling plan", text, ("paper", "efficient", "width=X"))
    return SamplingPlan() if name == "paper" else SamplingPlan("efficient", keep)


class Decision(NamedTuple):
    """What the source stage said of one item.

    Attributes
    ----------
    k, n
        Correct source replies and source replies that counted, then.
    weight
        1 where the source solved the item; else the number of unsolved items that this one
        stands for, itself included, or 0 where its target prompts are left out.
    """

    k: int
    n: int
    weight: float


def decide(
    counts: Mapping[str, tuple[int, int]], *, keep: float, seed: int, benchmark: str
) -> dict[str, Decision]:
    """Decide which items get target prompts, by the source's counts alone.

    Parameters
    ----------
    counts
        Correct source replies and source replies, by item.
    keep
        Share of the unsolved that is kept, at least `FEWEST_KEPT` of them.
    seed, benchmark
        Make the choice, with the item's name: the same in every run of any model.

    Examples
    --------
    >>> found = decide({"a": (3, 10), "b": (0, 10)}, keep=0.15, seed=0, benchmark="x")
    >>> found["a"].weight, found["b"].weight
    (1.0, 1.0)
    """
    unsolved = rank((item for item, (k, _) in counts.items() if k == 0), seed, benchmark)
    n_kept = min(len(unsolved), max(math.ceil(keep * len(unsolved)), FEWEST_KEPT))
    kept = frozenset(unsolved[:n_kept])
    stands_for = len(unsolved) / n_kept if n_kept else 0.0
    return {
        item: Decision(k, n, 1.0 if k else stands_for if item in kept else 0.0)
        for item, (k, n) in counts.items()
    }


def fold_of(item: str, *, seed: int, benchmark: str) -> int:
    """Return the part, 0 to `FOLDS` - 1, that an item falls into by its name.

    Replies to an item are planned by what the items of the other parts have shown.
    """
    digest = sha256("\0".join((str(seed), benchmark, "fold", item)).encode("utf-8", "replace"))
    return digest.digest()[0] % FOLDS


def draw(
    items: Mapping[str, tuple[int, int]],
    share: Mapping[str, float],
    *,
    seed: int,
    benchmark: str,
    language: str,
) -> dict[str, float]:
    """Return the solved items that are sent in a language, and how many each one stands for.

    Parameters
    ----------
    items
        Correct source replies and fold, by item; items that agree in both are of one kind.
    share
        By item, the share of its kind that is to be sent, in (0, 1]. With a larger share those
        that were drawn before stay, and others join them.
    seed, benchmark, language
        Make the choice, with the item's name.

    Examples
    --------
    >>> kinds = {name: (1, 0) for name in "abcdefgh"}
    >>> drawn = draw(kinds, dict.fromkeys(kinds, 0.5), seed=0, benchmark="x", language="de")
    >>> len(drawn), set(drawn.values())
    (4, {2.0})
    """
    kinds: dict[tuple[int, int], list[str]] = {}
    for item in rank(items, seed, f"{benchmark}\0{language}"):
        kinds.setdefault(items[item], []).append(item)
    found: dict[str, float] = {}
    for members in kinds.values():
        part = max(share[item] for item in members)
        n = max(1, math.ceil(part * len(members) - _ROUNDING))
        found |= dict.fromkeys(members[:n], len(members) / n)
    return found


def rank(names: Iterable[str], seed: int, benchmark: str) -> list[str]:
    """Return `names` in a random order that depends on nothing but these words."""

    def key(name: str) -> bytes:
        return sha256("\0".join((str(seed), benchmark, name)).encode("utf-8", "replace")).digest()

    return sorted(names, key=key)
