"""Prim's algorithm over strips of near points, most of which can wait.

For some thousand points in few dimensions. A k-d tree sorts the points into strips of
64. A point that joins the tree is compared at once with the strips whose boxes are
near. What it means for others is put off: there is a length up to which the links of a
strip's points to the tree are `known`, and a lower bound on the links that are not,
which are `pending`. When one of these may be the shortest of all, the strip catches up:
its links become known up to twice the length in question.

Distances are those of the float32 copy, with the bounds on their errors that
`structsmooth.tree.prim_rounded` has, and exact distances decide every close call. The
distance to a box is a sum over the same features, in the same order, as that to a point
in the box. Rounding never changes which of two numbers is the larger, so it cannot
exceed that to the point.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import LANES, lowest_bit
from structsmooth.tree import prim_rounded
from structsmooth.tree.exact import (
    F32,
    F64,
    I32,
    I64,
    Edges,
    precedes,
    squared_distance,
)
from structsmooth.tree.kdtree import build_kdtree
from structsmooth.tree.prim import last_up_to, min_of
from structsmooth.tree.prim_gram import TRADE
from structsmooth.tree.rounding import round_points
from structsmooth.tree.simd_strips import (
    LONG_STRIP,
    approach_strip,
    gaps_of_boxes,
    pass_boxes,
    strip_ends,
)

# A strip that catches up does so to this many times the squared length in question.
AHEAD = np.float32(4.0)
# Squared lengths where there is no link yet, and where there is no open point.
NO_LINK, NO_POINT = np.float32(1e38), np.float32(-1e38)
MOST = np.float32(1e37)  # all real ones are below
# What `approach_strip` returns if there are close calls.
CLOSE = 2
_INFINITY = np.float32(np.inf)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


class Places(NamedTuple):
    """The points by place in the strips, and the shortest links of the open ones."""

    strips: F32  # (strips, d, 64): coordinates, NaN where there is no point
    row: I64  # which row of the input is at each place
    squared: F32  # squared length of the shortest known link, in the float32 copy
    to: I32  # the place in the tree that the link leads to
    margin: F32  # twice the absolute error of a squared length


class Strips(NamedTuple):
    """What is known of the points of each strip."""

    joined: NDArray[np.uint64]  # which of them are in the tree, bit by bit
    known: F32  # all links up to this squared length are known
    pending: F32  # the true squared length of any other link is not below this,
    pending_bits: I32  # given as integers in the same memory, too,
    floor: F32  # and that of a known one not below this
    floor_bits: I32
    reach: F32  # links that exceed this are not the shortest of any point
    margin: F32  # the largest of its points
    low: F32  # (blocks, d, 16): boxes around the points, sixteen boxes at a time
    high: F32
    open_low: F32  # around those that were open when the strip last caught up
    open_high: F32


class Memory(NamedTuple):
    """Memory for working: kernels that make arrays take longer to compile."""

    point: F32  # (d,)
    low: F32
    high: F32
    gaps: F32  # (64,)
    fresh: F32
    fresh_bits: I32  # the same memory as integers
    near: I64  # (strips,)
    near_gap: F32
    extremes: I32  # (3,): zeros


def prim_lazy(X: NDArray[Any]) -> Edges | None:
    """Return the tree's edges in the order in which they are found.

    None if there are too many close calls.
    """
    n, d = X.shape
    points, error = round_points(X, rotate=False)
    tree = build_kdtree(points, 1, LONG_STRIP)
    n_strips = len(tree.panels)
    # A hundredth more, for the rounding of the comparisons themselves.
    margin = np.zeros(n_strips * LONG_STRIP, np.float32)
    margin[:n] = 1.01 * 2.0 * error.slack[tree.order] ** 2 * (1.0 + 1.0 / TRADE)
    places = _places_of(tree.panels, tree.order, margin)
    leaves = np.flatnonzero(tree.end > tree.start)
    leaves = leaves[leaves >= len(tree.start) // 2]
    strips = _strips_of(
        tree.low[leaves],
        tree.high[leaves],
        margin.reshape(n_strips, LONG_STRIP).max(axis=1),
    )
    rho = 1.01 * (4.0 * error.relative + TRADE)
    factors = np.array(
        [rho, 1.0 + rho, (1.0 + 2e-6) / (1.0 - rho), 1.0 - rho], np.float32
    )
    edges = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    memory = _memory(d, n_strips)
    budget = prim_rounded.CLOSE_CALLS * n
    exact = X.astype(np.float64, copy=False)  # so that one type is compiled
    if grow_lazily(exact, places, strips, factors, memory, edges, budget):
        return edges
    return None


def _places_of(points: F32, order: I64, margin: F32) -> Places:
    n, n_places = len(order), len(points) * LONG_STRIP
    row = np.zeros(n_places, np.int64)
    row[:n] = order
    squared = np.full(n_places, NO_POINT)
    squared[:n] = NO_LINK
    to = np.zeros(n_places, np.int32)
    return Places(points, row, squared, to, margin)


def _strips_of(low: F32, high: F32, margin: F32) -> Strips:
    n_strips, d = low.shape
    n_blocks = -(-n_strips // LANES)
    n_boxes = n_blocks * LANES

    def padded(values: NDArray[Any], other: float) -> F32:
        array = np.full((n_boxes, *values.shape[1:]), other, np.float32)
        array[:n_strips] = values
        return array

    def in_blocks(values: F32) -> F32:
        blocks = values.reshape(n_blocks, LANES, d).transpose(0, 2, 1)
        return np.ascontiguousarray(blocks)

    low, high = in_blocks(padded(low, np.inf)), in_blocks(padded(high, -np.inf))
    pending, floor = np.full((2, n_boxes), _INFINITY)
    return Strips(
        joined=np.zeros(n_boxes, np.uint64),
        known=np.full(n_boxes, -_ONE),
        pending=pending,
        pending_bits=pending.view(np.int32),
        floor=floor,
        floor_bits=floor.view(np.int32),
        reach=padded(np.full(n_strips, _INFINITY), -1.0),
        margin=padded(margin, 0.0),
        low=low,
        high=high,
        open_low=low.copy(),
        open_high=high.copy(),
    )


def _memory(d: int, n_strips: int) -> Memory:
    sizes = d, d, d, LONG_STRIP, LONG_STRIP, n_strips
    point, low, high, gaps, fresh, near_gap = (
        np.empty(size, np.float32) for size in sizes
    )
    near, extremes = np.empty(n_strips, np.int64), np.zeros(3, np.int32)
    bits = fresh.view(np.int32)
    return Memory(point, low, high, gaps, fresh, bits, near, near_gap, extremes)


@kernel
def grow_lazily(
    X: F64,
    places: Places,
    strips: Strips,
    factors: F32,
    memory: Memory,
    edges: Edges,
    budget: int,
) -> bool:
    """Grow the tree from the first place; return whether the budget sufficed."""
    n, n_features = X.shape
    starts, ends, lengths = edges
    points, row_of, squared, to = places.strips, places.row, places.squared, places.to
    floor_bits, pending_bits = strips.floor_bits, strips.pending_bits
    floor, reach, margin = strips.floor, strips.reach, places.margin
    point, extremes = memory.point, memory.extremes
    wider, over, smaller = factors[1], factors[2], factors[3]
    chosen: Any = np.int64(0)
    for step in range(n - 1):
        # The chosen point joins the tree, and the strips nearby learn of it.
        strip, lane = chosen // LONG_STRIP, chosen % LONG_STRIP
        for feature in range(n_features):
            point[feature] = points[strip, feature, lane]
        squared[chosen] = NO_POINT
        strips.joined[strip] |= np.uint64(1) << np.uint64(lane)
        strip_ends(squared, strip, factors, margin, extremes)
        _set_ends(extremes, strip, floor, reach)
        for block in range(strips.low.shape[0]):
            mask = pass_boxes(
                strips.open_low,
                strips.open_high,
                block,
                point,
                strips.known,
                reach,
                strips.margin,
                smaller,
                strips.pending,
            )
            while mask != 0:
                strip = block * LANES + lowest_bit(mask)
                mask &= mask - np.uint64(1)
                change = approach_strip(
                    points,
                    strip,
                    point,
                    np.int32(chosen),
                    squared,
                    to,
                    factors,
                    margin,
                    memory.fresh,
                    extremes,
                )
                if change == CLOSE:
                    budget -= _settle(X, places, strip, chosen, factors, memory)
                if change != 0:
                    _set_ends(extremes, strip, floor, reach)
        while True:
            strip, lowest = _find_least(floor_bits)
            is_linked = _number(lowest) < MOST
            most = NO_LINK
            if is_linked:
                _set_floors(squared, margin, strip, smaller, memory.fresh)
                lane, _ = _find_least(memory.fresh_bits)
                chosen = strip * LONG_STRIP + lane
                most = (squared[chosen] * wider + margin[chosen]) * over
            late, soonest = _find_least(pending_bits)
            if soonest > _bits(most):
                break
            length = most if is_linked else strips.pending[late]
            budget -= _catch_up(X, places, strips, factors, memory, late, length)
        if budget < 0:
            return False
        # Whatever may be shorter than this link has a floor up to its reach.
        _, count = last_up_to(memory.fresh_bits, _bits(most))
        if count > 1 or last_up_to(floor_bits, _bits(most))[1] > 1:
            chosen, count = _first_in_order(X, places, strips, chosen, most, smaller)
            budget -= count
        starts[step], ends[step] = row_of[chosen], row_of[to[chosen]]
        lengths[step] = squared_distance(X, row_of[chosen], row_of[to[chosen]])
    return True


@kernel
def _catch_up(
    X: F64,
    places: Places,
    strips: Strips,
    factors: F32,
    memory: Memory,
    late: int,
    length: np.float32,
) -> int:
    """Make the links of a strip known up to twice a length.

    Its box shrinks to the points that are still open. Returns how many calls were
    close.
    """
    points, squared = places.strips, places.squared
    floor, reach, margin = strips.floor, strips.reach, strips.margin
    point, low, high, gaps = memory.point, memory.low, memory.high, memory.gaps
    near, near_gap, extremes = memory.near, memory.near_gap, memory.extremes
    n_features = X.shape[1]
    before = strips.known[late]
    limit = AHEAD * (length + margin[late])
    strips.known[late] = limit
    block, box = late // LANES, late % LANES
    for feature in range(n_features):
        low[feature], high[feature] = _INFINITY, -_INFINITY
        for lane in range(LONG_STRIP):
            if squared[late * LONG_STRIP + lane] >= _ZERO:
                value = points[late, feature, lane]
                low[feature] = min(low[feature], value)
                high[feature] = max(high[feature], value)
        strips.open_low[block, feature, box] = low[feature]
        strips.open_high[block, feature, box] = high[feature]
    # The strips that hold near points of the tree, the nearest first.
    n_near = 0
    rest = _INFINITY
    for block in range(strips.low.shape[0]):
        gaps_of_boxes(strips.low, strips.high, block, low, high, gaps)
        for box in range(LANES):
            strip, gap = block * LANES + box, gaps[box]
            if strips.joined[strip] == 0 or gap > reach[late]:
                continue
            if gap > limit:
                rest = min(rest, gap)
                continue
            near[n_near], near_gap[n_near] = strip, gap
            if gap < near_gap[0]:
                near[n_near], near_gap[n_near] = near[0], near_gap[0]
                near[0], near_gap[0] = strip, gap
            n_near += 1
    spent = 0
    for number in range(n_near):
        if near_gap[number] > reach[late]:
            continue
        strip = near[number]
        gaps_of_boxes(points, points, strip, low, high, gaps)
        lanes = strips.joined[strip]
        while lanes != 0:
            lane = lowest_bit(lanes)
            lanes &= lanes - np.uint64(1)
            if gaps[lane] <= before or gaps[lane] > reach[late]:
                continue
            if gaps[lane] > limit:
                rest = min(rest, gaps[lane])
                continue
            for feature in range(n_features):
                point[feature] = points[strip, feature, lane]
            place = strip * LONG_STRIP + lane
            change = approach_strip(
                points,
                late,
                point,
                np.int32(place),
                squared,
                places.to,
                factors,
                places.margin,
                memory.fresh,
                extremes,
            )
            if change == CLOSE:
                spent += _settle(X, places, late, place, factors, memory)
            if change != 0:
                _set_ends(extremes, late, floor, reach)
    strips.pending[late] = _INFINITY
    if rest <= reach[late]:
        strips.pending[late] = max(rest * factors[3] - margin[late], _ZERO)
    return spent


@kernel
def _settle(
    X: F64,
    places: Places,
    strip: int,
    place: int,
    factors: F32,
    memory: Memory,
) -> int:
    """Decide the close calls of a strip by exact distances; return how many."""
    row_of, squared, to = places.row, places.squared, places.to
    count = 0
    for lane in range(LONG_STRIP):
        at = strip * LONG_STRIP + lane
        old, new = squared[at], memory.fresh[lane]
        doubt = factors[0] * (old + new) + places.margin[at]
        if old < _ZERO or to[at] == place or not abs(old - new) <= doubt:
            continue
        count += 1
        row, old_row = row_of[place], row_of[to[at]]
        length = squared_distance(X, row_of[at], row)
        old_length = squared_distance(X, row_of[at], old_row)
        # Edges that share a point compare by their other ends if equally long.
        if length < old_length or (length == old_length and row < old_row):
            squared[at], to[at] = new, place
    strip_ends(squared, strip, factors, places.margin, memory.extremes)
    return count


# Arrays one by one: to pass all of them in a tuple would cost more than the work.
@kernel
def _set_ends(extremes: I32, strip: int, floor: F32, reach: F32) -> None:
    """Set the least floor and the largest reach of a strip."""
    floor[strip] = _number(extremes[0])
    reach[strip] = _number(extremes[1])


@kernel
def _set_floors(
    squared: F32, margin: F32, strip: int, smaller: np.float32, floors: F32
) -> None:
    """Write what the true squared lengths of a strip's links are not below."""
    begin = strip * LONG_STRIP
    for lane in range(LONG_STRIP):
        floor = max(squared[begin + lane] * smaller - margin[begin + lane], _ZERO)
        floors[lane] = floor if squared[begin + lane] >= _ZERO else _INFINITY


