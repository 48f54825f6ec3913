"""The kernels compared with PyTorch's derivatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from structsmooth import smooth_labels
from structsmooth.boosting.gradient import (
    cross_entropies,
    negative_derivatives,
    softmax_gradient,
)

torch = pytest.importorskip("torch")


@st.composite
def problems(draw):
    n_rows, n_classes = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    numbers = st.floats(-20, 20)
    return (
        draw(arrays(np.float64, (n_rows, n_classes), elements=numbers)),
        draw(arrays(np.float64, n_classes, elements=st.floats(-3, 3))),
        draw(arrays(np.int64, n_rows, elements=st.integers(0, n_classes - 1))),
        draw(arrays(np.float64, n_rows, elements=st.floats(0, 1))),
        draw(arrays(np.float64, n_rows, elements=st.floats(0, 5))),
    )


def gradient_of(scores, start, y, strengths, weights, soft=None, factor=1.0, floor=0.0):
    gradient = np.empty_like(scores, dtype=np.float32)
    hessian = np.empty_like(gradient)
    soft = np.empty((0, 2)) if soft is None else soft
    softmax_gradient(
        scores, start, y, strengths, soft, weights, factor, floor, gradient, hessian
    )
    return gradient, hessian


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_of_soft_labels_is_the_slope_of_their_cross_entropy(rng, dtype):
    scores, start = rng.normal(size=(30, 4)), rng.normal(size=4)
    soft, weights = rng.dirichlet(np.ones(4), 30).astype(dtype), rng.uniform(0, 3, 30)

    def losses(scores):  # an independent implementation
        logits = scores + start
        return weights * (np.log(np.exp(logits).sum(axis=1)) - (soft * logits).sum(1))

    gradient, hessian = gradient_of(
        scores, start, np.zeros(30, np.int64), np.empty(0), weights, soft
    )
    step = 1e-4
    for k in range(4):
        forward, back = scores + step * np.eye(4)[k], scores - step * np.eye(4)[k]
        slope = (losses(forward) - losses(back)) / (2 * step)
        np.testing.assert_allclose(gradient[:, k], slope, rtol=0, atol=1e-6)
        curvature = losses(forward) - 2 * losses(scores) + losses(back)
        np.testing.assert_allclose(hessian[:, k], curvature / step**2, atol=1e-5)


@given(problems())
def test_soft_labels_made_of_strengths_have_the_same_gradient_to_the_bit(problem):
    scores, start, y, strengths, weights = problem
    soft = smooth_labels(y, strengths, scores.shape[1])
    np.testing.assert_array_equal(
        gradient_of(*problem),
        gradient_of(scores, start, y, np.empty(0), weights, soft),
    )


@given(problems())
def test_gradient_is_that_of_the_cross_entropy_with_soft_labels(problem):
    scores, start, y, strengths, weights = problem
    logits = torch.tensor(scores, requires_grad=True)
    soft = torch.tensor(smooth_labels(y, strengths, scores.shape[1]))
    losses = torch.nn.functional.cross_entropy(
        logits + torch.tensor(start), soft, reduction="none"
    )
    (losses * torch.tensor(weights)).sum().backward()
    gradient, hessian = gradient_of(*problem, factor=1.5)
    np.testing.assert_allclose(gradient, logits.grad, rtol=1e-6, atol=1e-6)
    p = torch.softmax(torch.tensor(scores + start), dim=1).numpy()
    expected = 1.5 * weights[:, np.newaxis] * p * (1 - p)
    np.testing.assert_allclose(hessian, expected, rtol=1e-5, atol=1e-9)


def test_gradient_by_hand():
    # Scores of log(1), log(2), log(5) are probabilities 1/8, 2/8, 5/8; a strength of
    # 0.2 makes the soft label (0.1, 0.8, 0.1) of class 1.
    gradient, hessian = gradient_of(
        np.log([[1.0, 2.0, 5.0]]),
        np.zeros(3),
        np.array([1]),
        np.array([0.2]),
        np.array([2.0]),
        factor=1.5,
    )
    np.testing.assert_allclose(
        gradient, [[2 * (0.125 - 0.1), 2 * (0.25 - 0.8), 2 * (0.625 - 0.1)]], rtol=1e-6
    )
    np.testing.assert_allclose(
        hessian, [[3 * 7 / 64, 3 * 12 / 64, 3 * 15 / 64]], rtol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_of_the_arrays_does_not_matter(rng, dtype):
    scores = rng.normal(size=(50, 4)).astype(dtype)
    others = (
        np.zeros(4),
        rng.integers(0, 4, 50),
        rng.uniform(0, 0.5, 50),
        rng.uniform(0, 2, 50),
    )
    by_rows = gradient_of(scores, *others)
    by_columns = gradient_of(np.asfortranarray(scores), *others)
    assert by_columns[0].flags.f_contiguous
    np.testing.assert_array_equal(by_rows, by_columns)


def test_huge_scores_stay_finite_and_the_hessian_above_its_floor():
    gradient, hessian = gradient_of(
        np.array([[1e4, -1e4, 0.0]]),
        np.zeros(3),
        np.array([1]),
        np.array([0.0]),
        np.array([1.0]),
        floor=1e-16,
    )
    np.testing.assert_array_equal(gradient, [[1.0, -1.0, 0.0]])
    np.testing.assert_array_equal(hessian, np.float32([[1e-16] * 3]))


@given(problems())
def test_cross_entropies_with_classes_and_with_soft_labels(problem):
    scores, start, y, strengths, _ = problem
    logits = np.asfortranarray(scores + start)
    for targets in (y, smooth_labels(y, strengths, scores.shape[1])):
        expected = torch.nn.functional.cross_entropy(
            torch.tensor(logits), torch.tensor(targets), reduction="none"
        )
        np.testing.assert_allclose(
            cross_entropies(logits, targets), expected, rtol=1e-9, atol=1e-9
        )


@given(problems())
def test_derivatives_for_catboost_are_those_of_the_log_likelihood(problem):
    scores, _, y, strengths, weights = problem
    soft = smooth_labels(y, strengths, scores.shape[1]).astype(np.float32)

    def log_likelihood(logits):
        target = torch.tensor(soft[0], dtype=torch.float64)
        return float(weights[0]) * (target * torch.log_softmax(logits, dim=0)).sum()

    logits = torch.tensor(scores[0])
    gradient, hessian = negative_derivatives(scores[0], soft[0], weights[0])
    np.testing.assert_allclose(
        gradient,
        torch.autograd.functional.jacobian(log_likelihood, logits),
        rtol=1e-5,
        atol=1e-6,
    )
    np.testing.assert_allclose(
        hessian,
        torch.autograd.functional.hessian(log_likelihood, logits),
        rtol=1e-5,
        atol=1e-6,
    )
