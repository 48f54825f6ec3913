"""Clusterers: k-means, a Gaussian mixture, or one from the user.

Each becomes an `Assigner`, which finds the cluster of any row.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from structsmooth.cluster.assign import (
    Assigner,
    ClustererAssigner,
    GaussianAssigner,
    NearestCenter,
    NearestRow,
    NestedCenters,
    centers_of,
)
from structsmooth.cluster.kmeans import growing_kmeans, nested_kmeans
from structsmooth.errors import InvalidParameterError
from structsmooth.support.blocks import blocks_of
from structsmooth.support.columns import range_of_columns, sums_of_columns
from structsmooth.support.order import ascending
from structsmooth.support.parallel import in_threads
from structsmooth.support.validation import check_integer

# k-means looks at all rows up to this many, at a sample beyond.
FULL_KMEANS = 50_000
# Up to this many, and for sparse rows, it is scikit-learn's.
FEW_ROWS, MINI_BATCH = 5_000, 4096
BATCH_SAMPLE, SAMPLE_PER_CLUSTER = 100_000, 128
# More clusters than this are nested, so that a row is compared with few of them.
MANY_CLUSTERS = 512
# Above this many rows, clusters become smaller and not larger, because the cost of a
# tree grows faster than its rows: down to so many rows on average, unless there are so
# many clusters that to find them would take longer.
MANY_ROWS, ROWS_PER_CLUSTER, MOST_CLUSTERS = 1_000_000, 2_000, 16_384


def resolve_n_clusters(
    n_clusters: int | str, n_rows: int, n_classes: int, clusterer: Any = "kmeans"
) -> int:
    """Return how many clusters to look for, and what "auto" means.

    ``1.5 * n^(1/3)``, but so that a cluster has on average at least 50 rows and 10
    for each class. Beside the paper's own choices: 12 000 rows 34 (32), 50 000 rows
    of 10 classes 55 (64) and of 100 classes 50 (48), 73 257 rows 63 (80), 1 000 000
    rows 150 (128). Above a million rows it grows with ``n^(3/2)`` until clusters have
    2 000 rows on average (11 million rows), and stays at 16 384 clusters from 33
    million rows on. A Gaussian mixture has fewer, because it takes longer than the
    trees.
    """
    if not isinstance(n_clusters, str):
        return int(n_clusters)
    by_rows = round(1.5 * math.cbrt(n_rows))
    by_cost = 0
    if n_rows > MANY_ROWS and clusterer != "gmm":
        growing = round(150 * (n_rows / MANY_ROWS) ** 1.5)
        by_cost = min(growing, n_rows // ROWS_PER_CLUSTER, MOST_CLUSTERS)
    by_labels = n_rows // max(50, 10 * n_classes)
    return max(1, min(max(by_rows, by_cost), by_labels))


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


def fit_clusterer(
    X: Any,
    clusterer: Any,
    n_clusters: int | str,
    n_classes: int,
    random_state: Any,
    weights: NDArray[Any] | None = None,
    n_jobs: int | None = None,
) -> tuple[Assigner, NDArray[np.int64]]:
    """Return the assigner of a fitted clusterer, and the cluster of each row."""
    if not isinstance(clusterer, str):
        return _fit_foreign(X, clusterer, n_clusters, random_state, weights)
    n_rows = X.shape[0]
    total = n_rows if weights is None else int(weights.sum())
    count = resolve_n_clusters(n_clusters, total, n_classes, clusterer)
    if clusterer == "kmeans":
        nearest = _fit_kmeans(X, min(count, n_rows), random_state, weights, n_jobs)
        return nearest, nearest.assign(X, n_jobs)
    assigner = _fit_gaussian_mixture(X, count, random_state)
    return assigner, assigner.assign(X)


def _fit_kmeans(
    X: Any,
    n_clusters: int,
    random_state: Any,
    weights: NDArray[Any] | None,
    n_jobs: int | None,
) -> NearestCenter | NestedCenters:
    rows = order_of_rows(X, weights, n_jobs)
    draws = kmeans_sample(X.shape[0], n_clusters, random_state)
    if draws is not None:
        rows = rows[draws]
    return kmeans_centers(
        X[rows] if sp.issparse(X) else X.take(rows, axis=0),
        n_clusters,
        random_state,
        full=draws is None,
        weights=None if weights is None else weights[rows],
        n_jobs=n_jobs,
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
    n_jobs: int | None = None,
) -> NearestCenter | NestedCenters:
    """Return the centers of these rows.

    ``full`` is whether they are all rows: many sparse ones are taken in mini-batches
    otherwise.
    """
    if not sp.issparse(X):
        # A column of equal numbers does not count, but its rounding could: the mean of
        # huge numbers may be far from all of them.
        low, high = range_of_columns(X)
        shift = np.where(low == high, low, 0.0)
        if shift.any():
            found = _kmeans(X - shift, n_clusters, random_state, full, weights, n_jobs)
            if isinstance(found, NestedCenters):
                return replace(
                    found, large=found.large + shift, centers=found.centers + shift
                )
            return NearestCenter(found.centers + shift)
    return _kmeans(X, n_clusters, random_state, full, weights, n_jobs)


def _kmeans(
    X: Any,
    n_clusters: int,
    random_state: Any,
    full: bool,
    weights: NDArray[Any] | None,
    n_jobs: int | None,
) -> NearestCenter | NestedCenters:
    from sklearn.cluster import KMeans, MiniBatchKMeans  # slow to load

    if not sp.issparse(X) and X.shape[0] > max(FEW_ROWS, 2 * n_clusters):
        if n_clusters > MANY_CLUSTERS:
            large, parts = nested_kmeans(X, n_clusters, random_state, weights, n_jobs)
            first = np.cumsum([0, *map(len, parts)])
            return NestedCenters(large, first, np.concatenate(parts))
        centers = growing_kmeans(X, n_clusters, random_state, weights, n_jobs)
        return NearestCenter(centers)
    X = X.astype(np.float64, copy=False)
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
        return np.asarray(
            X.astype(np.float64, copy=False).T @ (weights / weights.sum())
        )
    if sp.issparse(X):
        return np.asarray(X.mean(axis=0)).ravel()
    blocks = (X[part] for part in blocks_of(X))
    return sums_of_columns(blocks, np.zeros(X.shape[1]))[0] / len(X)


def _fit_gaussian_mixture(X: Any, n_clusters: int, random_state: Any) -> Assigner:
    if sp.issparse(X):
        X = X.toarray()
    return gaussian_mixture(X[order_of_rows(X)], n_clusters, random_state)


def gaussian_mixture(
    X: NDArray[Any], n_clusters: int, random_state: Any
) -> GaussianAssigner:
    """Return the mixture fitted to these rows in this order."""
    from sklearn.mixture import GaussianMixture  # slow to load

    X = X.astype(np.float64, copy=False)
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
    X = X.astype(np.float64, copy=False)
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
        nearest_center = NearestCenter(centers_of(X, labels, len(names), weights))
        labels[noise] = nearest_center.assign(X[noise])
    nearest = NearestRow(np.asarray(X), labels)
    return nearest, nearest.assign(X)  # of equal rows, the first one's label


def order_of_rows(
    X: Any, weights: NDArray[Any] | None = None, n_jobs: int | None = None
) -> NDArray[np.int64]:
    """Return an order that depends on the data and not on how the rows are sorted.

    Seeded clustering draws rows by number. In the order of the distance from the
    mean it draws the same points however the rows were shuffled, rotated or scaled.
    """
    mean = weighted_mean(X, weights)
    if sp.issparse(X):
        distance = np.asarray(X.multiply(X).sum(axis=1)).ravel() - 2.0 * (X @ mean)
        return np.argsort(distance, kind="stable")
    return ascending(squared_distances(X, mean, n_jobs))


def squared_distances(
    X: NDArray[Any], point: NDArray[np.float64], n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Return each row's squared distance from a point."""
    squared = np.empty(X.shape[0])
    parts = list(blocks_of(X))
    n_threads = max(1, min(len(parts), effective_n_jobs(n_jobs)))

    def fill(number: int) -> None:
        for part in parts[number::n_threads]:
            centered = np.subtract(X[part], point, order="C")
            squared[part] = np.einsum("ij,ij->i", centered, centered)

    in_threads(n_threads, fill)
    return squared


def seed_of(random_state: Any) -> int | None:
    """Return one seed drawn from the random state, for all stages of a fit."""
    if random_state is None:
        return None
    try:
        generator = check_random_state(random_state)
    except ValueError:
        raise InvalidParameterError(
            "random_state must be a whole number from 0 to 2**32 - 1, a RandomState or "
            f"None, got {random_state!r}"
        ) from None
    return int(generator.randint(np.iinfo(np.int32).max))
