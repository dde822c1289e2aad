"""Target cells that were left out on purpose, and the cells that stand for them.

A sampling plan may leave out the target prompts of items that the source never or seldom solved,
but for a random share. That is two-phase sampling: every item has its source replies (first
phase), and of the items with one source count only a random part has target replies (second
phase). A kept cell has weight w > 1, the number of cells it stands for, itself included; a cell
left out on purpose has weight 0; all others have weight 1.

Any sum over items of a quantity x that needs target replies is estimated by ``sum(w x)``. Its
error is not that of w x item by item, which would count the known size of a stratum as unknown.
`Planned.fill` therefore gives every cell of a stratum, left out or kept, the stratum's mean and
adds ``w (x - mean)`` where x was seen, enlarged as a sample variance is: the sum is the same, and
the spread over items is that of two-phase sampling (C.-E. Särndal, B. Swensson, J. Wretman,
Model Assisted Survey Sampling, 1992, chapter 9). Strata are items of one source count as it is
graded now, which need not be the count that the plan saw.
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
    labels
        Source counts, which divide `stratum`; cells with equal ones are alike.
    counted
        Cells that enter sums over items: `seen`, and the cells left out for which others stand.
    """

    weights: Floats
    seen: Mask
    stratum: Mask
    counted: Mask
    labels: Floats

    @classmethod
    def of(cls, weights: Floats, seen: Mask, source: Floats) -> Planned:
        """Return the plan behind checked weights.

        Parameters
        ----------
        weights, seen
            As the attributes.
        source
            Correct source replies, of a shape that broadcasts to that of `weights`.
        """
        omitted = weights == 0
        stratum = omitted | (seen & (weights != 1))
        stands = (stratum & seen).any(0)
        labels = np.broadcast_to(source, weights.shape)
        return cls(weights, seen, stratum, seen | (omitted & stands), labels)

    @property
    def lost(self) -> Mask:
        """Columns with cells left out and none, so far, that stands for them; shape (columns,)."""
        return np.asarray((self.stratum & ~self.counted).any(0), dtype=np.bool_)

    def standing(self, label: float) -> Floats:
        """Return how many cells of one source count stand for others, shape (columns,)."""
        here = self.stratum & self.seen & (self.labels == label)
        return np.asarray(here.sum(0), dtype=np.float64)

    def fill(self, values: Floats) -> Floats:
        """Return `values` with the strata filled so that plain sums over `counted` are right.

        A stratum of which nothing was seen (after another grading) takes the mean of the nearest.

        Parameters
        ----------
        values
            Shape (items, columns), zeros where a cell was not seen.
        """
        weight = np.where(self.stratum & self.seen, self.weights, 0.0)
        names = np.unique(self.labels[self.stratum])
        members = [self.stratum & (self.labels == name) for name in names]
        total = np.array([(weight * part).sum(0) for part in members])
        sums = np.array([(weight * values * part).sum(0) for part in members])
        few = np.array([self.standing(name) for name in names])
        means = np.divide(sums, total, out=np.zeros_like(total), where=total > 0)
        # residuals around a mean of few are too small: the factor of a sample variance
        factors = np.sqrt(few / np.maximum(few - 1, 1))
        filled = values
        for i, part in enumerate(members):
            distance = np.abs(names - names[i])[:, None] + np.where(total > 0, 0.0, np.inf)
            nearest = means[distance.argmin(0), np.arange(values.shape[1])]
            around = nearest + factors[i] * weight * (values - nearest)
            filled = np.where(part, around, filled)
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
