"""k-means on growing samples, beside scikit-learn's and means that are known."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from structsmooth.cluster.kmeans import growing_kmeans


def far_apart(rng, n=9_000):
    """Return rows around five corners, so far apart that nothing else is a cluster."""
    corners = 100.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2.0]])
    group = rng.integers(0, 5, n)
    return corners[group] + rng.normal(size=(n, 2)), group


def by_first_column(centers):
    return centers[np.lexsort(np.round(centers.T, -1))]


def test_the_centers_of_separate_groups_are_their_means(rng):
    X, group = far_apart(rng)
    means = np.array([X[group == g].mean(axis=0) for g in range(5)])
    found = growing_kmeans(X, 5, 0, None)
    assert by_first_column(found) == pytest.approx(by_first_column(means), abs=1e-9)


def test_the_means_are_weighted(rng):
    X, group = far_apart(rng)
    weights = rng.integers(1, 9, len(X))
    means = np.array(
        [
            np.average(X[group == g], axis=0, weights=weights[group == g])
            for g in range(5)
        ]
    )
    found = growing_kmeans(X, 5, 0, weights)
    assert by_first_column(found) == pytest.approx(by_first_column(means), abs=1e-9)
    assert not np.allclose(found, growing_kmeans(X, 5, 0, None))


def test_it_is_as_good_as_lloyds_algorithm_on_all_rows(rng):
    X = rng.normal(size=(12_000, 6)) * [3.0, 2.0, 1.5, 1.0, 1.0, 0.5]

    def inertia(centers):
        squared = ((X[:, np.newaxis] - centers) ** 2).sum(axis=2)
        return squared.min(axis=1).sum()

    ours, theirs = 0.0, 0.0
    for seed in range(4):
        ours += inertia(growing_kmeans(X, 20, seed, None))
        theirs += -KMeans(20, n_init=1, random_state=seed).fit(X).score(X)
    assert ours < 1.01 * theirs


def test_the_same_seed_gives_the_same_centers_and_another_one_others(rng):
    X = rng.normal(size=(7_000, 4))
    first = growing_kmeans(X, 12, 3, None)
    assert np.array_equal(first, growing_kmeans(X, 12, 3, None))
    assert not np.array_equal(first, growing_kmeans(X, 12, 4, None))


def test_a_center_without_rows_stays_where_it_is():
    """Only two places, but three centers."""
    X = np.repeat([[0.0], [1.0]], 3_000, axis=0)
    found = growing_kmeans(X, 3, 0, None)
    assert set(found.ravel().tolist()) == {0.0, 1.0}
