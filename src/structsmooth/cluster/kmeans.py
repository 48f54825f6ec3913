"""k-means by Lloyd's algorithm on samples that grow, for more than a few thousand rows.

Most rounds of Lloyd's algorithm are spent far from where it ends, and there a sample
moves the centers as well as all rows do. It therefore begins with a few rows for each
cluster, and goes on with four times as many from where it was. The rows nearest to a
center are found by exact comparisons and their mean is summed row by row, so the result
depends on neither threads nor BLAS, once the first centers are drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from structsmooth.cluster.nearest import nearest_point
from structsmooth.support.jit import kernel

# Rows of the first sample, for each cluster and at least; how many times larger the
# next one is.
ROWS_PER_CLUSTER, FEWEST_ROWS, GROWTH = 64, 2_000, 4
# Rounds for each sample; it ends earlier when fewer than one row in so many moves.
MOST_ROUNDS, FEW_MOVES = 12, 200


def growing_kmeans(
    X: NDArray[np.float64],
    n_clusters: int,
    random_state: Any,
    weights: NDArray[Any] | None,
) -> NDArray[np.float64]:
    """Return the centers of the clusters."""
    from sklearn.cluster import kmeans_plusplus  # slow to load

    random = check_random_state(random_state)
    order = random.permutation(len(X))
    size = max(ROWS_PER_CLUSTER * n_clusters, FEWEST_ROWS)
    centers: NDArray[np.float64] | None = None
    while True:
        # Whatever is left is taken at once, rather than hardly more the next time.
        size = len(X) if 2 * size > len(X) else size
        taken = order[:size] if size < len(X) else slice(None)
        rows = X[taken]
        of_rows = np.ones(len(rows)) if weights is None else weights[taken]
        of_rows = of_rows.astype(np.float64, copy=False)
        if centers is None:
            centers, _ = kmeans_plusplus(
                rows, n_clusters, sample_weight=of_rows, random_state=random
            )
        _improve(rows, of_rows, centers)
        if size == len(X):
            return centers
        size *= GROWTH


def _improve(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    centers: NDArray[np.float64],
) -> None:
    """Move the centers to the means of the rows nearest to them, again and again."""
    before = np.full(len(rows), -1)
    for _ in range(MOST_ROUNDS):
        nearest = nearest_point(rows, centers)
        _move_to_means(rows, weights, nearest, centers)
        if np.count_nonzero(nearest != before) * FEW_MOVES < len(rows):
            return
        before = nearest


@kernel
def _move_to_means(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    nearest: NDArray[np.int64],
    centers: NDArray[np.float64],
) -> None:
    """Make each center the weighted mean of its rows; one without any stays."""
    sums = np.zeros(centers.shape)
    totals = np.zeros(centers.shape[0])
    for i in range(rows.shape[0]):
        at, weight = nearest[i], weights[i]
        totals[at] += weight
        for feature in range(rows.shape[1]):
            sums[at, feature] += weight * rows[i, feature]
    for at in range(centers.shape[0]):
        if totals[at] > 0.0:
            for feature in range(centers.shape[1]):
                centers[at, feature] = sums[at, feature] / totals[at]
