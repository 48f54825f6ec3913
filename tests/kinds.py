"""Data of difficult kinds, and their trees by the simplest algorithm."""

import numpy as np

from structsmooth.tree.prim import prim

KINDS = (
    "normal",
    "rounded",
    "duplicates",
    "offset",
    "far clusters",
    "wild norms",
    "all equal",
    "binary",
    "tiny",
    "huge",
    "line",
    "outlier",
    "vanishing",
    "exponential",
    "exponential line",
    "exponential coordinates",
    "ulps apart",
    "huge constant column",
)


def draw(generator, n, d, kind):
    """Return data of some difficult kind."""
    X = generator.normal(size=(n, d))
    if kind == "rounded":
        return np.round(2 * X)
    if kind == "duplicates":
        return X[generator.integers(0, max(1, n // 4), n)]
    if kind == "offset":
        return X + 1e4
    if kind == "far clusters":
        return X + 50 * generator.integers(0, 4, (n, 1))
    if kind == "wild norms":
        return X * np.exp(3 * generator.normal(size=(n, 1)))
    if kind == "all equal":
        return np.repeat(X[:1], n, axis=0)
    if kind == "binary":
        return (X > 0).astype(float)
    if kind == "tiny":
        return X * 1e-30
    if kind == "huge":
        return X * 1e30
    if kind == "line":
        return X[:, :1] * np.ones(d)
    if kind == "huge constant column":
        X[:, 0] = 1e25
    if kind == "outlier":
        X[0] *= 1e9
    if kind == "exponential":  # float32 holds a small part of the range
        return X * np.exp(generator.uniform(-40, 40, (n, 1)))
    if kind == "exponential line":
        return 2.0 ** np.linspace(-50, 50, n)[:, np.newaxis] * np.ones(d)
    if kind == "exponential coordinates":
        return np.exp(generator.uniform(-40, 40, (n, d)))
    if kind == "ulps apart":
        return 1.0 + generator.integers(0, 40, (n, d)) * 2.0**-52
    if kind == "vanishing":  # half of the rows are closer than float32 can square
        pairs = n // 4 * 2  # the mean must be that of the small ones
        X[1:pairs:2] = -X[0:pairs:2]
        X[pairs:] *= 1e-35
    return X


def as_tree(edges):
    """Return (left, right, squared) as sorted (edges, squared)."""
    left, right, squared = edges
    pairs = np.column_stack([np.minimum(left, right), np.maximum(left, right)])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], squared))
    return pairs[order], squared[order]


def exact_tree(X):
    return as_tree(prim(X))
