"""Reduction: the documented rule, and the same distances as scikit-learn's PCA."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import StandardScaler

from structsmooth.errors import FeatureScaleWarning, InvalidInputError
from structsmooth.reduce.fit import fit_reduction
from structsmooth.reduce.moments import mean_and_products
from structsmooth.support.products import scatter_of


def spectrum(generator, n_rows, deviations):
    """Return rows with these standard deviations along rotated axes."""
    X = generator.normal(size=(n_rows, len(deviations))) * deviations
    rotation, _ = np.linalg.qr(generator.normal(size=(len(deviations),) * 2))
    return X @ rotation


def test_up_to_32_features_stay_as_they_are(rng):
    X = rng.normal(size=(50, 32))
    assert fit_reduction(X).transform(X) is X


def test_more_features_keep_95_percent_of_the_variance(rng):
    # Six wide directions hold 6/(6 + 34 * 0.001) of the variance.
    X = spectrum(rng, 2000, np.r_[np.ones(6), np.full(34, np.sqrt(0.001))])
    assert fit_reduction(X).transform(X).shape == (2000, 6)


def test_at_most_64_components_are_kept(rng):
    X = rng.normal(size=(300, 200))
    assert fit_reduction(X).transform(X).shape == (300, 64)


def test_n_components_is_obeyed_and_equals_scikit_learn(rng):
    X = spectrum(rng, 200, np.linspace(5, 1, 40)) + 3.0
    got = fit_reduction(X, "pca", 5).transform(X)
    expected = PCA(5).fit_transform(X)
    np.testing.assert_allclose(pdist(got), pdist(expected), rtol=1e-9)


def test_scaled_pca_gives_unit_variance_first(rng):
    X = rng.normal(size=(150, 6)) * [1, 10, 100, 1e3, 1e4, 1e5]
    got = fit_reduction(X, "scaled-pca").transform(X)
    expected = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(pdist(got), pdist(expected), rtol=1e-9)


@pytest.mark.parametrize("reducer", ["pca", "scaled-pca", "none"])
@pytest.mark.parametrize("n_features", [10, 60])
def test_sparse_and_dense_give_the_same_distances(rng, reducer, n_features):
    X = sp.random_array((120, n_features), density=0.2, rng=rng, format="csr")
    dense = fit_reduction(X.toarray(), reducer).transform(X.toarray())
    sparse = fit_reduction(X, reducer).transform(X)
    if sp.issparse(sparse):
        sparse = sparse.toarray()
    np.testing.assert_allclose(pdist(sparse), pdist(dense), rtol=1e-7, atol=1e-9)


def test_sparse_text_like_data_of_many_features(rng):
    X = sp.random_array((100, 5000), density=0.01, rng=rng, format="csr")
    assert fit_reduction(X, random_state=0).transform(X).shape == (100, 64)


def test_many_dense_features_use_a_truncated_decomposition(rng):
    X = spectrum(rng, 80, np.r_[np.full(3, 10.0), np.full(97, 0.1)])
    wide = np.tile(X, 30)  # 3 000 features, still three directions
    got = fit_reduction(wide, random_state=0).transform(wide)
    assert got.shape == (80, 3)
    np.testing.assert_allclose(pdist(got), pdist(PCA(3).fit_transform(wide)), rtol=1e-6)


def test_a_transformer_is_cloned_and_used(rng):
    X = rng.normal(size=(60, 9))
    reducer = TruncatedSVD(n_components=2)
    got = fit_reduction(X, reducer, 3, random_state=0).transform(X)
    assert got.shape == (60, 3)
    assert not hasattr(reducer, "components_")


def test_float32_is_reduced_in_float64_and_otherwise_left_as_it_is(rng):
    X = rng.normal(size=(100, 50)).astype(np.float32)
    assert fit_reduction(X).transform(X).dtype == np.float64
    assert fit_reduction(X[:, :20]).transform(X[:, :20]).dtype == np.float32


def test_a_large_offset_does_not_spoil_the_components(rng):
    X = spectrum(rng, 300, np.r_[np.full(4, 10.0), np.full(46, 0.1)])
    near = fit_reduction(X).transform(X)
    far = fit_reduction(X + 1e6).transform(X + 1e6)
    np.testing.assert_allclose(pdist(far), pdist(near), rtol=1e-5)


def test_units_that_drown_the_rest_are_pointed_out(rng):
    X = rng.normal(size=(50, 5)) * [1, 1, 5000, 1, 1]
    with pytest.warns(FeatureScaleWarning, match="feature 2 of X varies .* times"):
        fit_reduction(X)


@pytest.mark.parametrize(
    ("reducer", "n_components", "message"),
    [
        ("tsne", None, "reducer must be 'pca', 'scaled-pca', 'none'"),
        (3, None, "reducer must be"),
        ("pca", 0, "n_components must be a whole number from 1 to 4, got 0"),
        ("pca", 5, "n_components must be a whole number from 1 to 4, got 5"),
        ("pca", 1.5, "n_components must be a whole number"),
        ("none", 2, "n_components must be None without a reducer"),
        (StandardScaler(), 2, "StandardScaler has no such parameter"),
    ],
)
def test_bad_settings_are_refused(rng, reducer, n_components, message):
    with pytest.raises(InvalidInputError, match=message):
        fit_reduction(rng.normal(size=(9, 4)), reducer, n_components)


@pytest.mark.parametrize("reducer", ["pca", "scaled-pca", "none", PCA(1)])
def test_constant_features_are_refused(reducer):
    with pytest.raises(InvalidInputError, match="constant in every feature"):
        fit_reduction(np.full((8, 3), 0.1), reducer)


def test_threads_and_the_rows_around_a_row_change_no_bit(rng):
    X = rng.normal(size=(30000, 40)) * np.geomspace(1, 9, 40)  # in three blocks
    one, two = (fit_reduction(X, "scaled-pca", n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.components, two.components)
    np.testing.assert_array_equal(one.scale, two.scale)
    few = slice(12345, 12350)
    np.testing.assert_array_equal(one.transform(X)[few], one.transform(X[few]))


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_mean_and_products_in_one_pass_lose_no_digits(rng, offset):
    """Sorted rows, so that the first block is far from the mean of all."""
    X = np.sort(rng.normal(size=(6000, 40)), axis=0) * np.geomspace(1e-3, 1e3, 40)
    X += offset
    shift = X[:500].mean(axis=0)
    blocks = (X[start : start + 500] for start in range(0, len(X), 500))
    mean, scatter = mean_and_products(
        shift, len(X), (scatter_of(b, shift) for b in blocks)
    )
    exact = X.astype(np.longdouble)
    expected = exact.mean(axis=0)
    centered = exact - expected
    np.testing.assert_allclose(mean, expected.astype(float), rtol=1e-14, atol=1e-12)
    products = (centered.T @ centered).astype(float)
    size = np.sqrt(np.outer(np.diag(products), np.diag(products)))
    assert np.abs(scatter - products).max() > 0.0  # float64 has rounded
    assert (np.abs(scatter - products) / size).max() < 1e-11


def test_no_rows_are_reduced_to_none(rng):
    reduction = fit_reduction(rng.normal(size=(50, 40)), n_components=3)
    assert reduction.transform(np.empty((0, 40))).shape == (0, 3)
