"""Regions of the feature space: the clusters, without those that are too small.

The clusterer's own numbering is hidden: clusters too small to say anything are merged
into their nearest neighbor, and the regions are numbered 0, 1, ... without gaps.
"""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsmooth.cluster.assign import Assigner, NearestCenter, centers_of
from structsmooth.cluster.clusterers import check_clusterer, fit_clusterer
from structsmooth.cluster.nearest import within_reach
from structsmooth.errors import MergedClustersWarning


@dataclass(frozen=True, eq=False)
class Regions:
    """A partition of the feature space.

    Attributes
    ----------
    labels : ndarray of shape (n,), int64
        Region of each training row.
    centers : ndarray of shape (C, d)
        Mean of the training rows of each region.
    assigner : Assigner
        Finds the clusterer's cluster of a row.
    region_of_cluster : ndarray
        Region of each of the clusterer's clusters, -1 for one without rows.
    n_merged : int
        Clusters that were too small and joined another.
    """

    labels: NDArray[np.int64]
    centers: NDArray[np.float64]
    assigner: Assigner
    region_of_cluster: NDArray[np.int64]
    n_merged: int

    @property
    def n_regions(self) -> int:
        """Number of regions C."""
        return len(self.centers)

    def assign(self, X: Any) -> NDArray[np.int64]:
        """Return the region of each row of X."""
        X = self.within_reach(X)
        cluster = self.assigner.assign(X)
        region = np.where(cluster < 0, -1, self.region_of_cluster[cluster])
        unknown = region < 0
        if unknown.any():
            region[unknown] = NearestCenter(self.centers).assign(X[unknown])
        return region

    def within_reach(self, X: Any) -> Any:
        """Return rows that are extremely far from all data drawn nearer."""
        return X if sp.issparse(X) else within_reach(X, self.centers)


def resolve_min_size(min_cluster_size: int | str, n_classes: int) -> int:
    """Return the smallest size of a cluster; "auto" is 10 rows, or one per class."""
    if isinstance(min_cluster_size, str):
        return max(10, n_classes)
    return min_cluster_size


def fit_regions(
    X: Any,
    clusterer: Any = "kmeans",
    n_clusters: int | str = "auto",
    *,
    n_classes: int,
    min_cluster_size: int | str = "auto",
    random_state: Any = None,
    weights: NDArray[Any] | None = None,
    n_jobs: int | None = None,
) -> Regions:
    """Partition the rows of X into regions.

    "kmeans" looks at a sample of 100 000 rows (or 128 for each cluster) if there are
    more than 50 000, and assigns all rows to the centers. A scikit-learn clusterer is
    cloned; one without ``predict`` gives a new row the cluster of its nearest training
    row, and noise (label -1) goes to the nearest cluster. Clusters below
    ``min_cluster_size`` are merged into the one with the nearest center. Weights, none
    of them 0, are for clusterers that take them, see `takes_weights`.
    """
    check_clusterer(clusterer, n_clusters, min_cluster_size, X.shape[0])
    assigner, labels = fit_clusterer(
        X, clusterer, n_clusters, n_classes, random_state, weights, n_jobs
    )
    min_size = resolve_min_size(min_cluster_size, n_classes)
    return _merge_small(X, assigner, labels, min_size, weights)


def _merge_small(
    X: Any,
    assigner: Assigner,
    labels: NDArray[np.int64],
    min_size: int,
    weights: NDArray[Any] | None,
) -> Regions:
    n_clusters = assigner.n_clusters
    labels = labels.copy()
    noise = labels < 0
    if noise.any():
        nearest = NearestCenter(centers_of(X, labels, n_clusters, weights))
        labels[noise] = nearest.assign(X[noise])
    sizes = np.bincount(labels, weights, minlength=n_clusters).astype(np.float64)
    centers = centers_of(X, labels, n_clusters, weights)
    regions = merge_small(assigner, sizes, centers, min_size)
    labels = regions.region_of_cluster[labels]
    if noise.any():  # after the merging they may be nearer to another center
        labels[noise] = NearestCenter(regions.centers).assign(X[noise])
    return dataclasses.replace(regions, labels=labels)


def merge_small(
    assigner: Assigner,
    sizes: NDArray[np.float64],
    centers: NDArray[np.float64],
    min_size: int,
) -> Regions:
    """Merge the smallest cluster into its nearest neighbor until all are large enough.

    A merged cluster counts with its joint center and size from then on. The regions
    have no ``labels`` yet.
    """
    n_clusters = assigner.n_clusters
    sizes, centers = sizes.copy(), centers.copy()
    target = np.arange(n_clusters)
    alive = sizes > 0
    n_merged = 0
    while alive.sum() > 1:
        candidates = np.flatnonzero(alive)
        smallest = int(candidates[np.argmin(sizes[candidates])])
        if sizes[smallest] >= min_size:
            break
        others = candidates[candidates != smallest]
        gap = ((centers[others] - centers[smallest]) ** 2).sum(axis=1)
        into = int(others[np.argmin(gap)])
        total = sizes[into] + sizes[smallest]
        centers[into] = (
            sizes[into] * centers[into] + sizes[smallest] * centers[smallest]
        ) / total
        sizes[into] = total
        alive[smallest] = False
        target[target == smallest] = into
        n_merged += 1
    # A cluster that has no training row may still be what a new row is nearest to.
    number = np.where(alive, np.cumsum(alive) - 1, -1)
    region_of_cluster = number[target].astype(np.int64)
    if n_merged:
        merged = "was merged into its" if n_merged == 1 else "were merged into their"
        remain = "1 remains" if alive.sum() == 1 else f"{int(alive.sum())} remain"
        warnings.warn(
            f"{n_merged} of {n_clusters} clusters had fewer than {min_size} rows and "
            f"{merged} nearest neighbor, {remain}; min_cluster_size=1 keeps all "
            "clusters",
            MergedClustersWarning,
            stacklevel=2,
        )
    return Regions(
        labels=np.empty(0, dtype=np.int64),
        centers=centers[alive],
        assigner=assigner,
        region_of_cluster=region_of_cluster,
        n_merged=n_merged,
    )
