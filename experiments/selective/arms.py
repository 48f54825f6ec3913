"""The arms of the study: what each trains on, and which uniform arm it is held against.

R is the mean Bayes error that the trees of the clusters estimate. An arm whose mean
strength is a share of R is *proportional* if the strength of a cluster (or a sample) is
the same share of its own Bayes error, so that clean regions are not smoothed at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from experiments.selective.competitors import distilled_labels, neighbor_labels
from structsmooth import (
    StructuralSmoother,
    alpha_from_epsilon,
    decide,
    reversed_strengths,
    shuffled_strengths,
    smooth_labels,
    solve_strengths,
)
from structsmooth.labels.spread import spread_of
from structsmooth.strengths.solve import strength_cap

SHARES = {"R/8": 0.125, "R/4": 0.25, "R/2": 0.5, "3R/4": 0.75, "R": 1.0}
FLOORS = (0.25, 0.5, 0.75)


class Measured:
    """What is known of a training set before the arms train.

    Parameters
    ----------
    X, y : ndarray
        The training rows.
    n_classes : int
        Number of classes.
    outputs : ndarray of shape (n, K)
        Out-of-fold probabilities of the learner itself, trained without smoothing.
    options : dict
        Settings of the smoother.
    """

    def __init__(self, X, y, n_classes: int, outputs, options: dict, seed: int):
        self.X, self.y, self.n_classes = X, y, n_classes
        self.outputs, self.options, self.seed = outputs, options, seed
        self.hard = np.eye(n_classes)[y]

    def _fit(self, X, options: dict) -> StructuralSmoother:
        smoother = StructuralSmoother(
            regions="point", random_state=self.seed, n_jobs=1, **options
        )
        return smoother.fit(X, self.y)

    @cached_property
    def smoother(self) -> StructuralSmoother:
        """The structure of the features."""
        return self._fit(self.X, self.options)

    @cached_property
    def first_model(self) -> StructuralSmoother:
        """The structure of the out-of-fold outputs."""
        # Trees and clipped probabilities give many rows the same outputs.
        logs = np.log(np.clip(self.outputs, 1e-7, None))
        return self._fit(logs, {"reducer": "none", "ties": "average"})

    @cached_property
    def bayes_error(self) -> float:
        """R, the mean of the clusters."""
        return decide(self.smoother.structure_, alpha="auto").alpha

    @cached_property
    def overconfidence(self) -> float:
        """Mean confidence minus accuracy, out of fold, but not less than 0."""
        accuracy = (self.outputs.argmax(axis=1) == self.y).mean()
        gap = float(self.outputs.max(axis=1).mean() - accuracy)
        return float(np.clip(gap, 0.0, 0.5 * strength_cap(self.n_classes)))

    @property
    def limit(self) -> float:
        """The usual ``label_smoothing=0.1`` as a strength."""
        return alpha_from_epsilon(0.1, self.n_classes)

    def mean(self, name: str) -> float:
        """Return a mean strength by its name, such as "R/2" or "R/2 capped"."""
        if name == "overconfidence":
            return self.overconfidence
        if name == "smaller":
            return min(self.overconfidence, self.mean("R/2"))
        share, _, capped = name.partition(" ")
        mean = min(SHARES[share] * self.bayes_error, strength_cap(self.n_classes))
        return min(mean, self.limit) if capped else mean

    def even(self, strengths) -> np.ndarray:
        """Return soft labels whose mass is spread evenly."""
        strengths = np.broadcast_to(strengths, self.y.shape)
        return smooth_labels(self.y, strengths, self.n_classes)


@dataclass(frozen=True)
class Place:
    """In what strengths are proportional: clusters or samples, features or outputs."""

    by_sample: bool = False
    of_first_model: bool = False

    def decision(self, measured: Measured):
        """Return the structure of these regions, and a decision to take R_c from."""
        smoother = measured.first_model if self.of_first_model else measured.smoother
        structure = smoother.structure_
        if not self.by_sample:
            structure = replace(structure, points=None)
        regions = "point" if self.by_sample else "cluster"
        return structure, decide(structure, regions=regions)

    def strengths(self, measured: Measured, mean: str, change=None) -> np.ndarray:
        """Return the strength of each row, proportional to its region's Bayes error."""
        structure, decision = self.decision(measured)
        where = decision.bayes_error, decision.weights
        found = proportional(*where, measured.mean(mean), measured.n_classes)
        if change is not None:
            found = change(measured, found, decision.weights)
        return found[decision.region_labels(structure)]


def proportional(bayes_error, weights, mean: float, n_classes: int) -> np.ndarray:
    """Return strengths in proportion to Bayes errors, uniform if those are all 0."""
    total = float(weights @ bayes_error)
    beta = 2.0 * (n_classes - 1) / n_classes * mean / total if total > 0 else 0.0
    return solve_strengths(bayes_error, weights, mean, beta, n_classes=n_classes)


CLUSTERS, SAMPLES = Place(), Place(by_sample=True)
OUTER_CLUSTERS = Place(of_first_model=True)
OUTER_SAMPLES = Place(by_sample=True, of_first_model=True)


