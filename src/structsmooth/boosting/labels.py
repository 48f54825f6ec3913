"""Labels to train on: classes with strengths, or the probability of each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError
from structsmooth.labels.forms import smooth_labels
from structsmooth.strengths.solve import check_strength_range
from structsmooth.support.validation import check_codes, check_integer, check_strengths
from structsmooth.support.weights import check_sample_weight

# How far the sum of a row of float32 probabilities may be from 1.
TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class Labels:
    """Checked labels and weights; either ``strengths`` or ``soft`` has no rows.

    If only probabilities were given, ``y`` has the most probable classes. Soft labels
    stay float32 or float64, as given. Weights are None if all are 1.
    """

    n_classes: int
    y: NDArray[np.int64]
    strengths: NDArray[np.float64]
    soft: NDArray[np.floating]
    uniform: bool
    weights: NDArray[np.float64] | None

    def matrix(self) -> NDArray[np.floating]:
        """Return the soft label of each row."""
        if len(self.soft):
            return self.soft
        return smooth_labels(self.y, self.strengths, self.n_classes)

    def means(self) -> NDArray[np.float64]:
        """Return the weighted mean soft label, without making soft labels."""
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        if len(self.soft):
            return np.asarray(weights @ self.soft / weights.sum(), dtype=np.float64)
        share = self.strengths / (self.n_classes - 1)
        extra = np.bincount(
            self.y, weights * (1.0 - self.strengths - share), self.n_classes
        )
        means: NDArray[np.float64] = (extra + weights @ share) / weights.sum()
        return np.maximum(means, 0.0)


def check_labels(
    y: ArrayLike | None,
    strengths: ArrayLike | None,
    n_classes: int | None,
    soft_labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> Labels:
    """Return the labels and weights that the libraries train on, checked."""
    if (strengths is None) == (soft_labels is None):
        got = "neither" if strengths is None else "both"
        raise InvalidInputError(
            f"exactly one of strengths and soft_labels must be given, got {got}"
        )
    soft: NDArray[np.floating] = np.empty((0, 2))
    if soft_labels is not None:
        soft = check_soft_labels(soft_labels, n_classes)
        n_classes = soft.shape[1]
        codes = soft.argmax(axis=1) if y is None else check_codes(y, n_classes)
        if len(soft) != len(codes):
            raise InvalidInputError(
                f"soft_labels must have one row for each of the {len(codes)} labels "
                f"in y, got {len(soft)}"
            )
    elif y is None:
        raise InvalidInputError("y must hold labels if strengths are given")
    else:
        n_classes = check_integer(n_classes, "n_classes", 2)
        codes = check_codes(y, n_classes)
    if len(codes) == 0:
        raise InvalidInputError("y must have at least one label, got none")
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, codes)
        # LightGBM drops weights of 1, so the objective must not expect them.
        weights = None if np.all(weights.astype(np.float32) == 1.0) else weights
    values = np.empty(0)
    if strengths is not None:
        values = check_strengths(strengths, len(codes))
        check_strength_range(values.min(), values.max(), n_classes)
    return Labels(
        n_classes,
        codes,
        values,
        soft,
        strengths is not None and np.ndim(strengths) == 0,
        weights,
    )


def check_soft_labels(
    soft_labels: ArrayLike, n_classes: int | None, name: str = "soft_labels"
) -> NDArray[np.floating]:
    """Return soft labels as they are, if their rows are probabilities of K classes."""
    soft = np.asarray(soft_labels)
    if soft.dtype not in (np.float32, np.float64):
        soft = soft.astype(np.float64)
    wide = soft.ndim == 2 and soft.shape[1] >= 2
    if not wide or soft.shape[1] != (n_classes or soft.shape[1]):
        raise InvalidInputError(
            f"{name} must have the shape (n, {n_classes or 'K'}), one column for each "
            f"class, got {soft.shape}"
        )
    sums = soft.sum(axis=1, dtype=np.float64)
    # NaN fails both comparisons, and a sum of 1 excludes infinity.
    wrong = ~(np.abs(sums - 1.0) <= TOLERANCE) | ~(soft.min(axis=1) >= 0.0)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInputError(
            f"{name} must have rows of probabilities that are not negative and sum to "
            f"1, got {soft[row].min():g} to {soft[row].max():g} with a sum of "
            f"{sums[row]:g} in row {row}"
        )
    return np.ascontiguousarray(soft)
