"""Nearest neighbors from inner products, every close call decided exactly.

For many features and few points, as `structsmooth.tree.prim_gram`, whose bounds hold
here too: a row can be one of the k nearest only if its squared distance from inner
products is at most ``(s + 2 kappa) (1 + 3 rho)``, s being the k-th smallest of them.
Exact distances decide among those.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.exact import F32, F64, I64, keep_nearest, squared_distances
from structsmooth.tree.prim import last_up_to, min_of
from structsmooth.tree.prim_gram import Factors, distances_from_products, factors_of

# Rows whose products are made at a time.
BLOCK = 256


def neighbors_by_products(X: NDArray[Any], indices: I64, squared: F64) -> None:
    """Fill in the nearest neighbors of all rows; the squares are infinite before."""
    factors = factors_of(X)
    n = len(X)
    work = *np.empty((2, n), np.float32), np.empty(n, np.int64), np.empty(n)
    for start in range(0, n, BLOCK):
        products = factors.points[start : start + BLOCK] @ factors.points.T
        choose_nearest(X, products, start, factors, work, indices, squared)


@kernel
def choose_nearest(
    X: NDArray[Any],
    products: F32,
    start: int,
    factors: Factors,
    work: tuple[F32, F32, I64, F64],
    indices: I64,
    squared: F64,
) -> None:
    """Fill in the neighbors of a block of rows, given its inner products."""
    n, k = len(X), indices.shape[1]
    near, left, candidates, exact = work
    bits = left.view(np.int32)
    infinity = np.float32(np.inf).view(np.int32)
    one, three = np.float32(1.0), np.float32(3.0)
    for number in range(products.shape[0]):
        row = start + number
        distances_from_products(
            products[number], factors.norms, factors.norms[row], near
        )
        near[row] = np.inf
        for j in range(n):
            left[j] = near[j]
        found, last = 0, np.int32(0)
        while found < k:  # numbers of at least 0 are in the order of their bits
            last = min_of(bits)
            at, _ = last_up_to(bits, last)
            bits[at] = infinity
            found += 1
        reach = np.int32(last).view(np.float32)
        reach = (reach + factors.margin[row]) * (one + three * factors.rho)
        n_near = 0
        for j in range(n):
            if near[j] <= reach:
                candidates[n_near] = j
                n_near += 1
        squared_distances(X, row, candidates, n_near, exact)
        for at in range(n_near):
            keep_nearest(indices, squared, row, candidates[at], exact[at])
