"""The innermost loops over strips of 64 points, written in vector instructions.

They are those of Prim's algorithm on float32 distances.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from structsmooth.support.vectors import (
    FLOATS,
    INT,
    LANES,
    PLACES,
    add_square,
    any_of,
    bits_of,
    helpers,
    intrinsic,
    larger,
    load,
    loop,
    reduce_to,
    splat,
    store,
    unpack,
    zeros,
)

# As many points as keep the multipliers busy.
LONG_STRIP = 64


@intrinsic
def strip_near(
    _typing_context: Any,
    strips: Any,
    _strip: Any,
    point: Any,
    reach: Any,
    out: Any,
) -> Any:
    """Return which points of a long strip are within their reach of another point.

    In Python, for all 64 at a time::

        sums = squared distances of the strip to the point, in float32
        mask = sums <= reach[64 * strip :][:64]
        if any(mask):
            out[:] = sums
        return the mask, bit by bit
    """
    signature = types.uint64(strips, types.intp, point, reach, out)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        strips, strip, point, reach, out = pointers
        sums = _long_strip_sums(b, strips, strip, point, n_features)
        mask = INT(0)
        for number, total in enumerate(sums):
            at = b.add(b.mul(strip, INT(LONG_STRIP)), INT(LANES * number))
            limit = load(b, FLOATS, b.gep(reach, [at]))
            bits = bits_of(b, b.fcmp_ordered("<=", b.load(total), limit))
            mask = b.or_(mask, b.shl(b.zext(bits, INT), INT(LANES * number)))
        with b.if_then(b.icmp_unsigned("!=", mask, INT(0))):
            for number, total in enumerate(sums):
                store(b, b.load(total), b.gep(out, [INT(LANES * number)]))
        return mask

    return signature, code


@intrinsic
def approach_strip(
    _typing_context: Any,
    strips: Any,
    _strip: Any,
    point: Any,
    _place: Any,
    squared: Any,
    to: Any,
    factors: Any,
    margin: Any,
    out: Any,
    extremes: Any,
) -> Any:
    """Link the points of a long strip to another one where that is clearly nearer.

    In Python, for all 64 at a time, with ``rho, wider, over, smaller = factors``, and
    with ``squared``, ``to`` and ``margin`` those of the strip::

        new = squared distances of the strip to the point, in float32
        old = squared
        near = new <= (old * wider + margin) * over
        if not any(near):
            return 0
        is_clear = old - new > rho * (old + new) + margin
        squared[is_clear], to[is_clear] = new[is_clear], place
        out[:] = new
        extremes[:2] = the ends of `strip_ends`; extremes[2] must be 0
        return 2 if any(near & ~is_clear) else 1
    """
    index = types.intp
    signature = types.int64(
        strips,
        index,
        point,
        types.int32,
        squared,
        to,
        factors,
        margin,
        out,
        extremes,
    )

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        strips, strip, point, place, squared, to, factors, margin, out, ends = pointers
        sums = _long_strip_sums(b, strips, strip, point, n_features)
        rho, *others = _factors(b, factors)
        wider, over, _ = others
        place = splat(b, place, PLACES)
        start = b.mul(strip, INT(LONG_STRIP))
        starts = [b.add(start, INT(LANES * number)) for number in range(len(sums))]

        # Everything is loaded again where it is needed: there are not enough registers.
        def is_near(at: Any, total: Any) -> Any:
            old = load(b, FLOATS, b.gep(squared, [at]))
            own = load(b, FLOATS, b.gep(margin, [at]))
            reach = b.fmul(b.fadd(b.fmul(old, wider), own), over)
            return b.fcmp_ordered("<=", b.load(total), reach)

        near = [is_near(at, total) for at, total in zip(starts, sums, strict=True)]
        result = helpers.alloca_once_value(b, INT(0))
        # A compiler that sees values go back where they came from makes masked stores,
        # which take very long on some processors. It does not know that this is 0.
        nothing = b.sext(b.load(b.gep(ends, [INT(2)])), INT)
        with b.if_then(any_of(b, near)):
            close, extremes = [], None
            for number, (at, total) in enumerate(zip(starts, sums, strict=True)):
                new, own = b.load(total), load(b, FLOATS, b.gep(margin, [at]))
                old_at, to_at = b.gep(squared, [at]), b.gep(to, [at])
                old = load(b, FLOATS, old_at)
                doubt = b.fadd(b.fmul(rho, b.fadd(old, new)), own)
                is_clear = b.fcmp_ordered(">", b.fsub(old, new), doubt)
                close.append(b.and_(is_near(at, total), b.not_(is_clear)))
                left = b.select(is_clear, new, old)
                store(b, left, b.gep(old_at, [nothing]))
                linked = b.select(is_clear, place, load(b, PLACES, to_at))
                store(b, linked, b.gep(to_at, [nothing]))
                store(b, new, b.gep(out, [INT(LANES * number)]))
                extremes = _include(b, left, own, others, extremes)
            _store_ends(b, extremes, ends)
            b.store(b.add(b.zext(any_of(b, close), INT), INT(1)), result)
        return b.load(result)

    return signature, code


@intrinsic
def strip_ends(
    _typing_context: Any,
    squared: Any,
    _strip: Any,
    factors: Any,
    margin: Any,
    extremes: Any,
) -> Any:
    """Write the bits of the least floor and of the largest reach of a long strip.

    In Python, with ``_, wider, over, smaller = factors``, and ``squared`` and
    ``margin`` those of the strip::

        extremes[0] = min(where(squared >= 0, max(squared * smaller - margin, 0), inf))
        extremes[1] = max((squared * wider + margin) * over)
    """
    signature = types.void(squared, types.intp, factors, margin, extremes)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        squared, factors, margin, ends = (
            context.make_array(kind)(context, b, value).data
            for kind, value in zip(signature.args, arguments, strict=True)
            if isinstance(kind, types.Array)
        )
        start = b.mul(arguments[1], INT(LONG_STRIP))
        starts = [b.add(start, INT(lane)) for lane in range(0, LONG_STRIP, LANES)]
        _, *others = _factors(b, factors)
        extremes = None
        for at in starts:
            value, own = (
                load(b, FLOATS, b.gep(array, [at])) for array in (squared, margin)
            )
            extremes = _include(b, value, own, others, extremes)
        _store_ends(b, extremes, ends)
        return context.get_dummy_value()

    return signature, code


def _factors(b: Any, factors: Any) -> list[Any]:
    return [
        splat(b, b.load(b.gep(factors, [INT(number)])), FLOATS) for number in range(4)
    ]


def _include(b: Any, value: Any, margin: Any, factors: list[Any], ends: Any) -> Any:
    """Return the least floors and the largest reaches, with those of a vector."""
    wider, over, smaller = factors
    zero = ir.Constant(FLOATS, [0.0] * LANES)
    infinity = ir.Constant(FLOATS, [float("inf")] * LANES)
    floor = larger(b, b.fsub(b.fmul(value, smaller), margin), zero)
    floor = b.select(b.fcmp_ordered(">=", value, zero), floor, infinity)
    reach = b.fmul(b.fadd(b.fmul(value, wider), margin), over)
    floor, reach = b.bitcast(floor, PLACES), b.bitcast(reach, PLACES)
    if ends is None:
        return floor, reach
    least, most = ends
    least = b.select(b.icmp_signed("<", floor, least), floor, least)
    return least, b.select(b.icmp_signed(">", reach, most), reach, most)


def _store_ends(b: Any, ends: Any, pointer: Any) -> None:
    least, most = ends
    b.store(reduce_to(b, "smin", least), b.gep(pointer, [INT(0)]))
    b.store(reduce_to(b, "smax", most), b.gep(pointer, [INT(1)]))


@intrinsic
def pass_boxes(
    _typing_context: Any,
    lows: Any,
    highs: Any,
    _block: Any,
    point: Any,
    known: Any,
    reach: Any,
    margin: Any,
    _smaller: Any,
    pending: Any,
) -> Any:
    """Return to which of sixteen boxes a point may bring news at once.

    In Python, for all sixteen at a time::

        gaps = squared distances of the boxes to the point
        is_in_reach, is_known = gaps <= reach, gaps <= known
        floor = max(gaps * smaller - margin, 0)
        pending = min(pending, floor) where in reach and not known
        return the mask of those in reach and known
    """
    index = types.intp
    signature = types.uint64(
        lows, highs, index, point, known, reach, margin, types.float32, pending
    )

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        lows, highs, block, point, known, reach, margin, smaller, pending = pointers
        first = b.mul(block, b.mul(n_features, INT(LANES)))
        lows, highs = b.gep(lows, [first]), b.gep(highs, [first])
        gaps = _box_gaps(b, lows, highs, LANES, point, point, n_features)
        at = b.mul(block, INT(LANES))
        known, reach, margin = (
            load(b, FLOATS, b.gep(array, [at])) for array in (known, reach, margin)
        )
        is_in_reach = b.fcmp_ordered("<=", gaps, reach)
        is_known = b.fcmp_ordered("<=", gaps, known)
        zero = ir.Constant(FLOATS, [0.0] * LANES)
        floor = b.fsub(b.fmul(gaps, splat(b, smaller, FLOATS)), margin)
        floor = larger(b, floor, zero)
        pending_at = b.gep(pending, [at])
        old = load(b, FLOATS, pending_at)
        is_news = b.and_(is_in_reach, b.fcmp_ordered("<", floor, old))
        is_news = b.and_(is_news, b.fcmp_ordered(">", gaps, known))
        store(b, b.select(is_news, floor, old), pending_at)
        return b.zext(bits_of(b, b.and_(is_in_reach, is_known)), INT)

    return signature, code


@intrinsic
def gaps_of_boxes(
    _typing_context: Any,
    lows: Any,
    highs: Any,
    _block: Any,
    low: Any,
    high: Any,
    out: Any,
) -> Any:
    """Write the squared distances of a row of boxes to another box.

    The boxes are ``lows[block]`` and ``highs[block]``, (features, boxes), a multiple of
    sixteen. Those of points are the same.
    """
    index = types.intp
    signature = types.void(lows, highs, index, low, high, out)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        lows, highs, block, low, high, out = pointers
        array = context.make_array(signature.args[0])(context, b, arguments[0])
        width = b.extract_value(array.shape, 2)
        first = b.mul(block, b.mul(n_features, width))
        with loop(b, INT(0), width, step=LANES) as lane:
            at = b.add(first, lane)
            ends = b.gep(lows, [at]), b.gep(highs, [at])
            gaps = _box_gaps(b, *ends, width, low, high, n_features)
            store(b, gaps, b.gep(out, [lane]))
        return context.get_dummy_value()

    return signature, code


def _box_gaps(
    b: Any, lows: Any, highs: Any, width: Any, low: Any, high: Any, n_features: Any
) -> Any:
    """Return the squared distances of sixteen boxes to another one."""
    zero = ir.Constant(FLOATS, [0.0] * LANES)
    (total,) = zeros(b, FLOATS, 1)
    width = INT(width) if isinstance(width, int) else width
    with loop(b, INT(0), n_features) as feature:
        at = b.mul(feature, width)
        own_low = splat(b, b.load(b.gep(low, [feature])), FLOATS)
        own_high = splat(b, b.load(b.gep(high, [feature])), FLOATS)
        above = b.fsub(load(b, FLOATS, b.gep(lows, [at])), own_high)
        below = b.fsub(own_low, load(b, FLOATS, b.gep(highs, [at])))
        gap = larger(b, larger(b, above, below), zero)
        b.store(add_square(b, b.load(total), gap), total)
    return b.load(total)


def _long_strip_sums(
    b: Any, strips: Any, strip: Any, point: Any, n_features: Any
) -> list[Any]:
    """Write the loop over the features; return the variables of the sums."""
    sums = zeros(b, FLOATS, LONG_STRIP // LANES)
    first = b.gep(strips, [b.mul(strip, b.mul(n_features, INT(LONG_STRIP)))])
    with loop(b, INT(0), n_features) as feature:
        coordinate = splat(b, b.load(b.gep(point, [feature])), FLOATS)
        for number, total in enumerate(sums):
            at = b.add(b.mul(feature, INT(LONG_STRIP)), INT(LANES * number))
            difference = b.fsub(load(b, FLOATS, b.gep(first, [at])), coordinate)
            b.store(add_square(b, b.load(total), difference), total)
    return sums
