"""Boruvka's algorithm on lists of neighbors: exact, because it knows what it knows.

In each round every component takes its shortest edge to another one. A component's
candidates come from the lists of its points. One is certain if it is shorter than
`beyond`, the bound on everything not in the list, of each of its points whose list has
nothing better to offer. When hardly any is certain, the uncertain points search the
tree of boxes themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.kernels import kernel
from structsmooth.tree.exact import precedes, root_of, squared_distance
from structsmooth.tree.lists import STACK, Lists, in_threads
from structsmooth.tree.panels import Layout, box_distance
from structsmooth.tree.tiles import PANEL, ROWS, lowest_bit, tile_below

_INFINITY = np.float32(np.inf)
# Search when fewer than one in this many components is certain of its edge.
FEW_CERTAIN = 20


class Problem(NamedTuple):
    """All that is known of the points, by place.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The data in the order of places.
    source : ndarray of shape (n,), int64
        Which row of the input is at each place: what ties are broken by.
    layout, lists
        The tree of boxes, and the neighbors found so far.
    squared : ndarray of shape (n, k), float64
        Exact squared distances of the neighbors.
    beyond : ndarray of shape (n,), float64
        What is not in a point's list, and not in its component, is no nearer.
    slack, scale, relative
        How far the shadow can be trusted; see `structsmooth.tree.shadow`.
    """

    X: NDArray[Any]
    source: NDArray[np.int64]
    layout: Layout
    lists: Lists
    squared: NDArray[np.float64]
    beyond: NDArray[np.float64]
    slack: NDArray[np.float64]
    scale: float
    relative: float


class Shortest(NamedTuple):
    """Of each component, the shortest edge that leads out of it."""

    squared: NDArray[np.float64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


def boruvka(
    problem: Problem, n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the ends, as places, and squared lengths of the tree's edges."""
    n = len(problem.source)
    component = np.arange(n)
    following = np.zeros(n, dtype=np.int64)  # first list entry that may lead outside
    active = np.arange(n)  # points whose lists are not used up
    n_active = n
    settled = np.full(n, np.inf)  # of each component: smallest bound of the others
    shortest = Shortest(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64))
    doubt = np.empty(n)  # the smallest bound that could hide a shorter edge
    tree = Shortest(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64))
    n_edges = 0
    while True:
        n_active, n_edges = join_by_lists(
            problem,
            component,
            following,
            active[:n_active],
            settled,
            shortest,
            doubt,
            tree,
            n_edges,
        )
        n_components = n - n_edges
        if n_components == 1:
            break
        # The largest component is spared: the others will join it anyway.
        sizes = np.bincount(component, minlength=n_components)
        spared = int(np.argmax(sizes))
        _search(problem, component, following, spared, shortest, n_threads)
        _raise_bounds(problem.beyond, component, settled, spared, shortest)
        doubt[:spared] = np.inf
        doubt[spared + 1 : n_components] = np.inf
        n_edges = _join(
            shortest, doubt, n_components, component, settled, tree, n_edges
        )
    return tree.start[: n - 1], tree.end[: n - 1], tree.squared[: n - 1]


@kernel
def join_by_lists(
    problem: Problem,
    component: NDArray[np.int64],
    following: NDArray[np.int64],
    active: NDArray[np.int64],
    settled: NDArray[np.float64],
    shortest: Shortest,
    doubt: NDArray[np.float64],
    tree: Shortest,
    n_edges: int,
) -> tuple[int, int]:
    """Let components join as long as the lists make enough of them certain.

    Returns how many points are active still, and how many edges the tree has.
    """
    n_active = len(active)
    while n_edges < len(component) - 1:
        n_components = len(component) - n_edges
        n_active = _take_from_lists(
            problem,
            component,
            following,
            active[:n_active],
            n_components,
            settled,
            shortest,
            doubt,
        )
        n_certain = 0
        for c in range(n_components):
            n_certain += shortest.squared[c] < doubt[c]
        if n_certain * FEW_CERTAIN < n_components:
            break
        n_edges = _join(
            shortest, doubt, n_components, component, settled, tree, n_edges
        )
    return n_active, n_edges


