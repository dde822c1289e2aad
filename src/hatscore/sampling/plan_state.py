"""What a sampling plan has decided so far, in ``plan.json`` beside the replies."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hatscore.errors import RunError
from hatscore.sampling.plan import Decision

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PLAN_NAME", "BenchmarkState", "PlanState"]

PLAN_NAME = "plan.json"
_FORMAT = 2
_FIRST_FORMAT = 1

Stage = Literal["source", "first", "targets", "done"]


@dataclass(slots=True)
class BenchmarkState:
    """Decisions about one benchmark.

    Attributes
    ----------
    most
        Replies per item and language of the full plan.
    targets
        Target languages of every decided item.
    decisions
        By item; an item whose source replies are not there yet has none.
    replies
        By target language and item, how many target replies are to be there; 0 for items left
        out on purpose. A language without any is not sampled yet.
    standing
        By target language and item, how many items of its kind a solved item stands for, itself
        included, where others of them are left out.
    levels
        By target language, see `stats.allocation`; of the parts of the items the highest.
    stage
        How far it is: ``source`` until the items are decided, ``first`` until the first replies
        have told how much they vary, ``targets`` while levels may be raised, ``done``.
    widened
        Width of a language's interval over what the full plan would have given, as estimated
        from its replies when the sampling was over.
    widths
        Width of a language's interval when its sampling stopped, for plans that stop at a width.
    """

    most: int
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    replies: dict[str, dict[str, int]] = field(default_factory=dict)
    standing: dict[str, dict[str, float]] = field(default_factory=dict)
    levels: dict[str, float] = field(default_factory=dict)
    stage: Stage = "source"
    widened: dict[str, float] = field(default_factory=dict)
    widths: dict[str, float] = field(default_factory=dict)

    def repeats(self, item: str, language: str) -> int | None:
        """Return how many replies a target cell is to have; None where it is not decided yet."""
        return self.replies.get(language, {}).get(item)

    def weight(self, item: str, language: str) -> float:
        """Return how many cells a target cell stands for: 0 where it is left out on purpose."""
        decision = self.decisions.get(item)
        if decision is None or language not in self.targets[item]:
            return 1.0
        if decision.k == 0:
            return decision.weight
        if self.repeats(item, language) == 0:
            return 0.0
        return self.standing.get(language, {}).get(item, 1.0)

    def omitted(self, language: str) -> list[str]:
        """Return the items whose prompts in `language` are left out on purpose."""
        return [
            item
            for item, targets in self.targets.items()
            if language in targets and self.weight(item, language) == 0
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the decisions as JSON values; lists of languages are written once."""
        lists = list(dict.fromkeys(self.targets.values()))
        number = {languages: i for i, languages in enumerate(lists)}
        return {
            "most": self.most,
            "languages": [list(languages) for languages in lists],
            "items": {
                item: [*decision, number[self.targets[item]]]
                for item, decision in self.decisions.items()
            },
            "replies": {
                language: [cells.get(item, -1) for item in self.decisions]
                for language, cells in self.replies.items()
            },
            "standing": self.standing,
            "levels": self.levels,
            "stage": self.stage,
            "widened": self.widened,
            "widths": self.widths,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BenchmarkState:
        """Return the decisions that :meth:`to_json` wrote."""
        lists = [tuple(languages) for languages in data["languages"]]
        return cls(
            most=int(data["most"]),
            targets={item: lists[row[3]] for item, row in data["items"].items()},
            decisions={
                item: Decision(int(row[0]), int(row[1]), float(row[2]))
                for item, row in data["items"].items()
            },
            replies={
                language: {
                    item: int(n) for item, n in zip(data["items"], row, strict=True) if n >= 0
                }
                for language, row in data["replies"].items()
            },
            standing={x: dict(cells) for x, cells in data["standing"].items()},
            levels=dict(data["levels"]),
            stage=data["stage"],
            widened=dict(data["widened"]),
            widths=dict(data["widths"]),
        )


class PlanState:
    """The decisions of a run, by benchmark; empty before the source stage is over.

    Attributes
    ----------
    path
        The file.
    benchmarks
        Decisions by name of the benchmark.
    continues
        Whether sampling can go on by these decisions: not where an older version made them.
    """

    def __init__(
        self, path: Path, benchmarks: dict[str, BenchmarkState], *, continues: bool = True
    ) -> None:
        self.path = path
        self.benchmarks = benchmarks
        self.continues = continues

    @classmethod
    def read(cls, directory: str | Path) -> PlanState:
        """Return what is decided in a run directory; nothing where there is no file.

        Raises
        ------
        RunError
            The file cannot be read or is damaged.
        """
        path = Path(directory) / PLAN_NAME
        if not path.exists():
            return cls(path, {})
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] not in {_FIRST_FORMAT, _FORMAT}:
                raise RunError(
                    f"{path}: written in format {data['format']}, this hatscore reads "
                    f"{_FIRST_FORMAT} and {_FORMAT}: use the version that wrote it"
                )
            read = _from_first if data["format"] == _FIRST_FORMAT else BenchmarkState.from_json
            found = {name: read(part) for name, part in data["benchmarks"].items()}
        except OSError as error:
            raise RunError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise RunError(
                f"{path}: damaged: {type(error).__name__} {error}; restore it from a copy: without "
                "it nobody knows which prompts were left out on purpose"
            ) from error
        return cls(path, found, continues=data["format"] == _FORMAT)

    def require_continuing(self) -> None:
        """Refuse to go on with a plan whose rules are not those of today.

        Raises
        ------
        RunError
            An older version decided how the replies are spread, and was not done.
        """
        open_ = sorted(name for name, x in self.benchmarks.items() if x.stage != "done")
        if not self.continues and open_:
            raise RunError(
                f"{self.path}: an older hatscore decided the plan of {', '.join(open_)} by other "
                "rules and did not finish. `hatscore score` counts what is there; to sample the "
                "rest give another directory with -o, or go on with the version that began"
            )

    def write(self) -> None:
        """Write so that after a crash the file is whole: the old one or the new one.

        Raises
        ------
        RunError
            It cannot be written.
        """
        data = {
            "format": _FORMAT,
            "benchmarks": {name: state.to_json() for name, state in self.benchmarks.items()},
        }
        part = self.path.with_name(f"{PLAN_NAME}.part")
        try:
            with part.open("w", encoding="utf-8") as file:
                json.dump(data, file, ensure_ascii=False, separators=(",", ":"))
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from error


def _from_first(data: Mapping[str, Any]) -> BenchmarkState:
    """Return decisions of the first format, which held levels instead of numbers of replies.

    A solved item got ``level * k / n`` target replies, rounded half up, at least ``least`` and at
    most ``most``; a kept item that the source never solved got one.
    """
    most = int(data["most"])
    state = BenchmarkState.from_json({**data, "replies": {}, "standing": {}, "levels": {}})
    for language, (per_solved, least) in data["levels"].items():
        state.levels[language] = float(per_solved)
        state.replies[language] = {
            item: _first_repeats(decision, float(per_solved), int(least), most)
            for item, decision in state.decisions.items()
            if language in state.targets[item]
        }
    return state


def _first_repeats(decision: Decision, per_solved: float, least: int, most: int) -> int:
    if decision.weight == 0:
        return 0
    if decision.k == 0:
        return 1
    wanted = math.floor(per_solved * decision.k / decision.n + 0.5)
    return max(min(least, most), min(most, wanted))
