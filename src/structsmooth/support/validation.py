"""Checks of arguments, so that every stage can trust its arrays.

A message is one sentence that names the argument, what was given and what was expected.
"""

from __future__ import annotations

import math
import numbers
import reprlib
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from structsmooth.errors import InvalidInputError, InvalidParameterError
from structsmooth.support.objects import (
    check_exact,
    from_objects,
    missing_labels,
    several_labels,
    unconverted,
)


def check_features(
    X: Any,
    *,
    estimator: Any = None,
    reset: bool = True,
    accept_sparse: bool = False,
    min_rows: int = 1,
    first_row: int = 0,
) -> Any:
    """Return X as a two-dimensional float array (or CSR matrix) without NaN or inf.

    Arrays are stored row by row, and sparse matrices in their canonical form, so that
    sums are taken in the same order however X was stored.

    With an estimator, its ``n_features_in_`` and ``feature_names_in_`` are set
    (``reset=True``) or compared (``reset=False``), as everywhere in scikit-learn.
    ``first_row`` is the number of the first row if X is one piece of the data.
    """
    if estimator is None and _is_plain(X, min_rows):
        _check_finite(X, first_row)
        return X
    if not sp.issparse(X):
        _check_shape_and_kind(X)
    check_exact(X.tocoo(copy=False).data if sp.issparse(X) else X)
    options: dict[str, Any] = {
        "accept_sparse": "csr" if accept_sparse else False,
        "dtype": [np.float64, np.float32],
        "order": "C",
        "ensure_all_finite": False,  # _check_finite also says where
        "ensure_min_samples": min_rows,
    }
    try:
        if estimator is None:
            X = check_array(X, input_name="X", **options)
        else:
            X = validate_data(estimator, X, reset=reset, **options)
    except ValueError as error:
        if "could not convert string" in str(error):
            raise InvalidInputError(
                f"X must hold numbers only, got text ({str(error).split(': ')[-1]}); "
                "structsmooth.TableEncoder makes numbers of a DataFrame"
            ) from None
        raise
    except OverflowError:
        raise InvalidInputError(
            "X has numbers beyond the range of floating-point numbers"
        ) from None
    if sp.issparse(X) and not (X.has_canonical_format and X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    _check_finite(X, first_row)
    return X


def _is_plain(X: Any, min_rows: int) -> bool:
    """Whether X is an array that needs no change: to find out more takes longer."""
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.ndim == 2
        and len(X) >= max(min_rows, 1)
        and X.shape[1] > 0
        and X.flags.carray
    )


def _check_shape_and_kind(X: Any) -> None:
    try:
        array = X if hasattr(X, "shape") and hasattr(X, "ndim") else np.asarray(X)
    except ValueError:
        raise InvalidInputError(
            "X must have rows of equal length, got a ragged sequence"
        ) from None
    if type(X).__name__ == "LazyFrame":
        raise InvalidInputError("X is a LazyFrame, expected a DataFrame: X.collect()")
    dtypes = array.dtypes if array.ndim == 2 and hasattr(array, "dtypes") else []
    dtypes = [*dtypes] or [getattr(array, "dtype", None)]
    kinds = {dtype.kind for dtype in dtypes if isinstance(dtype, np.dtype)}
    if kinds & {"c", "m", "M"}:
        raise InvalidInputError(
            "Complex data not supported, nor dates or times: X must hold real numbers; "
            "structsmooth.TableEncoder makes numbers of a DataFrame with dates"
        )
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise InvalidInputError("X has masked values, expected finite numbers")
    if array.ndim != 2:
        raise InvalidInputError(
            "X must be two-dimensional (rows, features), got an array of shape "
            f"{tuple(array.shape)}. Reshape your data: X.reshape(len(X), -1) has "
            "one row for each sample"
        )


def _check_finite(X: Any, first_row: int) -> None:
    values = X.data if sp.issparse(X) else X
    # A finite sum proves that all values are, without a mask of the size of X.
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(float(np.sum(values))):
            return
    wrong = np.argwhere(~np.isfinite(values))
    if not len(wrong):
        return
    row, column = wrong[0][0], wrong[0][-1]
    if sp.issparse(X):
        row, column = np.searchsorted(X.indptr, row, "right") - 1, X.indices[column]
    name = "NaN" if np.isnan(values[tuple(wrong[0])]) else "infinity (inf)"
    raise InvalidInputError(
        f"X contains {name} in row {first_row + row}, column {column}; expected "
        "finite numbers"
    )


