"""Data on which two implementations of a fit agree to the last digits.

Each of the 8 features has 50 distinct values, so that every library gives each value
its own bin, however often a row is repeated.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA


@pytest.fixture(scope="session")
def five_digits():
    """Handwritten digits 0 to 4, with few threes; features, classes, strengths."""
    images, y = load_digits(return_X_y=True)
    kept = (y < 5) & ((y != 3) | (np.arange(len(y)) % 4 == 0))
    return _with_ranks(images[kept], y[kept])


@pytest.fixture(scope="session")
def two_classes():
    """Tumors; features, classes, strengths."""
    return _with_ranks(*load_breast_cancer(return_X_y=True))


def _with_ranks(X, y):
    reduced = PCA(8, random_state=0).fit_transform(X)
    ranks = reduced.argsort(axis=0).argsort(axis=0) * 50 // len(y)
    largest = 0.6 if y.max() > 1 else 0.48  # below where the label is lost
    strengths = np.random.default_rng(7).uniform(0.02, largest, len(y))
    return ranks.astype(np.float64), y, strengths


@pytest.fixture(scope="session", params=[False, True], ids=["", "weighted"])
def weights_of(request):
    """Sample weights for n rows, or none."""

    def draw(n_rows):
        if not request.param:
            return None
        return np.random.default_rng(8).uniform(0.2, 3.0, n_rows)

    return draw


@pytest.fixture(scope="session")
def expanded():
    """Rows, labels and weights of an expansion, times the sample weights."""
    from structsmooth import expand_rows

    def expand(y, strengths, n_classes, sample_weight):
        rows, labels, weights = expand_rows(y, strengths, n_classes)
        if sample_weight is not None:
            weights = weights * sample_weight[rows]
        return rows, labels, weights

    return expand
