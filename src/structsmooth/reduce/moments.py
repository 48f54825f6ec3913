"""What is summed over all rows to reduce their features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils.sparsefuncs import mean_variance_axis

from structsmooth.reduce.reduction import LinearReduction, times_power
from structsmooth.support.blocks import blocks_of
from structsmooth.support.columns import range_of_columns, sums_of_columns
from structsmooth.support.parallel import side_by_side

F64 = NDArray[np.float64]
Result = TypeVar("Result")
# With ``n_components=None``, up to this many features are kept as they are.
KEEP_FEATURES = 32
# A full eigendecomposition up to this many features, a truncated one beyond.
FULL_SPECTRUM = 2048
# From here on a few directions are turned instead, if components are few among them.
MANY_FEATURES, FEATURES_PER_COMPONENT = 512, 8
# Rows in a block, for each feature and at most, so that it does not matter how long it
# takes to add up what blocks give, and threads have enough of them.
ROWS_PER_FEATURE, ROWS_IN_BLOCK = 8, 2048
# Rows whose mean is close enough to that of all.
ROWS_FOR_SHIFT = 256


class Moments(Protocol):
    """What the reduction rules need to know about n rows of d features.

    ``low`` and ``high`` are the smallest and largest value of each feature.
    """

    n_rows: int
    low: NDArray[Any]
    high: NDArray[Any]

    def mean_and_variance(self, exponent: int) -> tuple[F64, F64]:
        """Return the moments of ``2**-exponent X``, the variance divided by n."""

    def principal_components(
        self, standardize: LinearReduction, most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return leading components of the standardized rows, and variance ratios."""


