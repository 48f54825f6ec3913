"""
What alpha and beta do
======================

Alpha is how much the labels are smoothed on average. Beta is how strongly the strengths
follow the Bayes error: at 0 all strengths are equal, and the larger beta is, the more
of the smoothing moves to where the classes overlap. The mean is always alpha.
"""

# %%
# Strength against Bayes error
# ----------------------------
#
# Six regions of equal size, from clean to hopeless, and two classes. Without bounds the
# strengths lie on straight lines through the mean. But strengths must not be negative:
# where a line is below 0 the strength stays at 0, and the others decrease by just as
# much as is needed to keep the mean.

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
print(f"no strength reaches a bound up to beta = {free:.3f}")

# %%
# The benefit: less bias
# ----------------------
#
# Smoothed labels describe data with a different Bayes error. The difference is the
# *bias*. At the same mean, a larger beta has less bias.

for beta in (0.0, 0.25, 0.5, 1.0):
    strengths = solve_strengths(bayes_error, weights, alpha, beta, n_classes=2)
    bias = bayes_error_bias(strengths, bayes_error, weights, n_classes=2)
    print(f"beta {beta:4g}: bias {bias:.4f}")

# %%
# Nothing to choose
# -----------------
#
# With ``alpha="auto"`` and ``beta="auto"`` the strength of a region is its estimated
# Bayes error. The largest probability of a smoothed label is then the estimate of the
# largest posterior. The defaults are ``"cautious"``: the same mean, but at most that of
# ``label_smoothing=0.1``, and half of the differences.

generator = np.random.default_rng(0)
y = generator.integers(0, 2, 4000)
X = generator.normal(size=(4000, 2)) + np.outer(y, [1.5, 0.0])
smoother = StructuralSmoother(alpha="auto", beta="auto", random_state=0).fit(X, y)
print(f"alpha {smoother.alpha_:.3f}, beta {smoother.beta_:g}")
print("largest difference between strength and Bayes error:")
print(f"{np.abs(smoother.strengths_ - smoother.bayes_error_lower_).max():.1e}")

# %%
# Whether that is the best choice for a classifier is another question, which validation
# rows can answer: see :doc:`/docs/howto/alpha-beta`.
