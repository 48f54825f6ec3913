"""
Overlap or mistake? Labels to check
===================================

A wrong label in a clean region looks like an overlap to a spanning tree: two near
points have different labels. The difference is in the surroundings. In an overlap, a
point has neighbors of its own class. A wrong label has none.
"""

# %%
# Make some mistakes
# ------------------
#
# Handwritten digits hardly overlap. Here one label in thirty is replaced by another.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from structsmooth import StructuralSmoother, find_suspects

X, truth = load_digits(return_X_y=True)
generator = np.random.default_rng(0)
wrong = generator.random(len(truth)) < 1 / 30
y = np.where(wrong, (truth + generator.integers(1, 10, len(truth))) % 10, truth)

# %%
# Find them
# ---------
#
# Every row has a score, the estimated probability that its label is wrong; suspects are
# those with the highest scores. Some of them are right and only unusual, so inspect
# them before you change a label.

suspects = find_suspects(X, y)
found = wrong[suspects.rows]
print(f"wrong labels: {wrong.sum()}, suspects: {len(suspects)}")
print(f"suspects that are wrong: {found.sum()}")
print(f"sum of the scores: {suspects.scores.sum():.1f}")
print(f"the first: {suspects.reason(0)}")
named = suspects.likely[found] == truth[suspects.rows[found]]
print(f"of these, with the true label as likely label: {named.sum()}")

figure, axes = plt.subplots(2, 8, figsize=(9, 3), layout="constrained")
for axis, row, likely in zip(
    axes.ravel(), suspects.rows, suspects.likely, strict=False
):
    axis.imshow(X[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"labeled {y[row]}, likely {likely}", fontsize=7)
    axis.set_axis_off()

# %%
# Do not smooth because of them
# -----------------------------
#
# Mistakes raise the estimated Bayes error, and clean regions would be smoothed because
# of them. With ``ignore_suspects=True`` each suspect is counted under the label of its
# neighbors.

for name, labels, ignore in (
    ("true labels", truth, False),
    ("with mistakes", y, False),
    ("mistakes ignored", y, True),
):
    smoother = StructuralSmoother(ignore_suspects=ignore, random_state=0).fit(X, labels)
    bounds = smoother.bayes_error_bounds_
    print(f"{name:16s} Bayes error {bounds.lower:.3f} to {bounds.upper:.3f}")
