"""AUGRC by hand, over all orders of ties, and against AUROC and torch-uncertainty."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from structsmooth.errors import InvalidInputError
from structsmooth.metrics import (
    area_under_generalized_risk_coverage,
    area_under_risk_coverage,
    risk_at_coverage,
)


def with_confidences(confidences, wrong):
    """Two classes, so that each sample has this confidence and is right or wrong."""
    return np.where(wrong, 0, 1), np.asarray(confidences, dtype=float)


def area_of(wrong):
    """Area under the polygon of errors over coverage, as a sum of trapezoids."""
    n, before, area = len(wrong), 0, 0.0
    for is_wrong in wrong:
        after = before + is_wrong
        area += (before / n + after / n) / 2 * (1 / n)
        before = after
    return area


def test_four_samples_by_hand():
    # Ranked right, wrong, right, wrong: 0, 1, 1, 2 errors of 4 samples; trapezoids of
    # width 1/4 have mean heights 1/8, 2/8, 3/8 after the first of 0.
    data = with_confidences([0.6, 0.9, 0.7, 0.8], [True, False, False, True])
    assert area_under_generalized_risk_coverage(*data) == (1 + 2 + 3) / 8 / 4


@given(
    st.lists(
        st.tuples(st.sampled_from([0.6, 0.7, 0.8]), st.booleans()),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=60)
def test_ties_count_as_the_mean_over_all_their_orders(samples):
    confidences, wrong = map(np.array, zip(*samples, strict=True))
    areas = []
    for order in permutations(range(len(wrong))):
        shuffled = np.array(order)
        ranked = shuffled[np.argsort(-confidences[shuffled], kind="stable")]
        areas.append(area_of(wrong[ranked].astype(int)))
    got = area_under_generalized_risk_coverage(*with_confidences(confidences, wrong))
    assert got == pytest.approx(np.mean(areas), abs=1e-12)


@pytest.mark.parametrize("decimals", [1, 2, 17])
def test_it_is_what_the_paper_says_of_auroc_and_the_error_rate(rng, decimals):
    confidences = np.round(rng.uniform(0.55, 1.0, 500), decimals)
    wrong = rng.random(500) > confidences
    auroc, rate = roc_auc_score(~wrong, confidences), wrong.mean()
    got = area_under_generalized_risk_coverage(*with_confidences(confidences, wrong))
    expected = (1 - auroc) * rate * (1 - rate) + rate**2 / 2
    assert got == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_errors", [0, 1, 33, 100])
def test_the_best_and_an_uninformative_ranking(n_errors):
    wrong, rate = np.arange(100) >= 100 - n_errors, n_errors / 100
    data = with_confidences(np.linspace(1, 0.51, 100), wrong)
    assert area_under_generalized_risk_coverage(*data) == pytest.approx(rate**2 / 2)
    got = area_under_generalized_risk_coverage(*data, np.zeros(100))
    assert got == pytest.approx(rate / 2)


def test_an_error_at_the_top_counts_at_most_twice_the_mean_unlike_in_aurc():
    n = 1000
    confidences = np.linspace(1, 0.51, n)
    first, middle = (
        with_confidences(confidences, np.arange(n) == row) for row in (0, n // 2)
    )
    ratio = area_under_generalized_risk_coverage(*first)
    ratio /= area_under_generalized_risk_coverage(*middle)
    assert ratio == pytest.approx(2, rel=2 / n)
    ratio = area_under_risk_coverage(*first) / area_under_risk_coverage(*middle)
    assert ratio > 10  # about log(n) / log(2)


# Computed by AUGRC, AURC and RiskAt80Cov of torch-uncertainty 0.13.0, in float64. It is
# no dependency: its package cannot be imported without lightning, torchvision and timm,
# so its module metrics/classification/risk_coverage.py was loaded by itself.
SMALL = (
    [0.95, 0.04, 0.9, 0.85, 0.2, 0.7, 0.35, 0.6, 0.52, 0.41],
    [1, 1, 1, 0, 0, 1, 1, 1, 0, 0],
    (0.21666666666666667, 0.43373015873015863, 0.375),
)


def large():
    k = np.arange(200)
    confidences = 0.5 + (k * 73 % 211 + 1) / 500
    p1 = np.where(k % 2 == 0, confidences, 1 - confidences)
    predicted = (p1 > 0.5).astype(int)
    y = np.where(k * k % 7 < 2, 1 - predicted, predicted)
    return p1, y, (0.21407035175879396, 0.4214387508169959, 0.43125)


@pytest.mark.parametrize("data", [SMALL, large()], ids=["small", "large"])
def test_torch_uncertainty_has_the_same_but_for_the_ends_of_the_curve(data):
    p1, y, (augrc, aurc, at_80) = data
    n = len(y)
    first, last = (risk_at_coverage(y, p1, k / n) for k in (1, n))
    assert risk_at_coverage(y, p1, 0.8) == pytest.approx(at_80, rel=1e-12)
    # Its trapezoids begin at coverage 1/n, and are divided by the width 1 - 1/n. Ours
    # begin at 0, with a triangle up to the first sample.
    got = area_under_generalized_risk_coverage(y, p1)
    expected = augrc * (1 - 1 / n) + first / n / n / 2
    assert got == pytest.approx(expected, rel=1e-12)
    # The mean of n values has the two at the ends in full, its trapezoids have halves.
    expected = (aurc * (n - 1) + (first + last) / 2) / n
    assert area_under_risk_coverage(y, p1) == pytest.approx(expected, rel=1e-12)


def test_another_confidence_may_rank_the_samples():
    data = with_confidences([0.9, 0.8], [True, False])
    assert area_under_generalized_risk_coverage(*data) == (0.5 + 1) / 4
    assert area_under_generalized_risk_coverage(*data, [0, 1]) == 0.5 / 4
    with pytest.raises(InvalidInputError, match="each of the 2 samples"):
        area_under_generalized_risk_coverage(*data, [1.0])
