"""What each of the three libraries wants in order to train on soft labels."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from structsmooth.boosting.labels import Labels, check_labels
from structsmooth.boosting.objective import SoftmaxLogLoss, SoftmaxObjective
from structsmooth.errors import InvalidInputError, missing_package
from structsmooth.labels.forms import smooth_labels
from structsmooth.support.validation import check_codes

# Parameters that weigh rows by their label, which must be hard for that.
CLASS_WEIGHTS = {
    "auto_class_weights",
    "class_weight",
    "class_weights",
    "is_unbalance",
    "scale_pos_weight",
}
# All names under which the libraries take an objective.
OBJECTIVE_NAMES = {
    "app",
    "application",
    "loss",
    "loss_function",
    "objective",
    "objective_type",
}
# With what ``predict`` of each library returns raw scores.
RAW_OPTIONS: dict[str, dict[str, Any]] = {
    "catboost": {"prediction_type": "RawFormulaVal"},
    "lightgbm": {"raw_score": True},
    "xgboost": {"output_margin": True},
}
# As in the libraries' own multiclass objectives.
SMALLEST_MEAN_LIGHTGBM = 1e-15
ADDED_TO_MEAN_XGBOOST = 1e-6
SMALLEST_HESSIAN_XGBOOST = 1e-16


@dataclass(frozen=True, eq=False)
class BoostingArguments:
    """What a boosting library wants in order to train on soft labels.

    With ``arguments`` from one of `lightgbm_arguments`, `xgboost_arguments` and
    `catboost_arguments` the same lines serve all three libraries::

        model = arguments.estimator(learning_rate=0.1)
        model.fit(X, **arguments.fit_options)
        arguments.probabilities(model.predict(X_new, **arguments.raw_options))

    Attributes
    ----------
    library : str
        Name of the library's module.
    estimator_name : str
        Name of the class of `estimator`.
    n_classes : int
        Number of classes K.
    dataset : dict
        Label and, if there are any, weights: ``lightgbm.Dataset(X, **dataset)``,
        ``xgboost.DMatrix(X, **dataset)``, ``catboost.Pool(X, **dataset)``.
    params : dict
        To be merged with other parameters for the library's ``train``.
    train_options : dict
        Further arguments of ``train``.
    estimator_params : dict
        For the constructor of the scikit-learn-style estimator that `estimator`
        makes.
    fit_options : dict
        Everything but X for its ``fit``: y, weights, metric.
    raw_options : dict
        With them ``predict`` of boosters and estimators returns raw scores, which
        `probabilities` takes.
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

        Parameters
        ----------
        **parameters
            Further parameters of it, such as ``learning_rate``.

        Returns
        -------
        estimator
            For `fit_options`. Not always the one whose name says classifier: soft
            labels are numbers, which the libraries take for regression.
        """
        own = self.estimator_params
        for name, value in parameters.items():
            same = name in own and type(value) is type(own[name]) and value == own[name]
            if name in {*own, *OBJECTIVE_NAMES} and not same:
                raise InvalidInputError(
                    f"{name} is set by the arguments for smoothed labels and cannot be "
                    f"chosen, got {value!r}"
                )
            if name in CLASS_WEIGHTS:
                raise InvalidInputError(
                    f"{name} has no meaning for soft labels, got {value!r}; expected "
                    "sample_weight where the arguments are made"
                )
        kind = getattr(import_library(self.library), self.estimator_name)
        return kind(**{**parameters, **own})

    def hard_labels(self, y: ArrayLike) -> NDArray[Any]:
        """Return unsmoothed labels as the library wants them, for validation sets.

        Parameters
        ----------
        y : array-like of shape (m,)
            Class numbers 0 to K - 1.

        Returns
        -------
        ndarray of shape (m,) or (m, K)
            The same numbers, or one-hot rows for more than two classes in CatBoost.
        """
        if self.library == "catboost" and self.n_classes > 2:
            return smooth_labels(y, 0.0, self.n_classes).astype(np.float32)
        return check_codes(y, self.n_classes)

    def probabilities(self, raw_scores: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class from raw scores.

        Parameters
        ----------
        raw_scores : array-like of shape (m, K), or (m,) for two classes
            What ``predict(X, **raw_options)`` of a trained model returns.

        Returns
        -------
        ndarray of shape (m, K)
            Rows sum to 1.
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
        """Return a LightGBM booster that predicts probabilities and needs nothing else.

        Its initial scores are in its leaves and its objective is LightGBM's own, so
        it can be saved, loaded and explained as any other. Boosters of XGBoost and
        CatBoost predict probabilities as they are.

        Parameters
        ----------
        model : lightgbm.Booster or LGBMRegressor
            Trained with these arguments. It stays as it is.

        Returns
        -------
        lightgbm.Booster
            Its ``predict`` returns an array of shape (m, K), or for two classes (m,),
            the probability of the second.
        """
        if self.library != "lightgbm":
            raise InvalidInputError(
                f"model must be one of LightGBM, got arguments for {self.library}"
            )
        text = getattr(model, "booster_", model).model_to_string()
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


def lightgbm_arguments(
    y: ArrayLike | None,
    strengths: ArrayLike | None = None,
    n_classes: int | None = None,
    *,
    soft_labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> BoostingArguments:
    """Return what LightGBM wants in order to train on soft labels.

    Two classes are trained with its objective ``cross_entropy``. For more, the
    objective is a function that reads class and strength, or the soft labels; rows are
    not copied. It has the Hessian of the objective ``multiclass`` and starts from the
    mean soft label, so that without smoothing it is that objective.

    Parameters
    ----------
    y : array-like of shape (n,) or None
        Class numbers 0 to K - 1, in the order of the rows of X. With soft labels None
        stands for the most probable classes; only metrics on training rows see them.
    strengths : float or array-like of shape (n,), optional
        Probability mass that leaves a sample's own class, of all samples or of each.
        What other libraries call ``label_smoothing`` (epsilon) is converted by
        `structsmooth.alpha_from_epsilon`.
    n_classes : int, optional
        Number of classes K, needed with strengths.
    soft_labels : array-like of shape (n, K), optional
        Probability of each class, instead of strengths.
    sample_weight : array-like of shape (n,), optional
        Weights, handed on in ``dataset`` and ``fit_options`` unless all are 1.

    Returns
    -------
    BoostingArguments
        Its ``estimator()`` is an ``LGBMRegressor``.

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
    labels = check_labels(y, strengths, n_classes, soft_labels, sample_weight)
    if labels.n_classes == 2:
        return _arguments("lightgbm.LGBMRegressor", labels, objective="cross_entropy")
    start = np.log(np.maximum(labels.means(), SMALLEST_MEAN_LIGHTGBM))
    factor = labels.n_classes / (labels.n_classes - 1)
    metric = SoftmaxLogLoss("LightGBM", labels.n_classes, start)
    arguments = _arguments(
        "lightgbm.LGBMRegressor",
        labels,
        objective=SoftmaxObjective("LightGBM", labels, start, factor, 0.0),
        num_class=labels.n_classes,
        metric="None",  # its own would take raw scores for probabilities
        boost_from_average=True,  # which it leaves to the objective
    )
    return replace(
        arguments,
        fit_options={**arguments.fit_options, "eval_metric": metric},
        train_options={"feval": metric},
        initial_scores=start,
    )


