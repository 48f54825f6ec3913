"""One call from an estimator of a boosting library to a model of smoothed labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.boosting.arguments import BoostingArguments
from structsmooth.boosting.catboost import catboost_arguments
from structsmooth.boosting.lightgbm import lightgbm_arguments
from structsmooth.boosting.xgboost import xgboost_arguments
from structsmooth.errors import InvalidInputError

ARGUMENTS: dict[str, Callable[..., BoostingArguments]] = {
    "catboost": catboost_arguments,
    "lightgbm": lightgbm_arguments,
    "xgboost": xgboost_arguments,
}
# The objectives of classifiers, which smoothed labels have their own versions of.
OBJECTIVES: dict[str, set[Any]] = {
    "objective": {
        "binary",
        "binary:logistic",
        "cross_entropy",
        "multi:softmax",
        "multi:softprob",
        "multiclass",
        "softmax",
    },
    "loss_function": {"CrossEntropy", "Logloss", "MultiClass"},
}


def fit_smoothed(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    strengths: ArrayLike,
    n_classes: int,
    *,
    sample_weight: ArrayLike | None = None,
    eval_set: Any = None,
    **fit_options: Any,
) -> SmoothedModel:
    """Train LightGBM, XGBoost or CatBoost on smoothed labels.

    Parameters
    ----------
    estimator : estimator
        An ``LGBMClassifier``, ``XGBClassifier`` or ``CatBoostClassifier``, whose
        parameters are used; it is not changed.
    X : array-like or DataFrame of shape (n, d)
        Features, of any kind the library takes.
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    strengths : float or array-like of shape (n,)
        Probability mass that leaves a sample's own class, of all samples or of each.
        What other libraries call ``label_smoothing`` (epsilon) is converted by
        `structsmooth.alpha_from_epsilon`.
    n_classes : int
        Number of classes K.
    sample_weight : array-like of shape (n,), optional
        Weights.
    eval_set : pair or list of pairs, optional
        Features and class numbers for validation and early stopping. Their labels
        are not smoothed.
    **fit_options
        Passed on to ``fit``.

    Returns
    -------
    SmoothedModel
        With ``predict`` and ``predict_proba``.

    Examples
    --------
    >>> from lightgbm import LGBMClassifier
    >>> from sklearn.datasets import load_iris
    >>> from structsmooth.boosting import fit_smoothed
    >>> X, y = load_iris(return_X_y=True)
    >>> model = fit_smoothed(LGBMClassifier(verbose=-1), X, y, 0.1, n_classes=3)
    >>> model.predict(X[[0, 60]]), model.predict_proba(X).max().round(1)
    (array([0, 1]), np.float64(0.9))
    """
    library = library_of(estimator)
    if library is None:
        raise InvalidInputError(
            "estimator must be a classifier of LightGBM, XGBoost or CatBoost, got "
            f"{type(estimator).__name__}"
        )
    arguments = ARGUMENTS[library](y, strengths, n_classes, sample_weight=sample_weight)
    parameters = {k: v for k, v in estimator.get_params().items() if v is not None}
    for name, known in OBJECTIVES.items():
        objective = parameters.pop(name, None)
        if objective is not None and objective not in known:
            raise InvalidInputError(
                f"estimator must have an objective of classifiers, got {objective!r}"
            )
    model = arguments.estimator(**parameters)
    if eval_set:
        pairs = [eval_set] if isinstance(eval_set, tuple) else eval_set
        hard = [(rows, arguments.hard_labels(labels)) for rows, labels in pairs]
        fit_options.update(_validation_options(model, hard))
    model.fit(X, **arguments.fit_options, **fit_options)
    return SmoothedModel(model, arguments)


@dataclass(frozen=True, eq=False)
class SmoothedModel:
    """A trained model of a boosting library that knows what its scores mean.

    Attributes
    ----------
    model : estimator
        The library's own.
    arguments : BoostingArguments
        What it was trained with.
    """

    model: Any
    arguments: BoostingArguments

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like or DataFrame of shape (m, d)
            Features.

        Returns
        -------
        ndarray of shape (m, K)
            Rows sum to 1.
        """
        scores = self.model.predict(X, **self.arguments.raw_options)
        return self.arguments.probabilities(scores)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the class number of each row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (m, d)
            Features.

        Returns
        -------
        ndarray of shape (m,)
            Class numbers 0 to K - 1.
        """
        return np.asarray(self.predict_proba(X).argmax(axis=1))


def _validation_options(model: Any, pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return validation sets under the names that ``fit`` has for them."""
    if "eval_X" not in inspect.signature(model.fit).parameters:
        return {"eval_set": pairs}
    features, labels = zip(*pairs, strict=True)  # LightGBM 4.7 and later
    return {"eval_X": features, "eval_y": labels}


def library_of(estimator: Any) -> str | None:
    """Return which of the libraries an estimator belongs to, None if to none."""
    if hasattr(estimator, "get_params"):
        for kind in type(estimator).__mro__:  # subclasses count as well
            library = kind.__module__.partition(".")[0]
            if library in ARGUMENTS:
                return library
    return None
