"""The Bayes error around every single sample, from its nearest neighbors.

The paper's first objective is over points, not clusters (equation strengthcost); it is
given up there because the Bayes error of a point cannot be observed. A neighborhood can
stand in: the share of unequal pairs among the labels of a sample and its k nearest
neighbors in its cluster estimates ``h(x) = 1 - sum_k eta_k(x)^2`` without bias if the
posterior is the same for all of them, and the mean of that over the neighborhood takes
most of the noise away. The bound on the Bayes error then follows as for clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.inequalities import lower_bounds
from structsmooth.kernels import kernel
from structsmooth.neighborhoods import (
    NOBODY,
    neighbors_of_others,
    neighbors_within,
)

# Seed of the two halves: no small number, for whoever shuffled labels with seed 0 would
# find one class in each.
HALVES = 20_200_826_031
# Chance agreement of two halves is exceeded by noise alone in 5 of 100 cases.
ONE_SIDED_Z = 1.645


@dataclass(frozen=True, eq=False)
class Points:
    """Estimates around each training row.

    Attributes
    ----------
    features : ndarray of shape (n, d)
        The reduced features, in which new rows look for their neighbors.
    clusters, labels : ndarray of shape (n,), int64
        Cluster of each row, where its neighbors are, and its class number.
    disagreement : ndarray of shape (n,)
        Share of unequal pairs of labels among each row and its neighbors.
    n_neighbors : int
        How many neighbors.
    n_classes : int
        Classes of the task.
    center, reliability : float
        Estimates are drawn to the center as far as they are noise: this share of the
        distance is kept. 1 keeps all.
    fractions : ndarray of shape (n,)
        Mean disagreement around each row, drawn in.
    """

    features: NDArray[Any]
    clusters: NDArray[np.int64]
    labels: NDArray[np.int64]
    disagreement: NDArray[np.float64]
    n_neighbors: int
    n_classes: int
    center: float
    reliability: float
    fractions: NDArray[np.float64]

    @property
    def bayes_error(self) -> NDArray[np.float64]:
        """Lower bound on the Bayes error around each training row."""
        return lower_bounds(self.fractions, self.n_classes)

    def neighbors(self, n_jobs: int | None) -> NDArray[np.int64]:
        """Return the neighbors of the training rows, as row numbers."""
        return neighbors_within(self.features, self.clusters, self.n_neighbors, n_jobs)

    def neighbors_of(
        self,
        features: NDArray[Any],
        clusters: NDArray[np.int64],
        n_jobs: int | None,
    ) -> NDArray[np.int64]:
        """Return the neighbors of new rows among the training rows."""
        return neighbors_of_others(
            features, clusters, self.features, self.clusters, self.n_neighbors, n_jobs
        )

    def predict(self, near: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the lower bound on the Bayes error of rows with these neighbors."""
        known = near != NOBODY
        there = np.where(known, self.disagreement[near], 0.0)
        found = there.sum(axis=1) / known.sum(axis=1)
        drawn = _draw_in(found, self.center, self.reliability)
        return lower_bounds(drawn, self.n_classes)


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
    *,
    n_classes: int,
    n_neighbors: int | str,
    shrink: bool,
    n_jobs: int | None,
) -> Points:
    """Estimate the Bayes error around each row; the arguments have been checked."""
    k = n_neighbors if isinstance(n_neighbors, int) else usual_neighbors(len(coded))
    near = neighbors_within(features, clusters, k, n_jobs)
    disagreement = disagreement_around(near, coded)
    fractions = _mean_around(near, disagreement)
    center, reliability = float(fractions.mean()), 1.0
    if shrink:
        reliability = _reliability(near, coded)
    return Points(
        features=features,
        clusters=clusters,
        labels=coded,
        disagreement=disagreement,
        n_neighbors=k,
        n_classes=n_classes,
        center=center,
        reliability=reliability,
        fractions=_draw_in(fractions, center, reliability),
    )


def disagreement_around(
    near: NDArray[np.int64], coded: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the share of unequal pairs of labels among each row and its neighbors."""
    found = _disagreement(near, coded, np.ones(len(coded), dtype=bool))
    found[np.isnan(found)] = 0.0  # alone in its cluster
    return found


def _draw_in(
    fractions: NDArray[np.float64], center: float, reliability: float
) -> NDArray[np.float64]:
    return center + reliability * (fractions - center)


def _reliability(near: NDArray[np.int64], coded: NDArray[np.int64]) -> float:
    """Return the share of the estimates' variance that is not noise.

    The labels of two random halves of the rows are independent given the features,
    so what two estimates from them have in common is signal. That of both together
    follows by the formula of Spearman and Brown.
    """
    half = np.random.default_rng(HALVES).permutation(len(coded)) % 2 == 0
    first, second = (
        _mean_around(near, _disagreement(near, coded, part)) for part in (half, ~half)
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


@kernel
def _disagreement(
    near: NDArray[np.int64], coded: NDArray[np.int64], counts: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the share of unequal pairs of labels around each row, of those that count.

    Fewer than two such labels say nothing: nan.
    """
    n, k = near.shape
    out = np.empty(n)
    labels = np.empty(k + 1, dtype=np.int64)
    for i in range(n):
        m = 0
        if counts[i]:
            labels[m] = coded[i]
            m += 1
        for j in near[i]:
            if j == NOBODY:
                break
            if counts[j]:
                labels[m] = coded[j]
                m += 1
        unequal = 0
        for a in range(m):
            for b in range(a):
                unequal += labels[a] != labels[b]
        out[i] = unequal / (0.5 * m * (m - 1)) if m > 1 else np.nan
    return out


@kernel
def _mean_around(
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
