"""Target cells that were left out on purpose, and the cells that stand for them.

A sampling plan may leave out the target prompts of items that the source never solved, but for a
random share. That is two-phase sampling with two strata: every item has its source replies (first
phase), and in the stratum of the unsolved only a random part has target replies (second phase).
A kept cell has weight w > 1, the number of cells it stands for, itself included; a cell left out
on purpose has weight 0; all others have weight 1.

Any sum over items of a quantity x that needs target replies is estimated by ``sum(w x)``. Its
error is not that of w x item by item, which would count the known size of the stratum as unknown.
`Planned.fill` therefore gives every cell of the stratum, left out or kept, the stratum's mean and
adds ``w (x - mean)`` where x was seen, enlarged as a sample variance is: the sum is the same, and
the spread over items is that of two-phase sampling (C.-E. Särndal, B. Swensson, J. Wretman,
Model Assisted Survey Sampling, 1992, chapter 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Planned", "check_weights"]


@dataclass(frozen=True, slots=True)
class Planned:
    """Which cells of a plan count, all of shape (items, columns).

    Attributes
    ----------
    weights
        Cells that a cell stands for.
    seen
        Whether the cell has target replies.
    stratum
        Cells left out on purpose, and those that stand for them.
    counted
        Cells that enter sums over items: `seen`, and the cells left out for which others stand.
    """

    weights: Floats
    seen: Mask
    stratum: Mask
    counted: Mask

    @classmethod
    def of(cls, weights: Floats, seen: Mask) -> Planned:
        """Return the plan behind checked weights; `seen` as the attribute."""
        omitted = weights == 0
        stratum = omitted | (seen & (weights != 1))
        stands = (stratum & seen).any(0)
        return cls(weights, seen, stratum, seen | (omitted & stands))

    @property
    def lost(self) -> Mask:
        """Columns with cells left out and none, so far, that stands for them; shape (columns,)."""
        return np.asarray((self.stratum & ~self.counted).any(0), dtype=np.bool_)

    def standing(self) -> Floats:
        """Return how many cells stand for others, shape (columns,)."""
        return np.asarray((self.stratum & self.seen).sum(0), dtype=np.float64)

    def fill(self, values: Floats) -> Floats:
        """Return `values` with the stratum filled so that plain sums over `counted` are right.

        Parameters
        ----------
        values
            Shape (items, columns), zeros where a cell was not seen.
        """
        weight = np.where(self.stratum & self.seen, self.weights, 0.0)
        total = weight.sum(0)
        mean = np.divide((weight * values).sum(0), total, out=np.zeros_like(total), where=total > 0)
        # residuals around a mean of few are too small: the factor of a sample variance
        few = self.standing()
        factor = np.sqrt(few / np.maximum(few - 1, 1))
        filled = np.where(self.stratum, mean + factor * weight * (values - mean), values)
        return np.where(self.counted, filled, 0.0)


def check_weights(
    weights: ArrayLike | None, n_target: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return weights as an array of the shape of `n_target`; None where all are 1.

    Raises
    ------
    InputError
        Another shape, a weight that is no finite number of at least 0, or weight 0 for a cell
        that has replies.
    """
    if weights is None:
        return None
    try:
        found = np.broadcast_to(np.asarray(weights, dtype=np.float64), n_target.shape)
    except (TypeError, ValueError) as err:
        raise InputError(
            f"weights must be numbers of the shape of n_target, {n_target.shape}: {err}"
        ) from err
    bad = ~np.isfinite(found) | (found < 0)
    if bad.any():
        raise InputError(f"weights must be finite and at least 0; got {found[bad][0]:g}")
    if ((found == 0) & (n_target > 0)).any():
        raise InputError("weight 0 marks a cell left out on purpose, but such a cell has replies")
    return None if (found == 1).all() else found
