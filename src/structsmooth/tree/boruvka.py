"""Boruvka's algorithm on lists of neighbors: exact, because it knows what it knows.

In each round every component takes its shortest edge to another one. A component's
candidates come from the lists of its points. One is certain if it is shorter than
`beyond`, the bound on everything not in the list, of each of its points whose list has
nothing better to offer. When hardly any is certain, the uncertain points search the
tree of boxes themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.kernels import kernel
from structsmooth.tree.exact import precedes, root_of, squared_distance
from structsmooth.tree.lists import STACK, Lists
from structsmooth.tree.panels import Layout, box_distance
from structsmooth.tree.tiles import PANEL, ROWS, lowest_bit, tile_below

_INFINITY = np.float32(np.inf)
# Search when fewer than one in this many components is certain of its edge.
FEW_CERTAIN = 20


@kernel
def boruvka(
    X: NDArray[Any],
    source: NDArray[np.int64],
    layout: Layout,
    lists: Lists,
    squared: NDArray[np.float64],
    beyond: NDArray[np.float64],
    slack: NDArray[np.float64],
    scale: float,
    relative: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the ends (as places) and squared lengths of the tree's edges."""
    n, k = squared.shape
    parent = np.arange(n)
    component = np.arange(n)
    n_components = n
    following = np.zeros(n, np.int64)  # the first list entry that may lead outside
    best = np.empty(n)  # of each component: squared length and ends of its edge
    best_from = np.empty(n, np.int64)
    best_to = np.empty(n, np.int64)
    doubt = np.empty(n)  # and the smallest bound that could hide a shorter one
    left = np.empty(n - 1, np.int64)
    right = np.empty(n - 1, np.int64)
    lengths = np.empty(n - 1)
    n_edges = 0
    while n_components > 1:
        best[:n_components] = np.inf
        doubt[:n_components] = np.inf
        for i in range(n):
            own = component[i]
            slot = following[i]
            while slot < k and (
                lists.place[i, slot] >= 0 and component[lists.place[i, slot]] == own
            ):
                slot += 1
            following[i] = slot
            has_entry = slot < k and lists.place[i, slot] >= 0
            if has_entry and _is_better(
                squared[i, slot],
                source[i],
                source[lists.place[i, slot]],
                own,
                best,
                best_from,
                best_to,
                source,
            ):
                best[own] = squared[i, slot]
                best_from[own], best_to[own] = i, lists.place[i, slot]
            if not has_entry or squared[i, slot] >= beyond[i]:
                doubt[own] = min(doubt[own], beyond[i])
        n_certain = 0
        for c in range(n_components):
            n_certain += best[c] < doubt[c]
        if n_certain * FEW_CERTAIN < n_components:
            spared = _search_for_all_but_one(
                X,
                source,
                layout,
                lists,
                squared,
                beyond,
                following,
                component,
                n_components,
                best,
                best_from,
                best_to,
                slack,
                scale,
                relative,
            )
            for c in range(n_components):
                doubt[c] = doubt[c] if c == spared else np.inf
        for c in range(n_components):
            if best[c] < doubt[c]:
                a, b = root_of(parent, best_from[c]), root_of(parent, best_to[c])
                if a != b:
                    parent[max(a, b)] = min(a, b)
                    left[n_edges], right[n_edges] = best_from[c], best_to[c]
                    lengths[n_edges] = best[c]
                    n_edges += 1
        n_components = _number_components(parent, component)
    return left, right, lengths


@kernel
def _number_components(parent: NDArray[np.int64], component: NDArray[np.int64]) -> int:
    """Give the components numbers; a root comes before all others of its set."""
    count = 0
    for i in range(len(parent)):
        root = root_of(parent, i)
        if root == i:
            component[i] = count
            count += 1
        else:
            component[i] = component[root]
    return count


@kernel
def _is_better(
    squared: float,
    a: int,
    b: int,
    own: int,
    best: NDArray[np.float64],
    best_from: NDArray[np.int64],
    best_to: NDArray[np.int64],
    source: NDArray[np.int64],
) -> bool:
    """Whether the edge of rows a and b comes before the component's best one."""
    if squared != best[own]:
        return squared < best[own]
    if best[own] == np.inf:
        return False
    return precedes(
        squared, a, b, best[own], source[best_from[own]], source[best_to[own]]
    )


