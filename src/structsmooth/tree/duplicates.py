"""Equal rows: found by hashing, joined before any tree is built.

By the order of edges, equal rows are joined to the first of them, and every longer
edge of the tree ends in a first one. So only the tree of the distinct rows is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.exact import I64

FACTOR = np.uint64(0x9E3779B97F4A7C15)  # an odd number without a pattern


def first_of_equal(X: NDArray[Any]) -> I64:
    """Return for each row the first row that is equal to it, found in a hash table."""
    n = X.shape[0]
    size = 2
    while size < 2 * n:
        size *= 2
    first, hashes = np.empty(n, np.int64), np.empty(n, np.uint64)
    _hash_rows(X, hashes)
    _look_up(X, hashes, np.full(size, -1, np.int32), first)
    return first


@kernel
def _look_up(
    X: NDArray[Any], hashes: NDArray[np.uint64], table: NDArray[np.int32], first: I64
) -> None:
    """Find first rows; the table holds them by the last bits of their hashes."""
    mask = np.uint64(len(table) - 1)
    for i in range(X.shape[0]):
        at = hashes[i] & mask
        while table[at] >= 0 and not (
            hashes[table[at]] == hashes[i] and _equal(X, table[at], i)
        ):
            at = (at + np.uint64(1)) & mask
        if table[at] < 0:
            table[at] = i
        first[i] = table[at]


@kernel
def _hash_rows(X: NDArray[Any], hashes: NDArray[np.uint64]) -> None:
    """Set a number for each row, the same for equal rows.

    It is a sum with a factor for each feature, so that no term has to wait for another.
    """
    d = X.shape[1]
    factors = np.empty(d, np.uint64)
    factor = FACTOR
    for feature in range(d):
        factors[feature] = factor
        factor *= FACTOR
    for i in range(X.shape[0]):
        code = np.uint64(0)
        for feature in range(d):
            value = np.float64(X[i, feature]) + 0.0  # -0 and 0 are equal
            bits = np.float64(value).view(np.uint64)
            # In most numbers only the first bits differ, and those multiply into none.
            code += (bits ^ (bits >> np.uint64(32))) * factors[feature]
        code = (code ^ (code >> np.uint64(32))) * FACTOR
        hashes[i] = code ^ (code >> np.uint64(29))


@kernel
def _equal(X: NDArray[Any], i: int, j: int) -> bool:
    different = 0
    for feature in range(X.shape[1]):
        different += X[i, feature] != X[j, feature]
    return different == 0
