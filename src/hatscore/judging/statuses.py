"""From the verdicts of a panel of judges to the status of each reply."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hatscore.errors import UnknownNameError
from hatscore.judging.prompt import JUDGE_VERSION
from hatscore.judging.store import VERDICTS_NAME, ReplyKey, VerdictStore
from hatscore.judging.subjects import judged_replies
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.grading.answer import Status
    from hatscore.judging.store import Verdict

__all__ = ["Judged", "majority", "read_verdicts", "verdict_statuses"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judges made of a run.

    Parameters
    ----------
    judges
        The panel, in order.
    statuses
        Status of every reply to an item that needs a judge.
    votes
        By judge, what it said of each reply that was to be judged; None where it has not been
        asked, or neither yes nor no could be read.
    notes
        What a reader of the scores should know, in words.
    waiting
        Replies on which a judge of the panel has not been heard.
    """

    judges: tuple[str, ...]
    statuses: Mapping[ReplyKey, Status]
    votes: Mapping[str, Mapping[ReplyKey, bool | None]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    waiting: frozenset[ReplyKey] = frozenset()


def majority(votes: Sequence[bool | None]) -> Status:
    """Return what more than half of the whole panel say.

    A judge without a readable verdict is in the panel and says nothing: a tie, or too few
    verdicts, is ``judge_unparsed`` and never ``wrong``.

    Examples
    --------
    >>> majority([True]), majority([True, False]), majority([False, None, False])
    ('correct', 'judge_unparsed', 'wrong')
    """
    if 2 * votes.count(True) > len(votes):
        return "correct"
    if 2 * votes.count(False) > len(votes):
        return "wrong"
    return "judge_unparsed"


def verdict_statuses(
    run_directory: str | Path, judges: Sequence[str] | None = None
) -> Mapping[ReplyKey, Status]:
    """Return the status of every reply of a run that needs a judge; see :func:`read_verdicts`."""
    return read_verdicts(run_directory, judges).statuses


def read_verdicts(run_directory: str | Path, judges: Sequence[str] | None = None) -> Judged:
    """Read the stored verdicts of a run; no judge is asked.

    Empty, truncated, refused and failed replies have that status whatever judges might say. A
    reply without a verdict is ``judge_unparsed``, and a note counts them.

    Parameters
    ----------
    run_directory
        Written by `hatscore run`.
    judges
        The panel; None takes every judge that has given a verdict.

    Returns
    -------
    Judged
        Empty for a run in which nothing is judged.

    Raises
    ------
    UnknownNameError
        A judge that has given no verdict on this run.
    RunError
        No run, or a damaged one.
    """
    directory = Path(run_directory)
    with Run.open(directory) as run:
        replies = list(judged_replies(run.store))
    if not replies:
        return Judged((), {})
    held = _held(directory / VERDICTS_NAME, judges)
    panel = tuple(held)
    votes: dict[str, dict[ReplyKey, bool | None]] = {judge: {} for judge in panel}
    statuses: dict[ReplyKey, Status] = {}
    waiting: set[ReplyKey] = set()
    for reply in replies:
        if reply.status is not None:
            statuses[reply.key] = reply.status
            continue
        subject = reply.subject
        heard = [_of(held[judge].get(reply.key), subject) for judge in panel]
        if not panel or any(verdict is None for verdict in heard):
            waiting.add(reply.key)
        said = [None if verdict is None else verdict.value for verdict in heard]
        for judge, vote in zip(panel, said, strict=True):
            votes[judge][reply.key] = vote
        statuses[reply.key] = majority(said)
    notes = tuple(_notes(directory, held, len(waiting)))
    return Judged(panel, statuses, votes, notes, frozenset(waiting))


def _held(path: Path, judges: Sequence[str] | None) -> dict[str, dict[ReplyKey, Verdict]]:
    if not path.is_file():
        if judges:
            raise UnknownNameError("judge of this run", judges[0], ["(none has been asked)"])
        return {}
    with VerdictStore(path, read_only=True) as store:
        known = store.judges()
        for judge in judges or ():
            if judge not in known:
                raise UnknownNameError("judge of this run", judge, known)
        return {judge: dict(store.verdicts(judge)) for judge in judges or known}


def _of(verdict: Verdict | None, subject: str) -> Verdict | None:
    """Pass over a verdict on another text than the one that is read from the reply today."""
    return verdict if verdict is not None and verdict.subject == subject else None


def _notes(
    directory: Path, held: Mapping[str, Mapping[ReplyKey, Verdict]], waiting: int
) -> list[str]:
    notes = []
    if held:
        how = "" if len(held) == 1 else ", by a majority of the panel"
        notes.append(f"judged by {', '.join(held)}{how}")
    if waiting:
        ask = " ".join(f"--judge {judge}" for judge in held) or "--judge MODEL"
        notes.append(
            f"{waiting} replies wait for a verdict and do not count: "
            f"`hatscore judge {directory} {ask}` asks for them"
        )
    versions = {v.prompt_version for found in held.values() for v in found.values()}
    if versions - {JUDGE_VERSION}:
        notes.append(
            f"verdicts given on version {', '.join(sorted(versions))} of the judge's prompt, "
            f"which is now {JUDGE_VERSION}; `hatscore judge --again` replaces them"
        )
    return notes
