"""Any classifier as one function: features, labels and strengths in, a model out.

Whatever the way, strengths of 0 and strengths of nearly 0 must give the same model:
else a comparison would credit smoothing with what only the way does. So copied rows are
as many for all strengths, steps before the last one of a pipeline see rows as they are,
and trees, which count rows whatever their weight, are fitted to soft labels directly.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from structsmooth.boosting.fit import fit_smoothed, library_of
from structsmooth.classifier import (
    SmoothedClassifier,
    check_takes_weights,
    fit_expanded,
    fit_head,
)
from structsmooth.compare.learners import make_learner
from structsmooth.errors import InvalidInputError
from structsmooth.labels.forms import smooth_labels

# Features and class numbers, strengths, number of classes and seed to probabilities
# of any other rows.
Predictor = Callable[[Any], NDArray[np.float64]]
Trainer = Callable[[Any, NDArray[np.int64], NDArray[np.float64], int, int], Predictor]

REGRESSORS = {
    DecisionTreeClassifier: DecisionTreeRegressor,
    ExtraTreeClassifier: ExtraTreeRegressor,
    ExtraTreesClassifier: ExtraTreesRegressor,
    RandomForestClassifier: RandomForestRegressor,
}
# Parameters that change neither a model nor a result.
IDLE = ("n_jobs", "thread_count", "verbose", "verbosity")


def trainer_of(classifier: Any) -> Trainer:
    """Return how to train a classifier on smoothed labels, or say why it cannot be."""
    if classifier is None:
        classifier = make_learner("logistic")
    if isinstance(classifier, type):
        raise InvalidInputError(
            f"classifier must be an instance, got the class {classifier.__name__}; "
            f"write {classifier.__name__}()"
        )
    if not hasattr(classifier, "fit"):
        if callable(classifier):
            return functools.partial(_train_by_call, classifier)
        raise InvalidInputError(
            "classifier must be a classifier or a function that trains one, got "
            f"{type(classifier).__name__}"
        )
    if not is_classifier(classifier):
        raise InvalidInputError(
            f"classifier must be a classifier, got {type(classifier).__name__}"
        )
    last = classifier
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if isinstance(last, SmoothedClassifier):
        raise InvalidInputError(
            "classifier must not smooth by itself, got a SmoothedClassifier; give the "
            "classifier that it holds"
        )
    if not hasattr(classifier, "predict_proba"):
        raise InvalidInputError(
            f"classifier must have predict_proba, and {type(last).__name__} has not"
        )
    if isinstance(classifier, Pipeline):
        trainer_of(last)  # refuse at once what cannot be trained
        return functools.partial(_train_pipeline, classifier)
    if library_of(classifier) is not None:
        return functools.partial(_train_boosting, classifier)
    if type(classifier) in REGRESSORS and classifier.class_weight is None:
        return functools.partial(_train_trees, classifier)
    check_takes_weights(classifier)
    return functools.partial(_train_on_copies, classifier)


def _train_by_call(
    function: Any,
    X: Any,
    y: NDArray[Any],
    strengths: NDArray[Any],
    n_classes: int,
    seed: int,
) -> Predictor:
    model = function(X, y, strengths, n_classes=n_classes, random_state=seed)
    predict = getattr(model, "predict_proba", model)
    if not callable(predict):
        raise InvalidInputError(
            "the function given as classifier must return a model with predict_proba, "
            f"or a function; it returned {type(model).__name__}"
        )
    return cast(Predictor, predict)


def _train_pipeline(
    pipeline: Pipeline,
    X: Any,
    y: NDArray[Any],
    strengths: NDArray[Any],
    n_classes: int,
    seed: int,
) -> Predictor:
    copy = _seeded(pipeline, seed)
    transformed, _ = fit_head(copy, X, y, {})
    train = trainer_of(copy.steps[-1][1])
    predict = train(transformed, y, strengths, n_classes, seed)
    head = copy.steps[:-1]

    def predict_rows(rows: Any) -> NDArray[np.float64]:
        for _, step in head:
            if step not in (None, "passthrough"):
                rows = step.transform(rows)
        return predict(rows)

    return predict_rows


def _train_boosting(
    classifier: Any,
    X: Any,
    y: NDArray[Any],
    strengths: NDArray[Any],
    n_classes: int,
    seed: int,
) -> Predictor:
    model = fit_smoothed(_seeded(classifier, seed), X, y, strengths, n_classes)
    return model.predict_proba


def _train_trees(
    classifier: Any,
    X: Any,
    y: NDArray[Any],
    strengths: NDArray[Any],
    n_classes: int,
    seed: int,
) -> Predictor:
    """Train on soft labels: their variance is the Gini impurity of hard ones."""
    parameters = _seeded(classifier, seed).get_params(deep=False)
    for name in ("class_weight", "criterion", "monotonic_cst"):
        parameters.pop(name, None)
    model = REGRESSORS[type(classifier)](**parameters)
    model.fit(X, smooth_labels(y, strengths, n_classes))

    def predict(rows: Any) -> NDArray[np.float64]:
        found = np.clip(model.predict(rows), 0.0, 1.0)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    return predict


def _train_on_copies(
    classifier: Any,
    X: Any,
    y: NDArray[Any],
    strengths: NDArray[Any],
    n_classes: int,
    seed: int,
) -> Predictor:
    model = fit_expanded(
        _seeded(classifier, seed),
        X,
        y,
        smooth_labels(y, strengths, n_classes),
        np.arange(n_classes),
        {},
        keep_empty=True,
    )
    return cast(Predictor, model.predict_proba)


def _seeded(classifier: Any, seed: int) -> Any:
    """Return a copy in which every ``random_state`` is the seed."""
    copy = clone(classifier)
    names = [
        name
        for name in copy.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
    if not names and type(copy).__module__.startswith("catboost"):
        names = ["random_seed"]  # which it does not list until it is set
    return copy.set_params(**dict.fromkeys(names, seed)) if names else copy


def describe(thing: Any) -> str:
    """Return text that is the same in every process, and differs for other models."""
    if thing is None or isinstance(thing, str | int | float | bool):
        return repr(thing)
    if isinstance(thing, list | tuple):
        return f"[{', '.join(map(describe, thing))}]"
    if isinstance(thing, BaseEstimator) or hasattr(thing, "get_params"):
        parameters = sorted(thing.get_params(deep=False).items())
        values = [
            f"{name}={describe(value)}"
            for name, value in parameters
            if name not in IDLE
        ]
        return f"{type(thing).__qualname__}({', '.join(values)})"
    if isinstance(thing, functools.partial):
        options = sorted(thing.keywords.items())
        parts = [describe(thing.func), *map(describe, thing.args)]
        parts += [f"{name}={describe(value)}" for name, value in options]
        return f"partial({', '.join(parts)})"
    if inspect.isroutine(thing):
        return f"{thing.__module__}.{thing.__qualname__}"
    if isinstance(thing, np.ndarray):
        return f"array({thing.tolist()!r})"
    return repr(thing)


def check_is_named(classifier: Any) -> None:
    """Refuse what cannot be told from another one when it is met again in a file."""
    text = describe(classifier)
    if "<locals>" in text or "<lambda>" in text or " object at 0x" in text:
        raise InvalidInputError(
            "results needs a classifier that can be recognized in another process: a "
            "function of a module, a functools.partial of one, or an object with a "
            f"__repr__ of its own; got {text}"
        )
