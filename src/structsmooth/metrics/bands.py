"""Risk-coverage curves with intervals, over seeds or over resampled test samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from structsmooth.metrics.inputs import sums_of_lowest
from structsmooth.metrics.selective import area_under_risk_coverage, ranked_errors
from structsmooth.support.validation import check_share

# A dozen of them are beyond each end of a 95 % interval.
N_RESAMPLES = 500


@dataclass(frozen=True, eq=False)
class RiskBand:
    """Mean risk at each coverage, its interval, and the mean area."""

    n_samples: int  # of the smallest run
    risk: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    aurc: float


def risk_band(
    runs: Sequence[Sequence[Any]],
    coverage: NDArray[np.float64],
    *,
    level: float = 0.95,
    labels: ArrayLike | None = None,
) -> RiskBand:
    """Return the risk at some coverages, with an interval at each of them.

    Each run has the arguments of `risk_coverage_curve`: y, probabilities, and perhaps
    confidence. Of several runs, the interval is Student's for the mean. Of one, it
    has percentiles of the risk over resampled test samples (the bootstrap), drawn with
    the same seed every time; but it is at least Wilson's interval for the errors among
    those predicted, because no error is ever resampled from none.
    """
    level = check_share(level, "level")
    ranked = [ranked_errors(*run, labels=labels) for run in runs]
    curves = np.array([risks_at(coverage, *run) for run in ranked])
    risk = curves.mean(axis=0)
    if len(ranked) > 1:
        quantile = stdtrit(len(ranked) - 1, (1.0 + level) / 2.0)
        half = quantile * curves.std(axis=0, ddof=1) / np.sqrt(len(ranked))
        low, high = risk - half, risk + half
    else:
        tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
        low, high = np.quantile(_resampled(coverage, *ranked[0]), tails, axis=0)
        count = _count_at(coverage, len(ranked[0][0]))
        at_least = _wilson_interval(risk, count, float(ndtri(tails[1])))
        low, high = np.minimum(low, at_least[0]), np.maximum(high, at_least[1])
    low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    areas = [area_under_risk_coverage(*run, labels=labels) for run in runs]
    n_samples = min(len(wrong) for _, wrong in ranked)
    return RiskBand(n_samples, risk, low, high, float(np.mean(areas)))


def risks_at(
    coverage: NDArray[np.float64], keys: NDArray[Any], wrong: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the risk at each coverage; below one sample, that of the first."""
    count = _count_at(coverage, len(keys))
    return sums_of_lowest(keys, wrong, count) / count


def _count_at(coverage: NDArray[np.float64], n_samples: int) -> NDArray[np.float64]:
    return np.maximum(coverage * n_samples, 1.0)


def _wilson_interval(
    share: NDArray[np.float64], count: NDArray[np.float64], quantile: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Wilson's score interval of a binomial share."""
    squared = quantile**2 / count
    center = share + squared / 2.0
    half = quantile * np.sqrt((share * (1.0 - share) + squared / 4.0) / count)
    return (center - half) / (1.0 + squared), (center + half) / (1.0 + squared)


def _resampled(
    coverage: NDArray[np.float64], keys: NDArray[Any], wrong: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the risk at each coverage in each of the resampled test sets."""
    generator = np.random.default_rng(0)
    risks = np.empty((N_RESAMPLES, len(coverage)))
    for number in range(N_RESAMPLES):
        rows = generator.integers(0, len(keys), len(keys))
        risks[number] = risks_at(coverage, keys[rows], wrong[rows])
    return risks
