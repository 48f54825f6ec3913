"""Models that take a strength for each sample, as `structsmooth.compare` wants them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from lightgbm import LGBMClassifier
from torch import nn

from structsmooth.torch import structural_cross_entropy


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
        torch.manual_seed(random_state)
        order = torch.Generator().manual_seed(random_state)
        center, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        inputs = torch.from_numpy(((X - center) / scale).astype(np.float32))
        labels = torch.from_numpy(y)
        strength = torch.from_numpy(strengths.astype(np.float32))
        sizes = [X.shape[1], *self.options["hidden"]]
        layers = []
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
        model = nn.Sequential(*layers, nn.Linear(sizes[-1], n_classes))
        optimizer = torch.optim.Adam(
            model.parameters(), lr=self.options["learning_rate"], foreach=True
        )
        for _ in range(self.options["epochs"]):
            for rows in torch.randperm(len(y), generator=order).split(
                self.options["batch_size"]
            ):
                optimizer.zero_grad()
                loss = structural_cross_entropy(
                    model(inputs[rows]), labels[rows], strength[rows]
                )
                loss.backward()
                optimizer.step()

        @torch.no_grad()
        def predict(rows):
            scaled = torch.from_numpy(((rows - center) / scale).astype(np.float32))
            return model(scaled).double().softmax(dim=1).numpy()

        return predict
