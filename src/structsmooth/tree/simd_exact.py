"""The innermost loops over strips of 32 points, on exact distances.

They are those of Prim's algorithm on exact distances, and of comparing all rows.
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
    aligned,
    intrinsic,
    load,
    loop,
    splat,
    store,
    unpack,
    zeros,
)
from structsmooth.tree.exact import F64, I64

# A strip holds 32 points, feature by feature.
STRIP = 32
WIDTH = 8  # numbers in a vector; the compiler splits it where registers are shorter
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
_INTS = ir.VectorType(INT, WIDTH)


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
