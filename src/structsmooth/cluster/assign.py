"""Which cluster a row belongs to, by centers, by density or by the nearest row.

The first two kinds are what `StructuralSmoother` makes by itself: arrays that can be
stored without pickle. The others serve clusterers from the user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray

from structsmooth.cluster.nearest import nearest_point
from structsmooth.support.groups import rows_of_groups, sum_by_group
from structsmooth.support.parallel import side_by_side

# Sparse rows are made dense this many at a time.
DENSE_ROWS = 4096


class Assigner(Protocol):
    """What every assigner does."""

    @property
    def n_clusters(self) -> int:
        """How many clusters there are, with or without rows."""

    def assign(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each row, -1 for a row that belongs to none."""


@dataclass(frozen=True, eq=False)
class NearestCenter:
    """A row belongs to the center nearest to it, the first of equally near ones."""

    centers: NDArray[np.float64]

    @property
    def n_clusters(self) -> int:
        """One for each center."""
        return len(self.centers)

    def assign(self, X: Any, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the number of the nearest center."""
        return _nearest_point(X, self.centers, n_jobs)


@dataclass(frozen=True, eq=False)
class NestedCenters:
    """A row belongs to the nearest center within the large cluster nearest to it.

    Large cluster number i is divided among the centers from ``first[i]`` to before
    ``first[i + 1]``. So a row is compared with a few hundred of thousands of centers.
    """

    large: NDArray[np.float64]
    first: NDArray[np.int64]
    centers: NDArray[np.float64]

    @property
    def n_clusters(self) -> int:
        """One for each center; large clusters do not count."""
        return len(self.centers)

    def assign(self, X: Any, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the number of the nearest center in the nearest large cluster."""
        members = rows_of_groups(_nearest_point(X, self.large, n_jobs), len(self.large))
        found = np.empty(X.shape[0], np.int64)

        def assign_members(number: int) -> None:
            rows = members[number]
            start, stop = self.first[number : number + 2]
            found[rows] = start + _nearest_point(X[rows], self.centers[start:stop])

        present = [number for number, rows in enumerate(members) if len(rows)]
        if effective_n_jobs(n_jobs) > 1:
            list(side_by_side(assign_members, present, n_jobs, share_memory=True))
        else:
            for number in present:
                assign_members(number)
        return found


@dataclass(frozen=True, eq=False)
class GaussianAssigner:
    """A row belongs to the mixture component most likely to have made it.

    A row so far away that no likelihood can be told from 0 belongs to the nearest mean.
    """

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    precisions_cholesky: NDArray[np.float64]

    @property
    def n_clusters(self) -> int:
        """One for each component."""
        return len(self.weights)

    def assign(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the most likely component."""
        if sp.issparse(X):
            X = X.toarray()
        found = np.zeros(X.shape[0], dtype=np.int64)
        best = np.full(X.shape[0], -np.inf)
        # A component may have died out; far away squares are beyond all numbers.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_weights = np.log(self.weights)
            for component, root in enumerate(self.precisions_cholesky):
                whitened = (X - self.means[component]) @ root
                score = (
                    log_weights[component]
                    + np.log(np.diag(root)).sum()
                    - 0.5 * np.einsum("ij,ij->i", whitened, whitened)
                )
                is_better = score > best
                found[is_better], best[is_better] = component, score[is_better]
        lost = np.isneginf(best)
        if lost.any():
            found[lost] = nearest_point(X[lost], self.means)
        return found


@dataclass(frozen=True, eq=False)
class NearestRow:
    """A row belongs where the nearest of the training rows belongs."""

    rows: NDArray[Any]
    labels: NDArray[np.int64]

    @property
    def n_clusters(self) -> int:
        """The labels count from 0."""
        return int(self.labels.max()) + 1

    def assign(self, X: Any) -> NDArray[np.int64]:
        """Return the label of the nearest training row."""
        return self.labels[_nearest_point(X, self.rows)]


@dataclass(frozen=True, eq=False)
class ClustererAssigner:
    """The ``predict`` of a scikit-learn clusterer from the user."""

    clusterer: Any
    names: NDArray[np.int64]

    @property
    def n_clusters(self) -> int:
        """One for each label that training rows got."""
        return len(self.names)

    def assign(self, X: Any) -> NDArray[np.int64]:
        """Return the position of the predicted label among the known ones."""
        raw = np.asarray(self.clusterer.predict(X.astype(np.float64, copy=False)))
        at = np.minimum(np.searchsorted(self.names, raw), len(self.names) - 1)
        return np.where(self.names[at] == raw, at, -1)


def _nearest_point(
    X: Any, points: NDArray[Any], n_jobs: int | None = None
) -> NDArray[np.int64]:
    """Return the number of the nearest point to each row, sparse rows or not."""
    if not sp.issparse(X):
        return nearest_point(X, points, n_jobs=n_jobs)
    parts = [
        nearest_point(X[start : start + DENSE_ROWS].toarray(), points)
        for start in range(0, X.shape[0], DENSE_ROWS)
    ]
    return np.concatenate(parts)


def centers_of(
    X: Any,
    labels: NDArray[np.int64],
    n_clusters: int,
    weights: NDArray[Any] | None,
) -> NDArray[np.float64]:
    """Return the mean row of each cluster; of an empty one zeros."""
    of_rows = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
    if sp.issparse(X):
        inside = np.flatnonzero(labels >= 0)
        of_rows = of_rows[inside]
        member = sp.csr_matrix(
            (of_rows, (labels[inside], inside)), (n_clusters, X.shape[0])
        )
        sums = (member @ X).toarray()
        totals = np.zeros(n_clusters)
        np.add.at(totals, labels[inside], of_rows)
    else:
        sums, totals = sum_by_group(X, labels, of_rows, n_clusters)
    centers = np.zeros((n_clusters, X.shape[1]))
    present = totals > 0.0
    centers[present] = sums[present] / totals[present, np.newaxis]
    return centers
