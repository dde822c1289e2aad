"""How replies ended, per language, and when that alone can move a score.

A model that falls silent, is cut off or answers in a form nobody can read in one language looks
as if it transferred badly. These shares tell the one from the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hatscore.outcomes import STATUS_COLUMNS, TOKEN_COLUMNS
from hatscore.report.text import number, percent

if TYPE_CHECKING:
    from hatscore.outcomes import Outcomes

__all__ = ["SHORT_PERCENT", "UNPARSED_PERCENT", "alarms", "status_shares"]

SHORT_PERCENT = 2
"""More than this many percent of empty or truncated replies in a language raise an alarm."""
UNPARSED_PERCENT = 5
"""More than this many percent of unparsed replies in a language raise an alarm."""

_UNCOUNTED = ("error", "judge_unparsed")
_GROUP = ["model", "benchmark", "language"]


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

    Three alarms, each for one language of one model on one benchmark, the source included:

    - more than `SHORT_PERCENT` % of the replies are empty or truncated,
    - more than `UNPARSED_PERCENT` % are unparsed,
    - any reply is an ``error`` or ``judge_unparsed``. These do not count as wrong, so the alarm
      gives the bounds they leave: the accuracy over all items asked in that language, items
      weighing alike, if all of them were wrong and if all were right.

    Parameters
    ----------
    outcomes
        The canonical table.

    Returns
    -------
    list of str
        One sentence per alarm; empty when all is well.
    """
    found = []
    for row in _totals(outcomes).iter_rows(named=True):
        where = f"{row['model']} on {row['benchmark']}: in {row['language']}"
        replies = row["replies"]
        short = row["empty"] + row["truncated"]
        # whole numbers: a share of exactly the threshold must not depend on rounding
        if 100 * short > SHORT_PERCENT * replies:
            found.append(
                f"{where} {_share(short, replies)} of replies are empty or truncated "
                f"(empty {row['empty']}, truncated {row['truncated']} of {replies}); "
                f"above {SHORT_PERCENT} % the score measures that too"
            )
        if 100 * row["unparsed"] > UNPARSED_PERCENT * replies:
            found.append(
                f"{where} {_share(row['unparsed'], replies)} of replies hold no readable answer "
                f"({row['unparsed']} of {replies}); "
                f"above {UNPARSED_PERCENT} % the score measures the form of the answers too"
            )
        uncounted = sum(row[c] for c in _UNCOUNTED)
        if uncounted:
            parts = ", ".join(f"{c} {row[c]}" for c in _UNCOUNTED if row[c])
            found.append(
                f"{where} {uncounted} of {replies} replies do not count ({parts}): accuracy over "
                f"all items asked is {number(row['worst'])} if all of them were wrong, "
                f"{number(row['best'])} if all were right"
            )
    return found


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


def _share(part: int, whole: int) -> str:
    # under a policy that keeps such replies out of n there may be no replies left to relate to
    return percent(part / whole) if whole else "all"
