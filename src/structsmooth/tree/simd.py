"""The innermost loops, written in vector instructions.

The compiler's own code for them keeps the sums in memory rather than in registers,
which makes it 2.5 times slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import (
    INT,
    PLACES,
    add_square,
    aligned,
    any_of,
    bits_of,
    helpers,
    intrinsic,
    larger,
    largest_of,
    load,
    loop,
    splat,
    store,
    unpack,
    zeros,
)
from structsmooth.tree.exact import F64, I64

# A tile compares 4 points with a panel of 16, which is stored feature by feature.
ROWS = 4
PANEL = 16
CHUNK = 8
# A strip holds 32 points, feature by feature.
STRIP = 32
WIDTH = 8  # numbers in a vector; the compiler splits it where registers are shorter
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
_INTS = ir.VectorType(INT, WIDTH)


@intrinsic
def tile_below(
    _typing_context: Any,
    rows: Any,
    _row: Any,
    panels: Any,
    _panel: Any,
    row_limits: Any,
    column_limits: Any,
    _column: Any,
    out: Any,
) -> Any:
    """Return which of 4 x 16 squared distances are below their limits.

    The four points begin at ``rows[row]``, the sixteen are ``panels[panel]``. Bit
    ``16 r + c`` of the uint64 result says that the distance of row r and point c is
    below the larger of ``row_limits[row + r]`` and ``column_limits[column + c]``. In
    Python, for all 64 pairs at a time::

        for chunk in chunks_of_eight(features):
            sums += sum((points[f] - row[f]) ** 2 for f in chunk)
            if no sum is below its limit:  # and more features only add to it
                return 0
        out[:] = sums  # the rest is undefined where a sum is not below its limit
        return the mask of the sums below their limits

    With the features in order of decreasing variance, most tiles end after one or two
    chunks. Sums of float32 may be off by a relative ``(d + 4) * 2**-24``, which
    callers allow for; sums of float64 are those of `structsmooth.tree.exact`, to the
    last bit. A NaN is never below anything.
    """
    index = types.intp
    signature = types.uint64(
        rows, index, panels, index, row_limits, column_limits, index, out
    )

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        rows, row, panels, panel, row_limits, column_limits, column, out = pointers
        # As many numbers at a time as leave the sums of four rows in registers.
        is_single = signature.args[2].dtype == types.float32
        scalar, lanes = (ir.FloatType(), 16) if is_single else (ir.DoubleType(), 8)
        vector = ir.VectorType(scalar, lanes)
        numbers = [b.add(row, INT(r)) for r in range(ROWS)]
        queries = [b.gep(rows, [b.mul(number, n_features)]) for number in numbers]
        mask = helpers.alloca_once_value(b, INT(0))
        for lane in range(0, PANEL, lanes):
            first = b.add(b.mul(panel, b.mul(n_features, INT(PANEL))), INT(lane))
            points = b.gep(panels, [first])
            place = b.add(column, INT(lane))
            column_limit = load(b, vector, b.gep(column_limits, [place]))
            limits = []
            for number in numbers:
                row_limit = splat(b, b.load(b.gep(row_limits, [number])), vector)
                is_larger = b.fcmp_ordered(">", row_limit, column_limit)
                limits.append(b.select(is_larger, row_limit, column_limit))
            sums = zeros(b, vector, ROWS)
            end = b.append_basic_block("end")
            with loop(b, INT(0), n_features, step=CHUNK) as begin:
                stop = b.add(begin, INT(CHUNK))
                stop = b.select(b.icmp_signed("<", stop, n_features), stop, n_features)
                with loop(b, begin, stop) as feature:
                    at = b.mul(feature, INT(PANEL))
                    values = load(b, vector, b.gep(points, [at]))
                    for query, total in zip(queries, sums, strict=True):
                        value = splat(b, b.load(b.gep(query, [feature])), vector)
                        difference = b.fsub(values, value)
                        b.store(add_square(b, b.load(total), difference), total)
                is_below = [
                    b.fcmp_ordered("<", b.load(total), limit)
                    for total, limit in zip(sums, limits, strict=True)
                ]
                with b.if_then(b.not_(any_of(b, is_below))):
                    b.branch(end)
            for r in range(ROWS):
                at = INT(r * PANEL + lane)
                store(b, b.load(sums[r]), b.gep(out, [at]))
                bits = b.shl(b.zext(bits_of(b, is_below[r]), INT), at)
                b.store(b.or_(b.load(mask), bits), mask)
            b.branch(end)
            b.position_at_end(end)
        return b.load(mask)

    return signature, code


@intrinsic
def boxes_near(
    _typing_context: Any,
    lows: Any,
    highs: Any,
    _block: Any,
    low: Any,
    high: Any,
    limits: Any,
    _first: Any,
) -> Any:
    """Return which boxes of a block are nearer to a box than the largest limit.

    Bit c of the uint64 result says that the squared distance of box c to the other one
    is below one of sixteen limits, which begin at ``limits[first]``. In Python, for all
    sixteen at a time::

        for f in range(n_features):
            gap = max(lows[block, f] - high[f], low[f] - highs[block, f], 0)
            sums += gap ** 2
        return the mask of the sums below max(limits[first : first + 16])

    Sums of float32 may be off as those of `tile_below`.
    """
    index = types.intp
    signature = types.uint64(lows, highs, index, low, high, limits, index)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        lows, highs, block, low, high, limits, first = pointers
        vector = _panel_of(signature.args[0])
        reach = splat(b, largest_of(b, load(b, vector, b.gep(limits, [first]))), vector)
        start = b.mul(block, b.mul(n_features, INT(PANEL)))
        lows, highs = b.gep(lows, [start]), b.gep(highs, [start])

        def gap(feature: Any) -> Any:
            at = b.mul(feature, INT(PANEL))
            own_low, own_high = (
                splat(b, b.load(b.gep(array, [feature])), vector)
                for array in (low, high)
            )
            below = b.fsub(load(b, vector, b.gep(lows, [at])), own_high)
            above = b.fsub(own_low, load(b, vector, b.gep(highs, [at])))
            return larger(b, below, above)

        return _mask_of_gaps(b, gap, n_features, reach)

    return signature, code


@intrinsic
def panel_near_box(
    _typing_context: Any,
    panels: Any,
    _panel: Any,
    lows: Any,
    highs: Any,
    _node: Any,
    limits: Any,
    _first: Any,
) -> Any:
    """Return which points of a panel are nearer to a box than their limits.

    The box is number ``node % 16`` of block ``node // 16``. Bit c of the uint64 result
    says that the squared distance of point c to it is below ``limits[first + c]``. In
    Python, for all sixteen at a time, with the ``low`` and the ``high`` of the box::

        for f in range(n_features):
            gap = max(low[f] - points[f], points[f] - high[f], 0)
            sums += gap ** 2
        return the mask of the sums below their limits

    Sums of float32 may be off as those of `tile_below`.
    """
    index = types.intp
    signature = types.uint64(panels, index, lows, highs, index, limits, index)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        panels, panel, lows, highs, node, limits, first = pointers
        vector = _panel_of(signature.args[0])
        size = b.mul(n_features, INT(PANEL))
        block, lane = b.sdiv(node, INT(PANEL)), b.and_(node, INT(PANEL - 1))
        corner = b.add(b.mul(block, size), lane)
        points = b.gep(panels, [b.mul(panel, size)])

        def gap(feature: Any) -> Any:
            at = b.mul(feature, INT(PANEL))
            low, high = (
                splat(b, b.load(b.gep(array, [b.add(corner, at)])), vector)
                for array in (lows, highs)
            )
            values = load(b, vector, b.gep(points, [at]))
            return larger(b, b.fsub(low, values), b.fsub(values, high))

        reach = load(b, vector, b.gep(limits, [first]))
        return _mask_of_gaps(b, gap, n_features, reach)

    return signature, code


@intrinsic
def others_than(_typing_context: Any, numbers: Any, _block: Any, _own: Any) -> Any:
    """Return which of sixteen integers differ from one, bit by bit."""
    signature = types.uint64(numbers, types.intp, types.int64)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers = context.make_array(signature.args[0])(context, b, arguments[0]).data
        _, block, own = arguments
        values = load(b, PLACES, b.gep(numbers, [b.mul(block, INT(PANEL))]))
        own = splat(b, b.trunc(own, ir.IntType(32)), PLACES)
        return b.zext(bits_of(b, b.icmp_signed("!=", values, own)), INT)

    return signature, code


def _panel_of(kind: Any) -> Any:
    """Return the vector of sixteen numbers of an array's type."""
    is_single = kind.dtype == types.float32
    return ir.VectorType(ir.FloatType() if is_single else ir.DoubleType(), PANEL)


