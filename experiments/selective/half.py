"""Why half: how overconfident a learner is where the classes overlap.

A learner that averages the labels of m neighbors fits its training labels, and is
overconfident on new rows because its few labels agree more often than the classes do.
For two classes that overlap with a Bayes error of R its overconfidence is 2R(1-R) for
m = 1, R(1-R) for m = 2 and 4R^2(1-R)^2 for m = 3; docs/selective.md derives it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, t

from experiments.selective.arms import SHARES
from experiments.selective.finished import Finished


def doubt_and_error(n_neighbors: int, bayes_error: float) -> tuple[float, float]:
    """Return 1 - mean confidence, and the error, of a vote among m neighbors.

    The labels of the neighbors and of the new row are drawn independently from two
    classes, the less likely of which has the Bayes error as its probability. Ties of
    the vote are broken by a coin.
    """
    votes = np.arange(n_neighbors + 1)
    chances = binom.pmf(votes, n_neighbors, 1.0 - bayes_error)
    confidence = chances @ np.maximum(votes, n_neighbors - votes) / n_neighbors
    wins = (votes * 2 > n_neighbors) + 0.5 * (votes * 2 == n_neighbors)
    right = float(chances @ wins)
    error = right * bayes_error + (1.0 - right) * (1.0 - bayes_error)
    return float(1.0 - confidence), error


@dataclass(frozen=True)
class Slopes:
    """Slopes over the Bayes errors of the clusters, one for each seed.

    Attributes
    ----------
    overconfidence, error, doubt : ndarray of shape (S,)
        Of confidence minus accuracy, of the error, and of 1 - confidence; the first is
        the second minus the third.
    needed : ndarray of shape (S,)
        Of the strength at which the mean confidence would be the accuracy, if smoothing
        moved predictions as it moves labels.
    """

    overconfidence: np.ndarray
    error: np.ndarray
    doubt: np.ndarray
    needed: np.ndarray


def slopes_of(finished: Finished, name: str, learner: str, seeds: list[int]) -> Slopes:
    """Return slopes through zero, by least squares weighted with the test rows."""
    found = []
    for run in finished.runs(name, learner, seeds):
        clusters = {k: np.array(v, dtype=float) for k, v in run["clusters"].items()}
        bayes_error, n = clusters["bayes_error"], clusters["test_rows"]
        error, doubt = clusters["error"], 1.0 - clusters["confidence"]
        n_classes = run["n_classes"]
        room = (n_classes * (1.0 - doubt) - 1.0) / (n_classes - 1)
        needed = (error - doubt) / np.maximum(room, 0.05)
        base = n @ bayes_error**2
        found.append(
            [
                (n * bayes_error) @ values / base if base > 0 else np.nan
                for values in (error - doubt, error, doubt, needed)
            ]
        )
    return Slopes(*np.array(found).T)


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean over the seeds with its 95 % interval (Student's t)."""
    values = values[np.isfinite(values)]
    mean, n = float(values.mean()), len(values)
    half = float(t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def calibration_curve(
    finished: Finished, name: str, learner: str, seeds: list[int], metric: str = "ece"
) -> tuple[np.ndarray, np.ndarray]:
    """Return shares of R, 0 first, and a metric of the proportional arm at each."""
    arms = {"none": 0.0, **SHARES}
    values = [finished.values(name, learner, arm, metric, seeds).mean() for arm in arms]
    return np.array(list(arms.values())), np.array(values)
