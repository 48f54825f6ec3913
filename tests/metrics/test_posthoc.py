"""Cures after training: temperature scaling, and MaxLogit-pNorm."""

import numpy as np
import pytest

from structsmooth.metrics.posthoc import (
    fit_norm,
    fit_temperature,
    max_logit_p_norm,
    scale,
)


def test_the_largest_logit_over_the_norm_by_hand():
    # Logits 3, 0, -3 with the mean 0; the norms are 6, sqrt(18) and nearly 3.
    logits = np.array([[3.0, 0.0, -3.0]])
    p = np.exp(logits) / np.exp(logits).sum()
    assert max_logit_p_norm(p, 1) == pytest.approx([3 / 6])
    assert max_logit_p_norm(p, 2) == pytest.approx([3 / np.sqrt(18)])
    assert max_logit_p_norm(p, 10) == pytest.approx([1 / 2**0.1])
    assert max_logit_p_norm(p, None) == pytest.approx(p.max(axis=1))


def test_it_does_not_depend_on_the_scale_of_the_logits(rng):
    p = rng.dirichlet(np.ones(4), 20)
    np.testing.assert_allclose(
        max_logit_p_norm(p, 3), max_logit_p_norm(scale(p, 7.0), 3), atol=1e-11
    )


def test_zeros_and_even_probabilities_have_a_confidence():
    p = np.array([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    found = max_logit_p_norm(p, 4)
    assert np.isfinite(found).all()
    assert found[0] > found[1]


def test_the_norm_that_ranks_best_is_chosen(rng):
    # The norm of the logits has nothing to do with being right, their direction has.
    lead = rng.uniform(size=600)
    y = (rng.random(600) < 0.5 - 0.5 * lead).astype(int)
    logits = np.column_stack([lead, np.zeros(600), -np.ones(600)])
    logits *= rng.uniform(0.1, 30.0, 600)[:, np.newaxis]
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    assert fit_norm(p, y) is not None


def test_two_classes_fall_back_on_the_probability(rng):
    p1 = rng.uniform(size=300)
    y = (rng.random(300) < p1).astype(int)
    assert fit_norm(np.column_stack([1 - p1, p1]), y) is None


def test_a_temperature_is_found_again(rng):
    p = rng.dirichlet(np.ones(3), 20_000)
    y = (rng.random(20_000)[:, np.newaxis] > p.cumsum(axis=1)).sum(axis=1)
    assert fit_temperature(p, y) == pytest.approx(1.0, abs=0.03)
    assert fit_temperature(scale(p, 0.5), y) == pytest.approx(2.0, abs=0.06)
