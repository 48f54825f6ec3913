"""The one definition of a distance and of the order of edges.

Every kernel decides by these functions, or by the same sums in the same order, so
that all of them return the same tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel


@kernel
def squared_distance(X: NDArray[Any], i: int, j: int) -> float:
    """Return the squared distance of two rows: float64, feature by feature."""
    total = 0.0
    for feature in range(X.shape[1]):
        difference = np.float64(X[i, feature]) - np.float64(X[j, feature])
        total += difference * difference
    return total


@kernel
def precedes(
    squared: float, a: int, b: int, other_squared: float, c: int, d: int
) -> bool:
    """Whether edge a-b comes before c-d by (length, lower row, higher row)."""
    if squared != other_squared:
        return squared < other_squared
    low, other_low = min(a, b), min(c, d)
    return low < other_low or (low == other_low and max(a, b) < max(c, d))


@kernel
def root_of(parent: NDArray[Any], i: int) -> int:
    """Return the representative of i's set, and shorten the way to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
