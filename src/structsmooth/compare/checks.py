"""What a comparison is given, checked before anything is trained."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.compare.arms import Arm
from structsmooth.compare.trainers import describe
from structsmooth.encode.table import as_table, is_table
from structsmooth.errors import InvalidInputError
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.solve import resolve_alpha_beta
from structsmooth.support.validation import check_choice, check_features, encode_as


def check_candidates(
    given: float | str | Sequence[float | str], name: str, n_classes: int
) -> tuple[float | str, ...]:
    """Return the values to choose from, each one checked."""
    values: Any = [given] if np.ndim(given) == 0 else given  # text has no dimension
    if len(values) == 0:
        raise InvalidInputError(f"{name} must have at least one value to choose from")
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
        X = X[list(like.columns)]
    features, n_features = check_rows(X), np.shape(like)[1]
    if features.shape[1] != n_features:
        raise InvalidInputError(
            f"test must have {n_features} features as X has, got {features.shape[1]}"
        )
    coded = encode_as(classes, y, len(features), owner="compare", name="test")
    return features, coded


def check_rows(X: Any, *, min_rows: int = 1) -> Any:
    """Return rows that can be taken: a table as it is, else an array."""
    if not is_table(X):
        return check_features(X, min_rows=min_rows)
    if len(as_table(X)) < min_rows:
        raise InvalidInputError(
            f"X has {len(X)} rows, expected at least {min_rows} to compare on"
        )
    return X


def identity_of(rows: Any) -> bytes:
    """Return bytes that are the same for equal features or labels."""
    if is_table(rows):
        table = as_table(rows)
        head = repr((table.names, table.kinds, table.levels)).encode()
        return head + np.ascontiguousarray(table.values).tobytes()
    head = repr((rows.shape, str(rows.dtype))).encode()
    return head + np.ascontiguousarray(rows).tobytes()


def check_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return the group of each row, if there are groups."""
    if groups is None:
        return None
    array, n_groups = np.asarray(groups), len(np.unique(groups))
    if array.shape != (n_rows,) or n_groups < 3:
        raise InvalidInputError(
            f"groups must have one value for each of the {n_rows} rows, and at least 3 "
            f"distinct values, got shape {array.shape} with {n_groups} values"
        )
    return array


def check_smoother(smoother: Any) -> StructuralSmoother:
    """Return the smoother, or one with its defaults."""
    if smoother is None:
        return StructuralSmoother()
    if not isinstance(smoother, StructuralSmoother):
        raise InvalidInputError(
            "smoother must be a StructuralSmoother or None, got "
            f"{type(smoother).__name__}"
        )
    return smoother


def check_takes_soft_labels(arms: Sequence[Arm], classifier: Any) -> None:
    """Refuse labels spread by overlap for a function that does not take them."""
    if not callable(classifier) or hasattr(classifier, "fit"):
        return
    names = inspect.signature(classifier).parameters
    spread = [arm.name for arm in arms if arm.smoother.spread == "overlap"]
    if spread and "soft_labels" not in names:
        raise InvalidInputError(
            "a function given as classifier must have the parameter soft_labels if a "
            f"smoother has spread='overlap' (here {spread[0]}); "
            f"{describe(classifier)} does not"
        )


def check_suspects(suspects: str, classifier: Any) -> str:
    """Return what to do with suspects, if the classifier can be told."""
    check_choice(suspects, "suspects", ("keep", "weigh", "drop"))
    if suspects == "keep" or not callable(classifier) or hasattr(classifier, "fit"):
        return suspects
    if "sample_weight" not in inspect.signature(classifier).parameters:
        raise InvalidInputError(
            "a function given as classifier must have the parameter sample_weight if "
            f"suspects={suspects!r}; {describe(classifier)} does not"
        )
    return suspects


def sample_rows(
    y: NDArray[np.int64], max_rows: int | None, seed: int
) -> NDArray[np.int64] | None:
    """Return at most so many rows, of each class its share, or None for all of them."""
    if max_rows is None or max_rows >= len(y):
        return None
    counts = np.bincount(y)
    # A few rows of each class, so that every split can have some.
    wanted = np.maximum(counts * (max_rows / len(y)), np.minimum(counts, 8))
    sizes = np.floor(wanted * min(1.0, max_rows / wanted.sum())).astype(int)
    rest = max_rows - int(sizes.sum())
    sizes[np.argsort(sizes - wanted, kind="stable")[:rest]] += 1
    generator = np.random.default_rng(seed)
    chosen = [
        generator.choice(np.flatnonzero(y == label), size, replace=False)
        for label, size in enumerate(np.minimum(sizes, counts))
    ]
    return np.sort(np.concatenate(chosen))
