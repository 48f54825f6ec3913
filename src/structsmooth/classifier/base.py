"""What classifiers on smoothed labels share: they predict with what they trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from structsmooth.encode.encoder import TableEncoder
from structsmooth.encode.table import holds_numbers, is_table
from structsmooth.support.validation import check_features


def _inner_has(name: str) -> Any:
    """Make a method exist only if the inner classifier has it."""

    def check(self: SmoothedBase) -> bool:
        inner = getattr(self, "estimator_", None) or self._inner()
        getattr(inner, name)  # its own AttributeError says what is missing
        return True

    return check


class SmoothedBase(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that predicts with ``estimator_``, trained on smoothed labels."""

    estimator: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row."""
        return np.asarray(self._checked(X).predict(X))

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of ``classes_``."""
        return np.asarray(self._checked(X).predict_proba(X))

    @available_if(_inner_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class."""
        return np.asarray(self._checked(X).predict_log_proba(X))

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the classifier's own scores."""
        return np.asarray(self._checked(X).decision_function(X))

    def _inner(self) -> Any:
        if self.estimator is not None:
            return clone(self.estimator)
        return requesting_weights(LogisticRegression())

    def _inner_for(self, X: Any) -> Any:
        """Return the classifier to train, which can read X if it is a table."""
        inner = self._inner()
        if self.estimator is None and is_table(X) and not holds_numbers(X):
            return make_pipeline(TableEncoder(), inner)
        return inner

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        if is_table(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            check_features(X, estimator=self, reset=False, accept_sparse=True)
        return self.estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        tags.input_tags.sparse = inner.input_tags.sparse
        if inner.classifier_tags is not None:
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags


def requesting_weights(estimator: Any) -> Any:
    """Return an estimator of our own that takes all weights it can get."""
    if get_config()["enable_metadata_routing"]:
        estimator.set_fit_request(sample_weight=True)
    return estimator
