"""Rows sorted by the number of their group, and summed by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.parallel import in_threads

# Numbers from which on rows are summed in parts, and how many parts. Their sums take an
# eighth of the memory of the rows at most.
NUMBERS_IN_PARTS, PARTS = 300_000, 8


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


def sum_by_group(
    rows: NDArray[Any],
    groups: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_groups: int,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weighted sum of the rows of each group, row by row, and its weight.

    Rows of the group -1 are left out. Many rows are summed in parts, which are then
    added up in order; how many parts does not depend on threads.
    """
    n_rows, d = rows.shape
    are_many = rows.size >= NUMBERS_IN_PARTS and n_rows >= PARTS**2 * n_groups
    n_parts = PARTS if are_many else 1
    sums, totals = np.zeros((n_parts, n_groups, d)), np.zeros((n_parts, n_groups))
    ends = [part * n_rows // n_parts for part in range(n_parts + 1)]
    n_threads = min(n_parts, effective_n_jobs(n_jobs))

    def add_some(number: int) -> None:
        for part in range(number, n_parts, n_threads):
            some = slice(ends[part], ends[part + 1])
            _add(rows[some], groups[some], weights[some], sums[part], totals[part])

    in_threads(n_threads, add_some)
    return sums.sum(axis=0), totals.sum(axis=0)


@kernel
def _add(
    rows: NDArray[Any],
    groups: NDArray[np.int64],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> None:
    for i in range(rows.shape[0]):
        at, weight = groups[i], weights[i]
        if at >= 0:
            totals[at] += weight
            for feature in range(rows.shape[1]):
                sums[at, feature] += weight * rows[i, feature]
