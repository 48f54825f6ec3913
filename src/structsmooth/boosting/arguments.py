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
OBJECTIVE_NAMES = {"app", "application", "loss", "objective", "objective_type"}
OBJECTIVE_NAMES |= {"loss_function"}  # CatBoost


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
    dataset : dict
        Labels and weights, for ``lightgbm.Dataset``, ``xgboost.DMatrix`` or
        ``catboost.Pool``.
    params, train_options : dict
        Parameters for the library's ``train``, and further arguments of it.
    estimator_params, fit_options : dict
        Arguments of the constructor and of ``fit`` of the estimator.
    raw_options : dict
        Arguments with which ``predict`` returns raw scores.
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
        """Return the library's estimator with further parameters, not yet fitted.

        It may be a regressor, because most classifiers take no soft labels.
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
        """Return class numbers in the form that the library takes for validation."""
        if self.library == "catboost" and self.n_classes > 2:
            return smooth_labels(y, 0.0, self.n_classes).astype(np.float32)
        return check_codes(y, self.n_classes)

    def probabilities(self, raw_scores: ArrayLike) -> NDArray[np.float64]:
        """Return the (m, K) probabilities of the classes, given raw scores.

        Raw scores have the shape (m, K), or (m,) for two classes.
        """
        scores = np.asarray(raw_scores, dtype=np.float64)
        columns = () if self.n_classes == 2 else (self.n_classes,)
        if scores.ndim == 0 or scores.shape[1:] != columns:
            shape = f"(m, {self.n_classes})" if columns else "(m,)"
            raise InvalidInputError(
                f"raw_scores must have shape {shape}, got {scores.shape}"
            )
        if self.n_classes == 2:
            return np.column_stack([expit(-scores), expit(scores)])
        if self.initial_scores is not None:
            scores = scores + self.initial_scores
        return np.asarray(softmax(scores, axis=1))

    def standalone(self, model: Any) -> Any:
        """Return a trained LightGBM model as a booster that predicts probabilities.

        It can be saved, loaded and explained like any other. For two classes,
        ``predict`` returns the probability of the second. Boosters of XGBoost and
        CatBoost predict probabilities anyway.
        """
        text = getattr(model, "booster_", model).model_to_string()
        library = import_library("lightgbm")
        if self.initial_scores is None:
            return library.Booster(model_str=text)
        header, classes = "\nfeature_names=", f"num_class:{self.n_classes}"
        if "\nobjective=" in text.split(header)[0] or "\nis_linear=1" in text:
            raise InvalidInputError(
                "model must be trained with these arguments, without linear trees"
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
        raise missing_package(name, f"boosting with {name}") from error
