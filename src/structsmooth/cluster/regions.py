"""Regions of the feature space: k-means, a Gaussian mixture, or any clusterer.

Fitted regions know the region of each training row and can assign new rows. The
clusterer's own numbering is hidden: clusters too small to say anything are merged
into their nearest neighbor, and the regions are numbered 0, 1, ... without gaps.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from structsmooth.cluster.assign import (
    Assigner,
    ClustererAssigner,
    GaussianAssigner,
    NearestCenter,
    NearestRow,
)
from structsmooth.cluster.nearest import within_reach
from structsmooth.errors import InvalidParameterError, MergedClustersWarning
from structsmooth.support.groups import order_by_group
from structsmooth.support.validation import check_integer

# Lloyd's algorithm up to this many rows, mini-batches beyond.
FULL_KMEANS = 50_000
MINI_BATCH = 4096
# Mini-batches are drawn from a sample: more rows would only be read more slowly.
BATCH_SAMPLE, SAMPLE_PER_CLUSTER = 100_000, 128
# Above a million rows there are more clusters and not larger ones, for the cost of a
# tree grows faster than its rows; but so many that k-means is still the lesser part.
USUAL_ROWS, MOST_CLUSTERS = 6_667, 2_048


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


def choose_n_clusters(n_rows: int, n_classes: int, clusterer: Any = "kmeans") -> int:
    """Return how many clusters ``n_clusters="auto"`` means.

    ``1.5 * n^(1/3)``, but so that a cluster has on average at least 50 rows and 10
    for each class. Beside the paper's own choices: 12 000 rows 34 (32), 50 000 rows
    of 10 classes 55 (64) and of 100 classes 50 (48), 73 257 rows 63 (80), 1 000 000
    rows 150 (128). Above a million rows the clusters keep their mean size of 6 667
    rows, up to 2 048 of them, and then grow; not those of a Gaussian mixture, which
    is itself the dearer part.
    """
    by_rows = round(1.5 * math.cbrt(n_rows))
    by_cost = 0 if clusterer == "gmm" else min(n_rows // USUAL_ROWS, MOST_CLUSTERS)
    by_labels = n_rows // max(50, 10 * n_classes)
    return max(1, min(max(by_rows, by_cost), by_labels))


def choose_min_size(n_classes: int) -> int:
    """Return what ``min_cluster_size="auto"`` means: 10 rows, or one a class."""
    return max(10, n_classes)


def resolve_n_clusters(
    n_clusters: int | str, n_rows: int, n_classes: int, clusterer: Any = "kmeans"
) -> int:
    """Return how many clusters to look for, "auto" worked out."""
    if n_clusters == "auto":
        return choose_n_clusters(n_rows, n_classes, clusterer)
    return int(n_clusters)


def resolve_min_size(min_cluster_size: int | str, n_classes: int) -> int:
    """Return the smallest cluster that stands alone, "auto" worked out."""
    if isinstance(min_cluster_size, str):
        return choose_min_size(n_classes)
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
) -> Regions:
    """Partition the rows of X into regions.

    "kmeans" takes mini-batches above 50 000 rows, from a sample of 100 000 (or 128 for
    each cluster), and assigns all rows to the centers. A scikit-learn clusterer is
    cloned; one without ``predict`` gives a new row the cluster of its nearest training
    row, and noise (label -1) goes to the nearest cluster. Clusters below
    ``min_cluster_size`` are merged into the one with the nearest center. Weights, none
    of them 0, are for clusterers that take them, see `takes_weights`.
    """
    n_rows = X.shape[0]
    check_clusterer(clusterer, n_clusters, min_cluster_size, n_rows)
    if not isinstance(clusterer, str):
        assigner, labels = _fit_foreign(X, clusterer, n_clusters, random_state, weights)
    else:
        total = n_rows if weights is None else int(weights.sum())
        count = resolve_n_clusters(n_clusters, total, n_classes, clusterer)
        if clusterer == "kmeans":
            assigner = _fit_kmeans(X, min(count, n_rows), random_state, weights)
        else:
            assigner = _fit_gaussian_mixture(X, count, random_state)
        labels = assigner.assign(X)
    min_size = resolve_min_size(min_cluster_size, n_classes)
    return _merge_small(X, assigner, labels, min_size, weights)


def takes_weights(clusterer: Any) -> bool:
    """Whether a clusterer can be given sample weights."""
    if isinstance(clusterer, str):
        return clusterer == "kmeans"
    return bool(has_fit_parameter(clusterer, "sample_weight"))


def check_clusterer(
    clusterer: Any, n_clusters: int | str, min_cluster_size: int | str, n_rows: int
) -> None:
    """Refuse settings that `fit_regions` cannot use, before any work is done."""
    is_foreign = hasattr(clusterer, "fit_predict")
    if not is_foreign and clusterer not in ("kmeans", "gmm"):
        raise InvalidParameterError(
            "clusterer must be 'kmeans', 'gmm' or a scikit-learn clusterer, "
            f"got {clusterer!r}"
        )
    if _number_or_auto(n_clusters, "n_clusters") > n_rows:
        raise InvalidParameterError(
            f"n_clusters must not exceed the {n_rows} rows of X, got {n_clusters}"
        )
    if is_foreign and n_clusters != "auto" and _size_parameter(clusterer) is None:
        raise InvalidParameterError(
            f"n_clusters={n_clusters} was given, but the clusterer "
            f"{type(clusterer).__name__} has no such parameter"
        )
    _number_or_auto(min_cluster_size, "min_cluster_size")


def _number_or_auto(value: Any, name: str) -> int:
    if isinstance(value, str):
        if value != "auto":
            raise InvalidParameterError(
                f"{name} must be a whole number or 'auto', got {value!r}"
            )
        return 1
    return check_integer(value, name, 1)


def _size_parameter(clusterer: Any) -> str | None:
    """Return what the clusterer calls its number of clusters."""
    parameters = clusterer.get_params()
    return next((p for p in ("n_clusters", "n_components") if p in parameters), None)


def _fit_kmeans(
    X: Any, n_clusters: int, random_state: Any, weights: NDArray[Any] | None
) -> Assigner:
    rows = _order_of_rows(X, weights)
    draws = kmeans_sample(X.shape[0], n_clusters, random_state)
    if draws is not None:
        rows = rows[draws]
    return kmeans_centers(
        X[rows],
        n_clusters,
        random_state,
        full=draws is None,
        weights=None if weights is None else weights[rows],
    )


def kmeans_sample(
    n_rows: int, n_clusters: int, random_state: Any
) -> NDArray[np.int64] | None:
    """Return which rows k-means looks at, as places in their order; None for all."""
    if n_rows <= FULL_KMEANS:
        return None
    draws: NDArray[np.int64] = check_random_state(random_state).permutation(n_rows)
    return draws[: kmeans_sample_size(n_rows, n_clusters)]


def kmeans_sample_size(n_rows: int, n_clusters: int) -> int:
    """Return how many rows k-means looks at."""
    if n_rows <= FULL_KMEANS:
        return n_rows
    return min(n_rows, max(BATCH_SAMPLE, SAMPLE_PER_CLUSTER * n_clusters))


def kmeans_centers(
    X: Any,
    n_clusters: int,
    random_state: Any,
    *,
    full: bool,
    weights: NDArray[Any] | None = None,
) -> NearestCenter:
    """Return the centers of these rows, by Lloyd's algorithm or by mini-batches."""
    options: dict[str, Any] = {
        "n_clusters": n_clusters,
        "n_init": 1,
        "random_state": random_state,
    }
    if not full:
        model = MiniBatchKMeans(batch_size=MINI_BATCH, compute_labels=False, **options)
    elif weights is None:
        model = KMeans(**options)
    else:
        # It stops at a share of the variance, for which it does not ask the weights.
        evenly = _mean_variance(X, np.ones(X.shape[0]))
        ratio = _mean_variance(X, weights) / evenly if evenly > 0.0 else 1.0
        model = KMeans(tol=1e-4 * max(ratio, 0.0), **options)
    centers = model.fit(X, sample_weight=weights).cluster_centers_
    return NearestCenter(np.asarray(centers, dtype=np.float64))


