"""The methods that are compared, and the strengths that each finds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone

from structsmooth import StructuralSmoother, shuffled_strengths, solve_strengths
from structsmooth.strengths.solve import resolve_alpha_beta


@dataclass(frozen=True)
class Method:
    """One way to find strengths.

    Attributes
    ----------
    smoother : dict
        Settings of the smoother.
    out_of_fold : bool
        Use distances between out-of-fold predictions of first models instead of
        distances between features.
    slope : float
        Fraction of the usual beta.
    midpoint : bool
        Use the middle between the bounds instead of the lower bound.
    overlap : bool
        Give the mass to the classes that overlap in the region.
    shuffled : bool
        Use the strengths of other rows, as a control.
    leave_out : bool
        Do not train on rows whose label seems wrong.
    """

    smoother: dict = field(default_factory=dict)
    out_of_fold: bool = False
    slope: float = 1.0
    midpoint: bool = False
    overlap: bool = False
    shuffled: bool = False
    leave_out: bool = False


POINT = {"regions": "point"}
IGNORE = {"ignore_suspects": True}
UNIFORM = "uniform"
USUAL = {
    "cluster": Method(),
    "cluster, shrunk": Method({"shrink": True}),
    "cluster, half beta": Method(slope=0.5),
    "cluster, midpoint": Method(midpoint=True),
    "cluster, overlap": Method(overlap=True),
    "point": Method(POINT),
    "point, shrunk": Method(POINT | {"shrink": True}),
    "point, half beta": Method(POINT, slope=0.5),
    "point, overlap": Method(POINT, overlap=True),
    "out of fold, cluster": Method(out_of_fold=True),
    "out of fold, point": Method(POINT, out_of_fold=True),
    "out of fold, point, overlap": Method(POINT, out_of_fold=True, overlap=True),
    "shuffled": Method(POINT, shuffled=True),
}
METHODS = USUAL | {
    "cluster, suspects ignored": Method(IGNORE),
    "cluster, suspects left out": Method(IGNORE, leave_out=True),
}


def methods_of(config: dict) -> tuple[str, ...]:
    """Return the methods of an experiment that its model supports."""
    takes_soft_labels = config["model"] != "lightgbm"
    chosen = config.get("methods", list(USUAL))
    return (
        UNIFORM,
        *(m for m in chosen if takes_soft_labels or not METHODS[m].overlap),
    )


class Strengths:
    """Strengths of one training set, by method and alpha; each smoother is fitted once.

    Parameters
    ----------
    features, y : ndarray
        The training rows.
    outputs : ndarray of shape (n, K), optional
        Predictions of first models, for the methods that need them.
    options : dict
        Settings that all smoothers have in common.
    """

    def __init__(self, features, y, outputs, options: dict, seed: int) -> None:
        self.features, self.y, self.outputs = features, y, outputs
        self.options, self.seed = options, seed
        self.n_classes = int(y.max()) + 1
        self.fitted: dict[str, StructuralSmoother] = {}

    def smoother(self, method: Method) -> StructuralSmoother:
        """Return the smoother of a method."""
        key = f"{method.smoother} {method.out_of_fold}"
        if key not in self.fitted:
            options, X = self.options | method.smoother, self.features
            if method.out_of_fold:
                # Trees and clipped probabilities give many rows the same outputs.
                own = {"reducer": "none", "ties": "average"}
                options, X = options | own, self.outputs
            smoother = StructuralSmoother(random_state=self.seed, **options)
            self.fitted[key] = smoother.fit(X, self.y)
        return self.fitted[key]

    def mean_and_slope(self, alpha: float | str) -> tuple[float, float]:
        """Return alpha and beta of all methods; "auto" is estimated from clusters."""
        if alpha != "auto":
            return resolve_alpha_beta(
                alpha, "auto", np.zeros(1), np.ones(1), self.n_classes
            )
        smoother = self.smoother(METHODS["cluster"])
        where = smoother.bayes_error_lower_, smoother.cluster_weights_
        return resolve_alpha_beta(alpha, "auto", *where, self.n_classes)

    def rows(self, name: str) -> np.ndarray:
        """Return the rows that a method trains on."""
        rows = np.arange(len(self.y))
        if name not in METHODS or not METHODS[name].leave_out:
            return rows
        return np.delete(rows, self.smoother(METHODS[name]).suspects_.rows)

    def __call__(self, name: str, alpha: float | str) -> np.ndarray:
        """Return the strength of each row, or soft labels of shape (n, K)."""
        mean, beta = self.mean_and_slope(alpha)
        if name == UNIFORM:
            return np.full(len(self.y), mean)
        method = METHODS[name]
        smoother = self.smoother(method)
        bayes_error = smoother.bayes_error_
        if method.midpoint:
            # The upper bound is an estimate, and may exceed the largest Bayes error.
            upper = np.minimum(smoother.bayes_error_upper_, 1.0 - 1.0 / self.n_classes)
            bayes_error = (smoother.bayes_error_lower_ + upper) / 2.0
        weights = smoother.decision_.weights
        values = solve_strengths(
            bayes_error, weights, mean, method.slope * beta, n_classes=self.n_classes
        )
        if method.shuffled:
            values = shuffled_strengths(
                values, weights, n_classes=self.n_classes, rng=self.seed
            )
        found = values[smoother.decision_.region_labels(smoother.structure_)]
        if not method.overlap:
            return found
        return smooth_with_overlap(smoother, self.y, found)


def smooth_with_overlap(smoother, y, strengths) -> np.ndarray:
    """Return soft labels of a smoother's rows with the given strengths."""
    same = clone(smoother).set_params(spread="overlap")
    same.fit_structure(
        smoother.structure_, smoother.decision_, sample_strengths=strengths
    )
    return same.smooth_fitted(y)
