"""Error rate, log-likelihood, Brier score and calibration error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError
from structsmooth.metrics.inputs import (
    check_labels_and_probabilities,
    predict,
    sums_of_lowest,
)
from structsmooth.support.validation import check_choice, check_integer, check_real


def error_rate(
    y: ArrayLike, probabilities: ArrayLike, *, labels: ArrayLike | None = None
) -> float:
    """Return the share of samples whose most probable class is not their own.

    The arguments are as in `evaluate`.
    """
    coded, table = check_labels_and_probabilities(y, probabilities, labels)
    predicted, _ = predict(table)
    return float(np.mean(predicted != coded))


def negative_log_likelihood(
    y: ArrayLike,
    probabilities: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    clip: float = float(np.finfo(np.float64).eps),
) -> float:
    """Return the mean of ``-log p(own class)``, in nats.

    A single sample whose own class has probability 0 would make it infinite. Networks
    that underflow and forests that vote unanimously predict such zeros, so by default a
    probability below 2.2e-16 counts as 2.2e-16, which costs 36 nats, whatever the type
    of the array.

    Parameters
    ----------
    y, probabilities, labels : array-like
        As in `evaluate`.
    clip : float, default=2.2e-16
        Smallest probability, from 0 to below 1; 0 is the exact score.
        `sklearn.metrics.log_loss` uses the same value for float64, but 1.2e-7 for
        float32.
    """
    floor = check_real(clip, "clip", 0.0)
    if floor >= 1.0:
        raise InvalidInputError(f"clip must be below 1, got {clip!r}")
    coded, table = check_labels_and_probabilities(y, probabilities, labels)
    own = np.maximum(table[np.arange(len(coded)), coded], floor)
    with np.errstate(divide="ignore"):  # the exact score may be infinite
        return float(0.0 - np.log(own).mean())  # not -0.0 for a perfect model


def brier_score(
    y: ArrayLike, probabilities: ArrayLike, *, labels: ArrayLike | None = None
) -> float:
    """Return the mean squared distance to the hard label, summed over the classes.

    This is Brier's original score, from 0 to 2. Of two classes, which contribute the
    same, `sklearn.metrics.brier_score_loss` counts only one, so that by default its
    result is half of this one. With more classes the two agree.

    The arguments are as in `evaluate`.
    """
    coded, table = check_labels_and_probabilities(y, probabilities, labels)
    distance = table.copy()
    distance[np.arange(len(coded)), coded] -= 1.0
    return float(np.square(distance, out=distance).sum()) / len(coded)


def expected_calibration_error(
    y: ArrayLike,
    probabilities: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    n_bins: int = 15,
    bins: str = "width",
    classwise: bool = False,
) -> float:
    """Return how far confidence and accuracy are apart, on average over bins.

    Samples are binned by confidence, which is the largest probability. The result is
    the mean over bins of the distance between mean confidence and accuracy, weighted by
    the number of samples [1]_. It is biased upwards, more so with fewer samples in a
    bin: compare models on the same samples with the same bins.

    Parameters
    ----------
    y, probabilities, labels : array-like
        As in `evaluate`.
    n_bins : int, default=15
        Number of bins.
    bins : {"width", "mass"}, default="width"
        "width" divides the interval from 0 to 1 into bins of equal width, which include
        their upper ends. "mass" gives each bin exactly n / n_bins samples [2]_: a
        sample on the border of two bins counts partly in each, and samples of equal
        confidence are spread evenly over the bins that they extend into.
    classwise : bool, default=False
        For each class, compare its probability with its frequency in bins of that
        probability, and average over the classes [3]_. This takes all probabilities
        into account; but with many classes most are near 0, and so is this error.

    References
    ----------
    .. [1] Guo, Pleiss, Sun, Weinberger: On Calibration of Modern Neural Networks,
       ICML 2017.
    .. [2] Nixon et al.: Measuring Calibration in Deep Learning, CVPR Workshops 2019.
    .. [3] Kull et al.: Beyond temperature scaling, NeurIPS 2019.
    """
    n_bins = check_integer(n_bins, "n_bins", 1)
    bins = check_choice(bins, "bins", ("width", "mass"))
    coded, table = check_labels_and_probabilities(y, probabilities, labels)
    if not classwise:
        predicted, confidence = predict(table)
        return _mean_gap(confidence, predicted == coded, n_bins, bins)
    gaps = [
        _mean_gap(column, coded == label, n_bins, bins)
        for label, column in enumerate(table.T)
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
