"""
Keras: soft labels as the targets of fit
========================================

Keras takes soft labels wherever it takes one-hot labels, so only the second argument of
``fit`` changes. Tested with the PyTorch and JAX backends.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")  # before the first import of Keras

import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from structsmooth import StructuralSmoother, smooth_labels
from structsmooth.metrics import evaluate

N_CLASSES, EPOCHS = 10, 15


def main():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    # Fitted on the training rows only. A row with strength a keeps 1 - a on its own
    # class, and the other classes share a, which is larger where classes overlap. The
    # mean strength is also estimated from the data, so there is nothing to tune.
    smoother = StructuralSmoother(random_state=0)
    soft_labels = smoother.fit_smooth(X_train, y_train)
    one_hot = smooth_labels(y_train, 0.0, N_CLASSES)

    scores = {}
    for name, targets in {"plain": one_hot, "structural": soft_labels}.items():
        model = train(X_train, targets)
        logits = model.predict(X_test, verbose=0)
        probabilities = keras.ops.convert_to_numpy(keras.ops.softmax(logits))
        scores[name] = evaluate(y_test, probabilities)  # always on hard labels
    line = "{}: error {error:.3f}, NLL {nll:.3f}"
    print("; ".join(line.format(name, **score) for name, score in scores.items()))
    return scores


def train(X, targets):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input(shape=X.shape[1:]),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dense(N_CLASSES),
        ]
    )
    # The loss keeps label_smoothing=0: anything else would smooth a second time, and
    # would also smooth the labels in validation_data, which should stay one-hot.
    model.compile(
        optimizer=keras.optimizers.Adam(3e-3),
        loss=keras.losses.CategoricalCrossentropy(from_logits=True),
    )
    model.fit(X, targets, batch_size=64, epochs=EPOCHS, verbose=0)
    return model


if __name__ == "__main__":
    main()
