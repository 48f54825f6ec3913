"""An order of the classes in which those that overlap stand together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

# Fewer classes than this keep the order of their labels, which people know.
FEW_CLASSES = 13


def order_of_classes(crossing: NDArray[Any]) -> NDArray[np.int64]:
    """Return the classes in an order for a heat map.

    Parameters
    ----------
    crossing : ndarray of shape (K, K)
        How many tree edges join each pair of classes.

    Returns
    -------
    ndarray of shape (K,), int64
        Class numbers. Average linkage over ``1 - c_ij / sqrt(c_i c_j)``, with ``c_i``
        all crossing edges of class i.
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
