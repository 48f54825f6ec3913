"""One training run: a network, a strength for each row, and the metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from structsmooth.metrics import evaluate
from structsmooth.torch import structural_cross_entropy

# Number of rows that are predicted at a time.
ROWS = 1000


@dataclass(frozen=True)
class Recipe:
    """Settings of gradient descent.

    Attributes
    ----------
    epochs, batch_size : int
        Passes over the rows, and rows per step.
    optimizer : {"sgd", "adam"}
        SGD has a momentum of 0.9.
    learning_rate : float
        Used for the fraction ``drop_at`` of the epochs, then ``last_learning_rate``.
    """

    epochs: int
    batch_size: int = 128
    optimizer: str = "sgd"
    learning_rate: float = 0.1
    last_learning_rate: float = 0.02
    drop_at: float = 0.7

    def optimizer_for(self, network: nn.Module) -> torch.optim.Optimizer:
        """Return a new optimizer of the network's weights."""
        weights, rate = network.parameters(), self.learning_rate
        if self.optimizer == "sgd":
            return torch.optim.SGD(weights, lr=rate, momentum=0.9, foreach=True)
        if self.optimizer == "adam":
            return torch.optim.Adam(weights, lr=rate, foreach=True)
        raise ValueError(f"optimizer must be sgd or adam, got {self.optimizer!r}")


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of a network, standardized by the training rows, batch by batch.

    Features are standardized one by one, images by channel. Rows may be a memory map.
    """

    center: np.ndarray
    scale: np.ndarray
    device: torch.device

    @classmethod
    def fit(cls, X: np.ndarray, device: torch.device) -> Inputs:
        """Compute means and deviations of the training rows, or of a part of them."""
        some = X if len(X) <= 100_000 else X[:: len(X) // 100_000]
        axes = tuple(range(X.ndim - 1)) if X.ndim == 4 else 0
        some = np.asarray(some, dtype=np.float32)
        scale = some.std(axis=axes)
        return cls(some.mean(axis=axes), np.where(scale > 0, scale, 1.0), device)

    def __call__(self, rows: np.ndarray) -> torch.Tensor:
        """Return rows as a batch."""
        scaled = (np.asarray(rows, dtype=np.float32) - self.center) / self.scale
        batch = torch.from_numpy(scaled.astype(np.float32)).to(self.device)
        # Images come as (n, height, width, channels), which is "channels last".
        return batch.permute(0, 3, 1, 2) if batch.ndim == 4 else batch


def device_of(scale: str) -> torch.device:
    """Return the CPU, or a GPU if there is one and the scale is full."""
    gpu = scale == "full" and torch.cuda.is_available()
    return torch.device("cuda" if gpu else "cpu")


def train(
    build: Callable[[], nn.Module],
    X: np.ndarray,
    y: np.ndarray,
    strengths: np.ndarray,
    recipe: Recipe,
    inputs: Inputs,
    seed: int,
    after_epoch: Callable[[int, nn.Module], None] | None = None,
) -> nn.Module:
    """Return a trained network.

    The seed decides initial weights and batches, so that runs that differ only in their
    strengths are paired. Instead of strengths there may be soft labels, of shape (n,
    K).
    """
    torch.manual_seed(seed)
    network = build().to(inputs.device)
    order = torch.Generator().manual_seed(seed)
    labels = torch.from_numpy(np.asarray(y, dtype=np.int64)).to(inputs.device)
    strength = torch.from_numpy(strengths.astype(np.float32)).to(inputs.device)
    if strengths.ndim == 2:  # these are soft labels
        labels, strength = strength, torch.zeros(len(y), device=inputs.device)
    optimizer = recipe.optimizer_for(network)
    for epoch in range(recipe.epochs):
        if epoch >= round(recipe.drop_at * recipe.epochs):
            for group in optimizer.param_groups:
                group["lr"] = recipe.last_learning_rate
        network.train()
        for rows in torch.randperm(len(y), generator=order).split(recipe.batch_size):
            if len(rows) == 1:  # batch normalization needs more than one row
                continue
            optimizer.zero_grad()
            loss = structural_cross_entropy(
                network(inputs(X[rows.numpy()])), labels[rows], strength[rows]
            )
            loss.backward()
            optimizer.step()
        network.eval()
        if after_epoch is not None:
            after_epoch(epoch + 1, network)
    return network


@torch.no_grad()
def predict(network: nn.Module, inputs: Inputs, X: np.ndarray) -> np.ndarray:
    """Return the probabilities of the classes for each row."""
    network.eval()
    parts = [
        network(inputs(X[start : start + ROWS])).double().softmax(dim=1).cpu().numpy()
        for start in range(0, len(X), ROWS)
    ]
    probabilities = np.concatenate(parts)
    # A network that has diverged gets equal probabilities instead of an error.
    lost = ~np.isfinite(probabilities).all(axis=1)
    probabilities[lost] = 1.0 / probabilities.shape[1]
    return probabilities


def score(network: nn.Module, inputs: Inputs, X, y) -> dict[str, float]:
    """Return all metrics, on hard labels."""
    return evaluate(y, predict(network, inputs, X))
