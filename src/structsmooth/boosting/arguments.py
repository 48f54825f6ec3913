"""BoostingArguments: the arguments with which a library trains on soft labels."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from structsmooth.errors import InvalidInputError, missing_package
from structsmooth.labels.forms import smooth_labels
from structsmooth.support.validation import check_codes

# All names under which the libraries take an objective.
OBJECTIVE_NAMES = {
    "app",
    "application",
    "loss",
    "loss_function",
    "objective",
    "objective_type",
}


@dataclass(frozen=True, eq=False)
class BoostingArguments:
    """Arguments with which a boosting library trains on soft labels.

    The same lines work for all three libraries, with ``arguments`` from
    `lightgbm_arguments`, `xgboost_arguments` or `catboost_arguments`::

        model = arguments.estimator(learning_rate=0.1)
        model.fit(X, **arguments.fit_options)
        arguments.probabilities(model.predict(X_new, **arguments.raw_options))

    Attributes
    ----------
    library, estimator_name : str
        Name of the library's module, and of the class of `estimator`.
    n_classes : int
        Number of classes K.
    dataset : dict
        Labels and, if there are any, weights: ``lightgbm.Dataset(X, **dataset)``,
        ``xgboost.DMatrix(X, **dataset)``, ``catboost.Pool(X, **dataset)``.
    params, train_options : dict
        Parameters for the library's ``train``, to be merged with others, and further
        arguments of it.
    estimator_params : dict
        For the constructor of the estimator that `estimator` returns.
    fit_options : dict
        All arguments of its ``fit`` but X: y, weights, metric.
    raw_options : dict
        Make ``predict`` of boosters and estimators return raw scores.
    initial_scores : ndarray of shape (K,) or None
        Scores that boosting starts from and that raw scores lack: the logarithm of
        the mean soft label. None where the library adds them itself.
    """

    library: str
    estimator_name: str
    n_classes: int
    dataset: dict[str, Any]
    params: dict[str, Any]
    estimator_params: dict[str, Any]
    fit_options: dict[str, Any]
    raw_options: dict[str, Any]
    train_options: dict[str, Any] = field(default_factory=dict)
    initial_scores: NDArray[np.float64] | None = None

    def estimator(self, **parameters: Any) -> Any:
        """Return the library's estimator for these arguments, not yet fitted.

        Further parameters, such as ``learning_rate``, are passed to its constructor. It
        may be a regressor, because most classifiers of the libraries take no soft
        labels.
        """
        own = self.estimator_params
        for name, value in parameters.items():
            same = name in own and type(value) is type(own[name]) and value == own[name]
            if name in {*own, *OBJECTIVE_NAMES} and not same:
                raise InvalidInputError(
                    f"{name} is set by the arguments for smoothed labels and cannot be "
                    f"chosen, got {value!r}"
                )
            # These weight rows by their label, which would have to be hard.
            if "class_weight" in name or name in ("is_unbalance", "scale_pos_weight"):
                raise InvalidInputError(
                    f"{name} has no meaning for soft labels, got {value!r}; give "
                    "sample_weight with the labels instead"
                )
        kind = getattr(import_library(self.library), self.estimator_name)
        return kind(**{**parameters, **own})

    def hard_labels(self, y: ArrayLike) -> NDArray[Any]:
        """Return class numbers of a validation set in the form that the library takes.

        This is the same array, or one-hot rows for more than two classes in CatBoost.
        """
        if self.library == "catboost" and self.n_classes > 2:
            return smooth_labels(y, 0.0, self.n_classes).astype(np.float32)
        return check_codes(y, self.n_classes)

    def probabilities(self, raw_scores: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, an (m, K) array, from raw scores.

        ``predict(X, **raw_options)`` of a trained model returns raw scores, of shape
        (m, K), or (m,) for two classes.
        """
        scores = np.asarray(raw_scores, dtype=np.float64)
        if self.n_classes == 2 and scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if self.n_classes == 2 or scores.shape[1:] != (self.n_classes,):
            shape = "(m,)" if self.n_classes == 2 else f"(m, {self.n_classes})"
            raise InvalidInputError(
                f"raw_scores must have shape {shape}, got {scores.shape}"
            )
        if self.initial_scores is not None:
            scores = scores + self.initial_scores
        return np.asarray(softmax(scores, axis=1))

    def standalone(self, model: Any) -> Any:
        """Return a trained LightGBM model as a booster that predicts probabilities.

        Its leaves contain the initial scores and its objective is LightGBM's own, so
        it can be saved, loaded and explained like any other. For two classes,
        ``predict`` returns the probability of the second. Boosters of XGBoost and
        CatBoost predict probabilities anyway.
        """
        if self.library != "lightgbm":
            raise InvalidInputError(
                f"model must be one of LightGBM, got arguments for {self.library}"
            )
        text = getattr(model, "booster_", model).model_to_string()
        library = import_library("lightgbm")
        if self.initial_scores is None:
            return library.Booster(model_str=text)
        header, classes = "\nfeature_names=", f"num_class:{self.n_classes}"
        if "\nobjective=" in text.split(header)[0] or "\nis_linear=1" in text:
            raise InvalidInputError(
                "model must be trained with the objective of these arguments and "
                "without linear trees, got another one"
            )
        text = text.replace(header, f"\nobjective=multiclass {classes}{header}", 1)
        booster = library.Booster(model_str=text)
        first_trees = booster.dump_model(num_iteration=1)["tree_info"]
        for tree, start in zip(first_trees, self.initial_scores, strict=True):
            for leaf in range(tree["num_leaves"]):
                place = tree["tree_index"], leaf
                booster.set_leaf_output(*place, booster.get_leaf_output(*place) + start)
        return booster


def import_library(name: str) -> Any:
    """Import a boosting library when it is needed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise missing_package(name, "this function") from error
