"""Positions, colors and drawing order of maps."""

import numpy as np
import pytest
import scipy.sparse as sp

from structsmooth import StructuralSmoother
from structsmooth.report.drawing.ordering import order_of_classes
from structsmooth.report.drawing.palette import (
    MANY,
    OTHER,
    class_colors,
    overlap_of_classes,
)
from structsmooth.report.drawing.placing import place_clusters, place_rows
from structsmooth.report.drawing.projection import draw_rows, fit_projection


@pytest.fixture
def crosses():
    """Points on three axes: the variances are 2, 200 and 18 over 6."""
    return np.array(
        [[1, 0, 0], [-1, 0, 0], [0, 10, 0], [0, -10, 0], [0, 0, 3], [0, 0, -3]], float
    )


def test_the_plane_is_that_of_most_variance(crosses):
    projection = fit_projection(crosses + 5.0)
    np.testing.assert_allclose(projection.directions, [[0, 1, 0], [0, 0, 1]], atol=1e-9)
    assert projection.variance_shown == pytest.approx((200 + 18) / (200 + 18 + 2))
    np.testing.assert_allclose(
        projection.place(crosses + 5.0), crosses[:, 1:], atol=1e-9
    )


def test_weights_count_rows_as_often(crosses):
    weights = np.array([500, 500, 1, 1, 1, 1], dtype=float)
    projection = fit_projection(crosses, weights)  # variances 1000, 200 and 18
    np.testing.assert_allclose(projection.directions, [[1, 0, 0], [0, 1, 0]], atol=1e-9)


def test_two_features_stay_where_they_are_and_one_becomes_a_line(rng):
    X = rng.normal(size=(5, 2))
    np.testing.assert_array_equal(fit_projection(X).place(X), X)
    line = fit_projection(X[:, :1]).place(X[:, :1])
    np.testing.assert_array_equal(line, np.column_stack([X[:, 0], np.zeros(5)]))


def test_sparse_rows_lie_where_dense_ones_do(crosses):
    dense, sparse = fit_projection(crosses), fit_projection(sp.csr_matrix(crosses))
    np.testing.assert_allclose(
        sparse.place(sp.csr_matrix(crosses)), dense.place(crosses), atol=1e-9
    )


def test_wide_sparse_rows_are_not_made_dense():
    wide = sp.csr_matrix((3, 100_000))
    wide = wide.tolil()
    wide[0, 7], wide[1, 99_999], wide[2, 5] = 9.0, 4.0, 1.0
    positions = fit_projection(wide.tocsr()).place(wide.tocsr())
    positions -= positions[2]
    np.testing.assert_allclose(positions, [[9, 0], [0, 4], [0, 0]], atol=1e-9)


def test_drawn_rows_are_all_or_so_many_different_ones():
    assert draw_rows(5, 10).tolist() == [0, 1, 2, 3, 4]
    drawn = draw_rows(1000, 10)
    assert len(set(drawn.tolist())) == 10
    assert drawn.tolist() == sorted(drawn.tolist())
    assert np.array_equal(drawn, draw_rows(1000, 10))


def test_up_to_ten_classes_have_colors_of_their_own():
    for n_classes in (2, 7, 8, 10):
        colors = class_colors(np.ones(n_classes))
        assert None not in colors
        assert len(set(colors)) == n_classes


def test_of_more_classes_the_eight_largest_have_colors():
    counts = np.zeros(100)
    counts[90:98] = 5.0
    colors = class_colors(counts)
    assert [k for k, color in enumerate(colors) if color] == list(range(90, 98))
    assert colors[90:98] == list(MANY[:8])


# Full color blindness of three kinds, in linear RGB (Machado and others, 2009).
BLIND = {
    "none": np.eye(3),
    "green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(color, blindness):
    """Return a color as it is perceived, in CIE L*a*b*."""
    shares = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(
        shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4
    )
    seen = np.clip(np.array(blindness) @ linear, 0.0, 1.0)
    to_xyz = [
        [0.4124, 0.3576, 0.1805],
        [0.2126, 0.7152, 0.0722],
        [0.0193, 0.1192, 0.9505],
    ]
    x = np.array(to_xyz) @ seen / [0.9505, 1.0, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("blindness", list(BLIND))
@pytest.mark.parametrize("n_classes", [2, 7, 10, 100])
def test_color_blind_readers_can_tell_classes_apart(n_classes, blindness):
    colors = [c for c in class_colors(np.arange(n_classes)) if c]
    if n_classes > 10:
        colors.append(OTHER)
    seen = [lab(color, BLIND[blindness]) for color in colors]
    gaps = [
        np.linalg.norm(seen[i] - seen[j]) for i in range(len(seen)) for j in range(i)
    ]
    assert min(gaps) > 15.0  # 2.3 is a just noticeable difference


def test_overlap_of_a_class_counts_edges_at_both_ends():
    found = overlap_of_classes(np.array([[0, 1], [1, 2]]), np.array([3.0, 4.0]), 4)
    assert found.tolist() == [3.0, 7.0, 4.0, 0.0]


def test_few_classes_keep_their_order():
    assert order_of_classes(np.ones((12, 12))).tolist() == list(range(12))


def test_classes_that_overlap_stand_together():
    crossing = np.zeros((14, 14))
    for k in range(7):  # 0 with 13, 1 with 12, ...
        crossing[k, 13 - k] = crossing[13 - k, k] = 10.0
    order = order_of_classes(crossing).tolist()
    assert sorted(order) == list(range(14))
    for k in range(7):
        assert abs(order.index(k) - order.index(13 - k)) == 1


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_rows_of_the_fit_have_the_strengths_of_the_fit(overlapping, regions):
    X, y = overlapping
    smoother = StructuralSmoother(random_state=0, regions=regions).fit(X, y)
    placed = place_rows(smoother, X, y, 100)
    assert len(placed.rows) == 100
    np.testing.assert_array_equal(placed.positions, X[placed.rows])
    np.testing.assert_array_equal(placed.classes, y[placed.rows])
    np.testing.assert_array_equal(
        placed.strengths, smoother.sample_strengths_[placed.rows]
    )
    expected = smoother.decision_.bayes_error_of_samples(smoother.structure_)[
        placed.rows
    ]
    np.testing.assert_array_equal(placed.errors, expected)


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_other_rows_have_predicted_strengths(overlapping, regions):
    X, y = overlapping
    smoother = StructuralSmoother(random_state=0, regions=regions).fit(X, y)
    other = X[::-1][:50] + 0.01
    placed = place_rows(smoother, other, None, 100)
    assert placed.classes is None
    np.testing.assert_allclose(placed.strengths, smoother.predict_strength(other))


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_a_cluster_is_placed_at_its_center_with_its_largest_class(overlapping, regions):
    X, y = overlapping
    smoother = StructuralSmoother(random_state=0, regions=regions).fit(X, y)
    placed = place_clusters(smoother)
    for cluster in range(len(smoother.strengths_)):
        inside = smoother.cluster_labels_ == cluster
        np.testing.assert_allclose(placed.positions[cluster], X[inside].mean(axis=0))
        assert placed.classes[cluster] == (y[inside].mean() > 0.5)
        error = smoother.decision_.bayes_error_of_samples(smoother.structure_)[
            inside
        ].mean()
        assert placed.errors[cluster] == pytest.approx(error)
