"""Cross-entropy of softmax scores with soft labels, and its derivatives.

The gradient of the cross-entropy of a soft label ``q`` with the softmax ``p`` of the
scores is ``p - q``, and the Hessian ``diag(p) - p p'`` does not depend on the label. A
soft label is either given or made from class and strength: ``1 - a`` on the own class
and ``a / (K-1)`` on the others.
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

    Arrays of shape (n, K) may have either memory layout. ``start`` is added to the
    scores of every row. ``soft`` has no rows if classes and strengths are used instead.
    The Hessian is ``weight * factor * p (1 - p)``, but at least ``floor``.
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
def negative_derivatives(
    scores: NDArray[np.float64], target: NDArray[Any], weight: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return gradient and Hessian of one row's log-likelihood, as CatBoost needs them.

    They are ``weight * (q - p)`` and ``weight * (p p' - diag(p))``, because CatBoost
    maximizes.
    """
    p = np.exp(scores - scores.max())
    p /= p.sum()
    hessian = np.outer(weight * p, p) - np.diag(weight * p)
    return weight * (target - p), hessian


def cross_entropies(
    logits: NDArray[np.floating], targets: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the cross-entropy of each row with its class number or soft label."""
    largest = logits.max(axis=1)
    total = np.exp(logits - largest[:, np.newaxis]).sum(axis=1)
    if targets.ndim == 1:
        own = logits[np.arange(len(targets)), targets]
    else:
        own = (targets * logits).sum(axis=1)
    return np.asarray(np.log(total) + largest - own, dtype=np.float64)
