"""Boruvka's algorithm on lists of neighbors: exact, because it knows what it knows.

In each round every component takes its shortest edge to another one. A component's
candidates come from the lists of its points. One is certain if it is shorter than
`beyond`, the bound on everything not in the list, of each of its points whose list has
nothing better to offer. When hardly any is certain, the uncertain points search the
tree of boxes themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.components import Problem, Shortest, offer
from structsmooth.tree.exact import root_of
from structsmooth.tree.search import search

# Search when fewer than one in this many components is certain of its edge.
FEW_CERTAIN = 20


def boruvka(
    problem: Problem, n_threads: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return the ends, as places, and squared lengths of the tree's edges."""
    n = len(problem.source)
    component = np.arange(n, dtype=np.int32)
    following = np.zeros(n, dtype=np.int8)  # first list entry that may lead outside
    active = np.arange(n, dtype=np.int32)  # points whose lists are not used up
    n_active = n
    settled = np.full(n, np.inf)  # of each component: smallest bound of the others
    shortest = Shortest(np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32))
    doubt = np.empty(n)  # the smallest bound that could hide a shorter edge
    tree = Shortest(np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32))
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
        search(problem, component, following, spared, shortest, n_threads)
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
    component: NDArray[np.int32],
    following: NDArray[np.int8],
    active: NDArray[np.int32],
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
    component: NDArray[np.int32],
    following: NDArray[np.int8],
    active: NDArray[np.int32],
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
            offer(problem.source, own, i, place[i, slot], squared[i, slot], shortest)
    doubt[:n_components] = settled[:n_components]
    for i in active[:n_active]:
        if squared[i, following[i]] >= problem.beyond[i]:
            doubt[component[i]] = min(doubt[component[i]], problem.beyond[i])
    return n_active


@kernel
def _join(
    shortest: Shortest,
    doubt: NDArray[np.float64],
    n_components: int,
    component: NDArray[np.int32],
    settled: NDArray[np.float64],
    tree: Shortest,
    n_edges: int,
) -> int:
    """Add the certain edges to the tree, and give the merged components new numbers."""
    parent = np.arange(n_components, dtype=np.int32)
    for c in range(n_components):
        if shortest.squared[c] < doubt[c]:
            a, b = root_of(parent, c), root_of(parent, component[shortest.end[c]])
            if a != b:  # both sides may have chosen the same edge
                parent[max(a, b)] = min(a, b)
                tree.squared[n_edges] = shortest.squared[c]
                tree.start[n_edges] = shortest.start[c]
                tree.end[n_edges] = shortest.end[c]
                n_edges += 1
    number = np.empty(n_components, np.int32)
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


@kernel
def _raise_bounds(
    beyond: NDArray[np.float64],
    component: NDArray[np.int32],
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
