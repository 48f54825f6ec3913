"""Differences between regions, as far as they are more than chance.

The crossing fraction of a small region is noisy, and strengths that follow noise do
harm. Each fraction is drawn toward that of the whole by the share of its variance that
is sampling error (empirical Bayes, with the moment estimator of DerSimonian and Laird
[1]_ for the variance between regions). If all regions may well have the same fraction,
they get it, and smoothing becomes uniform by itself.

A region of few rows that may well be like the others gets the mean of the others,
shrunk or not, and does not count in it. So no handful of rows has the largest strength
by chance.

.. [1] R. DerSimonian and N. Laird, "Meta-analysis in clinical trials", Controlled
   Clinical Trials 7 (1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.inequalities import lower_bounds
from structsmooth.errors import InvalidInputError

# Regions that differ no more than equal ones would in 95 of 100 cases are held equal.
SIGNIFICANCE = 0.05
# A region with fewer rows has to be clearly different to count.
FEW_ROWS = 30


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Estimates of several regions, drawn together.

    Attributes
    ----------
    bayes_error : ndarray of shape (C,)
        Lower bound on the Bayes error of each region, from its drawn-in fraction.
    factors : ndarray of shape (C,)
        Share of a region's distance to the whole that is kept: 1 is its own estimate,
        0 the whole's.
    center : float
        Crossing fraction that all are drawn to.
    spread : float
        Standard deviation of the true fractions between regions; 0 if the differences
        may be chance.
    p_value : float
        How often regions with equal fractions would differ as much.
    """

    bayes_error: NDArray[np.float64]
    factors: NDArray[np.float64]
    center: float
    spread: float
    p_value: float


def shrink_bounds(regions: Sequence[BayesErrorBounds]) -> Shrinkage:
    """Draw the estimates of regions together as far as their differences are noise.

    With the whole's fraction ``m``, a region's fraction ``f`` and its sampling
    variance ``v = m (1 - m) / n_effective``, the new fraction is ``m + t / (t + v) (f -
    m)``, where ``t`` is the variance between regions. The sampling variance is taken
    at the whole's fraction, because a region's own would make those with few crossings
    look certain. A region with fewer than 30 rows whose interval holds the mean Bayes
    error keeps nothing of its own, as long as most rows are in larger regions.
    """
    if not regions:
        raise InvalidInputError("shrink_bounds needs at least one region, got none")
    fractions = np.array([region.crossing_fraction for region in regions])
    effective = np.array([region.n_effective for region in regions])
    counts = which_count(regions) & (effective > 0.0)
    center = 0.0
    if counts.any():
        center = float(effective[counts] @ fractions[counts] / effective[counts].sum())
    center = min(center, 1.0)
    noise = np.full(len(regions), np.inf)
    noise[counts] = center * (1.0 - center) / effective[counts]
    spread, p_value = _between(fractions[counts], noise[counts], center)
    factors = spread**2 / (spread**2 + noise) if spread > 0.0 else np.zeros(len(noise))
    drawn = center + factors * (fractions - center)
    n_classes = regions[0].n_classes
    # What a region's own classes allow, unless it was drawn up beyond.
    common = lower_bounds(np.array([center]), n_classes)
    limits = np.maximum([region.trivial_error for region in regions], common)
    return Shrinkage(
        bayes_error=np.minimum(lower_bounds(drawn, n_classes), limits),
        factors=factors,
        center=center,
        spread=spread,
        p_value=p_value,
    )


def which_count(regions: Sequence[BayesErrorBounds]) -> NDArray[np.bool_]:
    """Return which regions are large, or clearly different from the mean.

    All of them count if most rows are in small regions.
    """
    sizes = np.array([region.n_samples for region in regions], dtype=np.float64)
    large = sizes >= FEW_ROWS
    if sizes[large].sum() < 0.5 * sizes.sum():
        return np.ones(len(regions), dtype=bool)
    mean = float(sizes @ [region.lower for region in regions] / sizes.sum())
    low, high = np.array([region.interval for region in regions]).T
    counts: NDArray[np.bool_] = large | (mean < low) | (mean > high)
    return counts


def lower_bounds_that_count(
    regions: Sequence[BayesErrorBounds],
) -> NDArray[np.float64]:
    """Return the regions' lower bounds; where they do not count, the others' mean."""
    lower = np.array([region.lower for region in regions])
    counts = which_count(regions)
    sizes = np.array([region.n_samples for region in regions], dtype=np.float64)
    lower[~counts] = sizes[counts] @ lower[counts] / sizes[counts].sum()
    return lower


def _between(
    fractions: NDArray[np.float64], noise: NDArray[np.float64], center: float
) -> tuple[float, float]:
    """Return the deviation between regions beyond noise, and the p-value of none."""
    n_free = len(fractions) - 1
    if n_free <= 0 or not noise.all():
        return 0.0, 1.0
    precision = 1.0 / noise
    differences = float(precision @ (fractions - center) ** 2)
    p_value = float(chi2.sf(differences, n_free))
    if p_value > SIGNIFICANCE:
        return 0.0, p_value
    scale = precision.sum() - (precision @ precision) / precision.sum()
    return float(np.sqrt((differences - n_free) / scale)), p_value
