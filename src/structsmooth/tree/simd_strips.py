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
    add_product,
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
    margin: Any,
    factors: Any,
    lowest: Any,
    out: Any,
    nothing: Any,
) -> Any:
    """Link the points of a strip to another one where that is clearly nearer.

    In Python, for all 64 at a time, with ``smaller, wider = factors``, and with
    ``squared``, ``to`` and ``margin`` those of the strip::

        new = squared distances of the strip to the point, in float32
        near = new <= squared * wider + margin
        if not any(near):
            return 0
        is_clear = new < squared * smaller - margin
        squared[is_clear], to[is_clear] = new[is_clear], row
        lowest[strip] = `least_of_strip`
        out[:] = new
        return the mask of near & ~is_clear

    ``out`` is only written if the mask is not 0; ``nothing`` holds a 0.
    """
    index, kind = types.intp, types.int32
    arrays = squared, to, margin, factors, lowest, out, nothing
    signature = types.uint64(strips, index, point, kind, *arrays)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        strips, strip, point, row, squared, to, margin = pointers[:7]
        factors, lowest, out, nothing = pointers[7:]
        sums = _long_strip_sums(b, strips, strip, point, n_features)
        starts = _starts_of(b, strip)
        smaller, wider = _factors(b, factors)
        links = [
            tuple(load(b, FLOATS, b.gep(array, [at])) for array in (squared, margin))
            for at in starts
        ]
        near = [
            b.fcmp_ordered("<=", b.load(total), add_product(b, own, old, wider))
            for total, (old, own) in zip(sums, links, strict=True)
        ]
        result = helpers.alloca_once_value(b, INT(0))
        with b.if_then(any_of(b, near)):
            row = splat(b, row, PLACES)
            # A compiler that sees values go back where they came from makes masked
            # stores, which take very long on some processors. It does not know that
            # this is 0.
            hidden = b.sext(b.load(nothing), INT)
            close, floors = [], []
            for number, (old, own) in enumerate(links):
                at = b.add(starts[number], hidden)
                new = b.load(sums[number])
                limit = add_product(b, b.fneg(own), old, smaller)
                is_clear = b.fcmp_ordered("<", new, limit)
                close.append(b.and_(near[number], b.not_(is_clear)))
                left = b.select(is_clear, new, old)
                store(b, left, b.gep(squared, [at]))
                before = load(b, PLACES, b.gep(to, [starts[number]]))
                store(b, b.select(is_clear, row, before), b.gep(to, [at]))
                floors.append(_floor(b, left, own, smaller))
            b.store(_least(b, floors), b.gep(lowest, [strip]))
            with b.if_then(any_of(b, close), likely=False):
                for number, total in enumerate(sums):
                    store(b, b.load(total), b.gep(out, [INT(LANES * number)]))
                b.store(_joined(b, close), result)
        return b.load(result)

    return signature, code


@intrinsic
def least_of_strip(
    _typing_context: Any, squared: Any, _strip: Any, margin: Any, factors: Any
) -> Any:
    """Return the bits of what no true squared length in a strip is below.

    Bits and numbers are in the same order. In Python, with all arrays of the strip::

        max(min(squared * smaller - margin), 0)
    """
    signature = types.int32(squared, types.intp, margin, factors)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        squared, margin, factors = _pointers(context, b, signature, arguments)
        floors = _floors(b, squared, arguments[1], margin, factors)
        return _least(b, floors)

    return signature, code


@intrinsic
def lanes_up_to(
    _typing_context: Any,
    squared: Any,
    _strip: Any,
    margin: Any,
    factors: Any,
    _most: Any,
) -> Any:
    """Return which true squared lengths in a strip may be as low as a limit.

    The limit is given by its bits. Returned bit by bit.
    """
    signature = types.uint64(squared, types.intp, margin, factors, types.int32)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        squared, margin, factors = _pointers(context, b, signature, arguments)
        most = splat(b, arguments[4], PLACES)
        floors = _floors(b, squared, arguments[1], margin, factors)
        return _joined(b, [b.icmp_signed("<=", floor, most) for floor in floors])

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
        splat(b, b.load(b.gep(factors, [INT(number)])), FLOATS) for number in range(2)
    ]


def _floors(b: Any, squared: Any, strip: Any, margin: Any, factors: Any) -> list[Any]:
    """Return the bits of what the true squared lengths of a strip are not below."""
    smaller, _ = _factors(b, factors)
    return [
        _floor(
            b,
            load(b, FLOATS, b.gep(squared, [at])),
            load(b, FLOATS, b.gep(margin, [at])),
            smaller,
        )
        for at in _starts_of(b, strip)
    ]


def _floor(b: Any, squared: Any, margin: Any, smaller: Any) -> Any:
    zero = ir.Constant(FLOATS, [0.0] * LANES)
    floor = add_product(b, b.fneg(margin), squared, smaller)
    return b.bitcast(larger(b, floor, zero), PLACES)


def _joined(b: Any, booleans: list[Any]) -> Any:
    """Return vectors of booleans, one after the other, bit by bit."""
    mask = INT(0)
    for number, some in enumerate(booleans):
        mask = b.or_(mask, b.shl(b.zext(bits_of(b, some), INT), INT(LANES * number)))
    return mask


def _least(b: Any, floors: list[Any]) -> Any:
    least, *others = floors
    for floor in others:
        least = b.select(b.icmp_signed("<", floor, least), floor, least)
    return reduce_to(b, "smin", least)


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
