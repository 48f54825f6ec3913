"""Reduced features on a plane, for maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

# Seed of everything drawn for a picture: the same data, the same picture.
SEED = 0
# Sparse rows narrower than this are made dense.
DENSE_FEATURES = 4096


@dataclass(frozen=True, eq=False)
class Projection:
    """The two directions in which rows vary most.

    Attributes
    ----------
    center : ndarray of shape (d,)
        What lies in the middle.
    directions : ndarray of shape (2, d)
        Orthonormal; the second is zero for a single feature.
    variance_shown : float
        Share of the variance that the plane holds.
    """

    center: NDArray[np.float64]
    directions: NDArray[np.float64]
    variance_shown: float

    def place(self, features: Any) -> NDArray[np.float64]:
        """Return the position of each row."""
        offset = self.directions @ self.center
        return np.asarray(features @ self.directions.T, dtype=np.float64) - offset


def fit_projection(
    features: Any, weights: NDArray[np.float64] | None = None
) -> Projection:
    """Find the plane of most variance; two features are kept as they are.

    Parameters
    ----------
    features : ndarray or CSR matrix of shape (n, d)
        Rows, with at least one feature.
    weights : ndarray of shape (n,), optional
        How much each counts, for rows that stand for many.
    """
    n_rows, n_features = features.shape
    if n_features <= 2:
        return Projection(np.zeros(n_features), np.eye(2, n_features), 1.0)
    if sp.issparse(features) and n_features <= DENSE_FEATURES:
        features = features.toarray()
    if weights is None:
        weights = np.full(n_rows, 1.0 / n_rows)
    weights = weights / weights.sum()
    center = np.asarray(weights @ features, dtype=np.float64).ravel()
    root = np.sqrt(weights)
    if sp.issparse(features):
        # Not centered, for that would fill in the zeros.
        _, values, directions = svds(features, k=2, random_state=SEED)
        total = float(features.multiply(features).sum())
        squares = values[::-1] ** 2
        directions = directions[::-1]
    else:
        scaled = (np.asarray(features, dtype=np.float64) - center) * root[:, np.newaxis]
        squares, vectors = np.linalg.eigh(scaled.T @ scaled)
        total = float(squares.clip(0.0).sum())
        squares, directions = squares[::-1][:2], vectors[:, ::-1][:, :2].T
    # A direction and its opposite are as good: the largest part points up.
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[[0, 1], largest])
    shown = float(squares.sum()) / total if total > 0.0 else 1.0
    return Projection(center, directions * signs[:, np.newaxis], min(1.0, shown))


def draw_rows(n_rows: int, most: int) -> NDArray[np.int64]:
    """Return at most that many row numbers, drawn at random, in ascending order."""
    if n_rows <= most:
        return np.arange(n_rows)
    drawn = np.random.default_rng(SEED).choice(n_rows, most, replace=False)
    return np.sort(drawn)
