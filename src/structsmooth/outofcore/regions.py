"""Clusters of rows that come in blocks: from a sample, then every row to its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.assign import Assigner, GaussianAssigner, NearestCenter
from structsmooth.cluster import (
    gaussian_mixture,
    kmeans_centers,
    kmeans_sample,
    kmeans_sample_size,
    squared_distances,
)
from structsmooth.outofcore.moments import running_sum
from structsmooth.outofcore.plan import Plan
from structsmooth.sidebyside import side_by_side

Blocks = Callable[[str], Iterable[NDArray[Any]]]
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
    rows = (block.astype(np.float64) for block in blocks("center"))
    mean = running_sum(rows) / n_rows
    distances = np.empty(n_rows)
    start = 0
    for block in blocks("distances"):
        distances[start : start + len(block)] = squared_distances(block, mean)
        start += len(block)
    order = np.argsort(distances, kind="stable")
    draws = kmeans_sample(n_rows, n_clusters, seed)
    return order if draws is None else order[draws]


def _gather(blocks: Blocks, chosen: NDArray[np.int64]) -> NDArray[Any]:
    """Return the chosen rows, in that order."""
    by_row = np.argsort(chosen)
    ordered = chosen[by_row]
    sample: NDArray[Any] = np.empty(0)
    start = 0
    for block in blocks("sample"):
        low, high = np.searchsorted(ordered, [start, start + len(block)])
        if start == 0:
            sample = np.empty((len(chosen), block.shape[1]), block.dtype)
        sample[by_row[low:high]] = block[ordered[low:high] - start]
        start += len(block)
    return sample


def assign_blocks(
    assigner: Assigner, blocks: list[NDArray[Any]], n_jobs: int | None
) -> list[NDArray[np.int32]]:
    """Return the cluster of each row, block by block."""
    found = side_by_side(assigner.assign, blocks, n_jobs, share_memory=True)
    return [labels.astype(np.int32) for labels in found]


def assigner_arrays(assigner: Assigner) -> dict[str, Any]:
    """Return what an assigner is made of."""
    return vars(assigner)


def assigner_from(arrays: dict[str, Any]) -> Assigner:
    """Return the assigner that is made of these."""
    return (
        NearestCenter(**arrays) if "centers" in arrays else GaussianAssigner(**arrays)
    )
