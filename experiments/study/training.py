"""One training run: a network, a strength for each row, and the metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import nn

from experiments.study.residual import ResidualNetwork
from structsmooth.metrics import evaluate
from structsmooth.torch import structural_cross_entropy

# Number of rows that are predicted at a time: what they become in a network of images
# still fits into the cache.
ROWS = 250
# Number of images whose patches decide how to whiten all.
LOOKED_AT = 1000
# The share of one cycle in which the learning rate rises.
RISE = 0.25


@dataclass(frozen=True)
class Recipe:
    """Settings of gradient descent.

    Attributes
    ----------
    epochs, batch_size : int
        Passes over the rows, and rows per step.
    optimizer : {"sgd", "adam"}
        SGD has a momentum of 0.9.
    schedule : {"drop", "one-cycle"}
        The learning rate drops once, or rises and falls in straight lines.
    learning_rate : float
        Used for the fraction ``drop_at`` of the epochs, then ``last_learning_rate``. Of
        one cycle, the highest rate, which is reached after a quarter of the steps.
    weight_decay : float
        Pulls filters and matrices, but not biases and scales, toward 0: in SGD as part
        of the gradient, in Adam beside it.
    flip : bool
        Whether images are mirrored at random, left to right.
    crop : int
        Images are shifted at random by up to so many pixels, and mirrored at their
        edges.
    """

    epochs: int
    batch_size: int = 128
    optimizer: str = "sgd"
    schedule: str = "drop"
    learning_rate: float = 0.1
    last_learning_rate: float = 0.02
    drop_at: float = 0.7
    weight_decay: float = 0.0
    flip: bool = False
    crop: int = 0

    def optimizer_for(self, network: nn.Module) -> torch.optim.Optimizer:
        """Return a new optimizer of the network's weights."""
        weights = [p for p in network.parameters() if p.requires_grad]
        groups: list[dict] = [{"params": weights}]
        if self.weight_decay:
            groups = [
                {"params": [p for p in weights if p.ndim < 2]},
                {
                    "params": [p for p in weights if p.ndim >= 2],
                    "weight_decay": self.weight_decay,
                },
            ]
        shared = {"lr": self.learning_rate, "weight_decay": 0.0, "foreach": True}
        if self.optimizer == "sgd":
            return torch.optim.SGD(groups, momentum=0.9, **shared)
        if self.optimizer == "adam":
            adam = torch.optim.AdamW if self.weight_decay else torch.optim.Adam
            return adam(groups, **shared)
        raise ValueError(f"optimizer must be sgd or adam, got {self.optimizer!r}")

    def rate(self, step: int, n_steps: int) -> float:
        """Return the learning rate of a step, given the number of steps per epoch."""
        if self.schedule == "drop":
            first = step < n_steps * round(self.drop_at * self.epochs)
            return self.learning_rate if first else self.last_learning_rate
        if self.schedule == "one-cycle":
            share = (step + 1) / (n_steps * self.epochs + 1)
            height = share / RISE if share < RISE else (1.0 - share) / (1.0 - RISE)
            return self.learning_rate * height
        raise ValueError(f"schedule must be drop or one-cycle, got {self.schedule!r}")

    def varied(self, images: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """Return images of shape (n, height, width, channels), shifted and mirrored."""
        n, height, width, _ = images.shape
        if self.crop:
            edge = (self.crop, self.crop)
            padded = np.pad(images, ((0, 0), edge, edge, (0, 0)), mode="reflect")
            down, right = draw.integers(0, 2 * self.crop + 1, size=(2, n))
            windows = sliding_window_view(padded, (height, width), axis=(1, 2))
            images = windows[np.arange(n), down, right].transpose(0, 2, 3, 1)
        if self.flip:
            is_mirrored = draw.random(n) < 0.5
            images = np.where(
                is_mirrored[:, None, None, None], images[:, :, ::-1], images
            )
        return images


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

    The seed decides initial weights, batches and how images are varied, so that runs
    that differ only in their strengths are paired. Instead of strengths there may be
    soft labels, of shape (n, K).
    """
    torch.manual_seed(seed)
    network = build().to(inputs.device)
    if isinstance(network, ResidualNetwork):
        network.look_at(inputs(X[:LOOKED_AT]))
    order = torch.Generator().manual_seed(seed)
    draw = np.random.default_rng(seed)
    labels = torch.from_numpy(np.asarray(y, dtype=np.int64)).to(inputs.device)
    strength = torch.from_numpy(strengths.astype(np.float32)).to(inputs.device)
    if strengths.ndim == 2:  # these are soft labels
        labels, strength = strength, torch.zeros(len(y), device=inputs.device)
    optimizer = recipe.optimizer_for(network)
    is_varied = recipe.flip or recipe.crop > 0
    for epoch in range(recipe.epochs):
        network.train()
        batches = torch.randperm(len(y), generator=order).split(recipe.batch_size)
        for number, rows in enumerate(batches):
            if len(rows) == 1:  # batch normalization needs more than one row
                continue
            rate = recipe.rate(epoch * len(batches) + number, len(batches))
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.zero_grad()
            features = X[rows.numpy()]
            if is_varied:
                features = recipe.varied(features, draw)
            loss = structural_cross_entropy(
                network(inputs(features)), labels[rows], strength[rows]
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
