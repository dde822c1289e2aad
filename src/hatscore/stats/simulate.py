"""Data with a known truth, for tests, documentation and planning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

__all__ = ["Simulated", "simulate"]


@dataclass(frozen=True, slots=True)
class Simulated:
    """Counts as a run would give them, and the rates that made them.

    Attributes
    ----------
    k_source, n_source
        Shape (items,).
    k_target, n_target
        Shape (items, targets).
    source_rates, target_rates
        The true S and T, shapes (items,) and (items, targets), before guessing.
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
    slopes: ArrayLike = 0.8,
    source: tuple[float, float] | Callable[[np.random.Generator, int], Floats] = (1.0, 1.0),
    n_source: int = 10,
    n_target: int = 10,
    concentration: float | None = None,
    chance: float = 0.0,
    rng: np.random.Generator,
) -> Simulated:
    """Draw replies of a model whose transfer is known.

    True source rates S come from `source`; the mean target rate is ``slope * S``. With a finite
    `concentration` c, T given S is Beta(c slope S, c (1 - slope S)): small values make items of
    one hardness differ. A guess is right with probability `chance` where the model does not
    know: the observed rate is ``chance + (1 - chance) * rate``.

    Parameters
    ----------
    n_items
        Number of items, at least 1.
    slopes
        One slope per target, each in [0, 1]; a single number for one target.
    source
        Parameters of a Beta distribution, or a function of (rng, n_items) that returns rates.
    n_source, n_target
        Replies per item.
    concentration
        None for no heterogeneity; positive otherwise.
    chance
        Guess rate in [0, 1).
    rng
        Generator.

    Raises
    ------
    InputError
        A slope outside [0, 1], no items, a concentration that is not positive.
    """
    m = np.atleast_1d(np.asarray(slopes, dtype=np.float64))
    if n_items < 1 or not ((m >= 0) & (m <= 1)).all():
        raise InputError(
            f"simulate needs at least one item and slopes in [0, 1]; got {n_items} and {m}"
        )
    if concentration is not None and not concentration > 0:
        raise InputError(f"concentration must be positive or None, got {concentration!r}")
    rates = source(rng, n_items) if callable(source) else rng.beta(*source, size=n_items)
    mean = rates[:, None] * m
    if concentration is None:
        target = mean
    else:
        tiny = 1e-12
        target = rng.beta(
            np.maximum(concentration * mean, tiny), np.maximum(concentration * (1 - mean), tiny)
        )
        target = np.where(mean <= 0, 0.0, np.where(mean >= 1, 1.0, target))
    shape = target.shape
    return Simulated(
        k_source=rng.binomial(n_source, chance + (1 - chance) * rates),
        n_source=np.full(n_items, n_source),
        k_target=rng.binomial(n_target, chance + (1 - chance) * target),
        n_target=np.full(shape, n_target),
        source_rates=rates,
        target_rates=target,
    )