class ArrayMoments:
    """The `Moments` of an array or sparse matrix in memory, of weighted rows or not."""

    def __init__(
        self,
        X: Any,
        random_state: Any,
        weights: NDArray[Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._X, self._random_state = X, random_state
        self._weights = None if weights is None else weights.astype(np.float64)
        self._n_jobs = n_jobs
        self.n_rows, n_features = X.shape
        self._is_plain = not sp.issparse(X) and weights is None
        if sp.issparse(X):
            self.low, self.high = (
                X.min(axis=0).toarray().ravel(),
                X.max(axis=0).toarray().ravel(),
            )
        else:
            self.low, self.high = range_of_columns(X)
        total = self.n_rows if weights is None else float(weights.sum())
        self._rows = Blocks(self._each_block, total, n_features)

    def _each_block(
        self, work: Callable[[NDArray[Any], F64], Result]
    ) -> Iterator[Result]:
        def read_and_work(part: slice) -> Result:
            rows = np.ascontiguousarray(self._X[part])
            if self._weights is None:
                return work(rows, np.ones(len(rows)))
            return work(rows, self._weights[part])

        fewest = min(ROWS_PER_FEATURE * self._X.shape[1], ROWS_IN_BLOCK)
        parts = list(blocks_of(self._X, fewest))
        n_jobs = self._n_jobs if len(parts) > 1 else 1
        return side_by_side(read_and_work, parts, n_jobs, share_memory=True, ahead=2)

    def mean_and_variance(self, exponent: int) -> tuple[F64, F64]:
        """Return the moments of ``2**-exponent X``, the variance divided by n."""
        if self._is_plain:
            self._sums = self._rows.sums(exponent)
            return self._sums.mean, self._sums.variance
        X = LinearReduction(exponent=exponent).transform(self._X)
        if sp.issparse(X):
            mean, variance = mean_variance_axis(X, axis=0, weights=self._weights)
        else:
            mean = np.average(X, axis=0, weights=self._weights)
            variance = np.average((X - mean) ** 2, axis=0, weights=self._weights)
        self._sums = Sums(mean, variance)
        return mean, variance

    def principal_components(
        self, standardize: LinearReduction, most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return leading components of the standardized rows, and variance ratios."""
        turns = turns_directions(self._X.shape[1], most)
        if self._is_plain or (turns and not sp.issparse(self._X)):
            return self._rows.principal_components(self._sums, standardize, most)
        X = standardize.transform(self._X)
        if self._weights is not None:
            return _weighted_components(X, self._weights, most, self._random_state)
        from sklearn.decomposition import PCA  # slow to load

        solver = "covariance_eigh"
        if X.shape[1] > FULL_SPECTRUM:
            solver, most = "arpack", min(most, min(X.shape) - 1)
        pca = PCA(most, svd_solver=solver, random_state=self._random_state).fit(X)
        return pca.components_, pca.explained_variance_ratio_


class Sums(NamedTuple):
    """The mean and the variance of each feature, and products if they were summed.

    Those of the differences from the mean, summed over all rows.
    """

    mean: F64
    variance: F64
    scatter: F64 | None = None


@dataclass(frozen=True, eq=False)
class Blocks:
    """Dense rows that can be read repeatedly, a block at a time.

    ``each`` returns what some work makes of the rows and the weights of each block, in
    their order. ``n_rows`` is the sum of the weights.
    """

    each: Callable[[Callable[[NDArray[Any], F64], Any]], Iterator[Any]]
    n_rows: float
    n_features: int

    def sums(self, exponent: int) -> Sums:
        """Return the sums of ``2**-exponent X`` of rows without weights."""

        def scaled(rows: NDArray[Any], _weights: F64) -> NDArray[Any]:
            return np.asarray(times_power(rows, -exponent))

        if self.n_features <= KEEP_FEATURES:
            total, _ = sums_of_columns(self.each(scaled), np.zeros(self.n_features))
            mean = total / self.n_rows
            _, squares = sums_of_columns(self.each(scaled), mean)
            return Sums(mean, squares / self.n_rows)
        from structsmooth.support.products import scatter_of  # loads numba

        def products(rows: NDArray[Any], weights: F64) -> tuple[F64, F64]:
            if self.n_features < MANY_FEATURES:
                return scatter_of(scaled(rows, weights), shift)
            return sums_of_columns([scaled(rows, weights)], shift)

        # The sums of differences from any row give those from the mean, and if it is a
        # mean of rows, few digits are lost.
        few = next(self.each(scaled))[:ROWS_FOR_SHIFT]
        shift = few.mean(axis=0, dtype=np.float64)
        mean, summed = mean_and_products(shift, self.n_rows, self.each(products))
        if summed.ndim == 1:
            return Sums(mean, summed / self.n_rows)
        return Sums(mean, np.diag(summed) / self.n_rows, summed)

    def principal_components(
        self, sums: Sums, standardize: LinearReduction, most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return leading components of the standardized rows, and variance ratios."""
        d = self.n_features
        if sums.scatter is not None:
            return leading_components(sums.scatter, most, standardize.scale)
        if turns_directions(d, most):
            from structsmooth.reduce.subspace import leading_subspace  # loads numba

            return leading_subspace(
                self.each, self.n_rows, sums.variance, standardize, most
            )
        scatter = np.zeros((d, d))
        for part in self.each(lambda rows, _: scatter_of_block(rows, standardize)):
            scatter += part
        return leading_components(scatter, most)


def turns_directions(n_features: int, most: int) -> bool:
    """Whether a few directions are turned instead of summing all products."""
    if n_features > FULL_SPECTRUM:
        return True
    return n_features >= max(MANY_FEATURES, FEATURES_PER_COMPONENT * most)


def mean_and_products(
    shift: F64, n_rows: float, parts: Iterable[tuple[F64, F64]]
) -> tuple[F64, F64]:
    """Return the mean row, and the sum of the products of the deviations from it.

    From the sums over blocks of the deviations from the shift and of their products, or
    squares alone.
    """
    parts = iter(parts)
    total, products = next(parts)
    for deviation, some in parts:
        total += deviation
        products += some
    rest = total / n_rows
    products -= n_rows * (rest**2 if products.ndim == 1 else np.outer(rest, rest))
    return shift + rest, products


def scatter_of_block(block: NDArray[Any], standardize: LinearReduction) -> F64:
    """Return the sum of the products of rows once they are standardized."""
    from structsmooth.support.products import scatter_of  # loads numba

    rows = standardize.transform(block)
    return scatter_of(np.ascontiguousarray(rows), np.zeros(rows.shape[1]))[1]


def leading_components(
    scatter: F64, most: int, scale: F64 | None = None
) -> tuple[F64, F64]:
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
    # Only sparse rows have more features here, and are centered as they are multiplied:
    # the right singular vectors of the centered rows times the roots of their weights.
    roots = np.sqrt(weights)
    rows = LinearOperator(
        X.shape,
        matvec=lambda v: roots * (X @ np.ravel(v) - mean @ np.ravel(v)),
        rmatvec=lambda u: X.T @ (roots * np.ravel(u)) - mean * (roots @ np.ravel(u)),
        dtype=np.float64,
    )
    _, values, vectors = svds(rows, k=min(most, min(X.shape) - 1), rng=random_state)
    variance = float(np.sum(X.multiply(X).T @ weights)) - total * float(mean @ mean)
    return vectors[::-1], values[::-1] ** 2 / variance
