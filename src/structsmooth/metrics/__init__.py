"""Metrics of predicted probabilities, always against hard labels.

Smoothed labels are for training. Measured against them, a model that has learned the
smoothing would look better than it is, so every function here takes one class for each
sample.

The prediction is the most probable class, the first if several are equally probable.
Samples of equal confidence share one rank, so no result depends on the order of rows.
"""

from __future__ import annotations

from functools import partial

from numpy.typing import ArrayLike

from structsmooth.metrics.inputs import check_labels_and_probabilities
from structsmooth.metrics.scores import (
    brier_score,
    error_rate,
    expected_calibration_error,
    negative_log_likelihood,
)
from structsmooth.metrics.selective import (
    area_under_generalized_risk_coverage,
    area_under_risk_coverage,
    excess_area_under_risk_coverage,
    risk_at_coverage,
    risk_coverage_curve,
)

__all__ = [
    "area_under_generalized_risk_coverage",
    "area_under_risk_coverage",
    "brier_score",
    "error_rate",
    "evaluate",
    "excess_area_under_risk_coverage",
    "expected_calibration_error",
    "negative_log_likelihood",
    "risk_at_coverage",
    "risk_coverage_curve",
]


def evaluate(
    y: ArrayLike,
    probabilities: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    n_bins: int = 15,
) -> dict[str, float]:
    """Return all metrics with their defaults; lower is better for each of them.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1, or classes that ``labels`` names.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; if one-dimensional, those of the second of two classes.
    labels : array-like of shape (K,), optional
        Class of each column of the probabilities, such as a classifier's ``classes_``,
        in the order of the columns. (`sklearn.metrics.log_loss` sorts its ``labels``
        instead. Those of classifiers are sorted.)
    n_bins : int, default=15
        Number of bins of the three calibration errors.

    Returns
    -------
    dict of str to float
        ``error``, ``nll``, ``brier``, ``ece`` (equal width), ``ece_mass`` (equal
        mass), ``ece_classwise`` (equal width), ``aurc``, ``e_aurc``, ``augrc``, and
        ``risk_at_80`` (at a coverage of 80 %).

    Examples
    --------
    >>> from structsmooth.metrics import evaluate
    >>> scores = evaluate([1, 0, 1, 1], [0.75, 0.75, 1.0, 1.0])
    >>> scores["error"], scores["brier"], scores["ece"]
    (0.25, 0.3125, 0.125)

    Classes of any kind:

    >>> evaluate(["yes", "no"], [0.75, 0.5], labels=["no", "yes"])["error"]
    0.0
    """
    data = check_labels_and_probabilities(y, probabilities, labels)
    ece = partial(expected_calibration_error, *data, n_bins=n_bins)
    return {
        "error": error_rate(*data),
        "nll": negative_log_likelihood(*data),
        "brier": brier_score(*data),
        "ece": ece(),
        "ece_mass": ece(bins="mass"),
        "ece_classwise": ece(classwise=True),
        "aurc": area_under_risk_coverage(*data),
        "e_aurc": excess_area_under_risk_coverage(*data),
        "augrc": area_under_generalized_risk_coverage(*data),
        "risk_at_80": risk_at_coverage(*data, coverage=0.8),
    }
