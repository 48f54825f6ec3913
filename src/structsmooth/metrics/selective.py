"""Selective prediction: the error that remains when a model declines samples."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError
from structsmooth.metrics.inputs import (
    check_labels_and_probabilities,
    check_numbers,
    predict,
    sums_of_lowest,
)
from structsmooth.support.validation import check_real


def risk_coverage_curve(
    y: ArrayLike,
    probabilities: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the coverages ``1/n, 2/n, ..., 1`` and the risk at each of them.

    A model that may decline predicts only the samples that it is most confident about.
    Their share is the coverage, and the error among them is the risk. If the coverage
    includes only some of the samples of equal confidence, the risk is the mean over all
    their orders.

    Parameters
    ----------
    y, probabilities, labels : array-like
        As in `evaluate`.
    confidence : array-like of shape (n,), optional
        Numbers that rank the samples, on any scale, higher for more confident samples;
        by default the largest probability.

    Examples
    --------
    >>> from structsmooth.metrics import risk_coverage_curve
    >>> coverage, risk = risk_coverage_curve([1, 1, 0, 0], [0.9, 0.8, 0.8, 0.3])
    >>> coverage
    array([0.25, 0.5 , 0.75, 1.  ])
    >>> risk
    array([0.        , 0.25      , 0.33333333, 0.25      ])
    """
    errors = _errors_among_first(y, probabilities, confidence, labels)
    count = np.arange(1, len(errors) + 1)
    return count / len(errors), errors / count


def _errors_among_first(
    y: ArrayLike,
    probabilities: ArrayLike,
    confidence: ArrayLike | None,
    labels: ArrayLike | None,
) -> NDArray[np.float64]:
    """Return the number of errors among the 1, 2, ..., n most confident samples."""
    keys, wrong = ranked_errors(y, probabilities, confidence, labels=labels)
    return sums_of_lowest(keys, wrong, np.arange(1, len(keys) + 1))


def ranked_errors(
    y: ArrayLike,
    probabilities: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return numbers that are lowest for the most confident, and who is wrong."""
    coded, table = check_labels_and_probabilities(y, probabilities, labels)
    predicted, ranks_by = predict(table)
    if confidence is not None:
        ranks_by = check_numbers(confidence, "confidence")
        if ranks_by.shape != coded.shape:
            raise InvalidInputError(
                f"confidence must have one number for each of the {len(coded)} "
                f"samples, got an array of shape {ranks_by.shape}"
            )
        if np.isnan(ranks_by).any():
            raise InvalidInputError("confidence must be numbers, got NaN")
    return -ranks_by, predicted != coded


def risk_at_coverage(
    y: ArrayLike,
    probabilities: ArrayLike,
    coverage: float,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
) -> float:
    """Return the error among a given share of the samples, the most confident ones.

    The coverage is a number above 0 and up to 1, and is rounded up to whole samples.
    The other arguments are as in `risk_coverage_curve`.
    """
    share = check_real(coverage, "coverage", 0.0)
    if not 0.0 < share <= 1.0:
        raise InvalidInputError(
            f"coverage must be above 0 and at most 1, got {coverage!r}"
        )
    _, risk = risk_coverage_curve(y, probabilities, confidence, labels=labels)
    # 0.07 * 100 is 7.000000000000001 in floating point, and means 7.
    return float(risk[math.ceil(share * len(risk) * (1 - 1e-15)) - 1])


def area_under_risk_coverage(
    y: ArrayLike,
    probabilities: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
) -> float:
    """Return AURC, the mean over k of the error among the k most confident samples.

    It is lower the fewer the errors are, and the less confident the model is where it
    errs [1]_. If all samples have the same confidence, it is the error rate. Arguments
    are as in `risk_coverage_curve`.

    References
    ----------
    .. [1] Geifman, Uziel, El-Yaniv: Bias-Reduced Uncertainty Estimation for Deep
       Neural Classifiers, ICLR 2019.
    """
    _, risk = risk_coverage_curve(y, probabilities, confidence, labels=labels)
    return float(risk.mean())


def excess_area_under_risk_coverage(
    y: ArrayLike,
    probabilities: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
) -> float:
    """Return E-AURC, the excess of AURC over that of the same errors ranked last.

    The AURC of the best ranking is exact for this number of samples, unlike the usual
    limit ``r + (1-r) log(1-r)`` for many samples at error rate r. So the excess of a
    perfect ranking is 0, and no ranking is below 0. Arguments are as in
    `risk_coverage_curve`.
    """
    _, risk = risk_coverage_curve(y, probabilities, confidence, labels=labels)
    count = np.arange(1, len(risk) + 1)
    n_errors = round(float(risk[-1]) * len(risk))
    least = np.maximum(count - (len(risk) - n_errors), 0) / count
    return float(risk.mean() - least.mean())


def area_under_generalized_risk_coverage(
    y: ArrayLike,
    probabilities: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
) -> float:
    """Return AUGRC, the mean over all coverages of the share of undeclined errors.

    The generalized risk at a coverage is the share of *all* samples that are predicted
    and wrong. So, unlike in AURC, an error among the few most confident samples does
    not count many times as much as another one [1]_.

    The curve starts with no error at coverage 0 and is straight from sample to sample,
    as its authors have it. At error rate r the area is
    ``(1 - AUROC) r (1 - r) + r**2 / 2``, where AUROC says how well confidence
    separates correct from wrong predictions: ``r**2 / 2`` if it does so perfectly, and
    ``r / 2`` if all samples have the same confidence. Arguments are as in
    `risk_coverage_curve`.

    References
    ----------
    .. [1] Traub et al.: Overcoming Common Flaws in the Evaluation of Selective
       Classification Systems, NeurIPS 2024.

    Examples
    --------
    >>> from structsmooth.metrics import area_under_generalized_risk_coverage
    >>> area_under_generalized_risk_coverage([1, 1, 0, 0], [0.9, 0.8, 0.8, 0.3])
    0.125
    """
    errors = _errors_among_first(y, probabilities, confidence, labels)
    # Each number of errors is a side of two trapezoids, and the last of one only.
    return float(errors.sum() - errors[-1] / 2.0) / len(errors) ** 2
