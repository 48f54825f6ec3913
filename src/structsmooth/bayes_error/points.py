"""The Bayes error around every single sample, from its nearest neighbors.

The paper's first objective is over points, not clusters (equation strengthcost). The
paper drops it because the Bayes error of a point cannot be observed. That of a
neighborhood can: the share of unequal pairs among the labels of a sample and its k
nearest neighbors in its cluster estimates ``h(x) = 1 - sum_k eta_k(x)^2`` without bias
if the posterior is the same for all of them, and the mean of that over the neighborhood
is less noisy. The bound on the Bayes error then follows as for clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.inequalities import fraction_of_bound, lower_bounds
from structsmooth.bayes_error.neighborhoods import (
    NOBODY,
    disagreement,
    disagreement_around,
    mean_around,
    neighbors_of_others,
    neighbors_within,
    trivial_errors_around,
)
from structsmooth.support.rowkeys import groups_of_keys, halves_of_rows

# Noise alone exceeds this in 5 of 100 cases.
ONE_SIDED_Z = 1.645


class Place(NamedTuple):
    """Where rows are among the training rows.

    Attributes
    ----------
    clusters : ndarray of shape (m,), int64
        Their clusters.
    known : ndarray of shape (m,), int64
        Which training row each is, -1 for none; empty if only clusters are known.
    near : ndarray of shape (m, k), int64
        Training rows near each that is none itself; -1 for no neighbor.
    """

    clusters: NDArray[np.int64]
    known: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    near: NDArray[np.int64] = np.empty((0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Points:
    """Estimates around each training row.

    Attributes
    ----------
    features : ndarray of shape (n, d)
        The reduced features, in which new rows look for their neighbors.
    keys : ndarray of shape (n,), uint64
        By which a training row is known when it comes back, see `row_keys`.
    clusters, labels : ndarray of shape (n,), int64
        Cluster of each row, where its neighbors are, and its class number.
    disagreement : ndarray of shape (n,)
        Share of unequal pairs of labels among each row and its neighbors.
    limits : ndarray of shape (n,)
        Error of always answering with the most frequent class around each row, among
        the neighbors of its neighbors, at most (K-1)/K.
    n_neighbors : int
        How many neighbors.
    n_classes : int
        Classes of the task.
    center : float
        Mean of the fractions.
    fractions : ndarray of shape (n,)
        Mean disagreement around each row; the same for equal rows.
    measured_reliability : float or None
        What `reliability` returns, if it was measured.
    """

    features: NDArray[Any]
    keys: NDArray[np.uint64]
    clusters: NDArray[np.int64]
    labels: NDArray[np.int64]
    disagreement: NDArray[np.float64]
    limits: NDArray[np.float64]
    n_neighbors: int
    n_classes: int
    center: float
    fractions: NDArray[np.float64]
    measured_reliability: float | None = None

    @cached_property
    def reliability(self) -> float:
        """Share of the fractions' differences that is more than noise.

        Unless it was measured with the fit, the neighbors are searched again.
        """
        if self.measured_reliability is not None:
            return self.measured_reliability
        near = neighbors_within(self.features, self.clusters, self.n_neighbors, None)
        return _reliability(near, self.labels, halves_of_rows(self.keys, self.labels))

    def bayes_error(self, shrink: bool = False) -> NDArray[np.float64]:
        """Return the lower bound on the Bayes error around each training row.

        Shrunk, the fractions are drawn to their mean as far as they are noise.
        """
        return self._lower(self.fractions, self.limits, shrink)

    def bayes_error_upper(self, shrink: bool = False) -> NDArray[np.float64]:
        """Return the upper bound on the Bayes error around each training row."""
        drawn, limits = self._drawn(self.fractions, self.limits, self.center, shrink)
        return np.minimum(drawn, limits)

    def known(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return which training row each of these is, the first of equals, or -1."""
        order = np.argsort(self.keys, kind="stable")
        place = np.searchsorted(self.keys, keys, sorter=order)
        found = order[np.minimum(place, len(order) - 1)]
        return np.where(self.keys[found] == keys, found, NOBODY)

    def place(
        self,
        features: NDArray[Any],
        clusters: NDArray[np.int64],
        keys: NDArray[np.uint64],
        n_jobs: int | None,
    ) -> Place:
        """Return where rows are among the training rows, which they may be themselves.

        ``features`` are reduced; ``keys`` are what `row_keys` makes of those given.
        """
        known = self.known(keys)
        is_known = known != NOBODY
        clusters = np.where(is_known, self.clusters[known], clusters)
        near = np.full((len(known), self.n_neighbors), NOBODY, dtype=np.int64)
        near[~is_known] = neighbors_of_others(
            features[~is_known],
            clusters[~is_known],
            self.features,
            self.clusters,
            self.n_neighbors,
            n_jobs,
        )
        return Place(clusters, known, near)

    def neighbors_at(self, place: Place, n_jobs: int | None) -> NDArray[np.int64]:
        """Return the neighbors of rows at a place, those of training rows too.

        For these it takes as long as when they were fitted, equal rows having those of
        the first.
        """
        is_known = place.known != NOBODY
        near = np.full((len(is_known), self.n_neighbors), NOBODY, dtype=np.int64)
        if is_known.any():
            found = neighbors_within(
                self.features, self.clusters, self.n_neighbors, n_jobs
            )
            near[is_known] = found[groups_of_keys(self.keys)[place.known[is_known]]]
        if not is_known.all():
            near[~is_known] = place.near[~is_known]
        return near

    def predict(
        self, near: NDArray[np.int64], shrink: bool = False
    ) -> NDArray[np.float64]:
        """Return the lower bound on the Bayes error of rows with these neighbors."""
        known = near != NOBODY
        n_known = known.sum(axis=1)
        fractions, limits = (
            np.where(known, values[near], 0.0).sum(axis=1) / n_known
            for values in (self.disagreement, self.limits)
        )
        return self._lower(fractions, limits, shrink)

    def _lower(
        self,
        fractions: NDArray[np.float64],
        limits: NDArray[np.float64],
        shrink: bool,
    ) -> NDArray[np.float64]:
        common = lower_bounds(np.array([self.center]), self.n_classes)
        drawn, limits = self._drawn(fractions, limits, float(common[0]), shrink)
        return np.minimum(lower_bounds(drawn, self.n_classes), limits)

    def _drawn(
        self,
        fractions: NDArray[np.float64],
        limits: NDArray[np.float64],
        common: float,
        shrink: bool,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return fractions, drawn to their mean if they are shrunk, and their limits.

        A limit below the common value does not hold what was drawn up to that value.
        """
        if not shrink:
            return fractions, limits
        drawn = self.center + self.reliability * (fractions - self.center)
        return drawn, np.maximum(limits, common)


def usual_neighbors(n_samples: int) -> int:
    """Return how many neighbors to look at: 0.4 times the root of n, from 5 to 50.

    On the synthetic task of the experiments, whose posteriors are known, about as many
    are best in two dimensions (14 of 1 500 rows, 50 of 12 000), and 8 to 14 in ten;
    experiments/results/synthetic-neighbors.md has the errors.
    """
    wanted = round(0.4 * math.sqrt(n_samples))
    return min(max(5, wanted), 50, n_samples - 1)


def fit_points(
    features: NDArray[Any],
    coded: NDArray[np.int64],
    clusters: NDArray[np.int64],
    keys: NDArray[np.uint64],
    *,
    n_classes: int,
    n_neighbors: int | str,
    n_jobs: int | None,
    counts: NDArray[np.bool_] | None = None,
    shrink: bool = False,
) -> Points:
    """Estimate the Bayes error around each row; the arguments have been checked.

    Rows that do not count, because their cluster is too small to say anything, get the
    mean of the others. If the estimates are to be shrunk, how far is measured while the
    neighbors are at hand.
    """
    k = n_neighbors if isinstance(n_neighbors, int) else usual_neighbors(len(coded))
    near = neighbors_within(features, clusters, k, n_jobs)
    disagrees = disagreement_around(near, coded)
    limits = trivial_errors_around(near, coded, n_classes)
    # Equal rows get the same estimate, however they are neighbors of each other.
    group = groups_of_keys(keys)
    fractions = _mean_of_groups(mean_around(near, disagrees), group)
    if counts is not None and not counts.all():
        lower = np.minimum(lower_bounds(fractions, n_classes), limits)
        mean = fraction_of_bound(float(lower[counts].mean()), n_classes)
        disagrees[~counts] = fractions[~counts] = mean
        limits[~counts] = (n_classes - 1) / n_classes
    reliability = None
    if shrink:
        reliability = _reliability(near, coded, halves_of_rows(keys, coded))
    return Points(
        features=features,
        keys=keys,
        clusters=clusters,
        labels=coded,
        disagreement=disagrees,
        limits=_mean_of_groups(limits, group),
        n_neighbors=k,
        n_classes=n_classes,
        center=float(fractions.mean()),
        fractions=fractions,
        measured_reliability=reliability,
    )


def _mean_of_groups(
    values: NDArray[np.float64], group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the mean of each row's group; of one row just its value."""
    size = np.bincount(group, minlength=len(values))[group]
    if size.max() == 1:
        return values
    sums = np.bincount(group, values, minlength=len(values))
    return np.where(size == 1, values, sums[group] / size)


def _reliability(
    near: NDArray[np.int64], coded: NDArray[np.int64], half: NDArray[np.bool_]
) -> float:
    """Return the share of the estimates' variance that is not noise.

    The labels of two random halves of the rows are independent given the features,
    so what two estimates from them have in common is signal. That of both together
    follows by the formula of Spearman and Brown.
    """
    n_classes = int(coded.max()) + 1
    first, second = (
        mean_around(near, disagreement(near, coded, part, n_classes))
        for part in (half, ~half)
    )
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    if len(first) < 2 or np.ptp(first) == 0.0 or np.ptp(second) == 0.0:
        return 0.0
    agreement = float(np.corrcoef(first, second)[0, 1])
    # Neighborhoods overlap: about one in k + 1 is a new one.
    n_apart = len(first) / (near.shape[1] + 1)
    if agreement <= 0.0 or np.arctanh(min(agreement, 0.999)) <= ONE_SIDED_Z / np.sqrt(
        max(1.0, n_apart - 3.0)
    ):
        return 0.0
    return 2.0 * agreement / (1.0 + agreement)
