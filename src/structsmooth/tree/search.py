"""Searching the tree of boxes for what the lists do not hold.

Each component needs its shortest edge to another one. The points that are in doubt,
because something outside their lists could be shorter than the best edge known, look
for it leaf by leaf, the nearest boxes first, and skip what is in their own component.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.components import Problem, Shortest, offer
from structsmooth.tree.exact import squared_distance
from structsmooth.tree.lists import STACK, in_threads
from structsmooth.tree.panels import Layout, box_distance
from structsmooth.tree.tiles import PANEL, ROWS, lowest_bit, tile_below

_INFINITY = np.float32(np.inf)


def search(
    problem: Problem,
    component: NDArray[np.int32],
    following: NDArray[np.int8],
    spared: int,
    shortest: Shortest,
    n_threads: int,
) -> None:
    """Make the shortest edges of all components but the spared one certain."""
    only = _only_component(problem.layout, component)
    copies = [shortest] + [
        Shortest(shortest.squared.copy(), shortest.start.copy(), shortest.end.copy())
        for _ in range(n_threads - 1)
    ]
    in_threads(
        n_threads,
        lambda number: _search_leaves(
            problem,
            component,
            following,
            spared,
            only,
            copies[number],
            number,
            n_threads,
        ),
    )
    for copy in copies[1:]:
        _take_better(problem.source, copy, int(component.max()) + 1, shortest)


@kernel
def _take_better(
    source: NDArray[np.int64], others: Shortest, n_components: int, shortest: Shortest
) -> None:
    for c in range(n_components):
        if others.squared[c] <= shortest.squared[c] and others.squared[c] != np.inf:
            offer(
                source, c, others.start[c], others.end[c], others.squared[c], shortest
            )


@kernel
def _only_component(layout: Layout, component: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for each node the component of all its points, -1 if they differ."""
    n, n_nodes = len(component), len(layout.start)
    first_leaf = n_nodes // 2
    only = np.empty(n_nodes, np.int32)
    for node in range(n_nodes - 1, -1, -1):
        if node < first_leaf:
            left, right = only[2 * node + 1], only[2 * node + 2]
            only[node] = left if left == right else -1
            continue
        begin, stop = layout.start[node] * PANEL, min(layout.end[node] * PANEL, n)
        only[node] = component[min(begin, n - 1)]
        for i in range(begin, stop):
            if component[i] != only[node]:
                only[node] = -1
                break
    return only


@kernel
def _search_leaves(
    problem: Problem,
    component: NDArray[np.int32],
    following: NDArray[np.int8],
    spared: int,
    only: NDArray[np.int32],
    shortest: Shortest,
    first: int,
    step: int,
) -> None:
    """Search for the points in doubt of the leaves number first, first + step, ..."""
    layout = problem.layout
    n, d = len(component), layout.rows.shape[1]
    k = problem.squared.shape[1]
    n_nodes = len(layout.start)
    first_leaf = n_nodes // 2
    widest = 0
    for leaf in range(first_leaf, n_nodes):
        widest = max(widest, layout.end[leaf] - layout.start[leaf])
    query = np.zeros((widest * PANEL, d), np.float32)
    limit = np.empty(widest * PANEL, np.float32)
    asking = np.empty(widest * PANEL, np.int64)
    low = np.empty(d, np.float32)
    high = np.empty(d, np.float32)
    nothing = np.full(PANEL, -_INFINITY)
    out = np.empty(ROWS * PANEL, np.float32)
    stack = np.empty(STACK, np.int64)
    gap_of = np.empty(STACK, np.float32)
    safety = np.float32(1.0 - problem.relative)
    lows, highs = layout.low, layout.high

    for leaf in range(first_leaf + first, n_nodes, step):
        if only[leaf] == spared:
            continue
        # The points of this leaf that are in doubt, and the box around them.
        count = 0
        shared = -2  # their component, if it is the same for all
        low[:] = _INFINITY
        high[:] = -_INFINITY
        for i in range(layout.start[leaf] * PANEL, min(layout.end[leaf] * PANEL, n)):
            own = component[i]
            if own == spared or problem.beyond[i] > shortest.squared[own]:
                continue
            slot = following[i]
            if slot < k and (
                problem.lists.place[i, slot] >= 0
                and problem.squared[i, slot] < problem.beyond[i]
            ):
                continue  # its list knows its shortest way out
            shared = own if count == 0 or shared == own else -2
            asking[count] = i
            for feature in range(d):
                value = layout.rows[i, feature]
                query[count, feature] = value
                low[feature] = min(low[feature], value)
                high[feature] = max(high[feature], value)
            count += 1
        if count == 0:
            continue
        n_rows = (count + ROWS - 1) // ROWS * ROWS
        largest = _set_limits(
            problem, component, shortest, asking, count, n_rows, limit
        )
        stack[0] = 0
        gap_of[0] = np.float32(0.0)
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if gap_of[depth] * safety > largest or only[node] == shared:
                continue
            if node < first_leaf:
                # The nearer child is looked at first.
                near, far = 2 * node + 1, 2 * node + 2
                near_gap = box_distance(low, high, lows, highs, near)
                far_gap = box_distance(low, high, lows, highs, far)
                if far_gap < near_gap:
                    near, far = far, near
                    near_gap, far_gap = far_gap, near_gap
                stack[depth], gap_of[depth] = far, far_gap
                stack[depth + 1], gap_of[depth + 1] = near, near_gap
                depth += 2
                continue
            improved = False
            for panel in range(layout.start[node], layout.end[node]):
                for row in range(0, n_rows, ROWS):
                    mask = tile_below(
                        np.int64(query.ctypes.data) + 4 * d * row,
                        np.int64(layout.panels.ctypes.data) + 4 * d * PANEL * panel,
                        d,
                        np.int64(limit.ctypes.data) + 4 * row,
                        np.int64(nothing.ctypes.data),
                        np.int64(out.ctypes.data),
                    )
                    while mask != 0:
                        bit = lowest_bit(mask)
                        mask &= mask - np.uint64(1)
                        i, j = asking[row + bit // PANEL], panel * PANEL + bit % PANEL
                        own = component[i]
                        if component[j] != own:
                            value = squared_distance(problem.X, i, j)
                            if value <= shortest.squared[own]:
                                improved |= offer(
                                    problem.source, own, i, j, value, shortest
                                )
            if improved:
                largest = _set_limits(
                    problem, component, shortest, asking, count, n_rows, limit
                )


@kernel
def _set_limits(
    problem: Problem,
    component: NDArray[np.int32],
    shortest: Shortest,
    asking: NDArray[np.int64],
    count: int,
    n_rows: int,
    limit: NDArray[np.float32],
) -> np.float32:
    """Set what a squared distance in the shadow must be below to be worth a look.

    Whatever is as short as the best edge, or shorter, is below. Returns the largest.
    """
    largest = -_INFINITY
    certain = 1.0 - problem.relative
    for row in range(count):
        i = asking[row]
        reach = np.sqrt(shortest.squared[component[i]]) * problem.scale
        reach = (reach + problem.slack[i]) / certain
        limit[row] = np.float32(reach * reach / certain * 1.000001)
        largest = max(largest, limit[row])
    limit[count:n_rows] = -_INFINITY
    return largest
