"""Data whose Bayes error is known, or known to lie between two numbers."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from experiments import datasets


def gaussians(
    n_samples: int, n_features: int, bayes_error: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return two round Gaussians of equal size, at the distance of a Bayes error."""
    draw = np.random.default_rng([seed, n_samples, n_features])
    y = np.arange(n_samples) % 2
    X = draw.normal(size=(n_samples, n_features))
    X[:, 0] += -2.0 * norm.ppf(bayes_error) * y
    return X, y


def real(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a real data set whose classes hardly overlap."""
    data = datasets.load(name)
    return data.X, data.y


def inject(y: np.ndarray, share: float, n_classes: int, seed: int) -> np.ndarray:
    """Return labels, a share of which are drawn at random from all classes."""
    draw = np.random.default_rng([seed, 7])
    noisy = draw.uniform(size=len(y)) < share
    return np.where(noisy, draw.integers(0, n_classes, size=len(y)), y)


def injected_error(bayes_error: float, share: float, n_classes: int) -> float:
    """Return the Bayes error with a share of the labels drawn at random.

    A posterior p becomes (1 - share) p + share / K, and the most likely class stays the
    same.
    """
    return bayes_error * (1.0 - share) + share * (1.0 - 1.0 / n_classes)
