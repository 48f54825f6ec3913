"""Exact Euclidean minimum spanning trees and nearest neighbors.

When distances are equal, the tree is not unique. Edges are therefore ordered by
(squared length, lower row number, higher row number), which makes one tree the
smallest. Every algorithm returns that one: `structsmooth.tree.algorithms` chooses one
for its speed alone, and no choice is ever an approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from structsmooth.support.order import ascending
from structsmooth.support.validation import check_features, check_integer, check_n_jobs

# The square of the difference of adjacent numbers of this size is still normal.
SMALLEST = 2.0**-430

__all__ = ["Neighbors", "SpanningTree", "euclidean_mst", "nearest_neighbors"]


@dataclass(frozen=True, eq=False)
class SpanningTree:
    """A minimum spanning tree, its edges sorted by length.

    Attributes
    ----------
    edges : ndarray of shape (n - 1, 2), int64
        Row numbers, the lower one first.
    lengths : ndarray of shape (n - 1,), float64
        Euclidean lengths, ascending; zero between equal rows.
    """

    edges: NDArray[np.int64]
    lengths: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest neighbors of every row, the nearest first.

    Attributes
    ----------
    indices : ndarray of shape (n, k), int64
        Row numbers; a row is not its own neighbor.
    distances : ndarray of shape (n, k), float64
        Euclidean distances, ascending.
    """

    indices: NDArray[np.int64]
    distances: NDArray[np.float64]


def euclidean_mst(X: ArrayLike, n_jobs: int | None = None) -> SpanningTree:
    """Return the exact Euclidean minimum spanning tree of the rows of X.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Finite numbers of any scale; n may be 1. (Values more than 129 orders of
        magnitude below the largest count as zero where the smallest are that small.)
    n_jobs : int, optional
        Threads for a large tree, as in joblib. It never changes the result.

    Returns
    -------
    SpanningTree
        ``edges`` and ``lengths``. Lengths are float64 sums of squared differences,
        taken feature by feature, so the result depends on neither threads nor BLAS.
        Memory is O(n d); for more than 160 features and at most 3 000 rows, 4 n^2
        bytes (36 MB).

    Examples
    --------
    >>> from structsmooth import euclidean_mst
    >>> tree = euclidean_mst([[0.0, 0.0], [0.0, 1.0], [5.0, 1.0]])
    >>> tree.edges.tolist(), tree.lengths.tolist()
    ([[0, 1], [1, 2]], [1.0, 5.0])
    """
    check_n_jobs(n_jobs)
    return minimum_spanning_tree(check_features(X), n_threads=effective_n_jobs(n_jobs))


def nearest_neighbors(X: ArrayLike, k: int, n_jobs: int | None = None) -> Neighbors:
    """Return the exact k nearest neighbors of every row of X.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Finite numbers of any scale, as for `euclidean_mst`.
    k : int
        How many, from 1 to n - 1.
    n_jobs : int, optional
        Threads for large data, as in joblib. It never changes the result.

    Returns
    -------
    Neighbors
        ``indices`` and ``distances``. Of equally near rows the lower comes first.

    Examples
    --------
    >>> from structsmooth import nearest_neighbors
    >>> near = nearest_neighbors([[0.0], [1.0], [3.0]], k=1)
    >>> near.indices.tolist(), near.distances.tolist()
    ([[1], [0], [1]], [[1.0], [1.0], [2.0]])
    """
    from structsmooth.tree.neighbors import find_neighbors  # loads numba

    check_n_jobs(n_jobs)
    features = check_features(X, min_rows=2)
    k = check_integer(k, "k", 1, len(features) - 1)
    scaled, exponent = _scaled(features)
    indices, squared = find_neighbors(scaled, k, effective_n_jobs(n_jobs))
    return Neighbors(indices, _lengths(squared, exponent))


def minimum_spanning_tree(
    X: NDArray[Any], n_threads: int = 1, workload: float | None = None
) -> SpanningTree:
    """Return the tree of an array that has been checked already.

    If this tree is one of many, ``workload`` is how many seconds Prim's algorithm on
    exact distances would take for all of them; see `structsmooth.tree.algorithms`.
    """
    from structsmooth.tree.algorithms import spanning_edges  # loads numba

    scaled, exponent = _scaled(X)
    left, right, squared = spanning_edges(scaled, n_threads, workload)
    low, high = np.minimum(left, right), np.maximum(left, right)
    order = ascending(squared, low, high)
    return SpanningTree(
        edges=np.column_stack([low[order], high[order]]),
        lengths=_lengths(squared[order], exponent),
    )


def _lengths(squared: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    lengths = np.sqrt(squared)
    return np.ldexp(lengths, exponent) if exponent else lengths


def _scaled(X: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return X by rows, so that squares of differences neither overflow nor vanish.

    Data of extreme size are scaled by a power of two, which changes no digit, so equal
    distances stay equal. Values that are too small next to the largest become 0.
    """
    X = np.ascontiguousarray(X)
    if X.dtype == np.float32:
        return X, 0  # the squares of float32 numbers fit float64
    size = np.abs(X)
    exponent = int(np.frexp(size.max())[1])
    least = float(size.min())
    if least < SMALLEST:  # zeros do not count, but to leave them out takes longer
        least = float(np.min(size, where=size > 0.0, initial=np.inf))
    if abs(exponent) <= 300 and least >= SMALLEST:
        return X, 0
    scaled = np.ldexp(X, -exponent)
    scaled[np.abs(scaled) < SMALLEST] = 0.0
    return scaled, exponent
