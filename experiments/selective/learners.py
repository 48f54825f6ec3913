"""The learners of the study: labels in, probabilities out, for all arms of a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from lightgbm import LGBMClassifier
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from experiments.models import ResidualTrainer
from experiments.selective import perceptrons
from structsmooth.boosting import fit_smoothed

Predictor = Callable[[np.ndarray], np.ndarray]  # from (m, d) to (A, m, K)


def train(
    learner: str,
    options: dict,
    X: np.ndarray,
    labels: np.ndarray,
    losses: Sequence[str],
    seed: int,
    weights: np.ndarray | None = None,
) -> Predictor:
    """Train a model for each arm.

    Labels are of shape (A, n, K). Weights of shape (A, n) are 0 for rows that an arm
    does not see, otherwise 1. Only perceptrons, which have hidden layers, have a choice
    of losses. Learners with a recipe are the compact network for images.
    """
    if "hidden" in options:
        return perceptrons.train(X, labels, losses, seed, weights=weights, **options)
    if any(loss != "cross_entropy" for loss in losses):
        raise ValueError(f"{learner} has the cross-entropy only, got {set(losses)}")
    named = {"lightgbm": _lightgbm, "logistic": _logistic}
    one = _residual if "recipe" in options else named[learner]
    seen = np.ones(labels.shape[:2], bool) if weights is None else weights > 0
    fitted = [
        one(options, X[rows], soft[rows], seed)
        for soft, rows in zip(labels, seen, strict=True)
    ]
    return lambda others: np.stack([predict(others) for predict in fitted])


def _lightgbm(options: dict, X, soft, seed: int) -> Predictor:
    model = LGBMClassifier(
        n_jobs=1, deterministic=True, verbose=-1, random_state=seed, **options
    )
    return fit_smoothed(model, X, None, soft_labels=soft).predict_proba


def _residual(options: dict, X, soft, seed: int) -> Predictor:
    hard, (n, n_classes) = soft.argmax(axis=1), soft.shape
    trainer = ResidualTrainer(**options)
    return trainer(X, hard, np.zeros(n), n_classes, seed, soft_labels=soft)


def _logistic(options: dict, X, soft, seed: int) -> Predictor:  # noqa: ARG001 (no draws)
    """Fit a multinomial logistic regression to soft labels, on standardized features.

    The penalty is that of scikit-learn: half of the squared coefficients, against C
    times the sum of the losses.
    """
    n, n_features = X.shape
    n_classes = soft.shape[1]
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)

    def standardized(rows):
        return (rows.astype(np.float64) - center) / scale

    rows, penalty = standardized(X), 1.0 / (options["C"] * n)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        slopes, offsets = _unpack(flat, n_features, n_classes)
        logs = log_softmax(rows @ slopes + offsets, axis=1)
        errors = (np.exp(logs) - soft) / n
        value = -float((soft * logs).sum()) / n + penalty * float((slopes**2).sum()) / 2
        gradient = rows.T @ errors + penalty * slopes
        return value, np.concatenate([gradient.ravel(), errors.sum(axis=0)])

    start = np.zeros((n_features + 1) * n_classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=LBFGS)
    slopes, offsets = _unpack(found.x, n_features, n_classes)
    return lambda others: softmax(standardized(others) @ slopes + offsets, axis=1)


LBFGS = {"maxiter": 300, "gtol": 1e-5, "maxcor": 20}


def _unpack(flat, n_features: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    split = n_features * n_classes
    return flat[:split].reshape(n_features, n_classes), flat[split:]
