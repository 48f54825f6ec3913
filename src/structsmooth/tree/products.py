"""Prim's algorithm on a matrix of inner products, every close call decided exactly.

For many features and at most a few thousand points: the matrix is one fast call, and
4 n^2 bytes. Each open point keeps the shadow's distance to the tree, and the limit
above which another one is certainly longer. Only what is below the limit is looked at;
where the errors of the shadow leave a doubt, the exact distances decide. The result is
therefore the same as that of `structsmooth.tree.prim`.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.kernels import kernel
from structsmooth.tree.exact import precedes, squared_distance
from structsmooth.tree.prim import STRETCH, count_up_to, find_first, smallest
from structsmooth.tree.shadow import cast_shadow

_INFINITY = np.float32(np.inf)
_NOTHING = np.empty(0, dtype=np.float32)
_memory = threading.local()


def prim_by_products(
    X: NDArray[Any],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the ends and squared lengths of the tree's edges."""
    shadow = cast_shadow(X, rotate=False)
    points = shadow.points
    norms = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    # An inner product is off by at most d roundings of |a| |b|, a norm by one.
    absolute = 4.0 * (X.shape[1] + 10) * 2.0**-24 * float(norms.max())
    return grow(
        X,
        _inner_products(points),
        norms.astype(np.float32),
        shadow.slack,
        shadow.relative,
        absolute,
    )


def _inner_products(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return all inner products, in memory that the thread keeps for the next tree.

    To ask the system for fresh memory each time would take as long as the product.
    """
    size = len(points) ** 2
    if getattr(_memory, "products", _NOTHING).size < size:
        _memory.products = np.empty(size, dtype=np.float32)
    out: NDArray[np.float32] = _memory.products[:size].reshape(len(points), -1)
    return np.matmul(points, points.T, out=out)


@kernel
def grow(
    X: NDArray[Any],
    products: NDArray[np.float32],
    norms: NDArray[np.float32],
    slack: NDArray[np.float64],
    relative: float,
    absolute: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Grow the tree from row 0."""
    n = X.shape[0]
    nearest = np.full(n, _INFINITY)  # distance of an open row to the tree, squared
    nearest_row = np.zeros(n, np.int64)
    limit = np.full(n, _INFINITY)  # above it a newcomer is certainly farther
    exact = np.full(n, np.nan)  # the exact value of `nearest`, once it was needed
    first = np.full((n + STRETCH - 1) // STRETCH, _INFINITY)
    widest = slack.max()
    squared = np.empty(n, np.float32)
    left = np.empty(n - 1, np.int64)
    right = np.empty(n - 1, np.int64)
    lengths = np.empty(n - 1)

    newest = 0
    for step in range(n - 1):
        nearest[newest] = _INFINITY
        limit[newest] = -_INFINITY
        find_first(nearest, first, newest // STRETCH)
        _distances(products[newest], norms, norms[newest], squared)
        for stretch in range(len(first)):
            start = stretch * STRETCH
            stop = min(start + STRETCH, n)
            if count_up_to(squared[start:stop], limit[start:stop]) == 0:
                continue
            for row in range(start, stop):
                if squared[row] <= limit[row]:
                    _approach(
                        X,
                        row,
                        newest,
                        squared[row],
                        nearest,
                        nearest_row,
                        limit,
                        exact,
                        slack[row],
                        relative,
                        absolute,
                    )
            find_first(nearest, first, stretch)
        reach = _limit_of(smallest(first), widest, relative, absolute)
        newest = _first_in_order(X, reach, first, nearest, nearest_row, exact)
        left[step], right[step] = newest, nearest_row[newest]
        lengths[step] = exact[newest]
        if np.isnan(lengths[step]):
            lengths[step] = squared_distance(X, newest, nearest_row[newest])
    return left, right, lengths


@kernel
def _distances(
    products: NDArray[np.float32],
    norms: NDArray[np.float32],
    norm: np.float32,
    squared: NDArray[np.float32],
) -> None:
    for j in range(squared.shape[0]):
        squared[j] = (norm + norms[j]) - (products[j] + products[j])


@kernel
def _approach(
    X: NDArray[Any],
    row: int,
    newest: int,
    squared: np.float32,
    nearest: NDArray[np.float32],
    nearest_row: NDArray[np.int64],
    limit: NDArray[np.float32],
    exact: NDArray[np.float64],
    slack: float,
    relative: float,
    absolute: float,
) -> None:
    """Let an open row change to the newest row of the tree if that is nearer."""
    new_limit = _limit_of(squared, slack, relative, absolute)
    if nearest[row] <= new_limit:
        # Too close to call by the shadow. Two edges that share a point compare by
        # their other end when they are equally long.
        if np.isnan(exact[row]):
            exact[row] = squared_distance(X, row, nearest_row[row])
        value = squared_distance(X, row, newest)
        if value > exact[row] or (value == exact[row] and newest > nearest_row[row]):
            return
        exact[row] = value
    else:
        exact[row] = np.nan
    nearest[row] = squared
    nearest_row[row] = newest
    limit[row] = new_limit


@kernel
def _limit_of(
    squared: np.float32, slack: float, relative: float, absolute: float
) -> np.float32:
    """Return what a shadow's distance must exceed to be certainly the longer one."""
    longest = np.sqrt((np.float64(squared) + absolute) * (1.0 + relative))
    longest = longest * (1.0 + relative) + slack
    certain = (longest + slack) / (1.0 - relative)
    return np.float32((certain * certain / (1.0 - relative) + absolute) * 1.000001)


@kernel
def _first_in_order(
    X: NDArray[Any],
    reach: np.float32,
    first: NDArray[np.float32],
    nearest: NDArray[np.float32],
    nearest_row: NDArray[np.int64],
    exact: NDArray[np.float64],
) -> int:
    """Return the row whose edge comes first among all that may be the shortest."""
    chosen = -1
    for stretch in range(len(first)):
        if first[stretch] > reach:
            continue
        start = stretch * STRETCH
        for row in range(start, min(start + STRETCH, len(nearest))):
            if nearest[row] > reach or nearest[row] == _INFINITY:
                continue
            if chosen < 0:
                chosen = row
                continue
            for candidate in (chosen, row):
                if np.isnan(exact[candidate]):
                    exact[candidate] = squared_distance(
                        X, candidate, nearest_row[candidate]
                    )
            if precedes(
                exact[row],
                row,
                nearest_row[row],
                exact[chosen],
                chosen,
                nearest_row[chosen],
            ):
                chosen = row
    return chosen
