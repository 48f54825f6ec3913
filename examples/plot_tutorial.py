"""
From label_smoothing=0.1 to a strength for every sample
=======================================================

You train with ``label_smoothing=0.1``, which softens every label by the same amount.
This page shows in six short steps how to use a separate amount for each sample, and
measures the effect. It uses PyTorch and generated data, so that the truth is known.
"""

# %%
# 1. What label_smoothing=0.1 does
# --------------------------------
#
# A label says: class 0, and nothing else. Smoothing takes some of that certainty away
# and gives it to the other classes. Frameworks spread ``label_smoothing`` (epsilon)
# over all K classes, including the given one.
#
# We count differently: the *strength* alpha is the probability that is taken from the
# given class. With K classes, ``alpha = epsilon (K-1)/K``.

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from structsmooth import StructuralSmoother, alpha_from_epsilon, smooth_labels
from structsmooth.metrics import evaluate
from structsmooth.torch import structural_cross_entropy

n_classes = 3
alpha = alpha_from_epsilon(0.1, n_classes)
print(f"label_smoothing=0.1 is alpha={alpha:.4f} for {n_classes} classes")
print(smooth_labels([0, 2], alpha, n_classes).round(4))

# %%
# 2. Data with a known truth
# --------------------------
#
# Three classes in the plane, each made of two round clouds. Two of the clouds nearly
# coincide: there nobody can tell class 0 from class 1. Everything else is easy. Because
# we generated the points, we know the true posterior, and thus the *Bayes error*: how
# often even the best possible classifier is wrong at a point.

centers = np.array([[[0, 0], [6, 0]], [[1.2, 0.4], [6, 6]], [[1, 7], [11, 3]]], float)


def draw(n_rows, seed):
    """Return features and labels."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, n_classes, n_rows)
    clouds = centers[labels, generator.integers(0, 2, n_rows)]
    return clouds + generator.normal(size=(n_rows, 2)), labels


def true_bayes_error(points):
    """Return one minus the largest posterior."""
    squares = ((points[:, None, None] - centers) ** 2).sum(axis=-1)
    likelihood = np.exp(-squares / 2).sum(axis=-1)
    return 1 - likelihood.max(axis=1) / likelihood.sum(axis=1)


X, y = draw(3000, seed=0)

# %%
# 3. Fit the smoother once, before training
# -----------------------------------------
#
# The smoother finds clusters. In each cluster it builds the minimum spanning tree,
# counts the edges that join different labels, and bounds the Bayes error with that
# count. Then it assigns strengths: larger where classes overlap, smaller where they do
# not, with the mean that you asked for.

smoother = StructuralSmoother(alpha=alpha, random_state=0).fit(X, y)
strengths = smoother.sample_strengths_

print(f"clusters: {len(smoother.strengths_)}")
print(f"mean strength: {strengths.mean():.4f}, asked for {alpha:.4f}")
print(f"from {strengths.min():.4f} to {strengths.max():.4f}")

# %%
# 4. See where the strengths are large
# ------------------------------------
#
# Left: the classes. Middle: the truth, which the smoother has never seen. Right: the
# strengths.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
panels = (
    ("three classes", y, "Set2"),
    ("true Bayes error", true_bayes_error(X), "viridis"),
    ("strength of each label", strengths, "viridis"),
)
for axis, (title, values, palette) in zip(axes, panels, strict=True):
    points = axis.scatter(*X.T, c=values, s=4, cmap=palette, linewidths=0)
    axis.set(title=title, xticks=[], yticks=[], aspect="equal")
    if palette == "viridis":
        figure.colorbar(points, ax=axis, shrink=0.8)

# %%
# A label in the easy part is hardly changed. A label in the hard part is softened much
# more than ``label_smoothing=0.1`` would soften it.

by_strength = np.argsort(strengths)
for row in by_strength[[0, -1]]:
    soft = smooth_labels([y[row]], strengths[row], n_classes)[0].round(3)
    where = true_bayes_error(X[[row]])[0]
    print(f"label {y[row]}, true Bayes error {where:.3f}: {soft.tolist()}")

# %%
# 5. Train with the strengths
# ---------------------------
#
# One line changes: the loss takes a strength for each sample. With the same strength
# everywhere, it *is* PyTorch's label smoothing.

generator = torch.Generator().manual_seed(0)
scores = torch.randn(8, n_classes, generator=generator)
target = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
usual = cross_entropy(scores, target, label_smoothing=0.1)
ours = structural_cross_entropy(scores, target, alpha)
print(f"usual {usual:.6f}, ours {ours:.6f}")

# %%
# 6. Measure on hard labels of new rows
# -------------------------------------
#
# There are few training rows, so that a network can overfit. For each of five draws of
# the data, three networks start from the same weights: one trains without smoothing,
# one with uniform and one with structural smoothing of the same mean.


def train(X, y, strengths, seed):
    """Return a small network, trained for a while."""
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    inputs = torch.tensor(X, dtype=torch.float32)
    target, strengths = torch.from_numpy(y), torch.as_tensor(strengths)
    for _ in range(300):
        loss = structural_cross_entropy(model(inputs), target, strengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


X_test, y_test = draw(20_000, seed=100)
results = {"none": [], "uniform": [], "structural": []}
for seed in range(5):
    X_train, y_train = draw(400, seed=seed + 1)
    smoother = StructuralSmoother(alpha=alpha, random_state=0).fit(X_train, y_train)
    ways = (0.0, alpha, smoother.sample_strengths_)
    for scores_of, way in zip(results.values(), ways, strict=True):
        model = train(X_train, y_train, way, seed)
        with torch.no_grad():
            logits = model(torch.tensor(X_test, dtype=torch.float32))
        scores_of.append(evaluate(y_test, logits.softmax(dim=1)))

print("            error   NLL     ECE     AURC")
for name, rows in results.items():
    means = [np.mean([row[key] for row in rows]) for key in ("error", "nll", "ece")]
    means.append(np.mean([row["aurc"] for row in rows]))
    print(f"{name:11s} " + "  ".join(f"{mean:.4f}" for mean in means))
print(f"best possible error: {true_bayes_error(X_test).mean():.4f}")

# %%
# Read the columns one by one. *Error* is how often the prediction is wrong. *NLL* and
# *ECE* show whether the probabilities can be trusted. *AURC* shows whether confidence
# separates right from wrong predictions: it is the mean error among the most confident
# predictions. Lower is better in all of them.
#
# These data were made for this example, and their clusters suit the method. On your
# data the answer may be different. :doc:`/docs/comparing` explains how to run such a
# comparison properly, and :doc:`/docs/when-not` says where smoothing did not help.
#
# Next steps
# ----------
#
# New rows get the strength of the cluster that they fall into, and a fitted smoother
# can be saved without pickle.

print(smoother.predict_strength(X_test[:4]).round(3))

# %%
# :doc:`/docs/training` has the code for other frameworks, and
# :doc:`/docs/howto/alpha-beta` says how to choose alpha and beta. If you would rather
# not choose, leave them out: the defaults estimate the mean from the data.
