"""Correlations over clusters, with intervals."""

from __future__ import annotations

import numpy as np
from scipy import stats


def correlation(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Return Pearson's correlation and its 95 % interval by Fisher's transformation.

    If one of the two is constant, all three values are nan.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if np.ptp(first) == 0.0 or np.ptp(second) == 0.0 or len(first) < 4:
        return (np.nan, np.nan, np.nan)
    found = stats.pearsonr(first, second)
    interval = found.confidence_interval(0.95)
    return float(found.statistic), float(interval.low), float(interval.high)


def shown(found: tuple[float, float, float]) -> str:
    """Return a correlation with its interval, as text."""
    value, low, high = found
    return "none" if np.isnan(value) else f"{value:.2f} ({low:.2f} to {high:.2f})"
