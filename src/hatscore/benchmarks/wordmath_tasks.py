"""The arithmetic of ``wordmath``: which tasks exist, their keys, their values, a seeded order.

Every number that is written in a task lies in 1..99 and every result is a positive integer.
"Two-digit" is 11..99, a factor is 2..9 and comes second. By difficulty:

1. ``a+b`` with a, b in 1..9 and a+b <= 10.
2. ``a+b`` with a, b in 1..99 and 11 <= a+b <= 100; ``a-b`` with a two-digit and 1 <= b < a.
3. ``a*c`` with a two-digit and c a factor.
4. ``(a+b)*c`` or ``(a-b)*c`` with a, b and the first result two-digit, c a factor: the second
   step is one of difficulty 3.
5. ``(a+b)*c+d`` and the three others with minus, with a, b, d two-digit, c a factor and a first
   result of at least 50 (at most 198), so that a difference stays positive.

Three tasks of each difficulty are examples of few-shot prompts. No other task starts with the
same two numbers as one of them, in either order: an example never gives an item's answer away.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Final, Literal, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DIFFICULTIES", "Operation", "Task", "TaskList", "all_tasks", "draw", "examples"]

T = TypeVar("T")
Operation = Literal["+", "-", "*"]
Steps = tuple[tuple[Operation, int], ...]

DIFFICULTIES: Final = (1, 2, 3, 4, 5)

_SIGNS: Final[tuple[Operation, Operation]] = ("+", "-")
_DIGITS: Final = range(1, 10)
_WRITTEN: Final = range(1, 100)
_TWO_DIGIT: Final = range(11, 100)
_FACTORS: Final = range(2, 10)
_TO_TEN: Final = range(2, 11)
_TO_HUNDRED: Final = range(11, 101)
_LARGE: Final = range(50, 199)


@dataclass(frozen=True, slots=True)
class Task:
    """A number and what is done with it, step by step.

    Parameters
    ----------
    start
        The first number.
    steps
        Operations with their numbers, in the order in which they are done.
    """

    start: int
    steps: Steps

    @property
    def key(self) -> str:
        """The task as an ordinary expression, with brackets where the order needs them."""
        text = str(self.start)
        additive = False
        for operation, number in self.steps:
            if operation == "*" and additive:
                text = f"({text})"
            text = f"{text}{operation}{number}"
            additive = operation != "*"
        return text

    @property
    def value(self) -> int:
        """The result."""
        result = self.start
        for operation, number in self.steps:
            if operation == "+":
                result += number
            elif operation == "-":
                result -= number
            else:
                result *= number
        return result


_EXAMPLES: Final[dict[int, tuple[Task, ...]]] = {
    1: (Task(4, (("+", 3),)), Task(1, (("+", 5),)), Task(8, (("+", 2),))),
    2: (Task(36, (("+", 27),)), Task(52, (("-", 18),)), Task(14, (("+", 71),))),
    3: (Task(23, (("*", 4),)), Task(47, (("*", 6),)), Task(85, (("*", 3),))),
    4: (
        Task(27, (("+", 16), ("*", 5))),
        Task(61, (("-", 38), ("*", 4))),
        Task(34, (("+", 19), ("*", 7))),
    ),
    5: (
        Task(58, (("+", 24), ("*", 3), ("-", 67))),
        Task(93, (("-", 31), ("*", 6), ("+", 45))),
        Task(72, (("+", 85), ("*", 4), ("-", 39))),
    ),
}


class TaskList(Sequence[Task]):
    """All tasks of one difficulty, each made when it is asked for.

    Difficulty 5 has millions: a task is one of the `heads` followed by one of the `tails`.
    """

    def __init__(self, heads: tuple[Task, ...], tails: tuple[Steps, ...]) -> None:
        self._heads = heads
        self._tails = tails

    def __len__(self) -> int:
        """Return how many tasks there are."""
        return len(self._heads) * len(self._tails)

    @overload
    def __getitem__(self, index: int) -> Task: ...

    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...

    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        """Return the task, or the tasks, at `index`."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        head, tail = divmod(range(len(self))[index], len(self._tails))
        return Task(self._heads[head].start, self._heads[head].steps + self._tails[tail])


def examples(difficulty: int) -> tuple[Task, ...]:
    """Return the three tasks that show how to answer; none of them is ever an item."""
    return _EXAMPLES[difficulty]


@cache
def all_tasks(difficulty: int) -> TaskList:
    """Return every task that can be an item, in an order that never changes.

    Parameters
    ----------
    difficulty
        One of :data:`DIFFICULTIES`.
    """
    shown = {frozenset((task.start, task.steps[0][1])) for task in examples(difficulty)}
    heads = tuple(
        task
        for task in _heads(difficulty)
        if frozenset((task.start, task.steps[0][1])) not in shown
    )
    tails: tuple[Steps, ...] = ((),)
    if difficulty == DIFFICULTIES[-1]:
        tails = tuple(((sign, number),) for sign in _SIGNS for number in _TWO_DIGIT)
    return TaskList(heads, tails)


def draw(tasks: Sequence[T], count: int, seed: int) -> list[T]:
    """Return `count` of `tasks` in random order, all different; fewer are the beginning of more.

    A Fisher-Yates shuffle that stops after `count` steps and remembers only the places it
    touched. It uses nothing of the generator but ``random()``, whose sequence for a given seed
    Python promises to keep.
    """
    generator = random.Random(seed)  # noqa: S311 - a sample, not a secret
    moved: dict[int, int] = {}
    drawn = []
    for place in range(count):
        other = place + int(generator.random() * (len(tasks) - place))
        drawn.append(tasks[moved.get(other, other)])
        moved[other] = moved.get(place, place)
    return drawn


def _heads(difficulty: int) -> Iterator[Task]:
    match difficulty:
        case 1:
            yield from (Task(a, (("+", b),)) for a in _DIGITS for b in _DIGITS if a + b in _TO_TEN)
        case 2:
            for a in _WRITTEN:
                yield from (Task(a, (("+", b),)) for b in _WRITTEN if a + b in _TO_HUNDRED)
            for a in _TWO_DIGIT:
                yield from (Task(a, (("-", b),)) for b in range(1, a))
        case 3:
            yield from (Task(a, (("*", c),)) for a in _TWO_DIGIT for c in _FACTORS)
        case 4:
            yield from _signed_then_times(_TWO_DIGIT)
        case _:
            yield from _signed_then_times(_LARGE)


def _signed_then_times(first_results: range) -> Iterator[Task]:
    for a, b, sign in product(_TWO_DIGIT, _TWO_DIGIT, _SIGNS):
        if (a + b if sign == "+" else a - b) in first_results:
            yield from (Task(a, ((sign, b), ("*", c))) for c in _FACTORS)
