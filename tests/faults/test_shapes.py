"""Fits of data whose distances are equal, or too close or too far apart for float32."""

import numpy as np
import pytest

from faultcounts import how_many
from structsmooth import StructuralSmoother

SHAPES = {
    "exponential norms": lambda draw, n, d: (
        draw.normal(size=(n, d)) * np.exp(draw.uniform(-140, 140, (n, 1)))
    ),
    "exponential coordinates": lambda draw, n, d: np.exp(draw.uniform(-50, 50, (n, d))),
    "a few ulps apart": lambda draw, n, d: (
        1.0 + draw.integers(0, 40, (n, d)) * 2.0**-52
    ),
    "binary": lambda draw, n, d: draw.integers(0, 2, (n, d)).astype(float),
    "nearly all equal": lambda draw, n, d: np.where(
        np.arange(n)[:, np.newaxis] < 9, draw.normal(size=(n, d)), 1.0
    ),
}


# That many distances are equal is said, and no fault.
@pytest.mark.filterwarnings("ignore::structsmooth.errors.TiedDistancesWarning")
@pytest.mark.parametrize("d", [3, 28])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_fit_of_an_odd_shape_ends_with_strengths(rng, shape, d):
    n = how_many(60_000, 2_000)
    X, y = SHAPES[shape](rng, n, d), rng.integers(0, 3, n)
    smoother = StructuralSmoother(
        alpha=0.1, beta=0.5, n_clusters=1, reducer=None, random_state=0
    ).fit(X, y)
    strengths = smoother.sample_strengths_
    assert strengths.mean() == pytest.approx(0.1, abs=1e-12)
    assert strengths.min() >= 0.0
    assert strengths.max() <= 1.0
