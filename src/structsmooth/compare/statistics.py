"""Paired differences over seeds, with honest intervals, and what they say in words.

Random splits share most of their rows, so the usual standard error of their differences
is too small. C. Nadeau and Y. Bengio ("Inference for the Generalization Error", Machine
Learning 52, 2003) add the ratio of test to training rows to ``1 / n_seeds``. Intervals
hold for all metrics at once (Bonferroni), because the verdict uses them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from structsmooth.metrics.preference import corrected_error

# The metrics that the verdict is based on, as people write them.
NAMES = {"error": "error", "nll": "NLL", "brier": "Brier", "ece": "ECE", "aurc": "AURC"}


@dataclass(frozen=True)
class Difference:
    """How a metric of one method differs from that of another, seed by seed.

    Attributes
    ----------
    metric, method, reference : str
        The difference is the method's value minus the reference's.
    mean, low, high : float
        Mean difference over the seeds, and the interval around it.
    relative : float or None
        Mean difference as a share of the reference's mean; None if that is 0.
    n_lower, n_higher : int
        Number of seeds on which the method was lower, and on which it was higher.
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

    ``test_ratio`` is the number of test rows for each training row if the splits are
    random, 0 if the test set is always the same.
    """
    difference = values - reference_values
    n = len(difference)
    mean, base = float(difference.mean()), float(reference_values.mean())
    if not difference.any():
        half = 0.0
    elif n < 2 or not np.ptp(difference):
        half = float("inf")  # counts may be equal on a few seeds: no evidence
    else:
        quantile = stats.t.ppf(1.0 - (1.0 - confidence) / (2.0 * n_intervals), n - 1)
        half = float(quantile * corrected_error(difference, test_ratio))
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


def describe_pair(differences: Sequence[Difference]) -> str:
    """Return one sentence on a method against a reference, over some metrics."""
    first = differences[0]
    undecided = [NAMES[d.metric] for d in differences if not d.is_decided]
    parts = [f"no clear difference on {_listed(undecided)}"] if undecided else []
    parts += [_describe(d) for d in differences if d.is_decided]
    return f"{first.method} against {first.reference}: {'; '.join(parts)}"


def conclude(
    against_none: Sequence[Difference],
    against_uniform: Sequence[Difference],
    against_shuffled: Sequence[Difference],
    uniform_against_none: Sequence[Difference],
) -> Iterator[str]:
    """Yield the verdict: whether smoothing helps, and whether its place matters."""
    better, worse = _decided(against_none)
    if better and worse:
        yield (
            f"Structural smoothing is a trade here: better on {_listed(better)}, worse "
            f"on {_listed(worse)}."
        )
    elif better:
        yield (
            f"Structural smoothing helps here, on {_listed(better)}, with no clear "
            "harm."
        )
    elif worse:
        yield f"Structural smoothing hurts here, on {_listed(worse)}."
    else:
        yield (
            "Structural smoothing is not shown to help here: "
            f"{against_none[0].n_seeds} seeds show no clear difference from training "
            "without smoothing."
        )
    uniform_better, uniform_worse = _decided(uniform_against_none)
    if uniform_better and not better:
        but = f", worse on {_listed(uniform_worse)}" if uniform_worse else ""
        on = _listed(uniform_better)
        yield f"Uniform smoothing is better than none on {on}{but}."

    better, worse = _decided(against_uniform)
    control_better, _ = _decided(against_shuffled)
    confirmed = [name for name in better if name in control_better]
    if confirmed:
        yield (
            f"Where it smooths matters, on {_listed(confirmed)}: uniform and shuffled "
            "strengths of the same mean do worse."
        )
    elif better:
        yield (
            f"It is better than uniform smoothing on {_listed(better)}, but not shown "
            "to be better there than shuffled strengths."
        )
    if worse:
        yield f"Uniform smoothing of the same mean is better on {_listed(worse)}."
    if not better and not worse:
        yield "It is not shown to differ from uniform smoothing of the same mean."


def _decided(differences: Sequence[Difference]) -> tuple[list[str], list[str]]:
    better = [NAMES[d.metric] for d in differences if d.is_lower]
    worse = [NAMES[d.metric] for d in differences if d.is_higher]
    return better, worse


def _describe(d: Difference) -> str:
    word, count = ("lower", d.n_lower) if d.mean < 0.0 else ("higher", d.n_higher)
    if d.relative is None or abs(d.relative) > 10.0:  # the reference is almost 0
        by = f"{abs(d.mean):.3g}"
    elif abs(d.relative) < 0.005:
        by = "less than 1 %"
    else:
        by = f"{100.0 * abs(d.relative):.0f} %"
    return f"{NAMES[d.metric]} {word} by {by}, {count} of {d.n_seeds} seeds"


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
