"""Rows a block at a time: in the processor's cache, and without a copy of all rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Numbers in a block, and its fewest rows.
NUMBERS, FEWEST_ROWS = 1 << 19, 256


def blocks_of(X: NDArray[Any], fewest: int = FEWEST_ROWS) -> Iterator[slice]:
    """Yield the rows of each block."""
    step = max(fewest, NUMBERS // X.shape[1])
    for start in range(0, X.shape[0], step):
        yield slice(start, min(start + step, X.shape[0]))


def float64_blocks(X: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    """Yield copies of the blocks, row by row in memory, that may be overwritten."""
    for part in blocks_of(X):
        yield np.array(X[part], dtype=np.float64, order="C")


def running_sum(blocks: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum of all rows, added in order; the blocks are overwritten."""
    total: Any = 0.0
    for block in blocks:
        block[0] += total
        total = np.add.reduce(block, axis=0)
    return np.asarray(total)
