"""The one definition of a distance and of the order of edges.

Every algorithm decides by these functions, or by the same sums in the same order, so
that all of them return the same tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]  # of either width
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
# The two ends and the squared lengths of the edges of a tree.
Edges = tuple[I64, I64, F64]


@kernel
def squared_distance(X: NDArray[Any], i: int, j: int) -> float:
    """Return the squared distance of two rows: float64, feature by feature."""
    total = 0.0
    for feature in range(X.shape[1]):
        difference = np.float64(X[i, feature]) - np.float64(X[j, feature])
        total += difference * difference
    return total


@kernel
def squared_distances(
    X: NDArray[Any], i: int, others: Any, count: int, squared: F64
) -> None:
    """Write the squared distances of a row to the first of some others.

    Four at a time: each sum has to wait for itself, but not for the other three.
    """
    in_fours = count - count % 4
    for start in range(0, in_fours, 4):
        a, b = others[start], others[start + 1]
        c, d = others[start + 2], others[start + 3]
        to_a = to_b = to_c = to_d = 0.0
        for feature in range(X.shape[1]):
            value = np.float64(X[i, feature])
            difference = value - np.float64(X[a, feature])
            to_a += difference * difference
            difference = value - np.float64(X[b, feature])
            to_b += difference * difference
            difference = value - np.float64(X[c, feature])
            to_c += difference * difference
            difference = value - np.float64(X[d, feature])
            to_d += difference * difference
        squared[start], squared[start + 1] = to_a, to_b
        squared[start + 2], squared[start + 3] = to_c, to_d
    for at in range(in_fours, count):
        squared[at] = squared_distance(X, i, others[at])


@kernel
def keep_nearest(
    indices: I64, squared: F64, row: int, other: int, value: float
) -> None:
    """Enter a row that is met in ascending order into the nearest ones of another.

    Of equally near ones the lower row, met first, stays.
    """
    slot = indices.shape[1] - 1
    if value >= squared[row, slot]:
        return
    while slot > 0 and squared[row, slot - 1] > value:
        squared[row, slot] = squared[row, slot - 1]
        indices[row, slot] = indices[row, slot - 1]
        slot -= 1
    squared[row, slot] = value
    indices[row, slot] = other


@kernel
def precedes(
    squared: float, a: int, b: int, other_squared: float, c: int, d: int
) -> bool:
    """Whether edge a-b comes before c-d by (length, lower row, higher row)."""
    if squared != other_squared:
        return squared < other_squared
    low, other_low = min(a, b), min(c, d)
    return low < other_low or (low == other_low and max(a, b) < max(c, d))
