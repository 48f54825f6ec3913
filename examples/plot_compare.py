"""
Does it help here?
==================

Held-out rows can tell. On each of several splits, `structsmooth.compare.compare` trains
without smoothing, with uniform, structural, reversed and shuffled strengths, and with
the default smoother. Reversed and shuffled strengths are controls: the right strengths
in the wrong places.
"""

# %%
# Run a comparison
# ----------------
#
# Any scikit-learn classifier with sample weights will do, or a training function of
# your own. Five seeds and a short list of candidates keep this page quick; use ten
# seeds and the default candidates when it matters. The data are made for this example:
# one half of the plane has noisy labels, and a deep tree is a learner that fits them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from structsmooth.compare import compare

generator = np.random.default_rng(0)
X = generator.normal(size=(1500, 2))
y = (X[:, 0] + 0.3 * generator.normal(size=1500) > 0).astype(int)
noisy = (X[:, 1] > 0) & (generator.random(1500) < 0.4)
y[noisy] = generator.integers(0, 2, noisy.sum())

result = compare(
    X,
    y,
    DecisionTreeClassifier(min_samples_leaf=5),
    alpha=(0.05, 0.1, 0.2),
    beta="auto",
    n_seeds=5,
)

# %%
# Read the verdict
# ----------------
#
# The first line is the decision, and ``result.best`` is the smoother that it
# recommends, or None. The findings below the verdict are its reasons. "No clear
# difference" means that the interval contains 0, not that there is no difference.

print(result.choice.headline)
print(result.verdict)
for finding in result.findings:
    print("-", finding)

# %%
# Plot the runs
# -------------
#
# Each point is one seed. Lines join the points of the same seed, because comparisons
# are made within seeds.

methods = ("none", "uniform", "structural", "reversed", "shuffled")
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for axis, metric in zip(axes, ("error", "nll", "aurc"), strict=True):
    values = np.array([result.values(method, metric) for method in methods])
    axis.plot(methods, values, "o-", color="tab:blue", alpha=0.4)
    axis.plot(methods, values.mean(axis=1), "k_", markersize=24)
    axis.set_title(metric)
    axis.tick_params(axis="x", rotation=30)

# %%
# :doc:`/docs/comparing` describes the protocol, and ``structsmooth compare`` does the
# same on the command line.
