"""Rows a block at a time: in the processor's cache, and without a copy of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

# Numbers in a block, and its fewest rows.
NUMBERS, FEWEST_ROWS = 1 << 19, 256


def blocks_of(X: NDArray[Any], fewest: int = FEWEST_ROWS) -> Iterator[slice]:
    """Yield the rows of each block."""
    step = max(fewest, NUMBERS // X.shape[1])
    for start in range(0, X.shape[0], step):
        yield slice(start, min(start + step, X.shape[0]))