def encode_labels(
    y: Any, n_rows: int | None, *, owner: str = "this function", name: str = "y"
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted distinct labels, and the number of each row's among them."""
    if y is None:
        raise InvalidInputError(
            f"{owner} requires {name} to be passed, but the target {name} is None"
        )
    if hasattr(y, "to_numpy") and not isinstance(getattr(y, "dtype", None), np.dtype):
        # A type that only pandas has, or a column of polars or Arrow.
        is_pandas = hasattr(y, "iloc")
        y = y.to_numpy(dtype=object) if is_pandas else _objects_of(y)
    y = column_or_1d(_one_label_each(y, name), warn=True)
    if n_rows is not None and len(y) != n_rows:
        raise InvalidInputError(
            f"X and {name} must have the same length: X has {n_rows} rows, "
            f"{name} has {len(y)} labels"
        )
    if y.dtype.kind == "O":
        y = from_objects(y, name)
    if y.dtype.kind == "S":
        y = y.astype(str)
    _check_no_fractions(y, name, "classes")
    if y.dtype.kind in "biu":
        return _number_integers(y)
    if y.dtype.kind not in "mM":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # check_label_structure is clearer
            check_classification_targets(y)
    classes, coded = np.unique(y, return_inverse=True)
    return classes, coded.astype(np.int64)


def _number_integers(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted distinct labels, and each row's number, without sorting rows.

    They are sorted if they are farther apart than there are rows.
    """
    low, high = (int(y.min()), int(y.max())) if len(y) else (0, 0)
    if high - low > len(y) or high > np.iinfo(np.int64).max:
        classes, coded = np.unique(y, return_inverse=True)
        return classes, coded.astype(np.int64)
    above = y.astype(np.int64) - low
    is_label = np.bincount(above, minlength=high - low + 1) > 0
    classes = (np.flatnonzero(is_label) + low).astype(y.dtype)
    return classes, (np.cumsum(is_label) - 1)[above]


def _objects_of(column: Any) -> NDArray[Any]:
    """Return a column of polars or Arrow as Python objects; frames as arrays."""
    convert = getattr(column, "to_list", None) or getattr(column, "to_pylist", None)
    if convert is None or len(getattr(column, "shape", (0,))) > 1:
        return np.asarray(column.to_numpy())
    values = convert()
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def encode_as(
    classes: NDArray[Any],
    y: Any,
    n_rows: int | None,
    *,
    owner: str = "this function",
    name: str = "y",
    unknown: str = "which fit did not see",
) -> NDArray[np.int64]:
    """Return labels as positions in given classes."""
    labels, coded = encode_labels(y, n_rows, owner=owner, name=name)
    position = {label: i for i, label in enumerate(classes.tolist())}
    for label in labels.tolist():
        if label not in position:
            raise InvalidInputError(
                f"{name} has the label {label!r}, {unknown}; expected one of "
                f"{reprlib.repr(classes.tolist())}"
            )
    return np.array([position[label] for label in labels.tolist()])[coded]


def _one_label_each(y: Any, name: str) -> NDArray[Any]:
    """Return y as an array, unless its rows have several labels."""
    try:
        array = y if sp.issparse(y) else np.asarray(y)
        if isinstance(y, list | tuple) and array.ndim == 1:
            array = unconverted(array, y)
    except ValueError:
        raise several_labels("rows of different lengths", name) from None
    if sp.issparse(y) or (array.ndim > 1 and array.size > len(array)):
        raise several_labels(f"shape {array.shape}", name)
    if array.dtype.kind == "c":
        raise InvalidInputError(
            f"Unknown label type: {name} holds complex numbers, expected classes"
        )
    return array


def _check_no_fractions(y: NDArray[Any], name: str, expected: str) -> None:
    """Refuse numbers that are missing, and those of a regression."""
    if y.dtype.kind in "fmM" and not np.isfinite(y).all():
        raise missing_labels(name)
    if y.dtype.kind == "f" and (y != np.trunc(y)).any():
        raise InvalidInputError(
            f"Unknown label type: {name} holds fractions such as "
            f"{y[y != np.trunc(y)][0]:g}, expected {expected} (is it a regression "
            "target?)"
        )


def check_label_structure(classes: NDArray[Any], class_counts: NDArray[Any]) -> None:
    """Refuse labels that are all equal, or of which most occur only once."""
    if len(classes) < 2:
        raise InvalidInputError(
            f"y has only one class ({classes.tolist()[0]!r}); expected at least two"
        )
    n_rows, n_alone = int(class_counts.sum()), int(np.sum(class_counts == 1))
    if n_alone > n_rows / 2:
        raise InvalidInputError(
            f"y has a label that no other row has in {n_alone} of {n_rows} rows; "
            "expected classes that repeat (is it an identifier or a regression target?)"
        )


def check_codes(y: ArrayLike, n_classes: int, advice: str = "") -> NDArray[np.int64]:
    """Return y as class numbers 0 to ``n_classes - 1``; errors end with the advice."""
    coded = _one_label_each(y, "y")
    if coded.ndim != 1:
        raise InvalidInputError(
            f"y must be one-dimensional, got an array of shape {coded.shape}"
        )
    if coded.dtype.kind == "O":
        coded = from_objects(coded, "y")
    numbered = f"class numbers 0 to {n_classes - 1}"
    _check_no_fractions(coded, "y", numbered)
    expected = f"y must hold {numbered}"
    if coded.dtype.kind not in "iubf":
        raise InvalidInputError(f"{expected}, got dtype {coded.dtype}{advice}")
    coded = coded.astype(np.int64)
    wrong = coded[(coded < 0) | (coded >= n_classes)]
    if len(wrong):
        got = f"(n_classes={n_classes}), got {wrong[0]}"
        raise InvalidInputError(f"{expected} {got}{advice}")
    return coded


def check_strengths(strengths: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return one strength for each row, each between 0 and 1."""
    try:
        values = np.asarray(strengths, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError("strengths must be numbers") from None
    values = np.full(n_rows, values) if values.ndim == 0 else values
    if values.shape != (n_rows,):
        raise InvalidInputError(
            f"strengths must be one number, or one for each of {n_rows} rows, "
            f"got an array of shape {values.shape}"
        )
    if not np.all((values >= 0) & (values <= 1)):
        raise InvalidInputError(
            f"strengths must lie between 0 and 1, got {values.min():g} to "
            f"{values.max():g}"
        )
    return values


def check_integer(
    value: Any, name: str, minimum: int, maximum: float = math.inf
) -> int:
    """Return the value as an int within the limits."""
    if not _is_number(value, numbers.Integral) or not minimum <= value <= maximum:
        limit = f"from {minimum} to {maximum}"
        if maximum == math.inf:
            limit = f"of at least {minimum}"
        raise InvalidParameterError(
            f"{name} must be a whole number {limit}, got {value!r}"
        )
    return int(value)


def check_real(value: Any, name: str, minimum: float) -> float:
    """Return the value as a finite float of at least the minimum."""
    if not _is_number(value, numbers.Real) or not minimum <= value < math.inf:
        raise InvalidParameterError(
            f"{name} must be a number of at least {minimum:g}, got {value!r}"
        )
    return float(value)


def check_share(value: Any, name: str) -> float:
    """Return the value as a float between 0 and 1, both excluded."""
    if not _is_number(value, numbers.Real) or not 0.0 < value < 1.0:
        raise InvalidParameterError(
            f"{name} must be a number between 0 and 1, got {value!r}"
        )
    return float(value)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidParameterError(f"{name} must be one of {listed}, got {value!r}")
    return str(value)


def check_flag(value: Any, name: str) -> bool:
    """Return the value if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameterError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse a number of jobs that joblib would fail on later."""
    if n_jobs is not None and not (n_jobs and _is_number(n_jobs, numbers.Integral)):
        raise InvalidParameterError(
            f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}"
        )


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
