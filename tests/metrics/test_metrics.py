"""Metrics on hard labels, compared with other libraries and with direct computation."""

from itertools import permutations
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss, zero_one_loss

from structsmooth import metrics
from structsmooth.errors import InvalidInputError
from structsmooth.metrics import (
    area_under_generalized_risk_coverage,
    area_under_risk_coverage,
    brier_score,
    error_rate,
    evaluate,
    excess_area_under_risk_coverage,
    expected_calibration_error,
    negative_log_likelihood,
    risk_at_coverage,
    risk_coverage_curve,
)

KEYS = ["error", "nll", "brier", "ece", "ece_mass", "ece_classwise"]
KEYS += ["aurc", "e_aurc", "augrc", "risk_at_80"]


@pytest.fixture
def predictions(rng):
    """A thousand samples of five classes, some overconfident, some underconfident."""
    table = rng.dirichlet(np.full(5, 0.4), 1000)
    sharp = table**3 / (table**3).sum(axis=1, keepdims=True)
    truth = 0.75 * sharp + 0.25 / 5
    return np.array([rng.choice(5, p=row) for row in truth]), table


def with_confidences(confidences, wrong):
    """Two classes, so that each sample has this confidence and is right or wrong."""
    p1 = np.asarray(confidences, dtype=float)
    return np.where(wrong, 0, 1), np.column_stack([1 - p1, p1])


# By hand.


