"""Figures: what is drawn, on which axes."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from structsmooth import StructuralSmoother
from structsmooth.bayes_error.ranking import order_of_regions
from structsmooth.errors import InvalidInputError
from structsmooth.plot import (
    plot_class_overlap,
    plot_clusters,
    plot_map,
    plot_strengths,
)

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _no_figure_stays():
    yield
    plt.close("all")


@pytest.fixture(params=["cluster", "point"])
def fitted(overlapping, request):
    X, y = overlapping
    return StructuralSmoother(random_state=0, regions=request.param).fit(X, y)


@pytest.fixture
def hundred(rng):
    y = np.repeat(np.arange(100), 30)
    X = rng.normal(size=(100, 5))[y] * 3 + rng.normal(size=(3000, 5))
    names = np.array([f"class ${k}_" for k in range(100)])
    return (
        StructuralSmoother(random_state=0, n_clusters=5).fit(X, names[y]),
        X,
        names[y],
    )


@pytest.mark.parametrize(
    "draw", [plot_map, plot_strengths, plot_class_overlap, plot_clusters]
)
def test_figures_are_drawn_on_the_axes_given_and_returned(fitted, draw):
    _, ax = plt.subplots()
    assert draw(fitted, ax=ax) is ax
    assert len(plt.get_fignums()) == 1
    new = draw(fitted)
    assert new is not ax
    new.figure.canvas.draw()


@pytest.mark.parametrize(
    "draw", [plot_map, plot_strengths, plot_class_overlap, plot_clusters]
)
def test_a_smoother_that_is_not_fitted_is_refused(draw):
    with pytest.raises(ValueError, match="not fitted"):
        draw(StructuralSmoother())


def test_the_map_has_a_mark_for_each_row_in_the_color_of_its_class(fitted, overlapping):
    X, y = overlapping
    ax = plot_map(fitted, X, y)
    first, second = ax.collections
    np.testing.assert_array_equal(first.get_offsets(), X[y == 0])
    np.testing.assert_array_equal(second.get_offsets(), X[y == 1])
    assert to_hex(first.get_facecolor()[0]) != to_hex(second.get_facecolor()[0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]


@pytest.mark.parametrize("color", ["bayes_error", "strength"])
def test_the_map_colors_rows_by_value(fitted, overlapping, color):
    X, _ = overlapping
    ax = plot_map(fitted, X, color=color)
    (drawn,) = ax.collections
    values = fitted.sample_strengths_
    if color == "bayes_error":
        values = fitted.decision_.bayes_error_of_samples(fitted.structure_)
    expected = {tuple(point): value for point, value in zip(X, values, strict=True)}
    for point, value in zip(drawn.get_offsets(), drawn.get_array(), strict=True):
        assert expected[tuple(point)] == value
    assert len(ax.child_axes) == 1
    assert len(plot_map(fitted, X, color=color, legend=False).child_axes) == 0


def test_without_rows_the_map_has_a_mark_for_each_cluster(fitted, overlapping):
    X, y = overlapping
    first, second = (part.get_offsets() for part in plot_map(fitted).collections)
    groups = [fitted.cluster_labels_ == c for c in range(len(fitted.strengths_))]
    centers = {tuple(X[rows].mean(axis=0)): y[rows].mean() > 0.5 for rows in groups}
    for center, is_second in centers.items():
        marks = second if is_second else first
        assert np.isclose(marks, center).all(axis=1).sum() == 1
    (drawn,) = plot_map(fitted, color="strength").collections
    assert sorted(drawn.get_array()) == pytest.approx(sorted(fitted.strengths_))
    areas = drawn.get_sizes() / drawn.get_sizes().sum()
    assert sorted(areas) == pytest.approx(sorted(fitted.cluster_weights_))


def test_of_many_classes_eight_have_a_color_and_the_rest_is_gray(hundred):
    smoother, X, y = hundred
    ax = plot_map(smoother, X, y, max_rows=1000)
    assert len(ax.collections) == 9
    assert sum(len(part.get_offsets()) for part in ax.collections) == 1000
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[0] == "92 others"
    ax.figure.canvas.draw()  # a dollar sign does not start a formula


def test_a_map_refuses_what_it_cannot_color(fitted, overlapping):
    X, y = overlapping
    with pytest.raises(InvalidInputError, match="needs the labels y"):
        plot_map(fitted, X)
    with pytest.raises(InvalidInputError, match="color must be one of"):
        plot_map(fitted, X, y, color="red")
    with pytest.raises(InvalidInputError, match="y was given without X"):
        plot_map(fitted, y=y)
    with pytest.raises(InvalidInputError, match="same length"):
        plot_map(fitted, X, y[:-1])


def test_strengths_stand_over_bayes_errors_beside_the_uniform_line(fitted):
    ax = plot_strengths(fitted)
    marks = ax.collections[-1]
    expected = np.column_stack([fitted.bayes_error_lower_, fitted.strengths_])
    np.testing.assert_allclose(marks.get_offsets(), expected)
    ratio = marks.get_sizes() / fitted.cluster_weights_
    np.testing.assert_allclose(ratio, ratio[0])
    (line,) = ax.lines
    assert set(line.get_ydata()) == {fitted.alpha_}
    intervals = [part[:, 0] for part in ax.collections[0].get_segments()]
    expected = [bounds.lower_interval for bounds in fitted.cluster_bounds_]
    np.testing.assert_allclose(intervals, expected)


def test_clusters_are_sorted_by_what_is_certain_of_their_bayes_error(fitted):
    ax = plot_clusters(fitted)
    bounds = [part[:, 0] for part in ax.collections[1].get_segments()]
    order = order_of_regions(fitted.cluster_bounds_)[::-1]
    both = (fitted.bayes_error_lower_[order], fitted.bayes_error_upper_[order])
    np.testing.assert_allclose(bounds, np.column_stack(both))
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(c) for c in order]


def test_the_heat_map_shows_crossing_counts_of_all_or_of_one_cluster(fitted):
    (image,) = plot_class_overlap(fitted).images
    total = sum(bounds.crossing for bounds in fitted.cluster_bounds_)
    np.testing.assert_array_equal(image.get_array(), total)
    (image,) = plot_class_overlap(fitted, cluster=1).images
    np.testing.assert_array_equal(image.get_array(), fitted.cluster_bounds_[1].crossing)
    with pytest.raises(InvalidInputError, match="cluster must be a whole number from"):
        plot_class_overlap(fitted, cluster=99)


def test_a_heat_map_of_many_classes_keeps_every_edge(hundred):
    smoother = hundred[0]
    ax = plot_class_overlap(smoother)
    counts = np.asarray(ax.images[0].get_array())
    assert counts.sum() == 2 * smoother.bayes_error_bounds_.crossing_counts.sum()
    assert len(ax.get_xticks()) == 0


def test_without_matplotlib_one_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "try:\n    import structsmooth.plot\n"
        "except ImportError as error:\n    print(error)"
    )
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert got.stdout.endswith("needs matplotlib: pip install matplotlib\n")
