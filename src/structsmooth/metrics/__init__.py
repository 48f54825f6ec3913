"""How good are predicted probabilities? Always asked of hard labels.

Smoothed labels are for training. Measured against them, a model that has learned the
smoothing would look better than it is, so every function here takes class numbers.

Three conventions hold throughout. ``y`` holds class numbers 0 to K - 1, and
``probabilities`` one row a sample, or for two classes just the probability of class 1.
The prediction is the class of largest probability, the first of equals. And no result
depends on the order of the rows: samples of equal confidence share one rank.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from structsmooth.metrics.calibration import expected_calibration_error
from structsmooth.metrics.inputs import check_labels_and_probabilities
from structsmooth.metrics.scores import (
    brier_score,
    error_rate,
    negative_log_likelihood,
)
from structsmooth.metrics.selective import (
    area_under_risk_coverage,
    excess_area_under_risk_coverage,
    risk_at_coverage,
    risk_coverage_curve,
)

__all__ = [
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
    y: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15
) -> dict[str, float]:
    """Return all metrics at once, with their defaults.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; one-dimensional, those of class 1 of two.
    n_bins : int, default=15
        Number of bins of the three calibration errors.

    Returns
    -------
    dict of str to float
        ``error``, ``nll``, ``brier``, ``ece`` (equal width), ``ece_mass`` (equal
        mass), ``ece_classwise`` (equal width), ``aurc``, ``e_aurc``, and
        ``risk_at_80`` (at a coverage of 80 %). Of all, lower is better.

    Examples
    --------
    >>> from structsmooth.metrics import evaluate
    >>> scores = evaluate([1, 0, 1, 1], [0.75, 0.75, 1.0, 1.0])
    >>> scores["error"], scores["brier"], scores["ece"]
    (0.25, 0.3125, 0.125)
    """
    data = check_labels_and_probabilities(y, probabilities)
    return {
        "error": error_rate(*data),
        "nll": negative_log_likelihood(*data),
        "brier": brier_score(*data),
        "ece": expected_calibration_error(*data, n_bins=n_bins),
        "ece_mass": expected_calibration_error(*data, n_bins=n_bins, bins="mass"),
        "ece_classwise": expected_calibration_error(
            *data, n_bins=n_bins, classwise=True
        ),
        "aurc": area_under_risk_coverage(*data),
        "e_aurc": excess_area_under_risk_coverage(*data),
        "risk_at_80": risk_at_coverage(*data, coverage=0.8),
    }
