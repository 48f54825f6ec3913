"""From a spanning tree and labels to bounds on the Bayes error.

The share of tree edges that join different labels estimates ``h = 1 - E[sum_k
eta_k(x)^2]``, the error of the nearest-neighbor rule, where ``eta_k`` is the
posterior of class k. The Bayes error R lies between two functions of it (equation
multiclassbound, as corrected in the documentation)::

    (K-1)/K * (1 - sqrt(1 - K/(K-1) * h))  <=  R  <=  h

R does not exceed the error of always answering with the most frequent class either. So
both bounds, and the ends of their intervals, stop there: they bound the Bayes error at
the class shares of the region.

A tree is connected, so K_c classes make K_c - 1 crossing edges even when they are far
apart. These forced edges say nothing, and are left out of both counts: of C crossing
edges of n points, the share is ``(C - (K_c - 1)) / (n - K_c)``.

The share converges slowly in many dimensions, where it comes out too high: the bounds
then show where classes overlap more, but are no limit to what a classifier can reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.bayes_error.crossing import cross_tree, crossing_matrix
from structsmooth.bayes_error.inequalities import (
    lower_bounds,
    trivial_error,
    wilson_interval,
)
from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import (
    check_choice,
    check_codes,
    check_features,
    check_integer,
    check_share,
    encode_labels,
)


@dataclass(frozen=True, eq=False)
class BayesErrorBounds:
    """Bounds on the Bayes error of a region, and what they were computed from.

    Attributes
    ----------
    lower, upper : float
        The bounds at the estimated crossing fraction, at most ``trivial_error``.
    interval : tuple of float
        From the lower bound at the low end of the crossing fraction's confidence
        interval to the upper bound at its high end: in few dimensions the Bayes error
        at the region's class shares lies inside with at least the stated confidence.
        It covers the sampling error, not the bias in many dimensions.
    lower_interval, upper_interval : tuple of float
        The confidence interval of each bound by itself.
    crossing_pairs, crossing_counts : ndarray of shape (m, 2) and (m,)
        The pairs of classes that are joined by tree edges, and by how many. These are
        raw counts; not whole numbers when averaged over ties.
    crossing_fraction : float
        Share of the edges that cross; forced ones, unless the raw count was asked for,
        are left out of both. It has no limit but 1.
    n_samples : int or float
        Points in the region, or the sum of their weights.
    n_effective : float
        Independent edges whose crossing fraction would vary as much: edges that share
        a point do not cross independently.
    class_counts : ndarray of shape (K,)
        Points of each class, or the sums of their weights.
    confidence : float
        Level of the intervals.
    tied_fraction : float
        Share of the tree's edges that the tie rule alone decides; 0 where there are
        at least 95 % as many different lengths as edges.
    """

    lower: float
    upper: float
    interval: tuple[float, float]
    lower_interval: tuple[float, float]
    upper_interval: tuple[float, float]
    crossing_pairs: NDArray[np.int64]
    crossing_counts: NDArray[Any]
    crossing_fraction: float
    n_samples: float
    n_effective: float
    class_counts: NDArray[Any]
    confidence: float
    tied_fraction: float

    @property
    def n_classes(self) -> int:
        """Classes in the whole task, present in this region or not."""
        return len(self.class_counts)

    @property
    def trivial_error(self) -> float:
        """Error of always answering with the most frequent class, at most (K-1)/K."""
        return trivial_error(self.class_counts)

    @property
    def crossing_interval(self) -> tuple[float, float]:
        """Confidence interval of the crossing fraction."""
        return wilson_interval(
            self.crossing_fraction, self.n_effective, self.confidence
        )

    @property
    def crossing(self) -> NDArray[Any]:
        """Crossing edges of each pair of classes as a symmetric (K, K) matrix."""
        return crossing_matrix(
            self.crossing_pairs, self.crossing_counts, self.n_classes
        )


def bayes_error_bounds(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_classes: int | None = None,
    correct_forced_edges: bool = True,
    ties: str = "index",
    confidence: float = 0.95,
) -> BayesErrorBounds:
    """Bound the Bayes error of the data from their minimum spanning tree.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Features.
    y : array-like of shape (n,)
        Labels of any kind.
    n_classes : int, optional
        Classes in the whole task, where y may lack some. Then y must hold class
        numbers. By default the distinct labels in y.
    correct_forced_edges : bool, default=True
        Leave the k - 1 edges that connect k classes even when they are far apart out
        of the count of crossing edges and of all edges; ``False`` is the paper's raw
        count over n.
    ties : {"index", "average"}, default="index"
        With equal distances the tree is not unique. "index" takes the one tree of
        the order (length, lower row, higher row); "average" the mean count over
        16 orders of the rows, for discrete data.
    confidence : float, default=0.95
        Level of the intervals.

    Examples
    --------
    Eight points on a line, labels a a a a b a b b: three of seven edges cross, one of
    them is forced, so the upper bound is 2/6.

    >>> from structsmooth import bayes_error_bounds
    >>> X = [[0.0], [1.0], [3.0], [6.0], [10.0], [15.0], [21.0], [28.0]]
    >>> bounds = bayes_error_bounds(X, list("aaaababb"))
    >>> round(bounds.upper, 4), round(bounds.lower, 4)
    (0.3333, 0.2113)
    >>> bounds.crossing.tolist()
    [[0, 3], [3, 0]]
    >>> bounds.trivial_error
    0.375
    """
    features = check_features(X)
    if n_classes is None:
        classes, coded = encode_labels(y, len(features))
        n_classes = max(len(classes), 2)  # a single class has Bayes error 0
    else:
        n_classes = check_integer(n_classes, "n_classes", 2)
        coded = check_codes(y, n_classes)
        if len(coded) != len(features):
            raise InvalidInputError(
                f"X and y must have the same length: X has {len(features)} rows, "
                f"y has {len(coded)} labels"
            )
    check_choice(ties, "ties", ("index", "average"))
    check_share(confidence, "confidence")
    return region_bounds(
        features,
        coded,
        n_classes=n_classes,
        correct_forced_edges=correct_forced_edges,
        ties=ties,
        confidence=confidence,
    )


def region_bounds(
    X: NDArray[Any],
    coded: NDArray[np.int64],
    weights: NDArray[Any] | None = None,
    *,
    n_classes: int,
    correct_forced_edges: bool,
    ties: str,
    confidence: float,
    n_threads: int = 1,
    workload: float | None = None,
) -> BayesErrorBounds:
    """Bound the Bayes error of one region; the arguments have been checked."""
    crossing = cross_tree(X, coded, ties, n_threads, workload, weights)
    class_counts = weighted_counts(coded, weights, n_classes)
    # The paper's number of edges, as if the tree had one for each point.
    n_edges, n_crossing = float(class_counts.sum()), float(crossing.counts.sum())
    if correct_forced_edges:
        n_present = int(np.count_nonzero(class_counts))
        n_edges = max(0.0, n_edges - crossing.edge_weight * n_present)
        n_crossing = max(0.0, n_crossing - crossing.edge_weight * (n_present - 1))
    return _at_fraction(
        n_crossing / n_edges if n_edges else 0.0,
        n_edges / crossing.design_effect,
        class_counts,
        confidence,
        crossing_pairs=crossing.pairs,
        crossing_counts=crossing.counts,
        tied_fraction=crossing.tied_fraction,
    )


def weighted_counts(
    coded: NDArray[np.int64], weights: NDArray[Any] | None, n_classes: int
) -> NDArray[Any]:
    """Return how many rows each class has; whole numbers if the weights are."""
    counts = np.bincount(coded, weights, minlength=n_classes)
    return counts.astype(np.int64 if weights is None else weights.dtype)


def _at_fraction(
    fraction: float,
    n_effective: float,
    class_counts: NDArray[Any],
    confidence: float,
    **counted: Any,
) -> BayesErrorBounds:
    """Return the bounds at a crossing fraction, none above the trivial error."""
    limit, n_classes = trivial_error(class_counts), len(class_counts)
    low, high = wilson_interval(fraction, n_effective, confidence)
    lower_low, lower_at, lower_high = np.minimum(
        lower_bounds(np.array([low, fraction, high]), n_classes), limit
    ).tolist()
    upper_low, upper_at, upper_high = (
        min(value, limit) for value in (low, fraction, high)
    )
    return BayesErrorBounds(
        lower=lower_at,
        upper=upper_at,
        interval=(lower_low, upper_high),
        lower_interval=(lower_low, lower_high),
        upper_interval=(upper_low, upper_high),
        crossing_fraction=fraction,
        n_samples=class_counts.sum().item(),
        n_effective=n_effective,
        class_counts=class_counts,
        confidence=confidence,
        **counted,
    )


def bounds_of_sample(
    sample: BayesErrorBounds, class_counts: NDArray[np.int64]
) -> BayesErrorBounds:
    """Return the bounds of a region from a sample of its rows and all its labels."""
    return _at_fraction(
        sample.crossing_fraction,
        sample.n_effective,
        class_counts,
        sample.confidence,
        crossing_pairs=sample.crossing_pairs,
        crossing_counts=sample.crossing_counts,
        tied_fraction=sample.tied_fraction,
    )


def combine_bounds(regions: Sequence[BayesErrorBounds]) -> BayesErrorBounds:
    """Return the bounds of several regions taken together.

    The Bayes error of the whole is the mean of the regions' weighted by size, and so
    is its lower bound. The upper bound is the mean crossing fraction, at most the error
    of the most frequent class of the whole; the mean of the regions' own limits would
    be too low, because few rows seldom have equal shares. The intervals add the
    regions' distances to their limits in quadrature.
    ``crossing``, ``class_counts`` and ``n_effective`` are sums over the regions, which
    must share no point.
    """
    if not regions:
        raise InvalidInputError("combine_bounds needs at least one region, got none")
    sizes = np.array([region.n_samples for region in regions], dtype=np.float64)
    weights = sizes / sizes.sum()

    def mean(values: list[float]) -> float:
        return float(weights @ np.array(values))

    def interval(name: str, at: list[float]) -> tuple[float, float]:
        limits = np.array([getattr(region, name) for region in regions])
        spread = np.sqrt(weights**2 @ (limits - np.array(at)[:, np.newaxis]) ** 2)
        low, high = mean(at) - float(spread[0]), mean(at) + float(spread[1])
        return min(max(0.0, low), limit), min(high, limit)

    class_counts = np.sum([region.class_counts for region in regions], axis=0)
    limit = trivial_error(class_counts)
    lowers = [region.lower for region in regions]
    fractions = [region.crossing_fraction for region in regions]
    pairs, which = np.unique(
        np.concatenate([region.crossing_pairs for region in regions]),
        axis=0,
        return_inverse=True,
    )
    counts = np.concatenate([region.crossing_counts for region in regions])
    lower_interval = interval("lower_interval", lowers)
    upper_interval = interval("crossing_interval", fractions)
    return BayesErrorBounds(
        lower=min(mean(lowers), limit),
        upper=min(mean(fractions), limit),
        interval=(lower_interval[0], upper_interval[1]),
        lower_interval=lower_interval,
        upper_interval=upper_interval,
        crossing_pairs=pairs,
        crossing_counts=np.bincount(which, weights=counts).astype(counts.dtype),
        crossing_fraction=mean(fractions),
        n_samples=class_counts.sum().item(),
        n_effective=sum(region.n_effective for region in regions),
        class_counts=class_counts,
        confidence=regions[0].confidence,
        tied_fraction=mean([region.tied_fraction for region in regions]),
    )
