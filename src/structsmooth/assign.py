"""Which cluster a row belongs to, by centers, by density or by the nearest row.

The first two kinds are what `StructuralSmoother` makes by itself: plain arrays that can
be stored without pickle. The others serve clusterers of the user's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsmooth.kernels import kernel

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

    def assign(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the nearest center."""
        columns = np.ascontiguousarray(self.centers.T, dtype=np.float64)
        return _by_dense_chunks(X, lambda rows: _nearest_column(rows, columns))


@dataclass(frozen=True, eq=False)
class GaussianAssigner:
    """A row belongs to the mixture component most likely to have made it."""

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
        scores = np.empty((X.shape[0], len(self.weights)))
        with np.errstate(divide="ignore"):  # a component may have died out
            log_weights = np.log(self.weights)
        for component, root in enumerate(self.precisions_cholesky):
            whitened = (X - self.means[component]) @ root
            scores[:, component] = (
                log_weights[component]
                + np.log(np.diag(root)).sum()
                - 0.5 * np.einsum("ij,ij->i", whitened, whitened)
            )
        return np.asarray(scores.argmax(axis=1))


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
        columns = np.ascontiguousarray(self.rows.T, dtype=np.float64)
        return self.labels[
            _by_dense_chunks(X, lambda rows: _nearest_column(rows, columns))
        ]


@dataclass(frozen=True, eq=False)
class ClustererAssigner:
    """The ``predict`` of a scikit-learn clusterer of the user's."""

    clusterer: Any
    names: NDArray[np.int64]

    @property
    def n_clusters(self) -> int:
        """One for each label that training rows got."""
        return len(self.names)

    def assign(self, X: Any) -> NDArray[np.int64]:
        """Return the position of the predicted label among the known ones."""
        raw = np.asarray(self.clusterer.predict(X))
        at = np.minimum(np.searchsorted(self.names, raw), len(self.names) - 1)
        return np.where(self.names[at] == raw, at, -1)


def _by_dense_chunks(X: Any, find: Any) -> NDArray[np.int64]:
    if not sp.issparse(X):
        return np.asarray(find(np.ascontiguousarray(X)))
    parts = [
        find(X[start : start + DENSE_ROWS].toarray())
        for start in range(0, X.shape[0], DENSE_ROWS)
    ]
    return np.concatenate(parts)


@kernel
def _nearest_column(
    rows: NDArray[Any], columns: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return for each row the nearest column, by float64 differences.

    A row's result depends on that row alone, which blocked matrix products do not
    promise. The inner loop runs over columns and vectorizes as it stands.
    """
    n_features, n_columns = columns.shape
    nearest = np.empty(rows.shape[0], np.int64)
    squared = np.empty(n_columns)
    for i in range(rows.shape[0]):
        squared[:] = 0.0
        for feature in range(n_features):
            value = np.float64(rows[i, feature])
            for j in range(n_columns):
                difference = columns[feature, j] - value
                squared[j] += difference * difference
        best = 0
        for j in range(1, n_columns):
            if squared[j] < squared[best]:
                best = j
        nearest[i] = best
    return nearest
