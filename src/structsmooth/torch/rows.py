"""The loss and its gradient, row by row, in single precision on a CPU.

PyTorch needs some fifteen calls for them, each of which costs more than its work on a
small batch and another trip through memory on a large one. Here it is one call, and a
row stays in the cache until it is done.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from structsmooth.support.jit import kernel

# This many numbers are summed in vectors of float32, and these sums in float64.
CHUNK = 1024

_LOG2_E = np.float32(1.4426950408889634)
# ln 2 in two parts, the first so short that small multiples of it are exact.
_LN2_HIGH = np.float32(0.693145751953125)
_LN2_LOW = np.float32(1.4286068203094172e-06)
# Below this an exponential is no normal number any more.
_LOWEST = np.float32(-87.0)
# (exp(x) - 1 - x) / x^2 for |x| <= ln(2) / 2, interpolated at Chebyshev's points.
_C0 = np.float32(0.5)
_C1 = np.float32(0.16666576266288757)
_C2 = np.float32(0.041666556149721146)
_C3 = np.float32(0.008363178931176662)
_C4 = np.float32(0.0013926184037700295)
_ONE = np.float32(1.0)


def _float_of_bits(_typing_context: Any, _bits: Any) -> Any:
    """Return the float32 whose bits an int32 has."""
    signature = types.float32(types.int32)

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return signature, code


float_of_bits: Any = intrinsic(_float_of_bits)


@kernel(error_model="numpy")
def losses_and_gradient(
    logits: NDArray[np.float32],
    index: NDArray[np.int64],
    strengths: NDArray[np.float32],
    scale: float,
    weights: NDArray[np.float32],
    losses: NDArray[np.float32],
    gradient: NDArray[np.float32],
) -> None:
    """Write the losses times scale, and the gradient of their sum.

    Parameters
    ----------
    logits : ndarray of shape (N, K), contiguous
        Scores.
    index : ndarray of shape (N,)
        Class indices, within range.
    strengths : ndarray of shape (N,)
        Mass that leaves the own class.
    scale : float
        Factor of all losses.
    weights : ndarray of shape (N,) or (0,)
        Another factor of each, or of none.
    losses : ndarray of shape (N,)
        Output.
    gradient : ndarray of shape (N, K), contiguous
        Output.
    """
    n_rows, n_classes = logits.shape
    bits = logits.view(np.int32)
    for i in range(n_rows):
        row, out = logits[i], gradient[i]
        largest = float_of_bits(_largest(bits[i]))
        # Sums are of differences to the largest, so that an offset costs no digits.
        total, exponentials = 0.0, 0.0
        for start in range(0, n_classes, CHUNK):
            stop = min(start + CHUNK, n_classes)
            total += _sum_of_differences(row[start:stop], largest)
            _exponentials(row[start:stop], largest, out[start:stop])
            exponentials += _sum(out[start:stop])
        if math.isnan(total):  # the exponentials have not seen it
            exponentials = math.nan
        factor = scale * weights[i] if len(weights) else scale
        # Minus the target, times the factor: `other` on all classes, `own` more on the
        # own one.
        other = -factor * strengths[i] / (n_classes - 1)
        own = -n_classes * other - factor
        loss = factor * math.log(exponentials) + own * (row[index[i]] - largest)
        if other != 0.0:  # or 0 would meet the infinity of a masked class
            loss += other * total
        losses[i] = loss
        _scale_and_shift(out, np.float32(factor / exponentials), np.float32(other))
        out[index[i]] += np.float32(own)


@kernel
def _largest(bits: NDArray[np.int32]) -> Any:
    """Return the bits of the largest of some floats.

    Turned over where they are negative, the bits of floats are integers in the same
    order, and integers are what a compiler finds the largest of in vectors.
    """
    largest = np.int32(-(2**31))
    for j in range(len(bits)):
        ordered = bits[j] ^ ((bits[j] >> np.int32(31)) & np.int32(0x7FFFFFFF))
        largest = max(largest, ordered)
    return np.int32(largest ^ ((largest >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@kernel(fastmath={"reassoc", "nsz"})
def _sum(values: NDArray[np.float32]) -> Any:
    total = np.float32(0.0)
    for j in range(len(values)):
        total += values[j]
    return total


@kernel(fastmath={"reassoc", "nsz"})
def _sum_of_differences(values: NDArray[np.float32], largest: Any) -> Any:
    total = np.float32(0.0)
    for j in range(len(values)):
        total += values[j] - largest
    return total


@kernel(fastmath={"contract"})
def _exponentials(
    values: NDArray[np.float32], largest: Any, out: NDArray[np.float32]
) -> None:
    """Write ``exp(values - largest)``, to a relative 1e-7.

    ``exp(x) = 2^k exp(x - k ln 2)`` with a whole k, of which 2^k is made bit by bit
    and the rest is a polynomial: no branches, so that a vector is computed at once.
    """
    for j in range(len(values)):
        difference = values[j] - largest
        x = difference if difference > _LOWEST else _LOWEST
        k = np.int32(x * _LOG2_E - _C0)
        whole = np.float32(k)
        x = x - whole * _LN2_HIGH
        x = x - whole * _LN2_LOW
        rest = (((_C4 * x + _C3) * x + _C2) * x + _C1) * x + _C0
        power = float_of_bits(np.int32((k + np.int32(127)) << np.int32(23)))
        value = (rest * x * x + x + _ONE) * power
        out[j] = value if difference >= _LOWEST else np.float32(0.0)


@kernel(fastmath={"contract"})
def _scale_and_shift(values: NDArray[np.float32], factor: Any, shift: Any) -> None:
    for j in range(len(values)):
        values[j] = values[j] * factor + shift
