"""
LightGBM on smoothed labels, without copying a row
==================================================

Boosting libraries have no soft labels for several classes, but gradient boosting only
needs a gradient. `structsmooth.boosting.fit_smoothed` gives LightGBM, XGBoost or
CatBoost the gradient of the smoothed labels.
"""

# %%
# Noisy labels of three classes
# -----------------------------
#
# Data made for this example: half of the plane is clean, and in the other half two
# labels in five are drawn at random. In real data, clean and noisy regions are seldom
# so clearly separated.

import numpy as np
from lightgbm import LGBMClassifier

from structsmooth import StructuralSmoother
from structsmooth.boosting import fit_smoothed
from structsmooth.metrics import evaluate
from structsmooth.plot import plot_risk_coverage


def draw(n_rows, seed):
    """Return features and labels."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, size=(n_rows, 2))
    y = np.digitize(X[:, 1], [-0.33, 0.33])
    noisy = (X[:, 0] > 0) & (generator.random(n_rows) < 0.4)
    y[noisy] = generator.integers(0, 3, noisy.sum())
    return X, y


X, y = draw(3000, seed=0)
X_test, y_test = draw(20_000, seed=1)

# %%
# Strengths follow the noise
# --------------------------

smoother = StructuralSmoother(alpha="auto", beta="auto", random_state=0).fit(X, y)
strengths = smoother.sample_strengths_
print(f"mean strength, clean half: {strengths[X[:, 0] <= 0].mean():.3f}")
print(f"mean strength, noisy half: {strengths[X[:, 0] > 0].mean():.3f}")

# %%
# Train
# -----
#
# The strength is the only new argument. A strength of 0 is plain LightGBM. The curves
# show whether confidence separates right from wrong predictions: the mean of a curve is
# its AURC. The bands are 95 % intervals over resampled test rows.

ways = {"none": 0.0, "uniform": smoother.alpha_, "structural": strengths}
predictions = {}
for name, way in ways.items():
    learner = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    model = fit_smoothed(learner, X, y, strengths=way)
    probabilities = model.predict_proba(X_test)
    scores = evaluate(y_test, probabilities)
    print(
        f"{name:10s} error {scores['error']:.3f}  NLL {scores['nll']:.3f}  "
        f"ECE {scores['ece']:.3f}  AURC {scores['aurc']:.3f}"
    )
    predictions[name] = (y_test, probabilities)
plot_risk_coverage(predictions)

# %%
# One random draw shows how to do it, not how much it helps. On real data the results
# are mixed: see :doc:`/docs/when-not`.
