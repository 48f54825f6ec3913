"""SmoothedClassifierCV: whether and how to smooth, chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from structsmooth.classifier.base import SmoothedBase
from structsmooth.classifier.expand import (
    check_takes_weights,
    fit_expanded,
    indexable,
)
from structsmooth.classifier.logistic import takes_soft_labels
from structsmooth.classifier.measured import MeasuredRows
from structsmooth.encode.table import is_table
from structsmooth.errors import InvalidInputError, StructsmoothWarning
from structsmooth.metrics import area_under_risk_coverage
from structsmooth.metrics.preference import preferred
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.epsilon import USUAL_EPSILON, alpha_from_epsilon
from structsmooth.support.validation import (
    check_features,
    check_flag,
    check_label_structure,
    encode_labels,
)
from structsmooth.support.weights import check_sample_weight


class SmoothedClassifierCV(SmoothedBase):
    """Train a classifier with the smoothing that cross-validation prefers, or none.

    All candidates are trained on the same folds, and each fold is measured once. Of the
    candidates within one standard error of the best mean score the first is chosen, so
    their order is an order of preference. By default no smoothing comes first: labels
    are smoothed only if that is better by more than noise. A better likelihood must not
    be paid for with errors, or with confidence in them: a candidate is left out if its
    area under the risk-coverage curve (AURC) is more than one standard error above that
    of the first.

    Parameters
    ----------
    estimator : classifier, optional
        As in `SmoothedClassifier`.
    candidates : sequence of StructuralSmoother or None, optional
        What to choose from, in order of preference; None is no smoothing. By default no
        smoothing, a `StructuralSmoother` with its defaults, one whose strengths are the
        Bayes errors (alpha and beta "auto"), and uniform smoothing of
        ``label_smoothing=0.1``.
    cv : int, splitter or iterable, optional
        As in scikit-learn, by default five stratified folds.
    scoring : str or callable, optional
        A scorer of scikit-learn, which then decides alone. By default the mean
        log-likelihood, or the accuracy of a classifier without ``predict_proba``.
    refit : bool, default=True
        Train the chosen candidate on all rows; needed to predict.

    Attributes
    ----------
    best_index_ : int
        Which candidate was chosen.
    best_score_ : float
        Its mean score over the folds.
    best_smoother_ : StructuralSmoother or None
        The candidate itself, not fitted.
    cv_results_ : dict of str to ndarray
        ``candidate``, the scores of each fold and their mean and standard deviation, as
        in `sklearn.model_selection.GridSearchCV`; ``standard_error``, that of the
        difference from the best; the same of ``aurc``, if the score is the
        log-likelihood; and ``does_harm``, whether a candidate is left out for it.
    estimator_ : classifier
        The classifier, trained on all rows.
    smoother_ : StructuralSmoother or None
        The chosen smoother, fitted to all rows.
    classes_ : ndarray of shape (K,)
        The labels, sorted.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from structsmooth import SmoothedClassifierCV
    >>> X, y = make_blobs(600, centers=[[0, 0], [2, 0]], random_state=0)
    >>> model = SmoothedClassifierCV().fit(X, y)
    >>> print(model.best_smoother_)  # it is better not to smooth here
    None
    """

    def __init__(
        self,
        estimator: Any = None,
        candidates: Sequence[StructuralSmoother | None] | None = None,
        *,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.cv = cv
        self.scoring = scoring
        self.refit = refit

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose a candidate, and train it on all rows.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, for smoothers, classifier and the default score.
        groups : array-like of shape (n,), optional
            For a ``cv`` that keeps the rows of a group together.
        """
        check_flag(self.refit, "refit")
        inner = self._inner_for(X)
        check_takes_weights(inner)
        if is_table(X):
            validate_data(self, X, skip_check_array=True)
            rows = X
        else:
            rows = check_features(X, estimator=self, accept_sparse=True, min_rows=2)
        classes, coded = encode_labels(y, rows.shape[0], owner=type(self).__name__)
        check_label_structure(classes, np.bincount(coded))
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, rows)
        candidates = self._check_candidates(len(classes))
        work = _Work(inner, indexable(rows), coded, weights, classes, candidates)

        splitter = check_cv(self.cv, coded, classifier=True)
        folds = list(splitter.split(rows, coded, groups))
        with warnings.catch_warnings():  # the last fit, to all rows, repeats them
            warnings.simplefilter("ignore", StructsmoothWarning)
            found = [work.scores(a, b, self.scoring) for a, b in folds]
        # One array for each measure, with a row for each candidate.
        values = {k: np.array([part[k] for part in found]).T for k in found[0]}
        ratio = float(np.mean([len(held) / len(kept) for kept, held in folds]))
        preference = preferred(-values["score"], ratio, values.get("aurc"))
        means = {f"mean_test_{name}": v.mean(axis=1) for name, v in values.items()}
        self.best_index_ = preference.index
        self.best_score_ = float(means["mean_test_score"][self.best_index_])
        self.best_smoother_ = candidates[self.best_index_]
        self.cv_results_ = {
            "candidate": np.array(candidates, dtype=object),
            **means,
            "std_test_score": values["score"].std(axis=1),
            "standard_error": preference.errors,
            "does_harm": preference.does_harm,
            **{
                f"split{number}_test_{name}": part
                for name, parts in values.items()
                for number, part in enumerate(parts.T)
            },
        }
        self.classes_, self.n_splits_ = classes, len(folds)
        if self.refit:
            everything = np.arange(len(coded))
            (trained,) = work.train(everything, [self.best_smoother_])
            self.estimator_, self.smoother_ = trained
        return self

    def _check_candidates(self, n_classes: int) -> list[StructuralSmoother | None]:
        if self.candidates is None:
            uniform = alpha_from_epsilon(USUAL_EPSILON, n_classes)
            given: list[Any] = [
                None,
                StructuralSmoother(random_state=0),
                StructuralSmoother("auto", "auto", random_state=0),
                StructuralSmoother(uniform, 0.0, random_state=0),
            ]
        else:
            given = list(self.candidates)
        wrong = [c for c in given if not isinstance(c, StructuralSmoother | None)]
        if wrong or not given:
            got = type(wrong[0]).__name__ if wrong else "no candidate"
            raise InvalidInputError(
                f"candidates must be StructuralSmoothers or None, got {got}"
            )
        return given


