"""One rule for all verdicts.

A claim about methods is a list of paired differences, one for each setting, with 95 %
intervals over seeds that hold for all settings of the claim at once (Bonferroni). It is
*reproduced* if at least half of them are clearly as claimed (the interval excludes
zero) and none is clearly opposite; *not reproduced* if more are clearly against the
claim than for it; and otherwise *not decidable at this scale*. Correlations are judged
by their intervals in the same way. Where a claim needs another rule, its text says so.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from experiments import tables
from experiments.correlations import shown

Pair = tuple[np.ndarray, np.ndarray]


class UnfinishedError(Exception):
    """Runs that a verdict needs are missing."""


def verdict_of(signs: Iterable[int]) -> str:
    """Return the verdict on signs: 1 clearly as claimed, -1 clearly not, 0 unclear."""
    found = list(signs)
    n_for, n_against = found.count(1), found.count(-1)
    if n_against == 0 and 2 * n_for >= len(found) and n_for:
        return "reproduced"
    if n_against > n_for:
        return "not reproduced"
    return "not decidable at this scale"


def lower_than(pairs: list[Pair], digits: int = 2) -> tuple[str, str]:
    """Return words and verdict for values that should be below their references."""
    signs = [tables.sign(*pair, n_intervals=len(pairs)) for pair in pairs]
    means = [float((values - reference).mean()) for values, reference in pairs]
    if len(pairs) == 1:
        return tables.difference(*pairs[0], digits), verdict_of(signs)
    ends = f"{min(means):+.{digits}f} to {max(means):+.{digits}f}"
    return (
        f"{ends} over {len(pairs)} settings; clearly lower in {signs.count(1)}, "
        f"clearly higher in {signs.count(-1)}",
        verdict_of(signs),
    )


def correlated(values: dict[str, tuple[float, float, float]]) -> tuple[str, str]:
    """Return words and verdict for correlations that should be above zero."""
    signs = [
        1 if low > 0 else -1 if high < 0 else 0 for _, low, high in values.values()
    ]
    words = ", ".join(f"{name} {shown(value)}" for name, value in values.items())
    return words, verdict_of(signs)


def higher_than(pairs: list[Pair]) -> tuple[str, str]:
    """Return words and verdict for values that should be above their references."""
    signs = [-tables.sign(*pair, n_intervals=len(pairs)) for pair in pairs]
    return lower_than(pairs)[0], verdict_of(signs)
