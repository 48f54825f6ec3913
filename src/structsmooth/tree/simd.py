"""The innermost loops over panels of 16 points, written in vector instructions.

The compiler's own code for them keeps the sums in memory rather than in registers,
which makes it 2.5 times slower.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from structsmooth.support.vectors import (
    INT,
    PLACES,
    add_square,
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

# A tile compares 4 points with a panel of 16, which is stored feature by feature.
ROWS = 4
PANEL = 16
CHUNK = 8


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