class _Work:
    """The rows, and how to train and score all candidates on some of them."""

    def __init__(
        self,
        inner: Any,
        X: Any,
        coded: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        classes: NDArray[Any],
        candidates: list[StructuralSmoother | None],
    ) -> None:
        self.inner, self.X, self.coded, self.weights = inner, X, coded, weights
        self.classes, self.candidates = classes, candidates
        last = inner
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        # One solver for all candidates, so that none wins by how it is computed.
        self.keep_empty = takes_soft_labels(last)

    def train(
        self, rows: NDArray[np.int64], candidates: list[StructuralSmoother | None]
    ) -> list[tuple[Any, StructuralSmoother | None]]:
        """Return the classifier and the smoother of each candidate, fitted."""
        weights = None
        if self.weights is not None:
            rows = rows[self.weights[rows] > 0.0]
            weights = self.weights[rows]
        X, coded = _safe_indexing(self.X, rows), self.coded[rows]
        if len(np.unique(coded)) < len(self.classes):
            raise InvalidInputError(
                "the training rows of every fold must have all classes, expected "
                f"{len(self.classes)}, got {len(np.unique(coded))}; use fewer folds"
            )
        smoothers = [one for one in candidates if one is not None]
        measured = MeasuredRows(X, self.classes[coded], smoothers, weights)
        params = {} if weights is None else {"sample_weight": weights}
        found = []
        for candidate in candidates:
            soft, smoother = np.eye(len(self.classes))[coded], None
            if candidate is not None:
                smoother = measured.fitted(candidate)
                soft = smoother.smooth_fitted(coded)
            model = fit_expanded(
                clone(self.inner),
                X,
                coded,
                soft,
                self.classes,
                params,
                keep_empty=self.keep_empty,
            )
            found.append((model, smoother))
        return found

    def scores(
        self, kept: NDArray[np.int64], held: NDArray[np.int64], scoring: Any
    ) -> dict[str, list[float]]:
        """Return the scores on the rows that are held out, candidate by candidate.

        If the score is the log-likelihood, also what must not get worse for it.
        """
        if self.weights is not None:
            held = held[self.weights[held] > 0.0]
        X, coded = _safe_indexing(self.X, held), self.coded[held]
        weights = np.ones(len(held)) if self.weights is None else self.weights[held]
        found = []
        for model, _ in self.train(np.asarray(kept), self.candidates):
            if scoring is None and hasattr(model, "predict_proba"):
                table = model.predict_proba(X)
                own = table[np.arange(len(held)), coded]
                logs = np.log(np.maximum(own, np.finfo(np.float64).eps))
                measures = {
                    "score": weights @ logs / weights.sum(),
                    "aurc": area_under_risk_coverage(coded, table),
                }
            else:
                scorer = check_scoring(model, scoring=scoring or "accuracy")
                measures = {"score": scorer(model, X, self.classes[coded])}
            found.append(measures)
        return {name: [float(one[name]) for one in found] for name in found[0]}
