"""What the replies of a run say so far: how many are right, by item and language."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from typing import TYPE_CHECKING

from hatscore.errors import InputError, UnknownNameError
from hatscore.grading import grade
from hatscore.judging import Judged, ReplyKey, read_verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from collections.abc import Set as AbstractSet

    from hatscore.grading.answer import Status
    from hatscore.sampling import Run
    from hatscore.sampling.store import StoredItem, StoredResponse

    Counts = dict[str, tuple[int, int]]

__all__ = ["SOURCE", "Counted"]

SOURCE = ""
"""Stands for the source language, whichever it is for an item; no language has this name."""

_COUNTED = frozenset({"correct", "wrong", "unparsed", "empty", "truncated", "refused"})


class Counted:
    """Counts of the stored replies, graded once a stage.

    Parameters
    ----------
    run
        Open for sampling.
    judged
        Benchmarks that a judge grades.
    waiting
        Those of them whose plan is not done.
    judge
        Has the stored replies judged that were not yet.
    panel
        The judges that it asks; empty for all that have given a verdict.

    Raises
    ------
    InputError
        Something is waiting and there is no judge.
    """

    def __init__(
        self,
        run: Run,
        judged: Collection[str],
        waiting: Collection[str],
        judge: Callable[[], object] | None,
        panel: Sequence[str] = (),
    ) -> None:
        if waiting and judge is None:
            raise InputError(
                f"{run.directory}: the plan of {', '.join(sorted(waiting))} goes by what a judge "
                "says of the source; name the judge with --judge"
            )
        self._run = run
        self._judged = judged
        self._judge = judge
        self._panel = panel
        self._graded: dict[str, dict[str, Counts]] = {}
        self._unheard: dict[str, set[str]] = {}
        self._verdicts: Judged | None = None

    def forget(self) -> None:
        """Grade anew: more replies come."""
        self._graded.clear()
        self._verdicts = None

    def counts(self, benchmark: str, language: str) -> Counts:
        """Return correct and counted replies by item, of one target language or of `SOURCE`.

        Raises
        ------
        ModelError, RunError
            The replies cannot be judged.
        """
        if benchmark not in self._graded:
            self._graded[benchmark] = self._grade(benchmark)
        return self._graded[benchmark].get(language, {})

    def _grade(self, benchmark: str) -> dict[str, Counts]:
        if benchmark in self._judged and self._verdicts is None:
            if self._judge is not None:
                self._judge()
            # a judge of the panel that has never answered is known to nobody: then all waits
            with contextlib.suppress(UnknownNameError):
                self._verdicts = read_verdicts(self._run.directory, self._panel or None)
        found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        unheard: set[str] = set()
        for item, response in self._run.store.rows(benchmark):
            key = SOURCE if item.language == item.source_language else item.language
            if key == SOURCE and self._waits(item, response):
                unheard.add(item.item)
            status = self._status(item, response)
            cell = found[key][item.item]
            cell[0] += status == "correct"
            cell[1] += status in _COUNTED
        counts = {
            key: {item: (k, n) for item, (k, n) in cells.items()} for key, cells in found.items()
        }
        self._unheard[benchmark] = unheard
        return counts

    def unheard(self, benchmark: str) -> AbstractSet[str]:
        """Return the items some of whose source replies wait for a judge."""
        self.counts(benchmark, SOURCE)
        return self._unheard[benchmark]

    def _waits(self, item: StoredItem, response: StoredResponse) -> bool:
        if item.gold.kind != "judge":
            return False
        if self._verdicts is None:
            return True
        return ReplyKey(*item.cell, response.repeat) in self._verdicts.waiting

    def any_waits(self, benchmark: str) -> bool:
        """Whether any reply of a benchmark waits for a judge."""
        self.counts(benchmark, SOURCE)
        if benchmark not in self._judged:
            return False
        waiting = None if self._verdicts is None else self._verdicts.waiting
        return waiting is None or any(key.benchmark == benchmark for key in waiting)

    def _status(self, item: StoredItem, response: StoredResponse) -> Status:
        if item.gold.kind != "judge":
            return grade(response.reply, item.gold).status
        key = ReplyKey(*item.cell, response.repeat)
        statuses = {} if self._verdicts is None else self._verdicts.statuses
        return statuses.get(key, "judge_unparsed")
