"""Strengths to compare with: reversed and shuffled.

At equal mean they tell whether it matters *where* labels are smoothed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.strengths.solve import check_given, shift_into_box


def reversed_strengths(
    strengths: ArrayLike,
    weights: ArrayLike,
    *,
    n_classes: int,
    keep_mean: bool = True,
) -> NDArray[np.float64]:
    """Return strengths that are wrong on purpose, as a control.

    Parameters
    ----------
    strengths, weights : array-like of shape (C,)
        Strengths of the regions, and their shares of the samples.
    n_classes : int
        Number of classes K.
    keep_mean : bool, default=True
        ``True`` mirrors the strengths at their weighted mean, so that only their
        direction is wrong. ``False`` is the paper's RevSLS: the largest is swapped
        with the smallest and so on, which also changes the weighted mean where
        regions differ in size.

    Returns
    -------
    ndarray of shape (C,)
        The control's strengths, inside the bounds.

    Examples
    --------
    >>> from structsmooth import reversed_strengths
    >>> a, w = [0.05, 0.11, 0.12], [0.2, 0.4, 0.4]
    >>> reversed_strengths(a, w, n_classes=2).round(3)
    array([0.154, 0.094, 0.084])
    >>> reversed_strengths(a, w, n_classes=2, keep_mean=False)
    array([0.12, 0.11, 0.05])
    """
    strengths, weights = check_given(strengths, weights, n_classes)
    if keep_mean:
        mean = float(weights @ strengths)
        return shift_into_box(-strengths, weights, mean, n_classes)
    order = np.argsort(strengths, kind="stable")
    swapped = np.empty_like(strengths)
    swapped[order] = strengths[order[::-1]]
    return swapped


def shuffled_strengths(
    strengths: ArrayLike,
    weights: ArrayLike,
    *,
    n_classes: int,
    random_state: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Return the strengths dealt out to other regions at random, as a control.

    No region keeps its own, unless it is the only one. They are shifted, inside the
    bounds, to have the same weighted mean as before: regions differ in size.

    Examples
    --------
    >>> from structsmooth import shuffled_strengths
    >>> a, w = [0.0, 0.1, 0.2], [0.5, 0.25, 0.25]
    >>> control = shuffled_strengths(a, w, n_classes=2, random_state=0)
    >>> round(float(control @ w), 12)
    0.075
    """
    strengths, weights = check_given(strengths, weights, n_classes)
    mean = float(weights @ strengths)
    generator = np.random.default_rng(random_state)
    circle = generator.permutation(len(strengths))
    dealt = np.empty_like(strengths)
    dealt[circle] = strengths[np.roll(circle, 1)]
    return shift_into_box(dealt, weights, mean, n_classes)
