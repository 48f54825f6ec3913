"""A table that resembles a census: many answers, some of them rare."""

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin


def census_like(seed, n=5000):
    """A table of thirty one-hot columns, and the cluster of each row, 46 in all.

    The first thirty clusters hold nearly all rows, and their classes mix to different
    degrees; sixteen clusters have 10 to 29 rows, of which a quarter say yes by chance.
    """
    generator = np.random.default_rng(seed)
    few = generator.integers(10, 30, size=16)
    clusters = np.concatenate(
        [
            generator.integers(0, 30, size=n - few.sum()),
            30 + np.repeat(np.arange(16), few),
        ]
    )
    levels = (3, 4, 4, 5, 6, 8)
    answers = np.stack([generator.integers(0, k, size=46) for k in levels], axis=1)
    given = answers[clusters]
    for question, n_levels in enumerate(levels):  # answers unlike any cluster's
        other = generator.uniform(size=n) < 0.15
        given[other, question] = generator.integers(0, n_levels, size=other.sum())
    X = np.hstack([np.eye(k)[given[:, q]] for q, k in enumerate(levels)])
    X += 1e-3 * generator.normal(size=X.shape)
    share = np.append(generator.uniform(0.02, 0.3, size=30), np.full(16, 0.25))
    y = generator.uniform(size=n) < share[clusters]
    return X, np.where(y, "yes", "no"), clusters


class GivenClusters(ClusterMixin, BaseEstimator):
    """A clusterer that returns given clusters, for the rows in the given order."""

    def __init__(self, clusters=None):
        self.clusters = clusters

    def fit_predict(self, X, y=None):  # noqa: ARG002 (scikit-learn's signature)
        return np.asarray(self.clusters)
