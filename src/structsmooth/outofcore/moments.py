"""Range, mean, variance and covariance of rows that come in blocks.

Sums run from row to row in the order of the data, as NumPy's do over the first axis of
an array, so that two or more features have the same mean and variance, to the bit, as
in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import IncrementalPCA

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

Blocks = Callable[[str], Iterable[NDArray[Any]]]
Arrays = dict[str, Any]


def running_sum(blocks: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum of all rows, added one after the other."""
    total: Any = None
    for block in blocks:
        rows = block if total is None else np.vstack([total[np.newaxis], block])
        total = np.add.reduce(rows, axis=0)
    return np.asarray(total)


def find_moments(
    blocks: Blocks, dtype: np.dtype[Any], reducer: Any, n_components: int | None
) -> Arrays:
    """Read the data as often as the reducer needs, and return what it needs to know.

    Parameters
    ----------
    blocks : callable
        Gives all rows, block by block, each time it is called.
    dtype : dtype
        Of the data.
    reducer, n_components
        As for `fit_reduction`; a reducer by name.
    """
    low: Any = np.inf
    high: Any = -np.inf
    n_rows = 0
    for block in blocks("look"):
        low = np.minimum(low, block.min(axis=0))
        high = np.maximum(high, block.max(axis=0))
        n_rows += len(block)
    exponent = extreme_exponent(float(low.min()), float(high.max()), dtype)
    found: Arrays = {"low": low, "high": high, "exponent": exponent}
    if reducer is None or reducer == "none":
        return found

    def scaled(why: str) -> Iterator[NDArray[Any]]:
        for block in blocks(why):
            yield np.ldexp(block, -exponent) if exponent else block

    total = running_sum(block.astype(np.float64) for block in scaled("mean"))
    mean = total / n_rows
    squares = running_sum((block - mean) ** 2 for block in scaled("variance"))
    variance = np.where(low == high, 0.0, squares / n_rows)
    found |= {"mean": mean, "variance": variance}
    n_features = len(mean)
    if n_components is None and n_features <= KEEP_FEATURES:
        return found

    scale = _scale(variance, reducer)
    wanted = MOST_COMPONENTS if n_components is None else n_components
    most = min(wanted, n_features, n_rows)
    before = LinearReduction(mean, scale, None, exponent)
    centered = (before.transform(b.astype(np.float64)) for b in blocks("covariance"))
    if n_features <= FULL_SPECTRUM:
        scatter = np.zeros((n_features, n_features))
        for block in centered:
            scatter += block.T @ block
        values, vectors = np.linalg.eigh(scatter)
        components = vectors.T[::-1][:most]
        ratio = np.maximum(values[::-1], 0.0)[:most] / np.maximum(values, 0.0).sum()
    else:
        model = _incremental(centered, most)
        components, ratio = model.components_, model.explained_variance_ratio_
    # The largest entry of a direction is positive, as scikit-learn has it.
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return found | {"components": components * signs[:, np.newaxis], "ratio": ratio}


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
