"""Small encoders and decoders, dense and convolutional."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn


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
