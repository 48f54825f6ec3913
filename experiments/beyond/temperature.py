"""Temperature scaling: one number, fitted to validation rows after training."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax


def fit_temperature(probabilities: np.ndarray, y: np.ndarray) -> float:
    """Return the divisor of log-probabilities that gives the lowest NLL."""
    logs = _logs(probabilities)

    def loss(log_temperature: float) -> float:
        scaled = log_softmax(logs / np.exp(log_temperature), axis=1)
        return -float(scaled[np.arange(len(y)), y].mean())

    found = minimize_scalar(loss, bounds=(np.log(0.05), np.log(20.0)), method="bounded")
    return float(np.exp(found.x))


def scale(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Return the probabilities at a temperature."""
    return softmax(_logs(probabilities) / temperature, axis=1)


def _logs(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.clip(probabilities, 1e-300, None))
