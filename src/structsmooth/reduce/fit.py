"""Fit a reduction: `reduce_linearly` holds the rules for data of every kind.

Data in memory, in blocks and in Spark differ only in how their `Moments` are computed.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import has_fit_parameter

from structsmooth.encode.table import is_table
from structsmooth.errors import (
    FeatureScaleWarning,
    InvalidInputError,
    InvalidParameterError,
)
from structsmooth.reduce.moments import KEEP_FEATURES, ArrayMoments, Moments
from structsmooth.reduce.reduction import (
    LinearReduction,
    Reduction,
    TransformerReduction,
)
from structsmooth.support.validation import check_integer

# Of more features than are kept, the fewest components that hold this share of the
# variance, but at most so many.
KEEP_VARIANCE, MOST_COMPONENTS = 0.95, 64
# Warn when a feature's spread is this many times the median feature's.
SCALE_RATIO = 100.0


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
    decompositions of sparse rows, and for a transformer without a seed of its own.
    Weights are for reducers that take them, see `reducer_takes_weights`.
    """
    check_reducer(reducer, n_components, X.shape)
    if not is_transformer(reducer):
        moments = ArrayMoments(X, random_state, weights, n_jobs)
        return reduce_linearly(moments, reducer, n_components)
    if not is_table(X):
        _refuse_constant(ArrayMoments(X, random_state, weights))
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


def _extreme_exponent(moments: Moments) -> int:
    """Return the power of two in data whose squares leave the range, else 0."""
    largest = max(abs(float(moments.low.min())), abs(float(moments.high.max())))
    power = int(np.frexp(largest)[1])
    return power if abs(power) > 300 else 0


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
