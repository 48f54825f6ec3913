"""Evidence about labels, which never uses the label of the row itself."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, multivariate_t

from structsmooth.bayes_error.evidence import LEAST, fit_shapes, gather_evidence


def evidence_of(X, y, k="auto"):
    found = gather_evidence(X, y, int(y.max()) + 1, None, k, 1)
    return found, found.of(np.arange(len(y)))


def test_votes_and_distances_by_hand():
    # Distances from 0: 1 (class 0), 2 and 4 (class 1); the row itself has class 1.
    X = np.array([[0.0], [1.0], [-2.0], [4.0]])
    y = np.array([1, 0, 1, 1])
    _, got = evidence_of(X, y, 3)
    # Each class has one pseudo vote in all, by its share among the other rows, and at
    # most as many votes as it has other rows: one of class 0, two of class 1.
    prior = np.array([1.5, 2.5]) / 4.0
    votes = [[1.0, 0.0], [1.0, 0.0], [1.0, 2.0]]  # of the nearest 1, 1 and 3
    most = [[1.0, 1.0], [1.0, 1.0], [1.0, 2.0]]
    for t in range(3):
        expected = np.log((votes[t] + prior) / (np.array(most[t]) + 1.0))
        np.testing.assert_allclose(got[0, :, t], expected)
    least = 1e-3 * np.median(cdist(X, X).sum(axis=1) / 3)
    usual = 7.0 / 3.0 + least
    # The third neighbor of both classes is farther away than all that were looked at.
    first = -np.log((np.array([1.0, 2.0]) + least) / usual)
    np.testing.assert_allclose(got[0, :, 3], first)
    np.testing.assert_allclose(got[0, :, 4], -np.log((4.0 + least) / usual))


def test_a_class_may_be_farther_away_than_all_neighbors_that_vote():
    X, y = np.arange(100.0)[:, None], np.repeat([0, 1], [41, 59])
    found, got = evidence_of(X, y)
    assert found.n_votes == 30
    # Two classes: of the 60 nearest rows of row 0, those at 41 to 60 are of class 1.
    usual, least = 61.0 / 2.0, found._least_distance
    for t, distances in ((3, [1.0, 41.0]), (4, [3.0, 43.0])):
        expected = -np.log((np.array(distances) + least) / (usual + least))
        np.testing.assert_allclose(got[0, :, t], expected)
    # None of them votes: one pseudo vote in all, and 30 that the class could have.
    prior = 59.5 / (99.0 + 1.0)
    np.testing.assert_allclose(got[0, 1, 2], np.log(prior / 31.0))


def test_a_class_of_few_rows_is_not_outvoted_by_its_size():
    X = np.concatenate([np.arange(5.0), 100.0 + np.arange(200.0)])[:, None]
    y = np.repeat([0, 1], [5, 200])
    _, got = evidence_of(X, y)
    # All four others of the class are among the 30 neighbors: of shares of votes, that
    # of the other class would be log(26 / 4) = 1.9 larger.
    assert got[2, 1, 2] - got[2, 0, 2] < 0.1


@pytest.mark.parametrize("n_features", [1, 3])
def test_shapes_are_those_of_a_fit_without_the_row(rng, n_features):
    n, d, sizes = 600, n_features, np.array([300, 200, 100])
    y = np.repeat([0, 1, 2], sizes)
    X = rng.normal(size=(n, d)) * (1.0 + y[:, None]) + 2.0 * y[:, None]
    _, got = evidence_of(X, y)
    ridge = 1e-6 * sum(
        ((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum() for c in range(3)
    )
    ridge = ridge / d * np.eye(d)
    for row in (3, 350, 550):
        left = np.arange(n) != row
        A, b = X[left], y[left]
        means = [A[b == c].mean(axis=0) for c in range(3)]
        scatters = [(A[b == c] - means[c]).T @ (A[b == c] - means[c]) for c in range(3)]
        counts = np.bincount(b, minlength=3)
        together = (sum(scatters) + ridge) / (n - 1 - 3)
        common = np.array(
            [
                multivariate_normal(means[c], together).logpdf(X[row])
                + np.log(counts[c] + 0.5)
                for c in range(3)
            ]
        )
        np.testing.assert_allclose(
            got[row, :, 5], np.maximum(common - common.max(), LEAST), atol=1e-6
        )
        own = []
        for c in range(3):
            # The common covariance counts as d rows. That of other classes than the
            # row's own is not taken out of it: of 600 rows it is hardly seen.
            mixed = (scatters[c] + d * sum(scatters) / (n - 1)) / (counts[c] + d)
            density = multivariate_normal(means[c], mixed).logpdf(X[row])
            own.append(density + np.log(counts[c] + 0.5))
        own = np.array(own)
        np.testing.assert_allclose(
            got[row, :, 6], np.maximum(own - own.max(), LEAST), atol=0.02
        )


def test_heavy_tails_are_those_of_a_t_distribution(rng):
    n, d = 4_000, 2
    y = np.arange(n) % 2
    heavy = rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3.0)
    X = heavy + 3.0 * y[:, None]
    _, got = evidence_of(X, y)
    shapes = fit_shapes(X, y, np.bincount(y))
    assert max(shapes.freedoms) <= 4.0
    normal = rng.normal(size=(n, d)) + 3.0 * y[:, None]
    assert min(fit_shapes(normal, y, np.bincount(y)).freedoms) >= 20.0
    # Taking one of 4 000 rows out changes little, but not where it is far away: a row
    # near the middle of its class is compared, and one of class 0 that is far off.
    far = np.flatnonzero(y == 0)[np.argsort(np.abs(X[y == 0]).max(axis=1))[-20]]
    for row in (int(np.abs(X[:, 0]).argmin()), int(far)):
        left = np.arange(n) != row
        for t, freedom in enumerate(shapes.freedoms):
            covariances = [np.cov(X[left & (y == c)].T) for c in range(2)]
            if t == 0:
                covariances = [sum(covariances) / 2.0] * 2
            expected = np.array(
                [
                    multivariate_t(
                        X[left & (y == c)].mean(axis=0),
                        covariances[c] * (freedom - 2.0) / freedom,
                        df=freedom,
                    ).logpdf(X[row])
                    for c in range(2)
                ]
            )
            expected = np.maximum(expected - expected.max(), LEAST)
            np.testing.assert_allclose(got[row, :, 7 + t], expected, atol=0.02)
    # A normal distribution is surer about the far row.
    assert got[far, :, 5].min() < got[far, :, 7].min()


def test_the_label_of_a_row_says_nothing_about_it(rng):
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 2, size=50)
    _, before = evidence_of(X, y)
    changed = y.copy()
    changed[7] = 1 - y[7]
    _, after = evidence_of(X, changed)
    np.testing.assert_allclose(after[7], before[7], atol=0.05)
    assert np.abs(after - before).max() > 0.3


def test_equal_rows_and_more_features_than_rows_have_finite_evidence(rng):
    for X in (np.zeros((20, 3)), rng.normal(size=(12, 40)), np.eye(20)[:, :1]):
        y = np.arange(len(X)) % 2
        assert np.isfinite(evidence_of(X, y)[1]).all()


def test_many_features_have_no_shapes(rng):
    X, y = rng.normal(size=(30, 300)), np.arange(30) % 2
    assert evidence_of(X, y)[1].shape == (30, 2, 5)
