"""Prim's algorithm on plain float64 distances: the reference kernel.

Time O(n^2 d), memory O(n d). The points are kept feature by feature, so that the
inner loop runs over points and the compiler can vectorize it without reordering
any sum: the same bits on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structsmooth.kernels import kernel

# Distances of this many points at a time stay in the processor's first cache.
BLOCK = 1024


@kernel
def prim(
    columns: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the ends and squared lengths of the tree's edges, in growing order.

    Parameters
    ----------
    columns : ndarray of shape (d, n), float64
        One point a column. It is overwritten: points that have joined the tree are
        moved behind the open ones, which halves the work.
    """
    n_features, n_points = columns.shape
    row_of = np.arange(n_points)  # which row of the input a column holds
    nearest = np.full(n_points, np.inf)  # squared distance of an open point to the tree
    nearest_row = np.zeros(n_points, np.int64)  # and the row it is measured to
    squared = np.empty(BLOCK)
    newest = np.empty(n_features)

    left = np.empty(n_points - 1, np.int64)
    right = np.empty(n_points - 1, np.int64)
    lengths = np.empty(n_points - 1)

    chosen = 0
    n_open = n_points
    for step in range(n_points - 1):
        newest_row = row_of[chosen]
        n_open -= 1
        for feature in range(n_features):
            newest[feature] = columns[feature, chosen]
            columns[feature, chosen] = columns[feature, n_open]
        row_of[chosen] = row_of[n_open]
        nearest[chosen] = nearest[n_open]
        nearest_row[chosen] = nearest_row[n_open]

        chosen = 0
        for start in range(0, n_open, BLOCK):
            width = min(BLOCK, n_open - start)
            squared[:width] = 0.0
            for feature in range(n_features):
                value = newest[feature]
                for j in range(width):
                    difference = columns[feature, start + j] - value
                    squared[j] += difference * difference
            for j in range(width):
                point = start + j
                # Two edges that share the point compare by their other end.
                if squared[j] < nearest[point] or (
                    squared[j] == nearest[point] and newest_row < nearest_row[point]
                ):
                    nearest[point] = squared[j]
                    nearest_row[point] = newest_row
                if nearest[point] < nearest[chosen] or (
                    nearest[point] == nearest[chosen]
                    and _precedes(
                        row_of[point],
                        nearest_row[point],
                        row_of[chosen],
                        nearest_row[chosen],
                    )
                ):
                    chosen = point

        left[step] = row_of[chosen]
        right[step] = nearest_row[chosen]
        lengths[step] = nearest[chosen]
    return left, right, lengths


@kernel
def _precedes(a: int, b: int, c: int, d: int) -> bool:
    """Whether edge a-b comes before c-d by (lower row, higher row)."""
    low, other_low = min(a, b), min(c, d)
    return low < other_low or (low == other_low and max(a, b) < max(c, d))
