"""Colors for classes that color-blind readers can tell apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Okabe and Ito, without black.
FEW = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
# Petroff's ten (arXiv:2107.02270), their two grays last.
MANY = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#832db6",
    "#92dadd",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#94a4a2",
)
# Of more classes so many have a color; the others are gray.
N_COLORED = 8
OTHER = "#90959b"


def class_colors(counts: NDArray[np.float64]) -> list[str | None]:
    """Return a color for each class; None for those that share one gray.

    Nobody can tell more than ten colors apart: of more classes, the eight with the
    largest counts get a color of their own.

    Parameters
    ----------
    counts : ndarray of shape (K,)
        What makes a class worth a color.
    """
    n_classes = len(counts)
    if n_classes <= len(MANY):
        palette = FEW if n_classes <= len(FEW) else MANY
        return list(palette[:n_classes])
    colors: list[str | None] = [None] * n_classes
    largest = np.sort(np.argsort(-counts, kind="stable")[:N_COLORED])
    for color, number in zip(MANY, largest.tolist(), strict=False):
        colors[number] = color
    return colors


def overlap_of_classes(
    pairs: NDArray[np.int64], counts: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Return for each class how many tree edges lead to another class."""
    total = np.zeros(n_classes)
    np.add.at(total, pairs[:, 0], counts)
    np.add.at(total, pairs[:, 1], counts)
    return total
