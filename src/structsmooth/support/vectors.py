"""What vector instructions are written with: `ir` builders, all named b."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import cgutils, types
from numpy.typing import DTypeLike, NDArray

# numba's own annotations do not fit these uses.
intrinsic: Any = extending.intrinsic
helpers: Any = cgutils
INT = ir.IntType(64)
LANES = 16  # float32 numbers that are worked on at a time
FLOATS = ir.VectorType(ir.FloatType(), LANES)
PLACES = ir.VectorType(ir.IntType(32), LANES)
CACHE_LINE = 64  # bytes


def aligned(shape: tuple[int, ...], kind: DTypeLike, value: Any) -> NDArray[Any]:
    """Return a full array that begins where a cache line does.

    NumPy's begin anywhere, and a vector that lies across two lines takes twice as long
    to load: trees took up to half as long again.
    """
    kind = np.dtype(kind)
    size = math.prod(shape) * kind.itemsize
    memory = np.empty(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    array = memory[start : start + size].view(kind).reshape(shape)
    array[...] = value
    return array


def unpack(
    context: Any, b: Any, signature: Any, arguments: Any
) -> tuple[list[Any], Any]:
    """Return pointers for the arrays, integers as they are, and the features.

    Panels and strips, the arrays of three dimensions, hold the features in the second.
    """
    values = []
    for kind, value in zip(signature.args, arguments, strict=True):
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, b, value)
            values.append(array.data)
            if kind.ndim == 3:
                n_features = b.extract_value(array.shape, 1)
        else:
            values.append(value)
    return values, n_features


def zeros(b: Any, kind: Any, count: int) -> list[Any]:
    """Return variables of zeros, which the compiler turns into registers."""
    zero = ir.Constant(kind, [0.0] * kind.count)
    return [helpers.alloca_once_value(b, zero) for _ in range(count)]


@contextmanager
def loop(b: Any, start: Any, stop: Any, step: int = 1) -> Iterator[Any]:
    """Write a loop from start to below stop, whose body runs at least once."""
    before, body = b.block, b.append_basic_block("body")
    b.branch(body)
    b.position_at_end(body)
    index = b.phi(INT)
    index.add_incoming(start, before)
    yield index
    following = b.add(index, INT(step))
    index.add_incoming(following, b.block)
    after = b.append_basic_block("after")
    b.cbranch(b.icmp_signed("<", following, stop), body, after)
    b.position_at_end(after)


def add_square(b: Any, total: Any, difference: Any) -> Any:
    """Return total + difference ** 2: float32 rounded once, float64 by definition."""
    vector = total.type
    if vector.element == ir.DoubleType():
        return b.fadd(total, b.fmul(difference, difference))
    return add_product(b, total, difference, difference)


def add_product(b: Any, total: Any, one: Any, other: Any) -> Any:
    """Return total + one * other of vectors, rounded once."""
    vector = total.type
    kind = ir.FunctionType(vector, [vector] * 3)
    size = 64 if vector.element == ir.DoubleType() else 32
    name = f"llvm.fma.v{vector.count}f{size}"
    function = helpers.get_or_insert_function(b.module, kind, name)
    return b.call(function, [one, other, total])


def larger(b: Any, one: Any, other: Any) -> Any:
    """Return the larger of two vectors, number by number; of NaN, the other."""
    return b.select(b.fcmp_ordered(">", one, other), one, other)


def bits_of(b: Any, booleans: Any) -> Any:
    """Return a vector of booleans as an integer, bit by bit."""
    return b.bitcast(booleans, ir.IntType(booleans.type.count))


def load(b: Any, kind: Any, pointer: Any) -> Any:
    """Return the vector at a pointer to its first number."""
    return b.load(b.bitcast(pointer, kind.as_pointer()), align=4)


def store(b: Any, vector: Any, pointer: Any) -> None:
    """Write a vector to where its first number is pointed to."""
    b.store(vector, b.bitcast(pointer, vector.type.as_pointer())).align = 4


def splat(b: Any, scalar: Any, kind: Any) -> Any:
    """Return a vector that holds the scalar in every place."""
    undefined = ir.Constant(kind, ir.Undefined)
    first = b.insert_element(undefined, scalar, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return b.shuffle_vector(first, undefined, zeros)


def any_of(b: Any, booleans: list[Any]) -> Any:
    """Return whether anything in some vectors of booleans is true."""
    bits = bits_of(b, functools.reduce(b.or_, booleans))
    return b.icmp_unsigned("!=", bits, bits.type(0))


def reduce_to(b: Any, how: str, vector: Any) -> Any:
    """Return the least or the largest integer of a vector."""
    kind = ir.FunctionType(ir.IntType(32), [vector.type])
    name = f"llvm.vector.reduce.{how}.v{vector.type.count}i32"
    return b.call(helpers.get_or_insert_function(b.module, kind, name), [vector])


def largest_of(b: Any, vector: Any) -> Any:
    """Return the largest number of a vector, half and half."""
    while vector.type.count > 1:
        half = vector.type.count // 2
        places = ir.VectorType(ir.IntType(32), half)
        halves = [
            b.shuffle_vector(vector, vector, ir.Constant(places, [*numbers]))
            for numbers in (range(half), range(half, 2 * half))
        ]
        vector = larger(b, *halves)
    return b.extract_element(vector, ir.IntType(32)(0))


@intrinsic
def lowest_bit(_typing_context: Any, _mask: Any) -> Any:
    """Return the position of the lowest bit that is set in a uint64."""

    def code(_context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        return b.cttz(arguments[0], helpers.true_bit)

    return types.int64(types.uint64), code
