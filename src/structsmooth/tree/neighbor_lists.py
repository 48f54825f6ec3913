"""The k nearest neighbors of every point, found in float32 for sixteen at a time.

The lists of the sixteen points of a panel are kept side by side, and a point enters all
of them at once. Each list has a limit of its own, and whatever is farther from all of
the points than their limits is left out. In the end the lists get exact distances, and
a bound on everything that is not in them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.parallel import in_threads
from structsmooth.support.vectors import aligned, lowest_bit
from structsmooth.tree.exact import F64, I32, I64, Floats, squared_distance
from structsmooth.tree.kdtree import (
    BLOCK,
    KDTree,
    build_kdtree,
    next_panel,
    start_walk,
    walk_for,
)
from structsmooth.tree.rounding import ErrorBound, no_rounding, round_points
from structsmooth.tree.simd import (
    PANEL,
    ROWS,
    insert_nearer,
    panel_near_box,
    tile_below,
)

# A rotation pays from this many features, and this many rows for each of them.
ROTATE_FEATURES, ROTATE_ROWS = 9, 8
# So many principal axes, the widest, are enough to split by.
WIDEST_AXES = 16
# The bits of the points of a panel.
A_PANEL = np.uint64(2**PANEL - 1)
# Panels that are searched for first, to see how many others they are compared with.
PILOT = 12
# If this share of all panels would be searched, each pair is compared once instead.
MOST_SEARCHED = 0.5


class Lists(NamedTuple):
    """The nearest points of each place in the tree's numbers, nearest first."""

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


def place_points(X: NDArray[Any], exactly: bool = False) -> tuple[KDTree, ErrorBound]:
    """Return a tree of the points in float32, and how far its distances can be off.

    Or exactly: of the data themselves, which takes longer to search, for data whose
    distances float32 cannot tell apart.
    """
    n, d = X.shape
    rotate = d >= ROTATE_FEATURES and n >= ROTATE_ROWS * d and not exactly
    points: Floats
    if exactly:
        points, error = X.astype(np.float64), no_rounding(n, d)
    else:
        points, error = round_points(X, rotate)
    tree = build_kdtree(points, min(d, WIDEST_AXES) if rotate else d)
    return tree, error._replace(slack=error.slack[tree.order])