def test_all_metrics_of_three_samples_by_hand():
    y = [0, 1, 2]
    table = [[0.7, 0.2, 0.1], [0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]
    # Confidences 0.7, 0.5, 0.8; the second is wrong.
    got = evaluate(y, table, n_bins=2)
    assert list(got) == KEYS
    assert got["error"] == pytest.approx(1 / 3)
    assert got["nll"] == pytest.approx(-(log(0.7) + log(0.25) + log(0.8)) / 3)
    squares = [0.3**2 + 0.2**2 + 0.1**2, 0.5**2 + 0.75**2 + 0.25**2]
    squares += [0.1**2 + 0.1**2 + 0.2**2]
    assert got["brier"] == pytest.approx(sum(squares) / 3)
    # Width: 0.5 belongs to (0, 0.5] and is 0.5 off; the others are 0.3 + 0.2 short.
    assert got["ece"] == pytest.approx((0.5 + 0.5) / 3)
    # Mass: a cut at 1.5 samples parts the second: 0.5 - 0.3/2, and 0.3/2 + 0.2.
    assert got["ece_mass"] == pytest.approx((0.35 + 0.35) / 3)
    # Class 0: 0.1 + 0.5 in the lower bin and 0 of it, 0.7 and 1 in the upper one.
    # Class 1: 0.2 + 0.25 + 0.1 and 1. Class 2: 0.1 + 0.25 and 0; 0.8 and 1.
    by_class = [0.6 + 0.3, 0.45, 0.35 + 0.2]
    assert got["ece_classwise"] == pytest.approx(sum(by_class) / 3 / 3)
    assert got["aurc"] == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert got["e_aurc"] == 0.0
    # No error among the first two thirds, then a triangle up to a third.
    assert got["augrc"] == pytest.approx(1 / 3 * 1 / 3 / 2)
    assert got["risk_at_80"] == pytest.approx(1 / 3)  # 2.4 samples are three


def test_one_sample():
    assert evaluate([1], [[0.25, 0.75]]) == {
        "error": 0.0,
        "nll": -log(0.75),
        "brier": 0.125,
        "ece": 0.25,
        "ece_mass": 0.25,
        "ece_classwise": 0.25,
        "aurc": 0.0,
        "e_aurc": 0.0,
        "augrc": 0.0,
        "risk_at_80": 0.0,
    }


def test_a_perfect_model_scores_zero_everywhere():
    scores = evaluate([0, 1, 2, 1], np.eye(3)[[0, 1, 2, 1]])
    assert set(scores.values()) == {0.0}
    assert not np.signbit(list(scores.values())).any()


def test_a_model_that_is_always_sure_and_wrong_has_the_worst_scores():
    scores = evaluate([0, 1, 2], np.eye(3)[[1, 2, 0]])
    worst = {"error": 1, "brier": 2, "ece": 1, "ece_mass": 1, "aurc": 1, "e_aurc": 0}
    worst["augrc"] = 0.5
    assert {key: scores[key] for key in worst} == worst
    assert scores["nll"] == pytest.approx(52 * log(2))  # eps is 2^-52


def test_equal_probabilities_predict_the_first_class():
    assert error_rate([0, 0], [[0.5, 0.5], [0.4, 0.6]]) == 0.5
    assert error_rate([0, 1], [0.5, 0.5]) == 0.5


def test_bins_of_equal_width_include_their_upper_ends():
    # Two bins, one sample right at 0.5 and one wrong at 0.6: separately |0.5| + |0.6|,
    # while in one bin they would partly cancel, |0.5 - 0.6|.
    y, table = [0, 1], [[0.5, 0.5], [0.6, 0.4]]
    got = expected_calibration_error(y, table, n_bins=2)
    assert got == pytest.approx((0.5 + 0.6) / 2)
    got = expected_calibration_error(y, table, n_bins=1)
    assert got == pytest.approx(abs(0.5 - 0.6) / 2)


def test_log_likelihood_is_clipped_unless_told_otherwise():
    y, table = [0, 1], np.array([[1.0, 0.0], [1.0, 0.0]])
    assert negative_log_likelihood(y, table) == pytest.approx(26 * log(2))
    assert negative_log_likelihood(y, table, clip=0.0) == np.inf
    assert negative_log_likelihood(y, table, clip=0.25) == pytest.approx(log(2))


def test_the_clip_does_not_depend_on_the_type_of_the_array():
    table = np.array([[1.0, 1e-12], [0.5, 0.5]], dtype=np.float32)
    exact = -(log(np.float32(1e-12)) + log(0.5)) / 2
    assert negative_log_likelihood([1, 0], table) == pytest.approx(exact, rel=1e-12)


# Against other libraries.


def test_scikit_learn_has_the_same_error_likelihood_and_brier_score(predictions):
    y, table = predictions
    assert error_rate(y, table) == pytest.approx(zero_one_loss(y, table.argmax(axis=1)))
    got = negative_log_likelihood(y, table)
    assert got == pytest.approx(log_loss(y, table, labels=range(5)), rel=1e-12)
    got = brier_score(y, table)
    assert got == pytest.approx(brier_score_loss(y, table, labels=range(5)), rel=1e-12)


def test_scikit_learns_binary_brier_score_is_half_of_ours(rng):
    p1 = rng.random(200)
    y = (rng.random(200) < p1).astype(int)
    assert brier_score(y, p1) == pytest.approx(2 * brier_score_loss(y, p1), rel=1e-12)


def test_scikit_learn_clips_a_zero_at_the_same_place():
    y, table = [0, 1, 1], np.array([[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]])
    assert negative_log_likelihood(y, table) == pytest.approx(log_loss(y, table))
    single = table.astype(np.float32)
    clip = np.finfo(np.float32).eps
    got = negative_log_likelihood(y, single, clip=clip)
    assert got == pytest.approx(log_loss(y, single), rel=1e-6)


@pytest.mark.parametrize("n_bins", [1, 7, 15, 100])
def test_torchmetrics_has_the_same_calibration_errors(predictions, n_bins):
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional.classification")
    y, table = torch.from_numpy(predictions[0]), torch.from_numpy(predictions[1])
    expected = functional.multiclass_calibration_error(
        table, y, num_classes=5, n_bins=n_bins, norm="l1"
    )
    got = expected_calibration_error(*predictions, n_bins=n_bins)
    assert got == pytest.approx(float(expected), rel=1e-5)  # theirs is in float32
    by_class = [
        functional.binary_calibration_error(
            table[:, label].contiguous(), (y == label).long(), n_bins=n_bins, norm="l1"
        )
        for label in range(5)
    ]
    got = expected_calibration_error(*predictions, n_bins=n_bins, classwise=True)
    assert got == pytest.approx(float(sum(by_class)) / 5, rel=1e-5)


# By enumeration.

RANKED = st.lists(
    st.tuples(st.sampled_from([0.6, 0.7, 0.8, 0.9]), st.booleans()),
    min_size=1,
    max_size=6,
)


def risks_in_all_orders(confidences, wrong):
    """Risk at each count, one row for each order of the tied (some more than once)."""
    confidences, wrong = np.array(confidences), np.array(wrong)
    rows = []
    for order in permutations(range(len(wrong))):
        shuffled = np.array(order)
        ranked = shuffled[np.argsort(-confidences[shuffled], kind="stable")]
        rows.append(np.cumsum(wrong[ranked]) / np.arange(1, len(wrong) + 1))
    return np.array(rows)


@given(RANKED)
@settings(max_examples=60)
def test_ties_count_as_the_mean_over_all_their_orders(samples):
    confidences, wrong = zip(*samples, strict=True)
    y, table = with_confidences(confidences, wrong)
    every = risks_in_all_orders(confidences, wrong)
    coverage, risk = risk_coverage_curve(y, table)
    n = len(wrong)
    np.testing.assert_allclose(coverage, np.arange(1, n + 1) / n)
    np.testing.assert_allclose(risk, every.mean(axis=0), atol=1e-12)
    aurc = area_under_risk_coverage(y, table)
    assert aurc == pytest.approx(every.mean(axis=1).mean(), abs=1e-12)
    for k in range(1, n + 1):
        got = risk_at_coverage(y, table, k / n)
        assert got == pytest.approx(every[:, k - 1].mean(), abs=1e-12)
        more = risk_at_coverage(y, table, (k - 0.4) / n)
        assert more == pytest.approx(every[:, k - 1].mean(), abs=1e-12)


@given(RANKED)
@settings(max_examples=60)
def test_the_excess_is_over_the_best_of_all_rankings(samples):
    confidences, wrong = zip(*samples, strict=True)
    y, table = with_confidences(confidences, wrong)
    best = risks_in_all_orders([0.0] * len(wrong), wrong).mean(axis=1).min()
    aurc = area_under_risk_coverage(y, table)
    excess = excess_area_under_risk_coverage(y, table)
    assert aurc - excess == pytest.approx(best, abs=1e-12)
    assert excess >= -1e-15


@pytest.mark.parametrize("n_errors", [0, 1, 3333, 9999, 10_000])
def test_a_perfect_ranking_has_no_excess_and_nearly_the_area_of_the_limit(n_errors):
    n = 10_000
    wrong = np.arange(n) >= n - n_errors
    y, table = with_confidences(np.linspace(1, 0.51, n), wrong)
    assert excess_area_under_risk_coverage(y, table) == 0.0
    rate = n_errors / n
    limit = rate + ((1 - rate) * log(1 - rate) if rate < 1 else 0)
    assert area_under_risk_coverage(y, table) == pytest.approx(limit, abs=1 / n)


def test_a_constant_confidence_has_the_error_rate_as_its_risk_everywhere():
    y, table = with_confidences([0.8] * 10, np.arange(10) < 3)
    np.testing.assert_allclose(risk_coverage_curve(y, table)[1], 0.3)
    assert area_under_risk_coverage(y, table) == pytest.approx(0.3)


def test_another_confidence_may_rank_the_samples():
    y, table = with_confidences([0.9, 0.8, 0.7], [True, False, False])
    assert risk_at_coverage(y, table, 1 / 3) == 1.0
    scores = [-np.inf, 2.0, 5.0]
    assert risk_at_coverage(y, table, 1 / 3, confidence=scores) == 0.0
    assert area_under_risk_coverage(y, table, scores) == pytest.approx(1 / 9)
    assert excess_area_under_risk_coverage(y, table, scores) == 0.0
    _, risk = risk_coverage_curve(y, table, confidence=scores)
    np.testing.assert_allclose(risk, [0, 0, 1 / 3])


@pytest.mark.parametrize("n", [1, 3, 7, 10, 100, 1000, 12_345])
def test_a_coverage_of_k_out_of_n_is_k_samples(n):
    wrong = np.arange(n) % 2 == 0
    y, table = with_confidences(np.linspace(1, 0.6, n), wrong)
    _, risk = risk_coverage_curve(y, table)
    for k in {1, n // 14, n // 3, n - 1, n} - {0}:
        assert risk_at_coverage(y, table, k / n) == risk[k - 1]
    assert risk_at_coverage(y, table, 1e-12) == risk[0]


def test_decimal_coverages_are_meant_as_written():
    y, table = with_confidences(np.linspace(1, 0.6, 100), np.arange(100) == 7)
    for percent in range(1, 101):  # 0.07 * 100 is above 7, 0.29 * 100 below 29
        expected = 0 if percent <= 7 else 1 / percent
        assert risk_at_coverage(y, table, float(f"0.{percent:02d}")
                                if percent < 100 else 1) == expected  # fmt: skip


def ece_of_shares(scores, hits, n_bins):
    """Equal mass by definition: how much of each tie lies in each bin, in a loop."""
    n = len(scores)
    total = 0.0
    for b in range(n_bins):
        low, high = b * n / n_bins, (b + 1) * n / n_bins
        gap, start = 0.0, 0
        for score in sorted(set(scores)):
            members = [hit for s, hit in zip(scores, hits, strict=True) if s == score]
            inside = min(high, start + len(members)) - max(low, start)
            gap += max(0.0, inside) * (np.mean(members) - score)
            start += len(members)
        total += abs(gap)
    return total / n


@given(RANKED, st.integers(1, 9))
def test_bins_of_equal_mass_share_out_ties_and_samples_on_a_cut(samples, n_bins):
    confidences, wrong = zip(*samples, strict=True)
    y, table = with_confidences(confidences, wrong)
    expected = ece_of_shares(confidences, [not w for w in wrong], n_bins)
    got = expected_calibration_error(y, table, n_bins=n_bins, bins="mass")
    assert got == pytest.approx(expected, abs=1e-12)


def test_bins_of_equal_mass_are_the_usual_ones_without_ties(predictions):
    y, table = predictions
    order = np.argsort(table.max(axis=1))
    hits, scores = (table.argmax(axis=1) == y)[order], table.max(axis=1)[order]
    bins = zip(np.split(hits, 20), np.split(scores, 20), strict=True)
    expected = np.mean([abs(hit.mean() - score.mean()) for hit, score in bins])
    got = expected_calibration_error(y, table, n_bins=20, bins="mass")
    assert got == pytest.approx(expected, rel=1e-10)


def test_more_bins_than_samples_give_each_sample_its_own():
    y, table = with_confidences([0.9, 0.6, 0.8], [False, True, False])
    got = expected_calibration_error(y, table, n_bins=999, bins="mass")
    assert got == pytest.approx((0.1 + 0.6 + 0.2) / 3)


def test_classwise_bins_of_equal_mass_average_over_the_classes(predictions):
    y, table = predictions
    expected = [
        ece_of_shares(table[:60, label].tolist(), y[:60] == label, 4)
        for label in range(5)
    ]
    got = expected_calibration_error(
        y[:60], table[:60], n_bins=4, bins="mass", classwise=True
    )
    assert got == pytest.approx(np.mean(expected), rel=1e-10)


def test_no_metric_depends_on_the_order_of_the_rows(predictions, rng):
    y, table = predictions[0], np.round(predictions[1], 1)  # many ties
    table /= table.sum(axis=1, keepdims=True)
    expected = evaluate(y, table)
    for _ in range(5):
        order = rng.permutation(len(y))
        assert evaluate(y[order], table[order]) == pytest.approx(expected, rel=1e-12)


# What comes in.


def test_evaluate_is_each_metric_with_its_defaults(predictions):
    ece = expected_calibration_error
    data = predictions
    assert evaluate(*data) == {
        "error": error_rate(*data),
        "nll": negative_log_likelihood(*data),
        "brier": brier_score(*data),
        "ece": ece(*data, n_bins=15, bins="width"),
        "ece_mass": ece(*data, n_bins=15, bins="mass"),
        "ece_classwise": ece(*data, n_bins=15, bins="width", classwise=True),
        "aurc": area_under_risk_coverage(*data),
        "e_aurc": excess_area_under_risk_coverage(*data),
        "augrc": area_under_generalized_risk_coverage(*data),
        "risk_at_80": risk_at_coverage(*data, 0.8),
    }
    assert all(type(value) is float for value in evaluate(*data).values())
    by_bins = [evaluate(*data, n_bins=n)["ece"] for n in (5, 15)]
    assert by_bins == [ece(*data, n_bins=5), ece(*data, n_bins=15)]
    assert by_bins[0] != by_bins[1]


def test_two_classes_may_come_as_one_column(rng):
    p1 = rng.random(100)
    y = rng.integers(0, 2, 100)
    assert evaluate(y, p1) == evaluate(y, np.column_stack([1 - p1, p1]))


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float32, 1e-6), (np.float16, 2e-3)]
)
def test_short_floats_pass_and_score_alike(rng, dtype, tolerance):
    logits = rng.normal(size=(300, 100))
    table = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = rng.integers(0, 100, 300)
    short = table.astype(dtype)
    assert evaluate(y, short, n_bins=1) == pytest.approx(
        evaluate(y, table, n_bins=1), rel=tolerance
    )


