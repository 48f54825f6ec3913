"""A k-d tree of panels of sixteen points, and boxes around sixteen of them at a time.

The points are split at a middle of the widest coordinate until a panel is left. Sixteen
panels, one after the other, make a node of the next level, sixteen of these one of the
level above, and all splits keep to that. The boxes of sixteen nodes are side by side, a
block, so that all of them are compared with something at once.

The arrays of a tree are made outside of kernels, and filled by plain loops: numba takes
up to a second to compile what NumPy has for either, again for each type and number of
axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import aligned, lowest_bit
from structsmooth.tree.exact import I32, I64, Floats
from structsmooth.tree.simd import PANEL, boxes_near, others_than

# A node's widest coordinate is judged by at most this many of its points.
SPREAD_SAMPLE = 64
# So few keys are sorted one by one.
FEW_KEYS = 8
# Nodes that make one of the next level, the boxes of which are a block.
BLOCK = 16


class KDTree(NamedTuple):
    """Points in the order of the panels; a place without a point holds NaN.

    The node number j of a level has the box ``j % 16`` of block ``first[level] + j //
    16``, and the boxes of the nodes that it is made of are block ``first[level - 1] +
    j``. The nodes of level 0 are the panels.
    """

    order: I64  # (n,): which input row is at each place
    rows: Floats  # (16 p, d): the points in order, one after the other
    panels: Floats  # (p, d, 16): the same sixteen at a time, feature by feature
    first: I64  # (levels,): the first block of each level
    low: Floats  # (blocks, d, 16): the boxes; one without a point begins at infinity
    high: Floats  # and ends at minus infinity


class Walk(NamedTuple):
    """What `next_panel` has still to visit, and the box that it visits panels for."""

    low: Floats  # (d,)
    high: Floats
    masks: I64  # (levels,): which nodes of a block are left, bit by bit,
    nodes: I64  # and the first of them
    at: I64  # (3,): the level, the highest one so far, and the panel of the start


def build_kdtree(points: Floats, n_features: int) -> KDTree:
    """Return the tree of the points, split by some of the first features."""
    n, d = points.shape
    n_panels = -(-n // PANEL)
    n_blocks, first = 0, [0]
    n_nodes = n_panels
    while True:
        n_nodes = -(-n_nodes // BLOCK)
        n_blocks += n_nodes
        if n_nodes == 1:
            break
        first.append(n_blocks)
    kind = points.dtype
    tree = KDTree(
        order=np.arange(n),
        rows=np.full((n_panels * PANEL, d), np.nan, kind),
        panels=aligned((n_panels, d, PANEL), kind, np.nan),
        first=np.array(first),
        low=aligned((n_blocks, d, BLOCK), kind, np.inf),
        high=aligned((n_blocks, d, BLOCK), kind, -np.inf),
    )
    keys, numbers = np.empty((2, n), kind), np.empty((2, n), np.int64)
    _arrange(tree, points, n_features, keys, numbers)
    return tree


def walk_for(tree: KDTree) -> Walk:
    """Return memory for a walk."""
    d, n_levels = tree.rows.shape[1], len(tree.first)
    return Walk(
        low=np.empty(d, tree.rows.dtype),
        high=np.empty(d, tree.rows.dtype),
        masks=np.empty(n_levels, np.int64),
        nodes=np.empty(n_levels, np.int64),
        at=np.empty(3, np.int64),
    )


@kernel
def _arrange(
    tree: KDTree, points: Floats, n_features: int, keys: Floats, numbers: I64
) -> None:
    """Sort the points into the panels, and set the boxes; the rest is for working."""
    order, rows, panels, first, low, high = tree
    n, d = points.shape
    key, other_keys = keys[0], keys[1]
    stack, others = numbers[0], numbers[1]
    stack[0] = 0
    ends = np.empty(64, np.int64)
    ends[0] = panels.shape[0]
    depth = 1
    while depth > 0:
        start, end = stack[depth - 1], ends[depth - 1]
        if end - start == 1:
            depth -= 1
            continue
        # About the middle, where a node of the largest level ends that fits in twice.
        unit = 1
        while unit * BLOCK < end - start:
            unit *= BLOCK
        middle = start + unit * ((end - start + 2 * unit - 1) // (2 * unit))
        begin, stop = start * PANEL, min(end * PANEL, n)
        feature = _widest_feature(points, order[begin:stop], n_features)
        for i in range(begin, stop):
            key[i] = points[order[i], feature]
        _select(key, order, begin, stop, middle * PANEL, other_keys, others)
        stack[depth - 1] = middle
        stack[depth], ends[depth] = start, middle
        depth += 1
    for panel in range(panels.shape[0]):
        begin, count = panel * PANEL, min(PANEL, n - panel * PANEL)
        for i in range(begin, begin + count):
            for feature in range(d):
                rows[i, feature] = points[order[i], feature]
        block, at = divmod(panel, BLOCK)
        for feature in range(d):
            for lane in range(count):
                panels[panel, feature, lane] = rows[begin + lane, feature]
            least, most = _range(panels, panel, feature, count)
            low[block, feature, at], high[block, feature, at] = least, most
    for level in range(1, len(first)):
        for node in range(first[level] - first[level - 1]):
            child = first[level - 1] + node
            block, at = first[level] + node // BLOCK, node % BLOCK
            for feature in range(d):
                for lane in range(BLOCK):
                    low[block, feature, at] = min(
                        low[block, feature, at], low[child, feature, lane]
                    )
                    high[block, feature, at] = max(
                        high[block, feature, at], high[child, feature, lane]
                    )


@kernel
def start_walk(walk: Walk, panel: int) -> None:
    """Begin to visit panels, with one of them; the box is set by the caller."""
    walk.masks[0], walk.nodes[0] = 1, panel
    walk.at[0], walk.at[1], walk.at[2] = 0, -1, panel


@kernel
def next_panel(
    tree: KDTree, walk: Walk, limits: Floats, start: int, common: I32, own: int
) -> int:
    """Return the next panel whose box comes near that of the walk, -1 at the end.

    Its squared distance is below one of sixteen limits, which begin at ``start``. The
    panel of the start always comes first. From there upwards, the other nodes of each
    block are visited, without those that have their own number in common.
    """
    masks, nodes, at = walk.masks, walk.nodes, walk.at
    level, top = at[0], at[1]
    while masks[level] == 0 or level > 0:
        if masks[level] == 0 and level < top:
            level += 1
            continue
        left_out = np.uint64(0)
        if masks[level] == 0:
            top += 1
            if top == len(tree.first):
                return -1
            level = top
            number = at[2] >> (4 * top)
            left_out = np.uint64(1) << np.uint64(number % BLOCK)
            number //= BLOCK
        else:
            lane = lowest_bit(np.uint64(masks[level]))
            masks[level] &= masks[level] - 1
            number = nodes[level] + lane
            level -= 1
        block = tree.first[level] + number
        mask = boxes_near(
            tree.low, tree.high, block, walk.low, walk.high, limits, start
        )
        mask &= others_than(common, block, own) & ~left_out
        masks[level], nodes[level] = mask, number * BLOCK
    lane = lowest_bit(np.uint64(masks[0]))
    masks[0] &= masks[0] - 1
    at[0], at[1] = 0, top
    return nodes[0] + lane


# No number is a NaN, so that they can be compared in any order.
@kernel(fastmath={"nnan", "nsz"})
def _range(panels: Floats, panel: int, feature: int, count: int) -> tuple[Any, Any]:
    least = most = panels[panel, feature, 0]
    for lane in range(1, count):
        value = panels[panel, feature, lane]
        least = value if value < least else least
        most = value if value > most else most
    return least, most


@kernel
def _widest_feature(points: Floats, some: I64, n_features: int) -> int:
    step = max(1, len(some) // SPREAD_SAMPLE)
    widest, width = 0, points.dtype.type(-1.0)
    for feature in range(n_features):
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
