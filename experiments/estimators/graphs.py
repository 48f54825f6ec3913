"""Estimators that return a lower and an upper bound on the Bayes error.

Most use graphs: the share of edges that join different labels estimates the error of
the nearest-neighbor rule, and the bounds follow from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from structsmooth import bayes_error_bounds, nearest_neighbors
from structsmooth.bayes_error.inequalities import lower_bounds, trivial_error

Bounds = tuple[float, float]


def spanning_tree(X, y, n_classes: int) -> Bounds:
    """Return the bounds of the library."""
    found = bayes_error_bounds(X, y, n_classes=n_classes)
    return found.lower, found.upper


def orthogonal_trees(n_trees: int) -> Callable[..., Bounds]:
    """Return the estimator from several trees that share no edge.

    Each tree is the shortest that uses no edge of the trees before it. Each is
    connected, so each has edges that cross even where classes are far apart; these are
    left out of both counts, as in the library.
    """

    def estimate(X, y, n_classes: int) -> Bounds:
        used = np.zeros((len(X), 0), dtype=np.int64)
        crossing = 0
        forced = len(np.unique(y)) - 1
        n_edges = n_trees * (len(y) - 1 - forced)
        for _ in range(n_trees):
            edges = _tree_without(X, used)
            crossing += max(
                0, np.count_nonzero(y[edges[:, 0]] != y[edges[:, 1]]) - forced
            )
            used = _with_edges(used, edges)
        return _bounds(crossing / n_edges if n_edges else 0.0, y, n_classes)

    return estimate


def pairs_of_neighbors(k: int) -> Callable[..., Bounds]:
    """Return the estimator from pairs of a point and each of its k neighbors.

    Used instead of tree edges, they have less noise but more bias in many dimensions.
    """

    def estimate(X, y, n_classes: int) -> Bounds:
        near = nearest_neighbors(X, k).indices
        return _bounds(float(np.mean(y[near] != y[:, np.newaxis])), y, n_classes)

    return estimate


def votes(k: int) -> Callable[..., Bounds]:
    """Return the estimator from the points that their k neighbors outvote.

    Their share (a tie is half an error) is the error of a classifier, and so is closer
    to the Bayes error from above. With two classes it is at most (1 + sqrt(1/k)) R
    (Devroye); with more, the lower bound follows from the share as for other graphs.
    """

    def estimate(X, y, n_classes: int) -> Bounds:
        near = y[nearest_neighbors(X, k).indices]
        counts = (near[:, :, np.newaxis] == np.arange(n_classes)).sum(axis=1)
        rows = np.arange(len(y))
        own = counts[rows, y].copy()
        counts[rows, y] = -1
        other = counts.max(axis=1)
        error = float(np.mean((other > own) + 0.5 * (other == own)))
        lower, upper = _bounds(error, y, n_classes)
        if n_classes == 2 and k > 2:
            limit = trivial_error(np.bincount(y, minlength=n_classes))
            lower = min(error / (1.0 + 1.0 / np.sqrt(k)), limit)
        return lower, upper

    return estimate


def neighborhoods(k: int) -> Callable[..., Bounds]:
    """Return the estimator from all pairs within a point and its k neighbors."""

    def estimate(X, y, n_classes: int) -> Bounds:
        near = nearest_neighbors(X, k).indices
        labels = np.column_stack([y, y[near]])
        counts = (labels[:, :, None] == np.arange(n_classes)).sum(axis=1)
        same = (counts * (counts - 1)).sum(axis=1) / (k * (k + 1))
        return _bounds(float(1.0 - same.mean()), y, n_classes)

    return estimate


def _bounds(fraction: float, y, n_classes: int) -> Bounds:
    """Return the bounds at a fraction, limited by the error of the largest class."""
    limit = trivial_error(np.bincount(y, minlength=n_classes))
    lower = float(lower_bounds(np.array(fraction), n_classes))
    return min(lower, limit), min(fraction, limit)


def _tree_without(X, used) -> np.ndarray:
    """Return the edges of a minimum spanning tree that avoids used edges, by Prim.

    The algorithm is dense, and slow for more than a few thousand points. ``used`` holds
    the neighbors that each point may not have, and -1 elsewhere.
    """
    X = np.asarray(X, dtype=np.float64)
    n_samples = len(X)
    square = np.einsum("ij,ij->i", X, X)
    reach = np.full(n_samples, np.inf)
    link = np.zeros(n_samples, dtype=np.int64)
    outside = np.ones(n_samples, dtype=bool)
    edges = np.empty((n_samples - 1, 2), dtype=np.int64)
    last = 0
    outside[0] = False
    for step in range(n_samples - 1):
        length = square + square[last] - 2.0 * (X @ X[last])
        barred = used[last]
        length[barred[barred >= 0]] = np.inf
        nearer = outside & (length < reach)
        reach[nearer], link[nearer] = length[nearer], last
        last = int(np.argmin(np.where(outside, reach, np.inf)))
        edges[step] = link[last], last
        outside[last] = False
    return edges


def _with_edges(used: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the forbidden neighbors of each point, with those of new edges added."""
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    degree = np.bincount(both[:, 0], minlength=len(used))
    place = np.arange(len(both)) - np.repeat(np.cumsum(degree) - degree, degree)
    more = np.full((len(used), degree.max()), -1, dtype=np.int64)
    more[both[:, 0], place] = both[:, 1]
    return np.hstack([used, more])


@dataclass(frozen=True)
class Estimator:
    """An estimator and its name."""

    name: str
    estimate: Callable[..., Bounds]


ESTIMATORS = (
    Estimator("spanning tree", spanning_tree),
    Estimator("2 orthogonal trees", orthogonal_trees(2)),
    Estimator("5 orthogonal trees", orthogonal_trees(5)),
    Estimator("1 neighbor", pairs_of_neighbors(1)),
    Estimator("5 neighbors", pairs_of_neighbors(5)),
    Estimator("neighborhoods of 5", neighborhoods(5)),
    Estimator("votes of 5", votes(5)),
    Estimator("votes of 15", votes(15)),
)
