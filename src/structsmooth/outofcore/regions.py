"""Clusters of rows that come in blocks: from a sample, then every row to its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.cluster.assign import Assigner
from structsmooth.cluster.regions import (
    gaussian_mixture,
    kmeans_centers,
    kmeans_sample,
    kmeans_sample_size,
    squared_distances,
)
from structsmooth.outofcore.moments import running_sum
from structsmooth.outofcore.plan import Plan
from structsmooth.outofcore.rows import Blocks
from structsmooth.support.groups import order_by_group

# Bytes a row that the draw of `kmeans_sample` takes: distances, their order, the
# workspace of sorting them, and a permutation.
DRAW_BYTES = 32


def fit_assigner(
    blocks: Blocks,
    n_rows: int,
    width: int,
    clusterer: str,
    n_clusters: int,
    seed: int | None,
    plan: Plan,
) -> Assigner:
    """Cluster a sample of the reduced rows.

    The sample is the one that a fit in memory takes, where the distances of all rows
    from their mean can be sorted in memory; of more rows it is drawn by row number. A
    Gaussian mixture is fitted to it too, and not to all rows.
    """
    size = kmeans_sample_size(n_rows, n_clusters)
    responsibilities = 4 * 8 * n_clusters if clusterer == "gmm" else 0
    plan.require(size * (16 * width + responsibilities), "the sample for clustering")
    chosen = _choose(blocks, n_rows, n_clusters, size, seed, plan)
    sample = _gather(blocks, chosen)
    if clusterer == "gmm":
        return gaussian_mixture(sample, n_clusters, seed)
    return kmeans_centers(sample, n_clusters, seed, full=size == n_rows)


def _choose(
    blocks: Blocks,
    n_rows: int,
    n_clusters: int,
    size: int,
    seed: int | None,
    plan: Plan,
) -> NDArray[np.int64]:
    """Return the numbers of the rows in the sample, in its order."""
    if DRAW_BYTES * n_rows > plan.free:
        return np.random.default_rng(seed).choice(n_rows, size, replace=False)
    mean = running_sum(blocks(lambda rows: rows.astype(np.float64))) / n_rows
    distances = np.empty(n_rows)
    start = 0
    for some in blocks(lambda rows: squared_distances(rows, mean)):
        distances[start : start + len(some)] = some
        start += len(some)
    order = np.argsort(distances, kind="stable")
    draws = kmeans_sample(n_rows, n_clusters, seed)
    return order if draws is None else order[draws]


def _gather(blocks: Blocks, chosen: NDArray[np.int64]) -> NDArray[Any]:
    """Return the chosen rows, in that order."""
    by_row = np.argsort(chosen)
    ordered = chosen[by_row]
    sample: NDArray[Any] = np.empty(0)
    start = 0
    for block in blocks(lambda rows: rows):
        low, high = np.searchsorted(ordered, [start, start + len(block)])
        if start == 0:
            sample = np.empty((len(chosen), block.shape[1]), block.dtype)
        sample[by_row[low:high]] = block[ordered[low:high] - start]
        start += len(block)
    return sample


class Assigned(NamedTuple):
    """The clusters of a block of rows.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
        Of each row.
    present : ndarray of shape (c,)
        The clusters that occur, ascending.
    sizes : ndarray of shape (c,)
        How many rows each has.
    sums : ndarray of shape (c, d), float64
        The sum of these rows.
    """

    labels: NDArray[np.int32]
    present: NDArray[np.int64]
    sizes: NDArray[np.int64]
    sums: NDArray[np.float64]


def assign_block(assigner: Assigner, block: NDArray[Any]) -> Assigned:
    """Return the cluster of each row, and what the centers will be made of."""
    labels = assigner.assign(block)
    order = order_by_group(labels)
    counts = np.bincount(labels, minlength=assigner.n_clusters)
    present = np.flatnonzero(counts)
    starts = np.cumsum(counts[present]) - counts[present]
    sums = np.add.reduceat(block[order], starts, axis=0, dtype=np.float64)
    return Assigned(labels.astype(np.int32), present, counts[present], sums)
