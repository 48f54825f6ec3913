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
    factors: Any,
    margin: Any,
    out: Any,
    lowest: Any,
    nothing: Any,
) -> Any:
    """Link the points of a strip to another one where that is clearly nearer.

    In Python, for all 64 at a time, with ``rho, wider, over, smaller = factors``, and
    with ``squared``, ``to`` and ``margin`` those of the strip::

        new = squared distances of the strip to the point, in float32
        old = squared
        near = new <= (old * wider + margin) * over
        if not any(near):
            return 0
        is_clear = old - new > rho * (old + new) + margin
        squared[is_clear], to[is_clear] = new[is_clear], row
        out[:] = new
        lowest[strip] = what `lower_strip` sets
        return 2 if any(near & ~is_clear) else 1

    ``nothing`` holds a 0.
    """
    index, kind = types.intp, types.int32
    arrays = squared, to, factors, margin, out, lowest, nothing
    signature = types.int64(strips, index, point, kind, *arrays)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        strips, strip, point, row, squared, to, factors, margin, out = pointers[:9]
        lowest, nothing = pointers[9:]
        sums = _long_strip_sums(b, strips, strip, point, n_features)
        rho, wider, over, smaller = _factors(b, factors)
        row = splat(b, row, PLACES)
        starts = _starts_of(b, strip)

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
        hidden = b.sext(b.load(nothing), INT)
        with b.if_then(any_of(b, near)):
            close, floors = [], []
            for number, (at, total) in enumerate(zip(starts, sums, strict=True)):
                new, own = b.load(total), load(b, FLOATS, b.gep(margin, [at]))
                old_at, to_at = b.gep(squared, [at]), b.gep(to, [at])
                old = load(b, FLOATS, old_at)
                doubt = b.fadd(b.fmul(rho, b.fadd(old, new)), own)
                is_clear = b.fcmp_ordered(">", b.fsub(old, new), doubt)
                close.append(b.and_(is_near(at, total), b.not_(is_clear)))
                left = b.select(is_clear, new, old)
                store(b, left, b.gep(old_at, [hidden]))
                linked = b.select(is_clear, row, load(b, PLACES, to_at))
                store(b, linked, b.gep(to_at, [hidden]))
                store(b, new, b.gep(out, [INT(LANES * number)]))
                floors.append(_floor_bits(b, left, own, smaller))
            _store_least(b, floors, lowest, strip)
            b.store(b.add(b.zext(any_of(b, close), INT), INT(1)), result)
        return b.load(result)

    return signature, code


@intrinsic
def lower_strip(
    _typing_context: Any,
    squared: Any,
    _strip: Any,
    factors: Any,
    margin: Any,
    floors: Any,
    lowest: Any,
) -> Any:
    """Write what the true squared lengths of a strip's links are not below.

    And the least of them, all as bits. In Python, with ``_, _, _, smaller = factors``,
    and ``squared`` and ``margin`` those of the strip::

        floors[:] = where(squared >= 0, max(squared * smaller - margin, 0), inf)
        lowest[strip] = min(floors)
    """
    signature = types.void(squared, types.intp, factors, margin, floors, lowest)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        squared, factors, margin, floors, lowest = (
            context.make_array(kind)(context, b, value).data
            for kind, value in zip(signature.args, arguments, strict=True)
            if isinstance(kind, types.Array)
        )
        *_, smaller = _factors(b, factors)
        found = []
        for number, at in enumerate(_starts_of(b, arguments[1])):
            value, own = (
                load(b, FLOATS, b.gep(array, [at])) for array in (squared, margin)
            )
            found.append(_floor_bits(b, value, own, smaller))
            store(b, found[-1], b.gep(floors, [INT(LANES * number)]))
        _store_least(b, found, lowest, arguments[1])
        return context.get_dummy_value()

    return signature, code


def _starts_of(b: Any, strip: Any) -> list[Any]:
    start = b.mul(strip, INT(LONG_STRIP))
    return [b.add(start, INT(lane)) for lane in range(0, LONG_STRIP, LANES)]


def _factors(b: Any, factors: Any) -> list[Any]:
    return [
        splat(b, b.load(b.gep(factors, [INT(number)])), FLOATS) for number in range(4)
    ]


def _floor_bits(b: Any, value: Any, margin: Any, smaller: Any) -> Any:
    zero = ir.Constant(FLOATS, [0.0] * LANES)
    infinity = ir.Constant(FLOATS, [float("inf")] * LANES)
    floor = larger(b, b.fsub(b.fmul(value, smaller), margin), zero)
    floor = b.select(b.fcmp_ordered(">=", value, zero), floor, infinity)
    return b.bitcast(floor, PLACES)


def _store_least(b: Any, floors: list[Any], lowest: Any, strip: Any) -> None:
    least = floors[0]
    for floor in floors[1:]:
        least = b.select(b.icmp_signed("<", floor, least), floor, least)
    b.store(reduce_to(b, "smin", least), b.gep(lowest, [strip]))


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