def test_tables_tensors_lists_and_floats_that_are_whole_numbers(predictions):
    y, table = predictions[0][:50], predictions[1][:50]
    expected = evaluate(y, table)
    assert evaluate(pd.Series(y), pd.DataFrame(table)) == expected
    assert evaluate(y.tolist(), table.tolist()) == expected
    assert evaluate(y.astype(float), table.astype(object)) == expected
    assert evaluate(y, np.asfortranarray(table)) == expected
    torch = pytest.importorskip("torch")
    assert evaluate(torch.from_numpy(y), torch.from_numpy(table)) == expected


def test_a_class_that_is_absent_counts_all_the_same():
    y, table = [0, 0], [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]]
    assert brier_score(y, table) == 0.625
    got = expected_calibration_error(y, table, n_bins=1, classwise=True)
    assert got == pytest.approx((0.5 + 0.5 + 0) / 3)


def test_rounding_beyond_zero_and_one_is_forgiven_and_inputs_stay_as_they_are():
    table = np.array([[1 + 1e-9, -1e-9], [0.25, 0.75]])
    before = table.copy()
    scores = evaluate([0, 1], table)
    assert scores["nll"] == pytest.approx(-log(0.75) / 2, abs=1e-12)
    assert scores["brier"] == pytest.approx(0.0625)
    assert np.array_equal(table, before)


