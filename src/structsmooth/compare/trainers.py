"""Any classifier as one function: features, labels and strengths in, probabilities out.

Strengths of 0 and strengths of nearly 0 must give the same model. Otherwise a
comparison would credit smoothing with an effect of the way it is done. Therefore all
strengths copy the same number of rows, the earlier steps of a pipeline see the original
rows, and logistic regressions, and trees, which count rows whatever their weights, are
fitted to soft labels.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble, tree
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from structsmooth.boosting.arguments import import_library
from structsmooth.boosting.fit import fit_smoothed, library_of
from structsmooth.classifier import SmoothedClassifier
from structsmooth.classifier.expand import (
    check_takes_weights,
    fit_expanded,
    fit_head,
)
from structsmooth.classifier.logistic import takes_soft_labels
from structsmooth.encode.encoder import TableEncoder
from structsmooth.errors import InvalidInputError
from structsmooth.labels.forms import smooth_labels

REGRESSORS = {
    tree.DecisionTreeClassifier: tree.DecisionTreeRegressor,
    tree.ExtraTreeClassifier: tree.ExtraTreeRegressor,
    ensemble.ExtraTreesClassifier: ensemble.ExtraTreesRegressor,
    ensemble.RandomForestClassifier: ensemble.RandomForestRegressor,
}
# The command line's classifiers of boosting libraries, with what keeps them silent.
BOOSTING: dict[str, tuple[str, dict[str, Any]]] = {
    "lightgbm": ("LGBMClassifier", {"verbose": -1, "deterministic": True}),
    "xgboost": ("XGBClassifier", {}),
    "catboost": ("CatBoostClassifier", {"verbose": 0, "allow_writing_files": False}),
}
# Parameters that change neither a model nor a result.
IDLE = ("n_jobs", "thread_count", "verbose", "verbosity")


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The rows of one fit; soft labels only if their mass is not spread evenly.

    Weights only if suspects are to count less.
    """

    X: Any
    y: NDArray[np.int64]
    strengths: NDArray[np.float64]
    n_classes: int
    seed: int
    soft_labels: NDArray[np.float64] | None = None
    sample_weight: NDArray[np.float64] | None = None

    def smoothed(self) -> NDArray[np.float64]:
        """Return the soft label of each row."""
        if self.soft_labels is not None:
            return self.soft_labels
        return smooth_labels(self.y, self.strengths, self.n_classes)


Predictor = Callable[[Any], NDArray[np.float64]]  # from features to probabilities
Trainer = Callable[[TrainingSet], Predictor]


def make_learner(name: str, of_tables: bool = False) -> Any:
    """Return a classifier of the command line, with the defaults of its library.

    One for tables encodes their columns first.
    """
    if of_tables:
        return make_pipeline(TableEncoder(), make_learner(name))
    if name in BOOSTING:
        class_name, options = BOOSTING[name]
        return getattr(import_library(name), class_name)(**options)
    learners = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest": ensemble.RandomForestClassifier(),
        # Early stopping would hold out copies of training rows.
        "gradient-boosting": ensemble.HistGradientBoostingClassifier(
            early_stopping=False
        ),
        "mlp": make_pipeline(StandardScaler(), MLPClassifier()),
    }
    return learners[name]


def trainer_of(classifier: Any, of_tables: bool = False) -> Trainer:
    """Return how to train a classifier on smoothed labels, or say why it cannot be."""
    if classifier is None:
        classifier = make_learner("logistic", of_tables)
    if callable(classifier) and not hasattr(classifier, "fit"):
        return partial(_train_by_call, classifier)
    if not hasattr(classifier, "fit") or not is_classifier(classifier):
        raise InvalidInputError(
            "classifier must be a classifier or a function that trains one, got "
            f"{type(classifier).__name__}"
        )
    last = classifier
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if isinstance(last, SmoothedClassifier):
        raise InvalidInputError(
            "classifier must not smooth by itself, got a SmoothedClassifier; pass the "
            "classifier that it holds"
        )
    if not hasattr(classifier, "predict_proba"):
        raise InvalidInputError(
            f"classifier must have predict_proba, and {type(last).__name__} has not"
        )
    if isinstance(classifier, Pipeline):
        trainer_of(last)  # refuse at once what cannot be trained
        return partial(_train_pipeline, classifier)
    if library_of(classifier) is not None:
        return partial(_train_boosting, classifier)
    if type(classifier) in REGRESSORS and classifier.class_weight is None:
        return partial(_train_trees, classifier)
    check_takes_weights(classifier)
    return partial(_train_on_copies, classifier)


