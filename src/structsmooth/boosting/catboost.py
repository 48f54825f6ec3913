"""Smoothed labels for CatBoost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.boosting.arguments import (
    BoostingArguments,
    check_labels,
    import_library,
)
from structsmooth.labels import smooth_labels


def catboost_arguments(
    y: ArrayLike,
    strengths: ArrayLike,
    n_classes: int,
    *,
    sample_weight: ArrayLike | None = None,
) -> CatBoostArguments:
    """Return what CatBoost wants in order to train on smoothed labels.

    Two classes are trained with its objective ``CrossEntropy``, which takes soft
    labels. For more, the objective is a custom one with as many targets as classes;
    rows are not copied. It has the gradient and the full Hessian of the objective
    ``MultiClass``, and without smoothing it is that objective.

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
    CatBoostArguments
        Its ``estimator()`` is a ``CatBoostClassifier`` for two classes, else a
        ``CatBoostRegressor``, whose ``predict(X, prediction_type="Probability")``
        returns probabilities.

    Notes
    -----
    CatBoost asks a custom objective for one row at a time, on one core and not on a
    GPU, and chooses no learning rate by itself (it is 0.03). With few classes and
    enough memory, copied rows (`structsmooth.expand_rows`) are faster: an iteration on
    26 000 rows takes them 0.4 times as long for 3 classes and 0.7 times for 5, but 9
    times for 20. Copies also weaken ``l2_leaf_reg``, which CatBoost multiplies by the
    mean weight of a row.

    Validation sets need ``hard_labels``; the metric is their mean negative
    log-likelihood.

    Examples
    --------
    >>> import catboost
    >>> from sklearn.datasets import load_iris
    >>> from structsmooth.boosting import catboost_arguments
    >>> X, y = load_iris(return_X_y=True)
    >>> arguments = catboost_arguments(y, 0.1, n_classes=3)
    >>> options = dict(
    ...     iterations=50, learning_rate=0.3, verbose=0, allow_writing_files=False
    ... )

    By the training function:

    >>> booster = catboost.train(
    ...     catboost.Pool(X, **arguments.dataset),
    ...     {**arguments.params, **options},
    ...     **arguments.train_options,
    ... )
    >>> booster.predict(X, prediction_type="Probability").max().round(1)
    np.float64(0.9)

    By the estimator:

    >>> model = arguments.estimator(**options).fit(X, **arguments.fit_options)
    >>> scores = model.predict(X, **arguments.raw_options)
    >>> arguments.probabilities(scores).max().round(1)
    np.float64(0.9)
    """
    labels = check_labels(y, strengths, n_classes, sample_weight)
    if labels.n_classes == 2:
        label = labels.positive
        params: dict[str, Any] = {"loss_function": "CrossEntropy"}
    else:
        from structsmooth.boosting.catboost_loss import (
            SmoothedSoftmax,
            SoftmaxCrossEntropy,
        )

        soft = smooth_labels(labels.y, labels.strengths, labels.n_classes)
        label = soft.astype(np.float32)  # all that CatBoost keeps
        params = {
            "loss_function": SmoothedSoftmax(),
            "eval_metric": SoftmaxCrossEntropy(),
            "allow_const_label": True,  # the column of a class that does not occur
        }
    return CatBoostArguments(
        n_classes=labels.n_classes,
        dataset=labels.dataset(label),
        params=params,
        train_options={},
        estimator_params=dict(params),
        fit_options=labels.fit_options(label),
        raw_options={"prediction_type": "RawFormulaVal"},
        initial_scores=None,
    )


@dataclass(frozen=True, eq=False)
class CatBoostArguments(BoostingArguments):
    """What `catboost_arguments` returns; see `BoostingArguments` for the attributes."""

    def _estimator_class(self) -> Any:
        library = import_library("catboost")
        return (
            library.CatBoostClassifier
            if self.n_classes == 2
            else library.CatBoostRegressor
        )

    def hard_labels(self, y: ArrayLike) -> NDArray[Any]:
        """Return unsmoothed labels as CatBoost wants them, for validation sets.

        Parameters
        ----------
        y : array-like of shape (m,)
            Class numbers 0 to K - 1.

        Returns
        -------
        ndarray of shape (m, K), or (m,) for two classes
            One-hot rows, or the same numbers.
        """
        if self.n_classes == 2:
            return super().hard_labels(y)
        return smooth_labels(y, 0.0, self.n_classes).astype(np.float32)
