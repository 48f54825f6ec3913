"""What is found of every column of an array in one pass over its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel

F64 = NDArray[np.float64]


# A kernel, because NumPy takes one pass for each end, and holds the interpreter's lock
# for short calls, and with it the threads that build other trees.
@kernel
def range_of_columns(X: NDArray[Any]) -> tuple[F64, F64]:
    """Return the lowest and the highest value of each column."""
    low, high = np.empty(X.shape[1]), np.empty(X.shape[1])
    for column in range(X.shape[1]):
        low[column] = high[column] = X[0, column]
    for i in range(X.shape[0]):
        for column in range(X.shape[1]):
            value = np.float64(X[i, column])
            low[column] = value if value < low[column] else low[column]
            high[column] = value if value > high[column] else high[column]
    return low, high


def sums_of_columns(blocks: Iterable[NDArray[Any]], shift: F64) -> tuple[F64, F64]:
    """Return the sums of the rows' differences from a shift, and of their squares.

    They are added row by row, as NumPy does over the first axis of an array, so it does
    not matter where blocks begin.
    """
    total, squares = np.zeros((2, len(shift)))
    for block in blocks:
        _add(np.ascontiguousarray(block), shift, total, squares)
    return total, squares


@kernel
def _add(rows: NDArray[Any], shift: F64, total: F64, squares: F64) -> None:
    for i in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            value = np.float64(rows[i, column]) - shift[column]
            total[column] += value
            squares[column] += value * value