def _train_by_call(function: Any, rows: TrainingSet) -> Predictor:
    options: dict[str, Any] = {"n_classes": rows.n_classes, "random_state": rows.seed}
    if rows.soft_labels is not None:
        options["soft_labels"] = rows.soft_labels
    if rows.sample_weight is not None:
        options["sample_weight"] = rows.sample_weight
    model = function(rows.X, rows.y, rows.strengths, **options)
    predict = getattr(model, "predict_proba", model)
    if not callable(predict):
        raise InvalidInputError(
            "the function given as classifier must return a model with predict_proba, "
            f"or a function; it returned {type(model).__name__}"
        )
    return cast(Predictor, predict)


def _train_pipeline(pipeline: Pipeline, rows: TrainingSet) -> Predictor:
    copy = _seeded(pipeline, rows.seed)
    transformed, _ = fit_head(copy, rows.X, rows.y, {})
    train = trainer_of(copy.steps[-1][1])
    predict = train(replace(rows, X=transformed))
    if len(copy) == 1:
        return predict
    return lambda X: predict(copy[:-1].transform(X))


def _train_boosting(classifier: Any, rows: TrainingSet) -> Predictor:
    labels: dict[str, Any] = {"strengths": rows.strengths}
    if rows.soft_labels is not None:
        labels = {"soft_labels": rows.soft_labels}
    labels["sample_weight"] = rows.sample_weight
    model = _seeded(classifier, rows.seed)
    fitted = fit_smoothed(model, rows.X, rows.y, n_classes=rows.n_classes, **labels)
    return fitted.predict_proba


def _train_trees(classifier: Any, rows: TrainingSet) -> Predictor:
    """Train on soft labels: their variance is the Gini impurity of hard ones."""
    parameters = _seeded(classifier, rows.seed).get_params(deep=False)
    for name in ("class_weight", "criterion", "monotonic_cst"):
        parameters.pop(name, None)
    model = REGRESSORS[type(classifier)](**parameters)
    model.fit(rows.X, rows.smoothed(), sample_weight=rows.sample_weight)

    def predict(X: Any) -> NDArray[np.float64]:
        found = np.clip(model.predict(X), 0.0, 1.0)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    return predict


def _train_on_copies(classifier: Any, rows: TrainingSet) -> Predictor:
    model = _seeded(classifier, rows.seed)
    classes, soft = np.arange(rows.n_classes), rows.smoothed()
    weights: dict[str, Any] = {}
    if rows.sample_weight is not None:
        weights = {"sample_weight": rows.sample_weight}
    fit_expanded(model, rows.X, rows.y, soft, classes, weights, keep_empty=True)
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
        names = ["random_seed"]  # which CatBoost does not list until it is set
    return copy.set_params(**dict.fromkeys(names, seed)) if names else copy


def describe(thing: Any) -> str:
    """Return text that is the same in every process, and differs for other models."""
    if isinstance(thing, list | tuple):
        return f"[{', '.join(map(describe, thing))}]"
    if hasattr(thing, "get_params"):
        parameters = sorted(thing.get_params(deep=False).items())
        values = [f"{k}={describe(v)}" for k, v in parameters if k not in IDLE]
        return f"{type(thing).__qualname__}({', '.join(values)})"
    if isinstance(thing, partial):
        options = sorted(thing.keywords.items())
        parts = [describe(thing.func), *map(describe, thing.args)]
        parts += [f"{name}={describe(value)}" for name, value in options]
        return f"partial({', '.join(parts)})"
    if inspect.isroutine(thing):
        return f"{thing.__module__}.{thing.__qualname__}"
    if isinstance(thing, np.ndarray):
        return f"array({thing.tolist()!r})"
    return repr(thing)


def describe_training(classifier: Any) -> str:
    """Return the same of a classifier, and how it learns if that is not by copies."""
    if classifier is None:
        return "logistic regression, the default, fitted to soft labels"
    last = classifier
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    how = ", fitted to soft labels" if takes_soft_labels(last) else ""
    return describe(classifier) + how


def check_is_named(classifier: Any) -> None:
    """Refuse a classifier that a file of results could not tell from another one."""
    text = describe(classifier)
    if "<locals>" in text or "<lambda>" in text or " object at 0x" in text:
        raise InvalidInputError(
            "results needs a classifier that can be recognized in another process: a "
            "function of a module, a functools.partial of one, or an object with a "
            f"__repr__ of its own; got {text}"
        )
