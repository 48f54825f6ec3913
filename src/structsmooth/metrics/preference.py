"""Which of several ways to train is preferred, by losses over folds or splits.

The first way is the reference, because it costs nothing. Another is left out if it does
harm: if its guarded loss is more than one standard error above the reference's. Of
the rest, the first within one standard error of the lowest mean loss is preferred, so
that their order is an order of preference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
    does_harm : ndarray of shape (ways,)
        Which ways are left out.
    """

    index: int
    best: int
    errors: NDArray[np.float64]
    does_harm: NDArray[np.bool_]


def preferred(
    losses: NDArray[np.float64],
    test_ratio: float,
    guarded: NDArray[np.float64] | None = None,
) -> Preference:
    """Return the first way that does no harm and is about as good as the best.

    Parameters
    ----------
    losses : ndarray of shape (ways, folds)
        Lower is better.
    test_ratio : float
        Number of held-out rows for each training row of a fold.
    guarded : ndarray of shape (ways, folds), optional
        Another loss, which must not be the price. AURC grows with the errors and with
        the confidence in them, so that it guards both.
    """
    does_harm = np.zeros(len(losses), dtype=bool)
    if guarded is not None:
        behind = guarded - guarded[0]
        does_harm = behind.mean(axis=1) > _errors(behind, test_ratio)
    means = np.where(does_harm, np.inf, losses.mean(axis=1))
    best = int(means.argmin())
    errors = _errors(losses - losses[best], test_ratio)
    index = int(np.argmax(means - means[best] <= errors))
    return Preference(index, best, errors, does_harm)


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
