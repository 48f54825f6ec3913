"""Range, mean, variance and principal components of rows that come in blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import IncrementalPCA

from structsmooth.outofcore.rows import Rows
from structsmooth.outofcore.spill import Spill
from structsmooth.reduce import FULL_SPECTRUM, LinearReduction

RANGE, VARIANCE, COMPONENTS = "range.npz", "variance.npz", "components.npz"


def running_sum(blocks: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum of all rows, added in order; the blocks are overwritten."""
    total: Any = 0.0
    for block in blocks:
        block[0] += total
        total = np.add.reduce(block, axis=0)
    return np.asarray(total)


class BlockMoments:
    """The `Moments` of rows in blocks, kept in the spill directory.

    Sums run from row to row in the order of the data, as NumPy's do over the first
    axis of an array, so that two or more features have the same mean and variance, to
    the last bit, as in memory.
    """

    def __init__(self, rows: Rows, spill: Spill) -> None:
        self._rows, self._spill = rows, spill
        self.n_rows, self.dtype = rows.n_rows, rows.dtype
        found = spill.once(RANGE, self._find_range)
        self.low, self.high = found["low"], found["high"]

    def _find_range(self) -> dict[str, Any]:
        low: Any = np.inf
        high: Any = -np.inf
        ranges = self._rows.checked(lambda rows: (rows.min(axis=0), rows.max(axis=0)))
        for lowest, highest in ranges:
            low, high = np.minimum(low, lowest), np.maximum(high, highest)
        return {"low": low, "high": high}

    def mean_and_variance(
        self, exponent: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the moments of ``2**-exponent X``, the variance divided by n."""

        def scaled(block: NDArray[Any]) -> NDArray[np.float64]:
            rows = np.ldexp(block, -exponent) if exponent else block
            return rows.astype(np.float64)

        def find() -> dict[str, Any]:
            mean = running_sum(self._rows.raw(scaled)) / self.n_rows
            squares = self._rows.raw(lambda rows: np.square(scaled(rows) - mean))
            return {"mean": mean, "variance": running_sum(squares) / self.n_rows}

        found = self._spill.once(VARIANCE, find)
        return found["mean"], found["variance"]

    def principal_components(
        self, standardize: LinearReduction, most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return leading components of the standardized rows, and variance ratios."""

        def standardized(block: NDArray[Any]) -> NDArray[np.float64]:
            return np.asarray(standardize.transform(block.astype(np.float64)))

        def products(block: NDArray[Any]) -> NDArray[np.float64]:
            rows = standardized(block)
            return np.asarray(rows.T @ rows)

        def find() -> dict[str, Any]:
            if len(self.low) <= FULL_SPECTRUM:
                scatter = np.zeros((len(self.low), len(self.low)))
                for product in self._rows.raw(products):
                    scatter += product
                values, vectors = np.linalg.eigh(scatter)
                values = np.maximum(values, 0.0)
                ratio = values[::-1][:most] / values.sum()
                components = np.asfortranarray(vectors.T[::-1][:most])
            else:
                model = _incremental_pca(self._rows.raw(standardized), most)
                components, ratio = model.components_, model.explained_variance_ratio_
            return {"components": components, "ratio": ratio}

        found = self._spill.once(COMPONENTS, find)
        return found["components"], found["ratio"]


def _incremental_pca(
    blocks: Iterable[NDArray[Any]], n_components: int
) -> IncrementalPCA:
    """Fit block by block; a last block too short for it is joined to the one before."""
    model = IncrementalPCA(n_components)
    waiting: NDArray[Any] | None = None
    for block in blocks:
        if waiting is not None and len(block) < n_components:
            block = np.vstack([waiting, block])
        elif waiting is not None:
            model.partial_fit(waiting)
        waiting = block
    return model.partial_fit(waiting)
