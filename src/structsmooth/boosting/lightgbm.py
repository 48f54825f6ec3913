"""Smoothed labels for LightGBM."""

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
from structsmooth.boosting.objective import HardLogLoss, SmoothedSoftmax
from structsmooth.errors import InvalidInputError

# As in LightGBM's own multiclass objective.
SMALLEST_MEAN = 1e-15


def lightgbm_arguments(
    y: ArrayLike,
    strengths: ArrayLike,
    n_classes: int,
    *,
    sample_weight: ArrayLike | None = None,
) -> LightGBMArguments:
    """Return what LightGBM wants in order to train on smoothed labels.

    Two classes are trained with its objective ``cross_entropy``, which takes soft
    labels. For more, the objective is a function of class and strength; rows are not
    copied, and soft labels are not stored. It has the Hessian of the objective
    ``multiclass`` and starts from the mean soft label, so that without smoothing it
    is that objective.

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
    LightGBMArguments
        Its ``estimator()`` is an ``LGBMRegressor`` for two classes, else an
        ``LGBMClassifier``.

    Notes
    -----
    For more than two classes LightGBM keeps the initial scores to itself: neither
    ``predict`` nor its own metrics see them. So validation sets are measured by the
    metric that comes along (``train_options``, ``fit_options``), on hard labels, and
    predictions go through ``probabilities``, or come from a model made by
    ``standalone``.

    Examples
    --------
    >>> import lightgbm
    >>> from sklearn.datasets import load_iris
    >>> from structsmooth.boosting import lightgbm_arguments
    >>> X, y = load_iris(return_X_y=True)
    >>> arguments = lightgbm_arguments(y, 0.1, n_classes=3)

    By the training function:

    >>> booster = lightgbm.train(
    ...     {**arguments.params, "num_leaves": 4, "verbose": -1},
    ...     lightgbm.Dataset(X, **arguments.dataset),
    ...     **arguments.train_options,
    ... )
    >>> scores = booster.predict(X, **arguments.raw_options)
    >>> arguments.probabilities(scores).max().round(1)
    np.float64(0.9)

    By the estimator, and from then on without this library:

    >>> model = arguments.estimator(num_leaves=4, verbose=-1)
    >>> model = model.fit(X, **arguments.fit_options)
    >>> arguments.standalone(model).predict(X).max().round(1)
    np.float64(0.9)
    """
    labels = check_labels(y, strengths, n_classes, sample_weight)
    if labels.n_classes == 2:
        params = {"objective": "cross_entropy"}
        return LightGBMArguments(
            n_classes=2,
            dataset=labels.dataset(labels.positive),
            params=params,
            train_options={},
            estimator_params=dict(params),
            fit_options=labels.fit_options(labels.positive),
            raw_options={"raw_score": True},
            initial_scores=None,
        )
    start = np.log(np.maximum(labels.means(), SMALLEST_MEAN))
    objective = SmoothedSoftmax(
        library="LightGBM",
        n_classes=labels.n_classes,
        y=labels.y,
        strengths=labels.for_objective,
        start=start,
        weighted=labels.weights is not None,
        factor=labels.n_classes / (labels.n_classes - 1),
        floor=0.0,
    )
    metric = HardLogLoss(labels.n_classes, start)
    # Its own metrics would take raw scores for probabilities.
    smoothed = {"objective": objective, "metric": "None"}
    return LightGBMArguments(
        n_classes=labels.n_classes,
        dataset=labels.dataset(labels.y),
        params={**smoothed, "num_class": labels.n_classes},
        train_options={"feval": metric},
        estimator_params=smoothed,
        fit_options={**labels.fit_options(labels.y), "eval_metric": metric},
        raw_options={"raw_score": True},
        initial_scores=start,
    )


@dataclass(frozen=True, eq=False)
class LightGBMArguments(BoostingArguments):
    """What `lightgbm_arguments` returns; see `BoostingArguments` for the attributes."""

    def _estimator_class(self) -> Any:
        library = import_library("lightgbm")
        return library.LGBMRegressor if self.n_classes == 2 else library.LGBMClassifier

    def standalone(self, model: Any) -> Any:
        """Return a booster that predicts probabilities and needs this library no more.

        Its initial scores are in its leaves and its objective is LightGBM's own, so
        it can be saved, loaded and explained as any other.

        Parameters
        ----------
        model : lightgbm.Booster, LGBMClassifier or LGBMRegressor
            Trained with these arguments. It stays as it is.

        Returns
        -------
        lightgbm.Booster
            Its ``predict`` returns an array of shape (m, K), or for two classes (m,),
            the probability of the second.
        """
        booster = getattr(model, "booster_", model)
        text = booster.model_to_string()
        library = import_library("lightgbm")
        if self.initial_scores is None:
            return library.Booster(model_str=text)
        header, names = "\nfeature_names=", f"num_class:{self.n_classes}"
        if "\nobjective=" in text.split(header)[0] or "\nis_linear=1" in text:
            raise InvalidInputError(
                "model must be trained with the objective of these arguments and "
                "without linear trees, got another one"
            )
        text = text.replace(header, f"\nobjective=multiclass {names}{header}", 1)
        finished = library.Booster(model_str=text)
        first_trees = finished.dump_model(num_iteration=1)["tree_info"]
        for tree, start in zip(first_trees, self.initial_scores, strict=True):
            for leaf in range(tree["num_leaves"]):
                at = tree["tree_index"], leaf
                finished.set_leaf_output(*at, finished.get_leaf_output(*at) + start)
        return finished

    def _left_out(self) -> Any:
        return self.initial_scores
