"""CatBoost's custom objective and metric; importing this module imports CatBoost."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsmooth.boosting.arguments import import_library
from structsmooth.boosting.gradient import cross_entropies, negative_derivatives

_catboost: Any = import_library("catboost")


class SoftmaxObjective(_catboost.MultiTargetCustomObjective):
    """Cross-entropy of softmax scores with soft labels, one target for each class."""

    # CatBoost would compile the method in each process, and could not pickle it then.
    no_jit = True

    def calc_ders_multi(
        self, approxes: Any, targets: Any, weight: float
    ) -> tuple[list[float], list[list[float]]]:
        """Return the derivatives of one row's log-likelihood."""
        gradient, hessian = negative_derivatives(approxes, targets, weight)
        return gradient.tolist(), hessian.tolist()  # which CatBoost reads faster


class SoftmaxCrossEntropy(_catboost.MultiTargetCustomMetric):
    """Mean cross-entropy; with one-hot labels the negative log-likelihood."""

    no_jit = True

    def is_max_optimal(self) -> bool:
        """Lower is better."""
        return False

    def evaluate(
        self, approxes: Any, targets: Any, weights: Any
    ) -> tuple[float, float]:
        """Return sum of losses and sum of weights."""
        losses = cross_entropies(np.transpose(approxes), np.transpose(targets))
        if weights is None:
            return float(losses.sum()), float(len(losses))
        return float(losses @ weights), float(weights.sum())

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the mean."""
        return error / weight if weight > 0 else 0.0
