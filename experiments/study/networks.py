"""The networks of the experiments: perceptrons and MobileNet-v2.

MobileNet-v2 is that of Sandler et al. (2018): its blocks widen, filter each channel
separately and narrow again, with a shortcut around those that keep their shape. Width
and strides are settings, for images of 32 x 32 pixels and for small machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from experiments.study.residual import ResidualNetwork

# Expansion, channels and blocks of each stage, as in Table 2 of that paper.
STAGES = (
    (1, 16, 1),
    (6, 24, 2),
    (6, 32, 3),
    (6, 64, 4),
    (6, 96, 3),
    (6, 160, 3),
    (6, 320, 1),
)


def build(options: dict, n_inputs: int, n_classes: int) -> nn.Module:
    """Return the network that a config describes."""
    options = dict(options)
    kind = options.pop("kind")
    if kind == "perceptron":
        return perceptron(n_inputs, n_classes=n_classes, **options)
    if kind == "mobilenet_v2":
        return mobilenet_v2(n_classes, **options)
    if kind == "residual":
        return ResidualNetwork(n_classes, **options)
    raise ValueError(
        f"network must be perceptron, mobilenet_v2 or residual, got {kind!r}"
    )


def perceptron(n_inputs: int, hidden: Sequence[int], n_classes: int) -> nn.Sequential:
    """Return a multilayer perceptron with ReLU."""
    sizes = [n_inputs, *hidden]
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], n_classes))


def multiplications(network: nn.Module, shape: Sequence[int]) -> int:
    """Return how many products of weights the network takes for one row of a shape."""
    counts: list[int] = []

    def count(layer: nn.Module, _, out: torch.Tensor) -> None:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            counts.append(out[0, 0].numel() * layer.weight.numel())

    hooks = [layer.register_forward_hook(count) for layer in network.modules()]
    network.eval()
    with torch.no_grad():
        network(torch.zeros(1, *shape))
    for hook in hooks:
        hook.remove()
    return sum(counts)


def mobilenet_v2(
    n_classes: int,
    *,
    width: float = 1.0,
    stem_stride: int = 1,
    strides: Sequence[int] = (1, 1, 2, 2, 1, 2, 1),
    head: int = 1280,
    batch_norm: bool = True,
) -> nn.Sequential:
    """Return a MobileNet-v2.

    Parameters
    ----------
    n_classes : int
        Number of outputs.
    width : float
        Factor for the numbers of channels, except that of the head; the products are
        rounded to multiples of 4.
    stem_stride : int
        Stride of the first convolution; 1 keeps the size of small images.
    strides : sequence of 7 int
        Strides of the stages. For images of 224 x 224 pixels: 1, 2, 2, 2, 1, 2, 1.
    head : int
        Number of channels before the last layer.
    batch_norm : bool
        Whether to use batch normalization. Without it the convolutions have biases.
    """

    def scaled(channels: int) -> int:
        return max(4, 4 * round(channels * width / 4))

    before = scaled(32)
    layers = _convolution(3, before, 3, stem_stride, batch_norm=batch_norm)
    for (expansion, channels, n_blocks), stride in zip(STAGES, strides, strict=True):
        for number in range(n_blocks):
            step = stride if number == 0 else 1
            after = scaled(channels)
            layers.append(Block(before, after, step, expansion, batch_norm))
            before = after
    layers += _convolution(before, head, 1, 1, batch_norm=batch_norm)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(head, n_classes)]
    network = nn.Sequential(*layers)
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out")
            if layer.bias is not None:
                # PyTorch counts the outputs of all groups, which makes the initial
                # filters of single channels far too small; only batch normalization
                # makes up for that.
                nn.init.zeros_(layer.bias)
                with torch.no_grad():
                    layer.weight.mul_(layer.groups**0.5)
    # This layout makes convolutions about twice as fast on a CPU.
    return network.to(memory_format=torch.channels_last)


class Block(nn.Module):
    """An inverted residual: widen, filter channel by channel, narrow."""

    def __init__(
        self, before: int, after: int, stride: int, expansion: int, batch_norm: bool
    ) -> None:
        super().__init__()
        inner = before * expansion
        layers: list[nn.Module] = []
        if expansion > 1:
            layers += _convolution(before, inner, 1, 1, batch_norm=batch_norm)
        layers += _convolution(
            inner, inner, 3, stride, groups=inner, batch_norm=batch_norm
        )
        layers += _convolution(inner, after, 1, 1, batch_norm=batch_norm, active=False)
        self.body = nn.Sequential(*layers)
        self.has_shortcut = stride == 1 and before == after

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the output of the block."""
        out = self.body(images)
        return images + out if self.has_shortcut else out


def _convolution(
    before: int,
    after: int,
    size: int,
    stride: int,
    *,
    groups: int = 1,
    batch_norm: bool,
    active: bool = True,
) -> list[nn.Module]:
    layers: list[nn.Module] = [
        nn.Conv2d(
            before, after, size, stride, size // 2, groups=groups, bias=not batch_norm
        )
    ]
    if batch_norm:
        layers.append(nn.BatchNorm2d(after))
    if active:
        layers.append(nn.ReLU6())
    return layers
