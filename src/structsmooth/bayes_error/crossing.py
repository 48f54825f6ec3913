"""Tree edges that join different labels: how many, and how sure that is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import TiedDistancesWarning
from structsmooth.tree import SpanningTree, minimum_spanning_tree

# How many orders of the rows a tie-averaged count is the mean of.
N_TIE_ORDERS = 16
# Ties are worth a warning when they decide this share of a tree's edges.
MANY_TIES = 0.05
# Up to this many classes, edges are counted for all pairs at once.
FEW_CLASSES = 32
# The design effect of fewer crossing edges than this leans on the tree's shape.
FEW_CROSSINGS = 10
# That of a region with one class, where no tree is built: a typical tree's.
TYPICAL_EFFECT = 2.5


@dataclass(frozen=True, eq=False)
class CrossingCount:
    """How often each pair of classes is joined by an edge of a region's tree.

    Attributes
    ----------
    pairs : ndarray of shape (m, 2), int64
        The pairs of classes that are joined at all, the lower one first.
    counts : ndarray of shape (m,)
        How often; not whole numbers when averaged over ties.
    design_effect : float
        Variance of the total relative to independent edges.
    tied_fraction : float
        Share of the edges that the tie rule alone decides.
    edge_weight : float
        What an edge counts for on average: 1 unless rows weigh less than that.
    """

    pairs: NDArray[np.int64]
    counts: NDArray[Any]
    design_effect: float
    tied_fraction: float
    edge_weight: float = 1.0


def crossing_pairs(
    edges: NDArray[np.int64],
    coded: NDArray[np.int64],
    weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the pairs of classes joined by edges, and by how many.

    A region of a task with a thousand classes has few of their million pairs.
    """
    one, other = coded[edges[:, 0]], coded[edges[:, 1]]
    crosses = one != other
    one, other = one[crosses], other[crosses]
    base = int(coded.max()) + 1
    joined = np.minimum(one, other) * base + np.maximum(one, other)
    pairs, which = np.arange(base * base), joined
    if base > FEW_CLASSES:
        pairs, which = np.unique(joined, return_inverse=True)
    is_present = np.bincount(which, minlength=len(pairs)) > 0
    of_edges = None if weights is None else weights[crosses]
    counts = np.bincount(which, of_edges, minlength=len(pairs))[is_present]
    return np.column_stack(np.divmod(pairs[is_present], base)), counts


def crossing_matrix(
    pairs: NDArray[np.int64], counts: NDArray[Any], n_classes: int
) -> NDArray[Any]:
    """Return the symmetric (K, K) matrix of the counts; equal pairs add up."""
    matrix = np.zeros((n_classes, n_classes), dtype=counts.dtype)
    np.add.at(matrix, (pairs[:, 0], pairs[:, 1]), counts)
    return matrix + matrix.T


def cross_tree(
    X: NDArray[Any],
    coded: NDArray[np.int64],
    ties: str,
    n_threads: int = 1,
    workload: float | None = None,
    weights: NDArray[Any] | None = None,
) -> CrossingCount:
    """Build the tree of one region and count; the arguments have been checked.

    Copies of a row are joined to it by edges of length 0, so a row of weight 2 adds
    one edge to the tree and changes no other. A row of less than weight 1 takes its
    edges' weight down with it.
    """
    light = None if weights is None or weights.min() >= 1.0 else np.minimum(weights, 1)
    if coded.min() == coded.max():  # no tree is needed to see that nothing crosses
        nothing = np.empty((0, 2), dtype=np.int64)
        edge_weight = 1.0 if light is None else float(light.mean())
        return CrossingCount(nothing, nothing[:, 0], TYPICAL_EFFECT, 0.0, edge_weight)
    tree = minimum_spanning_tree(X, n_threads, workload)
    tied_fraction = _tied_fraction(X, tree, ties, n_threads, workload)
    if ties == "average" and tied_fraction > 0.0:
        edges, n_orders = _edges_of_orders(X, n_threads, workload), N_TIE_ORDERS
    else:
        edges, n_orders = tree.edges, 1
    of_edges = None if light is None else light[edges].min(axis=1)
    pairs, counts = crossing_pairs(edges, coded, of_edges)
    return CrossingCount(
        pairs,
        counts if n_orders == 1 else counts / n_orders,
        design_effect(tree.edges, coded, weights),
        tied_fraction,
        1.0 if of_edges is None else float(of_edges.mean()),
    )


