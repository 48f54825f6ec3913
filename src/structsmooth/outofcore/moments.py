"""Range, mean, variance and covariance of rows that come in blocks.

Sums run from row to row in the order of the data, as NumPy's do over the first axis of
an array, so that two or more features have the same mean and variance, to the bit, as
in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import IncrementalPCA

from structsmooth.outofcore.rows import Blocks
from structsmooth.reduce import (
    FULL_SPECTRUM,
    KEEP_FEATURES,
    MOST_COMPONENTS,
    LinearReduction,
    extreme_exponent,
    how_many_components,
    refuse_constant,
    warn_about_scale,
)

Arrays = dict[str, Any]


def running_sum(blocks: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum of all rows, added one after the other; blocks are written to."""
    total: Any = 0.0
    for block in blocks:
        block[0] += total
        total = np.add.reduce(block, axis=0)
    return np.asarray(total)


def find_moments(
    look: Blocks,
    blocks: Blocks,
    dtype: np.dtype[Any],
    reducer: Any,
    n_components: int | None,
) -> Arrays:
    """Read the data as often as the reducer needs, and return what it needs to know.

    Parameters
    ----------
    look, blocks : Blocks
        The rows, for a first look and whenever they are needed again.
    dtype : dtype
        Of the data.
    reducer, n_components
        As for `fit_reduction`; a reducer by name.
    """
    low: Any = np.inf
    high: Any = -np.inf
    n_rows = 0
    for least, largest, size in look(_range_of):
        low, high = np.minimum(low, least), np.maximum(high, largest)
        n_rows += size
    exponent = extreme_exponent(float(low.min()), float(high.max()), dtype)
    found: Arrays = {"low": low, "high": high, "exponent": exponent}
    if reducer is None or reducer == "none":
        return found

    def scaled(block: NDArray[Any]) -> NDArray[np.float64]:
        rows = np.ldexp(block, -exponent) if exponent else block
        return rows.astype(np.float64)

    def squared(block: NDArray[Any]) -> NDArray[np.float64]:
        return np.square(scaled(block) - mean)

    mean = running_sum(blocks(scaled)) / n_rows
    squares = running_sum(blocks(squared))
    variance = np.where(low == high, 0.0, squares / n_rows)
    found |= {"mean": mean, "variance": variance}
    n_features = len(mean)
    if n_components is None and n_features <= KEEP_FEATURES:
        return found

    scale = _scale(variance, reducer)
    wanted = MOST_COMPONENTS if n_components is None else n_components
    most = min(wanted, n_features, n_rows)
    before = LinearReduction(mean, scale, None, exponent)

    def centered(block: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(before.transform(block.astype(np.float64)))

    def products(block: NDArray[Any]) -> NDArray[np.float64]:
        rows = centered(block)
        return np.asarray(rows.T @ rows)

    if n_features <= FULL_SPECTRUM:
        scatter = np.zeros((n_features, n_features))
        for product in blocks(products):
            scatter += product
        values, vectors = np.linalg.eigh(scatter)
        components = vectors.T[::-1][:most]
        ratio = np.maximum(values[::-1], 0.0)[:most] / np.maximum(values, 0.0).sum()
    else:
        model = _incremental(blocks(centered), most)
        components, ratio = model.components_, model.explained_variance_ratio_
    # The largest entry of a direction is positive, as scikit-learn has it.
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return found | {"components": components * signs[:, np.newaxis], "ratio": ratio}


def _range_of(block: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int]:
    return block.min(axis=0), block.max(axis=0), len(block)


def reduction_from(
    moments: Arrays, reducer: Any, n_components: int | None
) -> LinearReduction:
    """Return the reduction that `fit_reduction` makes of the same data."""
    refuse_constant(moments["high"] - moments["low"])
    exponent = int(moments["exponent"])
    if reducer is None or reducer == "none":
        return LinearReduction(exponent=exponent)
    scale = _scale(moments["variance"], reducer)
    if scale is None:
        warn_about_scale(moments["variance"])
    if "components" not in moments:
        return LinearReduction(scale=scale, exponent=exponent)
    kept = how_many_components(moments["ratio"], n_components)
    if kept == len(moments["mean"]):
        return LinearReduction(scale=scale, exponent=exponent)
    components = moments["components"][:kept]
    return LinearReduction(moments["mean"], scale, components, exponent)


def _scale(variance: NDArray[np.float64], reducer: str) -> NDArray[np.float64] | None:
    if reducer != "scaled-pca":
        return None
    return np.sqrt(np.where(variance > 0.0, variance, 1.0))


def _incremental(blocks: Iterable[NDArray[Any]], n_components: int) -> IncrementalPCA:
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
