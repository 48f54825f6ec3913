"""Rows and clusters of a fitted smoother, with all that a map can show of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError
from structsmooth.report.drawing.projection import draw_rows, fit_projection
from structsmooth.support.validation import check_features


@dataclass(frozen=True, eq=False)
class Placed:
    """Positions on a plane and what is known there.

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        Numbers of the rows in the data, or of the clusters.
    given, features : ndarray or CSR matrix of shape (m, d)
        Their features as given, and reduced.
    positions : ndarray of shape (m, 2)
        Where they are.
    classes : ndarray of shape (m,), int64, or None
        Class numbers, if known.
    clusters : ndarray of shape (m,), int64
        Their clusters.
    errors, strengths : ndarray of shape (m,)
        The Bayes error that strengths follow, and the strengths.
    variance_shown : float
        Share of the variance that the plane holds.
    """

    rows: NDArray[np.int64]
    given: Any
    features: Any
    positions: NDArray[np.float64]
    classes: NDArray[np.int64] | None
    clusters: NDArray[np.int64]
    errors: NDArray[np.float64]
    strengths: NDArray[np.float64]
    variance_shown: float


def place_rows(smoother: Any, X: Any, y: ArrayLike | None, most: int) -> Placed:
    """Place rows of the fit, or others, at most so many of them."""
    n_rows = X.shape[0] if hasattr(X, "shape") and X.shape else len(X)
    coded = None if y is None else smoother.encode(y, n_rows)
    rows = draw_rows(n_rows, most)
    X = check_features(
        _take(X, rows), estimator=smoother, reset=False, accept_sparse=True
    )
    structure, decision = smoother.structure_, smoother.decision_
    features = structure.reduction.transform(X)
    place = structure.place(X, smoother.n_jobs)
    clusters = place.clusters
    fitted = structure.cluster_labels
    if n_rows == len(fitted) and np.array_equal(fitted[rows], clusters):
        errors = decision.bayes_error_of_samples(structure)[rows]  # those of the fit
        strengths = smoother.sample_strengths_[rows]
    else:
        errors = decision.bayes_error_at(structure, place)
        strengths = decision.at(structure, place)
    projection = fit_projection(features)
    return Placed(
        rows=rows,
        given=X,
        features=features,
        positions=projection.place(features),
        classes=None if coded is None else coded[rows],
        clusters=clusters,
        errors=errors,
        strengths=strengths,
        variance_shown=projection.variance_shown,
    )


def place_clusters(smoother: Any) -> Placed:
    """Place the centers of the clusters; the class of each is its largest."""
    centers = smoother.structure_.regions.centers
    numbers = np.arange(len(centers))
    projection = fit_projection(centers, smoother.cluster_weights_)
    counts = np.array([bounds.class_counts for bounds in smoother.cluster_bounds_])
    errors = smoother.bayes_error_
    if smoother.structure_.points is not None:
        labels = smoother.cluster_labels_
        errors = np.bincount(labels, errors) / np.bincount(labels)
    return Placed(
        rows=numbers,
        given=centers,
        features=centers,
        positions=projection.place(centers),
        classes=counts.argmax(axis=1),
        clusters=numbers,
        errors=errors,
        strengths=smoother.strengths_,
        variance_shown=projection.variance_shown,
    )


def _take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of an array, DataFrame, sparse matrix or list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if X.ndim < 2:
        raise InvalidInputError(
            "X must be two-dimensional (rows, features), got an array of shape "
            f"{tuple(X.shape)}"
        )
    return X[rows]
