"""Values that NumPy would round or turn into text, and labels that are objects."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import InvalidInputError

ONE_CLASS_EACH = "expected one class for each row"
# Larger whole numbers are rounded as floating-point numbers.
LARGEST_EXACT = 2**53


def check_exact(X: Any, name: str = "X") -> None:
    """Refuse whole numbers that cannot be told apart as floating-point numbers."""
    array = X if isinstance(getattr(X, "dtype", None), np.dtype) else np.asarray(X)
    if array.dtype.kind == "O":
        whole = [v for v in array.ravel().tolist() if isinstance(v, int)]
        extreme = max(map(abs, whole), default=0)
    elif array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        extreme = max(abs(int(array.min())), abs(int(array.max())))
    else:
        return
    if extreme > LARGEST_EXACT:
        shown = extreme if extreme < 10**30 else "more than 10**30"
        raise InvalidInputError(
            f"{name} has whole numbers beyond 2**53 ({shown}), which floating-point "
            "numbers cannot tell apart; leave them out, or pass identifiers as text"
        )


def unconverted(array: NDArray[Any], y: Any) -> NDArray[Any]:
    """Return labels as objects if NumPy has made text or fractions of some of them."""
    kept = {"U": str, "S": bytes, "f": float | np.floating}.get(array.dtype.kind)
    if kept is not None and not all(isinstance(label, kept) for label in y):
        objects = np.empty(len(y), dtype=object)
        objects[:] = y
        return objects
    return array


def from_objects(y: NDArray[Any], name: str) -> NDArray[Any]:
    """Return labels that are Python objects as an array of one type."""
    labels = y.tolist()
    if any(_is_missing(label) for label in labels):
        raise missing_labels(name)
    kinds = {type(label) for label in labels}
    several = kinds & {list, tuple, set, frozenset, np.ndarray}
    if several:
        raise several_labels(f"rows of type {several.pop().__name__}", name)
    if all(issubclass(kind, numbers.Number | np.bool_) for kind in kinds):
        array = np.array(labels)
        if array.dtype.kind not in "iub":
            check_exact(y, name)  # which NumPy has rounded, or left as objects
        return array
    if len(kinds) > 1 and all(issubclass(kind, str) for kind in kinds):
        return y.astype(str).astype(object)
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InvalidInputError(
            f"{name} mixes labels of different types ({names}); expected one type"
        )
    if kinds == {bytes}:
        return np.array([bytes(v).decode() for v in labels])
    if not issubclass(kinds.pop(), str):
        raise InvalidInputError(
            f"Unknown label type: {name} holds values of type "
            f"{type(labels[0]).__name__}, expected numbers or text (convert them to "
            "text)"
        )
    return y


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float) and math.isnan(label)


def several_labels(given: str, name: str) -> InvalidInputError:
    """Return the error for rows with more than one label."""
    return InvalidInputError(
        f"{name} has {given}, several labels for a row (multi-label); "
        f"{ONE_CLASS_EACH}, such as {name}.argmax(axis=1) of one-hot labels"
    )


def missing_labels(name: str) -> InvalidInputError:
    """Return the error for rows without a label."""
    return InvalidInputError(
        f"{name} has missing labels (None, NaN or inf); {ONE_CLASS_EACH}"
    )
