"""Small encoders and decoders, and the standardization of their input."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import gen_batches
from torch import Tensor, nn

# Numbers that are converted to float64 at a time.
_AT_ONCE = 2**22


def dense_network(
    n_features: int, n_components: int, hidden_sizes: Sequence[int]
) -> nn.Sequential:
    """Return a fully connected ``encoder`` and its mirror image, the ``decoder``."""
    sizes = [n_features, *hidden_sizes, n_components]
    return _joined(_dense(sizes), _dense(sizes[::-1]))


def _joined(encoder: nn.Module, decoder: nn.Module) -> nn.Sequential:
    return nn.Sequential(OrderedDict(encoder=encoder, decoder=decoder))


def _dense(sizes: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def convolutional_network(
    image_shape: tuple[int, int, int], n_components: int, channels: Sequence[int]
) -> nn.Sequential:
    """Return convolutions that halve the image once for each number of channels."""
    height, width, n_channels = image_shape
    sizes = [(n_channels, height, width)]
    for n_channels in channels:
        height, width = (height + 1) // 2, (width + 1) // 2
        sizes.append((n_channels, height, width))
    encoder: list[nn.Module] = []
    decoder: list[nn.Module] = []
    for before, after in pairwise(sizes):
        encoder += [nn.Conv2d(before[0], after[0], 3, 2, 1), nn.ReLU()]
        # Halving rounds up; doubling must return an odd side one shorter.
        missing = (1 - before[1] % 2, 1 - before[2] % 2)
        back = nn.ConvTranspose2d(after[0], before[0], 3, 2, 1, missing)
        decoder = [nn.ReLU(), back, *decoder]
    smallest = sizes[-1]
    n_numbers = math.prod(smallest)
    encoder += [nn.Flatten(), nn.Linear(n_numbers, n_components)]
    decoder = [nn.Linear(n_components, n_numbers), nn.Unflatten(1, smallest), *decoder]
    return _joined(nn.Sequential(*encoder), nn.Sequential(*decoder))


def initialize(network: nn.Module, generator: torch.Generator) -> nn.Module:
    """Return a network built on the "meta" device with weights drawn in main memory.

    Elsewhere, layers would draw from the global generator when they are built.
    """
    network = network.to_empty(device="cpu")
    with torch.no_grad():
        for layer in network.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
                nn.init.kaiming_uniform_(
                    layer.weight, nonlinearity="relu", generator=generator
                )
                layer.bias.zero_()  # type: ignore[union-attr]
    return network


@dataclass(frozen=True, eq=False)
class Standardization:
    """The mean and scale of each feature, or of each channel of images.

    Images have the ``image_shape`` (height, width, channels); for vectors it is None.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    image_shape: tuple[int, int, int] | None

    @classmethod
    def fit(
        cls, rows: NDArray[Any], image_shape: tuple[int, int, int] | None
    ) -> Standardization:
        """Compute means and standard deviations, without a float64 copy of the rows."""
        columns = _columns(rows, image_shape)
        n_rows, n_columns = columns.shape
        parts = list(gen_batches(n_rows, max(_AT_ONCE // n_columns, 1)))
        mean = sum(columns[p].sum(axis=0, dtype=np.float64) for p in parts) / n_rows
        squares = sum(np.square(columns[p] - mean).sum(axis=0) for p in parts)
        constant = columns.min(axis=0) == columns.max(axis=0)
        scale = np.where(constant, 1.0, np.sqrt(squares / n_rows))
        return cls(np.asarray(mean), scale, image_shape)

    def to_input(self, rows: NDArray[Any]) -> Tensor:
        """Return rows as a network's input, images as (n, channels, height, width)."""
        standardized = (_columns(rows, self.image_shape) - self.mean) / self.scale
        values = torch.from_numpy(standardized)
        if self.image_shape is None:
            return values
        return values.view(len(rows), *self.image_shape).permute(0, 3, 1, 2)

    def from_output(self, outputs: Tensor) -> NDArray[np.float64]:
        """Return a network's output as rows."""
        if self.image_shape is not None:
            outputs = outputs.permute(0, 2, 3, 1)
        values = outputs.double().reshape(-1, len(self.mean)).cpu().numpy()
        rows: NDArray[np.float64] = values * self.scale + self.mean
        return rows.reshape(len(outputs), -1)


def _columns(
    rows: NDArray[Any], image_shape: tuple[int, int, int] | None
) -> NDArray[Any]:
    """Return rows, or all pixels of all images with a column for each channel."""
    if image_shape is None:
        return rows
    return rows.reshape(len(rows) * math.prod(image_shape[:2]), image_shape[2])
