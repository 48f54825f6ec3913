"""Where the smoothed mass goes: to the classes that overlap here, not evenly to all.

The mass that leaves class a is shared out like the labels that are near: in a cluster,
like the crossing edges of its tree at class a; around a point, like its neighbors of
other classes. Few of them are led by those of the whole data set, and these by even
shares.
"""

from __future__ import annotations

import numpy as np

from structsmooth import StructuralSmoother
from structsmooth.neighborhoods import NOBODY, neighbors_within

# How many edges, or neighbors, what leads them counts for.
PRIOR_COUNT = 5.0


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
    own = np.arange(len(coded)), coded
    if smoother.regions == "point":
        near = _labels_near(smoother, coded)
        crossing = np.zeros((n_classes, n_classes))
        np.add.at(crossing, coded, near)
        spread = shares(near, shares(crossing, even)[coded])
    else:
        whole = shares(smoother.bayes_error_bounds_.crossing, even)
        of_clusters = np.array(
            [shares(bounds.crossing, whole) for bounds in smoother.cluster_bounds_]
        )
        spread = of_clusters[smoother.cluster_labels_, coded]
    soft = strengths[:, None] * spread
    soft[own] = 1.0 - strengths
    return soft


def _labels_near(smoother: StructuralSmoother, coded: np.ndarray) -> np.ndarray:
    """Return how many neighbors of each row are of each other class."""
    points, rows = smoother.points_, np.arange(len(coded))
    near = neighbors_within(
        points.features, points.clusters, points.n_neighbors, n_jobs=None
    )
    counts = np.zeros((len(coded), points.n_classes))
    np.add.at(counts, (rows[:, None], coded[near]), near != NOBODY)
    counts[rows, coded] = 0.0
    return counts


def shares(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return how mass is shared out like counts, led by a prior; rows sum to 1."""
    led = counts + PRIOR_COUNT * prior
    return led / led.sum(axis=1, keepdims=True)
