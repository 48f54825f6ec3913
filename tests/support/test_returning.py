"""Fitted rows get the strength they had in fit; rows far away get a finite one."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.cluster import (
    DBSCAN,
    AgglomerativeClustering,
    Birch,
    BisectingKMeans,
    MiniBatchKMeans,
)

from structsmooth import StructuralSmoother
from structsmooth.cluster.nearest import within_reach
from structsmooth.support.rowkeys import row_keys

N = 600


def continuous(rng):
    y = rng.integers(0, 3, size=N)
    return rng.normal(size=(N, 4)) + 0.8 * y[:, np.newaxis], y


def repeated(rng):
    """Rows that occur many times, with different labels."""
    return rng.integers(0, 3, size=(N, 3)).astype(float), rng.integers(0, 3, size=N)


def wide(rng):
    """Return more features than are kept, so that PCA is used."""
    y = rng.integers(0, 3, size=N)
    return rng.normal(size=(N, 70)) + 0.4 * y[:, np.newaxis], y


def sparse(rng):
    X, y = wide(rng)
    return csr_matrix(np.where(X > 0.7, X, 0.0)), y


def single_precision(rng):
    X, y = continuous(rng)
    return X.astype(np.float32), y


@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
@pytest.mark.parametrize("make", [continuous, repeated, wide, sparse, single_precision])
@pytest.mark.parametrize("regions", ["cluster", "point"])
@pytest.mark.parametrize("spread", ["even", "overlap"])
@pytest.mark.parametrize("shrink", [False, True])
def test_fitted_rows_get_what_they_had(make, regions, spread, shrink, rng):
    X, y = make(rng)
    smoother = StructuralSmoother(
        regions=regions, spread=spread, shrink=shrink, random_state=0
    )
    soft = smoother.fit_smooth(X, y)
    some = rng.permutation(N)[:37]
    for rows in (np.arange(N), some):
        strengths = smoother.predict_strength(X[rows])
        np.testing.assert_array_equal(strengths, smoother.sample_strengths_[rows])
        again = smoother.soft_labels(X[rows], y[rows])
        np.testing.assert_array_equal(again, soft[rows])


@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
@pytest.mark.parametrize("regions", ["cluster", "point"])
@pytest.mark.parametrize("make", [continuous, repeated])
@pytest.mark.parametrize(
    "clusterer",
    [
        "gmm",
        DBSCAN(eps=0.9),
        AgglomerativeClustering(8),
        Birch(n_clusters=8),
        BisectingKMeans(8),
        MiniBatchKMeans(8, n_init=1),
    ],
    ids=lambda clusterer: getattr(clusterer, "__class__", clusterer).__name__,
)
def test_whatever_the_clusterer(clusterer, make, regions, rng):
    X, y = make(rng)
    smoother = StructuralSmoother(clusterer=clusterer, regions=regions, random_state=0)
    soft = smoother.fit_smooth(X, y)
    strengths = smoother.predict_strength(X)
    np.testing.assert_array_equal(strengths, smoother.sample_strengths_)
    np.testing.assert_array_equal(smoother.soft_labels(X, y), soft)


def test_after_loading_and_in_another_type_they_are_still_known(rng, tmp_path):
    X, y = single_precision(rng)
    smoother = StructuralSmoother(regions="point", random_state=0).fit(X, y)
    smoother.save(tmp_path / "s")
    loaded = StructuralSmoother.load(tmp_path / "s")
    for rows in (X, X.astype(np.float64), csr_matrix(X)):
        strengths = loaded.predict_strength(rows)
        np.testing.assert_array_equal(strengths, smoother.sample_strengths_)


def test_a_row_beside_a_fitted_one_is_a_new_one(rng):
    X, y = continuous(rng)
    smoother = StructuralSmoother(regions="point", random_state=0).fit(X, y)
    moved = smoother.predict_strength(X + 1e-9)
    # It counts the fitted row, with its label, among its neighbors.
    assert np.abs(moved - smoother.sample_strengths_).max() > 1e-6


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_the_order_of_rows_changes_nothing(regions, rng):
    X, y = continuous(rng)
    order = rng.permutation(N)
    settings = {"regions": regions, "shrink": True, "random_state": 0}
    one = StructuralSmoother(**settings).fit(X, y)
    two = StructuralSmoother(**settings).fit(X[order], y[order])
    np.testing.assert_allclose(
        two.sample_strengths_, one.sample_strengths_[order], rtol=1e-12, atol=1e-15
    )


def test_keys_are_the_same_for_equal_rows_only(rng):
    X = rng.integers(-1, 2, size=(500, 4)).astype(float)
    X[X == 0] = -0.0
    keys = row_keys(X)
    same = (X[:, np.newaxis] == X[np.newaxis]).all(axis=2)
    np.testing.assert_array_equal(keys[:, np.newaxis] == keys[np.newaxis], same)
    np.testing.assert_array_equal(row_keys(csr_matrix(X)), keys)
    np.testing.assert_array_equal(row_keys(X.astype(np.float32)), keys)
    np.testing.assert_array_equal(row_keys(np.asfortranarray(X)), keys)
    assert (keys != 0).all()


@pytest.mark.parametrize("regions", ["cluster", "point"])
@pytest.mark.parametrize("clusterer", ["kmeans", "gmm"])
def test_far_from_all_data_the_direction_decides(clusterer, regions, rng):
    X, y = continuous(rng)
    smoother = StructuralSmoother(
        clusterer=clusterer, regions=regions, n_clusters=6, random_state=0
    ).fit(X, y)
    direction = rng.normal(size=(20, 4))
    far, further, beyond = (
        smoother.predict_strength(scale * direction) for scale in (1e13, 1e150, 1e300)
    )
    np.testing.assert_array_equal(further, far)
    np.testing.assert_array_equal(beyond, far)


def test_only_rows_out_of_reach_are_drawn_nearer():
    points = np.array([[0.0, 0.0], [4.0, 0.0]])
    rows = np.array([[1.0, 2.0], [0.0, 4e12], [0.0, -8e12], [8e300, 0.0]])
    expected = [[1.0, 2.0], [0.0, 4e12], [2.0, -4e12], [2.0 + 4e12, 0.0]]
    np.testing.assert_array_equal(within_reach(rows, points), expected)
    np.testing.assert_array_equal(within_reach(rows[:2], points), rows[:2])