def _mask_of_gaps(b: Any, gap: Any, n_features: Any, reach: Any) -> Any:
    """Write the sum of the squares of the gaps that are positive.

    Returns which sums are below the reach; as soon as none is, the rest is left out.
    """
    vector = reach.type
    zero = ir.Constant(vector, [0.0] * PANEL)
    (total,) = zeros(b, vector, 1)
    mask = helpers.alloca_once_value(b, INT(0))
    end = b.append_basic_block("end")
    with loop(b, INT(0), n_features, step=CHUNK) as begin:
        stop = b.add(begin, INT(CHUNK))
        stop = b.select(b.icmp_signed("<", stop, n_features), stop, n_features)
        with loop(b, begin, stop) as feature:
            b.store(add_square(b, b.load(total), larger(b, gap(feature), zero)), total)
        is_below = b.fcmp_ordered("<", b.load(total), reach)
        with b.if_then(b.not_(any_of(b, [is_below]))):
            b.branch(end)
    b.store(b.zext(bits_of(b, is_below), INT), mask)
    b.branch(end)
    b.position_at_end(end)
    return b.load(mask)


@intrinsic
def insert_nearer(
    _typing_context: Any,
    values: Any,
    _row: Any,
    _mask: Any,
    _place: Any,
    squared: Any,
    places: Any,
    _panel: Any,
    nothing: Any,
) -> Any:
    """Enter a point into the lists of a panel wherever it is nearer than the last one.

    In Python, for all sixteen lists at a time, with the values and the mask of
    `tile_below`::

        value = values[16 * row + lane]
        if mask >> (16 * row + lane) & 1 and value < squared[panel, -1, lane]:
            squared[panel, -1, lane], places[panel, -1, lane] = value, place
            sort list number lane of the panel by squared[panel, :, lane]

    ``nothing`` holds a 0.
    """
    index = types.intp
    kinds = values, index, types.uint64, index, squared, places, index, nothing
    signature = types.void(*kinds)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, k = unpack(context, b, signature, arguments)
        values, row, mask, place, squared, places, panel, nothing = pointers
        is_single = signature.args[0].dtype == types.float32
        scalar = ir.FloatType() if is_single else ir.DoubleType()
        vector = ir.VectorType(scalar, PANEL)
        first = b.mul(panel, b.mul(k, INT(PANEL)))
        squared, places = b.gep(squared, [first]), b.gep(places, [first])
        # A compiler that sees values go back where they came from makes masked stores,
        # which take very long on some processors. It does not know that this is 0.
        hidden = b.sext(b.load(nothing), INT)

        def at(array: Any, slot: Any) -> Any:
            return b.gep(array, [b.mul(slot, INT(PANEL))])

        def put(array: Any, slot: Any, value: Any) -> None:
            store(b, value, b.gep(at(array, slot), [hidden]))

        new = load(b, vector, b.gep(values, [b.mul(row, INT(PANEL))]))
        bits = b.trunc(b.lshr(mask, b.mul(row, INT(PANEL))), ir.IntType(PANEL))
        is_set = b.bitcast(bits, ir.VectorType(ir.IntType(1), PANEL))
        infinity = ir.Constant(vector, [float("inf")] * PANEL)
        carried = helpers.alloca_once_value(b, b.select(is_set, new, infinity))
        number = splat(b, b.trunc(place, ir.IntType(32)), PLACES)
        carried_place = helpers.alloca_once_value(b, number)
        with loop(b, INT(0), k) as slot:
            one, other = b.load(carried), load(b, vector, at(squared, slot))
            swaps = b.fcmp_ordered("<", one, other)
            put(squared, slot, b.select(swaps, one, other))
            b.store(b.select(swaps, other, one), carried)
            one, other = b.load(carried_place), load(b, PLACES, at(places, slot))
            put(places, slot, b.select(swaps, one, other))
            b.store(b.select(swaps, other, one), carried_place)
        return context.get_dummy_value()

    return signature, code


