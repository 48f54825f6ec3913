"""A balanced k-d tree, split at the median of the widest coordinate.

Its leaves hold a few panels of sixteen points. Nodes are numbered as in a heap: the
children of v are 2v + 1 and 2v + 2, and the last level holds the leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structsmooth.support.jit import kernel
from structsmooth.tree.exact import F32, I64
from structsmooth.tree.simd import PANEL

_NAN = np.float32(np.nan)
_INFINITY = np.float32(np.inf)
# A node's widest coordinate is judged by at most this many of its points.
SPREAD_SAMPLE = 64


class KDTree(NamedTuple):
    """Points in the order of the leaves; a place without a point holds NaN."""

    order: I64  # (n,): which input row is at each place
    rows: F32  # (16 p, d): the points in order, one after the other
    panels: F32  # (p, d, 16): the same sixteen at a time, feature by feature
    start: I64  # (nodes,): the first panel of each node
    end: I64  # and the one after its last
    low: F32  # (nodes, d): the box around the points of each node
    high: F32


@kernel
def build_kdtree(points: F32, leaf_panels: int) -> KDTree:
    """Return the tree of the points, with at most ``leaf_panels`` in a leaf."""
    n, d = points.shape
    n_panels = (n + PANEL - 1) // PANEL
    depth = 0
    while (n_panels + (1 << depth) - 1) >> depth > leaf_panels:
        depth += 1
    n_nodes = (1 << (depth + 1)) - 1
    first_leaf = (1 << depth) - 1
    start = np.zeros(n_nodes, np.int64)
    end = np.zeros(n_nodes, np.int64)
    end[0] = n_panels
    order = np.arange(n)
    rows = np.full((n_panels * PANEL, d), _NAN)
    rows[:n] = points
    key = np.empty(n, np.float32)
    for node in range(first_leaf):
        middle = (start[node] + end[node] + 1) >> 1
        start[2 * node + 1], end[2 * node + 1] = start[node], middle
        start[2 * node + 2], end[2 * node + 2] = middle, end[node]
        begin, stop = start[node] * PANEL, min(end[node] * PANEL, n)
        if middle * PANEL < stop:
            part = slice(begin, stop)
            feature = _widest_feature(rows[part])
            key[part] = rows[part, feature]
            _select(key[part], order[part], rows[part], middle * PANEL - begin)

    panels = np.full((n_panels, d, PANEL), _NAN)
    for i in range(n):
        for feature in range(d):
            panels[i // PANEL, feature, i % PANEL] = rows[i, feature]
    low = np.full((n_nodes, d), _INFINITY)
    high = np.full((n_nodes, d), -_INFINITY)
    for node in range(n_nodes - 1, -1, -1):
        if node >= first_leaf:
            for i in range(start[node] * PANEL, min(end[node] * PANEL, n)):
                for feature in range(d):
                    low[node, feature] = min(low[node, feature], rows[i, feature])
                    high[node, feature] = max(high[node, feature], rows[i, feature])
        else:
            left, right = 2 * node + 1, 2 * node + 2
            for feature in range(d):
                low[node, feature] = min(low[left, feature], low[right, feature])
                high[node, feature] = max(high[left, feature], high[right, feature])
    return KDTree(order, rows, panels, start, end, low, high)


@kernel
def _widest_feature(rows: F32) -> int:
    step = max(1, len(rows) // SPREAD_SAMPLE)
    widest, width = 0, np.float32(-1.0)
    for feature in range(rows.shape[1]):
        smallest = largest = rows[0, feature]
        for i in range(0, len(rows), step):
            value = rows[i, feature]
            smallest, largest = min(smallest, value), max(largest, value)
        if largest - smallest > width:
            widest, width = feature, largest - smallest
    return widest


@kernel
def _select(key: F32, order: I64, rows: F32, k: int) -> None:
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
def box_distance(low: F32, high: F32, tree: KDTree, node: int) -> np.float32:
    """Return the squared distance of a box to that of a node, 0 if they overlap.

    The node's row is looked up here because a slice would cost more than the sum.
    """
    total = np.float32(0.0)
    for feature in range(low.shape[0]):
        gap = max(
            low[feature] - tree.high[node, feature],
            tree.low[node, feature] - high[feature],
        )
        gap = max(gap, np.float32(0.0))
        total += gap * gap
    return total
