"""What the replies of a run say so far: how many are right, by item and language."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hatscore.errors import InputError
from hatscore.grading import grade
from hatscore.judging import ReplyKey, read_verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

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
    ) -> None:
        if waiting and judge is None:
            raise InputError(
                f"{run.directory}: the plan of {', '.join(sorted(waiting))} goes by what a judge "
                "says of the source; name the judge with --judge"
            )
        self._run = run
        self._judged = judged
        self._judge = judge
        self._graded: dict[str, dict[str, Counts]] = {}
        self._verdicts: Mapping[ReplyKey, Status] | None = None

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
            # as scoring does, by every judge that has given a verdict
            self._verdicts = read_verdicts(self._run.directory).statuses
        found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        for item, response in self._run.store.rows(benchmark):
            key = SOURCE if item.language == item.source_language else item.language
            status = self._status(item, response)
            cell = found[key][item.item]
            cell[0] += status == "correct"
            cell[1] += status in _COUNTED
        return {
            key: {item: (k, n) for item, (k, n) in cells.items()} for key, cells in found.items()
        }

    def _status(self, item: StoredItem, response: StoredResponse) -> Status:
        if item.gold.kind != "judge":
            return grade(response.reply, item.gold).status
        key = ReplyKey(item.benchmark, item.item, item.language, response.repeat)
        return (self._verdicts or {}).get(key, "judge_unparsed")
