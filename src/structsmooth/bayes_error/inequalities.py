"""The formulas behind the bounds: from shares of edges to limits on the Bayes error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri


def trivial_error(class_counts: NDArray[Any]) -> float:
    """Return what always answering with the most frequent class gets wrong.

    No Bayes error at these class shares exceeds it, nor (K-1)/K.
    """
    total = float(class_counts.sum())
    rest = total - float(class_counts.max())
    return min((len(class_counts) - 1) / len(class_counts), rest / total)


def lower_bounds(
    crossing_fractions: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Return the lower bounds on the Bayes error (equation multiclassbound).

    With ``e = 1 - max eta``, ``1 - sum eta^2 <= 2e - e^2 K/(K-1)``; solve for e,
    then take expectations. They saturate at (K-1)/K.
    """
    ceiling = (n_classes - 1) / n_classes
    root = np.sqrt(np.maximum(0.0, 1.0 - crossing_fractions / ceiling))
    bounds: NDArray[np.float64] = ceiling * (1.0 - root)
    return bounds


def fraction_of_bound(lower: float, n_classes: int) -> float:
    """Return the fraction that has this lower bound."""
    ceiling = (n_classes - 1) / n_classes
    return ceiling * (1.0 - (1.0 - lower / ceiling) ** 2)


def wilson_interval(
    fraction: float, n_effective: float, confidence: float
) -> tuple[float, float]:
    """Return Wilson's interval of a proportion: honest at 0, unlike the normal one.

    Without any edge to go by it is everything.
    """
    if n_effective == 0.0:
        return 0.0, 1.0
    z = float(ndtri(0.5 + confidence / 2.0))
    shrink = 1.0 + z**2 / n_effective
    center = (fraction + z**2 / (2.0 * n_effective)) / shrink
    half = (z / shrink) * np.sqrt(
        max(0.0, fraction * (1.0 - fraction)) / n_effective
        + z**2 / (4.0 * n_effective**2)
    )
    return max(0.0, min(fraction, center - half)), max(fraction, center + half)
