"""Prim's algorithm on a matrix of inner products, every close call decided exactly.

For many features and at most a few thousand points: the matrix is one fast call, and
4 n^2 bytes. It gives the squared distances of the shadow, each a little off. The
shadow's distance is within ``slack`` and a relative error of the true one, times the
scale; a squared distance from inner products is off by ``absolute`` besides; and ``2 x
y <= t x^2 + y^2 / t`` for any t > 0, here `TRADE`. So::

    s (1 - rho) - kappa  <=  true squared distance  <=  s (1 + rho) + kappa
    rho = 4 relative + t,  kappa = slack^2 (1 + 1 / t) + absolute

and two of them, s and m, are in the true order unless ``|s - m| <= rho (s + m) + 2
kappa``. That is a close call, and exact distances decide it. The result is therefore
the same as that of `structsmooth.tree.prim`.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.exact import precedes, squared_distance
from structsmooth.tree.passes import last_up_to, lowest_of
from structsmooth.tree.shadow import cast_shadow

TRADE = 2.0**-18
_INFINITY = np.float32(np.inf)
_ONE, _ZERO = np.float32(1.0), np.float32(0.0)
_NOTHING = np.empty(0, dtype=np.float32)
_memory = threading.local()


class Ways(NamedTuple):
    """The way of each row to the tree; infinitely long for rows of the tree.

    Attributes
    ----------
    squared : ndarray of shape (n,), float32
        Squared distance in the shadow.
    bits : ndarray of shape (n,), int32
        The same memory, read as integers.
    to : ndarray of shape (n,), int32
        The row of the tree it is measured to.
    exact : ndarray of shape (n,), float64
        The exact squared distance, if it has been asked for,
    exact_to : ndarray of shape (n,), int32
        and the row of the tree that one is measured to.
    """

    squared: NDArray[np.float32]
    bits: NDArray[np.int32]
    to: NDArray[np.int32]
    exact: NDArray[np.float64]
    exact_to: NDArray[np.int32]


def prim_by_products(
    X: NDArray[Any],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the ends and squared lengths of the tree's edges."""
    shadow = cast_shadow(X, rotate=False)
    norms = np.einsum("ij,ij->i", shadow.points, shadow.points, dtype=np.float64)
    # An inner product is off by at most d roundings of |a| |b|, a norm by one.
    absolute = 4.0 * (X.shape[1] + 10) * 2.0**-24 * float(norms.max())
    kappa = shadow.slack**2 * (1.0 + 1.0 / TRADE) + absolute
    # A hundredth more, for the rounding of the comparisons themselves.
    return grow(
        X,
        _inner_products(shadow.points),
        norms.astype(np.float32),
        np.float32(1.01 * (4.0 * shadow.relative + TRADE)),
        (1.01 * 2.0 * kappa).astype(np.float32),
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
    rho: np.float32,
    margin: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Grow the tree from row 0; ``margin`` is 2 kappa, the norms are overwritten."""
    n = X.shape[0]
    shortest = np.full(n, _INFINITY)
    ways = Ways(
        shortest,
        shortest.view(np.int32),
        np.zeros(n, np.int32),
        np.empty(n),
        np.full(n, np.int32(-1)),
    )
    squared = np.empty(n, np.float32)
    left = np.empty(n - 1, np.int64)
    right = np.empty(n - 1, np.int64)
    lengths = np.empty(n - 1)
    widest = margin.max()
    newest = 0
    for step in range(n - 1):
        # A row of the tree is infinitely far from all that is still to come.
        norm = norms[newest]
        norms[newest] = _INFINITY
        ways.squared[newest] = _INFINITY
        _distances(products[newest], norms, norm, squared)
        if step > 0 and _count_close(squared, ways.squared, rho, margin) > 0:
            _decide_close_calls(X, newest, squared, ways, rho, margin)
        _take_nearer(squared, np.int32(newest), ways.squared, ways.to)
        newest = _first_in_order(X, ways, rho, widest)
        left[step], right[step] = newest, ways.to[newest]
        lengths[step] = _exact(X, ways, newest)
    return left, right, lengths


@kernel
def _decide_close_calls(
    X: NDArray[Any],
    newest: int,
    squared: NDArray[np.float32],
    ways: Ways,
    rho: np.float32,
    margin: NDArray[np.float32],
) -> None:
    """Make the longer one infinite where the old way and the new are nearly equal."""
    for row in range(len(squared)):
        gap = abs(squared[row] - ways.squared[row])
        if gap <= rho * (squared[row] + ways.squared[row]) + margin[row]:
            # Two edges that share a point compare by their other end when they are
            # equally long.
            old, new = _exact(X, ways, row), squared_distance(X, row, newest)
            if new < old or (new == old and newest < ways.to[row]):
                ways.squared[row] = _INFINITY
            else:
                squared[row] = _INFINITY


@kernel
def _exact(X: NDArray[Any], ways: Ways, row: int) -> float:
    """Return the exact squared length of a row's way."""
    if ways.exact_to[row] != ways.to[row]:
        ways.exact_to[row] = ways.to[row]
        ways.exact[row] = squared_distance(X, row, ways.to[row])
    return ways.exact[row]


@kernel
def _first_in_order(
    X: NDArray[Any], ways: Ways, rho: np.float32, widest: np.float32
) -> int:
    """Return the row whose edge comes first among all that may be the shortest."""
    last, _ = last_up_to(ways.bits, lowest_of(ways.bits))
    reach = (ways.squared[last] + widest) * (_ONE + np.float32(3.0) * rho)
    if _count_up_to(ways.squared, reach) == 1:
        return last
    chosen = -1
    for row in range(len(ways.squared)):
        if ways.squared[row] <= reach and (
            chosen < 0
            or precedes(
                _exact(X, ways, row),
                row,
                ways.to[row],
                _exact(X, ways, chosen),
                chosen,
                ways.to[chosen],
            )
        ):
            chosen = row
    return chosen


# Functions of their own, on one-dimensional arrays: so the compiler vectorizes them.
@kernel
def _distances(
    products: NDArray[np.float32],
    norms: NDArray[np.float32],
    norm: np.float32,
    squared: NDArray[np.float32],
) -> None:
    for j in range(squared.shape[0]):
        value = (norm + norms[j]) - (products[j] + products[j])
        squared[j] = value if value > _ZERO else _ZERO


@kernel
def _count_close(
    squared: NDArray[np.float32],
    nearest: NDArray[np.float32],
    rho: np.float32,
    margin: NDArray[np.float32],
) -> Any:
    count = np.int32(0)
    for j in range(squared.shape[0]):
        gap = abs(squared[j] - nearest[j])
        count += np.int32(gap <= rho * (squared[j] + nearest[j]) + margin[j])
    return count


@kernel
def _count_up_to(values: NDArray[np.float32], limit: np.float32) -> Any:
    count = np.int32(0)
    for j in range(values.shape[0]):
        count += np.int32(values[j] <= limit)
    return count


@kernel
def _take_nearer(
    squared: NDArray[np.float32],
    newest: np.int32,
    nearest: NDArray[np.float32],
    nearest_row: NDArray[np.int32],
) -> None:
    for j in range(squared.shape[0]):
        is_nearer = squared[j] < nearest[j]
        nearest[j] = squared[j] if is_nearer else nearest[j]
        nearest_row[j] = newest if is_nearer else nearest_row[j]
