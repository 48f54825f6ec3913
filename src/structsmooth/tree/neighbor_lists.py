"""The k nearest neighbors of every point, found in float32 over pairs of leaves.

Each pair of leaves is compared once, for the lists of both sides. A pair is left out
when the distance of the two boxes exceeds every limit of the lists on either side. In
the end the lists get exact distances, and a bound on everything that is not in them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import lowest_bit
from structsmooth.tree.exact import F64, I32, I64, Floats, squared_distance
from structsmooth.tree.kdtree import (
    KDTree,
    box_distance,
    build_kdtree,
    widest_leaf,
)
from structsmooth.tree.prim import last_up_to, min_of
from structsmooth.tree.rounding import ErrorBound, no_rounding, round_points
from structsmooth.tree.simd import (
    PANEL,
    ROWS,
    near_box,
    tile_below,
)

# Panels of sixteen in a leaf: features up to, panels.
LEAF_PANELS = ((8, 2), (np.inf, 4))
# A rotation pays from this many features, and this many rows for each of them.
ROTATE_FEATURES, ROTATE_ROWS = 4, 8
# The bits of the rows of a tile, and of the points of a panel.
A_TILE, A_PANEL = np.uint64(2**ROWS - 1), np.uint64(2**PANEL - 1)
# Depth of a stack that can hold two nodes of each level.
STACK = 128


class Lists(NamedTuple):
    """The nearest points of each place in the tree's numbers, nearest first."""

    squared: Floats  # (places, k): squared distances, infinite where there is none
    place: I32  # (places, k): where the neighbors are, -1 where there is none
    limit: Floats  # (places,): the last squared distance; a newcomer must be below it


class ListedPoints(NamedTuple):
    """The points by place in the k-d tree, and their nearest neighbors."""

    X: NDArray[Any]  # (n, d)
    source: I64  # (n,): which row of the input is at each place; ties need it
    tree: KDTree  # of the float32 copy, or of the data themselves
    place: I32  # (places, k): the neighbors by the order of edges, -1 for none
    squared: F64  # (n, k): their exact squared distances
    beyond: F64  # (n,): no point outside the list has a smaller squared distance
    error: ErrorBound  # of distances in the tree


