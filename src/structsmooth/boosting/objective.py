"""The objective and the metric for LightGBM and XGBoost.

The libraries' training functions call both with ``(scores, dataset)``, their
scikit-learn estimators with ``(labels, scores, sample_weight)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.boosting.gradient import cross_entropies, softmax_gradient
from structsmooth.boosting.labels import Labels
from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import check_codes


@dataclass(frozen=True, eq=False)
class SoftmaxObjective:
    """Cross-entropy of softmax scores with soft labels, for one training set.

    Only with one strength for all may it be used on other rows than those of
    ``labels``, such as the folds of a cross-validation. ``start`` is added to the
    scores of the library. Its own diagonal Hessian is ``factor * p (1 - p)``, at least
    ``floor``.
    """

    library: str
    labels: Labels
    start: NDArray[np.float64]
    factor: float
    floor: float

    def __call__(
        self, first: Any, second: Any, sample_weight: Any = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return gradient and Hessian, both (n, K) in the layout of the scores."""
        own = self.labels
        y, scores, weights, rows = _unpack(
            first, second, sample_weight, own.n_classes, self.library
        )
        if weights is None and own.weights is not None:
            raise InvalidInputError(
                f"sample_weight was given for the objective but not to {self.library}; "
                "pass dataset or fit_options unchanged"
            )
        weights = np.ones(len(y)) if weights is None else weights
        targets = self._targets(y, rows)
        layout: Any = "C" if scores.flags.c_contiguous else "F"
        gradient = np.empty(scores.shape, np.float32, order=layout)
        derivatives = gradient, np.empty_like(gradient)
        softmax_gradient(
            scores, self.start, *targets, weights, self.factor, self.floor, *derivatives
        )
        return derivatives

    def _targets(
        self, y: Any, rows: Any
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return classes, strengths and soft labels of the rows to train on."""
        own = self.labels
        if own.uniform:
            codes = check_codes(y, own.n_classes)
            return codes, np.full(len(codes), own.strengths[0]), own.soft
        codes, strengths, soft = own.y, own.strengths, own.soft
        if rows is not None:
            codes = codes[rows]
            strengths = strengths[rows] if len(strengths) else strengths
            soft = soft[rows] if len(soft) else soft
        if not np.array_equal(y, codes):
            raise InvalidInputError(
                f"{self.library} must train on the {len(own.y)} rows and labels that "
                f"the strengths or soft labels belong to, got {len(y)} others; for "
                "cross-validation make new arguments for each fold"
            )
        return codes, strengths, soft


@dataclass(frozen=True, eq=False)
class SoftmaxLogLoss:
    """Mean cross-entropy on validation sets, whose labels may be hard or soft.

    The libraries keep one number for each row, which for rows with soft labels is
    their position in ``soft``, counted down from -1.
    """

    library: str
    n_classes: int
    start: NDArray[np.float64]
    soft: NDArray[np.floating] | None = None
    __name__ = "mlogloss"  # XGBoost's name of the same metric

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> Any:
        """Return the value; for LightGBM also its name, and that lower is better."""
        y, scores, weights, _ = _unpack(
            first, second, sample_weight, self.n_classes, self.library
        )
        weights = np.ones(len(y)) if weights is None else weights
        if self.soft is not None and np.min(y) < 0:
            targets: NDArray[Any] = self.soft[-1 - np.asarray(y, np.int64)]
        else:
            targets = check_codes(y, self.n_classes)
        mean = weights @ cross_entropies(scores + self.start, targets) / weights.sum()
        return mean if self.library == "XGBoost" else ("multi_logloss", mean, False)


def _unpack(
    first: Any, second: Any, weights: Any, n_classes: int, library: str
) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None, Any]:
    """Return labels, scores, weights and row numbers from either form of call."""
    labels, scores, rows = first, second, None
    if hasattr(second, "get_label"):  # a Dataset or DMatrix
        labels, scores, weights = second.get_label(), first, second.get_weight()
        rows = getattr(second, "used_indices", None)  # of a fold in lightgbm.cv
    scores = np.asarray(scores)
    if scores.ndim != 2 or scores.shape[1] != n_classes:
        raise InvalidInputError(
            f"{library} must make one score for each of the {n_classes} classes, got "
            f"{scores.size // len(scores)}; pass params or estimator_params unchanged"
        )
    # XGBoost has an empty array if there are no weights.
    if weights is not None and np.size(weights) > 0:
        return labels, scores, np.asarray(weights, dtype=np.float64), rows
    return labels, scores, None, rows
