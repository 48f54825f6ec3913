"""Training a classifier of a boosting library on soft labels, in one call."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from structsmooth.boosting.arguments import OBJECTIVE_NAMES, BoostingArguments
from structsmooth.boosting.labels import check_labels, check_soft_labels
from structsmooth.boosting.libraries import RAW_OPTIONS, arguments_for, xgboost_metric
from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import encode_as, encode_labels

# The objectives of classifiers; those for soft labels take their place.
OBJECTIVES = {"binary", "cross_entropy", "multiclass", "softmax"}  # LightGBM
OBJECTIVES |= {"binary:logistic", "multi:softmax", "multi:softprob"}  # XGBoost
OBJECTIVES |= {"CrossEntropy", "Logloss", "MultiClass"}  # CatBoost
# LightGBM and XGBoost keep labels, here row numbers, as float32.
MOST_SOFT_ROWS = 2**24


def fit_smoothed(
    estimator: Any,
    X: Any,
    y: ArrayLike | None,
    strengths: ArrayLike | None = None,
    n_classes: int | None = None,
    *,
    soft_labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    eval_set: Any = None,
    **fit_options: Any,
) -> SmoothedModel:
    """Train LightGBM, XGBoost or CatBoost on soft labels, without copying rows.

    Give either strengths, whose mass is spread evenly over the other classes, or soft
    labels of any kind.

    Parameters
    ----------
    estimator : LGBMClassifier, XGBClassifier or CatBoostClassifier
        Its parameters are used; it is not changed.
    X : array-like or DataFrame of shape (n, d)
        Features, of any kind that the library takes.
    y : array-like of shape (n,) or None
        Labels of any kind; with None, which needs soft labels, they are 0 to K - 1.
    strengths : float or array-like of shape (n,), optional
        Probability mass that leaves a sample's own class, of all samples or of each.
    n_classes : int, optional
        Number of classes K, if y has class numbers 0 to K - 1 of which some may not
        occur. By default the classes are the distinct labels in y.
    soft_labels : array-like of shape (n, K), optional
        Probability of each class, with columns in the order of the sorted labels.
    sample_weight : array-like of shape (n,), optional
        Weights.
    eval_set : pair or list of pairs, optional
        Features and labels for validation and early stopping. The labels are not
        smoothed; they may be soft labels of shape (m, K).
    **fit_options
        Passed on to ``fit`` of the library.
    """
    return SmoothedModel(estimator).fit(
        X,
        y,
        strengths,
        n_classes,
        soft_labels=soft_labels,
        sample_weight=sample_weight,
        eval_set=eval_set,
        **fit_options,
    )


class SmoothedModel(ClassifierMixin, BaseEstimator):
    """A classifier of LightGBM, XGBoost or CatBoost that is trained on soft labels.

    Parameters
    ----------
    estimator : LGBMClassifier, XGBClassifier or CatBoostClassifier
        Its parameters are used; it is not changed.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted.
    model : estimator
        The fitted estimator of the library; it may be a regressor.
    arguments : BoostingArguments
        The arguments that it was trained with.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(
        self,
        X: Any,
        y: ArrayLike | None,
        strengths: ArrayLike | None = None,
        n_classes: int | None = None,
        *,
        soft_labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: Any = None,
        **fit_options: Any,
    ) -> Self:
        """Train on soft labels; the parameters are those of `fit_smoothed`."""
        library = library_of(self.estimator)
        if library is None:
            raise InvalidInputError(
                "estimator must be a classifier of LightGBM, XGBoost or CatBoost, got "
                f"{type(self.estimator).__name__}"
            )
        classes = None
        if y is not None and n_classes is None:
            classes, y = encode_labels(y, None, owner="fit_smoothed")
            n_classes = len(classes)
        labels = check_labels(y, strengths, n_classes, soft_labels, sample_weight)
        arguments = arguments_for(library, labels)
        if classes is None:
            classes = np.arange(arguments.n_classes)
        pairs: list[tuple[Any, Any]] = []
        if eval_set is not None:
            arguments, pairs = _validation(arguments, classes, eval_set)
        model = arguments.estimator(**_parameters(self.estimator))
        parameters = inspect.signature(model.fit).parameters
        if pairs and "eval_X" in parameters:  # LightGBM 4.7 and later
            fit_options["eval_X"], fit_options["eval_y"] = zip(*pairs, strict=True)
        elif pairs:
            fit_options["eval_set"] = pairs
        model.fit(X, **arguments.fit_options, **fit_options)
        self.model, self.arguments, self.classes_ = model, arguments, classes
        self.n_features_in_ = model.n_features_in_
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        scores = self.model.predict(X, **self.arguments.raw_options)
        return self.arguments.probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of a classifier, without its objective."""
    parameters = {k: v for k, v in estimator.get_params().items() if v is not None}
    for name in OBJECTIVE_NAMES & parameters.keys():
        objective = parameters.pop(name)
        if not isinstance(objective, str) or objective not in OBJECTIVES:
            raise InvalidInputError(
                f"estimator must have an objective of classifiers, got {objective!r}"
            )
    return parameters


def _validation(
    arguments: BoostingArguments, classes: NDArray[Any], eval_set: Any
) -> tuple[BoostingArguments, list[tuple[Any, Any]]]:
    """Return arguments that can measure validation sets, and the encoded sets."""
    pairs: list[tuple[Any, Any]] = []
    matrices: list[NDArray[Any]] = []
    for pair in eval_set if isinstance(eval_set, list) else [eval_set]:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidInputError(
                "eval_set must be a pair of features and labels or a list of such "
                f"pairs, got {type(pair).__name__}"
            )
        rows, given = pair
        if np.ndim(given) < 2 or np.shape(given)[1] == 1:
            codes = encode_as(classes, given, None, owner="eval_set", name="eval_set")
            labels = arguments.hard_labels(codes)
        else:
            labels = check_soft_labels(given, len(classes), "labels in eval_set")
            if len(classes) == 2:
                labels = labels[:, 1]
            elif arguments.library != "catboost":
                first = sum(map(len, matrices))
                matrices.append(labels)
                labels = -1.0 - np.arange(first, first + len(labels))
        pairs.append((rows, labels))
    if not matrices:
        return arguments, pairs
    soft = np.concatenate(matrices)
    if len(soft) > MOST_SOFT_ROWS:
        raise InvalidInputError(
            f"eval_set must have at most {MOST_SOFT_ROWS} rows with soft labels, got "
            f"{len(soft)}"
        )
    if arguments.library == "lightgbm":
        metric = replace(arguments.fit_options["eval_metric"], soft=soft)
        options = {**arguments.fit_options, "eval_metric": metric}
        return replace(arguments, fit_options=options), pairs
    params = arguments.estimator_params | xgboost_metric(arguments.n_classes, soft)
    return replace(arguments, estimator_params=params), pairs


def library_of(estimator: Any) -> str | None:
    """Return the name of the library that an estimator belongs to, if any."""
    kinds = type(estimator).__mro__  # because subclasses count as well
    packages = [kind.__module__.partition(".")[0] for kind in kinds]
    return next((name for name in packages if name in RAW_OPTIONS), None)
