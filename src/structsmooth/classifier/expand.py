"""One weighted row for each class of a soft label, for any classifier with weights."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from structsmooth.classifier.logistic import fit_soft_logistic, takes_soft_labels
from structsmooth.encode.table import is_table
from structsmooth.errors import InvalidInputError


def check_takes_weights(inner: Any) -> str:
    """Return under which name a classifier's ``fit`` takes sample weights."""
    if not is_classifier(inner):
        raise InvalidInputError(
            f"estimator must be a classifier, got {type(inner).__name__}"
        )
    balanced = [
        name
        for name, value in inner.get_params(deep=True).items()
        if name.endswith("class_weight") and str(value).startswith("balanced")
    ]
    if balanced:
        raise InvalidInputError(
            f"estimator must not have {balanced[0]}='balanced', which would count the "
            "rows that a soft label becomes; give fit a sample_weight instead"
        )
    weight_name = _name_of_weights(inner)
    if weight_name is None:
        raise InvalidInputError(
            f"estimator must take sample_weight in fit, and {type(inner).__name__} "
            "does not; train it on flip_labels or on soft labels instead"
        )
    return weight_name


def fit_expanded(
    inner: Any,
    X: Any,
    coded: NDArray[np.int64],
    soft: NDArray[np.float64],
    classes: NDArray[Any],
    fit_params: dict[str, Any],
    *,
    keep_empty: bool = False,
) -> Any:
    """Fit a classifier in place to one weighted row for each class of a soft label.

    A logistic regression is fitted to the soft labels themselves, which is the same.
    Of a pipeline only the last step sees these rows; what comes before it is fitted
    to the rows as they are. Parameters that have one value for each row are repeated
    with the rows. With ``keep_empty`` rows of weight 0 are kept, so that fits with
    different strengths have equally many rows.
    """
    weight_name = check_takes_weights(inner)
    n_rows = len(coded)
    if isinstance(inner, Pipeline):
        X, own = fit_head(inner, X, classes[coded], fit_params)
        name, last = inner.steps[-1]
        last = fit_expanded(last, X, coded, soft, classes, own, keep_empty=keep_empty)
        inner.steps[-1] = (name, last)
        return inner
    # Without smoothing it is the classifier itself, to the last bit.
    is_soft = keep_empty or np.count_nonzero(soft) > n_rows
    if is_soft and takes_soft_labels(inner) and set(fit_params) <= {"sample_weight"}:
        given = fit_params.get("sample_weight")
        weights = None if given is None else _check_weights(given, n_rows, n_rows)
        return fit_soft_logistic(inner, X, soft, classes, weights)
    rows, labels = np.nonzero(np.ones_like(soft) if keep_empty else soft)
    weights = soft[rows, labels]
    per_row = of_rows(fit_params, rows, n_rows)
    given_weights = per_row.pop(weight_name, per_row.pop("sample_weight", None))
    if given_weights is not None:
        weights = weights * _check_weights(given_weights, len(weights), n_rows)
    per_row[weight_name] = weights
    return inner.fit(_safe_indexing(indexable(X), rows), classes[labels], **per_row)


def _check_weights(given: Any, expected: int, n_rows: int) -> NDArray[np.float64]:
    if np.shape(given) != (expected,):
        raise InvalidInputError(
            f"sample_weight must have one value for each of the {n_rows} rows, "
            f"got shape {np.shape(given)}"
        )
    return np.asarray(given)


def fit_head(
    pipeline: Pipeline, X: Any, y: NDArray[Any], fit_params: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Fit all steps but the last, in place.

    Returns what the last step gets: features, and parameters for its ``fit``.
    """
    name = pipeline.steps[-1][0]
    own = {
        key.removeprefix(f"{name}__"): value
        for key, value in fit_params.items()
        if key.startswith(f"{name}__")
    }
    if "sample_weight" in fit_params:
        own.setdefault("sample_weight", fit_params["sample_weight"])
    others = {
        key: value
        for key, value in fit_params.items()
        if key != "sample_weight" and not key.startswith(f"{name}__")
    }
    if len(pipeline.steps) > 1:
        head = Pipeline(pipeline.steps[:-1], memory=pipeline.memory)
        X = head.fit_transform(X, y, **others)
        pipeline.steps[:-1] = head.steps
    return X, own


def _name_of_weights(inner: Any) -> str | None:
    """Return under which name ``fit`` takes sample weights, None if it does not."""
    if isinstance(inner, Pipeline):
        name, last = inner.steps[-1]
        deeper = _name_of_weights(last)
        return None if deeper is None else f"{name}__{deeper}"
    parameters = inspect.signature(inner.fit).parameters
    passes_on = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return "sample_weight" if "sample_weight" in parameters or passes_on else None


def _has_rows(value: Any, n_rows: int) -> bool:
    return (hasattr(value, "__len__") or hasattr(value, "shape")) and (
        not isinstance(value, str | bytes | dict) and _num_samples(value) == n_rows
    )


def indexable(X: Any) -> Any:
    """Return X in a form whose rows can be repeated."""
    if is_table(X) or isinstance(X, np.ndarray):
        return X
    return X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)


def of_rows(
    fit_params: dict[str, Any], rows: NDArray[np.int64], n_rows: int
) -> dict[str, Any]:
    """Return parameters that have one value for each row, of other rows."""
    return {
        name: _safe_indexing(value, rows) if _has_rows(value, n_rows) else value
        for name, value in fit_params.items()
    }
