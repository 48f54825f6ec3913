"""Prim's algorithm on a matrix of inner products, every close call decided exactly.

For many features and at most a few thousand points: the matrix is one fast call, and
4 n^2 bytes. It gives the squared distances of the float32 copy, each a little off. A
distance in the copy is within ``slack`` and a relative error of the true one, times the
scale; a squared distance from inner products is off by ``absolute`` besides; and ``2 x
y <= t x^2 + y^2 / t`` for any t > 0, here `TRADE`. So::

    s (1 - rho) - kappa  <=  true squared distance  <=  s (1 + rho) + kappa
    rho = relative + t,  kappa = slack^2 (1 + 1 / t) + absolute

and two of them, s and m, are in the true order unless ``|s - m| <= rho (s + m) + 2
kappa``. That is a close call, and exact distances decide it. The result is therefore
the same as that of `structsmooth.tree.prim`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.exact import F32, F64, I32, Edges, precedes, squared_distance
from structsmooth.tree.prim import last_up_to, min_of
from structsmooth.tree.rounding import round_points

TRADE = 2.0**-20
_INFINITY = np.float32(np.inf)
_ONE, _ZERO = np.float32(1.0), np.float32(0.0)


class Links(NamedTuple):
    """How each row would be linked to the tree; infinitely long once it is."""

    squared: F32  # squared length in the float32 copy
    to: I32  # the row of the tree at the other end
    exact: F64  # exact squared length, if it has been computed,
    exact_to: I32  # and the row of the tree that it was computed for


class Factors(NamedTuple):
    """What inner products are made of, and how far distances from them can be off."""

    points: F32  # the float32 copy
    norms: F32  # squared lengths of its rows
    rho: np.float32
    margin: F32  # of each row, 2 kappa


def factors_of(X: NDArray[Any]) -> Factors:
    """Return the float32 copy of X with the bounds of the module's formula."""
    points, error = round_points(X, rotate=False)
    norms = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    # An inner product is off by at most d roundings of |a| |b|, a norm by one.
    absolute = 4.0 * (X.shape[1] + 10) * 2.0**-24 * float(norms.max())
    kappa = error.slack**2 * (1.0 + 1.0 / TRADE) + absolute
    # A hundredth more, for the rounding of the comparisons themselves.
    return Factors(
        points=points,
        norms=norms.astype(np.float32),
        rho=np.float32(1.01 * (error.relative + TRADE)),
        margin=(1.01 * 2.0 * kappa).astype(np.float32),
    )


def prim_gram(X: NDArray[Any]) -> Edges:
    """Return the tree's edges in the order in which they are found."""
    points, norms, rho, margin = factors_of(X)
    return grow_tree(X, points @ points.T, norms, rho, margin)


@kernel
def grow_tree(
    X: NDArray[Any], products: F32, norms: F32, rho: np.float32, margin: F32
) -> Edges:
    """Grow the tree from row 0; ``margin`` is 2 kappa, the norms are overwritten."""
    n = X.shape[0]
    links = Links(
        np.full(n, _INFINITY),
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
        links.squared[newest] = _INFINITY
        distances_from_products(products[newest], norms, norm, squared)
        if step > 0 and _count_close(squared, links.squared, rho, margin) > 0:
            _decide_close_calls(X, newest, squared, links, rho, margin)
        _take_nearer(squared, np.int32(newest), links.squared, links.to)
        newest = _first_in_order(X, links, rho, widest)
        left[step], right[step] = newest, links.to[newest]
        lengths[step] = _exact_length(X, links, newest)
    return left, right, lengths


@kernel
def _decide_close_calls(
    X: NDArray[Any],
    newest: int,
    squared: F32,
    links: Links,
    rho: np.float32,
    margin: F32,
) -> None:
    """Make the longer link infinite where the old one and the new are nearly equal."""
    for row in range(len(squared)):
        gap = abs(squared[row] - links.squared[row])
        if gap <= rho * (squared[row] + links.squared[row]) + margin[row]:
            old, new = _exact_length(X, links, row), squared_distance(X, row, newest)
            # Edges that share a point compare by their other ends if equally long.
            if new < old or (new == old and newest < links.to[row]):
                links.squared[row] = _INFINITY
            else:
                squared[row] = _INFINITY


@kernel
def _exact_length(X: NDArray[Any], links: Links, row: int) -> float:
    """Return the exact squared length of a row's link."""
    if links.exact_to[row] != links.to[row]:
        links.exact_to[row] = links.to[row]
        links.exact[row] = squared_distance(X, row, links.to[row])
    return links.exact[row]


@kernel
def _first_in_order(
    X: NDArray[Any], links: Links, rho: np.float32, widest: np.float32
) -> int:
    """Return the row whose edge comes first among all that may be the shortest."""
    # Numbers of at least 0 are in the order of their bits.
    bits = links.squared.view(np.int32)
    shortest = np.int32(min_of(bits)).view(np.float32)
    reach = (shortest + widest) * (_ONE + np.float32(3.0) * rho)
    chosen, count = last_up_to(bits, np.float32(reach).view(np.int32))
    if count == 1:
        return chosen
    for row in range(len(bits)):
        if links.squared[row] <= reach and precedes(
            _exact_length(X, links, row),
            row,
            links.to[row],
            _exact_length(X, links, chosen),
            chosen,
            links.to[chosen],
        ):
            chosen = row
    return chosen


# Functions of their own, on one-dimensional arrays, so that the compiler vectorizes
# them.
@kernel
def distances_from_products(
    products: F32, norms: F32, norm: np.float32, squared: F32
) -> None:
    """Write squared distances of a row to all, given its products with them."""
    for j in range(squared.shape[0]):
        value = (norm + norms[j]) - (products[j] + products[j])
        squared[j] = value if value > _ZERO else _ZERO


@kernel
def _count_close(squared: F32, nearest: F32, rho: np.float32, margin: F32) -> Any:
    count = np.int32(0)
    for j in range(squared.shape[0]):
        gap = abs(squared[j] - nearest[j])
        count += np.int32(gap <= rho * (squared[j] + nearest[j]) + margin[j])
    return count


@kernel
def _take_nearer(
    squared: F32, newest: np.int32, nearest: F32, nearest_row: I32
) -> None:
    for j in range(squared.shape[0]):
        is_nearer = squared[j] < nearest[j]
        nearest[j] = squared[j] if is_nearer else nearest[j]
        nearest_row[j] = newest if is_nearer else nearest_row[j]