@dataclass(frozen=True)
class Arm:
    """One way to train.

    Attributes
    ----------
    labels : function
        From what was measured to soft labels of shape (n, K).
    uniform : str or None
        The arm of uniform smoothing with the same mean strength.
    is_candidate : bool
        Whether it could be a default: `StructuralSmoother.fit` can compute it, without
        a first model and without a constant that a user has to choose.
    for_trees : bool
        Whether LightGBM, where each arm costs as much as the first, trains it too.
    loss : str
        For perceptrons, and only for them unless it is the cross-entropy.
    """

    labels: Callable[[Measured], np.ndarray]
    uniform: str | None = None
    is_candidate: bool = False
    for_trees: bool = False
    loss: str = "cross_entropy"


def uniform(mean: str) -> Callable[[Measured], np.ndarray]:
    """Return the labels of uniform smoothing."""
    return lambda measured: measured.even(measured.mean(mean))


def follow(place: Place, mean: str, change=None) -> Callable[[Measured], np.ndarray]:
    """Return the labels of strengths proportional to Bayes errors."""
    return lambda measured: measured.even(place.strengths(measured, mean, change))


def overlap(place: Place, mean: str) -> Callable[[Measured], np.ndarray]:
    """Return the same, with the mass on the classes that overlap there."""

    def labels(measured: Measured) -> np.ndarray:
        structure, _ = place.decision(measured)
        spread = spread_of(structure, measured.y, structure.training)
        strengths = place.strengths(measured, mean)
        return smooth_labels(measured.y, strengths, measured.n_classes, spread)

    return labels


def default(beta: str) -> Callable[[Measured], np.ndarray]:
    """Return the labels of the library's mean, with half or all of the slope."""

    def labels(measured: Measured) -> np.ndarray:
        structure = measured.smoother.structure_
        decision = decide(structure, alpha="cautious", beta=beta)
        return measured.even(decision.of_samples(structure))

    return labels


def with_floor(floor: float) -> Callable[[Measured], np.ndarray]:
    """Return the labels of R/2 where a share of the mean is the same everywhere."""

    def labels(measured: Measured) -> np.ndarray:
        rest = CLUSTERS.strengths(measured, "R/2")
        return measured.even(floor * measured.mean("R/2") + (1.0 - floor) * rest)

    return labels


def _shuffled(measured: Measured, strengths, weights) -> np.ndarray:
    return shuffled_strengths(
        strengths, weights, n_classes=measured.n_classes, rng=measured.seed
    )


def _reversed(measured: Measured, strengths, weights) -> np.ndarray:
    return reversed_strengths(strengths, weights, n_classes=measured.n_classes)


def _hard(measured: Measured) -> np.ndarray:
    return measured.hard


def _distilled(measured: Measured) -> np.ndarray:
    return distilled_labels(measured.hard, measured.outputs)


def _neighbors(measured: Measured) -> np.ndarray:
    features = measured.smoother.structure_.points.features
    return neighbor_labels(features, measured.hard, measured.mean("R/2"))


CAPPED = "R/2 capped", "R/4 capped", "R capped"
HALF = "uniform R/2"
NONE, DEFAULT = "none", "default"
ARMS = {
    NONE: Arm(_hard, for_trees=True),
    **{
        f"uniform {mean}": Arm(
            uniform(mean), is_candidate=True, for_trees=mean in ("R/4", "R/2", "R")
        )
        for mean in (*SHARES, *CAPPED)
    },
    "uniform overconfidence": Arm(uniform("overconfidence")),
    "uniform smaller": Arm(uniform("smaller")),
    DEFAULT: Arm(default("cautious"), "uniform R capped", True, True),
    "whole slope": Arm(default("auto"), "uniform R capped", True),
    **{
        mean: Arm(follow(CLUSTERS, mean), f"uniform {mean}", True, mean in SHARES)
        for mean in (*SHARES, *CAPPED)
    },
    "overconfidence": Arm(
        follow(CLUSTERS, "overconfidence"), "uniform overconfidence", for_trees=True
    ),
    "smaller": Arm(follow(CLUSTERS, "smaller"), "uniform smaller", for_trees=True),
    "R/2 by sample": Arm(follow(SAMPLES, "R/2"), HALF, True, True),
    "R/2 out of fold": Arm(follow(OUTER_CLUSTERS, "R/2"), HALF),
    "R/2 out of fold by sample": Arm(follow(OUTER_SAMPLES, "R/2"), HALF),
    "R/2 overlap": Arm(overlap(CLUSTERS, "R/2"), HALF, True, True),
    "R/2 overlap by sample": Arm(overlap(SAMPLES, "R/2"), HALF, True),
    "R/2 overlap out of fold by sample": Arm(overlap(OUTER_SAMPLES, "R/2"), HALF),
    "R/2 shuffled": Arm(follow(CLUSTERS, "R/2", _shuffled), HALF),
    "R/2 reversed": Arm(follow(CLUSTERS, "R/2", _reversed), HALF),
    **{f"R/2 floor {f:.0%}": Arm(with_floor(f), HALF) for f in FLOORS},
    "distillation": Arm(_distilled, for_trees=True),
    "neighbors": Arm(_neighbors, HALF, for_trees=True),
    "margin": Arm(_hard, loss="margin"),
    "relaxation": Arm(_hard, loss="relaxation"),
    "focal": Arm(_hard, loss="focal"),
}


def arms_of(learner: str) -> dict[str, Arm]:
    """Return the arms that a learner trains."""
    return {
        name: arm
        for name, arm in ARMS.items()
        if (learner == "perceptron" or arm.loss == "cross_entropy")
        and (learner != "lightgbm" or arm.for_trees)
    }
