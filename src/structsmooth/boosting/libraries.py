"""How LightGBM, XGBoost and CatBoost each train on soft labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.boosting.arguments import BoostingArguments
from structsmooth.boosting.labels import Labels, check_labels
from structsmooth.boosting.objective import SoftmaxLogLoss, SoftmaxObjective

# As in the libraries' own multiclass objectives.
SMALLEST_MEAN_LIGHTGBM = 1e-15
ADDED_TO_MEAN_XGBOOST = 1e-6
SMALLEST_HESSIAN_XGBOOST = 1e-16


def lightgbm_arguments(
    y: ArrayLike | None,
    strengths: ArrayLike | None = None,
    n_classes: int | None = None,
    *,
    soft_labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> BoostingArguments:
    """Return the arguments with which LightGBM trains on soft labels.

    Two classes are trained with LightGBM's objective ``cross_entropy``. For more, the
    objective is a function that reads class and strength, or the soft labels; without
    smoothing it equals the objective ``multiclass``.

    Parameters
    ----------
    y : array-like of shape (n,) or None
        Class numbers 0 to K - 1. With soft labels, None stands for the most probable
        classes; only metrics on training rows use them.
    strengths : float or array-like of shape (n,), optional
        Probability mass that leaves a sample's own class, of all samples or of each.
    n_classes : int, optional
        Number of classes K, needed with strengths.
    soft_labels : array-like of shape (n, K), optional
        Probability of each class, instead of strengths.
    sample_weight : array-like of shape (n,), optional
        Weights, passed on in ``dataset`` and ``fit_options`` unless all are 1.

    Notes
    -----
    For more than two classes, neither ``predict`` nor the metrics of LightGBM know the
    initial scores. Therefore validation sets are measured by the metric in
    ``train_options`` and ``fit_options``, on hard labels, and predictions go through
    ``probabilities`` or come from a model made by ``standalone``.
    """
    labels = check_labels(y, strengths, n_classes, soft_labels, sample_weight)
    return arguments_for("lightgbm", labels)


def xgboost_arguments(
    y: ArrayLike | None,
    strengths: ArrayLike | None = None,
    n_classes: int | None = None,
    *,
    soft_labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> BoostingArguments:
    """Return the arguments with which XGBoost trains on soft labels.

    The parameters are those of `lightgbm_arguments`. Two classes are trained with
    XGBoost's objective ``binary:logistic``. For more, only the gradient differs from
    ``multi:softprob``. The labels of validation sets are hard.
    """
    labels = check_labels(y, strengths, n_classes, soft_labels, sample_weight)
    return arguments_for("xgboost", labels)


def catboost_arguments(
    y: ArrayLike | None,
    strengths: ArrayLike | None = None,
    n_classes: int | None = None,
    *,
    soft_labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> BoostingArguments:
    """Return the arguments with which CatBoost trains on soft labels.

    The parameters are those of `lightgbm_arguments`. Two classes are trained with
    CatBoost's objective ``CrossEntropy``. For more, the objective is a custom one with
    as many targets as classes; without smoothing it equals ``MultiClass``. Labels of
    validation sets must come from ``hard_labels``.

    Notes
    -----
    CatBoost calls a custom objective for one row at a time, on one core and not on a
    GPU, and does not choose a learning rate (it is 0.03). Compared with the objective,
    an iteration on 26 000 copied rows (`structsmooth.expand_rows`) takes 0.4 times as
    long for 3 classes, 0.7 times for 5 and 9 times for 20.
    """
    labels = check_labels(y, strengths, n_classes, soft_labels, sample_weight)
    return arguments_for("catboost", labels)


def arguments_for(library: str, labels: Labels) -> BoostingArguments:
    """Return the arguments with which a library trains on checked labels."""
    if labels.n_classes == 2:
        label: NDArray[Any] = labels.matrix()[:, 1]
        estimator_name, params = TWO_CLASSES[library]
        own: dict[str, Any] = {"estimator_name": estimator_name, "params": params}
    else:
        own = MORE_CLASSES[library](labels)
        label = own.pop("label", labels.y)
    dataset, fit_options = {"label": label}, {"y": label}
    if labels.weights is not None:
        dataset["weight"] = fit_options["sample_weight"] = labels.weights
    fit_options |= own.pop("fit_options", {})
    return BoostingArguments(
        library=library,
        n_classes=labels.n_classes,
        dataset=dataset,
        fit_options=fit_options,
        estimator_params=own.pop("estimator_params", dict(own["params"])),
        raw_options=RAW_OPTIONS[library],
        **own,
    )


def _more_in_lightgbm(labels: Labels) -> dict[str, Any]:
    n_classes = labels.n_classes
    start = np.log(np.maximum(labels.means(), SMALLEST_MEAN_LIGHTGBM))
    factor = n_classes / (n_classes - 1)
    metric = SoftmaxLogLoss("LightGBM", n_classes, start)
    return {
        "estimator_name": "LGBMRegressor",
        "params": {
            "objective": SoftmaxObjective("LightGBM", labels, start, factor, 0.0),
            "num_class": n_classes,
            "metric": "None",  # its own would take raw scores for probabilities
            "boost_from_average": True,  # LightGBM leaves it to the objective
        },
        "fit_options": {"eval_metric": metric},
        "train_options": {"feval": metric},
        "initial_scores": start,
    }


def _more_in_xgboost(labels: Labels) -> dict[str, Any]:
    n_classes = labels.n_classes
    start = np.log(labels.means() + ADDED_TO_MEAN_XGBOOST)
    base_score = (start - start.mean()).tolist()
    zeros = np.zeros(n_classes)  # because XGBoost adds base_score itself
    objective = SoftmaxObjective(
        "XGBoost", labels, zeros, 2.0, SMALLEST_HESSIAN_XGBOOST
    )
    params = {"base_score": base_score, "num_class": n_classes}
    estimator, own = "XGBClassifier", {"objective": objective, "base_score": base_score}
    if not np.bincount(labels.y, minlength=n_classes).all():
        estimator = "XGBRegressor"  # because a classifier counts the classes itself
        own |= params | xgboost_metric(n_classes)
    return {
        "estimator_name": estimator,
        "params": {"objective": "multi:softprob", **params},
        "estimator_params": own,
        "train_options": {"obj": objective},
    }


def xgboost_metric(n_classes: int, soft: Any = None) -> dict[str, Any]:
    """Return parameters of an estimator that only `SoftmaxLogLoss` measures."""
    metric = SoftmaxLogLoss("XGBoost", n_classes, np.zeros(n_classes), soft)
    return {"eval_metric": metric, "disable_default_eval_metric": True}


def _more_in_catboost(labels: Labels) -> dict[str, Any]:
    from structsmooth.boosting import catboost_loss  # imports CatBoost

    return {
        "estimator_name": "CatBoostRegressor",
        "label": labels.matrix().astype(np.float32),  # CatBoost keeps no more digits
        "params": {
            "loss_function": catboost_loss.SoftmaxObjective(),
            "eval_metric": catboost_loss.SoftmaxCrossEntropy(),
            "allow_const_label": True,  # the column of a class that does not occur
        },
    }


# Two classes are trained with the library's own cross-entropy, more with softmax.
TWO_CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "lightgbm": ("LGBMRegressor", {"objective": "cross_entropy"}),
    "xgboost": ("XGBRegressor", {"objective": "binary:logistic"}),
    "catboost": ("CatBoostClassifier", {"loss_function": "CrossEntropy"}),
}
MORE_CLASSES: dict[str, Callable[[Labels], dict[str, Any]]] = {
    "lightgbm": _more_in_lightgbm,
    "xgboost": _more_in_xgboost,
    "catboost": _more_in_catboost,
}
# With these, ``predict`` returns raw scores.
RAW_OPTIONS: dict[str, dict[str, Any]] = {
    "lightgbm": {"raw_score": True},
    "xgboost": {"output_margin": True},
    "catboost": {"prediction_type": "RawFormulaVal"},
}
