"""Paired differences over seeds, with intervals that are not too narrow.

Random splits of the same data share most of their rows, so their differences are not
independent and the usual standard error is too small. The correction of Nadeau and
Bengio [1]_ adds the ratio of test to training rows to ``1 / n_seeds``. Intervals hold
for all metrics of a comparison at once (Bonferroni), because the verdict uses them all.

.. [1] C. Nadeau and Y. Bengio, "Inference for the Generalization Error", Machine
   Learning 52 (2003).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats


@dataclass(frozen=True)
class Difference:
    """How a metric of one method differs from that of another, seed by seed.

    Attributes
    ----------
    metric : str
        The metric; lower is better for all metrics.
    method, reference : str
        The difference is the method's value minus the reference's.
    mean, low, high : float
        Mean difference over the seeds, and the interval around it.
    relative : float or None
        Mean difference as a share of the reference's mean; None if that is 0.
    n_lower, n_higher, n_seeds : int
        Seeds on which the method was lower, on which it was higher, and all seeds.
    """

    metric: str
    method: str
    reference: str
    mean: float
    low: float
    high: float
    relative: float | None
    n_lower: int
    n_higher: int
    n_seeds: int

    @property
    def is_lower(self) -> bool:
        """Whether the whole interval is below 0: the method is better."""
        return self.high < 0.0

    @property
    def is_higher(self) -> bool:
        """Whether the whole interval is above 0: the method is worse."""
        return self.low > 0.0

    @property
    def is_decided(self) -> bool:
        """Whether the method is better or worse: the interval does not contain 0."""
        return self.is_lower or self.is_higher


def paired_difference(
    metric: str,
    method: str,
    reference: str,
    values: NDArray[np.float64],
    reference_values: NDArray[np.float64],
    *,
    confidence: float,
    n_intervals: int,
    test_ratio: float,
) -> Difference:
    """Return the difference of two methods on one metric, given its values by seed.

    All ``n_intervals`` intervals hold together with the given confidence.
    ``test_ratio`` is the number of test rows for each training row if the splits are
    random, 0 if the test set is always the same.
    """
    difference = values - reference_values
    n = len(difference)
    mean, base = float(difference.mean()), float(reference_values.mean())
    if not difference.any():
        half = 0.0
    elif not np.ptp(difference):
        half = float("inf")  # counts may be equal on a few seeds: no evidence
    else:
        quantile = stats.t.ppf(1.0 - (1.0 - confidence) / (2.0 * n_intervals), n - 1)
        error = difference.std(ddof=1) * np.sqrt(1.0 / n + test_ratio)
        half = float(quantile * error)
    return Difference(
        metric=metric,
        method=method,
        reference=reference,
        mean=mean,
        low=mean - half,
        high=mean + half,
        relative=mean / base if base != 0.0 else None,
        n_lower=int((difference < 0.0).sum()),
        n_higher=int((difference > 0.0).sum()),
        n_seeds=n,
    )
