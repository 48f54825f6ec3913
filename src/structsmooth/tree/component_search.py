"""Searching the k-d tree for what the neighbor lists do not hold.

Each component needs its shortest edge to another one. The points that are in doubt,
because something outside their lists could be shorter than the best edge known, search
for it sixteen at a time, panel by panel from their own one upwards, and skip their
component.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.parallel import in_threads
from structsmooth.support.vectors import aligned, lowest_bit
from structsmooth.tree.exact import F64, I32, I64, Floats, precedes, squared_distance
from structsmooth.tree.kdtree import (
    BLOCK,
    KDTree,
    Walk,
    next_panel,
    start_walk,
    walk_for,
)
from structsmooth.tree.neighbor_lists import ListedPoints
from structsmooth.tree.rounding import ErrorBound
from structsmooth.tree.simd import (
    PANEL,
    ROWS,
    differing,
    others_than,
    panel_near_box,
    tile_below,
)

# The bits of the rows of a tile.
SOME_ROWS = np.uint64(2**ROWS - 1)
NOBODY = -1  # the component that is spared while there has been no search


class Shortest(NamedTuple):
    """Edges by place; of components, the shortest edge that leads out of each."""

    squared: F64
    start: I32
    end: I32


class Doubtful(NamedTuple):
    """Who must search, and what they may leave out."""

    asking: I64  # the places of those points, component by component
    found: I64  # the same in their own order
    common: I32  # by box: the component of all its points, -1 if they differ


class Memory(NamedTuple):
    """Sixteen points that search, and memory for working."""

    panel: Floats  # (1, d, 16): where they are
    own: I32  # (16,): their components
    limit: Floats  # (16,): squared distances must be below it
    no_limit: Floats  # (places,): minus infinity
    out: Floats
    walk: Walk


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


def memory_for(tree: KDTree) -> Memory:
    """Return memory for the searches of one thread."""
    n_places, d = tree.rows.shape
    kind = tree.rows.dtype
    return Memory(
        panel=aligned((1, d, PANEL), kind, 0),
        own=aligned((PANEL,), np.int32, 0),
        limit=aligned((PANEL,), kind, 0),
        no_limit=np.full(n_places, -np.inf, kind),
        out=aligned((ROWS * PANEL,), kind, 0),
        walk=walk_for(tree),
    )


def search_in_threads(
    points: ListedPoints,
    components: Components,
    doubtful: Doubtful,
    n_asking: int,
    memories: list[Memory],
    n_components: int,
    budget: int,
) -> int:
    """Make the shortest edges of all components but the spared one certain.

    There is a thread for each of the memories. Returns what is left of the budget,
    which is spent on exact distances. If that is nothing, the search has been given up.
    """
    shortest, n_threads = components.shortest, len(memories)
    copies = [shortest] + [copy.deepcopy(shortest) for _ in range(n_threads - 1)]
    left = np.full(n_threads, budget // n_threads)

    def search(thread: int) -> None:
        left[thread] = search_for_points(
            points,
            copies[thread],
            components.number,
            doubtful,
            n_asking,
            memories[thread],
            thread,
            n_threads,
            left[thread],
        )

    in_threads(n_threads, search)
    for other in copies[1:]:
        _take_better(points.source, other, shortest, n_components)
    return int(left.sum()) if left.min() > 0 else 0


@kernel
def _take_better(
    source: I64, found: Shortest, shortest: Shortest, n_components: int
) -> None:
    for c in range(n_components):
        if found.squared[c] <= shortest.squared[c] and found.squared[c] != np.inf:
            offer(source, shortest, c, found.start[c], found.end[c], found.squared[c])


@kernel
def find_doubtful(
    points: ListedPoints,
    components: Components,
    n_components: int,
    spared: int,
    doubtful: Doubtful,
) -> int:
    """Write which points must search, and what they may leave out.

    Returns how many they are.
    """
    number, slots, shortest = components.number, components.slot, components.shortest
    place, squared, beyond = points.place, points.squared, points.beyond
    n, k = squared.shape
    _set_common(points.tree, number, n, doubtful.common)
    for c in range(n_components):
        if shortest.squared[c] == np.inf:
            _compare_adjacent(points, number, shortest)
            break
    # One component after the other.
    asking, found = doubtful.asking, doubtful.found
    start = np.zeros(n_components, np.int64)
    count = 0
    for i in range(n):
        own, slot = number[i], slots[i]
        if own == spared or beyond[i] > shortest.squared[own]:
            continue
        if slot < k and place[i, slot] >= 0 and squared[i, slot] < beyond[i]:
            continue  # the list holds the point's shortest way out
        found[count] = i
        count += 1
        start[own] += 1
    total = 0
    for c in range(n_components):
        total += start[c]
        start[c] = total - start[c]
    for i in found[:count]:
        asking[start[number[i]]] = i
        start[number[i]] += 1
    return count


@kernel
def _set_common(tree: KDTree, number: I32, n: int, common: I32) -> None:
    """Set for each box the component of all its points, -1 if they differ."""
    first = tree.first
    for i in range(n):
        panel = i // PANEL
        if i % PANEL == 0:
            common[panel] = number[i]
        elif number[i] != common[panel]:
            common[panel] = -1
    n_nodes = (n + PANEL - 1) // PANEL
    for level in range(1, len(first)):
        own, below = first[level] * BLOCK, first[level - 1] * BLOCK
        for node in range(n_nodes):
            at = own + node // BLOCK
            if node % BLOCK == 0:
                common[at] = common[below + node]
            elif common[below + node] != common[at]:
                common[at] = -1
        n_nodes = (n_nodes + BLOCK - 1) // BLOCK


@kernel
def _compare_adjacent(points: ListedPoints, number: I32, shortest: Shortest) -> None:
    """Offer edges of adjacent places to components whose lists have none.

    So no search begins without a limit.
    """
    for i in range(len(points.source) - 1):
        one, other = number[i], number[i + 1]
        if one != other and (
            shortest.squared[one] == np.inf or shortest.squared[other] == np.inf
        ):
            value = squared_distance(points.X, i, i + 1)
            if value <= shortest.squared[one]:
                offer(points.source, shortest, one, i, i + 1, value)
            if value <= shortest.squared[other]:
                offer(points.source, shortest, other, i + 1, i, value)


@kernel
def search_for_points(
    points: ListedPoints,
    shortest: Shortest,
    number: I32,
    doubtful: Doubtful,
    n_asking: int,
    memory: Memory,
    first: int,
    step: int,
    budget: int,
) -> int:
    """Search for points in doubt, sixteen at a time: number first, first + step, ...

    From the panel of the first of them upwards, without their own component. Gives up
    when the budget is spent; returns what is left of it.
    """
    tree, error, source, X = points.tree, points.error, points.source, points.X
    rows, low, high = tree.rows, tree.low, tree.high
    panel, own, limit, no_limit, out, walk = memory
    asking, _, common = doubtful
    for begin in range(first * PANEL, n_asking, step * PANEL):
        if budget <= 0:
            break
        count = min(PANEL, n_asking - begin)
        shared = number[asking[begin]]
        for lane in range(PANEL):
            own[lane], limit[lane] = -1, -np.inf
        for lane in range(count):
            own[lane] = number[asking[begin + lane]]
            shared = shared if own[lane] == shared else -2
        for feature in range(rows.shape[1]):
            value = rows[asking[begin], feature]
            least, most = value, value
            for lane in range(PANEL):
                # Places without a point repeat the first one.
                at = begin + lane if lane < count else begin
                value = rows[asking[at], feature]
                panel[0, feature, lane] = value
                least, most = min(least, value), max(most, value)
            walk.low[feature], walk.high[feature] = least, most
        _set_limits(error, shortest, own, asking[begin : begin + count], limit)
        start_walk(walk, asking[begin] // PANEL)
        while True:
            other = next_panel(tree, walk, limit, 0, common, shared)
            if other < 0:
                break
            if panel_near_box(panel, 0, low, high, other, limit, 0) == 0:
                continue
            improved = False
            of_others = others_than(number, other, shared)
            for row in range(other * PANEL, (other + 1) * PANEL, ROWS):
                is_own = of_others & SOME_ROWS == 0
                of_others >>= np.uint64(ROWS)
                if is_own:
                    continue
                mask = tile_below(rows, row, panel, 0, no_limit, limit, 0, out)
                if mask == 0:
                    continue
                mask &= differing(number, row, own, 0)
                while mask != 0:
                    bit = lowest_bit(mask)
                    mask &= mask - np.uint64(1)
                    i, j = asking[begin + bit % PANEL], row + bit // PANEL
                    component = own[bit % PANEL]
                    budget -= 1
                    value = squared_distance(X, i, j)
                    if value <= shortest.squared[component]:
                        improved |= offer(source, shortest, component, i, j, value)
            if improved:
                _set_limits(error, shortest, own, asking[begin : begin + count], limit)
    return budget


@kernel
def _set_limits(
    error: ErrorBound, shortest: Shortest, own: I32, asking: I64, limit: Floats
) -> None:
    """Set what a squared distance in the tree must be below to be worth an exact one.

    Whatever is as short as the best edge, or shorter, is below.
    """
    certain = 1.0 - error.relative
    for lane in range(len(asking)):
        reach = np.sqrt(shortest.squared[own[lane]]) * error.scale
        longest = (reach + error.slack[asking[lane]]) / certain
        limit[lane] = longest * longest / certain * 1.000001
