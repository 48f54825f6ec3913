"""SmoothedClassifier: any scikit-learn classifier, trained on smoothed labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import _num_samples

from structsmooth.classifier.base import SmoothedBase, requesting_weights
from structsmooth.classifier.expand import (
    check_takes_weights,
    fit_expanded,
    indexable,
    of_rows,
)
from structsmooth.errors import InvalidInputError
from structsmooth.smoother import StructuralSmoother
from structsmooth.support.validation import check_choice
from structsmooth.support.weights import check_sample_weight


class SmoothedClassifier(SmoothedBase):
    """Train a classifier on structurally smoothed labels.

    A soft label becomes one weighted row for each class that it has mass on, so any
    classifier whose ``fit`` takes ``sample_weight`` can learn from it. The training set
    grows up to K times; for many classes prefer a learner that takes soft labels
    itself, and for LightGBM, XGBoost and CatBoost
    `structsmooth.boosting.fit_smoothed`, which copies no rows.

    Parameters
    ----------
    estimator : classifier, optional
        Cloned; by default a `sklearn.linear_model.LogisticRegression`, with a
        `TableEncoder` before it if X is a DataFrame with text,
        dates or gaps.
    smoother : StructuralSmoother, optional
        Cloned; by default a `StructuralSmoother` with its defaults. Give one to set
        or search its parameters, such as ``smoother__alpha``.
    suspects : {"keep", "weigh", "drop"}, default="keep"
        What to do with labels that look like mistakes, see `find_suspects`: "weigh"
        multiplies the weight of each row by the probability that its label is right,
        "drop" gives suspects the weight 0. Both imply
        ``smoother__ignore_suspects=True``.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    smoother_ : StructuralSmoother
        The fitted smoother.
    classes_ : ndarray of shape (K,)
        The labels, sorted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from structsmooth import SmoothedClassifier, StructuralSmoother
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> smoother = StructuralSmoother(alpha=0.05, n_clusters=6, random_state=0)
    >>> model = make_pipeline(
    ...     StandardScaler(), SmoothedClassifier(LogisticRegression(), smoother)
    ... )
    >>> model.fit(X, y).score(X, y) > 0.97
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        smoother: StructuralSmoother | None = None,
        suspects: str = "keep",
    ) -> None:
        self.estimator = estimator
        self.smoother = smoother
        self.suspects = suspects

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the smoother, then the classifier on the smoothed labels.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, for the smoother and for the classifier. With metadata
            routing each gets them if it requests them.
        **fit_params
            Passed on to the classifier's ``fit``; what has one value for each row is
            repeated with the rows.

        Returns
        -------
        self
            The fitted classifier.
        """
        check_choice(self.suspects, "suspects", ("keep", "weigh", "drop"))
        inner, smoother = self._inner_for(X), self._smoother()
        weight_name = check_takes_weights(inner)
        smoother_params: dict[str, Any] = {}
        if sample_weight is not None:
            X, y, smoother_params, fit_params = _without_zeros(
                X, y, sample_weight, fit_params
            )
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **fit_params)
            smoother_params, fit_params = routed.smoother.fit, routed.estimator.fit
        self.smoother_ = smoother.fit(X, y, **smoother_params)
        self.classes_ = smoother.classes_
        coded = smoother.encode(y, len(smoother.sample_strengths_))
        if self.suspects != "keep":
            weights = smoother.suspects_.sample_weight(self.suspects)
            name = weight_name if weight_name in fit_params else "sample_weight"
            fit_params = {**fit_params, name: weights * fit_params.get(name, 1.0)}
        self.estimator_ = fit_expanded(
            inner, X, coded, smoother.smooth_fitted(coded), self.classes_, fit_params
        )
        self.n_features_in_ = smoother.n_features_in_
        if hasattr(smoother, "feature_names_in_"):
            self.feature_names_in_ = smoother.feature_names_in_
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who gets what of the metadata given to ``fit``."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__)
        return router.add(
            smoother=self._smoother(), estimator=self._inner(), method_mapping=mapping
        )

    def _smoother(self) -> Any:
        ignore = self.suspects != "keep"
        if self.smoother is None:
            return requesting_weights(StructuralSmoother(ignore_suspects=ignore))
        if not isinstance(self.smoother, StructuralSmoother):
            raise InvalidInputError(
                "smoother must be a StructuralSmoother or None, got "
                f"{type(self.smoother).__name__}"
            )
        smoother = clone(self.smoother)
        return smoother.set_params(ignore_suspects=True) if ignore else smoother


def _without_zeros(
    X: Any, y: Any, sample_weight: ArrayLike, fit_params: dict[str, Any]
) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Return the rows that count, and parameters of them, their weights included."""
    weights = check_sample_weight(sample_weight, X)
    n_rows, kept = _num_samples(X), np.flatnonzero(weights)
    fit_params = {"sample_weight": weights, **fit_params}
    # Labels of another number are left to the smoother to refuse.
    if len(kept) < n_rows and _num_samples(y) == n_rows:
        X, y = _safe_indexing(indexable(X), kept), _safe_indexing(y, kept)
        weights, fit_params = weights[kept], of_rows(fit_params, kept, n_rows)
    return X, y, {"sample_weight": weights}, fit_params
