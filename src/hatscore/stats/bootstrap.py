"""The cluster bootstrap of a ratio: here to check the closed forms, not to replace them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bootstrap_ratio"]

_BLOCK = 4_000_000


def bootstrap_ratio(
    a: NDArray[np.float64],
    u: NDArray[np.float64],
    *,
    confidence: float,
    n_resamples: int = 10_000,
    rng: np.random.Generator | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return percentile bootstrap intervals of ``sum(a) / sum(u)`` over resampled clusters.

    Parameters
    ----------
    a, u
        Cluster sums, shape (clusters, columns). All columns share each resample.
    confidence
        Level, in (0, 1).
    n_resamples
        Resamples of the clusters with replacement.
    rng
        Generator; default one with seed 0, so that the same data give the same interval.

    Returns
    -------
    tuple of arrays
        Low and high ends, shape (columns,); NaN where a column has no finite resample.

    Notes
    -----
    How often each cluster is drawn is multinomial, so a resample is a row of counts and all
    ratios of a block are two matrix products.
    """
    if n_resamples < 1:
        raise InputError(f"n_resamples must be at least 1, got {n_resamples}")
    generator = np.random.default_rng(0) if rng is None else rng
    n_clusters, n_columns = a.shape
    values = np.empty((n_resamples, n_columns))
    both = np.concatenate([a, u], axis=1)
    block = max(1, _BLOCK // max(n_clusters, 1))
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        counts = _resample_counts(generator, size, n_clusters)
        sums = counts @ both
        with np.errstate(divide="ignore", invalid="ignore"):
            values[start : start + size] = sums[:, :n_columns] / sums[:, n_columns:]
    values[~np.isfinite(values)] = np.nan
    low = np.full(n_columns, np.nan)
    high = np.full(n_columns, np.nan)
    has_any = ~np.isnan(values).all(axis=0)
    if has_any.any():
        tail = (1 - confidence) / 2
        ends = np.nanquantile(values[:, has_any], [tail, 1 - tail], axis=0)
        low[has_any], high[has_any] = ends
    return low, high


def _resample_counts(rng: np.random.Generator, size: int, n_clusters: int) -> NDArray[np.float64]:
    """Draw how often each cluster appears in each resample, shape (size, clusters)."""
    drawn = rng.integers(0, n_clusters, size=(size, n_clusters))
    drawn += np.arange(size)[:, None] * n_clusters
    return (
        np.bincount(drawn.ravel(), minlength=size * n_clusters)
        .reshape(size, n_clusters)
        .astype(np.float64)
    )