EVERY = [
    error_rate,
    negative_log_likelihood,
    brier_score,
    expected_calibration_error,
    risk_coverage_curve,
    lambda y, p: risk_at_coverage(y, p, 0.5),
    area_under_risk_coverage,
    excess_area_under_risk_coverage,
    evaluate,
]


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize(
    ("y", "probabilities", "message"),
    [
        ([0, 1], [[2.5, -1.0], [0.1, 0.3]], "row 0 has -1 to 2.5 with the sum 1.5"),
        (
            [0, 1],
            [[1.0, 0.0], [0.3, 0.3]],
            "sum to 1 .*row 1 has 0.3 to 0.3 with the sum 0.6",
        ),
        ([0, 1], [[0.9, 0.9], [0.5, 0.5]], "row 0 has 0.9 to 0.9 with the sum 1.8"),
        ([0, 1], [[1.0, 0.0], [np.nan, 0.3]], "finite .* row 1 has nan to nan"),
        ([0, 1], [0.5, np.inf], "finite .* row 1 has -inf to inf"),
        ([0, 1], [0.5, 1.1], "row 1 has -0.1 to 1.1"),
        ([0, 2], [0.5, 0.5], r"class numbers 0 to 1 \(n_classes=2\), got 2"),
        ([0, 1], [[0.5], [0.5]], r"shape \(n, K\).*got shape \(2, 1\)"),
        ([0, 1], np.full((2, 2, 2), 0.5), r"got shape \(2, 2, 2\)"),
        ([0, 1], 0.5, r"got shape \(\)"),
        ([0, 1, 1], [0.5, 0.5], "same length, got 3 labels and 2 rows"),
        ([], np.empty((0, 3)), "must not be empty"),
        ([0, 1], [["a", "b"], ["c", "d"]], "probabilities must be numbers"),
        ([0, 1], [[0.5, 0.5], [1.0]], "rows of equal length"),
        ([0, 1], np.full((2, 2), 0.5 + 0j), "numbers, got dtype complex"),
        ([[1.0, 0.0], [0.9, 0.1]], [0.5, 0.5], r"y has shape \(2, 2\), several labels"),
        (["a", "b"], [0.5, 0.5], "y must hold class numbers"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(function, y, probabilities, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        function(y, probabilities)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: expected_calibration_error(*d, n_bins=0), "n_bins must be a whole"),
        (lambda d: expected_calibration_error(*d, bins="area"), "bins must be one of"),
        (lambda d: evaluate(*d, n_bins=1.5), "n_bins must be a whole number"),
        (
            lambda d: risk_at_coverage(*d, 0),
            "coverage must be above 0 and at most 1, got 0",
        ),
        (lambda d: risk_at_coverage(*d, 1.01), "at most 1, got 1.01"),
        (lambda d: risk_at_coverage(*d, np.nan), "got nan"),
        (lambda d: risk_at_coverage(*d, [0.5]), "coverage must be a number"),
        (lambda d: risk_at_coverage(*d, "most"), "coverage must be a number"),
        (lambda d: negative_log_likelihood(*d, clip=1), "clip must be below 1, got 1"),
        (lambda d: negative_log_likelihood(*d, clip=-0.1), "got -0.1"),
        (lambda d: area_under_risk_coverage(*d, [1.0]), "each of the 2 samples"),
        (lambda d: area_under_risk_coverage(*d, [1.0, np.nan]), "got NaN"),
        (lambda d: risk_coverage_curve(*d, ["a", "b"]), "confidence must be numbers"),
    ],
)
def test_bad_options_are_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(([0, 1], [0.2, 0.7]))


def test_every_public_name_is_there():
    assert sorted(metrics.__all__) == metrics.__all__
    assert all(hasattr(metrics, name) for name in metrics.__all__)
