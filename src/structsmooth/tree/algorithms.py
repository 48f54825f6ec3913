"""Which algorithm builds a tree: one table, by rows and features.

All algorithms return the same tree. The limits are the measured crossovers of
``benchmarks/crossover.py``. Some things can change the choice:

- The fast algorithms must be compiled once on every machine. Work that the simple one
  does in less time than that does not wait for them, unless there has been as much of
  it already.
- Equal rows are joined first, so the number of distinct rows decides.
- For several thousand rows the data decide: see "either".
- Prim on float32 distances gives up where most of them are too close to tell apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import is_compiled
from structsmooth.tree import boruvka, prim_gram, prim_rounded
from structsmooth.tree.duplicates import first_of_equal
from structsmooth.tree.exact import Edges
from structsmooth.tree.neighbor_lists import look_around, place_points
from structsmooth.tree.prim import prim

# Features up to; rows up to which Prim on exact distances is fastest, up to which on
# float32 distances, up to which it is so or neighbor lists and Boruvka are, up to which
# on inner products. Beyond, lists and Boruvka.
CROSSOVERS = (
    (3, 850, 3500, 0, 0),
    (6, 650, 4000, 10_000, 0),
    (12, 500, 4000, 10_000, 0),
    (48, 300, 3200, 10_000, 0),
    (96, 200, 2200, 7000, 0),
    (160, 190, 2000, 4000, 0),
    (384, 100, 0, 0, 2500),
    (np.inf, 60, 0, 0, 3000),
)
# Boruvka is the faster of the two if the share of panels that a panel must be compared
# with is at most the number of rows divided by this, up to so many features and beyond,
FEW_FEATURES, ROWS_COMPARED = 48, (30_000, 18_000)
# or if neighbors are about equally far everywhere, so that hardly any search is left
# after the lists, and there are so many numbers.
MOST_SPREAD, NUMBERS = 5.0, 90_000
# Rows up to which Prim on exact distances is fastest where many of them are equal.
TIED_ROWS = 2000
# What Prim on float32 distances takes of the time of Prim on exact ones, where it
# stands in for Boruvka until that is compiled: up to so many features.
STANDS_IN, SHARE = 160, 0.25
# What compiling takes, in seconds, on a slow machine.
COMPILE_SECONDS = {
    "prim_rounded": 3.0,
    "prim_gram": 4.0,
    "boruvka": 12.0,
}
KERNELS = {
    "prim_rounded": prim_rounded.grow_rounded,
    "prim_gram": prim_gram.grow_tree,
    "boruvka": boruvka.advance,
}
# Seconds of simple work in this process that faster kernels would have saved.
_waited: dict[str, float] = {}


def choose_algorithm(n: int, d: int) -> str:
    """Return the fastest algorithm for n rows of d features, all compiled.

    "either" is Prim on float32 distances, or Boruvka: the data decide.
    """
    _, *rows = next(row for row in CROSSOVERS if d <= row[0])
    names = "prim", "prim_rounded", "either", "prim_gram"
    return next(
        (name for name, most in zip(names, rows, strict=True) if n <= most), "boruvka"
    )


def prim_seconds(n: int, d: int) -> float:
    """Return how long Prim on exact distances takes at most, about.

    That is for tens of thousands of rows and many equal distances; others take less.
    """
    return n * n / 2.0 * (d / 4e9 + 1.1e-9)


def spanning_edges(X: NDArray[Any], n_threads: int, workload: float | None) -> Edges:
    """Return the edges of the tree of X's rows."""
    n, d = X.shape
    if choose_algorithm(n, d) == "prim":
        return prim(X)
    first = first_of_equal(X)
    is_first = first == np.arange(n)
    if is_first.all():
        return _build(_affordable_algorithm(n, d, workload), X, n_threads)
    distinct, equal = np.flatnonzero(is_first), np.flatnonzero(~is_first)
    algorithm = _affordable_algorithm(len(distinct), d, workload)
    left, right, squared = _build(algorithm, X[distinct], n_threads)
    return (
        np.concatenate([first[equal], distinct[left]]),
        np.concatenate([equal, distinct[right]]),
        np.concatenate([np.zeros(len(equal)), squared]),
    )


def _build(algorithm: str, X: NDArray[Any], n_threads: int) -> Edges:
    if algorithm == "prim":
        return prim(X)
    if algorithm == "prim_gram":
        return prim_gram.prim_gram(X)
    if algorithm == "either":
        placed = place_points(X)
        share, spread = look_around(placed[0], boruvka.n_listed(len(X)))
        is_even = spread <= MOST_SPREAD and X.size >= NUMBERS
        rows = ROWS_COMPARED[X.shape[1] > FEW_FEATURES]
        if is_even or share <= len(X) / rows:
            return boruvka.boruvka_placed(X, *placed, n_threads, share)
        edges = prim_rounded.prim_placed(X, *placed)
        if edges is not None:
            return edges
    if algorithm == "prim_rounded":
        edges = prim_rounded.prim_rounded(X)
        if edges is not None:
            return edges
    if algorithm != "boruvka" and (
        len(X) <= TIED_ROWS or not is_ready("boruvka", prim_seconds(*X.shape))
    ):
        return prim(X)
    return boruvka.boruvka(X, n_threads)


def _affordable_algorithm(n: int, d: int, workload: float | None) -> str:
    """Return the fastest algorithm, unless compiling it costs more than it saves."""
    algorithm, seconds = choose_algorithm(n, d), prim_seconds(n, d)
    workload = workload or 0.0
    if algorithm in ("either", "boruvka") and d <= STANDS_IN:
        if is_ready("boruvka", seconds * SHARE, workload * SHARE):
            either = algorithm == "either" and is_ready(
                "prim_rounded", seconds, workload
            )
            return "either" if either else "boruvka"
        algorithm = "prim_rounded"
    if algorithm == "prim" or is_ready(algorithm, seconds, workload):
        return algorithm
    return "prim"


def is_ready(
    algorithm: str, seconds: float, workload: float = 0.0, kernel: Any = None
) -> bool:
    """Whether an algorithm is compiled, or worth that.

    It is if simpler work of so many seconds, all the work that this is part of, or what
    there has been before takes longer than compiling. ``kernel`` is the one to look
    for, if it is not the algorithm's own.
    """
    if is_compiled(kernel or KERNELS[algorithm]):
        return True
    _waited[algorithm] = _waited.get(algorithm, 0.0) + seconds
    return max(workload, _waited[algorithm]) > COMPILE_SECONDS[algorithm]
