"""Clusters: the rule for their number, merging, new rows, any clusterer."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.cluster import (
    DBSCAN,
    AgglomerativeClustering,
    Birch,
    KMeans,
    MiniBatchKMeans,
)
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from structsmooth.cluster.assign import NearestCenter, NestedCenters
from structsmooth.cluster.clusterers import resolve_n_clusters
from structsmooth.cluster.kmeans import growing_kmeans
from structsmooth.cluster.regions import fit_regions
from structsmooth.errors import InvalidInputError, MergedClustersWarning

CENTERS = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])


@pytest.fixture
def blobs(rng):
    group = np.arange(150) % 3
    return rng.normal(size=(150, 2)) + CENTERS[group], group


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "paper"),
    [
        (12_000, 2, 32),
        (1_000_000, 2, 128),
        (73_257, 10, 80),
        (50_000, 10, 64),
        (50_000, 100, 48),
    ],
)
def test_auto_lands_near_the_papers_choices(n_rows, n_classes, paper):
    assert 0.75 < resolve_n_clusters("auto", n_rows, n_classes) / paper < 1.25


@pytest.mark.parametrize(("n_rows", "expected"), [(2, 1), (99, 1), (150, 3), (500, 10)])
def test_auto_leaves_small_data_enough_rows_a_cluster(n_rows, expected):
    assert resolve_n_clusters("auto", n_rows, 2) == expected


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "expected"),
    [
        (1_000_000, 2, 150),
        (2_000_000, 2, 424),  # 150 * 2^1.5 = 424.3
        (11_000_000, 2, 5472),  # 150 * 11^1.5 = 5472.4
        (11_000_000, 5000, 220),  # ten rows per class
        (20_000_000, 2, 10_000),  # two thousand rows per cluster
        (100_000_000, 2, 16_384),
        (10**13, 2, 32_317),  # 1.5 n^(1/3) again
    ],
)
def test_auto_keeps_clusters_small_above_a_million_rows(n_rows, n_classes, expected):
    assert resolve_n_clusters("auto", n_rows, n_classes) == expected


def test_a_mixture_has_no_thousands_of_components():
    assert resolve_n_clusters("auto", 11_000_000, 2, "gmm") == 334  # 1.5 n^(1/3)


@pytest.mark.parametrize(
    "clusterer",
    [
        "kmeans",
        "gmm",
        AgglomerativeClustering(3),
        Birch(n_clusters=3),
        GaussianMixture(3),
        DBSCAN(eps=3.0),
    ],
)
def test_every_clusterer_finds_the_blobs_and_assigns_new_rows(rng, blobs, clusterer):
    X, group = blobs
    named = isinstance(clusterer, str)
    regions = fit_regions(
        X, clusterer, 3 if named else "auto", n_classes=2, random_state=0
    )
    assert adjusted_rand_score(group, regions.labels) == 1.0
    assert np.array_equal(regions.assign(X), regions.labels)
    new = regions.assign(CENTERS + rng.normal(size=(3, 2)))
    assert len(set(new)) == 3
    assert new.tolist() == [regions.labels[group == g][0] for g in range(3)]


def test_noise_joins_the_nearest_cluster(blobs):
    X = np.vstack([blobs[0], [[20.0, 7.5], [0.0, -9.0]]])
    regions = fit_regions(X, DBSCAN(eps=3.0), n_classes=2)
    assert regions.n_regions == 3
    assert regions.labels[150] == regions.labels[1]
    assert regions.labels[151] == regions.labels[0]


def test_nothing_but_noise_is_one_region(blobs):
    regions = fit_regions(blobs[0], DBSCAN(eps=1e-9), n_classes=2)
    assert regions.n_regions == 1


def test_small_clusters_join_their_nearest_neighbor_and_it_is_said(blobs):
    X = np.vstack([blobs[0], [[20.0, 9.0]] * 4])
    said = (
        "^1 of 4 clusters had fewer than 10 rows and was merged into its nearest "
        "neighbor, 3 remain; min_cluster_size=1 keeps all clusters$"
    )
    with pytest.warns(MergedClustersWarning, match=said):
        regions = fit_regions(X, AgglomerativeClustering(4), n_classes=2)
    several = "^3 of 4 clusters .* were merged into their .*, 1 remains; "
    with pytest.warns(MergedClustersWarning, match=several):
        fit_regions(X, AgglomerativeClustering(4), n_classes=2, min_cluster_size=len(X))
    assert regions.n_merged == 1
    assert regions.n_regions == 3
    assert (regions.labels[150:] == regions.labels[1]).all()
    assert np.array_equal(regions.assign(X), regions.labels)
    expected = np.vstack([X[1:150:3], X[150:]]).mean(axis=0)
    np.testing.assert_allclose(regions.centers[regions.labels[1]], expected)


def test_min_cluster_size_one_keeps_every_cluster(blobs):
    X = np.vstack([blobs[0], [[99.0, 99.0]]])
    regions = fit_regions(
        X, AgglomerativeClustering(4), n_classes=2, min_cluster_size=1
    )
    assert sorted(np.bincount(regions.labels)) == [1, 50, 50, 50]


def test_regions_are_numbered_without_gaps(rng):
    X = rng.normal(size=(300, 2))
    with pytest.warns(MergedClustersWarning):
        regions = fit_regions(X, "kmeans", 40, n_classes=2, random_state=0)
    counts = np.bincount(regions.labels)
    assert counts.min() >= 10
    assert len(counts) == regions.n_regions == len(regions.centers)


def test_n_clusters_reaches_a_clusterer_of_the_users(blobs):
    regions = fit_regions(blobs[0], KMeans(8, n_init=1), 3, n_classes=2, random_state=0)
    assert regions.n_regions == 3


def by_two_steps(X, large, first, centers):
    """As documented, in plain NumPy."""
    part = cdist(X, large).argmin(axis=1)
    return np.array(
        [
            first[p] + cdist(row[np.newaxis], centers[first[p] : first[p + 1]]).argmin()
            for p, row in zip(part, X, strict=True)
        ]
    )


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_nested_centers_are_compared_within_the_nearest_large_cluster(rng, n_jobs):
    large = np.array([[-9.0, 0.0], [0.0, 0.0], [9.0, 9.0], [99.0, 0.0]])
    first = np.array([0, 3, 4, 30, 32])  # nothing is near the last
    centers = rng.normal(size=(32, 2)) + np.repeat(large, np.diff(first), axis=0)
    X = 6.0 * rng.normal(size=(700, 2))
    nested = NestedCenters(large, first, centers)
    expected = by_two_steps(X, large, first, centers)
    assert nested.n_clusters == 32
    assert np.array_equal(nested.assign(X, n_jobs), expected)
    assert np.array_equal(nested.assign(sp.csr_matrix(X), n_jobs), expected)
    assert np.array_equal(nested.assign(X[:1]), expected[:1])
    assert nested.assign(X[:0]).tolist() == []
    # Of all centers another one is nearer to some of the rows.
    assert not np.array_equal(cdist(X, centers).argmin(axis=1), expected)


def test_many_clusters_are_nested_and_new_rows_assigned_alike(rng, monkeypatch):
    monkeypatch.setattr("structsmooth.cluster.clusterers.MANY_CLUSTERS", 30)
    X = rng.normal(size=(6_000, 3))
    regions = fit_regions(
        X, "kmeans", 40, n_classes=2, min_cluster_size=1, random_state=0, n_jobs=2
    )
    nested = regions.assigner
    assert isinstance(nested, NestedCenters)
    assert len(nested.large) == 6  # the square root of 40
    assert regions.n_regions == nested.n_clusters == 40
    expected = by_two_steps(X, nested.large, nested.first, nested.centers)
    assert np.array_equal(regions.labels, expected)
    assert np.array_equal(regions.assign(X), regions.labels)
    few = fit_regions(X, "kmeans", 30, n_classes=2, random_state=0)
    assert isinstance(few.assigner, NearestCenter)


def test_of_many_rows_a_sample_is_clustered(rng, monkeypatch):
    import structsmooth.cluster.clusterers as module

    used = []

    def watched(X, *others):
        used.append(len(X))
        return growing_kmeans(X, *others)

    monkeypatch.setattr(module, "growing_kmeans", watched)
    for name, rows in (("FULL_KMEANS", 500), ("BATCH_SAMPLE", 300), ("FEW_ROWS", 100)):
        monkeypatch.setattr(module, name, rows)
    regions = fit_regions(rng.normal(size=(4000, 2)), "kmeans", 4, n_classes=2)
    assert used == [4 * 128]
    assert len(regions.labels) == 4000
    assert regions.n_regions == 4


def test_many_sparse_rows_take_mini_batches(rng, monkeypatch):
    import structsmooth.cluster.clusterers as module

    used = []

    class Watched(MiniBatchKMeans):
        def fit(self, X, sample_weight=None):
            used.append(X.shape[0])
            return super().fit(X, sample_weight=sample_weight)

    monkeypatch.setattr("sklearn.cluster.MiniBatchKMeans", Watched)
    monkeypatch.setattr(module, "FULL_KMEANS", 500)
    monkeypatch.setattr(module, "BATCH_SAMPLE", 300)
    X = sp.csr_matrix(rng.normal(size=(4000, 2)))
    regions = fit_regions(X, "kmeans", 4, n_classes=2)
    assert used == [4 * 128]
    assert regions.n_regions == 4


def test_sparse_rows_cluster_like_dense_ones(blobs):
    X, group = blobs
    regions = fit_regions(sp.csr_matrix(X), "kmeans", 3, n_classes=2, random_state=0)
    assert adjusted_rand_score(group, regions.labels) == 1.0


@pytest.mark.parametrize("n", [400, 6000])
def test_kmeans_does_not_depend_on_the_order_of_rows(rng, n):
    X = rng.normal(size=(n, 3))
    order = rng.permutation(n)
    plain = fit_regions(X, "kmeans", 7, n_classes=2, random_state=3)
    shuffled = fit_regions(X[order], "kmeans", 7, n_classes=2, random_state=3)
    assert adjusted_rand_score(plain.labels[order], shuffled.labels) == 1.0


@pytest.mark.parametrize(
    ("clusterer", "n_clusters", "message"),
    [
        ("spectral", "auto", "clusterer must be 'kmeans', 'gmm' or a scikit-learn"),
        (None, "auto", "clusterer must be"),
        ("kmeans", 151, "n_clusters must not exceed the 150 rows of X, got 151"),
        ("kmeans", 0, "n_clusters must be a whole number of at least 1"),
        ("kmeans", 2.5, "n_clusters must be a whole number"),
        ("kmeans", "many", "n_clusters must be a whole number or 'auto'"),
        (DBSCAN(), 3, "DBSCAN has no such parameter"),
    ],
)
def test_bad_settings_are_refused(blobs, clusterer, n_clusters, message):
    with pytest.raises(InvalidInputError, match=message):
        fit_regions(blobs[0], clusterer, n_clusters, n_classes=2)


def test_bad_min_cluster_size_is_refused(blobs):
    with pytest.raises(InvalidInputError, match="min_cluster_size must be a whole"):
        fit_regions(blobs[0], n_classes=2, min_cluster_size=0)


def test_a_cluster_without_training_rows_can_be_met_by_a_new_row():
    from structsmooth.cluster.regions import _merge_small

    X = np.repeat([[0.0], [10.0]], 20, axis=0)
    assigner = NearestCenter(np.array([[0.0], [10.0], [99.0]]))
    regions = _merge_small(X, assigner, assigner.assign(X), min_size=5, weights=None)
    assert regions.assign(np.array([[98.0], [1.0]])).tolist() == [1, 0]
