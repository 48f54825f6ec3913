"""Tables in Markdown, with paired differences and their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structsmooth.compare.statistics import paired_difference

NOTE = (
    "Mean over the seeds ± standard deviation. Differences are paired by seed, with "
    "95 % intervals (Student's t) that are not adjusted for their number: one interval "
    "in twenty misses by chance."
)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def number(value: float | None) -> str:
    """Return a setting as text, or an empty string for None."""
    return "" if value is None else f"{value:g}"


def mean_and_spread(values: np.ndarray, digits: int = 2) -> str:
    """Return mean ± standard deviation."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"


def _paired(
    values: np.ndarray,
    reference: np.ndarray,
    n_intervals: int = 1,
    test_ratio: float = 0.0,
):
    return paired_difference(
        "",
        "",
        "",
        values,
        reference,
        confidence=0.95,
        n_intervals=n_intervals,
        test_ratio=test_ratio,
    )


def difference(
    values: np.ndarray,
    reference: np.ndarray,
    digits: int = 2,
    test_ratio: float = 0.0,
) -> str:
    """Return the mean paired difference, with its interval unless there is one pair."""
    if len(values) == 1:
        return f"{values[0] - reference[0]:+.{digits}f}"
    found = _paired(values, reference, test_ratio=test_ratio)
    low, high = (f"{end:+.{digits}f}" for end in (found.low, found.high))
    return f"{found.mean:+.{digits}f} ({low} to {high})"


def sign(
    values: np.ndarray,
    reference: np.ndarray,
    n_intervals: int = 1,
    test_ratio: float = 0.0,
) -> int:
    """Return 1 if the values are clearly lower than the reference, -1 if higher.

    With several intervals, these hold simultaneously.
    """
    if len(values) == 1:
        return 0
    found = _paired(values, reference, n_intervals, test_ratio)
    return 1 if found.is_lower else -1 if found.is_higher else 0
