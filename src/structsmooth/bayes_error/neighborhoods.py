"""The nearest neighbors of each row within its cluster, and what labels they have.

Neighbors among all rows would cost many times as much as the trees of all clusters, and
differ only along the borders between clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from structsmooth.support.groups import rows_of_groups
from structsmooth.support.jit import kernel
from structsmooth.support.parallel import side_by_side
from structsmooth.tree import nearest_neighbors

# In place of a neighbor that a small cluster does not have.
NOBODY = -1


def neighbors_within(
    X: Any, groups: NDArray[np.int64], k: int, n_jobs: int | None
) -> NDArray[np.int64]:
    """Return up to k nearest neighbors of each row in its group, as row numbers.

    Rows of small groups have fewer, then `NOBODY`.
    """
    members = rows_of_groups(groups)
    near = np.full((len(groups), k), NOBODY, dtype=np.int64)
    # Parallel at one level only: over the groups, or inside a single one.
    inside = effective_n_jobs(n_jobs) if len(members) == 1 else 1

    def one_group(rows: NDArray[np.int64]) -> None:
        n_near = min(k, len(rows) - 1)
        if n_near > 0:
            points = X[rows]
            points = points.toarray() if hasattr(points, "toarray") else points
            found = nearest_neighbors(points, n_near, inside).indices
            near[rows, :n_near] = rows[found]

    largest_first = sorted(members, key=len, reverse=True)
    for _ in side_by_side(one_group, largest_first, n_jobs, share_memory=True):
        pass
    return near


def neighbors_of_others(
    others: NDArray[Any],
    groups_of_others: NDArray[np.int64],
    X: NDArray[Any],
    groups: NDArray[np.int64],
    k: int,
    n_jobs: int | None,
) -> NDArray[np.int64]:
    """Return the same for other rows, whose groups are known."""
    from sklearn.neighbors import NearestNeighbors  # slow to load

    near = np.full((len(others), k), NOBODY, dtype=np.int64)
    if not len(others):
        return near
    members = rows_of_groups(groups)
    for group, asking in enumerate(rows_of_groups(groups_of_others)):
        n_near = min(k, len(members[group]))
        if len(asking):
            rows = members[group]
            search = NearestNeighbors(n_neighbors=n_near, n_jobs=n_jobs)
            search.fit(X[rows].astype(np.float64, copy=False))
            found = search.kneighbors(
                others[asking].astype(np.float64, copy=False), return_distance=False
            )
            near[asking, :n_near] = rows[found]
    return near


def disagreement_around(
    near: NDArray[np.int64], coded: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the share of unequal pairs of labels among each row and its neighbors."""
    every = np.ones(len(coded), dtype=bool)
    found = disagreement(near, coded, every, int(coded.max()) + 1)
    found[np.isnan(found)] = 0.0  # alone in its cluster
    return found


@kernel
def disagreement(
    near: NDArray[np.int64],
    coded: NDArray[np.int64],
    counts: NDArray[np.bool_],
    n_classes: int,
) -> NDArray[np.float64]:
    """Return the share of unequal pairs of labels around each row, of those that count.

    Fewer than two such labels say nothing: nan.
    """
    n = near.shape[0]
    out = np.empty(n)
    seen = np.zeros(n_classes, dtype=np.int64)
    for i in range(n):
        m, equal = 0, 0
        if counts[i]:
            seen[coded[i]] = 1
            m = 1
        for j in near[i]:
            if j == NOBODY:
                break
            if counts[j]:
                equal += seen[coded[j]]
                seen[coded[j]] += 1
                m += 1
        pairs = m * (m - 1) // 2
        out[i] = (pairs - equal) / pairs if m > 1 else np.nan
        seen[coded[i]] = 0
        for j in near[i]:
            if j == NOBODY:
                break
            seen[coded[j]] = 0
    return out


def trivial_errors_around(
    near: NDArray[np.int64], coded: NDArray[np.int64], n_classes: int
) -> NDArray[np.float64]:
    """Return the error of always answering with the most frequent class around a row.

    Around it are its neighbors and theirs, as often as they are, as in the mean of the
    disagreement.
    """
    n_samples, k = near.shape
    if n_classes > k:
        most, total = _most_frequent_of_many(near, coded, n_classes)
    else:
        counts = np.zeros((n_samples, n_classes), dtype=np.int32)
        most, total = _most_frequent_of_few(near, coded, counts)
    return np.minimum((n_classes - 1) / n_classes, (total - most) / total)


@kernel
def _most_frequent_of_few(
    near: NDArray[np.int64], coded: NDArray[np.int64], counts: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often the most frequent class is around each row, and all classes.

    What is counted around one row serves for all whose neighbor it is.
    """
    n, n_classes = counts.shape
    for i in range(n):
        counts[i, coded[i]] += 1
        for j in near[i]:
            if j == NOBODY:
                break
            counts[i, coded[j]] += 1
    most = np.zeros(n, dtype=np.int64)
    total = np.zeros(n, dtype=np.int64)
    seen = np.empty(n_classes, dtype=np.int64)
    for i in range(n):
        for c in range(n_classes):
            seen[c] = counts[i, c]
        for j in near[i]:
            if j == NOBODY:
                break
            for c in range(n_classes):
                seen[c] += counts[j, c]
        for c in range(n_classes):
            most[i] = max(most[i], seen[c])
            total[i] += seen[c]
    return most, total


@kernel
def _most_frequent_of_many(
    near: NDArray[np.int64], coded: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the same, looking at each neighbor of a neighbor, not at each class."""
    n, k = near.shape
    most = np.zeros(n, dtype=np.int64)
    total = np.zeros(n, dtype=np.int64)
    seen = np.zeros(n_classes, dtype=np.int64)
    for i in range(n):
        for a in range(-1, k):
            middle = i if a < 0 else near[i, a]
            if middle == NOBODY:
                break
            for b in range(-1, k):
                j = middle if b < 0 else near[middle, b]
                if j == NOBODY:
                    break
                seen[coded[j]] += 1
                most[i] = max(most[i], seen[coded[j]])
                total[i] += 1
        seen[:] = 0
    return most, total


@kernel
def mean_around(
    near: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean over each row and its neighbors, of the values that are known."""
    n = near.shape[0]
    out = np.empty(n)
    for i in range(n):
        total = 0.0
        known = 0
        if not np.isnan(values[i]):
            total += values[i]
            known += 1
        for j in near[i]:
            if j == NOBODY:
                break
            if not np.isnan(values[j]):
                total += values[j]
                known += 1
        out[i] = total / known if known else np.nan
    return out
