"""Cures after training: a temperature for probabilities, a norm for confidences.

Both have one number, which is fitted on validation rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from structsmooth.metrics.selective import area_under_risk_coverage

NORMS = tuple(range(1, 11))


def fit_temperature(probabilities: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Return the divisor of log-probabilities that gives the lowest NLL."""
    logs, rows = _logs(probabilities), np.arange(len(y))

    def loss(log_temperature: float) -> float:
        scaled = log_softmax(logs / np.exp(log_temperature), axis=1)
        return -float(scaled[rows, y].mean())

    found = minimize_scalar(loss, bounds=(np.log(0.05), np.log(20.0)), method="bounded")
    return float(np.exp(found.x))


def scale(
    probabilities: NDArray[np.float64], temperature: float
) -> NDArray[np.float64]:
    """Return the probabilities at a temperature."""
    return np.asarray(softmax(_logs(probabilities) / temperature, axis=1))


def max_logit_p_norm(
    probabilities: NDArray[np.float64], p: int | None
) -> NDArray[np.float64]:
    """Return the largest logit over the p-norm of all logits, which are centered.

    This is the confidence MaxLogit-pNorm of L. F. P. Cattelan and D. Silva (How to Fix
    a Broken Confidence Estimator, UAI 2024). Without p it is the largest probability.
    """
    if p is None:
        return np.asarray(probabilities.max(axis=1))
    logits = _logs(probabilities)
    logits = logits - logits.mean(axis=1, keepdims=True)
    largest = np.abs(logits).max(axis=1, keepdims=True)
    logits = logits / np.where(largest > 0.0, largest, 1.0)  # no power overflows
    norms = (np.abs(logits) ** p).sum(axis=1) ** (1.0 / p)
    # With two classes all are equal, and only rounding would rank them.
    return np.asarray(
        np.round(logits.max(axis=1) / np.where(norms > 0.0, norms, 1.0), 12)
    )


def fit_norm(probabilities: NDArray[np.float64], y: NDArray[np.int64]) -> int | None:
    """Return the p of the norm with the lowest AURC, None if the probability is better.

    Cattelan and Silva recommend to fall back on it in this way.
    """
    areas = {
        p: area_under_risk_coverage(
            y, probabilities, max_logit_p_norm(probabilities, p)
        )
        for p in (None, *NORMS)
    }
    return min(areas, key=lambda p: areas[p])


def _logs(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.clip(probabilities, 1e-300, None)))
