"""Which kernel builds a tree: one table, by rows and features.

All kernels return the same tree. The limits are the measured crossovers of
``benchmarks/crossover.py``. Two things can change the choice:

- The fast kernels must be compiled once on every machine. Work that the simple one
  does in less time than that does not wait for it.
- Equal rows are joined first, so the distinct ones decide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import is_compiled
from structsmooth.tree import boruvka, engine, products
from structsmooth.tree.duplicates import first_of_equal
from structsmooth.tree.prim import prim

Edges = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

# Features up to; rows up to which Prim on exact distances is fastest; rows up to
# which Prim on inner products is. Beyond, neighbor lists and Boruvka.
PATHS = (
    (6, 2500, 0),
    (24, 1300, 0),
    (40, 1000, 0),
    (96, 200, 1300),
    (384, 100, 2000),
    (np.inf, 60, 3000),
)
# What compiling takes, in seconds, on a slow day.
COMPILE_SECONDS = {"products": 4.0, "engine": 12.0}


def choose_path(n: int, d: int) -> str:
    """Return the fastest kernel for n rows of d features, all compiled."""
    _, prim_rows, product_rows = next(row for row in PATHS if d <= row[0])
    if n <= prim_rows:
        return "prim"
    return "products" if n <= product_rows else "engine"


def prim_seconds(n: int, d: int) -> float:
    """Return about how long Prim on exact distances takes."""
    return n * n / 2.0 * (d / 9e9 + 0.5e-9)


def spanning_edges(X: NDArray[Any], n_threads: int, workload: float | None) -> Edges:
    """Return the ends and squared lengths of the edges of the tree of X's rows."""
    path = _affordable_path(len(X), X.shape[1], workload)
    first = None if path == "prim" else first_of_equal(X)
    if first is None:
        return _build(path, X, n_threads)
    is_first = first == np.arange(len(X))
    distinct = np.flatnonzero(is_first)
    equal = np.flatnonzero(~is_first)
    path = _affordable_path(len(distinct), X.shape[1], workload)
    left, right, squared = _build(path, X[distinct], n_threads)
    return (
        np.concatenate([first[equal], distinct[left]]),
        np.concatenate([equal, distinct[right]]),
        np.concatenate([np.zeros(len(equal)), squared]),
    )


def _build(path: str, X: NDArray[Any], n_threads: int) -> Edges:
    if path == "prim":
        return prim(X)
    if path == "products":
        return products.prim_by_products(X)
    return engine.engine_edges(X, n_threads)


def _affordable_path(n: int, d: int, workload: float | None) -> str:
    """Return the fastest kernel, unless compiling it costs more than it saves."""
    path = choose_path(n, d)
    if path == "prim":
        return path
    main = products.grow if path == "products" else boruvka.join_by_lists
    seconds = prim_seconds(n, d) if workload is None else workload
    if is_compiled(main) or seconds > COMPILE_SECONDS[path]:
        return path
    return "prim"
