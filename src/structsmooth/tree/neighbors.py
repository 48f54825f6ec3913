"""The exact k nearest neighbors, by the same lists as the trees.

The lists have a few places to spare. A row's list is certain if its k-th exact distance
is below the bound on everything not in the list. The other rows, those with many
equally near neighbors, are compared with all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import is_compiled, kernel
from structsmooth.tree.algorithms import COMPILE_SECONDS, prim_seconds
from structsmooth.tree.exact import F64, I64
from structsmooth.tree.neighbor_lists import in_threads, list_neighbors, search_pairs
from structsmooth.tree.simd import STRIP, as_strips, squared_to_all

# Below this many rows, or until the fast search pays for its compilation, compare all.
BRUTE_ROWS = 700
SPARE = 3


def find_neighbors(X: NDArray[Any], k: int, n_threads: int) -> tuple[I64, F64]:
    """Return row numbers and squared distances of the k nearest of each row."""
    n = len(X)
    indices = np.empty((n, k), dtype=np.int64)
    squared = np.empty((n, k))
    uncertain = np.arange(n)
    seconds = 2.0 * prim_seconds(n, X.shape[1])  # Prim compares each pair once
    if n > BRUTE_ROWS and (
        is_compiled(search_pairs) or seconds > COMPILE_SECONDS["boruvka"]
    ):
        n_listed = min(n - 1, k + SPARE)
        points = list_neighbors(X, n_listed, n_threads)
        source, found = points.source, points.squared[:, :k]
        indices[source] = source[points.place[:n, :k]]
        squared[source] = found
        is_certain = (found[:, k - 1] < points.beyond) | (n_listed == n - 1)
        uncertain = np.sort(source[~is_certain])
    strips = as_strips(X)
    parts = np.array_split(uncertain, n_threads)
    in_threads(
        n_threads,
        lambda number: _compare_with_all(strips, parts[number], indices, squared),
    )
    return indices, squared


@kernel
def _compare_with_all(strips: F64, rows: I64, indices: I64, squared: F64) -> None:
    """Fill in the neighbors of some rows, by the distances to all others."""
    n_strips, n_features, _ = strips.shape
    n, k = indices.shape
    point = np.empty(n_features)
    distance = np.empty(n_strips * STRIP)
    for row in rows:
        for feature in range(n_features):
            point[feature] = strips[row // STRIP, feature, row % STRIP]
        squared_to_all(strips, point, distance)
        squared[row] = np.inf
        for other in range(n):
            if other == row or distance[other] >= squared[row, k - 1]:
                continue  # of equally near ones the lower row, met first, stays
            slot = k - 1
            while slot > 0 and squared[row, slot - 1] > distance[other]:
                squared[row, slot] = squared[row, slot - 1]
                indices[row, slot] = indices[row, slot - 1]
                slot -= 1
            squared[row, slot] = distance[other]
            indices[row, slot] = other
