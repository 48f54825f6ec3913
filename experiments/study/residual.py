"""A compact residual network for images of 32 x 32 pixels.

A first layer with fixed filters whitens patches of 2 x 2 pixels. Each stage halves the
image (3 x 3 convolution, then maxima of 2 x 2) and adds a residual block of two more
convolutions, whose branch contributes nothing at the start. Nothing but one convolution
works at full resolution, where memory, not arithmetic, would set the pace of a CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

# Side of the whitened patches.
PATCH = 2
# Added to the variances of patches, so that noise is not blown up (pixels have about
# unit variance).
LEAST_VARIANCE = 5e-4


class ResidualNetwork(nn.Module):
    """Whitening, stages of growing width, and a linear layer on channel maxima.

    Parameters
    ----------
    n_classes : int
        Number of outputs.
    widths : sequence of int
        Channels of each stage.
    batch_norm : bool
        Whether to use batch normalization. Without it the convolutions have biases,
        and each residual branch has a scale that starts at 0.
    """

    def __init__(
        self,
        n_classes: int,
        *,
        widths: Sequence[int] = (32, 64, 128),
        batch_norm: bool = True,
    ) -> None:
        super().__init__()
        n_patch = 3 * PATCH**2
        self.whitening = nn.Conv2d(3, 2 * n_patch, PATCH, bias=False)
        self.whitening.weight.requires_grad_(False)
        sizes = (2 * n_patch, *widths)
        self.stages = nn.Sequential(
            *(Stage(before, after, batch_norm) for before, after in pairwise(sizes))
        )
        self.head = nn.Linear(sizes[-1], n_classes)
        # This layout makes convolutions about twice as fast on a CPU.
        self.to(memory_format=torch.channels_last)

    @torch.no_grad()
    def look_at(self, images: torch.Tensor) -> None:
        """Set the fixed filters so that patches of images like these become white."""
        patches = images.unfold(2, PATCH, 1).unfold(3, PATCH, 1)
        patches = patches.permute(0, 2, 3, 1, 4, 5).reshape(-1, 3 * PATCH**2).double()
        patches = patches - patches.mean(dim=0)
        variances, directions = torch.linalg.eigh(patches.T @ patches / len(patches))
        filters = (directions / (variances + LEAST_VARIANCE).sqrt()).T
        # Both signs, because the next step keeps positive values only.
        filters = torch.cat([filters, -filters]).reshape(-1, 3, PATCH, PATCH)
        self.whitening.weight.copy_(filters)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the scores of the classes."""
        features = self.stages(functional.relu(self.whitening(images)))
        return self.head(features.amax(dim=(2, 3)))


class Stage(nn.Module):
    """A convolution that halves the image, and a residual block."""

    def __init__(self, before: int, after: int, batch_norm: bool) -> None:
        super().__init__()
        self.first = _convolution(before, after, batch_norm)
        self.inner = _convolution(after, after, batch_norm)
        self.last = _convolution(after, after, batch_norm)
        self.first_norm, self.inner_norm, self.last_norm = (
            nn.BatchNorm2d(after) if batch_norm else nn.Identity() for _ in range(3)
        )
        self.scale = None if batch_norm else nn.Parameter(torch.zeros(()))
        if batch_norm:
            nn.init.zeros_(self.last_norm.weight)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the output of the stage."""
        halved = functional.max_pool2d(self.first(images), 2)
        halved = functional.relu(self.first_norm(halved))
        branch = functional.relu(self.inner_norm(self.inner(halved)))
        branch = self.last_norm(self.last(branch))
        if self.scale is not None:
            branch = self.scale * branch
        return functional.relu(halved + branch)


def _convolution(before: int, after: int, batch_norm: bool) -> nn.Conv2d:
    layer = nn.Conv2d(before, after, 3, padding=1, bias=not batch_norm)
    nn.init.kaiming_normal_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
