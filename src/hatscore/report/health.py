"""How replies ended, per language, and when that alone can move a score.

A model that falls silent, is cut off or answers in a form nobody can read in one language looks
as if it transferred badly. These shares tell the one from the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore.outcomes import STATUS_COLUMNS, TOKEN_COLUMNS
from hatscore.report.text import number, percent
from hatscore.stats.intervals import wilson

if TYPE_CHECKING:
    from hatscore.outcomes import Outcomes

__all__ = ["SHORT_PERCENT", "UNPARSED_PERCENT", "alarms", "status_shares"]

SHORT_PERCENT = 2
"""Surely more than this many percent of empty or truncated replies in a language raise an alarm."""
UNPARSED_PERCENT = 5
"""Surely more than this many percent of unparsed replies in a language raise an alarm."""

_CONFIDENCE = 0.95
_MOST = 6
_UNCOUNTED = ("error", "judge_unparsed")
_GROUP = ["model", "benchmark", "language"]

Row = dict[str, Any]


def status_shares(outcomes: Outcomes) -> pl.DataFrame:
    """Return how the replies in each language ended.

    Parameters
    ----------
    outcomes
        The canonical table. Items excluded from the scores are included here: they were asked.

    Returns
    -------
    polars.DataFrame
        One row per (model, benchmark, language), the source language too, in order of first
        appearance:

        ``role``
            ``source``, ``target``, or ``both`` where items have different source languages.
        ``n_items``, ``n``, ``replies``
            Items, replies that count, and these plus ``error`` and ``judge_unparsed``.
        ``empty`` ... ``judge_unparsed``
            Share of each of `STATUS_COLUMNS` in ``replies``, in [0, 1] (above 1 is possible only
            for statuses that the counting policy keeps out of n); null without replies.
        ``input_tokens``, ``output_tokens``, ``reasoning_tokens``
            Mean per reply that counts, over the items that know it; null if none does.
    """
    return _totals(outcomes).select(
        *_GROUP,
        "role",
        "n_items",
        "n",
        "replies",
        *(
            pl.when(pl.col("replies") > 0).then(pl.col(c) / pl.col("replies")).alias(c)
            for c in STATUS_COLUMNS
        ),
        *TOKEN_COLUMNS,
    )


def alarms(outcomes: Outcomes) -> list[str]:
    """Say where the way replies ended can move a score.

    Three alarms, each for one model on one benchmark with the languages that raise it, the source
    included, worst first:

    - more than `SHORT_PERCENT` % of the replies are empty or truncated,
    - more than `UNPARSED_PERCENT` % are unparsed,
    - any reply is an ``error`` or ``judge_unparsed``. These do not count as wrong, so the alarm
      gives the bounds they leave: the accuracy over all items asked in that language, items
      weighing alike, if all of them were wrong and if all were right.

    A share of a few replies says little: 1 of 9 is 11 %, and what nobody need look at. So *more
    than* means of the share that the replies show: the lower end of Wilson's 95 % interval, and
    more than one such reply. Where no language shows it and all of them together do, as where
    each has few replies, the alarm is of them together.

    Parameters
    ----------
    outcomes
        The canonical table.

    Returns
    -------
    list of str
        A sentence per alarm, the one first whose worst language can be moved most; empty when all
        is well.
    """
    found: list[tuple[float, str]] = []
    totals = _totals(outcomes)
    for (model, benchmark), part in totals.group_by(_GROUP[:2], maintain_order=True):
        rows = list(part.iter_rows(named=True))
        for alarm in (_short(rows), _unparsed(rows), _lost(rows)):
            if alarm is not None:
                worst, text = alarm
                found.append((worst, f"{model} on {benchmark}: {text}"))
    found.sort(key=lambda alarm: -alarm[0])
    return [text for _, text in found]


def _short(rows: list[Row]) -> tuple[float, str] | None:
    told = _told(rows, ("empty", "truncated"), SHORT_PERCENT)
    if told is None:
        return None
    worst, where = told
    return worst, (
        f"replies are empty or truncated in {where}; surely above {SHORT_PERCENT} %, so the score "
        "measures that too"
    )


def _unparsed(rows: list[Row]) -> tuple[float, str] | None:
    told = _told(rows, ("unparsed",), UNPARSED_PERCENT)
    if told is None:
        return None
    worst, where = told
    return worst, (
        f"replies hold no readable answer in {where}; surely above {UNPARSED_PERCENT} %, so the "
        "score measures the form of the answers too"
    )


def _lost(rows: list[Row]) -> tuple[float, str] | None:
    hit = [r for r in rows if sum(r[c] for c in _UNCOUNTED)]
    if not hit:
        return None
    hit.sort(key=lambda r: r["worst"] - r["best"])
    counts = {c: sum(r[c] for r in hit) for c in _UNCOUNTED}
    parts = ", ".join(f"{c} {n}" for c, n in counts.items() if n)
    where = [
        f"{number(r['worst'])} to {number(r['best'])} in {r['language']} "
        f"({sum(r[c] for c in _UNCOUNTED)} of {r['replies']})"
        for r in hit
    ]
    return hit[0]["best"] - hit[0]["worst"], (
        f"{sum(counts.values())} of {sum(r['replies'] for r in hit)} replies do not count "
        f"({parts}); with all of them wrong or all right, accuracy over all items asked is "
        f"{_listed(where)}"
    )


def _told(rows: list[Row], statuses: tuple[str, ...], limit: int) -> tuple[float, str] | None:
    """Return how surely the worst language is hit, and the languages; None if none surely is."""
    counts = [(sum(r[c] for c in statuses), r["replies"], r) for r in rows]
    hit = [
        (_surely(part, whole), f"{r['language']} {_written(part, whole, r, statuses)}")
        for part, whole, r in counts
        if _above(part, whole, limit)
    ]
    if hit:
        hit.sort(key=lambda one: -one[0])
        return hit[0][0], _listed([text for _, text in hit])
    part, whole = sum(c[0] for c in counts), sum(c[1] for c in counts)
    if not _above(part, whole, limit):
        return None
    total = {c: sum(r[c] for r in rows) for c in statuses}
    languages = f"the {len(rows)} languages together, "
    return _surely(part, whole), languages + _written(part, whole, total, statuses)


def _above(part: int, whole: int, limit: int) -> bool:
    return part > 1 and 100 * _surely(part, whole) > limit


def _surely(part: int, whole: int) -> float:
    """Return the share that these replies show at least."""
    if part >= whole:
        # under a policy that keeps such replies out of n there may be none left to relate to
        part, whole = max(part, whole), max(part, whole)
    return float(wilson(part, whole, _CONFIDENCE)[0])


def _written(part: int, whole: int, row: Row, statuses: tuple[str, ...]) -> str:
    share = percent(part / whole) if whole else "all"
    split = ", ".join(f"{c} {row[c]}" for c in statuses if row[c]) if len(statuses) > 1 else part
    return f"{share} ({split} of {whole})"


def _listed(texts: list[str]) -> str:
    rest = len(texts) - _MOST
    if rest <= 1:
        return ", ".join(texts)
    return f"{', '.join(texts[:_MOST])}, and in {rest} others"


def _totals(outcomes: Outcomes) -> pl.DataFrame:
    """Sum statuses per language; ``worst`` and ``best`` are the bounds of its accuracy."""
    # what a sampling plan left out on purpose was never asked
    rows = pl.concat([outcomes.frame, outcomes.excluded]).filter(pl.col("weight") > 0)
    uncounted = pl.sum_horizontal(_UNCOUNTED)
    asked = pl.col("n") + uncounted
    is_source = pl.col("language") == pl.col("source_language")
    known = {c: pl.when(pl.col(c).is_not_null()).then(pl.col("n")).sum() for c in TOKEN_COLUMNS}
    return rows.group_by(_GROUP, maintain_order=True).agg(
        pl.when(is_source.all())
        .then(pl.lit("source"))
        .when(is_source.any())
        .then(pl.lit("both"))
        .otherwise(pl.lit("target"))
        .alias("role"),
        pl.col("item").n_unique().cast(pl.Int64).alias("n_items"),
        pl.col("n").sum(),
        asked.sum().alias("replies"),
        *(pl.col(c).sum() for c in STATUS_COLUMNS),
        *(
            pl.when(total > 0).then((pl.col(c) * pl.col("n")).sum() / total).alias(c)
            for c, total in known.items()
        ),
        (pl.col("k") / asked).filter(asked > 0).mean().alias("worst"),
        ((pl.col("k") + uncounted) / asked).filter(asked > 0).mean().alias("best"),
    )
