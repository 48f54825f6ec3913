"""Keys of rows, by which a row of the fit is recognized when it is passed again.

A key is the sum, modulo 2**64, of a hash of each feature that is not zero. So sparse
and dense rows, float32 and float64, have the same key whatever other rows come with
them; two different rows share one with a probability of about 10**-19.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsmooth.support.jit import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NAN = np.float64(np.nan).view(np.uint64)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_keys(X: Any) -> NDArray[np.uint64]:
    """Return the key of each row of checked features."""
    if sp.issparse(X):
        return _of_sparse(X.data, X.indices, X.indptr)
    return _of_dense(X)


def groups_of_keys(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return for each row the number of the first row with the same key."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[group])


def halves_of_rows(
    keys: NDArray[np.uint64], coded: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which of two random halves each row belongs to.

    The order of the rows does not matter: a draw depends on the key and the class of a
    row, and on how many equal rows come before it, which are interchangeable.
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
    """Return the bits well mixed, as the generator splitmix64 does."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@kernel
def _hash(value: Any, column: Any) -> Any:
    """Return the hash of a feature; of zero, whatever its sign, it is 0.

    All gaps have the same one, although there are several NaN.
    """
    if value == 0.0:
        return np.uint64(0)
    bits = np.float64(value).view(np.uint64) if value == value else _NAN
    return _mix(bits + np.uint64(column + 1) * _GOLDEN)


@kernel
def _of_dense(X: NDArray[Any]) -> NDArray[np.uint64]:
    keys = np.full(X.shape[0], _GOLDEN)  # so that no key is 0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            keys[i] += _hash(X[i, j], j)
    return keys


@kernel
def _of_sparse(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any]
) -> NDArray[np.uint64]:
    keys = np.full(len(indptr) - 1, _GOLDEN)  # so that no key is 0
    for i in range(len(keys)):
        for at in range(indptr[i], indptr[i + 1]):
            keys[i] += _hash(data[at], indices[at])
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
