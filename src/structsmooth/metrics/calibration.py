"""Calibration: a class predicted with probability 0.8 is right four times in five."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.metrics.inputs import check_labels_and_probabilities, predict
from structsmooth.metrics.ranking import sums_of_lowest
from structsmooth.support.validation import check_choice, check_integer


def expected_calibration_error(
    y: ArrayLike,
    probabilities: ArrayLike,
    *,
    n_bins: int = 15,
    bins: str = "width",
    classwise: bool = False,
) -> float:
    """Return how far confidence and accuracy are apart, on average over bins.

    The samples are binned by confidence, the largest probability; a bin adds the
    distance of its mean confidence from its accuracy, weighted with its share of the
    samples [1]_. The estimate is biased upwards, the more so the fewer samples a bin
    has: compare models on the same samples with the same bins.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; one-dimensional, those of class 1 of two.
    n_bins : int, default=15
        Number of bins.
    bins : {"width", "mass"}, default="width"
        "width" cuts the interval from 0 to 1 into bins of equal width, which include
        their upper ends. "mass" gives each bin exactly n / n_bins samples [2]_: one on
        a cut counts on both sides with its shares, and samples of equal confidence are
        spread evenly over the bins they reach into.
    classwise : bool, default=False
        For each class, compare its probability with its frequency in bins of that
        probability, and average over the classes [3]_. It sees all probabilities, not
        only the largest; but with many classes most are near 0, and so is this error.

    Returns
    -------
    float
        From 0 to 1, lower is better.

    References
    ----------
    .. [1] Guo, Pleiss, Sun, Weinberger: On Calibration of Modern Neural Networks,
       ICML 2017.
    .. [2] Nixon et al.: Measuring Calibration in Deep Learning, CVPR Workshops 2019.
    .. [3] Kull et al.: Beyond temperature scaling, NeurIPS 2019.

    Examples
    --------
    Two samples at 0.75, one of them wrong, and two at 1, both right: the first bin
    is 0.25 off, and has half of the samples.

    >>> from structsmooth.metrics import expected_calibration_error
    >>> expected_calibration_error([1, 0, 1, 1], [0.75, 0.75, 1.0, 1.0])
    0.125
    """
    n_bins = check_integer(n_bins, "n_bins", 1)
    bins = check_choice(bins, "bins", ("width", "mass"))
    coded, table = check_labels_and_probabilities(y, probabilities)
    if not classwise:
        predicted, confidence = predict(table)
        return _mean_gap(confidence, predicted == coded, n_bins, bins)
    gaps = [
        _mean_gap(table[:, label], coded == label, n_bins, bins)
        for label in range(table.shape[1])
    ]
    return sum(gaps) / len(gaps)


def _mean_gap(
    forecast: NDArray[Any], happened: NDArray[np.bool_], n_bins: int, bins: str
) -> float:
    """Return the sum over bins of ``|sum of happened - forecast|``, over n."""
    off = happened - forecast
    gaps: NDArray[Any]
    if bins == "width":
        upper_ends = np.arange(1, n_bins) / n_bins
        gaps = np.bincount(np.searchsorted(upper_ends, forecast), weights=off)
    else:
        cuts = np.linspace(0.0, len(forecast), n_bins + 1)
        gaps = np.diff(sums_of_lowest(forecast, off, cuts))
    return float(np.abs(gaps).sum()) / len(forecast)
