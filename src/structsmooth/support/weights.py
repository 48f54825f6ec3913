"""Sample weights: a row of weight 2 counts as two rows, one of weight 0 as none.

Weights that are not all whole numbers are no counts. Their scale means nothing, so
they are scaled to a mean of 1 over the rows that count at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight

from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import check_label_structure, encode_labels


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The rows that count, and what they count for."""

    classes: NDArray[Any]  # sorted
    coded: NDArray[np.int64]  # the class of each row
    # None of them 0, as integers if all are whole; None if each row counts once.
    weights: NDArray[Any] | None = None
    # Numbers among the rows given; None if all of them count.
    numbers: NDArray[np.int64] | None = None


def count_rows(
    X: Any, y: Any, sample_weight: ArrayLike | None, *, repeat: bool
) -> CountedRows:
    """Return the rows that count; with ``repeat``, each as often as its weight says.

    Repeating the rows serves the stages that know no weights.
    """
    n_rows = X.shape[0]
    classes, coded = encode_labels(y, n_rows, owner="StructuralSmoother")
    weights = numbers = None
    if sample_weight is not None:
        weights = _counts_or_weights(check_sample_weight(sample_weight, X))
    if weights is not None and repeat:
        if weights.dtype.kind == "f":
            raise InvalidInputError(
                "sample_weight must hold whole numbers with regions='point', "
                "ignore_suspects=True, or a reducer or clusterer whose fit takes no "
                "sample_weight, because rows are repeated there; got "
                f"{weights[weights != np.trunc(weights)][0]:g}"
            )
        try:
            numbers = np.repeat(np.arange(n_rows), weights)
        except MemoryError:
            raise InvalidInputError(
                f"sample_weight stands for {weights.sum()} rows, too many to repeat"
            ) from None
        weights = None
    elif weights is not None:
        if weights.min() == 0:
            numbers = np.flatnonzero(weights)
            weights = weights[numbers]
        if weights.dtype.kind == "f":
            weights = weights * (len(weights) / weights.sum())
    if numbers is not None:
        used, coded = np.unique(coded[numbers], return_inverse=True)
        classes = classes[used]
    are_counts = weights is not None and weights.dtype.kind == "i"
    check_label_structure(classes, np.bincount(coded, weights if are_counts else None))
    return CountedRows(classes, coded, weights, numbers)


def check_sample_weight(sample_weight: ArrayLike, rows: Any) -> NDArray[np.float64]:
    """Return the weights of rows if they are numbers of at least 0, and not all 0."""
    weights: NDArray[np.float64] = _check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise InvalidInputError("sample_weight is zero for every row, so none counts")
    return weights


def _counts_or_weights(weights: NDArray[np.float64]) -> NDArray[Any] | None:
    """Return weights as integers if they are whole, and as None if they say nothing."""
    are_whole = np.array_equal(weights, np.trunc(weights)) and weights.max() < 2**53
    # Equal whole numbers other than 1 still count rows more than once.
    if (weights == (1.0 if are_whole else weights[0])).all():
        return None
    return weights.astype(np.int64) if are_whole else weights
