"""What Boruvka's algorithm and its search know of the points and the components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.tree.exact import precedes
from structsmooth.tree.lists import Lists
from structsmooth.tree.panels import Layout


class Problem(NamedTuple):
    """All that is known of the points, by place.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The data in the order of places.
    source : ndarray of shape (n,), int64
        Which row of the input is at each place: what ties are broken by.
    layout, lists
        The tree of boxes, and the neighbors found so far.
    squared : ndarray of shape (n, k), float64
        Exact squared distances of the neighbors.
    beyond : ndarray of shape (n,), float64
        What is not in a point's list, and not in its component, is no nearer.
    slack, scale, relative
        How far the shadow can be trusted; see `structsmooth.tree.shadow`.
    """

    X: NDArray[Any]
    source: NDArray[np.int64]
    layout: Layout
    lists: Lists
    squared: NDArray[np.float64]
    beyond: NDArray[np.float64]
    slack: NDArray[np.float64]
    scale: float
    relative: float


class Shortest(NamedTuple):
    """Of each component, the shortest edge that leads out of it."""

    squared: NDArray[np.float64]
    start: NDArray[np.int32]
    end: NDArray[np.int32]


@kernel
def offer(
    source: NDArray[np.int64],
    own: int,
    i: int,
    j: int,
    squared: float,
    shortest: Shortest,
) -> bool:
    """Let a component change to the edge of places i and j if it comes first."""
    if shortest.squared[own] != np.inf and not precedes(
        squared,
        source[i],
        source[j],
        shortest.squared[own],
        source[shortest.start[own]],
        source[shortest.end[own]],
    ):
        return False
    shortest.squared[own] = squared
    shortest.start[own] = i
    shortest.end[own] = j
    return True
