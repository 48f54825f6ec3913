"""The innermost loops over strips of 64 points, written in vector instructions.

They are those of Prim's algorithm on float32 distances.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from structsmooth.support.vectors import (
    FLOATS,
    INT,
    LANES,
    add_square,
    bits_of,
    intrinsic,
    load,
    loop,
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