@kernel
def _find_least(bits: I32) -> Any:
    """Return where the least of some integers is, and the integer."""
    least = min_of(bits)
    return np.int64(last_up_to(bits, least)[0]), least


@kernel
def _bits(number: Any) -> Any:
    """Return the bits; those of numbers of at least 0 are in the same order."""
    return np.float32(number).view(np.int32)


@kernel
def _number(bits: Any) -> Any:
    return np.int32(bits).view(np.float32)


@kernel
def _first_in_order(
    X: F64,
    places: Places,
    strips: Strips,
    chosen: int,
    most: np.float32,
    smaller: np.float32,
) -> tuple[int, int]:
    """Return the place whose link comes first, of all that may be the shortest.

    And how many these are.
    """
    row, squared, to = places.row, places.squared, places.to
    length = squared_distance(X, row[chosen], row[to[chosen]])
    count = 0
    for strip in range(len(strips.floor)):
        if strips.floor[strip] > most:
            continue
        for at in range(strip * LONG_STRIP, (strip + 1) * LONG_STRIP):
            floor = squared[at] * smaller - places.margin[at]
            if squared[at] < _ZERO or floor > most:
                continue
            count += 1
            a, b, c, d = row[at], row[to[at]], row[chosen], row[to[chosen]]
            own = squared_distance(X, a, b)
            if precedes(own, a, b, length, c, d):
                chosen, length = at, own
    return chosen, count
