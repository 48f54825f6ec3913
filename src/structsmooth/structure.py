"""Structure: all that was found in the data, and nothing that was decided.

Measuring is slow and done once: in memory, out of core or by Spark. Deciding how much
to smooth takes microseconds, and can be done as often as one likes with
`structsmooth.strengths.decision.decide`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds, combine_bounds
from structsmooth.bayes_error.points import Place, Points
from structsmooth.bayes_error.suspects import Suspects
from structsmooth.cluster.regions import Regions
from structsmooth.encode.encoding import TableEncoding
from structsmooth.encode.table import is_table
from structsmooth.reduce.reduction import Reduction, dense_for_neighbors
from structsmooth.support.rowkeys import row_keys


@dataclass(frozen=True, eq=False)
class Structure:
    """What was found in the data.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The labels, sorted.
    n_features : int
        Features of a row as it is given.
    encoding : TableEncoding or None
        How the columns of a table become features, if the rows were a table.
    reduction : Reduction
        How rows are reduced.
    regions : Regions
        The clusters: which one each training row belongs to, and how to find that of
        another row.
    cluster_bounds : tuple of BayesErrorBounds
        Everything known of each cluster's Bayes error.
    points : Points or None
        The neighborhoods of the samples, if they were asked for.
    suspects : Suspects or None
        Training rows whose labels look like mistakes, if they were looked for.
    given : Place or None
        Where the rows given to ``fit`` are, if they are not just the rows measured:
        sample weights leave some out, or repeat some.
    """

    classes: NDArray[Any]
    n_features: int
    reduction: Reduction
    regions: Regions
    cluster_bounds: tuple[BayesErrorBounds, ...]
    points: Points | None = None
    suspects: Suspects | None = None
    given: Place | None = None
    encoding: TableEncoding | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    @property
    def cluster_labels(self) -> NDArray[np.int64]:
        """Cluster of each training row."""
        return self.training.clusters

    @property
    def training(self) -> Place:
        """Where the training rows are."""
        if self.given is not None:
            return self.given
        labels = self.regions.labels
        rows = np.arange(len(labels))
        return Place(labels, rows, np.empty((len(rows), 0), dtype=np.int64))

    @cached_property
    def whole(self) -> BayesErrorBounds:
        """Bounds on the Bayes error of the whole data set."""
        return combine_bounds(self.cluster_bounds)

    @cached_property
    def cluster_weights(self) -> NDArray[np.float64]:
        """Share of the rows in each cluster."""
        sizes = np.array([bounds.n_samples for bounds in self.cluster_bounds])
        return np.asarray(sizes / sizes.sum())

    def place(self, X: Any, n_jobs: int | None = None) -> Place:
        """Return where rows are: in which cluster, and near which training rows.

        Parameters
        ----------
        X : ndarray, CSR matrix or DataFrame of shape (m, d)
            Rows as `StructuralSmoother.check_rows` returns them.
        n_jobs : int, optional
            Threads.
        """
        features = self.reduction.transform(X, n_jobs)
        if self.points is None:
            return Place(self.regions.assign(features))
        keys = keys_of(X, features)
        features = self.regions.within_reach(dense_for_neighbors(features))
        return self.points.place(features, self.regions.assign(features), keys, n_jobs)


def keys_of(X: Any, features: Any) -> NDArray[np.uint64]:
    """Return the keys of rows, of a DataFrame by the features that were made of it."""
    return row_keys(features if is_table(X) else X)
