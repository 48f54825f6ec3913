"""
How hard is this data set, and where?
=====================================

The Bayes error is the error that the best possible classifier still makes. It cannot be
observed, but a spanning tree bounds it: connect all points by the shortest tree, and
count the edges that join different labels. Here the truth is known, so that the bounds
can be compared with it, and one can see when they fail.
"""

# %%
# One number for the whole data set
# ---------------------------------
#
# Two round Gaussians at a distance d. The best classifier draws a line halfway between
# them, and is wrong with probability Phi(-d/2).

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from structsmooth import (
    StructuralSmoother,
    bayes_error_bounds,
    henze_penrose_divergence,
)


def two_gaussians(distance, n_features, n_rows=4000, seed=0):
    """Return points of two classes that differ along the first axis only."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, n_rows)
    X = generator.normal(size=(n_rows, n_features))
    X[:, 0] += distance * y
    return X, y


X, y = two_gaussians(2.0, n_features=2)
bounds = bayes_error_bounds(X, y)
print(f"true Bayes error       {norm.cdf(-1.0):.3f}")
print(f"between                {bounds.lower:.3f} and {bounds.upper:.3f}")
print("95 % interval          {:.3f} to {:.3f}".format(*bounds.interval))
print(f"crossing edges         {bounds.crossing[0, 1]} of {bounds.n_samples - 1}")

# %%
# The tree is built from a sample, so the bounds have sampling errors. The interval
# allows for these, but not for the bias in many dimensions, which comes next.

# %%
# Many dimensions
# ---------------
#
# The bounds hold in the limit of many rows. In many dimensions that number would have
# to be very large: the nearest neighbors of a point are not near, so more edges cross
# than should. With uninformative features added, the "lower" bound rises above the
# truth.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
distances = np.linspace(0.5, 4, 8)
axis.plot(distances, norm.cdf(-distances / 2), "k", label="true Bayes error")
for n_features, color in ((2, "tab:blue"), (10, "tab:orange"), (50, "tab:red")):
    found = [bayes_error_bounds(*two_gaussians(d, n_features)) for d in distances]
    axis.fill_between(
        distances,
        [bound.lower for bound in found],
        [bound.upper for bound in found],
        color=color,
        alpha=0.3,
        label=f"bounds, {n_features} features",
    )
axis.set(xlabel="distance between the classes", ylabel="error")
axis.legend()

# %%
# So do not read a bound in 50 dimensions as "no classifier can do better". The *order*
# survives: where the truth is higher, so is the bound. Smoothing strengths need only
# the order. :doc:`Estimate against truth </docs/estimate>` shows how far the bounds are
# off, by number of dimensions.

# %%
# Where is it hard?
# -----------------
#
# A fitted smoother has the bounds of each cluster, with intervals.

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
smoother = StructuralSmoother(random_state=0).fit(X, wine.target)
for number, cluster in enumerate(smoother.cluster_bounds_):
    low, high = cluster.interval
    print(
        f"cluster {number}: {cluster.n_samples:3d} rows, classes "
        f"{cluster.class_counts.tolist()}, Bayes error {cluster.lower:.3f} to "
        f"{cluster.upper:.3f}, interval {low:.3f} to {high:.3f}"
    )

# %%
# With so few rows the intervals are wide and overlap: differences between these
# clusters may be noise. ``StructuralSmoother(shrink=True)`` reduces the differences as
# far as they are noise.

# %%
# Which classes overlap?
# ----------------------
#
# The Henze-Penrose divergence of two classes is 0 if they coincide and 1 if they do not
# overlap.

print(wine.target_names.tolist())
print(henze_penrose_divergence(X, wine.target).round(3))
