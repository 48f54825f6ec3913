"""Exact Euclidean minimum spanning trees.

``euclidean_mst`` is the whole interface; the kernels behind it live in files of
their own and see only arrays.

When distances are equal, the tree is not unique. Edges are therefore ordered by
(squared length, lower row number, higher row number), which makes one tree the
smallest; every kernel must return that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.tree.prim import prim
from structsmooth.validation import check_features

__all__ = ["SpanningTree", "euclidean_mst"]


@dataclass(frozen=True)
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


def euclidean_mst(X: ArrayLike, n_jobs: int | None = None) -> SpanningTree:  # noqa: ARG001
    """Return the exact Euclidean minimum spanning tree of the rows of X.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Finite numbers of any scale; n may be 1.
    n_jobs : int, optional
        One tree is built by one thread at present, whatever this says; many trees
        run side by side in `StructuralSmoother`. It never changes the result.

    Returns
    -------
    SpanningTree
        ``edges`` and ``lengths``. All distances are float64 sums of squared
        differences, taken feature by feature, so the result depends on neither
        threads nor BLAS. Memory is O(n d).

    Examples
    --------
    >>> from structsmooth import euclidean_mst
    >>> tree = euclidean_mst([[0.0, 0.0], [0.0, 1.0], [5.0, 1.0]])
    >>> tree.edges.tolist(), tree.lengths.tolist()
    ([[0, 1], [1, 2]], [1.0, 5.0])
    """
    return minimum_spanning_tree(check_features(X))


def minimum_spanning_tree(X: NDArray[Any]) -> SpanningTree:
    """Return the tree of an array that has been checked already."""
    columns, exponent = _scaled_columns(X)
    left, right, squared = prim(columns)
    edges = np.column_stack([np.minimum(left, right), np.maximum(left, right)])
    order = np.lexsort((edges[:, 1], edges[:, 0], squared))
    return SpanningTree(
        edges=np.ascontiguousarray(edges[order]),
        lengths=np.ldexp(np.sqrt(squared[order]), exponent),
    )


def _scaled_columns(X: NDArray[Any]) -> tuple[NDArray[np.float64], int]:
    """Return X transposed, scaled by a power of two so that squares fit float64.

    A power of two changes no digit of a difference, so equal distances stay equal.
    """
    columns = np.array(X.T, dtype=np.float64, order="C")  # a copy: the kernel owns it
    largest = float(np.abs(columns).max())
    exponent = 0
    if largest > 0.0 and not 2.0**-300 < largest < 2.0**300:
        exponent = int(np.frexp(largest)[1])
        columns = np.ldexp(columns, -exponent)
    return columns, exponent
