"""Kernels: derivatives of the cross-entropy of softmax scores with soft labels.

The gradient of the cross-entropy of a soft label ``q`` with the softmax ``p`` of the
scores is ``p - q``, and the Hessian ``diag(p) - p p'`` does not depend on the label. A
soft label is read where it is given, else made on the way from class and strength:
``1 - a`` on the own class and ``a / (K-1)`` on the others.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel


@kernel
def softmax_gradient(
    scores: NDArray[Any],
    start: NDArray[np.float64],
    labels: NDArray[np.int64],
    strengths: NDArray[np.float64],
    soft: NDArray[Any],
    weights: NDArray[np.float64],
    factor: float,
    floor: float,
    gradient: NDArray[np.float32],
    hessian: NDArray[np.float32],
) -> None:
    """Fill gradient and diagonal Hessian, each (n, K), in one pass over the rows.

    Parameters
    ----------
    scores : array of shape (n, K)
        Raw scores, of either memory layout.
    start : array of shape (K,)
        Added to the scores of every row.
    labels : array of shape (n,), int64
        Class numbers.
    strengths : array of shape (n,)
        Strengths; not read if there are soft labels.
    soft : array of shape (n, K) or (0, K)
        Soft labels, with no rows if class and strength say it all.
    weights : array of shape (n,)
        Sample weights.
    factor, floor : float
        The Hessian is ``weight * factor * p (1 - p)``, but at least ``floor``.
    gradient, hessian : array of shape (n, K)
        Where the results go, of either memory layout.
    """
    n_rows, n_classes = scores.shape
    given = len(soft) > 0
    odds, target = np.empty(n_classes), np.empty(n_classes)
    for row in range(n_rows):
        largest = -math.inf
        for k in range(n_classes):
            odds[k] = scores[row, k] + start[k]
            largest = max(largest, odds[k])
        total = 0.0
        for k in range(n_classes):
            odds[k] = math.exp(odds[k] - largest)
            total += odds[k]
        if given:
            for k in range(n_classes):
                target[k] = soft[row, k]
        else:
            target[:] = strengths[row] / (n_classes - 1)
            target[labels[row]] = 1.0 - strengths[row]
        weight = weights[row]
        for k in range(n_classes):
            probability = odds[k] / total
            gradient[row, k] = weight * (probability - target[k])
            curvature = weight * factor * probability * (1.0 - probability)
            hessian[row, k] = max(curvature, floor)


@kernel
def softmax_log_loss(
    scores: NDArray[Any],
    start: NDArray[np.float64],
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> float:
    """Return the weighted sum of ``-log p`` of each row's own class.

    Parameters
    ----------
    scores : array of shape (n, K)
        Raw scores, of either memory layout.
    start : array of shape (K,)
        Added to the scores of every row.
    labels : array of shape (n,), int64
        Class numbers.
    weights : array of shape (n,)
        Sample weights.

    Returns
    -------
    float
        The sum.
    """
    n_rows, n_classes = scores.shape
    loss = 0.0
    for row in range(n_rows):
        largest = -math.inf
        for k in range(n_classes):
            largest = max(largest, scores[row, k] + start[k])
        total = 0.0
        for k in range(n_classes):
            total += math.exp(scores[row, k] + start[k] - largest)
        own = labels[row]
        loss += weights[row] * (
            math.log(total) + largest - scores[row, own] - start[own]
        )
    return loss


@kernel
def negative_derivatives(
    scores: NDArray[np.float64], target: NDArray[Any], weight: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return gradient and Hessian of one row's log-likelihood, as CatBoost wants them.

    CatBoost maximizes, so the signs are those of the negative cross-entropy.

    Parameters
    ----------
    scores, target : array of shape (K,)
        Raw scores and soft label.
    weight : float
        Sample weight.

    Returns
    -------
    gradient : array of shape (K,)
        ``weight * (q - p)``.
    hessian : array of shape (K, K)
        ``weight * (p p' - diag(p))``; only the upper triangle is filled, the rest
        is 0.
    """
    n_classes = len(scores)
    gradient = np.empty(n_classes)
    hessian = np.zeros((n_classes, n_classes))
    largest = scores.max()
    total = 0.0
    for k in range(n_classes):
        gradient[k] = math.exp(scores[k] - largest)
        total += gradient[k]
    for k in range(n_classes):
        gradient[k] /= total
    for k in range(n_classes):
        for other in range(k, n_classes):
            hessian[k, other] = weight * gradient[k] * gradient[other]
        hessian[k, k] -= weight * gradient[k]
    for k in range(n_classes):
        gradient[k] = weight * (target[k] - gradient[k])
    return gradient, hessian
