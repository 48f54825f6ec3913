"""Boruvka's algorithm on neighbor lists, for many points.

In each round every component takes its shortest edge to another one. A component's
candidates come from the lists of its points. A candidate is certain if it is shorter
than `beyond`, the bound on everything not in the list, of each of its points whose list
has nothing better to offer. When hardly any candidate is certain, the uncertain points
search the k-d tree themselves. Data that float32 cannot tell apart are started again,
with a tree of exact coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.component_search import (
    NOBODY,
    Components,
    Doubtful,
    Memory,
    Shortest,
    find_doubtful,
    memory_for,
    offer,
    search_for_points,
    search_in_threads,
)
from structsmooth.tree.exact import F64, I32, I64, Edges
from structsmooth.tree.kdtree import BLOCK, KDTree
from structsmooth.tree.neighbor_lists import (
    ListedPoints,
    list_neighbors,
    place_points,
)
from structsmooth.tree.rounding import ErrorBound

# Neighbors in a list: fewer are found sooner, more leave less to search for later.
N_LISTED = 5
# Search when fewer than one in this many components is certain of its edge.
FEW_CERTAIN = 20
# Exact distances for each point that the search may take before float32 is given up.
EXACT_DISTANCES = 64


def boruvka(X: NDArray[Any], n_threads: int = 1) -> Edges:
    """Return the edges of the tree of rows that are all different."""
    return boruvka_placed(X, *place_points(X), n_threads)


def boruvka_placed(
    X: NDArray[Any],
    tree: KDTree,
    error: ErrorBound,
    n_threads: int,
    share: float | None = None,
) -> Edges:
    """Return the edges of the tree of points that have been placed in float32.

    ``share`` is that of `look_around`, if it was called.

    Where many distances are equal, or too close for float32, that leaves everything to
    exact distances, one pair at a time. Then it is better to begin again with a tree of
    the data themselves.
    """
    n = len(X)
    points = list_neighbors(X, tree, error, n_listed(n), n_threads, share)
    edges, is_complete = _join_all(points, n_threads, EXACT_DISTANCES * n)
    if not is_complete:
        exact = place_points(X, exactly=True)
        points = list_neighbors(X, *exact, n_listed(n), n_threads)
        edges, _ = _join_all(points, n_threads, np.iinfo(np.int64).max)
    left, right = edges.start[: n - 1], edges.end[: n - 1]
    return points.source[left], points.source[right], edges.squared[: n - 1]


def n_listed(n: int) -> int:
    """Return how many neighbors the lists of n points hold."""
    return min(n - 1, N_LISTED)


def _join_all(
    points: ListedPoints, n_threads: int, budget: int
) -> tuple[Shortest, bool]:
    """Return the edges of the tree, and whether the budget sufficed for all of them."""
    n, n_places = len(points.source), len(points.tree.rows)
    components = Components(
        number=np.arange(n_places, dtype=np.int32),
        slot=np.zeros(n, dtype=np.int8),
        bound=np.full(n, np.inf),
        doubt=np.empty(n),
        shortest=_empty_edges(n),
    )
    doubtful = Doubtful(
        asking=np.empty(n, np.int64),
        found=np.empty(n, np.int64),
        common=np.full(len(points.tree.low) * BLOCK, -1, np.int32),
    )
    edges = _empty_edges(n)
    progress = np.array([n, 0, NOBODY, 0, budget])
    active = np.arange(n, dtype=np.int32)  # points whose lists are not used up
    memories = [memory_for(points.tree) for _ in range(n_threads)]
    while True:
        advance(
            points,
            components,
            doubtful,
            active,
            edges,
            progress,
            memories[0],
            n_threads == 1,
        )
        _, n_edges, _, n_asking, budget = progress.tolist()
        if n_edges == n - 1 or budget == 0:
            return edges, budget > 0
        progress[4] = search_in_threads(
            points,
            components,
            doubtful,
            n_asking,
            memories,
            n - n_edges,
            budget,
        )


def _empty_edges(n: int) -> Shortest:
    return Shortest(np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32))


# One kernel for all that one thread does: each call from Python costs as much as the
# work for a hundred points.
@kernel
def advance(
    points: ListedPoints,
    components: Components,
    doubtful: Doubtful,
    active: I32,
    edges: Shortest,
    progress: I64,
    memory: Memory,
    is_alone: bool,
) -> None:
    """Add what the search has found, join by lists, and find who must search.

    If there is no other thread it searches too, until the tree is complete or the
    budget is spent. ``progress`` holds how many points are active, how many edges the
    tree has, the component that is spared in the search, how many points must search,
    and the budget.
    """
    n_active, n_edges, spared, n_asking, budget = progress
    n = len(points.source)
    while budget > 0:
        if spared != NOBODY:
            _raise_bounds(points.beyond, components, n - n_edges, spared)
            n_edges = _join(components, n, n - n_edges, edges, n_edges)
        n_active, n_edges = join_by_lists(
            points, components, active[:n_active], edges, n_edges
        )
        if n_edges == n - 1:
            break
        # The largest component is spared: the others will join it anyway.
        spared = _largest_component(components.number, n, n - n_edges)
        n_asking = find_doubtful(points, components, n - n_edges, spared, doubtful)
        if not is_alone:
            break
        budget = search_for_points(
            points,
            components.shortest,
            components.number,
            doubtful,
            n_asking,
            memory,
            0,
            1,
            budget,
        )
    progress[:] = n_active, n_edges, spared, n_asking, max(budget, 0)


@kernel
def _largest_component(number: I32, n: int, n_components: int) -> int:
    sizes = np.zeros(n_components, np.int32)
    for i in range(n):
        sizes[number[i]] += 1
    largest = 0
    for c in range(n_components):
        largest = c if sizes[c] > sizes[largest] else largest
    return largest


@kernel
def join_by_lists(
    points: ListedPoints,
    components: Components,
    active: I32,
    edges: Shortest,
    n_edges: int,
) -> tuple[int, int]:
    """Join components as long as the lists make enough of them certain.

    Returns how many points are still active, and how many edges the tree has.
    """
    n = len(points.source)
    n_active = len(active)
    while n_edges < n - 1:
        n_components = n - n_edges
        n_active = _take_from_lists(points, components, n_components, active[:n_active])
        n_certain = 0
        for c in range(n_components):
            n_certain += components.shortest.squared[c] < components.doubt[c]
        if n_certain * FEW_CERTAIN < n_components:
            break
        n_edges = _join(components, n, n_components, edges, n_edges)
    return n_active, n_edges


@kernel
def _take_from_lists(
    points: ListedPoints, components: Components, n_components: int, active: I32
) -> int:
    """Set the shortest listed edge of each component, and what could hide another.

    Points whose lists are used up leave ``active``; returns how many stay.
    """
    place, squared, beyond = points.place, points.squared, points.beyond
    number, slots, bound = components.number, components.slot, components.bound
    doubt, source = components.doubt, points.source
    shortest, starts, ends = components.shortest
    k = squared.shape[1]
    for c in range(n_components):
        shortest[c] = np.inf
        doubt[c] = bound[c]
    n_active = 0
    for i in active:
        own = number[i]
        slot = int(slots[i])
        limit = shortest[own]
        # Whatever comes now is longer, and nothing outside of the list can be shorter.
        if squared[i, slot] > limit and beyond[i] > limit:
            active[n_active] = i
            n_active += 1
            continue
        while slot < k and place[i, slot] >= 0 and number[place[i, slot]] == own:
            slot += 1
        slots[i] = slot
        if slot == k or place[i, slot] < 0:
            bound[own] = min(bound[own], beyond[i])
            doubt[own] = min(doubt[own], beyond[i])
            continue
        active[n_active] = i
        n_active += 1
        value = squared[i, slot]
        if value >= beyond[i]:
            doubt[own] = min(doubt[own], beyond[i])
        if value < limit:
            shortest[own], starts[own], ends[own] = value, i, place[i, slot]
        elif value == limit:
            offer(source, components.shortest, own, i, place[i, slot], value)
    return n_active


@kernel
def _join(
    components: Components, n: int, n_components: int, edges: Shortest, n_edges: int
) -> int:
    """Add the certain edges to the tree, and give the merged components new numbers."""
    number, bound, shortest = components.number, components.bound, components.shortest
    parent = np.empty(n_components, np.int32)
    for c in range(n_components):
        parent[c] = c
    for c in range(n_components):
        if shortest.squared[c] < components.doubt[c]:
            a, b = _root_of(parent, c), _root_of(parent, number[shortest.end[c]])
            if a != b:  # both sides may have chosen the same edge
                parent[max(a, b)] = min(a, b)
                edges.squared[n_edges] = shortest.squared[c]
                edges.start[n_edges] = shortest.start[c]
                edges.end[n_edges] = shortest.end[c]
                n_edges += 1
    renumbered = np.empty(n_components, np.int32)
    count = 0
    for c in range(n_components):
        root = _root_of(parent, c)
        if root == c:
            renumbered[c] = count
            bound[count] = bound[c]
            count += 1
        else:  # a root comes before all others of its set
            new = renumbered[root]
            renumbered[c] = new
            bound[new] = min(bound[new], bound[c])
    for i in range(n):
        number[i] = renumbered[number[i]]
    return n_edges


@kernel
def _root_of(parent: I32, i: int) -> int:
    """Return the representative of i's set, and shorten the way to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _raise_bounds(
    beyond: F64, components: Components, n_components: int, spared: int
) -> None:
    """Record that no edge out of a searched component is below its shortest."""
    number, shortest = components.number, components.shortest.squared
    for c in range(n_components):
        if c != spared:
            components.bound[c] = max(components.bound[c], shortest[c])
            components.doubt[c] = np.inf
    for i in range(len(beyond)):
        if number[i] != spared:
            beyond[i] = max(beyond[i], shortest[number[i]])
