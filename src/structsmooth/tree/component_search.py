"""Searching the k-d tree for what the neighbor lists do not hold.

Each component needs its shortest edge to another one. The points that are in doubt,
because something outside their lists could be shorter than the best edge known, search
for it leaf by leaf, the nearest boxes first, and skip their own component.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import lowest_bit
from structsmooth.tree.exact import F64, I32, I64, Floats, precedes, squared_distance
from structsmooth.tree.kdtree import KDTree, box_distance, widest_leaf
from structsmooth.tree.neighbor_lists import A_TILE, STACK, ListedPoints, in_threads
from structsmooth.tree.simd import (
    PANEL,
    ROWS,
    near_box,
    tile_below,
)


class Shortest(NamedTuple):
    """Edges by place; of components, the shortest edge that leads out of each."""

    squared: F64
    start: I32
    end: I32


class Components(NamedTuple):
    """The components of the growing tree, by point or by component."""

    number: I32  # which component each point is in
    slot: NDArray[np.int8]  # first entry of each point's list that may lead out of it
    bound: F64  # smallest `beyond` of a component's points whose lists are used up
    doubt: F64  # smallest `beyond` in a component that could hide a shorter edge
    shortest: Shortest  # shortest known edge from each component to another one


@kernel
def offer(
    source: I64, shortest: Shortest, own: int, i: int, j: int, squared: float
) -> bool:
    """Let a component change to the edge of places i and j if that comes first."""
    if shortest.squared[own] != np.inf and not precedes(
        squared,
        source[i],
        source[j],
        shortest.squared[own],
        source[shortest.start[own]],
        source[shortest.end[own]],
    ):
        return False
    shortest.squared[own] = squared
    shortest.start[own] = i
    shortest.end[own] = j
    return True


def search_components(
    points: ListedPoints,
    components: Components,
    spared: int,
    n_threads: int,
    budget: int,
) -> int:
    """Make the shortest edges of all components but the spared one certain.

    Returns what is left of the budget, which is spent on exact distances. If that is
    nothing, the search has been given up.
    """
    common = _common_components(points.tree, components.number)
    shortest = components.shortest
    copies = [components] + [
        components._replace(shortest=copy.deepcopy(shortest))
        for _ in range(n_threads - 1)
    ]
    left = np.full(n_threads, budget // n_threads)

    def search(number: int) -> None:
        left[number] = _search_leaves(
            points, copies[number], common, spared, number, n_threads, left[number]
        )

    in_threads(n_threads, search)
    n_components = int(components.number.max()) + 1
    for other in copies[1:]:
        _take_better(points.source, other.shortest, shortest, n_components)
    return int(left.sum()) if left.min() > 0 else 0


@kernel
def _take_better(
    source: I64, found: Shortest, shortest: Shortest, n_components: int
) -> None:
    for c in range(n_components):
        if found.squared[c] <= shortest.squared[c] and found.squared[c] != np.inf:
            offer(source, shortest, c, found.start[c], found.end[c], found.squared[c])


@kernel
def _common_components(tree: KDTree, number: I32) -> I32:
    """Return for each node the component of all its points, -1 if they differ."""
    n, n_nodes = len(number), len(tree.start)
    first_leaf = n_nodes // 2
    common = np.empty(n_nodes, np.int32)
    for node in range(n_nodes - 1, -1, -1):
        if node < first_leaf:
            left, right = common[2 * node + 1], common[2 * node + 2]
            common[node] = left if left == right else -1
            continue
        begin, stop = tree.start[node] * PANEL, min(tree.end[node] * PANEL, n)
        common[node] = number[min(begin, n - 1)]
        for i in range(begin, stop):
            if number[i] != common[node]:
                common[node] = -1
                break
    return common


@kernel
def _search_leaves(
    points: ListedPoints,
    components: Components,
    common: I32,
    spared: int,
    first: int,
    step: int,
    budget: int,
) -> int:
    """Search for the points in doubt of the leaves number first, first + step, ...

    Gives up when the budget is spent; returns what is left of it.
    """
    tree, number, shortest = points.tree, components.number, components.shortest
    n, k = points.squared.shape
    d = tree.rows.shape[1]
    n_nodes = len(tree.start)
    first_leaf = n_nodes // 2
    widest = widest_leaf(tree)
    kind = tree.rows.dtype
    query = np.empty((widest * PANEL, d), kind)
    query_panels = np.empty((widest, d, PANEL), kind)
    limit = np.empty(widest * PANEL, kind)
    asking = np.empty(widest * PANEL, np.int64)
    low = np.empty(d, kind)
    high = np.empty(d, kind)
    no_limit = np.empty(PANEL, kind)  # only the limits of the queries count
    for i in range(PANEL):
        no_limit[i] = -np.inf
    for i in range(widest * PANEL):
        for feature in range(d):
            query[i, feature] = 0.0
    out = np.empty(ROWS * PANEL, kind)
    stack = np.empty(STACK, np.int64)
    gap_of = np.empty(STACK, kind)
    safety = kind.type(1.0 - points.error.relative)

    for leaf in range(first_leaf + first, n_nodes, step):
        if common[leaf] == spared:
            continue
        if budget <= 0:
            break
        # The points of this leaf that are in doubt, and the box around them.
        count = 0
        shared = -2  # their component, if it is the same for all
        for feature in range(d):
            low[feature] = np.inf
            high[feature] = -np.inf
        for i in range(tree.start[leaf] * PANEL, min(tree.end[leaf] * PANEL, n)):
            own, slot = number[i], components.slot[i]
            if own == spared or points.beyond[i] > shortest.squared[own]:
                continue
            if slot < k and (
                points.place[i, slot] >= 0
                and points.squared[i, slot] < points.beyond[i]
            ):
                continue  # the list holds the point's shortest way out
            shared = own if count == 0 or shared == own else -2
            asking[count] = i
            for feature in range(d):
                value = tree.rows[i, feature]
                query[count, feature] = value
                query_panels[count // PANEL, feature, count % PANEL] = value
                low[feature] = min(low[feature], value)
                high[feature] = max(high[feature], value)
            count += 1
        if count == 0:
            continue
        for i in range(len(limit)):
            limit[i] = -np.inf
        largest = _set_limits(points, components, asking[:count], limit)
        stack[0] = 0
        gap_of[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if gap_of[depth] * safety > largest or common[node] == shared:
                continue
            if node < first_leaf:
                # The nearer child comes first.
                near, far = 2 * node + 1, 2 * node + 2
                near_gap = box_distance(low, high, tree.low, tree.high, near)
                far_gap = box_distance(low, high, tree.low, tree.high, far)
                if far_gap < near_gap:
                    near, far = far, near
                    near_gap, far_gap = far_gap, near_gap
                stack[depth], gap_of[depth] = far, far_gap
                stack[depth + 1], gap_of[depth + 1] = near, near_gap
                depth += 2
                continue
            n_panels = (count + PANEL - 1) // PANEL
            near = near_box(query_panels, 0, n_panels, tree.low, tree.high, node, limit)
            if near == 0:
                continue
            improved = False
            for panel in range(tree.start[node], tree.end[node]):
                for row in range(0, count, ROWS):
                    if (near >> np.uint64(row)) & A_TILE == 0:
                        continue
                    mask = tile_below(
                        query, row, tree.panels, panel, limit, no_limit, 0, out
                    )
                    while mask != 0:
                        bit = lowest_bit(mask)
                        mask &= mask - np.uint64(1)
                        i, j = asking[row + bit // PANEL], panel * PANEL + bit % PANEL
                        own = number[i]
                        if number[j] != own:
                            budget -= 1
                            value = squared_distance(points.X, i, j)
                            if value <= shortest.squared[own]:
                                improved |= offer(
                                    points.source, shortest, own, i, j, value
                                )
            if improved:
                largest = _set_limits(points, components, asking[:count], limit)
    return budget


@kernel
def _set_limits(
    points: ListedPoints, components: Components, asking: I64, limit: Floats
) -> Any:
    """Set what a squared distance in the tree must be below to be worth an exact one.

    Whatever is as short as the best edge, or shorter, is below. Returns the largest.
    """
    largest = limit.dtype.type(-np.inf)
    error = points.error
    certain = 1.0 - error.relative
    for row in range(len(asking)):
        i = asking[row]
        reach = np.sqrt(components.shortest.squared[components.number[i]])
        reach = (reach * error.scale + error.slack[i]) / certain
        limit[row] = reach * reach / certain * 1.000001
        largest = max(largest, limit[row])
    return largest