def _mean_variance(X: Any, weights: NDArray[Any]) -> float:
    """Return the weighted variance of a feature, averaged over the features."""
    mean = weighted_mean(X, weights)
    if sp.issparse(X):
        variance = weighted_mean(X.multiply(X), weights) - mean**2
    else:
        variance = weighted_mean(np.square(X - mean), weights)
    return float(variance.mean())


def weighted_mean(X: Any, weights: NDArray[Any] | None) -> NDArray[np.float64]:
    """Return the mean row."""
    if weights is not None:
        return np.asarray(X.T @ (weights / weights.sum()), dtype=np.float64)
    if sp.issparse(X):
        return np.asarray(X.mean(axis=0)).ravel()
    return np.asarray(X.mean(axis=0, dtype=np.float64))


def _fit_gaussian_mixture(X: Any, n_clusters: int, random_state: Any) -> Assigner:
    if sp.issparse(X):
        X = X.toarray()
    return gaussian_mixture(X[_order_of_rows(X)], n_clusters, random_state)


def gaussian_mixture(
    X: NDArray[Any], n_clusters: int, random_state: Any
) -> GaussianAssigner:
    """Return the mixture fitted to these rows in this order."""
    # The usual 1e-6 on the diagonal, but in the units of the data.
    ridge = 1e-6 * float(X.var(axis=0, dtype=np.float64).mean()) or 1e-6
    model = GaussianMixture(n_clusters, reg_covar=ridge, random_state=random_state)
    model.fit(X)
    return GaussianAssigner(
        weights=model.weights_,
        means=model.means_,
        precisions_cholesky=model.precisions_cholesky_,
    )


