"""What Prim's algorithms do with every open point in every step, as vector loops.

Each is a function of its own, on one-dimensional arrays and without a branch that
depends on the data: so the compiler vectorizes it, and no guess of the processor can
fail. That is faster than to remember where little has changed.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from structsmooth.support.jit import kernel


@kernel
def lowest_of(bits: NDArray[Any]) -> Any:
    """Return the smallest of some numbers' bits.

    Numbers of at least 0 are in the order of their bits, infinity among them, and only
    the smallest of integers is found in a vector loop.
    """
    lowest = bits[0]
    for j in range(bits.shape[0]):
        lowest = min(lowest, bits[j])
    return lowest


@kernel
def last_up_to(bits: NDArray[Any], limit: Any) -> tuple[int, int]:
    """Return the last place whose bits do not exceed the limit, and how many do not.

    All integers have the width of the bits, so that one vector holds as many of each.
    """
    kind = bits.dtype.type
    last, count = kind(-1), kind(0)
    for j in range(kind(bits.shape[0])):
        is_below = bits[j] <= limit
        count += kind(is_below)
        last = max(last, kind(j) if is_below else kind(-1))
    return last, count
