"""Any classifier as one function: features, labels and strengths in, a model out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from structsmooth.boosting import fit_smoothed
from structsmooth.classifier import check_takes_weights, fit_expanded
from structsmooth.compare.learners import BOOSTING, make_learner
from structsmooth.errors import InvalidInputError

# Features and class numbers, strengths, number of classes and seed to probabilities
# of any other rows.
Predictor = Callable[[Any], NDArray[np.float64]]
Trainer = Callable[[Any, NDArray[np.int64], NDArray[np.float64], int, int], Predictor]


def trainer_of(classifier: Any) -> Trainer:
    """Return how to train a classifier on smoothed labels, or say why it cannot be."""
    if classifier is None:
        classifier = make_learner("logistic")
    if isinstance(classifier, type):
        raise InvalidInputError(
            f"classifier must be an instance, got the class {classifier.__name__}; "
            f"write {classifier.__name__}()"
        )
    if type(classifier).__module__.split(".")[0] in BOOSTING:
        return _boosting_trainer(classifier)
    if hasattr(classifier, "fit"):
        check_takes_weights(classifier)
        if not hasattr(classifier, "predict_proba"):
            raise InvalidInputError(
                "classifier must have predict_proba, and "
                f"{type(classifier).__name__} has not"
            )
        return _expanding_trainer(classifier)
    if callable(classifier):
        return _calling_trainer(classifier)
    raise InvalidInputError(
        "classifier must be a classifier or a function that trains one, got "
        f"{type(classifier).__name__}"
    )


def describe(classifier: Any) -> str:
    """Return text that differs for classifiers that would train differently."""
    if classifier is None:
        return "logistic regression"
    if hasattr(classifier, "get_params"):
        parameters = sorted(classifier.get_params(deep=True).items())
        values = ", ".join(
            f"{name}={value!r}"
            for name, value in parameters
            if not hasattr(value, "get_params") and name not in ("steps", "memory")
        )
        return f"{type(classifier).__name__}({values})"
    # The usual text of an object holds its address, which is new in every process.
    if "__repr__" in vars(type(classifier)) and not inspect.isroutine(classifier):
        return repr(classifier)
    name = getattr(classifier, "__qualname__", type(classifier).__qualname__)
    return f"{classifier.__module__}.{name}"


def _boosting_trainer(classifier: Any) -> Trainer:
    def train(
        X: Any, y: NDArray[Any], strengths: NDArray[Any], n_classes: int, seed: int
    ) -> Predictor:
        model = fit_smoothed(_seeded(classifier, seed), X, y, strengths, n_classes)
        return model.predict_proba

    return train


def _expanding_trainer(classifier: Any) -> Trainer:
    def train(
        X: Any, y: NDArray[Any], strengths: NDArray[Any], n_classes: int, seed: int
    ) -> Predictor:
        model = fit_expanded(
            _seeded(classifier, seed), X, y, strengths, np.arange(n_classes), {}
        )

        def predict(rows: Any) -> NDArray[np.float64]:
            # A class that this split does not have gets no column from the model.
            probabilities = np.zeros((rows.shape[0], n_classes))
            probabilities[:, model.classes_] = model.predict_proba(rows)
            return probabilities

        return predict

    return train


def _calling_trainer(function: Any) -> Trainer:
    def train(
        X: Any, y: NDArray[Any], strengths: NDArray[Any], n_classes: int, seed: int
    ) -> Predictor:
        model = function(X, y, strengths, n_classes=n_classes, random_state=seed)
        predict = getattr(model, "predict_proba", model)
        if not callable(predict):
            raise InvalidInputError(
                "the function given as classifier must return a model with "
                f"predict_proba, or a function; it returned {type(model).__name__}"
            )
        return predict  # type: ignore[no-any-return]

    return train


def _seeded(classifier: Any, seed: int) -> Any:
    """Return a copy in which every ``random_state`` is the seed."""
    copy = clone(classifier)
    names = [
        name
        for name in copy.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
    return copy.set_params(**dict.fromkeys(names, seed)) if names else copy
