"""Checks of labels and probabilities, predictions, and sums along a ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import check_codes, encode_as, encode_labels

# In half precision the sum of a row is off by half of this, along a wrong axis by more.
SUM_TOLERANCE = 1e-3
# How far rounding may carry a single probability beyond 0 or 1.
RANGE_TOLERANCE = 1e-6


def check_labels_and_probabilities(
    y: ArrayLike, probabilities: ArrayLike, labels: ArrayLike | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the column of each sample's class, and a column for each class.

    Rows are not normalized, so their sums may differ from 1 by rounding.
    """
    table = check_numbers(probabilities, "probabilities")
    if table.ndim == 1:
        table = np.column_stack([1.0 - table, table])
    if table.ndim != 2 or table.shape[1] < 2:
        raise InvalidInputError(
            "probabilities must have shape (n, K) with one column for each class, or "
            f"(n,) for the second of two, got shape {np.shape(probabilities)}"
        )
    if labels is None:
        advice = "; other classes are named by labels=, one for each column"
        coded = check_codes(y, table.shape[1], advice)
    else:
        classes = _check_labels(labels, table.shape[1])
        coded = encode_as(classes, y, None, unknown="which is not in labels")
    if len(coded) != len(table):
        raise InvalidInputError(
            f"y and probabilities must have the same length, got {len(coded)} labels "
            f"and {len(table)} rows"
        )
    if len(coded) == 0:
        raise InvalidInputError("y and probabilities must not be empty")
    return coded, _check_distributions(table)


def _check_labels(labels: ArrayLike, n_columns: int) -> NDArray[Any]:
    """Return the class of each column, in the order of the columns."""
    try:
        shape: tuple[int, ...] | None = np.shape(labels)
    except ValueError:
        shape = None
    if shape != (n_columns,):
        got = "lists of different lengths" if shape is None else f"shape {shape}"
        raise InvalidInputError(
            f"labels must name the class of each of the {n_columns} columns of "
            f"probabilities, got {got}"
        )
    classes, coded = encode_labels(labels, None, name="labels")
    if len(classes) < n_columns:
        twice = classes.tolist()[np.bincount(coded).argmax()]
        raise InvalidInputError(
            f"labels must be distinct, got {twice!r} more than once"
        )
    return np.asarray(classes[coded])


def _check_distributions(table: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # inf - inf
        sums = table.sum(axis=1)
    off = np.abs(sums - 1.0)
    lowest, highest = table.min(), table.max()
    least, most = -RANGE_TOLERANCE, 1.0 + RANGE_TOLERANCE
    if not (lowest >= least and highest <= most and off.max() <= SUM_TOLERANCE):
        within = ((table >= least) & (table <= most)).all(axis=1)
        row = int((within & (off <= SUM_TOLERANCE)).argmin())
        raise InvalidInputError(
            "each row of probabilities must have finite numbers from 0 to 1 that sum "
            f"to 1 (logits need a softmax first), but row {row} has "
            f"{table[row].min():g} to {table[row].max():g} with the sum {sums[row]:g}"
        )
    return table if lowest >= 0.0 and highest <= 1.0 else np.clip(table, 0.0, 1.0)


def check_numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Return numbers of any kind as an array of float64."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "fiubO":
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{name} must be numbers in rows of equal length"
        ) from None
    raise InvalidInputError(f"{name} must be numbers, got dtype {array.dtype}")


def predict(table: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the most probable class, the first of equals, and its probability."""
    predicted = table.argmax(axis=1)
    return predicted, table[np.arange(len(table)), predicted]


def sums_of_lowest(
    keys: NDArray[Any], amounts: NDArray[Any], counts: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the sums of the amounts of the samples with the lowest keys.

    Where samples have equal keys, the sum is the mean over all their orders: j of m
    tied samples have j/m of what the m samples have together. So the sum is linear
    along a tie, and along a single sample where a count is not a whole number.
    """
    order = np.argsort(keys)
    ranked = keys[order]
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]) + 1, len(ranked))
    sums = np.cumsum(amounts[order])[ends - 1]
    return np.asarray(np.interp(counts, np.append(0, ends), np.append(0, sums)))
