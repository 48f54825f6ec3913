"""Which of several ways to train is preferred, by losses over folds or splits.

The first way is the reference, because it costs nothing. Another is left out if it does
harm: if in a guarded loss it is more than one standard error behind the reference. Of
the rest, the first within one standard error of the lowest mean loss is preferred, so
that their order is an order of preference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# What must not be the price of a better likelihood. AURC grows with the errors, and
# with their confidence, so one number guards both.
GUARDED = ("aurc",)


@dataclass(frozen=True, eq=False)
class Preference:
    """What is preferred, and why.

    Attributes
    ----------
    index : int
        The way that is preferred.
    best : int
        The way with the lowest mean loss of those that do no harm.
    errors : ndarray of shape (ways,)
        Standard errors of the differences from the loss of the best.
    harms : list of list of str
        For each way, the guarded losses for which it is left out.
    """

    index: int
    best: int
    errors: NDArray[np.float64]
    harms: list[list[str]]


def preferred(
    losses: NDArray[np.float64],
    test_ratio: float,
    guarded: Mapping[str, NDArray[np.float64]],
) -> Preference:
    """Return the first way that does no harm and is about as good as the best.

    Parameters
    ----------
    losses : ndarray of shape (ways, folds)
        Lower is better.
    test_ratio : float
        Number of held-out rows for each training row of a fold.
    guarded : mapping of str to ndarray of shape (ways, folds)
        Other losses, by name.
    """
    harms: list[list[str]] = [[] for _ in losses]
    for name, values in guarded.items():
        behind = values - values[0]
        for way in np.flatnonzero(behind.mean(axis=1) > _errors(behind, test_ratio)):
            harms[way].append(name)
    means = np.where([not names for names in harms], losses.mean(axis=1), np.inf)
    best = int(means.argmin())
    errors = _errors(losses - losses[best], test_ratio)
    index = int(np.argmax(means - means[best] <= errors))
    return Preference(index, best, errors, harms)


def corrected_error(difference: NDArray[np.float64], test_ratio: float) -> float:
    """Return the standard error of a mean difference over splits that share rows.

    They have most of their training rows in common, so differences vary less between
    them than between independent samples.
    """
    (error,) = _errors(difference[np.newaxis], test_ratio)
    return float(error)


def _errors(differences: NDArray[np.float64], test_ratio: float) -> NDArray[np.float64]:
    n_splits = differences.shape[1]
    if n_splits < 2:
        return np.zeros(len(differences))
    spread = differences.std(axis=1, ddof=1)
    return np.asarray(spread * np.sqrt(1.0 / n_splits + test_ratio))
