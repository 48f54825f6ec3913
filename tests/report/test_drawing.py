"""Positions, colors and orders for maps."""

import numpy as np
import pytest
import scipy.sparse as sp

from structsmooth import StructuralSmoother, bayes_error_bounds
from structsmooth.report.drawing import (
    MANY,
    OTHER,
    UNKNOWN,
    class_colors,
    draw_rows,
    order_of_classes,
    overlap_of_classes,
    place_rows,
    project,
)


@pytest.fixture
def crosses():
    """Points on three axes: the variances are 2, 200 and 18 over 6."""
    return np.array(
        [[1, 0, 0], [-1, 0, 0], [0, 10, 0], [0, -10, 0], [0, 0, 3], [0, 0, -3]], float
    )


def test_the_plane_is_that_of_most_variance(crosses):
    positions, shown = project(crosses + 5.0)
    np.testing.assert_allclose(positions, crosses[:, 1:], atol=1e-9)
    assert shown == pytest.approx((200 + 18) / (200 + 18 + 2))


def test_weights_count_rows_as_often(crosses):
    weights = np.array([500, 500, 1, 1, 1, 1], dtype=float)
    positions, _ = project(crosses, weights)  # variances 1000, 200 and 18
    np.testing.assert_allclose(positions, crosses[:, :2], atol=1e-9)


def test_two_features_stay_where_they_are_and_one_becomes_a_line(rng):
    X = rng.normal(size=(5, 2))
    np.testing.assert_array_equal(project(X)[0], X)
    line = project(X[:, :1])[0]
    np.testing.assert_array_equal(line, np.column_stack([X[:, 0], np.zeros(5)]))


def test_sparse_rows_lie_where_dense_ones_do(crosses):
    sparse = project(sp.csr_matrix(crosses))
    np.testing.assert_allclose(sparse[0], project(crosses)[0], atol=1e-9)


def test_wide_sparse_rows_are_not_made_dense():
    wide = sp.lil_matrix((3, 100_000))
    wide[0, 7], wide[1, 99_999], wide[2, 5] = 9.0, 4.0, 1.0
    positions, _ = project(wide.tocsr())
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


def test_overlap_of_a_class_counts_edges_at_both_ends(rng):
    bounds = bayes_error_bounds(rng.normal(size=(60, 2)), np.arange(60) % 4)
    expected = bounds.crossing.sum(axis=1)
    np.testing.assert_array_equal(overlap_of_classes(bounds), expected)


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
    assert (placed.classes == UNKNOWN).all()
    np.testing.assert_allclose(placed.strengths, smoother.predict_strength(other))


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_the_error_of_a_cluster_is_the_mean_of_its_samples(overlapping, regions):
    smoother = StructuralSmoother(random_state=0, regions=regions).fit(*overlapping)
    errors = smoother.decision_.bayes_error_of_samples(smoother.structure_)
    for cluster, error in enumerate(
        smoother.decision_.bayes_error_of_clusters(smoother.structure_)
    ):
        inside = smoother.cluster_labels_ == cluster
        assert error == pytest.approx(errors[inside].mean())
