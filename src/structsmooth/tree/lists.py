"""For every point its k nearest in the shadow, by a search over pairs of leaves.

Each pair of leaves is looked at once, for the lists of both sides. A pair is left out
when the distance of the two boxes exceeds what any list on either side still takes.
What the result says of the data, float32 as it is, is worked out in `refine`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.exact import precedes, squared_distance
from structsmooth.tree.panels import Layout, box_distance
from structsmooth.tree.shadow import Shadow
from structsmooth.tree.tiles import PANEL, ROWS, lowest_bit, tile_below

_INFINITY = np.float32(np.inf)
# Depth of a stack that can hold one node a level twice over.
STACK = 128
# Above the keys of all finite distances: infinity's bits, before a place.
NO_KEY = np.int64(0x7F800000) << np.int64(32)


class Lists(NamedTuple):
    """The nearest points of each place, nearest first.

    Attributes
    ----------
    squared : ndarray of shape (places, k), float32
        Squared distances, infinite where there is no neighbor.
    place : ndarray of shape (places, k), int32
        Where the neighbors are, -1 where there is none.
    limit : ndarray of shape (places,), float32
        The last of the squared distances: what a newcomer must be below.
    """

    squared: NDArray[np.float32]
    place: NDArray[np.int32]
    limit: NDArray[np.float32]


def nearest_lists(layout: Layout, shadow: Shadow, k: int, n_threads: int) -> Lists:
    """Return the k nearest points of every point."""
    n = len(layout.order)
    safety = np.float32(1.0 - shadow.relative)
    lists = _empty_lists(len(layout.rows), n, k)
    in_threads(
        n_threads,
        lambda number: _look_next_door(layout, lists, number, n_threads),
    )
    node_limit = _node_limits(layout, lists)
    # Each thread fills lists of its own; which one finds a neighbor does not matter.
    copies = [lists] + [
        Lists(lists.squared.copy(), lists.place.copy(), lists.limit.copy())
        for _ in range(n_threads - 1)
    ]
    in_threads(
        n_threads,
        lambda number: search_pairs(
            layout, copies[number], node_limit, safety, number, n_threads
        ),
    )
    for copy in copies[1:]:
        _merge_lists(lists, copy)
    return lists


def in_threads(n_threads: int, part: Callable[[int], None]) -> None:
    """Do parts 0 to n_threads - 1 of some work, each in a thread of its own."""
    if n_threads == 1:
        part(0)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(part, range(n_threads)):
            pass


@kernel
def _empty_lists(n_places: int, n: int, k: int) -> Lists:
    squared = np.full((n_places, k), _INFINITY)
    place = np.full((n_places, k), np.int32(-1))
    limit = np.full(n_places, _INFINITY)
    limit[n:] = -_INFINITY  # places without a point take nothing
    return Lists(squared, place, limit)


@kernel
def _insert(lists: Lists, at: int, neighbor: int, squared: np.float32) -> None:
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
    layout: Layout, lists: Lists, a: int, b: int, out: NDArray[np.float32]
) -> bool:
    """Enter the pairs of two leaves into their lists; whether any has changed."""
    d = layout.rows.shape[1]
    rows = np.int64(layout.rows.ctypes.data)
    panels = np.int64(layout.panels.ctypes.data)
    limit = np.int64(lists.limit.ctypes.data)
    target = np.int64(out.ctypes.data)
    changed = False
    for panel in range(layout.start[b], layout.end[b]):
        for row in range(layout.start[a] * PANEL, layout.end[a] * PANEL, ROWS):
            mask = tile_below(
                rows + 4 * d * row,
                panels + 4 * d * PANEL * panel,
                d,
                limit + 4 * row,
                limit + 4 * PANEL * panel,
                target,
            )
            while mask != 0:
                bit = lowest_bit(mask)
                mask &= mask - np.uint64(1)
                i, j = row + bit // PANEL, panel * PANEL + bit % PANEL
                changed = True
                if out[bit] < lists.limit[i]:
                    _insert(lists, i, j, out[bit])
                if out[bit] < lists.limit[j]:
                    _insert(lists, j, i, out[bit])
    return changed


@kernel
def _leaf_limit(layout: Layout, lists: Lists, leaf: int) -> np.float32:
    largest = -_INFINITY
    for i in range(layout.start[leaf] * PANEL, layout.end[leaf] * PANEL):
        largest = max(largest, lists.limit[i])
    return largest


@kernel
def _look_next_door(layout: Layout, lists: Lists, first: int, step: int) -> None:
    """Fill the lists from the own leaf and its sibling, for limits to start with.

    Only pairs of siblings number first, first + step, ...: no two share a list. To
    enter neighbors one by one into empty lists would take most of the search, for
    hardly a step of it can be guessed. So all distances of a point become one row of
    integers, the bits of the distance before the place, and each of the k smallest is
    found by a vector loop.
    """
    n, d = len(layout.order), layout.rows.shape[1]
    n_nodes = len(layout.start)
    first_leaf = n_nodes // 2
    widest = 0
    for leaf in range(first_leaf, n_nodes):
        widest = max(widest, layout.end[leaf] - layout.start[leaf])
    keys = np.empty((ROWS, 2 * widest * PANEL), np.int64)
    out = np.empty(ROWS * PANEL, np.float32)
    bits = out.view(np.int32)
    squared_bits = lists.squared.view(np.int32)
    everything = np.full(PANEL, _INFINITY)
    for leaf in range(first_leaf + 2 * first, n_nodes, 2 * step):
        # Siblings follow each other, unless there is only one leaf.
        begin, stop = layout.start[leaf], layout.end[min(leaf + 1, n_nodes - 1)]
        width = (stop - begin) * PANEL
        for row in range(begin * PANEL, min(stop * PANEL, n), ROWS):
            for panel in range(begin, stop):
                tile_below(
                    np.int64(layout.rows.ctypes.data) + 4 * d * row,
                    np.int64(layout.panels.ctypes.data) + 4 * d * PANEL * panel,
                    d,
                    np.int64(everything.ctypes.data),
                    np.int64(everything.ctypes.data),
                    np.int64(out.ctypes.data),
                )
                at = (panel - begin) * PANEL
                for r in range(ROWS):
                    _make_keys(
                        bits[r * PANEL : (r + 1) * PANEL],
                        panel * PANEL,
                        keys[r, at : at + PANEL],
                    )
            for i in range(row, min(row + ROWS, n)):
                keys[i - row, i - begin * PANEL] = NO_KEY
                _take_smallest(keys[i - row, :width], lists, squared_bits, i)


@kernel
def _make_keys(bits: NDArray[np.int32], place: int, keys: NDArray[np.int64]) -> None:
    for j in range(PANEL):
        keys[j] = (np.int64(bits[j]) << 32) | (place + j)


@kernel
def _take_smallest(
    keys: NDArray[np.int64], lists: Lists, squared_bits: NDArray[np.int32], at: int
) -> None:
    """Make a list of the smallest keys; NaN, where no point is, is above infinity."""
    k = lists.squared.shape[1]
    key = np.int64(-1)
    for slot in range(k):
        key = _smallest_above(keys, key)
        if key >= NO_KEY:
            break
        squared_bits[at, slot] = key >> 32
        lists.place[at, slot] = key & 0xFFFFFFFF
    lists.limit[at] = lists.squared[at, k - 1]


@kernel
def _smallest_above(keys: NDArray[np.int64], bound: np.int64) -> np.int64:
    smallest = NO_KEY
    for j in range(keys.shape[0]):
        key = keys[j]
        smallest = min(smallest, key if key > bound else NO_KEY)
    return smallest


@kernel
def _node_limits(layout: Layout, lists: Lists) -> NDArray[np.float32]:
    """Return for each node the largest limit of its points."""
    first_leaf = len(layout.start) // 2
    limit = np.empty(len(layout.start), np.float32)
    for node in range(len(layout.start) - 1, -1, -1):
        if node >= first_leaf:
            limit[node] = _leaf_limit(layout, lists, node)
        else:
            limit[node] = max(limit[2 * node + 1], limit[2 * node + 2])
    return limit


@kernel
def search_pairs(
    layout: Layout,
    lists: Lists,
    node_limit: NDArray[np.float32],
    safety: np.float32,
    first: int,
    step: int,
) -> None:
    """Look at all pairs of leaves whose first is number first, first + step, ...

    The limits of inner nodes are those of the beginning: they only fall, so to use an
    old one is safe. Those of leaves are kept up to date.
    """
    n_nodes = len(layout.start)
    first_leaf = n_nodes // 2
    out = np.empty(ROWS * PANEL, np.float32)
    leaf_limit = node_limit.copy()
    last_leaf = np.arange(n_nodes)
    for node in range(first_leaf - 1, -1, -1):
        last_leaf[node] = last_leaf[2 * node + 2]
    stack = np.empty(STACK, np.int64)
    for leaf in range(first_leaf + first, n_nodes, step):
        low, high = layout.low[leaf], layout.high[leaf]
        sibling = ((leaf - 1) ^ 1) + 1
        stack[0] = 0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if last_leaf[node] <= leaf or node == sibling:
                continue
            gap = box_distance(low, high, layout.low, layout.high, node)
            if gap * safety >= max(leaf_limit[leaf], leaf_limit[node]):
                continue
            if node < first_leaf:
                stack[depth] = 2 * node + 2
                stack[depth + 1] = 2 * node + 1
                depth += 2
            elif _compare_leaves(layout, lists, leaf, node, out):
                leaf_limit[leaf] = _leaf_limit(layout, lists, leaf)
                leaf_limit[node] = _leaf_limit(layout, lists, node)


@kernel
def _merge_lists(lists: Lists, others: Lists) -> None:
    """Enter all of the other lists that is not there yet."""
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


def refine(
    X: NDArray[Any],
    source: NDArray[np.int64],
    lists: Lists,
    slack: NDArray[np.float64],
    scale: float,
    relative: float,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Put exact squared distances into the lists, and bound what is not in them.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The data in the order of places.
    source : ndarray of shape (n,), int64
        Which row of the input is at each place: what ties are broken by.
    lists : Lists
        Sorted anew here, by the order of edges.
    slack, scale, relative
        Of the shadow; slack by place.
    n_threads : int
        How many threads share the work.

    Returns
    -------
    squared : ndarray of shape (n, k), float64
        Exact squared distances.
    beyond : ndarray of shape (n,), float64
        No point outside the list has a smaller squared distance than this.
    """
    n, k = len(source), lists.squared.shape[1]
    squared = np.full((n, k), np.inf)
    beyond = np.empty(n)
    cuts = [n * number // n_threads for number in range(n_threads + 1)]
    in_threads(
        n_threads,
        lambda number: _refine_places(
            X,
            source,
            lists,
            slack,
            scale,
            relative,
            squared,
            beyond,
            cuts[number],
            cuts[number + 1],
        ),
    )
    return squared, beyond


@kernel
def _refine_places(
    X: NDArray[Any],
    source: NDArray[np.int64],
    lists: Lists,
    slack: NDArray[np.float64],
    scale: float,
    relative: float,
    squared: NDArray[np.float64],
    beyond: NDArray[np.float64],
    begin: int,
    stop: int,
) -> None:
    for i in range(begin, stop):
        last = np.float64(lists.limit[i])
        reach = np.sqrt(last * (1.0 - relative)) * (1.0 - relative) - slack[i]
        beyond[i] = (max(reach, 0.0) / scale) ** 2 * (1.0 - 1e-12)
        for slot in range(squared.shape[1]):
            neighbor = lists.place[i, slot]
            if neighbor < 0:
                break
            value = squared_distance(X, i, neighbor)
            to = slot
            while to > 0 and precedes(
                value,
                source[i],
                source[neighbor],
                squared[i, to - 1],
                source[i],
                source[lists.place[i, to - 1]],
            ):
                squared[i, to] = squared[i, to - 1]
                lists.place[i, to] = lists.place[i, to - 1]
                to -= 1
            squared[i, to] = value
            lists.place[i, to] = neighbor
