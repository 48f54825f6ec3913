"""Colors of classes that color-blind readers can tell apart, and an order for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from structsmooth.bayes_error.bounds import BayesErrorBounds

# Okabe and Ito, without black.
FEW = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
# Petroff's ten (arXiv:2107.02270), their two grays last.
MANY = (
    *("#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#92dadd", "#a96b59", "#e76300"),
    *("#b9ac70", "#717581", "#94a4a2"),
)
# Nobody can tell more than ten colors apart: of more classes, this many have a color of
# their own, and the others are gray.
N_COLORED = 8
OTHER = "#90959b"
# Fewer classes than this keep the order of their labels, which readers know.
FEW_CLASSES = 13


def class_colors(counts: NDArray[np.float64]) -> list[str | None]:
    """Return a color for each class, or None for gray.

    If there are too many classes, those with the largest counts have colors.
    """
    n_classes = len(counts)
    if n_classes <= len(MANY):
        palette = FEW if n_classes <= len(FEW) else MANY
        return list(palette[:n_classes])
    largest = np.sort(np.argsort(-counts, kind="stable")[:N_COLORED])
    color_of = dict(zip(largest.tolist(), MANY, strict=False))
    return [color_of.get(number) for number in range(n_classes)]


def overlap_of_classes(bounds: BayesErrorBounds) -> NDArray[np.float64]:
    """Return for each class how many tree edges lead to another class."""
    counts = np.repeat(bounds.crossing_counts, 2)
    n_classes = len(bounds.class_counts)
    return np.asarray(np.bincount(bounds.crossing_pairs.ravel(), counts, n_classes))


def order_of_classes(crossing: NDArray[Any]) -> NDArray[np.int64]:
    """Return an order of the classes in which those that overlap are neighbors.

    It is that of average linkage over ``1 - c_ij / sqrt(c_i c_j)``, where ``c_ij`` of
    the matrix ``crossing`` is how many tree edges join classes i and j, and ``c_i`` is
    how many join class i and any other.
    """
    n_classes = len(crossing)
    if n_classes < FEW_CLASSES:
        return np.arange(n_classes)
    counts = np.asarray(crossing, dtype=np.float64)
    scale = np.sqrt(np.maximum(counts.sum(axis=1), 1.0))
    distance = 1.0 - counts / np.outer(scale, scale)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    return np.asarray(leaves_list(tree), dtype=np.int64)
