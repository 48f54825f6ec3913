"""Training an autoencoder until it gets no better."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (PyTorch's own name for it)
from numpy.typing import NDArray
from torch import Tensor, nn

from structsmooth.errors import InvalidInputError
from structsmooth.support.progress import Stage

Rows = NDArray[np.int64]


@dataclass
class History:
    """How a training went: the errors of each epoch, and which was best (from 1)."""

    losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    best_epoch: int = 0


def train(
    network: nn.Module,
    batch_of: Callable[[Rows], Tensor],
    n_rows: int,
    *,
    generator: torch.Generator,
    max_epochs: int,
    batch_size: int,
    learning_rate: float,
    validation_fraction: float,
    patience: int,
    stage: Stage,
) -> History:
    """Train a network to restore its input, and leave it with its best weights.

    Parameters
    ----------
    network : Module
        Trained in place, where it is.
    batch_of : callable
        From row numbers to the network's input.
    n_rows : int
        How many rows there are.
    generator : torch.Generator
        For the split and the order of the rows.
    max_epochs, batch_size, learning_rate, validation_fraction, patience
        As in `Autoencoder`.
    stage : Stage
        Of a progress bar, with a step for each epoch.
    """
    order = torch.randperm(n_rows, generator=generator)
    n_validation = int(n_rows * validation_fraction)
    held_out, kept = order[:n_validation], order[n_validation:]
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    history = History()
    best, best_weights = math.inf, network.state_dict()
    with torch.enable_grad():
        for epoch in range(1, max_epochs + 1):
            shuffled = kept[torch.randperm(len(kept), generator=generator)]
            total = 0.0
            for rows in torch.split(shuffled, batch_size):
                inputs = batch_of(rows.numpy())
                optimizer.zero_grad()
                loss = F.mse_loss(network(inputs), inputs)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += loss.item() * len(rows)
            error = total / len(kept)
            history.losses.append(error)
            if n_validation:
                error = _error(network, batch_of, held_out, batch_size)
                history.validation_losses.append(error)
            if not math.isfinite(error):
                raise InvalidInputError(
                    f"training diverged in epoch {epoch} with learning_rate="
                    f"{learning_rate!r}; expected a smaller one, or less extreme data"
                )
            stage.advance()
            if error < best:
                best, history.best_epoch = error, epoch
                best_weights = copy.deepcopy(network.state_dict())
            elif epoch - history.best_epoch >= patience:
                break
    network.load_state_dict(best_weights)
    return history


def _error(
    network: nn.Module,
    batch_of: Callable[[Rows], Tensor],
    rows: Tensor,
    batch_size: int,
) -> float:
    total = 0.0
    with torch.no_grad():
        for part in torch.split(rows, batch_size):
            inputs = batch_of(part.numpy())
            total += F.mse_loss(network(inputs), inputs).item() * len(part)
    return total / len(rows)
