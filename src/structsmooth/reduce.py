"""Fewer features for clustering and trees: PCA, nothing, or any transformer.

`reduce_linearly` holds the rules for data in memory, in blocks and in Spark, which
differ only in how their `Moments` are computed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.base import clone
from sklearn.utils.extmath import svd_flip
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array, has_fit_parameter

from structsmooth.encode.table import is_table
from structsmooth.errors import (
    FeatureScaleWarning,
    InvalidInputError,
    InvalidParameterError,
)
from structsmooth.support.blocks import blocks_of, float64_blocks, running_sum
from structsmooth.support.columns import range_of_columns
from structsmooth.support.parallel import side_by_side
from structsmooth.support.validation import check_integer

# With ``n_components=None``, up to this many features are kept as they are.
KEEP_FEATURES = 32
# Beyond that, the fewest components that hold this share of the variance ...
KEEP_VARIANCE = 0.95
# ... but at most this many.
MOST_COMPONENTS = 64
# A full eigendecomposition up to this many features, a truncated one beyond.
FULL_SPECTRUM = 2048
# Rows for each feature whose products are summed at once, so that it does not matter
# how long it takes to add their sums up.
SCATTER_ROWS = 8
# Sparse features with more columns than this would not fit into memory as dense ones.
MOST_DENSE_COLUMNS = 1000
# Warn when a feature's spread is this many times the median feature's.
SCALE_RATIO = 100.0


class Reduction(Protocol):
    """A fitted reduction."""

    def transform(self, X: Any) -> Any:
        """Return the reduced features."""


@dataclass(frozen=True, eq=False)
class LinearReduction:
    """``(2**-exponent X - center) / scale``, projected onto orthonormal components.

    Each part may be absent. The exponent is not 0 only for data so large or small that
    their squares would leave the range of floating-point numbers. Everything is
    computed in float64, so that float32 rows are reduced like float64 rows.
    """

    center: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    components: NDArray[np.float64] | None = None
    exponent: int = 0

    @property
    def changes_values(self) -> bool:
        """Whether rows are not just left as they are."""
        parts = (self.center, self.scale, self.components)
        return self.exponent != 0 or any(part is not None for part in parts)

    def transform(self, X: Any) -> Any:
        """Return the reduced features, dense unless nothing but scaling is done.

        They are float64, except for dense rows that are left as they are. Those of a
        row depend on that row alone, to the last bit.
        """
        if self.components is not None and not sp.issparse(X):
            reduced = np.empty((X.shape[0], len(self.components)))
            for part in blocks_of(X):
                reduced[part] = self._project(X[part], self.components)
            return reduced
        if sp.issparse(X) or self.changes_values:
            X = X.astype(np.float64, copy=False)
        if self.exponent:
            X = _scale_by_power(X, -self.exponent)
        if sp.issparse(X):
            return self._transform_sparse(X)
        if self.center is not None:
            X = X - self.center
        if self.scale is not None:
            X = X / self.scale
        return X

    def _project(
        self, block: NDArray[Any], components: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        from structsmooth.support.products import project  # loads numba

        if self.exponent:
            block = _scale_by_power(block.astype(np.float64), -self.exponent)
        center = np.zeros(block.shape[1]) if self.center is None else self.center
        return project(np.ascontiguousarray(block), center, self.scale, components)

    def _transform_sparse(self, X: Any) -> Any:
        # Distances do not depend on the center, so without components X stays sparse.
        if self.scale is not None:
            X = X @ sp.diags_array(1.0 / self.scale)
        if self.components is None:
            return sp.csr_matrix(X)
        projected = np.asarray(X @ self.components.T)
        if self.center is not None:
            center = self.center if self.scale is None else self.center / self.scale
            projected -= self.components @ center
        return projected


@dataclass(frozen=True, eq=False)
class TransformerReduction:
    """A fitted scikit-learn transformer from the user."""

    transformer: Any
    takes_tables: bool = False  # it was fitted to a DataFrame

    def transform(self, X: Any) -> Any:
        """Return the transformer's output, checked to be finite numbers."""
        return check_array(
            self.transformer.transform(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            input_name="the reducer's output",
        )


class Moments(Protocol):
    """What the reduction rules need to know about n rows of d features.

    ``low`` and ``high`` are the smallest and largest value of each feature.
    """

    n_rows: int
    low: NDArray[Any]
    high: NDArray[Any]

    def mean_and_variance(
        self, exponent: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the moments of ``2**-exponent X``, the variance divided by n."""

    def principal_components(
        self, standardize: LinearReduction, most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return leading components of the standardized rows, and variance ratios."""


def fit_reduction(
    X: Any,
    reducer: Any = "pca",
    n_components: int | None = None,
    random_state: Any = None,
    weights: NDArray[Any] | None = None,
    n_jobs: int | None = None,
) -> Reduction:
    """Fit a reduction of checked features, with the settings of `StructuralSmoother`.

    A transformer may be given a DataFrame too. ``random_state`` is for truncated
    decompositions, and for a transformer without a seed of its own. Weights are for
    reducers that take them, see `reducer_takes_weights`.
    """
    check_reducer(reducer, n_components, X.shape)
    if not is_transformer(reducer):
        moments = _ArrayMoments(X, random_state, weights, n_jobs)
        return reduce_linearly(moments, reducer, n_components)
    if not is_table(X):
        _refuse_constant(_ArrayMoments(X, random_state, weights))
    transformer = clone(reducer)
    parameters = transformer.get_params()
    if n_components is not None:
        transformer.set_params(n_components=n_components)
    if "random_state" in parameters and parameters["random_state"] is None:
        transformer.set_params(random_state=random_state)
    options = {} if weights is None else {"sample_weight": weights}
    return TransformerReduction(transformer.fit(X, **options), is_table(X))


def check_reducer(
    reducer: Any, n_components: int | None, shape: tuple[int, int]
) -> None:
    """Refuse settings that `fit_reduction` cannot use, before any work is done."""
    if is_transformer(reducer):
        if n_components is not None and "n_components" not in reducer.get_params():
            raise InvalidParameterError(
                f"n_components={n_components!r} was given, but the reducer "
                f"{type(reducer).__name__} has no such parameter"
            )
    elif reducer is None or (isinstance(reducer, str) and reducer == "none"):
        if n_components is not None:
            raise InvalidParameterError(
                f"n_components must be None without a reducer, got {n_components!r}"
            )
    elif not isinstance(reducer, str) or reducer not in ("pca", "scaled-pca"):
        raise InvalidParameterError(
            "reducer must be 'pca', 'scaled-pca', 'none', None or a scikit-learn "
            f"transformer, got {reducer!r}"
        )
    elif n_components is not None:
        check_integer(n_components, "n_components", 1, min(shape))


def reducer_takes_weights(reducer: Any) -> bool:
    """Whether a reducer can be given sample weights."""
    if not is_transformer(reducer):
        return True
    return bool(has_fit_parameter(reducer, "sample_weight"))


def is_transformer(reducer: Any) -> bool:
    """Whether a reducer is a transformer from the user, not a name."""
    return hasattr(reducer, "fit") and hasattr(reducer, "transform")


def dense_for_neighbors(features: Any) -> Any:
    """Return features in which neighbors can be looked for."""
    if not hasattr(features, "toarray"):
        return features
    if features.shape[1] > MOST_DENSE_COLUMNS:
        raise InvalidInputError(
            "regions='point' and ignore_suspects=True look for neighbors among at "
            f"most {MOST_DENSE_COLUMNS} columns of a sparse X, got "
            f"{features.shape[1]}; reduce them first, as reducer='pca' does"
        )
    return features.toarray()


def reduce_linearly(
    moments: Moments, reducer: str | None, n_components: int | None
) -> LinearReduction:
    """Return the reduction with the given name: the same rules for all data."""
    _refuse_constant(moments)
    exponent = _extreme_exponent(moments)
    if reducer is None or reducer == "none":
        return LinearReduction(exponent=exponent)
    center, variance = moments.mean_and_variance(exponent)
    # The range decides what is constant: the variance of equal numbers can come out
    # as a rounding error instead of 0.
    variance = np.where(moments.low == moments.high, 0.0, variance)
    scale = None
    if reducer == "scaled-pca":
        scale = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    else:
        _warn_about_scale(variance)
    # Without components the center stays where it is: moving it would round the
    # digits of discrete data apart that are exactly equal.
    unprojected = LinearReduction(scale=scale, exponent=exponent)
    n_features = len(center)
    if n_components is None and n_features <= KEEP_FEATURES:
        return unprojected
    wanted = MOST_COMPONENTS if n_components is None else n_components
    components, variance_ratio = moments.principal_components(
        LinearReduction(center, scale, None, exponent),
        min(wanted, n_features, moments.n_rows),
    )
    kept = len(variance_ratio)
    if n_components is None:
        held = np.cumsum(variance_ratio)
        kept = min(kept, int(np.searchsorted(held, KEEP_VARIANCE)) + 1)
    if kept == n_features:
        return unprojected
    # The largest entry of each component is made positive.
    _, components = svd_flip(None, components[:kept], u_based_decision=False)
    components = np.asarray(components, dtype=np.float64)
    return LinearReduction(center, scale, components, exponent)


class _ArrayMoments:
    """The `Moments` of an array or sparse matrix in memory, of weighted rows or not."""

    def __init__(
        self,
        X: Any,
        random_state: Any,
        weights: NDArray[Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._X, self._random_state, self._weights = X, random_state, weights
        self._n_jobs = n_jobs
        self.n_rows, n_features = X.shape
        self._scatter: NDArray[np.float64] | None = None
        is_plain = not sp.issparse(X) and weights is None
        self._scatters_at_once = is_plain and scatters_at_once(n_features)
        if sp.issparse(X):
            self.low, self.high = (
                X.min(axis=0).toarray().ravel(),
                X.max(axis=0).toarray().ravel(),
            )
        else:
            self.low, self.high = range_of_columns(X)

    def mean_and_variance(
        self, exponent: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        scaled = LinearReduction(exponent=exponent).transform
        if self._scatters_at_once:
            X = self._X
            shift = scaled(next(float64_blocks(X))).mean(axis=0)
            parts = side_by_side(
                lambda part: deviations(scaled(X[part]), shift),
                blocks_of(X, SCATTER_ROWS * X.shape[1]),
                self._n_jobs,
                share_memory=True,
                ahead=2,
            )
            mean, self._scatter = mean_and_scatter(shift, parts)
            return mean, np.diag(self._scatter) / self.n_rows
        if not sp.issparse(self._X) and self._weights is None:
            # In the order in which data out of core are summed.
            mean = running_sum(map(scaled, float64_blocks(self._X))) / self.n_rows
            squares = (np.square(scaled(b) - mean) for b in float64_blocks(self._X))
            with np.errstate(over="ignore"):
                return mean, running_sum(squares) / self.n_rows
        X = scaled(self._X)
        if sp.issparse(X):
            weights = self._weights
            weights = weights if weights is None else weights.astype(np.float64)
            mean, variance = mean_variance_axis(X, axis=0, weights=weights)
            return mean, variance
        mean = np.average(X, axis=0, weights=self._weights)
        return mean, np.average((X - mean) ** 2, axis=0, weights=self._weights)

    def principal_components(
        self, standardize: LinearReduction, most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        from sklearn.decomposition import PCA  # slow to load

        X, d = self._X, self._X.shape[1]
        if self._scatter is not None:
            return leading_components(self._scatter, most, standardize.scale)
        if not sp.issparse(X) and self._weights is None and d <= FULL_SPECTRUM:
            scatter = np.zeros((d, d))
            for part in blocks_of(X):
                scatter += scatter_of_block(X[part], standardize)
            return leading_components(scatter, most)
        X = standardize.transform(X)
        if self._weights is not None:
            return _weighted_components(X, self._weights, most, self._random_state)
        if X.shape[1] <= FULL_SPECTRUM:
            solver = "covariance_eigh"
        elif sp.issparse(X):
            solver, most = "arpack", min(most, min(X.shape) - 1)
        else:
            solver = "randomized"
        pca = PCA(most, svd_solver=solver, random_state=self._random_state).fit(X)
        return pca.components_, pca.explained_variance_ratio_


def deviations(
    block: NDArray[Any], shift: NDArray[np.float64]
) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
    """Return how many rows there are, and sums of their deviations and of products."""
    from structsmooth.support.products import scatter_of  # loads numba

    return len(block), *scatter_of(np.ascontiguousarray(block), shift)


def mean_and_scatter(
    shift: NDArray[np.float64],
    parts: Iterable[tuple[int, NDArray[np.float64], NDArray[np.float64]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean row, and the sum of the products of the deviations from it.

    From the `deviations` of blocks, so that one pass over the rows is enough. If the
    shift is the mean of some of them, few digits are lost.
    """
    d, n_rows = len(shift), 0
    total, scatter = np.zeros(d), np.zeros((d, d))
    for count, deviation, products in parts:
        n_rows += count
        total += deviation
        scatter += products
    rest = total / n_rows
    scatter -= n_rows * np.outer(rest, rest)
    return shift + rest, scatter


def scatter_of_block(
    block: NDArray[Any], standardize: LinearReduction
) -> NDArray[np.float64]:
    """Return the sum of the products of rows once they are standardized."""
    rows = standardize.transform(block)
    return deviations(rows, np.zeros(rows.shape[1]))[2]


def scatters_at_once(n_features: int) -> bool:
    """Whether all products are needed anyway, so that they also give the variances."""
    return KEEP_FEATURES < n_features <= FULL_SPECTRUM


def leading_components(
    scatter: NDArray[np.float64], most: int, scale: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the leading eigenvectors as rows, and their shares of the variance.

    Those of rows that are divided by a scale, if there is one.
    """
    if scale is not None:
        scatter = scatter / np.outer(scale, scale)
    d = len(scatter)
    values, vectors = eigh(scatter, subset_by_index=[d - most, d - 1])
    ratio = np.maximum(values[::-1], 0.0) / np.trace(scatter)
    return np.asfortranarray(vectors.T[::-1]), ratio


def _weighted_components(
    X: Any, weights: NDArray[Any], most: int, random_state: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return what scikit-learn's PCA would if rows were repeated by their weights."""
    column, total = weights[:, np.newaxis], float(weights.sum())
    mean = X.T @ (weights / total)
    if X.shape[1] <= FULL_SPECTRUM:
        products = X.T @ (X.multiply(column).tocsr() if sp.issparse(X) else X * column)
        if sp.issparse(products):
            products = products.toarray()
        return leading_components(products - total * np.outer(mean, mean), most)
    # The right singular vectors of the centered rows times the roots of their weights;
    # a sparse X is centered as it is multiplied.
    roots = np.sqrt(weights)
    rows = LinearOperator(
        X.shape,
        matvec=lambda v: roots * (X @ np.ravel(v) - mean @ np.ravel(v)),
        rmatvec=lambda u: X.T @ (roots * np.ravel(u)) - mean * (roots @ np.ravel(u)),
        dtype=np.float64,
    )
    _, values, vectors = svds(rows, k=min(most, min(X.shape) - 1), rng=random_state)
    squares = X.multiply(X) if sp.issparse(X) else X**2
    variance = float(np.sum(squares.T @ weights)) - total * float(mean @ mean)
    return vectors[::-1], values[::-1] ** 2 / variance


def _extreme_exponent(moments: Moments) -> int:
    """Return the power of two in data whose squares leave the range, else 0."""
    largest = max(abs(float(moments.low.min())), abs(float(moments.high.max())))
    power = int(np.frexp(largest)[1])
    return power if abs(power) > 300 else 0


def _scale_by_power(X: Any, power: int) -> Any:
    """Return X times a power of two, which changes no digit."""
    if not sp.issparse(X):
        return np.ldexp(X, power)
    scaled = X.copy()
    scaled.data = np.ldexp(X.data, power)
    return scaled


def _refuse_constant(moments: Moments) -> None:
    if np.array_equal(moments.low, moments.high):
        raise InvalidInputError(
            "X is constant in every feature, so nothing tells its rows apart"
        )


def _warn_about_scale(variance: NDArray[np.float64]) -> None:
    """Warn if one feature decides the distances by its unit alone."""
    spread = np.sqrt(variance[variance > 0.0])
    ratio = float(spread.max() / np.median(spread))
    if ratio > SCALE_RATIO:
        widest = int(np.argmax(variance))
        warnings.warn(
            f"feature {widest} of X varies {ratio:.0f} times as much as the median "
            "feature and so decides the distances; pass reducer='scaled-pca' unless "
            "that is meant",
            FeatureScaleWarning,
            stacklevel=2,
        )
