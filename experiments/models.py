"""Models that take a strength for each sample, as `structsmooth.compare` needs."""

from __future__ import annotations

import torch
from lightgbm import LGBMClassifier

from experiments import configs
from experiments.study import networks, training


def build(kind: str, options: dict):
    """Return a classifier, or a function that trains one."""
    if kind == "lightgbm":
        return LGBMClassifier(n_jobs=1, deterministic=True, verbose=-1, **options)
    if kind == "mlp":
        return MlpTrainer(**options)
    if kind == "mobilenet":
        return ImageTrainer(**options)
    if kind == "residual":
        return ResidualTrainer(**options)
    raise ValueError(
        f"model must be mlp, lightgbm, mobilenet or residual, got {kind!r}"
    )


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

    def __call__(self, X, y, strengths, n_classes, random_state, soft_labels=None):
        """Return a function from features to probabilities."""
        recipe = training.Recipe(
            epochs=self.options["epochs"],
            batch_size=self.options["batch_size"],
            optimizer="adam",
            learning_rate=self.options["learning_rate"],
            last_learning_rate=self.options["learning_rate"],
        )
        hidden = self.options["hidden"]
        return _train(
            lambda: networks.perceptron(X.shape[1], hidden, n_classes),
            (X, y, strengths if soft_labels is None else soft_labels),
            recipe,
            random_state,
        )


class ImageTrainer:
    """A MobileNet-v2 on images with standardized channels."""

    def __init__(self, network: dict, recipe: dict) -> None:
        self.network, self.recipe = network, recipe

    def __repr__(self):
        """Identify the trainer in a file of results."""
        return f"ImageTrainer({self.network}, {self.recipe})"

    def __call__(self, X, y, strengths, n_classes, random_state, soft_labels=None):
        """Return a function from images to probabilities."""
        return _train(
            lambda: networks.mobilenet_v2(n_classes, **self.network),
            (X, y, strengths if soft_labels is None else soft_labels),
            training.Recipe(**self.recipe),
            random_state,
        )


class ResidualTrainer:
    """The compact residual network, with its recipe for CIFAR-10 unless told otherwise.

    ``trainer(X, y, strengths, n_classes, seed)`` returns a function from images to
    probabilities. Images are arrays of shape (n, 32, 32, 3), with pixels from 0 to 255.

    Parameters
    ----------
    network : dict, optional
        Changes to the network: widths, batch_norm.
    recipe : dict, optional
        Changes to the recipe: epochs, flip, crop and more (`training.Recipe`).
    """

    def __init__(self, network: dict | None = None, recipe: dict | None = None) -> None:
        usual = configs.load("compact-cifar10")
        self.network = configs.merge(usual["network"], network or {})
        self.recipe = configs.merge(usual["recipe"], recipe or {})

    def __repr__(self):
        """Identify the trainer in a file of results."""
        return f"ResidualTrainer({self.network}, {self.recipe})"

    def __call__(self, X, y, strengths, n_classes, random_state, soft_labels=None):
        """Return a function from images to probabilities."""
        return _train(
            lambda: networks.build(self.network, 3, n_classes),
            (X, y, strengths if soft_labels is None else soft_labels),
            training.Recipe(**self.recipe),
            random_state,
        )


def _train(build, rows, recipe, seed):
    torch.set_num_threads(1)
    inputs = training.Inputs.fit(rows[0], torch.device("cpu"))
    network = training.train(build, *rows, recipe, inputs, seed)
    return lambda others: training.predict(network, inputs, others)
