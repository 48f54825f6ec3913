"""What is found of every column of an array in one pass over its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel


# A kernel, because NumPy takes one pass for each end, and holds the interpreter's lock
# for short calls, and with it the threads that build other trees.
@kernel
def range_of_columns(
    X: NDArray[Any],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
