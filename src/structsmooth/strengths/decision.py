"""From what was measured to how much is smoothed, as a pure function.

This is the one place that says what "auto" and "cautious" mean, what strengths follow,
and what the strength of another row is. It takes microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.neighborhoods import NOBODY
from structsmooth.bayes_error.points import Place
from structsmooth.bayes_error.shrinkage import (
    Shrinkage,
    lower_bounds_that_count,
    shrink_bounds,
)
from structsmooth.errors import InvalidInputError
from structsmooth.strengths.solve import (
    bayes_error_bias,
    resolve_alpha_beta,
    solve_strengths,
    strengths_of_others,
)
from structsmooth.structure import Structure


@dataclass(frozen=True, eq=False)
class Decision:
    """How much each region is smoothed, a region being a cluster or a sample.

    Attributes
    ----------
    alpha, beta : float
        Mean strength and slope, as numbers.
    bayes_error : ndarray of shape (C,) or (n,)
        What the strengths follow: the lower bounds of clusters, or around samples;
        shrunk or not.
    weights : ndarray of shape (C,) or (n,)
        Share of the rows that each region stands for.
    strengths : ndarray of shape (C,) or (n,)
        Strength of each region.
    bias, uniform_bias : float
        How far these strengths, and uniform ones of the same mean, move the Bayes
        error.
    shrinkage : Shrinkage or None
        How far clusters were drawn together, if they were.
    shrink : bool
        Whether estimates were drawn together.
    is_of_samples : bool
        Whether regions are samples; otherwise they are clusters.
    """

    alpha: float
    beta: float
    bayes_error: NDArray[np.float64]
    weights: NDArray[np.float64]
    strengths: NDArray[np.float64]
    bias: float
    uniform_bias: float
    shrinkage: Shrinkage | None = None
    shrink: bool = False
    is_of_samples: bool = False

    def of_clusters(self, structure: Structure) -> NDArray[np.float64]:
        """Return the strength of each cluster, or the mean of its samples'."""
        return self._by_cluster(self.strengths, structure)

    def bayes_error_of_clusters(self, structure: Structure) -> NDArray[np.float64]:
        """Return the Bayes error of each cluster, or the mean of its samples'."""
        return self._by_cluster(self.bayes_error, structure)

    def _by_cluster(
        self, values: NDArray[np.float64], structure: Structure
    ) -> NDArray[np.float64]:
        if not self.is_of_samples:
            return values
        labels = structure.regions.labels
        return np.asarray(np.bincount(labels, values) / np.bincount(labels))

    def of_samples(self, structure: Structure) -> NDArray[np.float64]:
        """Return the strength of each training row."""
        return self.at(structure, structure.training)

    def bayes_error_of_samples(self, structure: Structure) -> NDArray[np.float64]:
        """Return the Bayes error that the strength of each training row follows."""
        return self.bayes_error_at(structure, structure.training)

    def region_labels(self, structure: Structure) -> NDArray[np.int64]:
        """Return which region each training row is in, or is."""
        if self.is_of_samples:
            return np.arange(len(self.strengths))
        return structure.cluster_labels

    def at(self, structure: Structure, place: Place) -> NDArray[np.float64]:
        """Return the strengths of rows at a place; training rows get what they had."""
        points = structure.points
        if points is None or not self.is_of_samples:
            return self.strengths[place.clusters]
        strengths = strengths_of_others(
            self.bayes_error_at(structure, place),
            self.bayes_error,
            self.strengths,
            self.alpha,
            self.beta,
            n_classes=structure.n_classes,
        )
        is_known = place.known != NOBODY
        strengths[is_known] = self.strengths[place.known[is_known]]
        return strengths

    def bayes_error_at(self, structure: Structure, place: Place) -> NDArray[np.float64]:
        """Return the Bayes error that the strengths of rows at a place follow."""
        points = structure.points
        if points is None or not self.is_of_samples:
            return self.bayes_error[place.clusters]
        is_known = place.known != NOBODY
        found = np.empty(len(is_known))
        found[is_known] = self.bayes_error[place.known[is_known]]
        found[~is_known] = points.predict(place.near[~is_known], self.shrink)
        return found


def decide(
    structure: Structure,
    alpha: float | str = "cautious",
    beta: float | str = "cautious",
    *,
    shrink: bool = False,
    regions: str = "cluster",
) -> Decision:
    """Find the strengths that follow from a structure.

    Parameters
    ----------
    structure : Structure
        What was measured, the ``structure_`` of a fitted smoother.
    alpha, beta : float, "auto" or "cautious", default="cautious"
        Mean strength and slope, as for `StructuralSmoother`.
    shrink : bool, default=False
        Draw estimates together as far as their differences are noise.
    regions : {"cluster", "point"}, default="cluster"
        A strength for each cluster, or for each sample, if its neighborhood was
        measured.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from structsmooth import StructuralSmoother, decide
    >>> X, y = load_digits(return_X_y=True)
    >>> smoother = StructuralSmoother(random_state=0).fit(X, y)
    >>> decide(smoother.structure_, alpha=0.2).alpha  # without another fit
    0.2
    """
    shrinkage = None
    weights = structure.cluster_weights
    if regions == "point":
        if structure.points is None:
            raise InvalidInputError(
                "regions='point' needs the neighborhoods of the samples, which this "
                "structure does not have; fit with regions='point'"
            )
        bayes_error = structure.points.bayes_error(shrink)
        weights = np.full(len(bayes_error), 1.0 / len(bayes_error))
    elif shrink:
        shrinkage = shrink_bounds(structure.cluster_bounds)
        bayes_error = shrinkage.bayes_error
    else:
        bayes_error = lower_bounds_that_count(structure.cluster_bounds)
    n_classes = structure.n_classes
    # The mean comes from the trees, whatever the strengths follow, because
    # neighborhoods overlap more than the classes do.
    lower = np.array([bounds.lower for bounds in structure.cluster_bounds])
    alpha, beta = resolve_alpha_beta(
        alpha, beta, lower, structure.cluster_weights, n_classes
    )
    where: dict[str, Any] = {"bayes_error": bayes_error, "weights": weights}
    strengths = solve_strengths(**where, alpha=alpha, beta=beta, n_classes=n_classes)
    return Decision(
        alpha=alpha,
        beta=beta,
        strengths=strengths,
        bias=bayes_error_bias(strengths, **where, n_classes=n_classes),
        uniform_bias=bayes_error_bias(alpha, **where, n_classes=n_classes),
        shrinkage=shrinkage,
        shrink=shrink,
        is_of_samples=regions == "point",
        **where,
    )
