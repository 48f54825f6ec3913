"""Bounds on the Bayes error, from hand-counted trees and an independent library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import assert_possible
from structsmooth import (
    bayes_error_bounds,
    combine_bounds,
    henze_penrose_divergence,
)
from structsmooth.bayes_error.inequalities import lower_bounds
from structsmooth.bayes_error.regions import bounds_of_regions
from structsmooth.errors import InvalidInputError

# A line with gaps 1, 2, 3, 4, 5: the tree joins neighbors.
LINE = np.array([[0.0], [1.0], [3.0], [6.0], [10.0], [15.0]])


def test_crossing_matrix_by_hand():
    # Labels 0 1 1 2 0 0: the edges join 01, 11, 12, 20, 00.
    expected = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    bounds = bayes_error_bounds(LINE, [0, 1, 1, 2, 0, 0])
    assert bounds.crossing.tolist() == expected


def test_three_class_bounds_by_hand():
    # Three of five edges cross, two of them forced: one in three.
    bounds = bayes_error_bounds(LINE, [0, 1, 1, 2, 0, 0])
    assert bounds.upper == pytest.approx(1 / 3)
    assert bounds.lower == pytest.approx(2 / 3 * (1 - np.sqrt(1 - 1.5 / 3)))
    assert bounds.n_samples == 6
    assert bounds.n_classes == 3
    assert bounds.class_counts.tolist() == [3, 2, 1]


def test_raw_count_keeps_the_forced_edges():
    bounds = bayes_error_bounds(LINE, [0, 1, 1, 2, 0, 0], correct_forced_edges=False)
    assert bounds.upper == 0.5
    assert bounds.lower == pytest.approx(2 / 3 * (1 - np.sqrt(1 - 0.75)))


def test_separated_classes_have_bayes_error_zero():
    bounds = bayes_error_bounds(LINE, ["a", "a", "b", "b", "c", "c"])
    assert (bounds.lower, bounds.upper) == (0.0, 0.0)
    assert bounds.crossing.sum() == 4


def test_one_class_or_one_point_has_bayes_error_zero():
    assert bayes_error_bounds(LINE, ["only"] * 6).upper == 0.0
    assert bayes_error_bounds([[1.0]], [0]).upper == 0.0


def test_bounds_saturate_where_labels_are_noise():
    # Alternating labels: all five edges cross; one is forced and four are free.
    bounds = bayes_error_bounds(LINE, [0, 1, 0, 1, 0, 1])
    assert bounds.crossing_fraction == 1.0
    assert (bounds.lower, bounds.upper) == (0.5, 0.5)


def test_nothing_exceeds_the_error_of_the_most_frequent_class():
    # Twelve rows, nine of them in one class, labels 0 0 0 1 0 0 0 1 0 0 0 1: five edges
    # cross, one is forced, so the share is 4/10, and the lower bound 0.2764 at 1/2.
    X = (np.arange(12.0) ** 2)[:, np.newaxis]
    bounds = bayes_error_bounds(X, [0, 0, 0, 1] * 3)
    assert bounds.crossing_fraction == pytest.approx(0.4)
    assert bounds.crossing_interval[1] > 0.6
    assert bounds.trivial_error == 0.25
    assert (bounds.lower, bounds.upper) == (0.25, 0.25)
    for low, high in (bounds.interval, bounds.lower_interval, bounds.upper_interval):
        assert low <= high <= 0.25


def test_rows_that_all_have_a_class_of_their_own_say_nothing():
    # Every edge is forced, so nothing is left to count.
    bounds = bayes_error_bounds(LINE, [0, 1, 2, 3, 4, 5])
    assert (bounds.lower, bounds.upper) == (0.0, 0.0)
    assert bounds.interval == (0.0, pytest.approx(5 / 6))


@pytest.mark.parametrize("n_classes", [2, 10, 100, 500])
def test_random_labels_have_the_error_of_guessing(n_classes):
    # The mean over five draws; the truth is (K-1)/K.
    found = []
    for seed in range(5):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(2000, 2))
        y = generator.permutation(np.arange(2000) % n_classes)
        found.append(bayes_error_bounds(X, y).upper)
    assert np.mean(found) == pytest.approx(1 - 1 / n_classes, abs=0.02)


@pytest.mark.parametrize("n_classes", [2, 10, 100, 500])
def test_separated_classes_have_none_however_many_there_are(rng, n_classes):
    y = np.repeat(np.arange(n_classes), 2000 // n_classes)
    centers = 1000.0 * np.stack([y % 25, y // 25], axis=1)
    bounds = bayes_error_bounds(centers + rng.normal(size=(2000, 2)), y)
    assert (bounds.lower, bounds.upper) == (0.0, 0.0)


@given(
    seed=st.integers(0, 2**20),
    n=st.integers(2, 60),
    n_classes=st.integers(2, 40),
    skew=st.floats(0.0, 3.0),
    raw=st.booleans(),
)
def test_bounds_are_ordered_and_limited(seed, n, n_classes, skew, raw):
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.ones(n_classes) * np.exp(-skew))
    y = generator.choice(n_classes, size=n, p=shares)
    X = generator.normal(size=(n, 2)) + generator.uniform(0, 2) * y[:, np.newaxis]
    halves = [np.arange(n) % 2 == 0, np.arange(n) % 2 == 1]
    regions = [
        bayes_error_bounds(
            X[rows], y[rows], n_classes=n_classes, correct_forced_edges=not raw
        )
        for rows in halves
    ]
    for bounds in (*regions, combine_bounds(regions)):
        assert_possible(bounds)


def test_missing_classes_count_with_the_whole_task():
    two = bayes_error_bounds(LINE, [0, 1, 0, 0, 0, 0])
    of_ten = bayes_error_bounds(LINE, [0, 1, 0, 0, 0, 0], n_classes=10)
    assert of_ten.crossing.shape == (10, 10)
    # Two crossing edges, one of them forced, and four that are free: 1/4. Five of six
    # rows have one class, so the Bayes error is 1/6 at most.
    assert of_ten.crossing_fraction == two.crossing_fraction == pytest.approx(1 / 4)
    assert of_ten.upper == two.upper == pytest.approx(1 / 6)
    assert two.lower == pytest.approx(0.5 * (1 - np.sqrt(1 - 2 / 4)))
    assert of_ten.lower == pytest.approx(0.9 * (1 - np.sqrt(1 - 10 / 9 / 4)))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_equals_dataeval(rng, n_classes):
    dataeval = pytest.importorskip("dataeval.core")
    y = rng.integers(0, n_classes, size=300)
    X = rng.normal(size=(300, 4)) + 0.8 * y[:, np.newaxis]
    X = X.astype(np.float32)
    expected = dataeval.ber_mst(X, y)
    # Version 0.1.0 subtracts forced edges from the crossing ones, but not from all.
    bounds = bayes_error_bounds(X, y)
    forced_kept = bounds.crossing_fraction * (300 - n_classes) / 300
    assert forced_kept == pytest.approx(expected["upper_bound"], abs=1e-12)
    raw = lower_bounds(np.array(forced_kept), n_classes)
    assert raw == pytest.approx(expected["lower_bound"], abs=1e-12)


def test_henze_penrose_divergence_by_hand():
    # Of classes a, b the points 0, 1, 3, 10 with labels a b a a: two crossing edges.
    X, y = LINE[[0, 1, 2, 3, 4, 5]], np.array(list("abacac"))
    raw = henze_penrose_divergence(X, y, correct_forced_edges=False)
    assert raw[0, 1] == pytest.approx(1 - 2 * 4 / (2 * 3 * 1))
    # Of a, c the points 0, 3, 6, 10, 15 with labels a a c a c: three.
    assert raw[0, 2] == pytest.approx(1 - 3 * 5 / (2 * 3 * 2))
    # Of b, c the points 1, 6, 15 with labels b c c: one, which is forced.
    assert raw[1, 2] == pytest.approx(1 - 1 * 3 / (2 * 1 * 2))
    corrected = henze_penrose_divergence(X, y)
    assert corrected[1, 2] == 1.0
    # Of a, c two of the three edges that are not forced: 1 - 2/3 * 25 / (2 * 3 * 2).
    assert corrected[0, 2] == pytest.approx(1 - 2 / 3 * 25 / 12)
    assert np.array_equal(raw, raw.T)


def test_divergence_of_one_class_is_refused():
    with pytest.raises(InvalidInputError, match="only one class"):
        henze_penrose_divergence(LINE, [1] * 6)


def test_tie_average_of_an_isosceles_triangle():
    # Rows 0 and 1 (class 0) are close; row 2 (class 1) is as far from one as from the
    # other. Either way one edge crosses, so ties move the tree but not the count.
    X = [[0.0, -1.0], [0.0, 1.0], [9.0, 0.0]]
    bounds = bayes_error_bounds(
        X, [0, 0, 1], ties="average", correct_forced_edges=False
    )
    assert bounds.crossing[0, 1] == 1.0
    assert bounds.tied_fraction == 0.5


def test_tie_average_lies_between_the_extremes_of_row_orders(rng):
    X = rng.integers(0, 6, size=(300, 2)).astype(float)
    y = rng.integers(0, 2, size=300)
    counts = []
    for _ in range(40):
        order = rng.permutation(300)
        counts.append(bayes_error_bounds(X[order], y[order]).crossing[0, 1])
    averaged = bayes_error_bounds(X, y, ties="average")
    assert min(counts) < averaged.crossing[0, 1] < max(counts)
    spread = np.std(counts)
    assert abs(averaged.crossing[0, 1] - np.mean(counts)) < 4 * spread / np.sqrt(16)
    assert averaged.tied_fraction > 0.5


def test_continuous_data_have_no_ties(rng):
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    assert bayes_error_bounds(X, y, ties="average").tied_fraction == 0.0
    assert bayes_error_bounds(X, y, ties="average").crossing.dtype == np.int64


def test_intervals_enclose_the_bounds_and_grow_with_confidence(rng):
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 2)) + y[:, np.newaxis]
    narrow = bayes_error_bounds(X, y, confidence=0.5)
    wide = bayes_error_bounds(X, y, confidence=0.99)
    assert wide.interval[0] < narrow.interval[0] < narrow.lower
    assert narrow.upper < narrow.interval[1] < wide.interval[1]
    assert narrow.lower_interval[0] < narrow.lower < narrow.lower_interval[1]


def test_no_crossing_does_not_mean_certainty():
    two = bayes_error_bounds(LINE, [0, 0, 0, 1, 1, 1])
    assert two.interval[0] == 0.0
    assert two.interval[1] > 0.3
    one = bayes_error_bounds(LINE, [0] * 6)
    assert one.crossing_interval[1] > 0.3
    assert one.interval == (0.0, 0.0)  # with one class no error is possible


def test_whole_is_the_weighted_mean_of_its_regions():
    # Two of six free edges cross; none of six.
    X = (np.arange(8.0) ** 2)[:, np.newaxis]
    a = bayes_error_bounds(X, [0, 0, 0, 0, 1, 0, 1, 1], confidence=0.5)
    b = bayes_error_bounds(X, [0, 0, 1, 1, 1, 1, 1, 1], confidence=0.5)
    whole = combine_bounds([a, b])
    assert whole.upper == pytest.approx(1 / 6)
    assert whole.lower == pytest.approx((a.lower + b.lower) / 2)
    assert whole.n_samples == 16
    assert np.array_equal(whole.crossing, a.crossing + b.crossing)
    assert whole.class_counts.tolist() == [7, 9]
    # Distances to the limits add in quadrature, each region with half the weight.
    reach = np.hypot(a.crossing_interval[1] - 2 / 6, b.crossing_interval[1]) / 2
    assert whole.interval[1] == pytest.approx(1 / 6 + reach)


def test_the_whole_is_limited_by_its_own_classes_not_by_those_of_its_regions():
    # All free edges cross in both. In each region one class has two rows of three, so
    # 1/3 is the limit there; together the classes are equal, and the limit is 1/2.
    X = np.array([[0.0], [1.0], [3.0]])
    a, b = bayes_error_bounds(X, [0, 1, 0]), bayes_error_bounds(X, [1, 0, 1])
    assert a.upper == b.upper == pytest.approx(1 / 3)
    whole = combine_bounds([a, b])
    assert whole.upper == 0.5
    assert whole.lower == pytest.approx(1 / 3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_regions_are_bounded_one_by_one(rng, n_jobs):
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 3, 120)
    region_of = rng.integers(0, 5, 120)
    together = bounds_of_regions(
        X,
        y,
        region_of,
        n_classes=3,
        correct_forced_edges=True,
        ties="index",
        confidence=0.9,
        n_jobs=n_jobs,
    )
    for region, bounds in enumerate(together):
        rows = region_of == region
        alone = bayes_error_bounds(X[rows], y[rows], n_classes=3, confidence=0.9)
        assert bounds.upper == alone.upper
        assert bounds.interval == alone.interval


@given(seed=st.integers(0, 2**20), scale=st.sampled_from([1e-6, 0.3, 7.0, 1e9]))
def test_invariant_to_rotation_translation_scaling(seed, scale):
    generator = np.random.default_rng(seed)
    X, y = generator.normal(size=(60, 4)), generator.integers(0, 3, 60)
    rotation, _ = np.linalg.qr(generator.normal(size=(4, 4)))
    moved = scale * (X @ rotation + generator.normal(size=4))
    assert bayes_error_bounds(moved, y).crossing.tolist() == (
        bayes_error_bounds(X, y).crossing.tolist()
    )


@given(seed=st.integers(0, 2**20))
def test_invariant_to_order_of_rows_and_names_of_classes(seed):
    generator = np.random.default_rng(seed)
    X, y = generator.normal(size=(60, 3)), generator.integers(0, 3, 60)
    order = generator.permutation(60)
    names = np.array(["z", "m", "a"])  # sorted in reverse
    renamed = bayes_error_bounds(X[order], names[y[order]])
    plain = bayes_error_bounds(X, y)
    assert renamed.lower == plain.lower
    assert np.array_equal(renamed.crossing[::-1, ::-1], plain.crossing)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"ties": "random"}, "ties must be one of 'index', 'average', got 'random'"),
        ({"confidence": 1.5}, "confidence must be a number between 0 and 1"),
        ({"n_classes": 1}, "n_classes must be a whole number"),
        ({"n_classes": 2}, "class numbers 0 to 1"),
    ],
)
def test_bad_parameters_are_refused(keywords, message):
    with pytest.raises(InvalidInputError, match=message):
        bayes_error_bounds(LINE, [0, 1, 2, 0, 1, 2], **keywords)


def test_mismatched_lengths_are_refused():
    with pytest.raises(InvalidInputError, match="X has 6 rows, y has 5 labels"):
        bayes_error_bounds(LINE, [0, 1, 0, 1, 0])
