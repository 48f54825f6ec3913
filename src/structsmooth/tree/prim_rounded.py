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
from structsmooth.support.vectors import lowest_bit
from structsmooth.tree.exact import F32, I32, I64, Edges, precedes, squared_distance
from structsmooth.tree.prim_gram import TRADE
from structsmooth.tree.rounding import round_points
from structsmooth.tree.simd_strips import LONG_STRIP, strip_near

# Close calls for each point before float32 is given up.
CLOSE_CALLS = 8
_INFINITY = np.float32(np.inf).view(np.int32)
_ZERO, _ONE, _MORE = np.float32(0.0), np.float32(1.0), np.float32(1.0 + 1e-6)


class Open(NamedTuple):
    """The points outside of the tree, by place, and their shortest links to it."""

    strips: F32  # (strips, d, 64): coordinates, NaN where there is no point
    row: I64  # which row of the input is at each place
    margin: F32  # twice the absolute error of a squared length
    squared: F32  # squared length of the link in the float32 copy
    to: I64  # the row of the tree at its other end, -1 if there is no link yet
    floor: I32  # the true squared length is not below this, given as bits,
    reach: F32  # and that of a link that exceeds this is not below the true one
    lowest: I32  # (strips,): the bits of the smallest floor of each strip


def prim_rounded(X: NDArray[Any]) -> Edges | None:
    """Return the tree's edges in the order in which they are found.

    None if there are too many close calls.
    """
    n, d = X.shape
    points, error = round_points(X, rotate=False)
    n_strips = -(-n // LONG_STRIP)
    n_places = n_strips * LONG_STRIP
    strips = np.full((n_places, d), np.nan, np.float32)
    strips[:n] = points
    strips = strips.reshape(n_strips, LONG_STRIP, d).transpose(0, 2, 1)
    # A hundredth more, for the rounding of the comparisons themselves.
    margin = np.zeros(n_places, np.float32)
    margin[:n] = 1.01 * 2.0 * error.slack**2 * (1.0 + 1.0 / TRADE)
    reach = np.full(n_places, np.inf, np.float32)
    reach[n:] = -np.inf
    left = Open(
        strips=np.ascontiguousarray(strips),
        row=np.arange(n_places),
        margin=margin,
        squared=np.full(n_places, np.inf, np.float32),
        to=np.full(n_places, -1),
        floor=np.full(n_places, _INFINITY, np.int32),
        reach=reach,
        lowest=np.full(n_strips, _INFINITY, np.int32),
    )
    edges = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    rho = np.float32(1.01 * (4.0 * error.relative + TRADE))
    return edges if grow_rounded(X, left, rho, edges, CLOSE_CALLS * n) else None


@kernel
def grow_rounded(
    X: NDArray[Any],
    left: Open,
    rho: np.float32,
    edges: Edges,
    budget: int,
) -> bool:
    """Grow the tree from the first row; return whether the budget sufficed.

    Points that have joined the tree make way for open ones, which halves the work. A
    new link is rarely as short as the old one, so most strips stay as they are.
    """
    n, n_features = X.shape
    starts, ends, lengths = edges
    strips, row_of, margin = left.strips, left.row, left.margin
    squared, to, floor = left.squared, left.to, left.floor
    reach, lowest = left.reach, left.lowest
    point = np.empty(n_features, np.float32)
    fresh = np.empty(LONG_STRIP, np.float32)
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
        floor[chosen], reach[chosen] = floor[n_open], reach[n_open]
        floor[n_open], reach[n_open] = _INFINITY, -np.inf
        lowest[strip] = _smallest(floor, strip)
        lowest[last_strip] = _smallest(floor, last_strip)

        n_strips = (n_open + LONG_STRIP - 1) // LONG_STRIP
        least, nearest_strip = _INFINITY, 0
        for strip in range(n_strips):
            near = strip_near(strips, strip, point, reach, fresh)
            while near != 0:
                lane = lowest_bit(near)
                near &= near - np.uint64(1)
                at = strip * LONG_STRIP + lane
                old, new = squared[at], fresh[lane]
                if to[at] >= 0 and abs(old - new) <= rho * (old + new) + margin[at]:
                    budget -= 1
                    old_length = squared_distance(X, row_of[at], to[at])
                    length = squared_distance(X, row_of[at], row)
                    # Edges that share a point compare by their other ends if equally
                    # long.
                    if length > old_length or (length == old_length and row > to[at]):
                        continue
                elif new > old:
                    continue
                squared[at], to[at] = new, row
                floor[at] = _bits(max(new * (_ONE - rho) - margin[at], _ZERO))
                reach[at] = (new * (_ONE + rho) + margin[at]) / (_ONE - rho) * _MORE
                if new <= old:
                    lowest[strip] = min(lowest[strip], floor[at])
                else:  # shorter by the exact distances only
                    lowest[strip] = _smallest(floor, strip)
            if lowest[strip] < least:
                least, nearest_strip = lowest[strip], strip
        if budget < 0:
            return False
        for at in range(nearest_strip * LONG_STRIP, (nearest_strip + 1) * LONG_STRIP):
            chosen = at if floor[at] == least else chosen
        # Whatever may be shorter than this link has a lower floor than its reach.
        most = _bits(reach[chosen])
        count = 0
        for strip in range(n_strips):
            if lowest[strip] <= most:
                for at in range(strip * LONG_STRIP, (strip + 1) * LONG_STRIP):
                    count += floor[at] <= most
        if count > 1:
            budget -= count
            chosen = _first_in_order(X, floor, row_of, to, chosen, most)
        starts[step], ends[step] = row_of[chosen], to[chosen]
        lengths[step] = squared_distance(X, row_of[chosen], to[chosen])
    return True


@kernel
def _bits(number: Any) -> Any:
    """Return the bits; those of numbers of at least 0 are in the same order."""
    return np.float32(number).view(np.int32)


@kernel
def _smallest(floor: I32, strip: int) -> Any:
    smallest = floor[strip * LONG_STRIP]
    for at in range(strip * LONG_STRIP, (strip + 1) * LONG_STRIP):
        smallest = min(smallest, floor[at])
    return smallest


@kernel
def _first_in_order(
    X: NDArray[Any], floor: I32, row: I64, to: I64, chosen: int, most: np.int32
) -> int:
    """Return the place whose link comes first, of all that may be the shortest."""
    length = squared_distance(X, row[chosen], to[chosen])
    for at in range(len(floor)):
        if floor[at] <= most:
            own = squared_distance(X, row[at], to[at])
            if precedes(own, row[at], to[at], length, row[chosen], to[chosen]):
                chosen, length = at, own
    return chosen
