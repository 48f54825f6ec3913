"""Smoothed labels for XGBoost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structsmooth.boosting.arguments import (
    BoostingArguments,
    check_labels,
    import_library,
)
from structsmooth.boosting.objective import SmoothedSoftmax

# As in XGBoost's own multiclass objective.
ADDED_TO_MEAN = 1e-6
SMALLEST_HESSIAN = 1e-16


def xgboost_arguments(
    y: ArrayLike,
    strengths: ArrayLike,
    n_classes: int,
    *,
    sample_weight: ArrayLike | None = None,
) -> XGBoostArguments:
    """Return what XGBoost wants in order to train on smoothed labels.

    Two classes are trained with its objective ``binary:logistic``, which takes soft
    labels. For more, the gradient comes from a function of class and strength; rows
    are not copied, and soft labels are not stored. All the rest is XGBoost's
    ``multi:softprob``: the Hessian, the intercept, the metric on validation sets,
    whose labels are hard, and the probabilities that ``predict`` returns.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1, in the order of the rows of X.
    strengths : float or array-like of shape (n,)
        Probability mass that leaves a sample's own class, of all samples or of each.
        What other libraries call ``label_smoothing`` (epsilon) is converted by
        `structsmooth.alpha_from_epsilon`.
    n_classes : int
        Number of classes K.
    sample_weight : array-like of shape (n,), optional
        Weights, handed on in ``dataset`` and ``fit_options``.

    Returns
    -------
    XGBoostArguments
        Its ``estimator()`` is an ``XGBRegressor`` for two classes, whose ``predict``
        returns the probability of the second, else an ``XGBClassifier``.

    Examples
    --------
    >>> import xgboost
    >>> from sklearn.datasets import load_iris
    >>> from structsmooth.boosting import xgboost_arguments
    >>> X, y = load_iris(return_X_y=True)
    >>> arguments = xgboost_arguments(y, 0.1, n_classes=3)

    By the training function:

    >>> booster = xgboost.train(
    ...     {**arguments.params, "max_depth": 2},
    ...     xgboost.DMatrix(X, **arguments.dataset),
    ...     num_boost_round=50,
    ...     **arguments.train_options,
    ... )
    >>> round(float(booster.predict(xgboost.DMatrix(X)).max()), 1)
    0.9

    By the estimator:

    >>> model = arguments.estimator(max_depth=2, n_estimators=50)
    >>> model = model.fit(X, **arguments.fit_options)
    >>> round(float(model.predict_proba(X).max()), 1)
    0.9
    """
    labels = check_labels(y, strengths, n_classes, sample_weight)
    if labels.n_classes == 2:
        params = {"objective": "binary:logistic"}
        return XGBoostArguments(
            n_classes=2,
            dataset=labels.dataset(labels.positive),
            params=params,
            train_options={},
            estimator_params=dict(params),
            fit_options=labels.fit_options(labels.positive),
            raw_options={"output_margin": True},
            initial_scores=None,
        )
    start = np.log(labels.means() + ADDED_TO_MEAN)
    start -= start.mean()
    objective = SmoothedSoftmax(
        library="XGBoost",
        n_classes=labels.n_classes,
        y=labels.y,
        strengths=labels.for_objective,
        start=np.zeros(labels.n_classes),  # its scores begin at base_score
        weighted=labels.weights is not None,
        factor=2.0,
        floor=SMALLEST_HESSIAN,
    )
    base_score = start.tolist()
    return XGBoostArguments(
        n_classes=labels.n_classes,
        dataset=labels.dataset(labels.y),
        params={
            "objective": "multi:softprob",
            "num_class": labels.n_classes,
            "base_score": base_score,
        },
        train_options={"obj": objective},
        estimator_params={"objective": objective, "base_score": base_score},
        fit_options=labels.fit_options(labels.y),
        raw_options={"output_margin": True},
        initial_scores=start,
    )


@dataclass(frozen=True, eq=False)
class XGBoostArguments(BoostingArguments):
    """What `xgboost_arguments` returns; see `BoostingArguments` for the attributes."""

    def _estimator_class(self) -> Any:
        library = import_library("xgboost")
        return library.XGBRegressor if self.n_classes == 2 else library.XGBClassifier
