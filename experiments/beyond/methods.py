"""The methods that are compared: what each makes of a training set."""

from __future__ import annotations

import numpy as np

from experiments.beyond.overlap import soft_labels
from structsmooth import StructuralSmoother, shuffled_strengths, solve_strengths
from structsmooth.strengths import resolve_alpha_beta

# What each smoother has of its own; "shuffled" is a control, with the strengths of the
# last one at random rows.
SMOOTHERS = {
    "cluster": {},
    "shrunk": {"shrink": True},
    "point": {"regions": "point"},
    "point, shrunk": {"regions": "point", "shrink": True},
}
SHUFFLED = "shuffled"
# The strengths of "cluster", with the mass on the classes that overlap there.
OVERLAP = "overlap"
METHODS = ("none", "uniform", *SMOOTHERS, OVERLAP, SHUFFLED)


def methods_of(config: dict) -> tuple[str, ...]:
    """Return the methods that a model can be trained by."""
    takes_soft_labels = config["model"] == "mlp"
    return tuple(m for m in METHODS if m != OVERLAP or takes_soft_labels)


class Strengths:
    """Strengths of one training set, by method and alpha; smoothers fitted once."""

    def __init__(self, X, y, options: dict, seed: int) -> None:
        self.X, self.y, self.options, self.seed = X, y, options, seed
        self.n_classes = int(y.max()) + 1
        self.fitted: dict[str, StructuralSmoother] = {}

    def smoother(self, method: str) -> StructuralSmoother:
        """Return the smoother of a method."""
        if method not in self.fitted:
            smoother = StructuralSmoother(
                random_state=self.seed, **self.options, **SMOOTHERS[method]
            )
            self.fitted[method] = smoother.fit(self.X, self.y)
        return self.fitted[method]

    def __call__(self, method: str, alpha: float | str) -> np.ndarray:
        """Return the strength of each row; "auto" is the estimated Bayes error.

        All smoothers have the slope of their own, beta "auto". Those of "overlap" are
        soft labels already, of shape (n, K).
        """
        if method == "none":
            return np.zeros(len(self.y))
        sources = {"uniform": "cluster", OVERLAP: "cluster", SHUFFLED: "point, shrunk"}
        source = sources.get(method, method)
        if method == "uniform" and alpha != "auto":
            return np.full(len(self.y), alpha)
        smoother = self.smoother(source)
        where = smoother.bayes_error_, smoother.region_weights_
        mean, beta = resolve_alpha_beta(alpha, "auto", *where, self.n_classes)
        if method == "uniform":
            return np.full(len(self.y), mean)
        values = solve_strengths(*where, mean, beta, n_classes=self.n_classes)
        if method == SHUFFLED:
            values = shuffled_strengths(
                values, where[1], n_classes=self.n_classes, random_state=self.seed
            )
        found = values[smoother.region_labels_]
        return soft_labels(smoother, self.y, found) if method == OVERLAP else found
