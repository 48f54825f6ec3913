"""Exact squared distances of one point to a strip of 32 others, kept in registers.

Like `structsmooth.tree.tiles` this is spelled out for the compiler, whose own loop
keeps the sums in memory and takes half as long again. The code below is what this
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

from structsmooth.kernels import kernel

STRIP = 32
WIDTH = 8  # numbers in a vector; the compiler splits it where registers are shorter

_INT = ir.IntType(64)
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, WIDTH)


def as_strips(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return the points 32 at a time, feature by feature: (strips, features, 32)."""
    n, d = X.shape
    strips = np.zeros((-(-n // STRIP), STRIP, d))
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


def _squared_of_strip(
    _typing_context: Any, strip: Any, point: Any, n_features: Any, out: Any
) -> Any:
    """Write 32 squared distances; all arguments are int64, three are addresses."""
    signature = types.void(*[types.int64] * 4)

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        _emit(builder, *arguments)
        return context.get_dummy_value()

    return signature, code


_strip_squared: Any = intrinsic(_squared_of_strip)


def _emit(b: Any, strip: Any, point: Any, n_features: Any, out: Any) -> None:
    """Write the loop over the features into a function."""
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
    at = _splat(b, coordinate)
    added = []
    for number, value in enumerate(sums):
        value.add_incoming(zero, entry)
        here = b.add(address, _INT(8 * WIDTH * number))
        numbers = b.load(b.inttoptr(here, _VECTOR.as_pointer()), align=8)
        difference = b.fsub(numbers, at)
        added.append(b.fadd(value, b.fmul(difference, difference)))
        value.add_incoming(added[-1], loop)
    following = b.add(feature, _INT(1))
    feature.add_incoming(following, loop)
    address.add_incoming(b.add(address, _INT(8 * STRIP)), loop)
    b.cbranch(b.icmp_signed("<", following, n_features), loop, done)

    b.position_at_end(done)
    for number, value in enumerate(added):
        target = b.inttoptr(b.add(out, _INT(8 * WIDTH * number)), _VECTOR.as_pointer())
        b.store(value, target).align = 8


def _splat(b: Any, scalar: Any) -> Any:
    """Return a vector of equal numbers."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = b.insert_element(undefined, scalar, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return b.shuffle_vector(first, undefined, zeros)
