"""
A strength for every sample, and protection against noise
=========================================================

This page shows two options beyond the paper. ``regions="point"`` estimates the Bayes
error around every single sample, from its nearest neighbors in its cluster.
``shrink=True`` reduces the differences between estimates as far as they are noise.
Neither is a default.
"""

# %%
# Clusters have sharp borders, single samples do not
# --------------------------------------------------
#
# Two classes with a winding border, along which they mix. These data were chosen to
# show the difference: where the mixing changes slowly, as along a straight border,
# clusters do about as well.

import matplotlib.pyplot as plt
import numpy as np

from structsmooth import StructuralSmoother

generator = np.random.default_rng(0)
X = generator.uniform(0, 1, size=(4000, 2))
above = X[:, 1] - 0.5 - 0.25 * np.sin(6 * X[:, 0])
posterior = 1 / (1 + np.exp(-12 * above))
truth = np.minimum(posterior, 1 - posterior)  # the Bayes error at each point
y = (generator.random(4000) < posterior).astype(int)

by_cluster = StructuralSmoother("auto", "auto", random_state=0).fit(X, y)
by_point = StructuralSmoother("auto", "auto", regions="point", random_state=0).fit(X, y)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
panels = (
    ("true Bayes error", truth),
    ("strength by cluster", by_cluster.sample_strengths_),
    ("strength by sample", by_point.sample_strengths_),
)
for axis, (title, values) in zip(axes, panels, strict=True):
    points = axis.scatter(*X.T, c=values, s=4, vmin=0, vmax=0.5, linewidths=0)
    axis.set(title=title, xticks=[], yticks=[], aspect="equal")
figure.colorbar(points, ax=axes, shrink=0.8)

for title, values in panels[1:]:
    error = np.sqrt(np.mean((values - truth) ** 2))
    print(f"{title}: root mean square error {error:.3f}")

# %%
# Here a neighborhood is small, and the strengths of single samples follow the border,
# while clusters cut across it. In ten dimensions they have no such advantage;
# :doc:`the measured errors </experiments/results/synthetic-neighbors>` include both
# cases.

# %%
# When there is nothing to find
# -----------------------------
#
# With labels drawn at random, every region has the same Bayes error. Clusters still
# seem to differ, by chance, and strengths would follow that chance. With
# ``shrink=True`` they do not: smoothing becomes uniform.

noise = generator.integers(0, 2, 1000)
for shrink in (False, True):
    smoother = StructuralSmoother(alpha=0.2, shrink=shrink, random_state=0)
    strengths = smoother.fit(X[:1000], noise).strengths_
    low, high = strengths.min(), strengths.max()
    print(f"shrink={shrink}: strengths from {low:.3f} to {high:.3f}")
print(f"p-value of equal clusters: {smoother.decision_.shrinkage.p_value:.2f}")

# %%
# Where there is structure, it is kept.

kept = StructuralSmoother(alpha=0.2, shrink=True, random_state=0).fit(X, y)
factors = kept.decision_.shrinkage.factors
print(f"share of the differences that is kept: {factors.mean():.2f}")
