"""Labels in every form, all with the same expectation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsmooth import (
    alpha_from_epsilon,
    epsilon_from_alpha,
    expand_rows,
    flip_labels,
    smooth_labels,
)
from structsmooth.errors import InvalidInputError


def test_soft_labels_by_hand():
    got = smooth_labels([1, 0], [0.3, 0.0], n_classes=4)
    np.testing.assert_allclose(got, [[0.1, 0.7, 0.1, 0.1], [1, 0, 0, 0]], rtol=1e-15)


@given(
    st.integers(2, 9),
    st.lists(st.tuples(st.integers(0, 1000), st.floats(0, 1)), max_size=30),
)
def test_rows_sum_to_one_and_the_own_class_has_what_is_left(n_classes, samples):
    y = np.array([label % n_classes for label, _ in samples], dtype=int)
    strengths = np.array([strength for _, strength in samples])
    soft = smooth_labels(y, strengths, n_classes)
    assert soft.shape == (len(samples), n_classes)
    np.testing.assert_allclose(soft.sum(axis=1), 1.0, atol=1e-12)
    assert np.array_equal(soft[np.arange(len(y)), y], 1.0 - strengths)


def test_one_strength_serves_all_samples():
    assert np.array_equal(
        smooth_labels([0, 1], 0.2, 2), smooth_labels([0, 1], [0.2, 0.2], 2)
    )


def test_pytorchs_label_smoothing_is_the_same_target():
    torch = pytest.importorskip("torch")
    epsilon, n_classes = 0.1, 7
    logits = torch.linspace(-1, 2, 21, dtype=torch.float64).reshape(3, n_classes)
    y = torch.tensor([0, 3, 6])
    expected = torch.nn.functional.cross_entropy(logits, y, label_smoothing=epsilon)
    soft = smooth_labels(y.numpy(), alpha_from_epsilon(epsilon, n_classes), n_classes)
    got = torch.nn.functional.cross_entropy(logits, torch.from_numpy(soft))
    assert float(got) == pytest.approx(float(expected), rel=1e-14)


def test_alpha_and_epsilon_convert_back():
    assert alpha_from_epsilon(0.2, 2) == 0.1
    assert epsilon_from_alpha(0.1, 2) == 0.2
    assert epsilon_from_alpha(alpha_from_epsilon(0.37, 11), 11) == pytest.approx(0.37)
    np.testing.assert_allclose(alpha_from_epsilon(np.array([0.0, 0.5]), 5), [0.0, 0.4])


def test_flipping_has_the_soft_label_as_expectation():
    n_draws, n_classes = 200_000, 4
    flipped = flip_labels(np.full(n_draws, 2), 0.3, n_classes, rng=0)
    shares = np.bincount(flipped, minlength=n_classes) / n_draws
    expected = smooth_labels([2], 0.3, n_classes)[0]
    error = np.sqrt(expected * (1 - expected) / n_draws)
    assert (np.abs(shares - expected) < 4.5 * error).all()


def test_flipping_repeats_with_its_seed_and_leaves_strength_zero_alone():
    y = np.arange(50) % 3
    assert np.array_equal(flip_labels(y, 0.5, 3, 7), flip_labels(y, 0.5, 3, 7))
    assert not np.array_equal(flip_labels(y, 0.5, 3, 7), flip_labels(y, 0.5, 3, 8))
    assert np.array_equal(flip_labels(y, 0.0, 3), y)


def test_expanded_rows_carry_the_soft_labels():
    y, strengths = np.array([2, 0, 1]), np.array([0.4, 0.0, 0.1])
    rows, labels, weights = expand_rows(y, strengths, 3)
    soft = np.zeros((3, 3))
    soft[rows, labels] = weights
    assert np.array_equal(soft, smooth_labels(y, strengths, 3))
    assert rows.tolist() == [0, 0, 0, 1, 2, 2, 2]


def test_every_form_spreads_the_mass_alike():
    y, strengths = np.array([0, 2, 1]), np.array([0.0, 0.25, 0.6])
    spread = np.array([[0.0, 0.9, 0.1], [0.3, 0.0, 0.7], [1.0, 0.0, 0.0]])
    # The first keeps its mass; a quarter goes from 2 to 0; 0.18 and 0.42 go from 1.
    expected = [[1.0, 0.0, 0.0], [0.25, 0.0, 0.75], [0.18, 0.4, 0.42]]
    soft = smooth_labels(y, strengths, 3, spread)
    np.testing.assert_allclose(soft, expected)
    rows, labels, weights = expand_rows(y, strengths, 3, spread=spread)
    again = np.zeros((3, 3))
    again[rows, labels] = weights
    np.testing.assert_array_equal(again, soft)
    generator = np.random.default_rng(0)
    drawn = [
        flip_labels(y, strengths, 3, generator, spread=spread) for _ in range(4000)
    ]
    shares = np.stack([(np.array(drawn) == k).mean(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(shares, expected, atol=0.03)
    assert (shares[np.array(expected) == 0.0] == 0.0).all()


@pytest.mark.parametrize(
    ("y", "strengths", "message"),
    [
        ([0, 3], 0.1, r"class numbers 0 to 2 \(n_classes=3\), got 3"),
        ([-1, 0], 0.1, "got -1"),
        (["a", "b"], 0.1, "class numbers 0 to 2, got dtype"),
        ([0.5, 1.0], 0.1, r"fractions such as 0.5, expected class numbers 0 to 2 \(is"),
        ([[0, 1]], 0.1, r"shape \(1, 2\), several labels"),
        ([[0], [1]], 0.1, "one-dimensional"),
        ([0, 1], [0.1, 0.2, 0.3], "one for each of 2 rows"),
        ([0, 1], 1.5, "between 0 and 1"),
        ([0, 1], [0.1, np.nan], "between 0 and 1"),
        ([0, 1], "strong", "must be numbers"),
    ],
)
@pytest.mark.parametrize("function", [smooth_labels, flip_labels, expand_rows])
def test_bad_labels_and_strengths_are_refused(function, y, strengths, message):
    with pytest.raises(InvalidInputError, match=message):
        function(y, strengths, 3)


@pytest.mark.parametrize(
    ("convert", "value"),
    [(alpha_from_epsilon, 1.1), (alpha_from_epsilon, -0.1), (epsilon_from_alpha, 0.6)],
)
def test_conversions_refuse_what_is_no_smoothing(convert, value):
    with pytest.raises(InvalidInputError, match="must lie between 0 and"):
        convert(value, 2)
