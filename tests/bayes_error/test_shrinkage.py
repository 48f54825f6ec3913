"""Shrinkage: structure is kept, noise is not."""

from dataclasses import replace

import numpy as np
import pytest

from census import GivenClusters, census_like
from structsmooth import StructuralSmoother, bayes_error_bounds, shrink_bounds
from structsmooth.bayes_error.shrinkage import lower_bounds_that_count
from structsmooth.errors import InvalidInputError


def region(crossing_fraction, n_effective, n_classes=2):
    """A region with only the attributes that shrinkage reads."""
    some = bayes_error_bounds([[0.0], [1.0]], [0, 1], n_classes=n_classes)
    return replace(some, crossing_fraction=crossing_fraction, n_effective=n_effective)


def test_the_estimate_of_dersimonian_and_laird_by_hand():
    # Three regions of 100 effective edges, fractions 0.1, 0.2, 0.6. Their mean is 0.3,
    # the sampling variance 0.3 * 0.7 / 100 = 0.0021. The squared distances 0.04, 0.01,
    # 0.09 sum to 0.14, over 0.0021 that is 66.67, 2 d.o.f. With equal precisions p the
    # scale is 3p - p = 2p, so the variance between is (66.67 - 2) 0.0021 / 2 = 0.0679.
    shrunk = shrink_bounds([region(f, 100.0) for f in (0.1, 0.2, 0.6)])
    assert shrunk.center == pytest.approx(0.3)
    assert shrunk.spread**2 == pytest.approx(0.0679)
    factor = 0.0679 / (0.0679 + 0.0021)
    np.testing.assert_allclose(shrunk.factors, factor)
    fractions = 0.3 + factor * np.array([-0.2, -0.1, 0.3])
    expected = 0.5 * (1.0 - np.sqrt(1.0 - 2.0 * fractions.clip(max=0.5)))
    np.testing.assert_allclose(shrunk.bayes_error, expected)
    # chi2 with 2 degrees of freedom: the p-value is exp(-x / 2).
    assert shrunk.p_value == pytest.approx(np.exp(-66.6666667 / 2), rel=1e-6)


def test_a_small_region_is_drawn_in_further():
    shrunk = shrink_bounds([region(0.05, 1000.0), region(0.4, 1000.0), region(0.4, 10)])
    assert shrunk.factors[0] == shrunk.factors[1] > shrunk.factors[2]
    assert shrunk.bayes_error[0] < shrunk.bayes_error[2] < shrunk.bayes_error[1]


def test_differences_that_may_be_chance_are_none():
    # 0.10 and 0.14 with 100 edges each: the mean is 0.12, the variance 0.001056, the
    # squared distances 2 * 0.0004: 0.76 with 1 degree of freedom, far from 3.84.
    shrunk = shrink_bounds([region(0.10, 100.0), region(0.14, 100.0)])
    assert shrunk.spread == 0.0
    assert not shrunk.factors.any()
    assert shrunk.bayes_error[0] == shrunk.bayes_error[1]
    assert 0.3 < shrunk.p_value < 0.5


@pytest.mark.parametrize("fractions", [[0.2], [0.0, 0.0], [1.0, 1.0]])
def test_where_there_is_nothing_to_compare_nothing_differs(fractions):
    shrunk = shrink_bounds([region(f, 50.0, n_classes=3) for f in fractions])
    assert (shrunk.spread, shrunk.p_value) == (0.0, 1.0)
    assert np.ptp(shrunk.bayes_error) == 0.0


def test_no_region_is_an_error():
    with pytest.raises(InvalidInputError, match="needs at least one region, got none"):
        shrink_bounds([])


def test_without_structure_smoothing_becomes_uniform(rng):
    X = rng.normal(size=(1000, 2))
    y = rng.integers(0, 2, size=1000)  # the same everywhere
    smoother = StructuralSmoother(shrink=True, n_clusters=16, random_state=0).fit(X, y)
    assert np.ptp(smoother.sample_strengths_) == 0.0
    assert smoother.sample_strengths_[0] == pytest.approx(0.05)
    noisy = StructuralSmoother(n_clusters=16, random_state=0).fit(X, y)
    assert np.ptp(noisy.sample_strengths_) > 0.05


