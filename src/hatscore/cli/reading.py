"""Paths on the command line into outcomes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from hatscore.errors import HatscoreError, InputError
from hatscore.outcomes import Outcomes
from hatscore.readers.registry import read_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatscore.readers.items import Items

__all__ = ["MOST_REPLIES", "OPTIONS", "as_typed", "items_behind", "read_graded"]

MOST_REPLIES = 200_000
"""Of more replies a page shows a sample, unless all are asked for."""

# Readers name their options as Python does. Only what stands for a value is taken for one: names of
# benchmarks may hold whatever else looks like an option.
_SAID = (
    (re.compile(r"\bpool=True\b"), "--pool"),
    (re.compile(r"\ballow_(missing|golds)=True\b"), r"--allow-\1"),
    (re.compile(r"\bmap=\{'(\w+)': '([^']*)'\}"), r"--map \1=\2"),
    (re.compile(r"\bmap=\{'(\w+)': \.\.\.\}"), r"--map \1=FIELD"),
    (
        re.compile(
            r"\b(metric|filter|scorer|run|source|map|model|benchmark)="
            r"((?:NAME|TIMESTAMP|NUMBER|TAG|latest|doc\.FIELD)\b|'[^']*'|\"[^\"]*\")"
        ),
        r"--\1 \2",
    ),
    (re.compile(r"\bcolumns (?=\w+=(?:COLUMN|@row))"), "--columns "),
)
_FIELD = re.compile(r"([a-z_]+)=(.*)", re.DOTALL)
OPTIONS = (
    "source",
    "columns",
    "map",
    "grade",
    "model",
    "benchmark",
    "item",
    "run",
    "metric",
    "filter",
    "scorer",
    "allow_missing",
    "allow_golds",
    "pool",
)


def read_graded(
    paths: Sequence[str | Path],
    *,
    names: str,
    count: str,
    given: Mapping[str, Any] | None = None,
) -> Outcomes:
    """Read paths, passing the grading options to the readers that grade.

    Parameters
    ----------
    paths
        What to read.
    names, count
        How replies are graded, for the readers that grade.
    given
        Values of `hatscore.cli.options.reader_options`; other keys are passed over, and so are
        options that nobody set.

    Raises
    ------
    InputError
        Nothing in the paths can be scored, or an option that no reader of them has.
    """
    chosen = given or {}
    try:
        outcomes = read_all(
            paths,
            format=chosen.get("reader") or "auto",
            options=_asked(chosen),
            defaults={"names": names, "count": count},
        )
    except HatscoreError as error:
        error.args = tuple(as_typed(x) if isinstance(x, str) else x for x in error.args)
        raise
    outcomes = Outcomes(outcomes.frame, outcomes.excluded, tuple(map(as_typed, outcomes.notes)))
    if not outcomes.frame.height:
        raise InputError(
            f"{', '.join(map(str, paths))}: no item has replies in its source language yet, "
            f"so nothing can be scored{''.join(f'; {note}' for note in outcomes.notes)}"
        )
    return outcomes


def as_typed(said: str) -> str:
    """Return what a reader says with its options as they are typed on the command line.

    Examples
    --------
    >>> as_typed("choose the score with metric=NAME, or take repeated rows with pool=True")
    'choose the score with --metric NAME, or take repeated rows with --pool'
    """
    for pattern, typed in _SAID:
        said = pattern.sub(typed, said)
    return said


def items_behind(
    paths: Sequence[str | Path],
    outcomes: Outcomes,
    *,
    names: str,
    count: str,
    given: Mapping[str, Any] | None = None,
    wanted: bool | None = None,
) -> Items | None:
    """Return the items behind what `read_graded` has read, for the page.

    Parameters
    ----------
    paths, names, count, given
        As for `read_graded`.
    outcomes
        What it returned.
    wanted
        True for all items, False for none; None for all of at most `MOST_REPLIES` replies, and
        beyond that for a sample of items, the same in all languages and of all models.

    Raises
    ------
    InputError, ReaderError
        While iterating, as `read_graded`.
    """
    from hatscore.readers.items import Items

    if wanted is False:
        return None
    chosen = given or {}
    replies = int(outcomes.frame.select("n", "error", "judge_unparsed").sum_horizontal().sum())
    keep, remarks = None, []
    if wanted is None and replies > MOST_REPLIES:
        share = MOST_REPLIES / replies
        keep = _Sample(share)
        remarks.append(
            f"A random sample of {share:.0%} of the items is kept with this page; "
            "`hatscore report --items` keeps them all."
        )
    return Items(
        paths,
        format=chosen.get("reader") or "auto",
        options=_asked(chosen),
        defaults={"names": names, "count": count},
        keep=keep,
        remarks=remarks,
    )


@dataclass(frozen=True, slots=True)
class _Sample:
    """Keeps a share of items, by a hash of their names: the same items wherever they are."""

    share: float

    def __call__(self, benchmark: str, item: str) -> bool:
        digest = blake2b(f"{benchmark}\0{item}".encode("utf-8", "replace"), digest_size=8).digest()
        return int.from_bytes(digest) < self.share * 2**64


def _asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that somebody set."""
    asked = {name: given[name] for name in OPTIONS if given.get(name)}
    if "map" in asked:
        asked["map"] = _mapping(asked["map"])
    return asked


def _mapping(texts: Sequence[str]) -> dict[str, str] | str:
    """Return ``field=SPEC`` texts as a mapping; one text without a field is itself the SPEC."""
    pairs = [_FIELD.fullmatch(text) for text in texts]
    if len(texts) == 1 and pairs[0] is None:
        return texts[0]
    found: dict[str, str] = {}
    for text, pair in zip(texts, pairs, strict=True):
        if pair is None:
            raise InputError(f"--map: expected FIELD=SPEC, got {text!r}")
        if pair[1] in found:
            raise InputError(f"--map: {pair[1]} is mapped twice; put both into one")
        found[pair[1]] = pair[2]
    return found