@kernel
def _search_for_all_but_one(
    X: NDArray[Any],
    source: NDArray[np.int64],
    layout: Layout,
    lists: Lists,
    squared: NDArray[np.float64],
    beyond: NDArray[np.float64],
    following: NDArray[np.int64],
    component: NDArray[np.int64],
    n_components: int,
    best: NDArray[np.float64],
    best_from: NDArray[np.int64],
    best_to: NDArray[np.int64],
    slack: NDArray[np.float64],
    scale: float,
    relative: float,
) -> int:
    """Make the best edges of all components but the largest certain.

    The largest one is spared, because the others will join it anyway; its number is
    returned. Afterwards ``beyond`` bounds what leads out of a point's component.
    """
    n, d = len(source), layout.rows.shape[1]
    n_nodes = len(layout.start)
    first_leaf = n_nodes // 2
    k = squared.shape[1]
    size = np.zeros(n_components, np.int64)
    for i in range(n):
        size[component[i]] += 1
    spared = int(np.argmax(size))
    only = _only_component(layout, component)

    widest = 0
    for leaf in range(first_leaf, n_nodes):
        widest = max(widest, layout.end[leaf] - layout.start[leaf])
    query = np.zeros((widest * PANEL, d), np.float32)
    limit = np.empty(widest * PANEL, np.float32)
    place = np.empty(widest * PANEL, np.int64)
    low = np.empty(d, np.float32)
    high = np.empty(d, np.float32)
    nothing = np.full(PANEL, -_INFINITY)
    out = np.empty(ROWS * PANEL, np.float32)
    stack = np.empty(STACK, np.int64)
    gap_of = np.empty(STACK, np.float32)
    safety = np.float32(1.0 - relative)

    for leaf in range(first_leaf, n_nodes):
        # The points of this leaf that are in doubt, and the box around them.
        count = 0
        shared = -1  # their component, if it is the same for all
        low[:] = _INFINITY
        high[:] = -_INFINITY
        for i in range(layout.start[leaf] * PANEL, min(layout.end[leaf] * PANEL, n)):
            own, slot = component[i], following[i]
            knows = slot < k and (
                lists.place[i, slot] >= 0 and squared[i, slot] < beyond[i]
            )
            if own == spared or knows or beyond[i] > best[own]:
                continue
            shared = own if count == 0 or shared == own else -2
            place[count] = i
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
            limit, place, count, n_rows, component, best, slack, scale, relative
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
                near_gap = box_distance(low, high, layout.low[near], layout.high[near])
                far_gap = box_distance(low, high, layout.low[far], layout.high[far])
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
                        i, j = place[row + bit // PANEL], panel * PANEL + bit % PANEL
                        own = component[i]
                        if component[j] == own:
                            continue
                        value = squared_distance(X, source[i], source[j])
                        if _is_better(
                            value,
                            source[i],
                            source[j],
                            own,
                            best,
                            best_from,
                            best_to,
                            source,
                        ):
                            best[own] = value
                            best_from[own], best_to[own] = i, j
                            improved = True
            if improved:
                largest = _set_limits(
                    limit, place, count, n_rows, component, best, slack, scale, relative
                )
    for i in range(n):
        if component[i] != spared:
            beyond[i] = max(beyond[i], best[component[i]])
    return spared


@kernel
def _only_component(layout: Layout, component: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each node the component of all its points, -1 if they differ."""
    n, n_nodes = len(component), len(layout.start)
    first_leaf = n_nodes // 2
    only = np.empty(n_nodes, np.int64)
    for node in range(n_nodes - 1, -1, -1):
        if node < first_leaf:
            left, right = only[2 * node + 1], only[2 * node + 2]
            only[node] = left if left == right else -1
        else:
            only[node] = component[min(layout.start[node] * PANEL, n - 1)]
            for i in range(
                layout.start[node] * PANEL, min(layout.end[node] * PANEL, n)
            ):
                if component[i] != only[node]:
                    only[node] = -1
                    break
    return only


@kernel
def _set_limits(
    limit: NDArray[np.float32],
    place: NDArray[np.int64],
    count: int,
    n_rows: int,
    component: NDArray[np.int64],
    best: NDArray[np.float64],
    slack: NDArray[np.float64],
    scale: float,
    relative: float,
) -> np.float32:
    """Set what a squared distance in the shadow must be below to be worth a look.

    Whatever is as short as the best edge, or shorter, is below. Returns the largest.
    """
    largest = -_INFINITY
    for row in range(count):
        i = place[row]
        reach = np.sqrt(best[component[i]]) * scale + slack[i]
        reach = reach / (1.0 - relative)
        limit[row] = np.float32(reach * reach / (1.0 - relative) * 1.000001)
        largest = max(largest, limit[row])
    limit[count:n_rows] = -_INFINITY
    return largest
