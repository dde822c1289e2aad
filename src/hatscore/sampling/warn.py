"""Repeats that are no repeats: what can be said before sampling, and after it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hatscore.sampling.client import SamplingParams
    from hatscore.sampling.store import Store

__all__ = ["identical_share", "warn_after", "warn_before"]

_SUSPECT = 0.95
_FEWEST = 20  # below it, short factual answers make a high share likely by chance


def warn_before(params: SamplingParams, repeats: int) -> list[str]:
    """Return what is wrong with asking `repeats` times with `params`, [] when nothing is.

    Parameters
    ----------
    params
        Sampling parameters as sent; ``extra`` wins over the named ones.
    repeats
        Replies per item and language.
    """
    if repeats <= 1:
        return []
    warnings = []
    if params.extra.get("temperature", params.temperature) == 0:
        warnings.append(
            f"temperature 0 with {repeats} repeats: every repeat will be the same reply, so "
            "nothing is learnt about how often an item is solved; set a temperature, or 1 repeat"
        )
    if params.extra.get("top_k") == 1:
        warnings.append(f"top_k 1 with {repeats} repeats: every repeat will be the same reply")
    if params.extra.get("seed") is not None:
        warnings.append(
            f"a fixed seed among the extra fields with {repeats} repeats: it is sent unchanged "
            "and may make the repeats equal; use the run's seed, from which each request gets "
            "its own"
        )
    return warnings


def identical_share(store: Store) -> tuple[float | None, int]:
    """Return the share of items whose replies are all the same text, and of how many items.

    Parameters
    ----------
    store
        Replies without an error count; items in a language with fewer than two are left out.

    Returns
    -------
    share : float or None
        0 to 1; None when no item has two replies.
    cells : int
        Number of items in a language it is a share of.
    """
    same = cells = 0
    good = ((item.cell, response.text) for item, response in store.rows() if not response.error)
    for _, group in groupby(good, key=lambda pair: pair[0]):
        texts = [text for _, text in group]
        if len(texts) > 1:
            cells += 1
            same += len(set(texts)) == 1
    return (same / cells if cells else None), cells


def warn_after(store: Store, params: SamplingParams) -> list[str]:
    """Return a warning when nearly all repeats are equal though they should be draws.

    Short factual answers are honestly the same most of the time, so only a share above 95 % of
    at least 20 items at a temperature above 0 is called suspect.
    """
    share, cells = identical_share(store)
    if share is None or cells < _FEWEST or share <= _SUSPECT:
        return []
    if params.extra.get("temperature", params.temperature) == 0:
        return []  # said before sampling
    warning = (
        f"{share:.0%} of {cells} items have the same reply in every repeat although the "
        "temperature is above 0: does the server ignore the temperature, fix a seed or cache "
        "replies? The repeats then tell nothing about how often an item is solved"
    )
    return [warning]
