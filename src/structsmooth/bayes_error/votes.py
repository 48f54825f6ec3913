"""Nearest neighbors with different labels: an alternative to the tree's edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.crossing import (
    TYPICAL_EFFECT,
    CrossingCount,
    crossing_pairs,
    design_effect,
)
from structsmooth.support.jit import kernel
from structsmooth.tree import nearest_neighbors


def cross_neighbors(
    X: NDArray[Any], coded: NDArray[np.int64], n_neighbors: int, n_threads: int = 1
) -> CrossingCount:
    """Count pairs of a point and its nearest neighbors, each the k-th part of one."""
    near = nearest_neighbors(X, n_neighbors, n_threads).indices
    rows = np.repeat(np.arange(len(coded)), n_neighbors)
    edges = np.column_stack([rows, near.ravel()])
    pairs, counts = crossing_pairs(edges, coded)
    effect = design_effect(edges, coded) / n_neighbors
    return CrossingCount(pairs, counts / n_neighbors, effect, 0.0)


def cross_votes(
    X: NDArray[Any], coded: NDArray[np.int64], n_neighbors: int, n_threads: int = 1
) -> CrossingCount:
    """Count the points that their nearest neighbors outvote, and with which class.

    A tie is half an error.
    """
    near = nearest_neighbors(X, n_neighbors, n_threads).indices
    n_own, other, n_other = count_votes(near, coded, int(coded.max()) + 1)
    share = np.where(n_other > n_own, 1.0, np.where(n_other == n_own, 0.5, 0.0))
    outvoted = np.flatnonzero(share)
    ends = np.sort(np.column_stack([coded, other])[outvoted], axis=1)
    pairs, which = np.unique(ends, axis=0, return_inverse=True)
    counts = np.bincount(which.ravel(), weights=share[outvoted], minlength=len(pairs))
    # Votes of the same neighbors are not independent; what a tree has is enough.
    return CrossingCount(pairs, counts, TYPICAL_EFFECT, 0.0)


@kernel
def count_votes(
    near: NDArray[np.int64], coded: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return how many neighbors have a row's label, the best other label, its votes."""
    n = near.shape[0]
    n_own = np.empty(n, dtype=np.int64)
    other = np.empty(n, dtype=np.int64)
    n_other = np.empty(n, dtype=np.int64)
    counts = np.zeros(n_classes, dtype=np.int64)
    for i in range(n):
        for j in near[i]:
            counts[coded[j]] += 1
        n_own[i] = counts[coded[i]]
        counts[coded[i]] = 0
        best = -1
        for j in near[i]:
            c = coded[j]
            if c == coded[i]:
                continue
            gain = counts[c] - counts[best] if best >= 0 else 1
            if gain > 0 or (gain == 0 and c < best):
                best = c
        other[i] = best if best >= 0 else coded[i]
        n_other[i] = counts[best] if best >= 0 else 0
        for j in near[i]:
            counts[coded[j]] = 0
    return n_own, other, n_other