@kernel
def _take_from_lists(
    problem: Problem,
    component: NDArray[np.int64],
    following: NDArray[np.int64],
    active: NDArray[np.int64],
    n_components: int,
    settled: NDArray[np.float64],
    shortest: Shortest,
    doubt: NDArray[np.float64],
) -> int:
    """Set the shortest listed edge of each component, and what could hide another.

    Points whose lists are used up leave ``active``; how many stay is returned.
    """
    k = problem.squared.shape[1]
    place, squared = problem.lists.place, problem.squared
    shortest.squared[:n_components] = np.inf
    n_active = 0
    for i in active:
        own = component[i]
        slot = following[i]
        while slot < k and place[i, slot] >= 0 and component[place[i, slot]] == own:
            slot += 1
        following[i] = slot
        if slot == k or place[i, slot] < 0:
            settled[own] = min(settled[own], problem.beyond[i])
            continue
        active[n_active] = i
        n_active += 1
        if squared[i, slot] <= shortest.squared[own]:
            _offer(problem.source, own, i, place[i, slot], squared[i, slot], shortest)
    doubt[:n_components] = settled[:n_components]
    for i in active[:n_active]:
        if squared[i, following[i]] >= problem.beyond[i]:
            doubt[component[i]] = min(doubt[component[i]], problem.beyond[i])
    return n_active


@kernel
def _offer(
    source: NDArray[np.int64],
    own: int,
    i: int,
    j: int,
    squared: float,
    shortest: Shortest,
) -> bool:
    """Let a component change to the edge of places i and j if it comes first."""
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


@kernel
def _join(
    shortest: Shortest,
    doubt: NDArray[np.float64],
    n_components: int,
    component: NDArray[np.int64],
    settled: NDArray[np.float64],
    tree: Shortest,
    n_edges: int,
) -> int:
    """Add the certain edges to the tree, and give the merged components new numbers."""
    parent = np.arange(n_components)
    for c in range(n_components):
        if shortest.squared[c] < doubt[c]:
            a, b = root_of(parent, c), root_of(parent, component[shortest.end[c]])
            if a != b:  # both sides may have chosen the same edge
                parent[max(a, b)] = min(a, b)
                tree.squared[n_edges] = shortest.squared[c]
                tree.start[n_edges] = shortest.start[c]
                tree.end[n_edges] = shortest.end[c]
                n_edges += 1
    number = np.empty(n_components, np.int64)
    count = 0
    for c in range(n_components):
        root = root_of(parent, c)
        if root == c:
            number[c] = count
            settled[count] = settled[c]
            count += 1
        else:  # a root comes before all others of its set
            number[c] = number[root]
            settled[number[c]] = min(settled[number[c]], settled[c])
    for i in range(len(component)):
        component[i] = number[component[i]]
    return n_edges


def _search(
    problem: Problem,
    component: NDArray[np.int64],
    following: NDArray[np.int64],
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
            _offer(
                source, c, others.start[c], others.end[c], others.squared[c], shortest
            )


@kernel
def _raise_bounds(
    beyond: NDArray[np.float64],
    component: NDArray[np.int64],
    settled: NDArray[np.float64],
    spared: int,
    shortest: Shortest,
) -> None:
    """Note that nothing leads out of a component below its shortest edge."""
    for c in range(component.max() + 1):
        if c != spared:
            settled[c] = max(settled[c], shortest.squared[c])
    for i in range(len(beyond)):
        if component[i] != spared:
            beyond[i] = max(beyond[i], shortest.squared[component[i]])


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
    component: NDArray[np.int64],
    following: NDArray[np.int64],
    spared: int,
    only: NDArray[np.int64],
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
        # The points of this leaf that are in doubt, and the box around them.
        count = 0
        shared = -2  # their component, if it is the same for all
        low[:] = _INFINITY
        high[:] = -_INFINITY
        for i in range(layout.start[leaf] * PANEL, min(layout.end[leaf] * PANEL, n)):
            own, slot = component[i], following[i]
            knows = slot < k and (
                problem.lists.place[i, slot] >= 0
                and problem.squared[i, slot] < problem.beyond[i]
            )
            if own == spared or knows or problem.beyond[i] > shortest.squared[own]:
                continue
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
                                improved |= _offer(
                                    problem.source, own, i, j, value, shortest
                                )
            if improved:
                largest = _set_limits(
                    problem, component, shortest, asking, count, n_rows, limit
                )


@kernel
def _set_limits(
    problem: Problem,
    component: NDArray[np.int64],
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
