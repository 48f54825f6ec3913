"""
What alpha and beta do
======================

Alpha is how much the labels are smoothed on average. Beta is how far the strengths
follow the Bayes error: at 0 all are alike, and the larger beta, the more of the
smoothing moves to where the classes overlap. The mean stays alpha in any case.
"""

# %%
# Strength against Bayes error
# ----------------------------
#
# Six regions of equal size, from clean to hopeless, and two classes. Without bounds the
# strengths lie on straight lines through the mean. None may become negative, though:
# where a line would, the strength stays at 0, and the others come down just as far as
# it takes to keep the mean.

import matplotlib.pyplot as plt
import numpy as np

from structsmooth import (
    StructuralSmoother,
    bayes_error_bias,
    largest_free_beta,
    solve_strengths,
)

bayes_error = np.array([0.0, 0.02, 0.08, 0.15, 0.3, 0.45])
weights = np.full(6, 1 / 6)
alpha = 0.1

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for beta in (0.0, 0.25, 0.5, 1.0):
    strengths = solve_strengths(bayes_error, weights, alpha, beta, n_classes=2)
    line = alpha + beta * (bayes_error - weights @ bayes_error)  # without bounds
    (drawn,) = axis.plot(bayes_error, strengths, "o-", label=f"beta = {beta:g}")
    axis.plot(bayes_error, line, ":", color=drawn.get_color())
    print(f"beta {beta:4g}: {strengths.round(3)}, mean {strengths @ weights:.3f}")
axis.axhline(0, color="k", linewidth=0.8)
axis.set(xlabel="Bayes error of the region", ylabel="strength")
axis.legend()

free = largest_free_beta(bayes_error, weights, alpha, n_classes=2)
print(f"no strength meets a bound up to beta = {free:.3f}")

# %%
# What it is for: less bias
# -------------------------
#
# Smoothed labels describe a world with a different Bayes error. How different is the
# *bias*. At the same mean, a larger beta has less of it.

for beta in (0.0, 0.25, 0.5, 1.0):
    strengths = solve_strengths(bayes_error, weights, alpha, beta, n_classes=2)
    bias = bayes_error_bias(strengths, bayes_error, weights, n_classes=2)
    print(f"beta {beta:4g}: bias {bias:.4f}")

# %%
# Nothing to choose
# -----------------
#
# With ``alpha="auto"`` and ``beta="auto"`` the strength of a region is its estimated
# Bayes error. The top of a smoothed label is then what the posterior's top is thought
# to be. The defaults are ``"cautious"``: the same mean, but at most that of
# ``label_smoothing=0.1``, and half of the differences.

generator = np.random.default_rng(0)
y = generator.integers(0, 2, 4000)
X = generator.normal(size=(4000, 2)) + np.outer(y, [1.5, 0.0])
smoother = StructuralSmoother(alpha="auto", beta="auto", random_state=0).fit(X, y)
print(f"alpha {smoother.alpha_:.3f}, beta {smoother.beta_:g}")
print("largest difference of strength and Bayes error:")
print(f"{np.abs(smoother.strengths_ - smoother.bayes_error_lower_).max():.1e}")

# %%
# Whether that is the best choice for a classifier is another question; ask validation
# rows. :doc:`/docs/howto/alpha-beta` says how.
