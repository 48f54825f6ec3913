"""Rows sorted by the number of their group, and summed by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel


def order_by_group(groups: NDArray[Any]) -> NDArray[np.int64]:
    """Return the row numbers sorted by group, and in order within each group."""
    if groups.size and groups.min() >= 0 and groups.max() < 2**16:
        groups = groups.astype(np.uint16)  # NumPy's radix sort is much faster
    return np.argsort(groups, kind="stable")


def rows_of_groups(
    groups: NDArray[np.int64], n_groups: int = 0
) -> list[NDArray[np.int64]]:
    """Return the row numbers of each group 0, 1, ..., in order; at least so many."""
    sizes = np.bincount(groups, minlength=n_groups)
    return np.split(order_by_group(groups), np.cumsum(sizes)[:-1])


@kernel
def sum_by_group(
    rows: NDArray[Any],
    groups: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_groups: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weighted sum of the rows of each group, row by row, and its weight.

    Rows of the group -1 are left out.
    """
    n_features = rows.shape[1]
    sums, totals = np.zeros((n_groups, n_features)), np.zeros(n_groups)
    for i in range(rows.shape[0]):
        at, weight = groups[i], weights[i]
        if at >= 0:
            totals[at] += weight
            for feature in range(n_features):
                sums[at, feature] += weight * rows[i, feature]
    return sums, totals
