"""The exact k nearest neighbors, by the same lists as the trees.

The lists have a few places to spare. A row's list is certain if its k-th exact distance
is below the bound on everything not in the list. The other rows, those with many
equally near neighbors, are searched for once more among all that can be as near. Equal
rows have the same neighbors, so only distinct rows are searched for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.parallel import in_threads
from structsmooth.support.vectors import lowest_bit
from structsmooth.tree.algorithms import is_ready, prim_seconds
from structsmooth.tree.duplicates import first_of_equal
from structsmooth.tree.exact import (
    F64,
    I32,
    I64,
    Floats,
    keep_nearest,
    squared_distance,
)
from structsmooth.tree.kdtree import BLOCK, next_panel, start_walk, walk_for
from structsmooth.tree.neighbor_lists import (
    ListedPoints,
    list_neighbors,
    place_points,
    search_panels,
)
from structsmooth.tree.neighbors_gram import choose_nearest, neighbors_by_products
from structsmooth.tree.simd import PANEL, ROWS, tile_below
from structsmooth.tree.simd_exact import STRIP, as_strips, squared_to_all

# Features up to; rows up to which comparing all is fastest; rows up to which inner
# products are. Beyond, lists.
CROSSOVERS = ((24, 400, 0), (96, 150, 1000), (np.inf, 80, 2000))
SPARE = 3


class Groups(NamedTuple):
    """The rows in groups of equal ones."""

    group: I64  # (n,): the number of each row's group
    members: I64  # (n,): the rows of one group after the other, ascending in each
    start: I64  # (groups + 1,): where each group begins


def find_neighbors(X: NDArray[Any], k: int, n_threads: int) -> tuple[I64, F64]:
    """Return row numbers and squared distances of the k nearest of each row."""
    n, d = X.shape
    indices, squared = np.empty((n, k), np.int64), np.full((n, k), np.inf)
    way = _fastest_way(n, d)
    if way == "products":
        neighbors_by_products(X, indices, squared)
    elif way == "brute":
        strips = as_strips(X)
        parts = np.array_split(np.arange(n), n_threads)
        in_threads(
            n_threads,
            lambda number: _compare_with_all(strips, parts[number], indices, squared),
        )
    else:
        first = first_of_equal(X)
        if np.array_equal(first, np.arange(n)):
            _list_all(X, indices, squared, n_threads)
        else:
            _search_distinct(X, first, indices, squared, n_threads)
    return indices, squared


def _search_distinct(
    X: NDArray[Any], first: I64, indices: I64, squared: F64, n_threads: int
) -> None:
    """Fill in the neighbors of all rows from those of the distinct ones."""
    n, k = indices.shape
    distinct = np.flatnonzero(first == np.arange(n))
    near, near_squared = np.empty((1, 0), np.int64), np.empty((1, 0))
    if len(distinct) > 1:
        few = min(k, len(distinct) - 1)
        near, near_squared = find_neighbors(X[distinct], few, n_threads)
    group = np.searchsorted(distinct, first)
    members = np.argsort(group, kind="stable")
    groups = Groups(
        group, members, np.searchsorted(group[members], np.arange(len(distinct) + 1))
    )
    cuts = [n * number // n_threads for number in range(n_threads + 1)]
    in_threads(
        n_threads,
        lambda number: _gather(
            groups,
            near,
            near_squared,
            indices,
            squared,
            cuts[number],
            cuts[number + 1],
        ),
    )


def _fastest_way(n: int, d: int) -> str:
    """Return how to search, unless compiling it costs more than it saves."""
    _, brute_rows, product_rows = next(row for row in CROSSOVERS if d <= row[0])
    if n <= brute_rows:
        return "brute"
    seconds = 2.0 * prim_seconds(n, d)  # Prim compares each pair once
    if n <= product_rows:
        ready = is_ready("prim_gram", seconds, kernel=choose_nearest)
        return "products" if ready else "brute"
    return "lists" if is_ready("boruvka", seconds, kernel=search_panels) else "brute"


def _list_all(X: NDArray[Any], indices: I64, squared: F64, n_threads: int) -> None:
    """Fill in the neighbors from lists, and search again where these leave doubt."""
    n, k = indices.shape
    points = list_neighbors(X, *place_points(X), min(n - 1, k + SPARE), n_threads)
    is_certain = points.squared[:, k - 1] < points.beyond
    if points.squared.shape[1] < n - 1 and not is_certain.all():
        limit = _limits(points, k, is_certain)
        in_threads(
            n_threads,
            lambda number: _search_again(
                points, limit, _memory(points), number, n_threads
            ),
        )
    source = points.source
    indices[source] = source[points.place[:n, :k]]
    squared[source] = points.squared[:, :k]


def _limits(points: ListedPoints, k: int, is_certain: NDArray[np.bool_]) -> Floats:
    """Return what distances in the tree are below if they can be the k-th or less.

    Rows that are certain have no such distance.
    """
    error, kind = points.error, points.tree.rows.dtype
    certain = 1.0 - error.relative
    reach = np.sqrt(points.squared[:, k - 1]) * error.scale + error.slack
    limit = np.full(len(points.tree.rows), -np.inf, kind)
    largest = ((reach / certain) ** 2 / certain**2 * (1.0 + 1e-6)).astype(kind)
    limit[: len(reach)] = np.where(is_certain, -np.inf, np.nextafter(largest, np.inf))
    return limit


def _memory(points: ListedPoints) -> tuple[Any, ...]:
    """Return memory for a search."""
    tree, kind = points.tree, points.tree.rows.dtype
    common = np.zeros(len(tree.low) * BLOCK, np.int32)  # nothing is left out
    no_limit, out = np.full(PANEL, -np.inf, kind), np.empty(ROWS * PANEL, kind)
    return walk_for(tree), common, no_limit, out


@kernel
def _search_again(
    points: ListedPoints, limit: Floats, memory: Any, first: int, step: int
) -> None:
    """List the nearest rows of the places that have a limit, in their order.

    Only those in panel number first, first + step, ...
    """
    tree, X = points.tree, points.X
    place, squared, source = points.place, points.squared, points.source
    last = squared.shape[1] - 1
    walk, common, no_limit, out = memory
    for panel in range(first, tree.panels.shape[0], step):
        n_asking = 0
        for i in range(panel * PANEL, (panel + 1) * PANEL):
            if limit[i] >= 0.0:
                n_asking += 1
                for slot in range(last + 1):
                    squared[i, slot] = np.inf
        if n_asking == 0:
            continue
        block, at = divmod(panel, BLOCK)
        for feature in range(tree.rows.shape[1]):
            walk.low[feature] = tree.low[block, feature, at]
            walk.high[feature] = tree.high[block, feature, at]
        start_walk(walk, panel)
        while True:
            other = next_panel(tree, walk, limit, panel * PANEL, common, -1)
            if other < 0:
                break
            for row in range(panel * PANEL, (panel + 1) * PANEL, ROWS):
                mask = tile_below(
                    tree.rows, row, tree.panels, other, limit, no_limit, 0, out
                )
                while mask != 0:
                    bit = lowest_bit(mask)
                    mask &= mask - np.uint64(1)
                    i, j = row + bit // PANEL, other * PANEL + bit % PANEL
                    if i == j:
                        continue
                    value = squared_distance(X, i, j)
                    if _comes_before(place, squared, source, i, j, value, last):
                        _put_in_order(place, squared, source, i, j, value, last)


# Arrays one by one: to pass all of them in a tuple would cost more than the work.
@kernel
def _put_in_order(
    place: I32, squared: F64, source: I64, at: int, neighbor: int, value: float, to: int
) -> None:
    """Enter a neighbor into an ordered list that ends before ``to``."""
    while to > 0 and _comes_before(place, squared, source, at, neighbor, value, to - 1):
        squared[at, to] = squared[at, to - 1]
        place[at, to] = place[at, to - 1]
        to -= 1
    squared[at, to] = value
    place[at, to] = neighbor


@kernel
def _comes_before(
    place: I32,
    squared: F64,
    source: I64,
    at: int,
    neighbor: int,
    value: float,
    slot: int,
) -> bool:
    """Whether a neighbor comes before what is in a slot of a list.

    Edges that share a point compare by their other ends if equally long.
    """
    other = squared[at, slot]
    return value < other or (
        value == other and source[neighbor] < source[place[at, slot]]
    )


@kernel
def _gather(
    groups: Groups,
    near: I64,
    near_squared: F64,
    indices: I64,
    squared: F64,
    begin: int,
    stop: int,
) -> None:
    """Fill in the neighbors of some rows: their equals, and those of near groups.

    A group may be as far as the last of the neighbors; then the rows decide.
    """
    group, members, start = groups
    k = indices.shape[1]
    for row in range(begin, stop):
        own = group[row]
        filled = 0
        for number in range(-1, near.shape[1]):
            at = own if number < 0 else near[own, number]
            value = 0.0 if number < 0 else near_squared[own, number]
            if filled == k and value > squared[row, k - 1]:
                break
            for place in range(start[at], start[at + 1]):
                other = members[place]
                if other == row:
                    continue
                if filled == k and other > indices[row, k - 1]:
                    break
                slot = min(filled, k - 1)
                squared[row, slot] = value
                while (
                    slot > 0
                    and squared[row, slot - 1] == value
                    and indices[row, slot - 1] > other
                ):
                    indices[row, slot] = indices[row, slot - 1]
                    slot -= 1
                indices[row, slot] = other
                filled = min(filled + 1, k)


@kernel
def _compare_with_all(strips: F64, rows: I64, indices: I64, squared: F64) -> None:
    """Fill in the neighbors of some rows, by the distances to all others."""
    n_strips, n_features, _ = strips.shape
    n, k = indices.shape
    point = np.empty(n_features)
    distance = np.empty(n_strips * STRIP)
    for row in rows:
        for feature in range(n_features):
            point[feature] = strips[row // STRIP, feature, row % STRIP]
        squared_to_all(strips, point, distance)
        distance[row] = np.inf
        for other in range(n):
            if distance[other] < squared[row, k - 1]:
                keep_nearest(indices, squared, row, other, distance[other])
