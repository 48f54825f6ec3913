"""The objective and the metric that LightGBM and XGBoost are given.

Both can be called in each library's two ways: by its training function, as
``(scores, dataset)``, and by its scikit-learn estimators, as ``(labels, scores,
sample_weight)``. Both can be pickled and copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.boosting.gradient import softmax_gradient, softmax_log_loss
from structsmooth.errors import InvalidInputError
from structsmooth.validation import check_codes


@dataclass(frozen=True, eq=False)
class SmoothedSoftmax:
    """Cross-entropy of softmax scores with smoothed labels, for one training set.

    Attributes
    ----------
    library : str
        Name used in messages.
    n_classes : int
        Number of classes K.
    y : ndarray of shape (n,), int64
        Class numbers of the training rows.
    strengths : float or ndarray of shape (n,)
        Strength of all rows, or of each. Only with one for all may the objective be
        used on other rows than those of ``y``, such as the folds of a
        cross-validation.
    start : ndarray of shape (K,)
        Added to the library's scores.
    weighted : bool
        Whether the rows have sample weights, which the library must then hand over.
    factor, floor : float
        The library's own diagonal Hessian: ``factor * p (1 - p)``, at least
        ``floor``.
    """

    library: str
    n_classes: int
    y: NDArray[np.int64]
    strengths: Any
    start: NDArray[np.float64]
    weighted: bool
    factor: float
    floor: float

    def __call__(
        self, first: Any, second: Any, sample_weight: Any = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return gradient and Hessian, both (n, K) in the layout of the scores."""
        labels, scores, weights, rows = _unpack(first, second, sample_weight)
        scores = _check_scores(scores, self.n_classes, self.library)
        if weights is None and self.weighted:
            raise InvalidInputError(
                f"sample_weight was given for the objective but not to {self.library}; "
                "pass on dataset or fit_options as they are"
            )
        labels, strengths = self._rows(labels, rows)
        layout: Any = "C" if scores.flags.c_contiguous else "F"
        gradient = np.empty(scores.shape, np.float32, order=layout)
        hessian = np.empty_like(gradient)
        softmax_gradient(
            scores,
            self.start,
            labels,
            strengths,
            _ones_if_none(weights, len(labels)),
            self.factor,
            self.floor,
            gradient,
            hessian,
        )
        return gradient, hessian

    def _rows(
        self, labels: Any, rows: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return class and strength of the rows that the library trains on."""
        if np.ndim(self.strengths) == 0:
            codes = check_codes(labels, self.n_classes)
            return codes, np.full(len(codes), float(self.strengths))
        codes, strengths = self.y, self.strengths
        if rows is not None:
            codes, strengths = codes[rows], strengths[rows]
        if not np.array_equal(labels, codes):
            raise InvalidInputError(
                f"{self.library} must train on the {len(self.y)} rows and labels that "
                f"the strengths belong to, got {len(labels)} others; for "
                "cross-validation make the arguments anew for each fold"
            )
        return codes, strengths


@dataclass(frozen=True, eq=False)
class HardLogLoss:
    """Mean negative log-likelihood of hard labels, for validation sets in LightGBM.

    Attributes
    ----------
    n_classes : int
        Number of classes K.
    start : ndarray of shape (K,)
        Added to the library's scores.
    """

    n_classes: int
    start: NDArray[np.float64]

    def __call__(
        self, first: Any, second: Any, sample_weight: Any = None
    ) -> tuple[str, float, bool]:
        """Return LightGBM's name of the metric, its value, and that less is better."""
        labels, scores, weights, _ = _unpack(first, second, sample_weight)
        scores = _check_scores(scores, self.n_classes, "LightGBM")
        codes = check_codes(labels, self.n_classes)
        weights = _ones_if_none(weights, len(codes))
        loss = softmax_log_loss(scores, self.start, codes, weights)
        return "multi_logloss", loss / weights.sum(), False


def _unpack(first: Any, second: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any]:
    """Return labels, scores, weights and row numbers from either way of calling."""
    labels, scores, rows = first, second, None
    if hasattr(second, "get_label"):  # a Dataset or DMatrix
        labels, scores = second.get_label(), first
        sample_weight = second.get_weight()
        rows = getattr(second, "used_indices", None)  # of a fold in lightgbm.cv
    if sample_weight is not None and np.size(sample_weight) == 0:
        sample_weight = None  # how XGBoost says that there are none
    return labels, scores, sample_weight, rows


def _check_scores(scores: Any, n_classes: int, library: str) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(scores)
    if array.ndim != 2 or array.shape[1] != n_classes:
        found = array.shape[1] if array.ndim == 2 else 1
        raise InvalidInputError(
            f"{library} must make one score for each of the {n_classes} classes, got "
            f"{found}; its classifiers count the classes in y, so if one does not "
            "occur there use the training function, which takes params"
        )
    return array


def _ones_if_none(weights: Any, n_rows: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n_rows)
    return np.asarray(weights, dtype=np.float64)
