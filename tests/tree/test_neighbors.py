"""Nearest neighbors are exact, and in order, whichever way they are found."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from kinds import KINDS, draw
from structsmooth import nearest_neighbors
from structsmooth.errors import InvalidInputError
from structsmooth.tree.neighbors import find_neighbors


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("n", "d", "k"), [(50, 3, 5), (2000, 2, 1), (2500, 20, 10)])
def test_neighbors_equal_scikit_learn(rng, n, d, k, n_jobs):
    X = rng.normal(size=(n, d))
    near = nearest_neighbors(X, k, n_jobs=n_jobs)
    searcher = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X)
    distances, indices = searcher.kneighbors()
    assert np.array_equal(near.indices, indices)
    np.testing.assert_allclose(near.distances, distances, rtol=1e-7)


def assert_nearest(X, k, indices, squared, step=11):
    """Compare with all distances, taken feature by feature, as the rule says."""
    n, d = X.shape
    for i in range(0, n, step):
        total = np.zeros(n)
        for feature in range(d):
            difference = X[:, feature].astype(float) - float(X[i, feature])
            total += difference * difference
        order = np.lexsort((np.arange(n), total))
        order = order[order != i][:k]
        assert indices[i].tolist() == order.tolist()
        assert squared[i].tolist() == total[order].tolist()


# Rows up to which all are compared, and up to which inner products are taken.
WAYS = {"lists": (0, 0), "products": (0, 10**9), "brute": (10**9, 0)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_of_equal_distance_come_in_order_of_rows(
    rng, monkeypatch, kind, dtype, way
):
    search_by(monkeypatch, way)
    X = draw(rng, 300, 4, kind).astype(dtype)
    assert_nearest(X, 4, *find_neighbors(X, 4, 2))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("k", [1, 10, 60])
@pytest.mark.parametrize(
    ("values", "d"), [(1, 2), (2, 3), (2, 12), (2, 40), (10, 2), (10, 4), (1000, 1)]
)
def test_neighbors_of_discrete_rows(rng, monkeypatch, values, d, k, way):
    """Many equal rows, many equally near ones, and groups larger than a list."""
    search_by(monkeypatch, way)
    X = rng.integers(0, values, size=(900, d)) * 1.0
    assert_nearest(X, k, *find_neighbors(X, k, 2))


def search_by(monkeypatch, way):
    neighbors = "structsmooth.tree.neighbors"
    monkeypatch.setattr(f"{neighbors}.CROSSOVERS", ((np.inf, *WAYS[way]),))
    monkeypatch.setattr(f"{neighbors}.is_ready", lambda *_, **__: True)


@pytest.mark.parametrize("k", [0, 5, 1.5])
def test_a_bad_number_of_neighbors_is_refused(k):
    with pytest.raises(InvalidInputError, match="k must be a whole number from 1 to 4"):
        nearest_neighbors(np.eye(5), k)
