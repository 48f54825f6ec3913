"""The effect of smoothing on distributions, by brute force on discrete ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsmooth import bayes_error_bias, smooth_labels


@st.composite
def distributions(draw):
    """A discrete distribution: cells with weights, and posteriors in each."""
    n_classes, n_cells = draw(st.integers(2, 6)), draw(st.integers(1, 6))
    generator = np.random.default_rng(draw(st.integers(0, 2**20)))
    posterior = generator.dirichlet(np.ones(n_classes), size=n_cells)
    weights = generator.dirichlet(np.ones(n_cells))
    limit = (n_classes - 1) / n_classes
    strengths = generator.uniform(0, 0.999 * limit, size=n_cells)
    return posterior, weights, strengths


def smoothed(posterior, strengths):
    """The posterior after smoothing: the soft labels' mean (equation smposterior)."""
    n_classes = posterior.shape[1]
    out = np.zeros_like(posterior)
    for cell, strength in enumerate(strengths):
        soft = smooth_labels(np.arange(n_classes), strength, n_classes)
        out[cell] = posterior[cell] @ soft
    return out


@given(distributions())
def test_smoothed_posterior_is_the_papers_formula(distribution):
    posterior, _, strengths = distribution
    n_classes, a = posterior.shape[1], strengths[:, np.newaxis]
    expected = (1 - a) * posterior + a * (1 - posterior) / (n_classes - 1)
    np.testing.assert_allclose(smoothed(posterior, strengths), expected, atol=1e-12)


@given(distributions())
def test_argmax_survives_every_strength_below_the_limit(distribution):
    posterior, _, strengths = distribution
    after = smoothed(posterior, strengths)
    assert np.array_equal(after.argmax(axis=1), posterior.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [2, 5])
def test_argmax_is_lost_at_the_limit_and_reversed_beyond(n_classes):
    limit = (n_classes - 1) / n_classes
    posterior = np.linspace(1, 2, n_classes)[np.newaxis]
    posterior /= posterior.sum()
    at = smoothed(posterior, [limit])
    np.testing.assert_allclose(at, 1 / n_classes, atol=1e-12)
    beyond = smoothed(posterior, [limit + 0.1])
    assert beyond.argmax() == posterior.argmin()


@given(distributions())
def test_bias_formula_equals_brute_force(distribution):
    posterior, weights, strengths = distribution
    before = weights @ (1 - posterior.max(axis=1))
    after = weights @ (1 - smoothed(posterior, strengths).max(axis=1))
    got = bayes_error_bias(
        strengths,
        1 - posterior.max(axis=1),
        weights,
        n_classes=posterior.shape[1],
    )
    assert got == pytest.approx(abs(after - before), abs=1e-12)
