"""Rows sorted by the number of their group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def order_by_group(groups: NDArray[Any]) -> NDArray[np.int64]:
    """Return the row numbers sorted by group, and in order within each group."""
    if groups.size and groups.min() >= 0 and groups.max() < 2**16:
        groups = groups.astype(np.uint16)  # NumPy's radix sort is much faster
    return np.argsort(groups, kind="stable")


def rows_of_groups(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the row numbers of each group 0, 1, ..., in order."""
    return np.split(order_by_group(groups), np.cumsum(np.bincount(groups))[:-1])
