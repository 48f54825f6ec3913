"""Prim's algorithm on exact distances: the kernel for small work.

Time O(n^2 d), memory O(n d). The points are kept feature by feature, so that vectors
hold points, and no sum is reordered: the distances are those of
`structsmooth.tree.exact`, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.exact import precedes
from structsmooth.tree.passes import last_up_to
from structsmooth.tree.strips import STRIP, WIDTH, approach_all, as_strips


def prim(
    X: NDArray[Any],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the ends and squared lengths of the tree's edges, in growing order."""
    return grow_exactly(as_strips(X), len(X))


@kernel
def grow_exactly(
    strips: NDArray[np.float64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Grow the tree from the first of n points.

    The strips are overwritten: points that have joined the tree make way for open
    ones, which halves the work.
    """
    n_strips, n_features, _ = strips.shape
    row_of = np.arange(n)  # which row of the input is at a place
    nearest = np.full(n_strips * STRIP, np.inf)  # squared distance to the tree
    bits = nearest.view(np.int64)
    nearest_row = np.zeros(n_strips * STRIP, np.int64)  # and where it is measured to
    lowest = np.empty(WIDTH, np.int64)
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
        strip, lane = divmod(chosen, STRIP)
        last_strip, last_lane = divmod(n_open, STRIP)
        for feature in range(n_features):
            newest[feature] = strips[strip, feature, lane]
            strips[strip, feature, lane] = strips[last_strip, feature, last_lane]
            strips[last_strip, feature, last_lane] = np.inf
        row_of[chosen] = row_of[n_open]
        nearest[chosen] = nearest[n_open]
        nearest_row[chosen] = nearest_row[n_open]
        nearest[n_open] = np.inf

        shortest_bits = approach_all(
            strips, newest, row, n_open, nearest, nearest_row, lowest
        )
        chosen, n_shortest = last_up_to(bits[:n_open], shortest_bits)
        if n_shortest > 1:
            shortest = nearest[chosen]
            for place in range(n_open):
                if nearest[place] == shortest and precedes(
                    shortest,
                    row_of[place],
                    nearest_row[place],
                    shortest,
                    row_of[chosen],
                    nearest_row[chosen],
                ):
                    chosen = place
        left[step], right[step] = row_of[chosen], nearest_row[chosen]
        lengths[step] = nearest[chosen]
    return left, right, lengths
