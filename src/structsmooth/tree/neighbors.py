"""The exact k nearest neighbors, by the same search as the trees.

Lists are found in the shadow, with a few places to spare. A row's list is certain if
its k-th exact distance is below the bound on everything not in the list. Rows for
which it is not, those with many equally near neighbors, are searched one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import is_compiled, kernel
from structsmooth.tree.engine import search_shadow
from structsmooth.tree.lists import in_threads, refine, search_pairs
from structsmooth.tree.paths import COMPILE_SECONDS, prim_seconds
from structsmooth.tree.strips import STRIP, as_strips, squared_to_all

# Below this many rows, or until the fast search pays for its compilation, compare all.
BRUTE_ROWS = 700
SPARE = 3


def find_neighbors(
    X: NDArray[Any], k: int, n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return row numbers and squared distances of the k nearest of each row."""
    n = len(X)
    indices = np.empty((n, k), dtype=np.int64)
    squared = np.empty((n, k))
    strips = as_strips(X)
    everything = np.arange(n)
    seconds = 2.0 * prim_seconds(n, X.shape[1])  # Prim sees each pair once, we twice
    affordable = is_compiled(search_pairs) or seconds > COMPILE_SECONDS["engine"]
    if n <= BRUTE_ROWS or not affordable:
        _compare_with_all(strips, everything, indices, squared, n_threads)
        return indices, squared
    wider = min(n - 1, k + SPARE)
    layout, shadow, lists = search_shadow(X, wider, n_threads)
    order = layout.order
    found, beyond = refine(
        X[order],
        order,
        lists,
        shadow.slack[order],
        shadow.scale,
        shadow.relative,
        n_threads,
    )
    is_certain = (found[:, k - 1] < beyond) | (wider == n - 1)
    indices[order] = order[lists.place[:n, :k]]
    squared[order] = found[:, :k]
    uncertain = np.sort(order[~is_certain])
    _compare_with_all(strips, uncertain, indices, squared, n_threads)
    return indices, squared


def _compare_with_all(
    strips: NDArray[np.float64],
    rows: NDArray[np.int64],
    indices: NDArray[np.int64],
    squared: NDArray[np.float64],
    n_threads: int,
) -> None:
    parts = np.array_split(rows, n_threads)
    in_threads(
        n_threads,
        lambda number: _fill_rows(strips, parts[number], indices, squared),
    )


@kernel
def _fill_rows(
    strips: NDArray[np.float64],
    rows: NDArray[np.int64],
    indices: NDArray[np.int64],
    squared: NDArray[np.float64],
) -> None:
    """Fill in the neighbors of some rows, by the distances to all others."""
    n_strips, n_features, _ = strips.shape
    n, k = indices.shape
    point = np.empty(n_features)
    distance = np.empty(n_strips * STRIP)
    for row in rows:
        for feature in range(n_features):
            point[feature] = strips[row // STRIP, feature, row % STRIP]
        squared_to_all(strips, point, n, distance)
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
