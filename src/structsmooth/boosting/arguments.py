"""What the three libraries' arguments have in common."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from structsmooth.errors import InvalidInputError
from structsmooth.validation import check_codes, check_integer, check_strengths

# Parameters that weigh rows by their label, which must be hard for that.
CLASS_WEIGHTS = {
    "auto_class_weights",
    "class_weight",
    "class_weights",
    "is_unbalance",
    "scale_pos_weight",
}


@dataclass(frozen=True, eq=False)
class BoostingArguments(ABC):
    """What a boosting library wants in order to train on smoothed labels.

    With ``arguments`` from one of `lightgbm_arguments`, `xgboost_arguments` and
    `catboost_arguments` the same lines serve all three libraries::

        model = arguments.estimator(learning_rate=0.1)
        model.fit(X, **arguments.fit_options)
        arguments.probabilities(model.predict(X_new, **arguments.raw_options))

    Attributes
    ----------
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
        Scores that boosting starts from: the logarithm of the mean soft label. None
        where the library chooses them itself as for its own objectives.
    """

    n_classes: int
    dataset: dict[str, Any]
    params: dict[str, Any]
    train_options: dict[str, Any]
    estimator_params: dict[str, Any]
    fit_options: dict[str, Any]
    raw_options: dict[str, Any]
    initial_scores: NDArray[np.float64] | None

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
            if name in own and not (
                type(value) is type(own[name]) and value == own[name]
            ):
                raise InvalidInputError(
                    f"{name} is set by the arguments for smoothed labels and cannot be "
                    f"chosen, got {value!r}"
                )
            if name in CLASS_WEIGHTS:
                raise InvalidInputError(
                    f"{name} has no meaning for soft labels, got {value!r}; expected "
                    "sample_weight where the arguments are made"
                )
        return self._estimator_class()(**{**parameters, **own})

    @abstractmethod
    def _estimator_class(self) -> Any:
        """Return the class of `estimator`."""

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
        return np.asarray(softmax(scores + self._left_out(), axis=1))

    def _left_out(self) -> Any:
        """Return what the library's raw scores lack."""
        return 0.0


@dataclass(frozen=True, eq=False)
class Labels:
    """Checked labels, strengths and weights, and what follows from them."""

    y: NDArray[np.int64]
    strengths: NDArray[np.float64]
    uniform: bool
    n_classes: int
    weights: NDArray[np.float64] | None

    @property
    def for_objective(self) -> Any:
        """The strengths, as one number if one number was given."""
        return float(self.strengths[0]) if self.uniform else self.strengths

    @property
    def positive(self) -> NDArray[np.float64]:
        """Of two classes, the soft label's mass on the second."""
        return np.where(self.y == 1, 1.0 - self.strengths, self.strengths)

    def means(self) -> NDArray[np.float64]:
        """Return the weighted mean soft label, without making soft labels."""
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        share = self.strengths / (self.n_classes - 1)
        extra = np.bincount(
            self.y, weights * (1.0 - self.strengths - share), self.n_classes
        )
        means: NDArray[np.float64] = (extra + weights @ share) / weights.sum()
        return np.maximum(means, 0.0)

    def dataset(self, label: NDArray[Any]) -> dict[str, Any]:
        """Return label and weights under the names of all three data sets."""
        if self.weights is None:
            return {"label": label}
        return {"label": label, "weight": self.weights}

    def fit_options(self, label: NDArray[Any]) -> dict[str, Any]:
        """Return label and weights under the names of all three estimators."""
        if self.weights is None:
            return {"y": label}
        return {"y": label, "sample_weight": self.weights}


def check_labels(
    y: ArrayLike, strengths: ArrayLike, n_classes: int, sample_weight: ArrayLike | None
) -> Labels:
    """Return the arguments of all three functions, checked."""
    n_classes = check_integer(n_classes, "n_classes", 2)
    codes = check_codes(y, n_classes)
    if len(codes) == 0:
        raise InvalidInputError("y must have at least one label, got none")
    values = check_strengths(strengths, len(codes))
    weights = None
    if sample_weight is not None:
        weights = _check_weights(sample_weight, len(codes))
    return Labels(codes, values, np.ndim(strengths) == 0, n_classes, weights)


def _check_weights(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError("sample_weight must be numbers") from None
    if weights.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight must have one value for each of the {n_rows} rows, got "
            f"an array of shape {weights.shape}"
        )
    if not np.all((weights >= 0) & np.isfinite(weights)) or weights.sum() == 0:
        raise InvalidInputError(
            "sample_weight must be finite and not negative, with a sum above 0, got "
            f"{weights.min():g} to {weights.max():g}"
        )
    return weights


def import_library(name: str) -> Any:
    """Return a boosting library, which is only needed by who uses it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(
            f"{name} is not installed: pip install structsmooth[boosting]"
        ) from None
