"""Checks of labels and probabilities, and what is read off them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import check_codes

# Half precision rounds the sum of a row by half of this; a wrong axis, by far more.
SUM_TOLERANCE = 1e-3
# How far rounding may carry a single probability beyond 0 or 1.
RANGE_TOLERANCE = 1e-6


def check_labels_and_probabilities(
    y: ArrayLike, probabilities: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return class numbers, and a table of probabilities with a column for each class.

    Rows are taken as they come, not made to sum to 1 exactly.
    """
    table = check_numbers(probabilities, "probabilities")
    if table.ndim == 1:
        table = np.column_stack([1.0 - table, table])
    if table.ndim != 2 or table.shape[1] < 2:
        raise InvalidInputError(
            "probabilities must have shape (n, K) with one column a class, or (n,) "
            f"for class 1 of two, got shape {np.shape(probabilities)}"
        )
    coded = check_codes(y, table.shape[1])
    if len(coded) != len(table):
        raise InvalidInputError(
            f"y and probabilities must have the same length, got {len(coded)} labels "
            f"and {len(table)} rows"
        )
    if len(coded) == 0:
        raise InvalidInputError("y and probabilities must not be empty")
    return coded, _check_distributions(table)


def _check_distributions(table: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # inf - inf
        sums = table.sum(axis=1)
    if not np.isfinite(sums).all():
        row = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise InvalidInputError(
            f"probabilities must be finite, but row {row} has NaN or inf"
        )
    lowest, highest = float(table.min()), float(table.max())
    if lowest < -RANGE_TOLERANCE or highest > 1 + RANGE_TOLERANCE:
        raise InvalidInputError(
            f"probabilities must lie between 0 and 1, got {lowest:g} to {highest:g} "
            "(logits need a softmax first)"
        )
    off = np.abs(sums - 1.0)
    if off.max() > SUM_TOLERANCE:
        row = int(off.argmax())
        raise InvalidInputError(
            f"each row of probabilities must sum to 1, but row {row} sums to "
            f"{sums[row]:g}"
        )
    return table if lowest >= 0 and highest <= 1 else np.clip(table, 0.0, 1.0)


def check_numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Return an array of float64, whatever holds the numbers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "fiubO":
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{name} must be numbers in rows of equal length"
        ) from None
    raise InvalidInputError(f"{name} must be numbers, got dtype {array.dtype}")


def check_number(value: Any, name: str) -> float:
    """Return one number as a float."""
    values = check_numbers(value, name)
    if values.ndim != 0:
        raise InvalidInputError(
            f"{name} must be one number, got an array of shape {values.shape}"
        )
    return float(values)


def predict(table: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the most probable class, the first of equals, and its probability."""
    predicted = table.argmax(axis=1)
    return predicted, table[np.arange(len(table)), predicted]
