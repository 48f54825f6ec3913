"""Slow reference implementations for comparison with the library's results."""

import itertools

import numpy as np


def prim(X):
    """Prim's algorithm, float64, one point at a time; sorted (edges, lengths)."""
    X = np.asarray(X, dtype=np.float64)
    n = len(X)
    distance = np.full(n, np.inf)
    parent = np.zeros(n, dtype=int)
    in_tree = np.zeros(n, dtype=bool)
    current, edges, lengths = 0, [], []
    for _ in range(n - 1):
        in_tree[current] = True
        to_current = np.sqrt(((X - X[current]) ** 2).sum(axis=1))
        closer = to_current < distance
        distance[closer], parent[closer] = to_current[closer], current
        distance[in_tree] = np.inf
        current = int(np.argmin(distance))
        edges.append(sorted((current, parent[current])))
        lengths.append(distance[current])
    order = np.argsort(lengths, kind="stable")
    return np.array(edges).reshape(-1, 2)[order], np.array(lengths)[order]


def kruskal(X):
    """Kruskal's algorithm over all pairs in the order (length, lower, higher)."""
    X = np.asarray(X, dtype=np.float64)
    pairs = list(itertools.combinations(range(len(X)), 2))

    def squared(i, j):
        total = 0.0
        for a, b in zip(X[i], X[j], strict=True):
            total += (a - b) * (a - b)
        return total

    pairs.sort(key=lambda pair: (squared(*pair), *pair))
    parent = list(range(len(X)))

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    edges = []
    for i, j in pairs:
        a, b = root(i), root(j)
        if a != b:
            parent[a] = b
            edges.append((i, j))
    return np.array(edges).reshape(-1, 2)


def assert_possible(bounds):
    """Check that nothing exceeds the error of always predicting the largest class."""
    share = bounds.class_counts.max() / bounds.class_counts.sum()
    limit = min(1.0 - 1.0 / bounds.n_classes, 1.0 - share) + 1e-12
    assert 0.0 <= bounds.interval[0] <= bounds.lower <= bounds.upper
    assert bounds.upper <= bounds.interval[1] <= limit
    for low, high in (bounds.lower_interval, bounds.upper_interval):
        assert 0.0 <= low <= high <= limit
