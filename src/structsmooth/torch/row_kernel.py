"""The loss and its gradient in one compiled pass over the rows, in float32 on a CPU.

PyTorch needs about fifteen calls, each of which costs more than its work on a small
batch, and one more pass through memory on a large one. Here a row stays in the cache
until it is done.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel

# This many numbers are summed in vectors of float32, and these sums in float64.
CHUNK = 1024

_LOG2_E = np.float32(1.4426950408889634)
# ln 2 in two parts, the first so short that small multiples of it are exact.
_LN2_HIGH = np.float32(0.693145751953125)
_LN2_LOW = np.float32(1.4286068203094172e-06)
# The exponential of anything below is not a normal number.
_LOWEST = np.float32(-87.0)
# (exp(x) - 1 - x) / x^2 for |x| <= ln(2) / 2, interpolated at Chebyshev nodes.
_C0 = np.float32(0.5)
_C1 = np.float32(0.16666576266288757)
_C2 = np.float32(0.041666556149721146)
_C3 = np.float32(0.008363178931176662)
_C4 = np.float32(0.0013926184037700295)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


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
    """Write the losses times scale and weights (if any), and the gradient of their sum.

    The last two arguments are the output. Arrays are contiguous, and every index is a
    class.
    """
    n_rows, n_classes = logits.shape
    bits = logits.view(np.int32)
    for i in range(n_rows):
        row, out = logits[i], gradient[i]
        largest = _largest(bits[i])
        # Sums are of differences to the largest, so that an offset costs no digits.
        total, exponentials = 0.0, 0.0
        for start in range(0, n_classes, CHUNK):
            stop = min(start + CHUNK, n_classes)
            total += _sum_of_differences(row[start:stop], largest)
            _exponentials(row[start:stop], largest, out[start:stop])
            exponentials += _sum_of_differences(out[start:stop], _ZERO)
        if math.isnan(total):  # the exponentials of NaN are 0
            exponentials = math.nan
        factor = scale * weights[i] if len(weights) else scale
        # The negative target times the factor is `other` for every class, plus `own`
        # for the class of the sample.
        other = -factor * strengths[i] / (n_classes - 1)
        own = -n_classes * other - factor
        loss = factor * math.log(exponentials) + own * (row[index[i]] - largest)
        if other != 0.0:  # 0 times the infinity of a masked class would be NaN
            loss += other * total
        losses[i] = loss
        _scale_and_shift(out, np.float32(factor / exponentials), np.float32(other))
        out[index[i]] += np.float32(own)


@kernel
def _largest(bits: NDArray[np.int32]) -> Any:
    """Return the largest of some floats, given their bits.

    With the lower bits of negative floats inverted, bits are integers in the order of
    the floats, and compilers vectorize the maximum of integers.
    """
    largest = np.int32(-(2**31))
    for j in range(len(bits)):
        ordered = bits[j] ^ ((bits[j] >> np.int32(31)) & np.int32(0x7FFFFFFF))
        largest = max(largest, ordered)
    largest = np.int32(largest ^ ((largest >> np.int32(31)) & np.int32(0x7FFFFFFF)))
    return largest.view(np.float32)


@kernel(fastmath={"reassoc", "nsz"})
def _sum_of_differences(values: NDArray[np.float32], origin: Any) -> Any:
    total = np.float32(0.0)
    for j in range(len(values)):
        total += values[j] - origin
    return total


@kernel(fastmath={"contract"})
def _exponentials(
    values: NDArray[np.float32], largest: Any, out: NDArray[np.float32]
) -> None:
    """Write ``exp(values - largest)``, to a relative 1e-7.

    ``exp(x) = 2^k exp(x - k ln 2)`` with a whole k: the bits of 2^k are written
    directly and the rest is a polynomial, so no branch prevents vectorization.
    """
    for j in range(len(values)):
        difference = values[j] - largest
        x = difference if difference > _LOWEST else _LOWEST
        k = np.int32(x * _LOG2_E - _C0)
        whole = np.float32(k)
        x = x - whole * _LN2_HIGH
        x = x - whole * _LN2_LOW
        rest = (((_C4 * x + _C3) * x + _C2) * x + _C1) * x + _C0
        power = np.int32((k + np.int32(127)) << np.int32(23)).view(np.float32)
        value = (rest * x * x + x + _ONE) * power
        out[j] = value if difference >= _LOWEST else _ZERO


@kernel(fastmath={"contract"})
def _scale_and_shift(values: NDArray[np.float32], factor: Any, shift: Any) -> None:
    for j in range(len(values)):
        values[j] = values[j] * factor + shift
