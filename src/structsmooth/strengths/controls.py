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

    With ``keep_mean`` they are mirrored at their weighted mean, so that only their
    direction is wrong. Without it they are the paper's RevSLS: the largest is swapped
    with the smallest and so on, which also changes the weighted mean where regions
    differ in size.
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
    """Return the strengths given to other regions at random, as a control.

    No region keeps its own, unless it is the only one. They are shifted, inside the
    bounds, to the same weighted mean as before, because regions differ in size.
    """
    strengths, weights = check_given(strengths, weights, n_classes)
    mean = float(weights @ strengths)
    generator = np.random.default_rng(random_state)
    circle = generator.permutation(len(strengths))
    dealt = np.empty_like(strengths)
    dealt[circle] = strengths[np.roll(circle, 1)]
    return shift_into_box(dealt, weights, mean, n_classes)