def test_structure_stays(overlapping):
    X, y = overlapping
    kept = StructuralSmoother(n_clusters=4, random_state=0).fit(X, y)
    shrunk = StructuralSmoother(n_clusters=4, shrink=True, random_state=0).fit(X, y)
    assert shrunk.decision_.shrinkage.p_value < 1e-6
    assert shrunk.decision_.shrinkage.factors.min() > 0.8
    assert np.corrcoef(kept.strengths_, shrunk.strengths_)[0, 1] > 0.999
    assert shrunk.sample_strengths_.mean() == pytest.approx(0.05)
    np.testing.assert_array_equal(kept.bayes_error_lower_, shrunk.bayes_error_lower_)


def test_a_saved_smoother_is_shrunk_as_before(overlapping, tmp_path):
    X, y = overlapping
    smoother = StructuralSmoother(n_clusters=4, shrink=True, random_state=0).fit(X, y)
    smoother.save(tmp_path / "s")
    loaded = StructuralSmoother.load(tmp_path / "s")
    np.testing.assert_array_equal(loaded.bayes_error_, smoother.bayes_error_)
    assert loaded.decision_.shrinkage.p_value == smoother.decision_.shrinkage.p_value


def test_shrink_is_true_or_false(overlapping):
    with pytest.raises(
        InvalidInputError, match="shrink must be True or False, got 'no'"
    ):
        StructuralSmoother(shrink="no").fit(*overlapping)


@pytest.mark.parametrize("options", [{}, {"shrink": True}, {"regions": "point"}])
@pytest.mark.parametrize("seed", range(5))
def test_no_handful_of_rows_has_the_largest_strength_by_chance(options, seed):
    X, y, clusters = census_like(seed)
    smoother = StructuralSmoother(clusterer=GivenClusters(clusters), **options)
    smoother.fit(X, y)
    largest = smoother.cluster_bounds_[np.argmax(smoother.strengths_)]
    mean = smoother.bayes_error_bounds_.lower
    assert largest.n_samples >= 30 or not (
        largest.interval[0] <= mean <= largest.interval[1]
    )


def test_a_small_region_that_may_be_like_the_others_gets_their_mean():
    # Two regions of 40 rows, where none or some of the edges cross, and one of six rows
    # where two of four free edges cross. Its interval is wide, and contains the mean.
    X = (np.arange(40.0) ** 2)[:, np.newaxis]
    clean = bayes_error_bounds(X, [0] * 20 + [1] * 20)
    mixed = bayes_error_bounds(X, ([0] * 4 + [1]) * 8)
    small = bayes_error_bounds(X[:6], [0, 1, 0, 0, 1, 1])
    assert small.lower > mixed.lower > clean.lower == 0.0
    found = lower_bounds_that_count([clean, mixed, small])
    assert found[:2].tolist() == [clean.lower, mixed.lower]
    assert found[2] == pytest.approx(mixed.lower / 2)


def test_a_small_region_that_is_clearly_different_keeps_its_own():
    # Ten rows of one class, while other regions mix: no error is possible there.
    X = (np.arange(40.0) ** 2)[:, np.newaxis]
    mixed = bayes_error_bounds(X, ([0] * 4 + [1]) * 8)
    pure = bayes_error_bounds(X[:10], [0] * 10, n_classes=2)
    assert lower_bounds_that_count([mixed, pure]).tolist() == [mixed.lower, 0.0]


def test_where_most_rows_are_in_small_regions_all_of_them_count():
    X = (np.arange(12.0) ** 2)[:, np.newaxis]
    some = bayes_error_bounds(X, [0, 0, 0, 1, 0, 1] * 2)
    other = bayes_error_bounds(X, [0] * 6 + [1] * 6)
    expected = [some.lower, other.lower]
    assert lower_bounds_that_count([some, other]).tolist() == expected
