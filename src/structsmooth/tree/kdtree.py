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
from structsmooth.support.vectors import aligned
from structsmooth.tree.exact import I64, Floats
from structsmooth.tree.simd import PANEL

# A node's widest coordinate is judged by at most this many of its points.
SPREAD_SAMPLE = 64
# So few keys are sorted one by one.
FEW_KEYS = 8


class KDTree(NamedTuple):
    """Points in the order of the leaves; a place without a point holds NaN."""

    order: I64  # (n,): which input row is at each place
    rows: Floats  # (16 p, d): the points in order, one after the other
    panels: Floats  # (p, d, 16): the same sixteen at a time, feature by feature
    start: I64  # (nodes,): the first panel of each node
    end: I64  # and the one after its last
    low: Floats  # (nodes, d): the box around the points of each node
    high: Floats


def build_kdtree(points: Floats, leaf_panels: int) -> KDTree:
    """Return the tree of the points, with at most ``leaf_panels`` in a leaf."""
    n, d = points.shape
    n_panels = (n + PANEL - 1) // PANEL
    depth = 0
    while (n_panels + (1 << depth) - 1) >> depth > leaf_panels:
        depth += 1
    n_nodes = (1 << (depth + 1)) - 1
    tree = KDTree(
        order=np.arange(n),
        rows=np.full((n_panels * PANEL, d), np.nan, points.dtype),
        panels=aligned((n_panels, d, PANEL), points.dtype, np.nan),
        start=np.zeros(n_nodes, np.int64),
        end=np.zeros(n_nodes, np.int64),
        low=np.full((n_nodes, d), np.inf, points.dtype),
        high=np.full((n_nodes, d), -np.inf, points.dtype),
    )
    tree.end[0] = n_panels
    keys = np.empty((2, n), points.dtype)
    _arrange(tree, points, keys, np.empty(n, np.int64))
    return tree


@kernel
def _arrange(tree: KDTree, points: Floats, keys: Floats, others: I64) -> None:
    """Sort the points into the leaves, and set the boxes; the rest is for working."""
    order, rows, panels, start, end, low, high = tree
    n, d = points.shape
    n_nodes = len(start)
    first_leaf = n_nodes // 2
    key, other_keys = keys[0], keys[1]
    for node in range(first_leaf):
        middle = (start[node] + end[node] + 1) >> 1
        start[2 * node + 1], end[2 * node + 1] = start[node], middle
        start[2 * node + 2], end[2 * node + 2] = middle, end[node]
        begin, stop = start[node] * PANEL, min(end[node] * PANEL, n)
        if middle * PANEL < stop:
            feature = _widest_feature(points, order[begin:stop])
            for i in range(begin, stop):
                key[i] = points[order[i], feature]
            _select(key, order, begin, stop, middle * PANEL, other_keys, others)
    for i in range(n):
        for feature in range(d):
            value = points[order[i], feature]
            rows[i, feature] = value
            panels[i // PANEL, feature, i % PANEL] = value
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


@kernel
def leaf_of(tree: KDTree, panel: int) -> int:
    """Return the leaf that holds a panel."""
    node = 0
    while node < len(tree.start) // 2:
        node = 2 * node + (1 if panel < tree.end[2 * node + 1] else 2)
    return node


@kernel
def widest_leaf(tree: KDTree) -> int:
    """Return the number of panels of the leaf that has most of them."""
    widest = 0
    for leaf in range(len(tree.start) // 2, len(tree.start)):
        widest = max(widest, tree.end[leaf] - tree.start[leaf])
    return widest


@kernel
def _widest_feature(points: Floats, some: I64) -> int:
    step = max(1, len(some) // SPREAD_SAMPLE)
    widest, width = 0, points.dtype.type(-1.0)
    for feature in range(points.shape[1]):
        smallest = largest = points[some[0], feature]
        for i in range(0, len(some), step):
            value = points[some[i], feature]
            smallest, largest = min(smallest, value), max(largest, value)
        if largest - smallest > width:
            widest, width = feature, largest - smallest
    return widest


@kernel
def _select(
    key: Floats,
    order: I64,
    low: int,
    stop: int,
    k: int,
    other_keys: Floats,
    others: I64,
) -> None:
    """Sort so far that the smallest keys come before place k, and their order alike.

    Which side a key belongs to is a coin toss, which a processor cannot predict. So
    each is written to both sides, and counted on one.
    """
    while stop - low > FEW_KEYS:
        # The median of three medians of three.
        step = (stop - low) // FEW_KEYS
        pivot = _median(
            _median(key[low], key[low + step], key[low + 2 * step]),
            _median(key[low + 3 * step], key[low + 4 * step], key[low + 5 * step]),
            _median(key[low + 6 * step], key[low + 7 * step], key[stop - 1]),
        )
        n_less, n_others = 0, 0
        for i in range(low, stop):
            value, number = key[i], order[i]
            key[low + n_less], order[low + n_less] = value, number
            other_keys[n_others], others[n_others] = value, number
            is_less = value < pivot
            n_less += is_less
            n_others += not is_less
        middle = low + n_less
        for i in range(n_others):
            key[middle + i], order[middle + i] = other_keys[i], others[i]
        if n_less == 0:  # the pivot is the smallest: those equal to it come first
            for i in range(low, stop):
                if key[i] == pivot:
                    key[i], key[middle] = key[middle], key[i]
                    order[i], order[middle] = order[middle], order[i]
                    middle += 1
            if k < middle:
                return
        if k < middle:
            stop = middle
        else:
            low = middle
    for i in range(low + 1, stop):
        value, number, at = key[i], order[i], i
        while at > low and key[at - 1] > value:
            key[at], order[at] = key[at - 1], order[at - 1]
            at -= 1
        key[at], order[at] = value, number


@kernel
def _median(one: Any, two: Any, three: Any) -> Any:
    return max(min(one, two), min(max(one, two), three))


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