def xgboost_arguments(
    y: ArrayLike | None,
    strengths: ArrayLike | None = None,
    n_classes: int | None = None,
    *,
    soft_labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> BoostingArguments:
    """Return what XGBoost wants in order to train on soft labels.

    Two classes are trained with its objective ``binary:logistic``. For more, the
    gradient comes from a function that reads class and strength, or the soft labels;
    rows are not copied. All the rest is XGBoost's ``multi:softprob``: the Hessian, the
    intercept, the metric on validation sets, whose labels are hard, and the
    probabilities that ``predict`` returns.

    Parameters
    ----------
    y, strengths, n_classes, soft_labels, sample_weight
        As for `lightgbm_arguments`.

    Returns
    -------
    BoostingArguments
        Its ``estimator()`` is an ``XGBClassifier``; but for two classes, or where a
        class does not occur in y, an ``XGBRegressor``.

    Examples
    --------
    >>> import xgboost
    >>> from sklearn.datasets import load_iris
    >>> from structsmooth.boosting import xgboost_arguments
    >>> X, y = load_iris(return_X_y=True)
    >>> arguments = xgboost_arguments(y, 0.1, n_classes=3)
    >>> booster = xgboost.train(
    ...     {**arguments.params, "max_depth": 2},
    ...     xgboost.DMatrix(X, **arguments.dataset),
    ...     num_boost_round=50,
    ...     **arguments.train_options,
    ... )
    >>> round(float(booster.predict(xgboost.DMatrix(X)).max()), 1)
    0.9
    """
    labels = check_labels(y, strengths, n_classes, soft_labels, sample_weight)
    if labels.n_classes == 2:
        return _arguments("xgboost.XGBRegressor", labels, objective="binary:logistic")
    start = np.log(labels.means() + ADDED_TO_MEAN_XGBOOST)
    start -= start.mean()
    none = np.zeros(labels.n_classes)  # its scores begin at base_score
    objective = SoftmaxObjective("XGBoost", labels, none, 2.0, SMALLEST_HESSIAN_XGBOOST)
    shape = {"num_class": labels.n_classes, "base_score": start.tolist()}
    own = {"objective": objective, "base_score": shape["base_score"]}
    kind = "xgboost.XGBClassifier"
    if not np.bincount(labels.y, minlength=labels.n_classes).all():
        kind = "xgboost.XGBRegressor"  # because a classifier counts the classes itself
        own |= {**shape, **xgboost_metric(labels.n_classes)}
    return replace(
        _arguments(kind, labels, objective="multi:softprob", **shape),
        estimator_params=own,
        train_options={"obj": objective},
    )


def xgboost_metric(
    n_classes: int, soft: NDArray[np.floating] | None = None
) -> dict[str, Any]:
    """Return parameters of an estimator that `SoftmaxLogLoss` alone measures."""
    metric = SoftmaxLogLoss("XGBoost", n_classes, np.zeros(n_classes), soft)
    return {"eval_metric": metric, "disable_default_eval_metric": True}


def catboost_arguments(
    y: ArrayLike | None,
    strengths: ArrayLike | None = None,
    n_classes: int | None = None,
    *,
    soft_labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> BoostingArguments:
    """Return what CatBoost wants in order to train on soft labels.

    Two classes are trained with its objective ``CrossEntropy``. For more, the
    objective is a custom one with as many targets as classes; rows are not copied. It
    has the gradient and the full Hessian of the objective ``MultiClass``, and without
    smoothing it is that objective.

    Parameters
    ----------
    y, strengths, n_classes, soft_labels, sample_weight
        As for `lightgbm_arguments`.

    Returns
    -------
    BoostingArguments
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
    >>> options = dict(iterations=50, learning_rate=0.3, allow_writing_files=False)
    >>> booster = catboost.train(
    ...     catboost.Pool(X, **arguments.dataset),
    ...     {**arguments.params, **options, "verbose": 0},
    ...     **arguments.train_options,
    ... )
    >>> booster.predict(X, prediction_type="Probability").max().round(1)
    np.float64(0.9)
    """
    labels = check_labels(y, strengths, n_classes, soft_labels, sample_weight)
    if labels.n_classes == 2:
        kind = "catboost.CatBoostClassifier"
        return _arguments(kind, labels, loss_function="CrossEntropy")
    from structsmooth.boosting import catboost_loss

    return _arguments(
        "catboost.CatBoostRegressor",
        labels,
        loss_function=catboost_loss.SoftmaxObjective(),
        eval_metric=catboost_loss.SoftmaxCrossEntropy(),
        allow_const_label=True,  # the column of a class that does not occur
    )


def _arguments(kind: str, labels: Labels, **params: Any) -> BoostingArguments:
    """Return arguments for an estimator, with labels in the form it wants."""
    library, _, estimator_name = kind.partition(".")
    if labels.n_classes == 2:
        label: NDArray[Any] = labels.matrix()[:, 1]
    elif library == "catboost":
        label = labels.matrix().astype(np.float32)  # all that CatBoost keeps
    else:
        label = labels.y
    weights = labels.weights
    return BoostingArguments(
        library=library,
        estimator_name=estimator_name,
        n_classes=labels.n_classes,
        dataset={"label": label} | ({} if weights is None else {"weight": weights}),
        params=params,
        estimator_params=dict(params),
        fit_options={"y": label}
        | ({} if weights is None else {"sample_weight": weights}),
        raw_options=RAW_OPTIONS[library],
    )


def import_library(name: str) -> Any:
    """Return a boosting library, which is only needed by who uses it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise missing_package(name, "this function") from error
