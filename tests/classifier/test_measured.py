"""Rows are measured once, and decided upon as if they were measured each time."""

import numpy as np
import pytest
from sklearn.base import clone

from structsmooth import StructuralSmoother
from structsmooth.classifier.measured import MeasuredRows

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)
OPTIONS = [
    {},
    {"alpha": 0.2, "beta": "auto"},
    {"regions": "point"},
    {"shrink": True},
    {"spread": "overlap"},
    {"regions": "point", "shrink": True, "spread": "overlap"},
]


def test_each_smoother_gets_what_a_fit_of_its_own_would_give(rng):
    y = rng.integers(0, 3, 400)  # mass can go to the wrong class
    X = rng.normal(size=(400, 2)) + np.array([[0, 0], [1, 0], [3, 0]])[y]
    smoothers = [
        StructuralSmoother(n_clusters=4, random_state=0, **options)
        for options in OPTIONS
    ]
    measured = MeasuredRows(X, y, smoothers)
    for smoother in smoothers:
        found, expected = measured.fitted(smoother), clone(smoother).fit(X, y)
        np.testing.assert_array_equal(
            found.sample_strengths_, expected.sample_strengths_
        )
        np.testing.assert_array_equal(found.smooth_fitted(y), expected.smooth_fitted(y))
        np.testing.assert_array_equal(
            found.predict_strength(X[:9] + 0.1), expected.predict_strength(X[:9] + 0.1)
        )


def test_only_what_measures_otherwise_is_measured_again(overlapping, monkeypatch):
    fits = []
    fit = StructuralSmoother.fit

    def counting(self, *arguments):
        fits.append(self)
        return fit(self, *arguments)

    monkeypatch.setattr(StructuralSmoother, "fit", counting)
    smoothers = [
        StructuralSmoother(n_clusters=4, random_state=0, **options)
        for options in OPTIONS
    ]
    measured = MeasuredRows(*overlapping, smoothers)
    for smoother in smoothers:
        measured.fitted(smoother)
    assert len(fits) == 1
    measured.fitted(StructuralSmoother(n_clusters=5, random_state=0))
    assert len(fits) == 2
