"""Small encoders and decoders, dense and convolutional."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


class EncoderDecoder(nn.Module):
    """Two halves of an autoencoder."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the reconstruction."""
        reconstructed: Tensor = self.decoder(self.encoder(inputs))
        return reconstructed


def dense_network(
    n_features: int, n_components: int, hidden_sizes: Sequence[int]
) -> EncoderDecoder:
    """Return fully connected halves, the decoder with the sizes in reverse."""
    sizes = [n_features, *hidden_sizes, n_components]
    return EncoderDecoder(_dense(sizes), _dense(sizes[::-1]))


def _dense(sizes: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def convolutional_network(
    image_shape: tuple[int, int, int], n_components: int, channels: Sequence[int]
) -> EncoderDecoder:
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
        # Halving rounds up, so an odd side must come back one shorter.
        missing = (1 - before[1] % 2, 1 - before[2] % 2)
        back = nn.ConvTranspose2d(after[0], before[0], 3, 2, 1, missing)
        decoder = [nn.ReLU(), back, *decoder]
    smallest = sizes[-1]
    n_numbers = smallest[0] * smallest[1] * smallest[2]
    return EncoderDecoder(
        nn.Sequential(*encoder, nn.Flatten(), nn.Linear(n_numbers, n_components)),
        nn.Sequential(
            nn.Linear(n_components, n_numbers), nn.Unflatten(1, smallest), *decoder
        ),
    )


def initialize(network: nn.Module, generator: torch.Generator) -> nn.Module:
    """Return a network built on the "meta" device with weights drawn in main memory.

    Layers would draw from the global generator when they are built; there they do not.
    """
    network = network.to_empty(device="cpu")
    with torch.no_grad():
        for layer in network.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
                nn.init.kaiming_uniform_(
                    layer.weight, nonlinearity="relu", generator=generator
                )
                if layer.bias is not None:
                    layer.bias.zero_()
    return network
