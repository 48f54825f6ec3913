"""Soft labels that others propose: of a first model, and of neighbors."""

from __future__ import annotations

import numpy as np

from structsmooth import nearest_neighbors

# How many neighbors vote, and what share of a label a first model gets.
N_NEIGHBORS = 10
DISTILLED = 0.5


def distilled_labels(hard: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return labels mixed with out-of-fold predictions (self-distillation)."""
    return (1.0 - DISTILLED) * hard + DISTILLED * probabilities


def neighbor_labels(features: np.ndarray, hard: np.ndarray, mean: float) -> np.ndarray:
    """Return locally adaptive smoothing (Bahri and Jiang, ICML 2021), all of it local.

    A label is mixed with the labels of its nearest neighbors. The weight of those is
    the same for all rows, and such that labels lose the given mass in the mean, if that
    is possible.
    """
    near = nearest_neighbors(features, N_NEIGHBORS).indices
    votes = hard[near].mean(axis=1)
    lost = 1.0 - (votes * hard).sum(axis=1)
    weight = min(1.0, mean / lost.mean()) if lost.mean() > 0 else 0.0
    return (1.0 - weight) * hard + weight * votes