@intrinsic
def differing(
    _typing_context: Any, one: Any, _row: Any, other: Any, _column: Any
) -> Any:
    """Return which of 4 x 16 pairs of integers differ, bit by bit as `tile_below`."""
    signature = types.uint64(one, types.intp, other, types.intp)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        one, other = (
            context.make_array(signature.args[at])(context, b, arguments[at]).data
            for at in (0, 2)
        )
        values = load(b, PLACES, b.gep(other, [arguments[3]]))
        mask = INT(0)
        for r in range(ROWS):
            value = b.load(b.gep(one, [b.add(arguments[1], INT(r))]))
            bits = bits_of(b, b.icmp_signed("!=", values, splat(b, value, PLACES)))
            mask = b.or_(mask, b.shl(b.zext(bits, INT), INT(r * PANEL)))
        return mask

    return signature, code


@intrinsic
def _square_strip(
    _typing_context: Any, strips: Any, _strip: Any, point: Any, out: Any
) -> Any:
    """Write the squared distances of the points of a strip to another point.

    In Python, for all 32 at a time::

        for f in range(n_features):
            out[32 * strip :][:32] += (strips[strip, f] - point[f]) ** 2

    Each sum is taken feature by feature in float64, product and sum rounded one after
    the other: the distances are those of `structsmooth.tree.exact`, to the last bit.
    """
    signature = types.void(strips, types.intp, point, out)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        (strips, strip, point, out), n_features = unpack(
            context, b, signature, arguments
        )
        for at, total in _strip_sums(b, strips, strip, point, n_features):
            store(b, total, b.gep(out, [at]))
        return context.get_dummy_value()

    return signature, code


