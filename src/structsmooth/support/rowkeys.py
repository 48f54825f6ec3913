"""A number for what a row holds, by which it is known when it comes back.

The sum, modulo 2**64, of a hash of each feature that is not zero, and so the same for
sparse and dense rows, float32 and float64, and whatever other rows come along. Two
different rows have the same number in one of 10**19 cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsmooth.support.jit import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_keys(X: Any) -> NDArray[np.uint64]:
    """Return the number of each row of checked features."""
    if sp.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return _of_sparse(X.data, X.indices, X.indptr)
    return _of_dense(X)


def groups_of_keys(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return for each row the first one with the same key."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[group])


def halves_of_rows(
    keys: NDArray[np.uint64], coded: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which of two random halves each row belongs to, in whatever order.

    It depends on what a row holds, its label included, and on how many equal ones come
    before it, which are all the same.
    """
    order = np.lexsort((coded, keys))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(keys[order]) != 0) | (np.diff(coded[order]) != 0)
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    place = np.empty(len(order), dtype=np.uint64)
    place[order] = np.arange(len(order)) - start
    return _draw(keys, coded.astype(np.uint64), place)


@kernel
def _mix(value: Any) -> Any:
    """Return the bits well stirred, as the generator splitmix64 does."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@kernel
def _of_dense(X: NDArray[Any]) -> NDArray[np.uint64]:
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    value = np.empty(1, dtype=np.float64)
    bits = value.view(np.uint64)
    for i in range(X.shape[0]):
        total = _GOLDEN  # so that no row has the number 0
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:  # minus zero is zero
                value[0] = X[i, j]
                total += _mix(bits[0] + np.uint64(j + 1) * _GOLDEN)
        keys[i] = total
    return keys


@kernel
def _of_sparse(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any]
) -> NDArray[np.uint64]:
    n_rows = len(indptr) - 1
    keys = np.zeros(n_rows, dtype=np.uint64)
    value = np.empty(1, dtype=np.float64)
    bits = value.view(np.uint64)
    for i in range(n_rows):
        total = _GOLDEN  # so that no row has the number 0
        for place in range(indptr[i], indptr[i + 1]):
            if data[place] != 0.0:
                value[0] = data[place]
                total += _mix(bits[0] + np.uint64(indices[place] + 1) * _GOLDEN)
        keys[i] = total
    return keys


@kernel
def _draw(
    keys: NDArray[np.uint64], codes: NDArray[np.uint64], places: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    out = np.empty(len(keys), dtype=np.bool_)
    for i in range(len(keys)):
        drawn = _mix(_mix(_mix(keys[i]) + codes[i] * _GOLDEN) + places[i] * _GOLDEN)
        out[i] = drawn & np.uint64(1) == np.uint64(1)
    return out
