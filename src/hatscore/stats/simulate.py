"""Data with a known truth, for tests, documentation and planning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv, ndtr

from hatscore.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

__all__ = ["Simulated", "SourceRates", "mostly_never", "mostly_solved", "simulate"]

SourceRates = tuple[float, float] | Callable[[np.random.Generator, int], "Floats"]
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Simulated:
    """Counts as a run would give them, and the rates that made them.

    Attributes
    ----------
    k_source, n_source
        Shape (items,).
    k_target, n_target
        Shape (items, targets); n is 0 where a cell is missing.
    source_rates, target_rates
        What the model knows: true S and T, shapes (items,) and (items, targets), before guessing
        and before a judge errs.
    """

    k_source: Counts
    n_source: Counts
    k_target: Counts
    n_target: Counts
    source_rates: Floats
    target_rates: Floats


def simulate(
    n_items: int,
    *,
    slopes: ArrayLike | None = None,
    curve: Callable[[Floats], Floats] | None = None,
    source: SourceRates = (1.0, 1.0),
    n_source: ArrayLike = 10,
    n_target: ArrayLike = 10,
    concentration: float | None = None,
    correlation: float = 0.0,
    chance: ArrayLike = 0.0,
    sensitivity: float = 1.0,
    specificity: float = 1.0,
    missing: float = 0.0,
    rng: np.random.Generator,
) -> Simulated:
    """Draw replies of a model whose transfer is known.

    True source rates S come from `source`; the mean target rate is ``slope * S`` or
    ``curve(S)``. With a finite `concentration` c, T given its mean p is Beta(c p, c (1 - p)):
    small values make items of one hardness differ. A reply that the model does not know is right
    by guessing with probability `chance`; a judge calls a right reply right with probability
    `sensitivity` and a wrong one wrong with probability `specificity`.

    Parameters
    ----------
    n_items
        Number of items, at least 1.
    slopes
        One slope per target, each in [0, 1]; a single number for one target. Default 0.8.
    curve
        E[T | S] of a single target instead of a slope; takes and returns rates in [0, 1].
    source
        Parameters of a Beta distribution, or a function of (rng, size) that returns rates.
    n_source, n_target
        Replies per item: numbers, or arrays that broadcast to (items,) and (items, targets).
    concentration
        None for no heterogeneity; positive otherwise.
    correlation
        Correlation, in [0, 1], of the heterogeneity over targets: items hard to transfer into
        one language are hard in another (a Gaussian copula). Needs `concentration`.
    chance
        Guess rate in [0, 1), one number or one per item.
    sensitivity, specificity
        Of the judge, in [0, 1].
    missing
        Share of target cells without replies, in [0, 1).
    rng
        Generator.

    Raises
    ------
    InputError
        A number outside its range, or a combination that has no meaning.

    Examples
    --------
    >>> import numpy as np
    >>> simulate(3, slopes=[0.9, 0.5], rng=np.random.default_rng(0)).k_target.shape
    (3, 2)
    """
    m = np.atleast_1d(np.asarray(0.8 if slopes is None else slopes, dtype=np.float64))
    _check(
        (n_items >= 1, "at least one item"),
        (bool(((m >= 0) & (m <= 1)).all()), "slopes in [0, 1]"),
        (curve is None or slopes is None, "slopes or a curve, not both"),
        (concentration is None or concentration > 0, "a positive concentration, or None"),
        (0 <= correlation <= 1, "a correlation in [0, 1]"),
        (not correlation or concentration is not None, "a concentration with a correlation"),
        (0 <= missing < 1, "a share of missing cells in [0, 1)"),
        (0 <= sensitivity <= 1 and 0 <= specificity <= 1, "judge rates in [0, 1]"),
    )
    rates = source(rng, n_items) if callable(source) else rng.beta(*source, size=n_items)
    mean = rates[:, None] * m if curve is None else np.asarray(curve(rates))[:, None]
    target = _spread(mean, concentration, correlation, rng)
    guess = np.broadcast_to(np.asarray(chance, dtype=np.float64), (n_items,))
    _check((bool(((guess >= 0) & (guess < 1)).all()), "a chance in [0, 1)"))
    ns = np.broadcast_to(np.asarray(n_source, dtype=np.int64), (n_items,))
    nt = np.broadcast_to(np.asarray(n_target, dtype=np.int64), target.shape)
    if missing:
        nt = np.where(rng.random(target.shape) < missing, 0, nt)

    def seen(rate: Floats, floor: Floats) -> Floats:
        right = floor + (1 - floor) * rate
        return sensitivity * right + (1 - specificity) * (1 - right)

    return Simulated(
        k_source=rng.binomial(ns, seen(rates, guess)),
        n_source=ns.copy(),
        k_target=rng.binomial(nt, seen(target, guess[:, None])),
        n_target=nt.copy(),
        source_rates=rates,
        target_rates=target,
    )


def mostly_solved(rng: np.random.Generator, size: int) -> Floats:
    """Return rates of which 97 % are exactly 1 and the rest uniform: a saturated benchmark."""
    return np.where(rng.random(size) < 0.97, 1.0, rng.random(size))  # noqa: PLR2004 - see above


def mostly_never(rng: np.random.Generator, size: int) -> Floats:
    """Return rates of which 90 % are exactly 0 and the rest uniform: a benchmark too hard."""
    return np.where(rng.random(size) < 0.90, 0.0, rng.random(size))  # noqa: PLR2004 - see above


def _spread(
    mean: Floats, concentration: float | None, correlation: float, rng: np.random.Generator
) -> Floats:
    """Scatter target rates around their mean."""
    if concentration is None:
        return mean
    a = np.maximum(concentration * mean, _TINY)
    b = np.maximum(concentration * (1 - mean), _TINY)
    if correlation:
        shared = rng.standard_normal((len(mean), 1))
        own = rng.standard_normal(mean.shape)
        z = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
        drawn = betaincinv(a, b, ndtr(z))
    else:
        drawn = rng.beta(a, b)
    return np.where(mean <= 0, 0.0, np.where(mean >= 1, 1.0, drawn))


def _check(*wanted: tuple[bool, str]) -> None:
    for holds, what in wanted:
        if not holds:
            raise InputError(f"simulate needs {what}")
