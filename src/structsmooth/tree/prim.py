"""Prim's algorithm on exact distances, for small work.

Time O(n^2 d), memory O(n d). The points are kept feature by feature, so that vectors
hold points and no sum is reordered: the distances are those of
`structsmooth.tree.exact`, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import aligned
from structsmooth.tree.exact import F64, I64, Edges, precedes
from structsmooth.tree.simd_exact import STRIP, WIDTH, approach_all, as_strips


def prim(X: NDArray[Any]) -> Edges:
    """Return the tree's edges in the order in which they are found."""
    n, strips = len(X), as_strips(X)
    n_places = len(strips) * STRIP
    edges = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    nearest = aligned((n_places,), np.float64, np.inf)
    nearest_row = aligned((n_places,), np.int64, 0)
    _grow_tree(strips, np.arange(n), nearest, nearest_row, edges)
    return edges


@kernel
def _grow_tree(
    strips: F64, row_of: I64, nearest: F64, nearest_row: I64, edges: Edges
) -> None:
    """Grow the tree from the first point.

    The strips are overwritten: points that have joined the tree make way for open
    ones, which halves the work. ``row_of`` says which row of the input is at a place,
    ``nearest`` its squared distance to the tree, and ``nearest_row`` to which row.
    """
    n, n_features = len(row_of), strips.shape[1]
    bits = nearest.view(np.int64)
    lowest = np.empty(WIDTH, np.int64)
    point = np.empty(n_features)
    left, right, lengths = edges

    chosen = 0
    n_open = n
    for step in range(n - 1):
        # The chosen point joins the tree, and the last open one takes its place.
        row = row_of[chosen]
        n_open -= 1
        strip, lane = divmod(chosen, STRIP)
        last_strip, last_lane = divmod(n_open, STRIP)
        for feature in range(n_features):
            point[feature] = strips[strip, feature, lane]
            strips[strip, feature, lane] = strips[last_strip, feature, last_lane]
            strips[last_strip, feature, last_lane] = np.inf
        row_of[chosen] = row_of[n_open]
        nearest[chosen] = nearest[n_open]
        nearest_row[chosen] = nearest_row[n_open]
        nearest[n_open] = np.inf

        limit = approach_all(strips, n_open, point, row, nearest, nearest_row, lowest)
        chosen, n_shortest = last_up_to(bits[:n_open], limit)
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


@kernel
def min_of(bits: NDArray[Any]) -> Any:
    """Return the smallest of some integers; of numbers this would be no vector loop."""
    smallest = bits[0]
    for j in range(bits.shape[0]):
        smallest = min(smallest, bits[j])
    return smallest


@kernel
def last_up_to(bits: NDArray[Any], limit: Any) -> tuple[int, int]:
    """Return the last place whose bits do not exceed the limit, and how many do not.

    A vector loop over all places, without a branch that the processor could mispredict,
    is faster than keeping track of what has changed. All integers have the width of the
    bits, so that one vector holds as many of each.
    """
    kind = bits.dtype.type
    last, count = kind(-1), kind(0)
    for j in range(kind(bits.shape[0])):
        is_below = bits[j] <= limit
        count += kind(is_below)
        last = max(last, kind(j) if is_below else kind(-1))
    return last, count
