"""A balanced k-d tree, split at the median of the widest coordinate.

Its leaves hold a few panels of sixteen points. Nodes are numbered as in a heap: the
children of v are 2v + 1 and 2v + 2, and the last level holds the leaves.

Arrays are made outside of kernels, and filled by plain loops: numba takes up to a
second to compile what NumPy has for either, again for each type and number of axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structsmooth.support.jit import kernel
from structsmooth.tree.exact import I64, Floats
from structsmooth.tree.simd import PANEL

# A node's widest coordinate is judged by at most this many of its points.
SPREAD_SAMPLE = 64


class KDTree(NamedTuple):
    """Points in the order of the leaves; a place without a point holds NaN."""

    order: I64  # (n,): which input row is at each place
    rows: Floats  # (16 p, d): the points in order, one after the other
    panels: Floats  # (p, d, 16): the same sixteen at a time, feature by feature
    start: I64  # (nodes,): the first panel of each node
    end: I64  # and the one after its last
    low: Floats  # (nodes, d): the box around the points of each node
    high: Floats


def build_kdtree(points: Floats, leaf_panels: int, width: int = PANEL) -> KDTree:
    """Return the tree of the points, with at most ``leaf_panels`` in a leaf.

    A panel holds ``width`` points.
    """
    n, d = points.shape
    n_panels = (n + width - 1) // width
    depth = 0
    while (n_panels + (1 << depth) - 1) >> depth > leaf_panels:
        depth += 1
    n_nodes = (1 << (depth + 1)) - 1
    tree = KDTree(
        order=np.arange(n),
        rows=np.full((n_panels * width, d), np.nan, points.dtype),
        panels=np.full((n_panels, d, width), np.nan, points.dtype),
        start=np.zeros(n_nodes, np.int64),
        end=np.zeros(n_nodes, np.int64),
        low=np.full((n_nodes, d), np.inf, points.dtype),
        high=np.full((n_nodes, d), -np.inf, points.dtype),
    )
    tree.rows[:n] = points
    tree.end[0] = n_panels
    _arrange(tree, np.empty(n, points.dtype))
    return tree


@kernel
def _arrange(tree: KDTree, key: Floats) -> None:
    """Sort the points into the leaves, and set the boxes; ``key`` is for working."""
    order, rows, panels, start, end, low, high = tree
    n, d = len(order), rows.shape[1]
    n_nodes, width = len(start), panels.shape[2]
    first_leaf = n_nodes // 2
    for node in range(first_leaf):
        middle = (start[node] + end[node] + 1) >> 1
        start[2 * node + 1], end[2 * node + 1] = start[node], middle
        start[2 * node + 2], end[2 * node + 2] = middle, end[node]
        begin, stop = start[node] * width, min(end[node] * width, n)
        if middle * width < stop:
            feature = _widest_feature(rows[begin:stop])
            for i in range(begin, stop):
                key[i] = rows[i, feature]
            _select(
                key[begin:stop],
                order[begin:stop],
                rows[begin:stop],
                middle * width - begin,
            )
    for i in range(n):
        for feature in range(d):
            panels[i // width, feature, i % width] = rows[i, feature]
    for node in range(n_nodes - 1, -1, -1):
        if node >= first_leaf:
            for i in range(start[node] * width, min(end[node] * width, n)):
                for feature in range(d):
                    low[node, feature] = min(low[node, feature], rows[i, feature])
                    high[node, feature] = max(high[node, feature], rows[i, feature])
        else:
            left, right = 2 * node + 1, 2 * node + 2
            for feature in range(d):
                low[node, feature] = min(low[left, feature], low[right, feature])
                high[node, feature] = max(high[left, feature], high[right, feature])


@kernel
def widest_leaf(tree: KDTree) -> int:
    """Return the number of panels of the leaf that has most of them."""
    widest = 0
    for leaf in range(len(tree.start) // 2, len(tree.start)):
        widest = max(widest, tree.end[leaf] - tree.start[leaf])
    return widest


@kernel
def _widest_feature(rows: Floats) -> int:
    step = max(1, len(rows) // SPREAD_SAMPLE)
    widest, width = 0, rows.dtype.type(-1.0)
    for feature in range(rows.shape[1]):
        smallest = largest = rows[0, feature]
        for i in range(0, len(rows), step):
            value = rows[i, feature]
            smallest, largest = min(smallest, value), max(largest, value)
        if largest - smallest > width:
            widest, width = feature, largest - smallest
    return widest


@kernel
def _select(key: Floats, order: I64, rows: Floats, k: int) -> None:
    """Move the k smallest keys, and what belongs to them, to the front."""
    low, high = 0, len(key) - 1
    while low < high:
        a, b, c = key[low], key[(low + high) >> 1], key[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                order[i], order[j] = order[j], order[i]
                for feature in range(rows.shape[1]):
                    value = rows[i, feature]
                    rows[i, feature] = rows[j, feature]
                    rows[j, feature] = value
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return


@kernel(fastmath={"reassoc", "contract", "nsz"})
def box_distance(
    low: Floats, high: Floats, lows: Floats, highs: Floats, node: int
) -> Any:
    """Return the squared distance of a box to that of a node, 0 if they overlap.

    The node's row is looked up here because a slice would cost more than the sum.
    """
    zero = low.dtype.type(0.0)
    total = zero
    for feature in range(low.shape[0]):
        gap = max(
            low[feature] - highs[node, feature],
            lows[node, feature] - high[feature],
        )
        gap = max(gap, zero)
        total += gap * gap
    return total
