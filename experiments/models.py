"""Models that take a strength for each sample, as `structsmooth.compare` wants them."""

from __future__ import annotations

import torch
from lightgbm import LGBMClassifier

from experiments.study import training
from experiments.study.networks import perceptron


def build(kind: str, options: dict):
    """Return a classifier, or a function that trains one."""
    if kind == "lightgbm":
        return LGBMClassifier(n_jobs=1, deterministic=True, verbose=-1, **options)
    if kind == "mlp":
        return MlpTrainer(**options)
    raise ValueError(f"model must be mlp or lightgbm, got {kind!r}")


class MlpTrainer:
    """A multilayer perceptron on standardized features, trained with Adam."""

    def __init__(self, hidden=(256,), epochs=60, batch_size=128, learning_rate=1e-3):
        self.options = {
            "hidden": list(hidden),
            "epochs": epochs,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
        }

    def __repr__(self):
        """Identify the trainer in a file of results."""
        return f"MlpTrainer({self.options})"

    def __call__(self, X, y, strengths, n_classes, random_state):
        """Return a function from features to probabilities."""
        torch.set_num_threads(1)
        recipe = training.Recipe(
            epochs=self.options["epochs"],
            batch_size=self.options["batch_size"],
            optimizer="adam",
            learning_rate=self.options["learning_rate"],
            last_learning_rate=self.options["learning_rate"],
        )
        inputs = training.Inputs.fit(X, torch.device("cpu"))
        network = training.train(
            lambda: perceptron(X.shape[1], self.options["hidden"], n_classes),
            X,
            y,
            strengths,
            recipe,
            inputs,
            random_state,
        )
        return lambda rows: training.predict(network, inputs, rows)
