"""Exact squared distances of one point to a strip of 32 others, kept in registers.

Like `structsmooth.tree.tiles` this is spelled out for the compiler, whose own loop
keeps the sums in memory. The code below is what this
Python would do, all 32 at a time::

    for f in range(n_features):
        sums += (strip[f] - point[f]) ** 2

Each sum is taken feature by feature in float64, product and sum rounded one after the
other: the distances are those of `structsmooth.tree.exact`, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from structsmooth.support.jit import kernel

STRIP = 32
WIDTH = 8  # numbers in a vector; the compiler splits it where registers are shorter

_INT = ir.IntType(64)
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, WIDTH)
_ROWS = ir.VectorType(_INT, WIDTH)


def as_strips(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return the points 32 at a time, feature by feature: (strips, features, 32).

    Where the last strip has no point there is one infinitely far from all others.
    """
    n, d = X.shape
    strips = np.full((-(-n // STRIP), STRIP, d), np.inf)
    strips.reshape(-1, d)[:n] = X
    return np.ascontiguousarray(strips.transpose(0, 2, 1))


@kernel
def squared_to_all(
    strips: NDArray[np.float64],
    point: NDArray[np.float64],
    n: int,
    squared: NDArray[np.float64],
) -> None:
    """Write the squared distances of the first n points to another one.

    ``squared`` has room for whole strips.
    """
    n_features = strips.shape[1]
    source = np.int64(strips.ctypes.data)
    target = np.int64(squared.ctypes.data)
    for start in range(0, n, STRIP):
        _strip_squared(
            source + 8 * start * n_features,
            np.int64(point.ctypes.data),
            n_features,
            target + 8 * start,
        )


@kernel
def approach_all(
    strips: NDArray[np.float64],
    point: NDArray[np.float64],
    newest: int,
    n: int,
    nearest: NDArray[np.float64],
    nearest_row: NDArray[np.int64],
    lowest: NDArray[np.int64],
) -> int:
    """Let the first n points change to the newest row where it is nearer.

    Of two edges as long, which share a point, that with the lower other end counts.
    Returns the bits of the smallest distance that is left: of numbers that are not
    negative, bits and values are in the same order.

    Parameters
    ----------
    strips, point : ndarray
        The points, and the newest one.
    newest, n : int
        Its row, and how many points there are.
    nearest, nearest_row : ndarray, of whole strips
        Squared distance of each point to the tree, and the row it is measured to.
    lowest : ndarray of shape (8,)
        Room to work in.
    """
    n_features = strips.shape[1]
    lowest[:] = np.int64(0x7FF0000000000000)  # infinity
    for start in range(0, n, STRIP):
        _strip_approach(
            np.int64(strips.ctypes.data) + 8 * start * n_features,
            np.int64(point.ctypes.data),
            n_features,
            newest,
            np.int64(nearest.ctypes.data) + 8 * start,
            np.int64(nearest_row.ctypes.data) + 8 * start,
            np.int64(lowest.ctypes.data),
        )
    return lowest.min()


def _squared_of_strip(
    _typing_context: Any, strip: Any, point: Any, n_features: Any, out: Any
) -> Any:
    """Write 32 squared distances; all arguments are int64, three are addresses."""
    signature = types.void(*[types.int64] * 4)

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        strip, point, n_features, out = arguments
        sums = _emit_sums(builder, strip, point, n_features)
        for number, value in enumerate(sums):
            _store(builder, value, out, number)
        return context.get_dummy_value()

    return signature, code


def _approach_of_strip(
    _typing_context: Any,
    strip: Any,
    point: Any,
    n_features: Any,
    newest: Any,
    nearest: Any,
    nearest_row: Any,
    lowest: Any,
) -> Any:
    """Compare 32 squared distances with the nearest; all arguments are int64."""
    signature = types.void(*[types.int64] * 7)

    def code(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        strip, point, n_features, newest, nearest, nearest_row, lowest = arguments
        sums = _emit_sums(b, strip, point, n_features)
        newcomer = _splat(b, newest, _ROWS)
        least = _load(b, _ROWS, lowest, 0)
        for number, value in enumerate(sums):
            known = _load(b, _VECTOR, nearest, number)
            row = _load(b, _ROWS, nearest_row, number)
            is_tied = b.and_(
                b.fcmp_ordered("==", value, known),
                b.icmp_signed("<", newcomer, row),
            )
            is_nearer = b.or_(b.fcmp_ordered("<", value, known), is_tied)
            left = b.select(is_nearer, value, known)
            _store(b, left, nearest, number)
            _store(b, b.select(is_nearer, newcomer, row), nearest_row, number)
            bits = b.bitcast(left, _ROWS)
            least = b.select(b.icmp_signed("<", bits, least), bits, least)
        _store(b, least, lowest, 0)
        return context.get_dummy_value()

    return signature, code


_strip_squared: Any = intrinsic(_squared_of_strip)
_strip_approach: Any = intrinsic(_approach_of_strip)


def _emit_sums(b: Any, strip: Any, point: Any, n_features: Any) -> list[Any]:
    """Write the loop over the features, and return the vectors of sums."""
    entry = b.block
    loop, done = b.append_basic_block("feature"), b.append_basic_block("done")
    b.branch(loop)

    b.position_at_end(loop)
    feature, address = b.phi(_INT), b.phi(_INT)
    feature.add_incoming(_INT(0), entry)
    address.add_incoming(strip, entry)
    zero = ir.Constant(_VECTOR, [0.0] * WIDTH)
    sums = [b.phi(_VECTOR) for _ in range(STRIP // WIDTH)]
    coordinate = b.load(b.gep(b.inttoptr(point, _DOUBLE.as_pointer()), [feature]))
    at = _splat(b, coordinate, _VECTOR)
    added = []
    for number, value in enumerate(sums):
        value.add_incoming(zero, entry)
        difference = b.fsub(_load(b, _VECTOR, address, number), at)
        added.append(b.fadd(value, b.fmul(difference, difference)))
        value.add_incoming(added[-1], loop)
    following = b.add(feature, _INT(1))
    feature.add_incoming(following, loop)
    address.add_incoming(b.add(address, _INT(8 * STRIP)), loop)
    b.cbranch(b.icmp_signed("<", following, n_features), loop, done)

    b.position_at_end(done)
    return added


def _load(b: Any, kind: Any, address: Any, number: int) -> Any:
    """Return the vector with a number, of those that begin at an address."""
    at = b.add(address, _INT(8 * WIDTH * number))
    return b.load(b.inttoptr(at, kind.as_pointer()), align=8)


def _store(b: Any, vector: Any, address: Any, number: int) -> None:
    at = b.add(address, _INT(8 * WIDTH * number))
    b.store(vector, b.inttoptr(at, vector.type.as_pointer())).align = 8


def _splat(b: Any, scalar: Any, kind: Any) -> Any:
    """Return a vector of equal numbers."""
    undefined = ir.Constant(kind, ir.Undefined)
    first = b.insert_element(undefined, scalar, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return b.shuffle_vector(first, undefined, zeros)
