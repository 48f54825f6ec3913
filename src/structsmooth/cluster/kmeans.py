"""k-means by Lloyd's algorithm on samples that grow, for more than a few thousand rows.

Most rounds of Lloyd's algorithm are spent far from where it ends, and there a sample
moves the centers as well as all rows do. It therefore begins with a few rows for each
cluster, and goes on with four times as many from where it was. The rows nearest to a
center are found by exact comparisons and their mean is summed row by row, so the result
depends on neither threads nor BLAS, once the first centers are drawn.

The time grows with the square of the number of clusters, because there are more rows
and more centers to compare them with. So many clusters are nested in a few large ones,
each of which is divided by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from structsmooth.cluster.nearest import nearest_point, round_rows
from structsmooth.support.groups import rows_of_groups, sum_by_group
from structsmooth.support.parallel import side_by_side

# Rows of the first sample, for each cluster and at least; how many times larger the
# next one is.
ROWS_PER_CLUSTER, FEWEST_ROWS, GROWTH = 64, 2_000, 4
# Rounds for each sample; it ends earlier when fewer than one row in so many moves.
MOST_ROUNDS, FEW_MOVES = 12, 200


def growing_kmeans(
    X: NDArray[Any],
    n_clusters: int,
    random_state: Any,
    weights: NDArray[Any] | None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the centers of the clusters."""
    of_rows = np.ones(len(X)) if weights is None else weights.astype(np.float64)
    return _grow(X, n_clusters, check_random_state(random_state), of_rows, n_jobs)


def nested_kmeans(
    X: NDArray[Any],
    n_clusters: int,
    random_state: Any,
    weights: NDArray[Any] | None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the centers of large clusters, and those that each is divided among.

    There are about as many large clusters as there are small ones in each.
    """
    random = check_random_state(random_state)
    of_rows = np.ones(len(X)) if weights is None else weights.astype(np.float64)
    large = _grow(X, round(n_clusters**0.5), random, of_rows, n_jobs)
    members = rows_of_groups(nearest_point(X, large, n_jobs=n_jobs), len(large))
    present = [number for number, rows in enumerate(members) if len(rows)]
    large, members = large[present], [members[number] for number in present]
    counts = _apportion(n_clusters, members, of_rows)
    # One generator for each, so that threads do not change the result.
    seeds = random.randint(2**31 - 1, size=len(members))

    def divide(number: int) -> NDArray[np.float64]:
        own = check_random_state(seeds[number])
        rows = members[number]
        return _grow(X[rows], counts[number], own, of_rows[rows], 1)

    parts = side_by_side(divide, range(len(members)), n_jobs, share_memory=True)
    return large, list(parts)


def _apportion(
    n_clusters: int, members: list[NDArray[np.int64]], weights: NDArray[np.float64]
) -> list[int]:
    """Return into how many clusters to divide each, by weight; at most one per row."""
    weight = np.array([weights[rows].sum() for rows in members])
    n_rows = np.array([len(rows) for rows in members])
    counts = np.ones(len(members), np.int64)
    for _ in range(n_clusters - len(members)):
        counts[np.argmax(np.where(counts < n_rows, weight / (counts + 1), -1.0))] += 1
    return counts.tolist()


def _grow(
    X: NDArray[Any],
    n_clusters: int,
    random: np.random.RandomState,
    weights: NDArray[np.float64],
    n_jobs: int | None,
) -> NDArray[np.float64]:
    order = random.permutation(len(X))
    size = max(ROWS_PER_CLUSTER * n_clusters, FEWEST_ROWS)
    centers: NDArray[np.float64] | None = None
    while True:
        # Whatever is left is taken at once, rather than hardly more the next time.
        size = len(X) if 2 * size > len(X) else size
        taken = order[:size] if size < len(X) else slice(None)
        rows, of_rows = X[taken], weights[taken]
        if centers is None:
            first = first_centers(rows, n_clusters, random, of_rows)
            centers = rows[first].astype(np.float64)
        _improve(rows, of_rows, centers, MOST_ROUNDS, n_jobs)
        if size == len(X):
            return centers
        size *= GROWTH


def first_centers(
    rows: NDArray[Any],
    n_clusters: int,
    random: np.random.RandomState,
    weights: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return rows to begin with, by k-means++ (Arthur and Vassilvitskii, 2007).

    Rows are drawn by their weight and by their squared distance to the nearest row that
    is drawn already: a few at a time, of which the one is kept that lowers the sum of
    these the most.
    """
    n_drawn = 2 + int(np.log(n_clusters))
    centered = rows.astype(np.float64)
    centered -= centered.mean(axis=0)
    squares = np.einsum("ij,ij->i", centered, centered)
    chosen = np.empty(n_clusters, np.int64)
    chosen[0] = _draw(weights, 1, random)[0]
    nearest = _squared_distances(centered, squares, chosen[:1])[0]
    for number in range(1, n_clusters):
        drawn = _draw(weights * nearest, n_drawn, random)
        distances = _squared_distances(centered, squares, drawn)
        np.minimum(distances, nearest, out=distances)
        best = int(np.argmin(distances @ weights))
        chosen[number], nearest = drawn[best], distances[best]
    return chosen


def _draw(
    shares: NDArray[np.float64], count: int, random: np.random.RandomState
) -> NDArray[np.int64]:
    """Return rows drawn in proportion to their shares; the last if all are 0."""
    reached = np.cumsum(shares)
    drawn = np.searchsorted(reached, random.uniform(size=count) * reached[-1], "right")
    return np.asarray(np.minimum(drawn, len(shares) - 1))


def _squared_distances(
    rows: NDArray[np.float64], squares: NDArray[np.float64], some: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return those of all rows to some of them, of shape (m, n)."""
    distances = -2.0 * rows[some] @ rows.T
    distances += squares
    distances += squares[some, np.newaxis]
    np.maximum(distances, 0.0, out=distances)
    distances[np.arange(len(some)), some] = 0.0
    return distances


def _improve(
    rows: NDArray[Any],
    weights: NDArray[np.float64],
    centers: NDArray[np.float64],
    most_rounds: int,
    n_jobs: int | None,
) -> None:
    """Move the centers to the means of the rows nearest to them, again and again."""
    before = np.full(len(rows), -1)
    rounded = round_rows(rows, centers)
    for _ in range(most_rounds):
        nearest = nearest_point(rows, centers, rounded, n_jobs)
        sums, totals = sum_by_group(rows, nearest, weights, len(centers), n_jobs)
        present = totals > 0.0  # a center without any rows stays where it is
        centers[present] = sums[present] / totals[present, np.newaxis]
        if np.count_nonzero(nearest != before) * FEW_MOVES < len(rows):
            return
        before = nearest
