"""Components without all products: the kernels, and how much variance they hold."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA

from structsmooth.reduce import moments, subspace
from structsmooth.reduce.fit import fit_reduction
from structsmooth.reduce.moments import ArrayMoments
from structsmooth.reduce.reduction import LinearReduction


def rows_with(generator, n_rows, deviations):
    """Return float32 rows with these standard deviations along rotated axes."""
    X = generator.normal(size=(n_rows, len(deviations))) * deviations
    rotation, _ = np.linalg.qr(generator.normal(size=(len(deviations),) * 2))
    return (X @ rotation).astype(np.float32)


def held_by(X, components):
    """Return the variance of the rows along orthonormal components, summed."""
    np.testing.assert_allclose(
        components @ components.T, np.eye(len(components)), atol=1e-12
    )
    centered = X - X.mean(axis=0, dtype=np.float64)
    return np.square(centered @ components.T).sum(axis=0) / len(X)


def most_held(X, count):
    """Return the largest variances that orthogonal directions can hold."""
    covariance = np.cov(X.astype(np.float64).T, bias=True)
    return np.linalg.eigvalsh(covariance)[::-1][:count]


def in_blocks(X, step, weights=None, center=None, factor=None, exponent=0):
    """Return rows that are read so many at a time."""
    n, d = X.shape
    weights = np.ones(n) if weights is None else weights

    def each_block(work):
        parts = (slice(first, first + step) for first in range(0, n, step))
        return (work(X[part], weights[part]) for part in parts)

    center = np.zeros(d) if center is None else center
    factor = np.ones(d) if factor is None else factor
    return subspace._Rows(each_block, exponent, center, factor)


# Around the sizes of tiles (8 rows, 32 columns) and of parts (128 rows).
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "d", "width"),
    [(1, 1, 1), (7, 31, 3), (8, 32, 32), (129, 33, 33), (300, 130, 65)],
)
def test_times_scatter_is_the_product(n, d, width, dtype):
    random = np.random.default_rng(n)
    # Numbers of so few bits that float32 holds all sums of products.
    rows = random.integers(-3, 4, (n, d)).astype(dtype)
    center = random.integers(-1, 2, d).astype(float)
    factor = 2.0 ** random.integers(0, 2, d)
    directions = random.integers(-2, 3, (d, width)).astype(float)
    weights = random.integers(1, 4, n).astype(float)
    found = in_blocks(rows, 200, weights, center, factor).times_scatter(directions)
    moved = (rows.astype(np.float64) - center) * factor
    expected = moved.T @ (weights[:, np.newaxis] * (moved @ directions))
    np.testing.assert_array_equal(found, expected)


def test_a_sketch_has_every_row_in_one_sum_with_either_sign():
    sketch = in_blocks(np.eye(4000), 4000).sketch(250)
    assert sketch.shape == (250, 4000)
    assert (np.count_nonzero(sketch, axis=0) == 1).all()
    signs = sketch.sum(axis=0)
    assert set(signs.tolist()) == {-1.0, 1.0}
    # Sixteen rows in a sum on average.
    sizes = np.count_nonzero(sketch, axis=1)
    assert 0 < sizes.min() < sizes.max() < 40
    assert abs(signs.sum()) < 4 * np.sqrt(4000)


def test_a_sketch_does_not_depend_on_blocks(rng):
    X, weights = rng.normal(size=(1000, 7)), rng.uniform(0.5, 2.0, 1000)
    whole = in_blocks(X, 1000, weights).sketch(60)
    np.testing.assert_array_equal(in_blocks(X, 33, weights).sketch(60), whole)


def test_a_sketch_has_a_row_of_weight_three_as_often_as_three_rows(rng):
    X, weights = rng.normal(size=(500, 7)), rng.integers(1, 4, 500)
    repeated = in_blocks(np.repeat(X, weights, axis=0), 999).sketch(30)
    weighted = in_blocks(X, 999, weights.astype(float)).sketch(30)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def test_the_order_of_the_rows_hardly_matters(rng):
    X = rows_with(rng, 3000, np.arange(1.0, 601.0) ** -0.5)
    order = rng.permutation(3000)
    one = fit_reduction(X, n_components=30)
    other = fit_reduction(X[order], n_components=30)
    np.testing.assert_allclose(one.components, other.components, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "least"), [("steep", 0.9995), ("slow", 0.99), ("equal", 0.9)]
)
def test_components_hold_nearly_as_much_as_any(rng, kind, least):
    """How near depends on how fast the variance falls."""
    deviations = {
        "steep": np.r_[np.geomspace(20.0, 2.0, 20), np.full(580, 0.3)],
        "slow": np.arange(1.0, 601.0) ** -0.5,
        "equal": np.ones(600),
    }[kind]
    X = rows_with(rng, 6000, deviations)
    reduction = fit_reduction(X, n_components=40)
    held = held_by(X, reduction.components)
    assert least < held.sum() / most_held(X, 40).sum() <= 1.0 + 1e-6
    if kind == "steep":
        np.testing.assert_allclose(held[:20], most_held(X, 20), rtol=1e-4)


def test_shares_are_those_of_the_components(rng):
    X = rows_with(rng, 5000, np.geomspace(9.0, 0.1, 700)) + np.float32(3.0)
    found = ArrayMoments(X, 0)
    center, variance = found.mean_and_variance(0)
    np.testing.assert_allclose(center, X.mean(axis=0, dtype=float), rtol=1e-10)
    np.testing.assert_allclose(variance, X.var(axis=0, dtype=float), rtol=1e-10)
    components, shares = found.principal_components(LinearReduction(center), 50)
    expected = held_by(X, components) / variance.sum()
    np.testing.assert_allclose(shares, expected, rtol=0.03)
    assert (shares <= expected * (1.0 + 1e-5)).all()  # they are never overstated
    assert (np.diff(shares) <= 0.0).all()


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e30, 1e250, 1e-250])
def test_directions_that_stand_out_are_found_whatever_the_unit(rng, size):
    X = rows_with(rng, 900, np.r_[[9.0, 7.0, 5.0, 3.0], np.full(596, 0.01)])
    X = (X + 4.0).astype(np.float64) * size
    got = fit_reduction(X)
    assert got.components.shape == (4, 600)
    expected = PCA(4, svd_solver="full").fit_transform(X / size)
    kept = got.transform(X) * (2.0**got.exponent / size)
    np.testing.assert_allclose(pdist(kept), pdist(expected), rtol=1e-4)


def test_a_few_rows_far_away_are_not_missed(rng):
    """Three rows of 6 000 with a direction of their own, which no sample may have."""
    X = rows_with(rng, 6000, np.r_[np.full(30, 3.0), np.full(570, 0.3)])
    away = np.linalg.qr(rng.normal(size=(600, 1)))[0][:, 0]
    X[[10, 3000, 5990]] += np.float32(60.0) * away.astype(np.float32)
    components = fit_reduction(X, n_components=40).components
    assert np.linalg.norm(components @ away) > 0.95


def test_columns_in_other_units_count_alike_when_they_are_scaled(rng):
    X = rows_with(rng, 3000, np.r_[[9.0, 6.0], np.full(598, 0.05)])
    units = 10.0 ** rng.integers(-12, 13, 600)
    plain = fit_reduction(X, "scaled-pca")
    scaled = fit_reduction(X * units, "scaled-pca")
    assert len(scaled.components) == len(plain.components) == 2
    np.testing.assert_allclose(
        pdist(scaled.transform(X * units)[:300]),
        pdist(plain.transform(X)[:300]),
        rtol=1e-4,
    )


@pytest.mark.parametrize(("n_rows", "rank"), [(40, 600), (3000, 5), (2, 600)])
def test_fewer_directions_than_components_that_are_asked_for(rng, n_rows, rank):
    X = rows_with(rng, n_rows, np.r_[np.full(rank, 3.0), np.zeros(600 - rank)])
    count = min(n_rows, 20)
    components = fit_reduction(X, n_components=count).components
    assert components.shape == (count, 600)
    held = held_by(X, components).sum()
    assert held == pytest.approx(most_held(X, count).sum(), rel=0.01)


@pytest.mark.filterwarnings("ignore::structsmooth.errors.FeatureScaleWarning")
@pytest.mark.parametrize("deviation", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("kind", ["direction", "column", "row", "brightness"])
def test_one_large_direction_does_not_hide_the_others(rng, kind, deviation):
    X = rows_with(rng, 3000, np.r_[np.full(19, 3.0), np.full(581, 0.3)])
    X = X.astype(np.float64)
    if kind == "row":
        X[17] *= deviation
    else:
        along = np.eye(600)[5] if kind == "column" else np.ones(600) / 600**0.5
        along = rng.normal(size=600) / 600**0.5 if kind == "direction" else along
        X += deviation * np.outer(rng.normal(size=3000), along)
    held = held_by(X, fit_reduction(X, n_components=20).components)
    best = most_held(X, 20)
    assert held[0] == pytest.approx(best[0], rel=1e-6)
    assert held[1:].sum() > 0.999 * best[1:].sum()


def test_all_variances_may_be_too_small_for_float64(rng):
    X = 1e-200 * rng.normal(size=(50, 600))
    X[:, 0] = 1.0
    components = fit_reduction(X, "scaled-pca", 3).components
    np.testing.assert_allclose(components @ components.T, np.eye(3), atol=1e-12)


def test_weights_stand_for_repeated_rows(rng):
    X = rows_with(rng, 2500, np.arange(1.0, 601.0) ** -0.5)
    weights = rng.integers(1, 4, 2500)
    weighted = fit_reduction(X, n_components=20, weights=weights)
    repeated = fit_reduction(np.repeat(X, weights, axis=0), n_components=20)
    np.testing.assert_allclose(
        weighted.components, repeated.components, rtol=0.0, atol=1e-5
    )


@pytest.mark.parametrize("rank", [1, 5, 30])
def test_directions_without_variance_have_no_share(rng, rank):
    X = rows_with(rng, 3000, np.r_[np.full(rank, 3.0), np.zeros(600 - rank)])
    found = ArrayMoments(X, 0)
    center, _ = found.mean_and_variance(0)
    components, shares = found.principal_components(LinearReduction(center), 50)
    assert shares[:rank].sum() == pytest.approx(1.0, abs=1e-6)
    assert np.abs(shares[rank:]).max() < 1e-9
    np.testing.assert_allclose(components @ components.T, np.eye(50), atol=1e-12)


def test_threads_and_the_layout_change_no_bit(rng):
    X = rows_with(rng, 7000, np.geomspace(5.0, 0.1, 600))  # in four blocks
    one = fit_reduction(X, n_jobs=1)
    for data in (X, np.asfortranarray(X), X.astype(np.float64)):
        other = fit_reduction(data, n_jobs=2)
        np.testing.assert_array_equal(other.center, one.center)
        np.testing.assert_array_equal(other.components, one.components)
        np.testing.assert_array_equal(other.transform(data, 2), one.transform(X))


def test_many_components_of_few_features_are_exact(rng):
    X = rows_with(rng, 2000, np.geomspace(5.0, 0.5, 600))
    held = held_by(X, fit_reduction(X, n_components=100).components)
    np.testing.assert_allclose(held, most_held(X, 100), rtol=1e-9)


def test_a_constant_column_has_no_share(rng):
    X = rows_with(rng, 1000, np.geomspace(5.0, 0.1, 600)).astype(np.float64)
    X[:, 7] = 1e12
    components = fit_reduction(X, n_components=10).components
    assert np.abs(components[:, 7]).max() < 1e-9


def test_it_ends_when_another_turn_would_add_little(rng, monkeypatch):
    """One turn by the rows where variance falls fast, more where it does not."""
    turns = []
    real = subspace._Rows.times_scatter
    monkeypatch.setattr(
        subspace._Rows,
        "times_scatter",
        lambda self, directions: turns.append(1) or real(self, directions),
    )
    X = rows_with(rng, 3000, np.r_[np.ones(30), np.full(570, 0.01)])
    fit_reduction(X, n_components=30)
    of_sketch = subspace.TURNS
    assert len(turns) == of_sketch + 1
    turns.clear()
    fit_reduction(rows_with(rng, 3000, np.arange(1.0, 601.0) ** -0.5))
    assert of_sketch + 1 < len(turns) <= of_sketch + subspace.MOST_TURNS


def test_products_and_directions_agree_where_either_will_do(rng, monkeypatch):
    X = rows_with(rng, 4000, np.r_[np.geomspace(20.0, 5.0, 8), np.full(592, 0.2)])
    by_directions = fit_reduction(X, n_components=8).transform(X)
    monkeypatch.setattr(moments, "MANY_FEATURES", 1000)
    by_products = fit_reduction(X, n_components=8).transform(X)
    assert not np.array_equal(by_directions, by_products)
    np.testing.assert_allclose(
        pdist(by_directions[:300]), pdist(by_products[:300]), rtol=1e-4
    )