def _fit_foreign(
    X: Any,
    clusterer: Any,
    n_clusters: int | str,
    random_state: Any,
    weights: NDArray[Any] | None,
) -> tuple[Assigner, NDArray[np.int64]]:
    model = clone(clusterer)
    parameters = model.get_params()
    if n_clusters != "auto":
        model.set_params(**{str(_size_parameter(model)): n_clusters})
    if "random_state" in parameters and parameters["random_state"] is None:
        model.set_params(random_state=random_state)
    options = {} if weights is None else {"sample_weight": weights}
    raw = np.asarray(model.fit_predict(X, **options))
    names = np.unique(raw[raw >= 0])
    if len(names) == 0:  # nothing but noise: one region
        raw, names = np.zeros(len(raw), dtype=np.int64), np.array([0])
    labels = np.where(raw >= 0, np.searchsorted(names, raw), -1)
    if hasattr(model, "predict"):
        # What it predicts for these rows need not be what it labeled them, but when
        # they come back there is nothing else to go by.
        assigner = ClustererAssigner(model, names)
        return assigner, assigner.assign(X)
    if sp.issparse(X):
        X = X.toarray()
    noise = labels < 0
    if noise.any():
        nearest_center = NearestCenter(_centers(X, labels, len(names), weights))
        labels[noise] = nearest_center.assign(X[noise])
    nearest = NearestRow(np.asarray(X), labels)
    return nearest, nearest.assign(X)  # of equal rows, the first one's label


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
        nearest = NearestCenter(_centers(X, labels, n_clusters, weights))
        labels[noise] = nearest.assign(X[noise])
    sizes = np.bincount(labels, weights, minlength=n_clusters).astype(np.float64)
    centers = _centers(X, labels, n_clusters, weights)
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
        warnings.warn(
            f"{n_merged} of {n_clusters} clusters had fewer than {min_size} rows and "
            f"were merged into their nearest neighbor, {int(alive.sum())} remain; "
            "min_cluster_size=1 keeps them",
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


def _centers(
    X: Any,
    labels: NDArray[np.int64],
    n_clusters: int,
    weights: NDArray[Any] | None,
) -> NDArray[np.float64]:
    """Return the mean row of each cluster; of an empty one zeros."""
    inside = np.flatnonzero(labels >= 0)
    order = inside[order_by_group(labels[inside])]
    present, starts = np.unique(labels[order], return_index=True)
    of_rows = np.ones(len(order)) if weights is None else weights[order]
    sizes = np.add.reduceat(of_rows, starts)
    centers = np.zeros((n_clusters, X.shape[1]))
    if sp.issparse(X):
        member = sp.csr_matrix(
            (of_rows, order, np.append(starts, len(order))), (len(present), X.shape[0])
        )
        sums = (member @ X).toarray()
    else:
        rows = X[order] if weights is None else X[order] * of_rows[:, np.newaxis]
        sums = np.add.reduceat(rows, starts, axis=0, dtype=np.float64)
    centers[present] = sums / sizes[:, np.newaxis]
    return centers


def _order_of_rows(X: Any, weights: NDArray[Any] | None = None) -> NDArray[np.int64]:
    """Return an order that depends on the data and not on how the rows are sorted.

    Seeded clustering draws rows by number. In the order of the distance from the
    mean it draws the same points however the rows were shuffled, rotated or scaled.
    """
    mean = weighted_mean(X, weights)
    if sp.issparse(X):
        distance = np.asarray(X.multiply(X).sum(axis=1)).ravel() - 2.0 * (X @ mean)
    else:
        distance = squared_distances(X, mean)
    return np.argsort(distance, kind="stable")


def squared_distances(
    X: NDArray[Any], point: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each row's squared distance from a point."""
    centered = X - point
    return np.asarray(np.einsum("ij,ij->i", centered, centered))


def seed_of(random_state: Any) -> int | None:
    """Return one seed drawn from the random state, for all stages of a fit."""
    if random_state is None:
        return None
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