def list_neighbors(
    X: NDArray[Any], k: int, n_threads: int, exactly: bool = False
) -> ListedPoints:
    """Return the points with lists of their k nearest neighbors.

    They are found in a float32 copy, or exactly: in the data themselves, which takes
    longer, for data whose distances the copy cannot tell apart.
    """
    n, d = X.shape
    points: Floats
    if exactly:
        points, error = X.astype(np.float64), no_rounding(n, d)
    else:
        rotate = d >= ROTATE_FEATURES and n >= ROTATE_ROWS * d
        points, error = round_points(X, rotate)
    leaf_panels = next(panels for features, panels in LEAF_PANELS if d <= features)
    tree = build_kdtree(points, leaf_panels)
    lists = _nearest_lists(tree, k, n_threads, one_by_one=exactly)
    source = tree.order
    listed = ListedPoints(
        X=X[source],
        source=source,
        tree=tree,
        place=lists.place,
        squared=np.full((n, k), np.inf),
        beyond=np.empty(n),
        error=error._replace(slack=error.slack[source]),
    )
    cuts = [n * number // n_threads for number in range(n_threads + 1)]
    in_threads(
        n_threads,
        lambda number: _refine(listed, lists.limit, cuts[number], cuts[number + 1]),
    )
    return listed


def _nearest_lists(tree: KDTree, k: int, n_threads: int, one_by_one: bool) -> Lists:
    lists = _empty_lists(tree.rows, len(tree.order), k)
    # As integers, because numbers of at least 0 are in the order of their bits.
    kind = tree.rows.dtype
    as_bits = np.int32 if kind.itemsize == 4 else np.int64
    infinity = np.array([np.inf], kind).view(as_bits)[0]
    most = 2 * widest_leaf(tree) * PANEL

    def search_siblings(number: int) -> None:
        out, distances = np.empty(ROWS * PANEL, kind), np.empty((ROWS, most), kind)
        bits = out.view(as_bits), distances.view(as_bits)
        _search_siblings(tree, lists, infinity, number, n_threads, out, distances, bits)

    in_threads(n_threads, search_siblings)
    if one_by_one:
        in_threads(
            n_threads, lambda number: _search_alone(tree, lists, number, n_threads)
        )
        return lists
    node_limit = _node_limits(tree, lists)
    # Each thread fills lists of its own; which one finds a neighbor does not matter.
    copies = [lists] + [copy.deepcopy(lists) for _ in range(n_threads - 1)]
    in_threads(
        n_threads,
        lambda number: search_pairs(
            tree, copies[number], node_limit, number, n_threads
        ),
    )
    for other in copies[1:]:
        _merge_lists(lists, other)
    return lists


def in_threads(n_threads: int, part: Callable[[int], None]) -> None:
    """Do parts 0 to n_threads - 1 of some work, each in a thread of its own."""
    if n_threads == 1:
        part(0)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(part, range(n_threads)):
            pass


def _empty_lists(rows: Floats, n: int, k: int) -> Lists:
    n_places = len(rows)
    squared = np.full((n_places, k), np.inf, rows.dtype)
    place = np.full((n_places, k), -1, np.int32)
    limit = np.full(n_places, np.inf, rows.dtype)
    limit[n:] = -np.inf  # places without a point take nothing
    return Lists(squared, place, limit)


@kernel
def _insert(lists: Lists, at: int, neighbor: int, squared: Any) -> None:
    k = lists.squared.shape[1]
    slot = k - 1
    while slot > 0 and lists.squared[at, slot - 1] > squared:
        lists.squared[at, slot] = lists.squared[at, slot - 1]
        lists.place[at, slot] = lists.place[at, slot - 1]
        slot -= 1
    lists.squared[at, slot] = squared
    lists.place[at, slot] = neighbor
    lists.limit[at] = lists.squared[at, k - 1]


@kernel
def _compare_leaves(
    tree: KDTree, lists: Lists, a: int, b: int, near: Any, near_b: Any, out: Floats
) -> bool:
    """Enter the pairs of two leaves into their lists; return whether any changed.

    Only pairs with a point that is near the other leaf: ``near`` are the bits of those
    in leaf a, ``near_b`` of those in leaf b.
    """
    limit = lists.limit
    changed = False
    first = tree.start[a] * PANEL
    for panel in range(tree.start[b], tree.end[b]):
        start = panel * PANEL
        columns = (near_b >> np.uint64(start - tree.start[b] * PANEL)) & A_PANEL
        for row in range(first, tree.end[a] * PANEL, ROWS):
            if columns == 0 and (near >> np.uint64(row - first)) & A_TILE == 0:
                continue
            mask = tile_below(
                tree.rows, row, tree.panels, panel, limit, limit, start, out
            )
            while mask != 0:
                bit = lowest_bit(mask)
                mask &= mask - np.uint64(1)
                i, j = row + bit // PANEL, start + bit % PANEL
                changed = True
                if out[bit] < limit[i]:
                    _insert(lists, i, j, out[bit])
                if out[bit] < limit[j]:
                    _insert(lists, j, i, out[bit])
    return changed


@kernel
def _leaf_limit(tree: KDTree, lists: Lists, leaf: int) -> Any:
    largest = lists.limit.dtype.type(-np.inf)
    for i in range(tree.start[leaf] * PANEL, tree.end[leaf] * PANEL):
        largest = max(largest, lists.limit[i])
    return largest


@kernel
def _search_siblings(
    tree: KDTree,
    lists: Lists,
    infinity: Any,
    first: int,
    step: int,
    out: Floats,
    distances: Floats,
    bits: Any,
) -> None:
    """Fill the lists from each point's own leaf and its sibling, for initial limits.

    Only pairs of siblings number first, first + step, ...: no two share a list.
    Inserting neighbors one by one into empty lists would take a third of the whole
    time, because the processor mispredicts nearly every step. Instead vector loops find
    the k smallest of all distances of a point, by their bits, which are integers.
    ``infinity`` is those of infinity, ``bits`` those of ``out`` and ``distances``, in
    the same memory.
    """
    n = len(tree.order)
    n_nodes = len(tree.start)
    first_leaf = n_nodes // 2
    out_bits, of_distances = bits
    for leaf in range(first_leaf + 2 * first, n_nodes, 2 * step):
        # Siblings follow each other, unless there is only one leaf.
        begin, stop = tree.start[leaf], tree.end[min(leaf + 1, n_nodes - 1)]
        width = min(stop * PANEL, n) - begin * PANEL  # only places with a point
        for row in range(begin * PANEL, min(stop * PANEL, n), ROWS):
            for panel in range(begin, stop):
                # The list of this row is empty, so that every distance is below.
                limit, start = lists.limit, panel * PANEL
                tile_below(tree.rows, row, tree.panels, panel, limit, limit, start, out)
                for r in range(ROWS):
                    for j in range(PANEL):
                        at = start - begin * PANEL + j
                        of_distances[r, at] = out_bits[r * PANEL + j]
            for i in range(row, min(row + ROWS, n)):
                of_distances[i - row, i - begin * PANEL] = infinity
                _take_smallest(
                    of_distances[i - row, :width],
                    distances[i - row],
                    begin * PANEL,
                    lists,
                    i,
                    infinity,
                )


@kernel
def _take_smallest(
    bits: Any, values: Floats, start: int, lists: Lists, at: int, infinity: Any
) -> None:
    """Make a list of the smallest values, by their bits, which are overwritten."""
    k = lists.squared.shape[1]
    for slot in range(k):
        smallest = min_of(bits)
        if smallest >= infinity:
            break
        where, _ = last_up_to(bits, smallest)
        lists.squared[at, slot] = values[where]
        lists.place[at, slot] = start + where
        bits[where] = infinity
    lists.limit[at] = lists.squared[at, k - 1]


@kernel
def _node_limits(tree: KDTree, lists: Lists) -> Floats:
    """Return for each node the largest limit of its points."""
    first_leaf = len(tree.start) // 2
    limit = np.empty(len(tree.start), lists.limit.dtype)
    for node in range(len(tree.start) - 1, -1, -1):
        if node >= first_leaf:
            limit[node] = _leaf_limit(tree, lists, node)
        else:
            limit[node] = max(limit[2 * node + 1], limit[2 * node + 2])
    return limit


@kernel
def search_pairs(
    tree: KDTree,
    lists: Lists,
    node_limit: Floats,
    first: int,
    step: int,
) -> None:
    """Compare all pairs of leaves whose first is number first, first + step, ...

    The limits of leaves are kept up to date. Those of inner nodes are the initial ones,
    which is safe because limits only fall. That the distance of two boxes is rounded is
    allowed for in the bound on what is not in a list.
    """
    n_nodes = len(tree.start)
    first_leaf = n_nodes // 2
    out = np.empty(ROWS * PANEL, tree.rows.dtype)
    limit = np.empty(n_nodes, node_limit.dtype)
    last_leaf = np.empty(n_nodes, np.int64)
    for node in range(n_nodes - 1, -1, -1):
        limit[node] = node_limit[node]
        last_leaf[node] = node if node >= first_leaf else last_leaf[2 * node + 2]
    stack = np.empty(STACK, np.int64)
    for leaf in range(first_leaf + first, n_nodes, step):
        low, high = tree.low[leaf], tree.high[leaf]
        sibling = ((leaf - 1) ^ 1) + 1
        stack[0] = 0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if last_leaf[node] <= leaf or node == sibling:
                continue
            gap = box_distance(low, high, tree.low, tree.high, node)
            if gap >= max(limit[leaf], limit[node]):
                continue
            if node < first_leaf:
                stack[depth] = 2 * node + 2
                stack[depth + 1] = 2 * node + 1
                depth += 2
                continue
            # Few points are near the other leaf where limits differ much.
            near = near_node = np.uint64(0)
            if gap < limit[leaf]:
                near = near_box(
                    tree.panels,
                    tree.start[leaf],
                    tree.end[leaf],
                    tree.low,
                    tree.high,
                    node,
                    lists.limit,
                )
            if gap < limit[node]:
                near_node = near_box(
                    tree.panels,
                    tree.start[node],
                    tree.end[node],
                    tree.low,
                    tree.high,
                    leaf,
                    lists.limit,
                )
            if (near | near_node) != 0 and _compare_leaves(
                tree, lists, leaf, node, near, near_node, out
            ):
                limit[leaf] = _leaf_limit(tree, lists, leaf)
                limit[node] = _leaf_limit(tree, lists, node)


@kernel
def _search_alone(tree: KDTree, lists: Lists, first: int, step: int) -> None:
    """Search for the points of each leaf number first, first + step, ... alone.

    A leaf whose points have neighbors at very different distances would be compared
    with everything near any of them if its largest limit decided. So a node is left
    out unless some point is nearer to its box than that point's own limit.
    """
    n = len(tree.order)
    n_nodes = len(tree.start)
    first_leaf = n_nodes // 2
    out = np.empty(ROWS * PANEL, tree.rows.dtype)
    no_limit = np.empty(PANEL, tree.rows.dtype)
    for i in range(PANEL):
        no_limit[i] = -np.inf
    stack = np.empty(STACK, np.int64)
    for leaf in range(first_leaf + first, n_nodes, step):
        sibling = ((leaf - 1) ^ 1) + 1
        first_panel, end = tree.start[leaf], tree.end[leaf]
        begin, stop = first_panel * PANEL, min(end * PANEL, n)
        stack[0] = 0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if node in (leaf, sibling):
                continue
            near = near_box(
                tree.panels, first_panel, end, tree.low, tree.high, node, lists.limit
            )
            if near == 0:
                continue
            if node < first_leaf:
                stack[depth] = 2 * node + 2
                stack[depth + 1] = 2 * node + 1
                depth += 2
                continue
            for panel in range(tree.start[node], tree.end[node]):
                for row in range(begin, stop, ROWS):
                    mask = tile_below(
                        tree.rows,
                        row,
                        tree.panels,
                        panel,
                        lists.limit,
                        no_limit,
                        0,
                        out,
                    )
                    while mask != 0:
                        bit = lowest_bit(mask)
                        mask &= mask - np.uint64(1)
                        i, j = row + bit // PANEL, panel * PANEL + bit % PANEL
                        if out[bit] < lists.limit[i]:
                            _insert(lists, i, j, out[bit])


@kernel
def _merge_lists(lists: Lists, others: Lists) -> None:
    """Enter the neighbors of the other lists that are not there yet."""
    k = lists.squared.shape[1]
    for i in range(lists.squared.shape[0]):
        for slot in range(k):
            squared, neighbor = others.squared[i, slot], others.place[i, slot]
            if neighbor < 0 or squared >= lists.limit[i]:
                break
            known = False
            for other in range(k):
                known |= lists.place[i, other] == neighbor
            if not known:
                _insert(lists, i, neighbor, squared)


@kernel
def _refine(points: ListedPoints, limit: Floats, begin: int, stop: int) -> None:
    """Sort the lists of some places by exact distances, and bound what is beyond."""
    X, source, error = points.X, points.source, points.error
    place, squared = points.place, points.squared
    certain = 1.0 - error.relative
    for i in range(begin, stop):
        reach = np.sqrt(np.float64(limit[i]) * certain) * certain - error.slack[i]
        points.beyond[i] = (max(reach, 0.0) / error.scale) ** 2 * (1.0 - 1e-12)
        for slot in range(squared.shape[1]):
            neighbor = place[i, slot]
            if neighbor < 0:
                break
            value = squared_distance(X, i, neighbor)
            to = slot
            # Edges that share a point compare by their other ends if equally long.
            while to > 0 and (
                value < squared[i, to - 1]
                or (
                    value == squared[i, to - 1]
                    and source[neighbor] < source[place[i, to - 1]]
                )
            ):
                squared[i, to] = squared[i, to - 1]
                place[i, to] = place[i, to - 1]
                to -= 1
            squared[i, to] = value
            place[i, to] = neighbor
