"""Paired differences over seeds, with intervals that do not flatter.

Random splits of the same data share most of their rows, so their differences are not
independent and the usual standard error is too small. Nadeau and Bengio's correction
[1]_ adds the ratio of test to training rows to ``1 / n_seeds``. Intervals hold for all
metrics of a comparison at once (Bonferroni), since a verdict looks at all of them.

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
        Of all metrics, lower is better.
    method, reference : str
        The difference is the method's value minus the reference's.
    mean : float
        Mean difference over the seeds.
    low, high : float
        Interval around it.
    relative : float or None
        Mean difference as a share of the reference's mean; None if that is 0.
    n_lower, n_higher : int
        Seeds on which the method was lower, and higher.
    n_seeds : int
        All seeds.
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
    """Return the difference of two methods on one metric.

    Parameters
    ----------
    metric, method, reference : str
        Names.
    values, reference_values : ndarray of shape (n_seeds,)
        The metric of each, by seed.
    confidence : float
        That all ``n_intervals`` intervals hold.
    n_intervals : int
        Number of intervals that are looked at together.
    test_ratio : float
        Test rows for each training row if the splits are random, 0 if the test set is
        always the same.
    """
    difference = values - reference_values
    n = len(difference)
    mean = float(difference.mean())
    if not difference.any():
        half = 0.0
    elif not np.ptp(difference):
        half = float("inf")  # the same on few seeds, as counts may be: no evidence
    else:
        quantile = stats.t.ppf(1.0 - (1.0 - confidence) / (2.0 * n_intervals), n - 1)
        error = difference.std(ddof=1) * np.sqrt(1.0 / n + test_ratio)
        half = float(quantile * error)
    base = float(reference_values.mean())
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
