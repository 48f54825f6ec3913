"""Logistic regression on soft labels, without one weighted copy of a row per class.

The objective is that of `sklearn.linear_model.LogisticRegression` with an L2 penalty,
with soft labels in place of hard ones, so both have the same optimum. Features that
correlate make it badly conditioned. Therefore L-BFGS works in coordinates in which the
Hessian, at its upper bound (D. Böhning: Multinomial logistic regression algorithm,
Annals of the Institute of Statistical Mathematics 44, 1992), is the identity.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data

# A Cholesky factor of this many features takes a second.
MOST_WHITENED = 2048
# Parameters with which LogisticRegression has another objective, or none of its own.
USUAL = {
    "class_weight": (None,),
    "dual": (False,),
    "intercept_scaling": (1,),
    "l1_ratio": (0.0, 0, None),
    "penalty": ("l2", "deprecated"),
    "solver": ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"),
    "warm_start": (False,),
}


def takes_soft_labels(classifier: Any) -> bool:
    """Whether a classifier is a logistic regression that can be fitted here."""
    if type(classifier) is not LogisticRegression:
        return False
    parameters = classifier.get_params(deep=False)
    return all(
        parameters.get(name, values[0]) in values for name, values in USUAL.items()
    )


def fit_soft_logistic(
    model: LogisticRegression,
    X: Any,
    soft: NDArray[np.float64],
    classes: NDArray[Any],
    sample_weight: NDArray[np.float64] | None = None,
) -> LogisticRegression:
    """Fit a logistic regression in place to the soft label of each row.

    A tenth of ``tol`` bounds the gradient of the mean loss in the coordinates of the
    solver, where it is also a bound on the distance to the optimum.
    """
    X = validate_data(model, X, accept_sparse="csr", dtype=np.float64)
    weights = np.ones(len(soft)) if sample_weight is None else sample_weight
    total = float(np.sum(weights))
    weights, penalty = weights / total, 1.0 / (model.C * total)
    targets = soft[:, 1:] if len(classes) == 2 else soft
    coefficients, intercept, n_iter = _minimize(
        X, targets, weights, penalty, model.fit_intercept, model.tol, model.max_iter
    )
    model.classes_, model.n_iter_ = classes, np.array([n_iter], dtype=np.int32)
    model.coef_, model.intercept_ = coefficients.T.copy(), intercept
    return model


def _minimize(
    X: Any,
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    penalty: float,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return coefficients of shape (d, m), intercepts of shape (m,), and iterations.

    Of two classes only the second has coefficients, of more all have.
    """
    n_features, n_columns = X.shape[1], targets.shape[1]
    center = np.zeros(n_features)
    if fit_intercept and not issparse(X):
        center = weights @ X
        X = X - center  # so that the intercept does not depend on the coefficients
    factor = _whitening(X, weights, penalty)

    def coefficients_of(point: NDArray[np.float64]) -> NDArray[np.float64]:
        found = point[n_columns:].reshape(n_features, n_columns)
        if factor is None:
            return found
        return np.asarray(solve_triangular(factor, found, check_finite=False))

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        coefficients, intercept = coefficients_of(point), point[:n_columns]
        scores = np.asarray(X @ coefficients, dtype=np.float64) + intercept
        if n_columns == 1:
            normalizer = np.logaddexp(0.0, scores)
        else:
            normalizer = logsumexp(scores, axis=1, keepdims=True)
        # Each row of targets has the sum 1, or the share of the second of two classes.
        own = (targets * scores).sum(axis=1) - normalizer[:, 0]
        value = -float(weights @ own)
        residuals = (np.exp(scores - normalizer) - targets) * weights[:, np.newaxis]
        gradient = np.asarray(X.T @ residuals, dtype=np.float64)
        gradient += penalty * coefficients
        value += 0.5 * penalty * float(np.vdot(coefficients, coefficients))
        if factor is not None:
            gradient = solve_triangular(factor, gradient, trans="T", check_finite=False)
        of_intercept = residuals.sum(axis=0) if fit_intercept else np.zeros(n_columns)
        return value, np.concatenate([of_intercept, gradient.ravel()])

    options = {
        "maxiter": max_iter,
        "gtol": 0.1 * tol,
        "ftol": 0.0,
        "maxcor": 20,
        "maxls": 50,
    }
    start = np.zeros(n_columns * (1 + n_features))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    if found.nit >= max_iter:
        warnings.warn(
            f"the logistic regression did not converge in {max_iter} iterations; "
            "increase max_iter or scale the features",
            ConvergenceWarning,
            stacklevel=2,
        )
    coefficients = coefficients_of(found.x)
    intercept = found.x[:n_columns] - center @ coefficients
    if n_columns > 1 and fit_intercept:
        intercept = intercept - intercept.mean()  # only differences have an effect
    return coefficients, intercept if fit_intercept else np.zeros(n_columns), found.nit


def _whitening(
    X: Any, weights: NDArray[np.float64], penalty: float
) -> NDArray[np.float64] | None:
    """Return the upper Cholesky factor of a bound on the Hessian, if it is cheap."""
    if issparse(X) or X.shape[1] > min(MOST_WHITENED, 4 * len(weights)):
        return None
    roots = np.sqrt(weights, dtype=X.dtype)[:, np.newaxis] * X
    hessian = 0.25 * np.asarray(roots.T @ roots, dtype=np.float64)
    size = np.trace(hessian) / len(hessian)
    hessian[np.diag_indices_from(hessian)] += penalty + 1e-10 * size + 1e-300
    return np.asarray(cholesky(hessian, check_finite=False))
