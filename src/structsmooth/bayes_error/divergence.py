"""How far apart two classes are: the Henze-Penrose divergence of every pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import check_features, encode_labels
from structsmooth.tree import minimum_spanning_tree


def henze_penrose_divergence(
    X: ArrayLike, y: ArrayLike, *, correct_forced_edges: bool = True
) -> NDArray[np.float64]:
    """Estimate the Henze-Penrose divergence of every pair of classes.

    For classes i and j with n_i and n_j points, n together, and a share h of crossing
    edges in the minimum spanning tree of these points alone, ``D = 1 - h n^2 / (2 n_i
    n_j)``: 0 where the classes coincide, 1 where they do not overlap (equation
    HPdivergence, as corrected in the documentation). The (K, K) matrix is symmetric, in
    the order of the sorted labels. A small estimate can come out slightly below 0.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Features.
    y : array-like of shape (n,)
        Labels of any kind, of at least two classes.
    correct_forced_edges : bool, default=True
        Leave the one crossing edge that connects even separate classes out of both
        counts: h is ``(C - 1) / (n - 2)``, otherwise the paper's ``C / n``.

    Examples
    --------
    >>> from structsmooth import henze_penrose_divergence
    >>> X = [[0.0], [1.0], [10.0], [11.5]]
    >>> henze_penrose_divergence(X, ["a", "a", "b", "b"])[0, 1]
    np.float64(1.0)
    """
    features = check_features(X)
    classes, coded = encode_labels(y, len(features))
    if len(classes) < 2:
        raise InvalidInputError(
            f"y has only one class ({classes.tolist()[0]!r}); expected at least two"
        )
    divergence = np.zeros((len(classes), len(classes)))
    for i in range(len(classes)):
        for j in range(i + 1, len(classes)):
            rows = np.flatnonzero((coded == i) | (coded == j))
            edges = minimum_spanning_tree(features[rows]).edges
            is_second = coded[rows] == j
            crossing = np.count_nonzero(
                is_second[edges[:, 0]] != is_second[edges[:, 1]]
            )
            n_j, n = int(is_second.sum()), len(rows)
            n_i = n - n_j
            if not correct_forced_edges:
                share = crossing / n
            else:  # two points have no edge but the forced one
                share = (crossing - 1) / max(n - 2, 1)
            divergence[i, j] = divergence[j, i] = 1.0 - share * n**2 / (2.0 * n_i * n_j)
    return divergence
