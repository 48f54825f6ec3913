"""Fewer features for clustering and trees: PCA, nothing, or any transformer.

A fitted reduction is a small frozen object with ``transform``; the linear one is
plain arrays, so it can be stored without pickle.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array, has_fit_parameter

from structsmooth.errors import (
    FeatureScaleWarning,
    InvalidInputError,
    InvalidParameterError,
)
from structsmooth.support.validation import check_integer

# With ``n_components=None``: up to this many features are kept as they are.
KEEP_FEATURES = 32
# Beyond that, the fewest components that hold this share of the variance ...
KEEP_VARIANCE = 0.95
# ... but at most this many.
MOST_COMPONENTS = 64
# A full eigendecomposition up to this many features, a truncated one beyond.
FULL_SPECTRUM = 2048
# Warn when a feature's spread is this many times the median feature's.
SCALE_RATIO = 100.0


class Reduction(Protocol):
    """What a fitted reduction does."""

    def transform(self, X: Any) -> Any:
        """Return the reduced features."""


@dataclass(frozen=True, eq=False)
class LinearReduction:
    """``(2**-exponent X - center) / scale``, projected; each part may be absent.

    Attributes
    ----------
    center, scale : ndarray of shape (d,) or None
        None leaves the features where they are.
    components : ndarray of shape (c, d) or None
        Orthonormal directions; None keeps all features.
    exponent : int
        Not 0 for data so large or small that their squares would leave the range of
        floating-point numbers.
    """

    center: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    components: NDArray[np.float64] | None = None
    exponent: int = 0

    def transform(self, X: Any) -> Any:
        """Return the reduced features, dense unless nothing but scaling is done."""
        if self.exponent:
            X = _scale_by_power(X, -self.exponent)
        if sp.issparse(X):
            return self._transform_sparse(X)
        if self.center is not None:
            X = X - self.center.astype(X.dtype)
        if self.scale is not None:
            X = X / self.scale.astype(X.dtype)
        if self.components is not None:
            X = X @ self.components.T.astype(X.dtype)
        return X

    def _transform_sparse(self, X: Any) -> Any:
        # Distances do not see the center, so without components X can stay sparse.
        if self.scale is not None:
            X = X @ sp.diags_array((1.0 / self.scale).astype(X.dtype))
        if self.components is None:
            return sp.csr_matrix(X)
        projected = np.asarray(X @ self.components.T.astype(X.dtype))
        if self.center is not None:
            center = self.center if self.scale is None else self.center / self.scale
            projected -= (self.components @ center).astype(X.dtype)
        return projected


@dataclass(frozen=True, eq=False)
class TransformerReduction:
    """A fitted scikit-learn transformer of the user's."""

    transformer: Any

    def transform(self, X: Any) -> Any:
        """Return what the transformer makes of X, as an array of finite numbers."""
        return check_array(
            self.transformer.transform(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            input_name="the reducer's output",
        )


def fit_reduction(
    X: Any,
    reducer: Any = "pca",
    n_components: int | None = None,
    random_state: Any = None,
    weights: NDArray[Any] | None = None,
) -> Reduction:
    """Fit a reduction of the features.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Checked features.
    reducer : {"pca", "scaled-pca", "none"}, None or transformer
        "scaled-pca" divides each feature by its standard deviation first, for
        tables whose columns have different units. A transformer is cloned.
    n_components : int, optional
        How many components. With None, up to 32 features are kept as they are (a
        rotation changes no distance); of more, the fewest principal components
        that hold 95 % of the variance, but at most 64.
    random_state : int, RandomState or None
        For truncated decompositions and for a transformer that has none of its own.
    """
    check_reducer(reducer, n_components, X.shape)
    if is_transformer(reducer):
        _refuse_constant(X)
        return _fit_transformer(X, reducer, n_components, random_state)
    exponent = _extreme_exponent(X)
    if exponent:
        X = _scale_by_power(X, -exponent)
    _refuse_constant(X)
    if reducer is None or reducer == "none":
        return LinearReduction(exponent=exponent)
    center, variance = _mean_and_variance(X)
    scale = None
    if reducer == "scaled-pca":
        scale = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    else:
        warn_about_scale(variance)
    if n_components is None and X.shape[1] <= KEEP_FEATURES:
        # The center is left where it is too: moving it would round the digits
        # of discrete data apart that are exactly equal.
        return LinearReduction(scale=scale, exponent=exponent)
    components = _principal_components(
        LinearReduction(center, scale).transform(X), n_components, random_state
    )
    if components is None:
        return LinearReduction(scale=scale, exponent=exponent)
    return LinearReduction(center, scale, components, exponent)


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
    return not is_transformer(reducer) or has_fit_parameter(reducer, "sample_weight")


def is_transformer(reducer: Any) -> bool:
    """Whether a reducer is an object of the user's, not a name."""
    return hasattr(reducer, "fit") and hasattr(reducer, "transform")


def _principal_components(
    X: Any, n_components: int | None, random_state: Any
) -> NDArray[np.float64] | None:
    """Return the directions to keep, or None if all of them are."""
    most = min(MOST_COMPONENTS if n_components is None else n_components, *X.shape)
    if X.shape[1] <= FULL_SPECTRUM:
        solver = "covariance_eigh"
    elif sp.issparse(X):
        solver, most = "arpack", min(most, min(X.shape) - 1)
    else:
        solver = "randomized"
    pca = PCA(n_components=most, svd_solver=solver, random_state=random_state).fit(X)
    kept = how_many_components(pca.explained_variance_ratio_, n_components)
    if kept == X.shape[1]:
        return None
    return np.asarray(pca.components_[:kept], dtype=np.float64)


def how_many_components(
    variance_ratio: NDArray[np.float64], n_components: int | None
) -> int:
    """Return how many of the leading components are kept."""
    most = len(variance_ratio)
    if n_components is not None:
        return min(most, n_components)
    held = np.cumsum(variance_ratio)
    return min(most, int(np.searchsorted(held, KEEP_VARIANCE)) + 1)


def _fit_transformer(
    X: Any, reducer: Any, n_components: int | None, random_state: Any
) -> TransformerReduction:
    transformer = clone(reducer)
    parameters = transformer.get_params()
    if n_components is not None:
        transformer.set_params(n_components=n_components)
    if "random_state" in parameters and parameters["random_state"] is None:
        transformer.set_params(random_state=random_state)
    return TransformerReduction(transformer.fit(X))


def _extreme_exponent(X: Any) -> int:
    values = X.data if sp.issparse(X) else X
    if values.size == 0:
        return 0
    return extreme_exponent(float(values.min()), float(values.max()), X.dtype)


def extreme_exponent(smallest: float, largest: float, dtype: np.dtype[Any]) -> int:
    """Return the power of two in data whose squares leave the range, else 0."""
    power = int(np.frexp(max(abs(smallest), abs(largest)))[1])
    usual = 40 if dtype == np.float32 else 300
    return power if abs(power) > usual else 0


def _scale_by_power(X: Any, power: int) -> Any:
    """Return X times a power of two, which changes no digit."""
    if not sp.issparse(X):
        return np.ldexp(X, power)
    scaled = X.copy()
    scaled.data = np.ldexp(X.data, power)
    return scaled


def _refuse_constant(X: Any) -> None:
    if sp.issparse(X):
        spread = (X.max(axis=0) - X.min(axis=0)).toarray()
    else:
        spread = X.max(axis=0) - X.min(axis=0)
    refuse_constant(spread)


def refuse_constant(spread: NDArray[Any]) -> None:
    """Refuse data whose features all have a spread of 0."""
    if not spread.any():
        raise InvalidInputError(
            "X is constant in every feature, so nothing tells its rows apart"
        )


def _mean_and_variance(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        return mean.astype(np.float64), variance.astype(np.float64)
    # The spread decides what is constant: the variance of equal numbers can come
    # out as a rounding error instead of 0.
    constant = X.min(axis=0) == X.max(axis=0)
    with np.errstate(over="ignore"):
        variance = np.where(constant, 0.0, X.var(axis=0, dtype=np.float64))
    return X.mean(axis=0, dtype=np.float64), variance


def warn_about_scale(variance: NDArray[np.float64]) -> None:
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
