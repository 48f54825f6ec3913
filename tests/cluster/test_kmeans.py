"""k-means on growing samples, beside scikit-learn's and means that are known."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, kmeans_plusplus

from structsmooth.cluster import kmeans
from structsmooth.cluster.clusterers import kmeans_centers
from structsmooth.cluster.kmeans import first_centers, growing_kmeans, nested_kmeans


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


@pytest.mark.parametrize(
    ("n_clusters", "is_nested", "limit"), [(20, False, 1.01), (300, True, 1.1)]
)
def test_it_is_nearly_as_good_as_lloyds_algorithm_on_all_rows(
    rng, n_clusters, is_nested, limit
):
    X = rng.normal(size=(12_000, 6)) * [3.0, 2.0, 1.5, 1.0, 1.0, 0.5]

    def inertia(seed):
        if is_nested:
            large, parts = nested_kmeans(X, n_clusters, seed, None)
            assert len(large) == len(parts) == round(n_clusters**0.5)
            part = cdist(X, large).argmin(axis=1)
            within = enumerate(parts)
        else:
            part = np.zeros(len(X))
            within = [(0, growing_kmeans(X, n_clusters, seed, None))]
        total = count = 0
        for number, centers in within:
            count += len(centers)
            distances = cdist(X[part == number], centers, "sqeuclidean")
            total += distances.min(axis=1).sum()
        assert count == n_clusters
        return total

    ours, theirs = 0.0, 0.0
    for seed in range(4):
        ours += inertia(seed)
        theirs += -KMeans(n_clusters, n_init=1, random_state=seed).fit(X).score(X)
    assert ours < limit * theirs


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_first_centers_are_those_of_scikit_learn(rng, offset):
    X, weights = rng.normal(size=(600, 5)), rng.integers(1, 4, 600).astype(float)
    for seed in range(5):
        _, expected = kmeans_plusplus(
            X, 20, sample_weight=weights, random_state=np.random.RandomState(seed)
        )
        found = first_centers(X + offset, 20, np.random.RandomState(seed), weights)
        assert found.tolist() == expected.tolist()


def test_fewer_places_than_first_centers():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    found = first_centers(X, 4, np.random.RandomState(0), np.ones(10))
    assert set(X[found].ravel()) == {0.0, 1.0}


def test_the_same_seed_gives_the_same_centers_and_another_one_others(rng):
    X = rng.normal(size=(7_000, 4))
    first = growing_kmeans(X, 12, 3, None)
    assert np.array_equal(first, growing_kmeans(X, 12, 3, None))
    assert not np.array_equal(first, growing_kmeans(X, 12, 4, None))


def test_large_clusters_are_divided_by_their_weight():
    """Of seven clusters, rows of weights 40, 20 and 10 get four, two and one."""
    members = [np.arange(0, 40), np.arange(40, 60), np.arange(60, 70)]
    assert kmeans._apportion(7, members, np.ones(70)) == [4, 2, 1]
    weights = np.ones(70)
    weights[60:] = 8.0  # now 40, 20 and 80
    assert kmeans._apportion(7, members, weights) == [2, 1, 4]
    # A cluster of two rows cannot be divided into more, however heavy they are.
    few = [np.arange(0, 2), np.arange(2, 70)]
    assert kmeans._apportion(9, few, np.r_[1e9, 1e9, np.ones(68)]) == [2, 7]


def test_many_clusters_of_rows_in_few_places():
    X = np.repeat(np.arange(3.0)[:, np.newaxis], 2_500, axis=0)
    large, parts = nested_kmeans(X, 30, 0, None)
    assert len(large) == 3  # of five, because two have no rows
    assert sum(map(len, parts)) == 30
    assert set(np.arange(3.0)) <= set(np.concatenate(parts).ravel().tolist())


def test_threads_do_not_change_nested_clusters(rng):
    X = rng.normal(size=(7_000, 4))
    large, parts = nested_kmeans(X, 50, 3, None)
    for n_jobs in (2, 3):
        again, others = nested_kmeans(X, 50, 3, None, n_jobs)
        assert np.array_equal(again, large)
        assert np.array_equal(np.concatenate(others), np.concatenate(parts))


def test_a_center_without_rows_stays_where_it_is():
    """Only two places, but three centers."""
    X = np.repeat([[0.0], [1.0]], 3_000, axis=0)
    found = growing_kmeans(X, 3, 0, None)
    assert set(found.ravel().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("value", [1.7e18, -1e25, 0.1])
@pytest.mark.parametrize("n_clusters", [3, 520])
@pytest.mark.parametrize("n", [2000, 9000])
def test_a_constant_column_changes_nothing(rng, value, n_clusters, n):
    """The mean of equal numbers is not always one of them: 3 * 0.1 / 3 is not 0.1."""
    X = rng.normal(size=(n, 4))
    X[:, 2] = 0.0
    plain = kmeans_centers(X, n_clusters, 0, full=True)
    X[:, 2] = value
    found = kmeans_centers(X, n_clusters, 0, full=True)
    assert (found.centers[:, 2] == value).all()
    assert np.array_equal(found.centers[:, [0, 1, 3]], plain.centers[:, [0, 1, 3]])
    assert np.array_equal(found.assign(X), plain.assign(X * [1.0, 1.0, 0.0, 1.0]))