@intrinsic
def _approach_strip(
    _typing_context: Any,
    strips: Any,
    _strip: Any,
    point: Any,
    _row: Any,
    nearest: Any,
    nearest_row: Any,
    lowest: Any,
) -> Any:
    """Do the work of `approach_all` for one strip."""
    index = types.intp
    signature = types.void(strips, index, point, index, nearest, nearest_row, lowest)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        strips, strip, point, row, nearest, nearest_row, lowest = pointers
        row = splat(b, row, _INTS)
        least = load(b, _INTS, lowest)
        for at, squared in _strip_sums(b, strips, strip, point, n_features):
            old, old_row = b.gep(nearest, [at]), b.gep(nearest_row, [at])
            known, known_row = load(b, _DOUBLES, old), load(b, _INTS, old_row)
            is_tied = b.and_(
                b.fcmp_ordered("==", squared, known), b.icmp_signed("<", row, known_row)
            )
            is_nearer = b.or_(b.fcmp_ordered("<", squared, known), is_tied)
            left = b.select(is_nearer, squared, known)
            store(b, left, old)
            store(b, b.select(is_nearer, row, known_row), old_row)
            bits = b.bitcast(left, _INTS)
            least = b.select(b.icmp_signed("<", bits, least), bits, least)
        store(b, least, lowest)
        return context.get_dummy_value()

    return signature, code


def as_strips(X: NDArray[Any]) -> F64:
    """Return the points 32 at a time, feature by feature: (strips, features, 32).

    Where the last strip has no point there is one infinitely far from all others.
    """
    n, d = X.shape
    strips = aligned((-(-n // STRIP), d, STRIP), np.float64, np.inf)
    whole = n // STRIP
    strips[:whole] = X[: whole * STRIP].reshape(whole, STRIP, d).transpose(0, 2, 1)
    strips[whole:, :, : n % STRIP] = X[whole * STRIP :].T
    return strips


@kernel
def squared_to_all(strips: F64, point: F64, squared: F64) -> None:
    """Write the squared distances of all points to another one."""
    for strip in range(strips.shape[0]):
        _square_strip(strips, strip, point, squared)


@kernel
def approach_all(
    strips: F64,
    n: int,
    point: F64,
    row: int,
    nearest: F64,
    nearest_row: I64,
    lowest: I64,
) -> int:
    """Update the first n points' distance to the tree, which a row has just joined.

    ``nearest`` is the squared distance of each point to the tree, ``nearest_row`` the
    row it is measured to; of equally near rows it is the lowest, because two edges that
    share a point compare by their other ends. Returns the bits of the smallest
    distance; for numbers that are not negative, bits and values are in the same order.
    ``lowest`` is working memory for eight integers.
    """
    for lane in range(WIDTH):
        lowest[lane] = 0x7FF0000000000000  # infinity
    for strip in range((n + STRIP - 1) // STRIP):
        _approach_strip(strips, strip, point, row, nearest, nearest_row, lowest)
    smallest = lowest[0]
    for lane in range(1, WIDTH):
        smallest = min(smallest, lowest[lane])
    return smallest


def _strip_sums(
    b: Any, strips: Any, strip: Any, point: Any, n_features: Any
) -> list[tuple[Any, Any]]:
    """Write the loop over the features; return each vector of sums, after its place."""
    sums = zeros(b, _DOUBLES, STRIP // WIDTH)
    first = b.gep(strips, [b.mul(strip, b.mul(n_features, INT(STRIP)))])
    with loop(b, INT(0), n_features) as feature:
        coordinate = splat(b, b.load(b.gep(point, [feature])), _DOUBLES)
        for number, total in enumerate(sums):
            at = b.add(b.mul(feature, INT(STRIP)), INT(WIDTH * number))
            difference = b.fsub(load(b, _DOUBLES, b.gep(first, [at])), coordinate)
            square = b.fmul(difference, difference)
            b.store(b.fadd(b.load(total), square), total)
    start = b.mul(strip, INT(STRIP))
    return [
        (b.add(start, INT(WIDTH * number)), b.load(total))
        for number, total in enumerate(sums)
    ]
