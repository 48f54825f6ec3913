"""Selective prediction: the error that is left when unsure samples are declined."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError
from structsmooth.metrics.inputs import (
    check_labels_and_probabilities,
    check_number,
    check_numbers,
    predict,
)
from structsmooth.metrics.ranking import sums_of_lowest


def risk_coverage_curve(
    y: ArrayLike, probabilities: ArrayLike, confidence: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the error among the k most confident samples, for each k.

    A model that may decline answers for the samples it is most confident of: their
    share is the coverage, the error among them the risk.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; one-dimensional, those of class 1 of two.
    confidence : array-like of shape (n,), optional
        What ranks the samples, on any scale, higher is more confident; by default
        the largest probability.

    Returns
    -------
    coverage : ndarray of shape (n,)
        ``1/n, 2/n, ..., 1``.
    risk : ndarray of shape (n,)
        The error among so many; where samples of equal confidence are parted, its
        mean over all orders of them.

    Examples
    --------
    >>> from structsmooth.metrics import risk_coverage_curve
    >>> coverage, risk = risk_coverage_curve([1, 1, 0, 0], [0.9, 0.8, 0.8, 0.3])
    >>> coverage
    array([0.25, 0.5 , 0.75, 1.  ])
    >>> risk
    array([0.        , 0.25      , 0.33333333, 0.25      ])
    """
    coded, table = check_labels_and_probabilities(y, probabilities)
    predicted, ranks_by = predict(table)
    if confidence is not None:
        ranks_by = _check_confidence(confidence, len(coded))
    count = np.arange(1, len(coded) + 1)
    errors = sums_of_lowest(-ranks_by, predicted != coded, count)
    return count / len(coded), errors / count


def risk_at_coverage(
    y: ArrayLike,
    probabilities: ArrayLike,
    coverage: float,
    confidence: ArrayLike | None = None,
) -> float:
    """Return the error among the given share of the samples, the most confident.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; one-dimensional, those of class 1 of two.
    coverage : float
        Share of the samples, above 0 and up to 1: the fewest samples that are at
        least this share.
    confidence : array-like of shape (n,), optional
        What ranks the samples, as in `risk_coverage_curve`.

    Returns
    -------
    float
        From 0 to 1, lower is better.

    Examples
    --------
    >>> from structsmooth.metrics import risk_at_coverage
    >>> risk_at_coverage([1, 1, 0, 0], [0.9, 0.8, 0.8, 0.3], coverage=0.5)
    0.25
    """
    share = check_number(coverage, "coverage")
    if not 0 < share <= 1:
        raise InvalidInputError(
            f"coverage must be a number above 0 and up to 1, got {coverage}"
        )
    _, risk = risk_coverage_curve(y, probabilities, confidence)
    # 0.07 * 100 is 7.000000000000001 in floating point, and means 7.
    return float(risk[math.ceil(share * len(risk) * (1 - 1e-15)) - 1])


def area_under_risk_coverage(
    y: ArrayLike, probabilities: ArrayLike, confidence: ArrayLike | None = None
) -> float:
    """Return AURC, the mean over k of the error among the k most confident samples.

    Fewer errors make it lower, and errors where the model is least confident [1]_. If
    the confidence says nothing, it is the error rate.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; one-dimensional, those of class 1 of two.
    confidence : array-like of shape (n,), optional
        What ranks the samples, as in `risk_coverage_curve`.

    Returns
    -------
    float
        From 0 to 1, lower is better.

    References
    ----------
    .. [1] Geifman, Uziel, El-Yaniv: Bias-Reduced Uncertainty Estimation for Deep
       Neural Classifiers, ICLR 2019.

    Examples
    --------
    The least confident of four is wrong: (0 + 0 + 0 + 1/4) / 4.

    >>> from structsmooth.metrics import area_under_risk_coverage
    >>> area_under_risk_coverage([1, 1, 0, 1], [0.9, 0.8, 0.3, 0.4])
    0.0625
    """
    _, risk = risk_coverage_curve(y, probabilities, confidence)
    return float(risk.mean())


def excess_area_under_risk_coverage(
    y: ArrayLike, probabilities: ArrayLike, confidence: ArrayLike | None = None
) -> float:
    """Return E-AURC: how far AURC is above that of the same errors ranked last.

    What the best ranking reaches is taken for this number of samples, not as the limit
    for many, ``r + (1-r) log(1-r)`` at error rate r [1]_. So the excess of a perfect
    ranking is 0, and none is below.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; one-dimensional, those of class 1 of two.
    confidence : array-like of shape (n,), optional
        What ranks the samples, as in `risk_coverage_curve`.

    Returns
    -------
    float
        From 0 to 1, lower is better.

    References
    ----------
    .. [1] Geifman, Uziel, El-Yaniv: Bias-Reduced Uncertainty Estimation for Deep
       Neural Classifiers, ICLR 2019.

    Examples
    --------
    The more confident of two is wrong: risks 1 and 1/2, where 0 and 1/2 was possible.

    >>> from structsmooth.metrics import excess_area_under_risk_coverage
    >>> excess_area_under_risk_coverage([0, 0], [0.9, 0.2])
    0.5
    """
    _, risk = risk_coverage_curve(y, probabilities, confidence)
    count = np.arange(1, len(risk) + 1)
    n_errors = round(float(risk[-1]) * len(risk))
    least = np.maximum(count - (len(risk) - n_errors), 0) / count
    return float(risk.mean() - least.mean())


def _check_confidence(confidence: ArrayLike, n_samples: int) -> NDArray[np.float64]:
    values = check_numbers(confidence, "confidence")
    if values.shape != (n_samples,):
        raise InvalidInputError(
            f"confidence must have one number for each of the {n_samples} samples, "
            f"got an array of shape {values.shape}"
        )
    if np.isnan(values).any():
        raise InvalidInputError("confidence must be numbers, got NaN")
    return values
