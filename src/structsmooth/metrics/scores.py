"""Scores that are a mean over the samples: error, log-likelihood, Brier."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structsmooth.errors import InvalidInputError
from structsmooth.metrics.inputs import (
    check_labels_and_probabilities,
    check_number,
    predict,
)


def error_rate(y: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the share of samples whose most probable class is not their own.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; one-dimensional, those of class 1 of two.

    Returns
    -------
    float
        From 0 to 1, lower is better.

    Examples
    --------
    >>> from structsmooth.metrics import error_rate
    >>> error_rate([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.2])
    0.25
    """
    coded, table = check_labels_and_probabilities(y, probabilities)
    predicted, _ = predict(table)
    return float(np.mean(predicted != coded))


def negative_log_likelihood(
    y: ArrayLike,
    probabilities: ArrayLike,
    *,
    clip: float = float(np.finfo(np.float64).eps),
) -> float:
    """Return the mean of ``-log p(own class)``, in nats.

    Taken exactly, one sample whose own class got the probability 0 makes it infinite.
    Networks that underflow and forests that vote unanimously do that, so by default a
    probability below 2.2e-16 counts as 2.2e-16, which costs 36 nats, whatever the
    type of the array.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; one-dimensional, those of class 1 of two.
    clip : float, default=2.2e-16
        Smallest probability, from 0 to below 1; 0 is the exact score.
        `sklearn.metrics.log_loss` has the same one for float64, but 1.2e-7 for
        float32.

    Returns
    -------
    float
        0 or more, lower is better.

    Examples
    --------
    >>> from structsmooth.metrics import negative_log_likelihood
    >>> round(negative_log_likelihood([0, 1], [[0.5, 0.5], [0.75, 0.25]]), 6)
    1.039721
    >>> negative_log_likelihood([0, 1], [[1.0, 0.0], [1.0, 0.0]], clip=0)
    inf
    """
    floor = check_number(clip, "clip")
    if not 0 <= floor < 1:
        raise InvalidInputError(f"clip must be a number from 0 to below 1, got {clip}")
    coded, table = check_labels_and_probabilities(y, probabilities)
    own = np.maximum(table[np.arange(len(coded)), coded], floor)
    with np.errstate(divide="ignore"):  # with a clip of 0, infinity is the answer
        return float(0.0 - np.log(own).mean())  # not -0.0 for a perfect model


def brier_score(y: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean squared distance to the hard label, summed over the classes.

    This is Brier's own score, from 0 to 2. With two classes both contribute the same,
    and `sklearn.metrics.brier_score_loss` counts only one: by default its number is
    half of this. With more classes the two agree.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    probabilities : array-like of shape (n, K) or (n,)
        Predicted probabilities; one-dimensional, those of class 1 of two.

    Returns
    -------
    float
        From 0 to 2, lower is better.

    Examples
    --------
    >>> from structsmooth.metrics import brier_score
    >>> brier_score([0, 2], [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    0.25
    """
    coded, table = check_labels_and_probabilities(y, probabilities)
    distance = table.copy()
    distance[np.arange(len(coded)), coded] -= 1.0
    return float(np.square(distance, out=distance).sum()) / len(coded)
