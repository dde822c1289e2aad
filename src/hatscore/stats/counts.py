"""Checks of reply counts, and the unbiased moments of the rates behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_chance", "check_counts", "falling_moment", "rate"]

_SHOWN = 3


def check_counts(
    k: ArrayLike, n: ArrayLike, *, name: str, ndim: int, whole: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return successes and trials as float arrays of one shape.

    Parameters
    ----------
    k
        Successes per item, ``ndim`` dimensions.
    n
        Trials, a scalar or an array that broadcasts to `k`; 0 means the cell is missing.
    name
        ``source`` or ``target``, for the message.
    ndim
        Expected number of dimensions of `k`.
    whole
        Whether `k` must hold whole numbers.

    Raises
    ------
    InputError
        Wrong shape, not numbers, NaN, negative, more successes than trials, or fractions where
        whole numbers are needed; the message names the first items.
    """
    try:
        successes = np.asarray(k, dtype=np.float64)
        trials = np.broadcast_to(np.asarray(n, dtype=np.float64), successes.shape)
    except (TypeError, ValueError) as err:
        raise InputError(
            f"k_{name} and n_{name} must be numbers of one shape "
            f"(n may be one number for all items): {err}"
        ) from err
    if successes.ndim != ndim:
        raise InputError(
            f"k_{name} needs {ndim} dimension{'s' * (ndim > 1)}, got shape {successes.shape}"
        )
    faults = (
        (~np.isfinite(successes) | ~np.isfinite(trials), "is not a finite number"),
        ((trials < 0) | (trials != np.floor(trials)), "has a number of trials that is no count"),
        ((successes < 0) | (successes > trials), "has successes outside 0..n"),
        (
            (successes != np.floor(successes)) & whole,
            (
                "has a fractional success count: the corrected estimator needs counts; "
                'use estimator="plugin" for partial credit'
            ),
        ),
    )
    for bad, what in faults:
        if bad.any():
            where = np.argwhere(bad)[:_SHOWN]
            shown = ", ".join(
                f"item {tuple(map(int, i)) if ndim > 1 else int(i[0])} "
                f"(k={successes[tuple(i)]:g}, n={trials[tuple(i)]:g})"
                for i in where
            )
            raise InputError(f"{name} counts: {int(bad.sum())} {what}: {shown}")
    return successes, trials


def check_chance(chance: ArrayLike, n_items: int) -> NDArray[np.float64]:
    """Return the guess rate per item, shape (items,).

    Raises
    ------
    InputError
        Not in [0, 1), or another number of rates than of items.
    """
    try:
        rates = np.broadcast_to(np.asarray(chance, dtype=np.float64), (n_items,))
    except (TypeError, ValueError) as err:
        raise InputError(
            f"chance must be one number or one per item ({n_items} items): {err}"
        ) from err
    if not ((rates >= 0) & (rates < 1)).all():
        raise InputError(f"chance is a probability below 1; got {rates.min():g} to {rates.max():g}")
    return rates


def rate(k: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``k / n``, and 0 where there are no trials."""
    return np.divide(k, n, out=np.zeros_like(k, dtype=np.float64), where=n > 0)


def falling_moment(
    k: NDArray[np.float64], n: NDArray[np.float64], power: int
) -> NDArray[np.float64]:
    """Return the unbiased estimate of the rate to a power, 0 where ``n < power``.

    ``k (k-1) ... (k-p+1) / (n (n-1) ... (n-p+1))`` has expectation ``S**p`` when k is binomial
    with n trials and rate S (factorial moments of the binomial law).
    """
    top = np.ones_like(k, dtype=np.float64)
    bottom = np.ones_like(top)
    for j in range(power):
        top = top * (k - j)
        bottom = bottom * (n - j)
    # with fewer trials than the power the product has no unbiased estimate
    return np.divide(top, bottom, out=np.zeros_like(top), where=n >= power)
