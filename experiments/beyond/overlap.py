"""Where the smoothed mass goes: to the classes that overlap here, not evenly to all.

The mass that leaves class a in a cluster is shared out like the crossing edges of the
cluster's tree at class a. Few edges are led by those of the whole data set, and these
by even shares.
"""

from __future__ import annotations

import numpy as np

from structsmooth import StructuralSmoother

# How many edges the shares of the whole count for in a cluster, and even ones in it.
PRIOR_EDGES = 5.0


def soft_labels(
    smoother: StructuralSmoother, coded: np.ndarray, strengths: np.ndarray
) -> np.ndarray:
    """Return soft labels whose mass goes where the classes overlap.

    Parameters
    ----------
    smoother : StructuralSmoother
        Fitted to the rows.
    coded : ndarray of shape (n,)
        Class numbers of the rows.
    strengths : ndarray of shape (n,)
        How much leaves the own class.
    """
    n_classes = len(smoother.classes_)
    even = (1.0 - np.eye(n_classes)) / (n_classes - 1)
    whole = shares(smoother.bayes_error_bounds_.crossing, even)
    soft = np.empty((len(coded), n_classes))
    for cluster, bounds in enumerate(smoother.cluster_bounds_):
        rows = np.flatnonzero(smoother.cluster_labels_ == cluster)
        spread = shares(bounds.crossing, whole)
        soft[rows] = strengths[rows, None] * spread[coded[rows]]
    soft[np.arange(len(coded)), coded] = 1.0 - strengths
    return soft


def shares(crossing: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return how the mass of each class is shared out, rows that sum to 1."""
    counts = crossing + PRIOR_EDGES * prior
    return counts / counts.sum(axis=1, keepdims=True)
