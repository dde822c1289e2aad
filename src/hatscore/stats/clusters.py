"""Which items belong together, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Clusters"]


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which items belong together.

    Attributes
    ----------
    labels
        One label per cluster, shape (clusters,), in order of first appearance.
    order, starts
        Items sorted by cluster and where each cluster begins; None when every item stands alone.
    """

    labels: NDArray[np.object_]
    order: NDArray[np.intp] | None = None
    starts: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, groups: ArrayLike | None, n_items: int) -> Clusters:
        """Return the clusters that `groups`, one label per item, describes; None: every item.

        Raises
        ------
        InputError
            Another number of labels than of items.
        """
        if groups is None:
            labels = np.empty(n_items, dtype=object)
            labels[:] = range(n_items)
            return cls(labels)
        given = np.asarray(groups)
        if given.shape != (n_items,):
            raise InputError(
                f"groups needs one label per item, shape ({n_items},); got shape {given.shape}"
            )
        unique, first, codes = np.unique(given, return_index=True, return_inverse=True)
        rank = np.empty(len(unique), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(unique))
        codes = rank[codes]
        labels = np.empty(len(unique), dtype=object)
        labels[:] = given[np.sort(first)].tolist()
        if len(unique) == n_items:
            return cls(labels)
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(unique)))
        return cls(labels, order, starts)

    def sum(self, x: Floats) -> Floats:
        """Add items to clusters: shape (items, columns) to (clusters, columns)."""
        if self.order is None or self.starts is None:
            return x
        return np.add.reduceat(x[self.order], self.starts, axis=0)
