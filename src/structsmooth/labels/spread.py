"""Where the smoothed mass goes: to the classes that overlap here, not evenly to all.

The mass that leaves a class is divided like the labels nearby: in a cluster, like the
crossing edges of its tree at that class; around a sample, like its neighbors of other
classes. Where these are few, the edges of the whole data set count too, and where those
are few, even shares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.neighborhoods import NOBODY
from structsmooth.bayes_error.points import Place
from structsmooth.structure import Structure

# How many edges, or neighbors, the prior counts for.
PRIOR_COUNT = 5.0


def spread_of(
    structure: Structure,
    coded: NDArray[np.int64],
    place: Place,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return where the mass of rows goes, by their clusters or their neighbors.

    The shares are of shape (n, K), as `smooth_labels` wants them.
    """
    whole = shares_of_whole(structure.whole)
    if structure.points is None:
        return spread_by_cluster(coded, place.clusters, structure.cluster_bounds, whole)
    near = structure.points.neighbors_at(place, n_jobs)
    return spread_by_neighbors(coded, near, structure.points.labels, whole)


def shares(
    counts: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return shares in proportion to counts and a prior; rows sum to 1."""
    both = counts + PRIOR_COUNT * prior
    shared: NDArray[np.float64] = both / both.sum(axis=1, keepdims=True)
    return shared


def shares_of_whole(whole: BayesErrorBounds) -> NDArray[np.float64]:
    """Return where the mass of each class goes in the whole data set."""
    n_classes = whole.n_classes
    even = (1.0 - np.eye(n_classes)) / (n_classes - 1)
    return shares(whole.crossing, even)


def spread_by_cluster(
    coded: NDArray[np.int64],
    clusters: NDArray[np.int64],
    bounds: Sequence[BayesErrorBounds],
    whole: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the shares of each row, of shape (n, K), from the edges of its cluster."""
    spread = np.empty((len(coded), len(whole)))
    for cluster in np.unique(clusters):
        rows = np.flatnonzero(clusters == cluster)
        spread[rows] = shares(bounds[cluster].crossing, whole)[coded[rows]]
    return spread


def spread_by_neighbors(
    coded: NDArray[np.int64],
    near: NDArray[np.int64],
    labels: NDArray[np.int64],
    whole: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the same from the labels of each row's neighbors."""
    rows = np.arange(len(coded))
    counts = np.zeros((len(coded), len(whole)))
    for k in range(near.shape[1]):
        known = near[:, k] != NOBODY
        counts[rows[known], labels[near[known, k]]] += 1.0
    counts[rows, coded] = 0.0
    return shares(counts, whole[coded])
