"""
Images: three spaces in which to measure strengths
==================================================

Strengths come from distances, so the space in which they are measured matters. Here are
three choices: the pixels, the code of an autoencoder that has never seen a label, and
the outputs of a first model that has.
"""

# %%
# Small pictures, some of them degraded
# -------------------------------------
#
# Handwritten digits, 8 x 8 pixels. Every third picture is shifted by up to two pixels
# and gets noise, so that it is hard to read. We know which ones; the smoother does not.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from torch import nn

from structsmooth import StructuralSmoother
from structsmooth.torch import Autoencoder, out_of_fold_outputs

generator = np.random.default_rng(0)
images, y = load_digits(return_X_y=True)
images = (images / 16).astype(np.float32).reshape(-1, 8, 8)
degraded = generator.random(len(images)) < 1 / 3
for number in np.flatnonzero(degraded):
    moved = np.roll(images[number], generator.integers(-2, 3, 2), axis=(0, 1))
    images[number] = moved + generator.normal(0, 0.4, (8, 8))
X = images.reshape(len(images), -1)

# %%
# Three spaces
# ------------
#
# An autoencoder takes the place of PCA. `structsmooth.torch.out_of_fold_outputs` splits
# the data, and predicts every sample by a model that was trained on the other parts: a
# model has memorized its own training labels, and would show no overlap.


def small_network():
    """Return an untrained network for pictures of 8 x 8 pixels."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 16, 10),
    )


coder = Autoencoder(16, image_shape=(8, 8), channels=(8, 16), max_epochs=8)
coder.set_params(random_state=0)
outputs = out_of_fold_outputs(
    small_network, X, y, n_folds=3, epochs=8, learning_rate=0.01, random_state=0
)
settings = {"alpha": 0.1, "regions": "point", "random_state": 0}
smoothers = {
    "pixels": StructuralSmoother(**settings).fit(X, y),
    "autoencoder": StructuralSmoother(reducer=coder, **settings).fit(X, y),
    "first model": StructuralSmoother(reducer="none", **settings).fit(outputs, y),
}

# %%
# Which of them found the degraded pictures?
# ------------------------------------------
#
# All have the same mean strength; the question is how much of it falls on the pictures
# that are hard to read. ``regions="point"`` gives each picture its own strength.

for name, smoother in smoothers.items():
    strengths = smoother.sample_strengths_
    print(
        f"{name:12s} degraded {strengths[degraded].mean():.3f}  "
        f"clean {strengths[~degraded].mean():.3f}"
    )

# %%
# All three do, and here the pixels do best: noise moves a picture far away from the
# clean ones, so noisy pictures form clusters of their own, in which classes mix. Real
# photographs are not degraded in such a simple way. On CIFAR-10, too, an autoencoder
# was no clear improvement over pixels (:doc:`measured </experiments/results/humans>`).
# So try more than one space, and compare.

# %%
# The most and the least ambiguous pictures
# -----------------------------------------

strengths = smoothers["first model"].sample_strengths_
order = np.argsort(strengths, kind="stable")
figure, axes = plt.subplots(2, 8, figsize=(9, 2.8), layout="constrained")
for row, numbers in zip(axes, (order[-8:], order[:8]), strict=True):
    for axis, number in zip(row, numbers, strict=True):
        axis.imshow(images[number], cmap="gray_r")
        axis.set_title(f"{y[number]}: {strengths[number]:.2f}", fontsize=9)
        axis.set_axis_off()
figure.suptitle("label: strength; top: strongest, bottom: weakest", fontsize=10)

# %%
# If you have embeddings, for example from a pretrained network, pass them as X and set
# ``reducer="none"``, or keep the default, which reduces more than 32 features by PCA.
# See :doc:`/docs/howto/images`.
