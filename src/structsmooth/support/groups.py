"""Rows sorted by the number of their group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def order_by_group(groups: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rows, those of the first group first, each group's in their order."""
    if groups.size and groups.min() >= 0 and groups.max() < 2**16:
        groups = groups.astype(np.uint16)  # which NumPy sorts by counting, much faster
    return np.argsort(groups, kind="stable")


def rows_of_groups(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows of each group 0, 1, ... in their order."""
    return np.split(order_by_group(groups), np.cumsum(np.bincount(groups))[:-1])
