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
def approach_strip(
    _typing_context: Any,
    strips: Any,
    _strip: Any,
    point: Any,
    _row: Any,
    squared: Any,
    to: Any,
    reach: Any,
    floor: Any,
    factors: Any,
    margin: Any,
    out: Any,
    nothing: Any,
) -> Any:
    """Link the points of a strip to another one where that is clearly nearer.

    In Python, for all 64 at a time, with ``rho, *_ = factors``, and with ``squared``,
    ``to``, ``reach`` and ``margin`` those of the strip::

        new = squared distances of the strip to the point, in float32
        old = squared
        near = new <= reach
        if not any(near):
            return 0
        is_clear = old - new > rho * (old + new) + margin
        squared[is_clear], to[is_clear] = new[is_clear], row
        reach[:], floor[:] = those of `bound_strip`
        out[:] = new
        return 2 if any(near & ~is_clear) else 1

    ``nothing`` holds a 0.
    """
    index, kind = types.intp, types.int32
    arrays = squared, to, reach, floor, factors, margin, out, nothing
    signature = types.int64(strips, index, point, kind, *arrays)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        strips, strip, point, row, squared, to, reach, floor = pointers[:8]
        factors, margin, out, nothing = pointers[8:]
        sums = _long_strip_sums(b, strips, strip, point, n_features)
        starts = _starts_of(b, strip)
        near = [
            b.fcmp_ordered("<=", b.load(total), load(b, FLOATS, b.gep(reach, [at])))
            for at, total in zip(starts, sums, strict=True)
        ]
        result = helpers.alloca_once_value(b, INT(0))
        with b.if_then(any_of(b, near)):
            rho, *others = _factors(b, factors)
            row = splat(b, row, PLACES)
            # A compiler that sees values go back where they came from makes masked
            # stores, which take very long on some processors. It does not know that
            # this is 0.
            hidden = b.sext(b.load(nothing), INT)
            close = []
            for number, (at, total) in enumerate(zip(starts, sums, strict=True)):
                new, own = b.load(total), load(b, FLOATS, b.gep(margin, [at]))
                old_at, to_at = b.gep(squared, [at]), b.gep(to, [at])
                old = load(b, FLOATS, old_at)
                doubt = b.fadd(b.fmul(rho, b.fadd(old, new)), own)
                is_clear = b.fcmp_ordered(">", b.fsub(old, new), doubt)
                close.append(b.and_(near[number], b.not_(is_clear)))
                left = b.select(is_clear, new, old)
                store(b, left, b.gep(old_at, [hidden]))
                linked = b.select(is_clear, row, load(b, PLACES, to_at))
                store(b, linked, b.gep(to_at, [hidden]))
                store(b, new, b.gep(out, [INT(LANES * number)]))
                highest, lowest = _bounds(b, left, own, others)
                store(b, highest, b.gep(reach, [b.add(at, hidden)]))
                store(b, lowest, b.gep(floor, [b.add(at, hidden)]))
            b.store(b.add(b.zext(any_of(b, close), INT), INT(1)), result)
        return b.load(result)

    return signature, code


@intrinsic
def bound_strip(
    _typing_context: Any,
    squared: Any,
    _strip: Any,
    factors: Any,
    margin: Any,
    reach: Any,
    floor: Any,
) -> Any:
    """Write between what bounds the true squared lengths of a strip's links are.

    The floors as bits, which are in the order of the numbers. In Python, for all 64 at
    a time, with ``_, wider, over, smaller = factors``, and all arrays of the strip::

        reach[:] = (squared * wider + margin) * over
        floor[:] = where(squared >= 0, max(squared * smaller - margin, 0), inf)
    """
    arrays = factors, margin, reach, floor
    signature = types.void(squared, types.intp, *arrays)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        squared, factors, margin, reach, floor = _pointers(
            context, b, signature, arguments
        )
        _, *others = _factors(b, factors)
        for at in _starts_of(b, arguments[1]):
            value, own = (
                load(b, FLOATS, b.gep(array, [at])) for array in (squared, margin)
            )
            highest, lowest = _bounds(b, value, own, others)
            store(b, highest, b.gep(reach, [at]))
            store(b, lowest, b.gep(floor, [at]))
        return context.get_dummy_value()

    return signature, code


@intrinsic
def least_of_strip(_typing_context: Any, floor: Any, _strip: Any) -> Any:
    """Return the least of the 64 integers of a strip."""
    signature = types.int32(floor, types.intp)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        (floor,) = _pointers(context, b, signature, arguments)
        least = None
        for at in _starts_of(b, arguments[1]):
            value = load(b, PLACES, b.gep(floor, [at]))
            if least is None:
                least = value
            else:
                is_less = b.icmp_signed("<", value, least)
                least = b.select(is_less, value, least)
        return reduce_to(b, "smin", least)

    return signature, code


@intrinsic
def lanes_up_to(_typing_context: Any, floor: Any, _strip: Any, _most: Any) -> Any:
    """Return which of the 64 integers of a strip do not exceed a limit, bit by bit."""
    signature = types.uint64(floor, types.intp, types.int32)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        (floor,) = _pointers(context, b, signature, arguments)
        most = splat(b, arguments[2], PLACES)
        mask = INT(0)
        for number, at in enumerate(_starts_of(b, arguments[1])):
            value = load(b, PLACES, b.gep(floor, [at]))
            bits = b.zext(bits_of(b, b.icmp_signed("<=", value, most)), INT)
            mask = b.or_(mask, b.shl(bits, INT(LANES * number)))
        return mask

    return signature, code


def _pointers(context: Any, b: Any, signature: Any, arguments: Any) -> list[Any]:
    """Return pointers for the arrays among the arguments."""
    return [
        context.make_array(kind)(context, b, value).data
        for kind, value in zip(signature.args, arguments, strict=True)
        if isinstance(kind, types.Array)
    ]


def _starts_of(b: Any, strip: Any) -> list[Any]:
    start = b.mul(strip, INT(LONG_STRIP))
    return [b.add(start, INT(lane)) for lane in range(0, LONG_STRIP, LANES)]


def _factors(b: Any, factors: Any) -> list[Any]:
    return [
        splat(b, b.load(b.gep(factors, [INT(number)])), FLOATS) for number in range(4)
    ]


def _bounds(b: Any, value: Any, margin: Any, others: list[Any]) -> tuple[Any, Any]:
    """Return what `bound_strip` writes."""
    wider, over, smaller = others
    zero = ir.Constant(FLOATS, [0.0] * LANES)
    infinity = ir.Constant(FLOATS, [float("inf")] * LANES)
    reach = b.fmul(b.fadd(b.fmul(value, wider), margin), over)
    floor = larger(b, b.fsub(b.fmul(value, smaller), margin), zero)
    floor = b.select(b.fcmp_ordered(">=", value, zero), floor, infinity)
    return reach, b.bitcast(floor, PLACES)


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
