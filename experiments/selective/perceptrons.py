"""Many perceptrons at once: the same initial weights and batches, other labels.

All arms of a seed train side by side as one batched matrix product, so that a
difference between two of them is a difference of their labels or losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from experiments.selective.losses import LOSSES, cross_entropy
from experiments.study.training import Inputs

# Number of rows that are predicted at a time.
ROWS = 1000


def train(
    X: np.ndarray,
    labels: np.ndarray,
    losses: Sequence[str],
    seed: int,
    *,
    weights: np.ndarray | None = None,
    hidden: Sequence[int] = (128, 128),
    epochs: int = 60,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from features to probabilities, of shape (A, m, K).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features; they are standardized.
    labels : ndarray of shape (A, n, K)
        Soft labels of each of A networks.
    losses : sequence of A str
        Names in ``LOSSES``, or "cross_entropy".
    seed : int
        Decides initial weights and batches.
    weights : ndarray of shape (A, n), optional
        Weights of the rows, such as 0 for rows that a network must not see.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # gradients of fitted rows are tiny
    n_arms, n, n_classes = labels.shape
    inputs = Inputs.fit(X, torch.device("cpu"))
    rows, soft = inputs(X), torch.from_numpy(labels.astype(np.float32))
    counted = torch.ones(n_arms, n)
    if weights is not None:
        counted = torch.from_numpy(weights.astype(np.float32))
    generator = torch.Generator().manual_seed(seed)
    sizes = [X.shape[1], *hidden, n_classes]
    network = _initial(sizes, n_arms, generator)
    optimizer = torch.optim.Adam(network, lr=learning_rate, fused=True)
    for _ in range(epochs):
        for batch in torch.randperm(n, generator=generator).split(batch_size):
            scores = _forward(network, rows[batch].expand(n_arms, -1, -1))
            each = _losses(scores, soft[:, batch], losses)
            shares = counted[:, batch]
            total = (each * shares).sum(dim=1) / shares.sum(dim=1).clamp(min=1.0)
            optimizer.zero_grad()
            total.sum().backward()
            optimizer.step()

    @torch.no_grad()
    def predict(others: np.ndarray) -> np.ndarray:
        parts = [
            _forward(
                network, inputs(others[start : start + ROWS]).expand(n_arms, -1, -1)
            )
            for start in range(0, len(others), ROWS)
        ]
        return torch.cat(parts, dim=1).double().softmax(dim=2).numpy()

    return predict


def _initial(sizes, n_arms: int, generator: torch.Generator) -> list[Tensor]:
    """Return weights and biases as `torch.nn.Linear` draws them, alike for all arms."""
    network = []
    for before, after in pairwise(sizes):
        bound = before**-0.5
        for shape in ((before, after), (1, after)):
            drawn = (2.0 * torch.rand(shape, generator=generator) - 1.0) * bound
            network.append(drawn.repeat(n_arms, 1, 1).requires_grad_())
    return network


def _forward(network: list[Tensor], rows: Tensor) -> Tensor:
    """Return the scores, of shape (A, m, K)."""
    values = rows
    for number in range(0, len(network), 2):
        if number:
            values = values.relu()
        values = torch.baddbmm(network[number + 1], values, network[number])
    return values


def _losses(scores: Tensor, soft: Tensor, losses: Sequence[str]) -> Tensor:
    """Return the loss of each row by each arm, of shape (A, m)."""
    found = cross_entropy(scores, soft)
    for name, loss in LOSSES.items():
        arms = [number for number, chosen in enumerate(losses) if chosen == name]
        if arms:
            found = found.index_copy(
                0, torch.tensor(arms), loss(scores[arms], soft[arms])
            )
    return found
