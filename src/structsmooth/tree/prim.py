"""Prim's algorithm on exact distances: the kernel for small work.

Time O(n^2 d), memory O(n d). The points are kept feature by feature, so that the
inner loops run over points and the compiler vectorizes them without reordering any
sum: the distances are those of `structsmooth.tree.exact`, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.kernels import kernel
from structsmooth.tree.exact import precedes

# Distances of this many points at a time stay in the processor's first cache.
BLOCK = 1024
# The nearest of so many places is remembered, so that few are looked at twice.
STRETCH = 64


@kernel
def prim(
    columns: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the ends and squared lengths of the tree's edges, in growing order.

    Parameters
    ----------
    columns : ndarray of shape (d, n), float64
        One point a column. It is overwritten: points that have joined the tree make
        way for open ones, which halves the work.
    """
    n_features, n = columns.shape
    row_of = np.arange(n)  # which row of the input is at a place
    nearest = np.full(n, np.inf)  # squared distance of an open point to the tree
    nearest_row = np.zeros(n, np.int64)  # and the row it is measured to
    first = np.full((n + STRETCH - 1) // STRETCH, np.inf)  # smallest of each stretch
    squared = np.empty(n)
    newest = np.empty(n_features)
    left = np.empty(n - 1, np.int64)
    right = np.empty(n - 1, np.int64)
    lengths = np.empty(n - 1)

    chosen = 0
    n_open = n
    for step in range(n - 1):
        # The chosen point joins the tree, and the last open one takes its place.
        row = row_of[chosen]
        n_open -= 1
        for feature in range(n_features):
            newest[feature] = columns[feature, chosen]
            columns[feature, chosen] = columns[feature, n_open]
        row_of[chosen] = row_of[n_open]
        nearest[chosen] = nearest[n_open]
        nearest_row[chosen] = nearest_row[n_open]
        nearest[n_open] = np.inf
        find_first(nearest, first, chosen // STRETCH)
        find_first(nearest, first, n_open // STRETCH)

        squared_to_all(columns, newest, n_open, squared)
        for stretch in range((n_open + STRETCH - 1) // STRETCH):
            start = stretch * STRETCH
            stop = min(start + STRETCH, n_open)
            if count_up_to(squared[start:stop], nearest[start:stop]) == 0:
                continue
            for place in range(start, stop):
                # Two edges that share a point compare by their other end.
                if squared[place] < nearest[place] or (
                    squared[place] == nearest[place] and row < nearest_row[place]
                ):
                    nearest[place] = squared[place]
                    nearest_row[place] = row
            find_first(nearest, first, stretch)

        shortest = smallest(first)
        chosen = -1
        for stretch in range((n_open + STRETCH - 1) // STRETCH):
            if first[stretch] != shortest:
                continue
            start = stretch * STRETCH
            for place in range(start, min(start + STRETCH, n_open)):
                if nearest[place] == shortest and (
                    chosen < 0
                    or precedes(
                        shortest,
                        row_of[place],
                        nearest_row[place],
                        shortest,
                        row_of[chosen],
                        nearest_row[chosen],
                    )
                ):
                    chosen = place
        left[step] = row_of[chosen]
        right[step] = nearest_row[chosen]
        lengths[step] = shortest
    return left, right, lengths


@kernel
def squared_to_all(
    columns: NDArray[np.float64],
    point: NDArray[np.float64],
    n_open: int,
    squared: NDArray[np.float64],
) -> None:
    """Write the squared distance of the first columns to the point."""
    n_features = columns.shape[0]
    for start in range(0, n_open, BLOCK):
        stop = min(start + BLOCK, n_open)
        block = squared[start:stop]
        block[:] = 0.0
        feature = 0
        while feature + 4 <= n_features:
            _add_four(
                columns[feature, start:stop],
                columns[feature + 1, start:stop],
                columns[feature + 2, start:stop],
                columns[feature + 3, start:stop],
                point[feature : feature + 4],
                block,
            )
            feature += 4
        while feature < n_features:
            _add_one(columns[feature, start:stop], point[feature], block)
            feature += 1


# Functions of their own, on one-dimensional arrays: so the compiler vectorizes them.
@kernel
def _add_four(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    c: NDArray[np.float64],
    d: NDArray[np.float64],
    point: NDArray[np.float64],
    squared: NDArray[np.float64],
) -> None:
    """Add four features, one after the other, for fewer trips to memory."""
    at_a, at_b, at_c, at_d = point[0], point[1], point[2], point[3]
    for j in range(squared.shape[0]):
        by_a, by_b = a[j] - at_a, b[j] - at_b
        by_c, by_d = c[j] - at_c, d[j] - at_d
        total = squared[j] + by_a * by_a
        total = total + by_b * by_b
        total = total + by_c * by_c
        squared[j] = total + by_d * by_d


@kernel
def _add_one(a: NDArray[np.float64], at_a: float, squared: NDArray[np.float64]) -> None:
    for j in range(squared.shape[0]):
        by_a = a[j] - at_a
        squared[j] += by_a * by_a


@kernel
def count_up_to(values: NDArray[Any], limits: NDArray[Any]) -> int:
    """Return how many values do not exceed their limit."""
    count = 0
    for j in range(values.shape[0]):
        count += values[j] <= limits[j]
    return count


@kernel
def find_first(nearest: NDArray[Any], first: NDArray[Any], stretch: int) -> None:
    """Remember the smallest value of a stretch."""
    start = stretch * STRETCH
    first[stretch] = smallest(nearest[start : start + STRETCH])


@kernel(fastmath={"nnan", "nsz", "reassoc"})
def smallest(values: NDArray[Any]) -> Any:
    """Return the smallest value; a loop that can be vectorized, unlike NumPy's."""
    lowest = values[0]
    for j in range(values.shape[0]):
        lowest = min(lowest, values[j])
    return lowest
