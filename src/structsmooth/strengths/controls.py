"""Strengths to compare with: reversed and shuffled.

At equal mean they tell whether it matters *where* labels are smoothed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.strengths.solve import check_given, shift_into_box
from structsmooth.support.deprecation import take_renamed


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
    rng: int | np.random.Generator | None = None,
    random_state: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Return the strengths given to other regions at random, as a control.

    No region keeps its own, unless it is the only one. They are shifted, inside the
    bounds, to the same weighted mean as before, because regions differ in size.

    Parameters
    ----------
    strengths, weights : array-like of shape (n_regions,)
        Strengths and weights of the regions.
    n_classes : int
        Number of classes K.
    rng : int, Generator or None
        Seed, or the generator to draw from.
    random_state : int, Generator or None
        Former name of ``rng``.

        .. deprecated:: 0.2
           Use ``rng``; ``random_state`` will be removed in version 0.4.
    """
    strengths, weights = check_given(strengths, weights, n_classes)
    mean = float(weights @ strengths)
    given = take_renamed("rng", rng, "random_state", random_state, removed_in="0.4")
    generator = np.random.default_rng(given)
    circle = generator.permutation(len(strengths))
    dealt = np.empty_like(strengths)
    dealt[circle] = strengths[np.roll(circle, 1)]
    return shift_into_box(dealt, weights, mean, n_classes)
