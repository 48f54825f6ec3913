"""The engine for many points: neighbor lists in a float32 shadow, then Boruvka."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.tree.boruvka import boruvka
from structsmooth.tree.components import Problem
from structsmooth.tree.lists import Lists, nearest_lists, refine
from structsmooth.tree.panels import Layout, lay_out
from structsmooth.tree.shadow import Shadow, cast_shadow

# Neighbors in a list: fewer are found sooner, more leave less to search for later.
N_LISTED = 5
# Panels of sixteen in a leaf: features up to, panels.
LEAF_PANELS = ((8, 2), (np.inf, 4))
# A rotation pays when there are this many rows for each feature.
ROTATE_ROWS = 8


def search_shadow(
    X: NDArray[Any], k: int, n_threads: int
) -> tuple[Layout, Shadow, Lists]:
    """Lay the rows of X out and find the k nearest of each in the shadow."""
    n, d = X.shape
    shadow = cast_shadow(X, rotate=d >= 4 and n >= ROTATE_ROWS * d)
    leaf_panels = next(panels for features, panels in LEAF_PANELS if d <= features)
    layout = lay_out(shadow.points, leaf_panels)
    return layout, shadow, nearest_lists(layout, shadow, k, n_threads)


def engine_edges(
    X: NDArray[Any], n_threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return ends and squared lengths of the tree of rows that are all different."""
    n = len(X)
    k = min(n - 1, N_LISTED)
    layout, shadow, lists = search_shadow(X, k, n_threads)
    source = layout.order
    ordered = X[source]
    trust = (shadow.slack[source], shadow.scale, shadow.relative)
    squared, beyond = refine(ordered, source, lists, *trust, n_threads)
    problem = Problem(ordered, source, layout, lists, squared, beyond, *trust)
    left, right, lengths = boruvka(problem, n_threads)
    return source[left], source[right], lengths
