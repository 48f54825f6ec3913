"""Logistic regression on soft labels has the optimum of weighted copies of the rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

from structsmooth import SmoothedClassifier, StructuralSmoother, smooth_labels
from structsmooth.classifier.expand import fit_expanded
from structsmooth.classifier.logistic import fit_soft_logistic, takes_soft_labels

EXACT = {"tol": 1e-9, "max_iter": 20_000}


def copies(soft, X, weights=None):
    """Return the arguments of a fit to one weighted row for each class."""
    rows, labels = np.nonzero(soft)
    each = soft[rows, labels] * (1.0 if weights is None else weights[rows])
    return X[rows], labels, each


@pytest.fixture
def data(rng):
    y = rng.integers(0, 4, 300)
    X = rng.normal(size=(300, 5)) + np.eye(4, 5)[y]
    X[:, 4] = X[:, 3] + 0.01 * X[:, 4]  # badly conditioned
    return 3.0 + X * [1.0, 10.0, 0.1, 1.0, 1.0], y


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "options",
    [{}, {"C": 0.01}, {"C": 100.0}, {"fit_intercept": False}, {"solver": "newton-cg"}],
    ids=str,
)
def test_at_strength_0_it_is_scikit_learns(data, n_classes, options):
    X, y = data
    y = y % n_classes
    model = LogisticRegression(**EXACT | options)
    expected = clone(model).set_params(solver="newton-cholesky").fit(X, y)
    found = fit_soft_logistic(model, X, np.eye(n_classes)[y], np.arange(n_classes))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(
        found.predict_proba(X), expected.predict_proba(X), atol=2e-6
    )
    assert found.coef_.shape == expected.coef_.shape
    assert found.intercept_.shape == expected.intercept_.shape
    assert found.n_features_in_ == 5


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("with_weights", [False, True])
def test_soft_labels_are_weighted_copies(data, rng, n_classes, with_weights):
    X, _ = data
    soft = rng.dirichlet(np.ones(n_classes), 300)
    weights = rng.uniform(0.5, 3.0, 300) if with_weights else None
    model = LogisticRegression(**EXACT)
    expected = clone(model).set_params(solver="newton-cholesky")
    expected.fit(*copies(soft, X, weights))
    found = fit_soft_logistic(model, X, soft, np.arange(n_classes), weights)
    np.testing.assert_allclose(
        found.predict_proba(X), expected.predict_proba(X), atol=2e-6
    )


def test_sparse_features_give_the_same(data):
    X, y = data[0] * [1.0, 0.1, 10.0, 1.0, 1.0] - 3.0, data[1]
    soft = smooth_labels(y, 0.2, 4)
    model = LogisticRegression(tol=1e-6, max_iter=2000)
    dense, sparse = (
        fit_soft_logistic(clone(model), rows, soft, np.arange(4))
        for rows in (X, csr_array(X))
    )
    np.testing.assert_allclose(
        sparse.predict_proba(csr_array(X)), dense.predict_proba(X), atol=1e-4
    )


def test_more_features_than_rows(rng):
    X, y = rng.normal(size=(20, 200)), rng.integers(0, 3, 20)
    soft = smooth_labels(y, 0.1, 3)
    found = fit_soft_logistic(LogisticRegression(**EXACT), X, soft, np.arange(3))
    expected = LogisticRegression(solver="newton-cholesky", **EXACT)
    expected.fit(*copies(soft, X))
    np.testing.assert_allclose(
        found.predict_proba(X), expected.predict_proba(X), atol=1e-5
    )


def test_it_gets_closer_to_the_optimum_than_the_same_tolerance_of_copies():
    X, y = load_iris(return_X_y=True)
    soft = smooth_labels(y, 0.1, 3)

    def excess(model):
        logs = model.predict_log_proba(X)
        return -(soft * logs).sum() + 0.5 * np.square(model.coef_).sum()

    model = LogisticRegression(max_iter=1000)
    found = excess(fit_soft_logistic(clone(model), X, soft, np.arange(3)))
    copied = excess(clone(model).fit(*copies(soft, X)))
    assert found <= copied + 1e-6


def test_constant_features_do_no_harm(data):
    X, y = data
    wide = np.column_stack([X, np.zeros(300), np.full(300, 7.0)])
    soft = smooth_labels(y, 0.1, 4)
    found, expected = (
        fit_soft_logistic(LogisticRegression(**EXACT), rows, soft, np.arange(4))
        for rows in (wide, X)
    )
    np.testing.assert_allclose(
        found.predict_proba(wide), expected.predict_proba(X), atol=1e-6
    )


def test_too_few_iterations_are_said(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="in 2 iterations"):
        fit_soft_logistic(
            LogisticRegression(max_iter=2), X, smooth_labels(y, 0.1, 4), np.arange(4)
        )


@pytest.mark.parametrize(
    ("classifier", "expected"),
    [
        (LogisticRegression(), True),
        (LogisticRegression(C=3, solver="saga", max_iter=5), True),
        (LogisticRegression(l1_ratio=0.5, solver="saga"), False),
        (LogisticRegression(class_weight={0: 2.0}), False),
        (LogisticRegression(solver="liblinear"), False),
        (LogisticRegression(warm_start=True), False),
        (LogisticRegressionCV(), False),
    ],
    ids=str,
)
def test_only_what_has_the_same_objective_is_fitted_this_way(classifier, expected):
    assert takes_soft_labels(classifier) is expected


def test_no_row_is_copied_for_a_logistic_regression(overlapping, monkeypatch):
    def refuse(*_arguments, sample_weight=None):
        pytest.fail(f"fitted {len(sample_weight)} rows")

    monkeypatch.setattr(LogisticRegression, "fit", refuse)
    smoother = StructuralSmoother(0.1, n_clusters=3, random_state=0)
    SmoothedClassifier(LogisticRegression(), smoother).fit(*overlapping)


def test_without_smoothing_it_is_the_plain_fit_to_the_last_bit():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000)
    found = fit_expanded(clone(model), X, y, np.eye(3)[y], np.arange(3), {})
    np.testing.assert_array_equal(found.coef_, clone(model).fit(X, y).coef_)
