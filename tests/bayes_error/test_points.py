"""A strength for every sample, from the labels of its neighbors."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from structsmooth import StructuralSmoother, solve_strengths
from structsmooth.bayes_error.points import Place, fit_points, usual_neighbors
from structsmooth.errors import InvalidInputError
from structsmooth.strengths.solve import strengths_of_others
from structsmooth.support.rowkeys import halves_of_rows, row_keys

# Six points on a line, with obvious neighbors.
LINE = np.array([[0.0], [1.0], [2.1], [10.0], [11.0], [12.1]])
LABELS = np.array([0, 0, 1, 1, 1, 1])


TOGETHER = np.zeros(6, dtype=np.int64)


def on_the_line(clusters=TOGETHER, **options):
    settings = {"n_classes": 2, "n_neighbors": 2, "n_jobs": None}
    keys = row_keys(LINE)
    return fit_points(LINE, LABELS, clusters, keys, **(settings | options))


def neighbors_of(points, rows, clusters):
    """The training rows near new rows."""
    X, clusters = np.array(rows)[:, np.newaxis], np.array(clusters)
    place = points.place(X, clusters, row_keys(X), None)
    assert (place.known == -1).all()
    return place.near


def test_disagreement_is_the_share_of_unequal_pairs_around_a_point():
    # Each of the first three has the same neighborhood, labels 0, 0, 1: two of three
    # pairs are unequal. The others have 1, 1, 1.
    points = on_the_line()
    np.testing.assert_allclose(points.disagreement, [2 / 3] * 3 + [0.0] * 3)
    np.testing.assert_allclose(points.fractions, [2 / 3] * 3 + [0.0] * 3)
    # Above (K-1)/K the bound saturates, at 1/2; but two of three have the same label.
    np.testing.assert_allclose(points.limits, [1 / 3] * 3 + [0.0] * 3)
    np.testing.assert_allclose(points.bayes_error(), [1 / 3] * 3 + [0.0] * 3)
    np.testing.assert_allclose(points.bayes_error_upper(), [1 / 3] * 3 + [0.0] * 3)


@pytest.mark.parametrize("n_classes", [2, 5, 6, 40])  # up to as many as neighbors
def test_the_limit_is_the_error_of_the_most_frequent_label_two_steps_around(
    rng, n_classes
):
    X, y = rng.normal(size=(80, 2)), rng.integers(0, n_classes, size=80)
    clusters = (np.arange(80) < 4).astype(np.int64)  # one with few rows
    points = fit_points(
        X,
        y,
        clusters,
        row_keys(X),
        n_classes=n_classes,
        n_neighbors=5,
        n_jobs=None,
    )
    near = points.neighbors_at(Place(clusters, np.arange(80)), None)

    def around(i):
        return [i, *(j for j in near[i] if j >= 0)]

    for i in range(80):
        labels = [y[k] for j in around(i) for k in around(j)]
        share = np.bincount(labels).max() / len(labels)
        expected = min(1 - 1 / n_classes, 1 - share)
        assert points.limits[i] == pytest.approx(expected, abs=1e-12)
    assert (points.bayes_error() <= points.bayes_error_upper()).all()
    assert (points.bayes_error_upper() <= points.limits).all()


def test_the_mean_over_the_neighborhood_is_taken():
    # With one neighbor: pairs (0,1), (1,0), (2,1), (3,4), (4,3), (5,4), of which only
    # (2,1) is unequal. Means over each pair: 0, 0, (1 + 0) / 2, 0, 0, 0.
    points = on_the_line(n_neighbors=1)
    np.testing.assert_allclose(points.disagreement, [0, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(points.fractions, [0, 0, 0.5, 0, 0, 0])


def test_a_new_row_takes_the_mean_of_its_neighbors():
    # Next to 2.1 and 1.0: disagreements 1 and 0; next to 11 and 10: none.
    points = on_the_line(n_neighbors=1)
    found = points.predict(neighbors_of(points, [2.4, 10.4], [0, 0]))
    # Around 2.1 are itself and 1.0, then 1.0 and 0.0: labels 1 0 0 0.
    assert points.limits[2] == 0.25
    np.testing.assert_allclose(found, [0.25, 0.0])


def test_neighbors_are_those_of_the_cluster():
    # The third point is in a cluster with the last three: its neighbors are 10 and 11,
    # not 0 and 1. The first two have only one neighbor each.
    clusters = np.array([0, 0, 1, 1, 1, 1])
    points = on_the_line(clusters)
    assert points.disagreement.tolist() == [0.0] * 6
    labels = np.array([0, 1, 1, 1, 1, 0])
    points = fit_points(
        LINE,
        labels,
        clusters,
        row_keys(LINE),
        n_classes=2,
        n_neighbors=2,
        n_jobs=None,
    )
    # 2.1 sees 1 1 1; 10 sees 1 1 0, as do 11 and 12.1.
    np.testing.assert_allclose(points.disagreement, [1, 1, 0, 2 / 3, 2 / 3, 2 / 3])
    # Means: of the first two 1; around 2.1 (0 + 2/3 + 2/3) / 3; of the others 2/3.
    np.testing.assert_allclose(points.fractions, [1, 1, 4 / 9, 2 / 3, 2 / 3, 2 / 3])
    # A new row near 2.1 takes 2.1 and 10 in the second cluster, 0 and 1 in the first.
    found = points.predict(neighbors_of(points, [3.0, 3.0], [1, 0]))
    expected = [(1 - np.sqrt(1 - 2 * 1 / 3)) / 2, 0.5]
    np.testing.assert_allclose(found, expected)


def test_a_row_alone_in_its_cluster_disagrees_with_nobody():
    clusters = np.array([0, 0, 0, 0, 0, 1])
    points = on_the_line(clusters)
    assert points.disagreement[5] == points.fractions[5] == 0.0
    found = points.predict(neighbors_of(points, [3.0], [1]))
    assert found.tolist() == [0.0]
    assert np.isfinite(on_the_line(clusters).bayes_error(True)).all()


@pytest.mark.parametrize(
    ("n_samples", "expected"), [(3, 2), (100, 5), (1600, 16), (40_000, 50), (10**6, 50)]
)
def test_the_usual_number_of_neighbors(n_samples, expected):
    assert usual_neighbors(n_samples) == expected


def posterior_of(X):
    return 1.0 / (1.0 + np.exp(-3.0 * X[:, 0]))


def drawn(rng, n):
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, (rng.uniform(size=n) < posterior_of(X)).astype(int)


def test_points_follow_the_true_bayes_error_more_closely_than_clusters(rng):
    X, y = drawn(rng, 3000)
    true = np.minimum(posterior_of(X), 1.0 - posterior_of(X))
    found = {}
    for regions in ("cluster", "point"):
        smoother = StructuralSmoother(regions=regions, random_state=0).fit(X, y)
        found[regions] = smoother.decision_.bayes_error_of_samples(smoother.structure_)
    gap = {name: np.sqrt(np.mean((r - true) ** 2)) for name, r in found.items()}
    assert gap["point"] < 0.8 * gap["cluster"]
    assert gap["point"] < 0.06


def test_strengths_of_points_have_the_exact_mean_and_follow_the_estimates(rng):
    X, y = drawn(rng, 800)
    smoother = StructuralSmoother(0.15, 0.6, regions="point", random_state=0).fit(X, y)
    assert smoother.sample_strengths_.mean() == pytest.approx(0.15, abs=1e-12)
    expected = solve_strengths(
        smoother.structure_.points.bayes_error(),
        np.full(800, 1 / 800),
        0.15,
        0.6,
        n_classes=2,
    )
    np.testing.assert_array_equal(smoother.sample_strengths_, expected)
    # A cluster has the mean of its samples.
    for cluster, strength in enumerate(smoother.strengths_):
        rows = smoother.cluster_labels_ == cluster
        assert strength == pytest.approx(smoother.sample_strengths_[rows].mean())


def test_alpha_auto_is_what_the_trees_of_the_clusters_say(rng):
    X, y = drawn(rng, 500)
    smoother = StructuralSmoother("auto", regions="point", random_state=0).fit(X, y)
    clusters = StructuralSmoother("auto", random_state=0).fit(X, y)
    assert smoother.alpha_ == clusters.alpha_
    assert smoother.alpha_ == pytest.approx(smoother.bayes_error_bounds_.lower)
    assert smoother.sample_strengths_.mean() == pytest.approx(smoother.alpha_)


def test_new_rows_lie_on_the_same_line_and_in_the_same_box():
    bayes_error, weights = np.array([0.0, 0.1, 0.2, 0.4]), np.full(4, 0.25)
    solved = solve_strengths(bayes_error, weights, 0.1, 1.0, n_classes=2)
    # With beta 1 and two classes the slope is 1; the mean 0.1 needs a level of
    # -0.075 before the first is clipped at 0, and (0.4 - 0.7) / 3 = -0.1 after.
    np.testing.assert_allclose(solved, [0.0, 0.0, 0.1, 0.3], atol=1e-12)
    others = strengths_of_others(
        np.array([0.05, 0.3, 0.5]), bayes_error, solved, 0.1, 1.0, n_classes=2
    )
    np.testing.assert_allclose(others, [0.0, 0.2, 0.4], atol=1e-12)
    again = strengths_of_others(bayes_error, bayes_error, solved, 0.1, 1.0, n_classes=2)
    np.testing.assert_allclose(again, solved, atol=1e-12)


def test_where_all_strengths_are_clipped_others_lie_between_them():
    bayes_error, strengths = np.array([0.0, 0.4]), np.array([0.0, 0.0])
    others = strengths_of_others(
        np.array([0.2]), bayes_error, strengths, 0.0, 1.0, n_classes=2
    )
    assert others.tolist() == [0.0]


def test_without_structure_shrunk_points_are_uniform(rng):
    X, y = rng.normal(size=(1500, 3)), rng.integers(0, 3, size=1500)
    smoother = StructuralSmoother(regions="point", shrink=True, random_state=0).fit(
        X, y
    )
    assert smoother.structure_.points.reliability == 0.0
    assert np.ptp(smoother.sample_strengths_) == 0.0
    noisy = StructuralSmoother(regions="point", random_state=0).fit(X, y)
    assert np.ptp(noisy.sample_strengths_) > 0.05


def test_with_structure_little_is_drawn_in(rng):
    X, y = drawn(rng, 2000)
    smoother = StructuralSmoother(regions="point", shrink=True, random_state=0).fit(
        X, y
    )
    assert 0.8 < smoother.structure_.points.reliability < 1.0


def test_halves_have_nothing_to_do_with_labels_or_features(rng):
    X = rng.integers(0, 5, size=(4000, 2)).astype(float)
    labels = (X[:, 0] > 2).astype(int)
    half = halves_of_rows(row_keys(X), labels)
    assert 0.45 < half.mean() < 0.55
    for values in (labels, X[:, 0], X[:, 1]):
        assert abs(np.corrcoef(half, values)[0, 1]) < 0.06
    order = rng.permutation(4000)  # equal rows with equal labels may change places
    moved = halves_of_rows(row_keys(X[order]), labels[order])
    for value in range(25):
        cell = (X[:, 0] == value // 5) & (X[:, 1] == value % 5)
        assert moved[cell[order]].sum() == half[cell].sum()


def test_a_saved_smoother_of_points_is_the_same(rng, tmp_path):
    X, y = drawn(rng, 300)
    smoother = StructuralSmoother(regions="point", shrink=True, random_state=0).fit(
        X, y
    )
    smoother.save(tmp_path / "s")
    loaded = StructuralSmoother.load(tmp_path / "s")
    np.testing.assert_array_equal(loaded.sample_strengths_, smoother.sample_strengths_)
    np.testing.assert_array_equal(loaded.bayes_error_, smoother.bayes_error_)
    new, _ = drawn(rng, 20)
    np.testing.assert_array_equal(
        loaded.predict_strength(new), smoother.predict_strength(new)
    )


def test_the_number_of_jobs_changes_nothing(rng):
    X, y = drawn(rng, 600)
    new, _ = drawn(rng, 50)
    one, two = (
        StructuralSmoother(regions="point", n_jobs=n, random_state=0).fit(X, y)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.sample_strengths_, two.sample_strengths_)
    np.testing.assert_array_equal(one.predict_strength(new), two.predict_strength(new))


@pytest.mark.parametrize("wrong", [0, 400, 2.5, "many"])
def test_a_wrong_number_of_neighbors_is_refused(overlapping, wrong):
    with pytest.raises(InvalidInputError, match="n_neighbors"):
        StructuralSmoother(regions="point", n_neighbors=wrong).fit(*overlapping)


def test_sparse_rows_are_treated_as_dense_ones(rng):
    X, y = drawn(rng, 200)
    options = {"regions": "point", "reducer": "none", "random_state": 0}
    dense = StructuralSmoother(**options).fit(X, y)
    sparse = StructuralSmoother(**options).fit(csr_matrix(X), y)
    np.testing.assert_allclose(sparse.sample_strengths_, dense.sample_strengths_)
    np.testing.assert_allclose(
        sparse.predict_strength(csr_matrix(X[:5] + 0.1)),
        dense.predict_strength(X[:5] + 0.1),
    )


def test_rows_of_a_cluster_that_says_little_follow_the_mean_of_the_others(rng):
    X, y = drawn(rng, 200)
    clusters = (np.arange(200) < 12).astype(np.int64)
    options = {"n_classes": 2, "n_neighbors": 8, "n_jobs": None}
    alone = fit_points(X, y, clusters, row_keys(X), **options)
    told = fit_points(
        X, y, clusters, row_keys(X), counts=clusters == 0, **options
    ).bayes_error()
    mean = alone.bayes_error()[12:].mean()
    np.testing.assert_allclose(told[:12], mean)
    np.testing.assert_array_equal(told[12:], alone.bayes_error()[12:])


def test_as_many_clusters_as_samples_are_still_told_from_samples(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    smoother = StructuralSmoother(
        0.2, regions="point", n_clusters=30, min_cluster_size=1, random_state=0
    ).fit(X, y)
    assert len(smoother.cluster_bounds_) == 30
    expected = np.empty(30)
    expected[smoother.cluster_labels_] = smoother.sample_strengths_
    np.testing.assert_array_equal(smoother.strengths_, expected)


def test_how_far_to_shrink_can_be_found_afterwards(rng):
    X, y = drawn(rng, 500)
    asked = StructuralSmoother(regions="point", shrink=True, random_state=0).fit(X, y)
    later = StructuralSmoother(regions="point", random_state=0).fit(X, y)
    again = StructuralSmoother(regions="point", shrink=True)
    again.fit_structure(later.structure_)
    np.testing.assert_array_equal(again.sample_strengths_, asked.sample_strengths_)