def look_around(tree: KDTree, k: int) -> tuple[float, float]:
    """Search for the neighbors of a few panels, to see what the data are like.

    Returns the share of all panels that a panel must be compared with, which depends on
    the intrinsic dimension; and how many times as far as for one in ten points the
    last neighbor is for nine in ten, squared.
    """
    n_panels = len(tree.panels)
    step = max(1, n_panels // PILOT)
    lists = _empty_lists(tree, k)
    n_compared = search_panels(tree, *lists, _memory(tree, k), 0, step)
    share = n_compared / (len(range(0, n_panels, step)) * n_panels)
    reach = np.sort(lists.limit[lists.limit >= 0.0])  # without places not looked at
    near, far = float(reach[len(reach) // 10]), float(reach[-1 - len(reach) // 10])
    return share, far / near if near > 0.0 else np.inf


def list_neighbors(
    X: NDArray[Any],
    tree: KDTree,
    error: ErrorBound,
    k: int,
    n_threads: int,
    share: float | None = None,
) -> ListedPoints:
    """Return the points with lists of their k nearest neighbors.

    ``share`` is that of `look_around`, if it was called.
    """
    n, lists = len(X), _empty_lists(tree, k)
    if share is None:
        share, _ = look_around(tree, k)
    if share > MOST_SEARCHED:
        _compare_all(tree, lists, k, n_threads)
    else:
        in_threads(
            n_threads,
            lambda number: search_panels(
                tree, *lists, _memory(tree, k), number, n_threads
            ),
        )
    source = tree.order
    listed = ListedPoints(
        X=X.take(source, axis=0),
        source=source,
        tree=tree,
        place=lists.place,
        squared=np.full((n, k), np.inf),
        beyond=np.empty(n),
        error=error,
    )
    cuts = [n * number // n_threads for number in range(n_threads + 1)]
    in_threads(
        n_threads,
        lambda number: _refine(listed, lists.limit, cuts[number], cuts[number + 1]),
    )
    return listed


def _compare_all(tree: KDTree, lists: Lists, k: int, n_threads: int) -> None:
    """Fill the lists by comparing all panels, each thread with lists of its own.

    The limits are those of all threads: whatever is beyond one of them is in no list
    in the end. So it does no harm that one thread may write over another's.
    """
    n_panels = len(tree.panels)
    memories = [_memory(tree, k, n_panels) for _ in range(n_threads)]
    lists.limit[:] = np.inf
    in_threads(
        n_threads,
        lambda number: compare_panels(
            tree, lists.limit, memories[number], number, n_threads
        ),
    )
    squared, _, place, *_ = memories[0]
    for others, _, their_place, *_ in memories[1:]:
        _merge_lists(squared, place, others, their_place)
    _by_point(squared, place, *lists)


def _empty_lists(tree: KDTree, k: int) -> Lists:
    n_places, kind = len(tree.rows), tree.rows.dtype
    return Lists(
        place=np.empty((n_places, k), np.int32),
        limit=aligned((n_places,), kind, np.nan),
    )


def _memory(tree: KDTree, k: int, n_panels: int = 1) -> tuple[Any, ...]:
    """Return memory for a search: the lists of some panels, and what tiles need."""
    kind = tree.rows.dtype
    squared = aligned((n_panels, k, PANEL), kind, np.inf)
    place = aligned((n_panels, k, PANEL), np.int32, -1)
    no_limit = np.full(len(tree.rows), -np.inf, kind)
    out, nothing = aligned((ROWS * PANEL,), kind, 0), np.zeros(1, np.int32)
    common = np.zeros(len(tree.low) * BLOCK, np.int32)  # nothing is left out
    flat, walk = squared.ravel(), walk_for(tree)
    return squared, flat, place, no_limit, out, nothing, walk, common


@kernel
def search_panels(
    tree: KDTree,
    all_places: I32,
    limit: Floats,
    memory: Any,
    first: int,
    step: int,
) -> int:
    """Fill the lists of the panels number first, first + step, ...

    Panels are visited from the own one upwards, unless no point is nearer to their box
    than the last one in its list. That the distance to a box is rounded is allowed for
    in the bound on what is not in a list. Returns how many panels were compared with
    each other.
    """
    rows, panels, low, high = tree.rows, tree.panels, tree.low, tree.high
    squared, flat, place, no_limit, out, nothing, walk, common = memory
    n, k = len(tree.order), squared.shape[1]
    last = (k - 1) * PANEL
    infinity = no_limit.dtype.type(np.inf)
    n_compared = 0
    for panel in range(first, panels.shape[0], step):
        for slot in range(k):
            for lane in range(PANEL):
                is_point = panel * PANEL + lane < n
                squared[0, slot, lane] = infinity if is_point else -infinity
                place[0, slot, lane] = -1
        block, at = divmod(panel, BLOCK)
        for feature in range(rows.shape[1]):
            walk.low[feature] = low[block, feature, at]
            walk.high[feature] = high[block, feature, at]
        start_walk(walk, panel)
        while True:
            other = next_panel(tree, walk, flat, last, common, -1)
            if other < 0:
                break
            if panel_near_box(panels, panel, low, high, other, flat, last) == 0:
                continue
            n_compared += 1
            for row in range(other * PANEL, (other + 1) * PANEL, ROWS):
                mask = tile_below(rows, row, panels, panel, no_limit, flat, last, out)
                if mask == 0:
                    continue
                if other == panel:  # no point is its own neighbor
                    for r in range(ROWS):
                        out[r * PANEL + row + r - panel * PANEL] = infinity
                for r in range(ROWS):
                    if (mask >> np.uint64(r * PANEL)) & A_PANEL != 0:
                        insert_nearer(out, r, mask, row + r, squared, place, 0, nothing)
        for i in range(panel * PANEL, min((panel + 1) * PANEL, n)):
            lane = i - panel * PANEL
            for slot in range(k):
                all_places[i, slot] = place[0, slot, lane]
            limit[i] = squared[0, k - 1, lane]
    return n_compared


@kernel
def compare_panels(
    tree: KDTree, limit: Floats, memory: Any, first: int, step: int
) -> None:
    """Compare panel number first, first + step, ... with itself and those after it.

    Each pair is compared once, for the lists of both, which are left in the memory.
    """
    rows, panels = tree.rows, tree.panels
    squared, _, place, _, out, nothing, _, _ = memory
    n_panels, k = panels.shape[0], squared.shape[1]
    infinity = limit.dtype.type(np.inf)
    for panel in range(n_panels):
        for slot in range(k):
            for lane in range(PANEL):
                squared[panel, slot, lane] = infinity
                place[panel, slot, lane] = -1
    for panel in range(first, n_panels, step):
        begin = panel * PANEL
        for row in range(begin, begin + PANEL, ROWS):
            mask = tile_below(rows, row, panels, panel, limit, limit, begin, out)
            for r in range(ROWS):
                out[r * PANEL + row + r - begin] = infinity  # not its own neighbor
                insert_nearer(out, r, mask, row + r, squared, place, panel, nothing)
        _lower_limits(limit, squared, panel)
    for panel in range(first, n_panels, step):
        begin = panel * PANEL
        for row in range(begin + PANEL, n_panels * PANEL, ROWS):
            mask = tile_below(rows, row, panels, panel, limit, limit, begin, out)
            if mask == 0:
                continue
            for r in range(ROWS):
                bits = (mask >> np.uint64(r * PANEL)) & A_PANEL
                if bits == 0:
                    continue
                insert_nearer(out, r, mask, row + r, squared, place, panel, nothing)
                other, at = (row + r) // PANEL, (row + r) % PANEL
                while bits != 0:
                    lane = lowest_bit(bits)
                    bits &= bits - np.uint64(1)
                    value = out[r * PANEL + lane]
                    if value < squared[other, k - 1, at]:
                        _insert(squared, place, other, at, value, begin + lane)
                        limit[row + r] = min(limit[row + r], squared[other, k - 1, at])
            _lower_limits(limit, squared, panel)


@kernel
def _lower_limits(limit: Floats, squared: Floats, panel: int) -> None:
    """Lower the limits of a panel to the last ones in its lists."""
    k = squared.shape[1]
    for lane in range(PANEL):
        value = squared[panel, k - 1, lane]
        if value < limit[panel * PANEL + lane]:
            limit[panel * PANEL + lane] = value


# Arrays one by one: to pass all of them in a tuple would cost more than the work.
@kernel
def _insert(
    squared: Floats, place: I32, panel: int, lane: int, value: Any, number: int
) -> None:
    """Enter a point into one list of a panel, where the last one leaves."""
    slot = squared.shape[1] - 1
    while slot > 0 and squared[panel, slot - 1, lane] > value:
        squared[panel, slot, lane] = squared[panel, slot - 1, lane]
        place[panel, slot, lane] = place[panel, slot - 1, lane]
        slot -= 1
    squared[panel, slot, lane] = value
    place[panel, slot, lane] = number


@kernel
def _merge_lists(squared: Floats, place: I32, others: Floats, their_place: I32) -> None:
    """Enter the points of other lists wherever they are nearer."""
    n_panels, k, _ = squared.shape
    for panel in range(n_panels):
        for lane in range(PANEL):
            for slot in range(k):
                value = others[panel, slot, lane]
                if value >= squared[panel, k - 1, lane]:
                    break
                number = their_place[panel, slot, lane]
                _insert(squared, place, panel, lane, value, number)


@kernel
def _by_point(squared: Floats, place: I32, all_places: I32, limit: Floats) -> None:
    """Write the lists of panels point by point."""
    k = squared.shape[1]
    for i in range(len(limit)):
        panel, lane = i // PANEL, i % PANEL
        for slot in range(k):
            all_places[i, slot] = place[panel, slot, lane]
        limit[i] = squared[panel, k - 1, lane]


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
