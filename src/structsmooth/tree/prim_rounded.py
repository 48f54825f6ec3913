"""Prim's algorithm on float32 distances, every close call decided exactly.

For some thousand points. The distances are those of the float32 copy, each a little
off, by the bounds of `structsmooth.tree.prim_gram` without the error of inner products.
Two of them that are too close to tell apart are a close call, and exact distances
decide it, so that the result is that of `structsmooth.tree.prim`. Where close calls are
the rule, as in discrete data, this is given up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import aligned, lowest_bit
from structsmooth.tree.exact import (
    F32,
    F64,
    I32,
    I64,
    Edges,
    precedes,
    squared_distance,
)
from structsmooth.tree.kdtree import KDTree
from structsmooth.tree.prim_gram import TRADE
from structsmooth.tree.rounding import ErrorBound, round_points
from structsmooth.tree.simd_strips import (
    LONG_STRIP,
    approach_strip,
    lanes_up_to,
    least_of_strip,
)

# Close calls for each point before float32 is given up.
CLOSE_CALLS = 8
# Squared lengths where there is no link yet, and where there is no open point.
NO_LINK, NO_POINT = np.float32(1e38), np.float32(np.inf)
# The bits of infinity.
INFINITE = np.float32(np.inf).view(np.int32)


class Open(NamedTuple):
    """The points outside of the tree, by place, and their shortest links to it."""

    strips: F32  # (strips, d, 64): coordinates, NaN where there is no point
    row: I64  # which row of the input is at each place
    squared: F32  # squared length of the link in the float32 copy
    to: I32  # the row of the tree at its other end
    margin: F32  # twice the absolute error of a squared length
    lowest: I32  # (strips,): the bits of what no true squared length is below


class Memory(NamedTuple):
    """Memory for working."""

    point: F32  # (d,)
    fresh: F32  # (64,)
    nothing: I32  # (1,): zero


def prim_rounded(X: NDArray[Any]) -> Edges | None:
    """Return the tree's edges in the order in which they are found.

    None if there are too many close calls.
    """
    points, error = round_points(X, rotate=False)
    return _grow(X, points, np.arange(len(X)), error)


def prim_placed(X: NDArray[Any], tree: KDTree, error: ErrorBound) -> Edges | None:
    """Return the same for points that have been placed in a tree.

    That puts points that are near each other into the same strips, of which fewer
    change when the tree grows. For this alone a tree would take too long to build.
    """
    return _grow(X, tree.rows[: len(X)], tree.order, error)


def _grow(X: NDArray[Any], points: F32, order: I64, error: ErrorBound) -> Edges | None:
    """Return the same for points in an order of which the error has the slack."""
    n, d = X.shape
    n_strips = -(-n // LONG_STRIP)
    n_places = n_strips * LONG_STRIP
    squared, margin = aligned((2, n_places), np.float32, 0.0)
    left = Open(
        strips=aligned((n_strips, d, LONG_STRIP), np.float32, np.nan),
        row=np.empty(n_places, np.int64),
        squared=squared,
        to=aligned((n_places,), np.int32, 0),
        margin=margin,
        lowest=np.empty(n_strips, np.int32),
    )
    memory = Memory(
        point=np.empty(d, np.float32),
        fresh=aligned((LONG_STRIP,), np.float32, 0.0),
        nothing=np.zeros(1, np.int32),
    )
    # Two squared lengths of the copy whose errors allow either order are within these
    # factors of each other, and a margin.
    rho = 1.01 * (error.relative + TRADE)
    wider = (1.0 + rho) / (1.0 - rho) * (1.0 + 2e-6)
    factors = np.array([1.0 / wider, wider], np.float32)
    edges = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    placed = points, order, error.slack
    if grow_rounded(X, placed, left, factors, memory, edges, CLOSE_CALLS * n):
        return edges
    return None


@kernel
def grow_rounded(
    X: NDArray[Any],
    placed: tuple[F32, I64, F64],
    left: Open,
    factors: F32,
    memory: Memory,
    edges: Edges,
    budget: int,
) -> bool:
    """Grow the tree from the first point; return whether the budget sufficed.

    The points of the float32 copy are ``placed`` in some order, with their slacks.

    Points that have joined the tree make way for open ones, which halves the work. A
    new link is rarely as short as the old one, so most strips stay as they are.
    """
    n, n_features = X.shape
    starts, ends, lengths = edges
    strips, row_of, squared, to, margin, lowest = left
    point, fresh, nothing = memory
    wider = factors[1]
    points, order, slack = placed
    for i in range(strips.shape[0] * LONG_STRIP):
        if i >= n:
            squared[i] = NO_POINT
            continue
        row_of[i], squared[i] = order[i], NO_LINK
        # A hundredth more, for the rounding of the comparisons themselves.
        margin[i] = 1.01 * wider * 2.0 * slack[i] ** 2 * (1.0 + 1.0 / TRADE)
        strip, lane = divmod(i, LONG_STRIP)
        for feature in range(n_features):
            strips[strip, feature, lane] = points[i, feature]
    for strip in range(strips.shape[0]):
        lowest[strip] = least_of_strip(squared, strip, margin, factors)
    chosen = 0
    n_open = n
    for step in range(n - 1):
        # The chosen point joins the tree, and the last open one takes its place.
        row = row_of[chosen]
        n_open -= 1
        strip, lane = divmod(chosen, LONG_STRIP)
        last_strip, last_lane = divmod(n_open, LONG_STRIP)
        for feature in range(n_features):
            point[feature] = strips[strip, feature, lane]
            strips[strip, feature, lane] = strips[last_strip, feature, last_lane]
            strips[last_strip, feature, last_lane] = np.nan
        row_of[chosen], to[chosen] = row_of[n_open], to[n_open]
        margin[chosen], squared[chosen] = margin[n_open], squared[n_open]
        squared[n_open] = NO_POINT
        lowest[strip] = least_of_strip(squared, strip, margin, factors)
        lowest[last_strip] = least_of_strip(squared, last_strip, margin, factors)

        n_strips = (n_open + LONG_STRIP - 1) // LONG_STRIP
        least, second, nearest = INFINITE, INFINITE, 0
        for number in range(n_strips):
            # Back and forth: what was worked on last is still in the nearest cache.
            strip = number if step % 2 == 0 else n_strips - 1 - number
            close = approach_strip(
                strips,
                strip,
                point,
                np.int32(row),
                squared,
                to,
                margin,
                factors,
                lowest,
                fresh,
                nothing,
            )
            if close != 0:
                budget -= _settle(X, row_of, squared, to, strip, row, close, fresh)
                lowest[strip] = least_of_strip(squared, strip, margin, factors)
            own = lowest[strip]
            second = min(second, max(least, own))
            nearest = strip if own < least else nearest
            least = min(least, own)
        if budget < 0:
            return False
        lane = lowest_bit(lanes_up_to(squared, nearest, margin, factors, least))
        chosen = nearest * LONG_STRIP + lane
        # Whatever may be shorter than this link is not above it by more than this.
        highest = squared[chosen] * wider + margin[chosen]
        most = np.float32(highest).view(np.int32)
        rivals = lanes_up_to(squared, nearest, margin, factors, most)
        if second <= most or rivals & (rivals - np.uint64(1)) != 0:
            row = row_of[chosen]
            length = squared_distance(X, row, to[chosen])
            for strip in range(n_strips):
                if lowest[strip] <= most:
                    rivals = lanes_up_to(squared, strip, margin, factors, most)
                    chosen, length, count = _first_in_order(
                        X, rivals, row_of, to, strip, chosen, length
                    )
                    budget -= count
        starts[step], ends[step] = row_of[chosen], to[chosen]
        lengths[step] = squared_distance(X, row_of[chosen], to[chosen])
    return True


# Arrays one by one: to pass all of them in a tuple would cost more than the work.
@kernel
def _settle(
    X: NDArray[Any],
    row_of: I64,
    squared: F32,
    to: I32,
    strip: int,
    row: int,
    close: np.uint64,
    fresh: F32,
) -> int:
    """Decide the close calls of a strip by exact distances; return how many."""
    count = 0
    while close != 0:
        lane = lowest_bit(close)
        close &= close - np.uint64(1)
        count += 1
        at = strip * LONG_STRIP + lane
        length = squared_distance(X, row_of[at], row)
        old_length = squared_distance(X, row_of[at], to[at])
        # Edges that share a point compare by their other ends if equally long.
        if length < old_length or (length == old_length and row < to[at]):
            squared[at], to[at] = fresh[lane], row
    return count


@kernel
def _first_in_order(
    X: NDArray[Any],
    rivals: np.uint64,
    row_of: I64,
    to: I32,
    strip: int,
    chosen: int,
    length: float,
) -> tuple[int, float, int]:
    """Return the place whose link comes first, and its length.

    Of those in a strip that may be the shortest, and the one that is chosen so far. And
    how many there are in the strip.
    """
    count = 0
    while rivals != 0:
        at = strip * LONG_STRIP + lowest_bit(rivals)
        rivals &= rivals - np.uint64(1)
        count += 1
        own = squared_distance(X, row_of[at], to[at])
        if precedes(own, row_of[at], to[at], length, row_of[chosen], to[chosen]):
            chosen, length = at, own
    return chosen, length, count
