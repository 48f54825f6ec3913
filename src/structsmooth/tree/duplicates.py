"""Rows that are equal: found by hashing, joined before any tree is built.

By the order of edges, equal rows hang on the first of them, and every longer edge of
the tree ends in a first one. So the tree of the distinct rows is all that is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel


def first_of_equal(X: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return for each row the first row that is equal to it, None if all differ."""
    hashes = _hash_rows(X)
    if _all_differ(hashes):
        return None
    return _match(X, hashes, np.argsort(hashes, kind="stable"))


@kernel
def _hash_rows(X: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a number for each row, the same for equal rows."""
    hashes = np.empty(X.shape[0], np.uint64)
    value = np.empty(1, np.float64)
    bits = value.view(np.uint64)
    for i in range(X.shape[0]):
        code = np.uint64(14695981039346656037)
        for feature in range(X.shape[1]):
            value[0] = X[i, feature] + 0.0  # -0 and 0 are equal
            code = (code ^ bits[0]) * np.uint64(1099511628211)
            code ^= code >> np.uint64(29)
        hashes[i] = code
    return hashes


@kernel
def _all_differ(hashes: NDArray[np.uint64]) -> bool:
    """Whether no two hashes are equal, by putting them into a table twice as large."""
    size = 2
    while size < 2 * len(hashes):
        size *= 2
    mask = np.uint64(size - 1)
    table = np.zeros(size, np.uint64)  # 0 is free; a hash of 0 counts as 1
    for code in hashes:
        value = max(code, np.uint64(1))
        at = value & mask
        while table[at] != 0:
            if table[at] == value:
                return False
            at = (at + np.uint64(1)) & mask
        table[at] = value
    return True


@kernel
def _match(
    X: NDArray[Any], hashes: NDArray[np.uint64], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    n = len(order)
    first = np.arange(n)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and hashes[order[stop]] == hashes[order[start]]:
            stop += 1
        # Rows of one hash are nearly always equal; compare with each first one.
        for at in range(start + 1, stop):
            for earlier in range(start, at):
                candidate = order[earlier]
                if first[candidate] == candidate and _equal(X, candidate, order[at]):
                    first[order[at]] = candidate
                    break
        start = stop
    return first


@kernel
def _equal(X: NDArray[Any], i: int, j: int) -> bool:
    different = 0
    for feature in range(X.shape[1]):
        different += X[i, feature] != X[j, feature]
    return different == 0
