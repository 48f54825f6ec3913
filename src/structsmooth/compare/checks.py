"""Checks of the arguments of a comparison, before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.compare.trainers import describe, takes_soft_labels
from structsmooth.errors import InvalidInputError, InvalidParameterError
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.solve import resolve_alpha_beta
from structsmooth.support.validation import check_features, check_real, encode_as


def check_candidates(
    given: float | str | Sequence[float | str], name: str, n_classes: int
) -> tuple[float | str, ...]:
    """Return the values to choose from, each one checked."""
    several = not isinstance(given, str) and np.ndim(given) > 0
    values: list[Any] = list(cast(Sequence[Any], given)) if several else [given]
    if not values:
        raise InvalidParameterError(
            f"{name} must have at least one value to choose from"
        )
    checked: list[float | str] = []
    for value in values:
        alpha, beta = (value, 0.0) if name == "alpha" else (0.0, value)
        resolve_alpha_beta(alpha, beta, np.zeros(1), np.ones(1), n_classes)
        checked.append(value if isinstance(value, str) else float(value))
    return tuple(dict.fromkeys(checked))


def check_test(
    test: Any, like: Any, classes: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return features and class numbers of a test set."""
    try:
        X, y = test
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"test must be a pair of features and labels, got {type(test).__name__}"
        ) from None
    if hasattr(X, "columns") and hasattr(like, "columns"):
        if set(X.columns) != set(like.columns):
            raise InvalidInputError("test must have the columns that X has")
        X = X[list(like.columns)]
    features, n_features = check_features(X), np.shape(like)[1]
    if features.shape[1] != n_features:
        raise InvalidInputError(
            f"test must have {n_features} features as X has, got {features.shape[1]}"
        )
    coded = encode_as(classes, y, len(features), owner="compare", name="test")
    return features, coded


def check_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return the group of each row, if there are groups."""
    if groups is None:
        return None
    array = np.asarray(groups)
    if array.shape != (n_rows,):
        raise InvalidInputError(
            f"groups must have one value for each of the {n_rows} rows, got shape "
            f"{array.shape}"
        )
    if len(np.unique(array)) < 3:
        raise InvalidInputError(
            "groups must have at least 3 distinct values, one each for training, "
            f"validation and test rows, got {len(np.unique(array))}"
        )
    return array


def check_smoother(smoother: Any, classifier: Any) -> StructuralSmoother:
    """Return the smoother, or one with its defaults, if its labels can be trained."""
    if smoother is None:
        return StructuralSmoother()
    if not isinstance(smoother, StructuralSmoother):
        raise InvalidInputError(
            "smoother must be a StructuralSmoother or None, got "
            f"{type(smoother).__name__}"
        )
    if smoother.spread == "overlap" and not takes_soft_labels(classifier):
        raise InvalidInputError(
            "a function given as classifier must have the parameter soft_labels if the "
            f"smoother has spread='overlap'; {describe(classifier)} does not"
        )
    return smoother


def check_share(value: Any, name: str) -> float:
    """Return a share of the rows, between 0 and 1."""
    if not 0.0 < check_real(value, name, 0.0) < 1.0:
        raise InvalidParameterError(f"{name} must lie between 0 and 1, got {value!r}")
    return float(value)