def _tied_fraction(
    X: NDArray[Any],
    tree: SpanningTree,
    ties: str,
    n_threads: int,
    workload: float | None,
) -> float:
    """Return the share of the tree's edges that the tie rule alone decides.

    These are the edges that the same rows in the opposite order do not have. That costs
    a second tree, so it is done only where equal lengths are common in the first, or an
    average over ties is asked for.
    """
    n_samples = len(X)
    # The lengths are sorted.
    n_repeated = np.count_nonzero(tree.lengths[1:] == tree.lengths[:-1])
    repeated = n_repeated / len(tree.lengths)
    if ties == "index" and repeated < MANY_TIES:
        return 0.0
    backwards = np.arange(n_samples)[::-1]
    mirrored = minimum_spanning_tree(X[backwards], n_threads, workload)
    other = np.sort(backwards[mirrored.edges], axis=1)
    shared = np.isin(tree.edges @ [n_samples, 1], other @ [n_samples, 1])
    return float(np.mean(~shared))


def _edges_of_orders(
    X: NDArray[Any], n_threads: int, workload: float | None
) -> NDArray[np.int64]:
    """Return the edges of the trees of randomly ordered rows, one after the other."""
    generator = np.random.default_rng(0)  # a fixed seed: the same count every time
    ends = []
    for _ in range(N_TIE_ORDERS):
        order = generator.permutation(len(X))
        tree = minimum_spanning_tree(X[order], n_threads, workload)
        ends.append(order[tree.edges])
    return np.concatenate(ends)


def warn_about_ties(tied_fraction: float, ties: str) -> None:
    """Warn if the order of the rows decides much, and nobody asked for an average."""
    if ties == "index" and tied_fraction > MANY_TIES:
        warnings.warn(
            f"equal distances leave {tied_fraction:.0%} of the spanning trees' edges "
            "to the order of the rows; pass ties='average' for data with many ties",
            TiedDistancesWarning,
            stacklevel=4,
        )


def design_effect(
    edges: NDArray[np.int64],
    coded: NDArray[np.int64],
    weights: NDArray[Any] | None = None,
) -> float:
    """Return how much more the crossing count varies than independent edges would.

    Edges that share a point are correlated through its label: a single odd label
    makes all edges at its point cross. The variance of the count is estimated by
    the squares and products of residuals of edges that share a point. With few
    crossings that is unreliable, and the value for rare odd labels, which follows
    from the degrees alone, is mixed in.

    The copies that a weight above 1 stands for hang on the first one, as in the tree
    of all copies, by edges that do not cross.
    """
    n_points = len(coded)
    copies = 0.0 if weights is None else np.maximum(weights - 1.0, 0.0)
    n_copies = float(np.sum(copies))
    n_edges = len(edges) + n_copies
    crosses = (coded[edges[:, 0]] != coded[edges[:, 1]]).astype(np.float64)
    mean = float(crosses.sum()) / n_edges
    residual = crosses - mean
    of_edges = np.bincount(edges.ravel(), np.repeat(residual, 2), minlength=n_points)
    at_point = of_edges - copies * mean
    degree = np.bincount(edges.ravel(), minlength=n_points) + copies
    from_degrees = 1.0 + float(np.sum(degree * (degree - 1))) / (2.0 * n_edges)
    spread = float(residual @ residual) + n_copies * mean**2
    if spread == 0.0:
        return from_degrees
    at_points = float(at_point @ at_point) + n_copies * mean**2
    from_residuals = at_points / spread - 1.0
    n_crossing = float(crosses.sum())
    mixed = (n_crossing * from_residuals + FEW_CROSSINGS * from_degrees) / (
        n_crossing + FEW_CROSSINGS
    )
    return max(1.0, mixed)
