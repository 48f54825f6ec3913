"""The nearest neighbors of each row within its cluster.

Neighbors among all rows would cost as much as the trees of all clusters many times
over, and differ only along the borders between clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from structsmooth.support.groups import rows_of_groups
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
    near = np.full((len(others), k), NOBODY, dtype=np.int64)
    if not len(others):
        return near
    members = rows_of_groups(groups)
    for group, asking in enumerate(rows_of_groups(groups_of_others)):
        n_near = min(k, len(members[group]))
        if len(asking):
            rows = members[group]
            search = NearestNeighbors(n_neighbors=n_near, n_jobs=n_jobs).fit(X[rows])
            found = search.kneighbors(others[asking], return_distance=False)
            near[asking, :n_near] = rows[found]
    return near
