"""Clusters of rows that come in blocks: fitted to a sample, then assigned to all."""

from __future__ import annotations

from typing import Any

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
from structsmooth.outofcore.rows import Rows
from structsmooth.outofcore.spill import Spill
from structsmooth.support.groups import order_by_group
from structsmooth.support.progress import Stage

# The cluster of each row, in the spill directory.
CLUSTERS = "clusters.bin"
# Bytes per row to draw the sample: distances, their order, the workspace of sorting
# them, and a permutation.
DRAW_BYTES = 32


def fit_assigner(
    rows: Rows, clusterer: str, n_clusters: int, seed: int | None
) -> Assigner:
    """Cluster a sample of the reduced rows.

    It is the sample of a fit in memory, provided that the distances of all rows from
    their mean can be sorted in memory; otherwise it is drawn by row number. A Gaussian
    mixture is fitted to the sample too, and not to all rows.
    """
    size = kmeans_sample_size(rows.n_rows, n_clusters)
    responsibilities = 4 * 8 * n_clusters if clusterer == "gmm" else 0
    needed = size * (16 * rows.width + responsibilities)
    rows.plan.require(needed, "the sample for clustering")
    sample = _gather(rows, _draw_sample(rows, n_clusters, size, seed))
    if clusterer == "gmm":
        return gaussian_mixture(sample, n_clusters, seed)
    return kmeans_centers(sample, n_clusters, seed, full=size == rows.n_rows)


def _draw_sample(
    rows: Rows, n_clusters: int, size: int, seed: int | None
) -> NDArray[np.int64]:
    """Return the numbers of the rows in the sample, in its order."""
    n_rows = rows.n_rows
    if DRAW_BYTES * n_rows > rows.plan.free:
        return np.random.default_rng(seed).choice(n_rows, size, replace=False)
    mean = running_sum(rows.reduced(lambda block: block.astype(np.float64))) / n_rows
    distances = np.empty(n_rows)
    start = 0
    for some in rows.reduced(lambda block: squared_distances(block, mean)):
        distances[start : start + len(some)] = some
        start += len(some)
    order = np.argsort(distances, kind="stable")
    draws = kmeans_sample(n_rows, n_clusters, seed)
    return order if draws is None else order[draws]


def _gather(rows: Rows, chosen: NDArray[np.int64]) -> NDArray[Any]:
    """Return the chosen rows, in that order."""
    by_row = np.argsort(chosen)
    ordered = chosen[by_row]
    sample = np.empty((len(chosen), rows.width), rows.dtype)
    start = 0
    for block in rows.reduced(lambda block: block):
        low, high = np.searchsorted(ordered, [start, start + len(block)])
        sample[by_row[low:high]] = block[ordered[low:high] - start]
        start += len(block)
    return sample


def assign_rows(
    rows: Rows, assigner: Assigner, spill: Spill, stage: Stage
) -> dict[str, Any]:
    """Write the cluster of each row; return the clusters' sizes and sums of rows."""

    def assign(block: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        labels = assigner.assign(block)
        counts = np.bincount(labels, minlength=assigner.n_clusters)
        present = np.flatnonzero(counts)
        starts = np.cumsum(counts[present]) - counts[present]
        ordered = block[order_by_group(labels)]
        sums_present = np.add.reduceat(ordered, starts, axis=0, dtype=np.float64)
        return labels.astype(np.int32), counts, present, sums_present

    sizes = np.zeros(assigner.n_clusters)
    sums = np.zeros((assigner.n_clusters, rows.width))
    with spill.writing(CLUSTERS) as stream:
        for labels, counts, present, sums_present in rows.reduced(assign):
            stream.write(labels.data)
            sizes += counts
            sums[present] += sums_present
            stage.advance()
    return {"sizes": sizes, "sums": sums}
