"""
Where the classes overlap, and how strengths follow
===================================================

Two classes, each a mixture of Gaussians in two dimensions. The smoother clusters the
points, bounds the Bayes error of each cluster, and derives a strength from it.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from structsmooth import StructuralSmoother
from structsmooth.plot import plot_map


def make_classes(n=6000, seed=3):
    """Return six Gaussians per class, of which two pairs overlap."""
    generator = np.random.default_rng(seed)
    means = np.array(
        [
            [[0, 0], [2, 4], [5, 1], [7, 5], [4, 7.5], [9.5, 1]],
            [[1.4, 0.6], [-1, 6.5], [6.4, 1.4], [9.5, 7.5], [0, 10], [12.5, 4]],
        ]
    )
    y = generator.integers(0, 2, n)
    X = means[y, generator.integers(0, 6, n)] + generator.normal(size=(n, 2))
    return X, y


X, y = make_classes()
smoother = StructuralSmoother(alpha=0.1, n_clusters=32, random_state=0).fit(X, y)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for axis, color in zip(axes, ("class", "bayes_error", "strength"), strict=True):
    plot_map(smoother, X, y, color=color, ax=axis)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
