"""
Four figures for a paper or a notebook
======================================

Every function of `structsmooth.plot` draws on the axes that it is given, or on new
ones, and returns them. Here they show one data set: handwritten digits, a fifth of them
with added noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from structsmooth import StructuralSmoother
from structsmooth.plot import (
    plot_class_overlap,
    plot_clusters,
    plot_map,
    plot_strengths,
)

X, y = load_digits(return_X_y=True)
generator = np.random.default_rng(0)
noisy = generator.random(len(X)) < 0.2
X[noisy] += generator.normal(0, 6, (noisy.sum(), X.shape[1]))
smoother = StructuralSmoother(alpha=0.1, random_state=0).fit(X, y)

# %%
# The map
# -------
#
# With more than two features the map is a projection: rows that are near each other on
# the map are not always near in the data.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
plot_map(smoother, X, y, ax=axes[0])
plot_map(smoother, X, y, color="strength", ax=axes[1])

# %%
# Strength against Bayes error
# ----------------------------

plot_strengths(smoother)

# %%
# Which classes overlap
# ---------------------

plot_class_overlap(smoother)

# %%
# Clusters with their intervals
# -----------------------------

plot_clusters(smoother)
