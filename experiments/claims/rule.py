"""One rule for all verdicts, the same for and against a claim.

A claim about methods is a list of paired differences, one for each setting and seed.
Two kinds of 95 % intervals judge it. The *pooled* one is for all settings together: the
differences of a seed are averaged over its settings, because they share data, initial
weights and the reference, and the interval is over seeds; several studies are averaged
with equal weights. Those of *single settings* hold for all settings of the claim at
once (Bonferroni).

A claim is *reproduced* if the pooled interval is on its side of zero and no single
setting is clearly on the other; *not reproduced* if the pooled interval is on the other
side and no single setting is clearly on its side; *mixed* if there are clear
differences on both sides; and otherwise *not decidable at this scale*. Correlations are
judged by their intervals in the same way. Where a claim needs another rule, its text
says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from experiments import tables
from experiments.correlations import shown

# Values of a method and of its reference, seed by seed.
Pair = tuple[np.ndarray, np.ndarray]


class UnfinishedError(Exception):
    """Runs that a verdict needs are missing."""


def verdict_of(pooled: int, signs: Iterable[int]) -> str:
    """Return the verdict on signs: 1 clearly as claimed, -1 clearly not, 0 unclear."""
    found = {pooled, *signs} - {0}
    if found == {1, -1}:
        return "mixed"
    if pooled == 0:
        return "not decidable at this scale"
    return "reproduced" if pooled == 1 else "not reproduced"


def pooled_difference(groups: Sequence[Sequence[Pair]]) -> tuple[float, float, float]:
    """Return the mean difference of all settings and seeds, and its 95 % interval.

    Parameters
    ----------
    groups : sequence of sequences of pairs
        For each study, the pairs of its settings, all with the same seeds.
    """
    by_seed = [np.mean([a - b for a, b in pairs], axis=0) for pairs in groups]
    mean = float(np.mean([values.mean() for values in by_seed]))
    if any(len(values) < 2 for values in by_seed):
        return mean, -np.inf, np.inf
    # Variances of the studies' means; degrees of freedom by Welch and Satterthwaite.
    parts = np.array([values.var(ddof=1) / len(values) for values in by_seed])
    freedom = np.array([len(values) - 1 for values in by_seed])
    total = parts.sum()
    if total == 0.0:  # counts may be equal on a few seeds: no evidence
        half = 0.0 if mean == 0.0 else np.inf
        return mean, mean - half, mean + half
    quantile = stats.t.ppf(0.975, total**2 / (parts**2 / freedom).sum())
    half = float(quantile * np.sqrt(total) / len(by_seed))
    return mean, mean - half, mean + half


def lower_than(*groups: Sequence[Pair], digits: int = 2) -> tuple[str, str]:
    """Return words and verdict for values that should be below their references."""
    return _compared(groups, digits, claimed=-1)


def higher_than(*groups: Sequence[Pair], digits: int = 2) -> tuple[str, str]:
    """Return words and verdict for values that should be above their references."""
    return _compared(groups, digits, claimed=1)


def _compared(groups, digits: int, claimed: int) -> tuple[str, str]:
    pairs = [pair for group in groups for pair in group]
    # 1 where the values are clearly higher than their references.
    signs = [-tables.sign(*pair, n_intervals=len(pairs)) for pair in pairs]
    found = pooled_difference(groups)
    verdict = verdict_of(claimed * _sign(found), [claimed * sign for sign in signs])
    mean, low, high = (f"{value:+.{digits}f}" for value in found)
    words = f"{mean} ({low} to {high})"
    if len(pairs) == 1:
        return words, verdict
    means = [float((values - reference).mean()) for values, reference in pairs]
    return (
        f"{words} together; {min(means):+.{digits}f} to {max(means):+.{digits}f} over "
        f"{len(pairs)} settings, clearly lower in {signs.count(-1)}, clearly higher in "
        f"{signs.count(1)}",
        verdict,
    )


def _sign(found: Sequence[float]) -> int:
    """Return the sign of a mean, given with its interval, or 0 if it is not clear."""
    _, low, high = found
    return 1 if low > 0 else -1 if high < 0 else 0


def lowest(pairs: Sequence[Pair]) -> tuple[str, str]:
    """Return words and verdict for the lowest values over the seeds.

    These have no intervals, so they must all be lower, or all be higher.
    """
    n_lower = sum(ours.min() < theirs.min() for ours, theirs in pairs)
    n_higher = sum(ours.min() > theirs.min() for ours, theirs in pairs)
    verdict = "not decidable at this scale"
    if n_lower == len(pairs):
        verdict = "reproduced"
    elif n_higher == len(pairs):
        verdict = "not reproduced"
    return f"lower in {n_lower} of {len(pairs)}, higher in {n_higher}", verdict


def correlated(values: dict[str, tuple[float, float, float]]) -> tuple[str, str]:
    """Return words and verdict for correlations that should be above zero.

    They are pooled by the mean of Fisher's transformation, in which the intervals of
    the single correlations are symmetric.
    """
    found = np.array(list(values.values()))
    with np.errstate(divide="ignore", invalid="ignore"):
        places, lows, highs = np.arctanh(found).T
    half = np.sqrt((((highs - lows) / 2) ** 2).sum()) / len(found)
    pooled = np.tanh(places.mean() + half * np.array([0.0, -1.0, 1.0]))
    words = ", ".join(f"{name} {shown(value)}" for name, value in values.items())
    if len(values) > 1:
        words = f"{shown(tuple(pooled))} together; {words}"
    signs = [_sign(value) for value in values.values()]
    return words, verdict_of(_sign(pooled), signs)
